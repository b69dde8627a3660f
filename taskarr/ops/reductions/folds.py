"""Reductions that are one row: of ufuncs, mean and variance, counts, indices of extremes."""

from typing import Any

import numpy as np

from taskarr.expr import Expr
from taskarr.ops.elementwise import apply, cast, select
from taskarr.ops.reductions.asked import Function, Given, of_nothing, result_dtype
from taskarr.ops.reductions.moments import WIDER
from taskarr.ops.reductions.node import axes_of, node
from taskarr.ops.reductions.rows import ROWS, UFUNCS

CASTING = ("sum", "prod")
"""Reductions that cast their elements on the way."""

ROUNDING = (*CASTING, "logaddexp", "logaddexp2", "hypot")
"""Reductions whose result depends on the dtype in which they are computed."""


def widened(x: Expr, result: np.dtype) -> Expr:
    """Narrow floats in the dtype of a wider result, in which NumPy adds them."""
    if x.dtype.char not in WIDER or result.kind not in "fc":
        return x
    return cast(x, np.result_type(x.dtype, result))


def place_of(x: Expr, given: Given) -> dict[str, Any]:
    """Reduced axes, and whether they are kept, as `node` takes them."""
    axes = axes_of(len(x.shape), given.get("axis"))
    return {"axes": axes, "keepdims": bool(given.get("keepdims", False))}


def fold(name: str, function: Function, x: Expr, given: Given) -> Expr:
    """Node of a reduction by a ufunc.

    Parameters
    ----------
    name
        One of `UFUNCS`.
    function
        NumPy's, of which this is one: ``numpy.sum``, ``numpy.add.reduce``.
    given
        ``axis keepdims dtype initial where out``.
    """
    if 0 in x.shape:
        return of_nothing(function, x, given)
    result = result_dtype(function, x, given)
    if given.get("dtype") is None and (name in ROUNDING or given.get("initial") is not None):
        wider = in_output(result, x.dtype, given)
        if name not in CASTING and wider != result:
            x = cast(x, wider)
        result = wider
    initial = _initial(given.get("initial"), result, given.get("out"))
    source = x.dtype
    if "where" in given:
        identity = _identity(name, result)
        fill = initial if identity is None else identity
        x = select(given["where"], cast(x, result), fill, result)
    elif given.get("dtype") is not None:
        source = result
        x = x if name in CASTING else cast(x, result)
    if name in CASTING:
        x = widened(x, result)
    options = (True,) if name == "sum" and initial is not None else ()
    found = node(x, ROWS[name], result, source=source, options=options, **place_of(x, given))
    return found if initial is None else apply(UFUNCS[name], [initial, found])


def in_output(result: np.dtype, dtype: np.dtype, given: Given) -> np.dtype:
    """Dtype in which a sum is taken: without a dtype but with an output NumPy adds in both's."""
    out = given["out"].dtype if "out" in given else result
    if out == result or dtype.kind not in "biufc" or out.kind not in "biufc":
        return result
    return np.result_type(dtype, out)


def _initial(value: Any, result: np.dtype, out: Expr | None) -> Any:
    """What a reduction starts from, as NumPy makes it the result's; None for nothing.

    It has to fit the dtype of the loop; then NumPy puts it into the output and takes on its dtype.
    """
    if value is None:
        return None
    if isinstance(value, Expr):
        return cast(value, result)
    first = np.full((), value, result)
    return first.astype(result if out is None else out.dtype).astype(result)[()]


def _identity(name: str, result: np.dtype) -> Any:
    found = getattr(np, UFUNCS[name]).identity
    return None if found is None else np.array(found).astype(result)[()]


def count_nonzero(name: str, function: Function, x: Expr, given: Given) -> Expr:
    """Node of the number of elements that are true."""
    if 0 in x.shape:
        return of_nothing(function, x, given)
    result = result_dtype(function, x, given)
    return node(x, ROWS["count"], result, **place_of(x, given))


def locate(name: str, function: Function, x: Expr, given: Given) -> Expr:
    """Node of the index of the least or the largest element, over all axes or along one."""
    if 0 in x.shape:
        return of_nothing(function, x, given)
    result = result_dtype(function, x, given)
    place = place_of(x, given)
    return node(x, ROWS[name], result, options=tuple(x.shape[a] for a in place["axes"]), **place)


def spread(name: str, x: Expr, result: np.dtype, given: Given) -> Expr:
    """Node of mean, variance or deviation of all elements, in one pass."""
    dtype = given.get("dtype")
    source = x.dtype if dtype is None else np.result_type(np.dtype(dtype))
    options = () if name == "mean" else (given.get("ddof", 0),)
    return node(x, ROWS[name], result, source=source, options=options, **place_of(x, given))


def range_of(name: str, function: Function, x: Expr, given: Given) -> Expr:
    """Node of the largest element less the least."""
    if 0 in x.shape:
        return of_nothing(function, x, given)
    result_dtype(function, x, given)
    plain = {key: value for key, value in given.items() if key != "out"}
    top, least = fold("max", np.max, x, plain), fold("min", np.min, x, plain)
    if "out" in given:  # which NumPy puts the largest into
        top = cast(top, given["out"].dtype)
    return apply("subtract", [top, least])
