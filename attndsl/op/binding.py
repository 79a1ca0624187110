"""A spec and what the compiler makes of it, as every road of a call takes it: the signature and the generated code.

It imports nothing of torch, and knows nothing of how it is called.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from attndsl.driver.artifact import Artifact
from attndsl.driver.library import artifact_of, signature_of
from attndsl.driver.module import load_function
from attndsl.op.checks import Bound
from attndsl.syntax.source import Source


class CompiledSpec:
    """A spec's signature, its artifacts and its NumPy functions, each made once.

    They are for calls without some inputs, and with the types that are `said`. `key` is the same for texts that
    mean the same, of which the same is left out and said.
    """

    def __init__(self, spec: Source, left_out: tuple[str, ...] = (), said: Mapping[str, str] = {}) -> None:
        self.spec, self.left_out, self.said = spec, left_out, said
        signature = signature_of(spec, left_out) if left_out else signature_of(spec)
        types = {name: (said[name],) if name in said else choices for name, choices in signature.types.items()}
        self.signature = replace(signature, types=types)
        key = "_without_".join([f"{signature.name}_{signature.meaning}", *left_out])
        self.key = "_".join([key, *(f"{name}_{element}" for name, element in said.items())])
        self._artifacts: dict[tuple[object, ...], Artifact] = {}
        self._functions: dict[tuple[str, ...], Callable[..., None]] = {}
        self._lock = threading.Lock()

    def artifact(
        self, target: str = "numpy", sizes: Mapping[str, int] = {}, machine: str | None = None, /, **types: str
    ) -> Artifact:
        """What `Op.artifact` gives. Raises ValueError for types that the spec does not allow."""
        bound = {**self.signature.default_types(), **types}
        for name, element in types.items():
            if element not in self.signature.types.get(name, ()):
                allowed = ", ".join(f"{n} = {' | '.join(c)}" for n, c in self.signature.types.items()) or "no types"
                raise ValueError(f"{self.signature.name} has no type {name} = {element}: it has {allowed}")
        key = (target, *sizes.items(), machine, *bound.values())
        with self._lock:
            if key not in self._artifacts:
                self._artifacts[key] = artifact_of(self.spec, bound, target, sizes, machine, self.left_out)
            return self._artifacts[key]

    def function(self, types: Mapping[str, str]) -> Callable[..., None]:
        """The compiled NumPy function for these element types, as its file has it."""
        key = tuple(types.values())
        if key not in self._functions:
            from attndsl.op.calibrate import suited

            self._functions[key] = load_function(self.artifact("numpy", {}, suited().machine, **types))
        return self._functions[key]

    def program(self, types: Mapping[str, str]) -> Callable[..., None]:
        """That function with BLAS on one thread, and threads that share its tiles where they may."""
        from attndsl.op.blas import on_one_thread
        from attndsl.op.threads import run, threads

        threads()  # whose mistakes are told of at the first call, whatever its size
        function = self.function(types)
        shared = "_run" in (getattr(function, "__wrapped__", function).__kwdefaults__ or {})
        return on_one_thread(partial(function, _run=run) if shared else function)

    def output_elements(self, bound: Bound) -> tuple[str, ...]:
        """The element type of each output of a call."""
        return tuple(bound.types.get(tensor.element, tensor.element) for tensor in self.signature.outputs)
