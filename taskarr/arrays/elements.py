"""Methods that make a new array element by element: copies, casts, rounding, bounds."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from taskarr.arrays.calling import called, finished, mask_of, outputs
from taskarr.arrays.handle import Handle, node_of
from taskarr.ops import elementwise, functions
from taskarr.ops.creation import kept_order


class Elements(Handle):
    """Copies, casts, rounding, bounds."""

    __slots__ = ()

    def astype(
        self,
        dtype: Any,
        order: str = "K",
        casting: str = "unsafe",
        subok: bool = True,
        copy: bool = True,
    ) -> Self:
        """Elements as another dtype; as `numpy.ndarray.astype`."""
        kept = kept_order(order, self._stand_in())
        found = elementwise.cast(self._expr, dtype, casting)
        if found.dtype == self.dtype and not copy:
            return self
        if found.dtype == self.dtype:
            found = elementwise.copied(found)
        found.order = kept
        return self._of(found, self._fixed)

    def copy(self, order: str = "C") -> Self:
        """Array of its own with the same elements."""
        found = elementwise.copied(self._expr)
        found.order = kept_order(order, self._stand_in())
        return self._of(found, self._fixed)

    def __copy__(self) -> Self:
        return self.copy("K")

    def __deepcopy__(self, memo: Any) -> Self:
        return self.copy("K")

    def round(self, decimals: int = 0, out: Any = None) -> Self:
        """Elements rounded to so many decimals, halves to even; as `numpy.round`."""
        (target,) = outputs("round", out)
        found = functions.rounded(self._expr, decimals, node_of(target))
        return self._finished(found, (target,))

    def clip(
        self,
        min: Any = None,
        max: Any = None,
        out: Any = None,
        *,
        where: Any = True,
        **options: Any,
    ) -> Self:
        """Elements no smaller and no larger than bounds; as `numpy.clip`."""
        outs = outputs("clip", out)
        low, high, target = (node_of(x) for x in (min, max, outs[0]))
        found = functions.clipped(self._expr, low, high, target, mask_of(where), options)
        return self._finished(found, outs)

    def conjugate(self, out: Any = None, /) -> Self:
        """Complex conjugates; the array itself if it holds no complex numbers."""
        np.empty(0, self.dtype).conjugate()  # raises for what has no conjugate
        if out is None and self.dtype.kind != "c":
            return self
        return called(self._of, np.conjugate, (self,), {"out": (out,)})

    conj = conjugate

    def _finished(self, found: Any, outs: Sequence[Any]) -> Self:
        """Array of a node, or the output that it replaces."""
        return finished(self._of, (found,), outs)[0]
