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

WIDE = 1024
"""Elements of a wide row."""


@lru_cache(1024)
def _rows(shape: tuple[int, ...], axes: tuple[int, ...]) -> tuple[int, int, int]:
    """Rows of the segment, elements of each, and how many go into a wide one (1: none do)."""
    lead = len(axes)
    rows, inner = prod(shape[:lead]), prod(shape[lead:])
    if axes != tuple(range(lead)) or lead == len(shape) or not 0 < 2 * inner <= WIDE or rows < 64:
        return rows, inner, 1
    return rows, inner, WIDE // inner


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
