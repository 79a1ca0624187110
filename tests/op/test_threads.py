"""Tiles on several threads: the same bits, each tile once, and nothing left behind, whatever ends a call."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest
from threadpoolctl import threadpool_info

import attndsl
from attndsl.driver.library import checked
from attndsl.op import threads
from attndsl.op.blas import on_one_thread
from attndsl.syntax.read import read_source
from attndsl.testing import Case
from attndsl.testing.case import types_with
from attndsl.testing.stages import Program, compile_program

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(autouse=True)
def three(monkeypatch: pytest.MonkeyPatch) -> None:
    """A call may have three threads, however many processors there are."""
    monkeypatch.setattr(threads, "threads", lambda: 3)


class Work:
    """Tiles that take a while, in a nest as generated code has it, and who computed which."""

    def __init__(self, act: Callable[[int], None] = lambda tile: time.sleep(0.001)) -> None:
        self.act = act
        self.computed: list[int] = []
        self.by: set[int] = set()
        self.under_way: list[int] = []

    def __call__(self, mine: threads.Mine) -> None:
        for first in range(0, 24, 6):
            for tile in mine(range(first, first + 6)):
                self.under_way.append(tile)
                try:
                    self.act(tile)
                    self.computed.append(tile)
                    self.by.add(threading.get_ident())
                finally:
                    self.under_way.remove(tile)


def test_each_tile_is_computed_once_by_whoever_is_free() -> None:
    work = Work()
    threads.run(work, True)
    assert sorted(work.computed) == list(range(24))
    assert len(work.by) == 3


def test_what_is_not_worth_it_stays_in_the_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    work = Work()
    threads.run(work, False)
    assert work.computed == list(range(24))
    assert work.by == {threading.get_ident()}


def test_a_single_tile_asks_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "_helpers", None)
    threads.run(lambda mine: [each for empty in (0, 1, 0) for each in mine(range(empty))], True)  # type: ignore[arg-type]


def test_small_calls_ask_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "_helpers", None)
    q, k, v = np.ones((3, 2, 2, 100, 64), np.float32)
    attndsl.load(EXAMPLES / "causal_end.attn")(q=q, k=k, v=v)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many helpers each call has asked for; none comes."""
    asked: list[int] = []

    def note(call: threads._Call) -> int:
        asked.append(len(call.seats))
        return 0

    monkeypatch.setattr(threads._helpers, "ask", note)
    return asked


def test_large_calls_do(asked: list[int]) -> None:
    q, k, v = np.ones((3, 2, 2, 320, 64), np.float32)
    attndsl.load(EXAMPLES / "causal_end.attn")(q=q, k=k, v=v)
    assert asked == [3]


@pytest.mark.parametrize(("heads", "keys", "helpers"), [(32, 2048, [3]), (32, 1024, []), (8, 2048, [])])
def test_decoding_does_where_keys_are_many_and_rows_several(
    heads: int, keys: int, helpers: list[int], asked: list[int]
) -> None:
    k = np.ones((1, 8, keys, 128), np.float32)
    attndsl.load(EXAMPLES / "gqa.attn")(q=np.ones((1, heads, 1, 128), np.float32), k=k, v=k)
    assert asked == helpers


@pytest.mark.parametrize(("keys", "helpers"), [(4096, [3]), (4095, [])])
def test_one_tile_of_rows_is_shared_in_splits_of_its_keys(keys: int, helpers: list[int], asked: list[int]) -> None:
    q, k = np.ones((1, 16, 1, 128), np.float32), np.ones((1, keys, 128), np.float32)
    attndsl.load(EXAMPLES / "mqa.attn")(q=q, k=k, v=k)
    assert asked == helpers


@cache
def program(name: str) -> Program:
    spec = checked(read_source(EXAMPLES / f"{name}.attn"))
    return compile_program(spec, types_with(spec, "f32"), rows=2, keys=3)


@pytest.mark.parametrize("name", ["gqa", "packed_ragged", "co_attention", "topk_sparse", "padding", "mqa"])
def test_the_number_of_threads_changes_no_bit(name: str) -> None:
    """Extents that data give, outputs of which rows leave elements unwritten, several kernels one after another."""
    compiled = program(name)
    dims = {"B": 1, "M": 1, "H": 3, "N": 50} if name == "mqa" else {}  # its keys are split
    case = Case.make(checked(read_source(EXAMPLES / f"{name}.attn")), dims=dims, seed=5)
    alone = compiled.run(case)
    shared = Program(compiled.source, partial(compiled.function, _run=lambda tiles, worth: threads.run(tiles, True)))
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for _ in range(5):
            for output, found in shared.run(case).items():
                assert found.tobytes() == alone[output].tobytes()
    finally:
        sys.setswitchinterval(interval)


