"""The node of a reduction: its row, axes and dtype, and the layout of its result."""

import math
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from taskarr.expr import Expr, Reduce, lies_in_order, moved_to, strides_of, view_of
from taskarr.geometry.grid import block_bytes
from taskarr.geometry.layout import Layout
from taskarr.geometry.owners import on_root, replicated
from taskarr.geometry.strides import kept_order
from taskarr.geometry.view import NEW, Affine
from taskarr.kernel.reduction import Reduction, Row
from taskarr.ops.operands import layout_for, settled
from taskarr.runtime import runtime

Axes = tuple[int, ...]


def axes_of(ndim: int, axis: Any) -> Axes:
    """Reduced axes in order; ``axis`` is None for all, an axis, or a tuple of axes.

    Raises
    ------
    numpy.exceptions.AxisError
        For an axis out of range.
    ValueError
        For a repeated axis.
    """
    if axis is None or not ndim:
        return tuple(range(ndim))
    return tuple(sorted(normalize_axis_tuple(axis, ndim)))


def kept_shape(shape: tuple[int, ...], axes: Axes, keepdims: bool) -> tuple[int, ...]:
    """Shape of the result of a reduction over axes."""
    if keepdims:
        return tuple(1 if a in axes else n for a, n in enumerate(shape))
    return tuple(n for a, n in enumerate(shape) if a not in axes)


def node(
    x: Expr,
    row: Row,
    result: np.dtype,
    axes: Axes,
    keepdims: bool = False,
    source: np.dtype | None = None,
    options: tuple[Any, ...] = (),
) -> Expr:
    """Node of a reduction, in the layout that the kept axes have; small results are everywhere.

    Parameters
    ----------
    x
        What is reduced; it has elements.
    row
        How.
    result
        Dtype of the result.
    axes
        Reduced axes in order.
    keepdims
        Keep reduced axes with length 1.
    source
        Dtype from which the row finds that of its state; the array's for None.
    options
        Of the row's ``finish``, and of ``partial`` if it is located.
    """
    count = math.prod(x.shape[a] for a in axes)
    reduction = Reduction(row, x.dtype if source is None else source, result, axes, count, options)
    kept = tuple(a for a in range(len(x.shape)) if a not in axes)
    shape = tuple(x.shape[a] for a in kept)
    layout, final = _layouts(x, kept, shape, result)
    reduced = Expr(Reduce(reduction), (x,), result, layout, x.world)
    if not lies_in_order(x):
        before = strides_of(x)
        reduced.order = kept_order(((shape, tuple(before[a] for a in kept)),), shape)
    found = moved_to(reduced, final)
    if not keepdims:
        return found
    axes = tuple(kept.index(a) if a in kept else NEW for a in range(len(x.shape)))
    steps = tuple(0 if a == NEW else 1 for a in axes)
    whole = tuple(x.shape[a] if a in kept else 1 for a in range(len(x.shape)))
    return view_of(found, Affine(whole, axes, (0,) * len(kept), steps, shape))


def _layouts(x: Expr, kept: Axes, shape: tuple[int, ...], dtype: np.dtype) -> tuple[Layout, Layout]:
    """Layout in which the trees end, and the one that the result gets.

    Its grid depends on the grid of the array, not on the owners.
    """
    world = x.world
    grid = tuple(x.layout.axes[a].bounds for a in kept)
    if x.layout.replicated:
        whole = replicated(grid, world.size)
        return whole, whole
    if any(len(bounds) > 2 for bounds in grid):
        start = (0,) * len(x.shape)
        mine = x.layout.viewed(Affine(shape, kept, start, (1,) * len(kept), x.shape))
        return mine, settled(mine, dtype.itemsize, world)
    nbytes = math.prod(shape) * dtype.itemsize
    if not shape or nbytes <= block_bytes(nbytes, runtime(world).settings.block):
        whole = replicated(grid, world.size)
        return whole, whole
    root = next(x.layout.owners_of(tuple((0, 1) for _ in x.shape)))
    return on_root(shape, root, world.size), layout_for(world, shape, dtype)
