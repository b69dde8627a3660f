"""The same bits on any number of ranks, mesh and transport, fused or not, with no rank holding all.

"Same" is compared byte by byte with the result of one rank.
"""

from __future__ import annotations

import tracemalloc
from itertools import product

import numpy as np
import pytest

import taskarr
from tests.layouts import RANKS, on_ranks

DTYPES = ("e", "f", "d", "F", "D")
MESHES = {2: ((2, 1), (1, 2)), 3: ((3, 1), (1, 3)), 5: ((5, 1), (1, 5)), 7: ((7, 1), (1, 7))}


def data(dtype: str, shape=(23, 17), seed: int = 0) -> np.ndarray:
    """Values of many magnitudes, whose sum depends on the order of summation."""
    rng = np.random.default_rng(seed)
    scale = 1.5 if dtype == "e" else 4.0
    x = rng.standard_normal(shape) * 10.0 ** rng.uniform(-scale, scale, shape)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * rng.standard_normal(shape)
    return x.astype(dtype)


def results(a, b):
    """Expressions of every family, given two arrays."""
    return {
        "elementwise": a * b + a / (b * b + 1),
        "functions": taskarr.sqrt(taskarr.exp(a * 1e-4) * taskarr.sin(b)),
        "product": a * b * a,
        "sum": a.sum(),
        "sum 0": a.sum(axis=0),
        "sum 1": a.sum(axis=1),
        "mean": a.mean(),
        "mean 0": a.mean(axis=0),
        "var": a.var(),
        "std 0": a.std(axis=0, ddof=1),
        "std 1": a.std(axis=1),
        "prod 1": (a * 1e-1).prod(axis=1),
        "expression": ((a - b) ** 2).sum(),
        "expression 0": (taskarr.sqrt(abs(a)) * b).sum(axis=0),
        "standard": ((a - a.mean(axis=0)) / a.std(axis=0)).sum(),
        "standard rows": (a - a.mean(axis=1, keepdims=True)) / a.std(axis=1, keepdims=True),
        "view": a[1:-1:2, ::-3].sum(),
        "view 0": (a[2:] * b[:-2]).sum(axis=0),
        "transposed": a.T.sum(axis=0),
        "transposed product": (a.T[:17, :17] * b[:17]).sum(axis=1),
        "strided columns": a[:, ::2].sum(axis=1),
        "reversed": (a[::-1] * b).sum(),
        "broadcast": (a[:, :1] * b[0]).sum(),
        "filtered": a[abs(a) > 1].sum(),
        "rows": a[abs(a[:, 1]) > 1].sum(axis=0),
    }


def job(world, dtype, arguments):
    a = taskarr.asarray(data(dtype), **arguments)
    b = taskarr.asarray(data(dtype, seed=1), **arguments)
    found = results(a, b)
    return dict(zip(found, taskarr.compute(*found.values()), strict=True))


def assert_same(found, expected, what):
    other = [k for k in expected if found[k].tobytes() != expected[k].tobytes()]
    assert not other, f"{what}: other bits in {other}"


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("arguments", [{"split": 0}, {"split": 1}, {"split": (0, 1)}], ids=str)
def test_any_number_of_ranks(dtype, arguments):
    expected = on_ranks(1, job, dtype, arguments, block=256).value
    for n in RANKS[1:]:
        ran = on_ranks(n, job, dtype, arguments, block=256)
        assert_same(ran.value, expected, f"{n} ranks")
        assert ran.flowed


@pytest.mark.parametrize("dtype", ["f", "D"])
def test_any_mesh(dtype):
    expected = on_ranks(1, job, dtype, {"split": (0, 1)}, block=256).value
    for n, meshes in {**MESHES, 4: ((2, 2), (4, 1)), 6: ((2, 3), (3, 2))}.items():
        for mesh in meshes:
            found = on_ranks(n, job, dtype, {"split": (0, 1), "mesh": mesh}, block=256)
            assert_same(found.value, expected, f"mesh {mesh}")


@pytest.mark.parametrize("dtype", ["f", "d"])
def test_any_transport_and_schedule(monkeypatch, dtype):
    monkeypatch.setattr("scheduler.shuffle.SHORTEST_RUN", 1)
    expected = on_ranks(1, job, dtype, {"split": (0, 1)}, block=256).value
    for shuffle, seed in product(("alltoallv", "pairwise", "pull"), range(2)):
        found = on_ranks(3, job, dtype, {"split": (0, 1)}, block=256, shuffle=shuffle, seed=seed)
        assert_same(found.value, expected, (shuffle, seed))


@pytest.mark.parametrize("dtype", DTYPES)
def test_one_at_a_time(dtype):
    """Computing results alone, together, or twice gives the same bits."""

    def alone(world):
        a, b = (taskarr.asarray(data(dtype, seed=k), split=0) for k in (0, 1))
        return {name: value.numpy() for name, value in results(a, b).items()}

    def halves(world):
        a, b = (taskarr.asarray(data(dtype, seed=k), split=0) for k in (0, 1))
        found = results(a, b)
        names = list(found)
        first = taskarr.compute(*[found[k] for k in names[::2]])
        second = taskarr.compute(*[found[k] for k in names[1::2]])
        return dict(zip(names[::2] + names[1::2], first + second, strict=True))

    expected = on_ranks(1, job, dtype, {"split": 0}, block=256).value
    for n in (1, 3):
        assert_same(on_ranks(n, alone, block=256).value, expected, f"alone on {n}")
        assert_same(on_ranks(n, halves, block=256).value, expected, f"in halves on {n}")