class Failure(Exception):
    pass


def test_what_a_tile_raises_reaches_the_caller_and_ends_the_others() -> None:
    """From all threads at once, and from one of them."""
    for fails in (lambda tile: True, lambda tile: tile == 2):

        def act(tile: int, fails: Callable[[int], bool] = fails) -> None:
            time.sleep(0.001)
            if fails(tile):
                raise Failure

        work = Work(act)
        with pytest.raises(Failure):
            threads.run(work, True)
        assert not work.under_way
        assert len(work.computed) < 20
        after = len(work.computed)
        time.sleep(0.01)
        assert len(work.computed) == after


def _interrupted(call: Callable[[], object], at: int) -> bool:
    """Makes a call with a KeyboardInterrupt before the `at`th line that its thread runs of the module's."""
    lines = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal lines
        if frame.f_code.co_filename != threads.__file__:
            return None
        if event == "line" and frame.f_code.co_name != "ask":
            lines += 1
            if lines == at:
                raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return False


def test_after_an_interruption_before_any_line_nothing_goes_on() -> None:
    at = 1
    while True:
        work = Work(lambda tile: time.sleep(0.0003))
        interrupted = _interrupted(partial(threads.run, work, True), at)
        assert not work.under_way, f"after an interruption before line {at}"
        if not interrupted:
            break
        at += 1
    assert at > 40
    assert sorted(work.computed) == list(range(24))


def test_helpers_have_the_callers_errors_and_blas_one_thread() -> None:
    seen = set[tuple[str, int]]()

    def act(tile: int) -> None:
        time.sleep(0.001)
        blas = [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]
        seen.add((np.geterr()["divide"], max(blas)))

    work = Work(act)
    with np.errstate(divide="raise"):
        on_one_thread(threads.run)(work, True)
    assert len(work.by) == 3
    assert seen == {("raise", 1)}


def test_a_call_in_a_helper_asks_nobody() -> None:
    inner: list[Work] = []

    def act(tile: int) -> None:
        time.sleep(0.001)
        if threading.current_thread().name == "attndsl":
            inner.append(Work(lambda tile: None))
            threads.run(inner[-1], True)

    threads.run(Work(act), True)
    assert inner
    assert all(len(work.by) == 1 for work in inner)


def test_helpers_serve_one_call_at_a_time_and_the_others_compute_themselves() -> None:
    works = [Work() for _ in range(6)]
    callers = [threading.Thread(target=threads.run, args=(work, True)) for work in works]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(20)
    assert [sorted(work.computed) for work in works] == [list(range(24))] * 6
    assert {1, 3} == {len(work.by) for work in works}
    work = Work()
    threads.run(work, True)
    assert len(work.by) == 3, "they are free again"


def test_without_threads_the_caller_computes(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*_: Any, **__: Any) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threads, "_helpers", threads._Helpers())
    monkeypatch.setattr(threading.Thread, "start", none)
    work = Work()
    threads.run(work, True)
    assert sorted(work.computed) == list(range(24))
    assert work.by == {threading.get_ident()}


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="threads have no affinity here")
def test_no_two_helpers_have_a_processor_in_common(monkeypatch: pytest.MonkeyPatch) -> None:
    mine = os.sched_getaffinity(0)
    number = min(3, len(mine))
    monkeypatch.setattr(threads, "threads", lambda: number)
    allowed: dict[int, set[int]] = {}

    def note(_: int) -> None:
        time.sleep(0.001)
        allowed[threading.get_ident()] = os.sched_getaffinity(0)

    threads.run(Work(note), True)
    assert len(allowed) == number
    assert sum(map(len, allowed.values())) == len(mine)
    assert set().union(*allowed.values()) == mine
    assert os.sched_getaffinity(0) == mine, "the caller's are as they were"


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="threads have no affinity here")
@pytest.mark.parametrize("missing", [True, False])
def test_where_a_system_gives_no_processors_helpers_come_all_the_same(
    missing: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> None:
        raise PermissionError

    if missing:
        monkeypatch.delattr(os, "sched_setaffinity")
    else:
        monkeypatch.setattr(os, "sched_setaffinity", refused)
        monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2, 10**5})
    work = Work()
    threads.run(work, True)
    assert len(work.by) == 3


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_process_has_threads_of_its_own() -> None:
    threads.run(Work(), True)
    child = os.fork()
    if not child:
        work = Work()
        threads.run(work, True)
        os._exit(len(work.by) != 3 or sorted(work.computed) != list(range(24)))
    assert os.waitpid(child, 0)[1] == 0


