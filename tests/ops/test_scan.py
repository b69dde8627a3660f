"""Scans against NumPy: running sums, products and extremes, and reductions of stretches."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import taskarr
from taskarr.kernel import scan as kernel
from tests.layouts import CUT, LAYOUTS, RANKS, Placing, on_ranks
from tests.oracle import Check, verify

FEWER = (1, 3, 5)
CUMULATIVE = ("cumsum", "cumprod", "nancumsum", "nancumprod")
JOINED = (
    ("add", "bilfgd"),
    ("multiply", "bilfgd"),
    ("minimum", "bdFM"),
    ("maximum", "idDM"),
    ("fmin", "d"),
    ("fmax", "f"),
    ("logical_and", "?i"),
    ("logical_or", "?d"),
    ("logical_xor", "?l"),
    ("bitwise_and", "iL"),
    ("bitwise_or", "b"),
    ("bitwise_xor", "q"),
    ("gcd", "i"),
    ("hypot", "d"),
    ("logaddexp", "d"),
    ("logaddexp2", "f"),
)
MESHES = (
    Placing("mesh (2, 2)", (7, 6), (0, 1)),
    Placing("many blocks", (23, 3), 0),
    Placing("columns", (3, 23), 1),
)


def numbers(shape, dtype="d", seed=0):
    rng = np.random.default_rng(seed)
    kind = np.dtype(dtype).kind
    if kind in "iu":
        return rng.integers(1, 7, shape).astype(dtype)
    if kind == "b":
        return rng.random(shape) > 0.3
    if kind in "mM":
        return rng.integers(1, 99, shape).astype("i8").view(f"{kind}8[s]")
    found = rng.normal(size=shape)
    return (found + 1j * rng.normal(size=shape) if kind == "c" else found).astype(dtype)


def with_nan(shape, dtype="d"):
    x = numbers(shape, dtype)
    x.reshape(-1)[2::5] = np.nan
    return x


def called(xp, x, name, axis, dtype=None):
    return getattr(xp, name)(x, axis=axis, dtype=dtype)


@pytest.mark.parametrize("name", CUMULATIVE)
def test_functions_in_every_layout(name):
    make = with_nan if name.startswith("nan") else numbers
    verify(
        (Check(f"{name} axis {axis}", called, (make(p.shape),), False, (name, axis)), p)
        for p in ((*LAYOUTS, *MESHES) if name == "cumsum" else CUT[:3])
        for axis in (None, 0, 1)
    )


def test_three_axes():
    def cut(split):
        return Placing(f"split {split}", (2, 7), split)

    x = numbers((5, 4, 6))
    verify(
        (
            (Check(f"axis {axis}", called, (x,), False, ("cumsum", axis)), cut(split))
            for split in (1, (0, 2), (0, 1, 2))
            for axis in (0, 1, 2, None)
        ),
        FEWER,
    )


def view(xp, x, how, axis):
    return VIEWS[how](x).cumsum(axis)


VIEWS = {
    "transposed": lambda x: x.T,
    "flipped": lambda x: x[::-1, ::-1],
    "flipped and transposed": lambda x: x[::-1].T,
    "sliced": lambda x: x[1:-1:2],
    "column": lambda x: x[:, 2:3],
    "row": lambda x: x[3],
    "broadcast": lambda x: x[:, :, None] + x[0],
    "computed": lambda x: x * 2 + 1,
    "one element": lambda x: x[2, 3],
}


def test_views():
    verify(
        (
            Check(f"{how} {axis}", view, (numbers((9, 5)),), False, (how, axis))
            for how in VIEWS
            for axis in ((0,) if how == "one element" else (0, -1, None))
        ),
        FEWER,
    )
    verify([Check("flipped", view, (numbers((9, 5)),), False, ("flipped", 0))], RANKS, CUT)


def accumulated(xp, x, name, axis=0, dtype=None):
    return getattr(np, name).accumulate(x, axis, dtype)


@pytest.mark.parametrize(("name", "dtypes"), JOINED, ids=[name for name, _ in JOINED])
def test_ufuncs(name, dtypes):
    verify(
        (
            Check(f"{char} {axis}", accumulated, (numbers((7, 5), char),), False, (name, axis))
            for char in dtypes
            for axis in (0, 1)
        ),
        (1, 3),
    )


@pytest.mark.parametrize("name", ("minimum", "maximum", "fmin", "add"))
def test_nan(name):
    verify(
        (Check(char, accumulated, (with_nan((8, 4), char),), False, (name,)) for char in "dfF"),
        (1, 3),
    )
    nat = numbers((9,), "m8")
    nat[4] = "NaT"
    verify([Check("NaT", accumulated, (nat,), True, (name,))])


def test_dtypes():
    verify(
        (
            Check(f"{name} {char} {dtype}", called, (numbers((7,), char),), False, (name, 0, dtype))
            for name in ("cumsum", "cumprod")
            for char in "?bBhHiIlLefdFDm"
            for dtype in (None, "i1", "?", "f4", "i8")
            if dtype is None or (name == "cumsum" and char not in "FDm")
        ),
        (1, 3),
    )
    verify([Check("big-endian", called, (numbers((7,), ">f8"),), False, ("cumsum", 0))])


def into(xp, x, out, name, axis):
    found = getattr(xp, name)(x, axis=axis, out=out)
    assert found is out
    return out


def test_outputs():
    x = numbers((7, 5))
    verify(
        (
            Check(
                f"{char} into {kind} {axis}",
                into,
                (numbers((7, 5), char), np.zeros(35 if axis is None else (7, 5), kind)),
                False,
                ("cumsum", axis),
            )
            for char, kind in ("dd", "bb", "bf", "df", "di", "il", "lF")
            for axis in (0, None)
        ),
        (1, 3),
    )

    def job(world):
        a = taskarr.asarray(x, split=0)
        assert np.add.accumulate(a, 0, None, a) is a
        b = taskarr.asarray(x, split=1)
        b[:, 1:].cumsum(axis=1, out=b[:, 1:])
        return a.numpy(), b.numpy()

    for n in RANKS:
        a, b = on_ranks(n, job).value
        np.testing.assert_allclose(a, x.cumsum(0), rtol=1e-12)
        np.testing.assert_allclose(b[:, 1:], x[:, 1:].cumsum(1), rtol=1e-12)
        np.testing.assert_array_equal(b[:, 0], x[:, 0])


def test_wrong_arguments():
    verify(
        (
            *(Check(name, act, (numbers((4, 3)),)) for name, act in WRONG.items()),
            *(Check(name, act, (numbers((4,), "?"),)) for name, act in WRONG_OF_TRUTHS.items()),
            *(Check(name, act, (numbers((4,), "M8[s]"),)) for name, act in WRONG_OF_DATES.items()),
        ),
        (1, 3),
        flow=False,
    )


WRONG = {
    "axis 2": lambda xp, x: xp.cumsum(x, axis=2),
    "axes": lambda xp, x: xp.cumsum(x, axis=(0, 1)),
    "axis 1.5": lambda xp, x: x.cumsum(1.5),
    "dtype": lambda xp, x: x.cumsum(0, "nonsense"),
    "output": lambda xp, x: x.cumsum(0, out=x[:2]),
    "all axes of a ufunc": lambda xp, x: np.add.accumulate(x, axis=None),
    "two axes of a ufunc": lambda xp, x: np.add.accumulate(x, axis=(0, 1)),
    "a scalar": lambda xp, x: np.add.accumulate(x.sum()),
    "unary": lambda xp, x: np.sin.accumulate(x),
    "two outputs": lambda xp, x: np.divmod.accumulate(x),
    "no loop": lambda xp, x: np.bitwise_and.accumulate(x),
    "axis missing": lambda xp, x: xp.cumulative_sum(x),
    "order": lambda xp, x: xp.diff(x, n=-1),
    "diff of a scalar": lambda xp, x: xp.diff(x.sum()),
    "diff along": lambda xp, x: xp.diff(x, axis=2),
    "prepended shape": lambda xp, x: xp.diff(x, axis=0, prepend=[[1.0, 2.0]]),
    "ends": lambda xp, x: xp.ediff1d(x.astype("i4"), to_begin=1.5),
    "reduceat beyond": lambda xp, x: np.add.reduceat(x, [0, 4]),
    "reduceat below": lambda xp, x: np.add.reduceat(x, [0, -1]),
    "reduceat axes": lambda xp, x: np.add.reduceat(x, [0], axis=None),
    "reduceat one": lambda xp, x: np.add.reduceat(x, 0),
}
WRONG_OF_DATES = {
    "beyond": lambda xp, x: np.add.reduceat(x, [0, 4]),
    "below": lambda xp, x: np.add.reduceat(x, [-1]),
    "in range": lambda xp, x: np.add.reduceat(x, [0, 3]),
    "nothing": lambda xp, x: np.add.reduceat(x, []),
    "of truths": lambda xp, x: np.logical_or.reduceat(x, [7]),
    "no loop": lambda xp, x: np.less.reduceat(x, [7]),
    "axis": lambda xp, x: np.add.reduceat(x, [7], axis=1),
    "unary": lambda xp, x: np.sin.reduceat(x, [7]),
    "two outputs": lambda xp, x: np.divmod.reduceat(x, [7]),
    "axes of starts": lambda xp, x: np.add.reduceat(x, [[7]]),
}
WRONG_OF_TRUTHS = {
    "subtract": lambda xp, x: np.subtract.accumulate(x),
    "ediff1d": lambda xp, x: xp.ediff1d(x),
}


OTHERS = ("subtract", "divide", "arctan2", "floor_divide", "fmod")


def test_what_is_not_associative_goes_on_from_block_to_block():
    verify(
        (
            (Check(f"{name} {axis}", act, (numbers((7, 5)) + 3,), fixed=(name, axis)), p)
            for name in OTHERS
            for axis in (0, 1)
            for p in (*CUT, *MESHES)
        ),
        (1, 2, 3, 5),
    )


def act(xp, x, name, axis):
    return getattr(np, name).accumulate(x, axis=axis)


def test_what_is_not_associative_has_the_same_bits_on_any_rank_count():
    x = np.abs(numbers((300, 4))) + 0.1
    found = set()
    for n in (1, 2, 3, 7):

        def job(world):
            a = taskarr.asarray(x, split=0, chunks=(7, -1))
            return np.power.accumulate(a).numpy().tobytes()

        found.add(on_ranks(n, job).value)
    assert len(found) == 1


def test_running_sums_never_fall():
    """A tree over blocks would let the first value of a block be less than the last before it."""
    x = np.random.default_rng(3).random(700)

    def job(world):
        a = taskarr.asarray(x, split=0)
        found = a.cumsum()
        return found.numpy(), found.dtype

    for n in (1, 3):
        found, _ = on_ranks(n, job, block=40).value
        assert (np.diff(found) >= 0).all()
        np.testing.assert_allclose(found, x.cumsum(), rtol=1e-13)


@pytest.mark.parametrize("dtype", ("f2", "f4", "F"))
def test_errors_are_no_larger_than_numpys(dtype):
    x = numbers((4000,), dtype, seed=1) / 8 + 1 / 64
    wide = np.result_type(dtype, "f8")
    truth = x.astype(wide).cumsum()

    def job(world):
        return taskarr.asarray(x, split=0).cumsum().numpy()

    ours, numpys = (abs(y - truth).mean() for y in (on_ranks(3, job, block=200).value, x.cumsum()))
    assert ours <= numpys


RANGES = {
    "zero first": [0, *[1e200] * 8],
    "factorials": range(30),
    "large, then small": [*[1e200] * 3, 0.5, *[1e-200] * 9],
    "small, then large": [*[1e-200] * 3, 0.5, *[1e200] * 9],
    "lost and found": [1e300, 1e-200, 1e-200, 1e-200, 1e250, 1e250, 1e-100, 7],
    "denormal on the way": [1e300, 3, 1e-160, 1e-160, 1e160, 1e160, 1, 2],
    "negative zero": [1, -0.0, 3, -2, 1e-300, 1e-300, 5, -1],
    "infinite": [1, np.inf, 2, 0, 3, -np.inf, 1, 1],
    "not a number": [1, np.nan, 1e200, 1e200, 1e-200, 1e-200, 0, 1],
    "back from the top": [1.5e308, 2, -1e308, -1e308, 1e308, 1e308, -1e308, 1],
    "over the top": [1.5e308, 1.5e308, -1e308, -1e308, -1e308, 1, 1, 1],
}


@pytest.mark.parametrize("name", ("cumsum", "cumprod"))
def test_where_numbers_end(name):
    """Parts that are too large or too small by themselves give what NumPy's running value gives."""
    lines = {label: np.array(list(x), "d") for label, x in RANGES.items()}
    verify((Check(label, called, (x,), False, (name, 0)) for label, x in lines.items()), FEWER)
    several = np.stack([np.resize(x, 8) for x in lines.values()])
    verify(
        [
            Check("columns", called, (several.T.copy(),), False, (name, 0)),
            Check("rows", called, (several,), False, (name, 1)),
            Check("complex", called, (several[:2].T + 0j,), False, (name, 0)),
        ],
        FEWER,
        CUT[:3],
    )


