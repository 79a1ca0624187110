"""Continuous batching: which tokens of which requests the next step computes.

A request is a list of tokens, of which the first have their keys in the cache. A step computes some of the rest: many
are a chunk of a prefill, a single one is a decode, and nothing here tells the two apart. Where none is left, the last
row says the next token.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from serving_pages import OutOfPages, Pages, Sequence


@dataclass(slots=True, eq=False)
class Request:
    """`wanted` tokens after a prompt, whose first `shared` tokens other requests may begin with too.

    It arrives at the step `arrival`. `cache` has the keys of the first `cache.length` tokens.
    """

    prompt: list[int]
    wanted: int
    arrival: int = 0
    shared: int = 0
    tokens: list[int] = field(init=False)
    cache: Sequence = field(default_factory=Sequence)

    def __post_init__(self) -> None:
        self.tokens = [*self.prompt]

    @property
    def generated(self) -> list[int]:
        """The tokens after the prompt, so far."""
        return self.tokens[len(self.prompt) :]

    @property
    def pending(self) -> int:
        """How many of its tokens have no keys yet."""
        return len(self.tokens) - self.cache.length


@dataclass(slots=True)
class Batch:
    """One step: of each request so many tokens, which have room in the cache; before it, pages to copy, (from, to)."""

    requests: list[Request] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    copies: list[tuple[int, int]] = field(default_factory=list)

    @property
    def rows(self) -> int:
        """How many tokens it computes."""
        return sum(self.counts)


@dataclass(slots=True)
class Tally:
    """What has happened so far."""

    forked: int = 0
    copied: int = 0
    evicted: int = 0
    preempted: int = 0
    most_pages: int = 0


class Scheduler:
    """Requests in the order in which they came, up to `seats` of them at once, `budget` tokens a step.

    Where pages run out, prefixes are evicted that are kept for requests to come, then the newest request is preempted:
    it gives its pages back, and begins anew when there is room, with the tokens that it has generated.
    """

    def __init__(self, pages: Pages, seats: int, budget: int) -> None:
        assert seats <= budget, "each request gets on in each step"
        self.pages, self.seats, self.budget = pages, seats, budget
        self.waiting: deque[Request] = deque()
        self.running: list[Request] = []
        self.prefixes: dict[tuple[int, ...], Sequence] = {}  # those used last stand last
        self.tally = Tally()

    def submit(self, request: Request) -> None:
        """Takes a request. Raises ValueError where it could never be served."""
        if not request.prompt or request.wanted < 1:
            raise ValueError("a prompt has a token at least, and one follows")
        needed = self.pages.needed(len(request.prompt) + request.wanted - 1)  # none reads the key of the last token
        if needed > len(self.pages.owners):
            raise ValueError(f"a request needs {needed} pages, and there are {len(self.pages.owners)}")
        self.waiting.append(request)

    def schedule(self) -> Batch:
        """The next step; one without requests where none waits."""
        batch, left, preempted = Batch(), self.budget, self.tally.preempted
        for place, request in enumerate(self.running):  # those at its end may be preempted meanwhile
            behind = len(self.running) - place - 1  # one token is kept for each
            left -= self._grow(batch, request, min(request.pending, left - behind), preempts=True)
        while self.waiting and left and len(self.running) < self.seats and self.tally.preempted == preempted:
            request = self.waiting[0]
            self._adopt_prefix(request)
            computed = self._grow(batch, request, min(request.pending, left), preempts=False)
            if not computed:
                self.pages.release(request.cache)
                break
            left -= computed
            self.tally.forked += request.cache.length > computed
            self.running.append(self.waiting.popleft())
        self.tally.copied += len(batch.copies)
        self.tally.most_pages = max(self.tally.most_pages, len(self.pages.owners) - self.pages.free)
        return batch

    def advance(self, batch: Batch, following: Iterable[int]) -> list[Request]:
        """Notes the token that follows the last row of each request of a step; gives the requests that are ready."""
        ready = []
        for request, token in zip(batch.requests, following, strict=True):
            self._keep_prefix(request)
            if not request.pending:
                request.tokens.append(token)
            if len(request.generated) == request.wanted:
                ready.append(request)
                self.running.remove(request)
                self.pages.release(request.cache)
        return ready

    def _grow(self, batch: Batch, request: Request, count: int, preempts: bool) -> int:
        """Puts so many tokens of a request into a step; gives how many: none where there is no room."""
        while True:
            try:
                batch.copies += self.pages.append(request.cache, count)
            except OutOfPages:
                if self._evict(request):
                    continue
                if preempts:
                    self._preempt()
                if request not in self.running:
                    return 0
            else:
                batch.requests.append(request)
                batch.counts.append(count)
                return count

    def _evict(self, request: Request) -> bool:
        """Gives up the prefix that was unused for longest, of those that have pages to give, if there is one.

        Where nobody else has any, one that shares all with the request goes, too, as it keeps it from writing to them.
        """
        alone = all(other is request for other in self.running)
        key = next((key for key, prefix in self.prefixes.items() if alone or self.pages.frees(prefix)), None)
        if key is not None:
            self.pages.release(self.prefixes.pop(key))
            self.tally.evicted += 1
        return key is not None

    def _preempt(self) -> None:
        """Takes the pages of the newest request, which is none that this step has got to."""
        newest = self.running.pop()
        self.pages.release(newest.cache)
        self.waiting.appendleft(newest)
        self.tally.preempted += 1

    def _adopt_prefix(self, request: Request) -> None:
        """Begins a request with the keys of its prefix, where somebody has computed them."""
        key = (*request.prompt[: request.shared],)
        if key in self.prefixes:
            prefix = self.prefixes[key] = self.prefixes.pop(key)
            request.cache = self.pages.fork(prefix, min(prefix.length, len(request.tokens) - 1))

    def _keep_prefix(self, request: Request) -> None:
        """Keeps the keys of a prefix, once they are computed, for requests to come."""
        key = (*request.prompt[: request.shared],)
        if key and key not in self.prefixes and request.cache.length >= request.shared:
            self.prefixes[key] = self.pages.fork(request.cache, request.shared)
