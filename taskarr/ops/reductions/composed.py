"""Reductions made of several: means and variances of some elements, averages."""

import math
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from taskarr.evaluate import run
from taskarr.expr import Expr, filled, moved_to, view_of
from taskarr.faults import note
from taskarr.geometry.view import NEW, Affine, broadcast
from taskarr.kernel.functions import Function as Kernel
from taskarr.ops.elementwise import apply, cast, combined, select
from taskarr.ops.reductions.asked import Function, Given, check_shapes, of_nothing, result_dtype
from taskarr.ops.reductions.folds import fold, locate, place_of, spread, widened
from taskarr.ops.reductions.moments import wide
from taskarr.ops.reductions.node import node
from taskarr.ops.reductions.rows import ROWS, UFUNCS

# ---------------------------------------------------------------------- last steps


def _mean_of(xp: ModuleType) -> Callable[..., None]:
    def divide(total: Any, count: Any, out: Any) -> None:
        if not (count != 0).all():
            note("Mean of empty slice")
        xp.true_divide(total, count, out=out, casting="unsafe")

    return divide


def _variance_of(xp: ModuleType, least: float = 0) -> Callable[..., None]:
    """Division by the degrees of freedom, by ``least`` where there are none."""

    def divide(total: Any, count: Any, ddof: Any, out: Any) -> None:
        left = count - ddof
        if not (left > 0).all():
            note("Degrees of freedom <= 0 for slice")
            left = xp.where(left > 0, left, least)
        xp.true_divide(total, left, out=out, casting="unsafe")

    return divide


def _quotient_of(xp: ModuleType) -> Callable[..., None]:
    return lambda total, count, out: xp.true_divide(total, count, out=out, casting="unsafe")


def _squares_of(xp: ModuleType) -> Callable[..., None]:
    def square(x: Any, out: Any) -> None:
        xp.multiply(x.real, x.real, out=out)
        xp.add(out, x.imag * x.imag, out=out)

    return square


MEAN = Kernel("mean", _mean_of)
CENTER = Kernel("center", _quotient_of)
VARIANCE = Kernel("var", _variance_of)
NANVARIANCE = Kernel("nanvar", lambda xp: _variance_of(xp, math.nan))
SQUARES = Kernel("squares", _squares_of)

# ---------------------------------------------------------------------- some elements


def _sum_of(x: Expr, where: Any, result: np.dtype, place: dict[str, Any]) -> tuple[Expr, Any]:
    """Sum of the elements that a mask takes, and how many these are."""
    if where is True:
        count = np.int64(math.prod(x.shape[a] for a in place["axes"]))
        return node(x, ROWS["sum"], result, source=result, **place), count
    values = select(where, x, np.zeros((), x.dtype)[()], x.dtype)
    if isinstance(where, Expr):
        mask = moved_to(view_of(where, broadcast(where.shape, x.shape)), values.layout)
    else:
        mask = filled(np.bool_(where), values.layout, values.world)
    counted = node(mask, ROWS["count"], np.dtype(np.int64), **place)
    return node(values, ROWS["sum"], result, source=result, **place), counted


def mean(name: str, function: Function, x: Expr, given: Given) -> Expr:
    """Node of a mean, of all elements or of those that a mask takes.

    NumPy writes the sum into an output before it divides it; so does this, where one of them is of
    integers.
    """
    if 0 in x.shape:
        return of_nothing(function, x, given)
    check_shapes(x, given)  # which NumPy does before it looks at dtypes
    result = _as_wide_as_output(result_dtype(function, x, given), given)
    x, rounded = widened(x, result), _of_integers(result, given)
    if "where" not in given and rounded is None:
        return spread("mean", x, result, given)
    found, count = _sum_of(x, given.get("where", True), wide(result), place_of(x, given))
    return combined(MEAN, [cast(found, rounded or wide(result)), count], rounded or result)


def variance(name: str, function: Function, x: Expr, given: Given) -> Expr:
    """Node of ``var`` or ``std``: in one pass, or around a mean that is found before."""
    if 0 in x.shape:
        return of_nothing(function, x, given)
    check_shapes(x, given)  # which NumPy does before it looks at dtypes
    result = _as_wide_as_output(result_dtype(function, x, given), given)
    x = widened(x, result)
    given = {**given, "ddof": _plain_number(given.get("ddof", 0))}
    if "where" in given or given.get("mean") is not None or _is_narrow(x, given.get("dtype")):
        return _variance(name, VARIANCE, x, result, given)
    return spread(name, x, result, given)