@pytest.mark.processor("GPUs have no floating-point flags")
@pytest.mark.parametrize("n", (1, 3))
def test_faults_are_those_of_the_result(n):
    def job(world):
        with warnings.catch_warnings(record=True) as caught, np.errstate(all="warn"):
            warnings.simplefilter("always")
            taskarr.asarray([0, *[1e200] * 8], split=0).cumprod().numpy()
            quiet = len(caught)
            taskarr.asarray([1e308] * 8, split=0).cumsum().numpy()
        with np.errstate(over="raise"), pytest.raises(FloatingPointError, match="overflow"):
            taskarr.asarray([1e308] * 8, split=0).cumsum()
        return quiet, [str(w.message) for w in caught]

    quiet, found = on_ranks(n, job).value
    assert quiet == 0
    assert found == ["overflow encountered in accumulate"]


def test_cut_into_parts(monkeypatch):
    """Parts are the same on any number of ranks, wide rows and several of them."""
    monkeypatch.setattr(kernel, "TILE", 8)
    monkeypatch.setattr(kernel, "WIDE", 6)
    monkeypatch.setattr(kernel, "STRIP", 8)
    kernel.tiles.cache_clear()

    def place(split, chunks):
        class Chunked(Placing):
            def place(self, x):
                return taskarr.asarray(x, split=split, chunks=chunks)

        return Chunked(f"chunks {chunks}")

    try:
        verify(
            (Check(f"{name} {axis}", called, (numbers((21, 17), char),), False, (name, axis)), p)
            for char, name in (("d", "cumsum"), ("D", "cumprod"), ("i", "cumprod"))
            for p in (place(0, (9, 17)), place(0, (4, 5)), place(1, (21, 7)), place(0, (10, 6)))
            for axis in (0, 1)
        )
    finally:
        kernel.tiles.cache_clear()


