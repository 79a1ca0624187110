"""The masks of transformers as what each key is seen by: from one query on, up to another.

A causal mask, a window, chunks, padding, holes, packed sequences and the unfilled end of a static cache: all let a key
be seen by one interval of queries. So one integer a key says what a dense mask says with one a pair, and two where a
key leaves the sight of later queries. Import this only when transformers is in use.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from inspect import signature
from types import FunctionType
from typing import Any

import torch
from torch.utils._pytree import tree_map_only
from transformers import masking_utils
from transformers.masking_utils import (
    bidirectional_mask_function,
    causal_mask_function,
    prepare_padding_mask,
    sdpa_mask,
)

from attndsl.integrations.transformers.errors import MaskIsAdded

NEVER = 2**30
"""A query that no call has: a key that is seen since then is not seen."""

Bound = torch.Tensor | None
Rows = tuple[Bound, Bound]
"""The first query that sees each key, and the first after those that do: ints [1 or B, N]; None bounds nothing."""

MaskFunction = Callable[..., Any]
"""A mask of transformers: whether query `q` sees key `k`, of indices of a batch row, a head, a query and a key."""


class KeyRows(torch.Tensor):
    """A mask bool [B, 1, M, N] that is kept as the queries that see each key.

    Attention takes these, `since` and `until`: int32 [B, N]; None bounds nothing. Whatever else looks into it finds the
    dense mask, which is made then, and stands for it from then on.
    """

    since: Bound
    until: Bound
    looked_into: Bound

    @classmethod
    def of(cls, since: Bound, until: Bound, shape: Sequence[int], device: torch.device) -> KeyRows:
        """A mask of this shape, which has no memory of its own."""
        made = torch.Tensor._make_wrapper_subclass(cls, shape, dtype=torch.bool, device=device)
        assert isinstance(made, cls)
        made.since, made.until, made.looked_into = since, until, None
        return made

    def dense(self) -> torch.Tensor:
        """The mask as it looks."""
        if self.looked_into is None:
            i = torch.arange(self.shape[2], device=self.device)[:, None]
            seen = torch.ones(self.shape, dtype=torch.bool, device=self.device)
            if self.since is not None:
                seen &= self.since[:, None, None, :] <= i
            if self.until is not None:
                seen &= i < self.until[:, None, None, :]
            self.looked_into = seen
        return self.looked_into

    __torch_function__ = torch._C._disabled_torch_function_impl  # type: ignore[assignment]

    @classmethod
    def __torch_dispatch__(  # type: ignore[override]
        cls, operator: Any, types: Any, given: Any = (), named: Any = None
    ) -> Any:
        """What an operator makes of the dense mask. Raises MaskIsAdded where it is taken for one of numbers."""
        if operator.overloadpacket in _ADDING:
            raise MaskIsAdded()
        given, named = tree_map_only(cls, cls.dense, (given, named or {}))
        return operator(*given, **named)

    def __tensor_flatten__(self) -> tuple[list[str], None]:
        """The tensors that it is made of, for what traces it."""
        return [name for name in ("since", "until", "looked_into") if getattr(self, name) is not None], None

    @staticmethod
    def __tensor_unflatten__(inner: dict[str, torch.Tensor], _: None, shape: Sequence[int], __: object) -> KeyRows:
        """The mask that is made of these."""
        made = KeyRows.of(inner.get("since"), inner.get("until"), shape, next(iter(inner.values())).device)
        made.looked_into = inner.get("looked_into")
        return made


_ADDING = (torch.ops.aten.add, torch.ops.aten.add_)


def model_mask(
    batch_size: int,
    q_length: int,
    kv_length: int,
    q_offset: int | torch.Tensor = 0,
    kv_offset: int = 0,
    mask_function: MaskFunction = causal_mask_function,
    attention_mask: torch.Tensor | None = None,
    use_vmap: bool = False,
    device: torch.device | str = "cpu",
    **_: Any,
) -> torch.Tensor:
    """The mask of a call, as transformers asks for it: a KeyRows, or a dense mask of a function that it cannot say."""
    keys = torch.arange(kv_offset, kv_offset + kv_length, device=device)[None]
    if (found := _interval(mask_function, keys)) is None:
        dense = sdpa_mask(
            batch_size=batch_size,
            q_length=q_length,
            kv_length=kv_length,
            q_offset=q_offset,  # type: ignore[arg-type]  # a tensor, of a static cache
            kv_offset=kv_offset,
            mask_function=mask_function,
            attention_mask=attention_mask,
            allow_is_causal_skip=False,
            use_vmap=use_vmap,
            device=device,
        )
        assert dense is not None  # nothing lets it skip
        return dense
    since, until = (None if bound is None else bound - q_offset for bound in found)
    if (present := prepare_padding_mask(attention_mask, kv_length, kv_offset)) is not None:
        here = present[:, kv_offset : kv_offset + kv_length].to(device)
        since = torch.where(here, torch.zeros_like(keys) if since is None else since, NEVER)
    if since is None and torch.compiler.is_compiling():  # what is traced is made of tensors
        since = torch.zeros_like(keys)
    bounds = (None if bound is None else bound.to(torch.int32).expand(batch_size, -1) for bound in (since, until))
    return _key_rows(*bounds, batch_size, q_length, keys)  # type: ignore[no-any-return]


@torch.compiler.allow_in_graph  # type: ignore[untyped-decorator]
def _key_rows(since: Bound, until: Bound, batch: int, queries: int, keys: torch.Tensor) -> KeyRows:
    """The mask of so many queries and of keys [1, N]; where it is traced, too."""
    return KeyRows.of(since, until, (batch, 1, queries, keys.shape[1]), keys.device)


def _interval(function: MaskFunction, keys: torch.Tensor) -> Rows | None:
    """The queries that see keys at some positions [1, N], by what the function is made of; None for no interval."""
    if function is causal_mask_function:
        return keys, None
    if function is bidirectional_mask_function:
        return None, None
    if torch.compiler.is_compiling():  # which shows no closure, but what `_open_in_graphs` says of functions
        read = getattr(function, "read_by", None) if _OPENED else None
    else:
        read = _READERS.get(getattr(function, "__code__", None))
    return None if read is None else read(keys, **_free(function))


def _free(function: MaskFunction) -> dict[str, Any]:
    """What a function that another one returned has of it, by name."""
    if torch.compiler.is_compiling():
        return getattr(function, "made_of", {})
    cells = function.__closure__ or ()
    return {name: cell.cell_contents for name, cell in zip(function.__code__.co_freevars, cells, strict=True)}


def _all(keys: torch.Tensor, mask_functions: tuple[MaskFunction, ...]) -> Rows | None:
    """What all of some masks let through: intervals have an interval in common."""
    packed = any(getattr(function, "__code__", None) is _PACKED for function in mask_functions)
    since: Bound = None
    until: Bound = None
    for function in mask_functions:
        if packed and getattr(function, "__code__", None) is _REMAPPED:
            # Within a packed sequence positions rise by 1, as places do; masks of differences are the same of both.
            function = _free(function).get("mask_function", function)
            if not _is_of_differences(function):
                return None
        if (found := _interval(function, keys)) is None:
            return None
        since, until = _either(torch.maximum, since, found[0]), _either(torch.minimum, until, found[1])
    return since, until


def _either(join: Callable[..., torch.Tensor], one: Bound, other: Bound) -> Bound:
    """The tighter of two bounds."""
    return other if one is None else one if other is None else join(one, other)


def _is_of_differences(function: MaskFunction) -> bool:
    """Whether a mask says the same of a query and a key wherever they are, if only they are as far from each other."""
    if function is causal_mask_function or function is bidirectional_mask_function:
        return True
    code = getattr(function, "__code__", None)
    if code is _AND:
        return all(map(_is_of_differences, _free(function)["mask_functions"]))
    return code is _WINDOW or code is _WINDOW_OF_BOTH_SIDES


def _chunk(keys: torch.Tensor, chunk_size: int, left_padding: torch.Tensor) -> Rows:
    """Queries of the key's chunk, which are counted from where padding ends."""
    padding = left_padding.to(keys.device)[:, None]
    start = torch.div(keys - padding, chunk_size, rounding_mode="floor") * chunk_size + padding
    return start, start + chunk_size


