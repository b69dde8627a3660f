"""Elements by index and by condition: picking, writing, leaving out, putting in."""

from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np

from taskarr.api.creation import Placed, asarray, new, ones, placement
from taskarr.api.patterns import diag
from taskarr.arrays import Array, node_of
from taskarr.arrays.calling import mask_of, outputs
from taskarr.arrays.writing import scalar_of, to_write
from taskarr.expr import Expr
from taskarr.ops import edits, lengths, picks, triangles, views
from taskarr.ops.patterns import INDEX
from taskarr.ops.ranges import arange

__all__ = [
    "argwhere",
    "choose",
    "compress",
    "copyto",
    "delete",
    "diag_indices",
    "diag_indices_from",
    "diagflat",
    "extract",
    "fill_diagonal",
    "flatnonzero",
    "insert",
    "ix_",
    "mask_indices",
    "nonzero",
    "place",
    "put",
    "put_along_axis",
    "putmask",
    "ravel_multi_index",
    "take",
    "take_along_axis",
    "tril",
    "tril_indices",
    "tril_indices_from",
    "triu",
    "triu_indices",
    "triu_indices_from",
    "unravel_index",
]


def _several(nodes: Sequence[Expr]) -> tuple[Array, ...]:
    return tuple(map(new, nodes))


# ---------------------------------------------------------------------- picking


def take(a: Any, indices: Any, axis: Any = None, out: Any = None, mode: Any = "raise") -> Array:
    """Elements at indices along an axis, or of the flattened array.

    Parameters
    ----------
    a
        Array.
    indices
        Integers, of NumPy or distributed.
    axis
        None for the flattened array.
    out
        Array that is written and returned.
    mode
        What an index out of range does: ``"raise"``, ``"wrap"`` or ``"clip"``.

    Examples
    --------
    >>> import taskarr
    >>> print(taskarr.take(taskarr.arange(5) * 10, [3, 0, -1]))
    [30  0 40]
    """
    return asarray(a).take(indices, axis, out, mode)


def take_along_axis(arr: Any, indices: Any, axis: Any = -1) -> Array:
    """Elements at an index of their own in each row along an axis; see `numpy.take_along_axis`."""
    return new(picks.take_along_axis(asarray(arr)._expr, node_of(indices), axis))


def choose(a: Any, choices: Any, out: Any = None, mode: Any = "raise") -> Array:
    """Elements of the choice that the elements of an integer array name."""
    return asarray(a).choose(choices, out=out, mode=mode)


def compress(condition: Any, a: Any, axis: Any = None, out: Any = None) -> Array:
    """Rows along an axis for which a condition of one axis is true."""
    return asarray(a).compress(condition, axis, out)


def extract(condition: Any, arr: Any) -> Array:
    """Elements, in C order, where a condition is true."""
    array = asarray(arr)
    return new(picks.extract(array._expr, array._near(condition)))


def nonzero(a: Any, as_tuple: bool = True) -> Any:
    """Indices of the elements that are not zero: a distributed array for each axis.

    Parameters
    ----------
    a
        Array of at least one axis.
    as_tuple
        False: one array with a row for each element, as `argwhere`.

    Examples
    --------
    >>> import taskarr
    >>> (found,) = taskarr.nonzero(taskarr.asarray([0, 3, 0, 5]))
    >>> print(found)
    [1 3]
    """
    return asarray(a).nonzero(as_tuple)


def argwhere(a: Any) -> Array:
    """Indices of the elements that are not zero, a row for each."""
    return asarray(a).nonzero(as_tuple=False)


def flatnonzero(a: Any) -> Array:
    """Flat indices, in C order, of the elements that are not zero."""
    return new(picks.flat_where(asarray(a)._expr))


# ---------------------------------------------------------------------- writing


def _target(name: str, a: Any) -> Array:
    """The array that a function writes to."""
    if a is None:
        raise TypeError(f"{name}() writes to an array, not to None")
    return outputs(name, a)[0]


