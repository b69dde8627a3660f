"""States of mean and variance: sums, and (mean, squared deviations, count) of segments."""

import math
from functools import lru_cache
from types import ModuleType
from typing import Any

import numpy as np

from taskarr.faults import note
from taskarr.kernel.reduction import FieldSpec, State
from taskarr.kernel.segments import minus, reduced

WIDER = {"e": "d", "f": "d", "F": "D"}
"""Dtypes in which the partial results of narrow floats are merged."""


def wide(dtype: np.dtype) -> np.dtype:
    """Dtype in which partial results of this dtype are merged."""
    return np.dtype(WIDER.get(dtype.char, dtype))


@lru_cache(256)
def loop_of(source: np.dtype, merged: np.dtype) -> np.dtype:
    """Dtype in which a segment is summed: its own if that is merged so, half floats as single."""
    if wide(source) != merged:
        return merged
    return np.dtype("f4") if source.char == "e" else source.newbyteorder("=")


def mean(xp: ModuleType, state: State, count: int, options: tuple[Any, ...]) -> Any:
    """Mean of everything, from its sum."""
    return xp.true_divide(from_zero(state[0]), count)


def from_zero(total: Any) -> Any:
    """Sum as if it began with zero: no sum is minus zero."""
    return total + 0 if total.dtype.kind in "fc" else total


def fields(source: np.dtype, result: np.dtype) -> tuple[FieldSpec, ...]:
    """Mean, sum of squared deviations, count."""
    real = wide(result)
    center = np.result_type(real, np.complex64) if source.kind == "c" else real
    return FieldSpec(center), FieldSpec(real), FieldSpec(np.dtype("f8"), unit=True)


def partial(xp: ModuleType, x: Any, axes: tuple[int, ...], specs: tuple[FieldSpec, ...]) -> State:
    """State of a segment.

    Deviations are taken from the mean of the first rows, so that memory is read once; where that
    lies too far from the mean of all, they are taken from the latter in a second pass.
    """
    center, real = specs[0].dtype, specs[1].dtype
    loop = loop_of(x.dtype, center)
    count = math.prod([x.shape[a] for a in axes])
    head = x[(*(slice(None),) * axes[0], slice(0, 16))] if axes else x
    found, squares, around = _around(xp, x, _average(xp, head, axes, loop), axes, center)
    far = squares * FAR < around
    if far.any():
        again = _around(xp, x, _average(xp, x, axes, loop), axes, center)
        found = xp.where(far, again[0], found)
        squares = xp.where(far, xp.maximum(again[1], 0), squares)
    return found, squares.astype(real, copy=False), np.float64(count)


FAR = 64
"""How many times the squares around a guess may exceed those around the mean."""


def _average(xp: ModuleType, x: Any, axes: tuple[int, ...], loop: np.dtype) -> Any:
    count = math.prod([x.shape[a] for a in axes])
    return (reduced(xp.add, x, axes, loop) / count).astype(loop, copy=False)


def _around(
    xp: ModuleType, x: Any, center: Any, axes: tuple[int, ...], merged: np.dtype
) -> tuple[Any, Any, Any]:
    """Mean, squares around the mean and around the center, of a segment."""
    count = math.prod([x.shape[a] for a in axes])
    apart = minus(xp, x, center, axes, center.dtype)
    total = reduced(xp.add, apart, axes).astype(merged, copy=False)
    if apart.dtype.kind == "c":
        apart = apart.real**2 + apart.imag**2
    else:
        xp.multiply(apart, apart, out=apart)
    around = reduced(xp.add, apart, axes)
    shift = total / count
    moved = (
        total * shift if merged.kind != "c" else total.real * shift.real + total.imag * shift.imag
    )
    overflown = xp.isinf(around) & xp.isfinite(total)  # of finite numbers, whose squares are not
    return center + shift, around - xp.where(overflown, 0, moved), around


def chan(xp: ModuleType, a: State, b: State) -> State:
    """Merge two (mean, M2, count): Chan, Golub and LeVeque, "Updating Formulae", 1979."""
    mean_a, squares_a, count_a = a
    mean_b, squares_b, count_b = b
    count = count_a + count_b
    apart = mean_b - mean_a
    distance = apart.real**2 + apart.imag**2 if apart.dtype.kind == "c" else apart * apart
    merged = mean_a + apart * (count_b / count)
    return merged, squares_a + squares_b + distance * (count_a * count_b / count), count


def variance(xp: ModuleType, state: State, count: int, options: tuple[Any, ...]) -> Any:
    """Variance of everything; the option is ddof."""
    (ddof,) = options
    if count <= ddof:
        note("Degrees of freedom <= 0 for slice")
    return xp.true_divide(state[1], max(count - ddof, 0))


def deviation(xp: ModuleType, state: State, count: int, options: tuple[Any, ...]) -> Any:
    """Standard deviation of everything; the option is ddof."""
    return xp.sqrt(variance(xp, state, count, options))
