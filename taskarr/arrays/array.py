"""The user's handle: an array is a cell and a view of it. No algorithm lives here."""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from taskarr import protocols
from taskarr.arrays.calling import dispatched
from taskarr.arrays.elements import Elements
from taskarr.arrays.encoding import encode_values
from taskarr.arrays.indexing import Indexing
from taskarr.arrays.local import Local
from taskarr.arrays.methods import Methods
from taskarr.arrays.operators import Operators, equals_nothing, known
from taskarr.arrays.scanning import Scanning
from taskarr.arrays.values import Values
from taskarr.arrays.views import Views

EQUALITIES: dict[np.ufunc, Callable[[Any, Any], Any]] = {
    np.equal: operator.eq,
    np.not_equal: operator.ne,
}
"""Operators that also compare with objects, which equal nothing."""


class Array(Operators, Views, Indexing, Elements, Methods, Scanning, Local, Values):
    """A NumPy array whose blocks lie on the ranks of a job.

    Operations build a graph; values are computed when they are needed. Make arrays with
    `taskarr.asarray`, `taskarr.zeros`, `taskarr.load` and the like, not by calling this class.
    """

    __slots__ = ()
    __hash__ = Values.__hash__  # type: ignore[assignment]

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *operands: Any, **options: Any) -> Any:
        values = (*operands[:1], *operands[2:]) if method == "at" else operands
        if not all(map(known, values)):
            same = EQUALITIES.get(ufunc) if method == "__call__" and not options else None
            if same and all(known(x) or equals_nothing(x) for x in operands):
                return same(*operands)
            return NotImplemented
        return dispatched(self._of, ufunc, method, operands, options)

    def trace(
        self, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None
    ) -> Any:
        """Sum along the diagonals of two axes."""
        return self.diagonal(offset, axis1, axis2).sum(axis=-1, dtype=dtype, out=out)

    def __getattr__(self, name: str) -> Any:
        raise protocols.missing(name, np.ndarray, "Array")

    def __array_function__(
        self, function: Callable[..., Any], types: Any, args: Any, kwargs: Any
    ) -> Any:
        return protocols.function_of(function)(*args, **kwargs)


encode_values(Array)
