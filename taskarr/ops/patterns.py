"""Patterns: arrays whose elements follow from their indices, and those repeated from others."""

import math
import operator
from typing import Any

import numpy as np

from taskarr.expr import Expr, moved_to, view_of
from taskarr.geometry.grid import even_bounds
from taskarr.geometry.layout import Layout
from taskarr.geometry.owners import replicated
from taskarr.geometry.view import NEW, Affine, broadcast
from taskarr.ops import views
from taskarr.ops.creation import ARANGE, Placement, asarray, full, shape_of
from taskarr.ops.elementwise import FUNCTIONS, apply, cast, combined, select
from taskarr.ops.keys import view_of_key
from taskarr.ops.operands import checked_dtype
from taskarr.ops.ranges import arange
from taskarr.ops.write import put

INDEX = np.dtype(np.int64)


def index_along(
    axis: int, layout: Layout, place: Placement, first: int = 0, delta: int = 1, dtype: Any = INDEX
) -> Expr:
    """Node of which each element is ``first + delta`` times its index along an axis.

    It is never stored: a kernel makes the values where it needs them.
    """
    kind = np.dtype(dtype)
    n = layout.shape[axis]
    if kind.kind in "iufc":
        line_layout = replicated((even_bounds(n, 1),), place.world.size)
        ends = (np.asarray(first).astype(kind)[()], np.asarray(delta).astype(kind)[()])
        line = Expr(ARANGE, (), kind, line_layout, place.world, ends)
    else:
        line = arange(0, n, 1, kind, Placement(place.world, split=None))
    axes = tuple(0 if k == axis else NEW for k in range(len(layout.shape)))
    steps = tuple(1 if k == axis else 0 for k in range(len(layout.shape)))
    return moved_to(view_of(line, Affine(layout.shape, axes, (0,), steps, (n,))), layout)


def eye(rows: Any, columns: Any, k: Any, dtype: Any, place: Placement) -> Expr:
    """Node with ones on a diagonal."""
    shape = shape_of((rows, rows if columns is None else columns))
    kind = checked_dtype(np.dtype(dtype))
    layout = place.layout(shape, kind)
    offset = max(-shape[0], min(operator.index(k), shape[1]))
    on = apply("equal", [index_along(0, layout, place, offset), index_along(1, layout, place)])
    one, zero = np.full((), 1, kind)[()], np.zeros((), kind)[()]
    return select(on, one, zero, kind)


def tri(rows: Any, columns: Any, k: Any, dtype: Any, place: Placement) -> Expr:
    """Node with ones at and below a diagonal."""
    sizes = (rows, rows if columns is None else columns)
    shape = shape_of([max(0, math.ceil(n)) for n in sizes])
    kind = checked_dtype(np.dtype(dtype))
    layout = place.layout(shape, kind)
    rows, columns = index_along(0, layout, place), edge(1, layout, offset_of(k), place)
    return cast(apply("greater_equal", [rows, columns]), kind)


def offset_of(k: Any) -> Any:
    """Number of a diagonal, as one of Python's integers or a fraction.

    Raises
    ------
    TypeError, ValueError
        For what is no number, or not finite.
    """
    k = k if isinstance(k, int | float) else np.asarray(k)[()]
    if isinstance(k, complex | np.complexfloating):
        raise TypeError(f"no diagonal has a complex number: {k}")
    if isinstance(k, float | np.floating) and not np.isfinite(k):
        raise ValueError(f"no diagonal has the number {k}")
    return operator.index(k) if hasattr(k, "__index__") else k


def edge(axis: int, layout: Layout, k: Any, place: Placement) -> Expr:
    """Node of the first row at or below diagonal ``k``, for each column along an axis.

    A fraction is cut off as in `numpy.arange` of integers: from the first two values.
    """
    first, second = int(-k), int(-k + 1)
    return index_along(axis, layout, place, first, second - first)


