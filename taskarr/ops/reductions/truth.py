"""States of truth: whether any or all elements of a segment are true, and how many."""

import math
from types import ModuleType
from typing import Any

import numpy as np

from taskarr.kernel.reduction import FieldSpec, State
from taskarr.kernel.segments import reduced

RARE = 16
"""A mask with fewer than one true element in so many is reduced by listing them."""


def some(xp: ModuleType, x: Any, axes: tuple[int, ...], fields: tuple[FieldSpec, ...]) -> State:
    """Whether any element is true."""
    rows = x.ndim - len(axes)
    inner = math.prod(x.shape[rows:])
    along_rows = x.dtype == np.bool_ and rows and axes == tuple(range(rows, x.ndim))
    if along_rows and int(xp.count_nonzero(x)) * RARE < x.size:
        found = xp.zeros(x.shape[:rows], np.bool_)
        found.reshape(-1)[xp.flatnonzero(x) // inner] = True
        return (found.reshape(x.shape[:rows] + (1,) * len(axes)),)
    return (reduced(xp.logical_or, x, axes),)


def every(xp: ModuleType, x: Any, axes: tuple[int, ...], fields: tuple[FieldSpec, ...]) -> State:
    """Whether all elements are true."""
    if x.dtype == np.bool_ and int(xp.count_nonzero(x)) * RARE > x.size * (RARE - 1):
        return (xp.logical_not(some(xp, xp.logical_not(x), axes, fields)[0]),)
    return (reduced(xp.logical_and, x, axes),)


def count(xp: ModuleType, x: Any, axes: tuple[int, ...], fields: tuple[FieldSpec, ...]) -> State:
    """How many elements are true."""
    (spec,) = fields
    if len(axes) == x.ndim:  # bytes are counted much faster than they are summed
        return (xp.asarray(xp.count_nonzero(x), spec.dtype).reshape((1,) * x.ndim),)
    return (xp.count_nonzero(x, axis=axes).reshape(_kept(x.shape, axes)).astype(spec.dtype),)


def _kept(shape: tuple[int, ...], axes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(1 if a in axes else n for a, n in enumerate(shape))
