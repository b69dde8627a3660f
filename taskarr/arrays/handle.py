"""What all parts of an array share: the cell, the lens through which it is seen, its facts."""

from typing import Any, Self

import numpy as np

from taskarr import fetch
from taskarr.expr import Cell, Expr, view_of
from taskarr.geometry.layout import Layout
from taskarr.geometry.view import Affine
from taskarr.ops import views, write


def node_of(x: Any) -> Any:
    """The expression behind an array; anything else as it is."""
    return x._expr if isinstance(x, Handle) else x


class Handle:
    """A cell and a view of it."""

    __slots__ = ("_cell", "_fixed", "_view")
    __array_priority__ = 1000
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, cell: Cell, view: Affine | None = None, fixed: bool = False) -> None:
        self._cell = cell
        self._view = view
        self._fixed = fixed

    @classmethod
    def _of(cls, expr: Expr, fixed: bool = True) -> Self:
        """Array of its own cell; a fixed one of zero dimensions never changes."""
        array = cls(Cell(expr), None, fixed and not expr.shape)
        fetch.bound_pending(expr)
        return array

    @property
    def _expr(self) -> Expr:
        expr = self._cell.expr
        return expr if self._view is None else view_of(expr, self._view)

    def _become(self, expr: Expr) -> Self:
        """Write through the view."""
        self._check_writable()
        whole = expr if self._view is None else write.put(self._cell.expr, self._view, expr)
        self._show(whole)
        return self

    def _check_writable(self) -> None:
        if self._view is not None and views.repeats(self._view):
            raise ValueError("assignment destination is read-only: broadcast_to() repeats elements")

    def _show(self, expr: Expr) -> None:
        self._cell.replace(expr)
        fetch.bound_pending(expr)

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes."""
        return self._cell.expr.shape if self._view is None else self._view.shape

    @property
    def dtype(self) -> np.dtype:
        """Type of the elements."""
        return self._cell.expr.dtype

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
    def chunks(self) -> tuple[tuple[int, ...], ...]:
        """Block lengths per axis, in Dask's notation."""
        return self.layout.chunks

    @property
    def split(self) -> tuple[int, ...] | None:
        """Axes that are cut among the ranks; None when every rank holds all."""
        return None if self.layout.replicated else self.layout.split
