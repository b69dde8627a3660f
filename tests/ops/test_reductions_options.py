"""Options of reductions: masks, initial values, outputs, dtypes, means, positional arguments."""

from __future__ import annotations

import inspect
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import taskarr
from taskarr.ops.reductions import NAMES
from tests.device.install import DEVICE
from tests.layouts import CUT, LAYOUTS, RANKS, on_ranks
from tests.oracle import Check, verify

MASKED = ("sum", "prod", "min", "max", "any", "all", "mean", "var", "std")
EXACT = ("min", "max", "any", "all")


def data(dtype: str = "d", shape: tuple[int, ...] = (7, 5)) -> np.ndarray:
    rng = np.random.default_rng(shape)
    if np.dtype(dtype).kind in "bui":
        return rng.integers(0, 2 if dtype == "?" else 5, shape).astype(dtype)
    values = rng.uniform(0.5, 1.5, shape)
    return (values + 1j * values[::-1] if np.dtype(dtype).kind == "c" else values).astype(dtype)


def mask(shape: tuple[int, ...] = (7, 5)) -> np.ndarray:
    found = np.random.default_rng(9).integers(0, 3, shape) > 0
    found[:, 0], found[2] = True, False
    return found


def with_initial(name: str) -> dict:
    return {"initial": 0.75} if name in ("min", "max") else {}


def masked(name: str, dtype: str, axis, keepdims=False) -> Check:
    options = {"axis": axis, "keepdims": keepdims, **with_initial(name)}
    if name in ("min", "max") and np.dtype(dtype).kind in "bui":
        options["initial"] = 1
    act = lambda xp, a, w: getattr(xp, name)(a, where=w, **options)  # noqa: E731
    return Check(f"{name} {dtype} {axis}", act, (data(dtype), mask()), name in EXACT)


@pytest.mark.parametrize("dtype", "?bHldefFD")
def test_masks_of_every_dtype(dtype):
    checks = [masked(name, dtype, (None, 0, 1)[k % 3]) for k, name in enumerate(MASKED)]
    verify([(c, CUT[k % 4]) for k, c in enumerate(checks)], ranks=(1, 3))


@pytest.mark.parametrize("placing", LAYOUTS[:5], ids=str)
def test_masks_in_every_layout(placing):
    checks = [
        masked(name, "d", axis, keepdims=True)
        for name, axis in product(("max", "mean", "std"), (None, 0, 1, ()))
    ]
    verify(checks, ranks=(1, 3), placings=[placing], flow=placing.split is not None)


def test_masks_of_other_shapes_and_kinds():
    x = data()
    columns, rows = mask()[3], mask()[:, 1:2]
    acts = {
        "of columns": lambda xp, a, w, v: a.sum(where=w),
        "of columns, mean": lambda xp, a, w, v: a.mean(axis=0, where=w),
        "of rows": lambda xp, a, w, v: a.std(axis=1, where=v),
        "of both": lambda xp, a, w, v: xp.max(a, where=w, initial=0) + a.prod(where=v),
        "of a comparison": lambda xp, a, w, v: a.var(where=a > 1),
        "list": lambda xp, a, w, v: a.sum(where=[True, False, True, True, False]),
        "list of integers": lambda xp, a, w, v: a.sum(where=[1, 0, 1, 1, 0]),
        "list, max": lambda xp, a, w, v: a.max(axis=0, where=[1, 0, 2, 1, 0], initial=0),
        "list, mean": lambda xp, a, w, v: xp.nanmean(a, axis=0, where=[1.5, 0, 1, 1, 0]),
        "list, var": lambda xp, a, w, v: a.var(where=[1, 0, 1, 1.0, 0]),
        "list, of a ufunc": lambda xp, a, w, v: np.add.reduce(a, where=[1, 0, 1, 1, 0]),
        "list that does not fit": lambda xp, a, w, v: a.sum(where=[1, 0]),
        "value": lambda xp, a, w, v: a.sum(where=a[0, 1]),
        "value, of a ufunc": lambda xp, a, w, v: np.maximum.reduce(a, where=a[0, 1], initial=0),
        "array of integers": lambda xp, a, w, v: a.sum(where=np.array([1, 0, 1, 1, 0])),
        "false": lambda xp, a, w, v: a.sum(where=False),
        "false, of mean": lambda xp, a, w, v: a.mean(where=False),
        "NumPy's true": lambda xp, a, w, v: a.mean(where=np.True_),
        "true": lambda xp, a, w, v: a.max(where=True),
        "too large": lambda xp, a, w, v: a[0].sum(where=v),
        "does not fit": lambda xp, a, w, v: a.sum(where=w[:2]),
        "does not fit mean": lambda xp, a, w, v: a.mean(where=w[:2]),
        "of integers": lambda xp, a, w, v: a.sum(where=w * 1),
        "of integers, mean": lambda xp, a, w, v: a.mean(where=w * 1),
        "max needs a start": lambda xp, a, w, v: a.max(where=w),
    }
    checks = [Check(k, f, (x, columns, rows), exact=False) for k, f in acts.items()]
    verify(checks, ranks=(1, 3), placings=CUT[:3:2])


