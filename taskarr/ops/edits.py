"""Writing elements: at flat indices, under masks, on diagonals, through the flat array."""

from math import prod
from typing import Any

import numpy as np

from taskarr import faults
from taskarr.expr import Expr, moved_to, view_of
from taskarr.geometry.view import broadcast
from taskarr.ops import advanced, write
from taskarr.ops.creation import Placement
from taskarr.ops.elementwise import apply, empty_like, select
from taskarr.ops.gather import gather
from taskarr.ops.keys import view_of_key
from taskarr.ops.known import KNOWN, everywhere
from taskarr.ops.nonzero import numbered
from taskarr.ops.operands import replicated_host
from taskarr.ops.patterns import index_along
from taskarr.ops.picks import along_axis, truth
from taskarr.ops.positions import (
    as_index,
    as_values,
    bounded,
    counted,
    cycled,
    flat_index,
    flat_read,
    flat_written,
    is_run,
    line,
    mode_of,
)
from taskarr.ops.reshape import reshaped


def put(x: Expr, index: Any, values: Any, mode: Any) -> Expr:
    """The array with values at flat indices, repeated as needed; as `numpy.put`.

    Raises
    ------
    IndexError, TypeError, ValueError
        As NumPy, on all ranks.
    """
    mode, found = mode_of(mode), as_index(index, "safe")
    new, size = as_values(values, x), prod(x.shape)
    if prod(found.shape) and not size:
        raise IndexError("cannot replace elements of an empty array")
    if not prod(found.shape) or not new.shape[0]:
        return x
    flat = bounded(found, size, 0, mode, x.world)
    return flat_written(x, flat, cycled(new, flat.shape))


def put_along_axis(x: Expr, index: Any, values: Any, axis: Any) -> Expr:
    """The array with values at an index of its own in each row; as `numpy.put_along_axis`."""
    flat = reshaped(x, (prod(x.shape),)) if axis is None else x
    found = advanced.written(flat, along_axis(flat, index, axis), values)
    return reshaped(found, x.shape)


def putmask(x: Expr, mask: Expr, values: Any) -> Expr:
    """The array with values where a mask is true; as `numpy.putmask`.

    The element at a flat index gets the value at that index, of values that are repeated.

    Raises
    ------
    ValueError, TypeError
        As NumPy.
    """
    if prod(mask.shape) != prod(x.shape):
        raise ValueError("putmask: mask and data must be the same size")
    shape = values.shape if isinstance(values, Expr) else np.shape(values)
    new = as_values(values, x, "safe")
    if not new.shape[0]:
        return x
    where = reshaped(truth(mask), x.shape)
    return select(where, _filling(new, x, shape), x, x.dtype)


def _filling(values: Expr, x: Expr, shape: tuple[int, ...]) -> Expr:
    """Flat values, which had a shape before, repeated over an array in C order."""
    (count,) = values.shape
    if count == 1 or shape == x.shape:
        return reshaped(values, () if count == 1 else shape)
    if count >= prod(x.shape):
        return cycled(values, x.shape)
    for axis in range(1, len(x.shape)):
        if prod(x.shape[axis:]) == count:
            return reshaped(values, x.shape[axis:])
    if count * values.dtype.itemsize <= KNOWN:
        values = everywhere(values)
    return gather(values, (apply("remainder", [flat_index(x.layout, x.world), count]),))


def place(x: Expr, mask: Expr, values: Any) -> Expr:
    """The array with values, one after the other, where a mask is true; as `numpy.place`.

    Raises
    ------
    ValueError, TypeError
        As NumPy.
    """
    if prod(mask.shape) != prod(x.shape):
        raise ValueError("place: mask and data must be the same size")
    new, where = as_values(values, x, "safe"), reshaped(truth(mask), x.shape)
    if new.shape[0] == 1:
        return select(where, reshaped(new, ()), x, x.dtype)
    (found,) = numbered(line(where), lambda layout: [flat_index(layout, x.world)])
    if not found.shape[0]:
        return x
    if not new.shape[0]:
        raise ValueError("Cannot insert from an empty array!")
    return flat_written(x, found, cycled(new, found.shape))


