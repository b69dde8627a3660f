"""Elementwise functions: NumPy's ufuncs and what is made of them."""

from collections.abc import Callable
from typing import Any

from taskarr.api.creation import asarray
from taskarr.arrays import Array, node_of
from taskarr.ops import elementwise

__all__ = ["where"]


def where(condition: Any, x: Any, y: Any) -> Array:
    """Elements of ``x`` where the condition is true, of ``y`` elsewhere."""
    operands = [node_of(v) for v in (condition, x, y)]
    if not any(isinstance(v, Array) for v in (condition, x, y)):
        operands[0] = asarray(condition)._expr
    return Array._of(elementwise.select(*operands), fixed=False)


def _ufunc(name: str) -> Callable[..., Array]:
    """Public function of a ufunc."""

    def function(*operands: Any) -> Array:
        nodes = [node_of(x) for x in operands]
        if not any(isinstance(x, Array) for x in operands):
            nodes[:1] = [asarray(x)._expr for x in operands[:1]]
        return Array._of(elementwise.apply(name, nodes))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Elementwise ``{name}``; see `numpy.{name}`."
    return function


PUBLIC: dict[str, Any] = {
    **{name: globals()[name] for name in __all__},
    **{name: _ufunc(name) for name in elementwise.UFUNCS},
    "abs": _ufunc("absolute"),
}
"""Functions of this module by name."""