def _as_wide_as_output(result: np.dtype, given: Given) -> np.dtype:
    """Dtype of a mean of floats, wider if an output is."""
    out = given["out"].dtype if "out" in given else result
    if given.get("dtype") is not None or not {out.kind, result.kind} <= set("fc"):
        return result
    wider = np.result_type(result, out)
    return wider if result.kind == "c" else np.zeros((), wider).real.dtype


def _of_integers(total: np.dtype, given: Given) -> np.dtype | None:
    """Dtype of an output that a sum is written to before it is divided, if that may matter."""
    out = given["out"].dtype if "out" in given else None
    return out if out is not None and {out.kind, total.kind} & set("biu") else None


def _is_narrow(x: Expr, dtype: Any) -> bool:
    """Whether a mean is rounded to integers, or loses its imaginary part."""
    return dtype is not None and np.dtype(dtype).kind not in ("c" if x.dtype.kind == "c" else "fc")


def _plain_number(ddof: Any) -> Any:
    return float(ddof) if ddof != int(ddof) else int(ddof)


def _variance(name: str, last: Kernel, x: Expr, result: np.dtype, given: Given) -> Expr:
    where, ddof, place = given.get("where", True), given["ddof"], place_of(x, given)
    dtype = given.get("dtype")
    real = wide(result) if dtype is None or np.dtype(dtype).kind in "fc" else np.dtype(dtype)
    center = given.get("mean")
    if center is None:
        whole = {**place, "keepdims": True}
        between = real
        if x.dtype.kind == "c" and not _is_narrow(x, dtype):
            between = np.result_type(real, np.complex64)
        with np.errstate(invalid="ignore"):  # the last step tells of slices without elements
            center = combined(CENTER, _sum_of(x, where, between, whole), between)
    apart = apply("subtract", [x, center])
    if apart.dtype.kind == "c":
        apart = combined(SQUARES, [apart], np.zeros((), apart.dtype).real.dtype)
    else:
        apart = apply("multiply", [apart, apart])
    total, count = _sum_of(apart, where, real, place)
    rounded = _of_integers(real, given)
    found = combined(last, [cast(total, rounded or real), count, ddof], rounded or real)
    found = apply("sqrt", [found]) if name.endswith("std") else found
    return cast(found, rounded or result)


# ---------------------------------------------------------------------- all but NaN


def _valid(x: Expr, given: Given) -> Given:
    """Options that leave out NaN, besides what a mask leaves out."""
    valid = apply("logical_not", [apply("isnan", [x])])
    if "where" in given:
        valid = apply("logical_and", [valid, given["where"]])
    return {**given, "where": valid}


def nan_sum(name: str, function: Function, x: Expr, given: Given) -> Expr:
    """Node of ``nansum`` or ``nanprod``."""
    name = name.removeprefix("nan")
    if x.dtype.kind in "fc":
        neutral = np.ones((), x.dtype) if name == "prod" else np.zeros((), x.dtype)
        x = select(apply("isnan", [x]), neutral[()], x, x.dtype)
    return fold(name, function, x, given)


def nan_extreme(name: str, function: Function, x: Expr, given: Given) -> Expr:
    """Node of ``nanmin`` or ``nanmax``, which warns of slices that are all NaN."""
    bounded = given.get("initial") is not None
    return fold(UFUNCS[name] if bounded else name, function, x, given)


def nan_mean(name: str, function: Function, x: Expr, given: Given) -> Expr:
    """Node of ``nanmean``."""
    if x.dtype.kind not in "fc" or 0 in x.shape:
        return mean(name, function, x, given)
    result = _as_wide_as_output(result_dtype(function, x, given), given)
    x = widened(x, result)
    where = _valid(x, given)["where"]
    with np.errstate(invalid="ignore"):
        return combined(MEAN, _sum_of(x, where, wide(result), place_of(x, given)), result)


