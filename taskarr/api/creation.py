"""Making arrays from data and from one value."""

from typing import Any, TypedDict, Unpack

import numpy as np

from taskarr.arrays import Array
from taskarr.arrays.writing import arrays_in, with_values
from taskarr.backend import CPU
from taskarr.device.choosing import check_device
from taskarr.expr import Expr
from taskarr.ops import creation, patterns, views
from taskarr.ops.creation import Placement
from taskarr.ops.elementwise import copied
from taskarr.ops.joining import joined

__all__ = [
    "array",
    "asanyarray",
    "asarray",
    "ascontiguousarray",
    "asfortranarray",
    "empty",
    "empty_like",
    "full",
    "full_like",
    "ones",
    "ones_like",
    "zeros",
    "zeros_like",
]


class Placed(TypedDict, total=False):
    """Layout arguments of all functions that make an array; `asarray` describes them."""

    split: Any
    chunks: Any
    mesh: Any
    comm: Any
    device: Any


def new(node: Expr) -> Array:
    """Array of a node, to be written even if it has no axes."""
    return Array._of(node, fixed=False)


def placement(layout: Placed, like: Any = None) -> Placement:
    """Where a new array goes: as the layout arguments say, else where another array lies."""
    check_device(layout.get("device", CPU) or CPU)  # `api.devices` brings the array there
    split, chunks, mesh = layout.get("split", "auto"), layout.get("chunks"), layout.get("mesh")
    unknown = set(layout) - set(Placed.__annotations__)
    if unknown:
        raise TypeError(f"unexpected keyword arguments: {', '.join(sorted(unknown))}")
    if isinstance(like, Array) and layout.get("comm") is None:
        same = None if {"split", "chunks", "mesh"} & set(layout) else like.layout
        return Placement(like._expr.world, split, chunks, mesh, same)
    return Placement(creation.world_of(layout.get("comm")), split, chunks, mesh)


def asarray(
    a: Any,
    dtype: Any = None,
    order: Any = None,
    *,
    copy: bool | None = None,
    **layout: Unpack[Placed],
) -> Array:
    """Distribute anything that NumPy makes an array of, the same on all ranks.

    Parameters
    ----------
    a
        Array-like; each rank keeps a copy of its own part only. An array stays as it is unless
        another dtype or layout is asked for.
    dtype
        Of the result; NumPy's choice for None.
    order
        Which shapes can be views, as in NumPy; bricks lie in C order all the same.
    copy
        True for a copy of an array; False to be refused one.
    split
        Axes to cut among the ranks: ``"auto"``, an axis, a tuple of axes, or None for a copy on
        every rank.
    chunks
        Block lengths in Dask's notation, or None for the rule by size.
    mesh
        Owners per split axis, or None for the most square process grid.
    comm
        An mpi4py communicator, or None for all ranks of the job.
    device
        ``"cpu"`` or ``"cuda"``; None for where the array lies, else for what the settings say.

    Raises
    ------
    TypeError
        For an object dtype.
    ValueError
        For a split, chunks or mesh that does not fit the shape or the job, and for ``copy=False``
        where a copy is needed.

    Examples
    --------
    >>> import taskarr
    >>> print(taskarr.asarray([[1, 2], [3, 4]]).sum(axis=0))
    [4 6]
    """
    a = _stacked(a, dtype)
    if isinstance(a, Array):
        as_it_is = dtype is None and order is None and not copy and not layout
        return a if as_it_is else _from_array(a, dtype, order, copy, layout)
    return _from_host(
        np.asarray(with_values(a, "asarray()"), dtype), order, copy, placement(layout)
    )


def _from_host(data: np.ndarray, order: Any, copy: bool | None, place: Placement) -> Array:
    if copy is False:
        raise ValueError("Unable to avoid copy while creating a distributed array of host data")
    return new(creation.asarray(data, place, order))


def _from_array(a: Array, dtype: Any, order: Any, copy: bool | None, layout: Placed) -> Array:
    """The array in another dtype or layout if asked for; copied at most once."""
    place = placement(layout, a)
    if place.world is not a._expr.world:
        raise ValueError(
            "the array lies on another communicator; "
            "bring it over with asarray(x.numpy(), comm=...)"
        )
    found = a if dtype is None else a.astype(dtype, copy=False)
    if place.like is None:
        found = found.redistribute(place.split, place.chunks, place.mesh)
    flags = found.flags
    turned = {"C": not flags.c_contiguous, "F": not flags.f_contiguous}.get(order, False)
    if copy is False and (turned or found is not a):
        raise ValueError("Unable to avoid copy: the array has another dtype, order or layout")
    if not turned and not (copy and found is a):
        creation.memory_order(order, a.shape)
        return found
    node = copied(found._expr)
    node.order = creation.kept_order(order, found._stand_in())
    return new(node)


def _stacked(a: Any, dtype: Any) -> Any:
    """Nested lists that hold distributed arrays with axes, as one array; others as they are."""
    if isinstance(a, Array) or not any(x.ndim for x in arrays_in(a)):
        return a
    parts = [asarray(x, dtype) for x in a]
    shapes = {x.shape for x in parts}
    if len(shapes) > 1:
        raise ValueError(
            "setting an array element with a sequence. The requested array has an inhomogeneous "
            f"shape: its parts have shapes {', '.join(str(x.shape) for x in parts)}"
        )
    rows = [x._viewed(views.expand_dims(x.shape, 0))._expr for x in parts]
    return new(joined(rows, 0))


