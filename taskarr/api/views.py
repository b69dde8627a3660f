"""Views as functions: other shapes of the same elements."""

from collections.abc import Callable
from typing import Any

from taskarr.api.creation import asarray
from taskarr.arrays import Array
from taskarr.ops import views


def _view(name: str) -> Callable[..., Array]:
    """Public function that shows an array otherwise."""

    def function(a: Any, *args: Any, **options: Any) -> Array:
        array = asarray(a)
        return array._viewed(views.VIEWS[name](array.shape, *args, **options))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"View of an array; see `numpy.{name}`."
    return function


PUBLIC: dict[str, Any] = {name: _view(name) for name in views.VIEWS}
"""Functions of this module by name."""