def test_initial_values():
    checks = []
    for x, start in zip((data(), data("b"), data("?"), data("F")), (2, 3, True, 2.5), strict=True):
        for name, axis in product(("sum", "prod", "min", "max"), (None, 0, (0, 1))):
            act = lambda xp, a, n=name, o={"axis": axis, "initial": start}: getattr(a, n)(**o)  # noqa: E731
            checks.append(Check(f"{name} {x.dtype} {axis} {start}", act, (x,), exact=False))
    others = {
        "fraction of integers": lambda xp, a, i: i.sum(initial=2.5) + i.max(initial=2.5),
        "too large": lambda xp, a, i: i.max(initial=1000),
        "none": lambda xp, a, i: a.sum(initial=None) + a.max(initial=None),
        "list": lambda xp, a, i: xp.sum(a, initial=[3]),
        "of nothing": lambda xp, a, i: a[:0].max(initial=7),
        "of nothing, axis": lambda xp, a, i: a[:0].min(axis=0, initial=-1),
        "none of nothing": lambda xp, a, i: a[:0].sum(initial=None),
        "keepdims": lambda xp, a, i: a.max(1, initial=1.25, keepdims=True),
        "of mean": lambda xp, a, i: a.mean(initial=3),
        "of any": lambda xp, a, i: a.any(initial=True),
        "of text": lambda xp, a, i: a.sum(initial="x"),
    }
    checks += [Check(k, f, (data(), data("b")), exact=False) for k, f in others.items()]
    verify([(c, CUT[k % 4]) for k, c in enumerate(checks)], ranks=(1, 3))


@pytest.mark.parametrize("dtype", ["f", "l", "?", "D"])
def test_outputs(dtype):
    def act(name, **options):
        def job(xp, a):
            shape = np.sum(np.zeros(a.shape), **options).shape
            out = xp.zeros(shape, dtype=dtype)
            out[...] = 1
            found = getattr(xp, name)(a, out=out, **options)
            assert found is out
            return found

        return job

    names = (*MASKED, "ptp", "nansum", "nanmean", "nanmax", "argmax", "nanstd")
    checks = [
        Check(f"{name} {x.dtype} {axis}", act(name, axis=axis), (x,), exact=False)
        for name, (axis, x) in product(names, ((None, data()), (1, data("b"))))
    ]
    verify(checks, ranks=(1, 3))


