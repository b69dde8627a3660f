"""NumPy's protocols: ``numpy.sin(a)`` and ``numpy.sum(a)`` give what taskarr's functions give."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from taskarr.ops import elementwise, reductions

REDUCERS = {
    "add": "sum",
    "multiply": "prod",
    "minimum": "min",
    "maximum": "max",
    "logical_or": "any",
    "logical_and": "all",
}
"""Ufuncs whose ``reduce`` is a reduction, and its name."""


def ufunc_node(
    ufunc: np.ufunc, method: str, operands: Sequence[Any], options: dict[str, Any]
) -> Any:
    """Node of a ufunc's call or ``reduce`` on expressions and what may stand beside them.

    Raises
    ------
    NotImplementedError
        For other methods, options, and ufuncs that are not in the table.
    """
    name = ufunc.__name__
    if method == "reduce" and name in REDUCERS and not set(options) - {"axis", "keepdims", "dtype"}:
        return _reduced(REDUCERS[name], operands[0], **{"axis": 0, **options})
    _check_call(name, method, options)
    return elementwise.apply(name, operands)


def ufunc_into(
    ufunc: np.ufunc, method: str, out: Any, operands: Sequence[Any], options: dict[str, Any]
) -> Any:
    """Node of a ufunc's call with ``out=``: what the output shows afterwards."""
    _check_call(ufunc.__name__, method, options)
    return elementwise.apply_into(ufunc.__name__, out, operands)


def _check_call(name: str, method: str, options: dict[str, Any]) -> None:
    if method != "__call__" or name not in elementwise.UFUNCS:
        call = name if method == "__call__" else f"{name}.{method}"
        raise NotImplementedError(
            f"numpy.{call} of a taskarr array is not in this version; "
            "fetch the array with a.numpy() first"
        )
    if options:
        raise NotImplementedError(
            f"numpy.{name} of a taskarr array does not take {', '.join(sorted(options))} in this "
            "version; assign the result, or use a.astype()"
        )


class NotYet(NotImplementedError, AttributeError):
    """A name of NumPy's that taskarr does not have yet."""


def missing(name: str, model: Any, owner: str) -> AttributeError:
    """Error for a name that is not there; ``model`` is what NumPy has in this place."""
    if hasattr(model, name) and not name.startswith("_"):
        return NotYet(
            f"{owner} has no {name!r} in this version; a.numpy() gives a NumPy array, which has"
        )
    return AttributeError(f"{owner!r} has no attribute {name!r}")


def _reduced(name: str, x: Any, **options: Any) -> Any:
    if name not in reductions.TAKES_DTYPE and options.pop("dtype", None) is not None:
        raise NotImplementedError(f"{name}() with dtype=; use astype() on the result")
    return reductions.reduce(name, x, **options)


FUNCTIONS: dict[str, Callable[..., Any]] = {}
"""Public functions by name, entered by `taskarr.api`."""


def function_of(function: Callable[..., Any]) -> Callable[..., Any]:
    """The taskarr function that stands for one of NumPy's.

    Raises
    ------
    TypeError
        When there is none; the message names it and the way out.
    """
    aliases = {"amin": "min", "amax": "max"}
    name = function.__name__
    found = FUNCTIONS.get(aliases.get(name, name))
    if found is None or getattr(np, name, None) is not function:
        raise TypeError(
            f"{function.__module__}.{name} of a taskarr array is not in this version; "
            "fetch the array with a.numpy() first"
        )
    return found
