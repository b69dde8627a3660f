"""The user's handle: an array is a cell and a view of it. No algorithm lives here."""

import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from taskarr import fetch, printing, protocols
from taskarr.expr import Cell, Expr, view_of
from taskarr.geometry.layout import Layout
from taskarr.geometry.view import Affine
from taskarr.ops import elementwise, masks, redistribute, reductions, views, write
from taskarr.ops.keys import as_tuple, is_basic, refuse, view_of_key


def node_of(x: Any) -> Any:
    """The expression behind an array; anything else as it is."""
    return x._expr if isinstance(x, Array) else x


OPERANDS = bool | str | bytes | list | tuple | range
"""What NumPy makes an array of when it stands beside one, besides numbers."""


def _known(x: Any) -> bool:
    """Whether an operand is one that arrays compute with; else Python asks the operand."""
    return isinstance(x, Array | np.ndarray | np.generic | complex | float | int | OPERANDS)


def _binary(name: str) -> tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]:
    """Operator methods of a ufunc: plain, reflected, in place."""

    def plain(self: "Array", other: Any) -> Any:
        if not _known(other):
            return NotImplemented
        return Array._of(elementwise.apply(name, [self._expr, node_of(other)]))

    def reflected(self: "Array", other: Any) -> Any:
        if not _known(other):
            return NotImplemented
        return Array._of(elementwise.apply(name, [node_of(other), self._expr]))

    def in_place(self: "Array", other: Any) -> Any:
        if self._fixed or not _known(other):
            return plain(self, other)
        found = elementwise.apply_into(name, self._expr, [self._expr, node_of(other)])
        return self._become(found)

    return plain, reflected, in_place


def _compare(name: str) -> Callable[..., Any]:
    """Comparison; Python would make an answer of its own where equality is not implemented."""
    plain = _binary(name)[0]

    def compare(self: "Array", other: Any) -> Any:
        found = plain(self, other)
        if found is NotImplemented and not hasattr(other, "__array_ufunc__"):
            raise TypeError(
                f"{name} of an array and {type(other).__name__} {other!r}: taskarr compares with "
                "arrays, numbers, and what NumPy makes an array of"
            )
        return found

    return compare


def _equality(name: str) -> Callable[..., Any]:
    """Method of ``==`` or ``!=``; what NumPy can't compare, None for one, is not equal."""
    ordinary = _compare(name)

    def method(self: "Array", other: Any) -> Any:
        other = np.array(None) if other is None else other
        if not _known(other):
            return ordinary(self, other)
        return Array._of(elementwise.compared(name, [self._expr, node_of(other)]))

    return method


def _unary(name: str) -> Callable[["Array"], "Array"]:
    def method(self: "Array") -> "Array":
        return Array._of(elementwise.apply(name, [self._expr]))

    return method


def _reduction(name: str) -> Callable[..., "Array"]:
    def method(self: "Array", *args: Any, **options: Any) -> "Array":
        return Array._of(reductions.called(name, self._expr, args, options))

    method.__name__ = name
    method.__doc__ = f"Reduction ``{name}`` over all axes, one axis or several; as `numpy.{name}`."
    return method


