"""The pages of a key-value cache: which are free, and how many sequences each belongs to.

Nothing here holds a key. The allocator hands out numbers of pages, and says which page has to be copied to which before
anybody writes: a page of several sequences is never written.
"""

from __future__ import annotations

from dataclasses import dataclass, field


class OutOfPages(RuntimeError):
    """A sequence would have to grow by more pages than are free; nothing has changed."""


@dataclass(slots=True, eq=False)
class Sequence:
    """The keys of one request, in order: how many there are, and the pages that they fill, the last perhaps in part."""

    length: int = 0
    pages: list[int] = field(default_factory=list)


class Pages:
    """`number` pages of `size` keys each.

    `owners[p]` is how many sequences page p belongs to; a page of none is free.
    """

    def __init__(self, number: int, size: int) -> None:
        self.size = size
        self.owners = [0] * number
        self._free = list(reversed(range(number)))

    @property
    def free(self) -> int:
        """How many pages are free."""
        return len(self._free)

    def needed(self, length: int) -> int:
        """How many pages hold so many keys."""
        return -(-length // self.size)

    def append(self, sequence: Sequence, count: int) -> list[tuple[int, int]]:
        """Makes room for so many more keys.

        Gives pages to copy, (from, to), before keys are written: where they go on a page that is not the sequence's
        alone, it gets one of its own. Raises OutOfPages.
        """
        first = sequence.length // self.size
        written = sequence.pages[first:] if count else []  # the last page, where it has room
        shared = [page for page in written if self.owners[page] > 1]
        missing = self.needed(sequence.length + count) - len(sequence.pages)
        if missing + len(shared) > self.free:
            raise OutOfPages(f"{missing + len(shared)} pages are needed, {self.free} are free")
        copies = [(page, self._take()) for page in shared]
        for old, new in copies:
            sequence.pages[first] = new
            self.owners[old] -= 1
        sequence.pages += [self._take() for _ in range(missing)]
        sequence.length += count
        return copies

    def frees(self, sequence: Sequence) -> bool:
        """Whether its release would free a page."""
        return any(self.owners[page] == 1 for page in sequence.pages)

    def fork(self, sequence: Sequence, length: int) -> Sequence:
        """Another sequence with the same first keys, on the same pages."""
        assert length <= sequence.length, "what is forked is there"
        pages = sequence.pages[: self.needed(length)]
        for page in pages:
            self.owners[page] += 1
        return Sequence(length, pages)

    def release(self, sequence: Sequence) -> None:
        """Ends a sequence: it has no keys any more. Pages that are nobody else's are free."""
        for page in sequence.pages:
            self.owners[page] -= 1
            if not self.owners[page]:
                self._free.append(page)
        sequence.length, sequence.pages = 0, []

    def _take(self) -> int:
        page = self._free.pop()
        self.owners[page] = 1
        return page