def put(a: Any, ind: Any, v: Any, mode: Any = "raise") -> None:
    """Write values, repeated as needed, at flat indices of an array; of several the last stays."""
    _target("put", a).put(ind, v, mode)


def put_along_axis(arr: Any, indices: Any, values: Any, axis: Any) -> None:
    """Write values at an index of their own in each row along an axis."""
    target = _target("put_along_axis", arr)
    written = to_write(values, target.dtype)
    target._become(edits.put_along_axis(target._expr, node_of(indices), written, axis))


def putmask(a: Any, mask: Any, values: Any) -> None:
    """Write where a mask is true: to each element the value at its flat index, in turns."""
    target = _target("putmask", a)
    target._become(edits.putmask(target._expr, target._near(mask), _or_scalar(values)))


def place(arr: Any, mask: Any, vals: Any) -> None:
    """Write values, one after the other and repeated as needed, where a mask is true."""
    target = _target("place", arr)
    target._become(edits.place(target._expr, target._near(mask), _or_scalar(vals)))


def _or_scalar(values: Any) -> Any:
    """Values as a node; one as NumPy's scalar, which is cast where an array is refused."""
    if isinstance(values, Array) and values._fixed:
        return scalar_of(values, "writing a value")
    return node_of(values)


def copyto(dst: Any, src: Any, casting: Any = "same_kind", where: Any = True) -> None:
    """Write the elements of one array to another, broadcast, where a mask is true."""
    target = _target("copyto", dst)
    target._become(edits.copyto(target._expr, node_of(src), casting, mask_of(where)))


def fill_diagonal(a: Any, val: Any, wrap: Any = False) -> None:
    """Write a value, or several in turns, to the main diagonal of an array.

    Parameters
    ----------
    a
        Array of two axes, or of more of one length.
    val
        Value or values.
    wrap
        Whether the diagonal of a tall matrix begins anew below its end.
    """
    target = _target("fill_diagonal", a)
    target._become(edits.fill_diagonal(target._expr, to_write(val, target.dtype), wrap))


# ---------------------------------------------------------------------- other lengths


def delete(arr: Any, obj: Any, axis: Any = None) -> Array:
    """Array without some rows along an axis, or without elements of the flattened array.

    Examples
    --------
    >>> import taskarr
    >>> print(taskarr.delete(taskarr.arange(6), [1, -1]))
    [0 2 3 4]
    """
    return new(lengths.delete(asarray(arr)._expr, node_of(obj), axis))


def insert(arr: Any, obj: Any, values: Any, axis: Any = None) -> Array:
    """Array with values put in before some rows along an axis, or elements of the flattened array.

    Examples
    --------
    >>> import taskarr
    >>> print(taskarr.insert(taskarr.arange(4), [1, 3], -1))
    [ 0 -1  1  2 -1  3]
    """
    array = asarray(arr)
    put_in = to_write(values, array.dtype)
    return new(lengths.insert(array._expr, node_of(obj), put_in, axis))


# ---------------------------------------------------------------------- diagonals, triangles


def diagflat(v: Any, k: Any = 0) -> Array:
    """Matrix with the elements of an array on diagonal ``k``."""
    return diag(asarray(v).reshape(-1), k)


def tril(m: Any, k: Any = 0) -> Array:
    """Copy with zeros above diagonal ``k`` of the last two axes."""
    return new(triangles.triangle(asarray(m)._expr, k, upper=False))


def triu(m: Any, k: Any = 0) -> Array:
    """Copy with zeros below diagonal ``k`` of the last two axes."""
    return new(triangles.triangle(asarray(m)._expr, k, upper=True))


def tril_indices(n: Any, k: Any = 0, m: Any = None, **layout: Unpack[Placed]) -> tuple[Array, ...]:
    """Indices of the elements at and below a diagonal; layout arguments as `asarray`."""
    return _several(triangles.triangle_indices(n, k, m, False, placement(layout)))


def triu_indices(n: Any, k: Any = 0, m: Any = None, **layout: Unpack[Placed]) -> tuple[Array, ...]:
    """Indices of the elements at and above a diagonal; layout arguments as `asarray`."""
    return _several(triangles.triangle_indices(n, k, m, True, placement(layout)))


