"""One element of a held array: its bits on every rank, and ranks that ask for different ones."""

from __future__ import annotations

import numpy as np
import pytest

import taskarr
from scheduler import SPMDError
from tests.layouts import CUT, LAYOUTS, RANKS, on_ranks

DTYPES = ("f8", "?", "i1", "u8", "c16", "g", "f2", "M8[s]", "U3", "S5", [("a", "i2"), ("b", "f8")])


@pytest.mark.parametrize("placing", LAYOUTS[:5], ids=str)
def test_every_element(placing):
    x = np.arange(35.0).reshape(7, 5)

    def job(world):
        a = placing.place(x).persist()
        at = [(i, j) for i in (0, 3, -1) for j in (0, -2, 4)]
        turned = a[::-2, 1:].T
        found = [float(a[i, j]) for i, j in at] + [turned[i, 1].item() for i in range(4)]
        return found, [x[i, j] for i, j in at] + [x[::-2, 1:].T[i, 1] for i in range(4)]

    for n in RANKS:
        found, expected = on_ranks(n, job).value
        assert found == expected


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_any_dtype(dtype):
    x = np.arange(9).astype("i1").astype(dtype)

    def job(world):
        a = taskarr.asarray(x, split=0).persist()
        return [a[k].numpy() for k in (0, 4, 8)]

    for n in (1, 3):
        for found, k in zip(on_ranks(n, job).value, (0, 4, 8), strict=True):
            assert (found.shape, found.dtype) == ((), x.dtype)
            assert found == x[k]


def test_it_is_the_callers_own():
    def job(world):
        a = taskarr.asarray(np.arange(9.0), split=0).persist()
        found = a[4].numpy()
        found[...] = -1
        return a.numpy()

    for n in (1, 3):
        np.testing.assert_array_equal(on_ranks(n, job).value, np.arange(9.0))


def test_what_is_not_at_hand_is_computed():
    def job(world):
        a = taskarr.asarray(np.arange(9.0), split=0) * 2
        pending = float(a[5])
        a[5] = 7
        return pending, float(a[5]), float(a[1:3][1])

    assert on_ranks(3, job).value == (10, 7, 4)


@pytest.mark.parametrize("placing", CUT[:1], ids=str)
def test_ranks_that_ask_for_others_are_told(placing):
    def job(world):
        a = placing.place(np.arange(35.0).reshape(7, 5)).persist()
        with pytest.raises(SPMDError, match=r"element \(1, 2\)"):
            float(a[world.rank, 2])
        return float(a[3, 3])

    assert on_ranks(2, job).value == 18
