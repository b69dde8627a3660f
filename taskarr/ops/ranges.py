"""Ranges: evenly spaced values, by a step or between two ends, on a line or a logarithm's."""

import math
import operator
from datetime import date, timedelta
from typing import Any

import numpy as np

from taskarr.expr import Expr, blank, moved_to, view_of
from taskarr.ops import reductions, views
from taskarr.ops.creation import ARANGE, Placement, asarray
from taskarr.ops.elementwise import apply, cast, select
from taskarr.ops.known import known
from taskarr.ops.operands import checked_dtype, expanded, strong

REAL = int | float | np.integer | np.floating | np.bool_
NUMBER = REAL | complex | np.complexfloating
LARGEST = np.iinfo(np.int64).max
RELATIVE = int | np.integer | np.timedelta64


def arange(start: Any, stop: Any, step: Any, dtype: Any, place: Placement) -> Expr:
    """Node of ``numpy.arange``; ``stop`` is None if only one bound was given.

    Raises
    ------
    TypeError, ValueError, OverflowError, ZeroDivisionError
        As NumPy for these bounds.
    """
    start, stop, step = map(_plain, (start, stop, step))
    wanted = None if dtype is None else np.dtype(dtype)
    if _are_times((start, stop, step), wanted):
        return _times(start, stop, step, wanted, place)
    start, stop = (0, start) if stop is None else (start, stop)
    kind = _range_dtype(start, stop, step, wanted)
    length = _length(start, stop, step)
    if kind.kind == "b":
        return _booleans(start, step, length, place)
    if not length:
        return blank(kind, place.layout((0,), kind), place.world)
    first = _element(start, kind)
    delta = np.subtract(_element(start + step, kind), first) if length > 1 else kind.type(0)
    return _line(first, delta, length, kind, place)


def _plain(x: Any) -> Any:
    """Bound or step as NumPy's scalar, if it is an array of zero dimensions or a time."""
    if isinstance(x, np.ndarray) and x.ndim == 0:
        return x[()]
    if isinstance(x, date):
        return np.datetime64(x)
    return np.timedelta64(x) if isinstance(x, timedelta) else x


def _element(x: Any, kind: np.dtype) -> Any:
    """One of the first two values of a range, which must fit; later ones wrap around."""
    if kind.kind in "iu":
        return np.array(int(x), kind)[()]
    return np.asarray(x).astype(kind)[()]


def _line(first: Any, delta: Any, length: int, kind: np.dtype, place: Placement) -> Expr:
    """Node of ``first + delta * k``."""
    return Expr(ARANGE, (), kind, place.layout((length,), kind), place.world, (first, delta))


def _range_dtype(start: Any, stop: Any, step: Any, dtype: np.dtype | None) -> np.dtype:
    """Dtype of a range, found by asking NumPy for one without elements."""
    if not all(isinstance(b, NUMBER) for b in (start, stop, step)):
        return checked_dtype(np.arange(start, stop, step, dtype=dtype).dtype)
    if any(isinstance(b, int) and abs(b) > LARGEST for b in (start, stop, step)):
        found = dtype or np.result_type(*[np.asarray(b).dtype for b in (start, stop, step)])
        return checked_dtype(found)
    zero, none, one = type(start)(0), type(stop)(0), type(step)(1)
    return checked_dtype(np.arange(zero, none, one, dtype=dtype).dtype)


def _length(start: Any, stop: Any, step: Any) -> int:
    if not step:
        raise ZeroDivisionError(f"arange() with step {step!r}")
    steps = (stop - start) / step
    parts = (steps.real, steps.imag) if isinstance(steps, complex) else (steps,)
    if not all(map(math.isfinite, parts)) or max(map(abs, parts)) > LARGEST:
        raise ValueError(
            f"Maximum allowed size exceeded: arange() from {start!r} to {stop!r} by {step!r}"
        )
    if steps == 0 and stop != start:  # by an infinite step
        return int(not math.copysign(1, steps) < 0)
    return max(0, min(map(math.ceil, parts)))


