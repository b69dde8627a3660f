"""What all parts of an array share: the cell, the lens through which it is seen, its facts."""

from typing import Any, Self

import numpy as np

from taskarr import fetch
from taskarr.backend import CPU
from taskarr.expr import Cell, Expr, view_of
from taskarr.geometry.layout import Layout
from taskarr.geometry.strides import Strides, ordered, stand_in
from taskarr.geometry.view import Affine
from taskarr.ops import lens
from taskarr.ops.lens import Lens, Shaped


def node_of(x: Any) -> Any:
    """The expression behind an array; anything else as it is."""
    return x._expr if isinstance(x, Handle) else x


def with_nodes(key: Any) -> Any:
    """Key in which arrays are expressions."""
    return tuple(map(node_of, key)) if isinstance(key, tuple) else node_of(key)


class Flags:
    """An array's flags, as `numpy.ndarray.flags`; ``writeable`` can be set."""

    __slots__ = ("_array",)

    def __init__(self, array: "Handle") -> None:
        self._array = array

    def _all(self) -> Any:
        like = self._array._stand_in()
        if not self.writeable:
            like.flags.writeable = False
        return like.flags

    @property
    def writeable(self) -> bool:
        """Whether the array may be written."""
        return not (self._array._locked or self._array._fixed)

    @writeable.setter
    def writeable(self, value: Any) -> None:
        array = self._array
        may = not array._fixed and (not array._lens or array._base_is_writable())
        if value and not self.writeable and not may:
            raise ValueError("cannot set WRITEABLE flag to True of this array")
        array._locked = not value

    def __getattr__(self, name: str) -> Any:
        return getattr(self._all(), name)

    def __getitem__(self, name: str) -> Any:
        return self._all()[name]

    def __setitem__(self, name: str, value: Any) -> None:
        if name not in ("W", "WRITEABLE"):
            raise KeyError(f"flag {name!r} of a distributed array can't be set")
        self.writeable = value

    def __repr__(self) -> str:
        return repr(self._all())


class Handle:
    """A cell and a lens on it.

    State: the cell; the lens, empty for the whole; whether it is a value of zero dimensions that
    never changes; whether writing is refused; of a view the array that it is of, unless it can
    never be written; what the lens shows, if that is not affine, with the expression it was made
    from.
    """

    __slots__ = ("__weakref__", "_base", "_cell", "_fixed", "_lens", "_locked", "_shown")
    __array_priority__ = 1000
    __hash__ = None  # type: ignore[assignment]

    def __init__(
        self, cell: Cell, lens: Lens = (), fixed: bool = False, locked: bool = False
    ) -> None:
        self._cell = cell
        self._lens = lens
        self._fixed = fixed
        self._locked = locked
        self._base: Handle | None = None
        self._shown: tuple[Expr, Expr | Cell] | None = None

    @classmethod
    def _of(cls, expr: Expr, fixed: bool = True) -> Self:
        """Array of its own cell; a fixed one of zero dimensions never changes."""
        array = cls(Cell(expr), (), fixed and not expr.shape)
        if expr.policy.raises:
            fetch.raise_now(expr)
        fetch.bound_pending(expr)
        return array

    @property
    def _expr(self) -> Expr:
        expr = self._cell.expr
        if not self._lens:
            return expr
        first = self._lens[0]
        if len(self._lens) == 1 and isinstance(first, Affine):
            return view_of(expr, first)
        if self._shown is None or self._shown[0] is not expr:
            found = lens.seen(expr, self._lens)
            moves = any(isinstance(step, Shaped) for step in self._lens)
            self._shown = expr, Cell(found) if moves else found
        shown = self._shown[1]
        return shown.expr if isinstance(shown, Cell) else shown

    def _become(self, expr: Expr) -> Self:
        """Write through the lens."""
        self._check_writable()
        self._write(self._lens, expr)
        return self

    def _seen(self, through: Lens, locked: bool = False) -> Self:
        """View through a lens; a locked one can never be written."""
        found = type(self)(self._cell, through, False, locked or self._locked)
        if not locked and (self._base is not None or not self._lens):
            found._base = self if self._base is None else self._base
        return found

    def _base_is_writable(self) -> bool:
        return self._base is not None and not self._base._locked

    def _check_writable(self) -> None:
        if self._locked:
            raise ValueError(
                "assignment destination is read-only: its flags.writeable was set to False, or it "
                "is, or was made of, a view that NumPy gives so, as broadcast_to(), diagonal() and "
                "imag of real numbers do"
            )

    def _write(self, through: Lens, expr: Expr) -> None:
        whole = lens.written(self._cell.expr, through, expr)
        if whole.risky:  # what can't be read must not become what the array is
            fetch.persist([whole])
        elif whole.policy.raises:
            fetch.raise_now(whole)
        self._cell.replace(whole)
        fetch.bound_pending(whole)

    def _stand_in(self) -> np.ndarray:
        """NumPy's array of this shape, dtype and strides, with no memory behind it."""
        return stand_in(self.shape, self.dtype, self.strides)

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes."""
        expr = self._cell.expr
        return lens.form(self._lens, expr.shape, expr.dtype)[0] if self._lens else expr.shape

    @shape.setter
    def shape(self, value: Any) -> None:
        raise AttributeError(f"the shape of an array is not set: a = a.reshape({value!r})")

    @property
    def dtype(self) -> np.dtype:
        """Type of the elements."""
        expr = self._cell.expr
        return lens.form(self._lens, expr.shape, expr.dtype)[1] if self._lens else expr.dtype

    @dtype.setter
    def dtype(self, value: Any) -> None:
        raise AttributeError(f"the dtype of an array is not set: a = a.view({value!r})")

    @property
    def strides(self) -> Strides:
        """Strides in bytes that NumPy's array would have, views included."""
        expr = self._cell.expr
        whole = ordered(expr.shape, expr.dtype.itemsize, self._cell.order)
        return lens.strides(self._lens, whole)

    @property
    def flags(self) -> "Flags":
        """Flags that NumPy's array would have: whether it is contiguous, and may be written."""
        return Flags(self)

    def setflags(self, write: Any = None, align: Any = None, uic: Any = None) -> None:
        """Say whether this array, and views made of it from now on, may be written.

        Raises
        ------
        ValueError
            When a value or a view that can't be written is to be.
        """
        if write is not None:
            self.flags.writeable = write

    def _is_record(self) -> bool:
        """Whether this is one structured element, whose fields have numbers."""
        return not self.shape and self.dtype.names is not None

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements, over all ranks."""
        return self.size * self.itemsize

    @property
    def layout(self) -> Layout:
        """Grid and owners."""
        return self._expr.layout

    @property
    def device(self) -> str:
        """Where the blocks lie: ``"cpu"`` or ``"cuda"``."""
        return self._cell.expr.device or CPU

    @property
    def chunks(self) -> tuple[tuple[int, ...], ...]:
        """Block lengths per axis, in Dask's notation."""
        return self.layout.chunks

    @property
    def split(self) -> tuple[int, ...] | None:
        """Axes that are cut among the ranks; None when every rank holds all."""
        return None if self.layout.replicated else self.layout.split
