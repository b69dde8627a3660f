"""Keys and views of an array: reading, writing, other shapes of the same elements."""

from collections.abc import Iterator
from typing import Any, Self

import numpy as np

from taskarr.arrays.handle import Handle, node_of, with_nodes
from taskarr.arrays.writing import to_write
from taskarr.expr import blank, view_of
from taskarr.geometry.view import Affine
from taskarr.ops import advanced, elementwise, lens, views, write
from taskarr.ops.keys import as_tuple, is_basic, view_of_key
from taskarr.ops.lens import Bytes, Diagonal, Field, Part, Shaped, Step
from taskarr.ops.operands import checked_dtype
from taskarr.ops.reshape import reshaped, squeezed


class Views(Handle):
    """Indexing and the views that have names."""

    __slots__ = ()

    def __getitem__(self, key: Any) -> Self:
        if self._is_record() and _is_number(key):
            return self._of(self._field(self._name(key)).get(self._expr))
        if is_basic(key):
            dots = any(entry is Ellipsis for entry in as_tuple(key))
            view = view_of_key(self.shape, key)
            if (view.shape or dots) and any(map(_is_array, as_tuple(key))):
                return self._of(elementwise.copied(view_of(self._expr, view)), fixed=not dots)
            return self._viewed(view, dots or bool(self.dtype.names))
        if _names_fields(key) and self.dtype.names:
            return self._through(self._field(key))
        return self._of(advanced.read(self._expr, with_nodes(key)), fixed=False)

    def __setitem__(self, key: Any, value: Any) -> None:
        if self._fixed:
            raise TypeError("a value of zero dimensions does not support item assignment")
        self._check_writable()
        if self._is_record() and _is_number(key):
            key = self._name(key)
        basic = is_basic(key)
        value = to_write(value, self.dtype, basic)
        if basic:
            view = view_of_key(self.shape, key)
            if not view.shape and not any(entry is Ellipsis for entry in as_tuple(key)):
                write.check_single(value, self.dtype)
            found = write.converted(value, view_of(self._expr, view))
            self._write(lens.then(self._lens, view), found)
            return
        if _names_fields(key) and self.dtype.names:
            part = self[key]
            part[...] = value if value is node_of(value) else self._of(value)
            return
        self._become(advanced.written(self._expr, with_nodes(key), value))

    def __delitem__(self, key: Any) -> None:
        if self._fixed:
            raise TypeError("a value of zero dimensions does not support item deletion")
        raise ValueError("cannot delete array elements")

    def fill(self, value: Any) -> None:
        """Write one value to all elements, as `numpy.ndarray.fill`."""
        if getattr(value, "ndim", 0):
            raise ValueError(f"fill() takes one value, not an array of shape {value.shape}")
        found = value if isinstance(value, Handle) else write.element(value, self.dtype)
        self[...] = found

    def __iter__(self) -> Iterator[Self]:
        if not self.shape and not self._is_record():
            raise TypeError("iteration over a 0-d array")
        return (self[i] for i in range(len(self)))

    def __len__(self) -> int:
        if self._is_record():
            return len(self.dtype.names or ())
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def _viewed(self, view: Affine, array: bool | None = None, locked: bool = False) -> Self:
        """View of this array; of zero dimensions an array or a value, for None as this one."""
        array = not self._fixed if array is None else array
        if self._fixed or not (view.shape or array):
            found = self._of(view_of(self._expr, view), fixed=not array)
            found._locked = locked
            return found
        return self._seen(lens.then(self._lens, view), locked)

    def _through(self, step: Step, locked: bool = False) -> Self:
        """What a step that is not affine shows of this array; a copy of a fixed value."""
        if self._fixed:
            return self._of(step.get(self._expr))
        return self._seen(lens.then(self._lens, step), locked)

    def _name(self, number: Any) -> str:
        """Name of the field of a number."""
        names = self.dtype.names or ()
        if not -len(names) <= number < len(names):
            raise IndexError(f"invalid index ({number}): the element has {len(names)} fields")
        return names[number]

    def _field(self, key: Any) -> Field:
        found = np.empty(0, self.dtype)[key]
        if found.ndim > 1:
            raise NotImplementedError(f"field {key!r} holds arrays of shape {found.shape[1:]}")
        return Field(key if isinstance(key, str) else tuple(key), found.dtype)

    # ------------------------------------------------------------------ axes

    @property
    def T(self) -> Self:  # noqa: N802 - NumPy's name
        """View with the axes in reverse order."""
        return self.transpose()

    @property
    def mT(self) -> Self:  # noqa: N802 - NumPy's name
        """View with the last two axes exchanged."""
        if self.ndim < 2:
            raise ValueError("matrix transpose with ndim < 2 is undefined")
        return self.swapaxes(-1, -2)

    def transpose(self, *axes: Any) -> Self:
        """View with the axes in another order, as `numpy.ndarray.transpose`."""
        given = axes[0] if len(axes) == 1 and not hasattr(axes[0], "__index__") else axes or None
        return self._viewed(views.transpose(self.shape, given))

    def swapaxes(self, axis1: int, axis2: int) -> Self:
        """View with two axes exchanged."""
        return self._viewed(views.swapaxes(self.shape, axis1, axis2))

    def squeeze(self, axis: Any = None) -> Self:
        """View without axes of length one: all, or those named."""
        return self._viewed(views.squeeze(self.shape, axis))

    def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Self:
        """Read-only view of the diagonals of two axes, as the last axis."""
        if self.ndim < 2:
            raise ValueError("diag requires an array of at least two dimensions")
        if axis1 % self.ndim == axis2 % self.ndim:
            raise ValueError("axis1 and axis2 cannot be the same")
        first = views.moveaxis(self.shape, (axis1, axis2), (0, 1))
        return self._viewed(first)._through(Diagonal(int(offset)), locked=True)

    # ------------------------------------------------------------------ shapes

    def reshape(self, *shape: Any, order: str = "C", copy: bool | None = None) -> Self:
        """The elements in another shape: a view where NumPy gives one, else a copy.

        Parameters
        ----------
        *shape
            Lengths, one of which may be -1: what is left.
        order
            ``"C"``, ``"F"``, or ``"A"``: F if the array is so in memory.
        copy
            True: always copy; False: raise ValueError rather than copy.

        Raises
        ------
        ValueError
            When the elements do not fit the shape.
        """
        if not shape:
            raise TypeError("reshape() takes a shape")
        given = shape[0] if len(shape) == 1 else shape
        sizes = views.resolved(self.shape, given)
        if views.reads_in(order, self.flags) == "F":
            return self.T.reshape(sizes[::-1], copy=copy).T
        into = None if copy or self._fixed else views.strides_in(self._stand_in(), sizes)
        if into is None:
            if copy is False and not self._fixed:
                raise ValueError("Unable to avoid creating a copy while reshaping.")
            found = reshaped(self._expr, sizes)
            return self._of(elementwise.copied(found) if copy else found, self._fixed)
        view = squeezed(self.shape, sizes)
        return self._through(Shaped(sizes, into)) if view is None else self._viewed(view)

    def ravel(self, order: str = "C") -> Self:
        """The elements in one row: a view if they lie so in memory, else a copy."""
        if order == "K":
            return self._viewed(views.memory_order(self._stand_in())).ravel()
        if views.reads_in(order, self.flags) == "F":
            return self.T.ravel()
        return self.reshape(-1, copy=None if self.flags.c_contiguous else True)

    def flatten(self, order: str = "C") -> Self:
        """Copy of the elements in one row."""
        if order == "K":
            return self._viewed(views.memory_order(self._stand_in())).flatten()
        return self.reshape(-1, order=order, copy=True)

    # ------------------------------------------------------------------ parts and bytes

    def view(self, dtype: Any = None) -> Self:
        """The same elements, or their bytes as another dtype, as `numpy.ndarray.view`.

        Raises
        ------
        ValueError
            When elements of that size do not fit the last axis.
        """
        like = self._stand_in() if dtype is None else self._stand_in().view(dtype)
        dtype = checked_dtype(like.dtype)
        if dtype == self.dtype:
            found = self._seen(self._lens)
            found._fixed = self._fixed
            return found
        return self._through(Bytes(self.dtype, dtype))

    @property
    def real(self) -> Self:
        """View of the real parts; of other numbers the array."""
        if self.dtype.kind != "c":
            return self.view()
        return self._through(Part("real"))

    @real.setter
    def real(self, value: Any) -> None:
        self.real[...] = _as_array(value)

    @property
    def imag(self) -> Self:
        """View of the imaginary parts; of other numbers zeros, which can't be written."""
        if self.dtype.kind == "c":
            return self._through(Part("imag"))
        np.empty(0, self.dtype).imag  # noqa: B018 - raises for what has no such part
        zeros = blank(self.dtype, self.layout, self._cell.expr.world)
        if self.flags.fnc:
            zeros.order = tuple(range(self.ndim))[::-1]
        found = self._of(zeros, self._fixed)
        found._locked = True
        return found

    @imag.setter
    def imag(self, value: Any) -> None:
        if self.dtype.kind != "c":
            raise TypeError("array does not have imaginary part to set")
        self.imag[...] = _as_array(value)


def _as_array(value: Any) -> Any:
    """Value of which NumPy makes an array before it is written, so that it may lose what it has."""
    return value if isinstance(value, Handle) else np.asarray(value)


def _is_array(entry: Any) -> bool:
    """Whether an entry of a basic key is an array of zero dimensions, for which NumPy copies."""
    return isinstance(entry, np.ndarray) or (isinstance(entry, Handle) and not entry._fixed)


def _is_number(key: Any) -> bool:
    return isinstance(key, int | np.integer) and not isinstance(key, bool)


def _names_fields(key: Any) -> bool:
    names = key if isinstance(key, list) else [key]
    return bool(names) and all(isinstance(name, str) for name in names)
