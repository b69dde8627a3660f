"""Choosing owners: how the blocks of a grid are dealt out to the ranks."""

import math
from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from taskarr.geometry.grid import Bounds, auto_split, block_bytes, chunk_grid, default_grid
from taskarr.geometry.layout import Axis, Layout, single

Split = str | int | tuple[int, ...] | None
WORST_BALANCE = 1.5


def cut_among(bounds: Bounds, owners: int) -> np.ndarray:
    """Elements where owners change: the block boundaries nearest to equal shares.

    >>> cut_among(np.array([0, 2, 4, 6, 7]), 2).tolist()
    [0, 2, 7]
    """
    length = int(bounds[-1])
    targets = np.arange(owners + 1, dtype=np.int64) * length // owners
    above = np.searchsorted(bounds, targets)
    below = np.maximum(above - 1, 0)
    nearer = targets - bounds[below] <= bounds[above] - targets
    return bounds[np.where(nearer & (targets != bounds[above]), below, above)]


def factors(size: int, count: int) -> Iterator[tuple[int, ...]]:
    """All ways to write ``size`` as an ordered product of ``count`` numbers."""
    if count == 1:
        yield (size,)
        return
    for p in range(1, size + 1):
        if size % p == 0:
            for rest in factors(size // p, count - 1):
                yield (p, *rest)


@lru_cache(1024)
def mesh_for(size: int, blocks: tuple[int, ...]) -> tuple[int, ...]:
    """Process grid of ``size`` ranks over axes of so many blocks: most owners, then most square.

    >>> mesh_for(6, (100, 100))
    (3, 2)
    >>> mesh_for(6, (2, 100))
    (2, 3)
    """

    def worth(mesh: tuple[int, ...]) -> tuple[int, int, tuple[int, ...]]:
        used = [min(p, b) for p, b in zip(mesh, blocks, strict=True)]
        return math.prod(used), -max(mesh), mesh

    return max(factors(size, len(blocks)), key=worth) if blocks else ()


def dealt(
    grid: tuple[Bounds, ...], split: tuple[int, ...], mesh: tuple[int, ...] | None, size: int
) -> Layout:
    """Layout of a grid whose ``split`` axes are cut among a mesh of ranks in C order."""
    blocks = tuple(len(grid[axis]) - 1 for axis in split)
    mesh = mesh or mesh_for(size, blocks)
    axes = [Axis(bounds, bounds[[0, -1]], 0) for bounds in grid]
    stride = 1
    for axis, owners, most in reversed(list(zip(split, mesh, blocks, strict=True))):
        used = min(owners, most)
        axes[axis] = Axis(grid[axis], cut_among(grid[axis], used), stride)
        stride *= used
    return Layout(tuple(axes), size)


def redealt(layout: Layout) -> Layout:
    """The same blocks dealt out anew along the first axis that is cut, if that is more even."""
    grid = tuple(axis.bounds for axis in layout.axes)
    split = next((k for k, bounds in enumerate(grid) if len(bounds) > 2), 0)
    again = dealt(grid, (split,), None, layout.size)
    return again if balance(again) < balance(layout) else layout


def replicated(grid: tuple[Bounds, ...], size: int) -> Layout:
    """Layout in which every rank holds all."""
    axes = tuple(Axis(bounds, bounds[[0, -1]], 0) for bounds in grid)
    return Layout(axes, size, 0, True)


def on_root(shape: tuple[int, ...], root: int, size: int) -> Layout:
    """Layout in which one rank holds all."""
    return Layout(tuple(single(n) for n in shape), size, root)


def checked_split(split: Split, ndim: int) -> tuple[int, ...] | None:
    """Normalised axes of ``split``; None stays None.

    Raises
    ------
    ValueError
        When an axis is out of range, repeated, or not an integer.
    """
    if split is None:
        return None
    axes = split if isinstance(split, tuple | list) else (split,)
    if not all(isinstance(a, int | np.integer) and -ndim <= a < ndim for a in axes):
        raise ValueError(
            f"split={split!r} is not 'auto', None, or axes of an array with {ndim} dimensions"
        )
    found = tuple(sorted(int(a) % ndim for a in axes))
    if len(set(found)) < len(found):
        raise ValueError(f"split={split!r} names an axis twice")
    return found


def checked_mesh(mesh: tuple[int, ...] | None, split: tuple[int, ...], size: int) -> None:
    """Raise ValueError unless the mesh has one positive entry per split axis and enough ranks."""
    if mesh is None:
        return
    if not all(isinstance(n, int | np.integer) for n in mesh):
        raise ValueError(f"mesh={mesh!r} is not a tuple of numbers of ranks")
    if len(mesh) != len(split) or min(mesh, default=1) < 1:
        raise ValueError(f"mesh={mesh!r} does not have one length per split axis {split}")
    if math.prod(mesh) > size:
        raise ValueError(f"mesh={mesh!r} needs {math.prod(mesh)} ranks, this job has {size}")


def new_layout(
    shape: tuple[int, ...],
    itemsize: int,
    size: int,
    *,
    split: Split = "auto",
    chunks: object = None,
    mesh: tuple[int, ...] | None = None,
    block: int | None = None,
    replicate: bool = True,
) -> Layout:
    """Layout of a new array: DESIGN's grid rule, or what the caller asked for.

    Parameters
    ----------
    shape, itemsize
        Of the array; bytes.
    size
        Number of ranks.
    split
        ``"auto"``, None (replicated), an axis, or a tuple of axes.
    chunks
        Block lengths in Dask's notation, or None.
    mesh
        Owners per split axis, or None.
    block
        ``TASKARR_BLOCK`` in bytes, or None.
    replicate
        ``TASKARR_REPLICATE``: whether ``"auto"`` replicates what fits one block.
    """
    chunks = None if isinstance(chunks, str) and chunks == "auto" else chunks
    if mesh is not None:
        mesh = tuple(mesh) if isinstance(mesh, tuple | list) else (mesh,)
    axes: tuple[int, ...] | None
    nbytes = math.prod(shape) * itemsize
    if isinstance(split, str):
        if split != "auto":
            raise ValueError(f"split={split!r} is not 'auto', None, an axis or a tuple of axes")
        axes = auto_split(shape, itemsize, block_bytes(nbytes, block))
        small = nbytes <= block_bytes(nbytes, block)
        if not shape or (small and replicate and chunks is None and mesh is None):
            axes = None
        if chunks is not None and shape:
            grid = chunk_grid(shape, chunks, itemsize, block)
            axes = next(((k,) for k, b in enumerate(grid) if len(b) > 2), (0,))
    else:
        axes = checked_split(split, len(shape))
    if chunks is not None:
        grid = chunk_grid(shape, chunks, itemsize, block)
    else:
        grid = default_grid(shape, itemsize, (0,)[: len(shape)] if axes is None else axes, block)
    if axes is None:
        return replicated(grid, size)
    checked_mesh(mesh, axes, size)
    return dealt(grid, axes, mesh, size)


def balance(layout: Layout) -> float:
    """Elements of the fullest brick over the mean share of the ranks that could hold one."""
    total = math.prod(layout.shape)
    if layout.replicated or not total:
        return 1.0
    most = math.prod(int(np.diff(axis.cut).max()) for axis in layout.axes)
    return most * layout.size / total
