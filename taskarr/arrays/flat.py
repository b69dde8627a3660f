"""The elements of an array in one row, as ``a.flat`` shows them."""

import operator
import warnings
from collections.abc import Iterator
from math import prod
from typing import Any

import numpy as np

from scheduler.comm.where import user_place
from taskarr import faults
from taskarr.arrays.handle import Handle, node_of
from taskarr.arrays.writing import scalar_of, to_write
from taskarr.expr import Expr
from taskarr.ops import edits, write
from taskarr.ops.elementwise import cast, copied
from taskarr.ops.keys import LEAST
from taskarr.ops.picks import flat_where, take


class Flat:
    """An array's elements in C order: read and written by index, slice, index array or mask.

    State: the array; how many elements ``next`` has given.

    Parameters
    ----------
    base
        The array, which writes go to.
    """

    __slots__ = ("_given", "base")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, base: Any) -> None:
        self.base = base
        self._given = 0

    def __len__(self) -> int:
        return prod(self.base.shape)

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if self._given >= len(self):
            raise StopIteration
        self._given += 1
        return self._get(self._given - 1)

    @property
    def index(self) -> int:
        """Flat index of the element that ``next`` gives; reading or writing by a key resets it."""
        return self._given

    @property
    def coords(self) -> tuple[int, ...]:
        """Index along each axis of the element that ``next`` gives."""
        rest, found = self._given, []
        for n in reversed(self.base.shape[1:]):
            rest, at = divmod(rest, max(n, 1))
            found.append(at)
        return (rest, *found[::-1]) if self.base.shape else ()

    def copy(self) -> Any:
        """Array of its own of the elements."""
        return self.base.flatten()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return self.copy().__array__(dtype, copy)

    def _get(self, index: int) -> Any:
        """The element at a flat index in range."""
        shape = self.base.shape
        return self.base[np.unravel_index(index, shape) if shape else ()]

    def __getitem__(self, key: Any) -> Any:
        base = self.base
        self._given = 0
        key = self._checked(key)
        if isinstance(key, int):
            return self._get(key)
        node = base._expr
        if isinstance(key, slice):
            found = edits.read_slice(node, range(len(self))[key])
            return base._of(copied(found), fixed=False)
        return base._of(take(node, _places(key)), fixed=False)

    def __setitem__(self, key: Any, value: Any) -> None:
        base = self.base
        if base._fixed:
            raise TypeError("a value of zero dimensions does not support item assignment")
        base._check_writable()
        self._given = 0
        if isinstance(key, tuple) and not key:
            raise IndexError("Assigning to a flat iterator with a 0-D index is not supported")
        key = self._checked(key)
        value = to_write(value, base.dtype, isinstance(key, int))
        if isinstance(key, int):
            self._set_one(key, value)
        elif isinstance(key, slice):
            base._become(edits.write_slice(base._expr, range(len(self))[key], value))
        else:
            base._become(edits.write_at(base._expr, _places(key), value))

    def __delitem__(self, key: Any) -> None:
        raise TypeError("Cannot delete iterator elements")

    def _set_one(self, index: int, value: Any) -> None:
        base = self.base
        at = np.unravel_index(index, base.shape) if base.shape else ()
        try:
            write.check_single(value, base.dtype)
            if isinstance(value, Expr):
                value = base._of(cast(value, base.dtype))
            else:
                value = write.element(value, base.dtype)
        except (TypeError, ValueError, OverflowError) as error:
            raise ValueError("Error setting single item of array.") from error
        base[(*at, ...)] = value

    def _checked(self, key: Any) -> Any:
        """Key as an integer in range, a slice, or an array."""
        if isinstance(key, tuple):
            if len(key) > 1:
                raise IndexError(
                    "too many indices for flat iterator: flat iterator is 1-dimensional, but "
                    f"{len(key)} were indexed"
                )
            key = key[0] if key else Ellipsis
            key = np.bool_(key) if isinstance(key, bool) else key  # which is no index then
        if key is Ellipsis:
            return slice(None)
        if isinstance(key, slice):
            return key
        if isinstance(key, Handle) and key._fixed:
            key = scalar_of(key, "reading a key")
        if not isinstance(key, np.ndarray | Handle):
            is_index = hasattr(key, "__index__") and not isinstance(key, bool)
            return self._index(key) if is_index else self._as_numpy_reads(key)
        if not key.ndim and key.dtype == np.bool_:
            return self._as_numpy_reads(bool(key))
        return self._array(key)

    def _as_numpy_reads(self, key: Any) -> Any:
        """What NumPy makes an index of, if it may have to warn; errors and warnings are NumPy's.

        It is asked with a stand-in of this length that needs no memory.
        """
        array = None if isinstance(key, bool) else np.asarray(key)
        if array is not None and array.ndim and (array.dtype.kind in "iu" or not array.size):
            return array.astype(np.intp)
        like = np.broadcast_to(np.int8(0), len(self) or int(key is True))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            like.flat[key]
        for each in caught:
            warning = each.message if isinstance(each.message, Warning) else each.category()
            faults.warn(warning, user_place(), self.base._expr.world.rank)
        if isinstance(key, bool):
            return self._index(0) if key else np.zeros(0, np.intp)
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = np.asarray(key).astype(np.intp)
        return found if found.ndim else self._index(found)

    def _index(self, key: Any) -> int:
        n, at = len(self), operator.index(key)
        if not LEAST <= at <= ~LEAST:
            raise OverflowError("Python int too large to convert to C long")
        if not -n <= at < n:
            raise IndexError(f"index {at} is out of bounds for size {n}")
        return at % n

    def _array(self, key: Any) -> Any:
        if key.dtype == np.bool_:
            if key.ndim > 1:
                raise IndexError(
                    "too many indices for flat iterator: flat iterator is 1-dimensional, but "
                    f"{key.ndim} were indexed"
                )
            if key.shape not in ((0,), (len(self),)):
                raise IndexError(
                    "boolean index did not match indexed flat iterator along axis 0; size of axis "
                    f"is {len(self)} but size of corresponding boolean axis is {key.size}"
                )
            return key
        if key.dtype.kind not in "iu":
            raise IndexError("arrays used as indices must be of integer (or boolean) type")
        return key if key.ndim else self._index(key)


def _places(key: Any) -> Any:
    """Index that an index array or a mask stands for."""
    if key.dtype != np.bool_:
        return node_of(key)
    return flat_where(key._expr) if isinstance(key, Handle) else np.flatnonzero(key)
