"""Public functions, as NumPy names them."""

from collections.abc import Callable
from typing import Any

import numpy as np

from taskarr import fetch, protocols
from taskarr.arrays import Array, node_of
from taskarr.ops import creation, elementwise, reductions, store, views
from taskarr.runtime import settings

__all__ = [
    "Array",
    "arange",
    "asarray",
    "compute",
    "full",
    "full_like",
    "load",
    "ones",
    "ones_like",
    "save",
    "settings",
    "where",
    "zeros",
    "zeros_like",
]


def asarray(
    x: Any,
    dtype: Any = None,
    split: Any = "auto",
    chunks: Any = None,
    mesh: Any = None,
    comm: Any = None,
    device: Any = None,
) -> Array:
    """Distribute anything that NumPy makes an array of, the same on all ranks.

    Parameters
    ----------
    x
        Array-like; each rank keeps a copy of its own part only.
    dtype
        Of the result; NumPy's choice for None.
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
        ``"cpu"`` or None.

    Raises
    ------
    TypeError
        For an object dtype.
    ValueError
        For a split, chunks or mesh that does not fit the shape or the job.

    Examples
    --------
    >>> import taskarr
    >>> print(taskarr.asarray([[1, 2], [3, 4]]).sum(axis=0))
    [4 6]
    """
    creation.check_device(device)
    if isinstance(x, Array):
        found = x if dtype is None else x.astype(dtype, copy=False)
        if split == "auto" and chunks is None and mesh is None:
            return found
        return found.redistribute(split, chunks, mesh)
    world = creation.world_of(comm)
    return Array._of(
        creation.asarray(x, dtype, split=split, chunks=chunks, mesh=mesh, world=world), fixed=False
    )


def full(shape: Any, fill_value: Any, dtype: Any = None, **layout: Any) -> Array:
    """Array filled with one value; layout arguments as `asarray`."""
    return Array._of(creation.full(shape, fill_value, dtype, **_placed(layout)), fixed=False)


def zeros(shape: Any, dtype: Any = float, **layout: Any) -> Array:
    """Array of zeros; layout arguments as `asarray`."""
    return Array._of(
        creation.full(shape, np.zeros((), dtype)[()], dtype, **_placed(layout)), fixed=False
    )


def ones(shape: Any, dtype: Any = float, **layout: Any) -> Array:
    """Array of ones; layout arguments as `asarray`."""
    kind = float if dtype is None else dtype
    return Array._of(creation.full(shape, 1, kind, **_placed(layout)), fixed=False)


def full_like(a: Any, fill_value: Any, dtype: Any = None, **layout: Any) -> Array:
    """Array like another, filled with one value, in its layout unless one is given."""
    like = a if isinstance(a, Array) else np.asarray(a)
    shape, kind = like.shape, like.dtype if dtype is None else dtype
    if layout or not isinstance(a, Array):
        return full(shape, fill_value, kind, **layout)
    node = a._expr
    found = creation.full(shape, fill_value, kind, split=None, world=node.world)
    found.layout = node.layout
    return Array._of(found, fixed=False)


def zeros_like(a: Any, dtype: Any = None, **layout: Any) -> Array:
    """Array of zeros like another, in its layout unless one is given."""
    return full_like(a, np.zeros((), _dtype(a) if dtype is None else dtype)[()], dtype, **layout)


def ones_like(a: Any, dtype: Any = None, **layout: Any) -> Array:
    """Array of ones like another, in its layout unless one is given."""
    return full_like(a, 1, dtype, **layout)


def arange(*bounds: Any, dtype: Any = None, **layout: Any) -> Array:
    """Evenly spaced values: ``arange([start,] stop[, step])``; layout arguments as `asarray`."""
    return Array._of(creation.arange(*bounds, dtype=dtype, **_placed(layout)))


def _dtype(a: Any) -> np.dtype:
    return a.dtype if isinstance(a, Array) else np.asarray(a).dtype


