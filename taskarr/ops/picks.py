"""Picking elements: by index along an axis, by conditions, from several arrays."""

from collections.abc import Mapping, Sequence, Set
from math import prod
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from taskarr.expr import Expr, blank, filled, view_of
from taskarr.geometry.view import broadcast, broadcast_shapes
from taskarr.kernel.parts import field
from taskarr.ops import advanced
from taskarr.ops.elementwise import apply, cast, combined, empty_like, select
from taskarr.ops.gather import first_outside, gather, lies_within
from taskarr.ops.keys import view_of_key
from taskarr.ops.masks import balanced
from taskarr.ops.nonzero import nonzero, numbered
from taskarr.ops.operands import checked_dtype, layout_for, replicated_host
from taskarr.ops.patterns import INDEX
from taskarr.ops.positions import (
    as_index,
    bounded,
    coordinates,
    counted,
    flat_index,
    flat_read,
    line,
    mode_of,
)
from taskarr.ops.reshape import reshaped
from taskarr.ops.views import expand_dims


def take(x: Expr, index: Any, axis: Any = None, mode: Any = "raise") -> Expr:
    """Elements at an index along an axis, or along the flattened array; as `numpy.take`.

    Raises
    ------
    IndexError, TypeError, ValueError
        As NumPy, on all ranks.
    """
    mode, found, axis = mode_of(mode), as_index(index), _axis_of(x, axis)
    sizes = (prod(x.shape),) if axis is None else x.shape
    lead, (length, *rest) = sizes[: axis or 0], sizes[axis or 0 :]
    shape = (*lead, *found.shape, *rest)
    if 0 in (*lead, *found.shape):
        return blank(x.dtype, layout_for(x.world, shape, x.dtype), x.world)
    if not length and 0 not in rest:
        raise IndexError("cannot do a non-empty take from an empty axes.")
    at = bounded(found, length, axis or 0, mode, x.world)
    return flat_read(x, at) if axis is None else gather(x, (at,), axis)


def _axis_of(x: Expr, axis: Any) -> int | None:
    """Number of an axis, None for the flattened array; an array without axes is flat."""
    if axis is None:
        return None
    if isinstance(axis, bool | np.bool_):
        raise TypeError("an integer is required for the axis")
    axis = normalize_axis_index(axis, len(x.shape) or 1)
    return axis if x.shape else None


def check_taken(found: Expr, out: Expr) -> None:
    """Raise NumPy's errors for an output that does not fit what was taken."""
    np.empty(1, found.dtype).take([0], out=np.empty(1, out.dtype))
    if found.shape != out.shape:
        raise ValueError("output array does not match result of ndarray.take")


def along_axis(x: Expr, index: Any, axis: Any) -> tuple[Any, ...]:
    """Key of an array that `numpy.take_along_axis` and `put_along_axis` mean.

    Parameters
    ----------
    index
        Expression, or what NumPy makes an array of.
    axis
        None for a flat array, which ``x`` is then.
    """
    index = index if isinstance(index, Expr) else np.asarray(index)
    if axis is None and len(index.shape) != 1:
        raise ValueError("when axis=None, `indices` must have a single dimension.")
    axis = 0 if axis is None else normalize_axis_index(axis, len(x.shape))
    if index.dtype.kind not in "iu":
        raise IndexError("`indices` must be an integer array")
    ndim = len(x.shape)
    if len(index.shape) != ndim:
        raise ValueError("`indices` and `arr` must have the same number of dimensions")
    key: list[Any] = []
    for k, n in enumerate(x.shape):
        numbers = counted(n, x.world)
        others = tuple(j for j in range(ndim) if j != k)
        key.append(index if k == axis else view_of(numbers, expand_dims((n,), others)))
    return tuple(key)


def take_along_axis(x: Expr, index: Any, axis: Any) -> Expr:
    """Elements at an index of their own in each row; as `numpy.take_along_axis`."""
    x = reshaped(x, (prod(x.shape),)) if axis is None else x
    return advanced.read(x, along_axis(x, index, axis))


def listed(choices: Sequence[Any]) -> Sequence[Any]:
    """Choices that were given one after the other, or as one sequence.

    Raises
    ------
    TypeError
        For no sequence.
    """
    if not choices:
        raise TypeError("choose() takes exactly 1 argument (0 given)")
    if len(choices) > 1:
        return choices
    (given,) = choices
    if isinstance(given, Mapping | Set):
        raise TypeError(f"{type(given).__name__} is not a sequence")
    return [given[k] for k in range(len(given))]


def choose(index: Any, choices: Sequence[Any], mode: Any, given: Expr) -> Expr:
    """Elements of the choice that an index names; as `numpy.choose`.

    Parameters
    ----------
    index
        Expression or host array.
    choices
        Expressions, scalars, arrays.
    mode
        What becomes of an index out of range.
    given
        Any of the expressions.
    """
    mode, count, world = mode_of(mode), len(choices), given.world
    index = index if isinstance(index, Expr) else np.asarray(index)
    ask: Any = np.choose
    found = ask(np.empty(0, index.dtype), [empty_like(c) for c in choices])
    dtype = checked_dtype(found.dtype)
    index = as_index(index, "safe")
    node = index if isinstance(index, Expr) else replicated_host(index, world)
    if mode == "raise":
        if not lies_within(node, count):
            raise ValueError("invalid entry in choice array")
    else:
        node = bounded(node, count, 0, mode, world)
    shapes = [c.shape if isinstance(c, Expr) else np.shape(c) for c in choices]
    shape = broadcast_shapes(node.shape, *shapes)
    chosen: Any = cast(_as_node(choices[-1], given), dtype)
    chosen = view_of(chosen, broadcast(chosen.shape, shape))
    for k in reversed(range(count - 1)):
        chosen = select(apply("equal", [node, k]), choices[k], chosen, dtype)
    return chosen