def test_outputs_are_views_and_must_fit():
    def into_a_row(xp, a):
        out = xp.zeros((4, 5))
        row = out[::-2][1]
        found = xp.sum(a, 0, None, row)
        assert found is row
        return out

    def overlapping(xp, a):
        a[:, 1].sum()
        xp.max(a, axis=0, out=a[3])
        return a

    acts = {
        "row": into_a_row,
        "overlapping": overlapping,
        "reduce": lambda xp, a: np.add.reduce(a, axis=1, out=xp.zeros(7)),
        "kept": lambda xp, a: a.mean(axis=1, keepdims=True, out=xp.zeros((7, 1))),
        "of nothing": lambda xp, a: a[:0].sum(axis=0, out=xp.zeros(5)),
        "wrong shape": lambda xp, a: a.sum(axis=0, out=xp.zeros(7)),
        "wrong shape of mean": lambda xp, a: a.mean(out=xp.zeros((1, 1))),
    }
    checks = [Check(k, f, (data(),), exact=False) for k, f in acts.items()]
    verify(checks, ranks=(1, 3), placings=CUT[:2], flow=False)
    a = taskarr.ones((3, 2))
    with pytest.raises(TypeError, match="NumPy array"):
        a.sum(out=np.zeros(()))
    with pytest.raises(TypeError, match="never changes"):
        a.sum(out=a.sum())


def test_shapes_and_dtypes_of_outputs_are_checked_in_numpys_order():
    names = ("std", "var", "ptp", "mean", "sum", "max", "any", "argmin")
    names += ("nanstd", "nanvar", "nanmean", "nansum", "nanmax", "nanargmax")

    def act(xp, a, name, axis, shape, dtype):
        return getattr(xp, name)(a, axis=axis, out=xp.zeros(shape, dtype))

    cases = [
        (name, axis, shape, dtype)
        for name in names
        for axis, shape in ((0, (3,)), (0, (5, 1)), (0, (5,)), (None, (1,)), (None, ()))
        for dtype in ("i4", "f4", "c8")
    ]
    checks = [Check(str(case), act, (data("d"),), exact=False, fixed=case) for case in cases]
    verify(checks, ranks=(2,), flow=False)


def test_means_that_are_given():
    x, z = data(), data("D")
    acts = {
        "of all": lambda xp, a: xp.var(a, mean=xp.mean(a, keepdims=True)),
        "of columns": lambda xp, a: xp.std(a, 0, mean=xp.mean(a, axis=0, keepdims=True)),
        "of rows, ddof": lambda xp, a: xp.var(a, 1, ddof=1, mean=a.mean(1, keepdims=True)),
        "number": lambda xp, a: a.var(mean=0.5) + a.std(axis=0, mean=1),
        "none": lambda xp, a: xp.var(a, mean=None),
        "with a mask": lambda xp, a: xp.var(a, mean=1.0, where=a.real > 1),
        "does not fit": lambda xp, a: xp.var(a, mean=xp.ones(4)),
        "correction": lambda xp, a: xp.var(a, correction=1) + xp.std(a, correction=2),
        "both": lambda xp, a: xp.var(a, ddof=1, correction=1),
        "correction of the method": lambda xp, a: a.var(correction=1),
        "ddof and mask": lambda xp, a: xp.std(a, axis=0, ddof=1, where=a.real > 1),
    }
    checks = [Check(f"{k} {y.dtype}", f, (y,), False) for k, f in acts.items() for y in (x, z)]
    verify([(c, CUT[k % 4]) for k, c in enumerate(checks)], ranks=(1, 3))


def test_dtypes_of_variance_and_mean():
    options = [{"dtype": "i4"}, {"dtype": "i8", "axis": 0}, {"dtype": "f4"}, {"dtype": "D"}]
    checks = [
        Check(
            f"{name} {x.dtype} {o}", lambda xp, a, n=name, o=o: getattr(xp, n)(a, **o), (x,), False
        )
        for name, x, o in product(("mean", "var", "std", "sum"), (data() * 9, data("b")), options)
    ]
    verify(checks, ranks=(1, 3), placings=CUT[:2])


