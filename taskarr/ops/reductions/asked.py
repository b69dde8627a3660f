"""Asking NumPy: dtypes, errors and results of nothing, from calls with a few elements."""

import warnings
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from taskarr import faults
from taskarr.expr import Expr, filled
from taskarr.geometry.view import broadcast
from taskarr.ops.operands import checked_dtype, layout_for
from taskarr.ops.reductions.node import axes_of, kept_shape

Given = dict[str, Any]
"""Options of a call by name, those that were given; arrays as expressions."""

Function = Callable[..., Any]
"""A reduction of NumPy's: a function of an array and options."""


def result_dtype(function: Function, x: Expr, given: Given) -> np.dtype:
    """Dtype that NumPy's function gives for such operands; its errors are raised here.

    Raises
    ------
    TypeError, ValueError
        As NumPy; also for a mask or a mean that does not fit.
    """
    kinds = tuple([(key, type(value), value) for key, value in given.items()])
    if all(kind in PLAIN for _, kind, _ in kinds):
        return _plain_dtype(function, x.dtype, len(x.shape), kinds)
    found = _dtype(function, x.dtype, len(x.shape), given)
    _check_shapes(x, given)
    return found


PLAIN = (type(None), bool, int, str, type)
"""Types of options for which NumPy's answer is remembered."""


@lru_cache(1024)
def _plain_dtype(
    function: Function, dtype: np.dtype, ndim: int, kinds: tuple[tuple[str, type, Any], ...]
) -> np.dtype:
    return _dtype(function, dtype, ndim, {key: value for key, _, value in kinds})


def _dtype(function: Function, dtype: np.dtype, ndim: int, given: Given) -> np.dtype:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = _called(function, np.zeros((2,) * ndim, dtype), given)
    return checked_dtype(np.asarray(found).dtype)


def of_nothing(function: Function, x: Expr, given: Given) -> Expr:
    """Node of a reduction of an array without elements: NumPy's value, wherever there is one.

    Its warnings are given at the user's line.
    """
    sample = np.empty(tuple(min(n, 2) for n in x.shape), x.dtype)
    with faults.at_once(getattr(function, "__name__", "reduce"), x.world.rank):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = np.asarray(_called(function, sample, given))
        for text in [str(each.message).rstrip(".") for each in caught]:
            if text in faults.NOTES:
                faults.note(text)
    _check_shapes(x, given)
    axes = axes_of(len(x.shape), given.get("axis"))
    shape = kept_shape(x.shape, axes, bool(given.get("keepdims", False)))
    value = found.reshape(-1)[0] if found.size else np.zeros((), found.dtype)[()]
    return filled(value, layout_for(x.world, shape, checked_dtype(found.dtype)), x.world)


def _check_shapes(x: Expr, given: Given) -> None:
    for key in ("where", "mean"):
        if isinstance(given.get(key), Expr):
            broadcast(given[key].shape, x.shape)


def _called(function: Function, sample: np.ndarray, given: Given) -> Any:
    options = {key: _stand_in(value) for key, value in given.items() if key != "out"}
    found = function(sample, **options)
    if "out" in given:
        function(sample, **options, out=np.empty(np.shape(found), given["out"].dtype))
    return found


def _stand_in(value: Any) -> Any:
    """Small array of the same dtype and number of axes, where an option is an array."""
    if not isinstance(value, Expr):
        return value
    found = np.ones((1,) * len(value.shape), value.dtype)
    return found if value.shape else found[()]
