"""Values of zero dimensions that are written, alone or in lists, as NumPy takes scalars."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from taskarr import fetch
from taskarr.arrays.handle import Handle, node_of


def to_write(value: Any, dtype: np.dtype, one_by_one: bool = False) -> Any:
    """A value as a node or as what it is; one of zero dimensions as NumPy's scalar where needed.

    Parameters
    ----------
    value
        What the user gave.
    dtype
        Of the array that is written to.
    one_by_one
        Whether NumPy converts as it does for a single element: by Python's numbers, not by a cast.
        So it does for keys without arrays.
    """
    if isinstance(value, list | tuple):
        return with_values(value, "writing a list")
    if not isinstance(value, Handle) or not (value._fixed or value._is_record()):
        return node_of(value)
    if not _is_other(value.dtype, dtype, one_by_one):
        return node_of(value)
    return scalar_of(value, "writing a value")


def scalar_of(value: Handle, call: str) -> Any:
    """NumPy's scalar of a value of zero dimensions, on every rank. Collective."""
    (found,) = fetch.whole([value._expr], call)
    return found[()]


def _is_other(given: np.dtype, dtype: np.dtype, one_by_one: bool) -> bool:
    """Whether a scalar may be refused, or become something else, where an array would be cast."""
    if given.kind == "V":
        return dtype.names is None
    if dtype.kind in "iu":
        return one_by_one and not np.can_cast(given, dtype, "safe")
    if dtype.kind in "mM":
        return given.kind in "SU" or not np.can_cast(given, dtype, "same_kind")
    return given.kind in "mM" and not np.can_cast(given, dtype, "safe")


def with_values(a: Any, call: str) -> Any:
    """Nested lists with the distributed values in them as NumPy's, fetched in one run."""
    inside = list(arrays_in(a))
    if not inside:
        return a
    values = iter(fetch.whole([x._expr for x in inside], call))

    def replaced(x: Any) -> Any:
        if isinstance(x, list | tuple):
            found = map(replaced, x)
            return list(found) if isinstance(x, list) else tuple(found)
        return next(values)[()] if isinstance(x, Handle) else x

    return replaced(a)


def arrays_in(a: Any) -> Iterator[Handle]:
    """Distributed arrays in nested lists, in order."""
    if isinstance(a, Handle):
        yield a
    elif isinstance(a, list | tuple):
        for x in a:
            yield from arrays_in(x) if isinstance(x, list | tuple | Handle) else ()
