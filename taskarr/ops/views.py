"""Shapes seen otherwise: the affine views of transposing, turning, squeezing and repeating.

Each function takes the shape of an array and gives the view that NumPy's function of the same name
shows; errors are NumPy's.
"""

import operator
from math import prod
from typing import Any

import numpy as np
from numpy.exceptions import AxisError
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from taskarr.geometry.strides import kept_order
from taskarr.geometry.view import NEW, Affine, broadcast, identity
from taskarr.geometry.view import transpose as ordered

Shape = tuple[int, ...]


def transpose(shape: Shape, axes: Any = None) -> Affine:
    """View with the axes in another order; reversed for None.

    Raises
    ------
    ValueError
        When they do not name each axis once.
    """
    ndim = len(shape)
    axes = range(ndim)[::-1] if axes is None else axes
    if len(axes) != ndim:
        raise ValueError(f"axes don't match array: {tuple(axes)} for {ndim} dimensions")
    return ordered(shape, normalize_axis_tuple(axes, ndim))


def swapaxes(shape: Shape, axis1: int, axis2: int) -> Affine:
    """View with two axes exchanged."""
    a, b = (normalize_axis_index(axis, len(shape)) for axis in (axis1, axis2))
    order = list(range(len(shape)))
    order[a], order[b] = order[b], order[a]
    return ordered(shape, tuple(order))


def moveaxis(shape: Shape, source: Any, destination: Any) -> Affine:
    """View with axes at other places, the others in their order."""
    ndim = len(shape)
    sources = normalize_axis_tuple(source, ndim, "source")
    places = normalize_axis_tuple(destination, ndim, "destination")
    if len(sources) != len(places):
        raise ValueError(
            "`source` and `destination` arguments must have the same number of elements"
        )
    order = [axis for axis in range(ndim) if axis not in sources]
    for place, axis in sorted(zip(places, sources, strict=True)):
        order.insert(place, axis)
    return ordered(shape, tuple(order))


def squeeze(shape: Shape, axis: Any = None) -> Affine:
    """View without axes of length one: all, or those named."""
    np.squeeze(np.broadcast_to(np.empty(()), shape), axis)  # which checks the axes
    if axis is None or not shape:
        gone = tuple(k for k, n in enumerate(shape) if n == 1)
    else:
        gone = normalize_axis_tuple(axis, len(shape))
    kept = tuple(k for k in range(len(shape)) if k not in gone)
    steps = (1,) * len(kept)
    return Affine(tuple(shape[k] for k in kept), kept, (0,) * len(shape), steps, shape)


def expand_dims(shape: Shape, axis: Any) -> Affine:
    """View with axes of length one put in."""
    count = len(axis) if isinstance(axis, tuple | list) else 1
    places = normalize_axis_tuple(axis, len(shape) + count)
    old = iter(range(len(shape)))
    axes = tuple(NEW if k in places else next(old) for k in range(len(shape) + count))
    return Affine(
        tuple(1 if a == NEW else shape[a] for a in axes),
        axes,
        (0,) * len(shape),
        tuple(0 if a == NEW else 1 for a in axes),
        shape,
    )


def flip(shape: Shape, axis: Any = None) -> Affine:
    """View with axes in reverse: all, or those named."""
    ndim = len(shape)
    turned = tuple(range(ndim)) if axis is None else normalize_axis_tuple(axis, ndim)
    start = tuple(max(n - 1, 0) if k in turned else 0 for k, n in enumerate(shape))
    steps = tuple(-1 if k in turned else 1 for k in range(ndim))
    return Affine(shape, tuple(range(ndim)), start, steps, shape)


def flipud(shape: Shape) -> Affine:
    """View with the first axis in reverse."""
    if not shape:
        raise ValueError("Input must be >= 1-d.")
    return flip(shape, 0)


def fliplr(shape: Shape) -> Affine:
    """View with the second axis in reverse."""
    if len(shape) < 2:
        raise ValueError("Input must be >= 2-d.")
    return flip(shape, 1)


