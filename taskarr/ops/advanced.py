"""Keys with arrays of integers or booleans: NumPy's rules, reading and writing.

A key becomes a basic view in which the indexed axes are whole, an index for each of them, and the
place of the indices' shape in the result. Boolean arrays stand for the indices where they are true.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from scheduler import World
from taskarr.expr import Expr, view_of
from taskarr.geometry.rows import is_cut
from taskarr.geometry.view import Affine, broadcast, broadcast_shapes
from taskarr.ops import masks, write
from taskarr.ops.elementwise import cast, check_power
from taskarr.ops.gather import checked_index, gather, scatter
from taskarr.ops.keys import (
    as_tuple,
    axes_of,
    check_axes,
    index_of,
    is_basic,
    refuse,
    view_of_entries,
    view_of_key,
    written_out,
)
from taskarr.ops.known import known
from taskarr.ops.nonzero import nonzero
from taskarr.ops.operands import replicated_host
from taskarr.ops.views import moveaxis

Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Selection:
    """What a key selects.

    Parameters
    ----------
    view
        Basic part of the key: the indexed axes are whole in it.
    axes
        Axes of the view that are indexed.
    indices
        For each of them, of NumPy or distributed.
    ranges
        Length and number of the axis that each index still has to be held against; None for
        indices that are in range.
    place
        First axis of the result that is one of the indices' axes.
    """

    view: Affine
    axes: tuple[int, ...]
    indices: tuple[Any, ...]
    ranges: tuple[tuple[int, int] | None, ...]
    place: int

    @property
    def shape(self) -> Shape:
        """Shape of all indices together; IndexError where they don't fit."""
        shapes = [i.shape for i in self.indices]
        try:
            return broadcast_shapes(*shapes)
        except ValueError:
            text = " ".join(map(str, shapes)).replace(", ", ",")
            raise IndexError(
                "shape mismatch: indexing arrays could not be broadcast together with shapes "
                f"{text}"
            ) from None

    @property
    def result(self) -> Shape:
        """Shape of what is selected."""
        rest = [n for k, n in enumerate(self.view.shape) if k not in self.axes]
        return (*rest[: self.place], *self.shape, *rest[self.place :])

    def checked(self, world: World) -> tuple[Expr, ...]:
        """Indices in range and not negative; where nothing is selected NumPy looks at none.

        Raises
        ------
        IndexError
            When they don't fit together, or one is out of range, on all ranks.
        """
        if 0 in self.shape:
            return (replicated_host(np.zeros(self.shape, np.int64), world),) * len(self.indices)
        found = []
        for index, span in zip(self.indices, self.ranges, strict=True):
            if span is not None:
                index = checked_index(index, *span)
            found.append(index if isinstance(index, Expr) else replicated_host(index, world))
        return tuple(found)


def read(x: Expr, key: Any) -> Expr:
    """What a key selects of an array.

    Parameters
    ----------
    key
        Any of NumPy's, with expressions for distributed arrays.

    Raises
    ------
    IndexError
        As NumPy, on all ranks.
    """
    entries = entries_of(key)
    written_out(entries, len(x.shape))  # which counts them
    mask = _leading_mask(entries)
    if mask is not None and 0 not in x.shape:
        node, part = _masked(x, entries, mask)
        if not is_cut(part.layout, range(len(mask.shape), len(part.shape))):
            return masks.read(part, node)
    chosen = selection(x, entries)
    indices = chosen.checked(x.world)
    source, first = view_of(x, chosen.view), chosen.axes[0]
    if chosen.axes == tuple(range(first, first + len(chosen.axes))):
        found = gather(source, indices, first)
    else:
        order = moveaxis(source.shape, chosen.axes, range(len(chosen.axes)))
        found, first = gather(view_of(source, order), indices), 0
    count = len(chosen.shape)
    places = (range(first, first + count), range(chosen.place, chosen.place + count))
    return view_of(found, moveaxis(found.shape, *places))


def written(x: Expr, key: Any, value: Any) -> Expr:
    """The array with a value where a key selects.

    Parameters
    ----------
    key
        As in `read`.
    value
        Scalar, NumPy array or expression, broadcast and cast as NumPy does; where an element is
        selected more than once, the last value stays.

    Raises
    ------
    IndexError, ValueError, TypeError
        As NumPy, on all ranks.
    """
    entries = entries_of(key)
    written_out(entries, len(x.shape))  # which counts them
    mask = _leading_mask(entries)
    chosen = selection(x, entries) if mask is None else None
    node, part = _masked(x, entries, mask) if mask is not None else (None, x)
    if not isinstance(value, Expr | np.ndarray) or value.dtype.hasobject:
        value = write.as_array(value, x.dtype)
    if isinstance(value, np.ndarray) and value.dtype != x.dtype:
        value = replicated_host(value, x.world)
    ndim = len(value.shape)
    if ndim > 1 and len(entries) == 1 and _is_mask_of(entries[0], x):
        raise TypeError(
            "boolean array indexing assignment requires a 0 or 1-dimensional input, this one "
            f"has {ndim} dimensions"
        )
    if node is not None and ndim <= len(part.shape) - len(node.shape):
        found = masks.written(part, node, value)
        return write.put(x, _part_of(x.shape, entries, mask), found)
    chosen = chosen or selection(x, entries)
    if node is not None and node.shape == x.shape and len(entries) == 1:
        _check_count(value.shape, chosen.shape)
    if not isinstance(value, Expr):
        value = replicated_host(value, x.world)
    return _put(x, chosen, None, _values(cast(value, x.dtype), chosen))


