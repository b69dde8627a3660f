"""Calls of ufuncs with everything NumPy lets stand in one: outputs, masks, dtypes, casting."""

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from scheduler import World
from taskarr.expr import Expr, filled, moved_to, same_world, view_of
from taskarr.geometry.view import broadcast, broadcast_shapes
from taskarr.kernel.functions import Bind, Function, named, ufunc, variant
from taskarr.ops.creation import memory_order
from taskarr.ops.elementwise import (
    FUNCTIONS,
    UFUNCS,
    apply,
    cast,
    check_power,
    combined,
    copied,
    empty_like,
)
from taskarr.ops.operands import checked_dtype, expanded, iteration_layout, strong

Options = dict[str, Any]

_POWERS = {-1: "reciprocal", 0.5: "sqrt", 1: "positive", 2: "square"}
_SHAPING = ("order", "subok")
"""Keywords that say how NumPy makes its result, and change no value."""


class Clip:
    """The ufunc behind `numpy.clip`, which has no public name of its own."""

    __name__ = "clip"
    nin, nout = 3, 1

    def __call__(self, *operands: Any, **options: Any) -> Any:
        """Call `numpy.clip`."""
        return np.clip(*operands, **options)


CLIP = Clip()
Caller = np.ufunc | Clip


def call(
    function: Caller,
    operands: Sequence[Any],
    outs: Sequence[Expr | None] = (),
    where: Any = True,
    options: Options | None = None,
) -> tuple[Expr, ...]:
    """Nodes of a ufunc's outputs.

    Parameters
    ----------
    function
        NumPy's ufunc, or anybody's of that type.
    operands
        Expressions, Python scalars, NumPy scalars and arrays.
    outs
        Per output what it replaces, or None: then the node has its dtype, shape and layout.
    where
        Mask that is broadcast with the operands. Elsewhere an output keeps what it had, or is
        zero if it replaces nothing.
    options
        NumPy's other keywords: ``dtype``, ``casting``, ``signature``, ``order``, ``subok``.

    Raises
    ------
    TypeError, ValueError, OverflowError
        As NumPy for these dtypes, shapes and scalars.
    """
    outs = tuple(outs) or (None,) * function.nout
    if where is True and not options and _is_plain(function, operands, outs):
        return (_plain(function.__name__, operands, outs[0]),)
    options = {key: value for key, value in (options or {}).items() if value is not None}
    mask = _mask_of(where)
    dtypes = _asked(function, operands, outs, mask, options)
    world = same_world([x for x in (*operands, *outs, mask) if isinstance(x, Expr)])
    found = []
    for number, (out, dtype) in enumerate(zip(outs, dtypes, strict=True)):
        bound = _bound(function, number, mask is not True, options, world)
        node = _output(bound, operands, dtype, out, mask, world)
        if options.get("order") in ("C", "F"):
            node.order = memory_order(options["order"], node.shape)
        if function is np.power:
            check_power(node, dtype, operands)
        found.append(node if out is None else placed(node, out))
    return _of_one_shape(found, outs)


def _of_one_shape(found: Sequence[Expr], outs: Sequence[Expr | None]) -> tuple[Expr, ...]:
    """Outputs of a call, all of which have the shape that they are broadcast to together."""
    shape = broadcast_shapes(*[x.shape for x in found])
    for x, out in zip(found, outs, strict=True):
        if out is not None and x.shape != shape:
            raise _unfit(x.shape, shape)
    return tuple(
        x if x.shape == shape else copied(view_of(x, broadcast(x.shape, shape))) for x in found
    )


def _unfit(target: tuple[int, ...], shape: tuple[int, ...]) -> ValueError:
    return ValueError(
        f"non-broadcastable output operand with shape {target} doesn't match the broadcast shape "
        f"{shape}"
    )


