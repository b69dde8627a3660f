"""Elementwise functions as kernels call them: bound to an array module, the output comes last."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

Call = Callable[..., Any]
Bind = Callable[[ModuleType], Call]


@dataclass(frozen=True, slots=True)
class Function:
    """An elementwise function.

    Parameters
    ----------
    name
        What it is called in plans and pictures; equal names are equal functions.
    bind
        From an array module to a callable ``(*args, out)`` that fills ``out``.
    in_place
        Whether the output may lie in the memory of an operand; not so where it is written in
        several steps.
    """

    name: str
    bind: Bind
    in_place: bool = True


def named(name: str) -> Bind:
    """Binder of the array module's function of this name."""
    return lambda xp: getattr(xp, name)


def ufunc(name: str, find: Bind | None = None) -> Function:
    """Function that calls a ufunc of one output.

    Parameters
    ----------
    name
        Of the ufunc.
    find
        From an array module to the ufunc; by its name for None.
    """
    find = find or named(name)
    if name in ("maximum", "minimum"):  # NumPy deprecates their output as third argument
        return Function(name, lambda xp: _out_by_name(find(xp)))
    return Function(name, find)


def _out_by_name(function: Call) -> Call:
    return lambda x, y, out: function(x, y, out=out)


def variant(
    name: str,
    find: Bind,
    output: tuple[int, int] = (0, 1),
    masked: bool = False,
    options: Mapping[str, Any] | None = None,
) -> Function:
    """Function that calls a ufunc with keywords, for one of its outputs, or where a mask is true.

    Parameters
    ----------
    name
        Of the ufunc.
    find
        From an array module to the ufunc.
    output
        Which output, of how many; the others are dropped.
    masked
        Whether two more arguments stand before the output: the mask, and the values that are
        kept where it is false. There nothing is computed, so nothing can fail.
    options
        Keywords of the call, the same in all calls.
    """
    keywords = dict(options or {})
    number, count = output
    before, after = (None,) * number, (None,) * (count - number - 1)

    def bind(xp: ModuleType) -> Call:
        function, copyto = find(xp), xp.copyto

        def plain(*values: Any) -> None:
            *operands, out = values
            function(*operands, out=(*before, out, *after), **keywords)

        def where(*values: Any) -> None:
            *operands, mask, kept, out = values
            copyto(out, kept, casting="unsafe")
            function(*operands, out=(*before, out, *after), where=mask, **keywords)

        return where if masked else plain

    parts = [f"{key}={value!r}" for key, value in sorted(keywords.items())]
    parts = ([str(number)] if count > 1 else []) + ["where"] * masked + parts
    return Function(f"{name}[{', '.join(parts)}]", bind, in_place=not masked)


def computed(name: str, options: Mapping[str, Any], keywords: tuple[str, ...] = ()) -> Function:
    """Function of the array module that makes its result, and that is copied to the output.

    Parameters
    ----------
    name
        Of a function whose every element depends on the operands' elements there.
    options
        Keywords of the call, the same in all calls.
    keywords
        Names of the last operands, which are given by keyword.
    """
    first = -len(keywords) or None

    def bind(xp: ModuleType) -> Call:
        function, copyto = getattr(xp, name), xp.copyto

        def call(*values: Any) -> None:
            *operands, out = values
            last = dict(zip(keywords, operands[first:], strict=True)) if keywords else {}
            found = function(*operands[:first], **last, **options)
            copyto(out, found, casting="unsafe")

        return call

    parts = [*keywords, *[f"{key}={value!r}" for key, value in sorted(options.items())]]
    return Function(f"{name}[{', '.join(parts)}]", bind)


def _cast(xp: ModuleType) -> Call:
    copyto = xp.copyto

    def cast(x: Any, out: Any) -> None:
        if x.dtype.kind == "c" and out.dtype.kind in "iuf":
            x = x.real  # the user was told when the cast was built
        copyto(out, x, casting="unsafe")

    return cast


def _select(xp: ModuleType) -> Call:
    copyto = xp.copyto
    masks: dict[Any, np.ndarray] = {}

    def select(condition: Any, x: Any, y: Any, out: Any) -> None:
        word = WORDS.get(out.dtype.itemsize) if xp is np else None
        if word is None or not x.dtype == y.dtype == out.dtype or out.dtype.names:
            copyto(out, y, casting="unsafe")
            copyto(out, x, where=condition, casting="unsafe")
            return
        mask = masks.get((word, condition.shape))
        if mask is None:
            mask = masks[word, condition.shape] = np.empty(condition.shape, word)
        copyto(mask, condition)
        np.negative(mask, out=mask)
        x, y, out = x.view(word), y.view(word), out.view(word)
        np.bitwise_xor(x, y, out=out)
        np.bitwise_and(out, mask, out=out)
        np.bitwise_xor(out, y, out=out)

    return select


WORDS = {size: np.dtype(f"i{size}") for size in (1, 2, 4, 8)}
"""Integers as which elements are selected: ``y ^ ((x ^ y) & mask)`` has no branch, which a mask of
no order would mislead at every other element."""


CAST = Function("cast", _cast)
SELECT = Function("select", _select, in_place=False)
