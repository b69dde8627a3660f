"""Writes through views: a new version of the base in which the view shows other values.

The base is copied once (`Own`) and the view's elements are written into the copy (`Put`), so that
what is read is always the version before the write, and a run that fails changes nothing. A chain
of writes between two runs shares one copy.
"""

from typing import Any

import numpy as np

from taskarr import faults
from taskarr.expr import FILL, Expr, Own, Put, moved_to, same_world, view_of
from taskarr.geometry.view import Affine, broadcast
from taskarr.ops.elementwise import cast
from taskarr.ops.operands import replicated_host

OWN = Own("own")


def element(value: Any, dtype: np.dtype) -> Any:
    """Value as an element of a dtype, converted and refused as NumPy does in an assignment."""
    found = np.empty(1, dtype)
    with faults.at_once("cast"):
        found[0] = value
    return found[0]


def as_array(value: Any, dtype: np.dtype) -> np.ndarray:
    """Value that is no array as one of a dtype, converted and refused as NumPy does by a cast."""
    with faults.at_once("cast"):
        return np.asarray(value, dtype)


def as_given(value: Any, dtype: np.dtype) -> Any:
    """Value to be written: sequences, and arrays of objects, as an array of the dtype.

    Raises
    ------
    ValueError, TypeError, OverflowError
        As NumPy, which converts each number of a list by itself.
    """
    if isinstance(value, Expr | np.ndarray) and not value.dtype.hasobject:
        return value
    if not (dtype.names or np.ndim(value)):
        return value
    return as_array(value, dtype)


def check_single(value: Any, dtype: np.dtype) -> None:
    """Raise what NumPy raises where one element is given anything but one value."""
    if isinstance(value, Expr):
        value = np.zeros([min(n, 2) for n in value.shape], value.dtype)
    if dtype.names and isinstance(value, tuple):
        return
    if isinstance(value, list) or np.ndim(value):
        np.empty(1, dtype)[0] = value


def converted(value: Any, target: Expr, shape: tuple[int, ...] | None = None) -> Expr:
    """Value cast to the target's dtype and broadcast as NumPy assigns.

    Parameters
    ----------
    value
        What is written.
    target
        Node that is written to.
    shape
        Shape that the value gets; the target's for None.

    Raises
    ------
    ValueError
        When the shapes don't fit.
    TypeError, OverflowError
        When the value can't be cast.
    """
    shape = target.shape if shape is None else shape
    if not isinstance(value, Expr | np.ndarray) and not target.dtype.names:
        _check_depth(value, len(shape))
    value = as_given(value, target.dtype)
    if not isinstance(value, Expr):
        host = np.asarray(value)
        if host.ndim == 0:
            args = (element(value, target.dtype),)
            return Expr(FILL, (), target.dtype, target.layout, target.world, args)
        value = replicated_host(host, target.world)
    value = without_leading(value, len(shape))
    try:
        view = broadcast(value.shape, shape)
    except ValueError:
        raise ValueError(
            f"could not broadcast input array from shape {value.shape} into shape {shape}"
        ) from None
    return view_of(cast(value, target.dtype), view)


def _check_depth(value: Any, ndim: int) -> None:
    """Raise ValueError for a sequence that is nested deeper than the axes that it is written to."""
    depth = np.ndim(value)
    if depth > ndim:
        raise ValueError(
            f"a sequence nested {depth} deep is written where there are {ndim} axes; leading axes "
            "of length 1 are taken off arrays only"
        )


def without_leading(value: Expr, ndim: int) -> Expr:
    """View of a value without the leading axes of length 1 that are too many."""
    shape = value.shape
    while len(shape) > ndim and shape[0] == 1:
        shape = shape[1:]
    if shape == value.shape:
        return value
    lead = len(value.shape) - len(shape)
    axes = tuple(range(lead, len(value.shape)))
    start = (0,) * len(value.shape)
    return view_of(value, Affine(shape, axes, start, (1,) * len(shape), value.shape))


def put(base: Expr, view: Affine, value: Expr) -> Expr:
    """Node of the base with a value, of the view's shape and the base's dtype, in the view."""
    same_world((base, value))
    if 0 in view.shape:
        return base
    if view.is_identity:
        return moved_to(value, base.layout)
    own = Expr(OWN, (base,), base.dtype, base.layout, base.world)
    return Expr(Put(view), (own, value), base.dtype, base.layout, base.world)
