"""Layouts whose bricks are runs of elements in C order, and the flat layouts that they are.

Where every brick is one run, reshaping moves nothing: the array *is* a flat one that is cut at the
same elements, and the flat one is any array whose rows end at these cuts::

    (4, 3) cut into rows      0 1 2 │ 3 4 5 │ 6 7 8 9 10 11
    (12,)                     0 1 2 │ 3 4 5 │ 6 7 8 9 10 11
    (2, 2, 3)                 no: a row of 6 would be cut
"""

from math import prod

import numpy as np

from taskarr.geometry.grid import Bounds, default_grid, even_bounds
from taskarr.geometry.layout import Axis, Layout, single
from taskarr.geometry.owners import dealt, replicated


def flat_of(layout: Layout) -> Layout | None:
    """Layout of the flattened array with the same bricks, or None when a brick is no single run.

    Blocks of the flat layout are the rows of blocks of the first axis that is cut.
    """
    if layout.replicated:
        return replicated((even_bounds(prod(layout.shape), 1),), layout.size)
    if not layout.axes:
        return Layout((single(1),), layout.size, layout.base)
    cut = [k for k, axis in enumerate(layout.axes) if axis.owners > 1]
    last = cut[-1] if cut else first_long(layout.shape)
    lead, axis = layout.axes[:last], layout.axes[last]
    if any(axis.owners != axis.length for axis in lead):
        return None
    inner = prod(layout.shape[last + 1 :])
    strides = _flat_stride([*lead, axis])
    if strides is None:
        return None
    rows = prod(a.length for a in lead)
    first = np.arange(rows, dtype=np.int64)[:, None] * axis.length
    bounds = np.unique(first + axis.bounds) * inner
    owners = np.append((first + axis.cut[:-1]).reshape(-1), rows * axis.length) * inner
    return Layout((Axis(bounds, owners, strides),), layout.size, layout.base)


def _flat_stride(axes: list[Axis]) -> int | None:
    """Distance in ranks between neighbouring bricks in C order, if it is always the same."""
    step: int | None = None
    count = 1
    for axis in reversed(axes):
        if axis.owners == 1:
            continue
        if step is None:
            step = axis.stride
        elif axis.stride != step * count:
            return None
        count *= axis.owners
    return 0 if step is None else step


def first_long(shape: tuple[int, ...]) -> int:
    """First axis that is longer than one, or the first."""
    return next((k for k, n in enumerate(shape) if n > 1), 0)


def has_blocks_of_rows(layout: Layout) -> bool:
    """Whether every block is a run of elements: all axes behind the first long one are whole."""
    lead = first_long(layout.shape)
    return all(len(axis.bounds) == 2 for k, axis in enumerate(layout.axes) if k != lead)


def shaped(flat: Layout, shape: tuple[int, ...]) -> Layout | None:
    """Layout of an array of this shape with the bricks and blocks of a flat one.

    None when a block would end inside a row. Depends on the blocks only, not on the owners.
    """
    lead, (axis,) = first_long(shape), flat.axes
    inner = prod(shape[lead + 1 :])
    if (axis.bounds % inner).any():
        return None
    axes = [single(n) for n in shape]
    axes[lead] = Axis(axis.bounds // inner, axis.cut // inner, axis.stride)
    return Layout(tuple(axes), flat.size, flat.base)


def in_rows(shape: tuple[int, ...], itemsize: int, size: int, block: int | None) -> Layout:
    """Layout whose bricks are runs: the first axis is cut, and the next if that is short."""
    lead = first_long(shape)
    grid = default_grid(shape, itemsize, (lead,), block)
    if shape[lead] >= size or lead + 1 == len(shape):
        return dealt(grid, (lead,), None, size)
    rows = shape[lead]
    fine = default_grid(shape, itemsize, (lead, lead + 1), block)
    grid = (*grid[:lead], _every(rows), fine[lead + 1], *grid[lead + 2 :])
    return dealt(grid, (lead, lead + 1), (rows, size // rows), size)


def _every(length: int) -> Bounds:
    return np.arange(length + 1, dtype=np.int64)
