"""Cutting blocks into tiles: the segments of reductions, a function of the block's shape only."""

import math
from functools import lru_cache
from itertools import product

from taskarr.geometry.region import Box

TILE = 1 << 15
"""Elements of a tile of a pass without reductions: 256 KiB of float64, a few of which stay in a
core's second-level cache."""

SEGMENT = 3 << 16
"""Elements of a tile of a pass with reductions, which are the reductions' segments; of float64 they
leave room in a second-level cache of 2 MiB (and see `geometry.grid.SIZES`)."""


@lru_cache(1024)
def tiles(shape: tuple[int, ...], most: int = SEGMENT) -> tuple[Box, ...]:
    """Boxes of at most ``most`` elements that cover a block in C order, about equally large.

    >>> tiles((2, 200), 200)
    (((0, 1), (0, 200)), ((1, 2), (0, 200)))
    """
    if not shape:
        return ((),)
    axis = next(k for k in range(len(shape)) if math.prod(shape[k + 1 :]) <= most)
    n, inner = shape[axis], math.prod(shape[axis + 1 :])
    parts = -(-n // max(1, most // max(1, inner)))
    rows = -(-n // max(1, parts))
    lead = [[(i, i + 1) for i in range(m)] for m in shape[:axis]]
    spans = [(i, min(i + rows, n)) for i in range(0, n, rows)]
    rest = [[(0, m)] for m in shape[axis + 1 :]]
    return tuple(product(*lead, spans, *rest))


COLUMNS = 512
"""Elements of a row of a tile that reads some array down its columns."""


@lru_cache(1024)
def squares(shape: tuple[int, ...], most: int) -> tuple[Box, ...]:
    """Boxes that cover a block, of several short rows: good where rows are read as columns.

    Each line of the processor's cache that is read then serves several rows before it is gone.

    >>> len(squares((128, 1024), 1 << 15)), squares((128, 1024), 1 << 15)[0]
    (4, ((0, 64), (0, 512)))
    """
    if not shape or shape[-1] <= COLUMNS:
        return tiles(shape, most)
    spans = [(i, min(i + COLUMNS, shape[-1])) for i in range(0, shape[-1], COLUMNS)]
    return tuple(
        (*lead, (lo, hi)) for *lead, _ in tiles((*shape[:-1], COLUMNS), most) for lo, hi in spans
    )
