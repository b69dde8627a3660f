"""States of argmin and argmax: an extreme value, and its index over the reduced axes.

The index counts the reduced axes of the whole array in C order, whatever the segment, so that two
states can be merged in any order: of equal values the smaller index wins. NaN and NaT win over
all others, as in NumPy.
"""

import operator
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate
from types import ModuleType
from typing import Any

import numpy as np

from taskarr.kernel.reduction import FieldSpec, State

Place = tuple[Sequence[int], tuple[int, ...]]
"""First index of a segment, and the lengths of the reduced axes of the whole array."""


def fields(source: np.dtype, result: np.dtype) -> tuple[FieldSpec, ...]:
    """Value and index."""
    return FieldSpec(source.newbyteorder("=")), FieldSpec(result)


def partial(
    name: str,
    xp: ModuleType,
    x: Any,
    axes: tuple[int, ...],
    specs: tuple[FieldSpec, ...],
    place: Place,
) -> State:
    """State of a segment; one that holds all of its rows is merged with none, and has no value."""
    find = getattr(xp, name)
    start, lengths = place
    inner = tuple([x.shape[a] for a in axes])
    if len(axes) == x.ndim and xp is np:
        return _first_of(name, x.reshape(-1), inner, start, lengths, specs)
    if len(axes) == x.ndim:
        flat = x.reshape(-1)
        at = xp.asarray(find(flat), specs[1].dtype).reshape((1,) * x.ndim)
        value = flat[at]
    else:
        (axis,) = axes
        at = xp.expand_dims(find(x, axis=axis), axis)
        whole = inner == lengths
        value = xp.zeros(at.shape, x.dtype) if whole else xp.take_along_axis(x, at, axis)
    at = _moved(at, inner, [start[a] for a in axes], lengths)
    return xp.asarray(value, specs[0].dtype), xp.asarray(at, specs[1].dtype)


def _first_of(
    name: str,
    flat: Any,
    inner: tuple[int, ...],
    start: Sequence[int],
    lengths: tuple[int, ...],
    specs: tuple[FieldSpec, ...],
) -> State:
    """State of a segment of which one element is left, with few calls."""
    at = int(getattr(flat, name)())
    form = (1,) * len(inner)
    index = np.full(form, _moved(at, inner, start, lengths), specs[1].dtype)
    return flat[at : at + 1].astype(specs[0].dtype).reshape(form), index


@lru_cache(1024)
def _strides(lengths: tuple[int, ...]) -> tuple[int, ...]:
    """Elements between neighbours along each axis, in C order."""
    return tuple(accumulate([1, *lengths[:0:-1]], operator.mul))[::-1][: len(lengths)]


@lru_cache(1024)
def _lies_alike(inner: tuple[int, ...], lengths: tuple[int, ...]) -> bool:
    """Whether neighbours in a segment are as far apart in the whole."""
    pairs = zip(inner, _strides(inner), _strides(lengths), strict=True)
    return all(here == there for n, here, there in pairs if n > 1)


def _moved(at: Any, inner: tuple[int, ...], start: Sequence[int], lengths: tuple[int, ...]) -> Any:
    """Flat index in the whole of a flat index in a segment of these lengths."""
    strides = _strides(lengths)
    found = sum(map(operator.mul, start, strides))
    if _lies_alike(inner, lengths):
        return at + found if found else at
    rest = at
    for here, there in zip(_strides(inner), strides, strict=True):
        found, rest = found + rest // here * there, rest % here
    return found


def prefer(name: str, xp: ModuleType, a: State, b: State) -> State:
    """The better of two states, by asking NumPy which of two values it would take."""
    if a[1] is b[1]:
        return a
    if xp is np and a[1].size == 1:
        if a[1].item() > b[1].item():
            a, b = b, a
        pair = np.concatenate((a[0], b[0]), axis=None)
        return b if getattr(pair, name)() else a
    early = a[1] < b[1]
    if not early.all():
        a, b = (
            tuple(xp.where(early, one, other) for one, other in zip(x, y, strict=True))
            for x, y in ((a, b), (b, a))
        )
    second = getattr(xp, name)(xp.concatenate((a[0][None], b[0][None])), axis=0).astype(bool)
    if second.size == 1:
        return b if second else a
    return xp.where(second, b[0], a[0]), xp.where(second, b[1], a[1])


def index(xp: ModuleType, state: State, count: int, options: tuple[Any, ...]) -> Any:
    """Index of everything's extreme."""
    return state[1]