def _placed(layout: dict[str, Any]) -> dict[str, Any]:
    creation.check_device(layout.pop("device", None))
    return {**layout, "world": creation.world_of(layout.pop("comm", None))}


def load(
    file: Any, split: Any = "auto", chunks: Any = None, mesh: Any = None, comm: Any = None
) -> Array:
    """Array of an ``.npy`` file, which is opened now and read when it is needed. Collective.

    Every rank reads the bytes of its own blocks only. Layout arguments as `asarray`.

    Raises
    ------
    OSError
        When the file can't be opened, on every rank.
    ValueError
        When it is no ``.npy`` file, is cut short, or holds Python objects.
    """
    world = creation.world_of(comm)
    return Array._of(
        store.load(file, split=split, chunks=chunks, mesh=mesh, world=world), fixed=False
    )


def save(file: Any, arr: Any) -> None:
    """Write an ``.npy`` file, whole or not at all. Collective.

    Every rank writes its own bytes into a temporary file beside the target, which then replaces
    it in one step. The extension is added where it is missing.

    Raises
    ------
    OSError
        When the folder can't be written, on every rank; a file that was there stays.
    """
    store.save(file, asarray(arr)._expr)


def compute(*arrays: Any) -> tuple[np.ndarray, ...]:
    """Several arrays as NumPy arrays on every rank, computed in one run. Collective.

    Examples
    --------
    >>> import taskarr
    >>> a = taskarr.arange(5)
    >>> taskarr.compute(a.min(), a.max())
    (array(0), array(4))
    """
    nodes = [asarray(a)._expr for a in arrays]
    return tuple(fetch.whole(nodes, "compute()")) if nodes else ()


def where(condition: Any, x: Any, y: Any) -> Array:
    """Elements of ``x`` where the condition is true, of ``y`` elsewhere."""
    operands = [node_of(v) for v in (condition, x, y)]
    if not any(isinstance(v, Array) for v in (condition, x, y)):
        operands[0] = asarray(condition)._expr
    return Array._of(elementwise.select(*operands), fixed=False)


def _ufunc(name: str) -> Callable[..., Array]:
    """Public function of a ufunc."""

    def function(*operands: Any) -> Array:
        nodes = [node_of(x) for x in operands]
        if not any(isinstance(x, Array) for x in operands):
            nodes[:1] = [asarray(x)._expr for x in operands[:1]]
        return Array._of(elementwise.apply(name, nodes))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Elementwise ``{name}``; see `numpy.{name}`."
    return function


def _reduction(name: str) -> Callable[..., Array]:
    """Public function of a reduction."""

    def function(a: Any, *args: Any, **options: Any) -> Array:
        return Array._of(reductions.called(name, asarray(a)._expr, args, options))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Reduction ``{name}``; see `numpy.{name}` for ``axis``, ``keepdims`` ...."
    return function


def _view(name: str) -> Callable[..., Array]:
    """Public function that shows an array otherwise."""

    def function(a: Any, *args: Any, **options: Any) -> Array:
        array = asarray(a)
        return array._viewed(views.VIEWS[name](array.shape, *args, **options))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"View of an array; see `numpy.{name}`."
    return function


PUBLIC: dict[str, Any] = {
    **{name: globals()[name] for name in __all__},
    **{name: _ufunc(name) for name in elementwise.UFUNCS},
    **{name: _reduction(name) for name in reductions.ROWS},
    **{name: _view(name) for name in views.VIEWS},
    "abs": _ufunc("absolute"),
}
"""Everything that ``taskarr.name`` gives; generated functions are not names of this module,
where ``sum`` and ``any`` mean Python's."""

protocols.FUNCTIONS.update(PUBLIC)
protocols.FUNCTIONS.update(
    shape=lambda a: a.shape,
    ndim=lambda a: a.ndim,
    size=lambda a, axis=None: a.size if axis is None else a.shape[axis],
)
