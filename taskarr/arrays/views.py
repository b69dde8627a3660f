"""Keys and views of an array: reading, writing, other shapes of the same elements."""

from collections.abc import Iterator
from typing import Any, Self

from taskarr.arrays.handle import Handle, node_of
from taskarr.expr import view_of
from taskarr.geometry.view import Affine
from taskarr.ops import masks, views, write
from taskarr.ops.keys import as_tuple, is_basic, refuse, view_of_key


class Views(Handle):
    """Indexing and the views that have names."""

    __slots__ = ()

    def __getitem__(self, key: Any) -> Self:
        if is_basic(key):
            dots = any(entry is Ellipsis for entry in as_tuple(key))
            return self._viewed(view_of_key(self.shape, key), dots)
        mask = masks.as_mask(_with_nodes(key), self._expr)
        if mask is None:
            refuse(key)
        return self._of(masks.read(self._expr, mask))

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

    def __iter__(self) -> Iterator[Self]:
        if not self.shape:
            raise TypeError("iteration over a 0-d array")
        return (self[i] for i in range(self.shape[0]))

    def _viewed(self, view: Affine, array: bool = True) -> Self:
        """View of this array; of zero dimensions a fixed value unless it is to be an array."""
        if self._fixed or not (view.shape or array):
            return self._of(view_of(self._expr, view), fixed=not array)
        whole = view if self._view is None else view.after(self._view)
        return type(self)(self._cell, None if whole.is_identity else whole)

    @property
    def T(self) -> Self:  # noqa: N802 - NumPy's name
        """View with the axes in reverse order."""
        return self.transpose()

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


def _with_nodes(key: Any) -> Any:
    return tuple(map(node_of, key)) if isinstance(key, tuple) else node_of(key)