def test_sums_are_written_to_outputs_before_they_are_divided():
    def into(name, out, where):
        def act(xp, a):
            options = {} if where is None else {"where": where}
            return getattr(xp, name)(a, axis=0, dtype="i8", out=xp.zeros(5, out), **options)

        return act

    masks = (None, True, np.array([True, False, True, True, False]), False)
    checks = [
        Check(f"{name} {out} {mask}", into(name, out, mask), (data() * 9,), False)
        for name, out, mask in product(("mean", "var"), ("f4", "f8", "i8"), masks)
        if out != "i8" or mask is None
    ]
    verify(checks, ranks=(1, 3), placings=CUT[:2], flow=False)


def test_initial_values_need_only_fit_the_output():
    def into(out, initial):
        return lambda xp, a: xp.sum(a, axis=0, initial=initial, out=xp.zeros(5, out))

    checks = [
        Check(f"{initial} in {out}", into(out, initial), (np.ones((7, 5), "u2"),))
        for out in ("i1", "i8", "f8", "u1", "f4")
        for initial in (-3, 1000, 2.5)
    ]
    verify(checks, ranks=(1, 3), placings=CUT[:2], flow=False)


def test_positional_arguments_have_numpys_order():
    x = data()
    acts = {
        "sum": lambda xp, a: xp.sum(a, 0, "f4", None, True, 1.0, a > 1),
        "sum method": lambda xp, a: a.sum(0, "f4", None, True, 1.0, a > 1),
        "max": lambda xp, a: xp.max(a, 1, None, True, 0.75, a > 1),
        "mean": lambda xp, a: xp.mean(a, 1, "f8", None, True),
        "var": lambda xp, a: a.var(1, None, None, 1, True),
        "any": lambda xp, a: xp.any(a, 0, None, True),
        "argmax": lambda xp, a: a.argmax(1, None),
        "ptp": lambda xp, a: xp.ptp(a, 1, None, True),
        "count": lambda xp, a: xp.count_nonzero(a > 1, 0),
        "nansum": lambda xp, a: xp.nansum(a, 0, "f4", None, True, 1.0, a > 1),
        "too many": lambda xp, a: a.var(1, None, None, 1, True, True),
        "too many of any": lambda xp, a: xp.any(a, 0, None, True, True),
        "twice": lambda xp, a: xp.sum(a, 0, axis=0),
        "unknown": lambda xp, a: xp.sum(a, ddof=1),
        "keepdims of None": lambda xp, a: a.max(keepdims=None),
        "keepdims of two": lambda xp, a: a.max(keepdims=2),
        "axis of truth": lambda xp, a: a.sum(axis=True),
    }
    verify([Check(k, f, (x,), False) for k, f in acts.items()], ranks=(1, 3))


def test_every_reduction_is_there():
    for name in NAMES:
        function = getattr(taskarr, name)
        assert function.__name__ == name
        assert name in function.__doc__
        assert "a" in inspect.signature(function).parameters
    for name in (
        "sum",
        "prod",
        "min",
        "max",
        "mean",
        "var",
        "std",
        "any",
        "all",
        "argmin",
        "argmax",
    ):
        assert callable(getattr(taskarr.Array, name))


