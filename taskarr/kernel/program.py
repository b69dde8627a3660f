"""Programs: what one pass computes at each tile, compiled from the pass's expressions."""

from dataclasses import dataclass, replace

import numpy as np

from taskarr.faults import NOBODY
from taskarr.geometry.view import NEW, Affine
from taskarr.kernel.functions import CAST, Function
from taskarr.kernel.reduction import Reduction

Ref = tuple[str, int]
"""Where a value lies: ``("leaf", k)``, ``("temp", k)``, ``("out", k)`` or ``("arg", k)``."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """A value read at each tile.

    Parameters
    ----------
    kind
        ``"array"``: from pieces of array ``source``; otherwise a generator of `kernel.leaves`.
    source
        Number of the array among the pass's sources; of the first argument for a generator.
    view
        From iteration indices to the array's.
    dtype
        Of the elements.
    """

    kind: str
    source: int
    view: Affine
    dtype: np.dtype


@dataclass(frozen=True, slots=True)
class Temp:
    """A scratch value: its dtype, the axes on which it has the tile's length, its buffer."""

    dtype: np.dtype
    axes: tuple[bool, ...]
    buffer: int


@dataclass(frozen=True, slots=True)
class Call:
    """One call ``target = function(*args)``; ``node`` is the position that answers for faults."""

    function: Function
    args: tuple[Ref, ...]
    target: Ref
    node: int = NOBODY


@dataclass(frozen=True, slots=True)
class Fold:
    """A reduction of a value over iteration axes; ``node`` as in `Call`."""

    value: Ref
    reduction: Reduction
    node: int = NOBODY


@dataclass(frozen=True, slots=True)
class Filter:
    """A selection: the elements (or rows) of a value at which a mask is true."""

    value: Ref
    mask: Ref
    mask_ndim: int


@dataclass(frozen=True, slots=True)
class Program:
    """Straight-line program over the tiles of an iteration space."""

    leaves: tuple[Leaf, ...]
    temps: tuple[Temp, ...]
    calls: tuple[Call, ...]
    outputs: tuple[np.dtype, ...]
    folds: tuple[Fold, ...]
    filters: tuple[Filter, ...]

    @property
    def is_copy(self) -> bool:
        """Whether the program only copies one array, as it is, to one output."""
        return (
            len(self.calls) == len(self.outputs) == len(self.leaves) == 1
            and not self.folds
            and not self.filters
            and self.calls[0].function is CAST
            and self.leaves[0].kind == "array"
            and self.leaves[0].dtype == self.outputs[0]
        )