def _output(
    function: Function,
    operands: Sequence[Any],
    dtype: np.dtype,
    out: Expr | None,
    mask: Any,
    world: World,
) -> Expr:
    """Node of one output; under a mask in the dtype of what it replaces, whose values it keeps."""
    if mask is True:
        return combined(function, operands, dtype, world)
    kept: Any = out
    if out is None:  # a scalar of text does not keep its width
        kept = np.zeros((), dtype) if dtype.kind in "SU" else np.zeros((), dtype)[()]
    return combined(function, [*operands, mask, kept], kept.dtype, world)


def _is_plain(function: Caller, operands: Sequence[Any], outs: Sequence[Expr | None]) -> bool:
    """Whether a call is just a node, and perhaps a cast: so are most, and they shall be quick.

    A power into an output is not: whether it can be cast is known before whether it fails.
    Nor is text that is repeated, whose width only the output tells.
    """
    if len(outs) != 1 or UFUNCS.get(function.__name__) is not function:
        return False
    if outs[0] is not None and (function is np.power or _is_repeated(function, outs[0])):
        return False
    return any(isinstance(x, Expr) for x in operands)


def _is_repeated(function: Caller, out: Expr | None) -> bool:
    """Whether a call repeats text: NumPy has no width for it but that of the output."""
    return function is np.multiply and out is not None and out.dtype.kind in "SU"


def _plain(name: str, operands: Sequence[Any], out: Expr | None) -> Expr:
    """Node of a call with nothing but operands and an output."""
    try:
        node = apply(name, operands)
    except ValueError:
        if out is not None:  # NumPy looks at dtypes before it looks at shapes
            _check_cast(name, operands, out)
        raise
    if out is None:
        return node
    if out.dtype != node.dtype:
        _check_cast(name, operands, out)
    return placed(node, out)


def _check_cast(name: str, operands: Sequence[Any], out: Expr) -> None:
    """Raise NumPy's TypeError when a result can't be cast to the dtype of its output."""
    UFUNCS[name](*[empty_like(x) for x in operands], out=np.empty(0, out.dtype))


def _mask_of(where: Any) -> Any:
    """Mask as an expression or a NumPy value; True for none."""
    if where is True or isinstance(where, Expr | np.ndarray | np.generic):
        return True if where is np.True_ else where
    return np.asarray(where, np.bool_)[()]


def _asked(
    function: Caller,
    operands: Sequence[Any],
    outs: Sequence[Expr | None],
    mask: Any,
    options: Options,
) -> list[np.dtype]:
    """Dtypes that NumPy computes the outputs in, found by asking it with empty arrays."""
    empty = [empty_like(x) for x in operands]
    if mask is not True:
        options = {**options, "where": empty_like(mask)}
    if outs[0] is not None and _is_repeated(function, outs[0]):
        return [function(*empty, **options, out=np.empty(0, outs[0].dtype)).dtype]
    if function.nout > 1:
        results = function(*empty, **options, out=(None,) * function.nout)
    else:
        results = (function(*empty, **options, out=None),)
    dtypes = [checked_dtype(x.dtype) for x in results]
    if any(out is not None and out.dtype != d for out, d in zip(outs, dtypes, strict=True)):
        places = tuple(None if out is None else np.empty(0, out.dtype) for out in outs)
        function(*empty, **options, out=places)  # which checks that results can be cast
    return dtypes


def _bound(function: Caller, number: int, masked: bool, options: Options, world: World) -> Function:
    """Kernel function of one output of a call."""
    name, find = known_as(function, world)
    kept = {key: value for key, value in options.items() if key not in _SHAPING}
    if "dtype" in kept:
        kept["dtype"] = np.dtype(kept["dtype"])
    if function.nout == 1 and not masked and not kept and function is not CLIP:
        return FUNCTIONS[name] if name in FUNCTIONS else ufunc(name, find)
    return variant(name, find, (number, function.nout), masked, kept)


