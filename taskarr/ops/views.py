"""Shapes seen otherwise: the affine views of transposing, turning, squeezing and repeating.

Each function takes the shape of an array and gives the view that NumPy's function of the same name
shows; errors are NumPy's.
"""

from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from taskarr.geometry.view import NEW, Affine, broadcast
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


def broadcast_to(base: Shape, shape: Any) -> Affine:
    """View repeated to a shape, which can't be written to."""
    sizes = tuple(shape) if np.iterable(shape) else (shape,)
    np.broadcast_to(np.empty(()), sizes)  # which checks that they are lengths
    return broadcast(base, tuple(int(n) for n in sizes))


def repeats(view: Affine) -> bool:
    """Whether a view shows an element more than once, so that writing would be ambiguous."""
    return any(a == NEW and n > 1 for a, n in zip(view.axes, view.shape, strict=True))


VIEWS = {
    view.__name__: view
    for view in (transpose, swapaxes, moveaxis, squeeze, expand_dims, flip, broadcast_to)
}
"""Functions of an array that NumPy and taskarr share, by name."""
