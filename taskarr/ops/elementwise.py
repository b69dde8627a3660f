"""Elementwise operations: NumPy's ufuncs from one table, casts and selections."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from taskarr.evaluate import run
from taskarr.expr import Elementwise, Expr, moved_to, same_world
from taskarr.kernel.functions import CAST, SELECT, Function, ufunc
from taskarr.ops.creation import FILL
from taskarr.ops.operands import (
    SCALARS,
    checked_dtype,
    iteration_layout,
    replicated_host,
)

_NAMES = """
add subtract multiply divide floor_divide remainder fmod power float_power negative
positive absolute fabs sign reciprocal square sqrt cbrt hypot exp exp2 expm1 log log2
log10 log1p logaddexp logaddexp2 sin cos tan arcsin arccos arctan arctan2 sinh cosh tanh
arcsinh arccosh arctanh degrees radians deg2rad rad2deg floor ceil trunc rint maximum
minimum fmax fmin copysign nextafter spacing heaviside equal not_equal less less_equal
greater greater_equal logical_and logical_or logical_xor logical_not bitwise_and
bitwise_or bitwise_xor invert left_shift right_shift gcd lcm isfinite isinf isnan isnat
signbit conjugate
"""

UFUNCS = tuple(_NAMES.split())
"""Names of the ufuncs with one result that NumPy and taskarr share."""

FUNCTIONS: dict[str, Function] = {name: ufunc(name) for name in UFUNCS}

_POWERS = {-1: "reciprocal", 0.5: "sqrt", 1: "positive", 2: "square"}


def apply(name: str, operands: Sequence[Any]) -> Expr:
    """Node of a ufunc of arrays and scalars.

    Parameters
    ----------
    name
        One of `UFUNCS`.
    operands
        Expressions, Python scalars (weak, NEP 50), NumPy scalars and arrays.

    Raises
    ------
    TypeError, ValueError, OverflowError
        As NumPy for these dtypes, shapes and scalars.
    """
    sample = _sample(getattr(np, name), operands)
    node = combined(FUNCTIONS[name], operands, sample)
    if name == "power" and sample.kind == "i" and _may_be_negative(operands[1]):
        run([node], "power")  # which raises where NumPy does, before anything is written
    return node


def _may_be_negative(exponent: Any) -> bool:
    if isinstance(exponent, Expr):
        return exponent.dtype.kind == "i"
    return bool(np.any(np.less(exponent, 0)))


def compared(name: str, operands: Sequence[Any]) -> Expr:
    """Node of ``==`` or ``!=``: what can't be compared is not equal, as NumPy's operators say."""
    try:
        return apply(name, operands)
    except TypeError:
        left, right = (_empty(x) for x in operands)
        found = np.asarray(left == right if name == "equal" else left != right)
        if found.dtype != np.bool_:
            raise
    known = [x for x in operands if isinstance(x, Expr)]
    shape = np.broadcast_shapes(
        *[x.shape if isinstance(x, Expr) else np.shape(x) for x in operands]
    )
    layout = iteration_layout(known, shape, 1, known[0].world)
    fill = np.bool_(name == "not_equal")
    return Expr(FILL, (), np.dtype(np.bool_), layout, known[0].world, (fill,))


def apply_into(name: str, target: Expr, operands: Sequence[Any]) -> Expr:
    """Node of a ufunc whose result replaces ``target``: its dtype, shape and layout.

    Raises
    ------
    TypeError
        When the result can't be cast to the target's dtype by NumPy's rule.
    ValueError
        When it does not have the target's shape.
    """
    getattr(np, name)(*[_empty(x) for x in operands], out=np.empty(0, target.dtype))
    found = apply(name, operands)
    if found.shape != target.shape:
        raise ValueError(
            f"non-broadcastable output operand with shape {target.shape} doesn't match "
            f"the broadcast shape {found.shape}"
        )
    return moved_to(cast(found, target.dtype), target.layout)


def copied(x: Expr) -> Expr:
    """Node of its own with the same elements."""
    return combined(CAST, [x], x.dtype)


def power(base: Expr, exponent: Any) -> Expr:
    """Node of ``base ** exponent``, with NumPy's short cuts for some scalar exponents."""
    if type(exponent) is int and exponent == 2:
        return apply("square", [base])
    if type(exponent) in (int, float) and exponent in _POWERS and base.dtype.kind in "fc":
        return apply(_POWERS[exponent], [base])
    return apply("power", [base, exponent])


def cast(x: Expr, dtype: Any, casting: str = "unsafe") -> Expr:
    """Node with the elements as another dtype."""
    dtype = checked_dtype(np.empty(0, x.dtype).astype(dtype, casting=casting).dtype)  # type: ignore[call-overload]
    if dtype == x.dtype:
        return x
    node = combined(CAST, [x], dtype)
    if x.dtype.kind in "SU" and dtype.kind not in "SU":
        run([node], "astype")  # which raises where NumPy does, for text that is no such value
    return node


def select(condition: Any, x: Any, y: Any, dtype: np.dtype | None = None) -> Expr:
    """Node with ``x`` where the condition is true and ``y`` elsewhere.

    ``dtype`` overrides NumPy's common dtype of ``x`` and ``y``.
    """
    if dtype is None:
        empty = [_empty(v) for v in (condition, x, y)]
        dtype = checked_dtype(np.where(*empty).dtype)
    if isinstance(condition, Expr):
        condition = cast(condition, np.bool_)
    else:
        condition = np.asarray(condition, np.bool_)[()]
    blank = np.zeros((), dtype)  # numpy.where wraps integers that don't fit; it knows how
    x, y = (np.where(True, v, blank)[()] if type(v) in SCALARS else v for v in (x, y))
    return combined(SELECT, [condition, x, y], dtype)


def combined(function: Function, operands: Sequence[Any], dtype: np.dtype) -> Expr:
    """Node of an elementwise function whose result dtype is known."""
    known = [x for x in operands if isinstance(x, Expr)]
    world = same_world(known)
    inputs, args, order = [], [], []
    for x in operands:
        if type(x) in SCALARS or (isinstance(x, np.generic) and x.ndim == 0):
            args.append(x)
            order.append("s")
        else:
            inputs.append(x if isinstance(x, Expr) else replicated_host(np.asarray(x), world))
            order.append("x")
    shape = _shape(inputs)
    layout = iteration_layout(inputs, shape, dtype.itemsize, world)
    return Expr(
        Elementwise(function, tuple(order)), tuple(inputs), dtype, layout, world, tuple(args)
    )


def _shape(inputs: Sequence[Expr]) -> tuple[int, ...]:
    shapes = [x.shape for x in inputs]
    if all(shape == shapes[0] for shape in shapes):
        return shapes[0]
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        text = " ".join(map(str, shapes)).replace(", ", ",")
        raise ValueError(f"operands could not be broadcast together with shapes {text}") from None


@lru_cache(256)
def _empty_of(dtype: np.dtype) -> np.ndarray:
    return np.empty(0, dtype)


def _empty(x: Any) -> Any:
    if isinstance(x, Expr):
        return _empty_of(x.dtype)
    if type(x) in SCALARS:
        return x
    x = np.asarray(x)
    return x[()] if x.ndim == 0 else _empty_of(x.dtype)


def _sample(function: np.ufunc, operands: Sequence[Any]) -> np.dtype:
    """Result dtype, found by asking NumPy with empty arrays, so that its errors are NumPy's."""
    found = function(*[_empty(x) for x in operands])
    return checked_dtype(found.dtype)
