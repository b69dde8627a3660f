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

    @property
    def local(self) -> np.ndarray:
        """This rank's brick, computed, read-only. Collective.

        A rank that owns nothing gets an array without elements.
        """
        return fetch.local(self._expr)

    def item(self, *index: Any) -> Any:
        """One element as a Python scalar: the only one, or that of an index or a flat index.

        Collective.
        """
        return fetch.element(self._expr, index)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if copy is False:
            raise ValueError(
                "an array whose blocks lie on the ranks can't be shared without a copy"
            )
        found = self.numpy()
        return found if dtype is None else found.astype(dtype, copy=False)

    def __float__(self) -> float:
        return float(fetch.single(self._expr, float))

    def __int__(self) -> int:
        return int(fetch.single(self._expr, int))

    def __complex__(self) -> complex:
        return complex(fetch.single(self._expr, complex))

    def __reduce__(self) -> Any:
        raise TypeError(
            "a taskarr array can't be pickled in this version: its blocks lie on the ranks; "
            "pickle a.numpy(), or use taskarr.save()"
        )

    def __bool__(self) -> bool:
        return bool(fetch.single(self._expr, bool))

    def __index__(self) -> int:
        return operator.index(fetch.single(self._expr, operator.index))

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

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

    def __round__(self, digits: int | None = None) -> Any:
        if self.shape:
            raise TypeError("type taskarr.Array doesn't define __round__ method with axes")
        value: Any = self.numpy()[()]
        return round(value) if digits is None else round(value, digits)
