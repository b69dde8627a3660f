"""The table of reductions: a row each, most of them of a ufunc."""

from functools import partial as bound
from types import ModuleType
from typing import Any

import numpy as np

from taskarr.faults import note
from taskarr.kernel.reduction import FieldSpec, Row, State
from taskarr.kernel.segments import reduced, row_sums
from taskarr.ops.reductions import locate, moments, truth

Specs = tuple[FieldSpec, ...]


def _one_wide(source: np.dtype, result: np.dtype) -> Specs:
    return (FieldSpec(moments.wide(result)),)


def _one(source: np.dtype, result: np.dtype) -> Specs:
    return (FieldSpec(result),)


def _accumulate(name: str, xp: ModuleType, x: Any, axes: tuple[int, ...], fields: Specs) -> State:
    merged = fields[0].dtype
    if x.dtype == np.bool_ and name == "add" and merged.kind in "iuf" and len(axes) == x.ndim:
        return truth.count(xp, x, axes, fields)
    loop = moments.loop_of(x.dtype, merged)
    other = None if loop == x.dtype else loop  # a ufunc takes no dtype with a time unit
    if len(axes) == x.ndim:
        found = _together(name, xp, x.reshape(-1), FIRST, fields)
        if found is not None:
            return (found.reshape((1,) * x.ndim),)
    found = row_sums(xp, x, axes) if name == "add" and other is None else None
    if found is None:
        found = reduced(getattr(xp, name), x, axes, other)
    return (found if found.dtype == merged else found.astype(merged),)


FIRST = np.zeros(1, np.intp)


def _together(name: str, xp: ModuleType, flat: Any, starts: Any, fields: Specs) -> Any:
    """Sums of runs of elements that begin at ``starts``, in their own dtype; None for others."""
    merged = fields[0].dtype
    if xp is not np or moments.loop_of(flat.dtype, merged) != flat.dtype:
        return None
    return getattr(xp, name).reduceat(flat, starts).astype(merged, copy=False)


def _unsigned(xp: ModuleType, x: Any, axes: tuple[int, ...], fields: Specs) -> State:
    """Largest of int64, read as uint64: a negative one is larger than all others."""
    return (reduced(xp.maximum, x.view(np.uint64), axes),)


def _unsigned_together(xp: ModuleType, flat: Any, starts: Any, fields: Specs) -> Any:
    return xp.maximum.reduceat(flat.view(np.uint64), starts) if xp is np else None


def _fold(name: str, xp: ModuleType, x: Any, axes: tuple[int, ...], fields: Specs) -> State:
    found = reduced(getattr(xp, name), x, axes)
    return (found.astype(fields[0].dtype, copy=False),)


def _combine(name: str, xp: ModuleType, a: State, b: State) -> State:
    return (getattr(xp, name)(a[0], b[0]),)


def _same(xp: ModuleType, state: State, count: int, options: tuple[Any, ...]) -> Any:
    return state[0]


def _sum(xp: ModuleType, state: State, count: int, options: tuple[Any, ...]) -> Any:
    """Sum of everything; the option is whether something that is not zero comes first."""
    return state[0] if options else moments.from_zero(state[0])


def _prod(xp: ModuleType, state: State, count: int, options: tuple[Any, ...]) -> Any:
    """Product of everything; NumPy's begins with one, which matters to infinite complex numbers."""
    return state[0].dtype.type(1) * state[0] if state[0].dtype.kind == "c" else state[0]


def _length(xp: ModuleType, state: State, count: int, options: tuple[Any, ...]) -> Any:
    """Root of the squares of everything; NumPy's begins with zero, so one alone has no sign."""
    return xp.absolute(state[0])


def _number(xp: ModuleType, state: State, count: int, options: tuple[Any, ...]) -> Any:
    if xp.isnan(state[0]).any():
        note("All-NaN slice encountered")
    return state[0]


def _of_ufunc(name: str, ufunc: str, partial: Any = None, finish: Any = _same) -> Row:
    return Row(name, _one, partial or bound(_fold, ufunc), bound(_combine, ufunc), finish)


def _of_sum(name: str, ufunc: str, finish: Any = _same) -> Row:
    partial, together = bound(_accumulate, ufunc), bound(_together, ufunc)
    return Row(name, _one_wide, partial, bound(_combine, ufunc), finish, together=together)


def _of_place(name: str) -> Row:
    return Row(
        name,
        locate.fields,
        bound(locate.partial, name),
        bound(locate.prefer, name),
        locate.index,
        located=True,
    )


UFUNCS = {
    "sum": "add",
    "prod": "multiply",
    "min": "minimum",
    "max": "maximum",
    "any": "logical_or",
    "all": "logical_and",
    "nanmin": "fmin",
    "nanmax": "fmax",
    "fmin": "fmin",
    "fmax": "fmax",
    "logical_xor": "logical_xor",
    "bitwise_and": "bitwise_and",
    "bitwise_or": "bitwise_or",
    "bitwise_xor": "bitwise_xor",
    "logaddexp": "logaddexp",
    "logaddexp2": "logaddexp2",
    "gcd": "gcd",
    "lcm": "lcm",
    "hypot": "hypot",
}
"""Reductions by an associative ufunc, and the ufunc."""

_OWN = (
    _of_sum("sum", "add", _sum),
    _of_sum("prod", "multiply", _prod),
    _of_sum("mean", "add", moments.mean),
    _of_ufunc("nanmin", "fmin", finish=_number),
    _of_ufunc("nanmax", "fmax", finish=_number),
    _of_ufunc("any", "logical_or", truth.some),
    _of_ufunc("all", "logical_and", truth.every),
    *(_of_sum(name, name) for name in ("logaddexp", "logaddexp2")),
    _of_sum("hypot", "hypot", _length),
    Row("count", _one, truth.count, bound(_combine, "add"), _same),
    Row(
        "unsigned max",
        _one,
        _unsigned,
        bound(_combine, "maximum"),
        _same,
        together=_unsigned_together,
    ),
    Row("var", moments.fields, moments.partial, moments.chan, moments.variance),
    Row("std", moments.fields, moments.partial, moments.chan, moments.deviation),
    _of_place("argmin"),
    _of_place("argmax"),
)

ROWS = {name: _of_ufunc(name, ufunc) for name, ufunc in UFUNCS.items()}
ROWS.update({row.name: row for row in _OWN})
