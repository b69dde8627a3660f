"""Arrays with elements left out, or put in, along an axis."""

import operator
from math import prod
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from taskarr.expr import Expr, blank, filled, view_of
from taskarr.geometry.layout import Layout
from taskarr.ops import advanced
from taskarr.ops.creation import Placement
from taskarr.ops.elementwise import apply, cast, copied
from taskarr.ops.keys import check_range, view_of_key
from taskarr.ops.known import known_index
from taskarr.ops.operands import layout_for, replicated_host
from taskarr.ops.patterns import index_along
from taskarr.ops.picks import flat_where
from taskarr.ops.positions import flat_index, line
from taskarr.ops.reshape import reshaped
from taskarr.ops.views import moveaxis
from taskarr.ops.write import converted, put

BOOL = np.dtype(np.bool_)


def delete(x: Expr, obj: Any, axis: Any) -> Expr:
    """The array without some rows along an axis, or without elements; as `numpy.delete`.

    Which are left is a mask, so that rows stay where they are.

    Parameters
    ----------
    obj
        Integer, slice, index or mask, of NumPy or distributed.
    axis
        None for the flattened array.

    Raises
    ------
    IndexError, ValueError
        As NumPy, on all ranks.
    """
    if axis is not None:
        axis = normalize_axis_index(axis, len(x.shape))
        shape, lead = x.shape[axis : axis + 1], (slice(None),) * axis
        numbers = index_along(0, layout_for(x.world, shape, BOOL), Placement(x.world))
    else:
        x = line(x)
        shape, lead = x.shape, ()
        numbers = flat_index(x.layout, x.world)
    left = _left(numbers, obj, axis or 0)
    if left is None:
        return copied(reshaped(x, (prod(shape),)) if axis is None else x)
    return advanced.read(x, (*lead, reshaped(left, shape)))


def _left(numbers: Expr, obj: Any, axis: int) -> Expr | None:
    """Mask of what is left, over the numbers of rows or flat; None for everything."""
    length, world = prod(numbers.shape), numbers.world
    if isinstance(obj, slice):
        picked = range(length)[obj]
        picked = picked if picked.step > 0 else picked[::-1]
        return _beside(numbers, picked) if len(picked) else None
    if not isinstance(obj, Expr):
        given, obj = obj, np.asarray(obj)
        if not obj.size and not isinstance(given, np.ndarray):
            obj = obj.astype(np.intp)
        if obj.size == 1 and obj.dtype.kind in "iu":
            check_range(int(obj.item()), length, 0)
            return apply("not_equal", [numbers, int(obj.item()) % length])
    if obj.dtype != np.bool_:
        if isinstance(obj, Expr) and not obj.shape:
            obj = reshaped(obj, (1,))
        every = filled(np.True_, layout_for(world, (length,), BOOL), world)
        return advanced.written(every, (obj,), False)
    if obj.shape != (length,):
        raise ValueError(
            "boolean array argument obj to delete must be one dimensional and match the axis "
            f"length of {length}"
        )
    return apply("logical_not", [obj if isinstance(obj, Expr) else replicated_host(obj, world)])


def _beside(numbers: Expr, picked: range) -> Expr:
    """Whether a number is none of a range that goes upwards."""
    found = apply("less", [numbers, picked.start])
    found = apply("logical_or", [found, apply("greater", [numbers, picked[-1]])])
    if picked.step == 1:
        return found
    turn = apply("remainder", [apply("subtract", [numbers, picked.start]), picked.step])
    return apply("logical_or", [found, apply("not_equal", [turn, 0])])


def insert(x: Expr, obj: Any, values: Any, axis: Any) -> Expr:
    """The array with values put in before some rows along an axis; as `numpy.insert`.

    Parameters
    ----------
    obj
        Integer, slice, index or mask, of NumPy or distributed: every rank gets all of it.
    values
        Broadcast to what is put in.
    axis
        None for the flattened array.

    Raises
    ------
    IndexError, ValueError
        As NumPy, on all ranks.
    """
    if axis is None:
        x, axis = reshaped(x, (prod(x.shape),)), 0
    axis = normalize_axis_index(axis, len(x.shape))
    places = _places(obj, x.shape[axis])
    if places.size == 1:
        return _inserted_at(x, places, values, axis)
    if places.dtype.kind not in "iu":
        raise IndexError("arrays used as indices must be of integer (or boolean) type")
    length, count = x.shape[axis], len(places)
    places = np.where(places < 0, places + length, places)
    order = places.argsort(kind="stable")
    places[order] += np.arange(count)
    lead = (slice(None),) * axis
    found = advanced.written(_longer(x, axis, count), (*lead, places), values)
    every = filled(np.True_, layout_for(x.world, (length + count,), BOOL), x.world)
    old = flat_where(advanced.written(every, (places,), False))
    return advanced.written(found, (*lead, old), x)


def _places(obj: Any, length: int) -> np.ndarray:
    """Where to insert, known to every rank."""
    if isinstance(obj, slice):
        return np.arange(*obj.indices(length))
    if isinstance(obj, Expr):
        obj = known_index(obj, "insert()")
    found = np.array(obj)
    if found.dtype == np.bool_:
        if obj.ndim != 1:  # which lists don't have, and NumPy refuses them so
            raise ValueError("boolean array argument obj to insert must be one dimensional")
        return np.flatnonzero(found)
    if found.ndim > 1:
        raise ValueError("index array argument obj to insert must be one dimensional or scalar")
    return found if found.size or isinstance(obj, np.ndarray) else found.astype(np.intp)


def _inserted_at(x: Expr, places: np.ndarray, values: Any, axis: int) -> Expr:
    """The array with rows before one of its own."""
    length = x.shape[axis]
    at = places.item()
    if not -length <= at <= length:
        raise IndexError(f"index {at} is out of bounds for axis {axis} with size {length}")
    at = operator.index(at) % length if at < 0 else operator.index(at)
    new = _with_axes(values, x)
    if not places.ndim:
        new = view_of(new, moveaxis(new.shape, 0, axis))
    count, lead = new.shape[axis], (slice(None),) * axis
    found = _longer(x, axis, count)
    parts = ((slice(at), slice(at)), (slice(at + count, None), slice(at, None)))
    for target, source in parts:
        part = view_of(x, view_of_key(x.shape, (*lead, source)))
        found = put(found, view_of_key(found.shape, (*lead, target)), part)
    view = view_of_key(found.shape, (*lead, slice(at, at + count)))
    return put(found, view, converted(new, x, view.shape))


def _with_axes(values: Any, x: Expr) -> Expr:
    """Values of the array's dtype, with as many axes at least."""
    ndim = len(x.shape)
    if not isinstance(values, Expr):
        return replicated_host(np.array(values, dtype=x.dtype, copy=None, ndmin=ndim), x.world)
    shape = (1,) * (ndim - len(values.shape)) + values.shape
    return reshaped(cast(values, x.dtype), shape)


def _longer(x: Expr, axis: int, count: int) -> Expr:
    """Node of zeros with so many rows more than an array along an axis."""
    shape = (*x.shape[:axis], x.shape[axis] + count, *x.shape[axis + 1 :])
    return blank(x.dtype, _cut_as(x, shape), x.world)


def _cut_as(x: Expr, shape: tuple[int, ...]) -> Layout:
    split = None if x.layout.replicated else x.layout.split or "auto"
    return layout_for(x.world, shape, x.dtype, split)