def _booleans(start: Any, step: Any, length: int, place: Placement) -> Expr:
    if length > 2:
        raise TypeError(
            f"arange() of {length} booleans: NumPy has ranges of at most two; "
            "compare a range of integers instead"
        )
    return asarray(np.array([start, start + step], bool)[:length], place)


def _are_times(values: tuple[Any, ...], dtype: np.dtype | None) -> bool:
    if dtype is not None:
        return dtype.kind in "mM"
    return any(isinstance(b, np.datetime64 | np.timedelta64) for b in values)


def _times(start: Any, stop: Any, step: Any, dtype: np.dtype | None, place: Placement) -> Expr:
    """Node of a range of datetimes or timedeltas, which are counted as integers."""
    kind = _time_dtype((start, stop, step), dtype)
    if stop is None:
        if kind.kind == "M":
            raise ValueError("arange requires both a start and a stop for NumPy datetime64 ranges")
        start, stop = 0, start
    np.arange(np.datetime64(0, "D"), np.datetime64(0, "D"), step)  # which checks the step
    span = np.dtype(kind.str.replace("M8", "m8"))
    first, delta = _count(start, kind), _count(step, span)
    if kind.kind == "M" and isinstance(start, np.timedelta64):
        raise ValueError(f"Could not convert object to NumPy datetime: {start!r}")
    if kind.kind == "M" and isinstance(stop, RELATIVE):
        last = first + _count(stop, span)
    else:
        last = _count(stop, kind)
    if not delta:
        raise ValueError("arange: step cannot be zero")
    line = _line(np.int64(first), np.int64(delta), _steps(last - first, delta), INTEGER, place)
    return cast(line, kind)


INTEGER = np.dtype(np.int64)


