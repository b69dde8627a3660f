"""Gathering and scattering rows by index arrays that are checked already."""

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from taskarr.expr import Expr, Gather, Scatter, moved_to, same_world, view_of
from taskarr.geometry.layout import Layout
from taskarr.geometry.rows import beside, following, has_whole_rows, is_cut, is_in_order
from taskarr.geometry.view import Affine, broadcast, broadcast_shapes
from taskarr.ops.elementwise import apply, cast, select
from taskarr.ops.keys import from_start, view_of_key
from taskarr.ops.known import KNOWN, everywhere, known
from taskarr.ops.operands import iteration_layout, layout_for
from taskarr.ops.reductions import ROWS, reduce
from taskarr.ops.reductions.node import axes_of, node
from taskarr.ops.views import expand_dims, moveaxis
from taskarr.ops.write import OWN

FEW = 64
"""Length up to which an axis is too short to be cut alone."""


def checked_index(index: Any, length: int, axis: int) -> Any:
    """Index along an axis as int64, negative ones counted from the end. Runs at once.

    Parameters
    ----------
    index
        Integers of any type: an expression, or an array of NumPy, as is the result then.
    length, axis
        Of the axis that is indexed; the number of the axis is for the message.

    Raises
    ------
    IndexError
        When an index is out of range, on all ranks.
    """
    if not isinstance(index, Expr):
        return _host_index(index.astype(np.int64, copy=False), length, axis)
    index = cast(index, np.int64)
    if lies_within(index, length):
        return index
    low, high = known([reduce(name, index) for name in ("min", "max")], "checking an index")
    if low < -length or high >= length:
        from_start(first_outside(index, -length, length), length, axis)  # which raises
    return select(apply("less", [index, 0]), apply("add", [index, length]), index)


def lies_within(index: Expr, count: int) -> bool:
    """Whether no element of an integer index is negative, or ``count`` or larger.

    Runs at once, the first time that it is asked about an index.
    """
    if 0 in index.shape:
        return True
    index = cast(index, np.int64)
    if index.top is None:
        axes = axes_of(len(index.shape), None)
        top = node(index, ROWS["unsigned max"], np.dtype(np.uint64), axes)
        index.top = int(known([top], "checking an index", beside=[index])[0])
    return index.top < count


def first_outside(index: Expr, start: int, stop: int) -> int:
    """First element, in C order, that lies outside a range, if one does; runs at once."""
    outside = apply(
        "logical_or", [apply("less", [index, start]), apply("greater_equal", [index, stop])]
    )
    (at,) = known([reduce("argmax", outside)], "finding an index out of range")
    key = tuple(map(int, np.unravel_index(int(at), index.shape)))
    (found,) = known(
        [view_of(index, view_of_key(index.shape, key))], "naming an index out of range"
    )
    return int(found)


def _host_index(index: np.ndarray, length: int, axis: int) -> np.ndarray:
    if not index.size or index.view(np.uint64).max() < length:  # negative ones are the largest
        return index
    flat = index.reshape(-1)  # NumPy's masks have 32 axes at most
    outside = flat[(flat < -length) | (flat >= length)]
    if len(outside):
        from_start(outside[0], length, axis)  # which raises
    return np.where(index < 0, index + length, index)


def aligned(indices: Sequence[Expr]) -> list[Expr]:
    """Indices broadcast together, in one layout."""
    shape = broadcast_shapes(*[x.shape for x in indices])
    world = same_world(indices)
    layout = iteration_layout(indices, shape, 8, world)
    return [moved_to(view_of(x, broadcast(x.shape, shape)), layout) for x in indices]


def take_rows(x: Expr, index: Expr) -> Expr:
    """Rows of an array in the order of an index, int64 and in range."""
    return gather(x, (index,))


