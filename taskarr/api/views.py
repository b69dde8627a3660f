"""Views as functions: other shapes of the same elements."""

from collections.abc import Callable
from typing import Any

from taskarr.api.creation import asarray
from taskarr.arrays import Array
from taskarr.geometry.view import broadcast_shapes
from taskarr.ops import views
from taskarr.ops.reshape import squeezed

__all__ = [
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "broadcast_arrays",
    "broadcast_to",
    "diagonal",
    "ravel",
    "reshape",
    "trace",
]


def reshape(a: Any, /, shape: Any, order: str = "C", *, copy: bool | None = None) -> Array:
    """The elements in another shape: a view where NumPy gives one; see `Array.reshape`.

    Examples
    --------
    >>> import taskarr
    >>> print(taskarr.reshape(taskarr.arange(6), (2, -1)))
    [[0 1 2]
     [3 4 5]]
    """
    return asarray(a).reshape(shape, order=order, copy=copy)


def ravel(a: Any, order: str = "C") -> Array:
    """The elements in one row: a view if they lie so in memory, else a copy."""
    return asarray(a).ravel(order)


def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Array:
    """Read-only view of the diagonals of two axes, as the last axis."""
    return asarray(a).diagonal(offset, axis1, axis2)


def trace(
    a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None
) -> Array:
    """Sum along the diagonals of two axes."""
    return asarray(a).trace(offset, axis1, axis2, dtype, out)


def atleast_1d(*arys: Any) -> Any:
    """Views with one axis at least: one for one array, else a tuple."""
    return _each(arys, lambda shape: shape or (1,))


def atleast_2d(*arys: Any) -> Any:
    """Views with two axes at least, the new ones first."""
    return _each(arys, lambda shape: (1,) * (2 - len(shape)) + shape)


def atleast_3d(*arys: Any) -> Any:
    """Views with three axes at least: ``(1, n, 1)`` of ``(n,)`` and ``(n, m, 1)`` of ``(n, m)``."""

    def wide(shape: tuple[int, ...]) -> tuple[int, ...]:
        lead, trail = {0: (1, 2), 1: (1, 1), 2: (0, 1)}.get(len(shape), (0, 0))
        return (1,) * lead + shape + (1,) * trail

    return _each(arys, wide)


def _each(arys: tuple[Any, ...], wide: Callable[[tuple[int, ...]], tuple[int, ...]]) -> Any:
    found = []
    for array in map(asarray, arys):
        view = squeezed(array.shape, wide(array.shape))
        assert view is not None
        found.append(array if view.is_identity else array._viewed(view))
    return found[0] if len(found) == 1 else tuple(found)


def broadcast_to(array: Any, shape: Any, subok: bool = False) -> Array:
    """View repeated to a shape, which can't be written to."""
    array = asarray(array)
    return array._viewed(views.broadcast_to(array.shape, shape), array=True, locked=True)


def broadcast_arrays(*args: Any, subok: bool = False) -> tuple[Array, ...]:
    """Views of all arrays repeated to one shape; those that repeat can't be written to."""
    arrays = [asarray(x) for x in args]
    shape = broadcast_shapes(*[x.shape for x in arrays])
    return tuple(x if x.shape == shape else broadcast_to(x, shape) for x in arrays)


def _view(name: str) -> Callable[..., Array]:
    """Public function that shows an array otherwise."""

    def function(a: Any, *args: Any, **options: Any) -> Array:
        array = asarray(a)
        view = views.VIEWS[name](array.shape, *args, **options)
        value = name == "flip" and not view.shape  # which NumPy takes by a key without entries
        return array._viewed(view, array=False if value else None)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"View of an array; see `numpy.{name}`."
    return function


PUBLIC: dict[str, Any] = {
    **{name: _view(name) for name in views.VIEWS},
    **{name: globals()[name] for name in __all__},
}
"""Functions of this module by name."""
