"""Getting values out of an array: whole, by parts, one element, as Python numbers and text."""

import operator
from typing import Any, Self

import numpy as np

from taskarr import fetch, printing
from taskarr.arrays.handle import Handle


class Values(Handle):
    """What needs the elements."""

    __slots__ = ()

    def numpy(self) -> np.ndarray:
        """The whole array on every rank. Collective."""
        return fetch.whole([self._expr], "numpy()")[0]

    compute = to_numpy = numpy

    def gather(self, root: int = 0) -> np.ndarray | None:
        """The whole array on one rank, None on the others. Collective."""
        return fetch.on_root(self._expr, root)

    def persist(self) -> Self:
        """Compute now and keep the blocks, distributed. Collective; returns the array itself."""
        fetch.persist([self._cell.expr])
        return self

    def get(self, index: Any) -> Any:
        """What an index shows, as a NumPy scalar or array, on every rank. Collective.

        Examples
        --------
        >>> import taskarr
        >>> taskarr.arange(5).get(slice(1, 3))
        array([1, 2])

        Raises
        ------
        scheduler.SPMDError
            When the ranks give different indices.
        """
        found: Any = self[index]  # type: ignore[index]
        return found.numpy()[()] if found._fixed else found.numpy()

    def item(self, *index: Any) -> Any:
        """One element as a Python scalar: the only one, or that of an index or a flat index.

        Collective.
        """
        return fetch.element(self._expr, index)

    def tolist(self) -> Any:
        """Nested lists of Python scalars, on every rank; of zero dimensions one. Collective."""
        return self.numpy().tolist()

    def tobytes(self, order: Any = "C") -> bytes:
        """The bytes of all elements, on every rank. Collective."""
        return self.numpy().tobytes(order)

    def __hash__(self) -> int:  # type: ignore[override]
        if not self._fixed:
            raise TypeError("unhashable type: 'taskarr.Array'; only values of zero dimensions are")
        return hash(self.numpy()[()])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if copy is False:
            raise ValueError(
                "an array whose blocks lie on the ranks can't be shared without a copy"
            )
        found = self.numpy()
        return found if dtype is None else found.astype(dtype, copy=False)

    def __float__(self) -> float:
        return float(fetch.single(self._expr, float, self._fixed))

    def __int__(self) -> int:
        return int(fetch.single(self._expr, int, self._fixed))

    def __complex__(self) -> complex:
        return complex(fetch.single(self._expr, complex, self._fixed))

    def __bool__(self) -> bool:
        return bool(fetch.single(self._expr, bool, self._fixed))

    def __index__(self) -> int:
        return operator.index(fetch.single(self._expr, operator.index, self._fixed))

    def __repr__(self) -> str:
        return printing.summary(self.shape, self.dtype, self.layout)

    def __str__(self) -> str:
        return printing.text(self._expr)

    def __format__(self, form: str) -> str:
        if self.shape and form:
            raise TypeError(
                f"unsupported format string {form!r} for an array of shape {self.shape}"
            )
        if self.shape:
            return str(self)
        return format(self.numpy()[()], form)

    def __trunc__(self) -> int:
        if self.dtype.kind == "c":
            raise TypeError("a complex number can't be truncated to an integer")
        return int(self)

    def __round__(self, digits: int | None = None) -> Any:
        if self.shape:
            raise TypeError("type taskarr.Array doesn't define __round__ method with axes")
        value: Any = self.numpy()[()]
        return round(value) if digits is None else round(value, digits)