def gather(x: Expr, indices: Sequence[Expr], axis: int = 0) -> Expr:
    """Rows of an array at indices along neighbouring axes.

    Parameters
    ----------
    x
        Array.
    indices
        int64, in range, not negative, one for each axis from ``axis`` on; they are broadcast
        together.
    axis
        First axis that is indexed.

    Returns
    -------
    Expr
        The indices' shape stands where the indexed axes stood.
    """
    same_world((x, *indices))
    found = aligned(indices)
    if found[0].shape:
        return _gathered(x, found, axis)
    rows = _gathered(x, [view_of(i, expand_dims((), 0)) for i in found], axis)
    return view_of(rows, view_of_key(rows.shape, (slice(None),) * axis + (0,)))


def _gathered(x: Expr, indices: list[Expr], axis: int) -> Expr:
    """Node of a gather, with all inputs where its steps want them."""
    count, index = len(indices), indices[0]
    indexed = range(axis, axis + count)
    if not (x.layout.replicated or is_cut(x.layout, indexed)) and _are_small(indices):
        indices = [everywhere(i) for i in indices]
        layout = beside(index.shape, x.layout, indexed)
    elif x.layout.replicated and index.layout.replicated and _stays_small(x, index, indexed):
        shape = (*x.shape[:axis], *index.shape, *x.shape[axis + count :])
        layout = layout_for(x.world, shape, x.dtype, split=None)
    elif axis:
        return _by_leading(x, indices, axis)
    elif index.layout.replicated:
        layout = _new_layout(x, index, count)
        x = in_rows(x, count)
    else:
        layout = following(index.layout, x.shape[count:], x.dtype.itemsize)
        x = in_rows(x, count)
    return Expr(Gather(axis), (x, *indices), x.dtype, layout, x.world)


def _by_leading(x: Expr, indices: list[Expr], axis: int) -> Expr:
    """Node of a gather by way of an array whose indexed axes stand first."""
    ndim, count = len(indices[0].shape), len(indices)
    indexed, first = range(axis, axis + count), range(count)
    rows = _gathered(view_of(x, moveaxis(x.shape, indexed, first)), indices, 0)
    return view_of(rows, moveaxis(rows.shape, range(ndim), range(axis, axis + ndim)))


