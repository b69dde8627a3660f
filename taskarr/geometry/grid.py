"""How a shape is cut into blocks: a function of shape, dtype, split and settings, never of N."""

import math
from collections.abc import Sequence

import numpy as np

MIB = 1 << 20
MOST_BLOCKS = 4096

Bounds = np.ndarray
"""Block boundaries along one axis: int64, strictly increasing from 0 to the length."""


def even_bounds(length: int, blocks: int) -> Bounds:
    """Boundaries of ``blocks`` blocks whose lengths differ by one at most.

    >>> even_bounds(7, 3).tolist()
    [0, 2, 4, 7]
    """
    blocks = max(1, min(blocks, length))
    return np.arange(blocks + 1, dtype=np.int64) * length // blocks


def bounds_of(lengths: Sequence[int]) -> Bounds:
    """Boundaries of blocks of the given lengths; empty blocks vanish."""
    ends = np.cumsum(np.asarray(lengths, np.int64), dtype=np.int64)
    found = np.unique(np.concatenate(([0], ends)))
    return found if len(found) > 1 else np.zeros(2, np.int64)


def lengths_of(bounds: Bounds) -> tuple[int, ...]:
    """Block lengths, Dask's notation of one axis."""
    return tuple(np.diff(bounds).tolist())


SIZES = (MIB, 3 * MIB // 2, 3 * MIB, 6 * MIB, 12 * MIB)
"""Bytes of a block. NumPy sums by halves down to at most 128 elements: these end at about 96, its
fastest, where a power of two ends at 64 or 128."""


def block_bytes(nbytes: int, setting: int | None) -> int:
    """Bytes that a block should hold unless set: ``nbytes / 256``, as one of `SIZES`."""
    wanted = setting or next((size for size in SIZES if nbytes <= 256 * size), SIZES[-1])
    return max(wanted, -(-nbytes // MOST_BLOCKS))


def auto_split(shape: tuple[int, ...], itemsize: int, block: int) -> tuple[int, ...]:
    """Axes that ``split="auto"`` cuts: the first; the next too if the first is short."""
    if not shape:
        return ()
    row = math.prod(shape[1:]) * itemsize
    short = len(shape) > 1 and row > block and shape[0] < 64
    return (0, 1) if short else (0,)


def default_grid(
    shape: tuple[int, ...], itemsize: int, split: tuple[int, ...], setting: int | None
) -> tuple[Bounds, ...]:
    """Boundaries per axis of near-cubic blocks over the ``split`` axes."""
    block = block_bytes(math.prod(shape) * itemsize, setting)
    whole = math.prod(n for axis, n in enumerate(shape) if axis not in split)
    elements = max(1.0, block / max(1, whole * itemsize))
    bounds = [even_bounds(n, 1) for n in shape]
    for k, axis in enumerate(split):
        edge = max(1, int(elements ** (1 / (len(split) - k)) + 1e-9))
        edge = min(edge, max(1, shape[axis]))
        bounds[axis] = even_bounds(shape[axis], -(-shape[axis] // edge))
        elements = max(1.0, elements / edge)
    return tuple(bounds)


def chunk_grid(
    shape: tuple[int, ...], chunks: object, itemsize: int, setting: int | None = None
) -> tuple[Bounds, ...]:
    """Boundaries for ``chunks`` in Dask's notation.

    An int or ``"auto"`` for all axes, or per axis an int, a tuple of lengths, ``"auto"``, or
    None / -1 for the whole axis; a dict by axis, the others whole; for one axis also its lengths.

    Raises
    ------
    ValueError
        When lengths do not add up to the shape, or are not positive.
    """
    if isinstance(chunks, dict):
        chunks = tuple(chunks.get(k, chunks.get(k - len(shape))) for k in range(len(shape)))
    if chunks is None or isinstance(chunks, int | np.integer | str):
        chunks = (chunks,) * len(shape)
    if len(shape) == 1 and isinstance(chunks, tuple | list) and len(chunks) > 1:
        chunks = (chunks,)
    if not isinstance(chunks, tuple | list) or len(chunks) != len(shape):
        raise ValueError(f"chunks={chunks!r} does not have one entry per axis of shape {shape}")
    free = tuple(k for k, c in enumerate(chunks) if isinstance(c, str) and c == "auto")
    rule = default_grid(shape, itemsize, free, setting)
    return tuple(
        rule[k] if k in free else _axis_bounds(n, c, chunks)
        for k, (n, c) in enumerate(zip(shape, chunks, strict=True))
    )


def _axis_bounds(length: int, chunk: object, chunks: object) -> Bounds:
    if chunk is None or chunk == -1:
        return even_bounds(length, 1)
    if isinstance(chunk, int | np.integer):
        if chunk < 1:
            raise ValueError(f"chunks={chunks!r}: a chunk must hold at least one element")
        full, rest = divmod(length, int(chunk))
        return bounds_of([int(chunk)] * full + [rest])
    if isinstance(chunk, tuple | list):
        lengths = [int(c) for c in chunk]
        if sum(lengths) != length or min(lengths, default=0) < 0:
            raise ValueError(f"chunks={chunks!r}: {chunk!r} does not add up to {length}")
        return bounds_of(lengths)
    raise ValueError(f"chunks={chunks!r}: {chunk!r} is neither a length nor a tuple of lengths")
