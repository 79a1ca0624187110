"""The server of examples/: pages have the owners that they should, every request gets its tokens, and mistakes show."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule

import serving
from serving_pages import OutOfPages, Pages, Sequence
from serving_scheduler import Batch, Request, Scheduler

NUMBER, SIZE = 6, 3


class Memory:
    """What pages hold: a number for each key."""

    def __init__(self, pages: Pages) -> None:
        self.pages, self.held = pages, [[0] * pages.size for _ in pages.owners]

    def copy(self, copies: list[tuple[int, int]]) -> None:
        """As an engine does it: all are read before any is written."""
        assert len({new for _, new in copies}) == len(copies)
        read = [[*self.held[old]] for old, _ in copies]
        for (_, new), keys in zip(copies, read, strict=True):
            self.held[new] = keys

    def write(self, sequence: Sequence, keys: list[int]) -> None:
        """The last keys of a sequence, on pages that are its alone."""
        for at, key in enumerate(keys, sequence.length - len(keys)):
            page = sequence.pages[at // self.pages.size]
            assert self.pages.owners[page] == 1
            self.held[page][at % self.pages.size] = key

    def read(self, sequence: Sequence) -> list[int]:
        return [self.held[sequence.pages[at // self.pages.size]][at % self.pages.size] for at in range(sequence.length)]


class Allocation(RuleBasedStateMachine):
    """Sequences that grow, fork and end, beside lists that do."""

    sequences = Bundle("sequences")

    def __init__(self) -> None:
        super().__init__()
        self.pages = Pages(NUMBER, SIZE)
        self.memory = Memory(self.pages)
        self.expected: dict[Sequence, list[int]] = {}
        self.written = 0

    @rule(target=sequences)
    def begin(self) -> Sequence:
        sequence = Sequence()
        self.expected[sequence] = []
        return sequence

    @rule(sequence=sequences, count=st.integers(0, 2 * SIZE + 1))
    def append(self, sequence: Sequence, count: int) -> None:
        before = (sequence.length, [*sequence.pages], [*self.pages.owners], self.pages.free)
        try:
            copies = self.pages.append(sequence, count)
        except OutOfPages:
            assert before == (sequence.length, sequence.pages, self.pages.owners, self.pages.free)
            assert self.pages.needed(sequence.length + count) - len(sequence.pages) + 1 > self.pages.free
            return
        keys = [*range(self.written, self.written + count)]
        self.written += count
        self.memory.copy(copies)
        self.memory.write(sequence, keys)
        self.expected[sequence] += keys

    @rule(target=sequences, sequence=sequences, data=st.data())
    def fork(self, sequence: Sequence, data: st.DataObject) -> Sequence:
        length = data.draw(st.integers(0, sequence.length))
        forked = self.pages.fork(sequence, length)
        self.expected[forked] = self.expected[sequence][:length]
        return forked

    @rule(sequence=consumes(sequences))
    def release(self, sequence: Sequence) -> None:
        free, frees = self.pages.free, self.pages.frees(sequence)
        self.pages.release(sequence)
        assert (self.pages.free > free) == frees
        del self.expected[sequence]

    @invariant()
    def everybody_has_their_keys(self) -> None:
        for sequence, keys in self.expected.items():
            assert self.memory.read(sequence) == keys

    @invariant()
    def each_page_has_its_owners(self) -> None:
        held = [page for sequence in self.expected for page in sequence.pages]
        assert self.pages.owners == [held.count(page) for page in range(NUMBER)]
        assert all(len(sequence.pages) == len({*sequence.pages}) for sequence in self.expected)
        assert sorted(self.pages._free) == [page for page in range(NUMBER) if page not in held]

    def teardown(self) -> None:
        for sequence in self.expected:
            self.pages.release(sequence)
        assert self.pages.free == NUMBER


Allocation.TestCase.settings = settings(max_examples=40, stateful_step_count=30, deadline=None)
TestAllocation = Allocation.TestCase


def following(tokens: list[int]) -> int:
    """A model, of sorts: what comes next rests on all tokens and their order."""
    return sum(token * (at + 1) for at, token in enumerate(tokens)) % 97


def step(memory: Memory, batch: Batch) -> list[int]:
    """A step of it over a cache whose keys are the tokens."""
    memory.copy(batch.copies)
    for request, count in zip(batch.requests, batch.counts, strict=True):
        end = request.cache.length
        memory.write(request.cache, request.tokens[end - count : end])
    return [following(memory.read(request.cache)) for request in batch.requests]


PREFIXES = ((), (1, 2, 3, 4), (1, 2, 3, 4, 5, 6), (7,) * 5)
REQUESTS = st.lists(
    st.builds(
        lambda prefix, own, wanted, arrival: Request([*prefix, *own], wanted, arrival, shared=len(prefix)),
        st.sampled_from(PREFIXES),
        st.lists(st.integers(0, 9), max_size=6),
        st.integers(1, 6),
        st.integers(0, 9),
    ),
    min_size=1,
    max_size=8,
)


@given(requests=REQUESTS, number=st.integers(2, 16), seats=st.integers(1, 4), more=st.integers(0, 6))
@settings(max_examples=80, deadline=None)
def test_each_request_gets_its_tokens(requests: list[Request], number: int, seats: int, more: int) -> None:
    """However few pages there are, and whoever is preempted: all that are not refused."""
    pages = Pages(number, SIZE)
    scheduler, memory = Scheduler(pages, seats, seats + more), Memory(pages)
    ready: list[Request] = []
    refused: list[Request] = []
    for now in range(1000):
        for request in requests:
            if request.arrival == now:
                try:
                    scheduler.submit(request)
                except ValueError:
                    refused.append(request)
        batch = scheduler.schedule()
        assert batch.rows <= seats + more
        assert len(batch.requests) <= seats
        assert batch.requests or not (scheduler.waiting or scheduler.running)
        ready += scheduler.advance(batch, step(memory, batch))
    assert {*map(id, ready + refused)} == {*map(id, requests)}
    for request in refused:
        assert not request.prompt or len(request.prompt) + request.wanted - 1 > SIZE * number
    for request in ready:
        tokens = [*request.prompt]
        for _ in range(request.wanted):
            tokens.append(following(tokens))
        assert request.tokens == tokens
    for prefix in scheduler.prefixes.values():
        pages.release(prefix)
    assert pages.free == number


def test_what_cannot_be_served_is_refused() -> None:
    scheduler = Scheduler(Pages(2, SIZE), 1, 4)
    scheduler.submit(Request([1] * 4, 3))
    with pytest.raises(ValueError, match=r"^a request needs 3 pages, and there are 2$"):
        scheduler.submit(Request([1] * 4, 4))
    for request in (Request([], 1), Request([1], 0)):
        with pytest.raises(ValueError, match=r"^a prompt has a token at least, and one follows$"):
            scheduler.submit(request)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A server of few pages and short steps, which leaves torch the threads that it had."""
    monkeypatch.setattr(serving, "PREFIXES", (45, 70))
    monkeypatch.setattr(serving, "PAGES", 18)
    monkeypatch.setattr(serving, "SEATS", 6)
    monkeypatch.setattr(serving, "SIZES", (3, 7))  # tiles that are too small to wait for Numba
    threads = torch.get_num_threads()
    yield
    torch.set_num_threads(threads)


