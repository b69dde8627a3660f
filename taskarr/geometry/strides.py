"""Where NumPy would have put an array's elements: the strides that decide what can be a view.

Blocks lie on the ranks, so these strides address no memory. They are given to NumPy itself, as
those of an array without elements behind it, and NumPy says which shapes and dtypes such an array
can be seen in.
"""

from collections.abc import Sequence
from functools import lru_cache
from math import prod

import numpy as np

from taskarr.geometry.view import NEW, Affine

Strides = tuple[int, ...]
Order = tuple[int, ...] | None
"""Axes from the slowest to the fastest, or None for C order."""


def ordered(shape: Sequence[int], itemsize: int, order: Order) -> Strides:
    """Strides in bytes of a whole array whose axes lie in memory in an order.

    >>> ordered((2, 3), 8, (1, 0))
    (8, 16)
    """
    found, step = [0] * len(shape), itemsize
    for axis in reversed(range(len(shape)) if order is None else order):
        found[axis] = step
        step *= max(shape[axis], 1)
    return tuple(found)


def viewed(strides: Strides, view: Affine) -> Strides:
    """Strides of a view of an array with these strides."""
    pairs = zip(view.axes, view.step, strict=True)
    return tuple(0 if axis == NEW else strides[axis] * step for axis, step in pairs)


def stand_in(shape: Sequence[int], dtype: np.dtype, strides: Strides) -> np.ndarray:
    """Array of these strides with no memory behind it; its elements must not be touched."""
    return np.lib.stride_tricks.as_strided(np.empty(1, dtype), shape, strides)


@lru_cache(1024)
def kept_order(
    operands: tuple[tuple[tuple[int, ...], Strides], ...], shape: tuple[int, ...]
) -> Order:
    """Order of the axes in a result that NumPy allocates for operands (its order ``"K"``)."""
    small = [min(n, 2) for n in shape]
    arrays: list[np.ndarray | None] = []
    for sizes, strides in operands:
        cut = [min(n, 2) for n in sizes]
        arrays.append(np.lib.stride_tricks.as_strided(np.empty(1, "i1"), cut, strides))
    flags = [["readonly"]] * len(arrays) + [["writeonly", "allocate"]]
    found = np.nditer(  # type: ignore[call-overload]
        [*arrays, None], flags=["zerosize_ok"], op_flags=flags, order="K"
    )
    return _order_of(small, found.operands[-1].strides)


def order_of(shape: Sequence[int], strides: Strides) -> Order:
    """Order of the axes of an array that fills its memory, from its strides."""
    return _order_of(shape, strides) if prod(shape) > 1 else None


def _order_of(shape: Sequence[int], strides: Strides) -> Order:
    axes = sorted(range(len(shape)), key=lambda a: (-abs(strides[a]), a))
    long = [a for a in axes if shape[a] > 1]
    return None if long == sorted(long) else tuple(axes)
