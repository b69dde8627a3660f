"""Elements by index and by condition: the methods of NumPy's arrays, and two other kinds of key."""

from typing import Any, Self

import numpy as np

from taskarr.arrays.calling import outputs
from taskarr.arrays.flat import Flat
from taskarr.arrays.handle import Handle, node_of, with_nodes
from taskarr.arrays.writing import to_write
from taskarr.ops import balance, edits, orthogonal, picks
from taskarr.ops.operands import replicated_host
from taskarr.ops.ufuncs import placed


class Indexing(Handle):
    """Picking and writing elements by index, and how evenly they lie on the ranks."""

    __slots__ = ()

    def take(self, indices: Any, axis: Any = None, out: Any = None, mode: Any = "raise") -> Self:
        """Elements at indices along an axis, or of the flattened array; as `numpy.take`."""
        return self._taken(picks.take(self._expr, node_of(indices), axis, mode), out)

    def compress(self, condition: Any, axis: Any = None, out: Any = None) -> Self:
        """Rows along an axis for which a condition is true; as `numpy.compress`."""
        return self._taken(picks.compress(self._expr, self._near(condition), axis), out)

    def choose(self, *choices: Any, out: Any = None, mode: Any = "raise") -> Self:
        """Elements of the choice that this array's elements name; as `numpy.choose`.

        Parameters
        ----------
        *choices
            A sequence of them, or one after the other.
        out
            Array that is written and returned.
        mode
            What an index out of range does: ``"raise"``, ``"wrap"`` or ``"clip"``.
        """
        nodes = [node_of(c) for c in picks.listed(choices)]
        found = picks.choose(self._expr, nodes, mode, self._expr)
        (target,) = outputs("choose", out)
        if target is None:
            return self._of(found)
        if target.shape != found.shape:
            raise TypeError("choose: invalid shape for output array.")
        return target._become(placed(found, target._expr))

    def nonzero(self, as_tuple: bool = True) -> Any:
        """Indices of the elements that are not zero: an array for each axis.

        Parameters
        ----------
        as_tuple
            False: one array with a row for each element, as `numpy.argwhere`.
        """
        if not as_tuple:
            return self._of(picks.argwhere(self._expr), fixed=False)
        return tuple(self._of(found, fixed=False) for found in picks.where(self._expr))

    def put(self, indices: Any, values: Any, mode: Any = "raise") -> None:
        """Write values, repeated as needed, at flat indices; as `numpy.put`."""
        (target,) = outputs("put", self)
        new = to_write(values, self.dtype)
        target._become(edits.put(self._expr, node_of(indices), new, mode))

    def _taken(self, found: Any, out: Any) -> Self:
        (target,) = outputs("take", out)
        if target is None:
            return self._of(found)
        picks.check_taken(found, target._expr)
        return target._become(placed(found, target._expr))

    def _near(self, x: Any) -> Any:
        """An operand as a node; every rank keeps all of a NumPy array."""
        if isinstance(x, Handle):
            return x._expr
        return replicated_host(np.asarray(x), self._expr.world)

    # ------------------------------------------------------------------ other keys

    @property
    def flat(self) -> Flat:
        """The elements in one row, to be read and written by index and iterated over."""
        return Flat(self)

    @flat.setter
    def flat(self, value: Any) -> None:
        self.flat[...] = value

    @property
    def oindex(self) -> "Outer":
        """Keys whose arrays each pick along their own axis, as zarr's."""
        return Outer(self)

    @property
    def vindex(self) -> "Points":
        """Keys whose arrays together name points, whose axes come first; as zarr's and xarray's."""
        return Points(self)

    # ------------------------------------------------------------------ balance

    @property
    def is_balanced(self) -> bool:
        """Whether the fullest rank has at most 1.5 times the mean, or as little as it can."""
        return balance.is_balanced(self._expr)

    def rebalance(self) -> Self:
        """Array of its own with the same elements dealt out evenly; if they are so, none moves."""
        return self._of(balance.rebalanced(self._expr), self._fixed)


class Outer:
    """``a.oindex``: read and written by keys whose arrays each pick along their own axis.

    Parameters
    ----------
    base
        The array.
    """

    __slots__ = ("base",)

    _read = staticmethod(orthogonal.outer_read)
    _write = staticmethod(orthogonal.outer_written)

    def __init__(self, base: Any) -> None:
        self.base = base

    def __getitem__(self, key: Any) -> Any:
        return self.base._of(self._read(self.base._expr, with_nodes(key)))

    def __setitem__(self, key: Any, value: Any) -> None:
        base, nodes = self.base, with_nodes(key)
        if base._fixed or not orthogonal.split(base.shape, nodes)[1]:
            base[key] = value
            return
        base._check_writable()
        base._become(self._write(base._expr, nodes, to_write(value, base.dtype)))


class Points(Outer):
    """``a.vindex``: read and written by keys whose arrays together name points."""

    __slots__ = ()

    _read = staticmethod(orthogonal.point_read)
    _write = staticmethod(orthogonal.point_written)
