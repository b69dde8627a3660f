"""What `docs/communication.md` says: which operations move data, counted on four ranks."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import taskarr
from tests.layouts import on_ranks

DOCS = Path(__file__).parents[1] / "docs" / "communication.md"
RANKS = 4
X = np.arange(64.0).reshape(16, 4)

FREE = "nothing"
EDGES = "edges"
TREE = "tree"
COUNTS = "counts"
ALL = "all-to-all"

OPERATIONS = {
    "elementwise": (FREE, lambda a, b: a * 2 + np.sqrt(b)),
    "where": (FREE, lambda a, b: np.where(a > b, a, b)),
    "broadcasting a row of NumPy": (FREE, lambda a, b: a - X[0]),
    "slices": (FREE, lambda a, b: a[2:, ::-1] + 0),
    "transpose": (FREE, lambda a, b: a.T + 0),
    "flip": (FREE, lambda a, b: np.flip(a) + 0),
    "ravel": (FREE, lambda a, b: a.ravel() + 0),
    "reshape of whole rows": (FREE, lambda a, b: a.reshape(16, 2, 2) + 0),
    "real and imag": (FREE, lambda a, b: (a + 1j * b).imag),
    "reduction within rows": (FREE, lambda a, b: a.sum(axis=1)),
    "running sum within rows": (FREE, lambda a, b: a.cumsum(axis=1)),
    "writing a view": (FREE, lambda a, b: a[3:5].__setitem__(..., 1) or a),
    "random": (FREE, lambda a, b: taskarr.random.default_rng(1).normal(size=(16, 4))),
    "creation": (FREE, lambda a, b: taskarr.eye(16, 4)),
    "shifted slices": (EDGES, lambda a, b: a[1:] - a[:-1]),
    "other boundaries": (EDGES, lambda a, b: a.redistribute(chunks=((5, 3, 4, 4), 4))),
    "reshape of cut rows": (EDGES, lambda a, b: a.reshape(8, 8)[:, ::2] + 0),
    "running sum across rows": (EDGES, lambda a, b: a.cumsum(axis=0)),
    "reduction of all": (TREE, lambda a, b: a.mean()),
    "reduction across rows": (TREE, lambda a, b: a.max(axis=0)),
    "argmax": (TREE, lambda a, b: a.argmax()),
    "mask": (COUNTS, lambda a, b: a[a > 9]),
    "rows by a mask": (COUNTS, lambda a, b: a[(a > 9).any(axis=1)]),
    "reversed beside not": (ALL, lambda a, b: a[::-1] + b),
    "transposed beside not": (ALL, lambda a, b: a.T + taskarr.asarray(X.T, split=0)),
    "redistribute": (ALL, lambda a, b: a.redistribute(split=1)),
    "numpy()": (ALL, lambda a, b: taskarr.asarray(a.numpy())),
}
"""What each operation costs; all are computed, with their results as they lie."""


def cost_of(act):
    """What all ranks together sent and agreed on, for one operation."""

    def job(world):
        a = taskarr.asarray(X, split=0).persist()
        b = taskarr.asarray(X * 3, split=0).persist()
        before = Counter(world.counters)
        act(a, b).persist()
        return Counter(world.counters) - before

    return sum(on_ranks(RANKS, job, alike=False, block=32).values, Counter())


AGREEMENTS = 2 * RANKS
"""Reductions at the beginning and the end of one run, on all ranks together."""


@pytest.mark.parametrize("name", OPERATIONS)
def test_cost(name):
    kind, act = OPERATIONS[name]
    cost = cost_of(act)
    moved = cost["send_bytes"] + cost["alltoallv_bytes"]
    if kind in (FREE, COUNTS):
        assert moved == 0
        assert cost["allreduce"] == AGREEMENTS + (RANKS if kind == COUNTS else 0)
    elif kind == TREE:
        assert 0 < cost["sends"] <= 2 * RANKS
        assert moved < X.nbytes // 2
    elif kind == EDGES:
        assert 0 < cost["sends"] <= RANKS
        assert moved <= X.nbytes // 4
    else:
        assert moved > X.nbytes // 2


def test_the_page_says_so():
    rows = [line.split("|")[1:3] for line in DOCS.read_text().splitlines() if line.startswith("| ")]
    said = {name.strip(): kind.strip() for name, kind in rows[1:]}
    assert said == {name: kind for name, (kind, _) in OPERATIONS.items()}