def copyto(x: Expr, source: Any, casting: Any, where: Any) -> Expr:
    """The array with the source's elements where a mask is true; as `numpy.copyto`.

    Raises
    ------
    TypeError, ValueError
        As NumPy.
    """
    blank = np.empty(0, x.dtype)
    with faults.at_once("cast"):
        np.copyto(blank, empty_like(source), casting=casting)
    given = source if isinstance(source, Expr) or type(source) is int else np.asarray(source)
    mask = where if isinstance(where, np.ndarray | Expr) else np.array(where, np.bool_)
    np.empty(0, mask.dtype).astype(np.bool_, casting="safe")
    try:
        wide = broadcast(mask.shape, x.shape)
    except ValueError:
        raise ValueError(
            f"could not broadcast where mask from shape {mask.shape} into shape {x.shape}"
        ) from None
    found = write.converted(given, x)
    if where is True:
        return found
    node = mask if isinstance(mask, Expr) else replicated_host(mask, x.world)
    return select(view_of(node, wide), found, x, x.dtype)


def fill_diagonal(x: Expr, value: Any, wrap: Any) -> Expr:
    """The array with a value on its main diagonal, or several in turn; `numpy.fill_diagonal`.

    Raises
    ------
    ValueError
        When the array has less than two axes, or more of different lengths.
    """
    shape = x.shape
    if len(shape) < 2:
        raise ValueError("array must be at least 2-d")
    if len(shape) > 2 and len(set(shape)) > 1:
        raise ValueError("All dimensions of input must be of equal length")
    new, size = as_values(value, x), prod(shape)
    step = 1 + sum(prod(shape[k:]) for k in range(1, len(shape)))
    end = size if wrap or len(shape) > 2 else min(size, shape[1] * shape[1])
    count = len(range(0, end, step))
    if not count or not new.shape[0]:
        return x
    if new.shape[0] > 1:
        flat = counted(count, x.world, 0, step)
        return flat_written(x, flat, cycled(new, flat.shape))
    numbers = [index_along(k, x.layout, Placement(x.world)) for k in range(len(shape))]
    if wrap and len(shape) == 2:
        numbers[0] = apply("remainder", [numbers[0], shape[1] + 1])
    on = apply("equal", numbers[:2])
    for other in numbers[2:]:
        on = apply("logical_and", [on, apply("equal", [numbers[0], other])])
    return select(on, reshaped(new, ()), x, x.dtype)


# ---------------------------------------------------------------------- the flat array


def read_slice(x: Expr, picked: range) -> Expr:
    """Elements at evenly spaced flat indices."""
    size = prod(x.shape)
    if is_run(x.layout) or picked == range(size):
        view = view_of_key((size,), _as_slice(picked))
        return view_of(reshaped(x, (size,)), view)
    flat = counted(len(picked), x.world, picked.start, picked.step)
    return flat_read(x, flat)


def write_slice(x: Expr, picked: range, values: Any) -> Expr:
    """The array with values, repeated as needed, at evenly spaced flat indices."""
    new, size = as_values(values, x), prod(x.shape)
    if not len(picked) or not new.shape[0]:
        return x
    new = cycled(new, (len(picked),))
    if picked == range(size):
        whole = view_of(new, broadcast(new.shape, x.shape)) if not new.shape else new
        return moved_to(reshaped(whole, x.shape), x.layout)
    if is_run(x.layout):
        flat, view = reshaped(x, (size,)), view_of_key((size,), _as_slice(picked))
        found = write.put(flat, view, view_of(new, broadcast(new.shape, view.shape)))
        return reshaped(found, x.shape)
    return flat_written(x, counted(len(picked), x.world, picked.start, picked.step), new)


def write_at(x: Expr, index: Any, values: Any) -> Expr:
    """The array with values, repeated as needed, at flat indices."""
    new = as_values(values, x)
    if not prod(index.shape) or not new.shape[0]:
        return x
    flat = bounded(as_index(index), prod(x.shape), 0, "raise", x.world)
    return flat_written(x, flat, cycled(new, flat.shape))


def _as_slice(picked: range) -> slice:
    stop = picked.stop if picked.stop >= 0 else None
    return slice(picked.start, stop, picked.step) if len(picked) else slice(0, 0)
