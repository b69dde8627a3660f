"""``ufunc.reduce`` of the ufuncs that are associative."""

from typing import Any

import numpy as np

from taskarr.expr import Expr
from taskarr.ops.reductions.arguments import cleaned, into
from taskarr.ops.reductions.asked import result_dtype
from taskarr.ops.reductions.folds import fold
from taskarr.ops.reductions.rows import UFUNCS

NAMES = {ufunc: name for name, ufunc in UFUNCS.items() if not name.startswith("nan")}
"""Reductions by their ufunc."""


def is_associative(function: np.ufunc) -> bool:
    """Whether a ufunc is known to give the same however its operands are grouped."""
    return function.__name__ in NAMES and getattr(np, function.__name__, None) is function


def ufunc_reduce(
    ufunc: np.ufunc,
    x: Expr,
    axis: Any = 0,
    dtype: Any = None,
    keepdims: Any = False,
    initial: Any = np._NoValue,
    where: Any = True,
    out: Expr | None = None,
) -> Expr:
    """Node of ``ufunc.reduce(x, ...)``.

    Parameters
    ----------
    ufunc
        NumPy's.
    x
        What is reduced.
    axis, dtype, keepdims, initial, where
        As `numpy.ufunc.reduce`; arrays as expressions.
    out
        What the result replaces: its dtype, shape and layout; or None.

    Raises
    ------
    NotImplementedError
        For a ufunc that is not associative, so that blocks can't be combined.
    TypeError, ValueError
        As NumPy.
    """
    given = {"axis": axis, "dtype": dtype, "keepdims": keepdims, "initial": initial}
    given = cleaned({**given, "where": where, "out": out}, x.world)
    if not is_associative(ufunc):
        result_dtype(ufunc.reduce, x, given)
        raise NotImplementedError(
            f"numpy.{ufunc.__name__}.reduce of a taskarr array: {ufunc.__name__} is not known to "
            "be associative, so parts can't be combined; reduce a.numpy()"
        )
    return into(fold(NAMES[ufunc.__name__], ufunc.reduce, x, given), out)
