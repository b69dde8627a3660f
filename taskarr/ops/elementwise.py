"""Elementwise nodes: NumPy's ufuncs from one table, casts, and selections of two."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from scheduler import World
from scheduler.comm.where import user_place
from taskarr import faults
from taskarr.evaluate import run
from taskarr.expr import Elementwise, Expr, keep_order, same_world
from taskarr.geometry.view import broadcast_shapes
from taskarr.kernel.functions import CAST, SELECT, Function, ufunc
from taskarr.ops.operands import (
    SCALARS,
    checked_dtype,
    iteration_layout,
    replicated_host,
)

SPELLINGS: dict[str, np.ufunc] = {
    name: found
    for name, found in sorted(vars(np).items())
    if isinstance(found, np.ufunc) and found.signature is None
}
"""NumPy's elementwise ufuncs by each name that NumPy gives them."""

UFUNCS: dict[str, np.ufunc] = {found.__name__: found for found in SPELLINGS.values()}
"""NumPy's elementwise ufuncs, each under its own name."""

FUNCTIONS: dict[str, Function] = {
    name: ufunc(name) for name, found in UFUNCS.items() if found.nout == 1
}


def apply(name: str, operands: Sequence[Any]) -> Expr:
    """Node of a ufunc of arrays and scalars.

    Parameters
    ----------
    name
        One of `UFUNCS`, with one output.
    operands
        Expressions, Python scalars (weak, NEP 50), NumPy scalars and arrays.

    Raises
    ------
    TypeError, ValueError, OverflowError
        As NumPy for these dtypes, shapes and scalars.
    """
    found = UFUNCS[name](*[empty_like(x) for x in operands])
    dtype = checked_dtype(found.dtype)
    node = combined(FUNCTIONS[name], operands, dtype)
    if name == "power":
        check_power(node, dtype, operands)
    return node


def check_power(node: Expr, dtype: np.dtype, operands: Sequence[Any]) -> None:
    """Run a power of integers, so that a negative exponent raises where NumPy's does.

    Parameters
    ----------
    node
        Of the power.
    dtype
        In which it is computed.
    operands
        Base and exponent.
    """
    if dtype.kind == "i" and _may_be_negative(operands[1]):
        run([node], "power")


def _may_be_negative(exponent: Any) -> bool:
    if isinstance(exponent, Expr):
        return exponent.dtype.kind not in "bu"
    return bool(np.any(np.less(exponent, 0)))


def copied(x: Expr) -> Expr:
    """Node of its own with the same elements."""
    return combined(CAST, [x], x.dtype)


def cast(x: Expr, dtype: Any, casting: str = "unsafe") -> Expr:
    """Node with the elements as another dtype."""
    wanted = np.dtype(dtype)
    allowed: Any = np.can_cast
    loses = x.dtype.kind == "c" and wanted.kind in "iuf" and allowed(x.dtype, wanted, casting)
    if loses:
        faults.warn(np.exceptions.ComplexWarning(LOST), user_place(), x.world.rank)
    else:
        wanted = np.empty(0, x.dtype).astype(dtype, casting=casting).dtype  # type: ignore[call-overload]
    dtype = checked_dtype(wanted)
    if dtype == x.dtype:
        return x
    node = combined(CAST, [x], dtype)
    if _may_fail(x.dtype, dtype):
        run([node], "astype")  # which raises where NumPy does, for text that is no such value
    return node


def _may_fail(source: np.dtype, target: np.dtype) -> bool:
    """Whether a cast depends on the values: text and bytes as numbers, dates as short text."""
    if source.kind in "mM":
        generic = target.kind in "mM" and np.datetime_data(target)[0] == "generic"
        return generic or target.kind in "SUV"
    return (source.kind in "SU" and target.kind != source.kind) or source.kind == "V"


LOST = "Casting complex values to real discards the imaginary part"


