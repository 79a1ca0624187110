"""Calls on a CPU like an earlier one: nothing is checked twice, and nothing that a plan does not know is believed."""

from __future__ import annotations

import gc
import random
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from itertools import chain
from pathlib import Path
from types import FrameType, SimpleNamespace
from typing import Any
from weakref import ref

import numpy as np
import pytest
import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

import attndsl
from attndsl.driver.library import checked
from attndsl.driver.signature import Signature, TensorSignature
from attndsl.op import blas, cpu, errors, numpy_arrays, torch_tensors
from attndsl.op.cpu import TiedExtents
from attndsl.op.op import Op
from attndsl.testing import Case

EXAMPLES = Path(__file__).parents[2] / "examples"

Make = Callable[[Any], Any]

FRAMEWORKS: dict[str, Make] = {"numpy": np.asarray, "torch": lambda array: torch.from_numpy(np.asarray(array))}


@pytest.fixture(params=FRAMEWORKS)
def make_input(request: pytest.FixtureRequest) -> Make:
    return FRAMEWORKS[request.param]


def given(make: Make, m: int = 5, n: int = 7, b: int = 2, d: int = 8) -> dict[str, Any]:
    draw = np.random.default_rng(m + n)
    shapes = {"q": (b, 4, m, d), "k": (b, 2, n, d), "v": (b, 2, n, 6)}
    return {name: make(draw.standard_normal(shape, np.float32)) for name, shape in shapes.items()}


def plans(op: Op) -> list[Any]:
    assert op._tensor_calls is not None
    tensors = op._tensor_calls.kernels.cpu._plans
    return [*(op._array_calls._plans.values() if op._array_calls else ()), *tensors.values()]


