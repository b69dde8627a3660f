"""The array object: facts, conversions, text, fixed values of zero dimensions."""

from __future__ import annotations

import copy
import math
import operator

import numpy as np
import pytest

import taskarr
from tests.device.install import host
from tests.layouts import LAYOUTS, RANKS, on_ranks, quiet
from tests.oracle import Check, outcome, verify


def numbers(shape=(7, 5), dtype="f8"):
    return np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)


@pytest.mark.parametrize("placing", LAYOUTS, ids=str)
def test_facts(placing):
    x = numbers(placing.shape, "f4")

    def job(world):
        a = placing.place(x)
        assert (a.shape, a.dtype, a.ndim, a.size) == (x.shape, x.dtype, x.ndim, x.size)
        assert (a.itemsize, a.nbytes, len(a)) == (x.itemsize, x.nbytes, len(x))
        assert tuple(map(sum, a.chunks)) == x.shape
        assert a.split is None if placing.split is None else a.split is not None
        before = world.counters.copy()
        assert "taskarr" in repr(a) and "float32" in repr(a) and str(x.shape) in repr(a)
        assert world.counters == before, "repr communicates"
        return a.numpy(), a.compute(), a.to_numpy(), np.asarray(a)

    for n in RANKS:
        for found in on_ranks(n, job).value:
            np.testing.assert_array_equal(found, x)
            assert found.dtype == x.dtype


def test_fetched_arrays_are_the_callers_own():
    def job(world):
        a = taskarr.asarray(numbers(), split=None)
        first = a.numpy()
        first[...] = -1
        second = a.numpy()
        both = taskarr.compute(a, a)
        both[0][...] = 5
        return second, both[1], a.numpy()

    for n in (1, 3):
        for found in on_ranks(n, job).value:
            np.testing.assert_array_equal(found, numbers())


def test_given_arrays_are_copied():
    def job(world):
        x = numbers()
        arrays = [taskarr.asarray(x, split=0), taskarr.asarray(x, split=None), taskarr.asarray(x)]
        x[...] = -1
        return [a.numpy() for a in arrays]

    for n in (1, 3):
        for found in on_ranks(n, job).value:
            np.testing.assert_array_equal(found, numbers())


def test_gather():
    def job(world):
        a = taskarr.asarray(numbers())
        root = world.size - 1
        return [
            a.gather(),
            (a * 2)[1:, ::-1].gather(root=root),
            a[:0].gather(root),
            a.sum().gather(),
        ]

    x = numbers()
    expected = [x, (x * 2)[1:, ::-1], x[:0], x.sum()]
    for n in RANKS:
        found = on_ranks(n, job, alike=False).values
        for k, root in enumerate((0, n - 1, n - 1, 0)):
            for rank in range(n):
                if rank == root:
                    np.testing.assert_array_equal(found[rank][k], expected[k])
                else:
                    assert found[rank][k] is None
    for root in (1, -1, 7):
        with pytest.raises(ValueError, match=str(root)):
            taskarr.ones(3).gather(root)


def test_local_bricks_tile_the_array():
    def job(world, placing):
        a = placing.place(numbers()) + 1
        brick = a.local
        box = a.layout.brick(world.rank)
        if isinstance(brick, np.ndarray):  # devices know no such thing
            with pytest.raises(ValueError, match="read-only"):
                brick[...] = 0
        return host(brick).copy(), box

    for n in RANKS:
        for placing in LAYOUTS[1:5]:
            whole = np.full((7, 5), np.nan)
            for brick, box in on_ranks(n, job, placing, alike=False).values:
                if box is not None:
                    whole[tuple(slice(lo, hi) for lo, hi in box)] = brick
                else:
                    assert brick.size == 0
            np.testing.assert_array_equal(whole, numbers() + 1)


