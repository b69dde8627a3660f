"""``ufunc.reduceat`` against NumPy: few stretches, many, large ones, and in any order."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import taskarr
from taskarr.ops import stretches
from tests.layouts import CUT, LAYOUTS, TINY, Placing, on_ranks
from tests.ops.test_scan import numbers
from tests.oracle import Check, verify

STRETCHES = {
    "distributed": lambda xp, x: np.add.reduceat(x, xp.asarray(np.array([0, 2, 2, 6]))),
    "found": lambda xp, x: np.add.reduceat(x, xp.flatnonzero(x[:, 0] == x[:, 0])[1::2]),
    "rising": lambda xp, x: np.add.reduceat(x, [0, 2, 5]),
    "falling": lambda xp, x: np.add.reduceat(x, [5, 2, 2, 0]),
    "one": lambda xp, x: np.add.reduceat(x, [3]),
    "none": lambda xp, x: np.add.reduceat(x, []),
    "axis": lambda xp, x: np.maximum.reduceat(x, np.array([1, 3, 0]), axis=1),
    "product": lambda xp, x: np.multiply.reduceat(x, (0, 1, 6), axis=-2),
    "dtype": lambda xp, x: np.add.reduceat(x, [0, 4], dtype="f4"),
    "truth": lambda xp, x: np.logical_and.reduceat(x, [0, 4]),
    "output": lambda xp, x: np.add.reduceat(x, [0, 4], out=xp.zeros((2, 5), "f4")),
    "single rows": lambda xp, x: np.subtract.reduceat(x, [6, 5, 6]),
    "not associative": lambda xp, x: np.subtract.reduceat(x * 1.5, [1, 4, 4, 2]),
}


@pytest.fixture(params=["few", "many"])
def as_many(request, monkeypatch):
    """Whether stretches are few, each a reduction of its own, or taken for many."""
    if request.param == "many":
        monkeypatch.setattr(stretches, "FEW", 1)


def test_reductions_of_stretches(as_many):
    verify(
        (
            (Check(f"{label} {char}", act, (numbers((7, 5), char),), False), p)
            for label, act in STRETCHES.items()
            for char, p in (("d", CUT[0]), ("f", CUT[2]), ("b", CUT[1]))
        ),
        (1, 3),
    )


@st.composite
def calls(draw):
    """Length of the axis, starts, and how many elements make a stretch large."""
    rows = draw(st.integers(1, 40))
    starts = draw(st.lists(st.integers(0, rows - 1), min_size=1, max_size=12))
    if draw(st.booleans()):
        starts.sort()
    return rows, starts, draw(st.sampled_from((4, 1 << 22)))


@settings(max_examples=120, deadline=None)
@given(
    calls(),
    st.sampled_from(LAYOUTS),
    st.sampled_from((1, 2, 3, 5)),
    st.sampled_from((0, 1)),
    st.sampled_from(("add", "maximum", "multiply", "logical_or", "bitwise_xor")),
)
def test_any_starts(call, placing, n, axis, name):
    rows, starts, large = call
    shape = (rows, 3) if axis == 0 else (3, rows)
    x = numbers(shape, "i")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stretches, "FEW", 3)
        patch.setattr(stretches, "LARGE", large)
        method = getattr(np, name).reduceat

        def job(world):
            return method(placing.place(x), starts, axis=axis).numpy()

        found = on_ranks(n, job).value
    wanted = method(x, starts, axis=axis)
    assert found.dtype == wanted.dtype
    np.testing.assert_array_equal(found, wanted)


def test_groups_of_rows_stay_with_their_owners():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(4000, 3))
    starts = np.flatnonzero(rng.random(4000) < 0.1)
    starts[0] = 0
    with np.errstate(all="ignore"):
        wanted = np.add.reduceat(x, starts)
    bits = set()
    for n in (1, 2, 3, 7):

        def job(world):
            a = taskarr.asarray(x, split=0, chunks=(50, -1))
            found = np.add.reduceat(a, starts)
            assert a.layout.axes[0].owners == found.layout.axes[0].owners
            return found.numpy()

        ran = on_ranks(n, job, **{**TINY, "block": 1200})
        np.testing.assert_allclose(ran.value, wanted, rtol=1e-12, atol=1e-14)
        bits.add(ran.value.tobytes())
    assert len(bits) == 1


def test_floats_have_the_same_bits_on_any_rank_count(as_many):
    x = numbers((300, 4), "f")
    found = set()
    for n in (1, 2, 3, 5):

        def job(world):
            a = taskarr.asarray(x, split=0, chunks=(7, -1))
            parts = np.add.reduceat(a, np.arange(0, 300, 11)), np.hypot.reduceat(a, [5, 200, 0])
            return [p.numpy() for p in parts]

        found.add(b"".join(p.tobytes() for p in on_ranks(n, job).value))
    assert len(found) == 1


def test_what_is_wrong():
    a = taskarr.arange(200)
    with pytest.raises(NotImplementedError, match=r"large|associative.*numpy\(\)"):
        np.subtract.reduceat(taskarr.zeros((1 << 23) + 1), np.r_[0, 0, np.full(99, 1 << 23)])
    with pytest.raises(IndexError, match=r"index 200 out-of-bounds in add.reduceat \[0, 200\)"):
        np.add.reduceat(a, np.r_[0:100, 200])


def test_row_numbers_have_a_limit(monkeypatch):
    monkeypatch.setattr(stretches, "KNOWN", 800)
    a = taskarr.arange(200)
    windows = np.stack([np.arange(100), np.arange(2, 102)], 1).reshape(-1)
    with pytest.raises(NotImplementedError, match="200 indices that don't rise"):
        np.add.reduceat(a, windows)
    monkeypatch.setattr(stretches, "KNOWN", 1 << 20)
    wanted = np.add.reduceat(np.arange(200), windows)
    np.testing.assert_array_equal(np.add.reduceat(a, windows).numpy(), wanted)


def test_faults_are_told_at_the_line():
    x = np.full(300, 1e308)
    with pytest.warns(RuntimeWarning, match="overflow"):
        found = np.add.reduceat(Placing("rows", (7,), 0).place(x), np.arange(0, 300, 3)).numpy()
    assert np.isinf(found).all()
