"""Reductions over all axes and some, of all dtypes, in all layouts."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import taskarr
from tests.layouts import CUT, LAYOUTS, RANKS, on_ranks
from tests.oracle import Check, verify

NAMES = ("sum", "prod", "min", "max", "mean", "var", "std", "any", "all")
DTYPES = ["?", "b", "B", "h", "H", "i", "I", "l", "L", "e", "f", "d", "F", "D"]
AXES = (None, 0, 1, -1, (0, 1), (), (1, 0))
EXACT = ("min", "max", "any", "all")


def data(dtype: str, shape: tuple[int, ...] = (7, 5)) -> np.ndarray:
    """Values whose product is neither zero nor too large."""
    rng = np.random.default_rng(shape)
    kind = np.dtype(dtype).kind
    if kind in "bui":
        return rng.integers(0, 2 if kind == "b" else 4, shape).astype(dtype)
    values = rng.uniform(0.5, 1.5, shape)
    return (values + 1j * rng.uniform(-0.5, 0.5, shape) if kind == "c" else values).astype(dtype)


def is_exact(name: str, dtype: str) -> bool:
    return name in EXACT or (np.dtype(dtype).kind in "bui" and name in ("sum", "prod"))


def call(name: str, **options):
    return lambda xp, a: getattr(xp, name)(a, **options)


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_reduction(dtype):
    checks = [
        Check(f"{name} {axis}", call(name, axis=axis), (data(dtype),), is_exact(name, dtype))
        for name, axis in product(NAMES, (None, 0, 1, ()))
    ]
    ranks = RANKS if dtype in "df" else (1, 3)
    verify(((check, CUT[k % len(CUT)]) for k, check in enumerate(checks)), ranks=ranks)


@pytest.mark.parametrize("placing", LAYOUTS, ids=str)
def test_axes_in_every_layout(placing):
    x = data("d", placing.shape)
    checks = [
        Check(f"{name} {axis} {kept}", call(name, axis=axis, keepdims=kept), (x,), name == "max")
        for name, axis, kept in product(("sum", "max", "std"), AXES, (False, True))
    ]
    verify(checks, placings=[placing], flow=0 not in placing.shape and placing.split is not None)


def test_three_axes():
    x = data("d", (4, 3, 5))
    axes = (None, 0, 1, 2, (0, 1), (0, 2), (1, 2), (0, 1, 2), (-1, 0), ())
    checks = [
        Check(f"{name} {axis}", call(name, axis=axis), (x,), name == "max")
        for name, axis in product(("sum", "max", "var"), axes)
    ]
    verify(checks, ranks=(1, 2, 5), placings=CUT)


def test_methods_and_options():
    x, i = data("d"), data("i")
    options = [
        ("sum", {"dtype": "f4"}),
        ("sum", {"dtype": "i2"}),
        ("prod", {"dtype": "c16"}),
        ("mean", {"dtype": "f4"}),
        ("mean", {"axis": 0, "dtype": "f8"}),
        ("var", {"ddof": 1}),
        ("var", {"ddof": 35}),
        ("var", {"ddof": 40}),
        ("std", {"ddof": 1.5, "axis": 1}),
        ("std", {"ddof": 1, "axis": 0, "keepdims": True}),
        ("var", {"dtype": "f4"}),
        ("std", {"dtype": "f8", "axis": (0, 1)}),
        ("max", {"axis": 1, "keepdims": True}),
        ("any", {"axis": 0}),
    ]
    checks = []
    for (name, chosen), operand in product(options, (x, i)):
        label = f"{operand.dtype}.{name}({chosen})"
        act = lambda xp, a, n=name, o=chosen: getattr(a, n)(**o)  # noqa: E731
        checks.append(Check(label, act, (operand,), exact=False))
    checks.append(Check("positional axis", lambda xp, a: a.sum(0), (x,), False))
    checks.append(Check("numpy axis", lambda xp, a: a.max(np.int64(1)), (x,)))
    verify(checks, placings=CUT[:2])


def test_of_expressions_and_views():
    x = data("d")
    checks = [
        Check("sum of squares", lambda xp, a: ((a - a.mean()) ** 2).sum(), (x,), False),
        Check("sum of a view", lambda xp, a: a[1:-1:2, ::-1].sum(axis=0), (x,), False),
        Check("max of a row", lambda xp, a: a[3].max(), (x,)),
        Check("sum of transposed", lambda xp, a: a.T.sum(axis=0), (x,), False),
        Check("sum of broadcast", lambda xp, a: (a[:, :1] + np.ones(5)).sum(axis=1), (x,), False),
        Check("normalised", lambda xp, a: (a - a.mean(axis=0)) / a.std(axis=0), (x,), False),
        Check("per row", lambda xp, a: a / a.sum(axis=1, keepdims=True), (x,), False),
        Check(
            "of a reduction", lambda xp, a: a.sum(axis=0).max() - a.min(axis=1).sum(), (x,), False
        ),
        Check("count", lambda xp, a: (a > 1).sum(), (x,)),
        Check("rows with any", lambda xp, a: (a > 1.4).any(axis=1), (x,)),
        Check("of one element", lambda xp, a: a[2, 3].sum(), (x,)),
        Check("of one element, var", lambda xp, a: a[2, 3].var(), (x,)),
        Check("of 0-d array", lambda xp, a: xp.asarray(2.5).mean(), (x,)),
        Check("of scalar sum", lambda xp, a: a.sum().max(), (x,), False),
        Check("of arange", lambda xp, a: xp.arange(40).sum(), (x,)),
        Check("of zeros", lambda xp, a: xp.zeros((9, 4)).any(axis=1), (x,)),
    ]
    verify(checks, placings=LAYOUTS[:5])


def test_values_that_are_not_finite():
    x = data("d")
    x[2, 2], x[3, 3], x[4, 4], x[:, 0] = np.nan, np.inf, -np.inf, -0.0
    checks = [
        Check(
            f"{name} {axis} {part}",
            lambda xp, a, n=name, x=axis, p=part: getattr(a[p], n)(axis=x),
            (x,),
            False,
        )
        for name, axis, part in product(
            NAMES, (None, 0, 1), (slice(None), slice(3, 4), slice(5, 7))
        )
    ]
    verify(checks, ranks=(1, 2, 5), placings=CUT[:2])


@pytest.mark.parametrize("shape", [(0,), (0, 5), (5, 0), (0, 0), (2, 0, 3)])
def test_of_nothing(shape):
    x = np.zeros(shape)
    axes = [None, (), *range(len(shape))]
    checks = [
        Check(f"{name} {axis}", call(name, axis=axis), (x,)) for name, axis in product(NAMES, axes)
    ]
    verify(checks, ranks=(1, 3), flow=False)


def test_dates_and_durations():
    t = np.datetime64("2013-01-01", "D") + np.arange(35).reshape(7, 5) * np.timedelta64(1, "D")
    n = t.copy()
    n[2, 2] = np.datetime64("NaT")
    d = np.arange(35).reshape(7, 5).astype("m8[h]")
    checks = [
        Check(f"{name} {x.dtype} {axis}", call(name, axis=axis), (x,))
        for name, x, axis in product(NAMES, (t, n, d), (None, 0))
    ]
    verify(checks, ranks=(1, 3))


def test_text():
    x = np.array(["delta", "united", "jetblue", "", "a"])
    verify([Check(f"{name}", call(name), (x,)) for name in NAMES], ranks=(1, 3), flow=False)


WRONG = {
    "axis too large": lambda xp, a: a.sum(axis=2),
    "axis too small": lambda xp, a: a.max(axis=-3),
    "axis twice": lambda xp, a: a.sum(axis=(0, 0)),
    "axis twice, negative": lambda xp, a: a.mean(axis=(0, -2)),
    "axis of text": lambda xp, a: a.sum(axis="rows"),
    "fraction as axis": lambda xp, a: a.sum(axis=0.5),
    "axis of 0-d": lambda xp, a: a.sum().sum(axis=1),
    "unknown option": lambda xp, a: a.sum(ddof=1),
    "no dtype": lambda xp, a: a.sum(dtype="float99"),
    "dtype of max": lambda xp, a: a.max(dtype="f4"),
    "min of nothing": lambda xp, a: a[:0].min(),
    "max of nothing": lambda xp, a: a[:0].max(axis=0),
    "ddof of text": lambda xp, a: a.var(ddof="one"),
    "ddof of None": lambda xp, a: a.var(ddof=None),
    "mean as object": lambda xp, a: a.mean(dtype=object),
    "sum as text": lambda xp, a: a.sum(dtype="U5"),
}


def test_wrong_calls_raise_as_in_numpy():
    checks = [Check(label, act, (data("d"),)) for label, act in WRONG.items()]
    verify(checks, ranks=(1, 3), flow=False)


def test_several_reductions_of_one_array_are_one_pass():
    def job(world):
        a = taskarr.asarray(data("d", (12, 4)))
        before = world.counters.copy()
        found = taskarr.compute(a.sum(), a.min(), a.std(), a.mean())
        return found, (world.counters - before)["sends"] + (world.counters - before)["alltoallv"]

    def alone(world):
        a = taskarr.asarray(data("d", (12, 4)))
        before = world.counters.copy()
        a.sum().numpy()
        return (world.counters - before)["sends"] + (world.counters - before)["alltoallv"]

    for n in (2, 3):
        together = sum(count for _, count in on_ranks(n, job, alike=False).values)
        assert together <= sum(on_ranks(n, alone, alike=False).values)


@pytest.mark.parametrize("dtype", ["e", "f", "d"])
def test_large_sums_are_as_good_as_numpys(dtype):
    rng = np.random.default_rng(0)
    x = (rng.standard_normal((4096, 3)) + 1).astype(dtype)
    checks = [
        Check(f"{name} {axis}", call(name, axis=axis), (x,), exact=False)
        for name, axis in product(("sum", "mean", "var", "std"), (None, 0))
    ]
    for check in checks:
        truth = np.asarray(check.wide())

        def job(world, check=check):
            return check.act(taskarr, taskarr.asarray(x, split=0)).numpy()

        found = on_ranks(3, job, block=8192).value
        allowed = 2 * abs(np.asarray(check.by_numpy()) - truth) + np.finfo(dtype).eps * abs(truth)
        if dtype == "d":
            allowed = 1e-12 * abs(truth)
        assert np.all(abs(found - truth) <= allowed), check.label


@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.parametrize("dtype", ["f8", "c16"])
@pytest.mark.parametrize("odd", [None, np.inf, np.nan])
def test_squares_that_overflow_are_infinite(axis, dtype, odd):
    x = (np.random.default_rng(3).normal(size=(300, 7)) * 1e200).astype(dtype)
    if odd is not None:
        x[5, 3] = odd
    with np.errstate(all="ignore"):
        found = taskarr.asarray(x, split=0, chunks=(37, 7)).var(axis=axis)
        np.testing.assert_array_equal(np.asarray(found), x.var(axis=axis))
