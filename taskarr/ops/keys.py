"""Keys: NumPy's basic indexing as affine views."""

import operator
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from taskarr.geometry.view import NEW, Affine

MOST_AXES = 64
"""Axes that an array of NumPy can have."""

FARTHEST = np.iinfo(np.int64).max
"""Longest step; with a longer one a slice has one element as well."""

LEAST = -(2**63)
"""Least index that NumPy can hold."""


def as_tuple(key: Any) -> tuple[Any, ...]:
    """Entries of a key."""
    return key if isinstance(key, tuple) else (key,)


def is_basic(key: Any) -> bool:
    """Whether a key is made of integers, slices, ``...`` and None only."""
    return all(
        entry is None or entry is Ellipsis or isinstance(entry, slice) or _is_index(entry)
        for entry in as_tuple(key)
    )


def _is_index(entry: Any) -> bool:
    if isinstance(entry, bool | np.bool_):
        return False
    if hasattr(entry, "dtype"):
        return entry.ndim == 0 and entry.dtype.kind in "iu"
    return hasattr(type(entry), "__index__")


def view_of_key(shape: tuple[int, ...], key: Any) -> Affine:
    """View that a basic key shows.

    Raises
    ------
    IndexError
        For too many entries, more than one ``...``, an index out of bounds, or too many axes.
    OverflowError
        For an index that NumPy holds in an unsigned integer only.
    TypeError, ValueError
        For slices that Python refuses.
    """
    view = view_of_entries(shape, as_tuple(key))
    check_axes(len(view.shape))
    return view


def check_axes(count: int) -> None:
    """Raise IndexError when what a key shows has more axes than an array of NumPy can have."""
    if count > MOST_AXES:
        raise IndexError(
            f"number of dimensions must be within [0, {MOST_AXES}], indexing result would have "
            f"{count}"
        )


def view_of_entries(shape: tuple[int, ...], entries: Sequence[Any]) -> Affine:
    """View that the entries of a basic key show, of any number of axes."""
    axes: list[int] = []
    sizes: list[int] = []
    steps: list[int] = []
    start = [0] * len(shape)
    axis = 0
    for entry in written_out(entries, len(shape)):
        if entry is None:
            axes.append(NEW)
            sizes.append(1)
            steps.append(0)
            continue
        if isinstance(entry, slice):
            picked = range(shape[axis])[entry]
            axes.append(axis)
            sizes.append(len(picked))
            steps.append(max(-FARTHEST, min(picked.step, FARTHEST)))
            start[axis] = picked.start if picked else 0
        else:
            start[axis] = from_start(entry, shape[axis], axis)
        axis += 1
    return Affine(tuple(sizes), tuple(axes), tuple(start), tuple(steps), shape)


def axes_of(entry: Any) -> int:
    """Number of axes that an entry of a key is for: none, one, or as many as a mask has."""
    if entry is None or entry is Ellipsis:
        return 0
    return len(entry.shape) if getattr(entry, "dtype", None) == np.bool_ else 1


def written_out(entries: Sequence[Any], ndim: int) -> list[Any]:
    """Entries with ``...`` written out, so that every axis has one.

    Raises
    ------
    IndexError
        For too many entries, or more than one ``...``.
    """
    consumed = sum(map(axes_of, entries))
    dots = [k for k, e in enumerate(entries) if e is Ellipsis]
    if len(dots) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    if consumed > ndim:
        raise IndexError(
            f"too many indices for array: array is {ndim}-dimensional, but {consumed} were indexed"
        )
    rest = [slice(None)] * (ndim - consumed)
    at = dots[0] if dots else len(entries)
    return [*entries[:at], *rest, *entries[at + 1 :]]


def index_of(entry: Any) -> int:
    """Index as Python's integer.

    Raises
    ------
    OverflowError, IndexError
        When it does not fit into NumPy's integers, even unsigned ones.
    """
    index = operator.index(entry)
    if not LEAST <= index <= ~LEAST:
        if 0 < index <= 2 * ~LEAST + 1:
            raise OverflowError("Python int too large to convert to C long")
        refuse()
    return index


def refuse() -> NoReturn:
    """Raise NumPy's error for what is no index."""
    raise IndexError(
        "only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and integer or "
        "boolean arrays are valid indices"
    )


def from_start(entry: Any, length: int, axis: int) -> int:
    """Index along an axis, counted from its start.

    Raises
    ------
    IndexError
        When it is out of bounds.
    """
    index = index_of(entry)
    check_range(index, length, axis)
    return index + length if index < 0 else index


def check_range(index: int, length: int, axis: int) -> None:
    """Raise IndexError for an index that is out of bounds."""
    if not -length <= index < length:
        raise IndexError(f"index {index} is out of bounds for axis {axis} with size {length}")