ARGUMENTS = ["--requests", "12", "--device", "cpu"]


@pytest.mark.usefixtures("small")
def test_every_token_is_that_of_the_dense_computation(capsys: pytest.CaptureFixture[str]) -> None:
    assert serving.main(ARGUMENTS) == 0
    printed = capsys.readouterr().out
    agree = re.findall(r"│ (\w+) +│ +(\d+) of (\d+) │", printed)
    assert [name for name, _, _ in agree] == ["gather", "attndsl"]
    assert all(same == generated != "0" for _, same, generated in agree)
    counts = re.search(r"(\d+) requests began .*?; (\d+) pages .*, (\d+) prefixes evicted,\s+(\d+) requests", printed)
    assert counts is not None
    assert all(int(count) for count in counts.groups())
    manual = (Path(__file__).parents[2] / "docs" / "serving.md").read_text(encoding="utf-8")
    shown = re.search(r"^```console\n\$ python examples/serving.py\n(.*?)^```$", manual, re.DOTALL | re.MULTILINE)
    assert shown is not None
    assert outline(shown[1]) == outline(printed)


def outline(printed: str) -> list[str]:
    """What is printed without numbers, bars and borders."""
    lines = [" ".join(re.sub(r"[\d.]+|[━┃│]", " ", line).split()) for line in printed.splitlines()]
    return [line for line in lines if re.search("[a-z]", line)]


@pytest.mark.usefixtures("small")
def test_a_page_that_is_not_copied_shows(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    schedule = Scheduler.schedule
    monkeypatch.setattr(Scheduler, "schedule", lambda self: replace(schedule(self), copies=[]))
    assert serving.main(ARGUMENTS) == 1
    assert "There are tokens that the dense computation does not give." in capsys.readouterr().out
