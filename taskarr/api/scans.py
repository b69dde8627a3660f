"""Running sums and products, and differences, along an axis."""

from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from taskarr.api.creation import asarray
from taskarr.arrays import Array
from taskarr.arrays.scanning import scanned
from taskarr.geometry.view import broadcast
from taskarr.ops.joining import joined

__all__ = [
    "cumprod",
    "cumsum",
    "cumulative_prod",
    "cumulative_sum",
    "diff",
    "ediff1d",
    "nancumprod",
    "nancumsum",
]


def cumsum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Array:
    """Running sum along an axis; for None of all elements in C order.

    Parameters
    ----------
    a
        Array.
    axis
        An axis, or None.
    dtype
        In which elements are added.
    out
        Distributed array that is written.

    Raises
    ------
    TypeError, ValueError, numpy.exceptions.AxisError
        As `numpy.cumsum`.

    Notes
    -----
    Parts of a block are summed by themselves and joined in order, so rounding errors grow with the
    length of a part and the number of parts, and are less than NumPy's in long arrays.

    Examples
    --------
    >>> import taskarr
    >>> print(taskarr.cumsum(taskarr.arange(5)))
    [ 0  1  3  6 10]
    """
    given = {"axis": axis, "dtype": dtype, "out": out}
    return scanned(Array._of, "cumsum", asarray(a), given)


def cumprod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Array:
    """Running product along an axis; for None of all elements in C order; see `cumsum`."""
    given = {"axis": axis, "dtype": dtype, "out": out}
    return scanned(Array._of, "cumprod", asarray(a), given)


def nancumsum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Array:
    """Running sum in which NaN count as zero; see `cumsum`."""
    given = {"axis": axis, "dtype": dtype, "out": out}
    return scanned(Array._of, "nancumsum", asarray(a), given)


def nancumprod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Array:
    """Running product in which NaN count as one; see `cumsum`."""
    given = {"axis": axis, "dtype": dtype, "out": out}
    return scanned(Array._of, "nancumprod", asarray(a), given)


def cumulative_sum(
    x: Any,
    /,
    *,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    include_initial: bool = False,
) -> Array:
    """Running sum along an axis, which may be left out for arrays of one axis.

    Parameters
    ----------
    include_initial
        Whether the result begins with a zero, and so is longer by one.

    Raises
    ------
    ValueError
        For an array of several axes without ``axis``.

    Examples
    --------
    >>> import taskarr
    >>> print(taskarr.cumulative_sum(taskarr.arange(4), include_initial=True))
    [0 0 1 3 6]
    """
    given = {"axis": axis, "dtype": dtype, "out": out, "include_initial": bool(include_initial)}
    return scanned(Array._of, "cumulative_sum", asarray(x), given)


def cumulative_prod(
    x: Any,
    /,
    *,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    include_initial: bool = False,
) -> Array:
    """Running product along an axis; see `cumulative_sum`."""
    given = {"axis": axis, "dtype": dtype, "out": out, "include_initial": bool(include_initial)}
    return scanned(Array._of, "cumulative_prod", asarray(x), given)


def diff(
    a: Any, n: int = 1, axis: int = -1, prepend: Any = np._NoValue, append: Any = np._NoValue
) -> Array:
    """Differences of neighbours along an axis, ``n`` times.

    Parameters
    ----------
    a
        Array; of truth values the result says which neighbours differ.
    n
        How often.
    axis
        Along which axis.
    prepend, append
        Values before and behind the array along the axis; one value stands for a row of it.

    Raises
    ------
    ValueError
        For a negative ``n``, and an array without axes.

    Examples
    --------
    >>> import taskarr
    >>> print(taskarr.diff(taskarr.asarray([1, 2, 4, 7]), prepend=0))
    [1 1 2 3]
    """
    found = asarray(a)
    if n == 0:
        return found
    if n < 0:
        raise ValueError(f"order must be non-negative but got {n!r}")
    if not found.ndim:
        raise ValueError("diff requires input that is at least one dimensional")
    axis = normalize_axis_index(axis, found.ndim)
    parts = [_row(prepend, found, axis), found, _row(append, found, axis)]
    known = [x._expr for x in parts if x is not None]
    if len(known) > 1:
        found = Array._of(joined(known, axis))
    before, after = ((*(slice(None),) * axis, s) for s in (slice(None, -1), slice(1, None)))
    for _ in range(n):
        pair = found[after], found[before]
        found = pair[0] != pair[1] if found.dtype == np.bool_ else pair[0] - pair[1]
    return found


def _row(value: Any, a: Array, axis: int) -> Array | None:
    """What is joined to an array along an axis: one value in the shape of a row, else as it is."""
    if value is np._NoValue:
        return None
    row = asarray(value)
    if row.ndim:
        return row
    return row._viewed(broadcast((), (*a.shape[:axis], 1, *a.shape[axis + 1 :])))


def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Array:
    """Differences of neighbours in C order, with values before and behind them.

    Raises
    ------
    TypeError
        When the values can't be cast to the array's dtype by the rule ``same_kind``.
    """
    flat = asarray(ary).reshape(-1)
    found = flat[1:] - flat[:-1]
    parts = [_end(to_begin, flat, "to_begin"), found, _end(to_end, flat, "to_end")]
    known = [x._expr for x in parts if x is not None]
    return found if len(known) == 1 else Array._of(joined(known, 0))


def _end(value: Any, flat: Array, name: str) -> Array | None:
    if value is None:
        return None
    found = asarray(value)
    if not np.can_cast(found.dtype, flat.dtype, casting="same_kind"):
        raise TypeError(
            f"dtype of `{name}` must be compatible with input `ary` under the `same_kind` rule: "
            f"{found.dtype} and {flat.dtype}"
        )
    return found.astype(flat.dtype).reshape(-1)


PUBLIC: dict[str, Any] = {name: globals()[name] for name in __all__}
"""Functions of this module by name."""