@pytest.mark.parametrize("dtype", ["f", "d", "F"])
def test_fused_and_unfused(dtype):
    """Keeping the intermediate results changes no bit."""

    def fused(world, keep):
        a, b = (taskarr.asarray(data(dtype, seed=k), split=(0, 1)) for k in (0, 1))

        def step(x):
            return x.persist() if keep else x

        c = step(step(a * 2) - step(b * b))
        d = step(c[1:] * c[:-1])
        e = step(c.T)
        found = (
            c,
            d.sum(axis=0),
            d.var(),
            (e * 3).sum(axis=1),
            c[::-2, 1:].sum(),
            e[2:].std(axis=0),
        )
        return list(taskarr.compute(*found))

    first = on_ranks(1, fused, False, block=256).value
    for n, keep in product((1, 2, 5), (False, True)):
        found = on_ranks(n, fused, keep, block=256).value
        same = [x.tobytes() == y.tobytes() for x, y in zip(found, first, strict=True)]
        assert all(same), (n, keep, same)


def test_python_results_are_the_same_everywhere():
    def values(world):
        a = taskarr.asarray(data("d"), split=0)
        return [float(a.sum()), float(a.var()), complex(a[3, 4]), str(a), f"{a.mean():.17g}"]

    expected = on_ranks(1, values, block=256).value
    for n in RANKS:
        assert on_ranks(n, values, block=256).value == expected


def test_uneven_chunks_and_files(tmp_path):
    np.save(tmp_path / "x.npy", data("d"))

    def read(world):
        a = taskarr.load(tmp_path / "x.npy", chunks=((1, 10, 3, 9), (17,)))
        found = (a.sum(), a.std(axis=0), (a * a).mean(axis=1), a[a > 0].sum())
        return list(taskarr.compute(*found))

    expected = on_ranks(1, read).value
    for n in RANKS:
        for x, y in zip(on_ranks(n, read).value, expected, strict=True):
            assert x.tobytes() == y.tobytes()


ROWS = 1 << 16
NBYTES = ROWS * 8 * 8

HEAVY = {
    "elementwise": lambda a: taskarr.sqrt(a * a + 1) * 2,
    "reductions": lambda a: a.sum(axis=1) - a.mean(axis=1) * a.std(),
    "neighbours": lambda a: a[1:] + a[:-1],
    "mask": lambda a: a[(a[:, 0] > 0)],
    "columns": lambda a: a.redistribute(split=1),
    "transposed sum": lambda a: a.T + 1,
}


@pytest.mark.parametrize("name", HEAVY)
def test_no_rank_holds_everything(name):
    """Memory of all ranks together stays a small multiple of the data, whatever their number.

    Virtual ranks share one process: what each would gather shows n-fold in its peak.
    """

    def heavy(world):
        a = taskarr.ones((ROWS, 8), split=0) * (
            taskarr.arange(ROWS, dtype="f8", split=0)[:, None] - 9
        )
        found = HEAVY[name](a).persist()
        return found.local.nbytes

    peaks = {}
    for n in (1, 6):
        tracemalloc.start()
        try:
            on_ranks(n, heavy, alike=False, block=1 << 16)
            peaks[n] = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert peaks[6] <= max(peaks[1], 3 * NBYTES) + 6 * (2 << 20), peaks


STRIDED = ("isnan", "isinf", "isfinite", "signbit", "arccos", "exp", "log10", "tan", "sinh", "cbrt")


@pytest.mark.parametrize("dtype", ["e", "f", "d"])
def test_functions_of_columns_and_turned_views(dtype):
    """Neither a brick's width nor a view's strides change a function's values or bits.

    NumPy's own loops differ in the last bits for some strides, and NumPy 2.4.6 gives wrong
    values of ``isnan`` and its like where the output has them.
    """
    x = (np.random.default_rng(3).standard_normal((40, 23)) / 3).astype(dtype)
    x[::7, ::5] = np.nan

    def job(world):
        columns = taskarr.asarray(x, chunks=(40, 1), split=1)
        rows = taskarr.asarray(x, split=0)
        found = {}
        for name in STRIDED:
            f = getattr(taskarr, name)
            found[name] = f(columns)
            found[name, "rows"] = f(rows)
            found[name, "turned"] = f(columns[::-1, ::-1])[::-1, ::-1]
            found[name, "transposed"] = f(rows.T).T
            found[name, "once more"] = f(rows * 1)
            written = taskarr.zeros(x.shape, dtype=found[name].dtype, chunks=(7, 23))
            written[::-1, ::-1] = f(rows[::-1, ::-1])
            found[name, "written"] = written
        return {key: value.numpy() for key, value in found.items()}

    with np.errstate(all="ignore"):
        wanted = {name: getattr(np, name)(x) for name in STRIDED}
    for n in RANKS:
        for key, value in on_ranks(n, job, block=256).value.items():
            name = key if isinstance(key, str) else key[0]
            assert value.tobytes() == wanted[name].tobytes(), (key, n)
