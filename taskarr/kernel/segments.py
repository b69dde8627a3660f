"""Reducing one contiguous segment, in loops long enough for the processor.

NumPy reduces leading axes row by row; where rows are short, several are taken as one wide row and
the few results are reduced at the end::

    a0 a1 │ b0 b1 │ c0 c1 │ d0 d1        rows of 2
    a0 a1 b0 b1 │ c0 c1 d0 d1            two rows of 4, whose sum is reduced as 2 rows of 2
"""

from functools import lru_cache
from math import prod
from types import ModuleType
from typing import Any

import numpy as np

WIDE = 2048
"""Elements of a wide row."""


@lru_cache(1024)
def _rows(shape: tuple[int, ...], axes: tuple[int, ...]) -> tuple[int, int, int]:
    """Rows of the segment, elements of each, and how many go into a wide one (1: none do)."""
    lead = len(axes)
    rows, inner = prod(shape[:lead]), prod(shape[lead:])
    if axes != tuple(range(lead)) or lead == len(shape) or not 0 < 2 * inner <= WIDE or rows < 64:
        return rows, inner, 1
    wide = WIDE // inner
    return rows, inner, wide if wide <= rows else 1


def reduced(function: Any, x: Any, axes: tuple[int, ...], dtype: np.dtype | None = None) -> Any:
    """Reduction of a segment by a ufunc; the axes stay with length 1."""
    if len(axes) == x.ndim > 1:
        return function.reduce(x.reshape(-1), 0, dtype, None, True).reshape((1,) * x.ndim)
    rows, inner, wide = _rows(x.shape, axes)
    if wide == 1:
        return function.reduce(x, axis=axes, dtype=dtype, keepdims=True)
    flat, whole = x.reshape(rows, inner), rows - rows % wide
    found = function.reduce(flat[:whole].reshape(-1, wide * inner), axis=0, dtype=dtype)
    found = function.reduce(found.reshape(wide, inner), axis=0)
    if whole < rows:
        found = function(found, function.reduce(flat[whole:], axis=0, dtype=dtype))
    return found.reshape((1,) * len(axes) + x.shape[len(axes) :])


SHORT = range(2, 129)
"""Elements of rows that NumPy sums by a plain loop, and `row_sums` as exactly."""


def row_sums(xp: ModuleType, x: Any, axes: tuple[int, ...]) -> Any:
    """Sums of the short rows of a segment, the axes kept with length 1; None for other segments.

    ``einsum`` adds up several elements of a row at a time where ``add.reduce`` calls a loop for
    each row. It knows neither the sign of zero nor floating-point faults, so rows whose sum is
    zero or not finite are summed again.
    """
    kept = x.ndim - len(axes)
    inner = prod(x.shape[kept:])
    if (
        not kept
        or x.dtype.char not in "fd"
        or axes != tuple(range(kept, x.ndim))
        or inner not in SHORT
    ):
        return None
    flat = x.reshape(-1, inner)
    found = xp.einsum("ij->i", flat)
    again = xp.flatnonzero((found == 0) | ~xp.isfinite(found))
    if again.size:
        found[again] = xp.add.reduce(flat[again], axis=1)
    return found.reshape(x.shape[:kept] + (1,) * len(axes))


def minus(xp: ModuleType, x: Any, center: Any, axes: tuple[int, ...], dtype: np.dtype) -> Any:
    """Segment less a value for each of its results, as a new array."""
    rows, inner, wide = _rows(x.shape, axes)
    apart = xp.empty(x.shape, dtype)
    if wide == 1:
        xp.subtract(x, center, out=apart, casting="unsafe")
        return apart
    whole = rows - rows % wide
    for span, width in ((slice(0, whole), wide), (slice(whole, rows), 1)):
        part, into = (v.reshape(rows, inner)[span].reshape(-1, width * inner) for v in (x, apart))
        xp.subtract(part, xp.tile(center.reshape(-1), width), out=into, casting="unsafe")
    return apart