def known_as(function: Caller, world: World) -> tuple[str, Bind]:
    """Name of a ufunc that no other one has, and how an array module's is found.

    Ufuncs that are not NumPy's are numbered in the order in which this world meets them, which
    is the same on all ranks.
    """
    name = function.__name__
    if function is CLIP or UFUNCS.get(name) is function:
        return name, named(name)
    met = world.state.setdefault("ufuncs", [])
    if not any(other is function for other in met):
        met.append(function)
    number = next(k for k, other in enumerate(met) if other is function)
    return f"{name}#{number}", lambda xp: function


def placed(found: Expr, target: Expr) -> Expr:
    """Node of a result that replaces a target: its dtype, shape and layout.

    Raises
    ------
    ValueError
        When the result can't be broadcast to the target's shape.
    """
    if found.shape != target.shape:
        try:
            view = broadcast(found.shape, target.shape)
        except ValueError:
            raise _unfit(target.shape, found.shape) from None
        found = view_of(found, view)
    if found.dtype != target.dtype:
        found = cast(found, target.dtype)
    return moved_to(found, target.layout)


def apply_into(name: str, target: Expr, operands: Sequence[Any]) -> Expr:
    """Node of a ufunc whose result replaces ``target``: its dtype, shape and layout.

    Raises
    ------
    TypeError
        When the result can't be cast to the target's dtype by NumPy's rule.
    ValueError
        When it can't be broadcast to the target's shape.
    """
    return call(UFUNCS[name], operands, (target,))[0]


def outer_operands(function: Caller, operands: Sequence[Any]) -> list[Any]:
    """Operands of ``ufunc.outer`` as broadcasting wants them: the first with more axes.

    NumPy makes arrays of both, so that numbers count with the dtypes of arrays.

    Raises
    ------
    ValueError
        When the ufunc does not take two operands.
    """
    if function.nin != 2:
        raise ValueError("outer product only supported for binary functions")
    first, second = map(strong, operands)
    more = len(second.shape) if isinstance(second, Expr) else np.ndim(second)
    return [expanded(first, tuple(range(-more, 0))) if more else first, second]


def _shortcuts(dtype: np.dtype, exponent: float) -> Sequence[float]:
    """Exponents that NumPy has a short cut for; fewer of floating-point ones of complex numbers."""
    if dtype.kind == "c" and type(exponent) is float:
        return (0.5, 1.0)
    return tuple(_POWERS) if dtype.kind in "fc" else ()


def power(base: Expr, exponent: Any) -> Expr:
    """Node of ``base ** exponent``, with NumPy's short cuts for some scalar exponents."""
    if type(exponent) is int and exponent == 2:
        return apply("square", [base])
    if type(exponent) in (int, float) and exponent in _shortcuts(base.dtype, exponent):
        return apply(_POWERS[exponent], [base])
    return apply("power", [base, exponent])


_EQUALITIES: dict[str, Callable[[Any, Any], Any]] = {
    "equal": operator.eq,
    "not_equal": operator.ne,
}


def _structures(name: str) -> Function:
    """Function of two structures; NumPy compares their fields, but has no ufunc for it."""
    same = _EQUALITIES[name]
    return Function(f"{name} structures", lambda xp: lambda x, y, out: xp.copyto(out, same(x, y)))


STRUCTURES = {name: _structures(name) for name in _EQUALITIES}


def compared(name: str, operands: Sequence[Any]) -> Expr:
    """Node of ``==`` or ``!=``: what can't be compared is not equal, as NumPy's operators say."""
    try:
        return apply(name, operands)
    except TypeError:
        found = np.asarray(_EQUALITIES[name](*[empty_like(x) for x in operands]))
        if found.dtype != np.bool_:
            raise
        if all(np.dtype(getattr(x, "dtype", object)).kind == "V" for x in operands):
            return combined(STRUCTURES[name], operands, found.dtype)
    known = [x for x in operands if isinstance(x, Expr)]
    shape = broadcast_shapes(*[x.shape if isinstance(x, Expr) else np.shape(x) for x in operands])
    layout = iteration_layout(known, shape, 1, known[0].world)
    fill = np.bool_(name == "not_equal")
    return filled(fill, layout, known[0].world)
