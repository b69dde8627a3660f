"""Rows of an array, numbered over its leading axes, and the ranks that own them."""

from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from taskarr.geometry.grid import MOST_BLOCKS
from taskarr.geometry.layout import Axis, Layout, single

LARGEST = 64 << 20
"""Bytes of a block above which rows get smaller blocks than the index that names them."""


@dataclass(frozen=True, eq=False, slots=True)
class Rows:
    """Addresses of rows: they count the rows brick by brick, in the order of ranks.

    Parameters
    ----------
    shape
        Lengths of the leading axes.
    starts
        Address of the first row of each rank, and the number of rows.
    cuts, cells
        Elements where owners change along each leading axis, and the address of the first row of
        each brick in C order of the mesh; empty when addresses count the rows in C order.

    Examples
    --------
    >>> from taskarr.geometry.owners import new_layout
    >>> layout = new_layout((7, 5), 8, 3, split=0, block=16)
    >>> rows_of(layout, 1).starts.tolist()
    [0, 2, 4, 7]
    """

    shape: tuple[int, ...]
    starts: np.ndarray
    cuts: tuple[np.ndarray, ...]
    cells: np.ndarray

    def owned(self, rank: int) -> tuple[int, int]:
        """First address of a rank, and the one behind its last."""
        return int(self.starts[rank]), int(self.starts[rank + 1])

    def addresses(self, indices: tuple[Any, ...]) -> Any:
        """Addresses of the rows that have these indices, flat int64 arrays, in the leading axes."""
        if not self.cuts:
            return raveled(indices, self.shape)
        cell: Any = 0
        owners = []
        for index, cut in zip(indices, self.cuts, strict=True):
            owner = np.searchsorted(cut, index, side="right") - 1
            cell = cell * (len(cut) - 1) + owner
            owners.append(owner)
        row: Any = 0
        for index, cut, owner in zip(indices, self.cuts, owners, strict=True):
            length = np.take(np.diff(cut), owner)
            row = row * length + (index - np.take(cut, owner))
        return np.take(self.cells, cell) + row


def raveled(indices: tuple[Any, ...], shape: tuple[int, ...]) -> Any:
    """Row numbers, in C order, of indices into several axes; a single index is its own."""
    found, *others = indices
    for index, length in zip(others, shape[1:], strict=True):
        found = found * length + index
    return found


def is_cut(layout: Layout, axes: range) -> bool:
    """Whether an array is dealt out along some of these axes, however many ranks there are."""
    return not layout.replicated and any(layout.axes[a].stride for a in axes)


def has_whole_rows(layout: Layout, leading: int) -> bool:
    """Whether every rank's brick has all that lies behind the leading axes, or nothing."""
    return layout.replicated or all(
        np.count_nonzero(np.diff(axis.cut)) <= 1 for axis in layout.axes[leading:]
    )


@lru_cache(512)
def rows_of(layout: Layout, leading: int) -> Rows:
    """Rows of an array that is cut along its leading axes only."""
    axes = layout.axes[:leading]
    ranks: Any = np.zeros((), np.int64)
    sizes: Any = np.ones((), np.int64)
    for axis in axes:
        ranks = np.add.outer(ranks, np.arange(axis.owners, dtype=np.int64) * axis.stride)
        sizes = np.multiply.outer(sizes, np.diff(axis.cut))
    ranks = ranks.reshape(-1) + layout.base + _elsewhere(layout, leading)
    counts = np.zeros(layout.size, np.int64)
    counts[ranks[sizes.reshape(-1) > 0]] = sizes[sizes > 0]
    starts = np.concatenate((np.zeros(1, np.int64), np.cumsum(counts)))
    shape = layout.shape[:leading]
    if bool(np.all(np.diff(ranks) > 0)) and all(a.owners == 1 for a in axes[1:]):
        return Rows(shape, starts, (), starts[:0])
    return Rows(shape, starts, tuple(a.cut for a in axes), starts[ranks])


def _elsewhere(layout: Layout, leading: int) -> int:
    """What the other axes, each whole on its one owner, add to the rank."""
    found = 0
    for axis in layout.axes[leading:]:
        owner = int(np.searchsorted(axis.cut, 0, "right")) - 1
        found += min(owner, axis.owners - 1) * axis.stride
    return found


def is_in_order(layout: Layout) -> bool:
    """Whether the bricks, in the order of ranks, are the array in C order."""
    if layout.replicated or not layout.axes:
        return False
    first, *others = layout.axes
    return first.stride > 0 and all(axis.owners == 1 for axis in others)


def following(layout: Layout, rest: tuple[int, ...], itemsize: int) -> Layout:
    """Layout of rows that lie where the index that names them does."""
    first, *others = layout.axes
    row = prod(rest) * itemsize
    block = row * prod(int(np.diff(a.bounds).max()) for a in layout.axes)
    parts = min(-(-block // LARGEST), max(1, MOST_BLOCKS // (len(first.bounds) - 1)))
    axes = (_finer(first, parts), *others, *map(single, rest))
    return Layout(axes, layout.size, layout.base, layout.replicated)


def _finer(axis: Axis, parts: int) -> Axis:
    """Axis whose blocks are each cut into so many, where they have the elements."""
    if parts <= 1:
        return axis
    steps = np.arange(parts, dtype=np.int64)
    inner = axis.bounds[:-1, None] + np.diff(axis.bounds)[:, None] * steps // parts
    bounds = np.unique(np.append(inner.reshape(-1), axis.bounds[-1:]))
    return Axis(bounds, axis.cut, axis.stride)


def beside(shape: tuple[int, ...], layout: Layout, indexed: range) -> Layout:
    """Layout in which every rank has its part of all rows, neighbouring axes replaced by others."""
    before, behind = layout.axes[: indexed.start], layout.axes[indexed.stop :]
    axes = (*before, *map(single, shape), *behind)
    return Layout(axes, layout.size, layout.base, layout.replicated)
