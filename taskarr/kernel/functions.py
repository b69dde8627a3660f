"""Elementwise functions as kernels call them: bound to an array module, the output comes last."""

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

Call = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Function:
    """An elementwise function.

    Parameters
    ----------
    name
        What it is called in plans and pictures; equal names are equal functions.
    bind
        From an array module to a callable ``(*args, out)`` that fills ``out``.
    """

    name: str
    bind: Callable[[ModuleType], Call]


def ufunc(name: str) -> Function:
    """Function that calls the array module's ufunc of this name."""
    if name in ("maximum", "minimum"):  # NumPy deprecates their output as third argument
        return Function(name, lambda xp: _out_by_name(getattr(xp, name)))
    return Function(name, lambda xp: getattr(xp, name))


def _out_by_name(function: Call) -> Call:
    return lambda x, y, out: function(x, y, out=out)


def _cast(xp: ModuleType) -> Call:
    copyto = xp.copyto
    return lambda x, out: copyto(out, x, casting="unsafe")


def _select(xp: ModuleType) -> Call:
    copyto = xp.copyto

    def select(condition: Any, x: Any, y: Any, out: Any) -> None:
        copyto(out, y, casting="unsafe")
        copyto(out, x, where=condition, casting="unsafe")

    return select


CAST = Function("cast", _cast)
SELECT = Function("select", _select)
