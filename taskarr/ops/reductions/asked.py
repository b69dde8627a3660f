"""Asking NumPy: dtypes, errors and results of nothing, from calls with a few elements."""

import warnings
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from taskarr import faults
from taskarr.expr import Expr, filled
from taskarr.geometry.view import broadcast
from taskarr.ops.operands import SCALARS, checked_dtype, layout_for
from taskarr.ops.reductions.node import axes_of, kept_shape

Given = dict[str, Any]
"""Options of a call by name, those that were given; arrays as expressions."""

Function = Callable[..., Any]
"""A reduction of NumPy's: a function of an array and options."""


def result_dtype(function: Function, x: Expr, given: Given, reduces: bool = True) -> np.dtype:
    """Dtype that NumPy's function gives for such operands; its errors are raised here.

    Parameters
    ----------
    reduces
        Whether the result has the shape of a reduction's, which an output is held against.

    Raises
    ------
    TypeError, ValueError
        As NumPy; also for a mask or a mean that does not fit.
    """
    kinds = tuple([(key, type(value), value) for key, value in given.items()])
    if all(kind in PLAIN for _, kind, _ in kinds):
        return _plain_dtype(function, x.dtype, len(x.shape), kinds)
    found = _dtype(function, x.dtype, len(x.shape), given, x.shape if reduces else None)
    check_shapes(x, given)
    return found


PLAIN = (type(None), bool, int, str, type)
"""Types of options for which NumPy's answer is remembered."""


@lru_cache(1024)
def _plain_dtype(
    function: Function, dtype: np.dtype, ndim: int, kinds: tuple[tuple[str, type, Any], ...]
) -> np.dtype:
    return _dtype(function, dtype, ndim, {key: value for key, _, value in kinds})


def _dtype(
    function: Function,
    dtype: np.dtype,
    ndim: int,
    given: Given,
    shape: tuple[int, ...] | None = None,
) -> np.dtype:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        length = 2 if ndim <= 16 else 1  # of many axes the sample would fill memory
        make = np.ones if dtype.kind in "SU" else np.zeros  # text that is a number, too
        found = _called(function, make((length,) * ndim, dtype), given, shape)
    return checked_dtype(np.asarray(found).dtype)


def of_nothing(function: Function, x: Expr, given: Given) -> Expr:
    """Node of a reduction of an array without elements: NumPy's value, wherever there is one.

    Its warnings are given at the user's line.
    """
    sample = np.empty(tuple(min(n, 2) for n in x.shape), x.dtype)
    with faults.at_once(getattr(function, "__name__", "reduce"), x.world.rank):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            ask = _put if "out" in given else _called
            found = np.asarray(ask(function, sample, given))
        for text in [str(each.message).rstrip(".") for each in caught]:
            if text in faults.NOTES:
                faults.note(text)
    check_shapes(x, given)
    axes = axes_of(len(x.shape), given.get("axis"))
    shape = kept_shape(x.shape, axes, bool(given.get("keepdims", False)))
    value = found.reshape(-1)[0] if found.size else np.zeros((), found.dtype)[()]
    return filled(value, layout_for(x.world, shape, checked_dtype(found.dtype)), x.world)


def check_shapes(x: Expr, given: Given) -> None:
    """Raise ValueError for a mask or a mean that does not fit."""
    for key in ("where", "mean"):
        if isinstance(given.get(key), Expr):
            broadcast(given[key].shape, x.shape)


def _called(
    function: Function, sample: np.ndarray, given: Given, shape: tuple[int, ...] | None = None
) -> Any:
    """What NumPy's function gives for a few elements instead of an array of a shape."""
    options = {key: _stand_in(value) for key, value in given.items() if key != "out"}
    plain = options
    if "out" in given and type(options.get("initial")) in SCALARS:  # whose dtype it need not fit
        plain = {**options, "initial": np.zeros((), sample.dtype)[()]}
    try:
        found = function(sample, **plain)
    except TypeError:
        if "out" not in given or shape is None:
            raise
        return _put(function, sample, given)
    if "out" in given:
        form = np.shape(found) if shape is None or _fits(shape, given) else (*np.shape(found), 3)
        function(sample, **options, out=np.empty(form, given["out"].dtype))
    return found


def _put(function: Function, sample: np.ndarray, given: Given) -> np.ndarray:
    """What NumPy's function puts into an output of the dtype that is given."""
    options = {key: _stand_in(value) for key, value in given.items() if key != "out"}
    axes, keepdims = axes_of(sample.ndim, given.get("axis")), bool(given.get("keepdims", False))
    out = np.empty(kept_shape(sample.shape, axes, keepdims), given["out"].dtype)
    function(sample, **options, out=out)
    return out


def _fits(shape: tuple[int, ...], given: Given) -> bool:
    """Whether an output has the shape of the result of a reduction of an array of a shape."""
    axes, keepdims = axes_of(len(shape), given.get("axis")), bool(given.get("keepdims", False))
    return bool(given["out"].shape == kept_shape(shape, axes, keepdims))


def _stand_in(value: Any) -> Any:
    """Small array of the same dtype and number of axes, where an option is an array."""
    if not isinstance(value, Expr):
        return value
    found = np.ones((1,) * len(value.shape), value.dtype)
    return found if value.shape else found[()]
