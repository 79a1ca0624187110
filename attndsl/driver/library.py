"""Signatures and artifacts of specs: from the cache where they are kept, else from the compiler.

A key is made of the text alone, so that what the cache holds is found without parsing: neither lark nor xDSL is
imported for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from attndsl.cache import user_cache
from attndsl.driver.artifact import Artifact
from attndsl.driver.fingerprint import fingerprint
from attndsl.driver.signature import Signature
from attndsl.syntax.source import Source

if TYPE_CHECKING:
    from attndsl.checking.typed import Spec


def signature_of(source: Source, left_out: Sequence[str] = ()) -> Signature:
    """The signature of a spec, for calls that leave out these inputs.

    Raises SpecError where it has mistakes, Untold where nothing tells a dim or a type then.
    """
    cache, key = user_cache(), _key("signature", source, *left_out)
    if (entry := cache.get(key)) is not None:
        return Signature.from_json(entry)
    from attndsl.driver.summarise import summarise

    signature = summarise(checked(source, *left_out))
    cache.put(key, signature.to_json())
    return signature


def artifact_of(
    source: Source,
    types: Mapping[str, str],
    target: str,
    sizes: Mapping[str, int] = {},
    machine: str | None = None,
    left_out: Sequence[str] = (),
) -> Artifact:
    """A spec compiled for `target`, with an element type for each of its type variables.

    `sizes` and `machine` are those of `compile_spec`; `left_out` are inputs that calls leave out. Raises SpecError
    where the spec has mistakes, UnknownTarget, Untold.
    """
    from attndsl.driver.targets import target_of  # what loads a spec asks no target

    made_for = (*sorted(types.items()), *sorted(sizes.items()), target_of(target).machine(machine), tuple(left_out))
    cache, key = user_cache(), _key("artifact", source, target, *map(str, made_for))
    if (entry := cache.get(key)) is not None:
        return Artifact.from_json(entry)
    from attndsl.driver.compile import compile_spec

    artifact = compile_spec(checked(source, *left_out), types, target, sizes, machine)
    cache.put(key, artifact.to_json())
    return artifact


@lru_cache(maxsize=8)
def checked(source: Source, *left_out: str) -> Spec:
    """The typed spec, without these inputs; the last few are remembered, as one is often wanted for several types."""
    from attndsl.checking.check import check
    from attndsl.checking.omission import without

    return without(checked(source), left_out) if left_out else check(source)


def _key(*parts: str | Source) -> str:
    """Generated comments name the spec's file, so its name is part of what is made; its folder is not."""
    texts = [fingerprint()]
    for part in parts:
        texts += [Path(part.name).name, part.text] if isinstance(part, Source) else [part]
    return sha256("".join(f"{len(text)}:{text}" for text in texts).encode("utf-8", "surrogatepass")).hexdigest()