def test_nothing_moves_along_an_axis_that_is_whole():
    def job(world):
        a = taskarr.asarray(numbers((12, 5)), split=0).persist()
        before = dict(world.counters)
        a.cumsum(axis=1).persist()
        np.maximum.accumulate(a, axis=1).persist()
        return [world.counters[k] - before.get(k, 0) for k in ("sends", "alltoallv_bytes")]

    for moved in on_ranks(3, job).values:
        assert moved == [0, 0]


def test_a_row_goes_from_owner_to_owner():
    def job(world):
        a = taskarr.asarray(numbers((24, 5)), split=0).persist()
        before = world.counters["sends"]
        a.cumsum(axis=0).persist()
        return world.counters["sends"] - before

    assert on_ranks(4, job, alike=False).values == [1, 1, 1, 0]


INITIAL = {
    "sum": lambda xp, x: xp.cumulative_sum(x, axis=0, include_initial=True),
    "prod": lambda xp, x: xp.cumulative_prod(x, axis=1, include_initial=True),
    "plain": lambda xp, x: xp.cumulative_sum(x, axis=-1),
    "flat": lambda xp, x: xp.cumulative_prod(x[0], include_initial=True, dtype="f4"),
    "output": lambda xp, x: xp.cumulative_sum(x, axis=1, include_initial=True, out=one_more(xp, x)),
    "no elements": lambda xp, x: xp.cumulative_sum(x[:0], axis=0, include_initial=True),
    "no rows": lambda xp, x: xp.cumulative_sum(x[:, :0], axis=0, include_initial=True),
    "one": lambda xp, x: xp.cumulative_sum(x.sum(), include_initial=True),
    "flipped": lambda xp, x: xp.cumulative_sum(x[::-1], axis=0, include_initial=True),
}