def _as_node(x: Any, given: Expr) -> Expr:
    return x if isinstance(x, Expr) else replicated_host(np.asarray(x), given.world)


# ---------------------------------------------------------------------- conditions


def truth(x: Expr) -> Expr:
    """Whether each element counts as true."""
    if x.dtype.names:
        parts = [truth(combined(field(n)[0], [x], x.dtype[n])) for n in x.dtype.names]
        found = parts[0]
        for part in parts[1:]:
            found = apply("logical_or", [found, part])
        return found
    if x.dtype.kind in "SU":
        return apply("not_equal", [x, x.dtype.type()])
    return cast(x, np.bool_)


def where(x: Expr) -> tuple[Expr, ...]:
    """Indices along each axis of the elements that are true; as `numpy.nonzero`."""
    np.empty((0,) * len(x.shape)).nonzero()  # which refuses what has no axes
    return tuple(balanced(found) for found in nonzero(truth(x)))


def argwhere(x: Expr) -> Expr:
    """Indices of the elements that are true, a row for each; as `numpy.argwhere`."""
    axes = len(x.shape)
    found = where(line(x))
    shape = (*found[0].shape, axes)
    if not axes:
        return filled(np.int64(0), layout_for(x.world, shape, INDEX), x.world)
    number = replicated_host(np.arange(axes), x.world)
    columns = [view_of(i, expand_dims(i.shape, 1)) for i in found]
    rows = view_of(columns[-1], broadcast(columns[-1].shape, shape))
    for axis in reversed(range(axes - 1)):
        rows = select(apply("equal", [number, axis]), columns[axis], rows, INDEX)
    return rows


def flat_where(x: Expr) -> Expr:
    """Flat indices of the elements that are true; as `numpy.flatnonzero`."""
    (found,) = numbered(truth(line(x)), lambda layout: [flat_index(layout, x.world)])
    return balanced(found)


def extract(x: Expr, condition: Expr) -> Expr:
    """Elements, in C order, where a condition of as many or fewer is true; `numpy.extract`."""
    mask = truth(condition)
    if x.shape and mask.shape == x.shape:
        return advanced.read(x, (mask,))
    return take(x, flat_where(mask))


def compress(x: Expr, condition: Expr, axis: Any) -> Expr:
    """Rows along an axis for which a condition is true; as `numpy.compress`.

    Raises
    ------
    IndexError, ValueError
        As NumPy, on all ranks.
    """
    if len(condition.shape) != 1:
        raise ValueError("condition must be a 1-d array")
    axis = _axis_of(x, axis)
    if axis is None:
        return extract(x, condition)
    mask = truth(condition)
    (count,) = mask.shape
    if not count or count > x.shape[axis]:
        return take(x, flat_where(mask), axis)
    lead = (slice(None),) * axis
    part = view_of(x, view_of_key(x.shape, (*lead, slice(count))))
    return advanced.read(part, (*lead, mask))


# ---------------------------------------------------------------------- flat indices


def unravel_index(index: Expr, shape: Any, order: Any) -> tuple[Expr, ...]:
    """Indices along each axis of a shape for flat ones; as `numpy.unravel_index`.

    Raises
    ------
    ValueError, TypeError
        As NumPy, on all ranks.
    """
    sizes = tuple(shape) if np.iterable(shape) else (shape,)
    if not sizes or np.prod(sizes) >= 0:
        np.unravel_index(np.zeros((0,) * len(index.shape), index.dtype), sizes, order=order)
    size = prod(sizes)
    if not lies_within(index, size):
        found = first_outside(index, 0, size)
        raise ValueError(f"index {found} is out of bounds for array with size {size}")
    index = cast(index, INDEX)
    if order == "C":
        return coordinates(index, sizes)
    return coordinates(index, sizes[::-1])[::-1]


def ravel_multi_index(index: Sequence[Any], dims: Any, mode: Any, order: Any) -> Expr:
    """Flat indices for those along each axis; as `numpy.ravel_multi_index`.

    Raises
    ------
    ValueError, TypeError
        As NumPy, on all ranks.
    """
    empty = [empty_like(i) for i in index]
    np.ravel_multi_index(empty, dims, mode=mode, order=order)
    sizes = tuple(dims) if np.iterable(dims) else (dims,)
    modes = mode if isinstance(mode, tuple) else (mode,)
    modes = modes if len(modes) > 1 else modes * len(sizes)
    given = next(i for i in index if isinstance(i, Expr))
    total: Any = None
    for k, (part, n) in enumerate(zip(index, sizes, strict=True)):
        node, how = cast(_as_node(part, given), INDEX), mode_of(modes[k])
        if how == "raise":
            if not lies_within(node, n):
                raise ValueError("invalid entry in coordinates array")
        else:
            node = bounded(node, n, 0, how, given.world)
        stride = prod(sizes[k + 1 :] if order == "C" else sizes[:k])
        step = apply("multiply", [node, stride])
        total = step if total is None else apply("add", [total, step])
    return total
