"""Random programs for hypothesis, and what they give without tiles and shared scratch memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

from taskarr.geometry.view import Affine, broadcast, identity
from taskarr.kernel.functions import CAST, SELECT, Function, ufunc
from taskarr.kernel.program import Assembler, Fold, Leaf, Program, Ref
from taskarr.kernel.reduction import Reduction
from taskarr.ops.reductions import ROWS

FLOAT, BOOL = np.dtype("f8"), np.dtype("?")
BINARY = tuple(map(ufunc, ("add", "multiply", "subtract", "maximum")))
LESS = ufunc("less")


@dataclass(frozen=True)
class Case:
    """A program over a shape, the sources that it reads, and whole values of all it computes.

    Parameters
    ----------
    values
        Per call its result over the whole shape.
    outputs, folds
        Values that are stored and reduced.
    """

    shape: tuple[int, ...]
    program: Program
    sources: tuple[np.ndarray, ...]
    values: tuple[np.ndarray, ...]
    outputs: tuple[np.ndarray, ...]
    folds: tuple[np.ndarray, ...]


@dataclass
class _Value:
    ref: Ref
    view: Affine
    data: np.ndarray


@st.composite
def cases(draw: Any, shape: tuple[int, ...], folds: bool = True) -> Case:
    """Programs of some calls over leaves of the shape or broadcast to it."""
    assembler, sources, known = Assembler(len(shape)), [], []
    for k in range(draw(st.integers(1, 3))):
        base = tuple(1 if n > 1 and draw(st.booleans()) else n for n in shape) if k else shape
        x = np.sin(np.arange(int(np.prod(base))) * (k + 1.0)).reshape(base)
        view = broadcast(base, shape)
        known.append(_Value(assembler.leaf(Leaf("array", k, view, FLOAT)), view, x))
        sources.append(x)
    values, outputs, reduced = [], [], []
    for _ in range(draw(st.integers(1, 8))):
        value = draw(_calls(assembler, known, shape))
        values.append(np.broadcast_to(value.data, shape))
        if draw(st.integers(0, 3)) == 0:
            outputs.append(np.broadcast_to(value.data, shape))
            if draw(st.booleans()):  # as the compiler does: read it again where it is stored
                ref = assembler.output(value.ref, FLOAT)
                value = _Value(ref, identity(shape), values[-1])
            else:
                assembler.output(value.ref, FLOAT)
        known.append(value)
        if folds and draw(st.integers(0, 3)) == 0:
            axes = tuple(sorted(draw(st.sets(st.integers(0, len(shape) - 1), min_size=1))))
            count = int(np.prod([shape[a] for a in axes]))
            name = draw(st.sampled_from(("sum", "max", "min")))
            assembler.folds.append(
                Fold(value.ref, Reduction(ROWS[name], FLOAT, FLOAT, axes, count))
            )
            reduced.append(getattr(np, name)(np.broadcast_to(value.data, shape), axis=axes))
    return Case(
        shape, assembler.program(), tuple(sources), tuple(values), tuple(outputs), tuple(reduced)
    )


@st.composite
def _calls(draw: Any, assembler: Assembler, known: list[_Value], shape: tuple[int, ...]) -> _Value:
    x, y, z = (draw(st.sampled_from(known)) for _ in range(3))
    kind = draw(st.sampled_from(("binary", "binary", "cast", "select")))
    if kind == "cast":
        return _Value(assembler.call(CAST, (x.ref,), FLOAT, x.view), x.view, x.data)
    if kind == "select":
        mask = x.data < y.data
        view = broadcast(mask.shape, shape)
        condition = assembler.call(LESS, (x.ref, y.ref), BOOL, view)
        data = np.where(mask, y.data, z.data)
        view = broadcast(data.shape, shape)
        refs = (condition, y.ref, z.ref)
        return _Value(assembler.call(SELECT, refs, FLOAT, view), view, data)
    function: Function = draw(st.sampled_from(BINARY))
    data = getattr(np, function.name)(x.data, y.data)
    view = broadcast(data.shape, shape)
    return _Value(assembler.call(function, (x.ref, y.ref), FLOAT, view), view, data)