def test_persist_gives_the_array_itself():
    def job(world):
        a = taskarr.asarray(numbers()) * 2
        b = a[1:]
        assert a.persist() is a
        assert b.persist() is b
        before = world.counters["alltoallv"]
        a.persist()
        assert world.counters["alltoallv"] == before
        return a.numpy(), b.numpy()

    for n in RANKS:
        a, b = on_ranks(n, job).value
        np.testing.assert_array_equal(a, numbers() * 2)
        np.testing.assert_array_equal(b, numbers()[1:] * 2)


SCALARS = {
    "float": lambda xp, a: float(a[2, 3]),
    "float of sum": lambda xp, a: float(a.sum()),
    "int": lambda xp, a: int(a[2, 3]),
    "int of fraction": lambda xp, a: int(a[2, 3] / 3),
    "complex": lambda xp, a: complex(a[2, 3]),
    "bool": lambda xp, a: bool(a[2, 3] > 4),
    "bool of one": lambda xp, a: bool(a[:1, :1]),
    "if": lambda xp, a: 1 if a.max() > 3 else 2,
    "and": lambda xp, a: bool(a.min() == 0 and a.max() == 34),
    "not": lambda xp, a: not a.any(),
    "item": lambda xp, a: a[2, 3].item(),
    "item of one": lambda xp, a: a[2:3, 3:4].item(),
    "index": lambda xp, a: operator.index(a.astype("i4")[2, 3]),
    "range": lambda xp, a: list(range(a.astype("i8")[0, 3])),
    "list index": lambda xp, a: [5, 6, 7][(a > 32).sum()],
    "round": lambda xp, a: math.floor(a[2, 3]),
    "sqrt": lambda xp, a: math.sqrt(a[3, 1]),
    "format": lambda xp, a: f"{a.mean():.3f} {a[0, 1]:>8} {a.sum()}",
    "str": lambda xp, a: str(a.mean()),
    "bool as str": lambda xp, a: str(a.any()),
    "length": lambda xp, a: len(a),
    "in": lambda xp, a: 3 in [int(v) for v in a[0]],
    "max of iteration": lambda xp, a: max(float(v) for v in a[1]),
    "tuple": lambda xp, a: tuple(int(v) for v in a[:, 2]),
    "sorted": lambda xp, a: sorted(a[0].numpy() if xp is taskarr else a[0], reverse=True)[0].item(),
}
WRONG = {
    "bool of many": lambda xp, a: bool(a),
    "bool of none": lambda xp, a: bool(a[:0]),
    "if of many": lambda xp, a: 1 if a > 3 else 2,
    "float of many": lambda xp, a: float(a),
    "float of none": lambda xp, a: float(a[:0]),
    "float of one axis": lambda xp, a: float(a[:1, 0]),
    "int of many": lambda xp, a: int(a[0]),
    "int of NaN": lambda xp, a: int(a[0, 0] / 0),
    "int of infinity": lambda xp, a: int(a[0, 1] / 0),
    "complex of many": lambda xp, a: complex(a),
    "item of many": lambda xp, a: a.item(),
    "item of none": lambda xp, a: a[:0].item(),
    "index of float": lambda xp, a: operator.index(a[0, 0]),
    "index of many": lambda xp, a: operator.index(a.astype("i4")),
    "index of one axis": lambda xp, a: operator.index(a.astype("i4")[:1, 0]),
    "len of scalar": lambda xp, a: len(a[0, 0]),
    "len of sum": lambda xp, a: len(a.sum()),
    "iteration of scalar": lambda xp, a: list(a[0, 0]),
    "hash": lambda xp, a: hash(a),
    "format of many": lambda xp, a: f"{a:.3f}",
    "no attribute": lambda xp, a: a.nothing,
    "call": lambda xp, a: a(),
    "matrix product of text": lambda xp, a: a + "text",
}


@pytest.mark.parametrize("placing", LAYOUTS[:5], ids=str)
def test_conversions(placing):
    checks = [Check(name, act, (numbers(),)) for name, act in SCALARS.items()]
    verify(checks, ranks=(1, 2, 3, 7), placings=[placing], flow=placing.split is not None)