def _sequence(keys: torch.Tensor, packed_sequence_mask: torch.Tensor) -> Rows:
    """Queries of the key's sequence, of those that lie behind each other in a batch row; their numbers rise."""
    numbers = packed_sequence_mask.contiguous()
    return torch.searchsorted(numbers, numbers), torch.searchsorted(numbers, numbers, right=True)


def _code(function: MaskFunction) -> Any:
    return function.__code__


_nothing = torch.zeros(1, dtype=torch.int64)
_AND = _code(masking_utils.and_masks())
_WINDOW = _code(masking_utils.sliding_window_overlay(1))
_WINDOW_OF_BOTH_SIDES = _code(masking_utils.sliding_window_bidirectional_overlay(1))
_PACKED = _code(masking_utils.packed_sequence_mask_function(_nothing))
_remap = getattr(masking_utils, "remap_positions_for_packed_sequence", None)  # older versions need none
_REMAPPED = _code(_remap(causal_mask_function, _nothing)) if _remap is not None else object()
_READERS: dict[Any, Callable[..., Rows | None]] = {
    code: read
    for code, read in (
        (_AND, _all),
        (_WINDOW, lambda keys, sliding_window: (None, keys + sliding_window)),
        (_WINDOW_OF_BOTH_SIDES, lambda keys, sliding_window: (keys - sliding_window, keys + sliding_window + 1)),
        (_code(masking_utils.chunked_overlay(1, _nothing)), _chunk),
        (_PACKED, _sequence),
    )
    if {"keys", *code.co_freevars} == {*signature(read).parameters}
}
"""What reads a mask that a function of transformers has made, by its code, of what it was made of, by name.

What another version of transformers makes of something else is read by nobody, and its masks are dense.
"""


_OPENED = torch.__version__ >= "2.13"
"""Whether torch.compile is known to trace attributes of functions; with an older one, masks of graphs are dense."""


def _open_in_graphs(make: Callable[..., MaskFunction]) -> None:
    """Has what a function makes where torch.compile traces it say what it is made of, and what reads it."""
    names = tuple(signature(make).parameters)
    all_of = names == ("mask_functions",)  # however many
    same = FunctionType(make.__code__, make.__globals__)  # another function, which is traced as it is
    read = _READERS.get(_code(make() if all_of else make(*(_nothing for _ in names))))

    @wraps(make)
    def opened(*given: Any) -> MaskFunction:
        function: Any = same(*given)
        function.made_of = {names[0]: given} if all_of else dict(zip(names, given, strict=True))
        function.read_by = read
        return function  # type: ignore[no-any-return]

    torch.compiler.substitute_in_graph(make)(opened)


if _OPENED:
    for _make in (
        masking_utils.and_masks,
        masking_utils.sliding_window_overlay,
        masking_utils.sliding_window_bidirectional_overlay,
        masking_utils.chunked_overlay,
        masking_utils.packed_sequence_mask_function,
        *([_remap] if _remap is not None else []),
    ):
        _open_in_graphs(_make)
