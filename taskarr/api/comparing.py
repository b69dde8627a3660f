"""Comparing arrays within tolerances, and whole arrays with each other."""

from typing import Any

import numpy as np

from taskarr.api.creation import asarray
from taskarr.arrays import Array, node_of
from taskarr.ops import functions, ufuncs

__all__ = ["allclose", "array_equal", "array_equiv", "isclose"]


def isclose(a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False) -> Array:
    """Whether ``|a - b| <= atol + rtol * |b|``, element by element.

    Parameters
    ----------
    a, b
        Arrays that are broadcast.
    rtol, atol
        Tolerances: numbers or arrays.
    equal_nan
        Whether NaN is close to NaN.
    """
    tolerances = {"rtol": node_of(rtol), "atol": node_of(atol)}
    operands = [node_of(x) for x in (a, b)]
    if not any(isinstance(x, Array) for x in (a, b, rtol, atol)):
        operands[0] = asarray(a)._expr
    found = functions.applied("isclose", operands, tolerances, equal_nan=bool(equal_nan))
    return Array._of(found)


def allclose(a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False) -> bool:
    """Whether all elements are close, as a Python bool: computed at once. Collective.

    Examples
    --------
    >>> import taskarr
    >>> taskarr.allclose(taskarr.ones(3) / 3 * 3, 1)
    True
    """
    return bool(isclose(a, b, rtol, atol, equal_nan).all())


def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> bool:
    """Whether shapes and all elements are equal, as a Python bool: computed at once. Collective.

    Parameters
    ----------
    a1, a2
        Arrays.
    equal_nan
        Whether NaN is equal to NaN, and NaT to NaT.
    """
    pair = _both(a1, a2)
    if pair is None or pair[0].shape != pair[1].shape:
        return False
    first, second = pair
    equal = _equal(first, second)
    if equal_nan and all(x.dtype.kind in "fcmM" for x in pair):
        equal = equal | (_is_nan(first) & _is_nan(second))
    return bool(equal.all())


def array_equiv(a1: Any, a2: Any) -> bool:
    """Whether arrays can be broadcast and are equal then; computed at once. Collective."""
    pair = _both(a1, a2)
    if pair is None:
        return False
    try:
        np.broadcast_shapes(pair[0].shape, pair[1].shape)
    except ValueError:
        return False
    return bool(_equal(*pair).all())


def _both(a: Any, b: Any) -> tuple[Any, Any] | None:
    """Two arrays, one of them distributed; None if one is none."""
    try:
        found = [x if isinstance(x, Array) else np.asarray(x) for x in (a, b)]
    except Exception:  # whatever NumPy raises for what is no array
        return None
    first, second = found
    return (first if isinstance(second, Array) else asarray(first)), second


def _equal(first: Any, second: Any) -> Array:
    return Array._of(ufuncs.compared("equal", [node_of(first), node_of(second)]))


def _is_nan(x: Any) -> Any:
    return np.isnat(x) if x.dtype.kind in "mM" else np.isnan(x)


PUBLIC: dict[str, Any] = {name: globals()[name] for name in __all__}
"""Functions of this module by name."""