def tril_indices_from(arr: Any, k: Any = 0) -> tuple[Array, ...]:
    """Indices of the elements of a matrix at and below a diagonal."""
    return _triangle_from(arr, k, upper=False)


def triu_indices_from(arr: Any, k: Any = 0) -> tuple[Array, ...]:
    """Indices of the elements of a matrix at and above a diagonal."""
    return _triangle_from(arr, k, upper=True)


def _triangle_from(arr: Any, k: Any, upper: bool) -> tuple[Array, ...]:
    array = asarray(arr)
    if array.ndim != 2:
        raise ValueError("input array must be 2-d")
    place = placement({}, array)
    return _several(triangles.triangle_indices(array.shape[0], k, array.shape[1], upper, place))


def mask_indices(n: Any, mask_func: Any, k: Any = 0, **layout: Unpack[Placed]) -> tuple[Array, ...]:
    """Indices where what a function makes of an ``(n, n)`` array of ones is not zero."""
    made = ones((n, n), int, **layout)
    return _several(picks.where(asarray(mask_func(made, k))._expr))


def diag_indices(n: Any, ndim: Any = 2, **layout: Unpack[Placed]) -> tuple[Array, ...]:
    """Indices of the main diagonal of an array with axes of one length."""
    return (new(arange(0, n, 1, INDEX, placement(layout))),) * ndim


def diag_indices_from(arr: Any) -> tuple[Array, ...]:
    """Indices of the main diagonal of an array with axes of one length."""
    array = asarray(arr)
    if array.ndim < 2:
        raise ValueError("input array must be at least 2-d")
    if len(set(array.shape)) > 1:
        raise ValueError("All dimensions of input must be of equal length")
    place = placement({}, array)
    return (new(arange(0, array.shape[0], 1, INDEX, place)),) * array.ndim


# ---------------------------------------------------------------------- indices


def ix_(*args: Any) -> tuple[Array, ...]:
    """Keys of an open grid: index ``k`` along axis ``k``; masks stand for where they are true.

    Raises
    ------
    ValueError
        When one does not have one axis.
    """
    found = []
    for axis, given in enumerate(args):
        array = given if isinstance(given, Array) else asarray(_host_index(given))
        if array.ndim != 1:
            raise ValueError("Cross index must be 1 dimensional")
        array = array.nonzero()[0] if array.dtype == np.bool_ else array
        others = tuple(k for k in range(len(args)) if k != axis)
        found.append(array._viewed(views.expand_dims(array.shape, others)))
    return tuple(found)


def _host_index(given: Any) -> np.ndarray:
    host = np.asarray(given)
    return host if host.size or isinstance(given, np.ndarray) else host.astype(np.intp)


def unravel_index(indices: Any, shape: Any, order: Any = "C") -> tuple[Array, ...]:
    """Indices along each axis of a shape, for flat ones.

    Examples
    --------
    >>> import taskarr
    >>> a = taskarr.asarray([[1, 9, 2], [3, 4, 5]])
    >>> print(*taskarr.unravel_index(a.argmax(), a.shape))
    0 1
    """
    if not isinstance(indices, Array):
        return tuple(asarray(i) for i in np.unravel_index(indices, shape, order))
    found = picks.unravel_index(indices._expr, shape, order)
    return tuple(Array._of(i) for i in found)


def ravel_multi_index(multi_index: Any, dims: Any, mode: Any = "raise", order: Any = "C") -> Array:
    """Flat indices for those along each axis; see `numpy.ravel_multi_index`."""
    parts = [node_of(part) for part in multi_index]
    if not any(isinstance(part, Expr) for part in parts):
        return asarray(np.ravel_multi_index(tuple(parts), dims, mode=mode, order=order))
    return Array._of(picks.ravel_multi_index(parts, dims, mode, order))


PUBLIC: dict[str, Any] = {name: globals()[name] for name in __all__}
"""Functions of this module by name."""