def _stays_small(x: Expr, index: Expr, indexed: range) -> bool:
    """Whether every rank may have all of what is gathered from an array that it has all of."""
    size = prod(x.shape[: indexed.start] + index.shape + x.shape[indexed.stop :])
    return size <= max(prod(x.shape), KNOWN // 4 // max(1, x.dtype.itemsize))


def _are_small(indices: Sequence[Expr]) -> bool:
    """Whether every rank may have all of an index."""
    bytes_each = prod(indices[0].shape) * indices[0].dtype.itemsize
    return indices[0].layout.replicated or bytes_each * len(indices) <= KNOWN


def _new_layout(x: Expr, index: Expr, leading: int) -> Layout:
    """Layout of rows that are gathered by an index which all ranks know."""
    shape = (*index.shape, *x.shape[leading:])
    layout = layout_for(x.world, shape, x.dtype)
    if is_cut(layout, range(len(index.shape), len(shape))):
        return layout_for(x.world, shape, x.dtype, split=0)
    return layout


def in_rows(x: Expr, leading: int) -> Expr:
    """The array where each row over the leading axes is whole on one rank, or on all."""
    if has_whole_rows(x.layout, leading):
        return x
    axes = (0,) if leading == 1 or x.shape[0] >= FEW else (0, 1)
    return moved_to(x, layout_for(x.world, x.shape, x.dtype, split=axes))


def scatter(
    x: Expr, indices: Sequence[Expr], values: Expr | None, function: np.ufunc | None = None
) -> Expr:
    """The array with other rows at indices along its first axes.

    Parameters
    ----------
    x, indices
        As in `gather`.
    values
        Broadcast to the indices' shape, then that of the remaining axes; None for a function of one
        operand.
    function
        What combines an element with each of its values, in C order of the indices, as
        ``function.at``; None: the last value stays, and values are of the array's dtype.
    """
    same_world((x, *indices, *(() if values is None else (values,))))
    leading, indices = len(indices), aligned(indices)
    shape = (*indices[0].shape, *x.shape[leading:])
    if values is not None:
        values = view_of(values, broadcast(values.shape, shape)) if 0 in shape else values
        values = _only_row(values, shape, x.shape[leading:])
    if 0 in shape or not x.dtype.itemsize:
        return x
    if not indices[0].shape:
        indices = [view_of(i, expand_dims((), 0)) for i in indices]
    base, indices, values = _placed(x, indices, values)
    own = Expr(OWN, (base,), x.dtype, base.layout, x.world)
    inputs = (own, *indices, *(() if values is None else (values,)))
    node = Expr(Scatter(leading, function), inputs, x.dtype, base.layout, x.world)
    return moved_to(node, x.layout)


def _only_row(values: Expr, shape: tuple[int, ...], rest: tuple[int, ...]) -> Expr:
    """Values in their full shape, or only those of a row where all rows are the same."""
    several = values.shape[: max(0, len(values.shape) - len(rest))]
    if prod(several) != 1:
        return view_of(values, broadcast(values.shape, shape))
    kept = tuple(range(len(several), len(values.shape)))
    row = tuple(values.shape[a] for a in kept)
    one = Affine(row, kept, (0,) * len(values.shape), (1,) * len(row), values.shape)
    return view_of(view_of(values, one), broadcast(row, rest))


Placed = tuple[Expr, list[Expr], Expr | None]


def _placed(x: Expr, indices: list[Expr], values: Expr | None) -> Placed:
    """Array, indices and values where the steps of a scatter want them."""
    leading = len(indices)
    if x.world.size == 1:
        return x, indices, values
    if is_cut(x.layout, range(leading)):
        return _by_rows(in_rows(x, leading), indices, values)
    if x.layout.replicated:
        small = values is None or prod(values.shape) * values.dtype.itemsize <= KNOWN
        if small and _are_small(indices):
            values = None if values is None else everywhere(values)
            return x, [everywhere(i) for i in indices], values
    elif _are_small(indices):
        return x, [everywhere(i) for i in indices], _beside(x, indices, values)
    split = (0,) if leading == 1 or x.shape[0] >= FEW else (0, 1)
    return _by_rows(moved_to(x, layout_for(x.world, x.shape, x.dtype, split)), indices, values)


def _beside(x: Expr, indices: list[Expr], values: Expr | None) -> Expr | None:
    """Values cut as the rest of the array is."""
    if values is None:
        return None
    whole = values.shape[: len(values.shape) - len(x.shape) + len(indices)]
    return moved_to(values, beside(whole, x.layout, range(len(indices))))


def _by_rows(x: Expr, indices: list[Expr], values: Expr | None) -> Placed:
    """Indices and values known to all, or in order of ranks."""
    shape, rest = indices[0].shape, x.shape[len(indices) :]
    one = values is not None and len(values.shape) < len(shape) + len(rest)
    if one and values is not None:
        values = everywhere(values)
    if indices[0].layout.replicated and (values is None or values.layout.replicated):
        return x, indices, values
    layout = indices[0].layout
    if values is not None and not one and _leads(values.layout, len(shape)):
        whole = values.layout  # numbers of rows are moved to the rows, which are longer
        layout = Layout(whole.axes[: len(shape)], whole.size, whole.base, False)
    if not is_in_order(layout):
        layout = layout_for(x.world, shape, indices[0].dtype, split=0)
    if values is not None and not one and not _leads(values.layout, len(shape), layout):
        values = moved_to(values, following(layout, rest, values.dtype.itemsize))
    return x, [moved_to(i, layout) for i in indices], values


def _leads(layout: Layout, ndim: int, like: Layout | None = None) -> bool:
    """Whether rows over the leading axes are whole and in order of ranks, or lie so as others."""
    if not is_in_order(layout) or any(axis.owners > 1 for axis in layout.axes[ndim:]):
        return False
    first = layout.axes[0]
    return like is None or (
        like.base == layout.base
        and like.axes[0].stride == first.stride
        and np.array_equal(like.axes[0].cut, first.cut)
    )
