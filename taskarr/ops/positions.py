"""Positions in an array: indices along an axis, and flat ones in C order."""

from math import prod
from typing import Any

import numpy as np

from scheduler import World
from taskarr.expr import Expr, view_of
from taskarr.geometry.flat import flat_of, has_blocks_of_rows
from taskarr.geometry.layout import Layout
from taskarr.ops.creation import Placement
from taskarr.ops.elementwise import apply, cast
from taskarr.ops.gather import checked_index, gather, scatter
from taskarr.ops.keys import view_of_key
from taskarr.ops.operands import layout_for, replicated_host
from taskarr.ops.patterns import INDEX, index_along
from taskarr.ops.reshape import reshaped
from taskarr.ops.views import expand_dims

Shape = tuple[int, ...]
_MODES = ("clip", "wrap", "raise")


def mode_of(mode: Any) -> str:
    """Mode for indices out of range: ``"raise"``, ``"wrap"`` or ``"clip"``; errors are NumPy's."""
    np.zeros(1).take([0], mode=mode)  # which knows how modes are spelled
    return mode if isinstance(mode, str) else _MODES[mode]


def as_index(given: Any, casting: Any = "same_kind") -> Any:
    """Index array as int64: an expression, or an array of NumPy.

    Raises
    ------
    TypeError
        When an array's dtype can't be cast so.
    """
    if isinstance(given, Expr):
        np.empty(0, given.dtype).astype(INDEX, casting=casting)
        return cast(given, INDEX)
    if isinstance(given, np.ndarray | np.generic):
        return np.asarray(given).astype(INDEX, casting=casting)
    return np.array(given, INDEX)


def bounded(index: Any, length: int, axis: int, mode: str, world: World) -> Expr:
    """Node of an index in range and not negative.

    Parameters
    ----------
    index
        As `as_index` gives it.
    length, axis
        Of the axis that is indexed.
    mode
        What becomes of an index out of range.

    Raises
    ------
    IndexError
        When one is out of range and the mode is ``"raise"``, on all ranks.
    """
    if mode == "raise":
        index = checked_index(index, length, axis)
    if not isinstance(index, Expr):
        return replicated_host(_bounded(index, length, mode), world)
    if mode == "wrap":
        return apply("remainder", [index, max(1, length)])
    if mode == "clip":
        return apply("minimum", [apply("maximum", [index, 0]), length - 1])
    return index


def _bounded(index: np.ndarray, length: int, mode: str) -> np.ndarray:
    if mode == "wrap":
        return index % max(1, length)
    return np.clip(index, 0, length - 1) if mode == "clip" else index


def flat_index(layout: Layout, world: World) -> Expr:
    """Node of every element's flat index in C order; it is never stored."""
    place = Placement(world)
    found: Expr | None = None
    for axis in range(len(layout.shape)):
        stride = prod(layout.shape[axis + 1 :])
        part = index_along(axis, layout, place, 0, stride)
        found = part if found is None else apply("add", [found, part])
    return replicated_host(np.zeros((), INDEX), world) if found is None else found


def coordinates(flat: Expr, shape: Shape) -> tuple[Expr, ...]:
    """Indices along each axis of the elements at flat indices."""
    found = []
    for axis, n in enumerate(shape):
        inner = prod(shape[axis + 1 :])
        part = flat if inner == 1 else apply("floor_divide", [flat, max(1, inner)])
        found.append(part if axis == 0 else apply("remainder", [part, max(1, n)]))
    return tuple(found)


def is_run(layout: Layout) -> bool:
    """Whether an array can be seen flat where it lies."""
    return layout.replicated or (has_blocks_of_rows(layout) and flat_of(layout) is not None)


def _located(x: Expr, flat: Expr) -> tuple[Expr, tuple[Expr, ...]]:
    """An array, flat if it can be seen so, and indices along all of its axes."""
    if len(x.shape) != 1 and is_run(x.layout):
        x = reshaped(x, (prod(x.shape),))
    return (x, (flat,)) if len(x.shape) == 1 else (x, coordinates(flat, x.shape))


def flat_read(x: Expr, flat: Expr) -> Expr:
    """Elements at flat indices, which are in range."""
    return gather(*_located(x, flat))


def flat_written(x: Expr, flat: Expr, values: Expr) -> Expr:
    """The array with values, broadcast to the indices' shape, at flat indices."""
    return reshaped(scatter(*_located(x, flat), values), x.shape)


def counted(n: int, world: World, start: int = 0, step: int = 1) -> Expr:
    """Node of ``n`` evenly spaced indices."""
    layout = layout_for(world, (n,), INDEX)
    return index_along(0, layout, Placement(world), start, step)


def as_values(given: Any, x: Expr, casting: Any = "unsafe") -> Expr:
    """Values to be written into an array: flat, of its dtype.

    Raises
    ------
    TypeError, ValueError, OverflowError
        As NumPy, when they can't be cast.
    """
    if isinstance(given, Expr):
        np.empty(0, given.dtype).astype(x.dtype, casting=casting)
        return reshaped(cast(given, x.dtype), (prod(given.shape),))
    if isinstance(given, np.ndarray):
        found = given.astype(x.dtype, casting=casting)
    else:
        found = np.array(given, x.dtype)
    return replicated_host(found.reshape(-1), x.world)


def cycled(values: Expr, shape: Shape) -> Expr:
    """Flat values, repeated or cut off to fill a shape in C order; one value as it is."""
    (count,), n = values.shape, prod(shape)
    if count == 1:
        return view_of(values, view_of_key((1,), 0))
    if count >= n:
        return reshaped(view_of(values, view_of_key((count,), slice(n))), shape)
    turns = apply("remainder", [counted(n, values.world), count])
    return reshaped(gather(values, (turns,)), shape)


def line(x: Expr) -> Expr:
    """The array, with one axis if it has none."""
    return x if x.shape else view_of(x, expand_dims((), 0))