def rot90(shape: Shape, k: int = 1, axes: Any = (0, 1)) -> Affine:
    """View turned by ``k`` quarters in the plane of two axes, from the first to the second."""
    axes = tuple(axes)
    if len(axes) != 2:
        raise ValueError("len(axes) must be 2.")
    first, second = axes
    ndim = len(shape)
    if first == second or abs(first - second) == ndim:
        raise ValueError("Axes must be different.")
    if not all(-ndim <= axis < ndim for axis in axes):
        raise ValueError(f"Axes={axes} out of range for array of ndim={ndim}.")
    if k % 2 == 0:
        return flip(shape, axes) if k % 4 else identity(shape)
    if k % 4 == 1:
        turned = flip(shape, second)
        return swapaxes(shape, first, second).after(turned)
    crossed = swapaxes(shape, first, second)
    return flip(crossed.shape, second).after(crossed)


def rollaxis(shape: Shape, axis: int, start: int = 0) -> Affine:
    """View with an axis moved back until it stands before ``start``."""
    ndim = len(shape)
    axis = normalize_axis_index(axis, ndim)
    start = start + ndim if start < 0 else start
    if not 0 <= start <= ndim:
        raise AxisError(f"start={start} is out of bounds for an array of {ndim} dimensions")
    return moveaxis(shape, axis, start - 1 if axis < start else start)


def matrix_transpose(shape: Shape) -> Affine:
    """View with the last two axes exchanged."""
    if len(shape) < 2:
        raise ValueError(f"Input array must be at least 2-dimensional, but it is {len(shape)}")
    return swapaxes(shape, -1, -2)


def broadcast_to(base: Shape, shape: Any) -> Affine:
    """View repeated to a shape, which can't be written to."""
    sizes = tuple(shape) if np.iterable(shape) else (shape,)
    np.broadcast_to(np.empty(()), sizes)  # which checks that they are lengths
    return broadcast(base, tuple(int(n) for n in sizes))


def resolved(shape: Shape, given: Any) -> Shape:
    """Shape that a reshaping asks for, an unknown length filled in.

    Raises
    ------
    ValueError
        When the elements do not fit.
    TypeError
        For a length that is no integer.
    """
    sizes = tuple(given) if np.iterable(given) else (given,)
    if any(isinstance(n, bool | np.bool_) for n in sizes):
        raise TypeError(f"reshape to {given!r}: a length is an integer")
    sizes = tuple(operator.index(n) for n in sizes)
    size = prod(shape)
    known = prod(n for n in sizes if n != -1)
    if sizes.count(-1) > 1:
        raise ValueError(f"can only specify one unknown dimension, not {sizes}")
    if -1 in sizes and known > 0 and size % known == 0:
        sizes = tuple(size // known if n == -1 else n for n in sizes)
    if min(sizes, default=0) < 0 or prod(sizes) != size:
        raise ValueError(f"cannot reshape array of size {size} into shape {sizes}")
    return sizes


def reads_in(order: str, flags: Any) -> str:
    """Order ``"C"`` or ``"F"`` in which elements are read; ``"A"`` asks the array's memory."""
    if order not in ("C", "F", "A"):
        raise ValueError(f"order must be one of 'C', 'F', 'A', 'K' (got {order!r})")
    return ("F" if flags.fnc else "C") if order == "A" else order


def strides_in(like: np.ndarray, shape: Shape) -> tuple[int, ...] | None:
    """Strides of a view in another shape, or None where NumPy has to copy."""
    try:
        return like.reshape(shape, copy=False).strides
    except ValueError:
        return None


def memory_order(like: np.ndarray) -> Affine:
    """View whose axes go from the slowest to the fastest in memory."""
    order = kept_order(((like.shape, like.strides),), like.shape)
    return ordered(like.shape, tuple(range(like.ndim)) if order is None else order)


VIEWS = {
    "permute_dims": transpose,
    **{
        view.__name__: view
        for view in (
            transpose,
            swapaxes,
            moveaxis,
            rollaxis,
            matrix_transpose,
            squeeze,
            expand_dims,
            flip,
            flipud,
            fliplr,
            rot90,
        )
    },
}
"""Functions of an array that NumPy and taskarr share, by name."""