def indices(dimensions: Any, dtype: Any, place: Placement) -> Expr:
    """Node of the indices along every axis, one after the other along a new first axis."""
    sizes, kind = shape_of(tuple(dimensions)), checked_dtype(np.dtype(dtype))
    layout = place.layout((len(sizes), *sizes), kind)
    if not sizes:
        return asarray(np.empty(0, kind), place)
    which = index_along(0, layout, place)
    found = index_along(len(sizes), layout, place, dtype=kind)
    for axis in reversed(range(len(sizes) - 1)):
        own = index_along(axis + 1, layout, place, dtype=kind)
        found = select(apply("equal", [which, axis]), own, found, kind)
    return found


def open_indices(dimensions: Any, dtype: Any, place: Placement) -> list[Expr]:
    """Nodes of the indices along every axis, each of length 1 along the others."""
    sizes, kind = shape_of(tuple(dimensions)), checked_dtype(np.dtype(dtype))
    found = []
    for axis, n in enumerate(sizes):
        line = arange(0, n, 1, kind, place)
        others = tuple(k for k in range(len(sizes)) if k != axis)
        found.append(view_of(line, views.expand_dims(line.shape, others)))
    return found


def full_indices(shape: Any, dtype: Any, place: Placement) -> list[Expr]:
    """Nodes of the indices along every axis, each of the whole shape."""
    sizes, kind = shape_of(tuple(shape)), checked_dtype(np.dtype(dtype))
    layout = place.layout(sizes, kind)
    return [index_along(axis, layout, place, dtype=kind) for axis in range(len(sizes))]


def vander(x: Expr, columns: Any, increasing: bool, place: Placement) -> Expr:
    """Node of the powers of ``x``, a column each.

    Raises
    ------
    ValueError
        When ``x`` does not have one axis.
    """
    if len(x.shape) != 1:
        raise ValueError(
            f"x must be a one-dimensional array or sequence: vander() of shape {x.shape}"
        )
    shape = shape_of((x.shape[0], x.shape[0] if columns is None else columns))
    kind = checked_dtype(np.promote_types(x.dtype, int))
    layout = place.layout(shape, kind)
    first, delta = (0, 1) if increasing else (shape[1] - 1, -1)
    exponent = index_along(1, layout, place, first, delta, kind)
    column = view_of(cast(x, kind), views.expand_dims(x.shape, 1))
    return moved_to(combined(FUNCTIONS["power"], [column, exponent], kind), layout)


def diag(v: Expr, k: Any, place: Placement) -> Expr:
    """Node of a matrix with ``v``, of one axis, on a diagonal."""
    offset, n = operator.index(k), v.shape[0]
    size = n + abs(offset)
    layout = place.layout((size, size), v.dtype)
    zero = np.zeros((), v.dtype)[()]
    matrix = full((size, size), zero, v.dtype, place)
    row, column = max(-offset, 0), max(offset, 0)
    view = view_of_key((size, size), (slice(row, row + n), slice(column, column + n)))
    part = layout.viewed(view)
    on = apply("equal", [index_along(0, part, place), index_along(1, part, place)])
    return put(matrix, view, select(on, v, zero, v.dtype))


def repeated(shape: Any, value: Expr, dtype: Any, place: Placement) -> Expr:
    """Node of a shape filled with an array that broadcasts to it.

    Raises
    ------
    ValueError
        When it does not.
    """
    sizes = shape_of(shape)
    kind = value.dtype if dtype is None else checked_dtype(np.dtype(dtype))
    lead = max(0, len(value.shape) - len(sizes))
    if lead and set(value.shape[:lead]) == {1}:
        value = view_of(value, views.squeeze(value.shape, tuple(range(lead))))
    try:
        view = broadcast(value.shape, sizes)
    except ValueError:
        raise ValueError(
            f"could not broadcast input array from shape {value.shape} into shape {sizes}"
        ) from None
    return moved_to(view_of(cast(value, kind), view), place.layout(sizes, kind))
