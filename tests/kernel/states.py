"""Reductions whose states are the expression that made them, so that every association shows."""

from __future__ import annotations

from typing import Any

import numpy as np

from taskarr.kernel.reduction import FieldSpec, Key, Partials, Reduction, Row, top

TEXT = np.dtype(object)


def _join(xp: Any, a: tuple[Any, ...], b: tuple[Any, ...]) -> tuple[Any, ...]:
    return (f"({a[0]} {b[0]})",)


SPELL = Row("spell", lambda source, result: (FieldSpec(TEXT),), lambda *_: (), _join, lambda *_: "")


def spelling(axes: tuple[int, ...]) -> Reduction:
    """Reduction over axes whose state is a text."""
    return Reduction(SPELL, TEXT, TEXT, axes, 0)


def leaf(key: Key) -> list[tuple[str]]:
    """States of one block: its numbers."""
    return [(".".join(str(i) for _, i in key),)]


def expected(key: tuple[Any, ...], axes: tuple[int, ...], blocks: tuple[int, ...]) -> str:
    """What all blocks along the reduced axes make, the last axis in `axes` first to be split."""
    for axis in reversed(axes):
        level, i = key[axis]
        if level:
            below = [(level - 1, 2 * i), (level - 1, 2 * i + 1)]
            parts = [
                expected((*key[:axis], node, *key[axis + 1 :]), axes, blocks)
                for node in below
                if node[1] << node[0] < blocks[axis]
            ]
            return parts[0] if len(parts) == 1 else f"({parts[0]} {parts[1]})"
    return leaf(key)[0][0]


def whole(axes: tuple[int, ...], blocks: tuple[int, ...]) -> Partials:
    """Partials when everything is combined: one entry per kept block."""
    found: list[Key] = [()]
    for axis, count in enumerate(blocks):
        nodes = [(top(count), 0)] if axis in axes else [(0, b) for b in range(count)]
        found = [(*key, node) for key in found for node in nodes]
    return {key: [(expected(key, axes, blocks),)] for key in found}