def test_wrong_conversions_raise_as_in_numpy():
    checks = [Check(name, act, (numbers(),)) for name, act in WRONG.items()]
    verify(checks, ranks=(1, 3), flow=False)


def test_errors_fetch_nothing():
    def job(world):
        a = taskarr.asarray(numbers((70, 5)))
        before = world.counters.copy()
        for convert in (bool, float, int, complex):
            with pytest.raises((ValueError, TypeError)):
                convert(a * 2)
        assert world.counters == before

    for n in (1, 3):
        on_ranks(n, job)


def test_array_interface():
    def job(world):
        a = taskarr.asarray(numbers())
        assert np.asarray(a, dtype="f4").dtype == np.dtype("f4")
        with pytest.raises(ValueError, match="copy"):
            np.asarray(a, copy=False)
        return np.array(a), np.asarray(a[1:, 0])

    for n in (1, 3):
        whole, part = on_ranks(n, job).value
        np.testing.assert_array_equal(whole, numbers())
        np.testing.assert_array_equal(part, numbers()[1:, 0])


TEXTS = [
    numbers(),
    numbers() / 7,
    numbers((0, 5)),
    np.float64(2.5),
    np.array(3),
    np.array(True),
    numbers(dtype="c16") * 1j,
    numbers((3, 2, 4), "i2"),
    np.array([1e-20, 1, 1e20]),
    np.array([np.nan, -np.inf, 0]),
    np.array(["a", "bcd"]),
    np.array([b"a", b"bcd"]),
    np.array(["2013-01-01", "NaT"], "M8[D]"),
    np.array([(1, 2.5)], [("a", "i1"), ("b", "f8")]),
    numbers((1001,)),
    numbers((1001,)) / 3,
    numbers((50, 60)),
    numbers((7, 200)),
    numbers((200, 7)),
    numbers((2000, 1)),
    numbers((6, 300)),
    numbers((11, 12, 13)),
    numbers((3, 500, 2)),
    numbers((2000,)) % 2 == 0,
    np.where(numbers((2000,)) == 1000, 1e9, 1.5),
    numbers((2000, 0)),
]


def test_text_is_numpys():
    def job(world):
        found = []
        for x in TEXTS:
            a = taskarr.asarray(x)
            found += [str(a), f"{a}", str(a[:2]) if x.ndim else ""]
        with np.printoptions(precision=3, suppress=True, edgeitems=2, threshold=20, linewidth=40):
            found += [str(taskarr.asarray(x)) for x in TEXTS]
        return found

    expected = []
    for x in TEXTS:
        expected += [str(np.asarray(x)), str(x), str(x[:2]) if x.ndim else ""]
    with np.printoptions(precision=3, suppress=True, edgeitems=2, threshold=20, linewidth=40):
        expected += [str(np.asarray(x)) for x in TEXTS]
    for n in (1, 2, 5):
        for found, wanted in zip(on_ranks(n, job).value, expected, strict=True):
            assert found == wanted


def test_text_fetches_the_edges_only():
    def job(world):
        a = taskarr.asarray(numbers((400, 50)), split=0).persist()
        before = world.counters["recv_bytes"] + world.counters["alltoallv_bytes"]
        str(a)
        return world.counters["recv_bytes"] + world.counters["alltoallv_bytes"] - before

    for n in (2, 3):
        for nbytes in on_ranks(n, job, alike=False).values:
            assert nbytes <= 4 * 36 * 8


def test_scalars_of_zero_dimensions_never_change():
    def job(world):
        a = taskarr.asarray(numbers((7,)))
        t = a[0]
        a[0] = a[1]
        a[1] = t
        total = a.sum()
        kept = total
        a[...] = 0
        total += 1
        total *= 2.5
        with pytest.raises(TypeError):
            t[...] = 3
        with pytest.raises(TypeError):
            kept[()] = 3
        return t.numpy(), kept.numpy(), total.numpy(), a.numpy()

    for n in RANKS:
        t, kept, total, a = on_ranks(n, job).value
        assert (t, kept, total) == (0, 21, 55)
        assert not a.any()


