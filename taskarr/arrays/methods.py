"""Methods of an array that NumPy's arrays have too and that make a new array."""

from typing import Any, Self

from taskarr.arrays.handle import Handle
from taskarr.arrays.reducing import method_of
from taskarr.ops import redistribute


class Methods(Handle):
    """Layouts, reductions."""

    __slots__ = ()

    def redistribute(self, split: Any = "auto", chunks: Any = None, mesh: Any = None) -> Self:
        """The same elements in another layout; see `taskarr.asarray` for the arguments."""
        return self._of(redistribute.redistribute(self._expr, split, chunks, mesh), self._fixed)

    sum = method_of("sum")
    prod = method_of("prod")
    min = method_of("min")
    max = method_of("max")
    mean = method_of("mean")
    var = method_of("var")
    std = method_of("std")
    any = method_of("any")
    all = method_of("all")
    argmin = method_of("argmin")
    argmax = method_of("argmax")
