"""Scans: running sums, products and extremes along an axis, and reductions of stretches of it."""

import operator
from collections.abc import Callable
from contextlib import suppress
from math import prod
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from taskarr.expr import Expr, Scan, blank, filled, keep_order, moved_to, view_of
from taskarr.geometry.layout import Layout
from taskarr.kernel.scan import Accumulation
from taskarr.ops.elementwise import apply, cast, copied, select
from taskarr.ops.joining import joined
from taskarr.ops.keys import view_of_key
from taskarr.ops.known import known_index
from taskarr.ops.operands import layout_for, settled
from taskarr.ops.reductions.arguments import cleaned, into
from taskarr.ops.reductions.asked import Given, of_nothing, result_dtype
from taskarr.ops.reductions.folds import CASTING, in_output
from taskarr.ops.reductions.node import axes_of, kept_shape
from taskarr.ops.reductions.ufuncs import NAMES, is_associative
from taskarr.ops.reshape import reshaped
from taskarr.ops.stretches import stretches
from taskarr.ops.ufuncs import known_as

CUMULATIVE = {
    "cumsum": "add",
    "cumprod": "multiply",
    "nancumsum": "add",
    "nancumprod": "multiply",
    "cumulative_sum": "add",
    "cumulative_prod": "multiply",
}
"""Functions that accumulate, and with which ufunc."""


def cumulative(name: str, x: Expr, given: Given) -> Expr:
    """Node of one of the `CUMULATIVE` functions, called as NumPy's.

    Parameters
    ----------
    name
        Which.
    x
        What is accumulated.
    given
        ``axis dtype out include_initial``, those that were given; arrays as expressions.

    Raises
    ------
    TypeError, ValueError, numpy.exceptions.AxisError
        As NumPy.
    """
    given = _given(**given)
    dtype = result_dtype(getattr(np, name), x, given, reduces=False)
    ufunc, axis = getattr(np, CUMULATIVE[name]), given.get("axis")
    if axis is None or not x.shape:
        x, axis = reshaped(x, (prod(x.shape),)), 0
    if name.startswith("nan") and x.dtype.kind in "fc":
        identity = np.array(ufunc.identity).astype(x.dtype)[()]
        x = select(apply("isnan", [x]), identity, x, x.dtype)
    axis = normalize_axis_index(operator.index(axis), len(x.shape))
    found = _accumulated(ufunc, x, axis, dtype, given)
    if given.get("include_initial"):
        layout = _whole(x, kept_shape(x.shape, (axis,), True), found.dtype)
        first = filled(np.array(ufunc.identity).astype(found.dtype)[()], layout, x.world)
        found = joined([first, found], axis)
    return into(found, given.get("out"))


def accumulate(
    function: np.ufunc, x: Expr, axis: Any = 0, dtype: Any = None, out: Expr | None = None
) -> Expr:
    """Node of ``function.accumulate(x, axis, dtype, out)``.

    Raises
    ------
    TypeError, ValueError, numpy.exceptions.AxisError
        As NumPy.
    """
    given = _given(axis=axis, dtype=dtype, out=out)
    result = result_dtype(function.accumulate, x, given, reduces=False)
    return into(_accumulated(function, x, _axis_of(x, axis), result, given), out)


def reduce_in_order(
    function: np.ufunc,
    x: Expr,
    axis: Any = 0,
    dtype: Any = None,
    keepdims: Any = False,
    initial: Any = np._NoValue,
    where: Any = True,
    out: Expr | None = None,
) -> Expr:
    """Node of ``function.reduce(x, ...)`` from left to right: the last of what is accumulated.

    Raises
    ------
    NotImplementedError
        With ``where``.
    TypeError, ValueError, numpy.exceptions.AxisError
        As NumPy.
    """
    given = cleaned({"axis": axis, "dtype": dtype, "keepdims": keepdims, "out": out}, x.world)
    if where is not True:
        raise NotImplementedError(
            f"numpy.{function.__name__}.reduce(where=...) of a taskarr array: {function.__name__} "
            "is not known to be associative; reduce a.numpy()"
        )
    if initial is not np._NoValue and initial is not None:
        given["initial"] = initial
    result = result_dtype(function.reduce, x, given)
    result = _in_loop(function, x, result, given)
    start = np.asarray(initial).astype(result)[()] if "initial" in given else None
    axes = axes_of(len(x.shape), axis)
    if not axes:
        found = cast(x, result)
        if start is not None:
            found = apply(function.__name__, [start, found])
        return into(cast(found, result), out)
    (position,) = axes
    if start is not None:
        shape = kept_shape(x.shape, (position,), True)
        first = filled(start, _whole(x, shape, result), x.world)
        x = joined([first, cast(x, result)], position)
    if not x.shape[position]:
        return into(of_nothing(function.reduce, x, given), out)
    found = _accumulated(function, x, position, result, given)
    last = slice(-1, None) if keepdims else -1
    key = view_of_key(x.shape, (*(slice(None),) * position, last))
    return into(copied(view_of(found, key)), out)