def _check_count(values: Shape, places: Shape) -> None:
    """Raise ValueError when as many values as a mask of the whole array has are not there."""
    if values not in ((1,), places):
        raise ValueError(
            f"NumPy boolean array indexing assignment cannot assign {prod(values)} input values to "
            f"the {prod(places)} output values where the mask is true"
        )


def accumulated(function: np.ufunc, x: Expr, key: Any, value: Any = None) -> Expr:
    """The array after ``function.at(x, key, value)``: each value counts, in C order.

    Parameters
    ----------
    function
        Of one operand, or of two.
    key
        As in `read`; at least one entry is an array.
    value
        Second operand, None for a function of one.

    Raises
    ------
    IndexError, ValueError, TypeError
        As NumPy, on all ranks.
    """
    chosen = selection(x, entries_of(key))
    if value is None:
        function.at(np.empty(0, x.dtype), np.zeros(0, np.intp))
        return _put(x, chosen, function, None)
    node = value if isinstance(value, Expr) else replicated_host(np.asarray(value), x.world)
    blank = np.empty(0, x.dtype), np.zeros(0, np.intp), np.empty(0, node.dtype)
    function.at(*blank)  # which refuses what it can't take
    if len(node.shape) > len(chosen.result):
        raise ValueError(f"values of shape {node.shape} don't fit the indices' {chosen.result}")
    found = _put(x, chosen, function, _values(node, chosen))
    if function is np.power:
        check_power(found, x.dtype, (x, node))
    return found


def _put(x: Expr, chosen: Selection, function: np.ufunc | None, values: Expr | None) -> Expr:
    """The array with values scattered into the selected part, indexed axes first."""
    indices = chosen.checked(x.world)
    source = view_of(x, chosen.view)
    order = moveaxis(source.shape, chosen.axes, range(len(chosen.axes)))
    source = view_of(source, order)
    found = scatter(source, indices, values, function)
    return write.put(x, order.after(chosen.view), found)


def _values(value: Expr, chosen: Selection) -> Expr:
    """Values for a scatter: the indices' axes first, or only what all rows get."""
    value = _without_leading(value, len(chosen.result))
    whole = fitting(value.shape, chosen.result)
    count, place = len(chosen.shape), chosen.place
    rest = (*chosen.result[:place], *chosen.result[place + count :])
    if len(value.shape) <= len(rest) - place:
        return view_of(value, broadcast(value.shape, rest))
    return view_of(
        view_of(value, whole), moveaxis(chosen.result, range(place, place + count), range(count))
    )


def fitting(shape: Shape, result: Shape) -> Affine:
    """View of values in the shape of what an index selects.

    Raises
    ------
    ValueError
        When they can't be broadcast to it.
    """
    try:
        return broadcast(shape, result)
    except ValueError:
        raise ValueError(
            f"shape mismatch: value array of shape {shape} could not be broadcast to "
            f"indexing result of shape {result}"
        ) from None


def _without_leading(value: Expr, ndim: int) -> Expr:
    """Values without the leading axes that are too many, if no element is lost by that."""
    extra = max(0, len(value.shape) - ndim)
    if not extra or prod(value.shape) != prod(value.shape[extra:]):
        return value
    if 0 in value.shape:
        return replicated_host(np.empty(value.shape[extra:], value.dtype), value.world)
    return view_of(value, view_of_key(value.shape, (0,) * extra))


def selection(x: Expr, entries: Sequence[Any]) -> Selection:
    """What the entries of a key select of an array; at least one is an array."""
    shape = x.shape
    basic: list[Any] = []
    arrays: list[tuple[int, int, Any]] = []
    at = axis = 0
    for entry in written_out(entries, len(shape)):
        if not _is_array(entry):
            basic.append(entry)
            at += not isinstance(entry, int)
            axis += entry is not None
            continue
        ndim = axes_of(entry)
        arrays.append((at, axis, entry))
        basic += [slice(None)] * ndim if ndim else [None]
        at, axis = at + max(1, ndim), axis + ndim
    view = view_of_entries(shape, basic)
    _check_masks(shape, arrays)
    axes: list[int] = []
    indices: list[Any] = []
    ranges: list[tuple[int, int] | None] = []
    for first, axis, entry in arrays:
        found = indices_of(entry)
        span = None if entry.dtype == np.bool_ else (shape[axis], axis)
        axes += range(first, first + len(found))
        indices += found
        ranges += [span] * len(found)
    count = max(len(i.shape) for i in indices)
    place = _place(entries, len(shape)) if count else 0
    chosen = Selection(view, tuple(axes), tuple(indices), tuple(ranges), place)
    check_axes(len(view.shape) - len(axes) + count)
    return chosen


