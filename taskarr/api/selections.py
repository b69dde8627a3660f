"""Choosing elements by conditions: of two arrays, of many, or by functions."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from taskarr.api.creation import asarray, new
from taskarr.arrays import Array, node_of
from taskarr.arrays.writing import to_write
from taskarr.expr import Expr
from taskarr.ops import elementwise, functions, write

__all__ = ["piecewise", "select", "where"]


def where(condition: Any, x: Any = np._NoValue, y: Any = np._NoValue, /) -> Any:
    """Elements of ``x`` where the condition is true, of ``y`` elsewhere.

    Without them, the indices where the condition is true, as `nonzero`.
    """
    if x is np._NoValue and y is np._NoValue:
        return asarray(condition).nonzero()
    if x is np._NoValue or y is np._NoValue:
        raise ValueError("either both or neither of x and y should be given")
    operands = [node_of(v) for v in (condition, x, y)]
    if not any(isinstance(v, Array) for v in (condition, x, y)):
        operands[0] = asarray(condition)._expr
    return new(elementwise.select(*operands))


def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> Array:
    """Elements of the first choice whose condition is true, of the default where none is.

    Parameters
    ----------
    condlist
        Arrays of bools that are broadcast with everything else.
    choicelist
        As many arrays or numbers.
    default
        Array or number.

    Examples
    --------
    >>> import taskarr
    >>> x = taskarr.arange(6)
    >>> print(taskarr.select([x < 2, x > 3], [x, x * 10]))
    [ 0  1  0  0 40 50]
    """
    every = (*condlist, *choicelist, default)
    conditions, choices = ([node_of(x) for x in part] for part in (condlist, choicelist))
    if conditions and not any(isinstance(x, Array) for x in every):
        conditions[0] = asarray(conditions[0])._expr
    return new(functions.chosen(conditions, choices, node_of(default)))


def piecewise(x: Any, condlist: Any, funclist: Sequence[Any], *args: Any, **kw: Any) -> Array:
    """Values of a function of ``x`` for each condition.

    Parameters
    ----------
    x
        Array; the result has its dtype.
    condlist
        Arrays of bools over its axes, or the first of them; of several true ones the last counts.
    funclist
        For each condition a number, or a function of an array; one more is for elements for
        which no condition is true, which otherwise become zero.
    *args, **kw
        Further arguments of the functions.

    Raises
    ------
    NotImplementedError
        For a function that does anything but compute each element from the element there:
        functions get all of ``x``, while NumPy's get just the elements that they are to compute.
    """
    array = asarray(x)
    conditions = _conditions(array, condlist)
    if len(conditions) == len(funclist) - 1:
        conditions.append(~_any_of(conditions))
    if len(conditions) != len(funclist):
        n = len(conditions)
        raise ValueError(f"with {n} condition(s), either {n} or {n + 1} functions are expected")
    found = write.converted(np.zeros((), array.dtype)[()], array._expr)
    for condition, given in zip(conditions, funclist, strict=True):
        value = _value(given, array, args, kw) if callable(given) else to_write(given, array.dtype)
        mask, value = node_of(_over(condition, array)), _number_or_node(value, array)
        found = elementwise.select(mask, value, found, array.dtype)
    return new(found)


def _conditions(x: Array, condlist: Any) -> list[Any]:
    several = not np.isscalar(condlist) and (x.ndim == 0 or np.ndim(condlist[0]))
    every = condlist if several else [condlist]
    found = [c if isinstance(c, Array) else np.asarray(c) for c in every]
    return [c.astype(np.bool_, copy=False) for c in found]


def _over(condition: Any, x: Array) -> Any:
    """Condition over the leading axes of an array, with as many axes as that has."""
    if condition.shape != x.shape[: condition.ndim]:
        raise IndexError(
            f"boolean index did not match indexed array: a condition of shape {condition.shape}, "
            f"an array of shape {x.shape}"
        )
    return condition[(..., *[None] * (x.ndim - condition.ndim))]


def _any_of(conditions: Sequence[Any]) -> Any:
    found = conditions[0]
    for condition in conditions[1:]:
        found = found | condition
    return found


def _value(function: Callable[..., Any], x: Array, args: Any, kw: Any) -> Any:
    """What a function gives of a copy of the array, if it is a matter of single elements."""
    source = elementwise.copied(x._expr)
    handle = new(source)
    found = node_of(function(handle, *args, **kw))
    whole = isinstance(found, Expr) and not functions.is_elementwise(found, source)
    if source.held or whole:
        name = getattr(function, "__name__", repr(function))
        raise NotImplementedError(
            f"piecewise() with {name}(), which does more than compute each element from the "
            "element there; use taskarr.where() with what it is to give"
        )
    return found


def _number_or_node(value: Any, x: Array) -> Any:
    """Value of a piece as NumPy assigns it: a scalar converted, an array that is one number."""
    if isinstance(value, Expr):
        return elementwise.cast(value, x.dtype)
    if np.ndim(value):
        raise NotImplementedError(
            f"piecewise() with a value of shape {np.shape(value)}: give a number, or a function"
        )
    return write.as_array(value, x.dtype)[()]


PUBLIC: dict[str, Any] = {name: globals()[name] for name in __all__}
"""Functions of this module by name."""