def _steps(span: int, delta: int) -> int:
    return max(0, -(-span // delta))


def _time_dtype(values: tuple[Any, ...], dtype: np.dtype | None) -> np.dtype:
    """Datetime or timedelta dtype with the finest unit of the values, unless one is given."""
    if dtype is not None and np.datetime_data(dtype)[0] != "generic":
        return dtype
    kinds = [v.dtype for v in values if isinstance(v, np.datetime64 | np.timedelta64)]
    if dtype is not None:
        kinds += [np.asarray(v, dtype).dtype for v in values if isinstance(v, str)]
        kinds.append(dtype)
    return np.result_type(*kinds)


def _count(value: Any, kind: np.dtype) -> int:
    """Number of units of a time.

    Raises
    ------
    ValueError
        For NaT, and for what is no time.
    """
    if isinstance(value, float | complex | np.inexact):
        raise ValueError(f"Could not convert object to NumPy timedelta: {value!r}")
    found = np.asarray(value).astype(kind)
    if np.isnat(found):
        raise ValueError("arange: cannot use NaT (not-a-time) datetime values")
    return int(found.astype(np.int64))


def _done(name: str, *operands: Any) -> Any:
    """A ufunc of values that all ranks have, by NumPy; of anything else a node."""
    if any(isinstance(x, Expr) for x in operands):
        return apply(name, operands)
    return getattr(np, name)(*operands)


def _as(x: Any, dtype: np.dtype) -> Any:
    if isinstance(x, Expr):
        return cast(x, dtype)
    return np.asarray(x).astype(dtype)[()]


def _any_zero(x: Any) -> bool:
    """Whether any value is zero; collective if the values lie on the ranks."""
    if not isinstance(x, Expr):
        return bool(np.any(np.equal(x, 0)))
    (found,) = known([reductions.reduce("any", apply("equal", [x, 0]))], "linspace")
    return bool(found)


def _sample(x: Any) -> Any:
    return np.ones((), x.dtype) if isinstance(x, Expr) else x


def linspace(
    start: Any,
    stop: Any,
    num: Any,
    endpoint: bool,
    dtype: Any,
    axis: int,
    place: Placement,
) -> tuple[Expr, Any]:
    """Node of ``numpy.linspace``, and its step.

    The steps of the calculation are NumPy's, so that the bits are.

    Raises
    ------
    TypeError, ValueError
        As NumPy.
    """
    count = _checked_count(num)
    kind = np.linspace(_sample(start), _sample(stop), 0).dtype
    wanted = kind if dtype is None else checked_dtype(np.dtype(dtype))
    start, stop = strong(start), strong(stop)
    delta = _done("subtract", _as(stop, kind), _as(start, kind))
    intervals = count - 1 if endpoint else count
    row = len(np.shape(delta)) if not isinstance(delta, Expr) else len(delta.shape)
    line = _line(kind.type(0), kind.type(1), count, kind, Placement(place.world, split=None))
    line = expanded(line, tuple(range(1, 1 + row)))
    y, step = _stepped(line, delta, intervals)
    y = cast(apply("add", [y, start]), kind)
    if endpoint and count > 1:
        last = apply("equal", [line, kind.type(count - 1)])
        y = select(last, _as(stop, kind), y, kind)
    y = view_of(y, views.moveaxis(y.shape, 0, axis))
    if np.issubdtype(wanted, np.integer):
        y = apply("floor", [y])
    return moved_to(cast(y, wanted), place.layout(y.shape, wanted)), step


def _checked_count(num: Any) -> int:
    count = operator.index(num)
    if count < 0:
        raise ValueError(f"Number of samples, {count}, must be non-negative.")
    return count


def _stepped(line: Expr, delta: Any, intervals: int) -> tuple[Expr, Any]:
    """Multiples of a step that is ``delta`` over a number of intervals, and the step."""
    if intervals <= 0:
        return apply("multiply", [line, delta]), math.nan
    step = _done("divide", delta, intervals)
    if _any_zero(step):  # of a subnormal distance
        return apply("multiply", [apply("divide", [line, intervals]), delta]), step
    return apply("multiply", [line, step]), step


def logspace(
    start: Any,
    stop: Any,
    num: Any,
    endpoint: bool,
    base: Any,
    dtype: Any,
    axis: int,
    place: Placement,
) -> Expr:
    """Node of ``numpy.logspace``."""
    if len(_shape(base)):
        ndim = max(len(_shape(x)) for x in (start, stop, base))
        start, stop, base = (_with_axes(x, ndim) for x in (start, stop, base))
        base = expanded(base, axis)
    y = linspace(start, stop, num, endpoint, None, axis, place)[0]
    found = apply("power", [base, y])
    return found if dtype is None else cast(found, dtype)


def _shape(x: Any) -> tuple[int, ...]:
    return x.shape if isinstance(x, Expr) else np.shape(x)


def _with_axes(x: Any, ndim: int) -> Any:
    return expanded(x, tuple(range(ndim - len(_shape(x)))))


def geomspace(
    start: Any, stop: Any, num: Any, endpoint: bool, dtype: Any, axis: int, place: Placement
) -> Expr:
    """Node of ``numpy.geomspace``.

    Raises
    ------
    ValueError
        When an end is zero.
    """
    start, stop, count = strong(start), strong(stop), _checked_count(num)
    if _any_zero(start) or _any_zero(stop):
        raise ValueError("Geometric sequence cannot include zero")
    blanks = [np.zeros((1,) * len(_shape(x)), x.dtype) for x in (start, stop)]
    kind = np.result_type(*blanks, float(count), np.zeros((), dtype))
    sign = _done("sign", _as(start, kind))
    start, stop = (_done("divide", _as(x, kind), sign) for x in (start, stop))
    ends = (_done("log10", start), _done("log10", stop))
    y = logspace(*ends, count, endpoint, 10.0, kind, 0, place)
    row = tuple(range(1, len(y.shape)))
    line = _line(np.int64(0), np.int64(1), count, INTEGER, Placement(place.world, split=None))
    line = expanded(line, row)
    if endpoint and count > 1:
        y = select(apply("equal", [line, count - 1]), stop, y, kind)
    if count > 0:
        y = select(apply("equal", [line, 0]), start, y, kind)
    y = apply("multiply", [y, sign])
    y = cast(view_of(y, views.moveaxis(y.shape, 0, axis)), kind if dtype is None else dtype)
    return moved_to(y, place.layout(y.shape, y.dtype))