def test_what_fitted_once_is_not_checked_again(gqa: Any, make_input: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor where dims have changed that are only ever whole extents, as the length of a cache."""
    op, compiler = gqa
    first = given(make_input)
    op(**first)
    monkeypatch.setattr(numpy_arrays, "bind", None)
    monkeypatch.setattr(torch_tensors, "bind", None)
    for m, n, b, d in ((5, 7, 2, 8), (1, 9, 2, 8), (4, 1, 1, 3), (5, 7, 0, 8)):
        call, wanted = given(make_input, m, n, b, d), np.empty((b, 4, m, 6), np.float32)
        op.binding.program({"T": "f32"})(*map(np.asarray, call.values()), wanted, window=9 + n, cap=2.0)
        np.testing.assert_array_equal(np.asarray(op(**call, window=9 + n)), wanted)
    assert (len(plans(op)), compiler.compiled) == (1, [{"T": "f32"}])


def test_other_types_and_other_tied_extents_have_plans_of_their_own(gqa: Any, make_input: Make) -> None:
    op, _ = gqa
    call = given(make_input)
    op(**call)
    assert len(plans(op)) == 1
    op(**{**call, "q": call["q"][:, :2]})  # Hq % Hkv == 0 is required
    assert len(plans(op)) == 2
    halves = {name: make_input(np.asarray(value).astype(np.float16)) for name, value in call.items()}
    assert str(op(**halves).dtype).endswith("float16")
    assert len(plans(op)) == 3


def test_what_rests_on_parameters_is_asked_of_each_call(odd: Any, make_input: Make) -> None:
    op, _ = odd
    call = {
        name: make_input(np.zeros(size, dtype))
        for name, size, dtype in (("is", 2, np.uint8), ("cu", 3, np.int32), ("bits", 5, np.uint8))
    }
    if isinstance(call["is"], torch.Tensor):
        call["is"] = call["is"].view(torch.float8_e4m3fn)
    op(**call, in_=False)
    for change, error in (
        ({"in_": False, "limit": 0.5}, errors.RequirementFails),
        ({"in_": False, "limit": float("nan")}, errors.RequirementFails),
        ({"in_": True, "limit": 1e39}, errors.WrongParameter),
        ({"in_": 1}, errors.WrongParameter),
        ({"in_": True, "limit": 10**400}, errors.WrongParameter),
    ):
        with pytest.raises(error):
            op(**call, **change)
    assert len(op(**call, in_=True, limit=0.5).lse) == 3
    assert len(plans(op)) == 1


def test_plans_are_forgotten_before_they_are_too_many(
    gqa: Any, make_input: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    op, _ = gqa
    monkeypatch.setattr(cpu, "PLANS", 3)
    call = given(make_input)
    for heads in (2, 4, 2, 4, 2):
        for dtype in (np.float16, np.float32, np.float64):
            typed = {name: make_input(np.asarray(value).astype(dtype)) for name, value in call.items()}
            assert op(**{**typed, "q": typed["q"][:, :heads]}).shape == (2, heads, 5, 6)
            assert len(plans(op)) <= 3
    op(**call)
    for n in range(1, 7):
        op(**given(make_input, n=n))
        calls = op._array_calls if make_input is np.asarray else op._tensor_calls.kernels.cpu
        assert 0 < len(calls._calls) <= 3


def test_plans_hold_nothing_of_a_call_and_outputs_are_new(gqa: Any, make_input: Make) -> None:
    op, _ = gqa
    call = given(make_input)
    first, second = op(**call), op(**call)
    first[...] = 0
    np.testing.assert_array_equal(np.asarray(second), np.asarray(op(**call)))
    watched = [ref(each) for each in (*call.values(), first, second)]
    del call, first, second
    gc.collect()
    assert [each() for each in watched] == [None] * 5


def python_calls(call: Callable[[], object]) -> int:
    """How many functions of Python a call runs through."""
    count = 0

    def profile(frame: FrameType, event: str, _: Any) -> None:
        nonlocal count
        count += event == "call"

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(before)
    return count


def test_a_call_like_an_earlier_one_takes_few_steps(make_input: Make) -> None:
    """Beside its program: a function of Python takes a third of a microsecond, and checking such a call takes 300."""
    op = attndsl.load(EXAMPLES / "sliding_window.attn")
    with torch.no_grad():
        op(**given(make_input, 1, 7), window=3)
        longer = given(make_input, 1, 9)
        first = python_calls(lambda: op(**longer, window=4))
        again = python_calls(lambda: op(**longer, window=4))
        arrays, output = map(np.asarray, longer.values()), np.empty((2, 4, 1, 6), np.float32)
        function = op.binding.function({"T": "f32"})
        program = python_calls(lambda: function(*arrays, output, window=4))
        steps = 20 if isinstance(longer["q"], np.ndarray) else 34
        assert again - program <= steps
        assert first - again <= 15


def test_a_small_call_leaves_blas_alone(gqa: Any, make_input: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever its lengths were before: BLAS hands a small product to nobody."""
    op, _ = gqa
    runs: list[object] = []
    monkeypatch.setattr(blas.Hold, "enter", lambda hold, run: runs.append(run))
    op(**given(make_input))
    for n in (7, 30, 9):
        op(**given(make_input, 5, n))
        assert not runs
    op(**given(make_input, 64, 200, 1, 64))
    assert len(runs) == 1


def changed(draw: random.Random, shapes: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Other shapes: mostly what was one extent is another, wherever it stands; else one extent, or a rank."""
    sizes = [0, 1, 2, 3, 5, 8, 2**48, 2**48 + 1, *chain.from_iterable(shapes)]
    old, new, made = draw.choice(sizes[8:]), draw.choice(sizes), [list(shape) for shape in shapes]
    if draw.random() < 0.7:
        return [tuple(new if extent == old else extent for extent in shape) for shape in shapes]
    shape = draw.choice(made)
    if shape and draw.random() < 0.9:
        shape[draw.randrange(len(shape))] = new
    else:
        shape.append(1)
    return [tuple(shape) for shape in made]


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.attn")), ids=lambda path: path.stem)
def test_a_plan_is_for_calls_that_fit_alone(path: Path) -> None:
    """Whatever has the key of a call that fits is found by all checks to fit, with the outputs that the plan makes."""
    op, draw = attndsl.load(path), random.Random(0)
    case, extents = Case.make(checked(op.spec)), TiedExtents(op.signature)
    arrays = [case.arrays[tensor.name] for tensor in op.signature.inputs]

    def of(shapes: list[tuple[int, ...]]) -> list[Any]:
        return [SimpleNamespace(shape=shape, dtype=array.dtype) for shape, array in zip(shapes, arrays, strict=True)]

    shapes = [array.shape for array in arrays]
    known, bound = extents.of(arrays), numpy_arrays.check(op.signature, arrays, case.params)
    assert known is not None
    agreed = 0
    for _ in range(200):
        other = of(changed(draw, shapes))
        found = extents.of(other)
        if found is None or extents.tied(found) != extents.tied(known):
            continue
        agreed += found != known
        planned = tuple(
            tuple(size if place is None else found[place] for place, size in zip(places, shape, strict=True))
            for places, shape in zip(extents.outputs, bound.shapes, strict=True)
        )
        assert numpy_arrays.check(op.signature, other, case.params).shapes == planned
    assert agreed


def test_a_part_of_an_extent_is_no_free_dim() -> None:
    """Not of an output's either."""
    inputs = (TensorSignature("x", "f32", (("dim", "N"), ("dim", "M"))),)
    outputs = (TensorSignature("o", "f32", (("iadd", ("dim", "N"), 1), ("dim", "M"), 3)),)
    extents = TiedExtents(Signature("cut", ("N", "M"), {}, (), inputs, outputs, (), ()))
    assert (extents.tied((5, 7)), extents.outputs) == ((5,), [[None, 1, None]])


class Functions(TorchFunctionMode):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[Any] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.seen.append(func)
        return func(*args, **(kwargs or {}))


class Dispatched(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.seen: list[Any] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.seen.append(func)
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("mode", [Functions, Dispatched])
def test_who_overrides_torch_sees_the_operator(gqa: Any, mode: Callable[[], Any]) -> None:
    op, _ = gqa
    call = given(FRAMEWORKS["torch"])
    wanted = op(**call)
    with mode() as watching:
        assert torch.equal(op(**call), wanted)
    assert getattr(torch.ops.attndsl, op.key).default in watching.seen


def test_a_profile_shows_the_operator(gqa: Any) -> None:
    op, _ = gqa
    call = given(FRAMEWORKS["torch"])
    op(**call)
    with torch.profiler.profile() as profile:
        op(**call)
    assert f"attndsl::{op.key}" in {event.name for event in profile.events()}


MODES: dict[str, Callable[[], AbstractContextManager[Any]]] = {
    "no_grad": torch.no_grad,
    "inference_mode": torch.inference_mode,
    "another default device": lambda: torch.device("meta"),
}


@pytest.mark.parametrize("mode", MODES)
def test_a_plan_serves_where_nothing_watches(gqa: Any, mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    op, _ = gqa
    call = given(FRAMEWORKS["torch"])
    wanted = op(**call)
    monkeypatch.setattr(op, "_tensor_calls", replace(op._tensor_calls, known=None))
    with MODES[mode]():
        assert torch.equal(op(**call), wanted)
        if mode == "inference_mode":
            assert op(**call).is_inference()


@pytest.fixture(autouse=True)
def grad() -> Iterator[None]:
    """As torch has it at first, whatever another test has left."""
    with torch.enable_grad():
        yield
