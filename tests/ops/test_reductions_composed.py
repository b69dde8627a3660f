"""Reductions made of several: all but NaN, averages, ufunc.reduce, reductions of the user's own."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import taskarr
from tests.layouts import CUT, RANKS, on_ranks
from tests.oracle import Check, verify

NAN = ("nansum", "nanprod", "nanmin", "nanmax", "nanmean", "nanvar", "nanstd")


def data(dtype: str = "d", shape: tuple[int, ...] = (7, 5)) -> np.ndarray:
    rng = np.random.default_rng(shape)
    if np.dtype(dtype).kind in "bui":
        return rng.integers(0, 2 if dtype == "?" else 5, shape).astype(dtype)
    values = rng.uniform(0.5, 1.5, shape)
    return (values + 1j * values[::-1] if np.dtype(dtype).kind == "c" else values).astype(dtype)


def holey(dtype: str = "d") -> np.ndarray:
    """Values with NaN, one row and one column of nothing else."""
    x = data(dtype)
    if x.dtype.kind in "fc":
        x[3], x[:, 1], x[0, 0], x[5, 3:] = np.nan, np.nan, np.nan, np.nan
    return x


def call(name: str, **options):
    return lambda xp, a: getattr(xp, name)(a, **options)


# ---------------------------------------------------------------------- all but NaN


@pytest.mark.parametrize("dtype", "?bLefdFD")
def test_all_but_nan(dtype):
    checks = [
        Check(f"{name} {axis}", call(name, axis=axis), (holey(dtype),), exact=False)
        for name, axis in product(NAN, (None, 0, 1))
    ]
    verify([(c, CUT[k % 4]) for k, c in enumerate(checks)], ranks=(1, 3))


def test_options_of_all_but_nan():
    x, full = holey(), np.full((4, 3), np.nan)
    mask = np.arange(5) != 2
    options = [
        ("nansum", {"initial": 2, "axis": 0}),
        ("nansum", {"dtype": "f4", "where": mask}),
        ("nanprod", {"axis": (0, 1), "keepdims": True}),
        ("nanmin", {"initial": 0.7, "axis": 1}),
        ("nanmax", {"where": mask, "initial": -np.inf}),
        ("nanmax", {"where": mask}),
        ("nanmean", {"where": mask, "axis": 0}),
        ("nanmean", {"dtype": int}),
        ("nanmean", {"dtype": "f4", "axis": 1, "keepdims": True}),
        ("nanvar", {"ddof": 3, "axis": 0}),
        ("nanvar", {"ddof": 99}),
        ("nanstd", {"where": mask, "axis": 1, "ddof": 1}),
        ("nanstd", {"mean": 0.5}),
        ("nanvar", {"correction": 1}),
        ("nanvar", {"dtype": "i8"}),
        ("nanmean", {"axis": 2}),
    ]
    checks = [Check(f"{n} {o}", call(n, **o), (x,), exact=False) for n, o in options]
    checks += [
        Check(f"{name} of {label} {axis}", call(name, axis=axis), (y,), exact=False)
        for name, axis, (label, y) in product(
            NAN, (None, 0), (("NaN", full), ("nothing", x[:0]), ("durations", durations()))
        )
    ]
    verify([(c, CUT[k % 2]) for k, c in enumerate(checks)], ranks=(1, 3))


def durations() -> np.ndarray:
    found = np.arange(12).reshape(4, 3).astype("m8[h]")
    found[1, 1] = "NaT"
    return found


def test_indices_of_all_but_nan():
    x = data()
    x[2, 2] = x[6, 4] = x[0, 0] = np.nan
    y = x.copy()
    y[:, 3], y[2, :2] = np.nan, np.inf
    infinite = np.array([[np.nan, np.inf], [-np.inf, np.nan]])
    checks = [
        Check(f"{name} {k} {axis}", call(name, axis=axis), (z,))
        for name, axis, (k, z) in product(
            ("nanargmin", "nanargmax"),
            (None, 0, 1),
            enumerate((x, y, infinite, y[:, 3:4], x[:0], data("b"))),
        )
    ]
    options = {"axis": 1, "keepdims": True}
    checks += [Check("kept", call("nanargmax", **options), (x,))]
    verify([(c, CUT[k % 4]) for k, c in enumerate(checks)], ranks=(1, 3))


# ---------------------------------------------------------------------- warnings

WARNINGS = {
    "Mean of empty slice": [
        lambda a: a[:0].mean(),
        lambda a: taskarr.nanmean(a * np.nan, axis=0),
        lambda a: a.mean(where=False),
    ],
    "Degrees of freedom <= 0 for slice": [
        lambda a: a.var(ddof=7),
        lambda a: a.std(axis=1, ddof=2),
        lambda a: taskarr.nanvar(a, ddof=6),
        lambda a: a[:0].var(),
        lambda a: a.var(where=a > 9),
    ],
    "All-NaN slice encountered": [
        lambda a: taskarr.nanmin(a * np.nan),
        lambda a: taskarr.nanmax(a * np.nan, axis=1),
    ],
}


@pytest.mark.parametrize("text", WARNINGS)
def test_warnings(text):
    a = taskarr.asarray(data(shape=(3, 2)))
    for act in WARNINGS[text]:
        with np.errstate(all="ignore"), pytest.warns(RuntimeWarning) as caught:
            act(a).numpy()
        assert {str(w.message) for w in caught} == {text}
        assert {w.filename for w in caught} == {__file__}


def test_no_warning_without_a_reason():
    x = holey()[:, 2:]
    a = taskarr.asarray(x[[0, 1, 2, 4, 6]])
    found = [taskarr.nanmax(a, axis=0), taskarr.nanmean(a), taskarr.nanstd(a, axis=1)]
    found += [taskarr.nanmin(a[:1] * np.nan, initial=3), a[:0].sum(), a.var(ddof=1, where=a > 0)]
    taskarr.compute(*found)


# ---------------------------------------------------------------------- averages


def test_averages():
    x, columns, rows = data(), np.arange(5.0), np.arange(1, 8)
    acts = {
        "plain": lambda xp, a, w, v: xp.average(a),
        "of columns": lambda xp, a, w, v: xp.average(a, 1, w),
        "of rows": lambda xp, a, w, v: xp.average(a, axis=0, weights=v, keepdims=True),
        "of both": lambda xp, a, w, v: xp.average(a, axis=(1, 0), weights=a.T),
        "of all": lambda xp, a, w, v: xp.average(a, weights=a * a),
        "of integers": lambda xp, a, w, v: xp.average(v, weights=v),
        "returned": lambda xp, a, w, v: xp.average(a, 0, v, True)[1],
        "returned, plain": lambda xp, a, w, v: xp.average(a, axis=0, returned=True)[1],
        "returned, average": lambda xp, a, w, v: xp.average(a, 0, v, returned=True)[0],
        "host weights": lambda xp, a, w, v: xp.average(a, 1, [1, 0, 2, 0, 1]),
        "NumPy's": lambda xp, a, w, v: np.average(a, weights=a + 1),
        "without an axis": lambda xp, a, w, v: xp.average(a, weights=w),
        "of another shape": lambda xp, a, w, v: xp.average(a, axis=0, weights=w),
        "of zeros": lambda xp, a, w, v: xp.average(a, axis=1, weights=w * 0),
        "of nothing": lambda xp, a, w, v: xp.average(a[:0]),
        "weights of nothing": lambda xp, a, w, v: xp.average(a[:0], weights=a[:0]),
        "axis": lambda xp, a, w, v: xp.average(a, axis=2),
        "axis twice": lambda xp, a, w, v: xp.average(a, axis=(0, 0), weights=a),
    }
    checks = [Check(k, f, (x, columns, rows), exact=False) for k, f in acts.items()]
    verify([(c, CUT[k % 4]) for k, c in enumerate(checks)], ranks=(1, 5))


# ---------------------------------------------------------------------- ufunc.reduce

REDUCED = {
    "add": "?bLefFd",
    "multiply": "?bd",
    "minimum": "?bd",
    "maximum": "?ld",
    "fmin": "bd",
    "fmax": "ed",
    "logical_and": "?d",
    "logical_or": "?d",
    "logical_xor": "?bd",
    "bitwise_and": "?bL",
    "bitwise_or": "?bL",
    "bitwise_xor": "?bL",
    "logaddexp": "bfd",
    "logaddexp2": "ed",
    "gcd": "bL",
    "lcm": "bL",
    "hypot": "bfd",
}


@pytest.mark.parametrize("name", REDUCED)
def test_reduce_of_ufuncs(name):
    ufunc = getattr(np, name)
    checks = []
    for dtype in REDUCED[name]:
        x = data(dtype) if name != "lcm" else data(dtype) % 3 + 1
        for options in ({}, {"axis": None}, {"axis": 1, "keepdims": True}, {"axis": (0, 1)}):
            act = lambda xp, a, o=options: ufunc.reduce(a, **o)  # noqa: E731
            checks.append(Check(f"{name} {dtype} {options}", act, (x,), exact=False))
    verify([(c, CUT[k % 4]) for k, c in enumerate(checks)], ranks=(1, 3))


def test_options_of_reduce():
    x, i = holey(), data("b")
    acts = {
        "where": lambda xp, a, i: np.add.reduce(a, where=a > 1, axis=0),
        "where and initial": lambda xp, a, i: np.fmax.reduce(a, where=i > 1, initial=-1),
        "where without initial": lambda xp, a, i: np.maximum.reduce(a, where=i > 1),
        "where of bits": lambda xp, a, i: np.bitwise_and.reduce(i, where=i > 2, axis=1),
        "where of logs": lambda xp, a, i: np.logaddexp.reduce(i, where=i > 2, axis=1),
        "where of truth": lambda xp, a, i: np.logical_xor.reduce(i, where=i != 2),
        "initial": lambda xp, a, i: np.gcd.reduce(i, initial=4) + np.add.reduce(i, 0, initial=9),
        "dtype": lambda xp, a, i: np.maximum.reduce(i, dtype="f4", axis=0),
        "narrow dtype": lambda xp, a, i: np.add.reduce(i, dtype="i1", axis=None),
        "dtype of truth": lambda xp, a, i: np.logical_or.reduce(a, dtype="f8"),
        "of 0-d": lambda xp, a, i: np.add.reduce(a[0, 2]),
        "of nothing": lambda xp, a, i: np.add.reduce(a[:0]) + np.hypot.reduce(a[:0]),
        "minimum of nothing": lambda xp, a, i: np.minimum.reduce(a[:0]),
        "lcm of nothing": lambda xp, a, i: np.lcm.reduce(i[:0]),
        "bits of floats": lambda xp, a, i: np.bitwise_or.reduce(a),
        "axis": lambda xp, a, i: np.add.reduce(a, axis=5),
        "positional": lambda xp, a, i: np.add.reduce(i, 1, "f4", None, True),
        "unary": lambda xp, a, i: np.sin.reduce(a),
    }
    checks = [Check(k, f, (x, i), exact=False) for k, f in acts.items()]
    verify([(c, CUT[k % 4]) for k, c in enumerate(checks)], ranks=(1, 3))


IN_ORDER = {
    "subtract": lambda xp, a, i: np.subtract.reduce(a),
    "divide": lambda xp, a, i: np.divide.reduce(a, axis=1),
    "method of integers": lambda xp, a, i: np.floor_divide.reduce(i, axis=-1, keepdims=True),
    "arctan2": lambda xp, a, i: np.arctan2.reduce(a, axis=(0,)),
    "initial": lambda xp, a, i: np.subtract.reduce(a, initial=100, axis=1),
    "initial kept": lambda xp, a, i: np.subtract.reduce(i, initial=3, keepdims=True),
    "dtype": lambda xp, a, i: np.subtract.reduce(i, dtype="f4"),
    "output": lambda xp, a, i: np.subtract.reduce(i, out=xp.zeros(5)),
    "no axis": lambda xp, a, i: np.subtract.reduce(a, axis=()),
    "one row": lambda xp, a, i: np.subtract.reduce(a[2:3]),
    "of one axis": lambda xp, a, i: np.subtract.reduce(a[:, 1], axis=None),
    "of 0-d": lambda xp, a, i: np.divide.reduce(a[0, 2]),
    "nothing": lambda xp, a, i: np.subtract.reduce(a[:0]),
    "nothing with initial": lambda xp, a, i: np.subtract.reduce(a[:0], initial=2.5),
    "of nothing beside": lambda xp, a, i: np.subtract.reduce(a[:, :0]),
    "all axes": lambda xp, a, i: np.subtract.reduce(a, axis=None),
    "two axes": lambda xp, a, i: np.divide.reduce(a, axis=(0, 1)),
    "axis too large": lambda xp, a, i: np.subtract.reduce(a, axis=2),
    "comparison": lambda xp, a, i: np.less.reduce(a),
    "wrong output": lambda xp, a, i: np.subtract.reduce(i, out=xp.zeros(4)),
}


def test_ufuncs_that_are_not_associative_go_from_left_to_right():
    x = np.random.default_rng(5).normal(size=(7, 5)) + 3
    i = np.random.default_rng(5).integers(1, 9, (7, 5))
    checks = [Check(k, f, (x, i), exact=False) for k, f in IN_ORDER.items()]
    verify([(c, p) for c in checks for p in CUT], ranks=(1, 2, 3, 5), flow=False)
    with pytest.raises(NotImplementedError, match=r"where.*numpy\(\)"):
        np.subtract.reduce(taskarr.ones((3, 2)), where=np.ones(2, bool), initial=1)


# ---------------------------------------------------------------------- the user's own


def extent(block, axis):
    return block.min(axis=axis, keepdims=True), block.max(axis=axis, keepdims=True)


def joined(a, b):
    return np.minimum(a[0], b[0]), np.maximum(a[1], b[1])


def parts(block, axis):
    top = block.max(axis=axis, keepdims=True)
    return top, np.exp(block - top).sum(axis=axis, keepdims=True)


def merged(a, b):
    top = np.maximum(a[0], b[0])
    return top, a[1] * np.exp(a[0] - top) + b[1] * np.exp(b[0] - top)


width = taskarr.reduction(extent, joined, lambda state: state[1] - state[0])
logsum = taskarr.reduction(parts, merged, lambda state: state[0] + np.log(state[1]))


@pytest.mark.processor("users' functions call NumPy's, which the stand-in refuses")
def test_reductions_of_the_users_own():
    x = data() * 900
    checks = []
    for axis, kept in product((None, 0, 1, (0, 1), -1, (), 5, (0, 0)), (False, True)):
        options = {"axis": axis, "keepdims": kept}
        ours = lambda xp, a, o=options: np.ptp(a, **o) if xp is np else width(a, **o)  # noqa: E731
        checks.append(Check(f"width {options}", ours, (x,)))
        sums = lambda xp, a, o=options: (  # noqa: E731
            np.logaddexp.reduce(a, **o) if xp is np else logsum(a, **o)
        )
        checks.append(Check(f"logsum {options}", sums, (x,), exact=False))
    checks.append(Check("0-d", lambda xp, a: np.ptp(a) if xp is np else width(a), (np.array(2),)))
    nothing = lambda xp, a: np.ptp(a[:0]) if xp is np else width(a[:0])  # noqa: E731
    checks.append(Check("of nothing", nothing, (x,)))
    verify([(c, CUT[k % 4]) for k, c in enumerate(checks)], ranks=(1, 2, 7))


@pytest.mark.processor("users' functions call NumPy's, which the stand-in refuses")
def test_two_of_the_users_own_in_one_world_differ():
    def job(world):
        a = taskarr.asarray(data(), split=0)
        least = taskarr.reduction(lambda x, axis: (x.min(axis, keepdims=True),), lambda a, b: a)
        most = [
            taskarr.reduction(lambda x, axis, k=k: (x.max(axis, keepdims=True) + k,), joined_max)
            for k in range(3)
        ]
        assert least(a[:1]).numpy() == data()[0].min()
        return [f(a).numpy() for f in most] + [width(a).numpy(), a.sum().numpy()]

    def joined_max(a, b):
        return (np.maximum(a[0], b[0]),)

    x = data()
    for n in RANKS:
        found = on_ranks(n, job).value
        np.testing.assert_array_equal(found[:4], [x.max() + k for k in range(3)] + [np.ptp(x)])


def test_what_the_users_own_functions_must_give():
    a = taskarr.ones((3, 2))
    good = lambda x, axis: (x.sum(axis, keepdims=True),)  # noqa: E731
    add = lambda a, b: (a[0] + b[0],)  # noqa: E731
    with pytest.raises(TypeError, match="must be a function"):
        taskarr.reduction(good, None)
    with pytest.raises(TypeError, match="tuple of arrays"):
        taskarr.reduction(lambda x, axis: x.sum(axis, keepdims=True), add)(a)
    with pytest.raises(ValueError, match="kept with length 1"):
        taskarr.reduction(lambda x, axis: (x.sum(axis),), add)(a)
    with pytest.raises(TypeError, match="tuple of 1 arrays"):
        taskarr.reduction(good, lambda a, b: (*a, *b))(a)
    with pytest.raises(TypeError, match="finish"):
        taskarr.reduction(extent, joined)(a)
    with pytest.raises(ValueError, match="shape"):
        taskarr.reduction(good, add, lambda state: state[0].sum())(a, axis=0)
    with pytest.raises(ZeroDivisionError):
        taskarr.reduction(lambda x, axis: 1 // 0, add)(a)


def test_an_error_in_a_users_function_is_everybodys():
    def partial(block, axis):
        if block.max() > 5:
            raise KeyError("too large")
        return (block.sum(axis, keepdims=True),)

    def job(world):
        total = taskarr.reduction(partial, lambda a, b: (a[0] + b[0],))
        a = taskarr.arange(12.0, split=0)
        with pytest.raises(KeyError, match="too large"):
            total(a).numpy()
        return total(a[:5]).numpy()

    for n in (1, 3):
        assert on_ranks(n, job).value == 10