def test_arrays_of_zero_dimensions_can_be_written():
    def job(world):
        a = taskarr.zeros((), "i4")
        b = a[...]
        c = a
        a += 3
        b[...] = a * 2
        return a.numpy(), b.numpy(), c.numpy(), a.dtype == np.dtype("i4")

    for n in (1, 3):
        assert on_ranks(n, job).value[:3] == tuple(np.array(6, "i4") for _ in range(3))


def test_unknown_operands():
    class Other:
        def __radd__(self, other):
            return "mine"

    class Friend:
        __array_ufunc__ = None

        def __eq__(self, other):
            return "friend"

    a = taskarr.arange(3)
    assert a + Other() == "mine"
    assert (a == Friend()) == "friend"
    for act in (
        lambda: a + None,
        lambda: a + object(),
        lambda: a - {},
        lambda: a < None,
        lambda: a >= object(),
    ):
        with pytest.raises(TypeError):
            act()


def test_names_of_the_module():
    assert taskarr.rank == 0
    assert taskarr.size == 1

    def job(world):
        return taskarr.rank == world.rank, taskarr.size == world.size

    for n in (1, 3):
        assert on_ranks(n, job).value == (True, True)
    with pytest.raises(AttributeError, match="nothing"):
        taskarr.nothing  # noqa: B018
    assert {"asarray", "sqrt", "sum", "load"} <= set(dir(taskarr))


def test_compute_of_several():
    def job(world):
        a = taskarr.asarray(numbers())
        before = world.counters["allreduce"]
        found = taskarr.compute(a.min(), a.max(), a.mean(axis=0), a + 1, 5, [1, 2])
        runs = world.counters["allreduce"] - before
        a.min().numpy()
        return found, runs

    with quiet():
        x = numbers()
    for n in (1, 3):
        found, _ = on_ranks(n, job).value
        for y, expected in zip(found, (0.0, 34.0, x.mean(axis=0), x + 1, 5, [1, 2]), strict=True):
            np.testing.assert_array_equal(y, expected)
    assert taskarr.compute() == ()


def test_settings_are_checked():
    for values in ({"block": 0}, {"shuffle": "fast"}, {"timeout": -1}, {"log": "loud"}):
        with pytest.raises(ValueError, match="TASKARR_"), taskarr.settings(**values):
            pass
    with pytest.raises(TypeError), taskarr.settings(nothing=1):
        pass


def test_what_any_rank_holds_is_kept():
    """Ranks may let go of an array at different times, as garbage collection does."""

    def job(world):
        a = taskarr.asarray(numbers(), split=0)
        b = a * 2
        c = b + 1
        expr = b._expr
        if world.rank == 0:
            del b
        c.persist()
        total = (c + expr.shape[0]).sum()
        return c.numpy(), expr.held, float(total)

    for n in (1, 2, 3):
        c, kept, total = on_ranks(n, job).value
        np.testing.assert_array_equal(c, numbers() * 2 + 1)
        assert kept is (n > 1)
        assert total == (numbers() * 2 + 8).sum()


def test_what_nobody_holds_is_not_kept():
    def job(world):
        a = taskarr.asarray(numbers(), split=0)
        inner = (a * 2)._expr
        kept = (a * 3).persist()._expr
        ((a * 2) + (a * 3)).persist()
        return inner.held, kept.held

    for n in (1, 3):
        assert on_ranks(n, job).value == (False, True)


def test_long_chains_of_pending_work():
    def job(world):
        a = taskarr.asarray(numbers(), split=0)
        total = a.sum()
        for k in range(300):
            a += 1
            total = total + a[0, 0] * 0 + k
        b = a[1:]
        for _ in range(250):
            b[0] = b[1] + 0
        return a.numpy(), total.numpy()

    expected = numbers() + 300
    expected[1] = expected[2]
    for n in (1, 3):
        a, total = on_ranks(n, job).value
        np.testing.assert_array_equal(a, expected)
        assert total == numbers().sum() + sum(range(300))


