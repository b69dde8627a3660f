"""Making arrays: from data, from one value, from a range."""

from typing import Any

import numpy as np

from taskarr.arrays import Array
from taskarr.ops import creation

__all__ = [
    "arange",
    "asarray",
    "full",
    "full_like",
    "ones",
    "ones_like",
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


PUBLIC: dict[str, Any] = {name: globals()[name] for name in __all__}
"""Functions of this module by name."""
