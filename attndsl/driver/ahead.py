"""Typed spec to GPU code, on a machine that needs no GPU."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256

from attndsl.backends.gpu.aot import Progress, compile_ahead, require_packages
from attndsl.backends.gpu.manifest import files_of
from attndsl.backends.gpu.stand_ins import StandIn, stand_in
from attndsl.backends.gpu.targets import TARGETS
from attndsl.checking.evaluate import with_defaults
from attndsl.checking.spelling import show
from attndsl.checking.symbolic import Expression, evaluate, names
from attndsl.checking.typed import Spec
from attndsl.driver.compile import compile_spec
from attndsl.driver.signature import Signature
from attndsl.driver.summarise import summarise
from attndsl.inputs.dims import default_dims, default_params
from attndsl.python_names import python_name

RUN_TIME = 7
"""The extent, while code is compiled, of a dim that calls choose: nothing is then a multiple of 16 by accident."""


class ExtentsMissing(ValueError):
    """GPU code is made for fixed extents of some dims, and these are not given; `dims` names them."""

    def __init__(self, dims: list[str]) -> None:
        self.dims = dims
        super().__init__(f"GPU code is made for fixed extents of {', '.join(dims)}")


def gpu_files(
    spec: Spec,
    types: Mapping[str, str],
    target: str,
    sizes: Mapping[str, int],
    progress: Progress = lambda done, total: None,
) -> dict[str, bytes]:
    """A spec compiled for one of TARGETS, with the extents of `sizes`, as files by name: code, manifest and launcher.

    `progress` is shown how many kernels are compiled, and of how many. Raises UnknownTarget, ExtentsMissing,
    PackageMissing, TooLarge, TritonFails.
    """
    require_packages()
    name = python_name(spec.name)
    text, tensors = generated(spec, types, target, sizes)
    signature = summarise(spec)
    features = {dim: sizes[dim] for dim in signature.features}
    about = {
        "spec": spec.name,
        "sha256": sha256(spec.source.text.encode()).hexdigest(),
        "types": dict(types),
        "extents": features,
        "tensors": [
            {
                "name": tensor.name,
                "element": types.get(tensor.element, tensor.element),
                "shape": [_settled(extent, features) for extent in tensor.extents],
            }
            for tensor in signature.arguments
        ],
    }
    binaries = compile_ahead(text, name, TARGETS[target], tensors, progress)
    return files_of(name, TARGETS[target], about, binaries, text)


def generated(spec: Spec, types: Mapping[str, str], target: str, sizes: Mapping[str, int]) -> tuple[str, list[StandIn]]:
    """The Triton file of a spec, and tensors without memory that it can be called with.

    Raises UnknownTarget, ExtentsMissing.
    """
    signature = summarise(spec)
    if missing := [dim for dim in spec.dims if dim in signature.features and dim not in sizes]:
        raise ExtentsMissing(missing)
    features = {dim: sizes[dim] for dim in signature.features}
    text = compile_spec(spec, types, "triton", features, machine=target, boxes=False).source
    dims = _stand_in_dims(spec, signature, features)
    params = {param.name: 1 if param.default is None else param.default for param in spec.params}
    tensors = [
        stand_in(
            types.get(tensor.element, tensor.element), [evaluate(extent, dims, params) for extent in tensor.extents]
        )
        for tensor in signature.arguments
    ]
    return text, tensors


def _stand_in_dims(spec: Spec, signature: Signature, features: Mapping[str, int]) -> dict[str, int]:
    """Extents for all dims while code is compiled. Raises ValueError where none that are small are possible."""
    dims = {dim: features.get(dim, RUN_TIME) for dim in signature.dims}
    extents = [extent for tensor in (*signature.inputs, *signature.outputs) for extent in tensor.extents]
    try:
        params = with_defaults(spec.params, dims, default_params(spec))
        # A launch divides by what must not be 0.
        divides = all(evaluate(r, dims, params) for r in signature.requires if isinstance(r, tuple) and r[0] == "ine")
        possible = divides and all(evaluate(extent, dims, params) >= 0 for extent in extents)
    except ZeroDivisionError:
        possible = False
    return dims if possible else default_dims(spec, given=features)


def _settled(extent: Expression, features: Mapping[str, int]) -> int | str:
    """An extent as a number where the features settle it, else as the spec writes it."""
    return evaluate(extent, features, {}) if set(names(extent)) <= features.keys() else show(extent)
