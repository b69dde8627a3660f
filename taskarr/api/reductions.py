"""Reductions as functions."""

from collections.abc import Callable
from typing import Any

from taskarr.api.creation import asarray
from taskarr.arrays import Array
from taskarr.ops import reductions


def _reduction(name: str) -> Callable[..., Array]:
    """Public function of a reduction."""

    def function(a: Any, *args: Any, **options: Any) -> Array:
        return Array._of(reductions.called(name, asarray(a)._expr, args, options))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Reduction ``{name}``; see `numpy.{name}` for ``axis``, ``keepdims`` ...."
    return function


PUBLIC: dict[str, Any] = {name: _reduction(name) for name in reductions.ROWS}
"""Functions of this module by name."""