class Assembler:
    """Builds a `Program` call by call.

    Parameters
    ----------
    ndim
        Number of iteration axes.

    Notes
    -----
    State: the leaves found so far by content; the calls; dtype and axes of each temporary;
    the outputs, and the temporaries that are computed in one. Buffers are given to temporaries
    at the end, by last use.
    """

    def __init__(self, ndim: int) -> None:
        self.ndim = ndim
        self.leaves: dict[Leaf, int] = {}
        self.calls: list[Call] = []
        self.temps: list[tuple[np.dtype, tuple[bool, ...]]] = []
        self.outputs: list[np.dtype] = []
        self.in_output: dict[Ref, Ref] = {}
        self.folds: list[Fold] = []
        self.filters: list[Filter] = []
        self.apart: set[int] = set()

    def leaf(self, leaf: Leaf) -> Ref:
        """Value read from an array or a generator."""
        return "leaf", self.leaves.setdefault(leaf, len(self.leaves))

    def call(
        self,
        function: Function,
        args: tuple[Ref, ...],
        dtype: np.dtype,
        view: Affine,
        node: int = NOBODY,
    ) -> Ref:
        """Value of a function of values; ``view`` tells on which axes it varies."""
        axes = tuple(axis != NEW for axis in view.axes)
        self.temps.append((dtype, axes))
        target = ("temp", len(self.temps) - 1)
        self.calls.append(Call(function, args, target, node))
        return target

    def is_whole(self, ref: Ref) -> bool:
        """Whether a value has the tile's length on every axis."""
        kind, number = ref
        if kind == "temp":
            return all(self.temps[number][1])
        if kind == "leaf":
            leaf = list(self.leaves)[number]
            return leaf.kind == "array" and NEW not in leaf.view.axes
        return kind == "out"

    def output(self, value: Ref, dtype: np.dtype) -> Ref:
        """Store a value as the next output, and give the place from which to read it again."""
        target = ("out", len(self.outputs))
        self.outputs.append(dtype)
        last = self.calls[-1] if self.calls else None
        if last and value[0] == "temp" and last.target == value and all(self.temps[value[1]][1]):
            self.calls[-1] = replace(last, target=target)
            self.in_output[value] = target
        else:
            self.calls.append(Call(CAST, (value,), target))
        return target

    def copied_output(self, value: Ref, dtype: np.dtype) -> None:
        """Copy a value to the next output, whose elements may lie apart in memory.

        Functions write contiguous memory only: with strides NumPy's loops give other last bits,
        and those of ``isnan`` and its like in NumPy 2.4 wrong values.
        """
        self.apart.add(len(self.outputs))
        self.calls.append(Call(CAST, (value,), ("out", len(self.outputs))))
        self.outputs.append(dtype)

    def program(self) -> Program:
        """The finished program."""
        self._read_outputs()
        self._accumulate_in_outputs()
        return Program(
            tuple(self.leaves),
            self._placed(),
            tuple(self.calls),
            tuple(self.outputs),
            tuple(self.folds),
            tuple(self.filters),
        )

    def _read_outputs(self) -> None:
        """Let readers of a temporary that is computed in an output read it there."""
        at = self.in_output

        def found(ref: Ref) -> Ref:
            return at.get(ref, ref)

        self.calls = [replace(c, args=tuple(map(found, c.args))) for c in self.calls]
        self.folds = [replace(f, value=found(f.value)) for f in self.folds]
        self.filters = [Filter(found(f.value), found(f.mask), f.mask_ndim) for f in self.filters]

    def _accumulate_in_outputs(self) -> None:
        """Let a value that ends in an output's call lie in the output from its beginning on."""
        last = self._last_uses()
        for at in reversed(range(len(self.calls))):
            call = self.calls[at]
            kind, number = call.target
            if (
                kind != "out"
                or number in self.apart
                or not _works_in_place(call, self.outputs[number])
            ):
                continue
            like = (self.outputs[number], (True,) * self.ndim)
            for arg in call.args:
                if arg[0] == "temp" and last[arg] == at and self.temps[arg[1]] == like:
                    self._rename(arg, call.target)
                    break
        self.calls = [
            call for call in self.calls if call.function is not CAST or call.args != (call.target,)
        ]

    def _rename(self, old: Ref, new: Ref) -> None:
        self.calls = [
            replace(
                call,
                args=tuple(new if arg == old else arg for arg in call.args),
                target=new if call.target == old else call.target,
            )
            if old == call.target or old in call.args
            else call
            for call in self.calls
        ]

    def _last_uses(self) -> dict[Ref, int]:
        last: dict[Ref, int] = {}
        for at, call in enumerate(self.calls):
            last.update(dict.fromkeys(call.args, at))
        ends = [f.value for f in self.folds] + [v for f in self.filters for v in (f.value, f.mask)]
        last.update(dict.fromkeys(ends, len(self.calls)))
        return last

    def _placed(self) -> tuple[Temp, ...]:
        """Give buffers to temporaries: one whose last reader is a call may hold its result."""
        last, count = self._last_uses(), 0
        free: dict[tuple[np.dtype, tuple[bool, ...]], list[int]] = {}
        buffers = [-1] * len(self.temps)
        for at, call in enumerate(self.calls):
            for arg in dict.fromkeys(call.args):
                if arg[0] == "temp" and last[arg] == at:
                    free.setdefault(self.temps[arg[1]], []).append(buffers[arg[1]])
            if call.target[0] == "temp":
                spare = free.get(self.temps[call.target[1]])
                if spare and _works_in_place(call, self.temps[call.target[1]][0]):
                    buffers[call.target[1]] = spare.pop()
                else:
                    buffers[call.target[1]], count = count, count + 1
        return tuple(
            Temp(dtype, axes, buffer)
            for (dtype, axes), buffer in zip(self.temps, buffers, strict=True)
        )


def _works_in_place(call: Call, dtype: np.dtype) -> bool:
    """Whether a call may write over an operand and give the same bits.

    Some functions write their result in steps; NumPy's half-precision loops differ in place.
    """
    return call.function.in_place and dtype.char != "e"