def nan_variance(name: str, function: Function, x: Expr, given: Given) -> Expr:
    """Node of ``nanvar`` or ``nanstd``."""
    if x.dtype.kind not in "fc" or 0 in x.shape:
        return variance(name.removeprefix("nan"), function, x, given)
    result = _as_wide_as_output(result_dtype(function, x, given), given)
    x = widened(x, result)
    given = {**_valid(x, given), "ddof": _plain_number(given.get("ddof", 0))}
    return _variance(name, NANVARIANCE, x, result, given)


def nan_locate(name: str, function: Function, x: Expr, given: Given) -> Expr:
    """Node of ``nanargmin`` or ``nanargmax``, computed at once.

    Raises
    ------
    ValueError
        For a slice that is all NaN.
    """
    plain = name.removeprefix("nan")
    if x.dtype.kind not in "fc" or 0 in x.shape:
        return locate(plain, function, x, given)
    missing = apply("isnan", [x])
    lost = fold("all", np.all, missing, {"axis": given.get("axis")})
    lost = fold("any", np.any, lost, {})
    try:
        result_dtype(function, x, given)
    except (TypeError, ValueError):
        _refuse_lost(lost, f"{name}()")
        raise
    worst = np.array(np.inf if plain == "argmin" else -np.inf).astype(x.dtype)[()]
    filled_in = select(missing, worst, x, x.dtype)
    found = locate(plain, getattr(np, plain), filled_in, given)
    _refuse_lost(lost, f"{name}()", found)
    return found


def _refuse_lost(lost: Expr, call: str, *beside: Expr) -> None:
    """Raise ValueError if some slice is all NaN, which NumPy looks at before other arguments."""
    run([lost, *beside], call)
    if lost.value:
        raise ValueError("All-NaN slice encountered")


# ---------------------------------------------------------------------- average


def average(x: Expr, axis: Any, weights: Any, given: Given) -> tuple[Expr, Expr]:
    """Nodes of a weighted average and of the sum of the weights.

    Raises
    ------
    TypeError, ValueError
        As `numpy.average` for weights that do not fit.
    ZeroDivisionError
        When weights sum to zero, which is found out at once.
    """
    if axis is not None:
        axis = normalize_axis_tuple(axis, len(x.shape), argname="axis")
    place = {"axis": axis, **given}
    if weights is None:
        found = mean("mean", np.mean, x, place)
        count = math.prod(x.shape) / math.prod(found.shape)
        return found, filled(found.dtype.type(count), found.layout, found.world)
    weights = _fitting(weights, x, axis)
    kinds = (x.dtype, weights.dtype, *(("f8",) if x.dtype.kind in "biu" else ()))
    dtype = np.result_type(*kinds)
    scale = fold("sum", np.sum, weights, {**place, "dtype": dtype})
    nothing = fold("any", np.any, apply("equal", [scale, 0.0]), {})
    run([nothing, scale], "average()")
    if nothing.value:
        raise ZeroDivisionError("Weights sum to zero, can't be normalized")
    weighted = apply("multiply", [cast(x, dtype), cast(weights, dtype)])
    found = apply("divide", [fold("sum", np.sum, weighted, place), scale])
    return found, moved_to(view_of(scale, broadcast(scale.shape, found.shape)), found.layout)


def _fitting(weights: Expr, x: Expr, axis: tuple[int, ...] | None) -> Expr:
    """Weights as an array that is broadcast with another."""
    if weights.shape == x.shape:
        return weights
    if axis is None:
        raise TypeError(
            "Axis must be specified when shapes of a and weights differ: "
            f"{x.shape} and {weights.shape}"
        )
    if weights.shape != tuple(x.shape[a] for a in axis):
        raise ValueError(
            "Shape of weights must be consistent with shape of a along specified axis: "
            f"{weights.shape} is not that of axis {axis} of {x.shape}"
        )
    axes = tuple(axis.index(a) if a in axis else NEW for a in range(len(x.shape)))
    shape = tuple(n if a in axis else 1 for a, n in enumerate(x.shape))
    steps = tuple(0 if a == NEW else 1 for a in axes)
    return view_of(weights, Affine(shape, axes, (0,) * len(axis), steps, weights.shape))
