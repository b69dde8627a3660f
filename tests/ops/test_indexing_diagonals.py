"""Triangles, diagonals and their indices, open grids, and the balance of layouts."""

from __future__ import annotations

from itertools import cycle
from typing import Any

import numpy as np
import pytest

import taskarr
from tests.layouts import CUT, LAYOUTS, RANKS, Placing, on_ranks
from tests.oracle import Check, verify

ROWS = Placing("rows", split=0)
X = np.arange(1.0, 36.0).reshape(7, 5)


def in_turns(checks: list[Check], placings: tuple[Placing, ...] = LAYOUTS[:5]) -> list[Any]:
    """Checks with a layout each, one after the other."""
    return list(zip(checks, cycle(placings), strict=False))


@pytest.mark.parametrize("name", ["tril", "triu"])
def test_triangles(name):
    checks = []
    for shape in ((7, 5), (5, 7), (3, 4, 5), (6,), (0, 3), (2, 0), (1, 1)):
        x = np.arange(1.0, 1 + np.prod(shape)).reshape(shape)
        for k in (0, 1, -2, 9, -9):
            act = lambda xp, a, k=k: getattr(xp, name)(a, k)  # noqa: E731
            checks.append(Check(f"{shape} {k}", act, (x,)))
    checks.append(Check("turned", lambda xp, a: getattr(xp, name)(a.T), (X,)))
    checks.append(Check("zero dimensions", lambda xp, a: getattr(xp, name)(a[0, 0]), (X,)))
    verify(in_turns(checks), ranks=(1, 2, 5), flow=False)


@pytest.mark.parametrize("k", [1.5, 0.5, -0.5, -1.7, np.float32(0.7), True, np.inf, np.nan, "a",
    None, 1j, [1], np.array(1), 2**70])  # fmt: skip
def test_numbers_of_diagonals(k):
    acts = {
        "tril": lambda xp, a: xp.tril(a, k),
        "triu": lambda xp, a: xp.triu(a, k),
        "tri": lambda xp, a: xp.tri(3, 4, k),
        "tril_indices": lambda xp, a: xp.tril_indices(4, k)[1],
        "triu_indices": lambda xp, a: xp.triu_indices(4, k)[0],
    }
    if isinstance(k, float):
        acts["element"] = lambda xp, a: xp.tril(a, xp.asarray(np.array([k]))[0])
    verify([Check(f"{n} {k}", act, (X,)) for n, act in acts.items()], ranks=(1, 3), flow=False)


@pytest.mark.parametrize("dtype", ["?", "u1", "f4", "c16", "M8[D]", "U2", "i2,f4"])
def test_triangles_of_every_dtype(dtype):
    x = np.arange(12).astype("i8" if dtype == "i2,f4" else dtype).reshape(3, 4)
    if dtype == "i2,f4":
        x = np.stack([x, x], -1).astype("f4")[..., 0].astype([("a", "i2"), ("b", "f4")])
    acts = [lambda xp, a: xp.tril(a), lambda xp, a: xp.triu(a, 1)]
    verify([Check("triangle", act, (x,)) for act in acts], ranks=(1, 3), flow=False)


def test_triangles_move_nothing():
    def job(world):
        a = ROWS.place(X).persist()
        before = world.counters["sends"]
        taskarr.tril(a).persist()
        return world.counters["sends"] - before

    assert on_ranks(3, job).value == 0


INDICES = {
    "tril_indices": lambda xp: xp.tril_indices(4),
    "tril_indices, wide": lambda xp: xp.tril_indices(3, 1, 5),
    "triu_indices": lambda xp: xp.triu_indices(4, -1),
    "triu_indices, tall": lambda xp: xp.triu_indices(5, 0, 3),
    "triu_indices of nothing": lambda xp: xp.triu_indices(0),
    "tril_indices_from": lambda xp: xp.tril_indices_from(xp.asarray(X), 1),
    "triu_indices_from": lambda xp: xp.triu_indices_from(xp.asarray(X), -1),
    "mask_indices": lambda xp: xp.mask_indices(4, xp.triu, 1),
    "diag_indices": lambda xp: xp.diag_indices(5),
    "diag_indices of three axes": lambda xp: xp.diag_indices(5, 3),
    "diag_indices_from": lambda xp: xp.diag_indices_from(xp.asarray(X[:5])),
    "ix_": lambda xp: xp.ix_([2, 0], np.array([1, 4, 3])),
    "ix_ of masks": lambda xp: xp.ix_(np.array([True, False, True]), [], [3]),
    "ix_ of arrays": lambda xp: xp.ix_(xp.asarray([2, 0]), xp.asarray([True, True, False])),
    "ix_ of one": lambda xp: xp.ix_([1]),
}