def test_other_reductions():
    x, n = data(), data("b")
    when = np.array([3, 9, 5], "M8[D]")
    acts = {
        f"{name} {axis}": lambda xp, a, i, w, n=name, x=axis: getattr(xp, n)(a, axis=x)
        for name, axis in product(("ptp", "amin", "amax", "count_nonzero"), (None, 0, (0, 1), ()))
    }
    acts |= {
        "count of integers": lambda xp, a, i, w: xp.count_nonzero(i, axis=1, keepdims=True),
        "count of dates": lambda xp, a, i, w: xp.count_nonzero(w),
        "count of text": lambda xp, a, i, w: xp.count_nonzero(xp.asarray(["a", "", "b"]), axis=0),
        "count of 0-d": lambda xp, a, i, w: xp.count_nonzero(a[0, 0]),
        "count of nothing": lambda xp, a, i, w: xp.count_nonzero(a[:0], axis=0),
        "range of integers": lambda xp, a, i, w: xp.ptp(i, axis=0),
        "range of dates": lambda xp, a, i, w: xp.ptp(w),
        "range of truth": lambda xp, a, i, w: xp.ptp(a > 1),
        "range of nothing": lambda xp, a, i, w: xp.ptp(a[:0]),
        "range of empty rows": lambda xp, a, i, w: xp.ptp(a[:0], axis=1),
        "NumPy's": lambda xp, a, i, w: np.ptp(a) + np.count_nonzero(i) + np.amax(a),
        "sum of truth": lambda xp, a, i, w: (a > 1).sum() + (a > 1).mean() + (a > 1).sum(0),
        "sum of truth as bytes": lambda xp, a, i, w: (a > 0).sum(dtype="i1"),
    }
    verify([Check(k, f, (x, n, when)) for k, f in acts.items()], ranks=(1, 3), flow=False)


@settings(max_examples=15, deadline=None)
@given(st.data())
def test_against_numpy(draw):
    shape = tuple(draw.draw(st.lists(st.integers(0, 4), min_size=1, max_size=3)))
    x = data(draw.draw(st.sampled_from("dbeD?")), shape)
    name = draw.draw(st.sampled_from(MASKED))
    axes = draw.draw(st.none() | st.sets(st.integers(0, len(shape) - 1)).map(tuple))
    options = {"axis": axes, "keepdims": draw.draw(st.booleans())}
    if draw.draw(st.booleans()):
        options["where"] = np.arange(shape[-1]) != 1
    if name in ("sum", "prod", "min", "max") and draw.draw(st.booleans()):
        options["initial"] = 1
    act = lambda xp, a: getattr(xp, name)(a, **options)  # noqa: E731
    placing = draw.draw(st.sampled_from(LAYOUTS[:5]))
    ranks = draw.draw(st.permutations(RANKS))[:2]
    verify([Check(f"{name} {options}", act, (x,), exact=False)], ranks, [placing], flow=False)


def test_same_bits_on_any_number_of_ranks():
    x = np.random.default_rng(5).standard_normal((40, 23)).astype("f4")

    def job(world):
        a = taskarr.asarray(x, split=(0, 1))
        w = taskarr.asarray(mask((40, 23)), split=1)
        found = [
            a.mean(where=w),
            a.std(axis=0, where=w),
            a.sum(axis=1, where=w, initial=2),
            taskarr.nanvar(a, axis=1),
            np.logaddexp.reduce(a, axis=None),
            np.hypot.reduce(a),
            taskarr.average(a, axis=0, weights=w),
        ]
        return [f.numpy() for f in found]

    first = on_ranks(1, job, block=256).value
    for n in RANKS[1:]:
        for found, expected in zip(on_ranks(n, job, block=256).value, first, strict=True):
            assert found.tobytes() == expected.tobytes()


ZEROS = {
    "all": lambda xp, x: xp.sum(x),
    "rows": lambda xp, x: x.sum(axis=0),
    "columns": lambda xp, x: x.sum(axis=1, keepdims=True),
    "mean": lambda xp, x: xp.mean(x, axis=0),
    "mean of all": lambda xp, x: x.mean(),
    "nansum": lambda xp, x: xp.nansum(x),
    "average": lambda xp, x: xp.average(x, axis=0),
    "trace": lambda xp, x: xp.trace(x),
    "reduce": lambda xp, x: np.add.reduce(x),
    "initial": lambda xp, x: x.sum(initial=-0.0),
    "one": lambda xp, x: x[:1, :1].sum(),
    "mask": lambda xp, x: x.sum(where=x == 0),
}