def one_more(xp, x):
    return xp.zeros((x.shape[0], x.shape[1] + 1))


def test_initial_values():
    verify(
        (
            (Check(label, act, (numbers(p.shape, char),), False), p)
            for label, act in INITIAL.items()
            for char, p in (("d", CUT[0]), ("i", CUT[2]), ("d", CUT[3]), ("i", LAYOUTS[0]))
        ),
        FEWER,
    )


DIFFERENCES = {
    "diff": lambda xp, x: xp.diff(x),
    "axis 0": lambda xp, x: xp.diff(x, axis=0),
    "twice": lambda xp, x: xp.diff(x, 2, 0),
    "none": lambda xp, x: xp.diff(x, 0),
    "too often": lambda xp, x: xp.diff(x, 9, 0),
    "between values": lambda xp, x: xp.diff(x, axis=0, prepend=1, append=0),
    "between rows": lambda xp, x: xp.diff(x, axis=1, prepend=x[:, -2:], append=x),
    "longer": lambda xp, x: xp.diff(x[:1], axis=0, append=x),
    "numpy": lambda xp, x: np.diff(x, axis=0),
}


def test_differences():
    verify(
        (
            (Check(f"{label} {char}", act, (numbers((7, 5), char),)), p)
            for label, act in DIFFERENCES.items()
            for char, p in (("d", CUT[0]), ("B", CUT[2]), ("M", CUT[3]), ("?", CUT[1]))
            if char != "M" or label not in ("twice", "too often", "between values")
        ),
        FEWER,
    )
    checks = (Check(label, act, (numbers((7, 5)),)) for label, act in FLAT_DIFFERENCES.items())
    verify(checks, FEWER)


FLAT_DIFFERENCES = {
    "ediff1d": lambda xp, x: xp.ediff1d(x),
    "ends": lambda xp, x: xp.ediff1d(x, to_begin=-9, to_end=np.array([[8, 7]])),
    "distributed end": lambda xp, x: xp.ediff1d(x, to_end=x),
    "one": lambda xp, x: xp.ediff1d(x[:1, :1], to_begin=3),
    "wider": lambda xp, x: xp.diff(x, prepend=2.5),
}


@pytest.mark.parametrize("order", [(2, 0, 1), (1, 0, 2), (2, 1, 0)])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_running_sums_keep_the_order_in_memory(order, axis):
    x = np.arange(24.0).reshape(2, 3, 4)
    a = taskarr.asarray(x).transpose(order)
    for call in (np.cumsum, np.maximum.accumulate, np.subtract.accumulate):
        found, expected = call(a, axis=axis), call(x.transpose(order), axis=axis)
        assert found.strides == expected.strides
        np.testing.assert_array_equal(found.ravel("K").numpy(), expected.ravel("K"))
