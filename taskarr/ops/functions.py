"""Elementwise functions of NumPy's that are no ufuncs: the kernel calls them tile by tile.

They are NumPy's own, so that values are NumPy's, and so are dtypes and errors, which it is asked
for with empty arrays.
"""

import operator
from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from taskarr.evaluate import collect
from taskarr.expr import Elementwise, Expr, Generate
from taskarr.kernel.functions import Function, computed
from taskarr.ops import ufuncs
from taskarr.ops.elementwise import combined, empty_like, select
from taskarr.ops.operands import checked_dtype

OF_ONE = ("sinc", "i0", "isreal", "iscomplex")
"""Functions of one array and nothing else."""

INTO = ("fix", "isposinf", "isneginf")
"""Functions of one array that take an output."""


def applied(
    name: str,
    operands: Sequence[Any],
    keywords: Mapping[str, Any] | None = None,
    out: Expr | None = None,
    **options: Any,
) -> Expr:
    """Node of a function of NumPy's, each element of which depends on the operands' there.

    Parameters
    ----------
    name
        Of the function.
    operands
        Expressions, scalars and NumPy arrays, in the order in which the function takes them.
    keywords
        More operands, by the names that the function gives them.
    out
        What the result replaces: then the node has its dtype, shape and layout.
    **options
        Keywords that are the same for all elements and all calls of a loop.
    """
    keywords = keywords or {}
    dtype = _dtype_of(getattr(np, name), operands, keywords, options)
    bound = computed(name, options, tuple(keywords))
    node = combined(bound, [*operands, *keywords.values()], dtype)
    if out is None:
        return node
    if out.dtype != dtype:
        np.copyto(np.empty(0, out.dtype), np.empty(0, dtype))  # which checks the cast
    return ufuncs.placed(node, out)


def _dtype_of(
    function: Callable[..., Any],
    operands: Sequence[Any],
    keywords: Mapping[str, Any],
    options: Mapping[str, Any],
) -> np.dtype:
    """Dtype of a function's result; errors as NumPy's, which may look at shapes before dtypes."""
    try:
        empty = [empty_like(x) for x in operands]
        more = {key: empty_like(x) for key, x in keywords.items()}
        return checked_dtype(function(*empty, **more, **options).dtype)
    except TypeError:
        lengths = {0: 0, 1: 1}
        small = [_small(x, lengths) for x in operands]
        function(*small, **{key: _small(x, lengths) for key, x in keywords.items()}, **options)
        raise


def _small(x: Any, lengths: dict[int, int]) -> Any:
    """Stand-in for an operand; like lengths become like small ones, which are broadcast alike."""
    if not isinstance(x, Expr | np.ndarray):
        return x
    shape = [lengths.setdefault(n, len(lengths)) for n in x.shape]
    return np.zeros(shape, x.dtype)


def rounded(x: Expr, decimals: Any, out: Expr | None = None) -> Expr:
    """Node of `numpy.round`, which rounds in the dtype of its output if it is given one."""
    digits = operator.index(decimals)
    if out is None:
        return applied("round", [x], decimals=digits)
    np.round(empty_like(x), digits, out=np.empty(0, out.dtype))  # which checks the casts

    def bind(xp: Any) -> Any:
        return lambda x, out: xp.round(x, digits, out=out)

    into = Function(f"round[decimals={digits}, out]", bind, in_place=False)
    return ufuncs.placed(combined(into, [x], out.dtype), out)


def clipped(
    x: Any,
    low: Any,
    high: Any,
    out: Expr | None = None,
    where: Any = True,
    options: dict[str, Any] | None = None,
) -> Expr:
    """Node of `numpy.clip`; a bound may be None."""
    kind = x.dtype if isinstance(x, Expr) else np.asarray(x).dtype
    if kind.kind in "iu":  # Python integers that are no bound for this dtype
        low = None if type(low) is int and low <= np.iinfo(kind).min else low
        high = None if type(high) is int and high >= np.iinfo(kind).max else high
    bounds = [b for b in (low, high) if b is not None]
    if len(bounds) == 2:
        function: ufuncs.Caller = ufuncs.CLIP
    elif bounds:
        function = np.minimum if low is None else np.maximum
    else:
        function = np.positive
    return ufuncs.call(function, [x, *bounds], (out,), where, options)[0]


def chosen(conditions: Sequence[Any], choices: Sequence[Any], default: Any) -> Expr:
    """Node of `numpy.select`: the first choice whose condition is true, else the default.

    In memory it lies in C order, whatever the choices do.
    """
    empty = [[empty_like(x) for x in part] for part in (conditions, choices)]
    ask: Any = np.select
    dtype = checked_dtype(ask(*empty, empty_like(default)).dtype)
    known = [x for x in (*conditions, *choices, default) if isinstance(x, Expr)]
    found = default
    for condition, choice in zip(reversed(conditions), reversed(choices), strict=True):
        found = select(condition, choice, found, dtype, known[0].world)
    found.order = None
    return found


def is_elementwise(found: Expr, source: Expr) -> bool:
    """Whether each element of a node depends on the source's element there, and on numbers."""
    todo, seen = [found], {id(source)}
    while todo:
        node = todo.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if type(node.op) is Elementwise:
            todo.extend(node.inputs)
        elif not (_is_filled(node) or _is_number(node, source)):
            return False
    return True


def _is_filled(node: Expr) -> bool:
    """Whether a node is one value everywhere."""
    return isinstance(node.op, Generate) and node.op.kind == "fill"


def _is_number(node: Expr, source: Expr) -> bool:
    """Whether a node is one value that does not depend on the source."""
    return prod(node.shape) == 1 and all(x is not source for x in collect([node]))
