"""Elementwise functions as kernels call them: ``run(xp, out, *args)`` fills ``out``."""

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

Run = Callable[..., None]


@dataclass(frozen=True, slots=True)
class Function:
    """An elementwise function.

    Parameters
    ----------
    name
        What it is called in plans and pictures; equal names are equal functions.
    run
        Fills its second argument from the others; the first is the array module.
    """

    name: str
    run: Run


def ufunc(name: str) -> Function:
    """Function that calls the array module's ufunc of this name."""

    def run(xp: ModuleType, out: Any, *args: Any) -> None:
        getattr(xp, name)(*args, out=out)

    return Function(name, run)


def _cast(xp: ModuleType, out: Any, x: Any) -> None:
    xp.copyto(out, x, casting="unsafe")


def _select(xp: ModuleType, out: Any, condition: Any, x: Any, y: Any) -> None:
    xp.copyto(out, y, casting="unsafe")
    xp.copyto(out, x, where=condition, casting="unsafe")


CAST = Function("cast", _cast)
SELECT = Function("select", _select)
