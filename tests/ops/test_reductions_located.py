"""argmin and argmax: indices in the whole array, ties, NaN, in every layout and for every dtype."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import taskarr
from taskarr.ops.reductions.locate import prefer
from tests.layouts import CUT, LAYOUTS, RANKS, on_ranks
from tests.oracle import Check, verify

NAMES = ("argmin", "argmax")
DTYPES = "?bBhHiIlLefdFD"


def data(dtype: str, shape: tuple[int, ...] = (7, 5), seed: int = 0) -> np.ndarray:
    """Values of which many are equal."""
    rng = np.random.default_rng((seed, *shape))
    values = rng.integers(0, 2 if dtype == "?" else 4, shape)
    if np.dtype(dtype).kind == "c":
        values = values + 1j * rng.integers(0, 3, shape)
    return values.astype(dtype)


def call(name: str, **options):
    return lambda xp, a: getattr(xp, name)(a, **options)


def checks_of(x: np.ndarray, label: str = "") -> list[Check]:
    axes = (None, *range(-1, x.ndim))
    return [
        Check(f"{name} {label} {x.dtype} {axis}", call(name, axis=axis), (x,))
        for name, axis in product(NAMES, axes)
    ]


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype(dtype):
    checks = checks_of(data(dtype))
    verify([(c, CUT[k % 4]) for k, c in enumerate(checks)], ranks=(1, 3))


@pytest.mark.parametrize("placing", LAYOUTS, ids=str)
def test_every_layout(placing):
    x = data("d", placing.shape, seed=3)
    options = [{}, {"axis": 0}, {"axis": 1}, {"axis": -1, "keepdims": True}, {"keepdims": True}]
    checks = [
        Check(f"{name} {chosen}", call(name, **chosen), (x,))
        for name, chosen in product(NAMES, options)
    ]
    flow = 0 not in placing.shape and placing.split is not None
    verify(checks, placings=[placing], flow=flow)


def test_not_a_number_comes_first():
    x = data("d", (7, 6))
    x[2, 4] = x[5, 1] = np.nan
    z = data("D", (7, 6))
    z[3, 2], z[3, 4], z[6, 0] = complex(9, np.nan), complex(np.nan, -9), complex(-9, np.nan)
    days = np.arange(42).reshape(7, 6).astype("M8[D]")
    days[4, 3] = days[1, 5] = "NaT"
    long = days - np.datetime64(9, "D")
    zeros = np.array([0.0, -0.0, 0.0, -0.0, np.inf, np.inf, -np.inf, -np.inf])
    checks = [c for x in (x, z, days, long, zeros, -zeros) for c in checks_of(x)]
    verify([(c, CUT[k % 4]) for k, c in enumerate(checks)], ranks=(1, 2, 5))


def test_text_and_other_byte_orders():
    words = np.array(["jetblue", "delta", "zulu", "", "zulu", "a"])
    swapped = data("d").astype(">f8")
    checks = [*checks_of(words), *checks_of(words.astype("S")), *checks_of(swapped)]
    verify(checks, ranks=(1, 3))


def test_three_axes_and_none():
    x = data("d", (3, 4, 5))
    checks = checks_of(x)
    checks += [
        Check(f"of 0-d {name} {axis}", call(name, axis=axis), (np.array(3.0),))
        for name, axis in product(NAMES, (None, 0, -1))
    ]
    checks += [
        Check(f"kept 0-d {name}", call(name, keepdims=True), (np.array(3.0),)) for name in NAMES
    ]
    verify(checks, ranks=(1, 5), placings=CUT[::2])


def test_of_views_and_expressions():
    x = data("d")
    acts = {
        "turned": lambda xp, a: a[::-1, ::-1].argmax(),
        "transposed": lambda xp, a: a.T.argmin(),
        "transposed axis": lambda xp, a: a.T.argmin(axis=0),
        "every second": lambda xp, a: a[1::2, ::-2].argmax(),
        "of a sum": lambda xp, a: (a + a[0]).argmax(axis=1),
        "broadcast": lambda xp, a: (a[:, :1] + np.ones(4)).argmax(),
        "row wise": lambda xp, a: a - a.argmax(axis=1, keepdims=True),
        "several": lambda xp, a: a.argmax() - a.argmin() + a.sum(),
        "of rows": lambda xp, a: a.argmax(1).max(),
        "constant": lambda xp, a: xp.zeros((5, 3)).argmax(),
    }
    verify([Check(k, act, (x,)) for k, act in acts.items()], ranks=(1, 2, 3), placings=CUT)


WRONG = {
    "axis too large": lambda xp, a: a.argmax(2),
    "axes": lambda xp, a: a.argmax(axis=(0, 1)),
    "of nothing": lambda xp, a: a[:0].argmin(),
    "of nothing, axis": lambda xp, a: a[:0].argmin(0),
    "dtype": lambda xp, a: a.argmin(dtype="i4"),
    "positional keepdims": lambda xp, a: a.argmax(0, None, True),
    "fraction": lambda xp, a: xp.argmax(a, 0.5),
    "no empty rows": lambda xp, a: a[:0].argmin(1),
    "out of another kind": lambda xp, a: xp.argmax(a, out=xp.zeros((), dtype="f4")),
    "out of another shape": lambda xp, a: xp.argmax(a, 0, xp.zeros((), dtype="i8")),
    "out of another shape and kind": lambda xp, a: xp.argmax(a, 0, xp.zeros(3, dtype="f4")),
    "nothing but NaN, no axes": lambda xp, a: xp.nanargmax(a * np.nan, axis=()),
    "nothing but NaN, axes": lambda xp, a: xp.nanargmin(a * np.nan, axis=(1,)),
    "nothing but NaN, out": lambda xp, a: xp.nanargmin(a * np.nan, axis=1, out=xp.zeros(3)),
    "no axes": lambda xp, a: xp.nanargmax(a, axis=()),
    "a tuple": lambda xp, a: xp.nanargmax(a, axis=(1,)),
}


def test_wrong_calls_and_empty_axes():
    verify([Check(k, act, (data("d"),)) for k, act in WRONG.items()], ranks=(1, 3), flow=False)


def test_segments_that_are_parts_of_rows():
    x = np.random.default_rng(1).integers(0, 9, (3, 700)).astype("f8")
    x[1, 600] = x[2, 13] = 99

    def job(world):
        a = taskarr.asarray(x, chunks=((3,), (650, 50)), split=1)
        b = taskarr.asarray(x, split=0)
        found = [a.argmax(), a.argmin(), b.argmax(), a.argmax(axis=0), b.argmax(axis=1)]
        return [f.numpy() for f in found]

    wanted = [x.argmax(), x.argmin(), x.argmax(), x.argmax(axis=0), x.argmax(axis=1)]
    for n in (1, 2, 3):
        for found, right in zip(on_ranks(n, job, block=9000).value, wanted, strict=True):
            np.testing.assert_array_equal(found, right)


def test_large_blocks_of_several_segments():
    x = np.zeros((600, 1000))
    x[599, 998], x[3, 7], x[599, 999] = 5, 5, 6
    a = taskarr.asarray(x, split=0, chunks=(600, 1000))
    assert int(a.argmax()) == x.argmax()
    assert int((a.T + 0).argmax()) == x.T.argmax()
    np.testing.assert_array_equal(a.argmax(axis=0).numpy(), x.argmax(axis=0))
    assert int(a.reshape(6, 100, 1000).argmax()) == x.argmax()


values = st.sampled_from([0.0, -0.0, 1.0, 2.0, np.nan, np.inf, -np.inf])


@settings(max_examples=40, deadline=None)
@given(st.lists(values, min_size=2, max_size=12), st.integers(1, 11), st.sampled_from(NAMES))
def test_states_merge_in_any_order(numbers, cut, name):
    x = np.array(numbers)
    parts = [p for p in np.split(x, [min(cut, len(x) - 1)]) if p.size]
    find = getattr(np, name)
    states, first = [], 0
    for part in parts:
        at = int(find(part))
        states.append((part[at : at + 1], np.array([at + first])))
        first += len(part)
    if len(states) == 2:
        for a, b in (states, states[::-1]):
            assert prefer(name, np, a, b)[1][0] == find(x)


@settings(max_examples=12, deadline=None)
@given(st.data())
def test_against_numpy(draw):
    shape = tuple(draw.draw(st.lists(st.integers(1, 5), min_size=1, max_size=4)))
    x = data(
        draw.draw(st.sampled_from(["d", "i", "?", "D"])), shape, seed=draw.draw(st.integers(0, 9))
    )
    axis = draw.draw(st.none() | st.integers(-len(shape), len(shape) - 1))
    name = draw.draw(st.sampled_from(NAMES))
    split = draw.draw(st.sampled_from([None, *range(len(shape)), tuple(range(len(shape)))]))
    wanted = getattr(np, name)(x, axis=axis)

    def job(world):
        return getattr(taskarr.asarray(x, split=split), name)(axis=axis).numpy()

    for n in draw.draw(st.permutations(RANKS))[:2]:
        np.testing.assert_array_equal(on_ranks(n, job).value, wanted)
