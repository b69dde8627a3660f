"""Random arrays: draws from NumPy's distributions, permutations and choices.

An array is drawn by its blocks and so is the same for any number of ranks. Where a location or a
scale is an array, standard values are drawn and then moved and stretched.
"""

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from types import ModuleType
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from scheduler import World
from taskarr.expr import Elementwise, Expr, Generate, moved_to, view_of
from taskarr.geometry.layout import Layout
from taskarr.kernel.functions import Function
from taskarr.kernel.random import Draws, Streams
from taskarr.ops import elementwise, reductions
from taskarr.ops.creation import shape_of
from taskarr.ops.distributions import DISTRIBUTIONS, Distribution
from taskarr.ops.gather import take_rows
from taskarr.ops.keys import view_of_key
from taskarr.ops.known import known
from taskarr.ops.operands import checked_dtype, from_host, layout_for
from taskarr.ops.views import moveaxis

DRAWN = Generate("drawn", costly=True)
SHUFFLED = Generate("shuffled", costly=True)
INDEX = np.dtype(np.int64)
SMALL = 1 << 16
"""Length up to which every rank shuffles the whole, by NumPy's algorithm."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a generator: its world, streams and number.

    Parameters
    ----------
    placing
        Arguments ``split``, ``chunks`` and ``mesh`` of the result that were given.
    """

    world: World
    streams: Streams
    number: int
    placing: Mapping[str, Any]

    def layout(self, shape: tuple[int, ...], dtype: np.dtype) -> Layout:
        """Layout of an array that this call makes."""
        return layout_for(self.world, shape, dtype, **self.placing)

    @property
    def probe(self) -> np.random.Generator:
        """Generator of numbers that nobody uses, which knows NumPy's errors."""
        return self.streams.generator

    def host(self) -> np.random.Generator:
        """Generator of numbers that every rank draws alike."""
        return self.streams.of_call(self.number)


def drawn(call: Call, name: str, given: dict[str, Any]) -> Any:
    """Values of a distribution.

    Parameters
    ----------
    name
        One of `DISTRIBUTIONS`.
    given
        Arguments by name: parameters, ``size``, options. Arrays are expressions.

    Returns
    -------
    Expr or scalar
        A scalar, the same on all ranks, if there is no size and no parameter is an array.

    Raises
    ------
    ValueError, TypeError
        As NumPy for parameters outside the distribution's range, and sizes that don't fit.
    NotImplementedError
        For an array where only a scalar is supported.
    """
    row = DISTRIBUTIONS[name]
    values = [_value(given[key]) for key in row.parameters]
    options = {key: given[key] for key in row.options or () if key != "out"}
    shapes = [v.shape for v in values if _is_array(v)]
    if shapes:
        return _stretched(call, row, values, _common(shapes, given["size"]))
    if given["size"] is None:
        return getattr(call.host(), name)(*values, **options)
    sample = getattr(call.probe, name)(*values, size=1, **options)  # whose errors are NumPy's
    shape = shape_of(given["size"])
    if row.form:
        own, moved = _divided(row, values)
        standard = _draw(call, row.form.standard, own, {}, shape, sample.dtype)
        return row.form.make(standard, *map(float, moved))
    return _draw(call, name, values, options, shape, sample.dtype)


def _draw(
    call: Call,
    method: str,
    parameters: Sequence[Any],
    options: dict[str, Any],
    shape: tuple[int, ...],
    dtype: np.dtype,
) -> Expr:
    layout = call.layout(shape, dtype)
    bounds = tuple(tuple(axis.bounds.tolist()) for axis in layout.axes)
    draws = Draws(bounds, method, tuple(parameters), tuple(options.items()))
    args = (draws, call.streams.key, call.number)
    return Expr(DRAWN, (), dtype, layout, call.world, args)


def _value(x: Any) -> Any:
    """Parameter as an expression, a NumPy array, or a scalar; arrays of no axes are scalars."""
    if isinstance(x, Expr):
        return x if x.shape else scalar(x)
    if x is None or isinstance(x, int | float | complex | np.generic):
        return x
    found = np.asarray(x)
    return found if found.shape else found[()]


