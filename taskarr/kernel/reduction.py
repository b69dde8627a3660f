"""Reductions as algebra: states of segments, and trees over block numbers that merge them.

A key has one node per iteration axis: ``(0, b)`` is block ``b`` of an axis that stays, and
``(level, i)`` on a reduced axis stands for blocks ``i << level`` up to ``(i + 1) << level``,
as many as there are. Which nodes merge depends on block numbers only::

    blocks   0   1   2   3   4
    level 1  └─┬─┘   └─┬─┘   │
    level 2    └───┬───┘     │
    level 3        └────┬────┘

so a result has the same bits whoever owns the blocks.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from math import prod
from operator import itemgetter
from types import ModuleType
from typing import Any

import numpy as np

from taskarr.kernel.functions import Function

State = tuple[Any, ...]
Node = tuple[int, int]
Key = tuple[Node, ...]
Partials = dict[Key, list[State]]
"""States per key: one for each reduction that shares axes and iteration space."""


@dataclass(frozen=True, slots=True)
class FieldSpec:
    """Dtype of one array of a state; ``unit``: one element whatever the shape of the result."""

    dtype: np.dtype
    unit: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """A reduction, declared once.

    Parameters
    ----------
    name
        What it is called.
    fields
        From (input dtype, result dtype) to the arrays of a state.
    partial
        ``(xp, segment, axes, fields) -> state`` of a contiguous segment, axes kept as length 1.
        One that is ``located`` gets ``(start, options)`` besides: the segment's first index.
    combine
        ``(xp, a, b) -> state`` of two neighbouring segments, in order.
    finish
        ``(xp, state, count, options) -> result``, to be cast to the result dtype.
    located
        Whether a state depends on where its segment lies. Such states are exact, and may be
        merged with themselves: neighbouring segments may share the state of both.
    together
        ``(xp, flat, starts, fields) -> results`` of segments that lie one behind the other in
        memory and are reduced over all axes, by one call; None where they can't be.
    """

    name: str
    fields: Callable[[np.dtype, np.dtype], tuple[FieldSpec, ...]]
    partial: Callable[..., State]
    combine: Callable[[ModuleType, State, State], State]
    finish: Callable[..., Any]
    located: bool = False
    together: Callable[..., Any] | None = None


@dataclass(frozen=True, slots=True)
class Reduction:
    """A row applied to an input: dtypes, reduced axes, elements per result, options.

    Two reductions of one pass that share ``axes`` share messages.
    """

    row: Row
    source: np.dtype
    dtype: np.dtype
    axes: tuple[int, ...]
    count: int
    options: tuple[Any, ...] = ()

    @property
    def fields(self) -> tuple[FieldSpec, ...]:
        """Arrays of a state."""
        return self.row.fields(self.source, self.dtype)

    def partial(self, xp: ModuleType, segment: Any, start: Sequence[int] = ()) -> State:
        """State of one segment, whose first element has the index ``start`` in the whole array."""
        if not self.row.located:
            return self.row.partial(xp, segment, self.axes, self.fields)
        start = start or (0,) * segment.ndim
        return self.row.partial(xp, segment, self.axes, self.fields, (start, self.options))

    def finish(self, xp: ModuleType, state: State) -> Any:
        """Result of the state of everything, reduced axes kept as length 1."""
        found = xp.asarray(self.row.finish(xp, state, self.count, self.options))
        return found.astype(self.dtype, copy=False)


@lru_cache(256)
def of_rows(reduction: Reduction) -> Function:
    """Elementwise function that reduces whole rows: each result stands for all of its row.

    Reduced axes begin at index 0, and only these matter to rows that are located.
    """

    def bind(xp: ModuleType) -> Callable[..., Any]:
        def reduce(x: Any, out: Any) -> None:
            state = reduction.partial(xp, xp.ascontiguousarray(x))
            xp.copyto(out, reduction.finish(xp, state), casting="unsafe")

        return reduce

    return Function(f"{reduction.row.name} of rows", bind)


def top(blocks: int) -> int:
    """Level of the node that stands for all blocks."""
    return max(0, (blocks - 1).bit_length())


def nodes(first: int, last: int, blocks: int) -> Iterator[Node]:
    """Largest nodes that stand for the blocks ``[first, last)`` of ``blocks``.

    >>> list(nodes(1, 5, 5))
    [(0, 1), (1, 1), (2, 1)]
    """
    while first < last:
        level = 0
        while (
            level < top(blocks)
            and first % (2 << level) == 0
            and min(first + (2 << level), blocks) <= last
        ):
            level += 1
        yield level, first >> level
        first += 1 << level


def merge(
    partials: Partials,
    axes: Sequence[int],
    blocks: Sequence[int],
    reductions: Sequence[Reduction],
    xp: ModuleType,
) -> Partials:
    """Combine what can be: the last reduced axis first, each once those before it are whole.

    Parameters
    ----------
    partials
        States at hand.
    axes
        Reduced axes in merge order.
    blocks
        Number of blocks along each iteration axis.
    """
    for rank, axis in enumerate(axes):
        if blocks[axis] == 1:
            continue
        whole = [(a, (top(blocks[a]), 0)) for a in axes[:rank] if blocks[a] > 1]
        partials = _merge_axis(partials, axis, blocks[axis], whole, reductions, xp)
    return partials


def _merge_axis(
    partials: Partials,
    axis: int,
    blocks: int,
    whole: list[tuple[int, Node]],
    reductions: Sequence[Reduction],
    xp: ModuleType,
) -> Partials:
    merged: Partials = {}
    rows: dict[Key, list[tuple[int, int, list[State]]]] = {}
    for key, states in partials.items():
        if whole and not all(key[a] == node for a, node in whole):
            merged[key] = states
            continue
        level, i = key[axis]
        rest = key[:axis] + key[axis + 1 :]
        if rest in rows:
            rows[rest].append((i << level, level, states))
        else:
            rows[rest] = [(i << level, level, states)]
    for rest, found in rows.items():
        found.sort(key=itemgetter(0))
        for level, i, states in _merge_row(found, blocks, reductions, xp):
            merged[(*rest[:axis], (level, i), *rest[axis:])] = states
    return merged


def _merge_row(
    found: list[tuple[int, int, list[State]]],
    blocks: int,
    reductions: Sequence[Reduction],
    xp: ModuleType,
) -> list[tuple[int, int, list[State]]]:
    """Nodes (level, number, states) left when all neighbours in order are combined."""
    stack: list[tuple[int, int, list[State]]] = []
    combines = [r.row.combine for r in reductions]
    highest = top(blocks)
    for first, level, states in _merge_pairs(found, reductions, xp):
        i = first >> level
        while level < highest:
            if i & 1:
                if not stack or stack[-1][0] != level or stack[-1][1] != i - 1:
                    break
                before = stack.pop()[2]
                states = [f(xp, a, b) for f, a, b in zip(combines, before, states, strict=True)]
            elif (i + 1) << level < blocks:
                break
            level, i = level + 1, i >> 1
        stack.append((level, i, states))
    return stack


MANY = 8
"""Neighbours from which on all pairs of a level are combined by one call."""


def _merge_pairs(
    found: list[tuple[int, int, list[State]]], reductions: Sequence[Reduction], xp: ModuleType
) -> list[tuple[int, int, list[State]]]:
    """Nodes left when neighbours have been combined level by level, if they are many numbers."""
    first, level, states = found[0]
    if len(found) < MANY or any(r.row.together is None for r in reductions):
        return found
    i, shape = first >> level, states[0][0].shape
    in_a_row = all(part[:2] == ((i + k) << level, level) for k, part in enumerate(found))
    if prod(shape) != 1 or not in_a_row:
        return found
    values = [
        xp.concatenate([part[2][k][0].reshape(1) for part in found]) for k in range(len(reductions))
    ]
    left = merge_numbers((level, i), values, reductions, xp)
    return [
        (k << level, level, [(v.reshape(shape),) for v in numbers]) for (level, k), numbers in left
    ]


def merge_numbers(
    first: Node, values: list[Any], reductions: Sequence[Reduction], xp: ModuleType
) -> list[tuple[Node, list[Any]]]:
    """Nodes left when pairs have been combined level by level, and their numbers, in order.

    Parameters
    ----------
    first
        The first of nodes in a row.
    values
        Per reduction an array with the number of each node.
    """
    (level, i), count = first, len(values[0])
    lows, highs = [], []

    def node(k: int) -> tuple[Node, list[Any]]:
        return (level, i + k), [v[k : k + 1] for v in values]

    while count > 1:
        if i & 1:
            lows.append(node(0))
            values, i, count = [v[1:] for v in values], i + 1, count - 1
        if count & 1:
            count -= 1
            highs.append(node(count))
        pairs = [((v[:count:2],), (v[1:count:2],)) for v in values]
        values = [r.row.combine(xp, *p)[0] for r, p in zip(reductions, pairs, strict=True)]
        level, i, count = level + 1, i >> 1, count >> 1
    return [*lows, *map(node, range(count)), *reversed(highs)]


def keys_of(per_axis: Sequence[Sequence[Node]]) -> list[Key]:
    """All keys over nodes per axis, in C order."""
    return list(product(*per_axis))


def state_bytes(shape: Sequence[int], reductions: Sequence[Reduction]) -> int:
    """Bytes of the packed states of one key whose results have this shape."""
    return sum(
        f.dtype.itemsize * (1 if f.unit else prod(shape)) for r in reductions for f in r.fields
    )


def pack(states: Sequence[State], xp: ModuleType) -> list[Any]:
    """Byte views of the arrays of states, in order."""
    return [xp.ascontiguousarray(x).reshape(-1).view("u1") for state in states for x in state]


def unpack(
    buffer: Any, at: int, shape: tuple[int, ...], reductions: Sequence[Reduction]
) -> tuple[list[State], int]:
    """States read back from bytes at an offset, and the offset behind them."""
    states = []
    for reduction in reductions:
        state = []
        for f in reduction.fields:
            form = (1,) * len(shape) if f.unit else shape
            end = at + f.dtype.itemsize * prod(form)
            state.append(buffer[at:end].copy().view(f.dtype).reshape(form))
            at = end
        states.append(tuple(state))
    return states, at