def array(
    object: Any,
    dtype: Any = None,
    *,
    copy: bool | None = True,
    order: Any = "K",
    subok: bool = False,
    ndmin: int = 0,
    **layout: Unpack[Placed],
) -> Array:
    """Array of its own with the elements of anything array-like; see `numpy.array`.

    Layout arguments as `asarray`.
    """
    object = _stacked(object, dtype)
    if isinstance(object, Array):
        found = _from_array(object, dtype, order, copy, layout)
        lead = max(0, ndmin - found.ndim)
        view = views.expand_dims(found.shape, tuple(range(lead)))
        return found._viewed(view) if lead else found
    data = np.array(with_values(object, "array()"), dtype, copy=None, ndmin=ndmin)
    return _from_host(data, order, copy, placement(layout))


def asanyarray(a: Any, dtype: Any = None, order: Any = None, **options: Any) -> Array:
    """Same as `asarray`: there are no subclasses to pass through."""
    return asarray(a, dtype, order, **options)


def ascontiguousarray(a: Any, dtype: Any = None, **layout: Unpack[Placed]) -> Array:
    """Array of at least one axis, in C order as views see it; see `numpy.ascontiguousarray`."""
    found = asarray(a, dtype, "C", **layout)
    return found if found.shape else found._viewed(views.expand_dims((), 0))


def asfortranarray(a: Any, dtype: Any = None, **layout: Unpack[Placed]) -> Array:
    """Array of at least one axis, in Fortran order as views see it; see `numpy.asfortranarray`."""
    found = asarray(a, dtype, "F", **layout)
    return found if found.shape else found._viewed(views.expand_dims((), 0))


def full(
    shape: Any, fill_value: Any, dtype: Any = None, order: Any = "C", **layout: Unpack[Placed]
) -> Array:
    """Array filled with one value, or with an array that broadcasts; layout as `asarray`."""
    return _full(shape, fill_value, dtype, order, placement(layout))


def _full(shape: Any, value: Any, dtype: Any, order: Any, place: Placement) -> Array:
    sizes = creation.shape_of(shape)
    kept = order if isinstance(order, tuple) else creation.memory_order(order, sizes)
    if not isinstance(value, Array) and np.ndim(value) == 0:
        node = creation.full(sizes, value, dtype, place)
    else:
        everywhere = asarray(value, split=None, comm=place.world)
        node = patterns.repeated(sizes, everywhere._expr, dtype, place)
    node.order = kept
    return new(node)


def zeros(shape: Any, dtype: Any = None, order: Any = "C", **layout: Unpack[Placed]) -> Array:
    """Array of zeros; layout arguments as `asarray`."""
    return _full(shape, np.zeros((), dtype)[()], dtype, order, placement(layout))


def ones(shape: Any, dtype: Any = None, order: Any = "C", **layout: Unpack[Placed]) -> Array:
    """Array of ones; layout arguments as `asarray`."""
    return _full(shape, 1, float if dtype is None else dtype, order, placement(layout))


def empty(shape: Any, dtype: Any = None, order: Any = "C", **layout: Unpack[Placed]) -> Array:
    """Array to be written to; it holds zeros until then. Layout arguments as `asarray`."""
    return zeros(shape, dtype, order, **layout)


def full_like(
    a: Any,
    fill_value: Any,
    dtype: Any = None,
    order: Any = "K",
    subok: bool = True,
    shape: Any = None,
    **layout: Unpack[Placed],
) -> Array:
    """Array like another, filled with one value, in its layout unless one is given."""
    like = a._stand_in() if isinstance(a, Array) else np.asarray(a)
    sizes = like.shape if shape is None else creation.shape_of(shape)
    kept = creation.kept_order(order, like)
    if len(sizes) != like.ndim:
        kept = creation.memory_order(order, sizes)
    return _full(
        sizes, fill_value, like.dtype if dtype is None else dtype, kept or "C", placement(layout, a)
    )


def zeros_like(
    a: Any,
    dtype: Any = None,
    order: Any = "K",
    subok: bool = True,
    shape: Any = None,
    **layout: Unpack[Placed],
) -> Array:
    """Array of zeros like another, in its layout unless one is given."""
    kind = (a if isinstance(a, Array) else np.asarray(a)).dtype if dtype is None else dtype
    return full_like(a, np.zeros((), kind)[()], kind, order, subok, shape, **layout)


def ones_like(
    a: Any,
    dtype: Any = None,
    order: Any = "K",
    subok: bool = True,
    shape: Any = None,
    **layout: Unpack[Placed],
) -> Array:
    """Array of ones like another, in its layout unless one is given."""
    return full_like(a, 1, dtype, order, subok, shape, **layout)


def empty_like(
    prototype: Any,
    dtype: Any = None,
    order: Any = "K",
    subok: bool = True,
    shape: Any = None,
    **layout: Unpack[Placed],
) -> Array:
    """Array like another to be written to; it holds zeros until then."""
    return zeros_like(prototype, dtype, order, subok, shape, **layout)


PUBLIC: dict[str, Any] = {name: globals()[name] for name in __all__}
"""Functions of this module by name."""
