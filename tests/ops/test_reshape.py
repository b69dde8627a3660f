"""Reshaping: NumPy's elements in every layout, and what moves."""

from __future__ import annotations

import numpy as np
import pytest

import taskarr
from tests.device.install import shares_memory
from tests.layouts import LAYOUTS, RANKS, Placing, on_ranks
from tests.oracle import Check, verify

SHAPES = {
    (7, 5): [(35,), (5, 7), (1, 35), (7, 1, 5), (35, 1), (-1,), (5, -1)],
    (24,): [(2, 3, 4), (12, 2), (4, 6), (2, 12), (1, 3, 8)],
    (2, 30): [(60,), (4, 15), (3, 20), (30, 2), (2, 5, 6), (2, -1, 3)],
    (3, 4, 5): [(60,), (12, 5), (3, 20), (5, 12), (2, 30), (2, 6, 5)],
    (0, 5): [(5, 0), (0,), (0, 2, 3), (3, 0, 1)],
    (1,): [(), (1, 1)],
    (): [(1,), (1, 1), (-1,)],
}
PLACES = (*LAYOUTS[:4], Placing("columns", split=-1))


def reshaped(xp, x, shape, order="C"):
    return xp.reshape(x, shape, order=order)


def test_as_numpy_in_every_layout_and_order():
    checks = [
        Check(f"{shape} to {new} {order}", reshaped, (numbers(shape),), fixed=(new, order))
        for shape, news in SHAPES.items()
        for new in news
        for order in "CFA"
    ]
    verify(checks, RANKS, PLACES)


def numbers(shape):
    return np.arange(np.prod(shape, dtype=int)).reshape(shape).astype("f8")


@pytest.mark.parametrize(
    "dtype", ("?", "i1", "f2", "c16", "M8[s]", "S3", np.dtype([("a", "i4"), ("b", "f8")]))
)
def test_every_kind_of_element(dtype):
    x = np.zeros((6, 4), dtype)
    x.reshape(-1).view("u1")[:] = np.arange(x.nbytes) % 2
    for n in (1, 3):
        found = on_ranks(n, lambda world: taskarr.asarray(x, split=1).reshape(8, 3).numpy()).value
        np.testing.assert_array_equal(found, x.reshape(8, 3))


@pytest.mark.parametrize("shape", [(4,), (6, -1), (-1, -1), (2, -2), (7, 0), (0, -1)])
def test_what_does_not_fit_is_refused(shape):
    with pytest.raises(ValueError):
        numbers((7, 5)).reshape(shape)
    with pytest.raises(ValueError, match=r"reshape|unknown dimension"):
        taskarr.asarray(numbers((7, 5))).reshape(shape)
    with pytest.raises(TypeError):
        taskarr.asarray(numbers((7, 5))).reshape(2.5, 14)
    with pytest.raises(ValueError, match="order"):
        taskarr.asarray(numbers((7, 5))).reshape(35, order="K")


@pytest.mark.parametrize("n", (2, 3, 5))
def test_rows_stay_where_they_are(n):
    def job(world):
        a = taskarr.asarray(numbers((12, 6)), split=0).persist()
        before = dict(world.counters)
        flat = a.reshape(-1).persist()
        parts = a.reshape(12, 2, 3).persist()
        again = flat.reshape(24, 3).persist()
        moved = {k: world.counters[k] - before.get(k, 0) for k in ("sends", "pulled_bytes")}
        shared = [shares_memory(x.local, a.local) for x in (flat, parts) if x.local.size]
        return moved, shared, [x.numpy() for x in (flat, parts, again)]

    ran = on_ranks(n, job, alike=False)
    for moved, shared, values in ran.values:
        assert not any(moved.values())
        assert all(shared)
        for got, shape in zip(values, ((-1,), (12, 2, 3), (24, 3)), strict=True):
            np.testing.assert_array_equal(got, numbers((12, 6)).reshape(shape))


def test_blocks_do_not_depend_on_the_ranks():
    def job(world):
        return [
            place.place(numbers(shape)).reshape(new).chunks
            for shape, news in SHAPES.items()
            for place in PLACES
            for new in news
        ]

    one, *others = [on_ranks(n, job).value for n in (1, 2, 4, 5)]
    assert all(other == one for other in others)


def test_a_shared_brick_is_copied_for_the_user():
    a = taskarr.asarray(numbers((4, 3)))
    a.reshape(-1).numpy()[:] = -1
    np.testing.assert_array_equal(a.numpy(), numbers((4, 3)))