def test_no_sum_is_minus_zero():
    def signs(act):
        return lambda xp, x: xp.signbit(act(xp, x))

    checks = [
        (Check(f"{name} {dtype}", signs(act), (np.full((7, 5), -0.0, dtype),)), p)
        for name, act in ZEROS.items()
        if DEVICE == "cpu" or name != "initial"  # sums on a GPU begin with zero
        for dtype in ("f8", "f4")
        for p in CUT[:2]
    ]
    verify(checks, (1, 3), flow=False)


X = np.arange(35).reshape(7, 5) * 3 % 11
NARROW = {
    "big-endian variance": lambda xp, x, t: xp.var(x.astype(">f4"), axis=0),
    "big-endian deviation": lambda xp, x, t: x.astype(">c8").std(axis=1),
    "text as numbers": lambda xp, x, t: np.subtract.reduce(t, dtype="f8"),
    "product of text": lambda xp, x, t: xp.prod(t, dtype="i8"),
    "largest text": lambda xp, x, t: np.maximum.reduceat(t, [0, 2], dtype="f8"),
    "running text": lambda xp, x, t: xp.cumprod(t, dtype="i8"),
    "deviation": lambda xp, x, t: x.std(axis=0, dtype="i8", out=xp.zeros(5)),
    "nanmean": lambda xp, x, t: xp.nanmean(x.astype("f4"), axis=0, out=xp.zeros(5)),
    "complex": lambda xp, x, t: xp.mean(x.astype("f4"), axis=0, out=xp.zeros(5, "c16")),
}


@pytest.mark.skipif(DEVICE != "cpu", reason="a GPU has neither text nor other byte orders")
def test_narrow_and_foreign_elements():
    operands = X, np.array(["1", "2", "3", "7"])
    checks = [Check(name, act, operands, exact=False) for name, act in NARROW.items()]
    verify([(c, p) for c in checks for p in CUT[:2]], (1, 3), flow=False)


@pytest.mark.parametrize("name", ["min", "max"])
@pytest.mark.parametrize("length", [1, 20])
@pytest.mark.parametrize("zero", [0.0, -0.0])
def test_the_sign_of_an_initial_zero(name, length, zero):
    x = np.full(length, -zero)
    found = getattr(taskarr.asarray(x), name)(initial=zero)
    assert np.signbit(float(found)) == np.signbit(getattr(x, name)(initial=zero))


WIDER = [
    ("sum", "f4", "f8"),
    ("sum", "f2", "f8"),
    ("sum", "c8", "c16"),
    ("prod", "f4", "f8"),
    ("prod", "c8", "c16"),
    ("mean", "f4", "f8"),
    ("mean", "c8", "c16"),
    ("var", "f4", "f8"),
    ("std", "f2", "f8"),
    ("var", "c8", "c16"),
    ("nansum", "f4", "f8"),
    ("nanmean", "f4", "f8"),
    ("nanprod", "f4", "f8"),
]


@pytest.mark.parametrize(("name", "narrow", "wide"), WIDER)
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_narrow_floats_are_reduced_in_the_dtype_that_is_given(name, narrow, wide, axis):
    x = np.random.default_rng(4).uniform(0.9, 1.1, (40, 30)).astype(narrow)
    expected = getattr(np, name)(x.astype(wide), axis=axis)
    a = taskarr.asarray(x, split=0, chunks=(7, 30))
    found = getattr(np, name)(a, axis=axis, dtype=wide)
    assert found.dtype == getattr(np, name)(x, axis=axis, dtype=wide).dtype
    np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-12)
    if name in ("sum", "prod", "mean", "nansum", "nanmean"):
        out = taskarr.zeros(expected.shape, wide)
        getattr(np, name)(a, axis=axis, out=out)
        np.testing.assert_allclose(out.numpy(), expected, rtol=1e-12)


def test_sums_over_the_range_of_a_narrow_float():
    a = taskarr.asarray(np.array([3e38, 3e38], "f4"))
    assert float(a.sum(dtype="f8")) == float(a.numpy().sum(dtype="f8"))
    assert float(a.mean(dtype="f8")) == float(a.numpy().mean(dtype="f8"))