def _whole(x: Expr, shape: tuple[int, ...], dtype: np.dtype) -> Layout:
    return layout_for(x.world, shape, dtype, split=None)


def _given(**options: Any) -> Given:
    return {key: value for key, value in options.items() if key != "out" or value is not None}


def _axis_of(x: Expr, axis: Any) -> int:
    """The only axis that a ufunc's method was given, in one of NumPy's ways."""
    if axis is None:
        axis = 0
    elif isinstance(axis, tuple):
        (axis,) = axis
    return normalize_axis_index(operator.index(axis), len(x.shape))


def _accumulated(function: np.ufunc, x: Expr, axis: int, dtype: np.dtype, given: Given) -> Expr:
    """Node of a scan, in the dtype that NumPy computes it in."""
    dtype = _in_loop(function, x, dtype, given)
    if 0 in x.shape:
        return blank(dtype, x.layout, x.world)
    moved = moved_to(x, settled(x.layout, dtype.itemsize, x.world))
    name, find = known_as(function, x.world)
    scan = Scan(Accumulation(name, find, dtype, is_associative(function)), axis)
    return keep_order(Expr(scan, (moved,), dtype, moved.layout, x.world), [x])


def _in_loop(function: np.ufunc, x: Expr, result: np.dtype, given: Given) -> np.dtype:
    """Dtype in which NumPy computes a result, wider if an output is and that matters."""
    rounds = NAMES.get(function.__name__) in CASTING or not is_associative(function)
    if given.get("dtype") is not None or not rounds or result.kind == "b":
        return result
    return in_output(result, x.dtype, given)


def reduceat(
    function: np.ufunc,
    x: Expr,
    indices: Any,
    axis: Any = 0,
    dtype: Any = None,
    out: Expr | None = None,
) -> Expr:
    """Node of ``function.reduceat(x, indices, axis, dtype, out)``.

    Parameters
    ----------
    indices
        Where stretches begin: distributed, or a NumPy array or a list.

    Raises
    ------
    IndexError
        When an index is out of range.
    NotImplementedError
        As `stretches`, and for a distributed index of more than 64 MiB.
    TypeError, ValueError, numpy.exceptions.AxisError
        As NumPy.
    """
    if isinstance(indices, Expr):
        indices = known_index(indices, f"{function.__name__}.reduceat()")
    given = _given(axis=axis, dtype=dtype, out=out)
    if not isinstance(indices, np.ndarray):
        indices = np.asarray(indices).astype(np.intp)
    first = indices[:1] if indices.ndim else indices
    beyond = np.full_like(first, 2)  # the two elements that NumPy is asked with
    with suppress(IndexError):  # when all that it looks at before the indices is in order
        result_dtype(_asking(function.reduceat, beyond), x, given, reduces=False)
    axis, name = _axis_of(x, axis), f"{function.__name__}.reduceat"
    starts, n = indices.astype(np.intp), x.shape[axis]
    wrong = starts[(starts < 0) | (starts >= n)]
    if len(wrong):
        raise IndexError(f"index {wrong[0]} out-of-bounds in {name} [0, {n})")
    result = result_dtype(_asking(function.reduceat, np.zeros_like(first)), x, given, reduces=False)
    result = _in_loop(function, x, result, given)
    return into(stretches(function, x, axis, starts, result), out)


def _asking(method: Callable[..., Any], indices: np.ndarray) -> Callable[..., Any]:
    """The method as a function of an array alone."""

    def asked(sample: np.ndarray, **options: Any) -> Any:
        return method(sample, indices, **options)

    return asked
