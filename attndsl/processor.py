"""What the system says of the processor, where it is Linux; elsewhere little is known."""

from __future__ import annotations

import platform
from pathlib import Path

CPUINFO = Path("/proc/cpuinfo")
"""Where Linux describes the processors, one after the other."""

EXTENSIONS = ("avx", "f16c", "fma", "avx2", "avx512", "amx", "asimd", "sve")
"""How the names of vector extensions begin that are told of a processor."""


def processor() -> str:
    """The processor's name."""
    return _described("model name") or platform.machine()


def vector_extensions() -> list[str]:
    """The processor's vector extensions, as Linux calls them."""
    flags = (_described("flags") or _described("Features")).split()
    return sorted((flag for flag in flags if flag.startswith(EXTENSIONS)), key=lambda flag: (len(flag), flag))


def _described(what: str) -> str:
    """What Linux says of the first processor, nothing where it does not."""
    try:
        with CPUINFO.open(encoding="utf-8") as file:
            for line in file:  # not all of it: a machine may have hundreds of processors
                name, separator, text = line.partition(":")
                if not separator:
                    break
                if name.strip() == what:
                    return text.strip()
    except OSError:
        pass
    return ""
