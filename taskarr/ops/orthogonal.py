"""Two other meanings of several arrays in a key: one for each axis, or points.

*Orthogonal*: each array picks along its own axis, and its axes stand where that axis stood.
*Pointwise*: the arrays are broadcast together, and their axes come first in the result.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from taskarr.expr import Expr, view_of
from taskarr.geometry.view import Affine
from taskarr.ops import advanced
from taskarr.ops.elementwise import copied
from taskarr.ops.keys import axes_of, view_of_key, written_out
from taskarr.ops.operands import expanded, replicated_host
from taskarr.ops.views import moveaxis
from taskarr.ops.write import put, without_leading

Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Pick:
    """An array of a key: what it picks, and from which axes of the basic view."""

    axis: int
    count: int
    entry: Any

    @property
    def axes(self) -> range:
        """Axes that are indexed: one, or as many as a mask has."""
        return range(self.axis, self.axis + self.count)


def split(shape: Shape, key: Any) -> tuple[Affine, list[Pick]]:
    """Basic view of a key, in which indexed axes are whole, and the key's arrays.

    Raises
    ------
    IndexError
        For what is no index.
    """
    basic: list[Any] = []
    picks: list[Pick] = []
    at = 0
    for entry in written_out(advanced.entries_of(key), len(shape)):
        if not isinstance(entry, np.ndarray | Expr):
            basic.append(entry)
            at += not isinstance(entry, int)
            continue
        count = axes_of(entry)
        if not count:
            raise IndexError("a single True or False is no index along an axis")
        picks.append(Pick(at, count, entry))
        basic += [slice(None)] * count
        at += count
    view = view_of_key(shape, tuple(basic))
    for pick in picks:
        sizes = tuple(view.shape[axis] for axis in pick.axes)
        lengths = pick.entry.shape if pick.entry.dtype == np.bool_ else ()
        if any(m and m != n for m, n in zip(lengths, sizes, strict=False)):  # NumPy lets 0 pass
            raise IndexError(
                f"a mask of shape {pick.entry.shape} is no index along axes of lengths {sizes}"
            )
    return view, picks


def outer_read(x: Expr, key: Any) -> Expr:
    """What a key selects orthogonally, an axis after the other."""
    view, picks = split(x.shape, key)
    found = view_of(x, view)
    for pick in reversed(picks):
        found = advanced.read(found, (*(slice(None),) * pick.axis, pick.entry))
    return found if picks else copied(found)


def point_read(x: Expr, key: Any) -> Expr:
    """What a key selects pointwise."""
    view, picks = split(x.shape, key)
    found = view_of(x, view)
    if not picks:
        return copied(found)
    return advanced.read(view_of(found, _first(found.shape, picks)), _entries(picks))


def outer_written(x: Expr, key: Any, value: Any) -> Expr:
    """The array with a value, broadcast to the selection, where a key selects orthogonally."""
    view, picks = split(x.shape, key)
    groups = [advanced.indices_of(pick.entry) for pick in picks]
    own = [len(group[0].shape) for group in groups]
    sizes = {pick.axis: group[0].shape for pick, group in zip(picks, groups, strict=True)}
    indexed = {axis for pick in picks for axis in pick.axes}
    result: list[int] = []
    places: list[int] = []
    for axis, n in enumerate(view.shape):
        if axis in sizes:
            places += range(len(result), len(result) + len(sizes[axis]))
            result += sizes[axis]
        elif axis not in indexed:
            result.append(n)
    indices: list[Any] = []
    for k, group in enumerate(groups):
        lead, trail = sum(own[:k]), sum(own[k + 1 :])
        around = (*range(lead), *range(lead + own[k], lead + own[k] + trail))
        indices += [expanded(index, around) for index in group]
    values = _spread(value, tuple(result), x, places)
    return _written(x, view, picks, indices, values)


def point_written(x: Expr, key: Any, value: Any) -> Expr:
    """The array with a value, broadcast to the selection, where a key selects pointwise."""
    view, picks = split(x.shape, key)
    return _written(x, view, picks, _entries(picks), value)


def _written(x: Expr, view: Affine, picks: Sequence[Pick], key: Sequence[Any], value: Any) -> Expr:
    whole = _first(view.shape, picks).after(view)
    source = view_of(x, whole)
    return put(x, whole, advanced.written(source, tuple(key) or Ellipsis, value))


def _first(shape: Shape, picks: Sequence[Pick]) -> Affine:
    """View with the indexed axes first."""
    axes = [axis for pick in picks for axis in pick.axes]
    return moveaxis(shape, axes, range(len(axes)))


def _entries(picks: Sequence[Pick]) -> tuple[Any, ...]:
    return tuple(pick.entry for pick in picks)


def _spread(value: Any, shape: Shape, x: Expr, places: Sequence[int]) -> Any:
    """Value in the shape of an orthogonal selection, with the axes at some places first."""
    if not isinstance(value, Expr):
        value = np.asarray(value)
        if not value.ndim:
            return value[()]
        value = replicated_host(value, x.world)
    value = without_leading(value, len(shape))
    value = view_of(value, advanced.fitting(value.shape, shape))
    return view_of(value, moveaxis(shape, places, range(len(places))))