def test_loops_send_the_same_at_every_turn():
    def job(world):
        u = taskarr.asarray(numbers((24, 5)), split=0)
        sent = []
        for _ in range(12):
            before = world.counters["send_bytes"] + world.counters["alltoallv_bytes"]
            u[1:-1] = (u[2:] + u[:-2]) / 2
            u.persist()
            sent.append(world.counters["send_bytes"] + world.counters["alltoallv_bytes"] - before)
        return u.numpy(), sent

    x = numbers((24, 5))
    for _ in range(12):
        x[1:-1] = (x[2:] + x[:-2]) / 2
    for n in (2, 3, 5):
        for u, sent in on_ranks(n, job, alike=False).values:
            np.testing.assert_array_equal(u, x)
            assert len(set(sent)) == 1


@pytest.mark.parametrize("n", RANKS)
def test_item_of_an_index(n):
    x = numbers((4, 3))
    keys = ((4,), (1, 2), ((1, 2),), (-1,), (12,), (), (1, 2, 3), ("a",), (-1, -1), (4, 0))

    def job(world):
        a = taskarr.asarray(x, split=0)
        return [outcome(lambda key=key: a.item(*key)) for key in keys] + [a[:1, :1].item()]

    expected = [outcome(lambda key=key: x.item(*key)) for key in keys] + [0.0]
    assert on_ranks(n, job).value == expected


@pytest.mark.parametrize("n", RANKS)
def test_equality_of_what_cannot_be_compared(n):
    x, dates, texts = (
        numbers((4,)),
        np.arange(4).astype("M8[D]"),
        np.array([b"a", b"b", b"c", b"d"]),
    )
    pairs = [
        (x, "a"),
        (x, np.datetime64("2020")),
        (dates, np.timedelta64(1, "D")),
        (texts, 1),
        (x, None),
        (x, np.array(["a"] * 4)),
    ]

    def job(world):
        found = []
        for data, other in pairs:
            a = taskarr.asarray(data, split=0)
            found += [(a == other).numpy(), (a != other).numpy()]
        return found

    expected = [y for data, other in pairs for y in (data == other, data != other)]
    for got, want in zip(on_ranks(n, job).value, expected, strict=True):
        assert got.dtype == bool
        np.testing.assert_array_equal(got, want)


def test_what_comes_later_names_the_way_out():
    a = taskarr.asarray(numbers(), split=0)
    for act in (lambda: a @ a,):
        with pytest.raises(NotImplementedError, match=r"numpy\(\)"):
            act()
    for wrong in (
        lambda: a.max(0, np.empty(5)),
        lambda: a.std(correction=1),
        lambda: a.sum(0, bogus=1),
        lambda: a.sum(0, axis=1),
        lambda: a.any(1, 2, 3, 4, 5),
    ):
        with pytest.raises(TypeError):
            wrong()
    for root in ("a", True, 1.5):
        with pytest.raises(TypeError, match="is not a rank"):
            a.gather(root)


def test_arguments_in_numpys_order():
    x = numbers()
    a = taskarr.asarray(x, split=0)
    assert a.sum(0, "f4").dtype == np.sum(a, 0, "f4").dtype == np.float32
    assert float(a.std(None, None, None, 1)) == float(np.std(a, correction=1)) == x.std(ddof=1)
    assert a.max(0, None, True).shape == (1, 5)
    assert [float(v) for v in divmod(a[1, 1], 4)] == list(divmod(x[1, 1], 4))
    assert round(a[1, 1] + 0.26, 1) == round(x[1, 1] + 0.26, 1)
    twin = copy.deepcopy(a)
    twin += 1
    np.testing.assert_array_equal(a.numpy(), x)
    np.testing.assert_array_equal(copy.copy(twin).numpy(), x + 1)