NOTHING = {
    "sum": lambda xp: xp.sum(xp.zeros((0, 3)), axis=0, initial=5, out=xp.full(3, 9.0)),
    "max": lambda xp: xp.max(xp.zeros((0, 2)), axis=0, initial=2.5, out=xp.zeros(2)),
    "kept": lambda xp: xp.sum(
        xp.zeros((0, 2)), axis=0, keepdims=True, initial=3, out=xp.zeros((1, 2))
    ),
    "all": lambda xp: np.logical_and.reduce(
        xp.zeros((0, 2)), axis=0, initial=False, out=xp.ones(2, bool)
    ),
    "bits": lambda xp: np.bitwise_and.reduce(xp.zeros((0, 3), "u1"), axis=0, out=xp.zeros(3, "i8")),
    "small": lambda xp: xp.sum(xp.zeros((0, 2), int), axis=0, initial=300, out=xp.zeros(2, "u1")),
}
OUTPUTS = {
    "ptp": lambda xp, a: xp.ptp(a(np.array([-100, 100], "i1")), out=xp.zeros((), int)),
    "ptp bool": lambda xp, a: xp.ptp(a(np.array([True, False])), out=xp.zeros((), int)),
    "ptp half": lambda xp, a: xp.ptp(a(np.array([0.1, 9.7], "f2")), out=xp.zeros(())),
    "subtract": lambda xp, a: np.subtract.reduce(xp.arange(9, dtype="u1"), out=xp.zeros((), "i8")),
    "running": lambda xp, a: np.subtract.accumulate(
        xp.arange(9, dtype="u1"), out=xp.zeros(9, "i8")
    ),
    "stretches": lambda xp, a: np.subtract.reduceat(
        xp.arange(9, dtype="u1"), [0, 3], out=xp.zeros(2, "i8")
    ),
    "power": lambda xp, a: np.power.reduce(a(np.array([2, 9], "i1")), out=xp.zeros((), "i8")),
    "hypot": lambda xp, a: np.hypot.reduce(a(np.array([0.1, 0.2], "f2")), out=xp.zeros(())),
}
FIRST = {
    "no axes": lambda xp, a: np.subtract.reduce(xp.ones(3, "f4"), axis=(), initial=1),
    "a value": lambda xp, a: np.arctan2.reduce(a(np.array(2.0)), axis=None, initial=5.0),
    "length of one": lambda xp, a: np.hypot.reduce(a(np.array([-3.0]))),
    "infinite": lambda xp, a: xp.prod(a(np.array([complex(np.inf, 0)]))),
}


@pytest.mark.parametrize("label", NOTHING)
def test_initial_values_of_nothing_go_to_the_output(label):
    expected, found = NOTHING[label](np), NOTHING[label](taskarr)
    assert found.dtype == expected.dtype
    assert found.tolist() == expected.tolist()


@pytest.mark.parametrize("label", [*OUTPUTS, *FIRST])
def test_what_a_reduction_starts_from_and_is_computed_in(label):
    call = {**OUTPUTS, **FIRST}[label]
    with np.errstate(invalid="ignore"):
        expected, found = call(np, np.asarray), np.asarray(call(taskarr, taskarr.asarray))
    np.testing.assert_array_equal(found, expected)
    assert found.dtype == expected.dtype


@pytest.mark.parametrize("name", ["mean", "var", "std"])
@pytest.mark.parametrize("dtype", ["M8[s]", "U3", "f8"])
def test_masks_that_do_not_fit_come_before_dtypes(name, dtype):
    x, mask = np.zeros(7, "i8").astype(dtype), np.ones(5, bool)
    for xp in (np, taskarr):
        with pytest.raises(ValueError, match="broadcast"):
            getattr(xp, name)(xp.asarray(x), where=xp.asarray(mask))
