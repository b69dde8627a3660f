"""Methods of an array that NumPy's arrays have too and that make a new array."""

from collections.abc import Callable
from typing import Any, Self

from taskarr.arrays.handle import Handle
from taskarr.ops import elementwise, redistribute, reductions


def _reduction(name: str) -> Callable[..., Any]:
    def method(self: Handle, *args: Any, **options: Any) -> Handle:
        return self._of(reductions.called(name, self._expr, args, options))

    method.__name__ = name
    method.__doc__ = f"Reduction ``{name}`` over all axes, one axis or several; as `numpy.{name}`."
    return method


class Methods(Handle):
    """Copies, casts, layouts, reductions."""

    __slots__ = ()

    def redistribute(self, split: Any = "auto", chunks: Any = None, mesh: Any = None) -> Self:
        """The same elements in another layout; see `taskarr.asarray` for the arguments."""
        return self._of(redistribute.redistribute(self._expr, split, chunks, mesh), self._fixed)

    def astype(self, dtype: Any, casting: str = "unsafe", copy: bool = True) -> Self:
        """Elements as another dtype; as `numpy.ndarray.astype`."""
        found = elementwise.cast(self._expr, dtype, casting)
        if found.dtype == self.dtype and not copy:
            return self
        if found.dtype == self.dtype:
            found = elementwise.copied(found)
        return self._of(found, self._fixed)

    def copy(self) -> Self:
        """Array of its own with the same elements."""
        return self._of(elementwise.copied(self._expr), self._fixed)

    def __copy__(self) -> Self:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> Self:
        return self.copy()

    sum = _reduction("sum")
    prod = _reduction("prod")
    min = _reduction("min")
    max = _reduction("max")
    mean = _reduction("mean")
    var = _reduction("var")
    std = _reduction("std")
    any = _reduction("any")
    all = _reduction("all")
