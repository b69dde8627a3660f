"""Reductions of stretches of an axis, as ``ufunc.reduceat`` has them.

Few stretches are a reduction each. Many are reduced where they lie, after those that the cut
between two ranks goes through have been brought to the rank on which they begin::

    stretches     aaaa bb cccccc dd eeee
    cut before    ─────────── │ ────────
    cut after     ──────────────── │ ───
"""

from itertools import pairwise

import numpy as np

from taskarr.expr import Expr, Stretches, blank, moved_to, view_of
from taskarr.geometry.layout import Axis, Layout
from taskarr.kernel.scan import Accumulation
from taskarr.ops import advanced
from taskarr.ops.elementwise import cast
from taskarr.ops.joining import joined
from taskarr.ops.keys import view_of_key
from taskarr.ops.known import KNOWN
from taskarr.ops.operands import layout_for, settled
from taskarr.ops.reductions.ufuncs import is_associative, ufunc_reduce
from taskarr.ops.ufuncs import known_as

FEW = 64
"""Stretches up to which each is a reduction of its own."""

LARGE = 1 << 22
"""Elements over which one of many is a reduction of its own, unless all are about as large."""


def stretches(function: np.ufunc, x: Expr, axis: int, starts: np.ndarray, dtype: np.dtype) -> Expr:
    """Node of the reductions of stretches of an axis, one behind the other.

    Parameters
    ----------
    starts
        Where stretches begin, in range. Each ends where the next one begins; if that is not behind
        it, it is one element.
    dtype
        In which elements are combined.

    Raises
    ------
    NotImplementedError
        For a ufunc not known to be associative and a large stretch; for many stretches that don't
        rise and together have too many rows.
    """
    rows = x.shape[axis]
    shape = (*x.shape[:axis], len(starts), *x.shape[axis + 1 :])
    if 0 in shape:
        return blank(dtype, layout_for(x.world, shape, dtype), x.world)
    stops = np.maximum(np.append(starts[1:], rows), starts + 1)
    few = len(starts) <= FEW
    if not few and (starts[1:] < starts[:-1]).any():
        x, starts, stops = _in_order(function, x, axis, starts, stops)
    size = (stops - starts) * (np.prod(x.shape, dtype=np.int64) // x.shape[axis])
    alone = (size > LARGE) & (stops - starts > rows // FEW)
    if few:
        alone |= is_associative(function) | (np.append(starts[1:], rows) < starts)
    parts = []
    changes = np.flatnonzero(alone[1:] | alone[:-1]) + 1
    for a, b in pairwise([0, *changes.tolist(), len(starts)]):
        span = slice(int(starts[a]), int(stops[b - 1]))
        reduce = _one if alone[a] else _together
        parts.append(reduce(function, _rows(x, axis, span), axis, starts[a:b] - span.start, dtype))
    return joined(parts, axis) if len(parts) > 1 else parts[0]


def _rows(x: Expr, axis: int, span: slice) -> Expr:
    return view_of(x, view_of_key(x.shape, (*(slice(None),) * axis, span)))


def _in_order(
    function: np.ufunc, x: Expr, axis: int, starts: np.ndarray, stops: np.ndarray
) -> tuple[Expr, np.ndarray, np.ndarray]:
    """Array that has the stretches one behind the other, and where they begin and end in it."""
    ends = np.cumsum(stops - starts)
    if ends[-1] * ends.itemsize > KNOWN:
        raise NotImplementedError(
            f"numpy.{function.__name__}.reduceat with {len(starts)} indices that don't rise: the "
            f"stretches have {ends[-1]} rows, whose numbers every rank would get, up to "
            f"{KNOWN >> 20} MiB; give it the indices in parts, or in order"
        )
    begins = ends - (stops - starts)
    places = np.arange(ends[-1]) + np.repeat(starts - begins, stops - starts)
    return advanced.read(x, (*(slice(None),) * axis, places)), begins, ends


def _one(function: np.ufunc, x: Expr, axis: int, starts: np.ndarray, dtype: np.dtype) -> Expr:
    """Node of the reduction of all rows, as one."""
    if x.shape[axis] > 1:
        loop = None if dtype.kind in "mM" else dtype  # a ufunc takes no time unit
        x = ufunc_reduce(function, x, axis, loop, keepdims=True)
    return cast(x, dtype)


def _together(function: np.ufunc, x: Expr, axis: int, starts: np.ndarray, dtype: np.dtype) -> Expr:
    """Node of the reductions of stretches that begin at 0 and rise, all of about one size."""
    x = cast(x, dtype)
    layout = settled(x.layout, dtype.itemsize, x.world)
    old, edges = layout.axes[axis], np.append(starts, x.shape[axis])
    bounds, cut = (np.searchsorted(starts, at) for at in (np.unique(old.bounds), old.cut))
    bounds = np.unique(bounds)
    if not np.array_equal(edges[cut], old.cut):
        layout = _with(layout, axis, Axis(edges[bounds], edges[cut], old.stride))
    name, find = known_as(function, x.world)
    op = Stretches(Accumulation(name, find, dtype, False), axis, starts)
    result = _with(layout, axis, Axis(bounds, cut, old.stride))
    return Expr(op, (moved_to(x, layout),), dtype, result, x.world)


def _with(layout: Layout, position: int, axis: Axis) -> Layout:
    axes = (*layout.axes[:position], axis, *layout.axes[position + 1 :])
    return Layout(axes, layout.size, layout.base, layout.replicated)
