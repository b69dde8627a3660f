"""Making arrays of what each rank has, of what one has, and of what can be sliced."""

from typing import Any, Unpack

import numpy as np

from taskarr.api.creation import Placed, asarray, new, placement
from taskarr.arrays import Array
from taskarr.ops import creation, local, sliced

__all__ = ["from_array", "from_local", "scatter"]


def from_local(block: Any, split: int = 0, comm: Any = None) -> Array:
    """Array of which every rank passes its own piece. Collective.

    The pieces follow each other along axis ``split`` in the order of the ranks and stay where they
    are; each is copied. Some may have length zero there. The blocks follow the pieces, so that
    results that depend on blocks, as the last bits of a sum, depend on the number of ranks.

    Parameters
    ----------
    block
        This rank's piece, array-like.
    split
        Axis along which the pieces are joined.
    comm
        An mpi4py communicator, or None for all ranks of the job.

    Raises
    ------
    TypeError
        When dtypes differ or hold Python objects, on every rank.
    ValueError
        When shapes differ in another axis than ``split``, on every rank.

    Examples
    --------
    >>> import taskarr
    >>> taskarr.from_local([taskarr.rank] * 3).numpy().tolist()
    [0, 0, 0]
    """
    return new(local.from_local(block, split, creation.world_of(comm)))


def scatter(x: Any, root: int = 0, **layout: Unpack[Placed]) -> Array:
    """Array of what one rank passes; the others pass None, or anything. Collective.

    Each rank is sent its own part only. Layout arguments as `asarray`.

    Raises
    ------
    TypeError
        When the root passes None, or an object dtype, on every rank.
    ValueError
        When ``root`` is no rank.

    Examples
    --------
    >>> import taskarr
    >>> print(taskarr.scatter([1, 2, 3] if taskarr.rank == 0 else None))
    [1 2 3]
    """
    return new(local.scatter(x, root, placement(layout)))


def from_array(x: Any, **layout: Unpack[Placed]) -> Array:
    """Array of anything with a shape, a dtype and slices: datasets of HDF5 or zarr, `numpy.memmap`.

    Every rank passes its own, of the same contents, and reads the slices of its own blocks when
    they are needed, once each time; `persist` keeps them. The contents must not change meanwhile.
    A plain NumPy array is copied, as by `asarray`. Layout arguments as `asarray`.

    Raises
    ------
    TypeError
        When it has no shape, dtype or slices, or holds Python objects.
    """
    if isinstance(x, Array) or type(x) is np.ndarray:
        return asarray(x, **layout)
    return new(sliced.from_array(x, placement(layout)))


PUBLIC: dict[str, Any] = {name: globals()[name] for name in __all__}
"""Functions of this module by name."""