def indices_of(entry: Any) -> tuple[Any, ...]:
    """Indices along each axis that an array of a key stands for."""
    if entry.dtype != np.bool_:
        return (entry,)
    if not entry.shape:
        return (np.zeros(int(entry), np.int64),)
    return nonzero(entry) if isinstance(entry, Expr) else np.nonzero(entry)


def _check_masks(shape: Shape, arrays: Sequence[tuple[int, int, Any]]) -> None:
    for _, axis, entry in arrays:
        sizes = entry.shape if entry.dtype == np.bool_ else ()
        for k, (n, m) in enumerate(zip(shape[axis:], sizes, strict=False), axis):
            if m and n != m:
                raise IndexError(
                    f"boolean index did not match indexed array along axis {k}; size of axis is "
                    f"{n} but size of corresponding boolean axis is {m}"
                )


def _place(entries: Sequence[Any], ndim: int) -> int:
    """Where NumPy puts the indices' axes, by its answer for an array of the same structure.

    The place does not depend on how many axes the indices have, so one will do.

    Parameters
    ----------
    entries
        Of the key.
    ndim
        Axes of the array.
    """
    flags = all(not e.shape and e.dtype == np.bool_ for e in entries if _is_array(e))
    index = np.zeros(2, np.intp)
    key: list[Any] = []
    for entry in entries:
        if not _is_array(entry):
            whole = entry is None or entry is Ellipsis
            key.append(entry if whole else 0 if isinstance(entry, int) else slice(None))
        elif entry.dtype == np.bool_ and not entry.shape:
            key.append(not flags)
        else:
            key += [index] * axes_of(entry)
    found = np.empty((1,) * ndim)[tuple(key)].shape
    return next(k for k, n in enumerate(found) if n != 1)


def entries_of(key: Any) -> list[Any]:
    """Entries of a key: None, ``...``, slices, integers, and arrays.

    Raises
    ------
    IndexError
        For what is no index.
    """
    return [_entry(entry) for entry in as_tuple(key)]


def _entry(entry: Any) -> Any:
    if isinstance(entry, bool | np.bool_):
        return np.asarray(entry)
    if not isinstance(entry, Expr) and is_basic((entry,)):
        basic = entry is None or entry is Ellipsis or isinstance(entry, slice)
        return entry if basic else index_of(entry)
    if not _is_array(entry):
        array = np.asarray(entry)
        if array.size and array.dtype.kind not in "biu":
            refuse()
        entry = array if array.size else array.astype(np.intp)
    if entry.dtype.kind not in "biu":
        raise IndexError("arrays used as indices must be of integer (or boolean) type")
    if isinstance(entry, Expr) and not entry.shape:
        (found,) = known([entry], "reading a key")
        return int(found) if found.dtype.kind in "iu" else found
    return entry


def _is_array(entry: Any) -> bool:
    return isinstance(entry, np.ndarray | Expr)


def _is_mask_of(entry: Any, x: Expr) -> bool:
    """Whether an entry is a mask over all elements of an array."""
    return _is_array(entry) and entry.dtype == np.bool_ and entry.shape == x.shape


def _leading_mask(entries: Sequence[Any]) -> Any:
    """The mask, if a key is one over the leading axes, and nothing but basic entries behind it."""
    first, *others = entries
    is_mask = _is_array(first) and first.dtype == np.bool_ and first.shape
    return first if is_mask and not any(map(_is_array, others)) else None


def _part_of(shape: Shape, entries: Sequence[Any], mask: Any) -> Affine:
    """View of all that the entries behind a leading mask show."""
    return view_of_key(shape, (*[slice(None)] * len(mask.shape), *entries[1:]))


def _masked(x: Expr, entries: Sequence[Any], mask: Any) -> tuple[Expr, Expr]:
    """The mask as a node, and what it is a mask of: ``a[m, 1]`` is ``a[:, 1][m]``."""
    part = _part_of(x.shape, entries, mask)
    return _as_node(mask, x), view_of(x, part)


def _as_node(mask: Any, x: Expr) -> Expr:
    """Mask over the leading axes as a node, checked unless it has no elements."""
    if 0 not in mask.shape:
        _check_masks(x.shape, [(0, 0, mask)])
    return mask if isinstance(mask, Expr) else replicated_host(mask, x.world)