class Array:
    """A NumPy array whose blocks lie on the ranks of a job.

    Operations build a graph; values are computed when they are needed. Make arrays with
    `taskarr.asarray`, `taskarr.zeros`, `taskarr.load` and the like, not by calling this class.
    """

    __slots__ = ("_cell", "_fixed", "_view")
    __array_priority__ = 1000
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, cell: Cell, view: Affine | None = None, fixed: bool = False) -> None:
        self._cell = cell
        self._view = view
        self._fixed = fixed

    @classmethod
    def _of(cls, expr: Expr, fixed: bool = True) -> "Array":
        """Array of its own cell; a fixed one of zero dimensions never changes."""
        array = cls(Cell(expr), None, fixed and not expr.shape)
        fetch.bound_pending(expr)
        return array

    @property
    def _expr(self) -> Expr:
        expr = self._cell.expr
        return expr if self._view is None else view_of(expr, self._view)

    def _become(self, expr: Expr) -> "Array":
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

    # ------------------------------------------------------------------ facts

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

    # ------------------------------------------------------------------ getting values

    def numpy(self) -> np.ndarray:
        """The whole array on every rank. Collective."""
        return fetch.whole([self._expr], "numpy()")[0]

    compute = to_numpy = numpy

    def gather(self, root: int = 0) -> np.ndarray | None:
        """The whole array on one rank, None on the others. Collective."""
        return fetch.on_root(self._expr, root)

    def persist(self) -> "Array":
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

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *operands: Any, **options: Any) -> Any:
        if not all(_known(x) for x in operands):
            return NotImplemented
        nodes = [node_of(x) for x in operands]
        (out,) = options.pop("out", (None,))
        if out is None:
            return Array._of(protocols.ufunc_node(ufunc, method, nodes, options))
        if not isinstance(out, Array):
            raise TypeError(
                f"numpy.{ufunc.__name__} can't put a distributed result into a NumPy array; "
                "use the result's numpy()"
            )
        return out._become(protocols.ufunc_into(ufunc, method, out._expr, nodes, options))

    def __getattr__(self, name: str) -> Any:
        raise protocols.missing(name, np.ndarray, "Array")

    def __array_function__(
        self, function: Callable[..., Any], types: Any, args: Any, kwargs: Any
    ) -> Any:
        return protocols.function_of(function)(*args, **kwargs)

    def __float__(self) -> float:
        return float(fetch.single(self._expr, float))

    def __int__(self) -> int:
        return int(fetch.single(self._expr, int))

    def __complex__(self) -> complex:
        return complex(fetch.single(self._expr, complex))

    def __copy__(self) -> "Array":
        return self.copy()

    def __deepcopy__(self, memo: Any) -> "Array":
        return self.copy()

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

    def __iter__(self) -> Iterator["Array"]:
        if not self.shape:
            raise TypeError("iteration over a 0-d array")
        return (self[i] for i in range(len(self)))

    def __contains__(self, value: Any) -> bool:
        return bool((self == value).any())

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

    # ------------------------------------------------------------------ layouts

    def redistribute(self, split: Any = "auto", chunks: Any = None, mesh: Any = None) -> "Array":
        """The same elements in another layout; see `taskarr.asarray` for the arguments."""
        return Array._of(redistribute.redistribute(self._expr, split, chunks, mesh), self._fixed)

    # ------------------------------------------------------------------ views, keys

    def __getitem__(self, key: Any) -> "Array":
        if is_basic(key):
            dots = any(entry is Ellipsis for entry in as_tuple(key))
            return self._viewed(view_of_key(self.shape, key), dots)
        mask = masks.as_mask(_with_nodes(key), self._expr)
        if mask is None:
            refuse(key)
        return Array._of(masks.read(self._expr, mask))

    def __setitem__(self, key: Any, value: Any) -> None:
        if self._fixed:
            raise TypeError("a value of zero dimensions does not support item assignment")
        self._check_writable()
        value = node_of(value)
        if is_basic(key):
            view = view_of_key(self.shape, key)
            if not view.shape and not any(entry is Ellipsis for entry in as_tuple(key)):
                write.check_single(value, self.dtype)
            found = write.converted(value, view_of(self._expr, view))
            whole = view if self._view is None else view.after(self._view)
            self._show(write.put(self._cell.expr, whole, found))
            return
        mask = masks.as_mask(_with_nodes(key), self._expr)
        if mask is None:
            refuse(key)
        self._become(masks.written(self._expr, mask, value))

    def _viewed(self, view: Affine, array: bool = True) -> "Array":
        """View of this array; of zero dimensions a fixed value unless it is to be an array."""
        if self._fixed or not (view.shape or array):
            return Array._of(view_of(self._expr, view), fixed=not array)
        whole = view if self._view is None else view.after(self._view)
        return Array(self._cell, None if whole.is_identity else whole)

    @property
    def T(self) -> "Array":  # noqa: N802 - NumPy's name
        """View with the axes in reverse order."""
        return self.transpose()

    def transpose(self, *axes: Any) -> "Array":
        """View with the axes in another order, as `numpy.ndarray.transpose`."""
        given = axes[0] if len(axes) == 1 and not hasattr(axes[0], "__index__") else axes or None
        return self._viewed(views.transpose(self.shape, given))

    def swapaxes(self, axis1: int, axis2: int) -> "Array":
        """View with two axes exchanged."""
        return self._viewed(views.swapaxes(self.shape, axis1, axis2))

    def squeeze(self, axis: Any = None) -> "Array":
        """View without axes of length one: all, or those named."""
        return self._viewed(views.squeeze(self.shape, axis))

    # ------------------------------------------------------------------ elementwise

    def astype(self, dtype: Any, casting: str = "unsafe", copy: bool = True) -> "Array":
        """Elements as another dtype; as `numpy.ndarray.astype`."""
        found = elementwise.cast(self._expr, dtype, casting)
        if found.dtype == self.dtype and not copy:
            return self
        if found.dtype == self.dtype:
            found = elementwise.copied(found)
        return Array._of(found, self._fixed)

    def copy(self) -> "Array":
        """Array of its own with the same elements."""
        return Array._of(elementwise.copied(self._expr), self._fixed)

    __add__, __radd__, __iadd__ = _binary("add")
    __sub__, __rsub__, __isub__ = _binary("subtract")
    __mul__, __rmul__, __imul__ = _binary("multiply")
    __truediv__, __rtruediv__, __itruediv__ = _binary("divide")
    __floordiv__, __rfloordiv__, __ifloordiv__ = _binary("floor_divide")
    __mod__, __rmod__, __imod__ = _binary("remainder")
    __and__, __rand__, __iand__ = _binary("bitwise_and")
    __or__, __ror__, __ior__ = _binary("bitwise_or")
    __xor__, __rxor__, __ixor__ = _binary("bitwise_xor")
    __lshift__, __rlshift__, __ilshift__ = _binary("left_shift")
    __rshift__, __rrshift__, __irshift__ = _binary("right_shift")
    __eq__ = _equality("equal")
    __ne__ = _equality("not_equal")
    __lt__ = _compare("less")
    __le__ = _compare("less_equal")
    __gt__ = _compare("greater")
    __ge__ = _compare("greater_equal")
    __neg__ = _unary("negative")
    __pos__ = _unary("positive")
    __abs__ = _unary("absolute")
    __invert__ = _unary("invert")
    _, __rpow__, __ipow__ = _binary("power")

    def __divmod__(self, other: Any) -> tuple["Array", "Array"]:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> tuple["Array", "Array"]:
        return other // self, other % self

    def __matmul__(self, other: Any) -> "Array":
        raise protocols.missing("matmul", np, "taskarr")

    __rmatmul__ = __imatmul__ = __matmul__

    def __round__(self, digits: int | None = None) -> Any:
        if self.shape:
            raise TypeError("type taskarr.Array doesn't define __round__ method with axes")
        value: Any = self.numpy()[()]
        return round(value) if digits is None else round(value, digits)

    def __pow__(self, exponent: Any) -> "Array":
        if not _known(exponent):
            return NotImplemented
        return Array._of(elementwise.power(self._expr, node_of(exponent)))

    # ------------------------------------------------------------------ reductions

    sum = _reduction("sum")
    prod = _reduction("prod")
    min = _reduction("min")
    max = _reduction("max")
    mean = _reduction("mean")
    var = _reduction("var")
    std = _reduction("std")
    any = _reduction("any")
    all = _reduction("all")


def _with_nodes(key: Any) -> Any:
    return tuple(map(node_of, key)) if isinstance(key, tuple) else node_of(key)