@pytest.fixture
def limits(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    monkeypatch.undo()
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(6), raising=False)
    monkeypatch.delenv(threads.VARIABLE, raising=False)
    monkeypatch.setitem(sys.modules, "torch", None)
    return threads.threads


def test_a_call_has_a_thread_for_each_processor(limits: Callable[[], int]) -> None:
    assert limits() == 6


@pytest.mark.parametrize(("said", "number"), [("4", 4), ("1", 1), ("64", 6)])
def test_the_environment_says_how_many_at_most(
    said: str, number: int, limits: Callable[[], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(threads.VARIABLE, said)
    assert limits() == number


@pytest.mark.parametrize("said", ["0", "-1", "two", "", "²"])
def test_what_is_no_number_of_threads_is_said(
    said: str, limits: Callable[[], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(threads.VARIABLE, said)
    with pytest.raises(ValueError, match=rf"^ATTNDSL_NUM_THREADS is '{said}': it is how many .*, 1 or more$"):
        limits()


def test_it_is_said_at_the_first_call_whatever_its_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    monkeypatch.setenv(threads.VARIABLE, "two")
    with pytest.raises(ValueError, match="ATTNDSL_NUM_THREADS is 'two'"):
        attndsl.load(EXAMPLES / "causal_end.attn")(**dict.fromkeys("qkv", np.ones((1, 1, 2, 2), np.float32)))


def test_torch_says_how_many_at_most(limits: Callable[[], int], monkeypatch: pytest.MonkeyPatch) -> None:
    torch = type(sys)("torch")
    monkeypatch.setitem(sys.modules, "torch", torch)
    assert limits() == 6, "torch is being imported"
    torch.get_num_threads = lambda: 2  # type: ignore[attr-defined]
    assert limits() == 2


class Stepped:
    """Tiles in steps, which add to the places of a loop in their order, and take as long as they like."""

    def __init__(self, heads: int, act: Callable[[int, int, int], None] = lambda *_: None) -> None:
        self.heads, self.act = heads, act
        self.added: dict[tuple[int, int], list[int]] = {}
        self.by: set[int] = set()

    def __call__(self, mine: threads.Mine) -> None:
        for step in mine.steps(range(0, 40, 4)):
            for batch in range(2):
                for head in mine(range(self.heads)):
                    self.by.add(threading.get_ident())
                    first, last = self.ends(step)
                    for turn, key in [(turn, key) for turn in range(2) for key in range(first, last, 5)]:
                        self.act(step, head, key)
                        mine.wait((turn, min(key + 5, last)))
                        for place in range(key, min(key + 5, last)):
                            self.added.setdefault((batch * self.heads + head, turn * 30 + place), []).append(step)
                        mine.past((turn, min(key + 5, last)))

    @staticmethod
    def ends(step: int) -> tuple[int, int]:
        """Where the loop of a step begins and ends: some end early, and some have no turn."""
        return step % 3, 30 - 15 * (step // 4 % 3)

    def check(self) -> None:
        steps = {step: range(*self.ends(step)) for step in range(0, 40, 4)}
        for (_, place), added in self.added.items():
            assert added == [step for step, places in steps.items() if place % 30 in places]
        assert len(self.added) == 2 * self.heads * 60


def late(step: int, head: int, key: int) -> None:
    """Earlier steps take longer: who does not wait overtakes them."""
    time.sleep(0.002 * (40 - step) / 40 * ((head + key) % 3))


@pytest.mark.parametrize("heads", [1, 2, 7])
def test_steps_add_one_after_another(heads: int) -> None:
    work = Stepped(heads, late)
    threads.run(work, True)
    work.check()
    assert len(work.by) == 3
    alone = Stepped(heads)
    threads.run(alone, False)
    alone.check()


def test_steps_run_beside_each_other() -> None:
    """Of one head, the next step is under way while the one before has keys to go."""
    begun: list[tuple[int, int]] = []

    def note(step: int, head: int, key: int) -> None:
        time.sleep(0.001)
        begun.append((step, key))

    threads.run(Stepped(1, note), True)
    assert any(later[0] > earlier[0] for n, earlier in enumerate(begun) for later in begun[:n])


def test_a_step_that_fails_ends_those_that_wait_for_it() -> None:
    def act(step: int, head: int, key: int) -> None:
        late(step, head, key)
        if step == 12 and key > 20:
            raise ValueError("no such key")

    with pytest.raises(ValueError, match="no such key"):
        threads.run(Stepped(2, act), True)
    work = Stepped(2)
    threads.run(work, True)
    work.check()
