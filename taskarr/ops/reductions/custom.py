"""Reductions of the user's own: partial, combine and finish are functions of NumPy arrays."""

from collections.abc import Callable, Sequence
from itertools import count
from types import ModuleType
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from scheduler import World
from taskarr.expr import Expr
from taskarr.kernel.reduction import FieldSpec, Row, State
from taskarr.ops.operands import checked_dtype
from taskarr.ops.reductions.asked import of_nothing
from taskarr.ops.reductions.node import axes_of, kept_shape, node

Parts = tuple[Any, ...]


class Custom:
    """A reduction that a user declared.

    Parameters
    ----------
    partial
        ``(block, axis) -> state``: a tuple of arrays in which reduced axes have length 1.
    combine
        ``(a, b) -> state`` of two states.
    finish
        ``state -> result``; None when the state is one array, the result.

    Notes
    -----
    State: its number in each world, which tells it from other reductions in plans. All ranks
    declare and call the same reductions, so they count alike.
    """

    def __init__(
        self,
        partial: Callable[[Any, tuple[int, ...]], Any],
        combine: Callable[[Parts, Parts], Any],
        finish: Callable[[Parts], Any] | None = None,
    ) -> None:
        for name, function in (("partial", partial), ("combine", combine), ("finish", finish)):
            if not callable(function) and not (name == "finish" and function is None):
                raise TypeError(f"reduction(): {name} must be a function, not {function!r}")
        self.partial, self.combine, self.finish = partial, combine, finish
        self.numbers: WeakKeyDictionary[World, int] = WeakKeyDictionary()

    def node(self, x: Expr, axis: Any = None, keepdims: bool = False) -> Expr:
        """Node of the reduction of an array.

        Raises
        ------
        numpy.exceptions.AxisError, ValueError
            For an axis that the array has not, or has twice.
        TypeError, ValueError
            When the functions give something else than states; what they raise themselves.
        """
        axes = axes_of(len(x.shape), axis)
        place = {"axis": axes, "keepdims": keepdims}
        if 0 in x.shape:
            return of_nothing(self.reduction, x, place)
        sample = np.ones((2,) * len(x.shape), x.dtype)
        with np.errstate(all="ignore"):
            state = self._state(sample, axes)
            both = self._both(state, state)
            result = checked_dtype(self._finished(both, sample.shape, axes).dtype)
        specs = tuple(FieldSpec(checked_dtype(part.dtype.newbyteorder("="))) for part in both)
        return node(x, self._row(x.world, specs), result, axes, bool(keepdims))

    def _row(self, world: World, specs: tuple[FieldSpec, ...]) -> Row:
        """Row whose state has these arrays."""

        def typed(parts: Parts) -> State:
            return tuple(p.astype(s.dtype) for p, s in zip(parts, specs, strict=True))

        def partial(xp: ModuleType, x: Any, axes: tuple[int, ...], fields: Any) -> State:
            return typed(self._state(x, axes))

        def combine(xp: ModuleType, a: State, b: State) -> State:
            return typed(self._both(a, b))

        def finish(xp: ModuleType, state: State, size: int, options: Any) -> Any:
            return state[0] if self.finish is None else self.finish(state)

        name = f"reduction {self._number(world)}"
        return Row(name, lambda source, result: specs, partial, combine, finish)

    def _number(self, world: World) -> int:
        if world not in self.numbers:
            self.numbers[world] = next(world.state.setdefault("reductions", count()))
        return self.numbers[world]

    def _state(self, x: Any, axes: tuple[int, ...]) -> Parts:
        found = self.partial(x, axes)
        _check(found, kept_shape(x.shape, axes, True), "partial")
        return found

    def _both(self, a: Parts, b: Parts) -> Parts:
        found = self.combine(a, b)
        _check(found, a[0].shape, "combine", len(a))
        return found

    def _finished(self, state: Parts, shape: tuple[int, ...], axes: tuple[int, ...]) -> Any:
        if self.finish is None and len(state) != 1:
            raise TypeError(
                f"reduction(): a state of {len(state)} arrays is no result; give a finish()"
            )
        found = np.asarray(state[0] if self.finish is None else self.finish(state))
        _check((found,), kept_shape(shape, axes, True), "finish")
        return found

    def reduction(self, x: Any, axis: tuple[int, ...], keepdims: bool) -> Any:
        """Result for an array of NumPy's."""
        found = self._finished(self._state(x, axis), x.shape, axis)
        return found.reshape(kept_shape(x.shape, axis, keepdims))


def _check(parts: Any, shape: Sequence[int], name: str, length: int | None = None) -> None:
    """Raise unless this is a tuple of arrays of this shape."""
    if not isinstance(parts, tuple) or not parts or (length and len(parts) != length):
        wanted = "a tuple of arrays" if length is None else f"a tuple of {length} arrays"
        raise TypeError(f"reduction(): {name}() must give {wanted}, not {parts!r}"[:200])
    for part in parts:
        if getattr(part, "shape", None) != tuple(shape):
            raise ValueError(
                f"reduction(): {name}() must give arrays of shape {tuple(shape)}, reduced axes "
                f"kept with length 1; one has shape {getattr(part, 'shape', None)}"
            )