def _is_array(x: Any) -> bool:
    return isinstance(x, Expr | np.ndarray)


def scalar(x: Expr) -> Any:
    """Value of an array of no axes, on every rank. Collective."""
    return known([x], "a random parameter")[0].item()


def _common(shapes: Sequence[tuple[int, ...]], size: Any) -> tuple[int, ...]:
    """Shape of the result of array parameters."""
    if size is None:
        return np.broadcast_shapes(*shapes)
    wanted = shape_of(size)
    if np.broadcast_shapes(*shapes, wanted) != wanted:
        raise ValueError(
            f"Output size {wanted} is not compatible with broadcast dimensions of inputs "
            f"{np.broadcast_shapes(*shapes)}."
        )
    return wanted


def _divided(row: Distribution, values: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
    """Parameters of the standard distribution, and those that move and stretch its values."""
    assert row.form is not None
    standard = DISTRIBUTIONS[row.form.standard]
    own = 0 if row.form.standard == row.name else len(standard.parameters)
    return values[:own], values[own:]


def _stretched(
    call: Call, row: Distribution, values: Sequence[Any], shape: tuple[int, ...]
) -> Expr:
    """Values of a distribution of which some parameters are arrays."""
    own, moved = _divided(row, values) if row.form else (values, ())
    if row.form is None or any(map(_is_array, own)):
        raise NotImplementedError(
            f"{row.name}(): an array as {' or '.join(row.parameters)}; only locations and scales "
            "can be arrays, as of normal() and uniform(); give scalars, or draw each rank's part "
            "with NumPy and join them by from_local(), if numbers may depend on the ranks"
        )
    moved = [_float(x) for x in moved]
    least = _least(row.form.spread(*moved))
    locations = (0.0,) * (len(moved) - 1)
    sample = getattr(call.probe, row.name)(*own, *locations, least, size=1)
    standard = _draw(call, row.form.standard, own, {}, shape, sample.dtype)
    found = row.form.make(standard, *moved)
    return moved_to(found, standard.layout) if call.placing else found


def _float(x: Any) -> Any:
    if isinstance(x, Expr):
        return elementwise.cast(x, np.float64, "safe")
    return x.astype(np.float64, casting="safe") if isinstance(x, np.ndarray) else float(x)


def _least(x: Any) -> Any:
    """The least element, NaN if there is one; 1 of nothing. Collective for an expression."""
    if isinstance(x, Expr):
        return scalar(reductions.reduce("min", x)) if prod(x.shape) else 1.0
    return np.min(x) if np.size(x) else 1.0


def shuffled(call: Call, count: int, shape: tuple[int, ...]) -> Expr:
    """The first elements, as many as the shape has, of a random order of ``range(count)``."""
    layout = call.layout(shape, INDEX)
    if count <= SMALL:
        order = call.host().permutation(count)[: prod(shape)]
        return from_host(order.reshape(shape), layout, call.world)
    args = (call.streams.key, call.number, count)
    return Expr(SHUFFLED, (), INDEX, layout, call.world, args)


def permutation(call: Call, x: Any, axis: int) -> Expr:
    """A random order of ``range(x)``, or of what an array has along an axis."""
    if isinstance(x, int | np.integer):
        count = max(int(x), 0)
        return shuffled(call, count, (count,))
    pool = x if isinstance(x, Expr) else np.asarray(x)
    along = normalize_axis_index(axis, len(pool.shape))
    return _selected(call, pool, along, lambda here, count: shuffled(here, count, (count,)))


def choice(call: Call, a: Any, given: dict[str, Any]) -> Any:
    """Random elements of a range, or of what an array has along an axis.

    Parameters
    ----------
    a
        An integer, a NumPy array or what it makes one of, or an expression.
    given
        ``size``, ``replace``, ``p``, ``axis``, ``shuffle`` as NumPy has them.

    Raises
    ------
    ValueError, TypeError
        As `numpy.random.Generator.choice`.
    """
    pool = _value(a)
    if not _is_array(pool):
        return _picked(call, pool, given)
    axis, ndim = operator.index(given["axis"]), len(pool.shape)
    if not -ndim <= axis < ndim:
        raise IndexError(f"choice() along axis {axis} of an array of {ndim} axes")
    return _selected(call, pool, axis % ndim, lambda here, count: _picked(here, count, given))


def _picked(call: Call, count: Any, given: dict[str, Any]) -> Any:
    """Indices below ``count``: a number if there is no size, else an expression."""
    size, replace, p = given["size"], given["replace"], given["p"]
    if isinstance(p, Expr):
        raise NotImplementedError("choice(p=...) of a distributed array; give p.numpy()")
    if size is None:
        return call.host().choice(count, replace=replace, p=p)
    shape = shape_of(size)
    call.probe.choice(count, min(prod(shape), 1), replace=replace, p=p)  # whose errors are NumPy's
    count = operator.index(count)
    if replace and p is None:
        return _draw(call, "integers", (0, max(count, 1)), {}, shape, INDEX)
    if replace:
        uniform = _draw(call, "random", (), {}, shape, np.dtype(np.float64))
        ends = np.cumsum(p, dtype=np.float64)
        return _looked_up(SEARCH, uniform, ends / ends[-1], INDEX)
    if prod(shape) > count:
        raise ValueError("Cannot take a larger sample than population when replace is False")
    if p is None:
        return shuffled(call, count, shape)
    found = call.host().choice(count, shape, replace=False, p=p, shuffle=given["shuffle"])
    return from_host(found, call.layout(shape, INDEX), call.world)


def _selected(call: Call, pool: Any, axis: int, picked: Callable[[Call, int], Any]) -> Any:
    """What an array has along an axis at random indices."""
    count = pool.shape[axis]
    if isinstance(pool, np.ndarray) and pool.ndim == 1:
        index = picked(call, count)
        if not isinstance(index, Expr):
            return pool[index]
        return _looked_up(TAKE, index, pool.copy(), checked_dtype(pool.dtype))
    source = pool if isinstance(pool, Expr) else _distributed(pool, call.world)
    index = picked(replace(call, placing={}), count)
    if not isinstance(index, Expr):
        key = (slice(None),) * axis + (int(index),)
        return view_of(source, view_of_key(source.shape, key))
    found = _taken(source, index, axis)
    return moved_to(found, call.layout(found.shape, found.dtype)) if call.placing else found


def _distributed(x: np.ndarray, world: World) -> Expr:
    checked_dtype(x.dtype)
    return from_host(x, layout_for(world, x.shape, x.dtype), world)


def _taken(x: Expr, index: Expr, axis: int) -> Expr:
    """Elements of an array along an axis; the axes of the index stand in its place."""
    rows = take_rows(view_of(x, moveaxis(x.shape, axis, 0)), index)
    first = range(len(index.shape))
    return view_of(rows, moveaxis(rows.shape, first, [axis + k for k in first]))


def shuffle(call: Call, x: Expr, axis: int) -> Expr:
    """The array with what it has along an axis in random order, in its own layout."""
    along = normalize_axis_index(axis, len(x.shape))
    count = x.shape[along]
    return moved_to(_taken(x, shuffled(call, count, (count,)), along), x.layout)


def _looked_up(function: Function, index: Expr, table: np.ndarray, dtype: np.dtype) -> Expr:
    """Elementwise function of an array and a table that every rank has."""
    op = Elementwise(function, ("x", "s"))
    return Expr(op, (index,), dtype, index.layout, index.world, (table,))


def _search(xp: ModuleType) -> Callable[..., None]:
    def search(x: Any, table: Any, out: Any) -> None:
        out[...] = xp.searchsorted(xp.asarray(table), x, "right")

    return search


def _take(xp: ModuleType) -> Callable[..., None]:
    def take(index: Any, table: Any, out: Any) -> None:
        out[...] = xp.asarray(table)[index]

    return take


SEARCH = Function("random.search", _search)
TAKE = Function("random.take", _take)