def select(
    condition: Any, x: Any, y: Any, dtype: np.dtype | None = None, world: World | None = None
) -> Expr:
    """Node with ``x`` where the condition is true and ``y`` elsewhere.

    ``dtype`` overrides NumPy's common dtype of ``x`` and ``y``; ``world`` is that of the result
    if no operand is an expression.
    """
    if dtype is None:
        empty = [empty_like(v) for v in (condition, x, y)]
        dtype = checked_dtype(np.where(*empty).dtype)
    if isinstance(condition, Expr):
        condition = cast(condition, np.bool_)
    else:
        condition = np.asarray(condition, np.bool_)[()]
    blank = np.zeros((), dtype)  # numpy.where wraps integers that don't fit; it knows how
    with faults.at_once("cast"):
        x, y = (np.where(True, v, blank)[()] if type(v) in SCALARS else v for v in (x, y))
    return combined(SELECT, [condition, x, y], dtype, world)


def combined(
    function: Function, operands: Sequence[Any], dtype: np.dtype, world: World | None = None
) -> Expr:
    """Node of an elementwise function whose result dtype is known.

    Parameters
    ----------
    function
        Of the operands.
    operands
        Expressions, scalars, NumPy arrays.
    dtype
        Of the result.
    world
        That of the result, if no operand is an expression.
    """
    known = [x for x in operands if isinstance(x, Expr)]
    world = same_world(known) if known or world is None else world
    inputs, args, order = [], [], []
    for x in operands:
        if type(x) in SCALARS or (isinstance(x, np.generic) and x.ndim == 0):
            args.append(x)
            order.append("s")
        else:
            inputs.append(x if isinstance(x, Expr) else replicated_host(np.asarray(x), world))
            order.append("x")
    if not inputs:
        inputs.append(replicated_host(np.asarray(args.pop(0)), world))
        order[0] = "x"
    shape = _shape(inputs, operands)
    layout = iteration_layout(inputs, shape, dtype.itemsize, world)
    op = Elementwise(function, tuple(order))
    return keep_order(Expr(op, tuple(inputs), dtype, layout, world, tuple(args)), inputs)


def _shape(inputs: Sequence[Expr], operands: Sequence[Any]) -> tuple[int, ...]:
    shapes = [x.shape for x in inputs]
    if all(shape == shapes[0] for shape in shapes):
        return shapes[0]
    try:
        return broadcast_shapes(*shapes)
    except ValueError:
        _check_local(inputs, operands)
        text = " ".join(map(str, shapes)).replace(", ", ",")
        raise ValueError(f"operands could not be broadcast together with shapes {text}") from None


def _check_local(inputs: Sequence[Expr], operands: Sequence[Any]) -> None:
    """Raise ValueError if a NumPy operand is just as large as this rank's brick of an array."""
    for x in inputs:
        box = None if x.layout.replicated else x.layout.brick(x.world.rank)
        part = None if box is None else tuple(hi - lo for lo, hi in box)
        for host in operands:
            if isinstance(host, np.ndarray) and host.shape == part != x.shape:
                raise ValueError(
                    f"a NumPy array of shape {part} does not broadcast with an array of shape "
                    f"{x.shape}, of which this rank owns as many elements; a NumPy operand is "
                    "whole and the same on all ranks: make one array of the ranks' pieces with "
                    "taskarr.from_local(piece)"
                )


@lru_cache(256)
def _empty_of(dtype: np.dtype) -> np.ndarray:
    return np.empty(0, dtype)


def empty_like(x: Any) -> Any:
    """What stands for an operand when NumPy is asked for a dtype: no elements, or the scalar."""
    if isinstance(x, Expr):
        return _empty_of(x.dtype)
    if type(x) in (float, complex):
        return type(x)()  # the dtype does not depend on the value, and a huge one would warn here
    if type(x) in SCALARS:
        return x
    x = np.asarray(x)
    return x[()] if x.ndim == 0 else _empty_of(x.dtype)