def test_indices():
    def job(world):
        return {name: [x.numpy() for x in act(taskarr)] for name, act in INDICES.items()}

    for n in (1, 2, 5):
        found = on_ranks(n, job).value
        for name, act in INDICES.items():
            expected = act(np)
            assert len(found[name]) == len(expected), name
            for one, other in zip(found[name], expected, strict=True):
                np.testing.assert_array_equal(one, other, strict=True, err_msg=name)


def test_indices_as_keys():
    acts = {
        "ix_": lambda xp, a: a[xp.ix_([2, 0], [4, 1])],
        "tril": lambda xp, a: a[xp.tril_indices_from(a)],
        "diagonal": lambda xp, a: a[:5][xp.diag_indices(5)],
    }
    verify([Check(name, act, (X,)) for name, act in acts.items()], (1, 3), CUT[:2])


WRONG = {
    "ix_ of two axes": lambda xp, a: xp.ix_([[1]]),
    "from one axis": lambda xp, a: xp.tril_indices_from(a[0]),
    "triu from three": lambda xp, a: xp.triu_indices_from(a[None]),
    "diagonal of a vector": lambda xp, a: xp.diag_indices_from(a[0]),
    "diagonal of a wide array": lambda xp, a: xp.diag_indices_from(a),
}


def test_wrong_arguments():
    verify([Check(name, act, (X,)) for name, act in WRONG.items()], ranks=(1, 2), flow=False)


def test_diagonals():
    acts = {
        "diag": lambda xp, a: xp.diag(a, 1),
        "diagflat": lambda xp, a: xp.diagflat(a[:2, :3], -1),
        "diagflat of one": lambda xp, a: xp.diagflat(a[0, 0]),
    }
    verify(in_turns([Check(name, act, (X,)) for name, act in acts.items()]), ranks=(1, 2, 5))


def test_balance():
    def job(world):
        a = taskarr.asarray(np.arange(70.0), split=0)
        part = a[:9]
        even = part.rebalance()
        again = even.rebalance()
        assert again.layout == even.layout
        np.testing.assert_array_equal(even.numpy(), np.arange(9.0))
        return a.is_balanced, part.is_balanced, even.is_balanced, part.local.size, even.local.size

    for n in RANKS:
        ran = on_ranks(n, job, alike=False).values
        assert all(value[0] and value[2] for value in ran)
        if n > 1:
            assert not ran[0][1]
        assert sum(value[4] for value in ran) == 9
        assert max(value[4] for value in ran) <= 1.5 * 9 / n + 2


def test_balance_of_what_every_rank_holds():
    a = taskarr.asarray(np.arange(9.0), split=None)
    assert a.is_balanced
    b = a.rebalance()
    assert b.layout == a.layout
    b[0] = 7  # an array of its own, in balance or not
    assert float(a[0]) != 7
    assert taskarr.zeros((0, 3)).is_balanced


def test_rows_that_a_mask_found_are_dealt_out_anew():
    def job(world):
        a = taskarr.asarray(np.arange(700.0), split=0)
        (found,) = taskarr.nonzero(a < 100)
        return found.is_balanced, found.local.size, found.numpy()

    for n in (2, 3, 7):
        for balanced, size, found in on_ranks(n, job, alike=False).values:
            assert balanced
            assert size <= 1.5 * 100 / n + 2
            np.testing.assert_array_equal(found, np.arange(100))


@pytest.mark.parametrize("name", ["tril", "triu"])
def test_triangles_are_in_this_machines_byte_order(name):
    x = np.arange(6).reshape(2, 3).astype(">i4")
    found, expected = getattr(np, name)(taskarr.asarray(x)), getattr(np, name)(x)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found.numpy(), expected)
