"""Gathering and scattering rows by distributed indices, against NumPy."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import scheduler
import taskarr
from taskarr.api import Array
from taskarr.arrays import node_of
from taskarr.evaluate import run
from taskarr.geometry.rows import following, is_in_order, rows_of
from taskarr.ops.gather import checked_index, gather, scatter, take_rows
from taskarr.plan import route, spread
from taskarr.plan.company import Company
from tests.layouts import CUT, LAYOUTS, RANKS, TINY, Placing, on_ranks
from tests.oracle import Check, verify

ROW = Placing("rows", split=0)
KINDS = ("each", "one", "scalar")


@pytest.fixture
def narrow(monkeypatch):
    """Buffers of a few rows: many rounds, and rows that are placed as they come."""
    monkeypatch.setattr(Company, "buffer", 48)
    monkeypatch.setattr(Company, "piece", 16)


def checked(x: Array, indices: tuple) -> list:
    return [
        checked_index(node_of(i), n, axis)
        for axis, (i, n) in enumerate(zip(indices, x.shape, strict=False))
    ]


def read(x, *indices):
    """Rows at indices."""
    if isinstance(x, np.ndarray):
        return x[indices]
    return Array._of(gather(node_of(x), checked(x, indices)))


def written(x, values, *indices, function=None):
    """A copy with rows written."""
    if isinstance(x, np.ndarray):
        x = x.copy()
        if function is None:
            x[indices] = values
        elif values is None:
            function.at(x, indices)
        else:
            function.at(x, indices, values)
        return x
    nodes = checked(x, indices)
    values = None if values is None else node_of(taskarr.asarray(values))
    return Array._of(scatter(node_of(x), nodes, values, function))


def reading(x, indices, other=ROW):
    """Check of a read whose index is placed otherwise than the array."""

    def act(xp, a, *fixed):
        places = fixed if xp is np else [other.place(i) for i in fixed]
        return read(a, *places)

    return Check(f"{x.shape}{[i.shape for i in indices]} by {other}", act, (x,), True, indices)


def writing(x, values, indices, others=(ROW, ROW), function=None):
    """Check of a write whose index and values are placed otherwise than the array."""

    def act(xp, a, v, *fixed):
        if xp is not np:
            fixed = [others[0].place(i) for i in fixed]
            v = None if v is None else others[1].place(np.asarray(v))
        return written(a, v, *fixed, function=function)

    name = function and function.__name__
    label = f"{name} {x.shape}{[i.shape for i in indices]} {np.shape(values)} by {others}"
    return Check(label, act, (x,), True, (values, *indices))


SHAPES = (
    ((7, 5), (9,), 1),
    ((7, 5), (4, 3), 2),
    ((11,), (13,), 1),
    ((3, 4, 2), (2, 3), 2),
    ((7, 5), (), 1),
    ((7, 5), (0,), 1),
    ((7, 0), (3,), 1),
)


def case(number: int, shape, index, leading):
    """Array and indices, negative ones and doubles among them."""
    rng = np.random.default_rng(number)
    x = rng.permutation(int(np.prod(shape))).reshape(shape) / 3
    return x, tuple(rng.integers(-n, n, index) for n in shape[:leading])


def values_of(kind: str, x: np.ndarray, indices: tuple) -> np.ndarray:
    rest = x.shape[len(indices) :]
    shape = {"each": (*indices[0].shape, *rest), "one": rest, "scalar": ()}[kind]
    return np.random.default_rng(5).random(shape)


@pytest.mark.parametrize("shuffle", ["auto", "pairwise"])
def test_reads_in_all_layouts(shuffle, monkeypatch):
    pairs = []
    for number, (shape, other) in enumerate(itertools.product(SHAPES, LAYOUTS[:5])):
        x, indices = case(number, *shape)
        placings = LAYOUTS[number % 3 : 5 : 3] if shuffle == "auto" else CUT[:1]
        pairs += [(reading(x, indices, other), p) for p in placings]
    monkeypatch.setitem(TINY, "shuffle", shuffle)
    verify(pairs)


@pytest.mark.parametrize("function", [None, np.add, np.subtract])
def test_writes_in_all_layouts(function):
    pairs = []
    spread = itertools.product(SHAPES, KINDS, LAYOUTS[:5], LAYOUTS[:5])
    for number, (shape, kind, place, other) in enumerate(spread):
        if number % 9 == (0 if function is None else 1 if function is np.add else 4):
            x, indices = case(number, *shape)
            others = (other, LAYOUTS[number % 5])
            check = writing(x, values_of(kind, x, indices), indices, others, function)
            pairs.append((check, place))
    verify(pairs, ranks=(1, 2, 5))


def test_reads_and_writes_in_many_rounds(narrow):
    pairs = []
    for number, shape in enumerate(SHAPES[:4]):
        x, indices = case(number, *shape)
        v = values_of("each", x, indices)
        checks = [reading(x, indices)]
        checks += [writing(x, v, indices, (ROW, ROW), f) for f in (None, np.add, np.multiply)]
        pairs += [(check, placing) for check in checks for placing in CUT[:2]]
    verify(pairs)


@pytest.mark.parametrize("target", [0, 3, 6])
def test_all_for_one_row_in_many_rounds(narrow, target):
    x = np.arange(7.0)
    index = np.full(40, target)
    v = np.random.default_rng(2).random(40)
    checks = [reading(x, (index,))]
    checks += [writing(x, v, (index,), (ROW, ROW), f) for f in (None, np.add, np.subtract)]
    verify([(check, ROW) for check in checks])


@pytest.mark.parametrize(
    "dtype", ["?", "u1", "f2", "c16", "M8[s]", "U3", "S5", [("a", "i1"), ("b", "f8")], "V3", "g"]
)
def test_rows_of_any_dtype(dtype):
    x = np.arange(35).astype("i1").astype(dtype if dtype not in ("V3",) else "S3").reshape(7, 5)
    x = x.view("V3") if dtype == "V3" else x
    index = np.array([6, 0, 0, -1, 3, 5, 5, 2, 1])
    v = x[index[::-1]]
    checks = [reading(x, (index,)), reading(x[:, 0], (index,)), writing(x, v, (index,))]
    if dtype == "V3":
        checks = checks[:2]
    verify([(check, ROW) for check in checks], ranks=(1, 3))


def test_the_last_of_several_stays_and_sums_are_in_order():
    rng = np.random.default_rng(7)
    index = rng.integers(0, 3, 200)
    v = rng.random(200) * 10.0 ** rng.integers(-8, 8, 200)
    x = np.zeros(5, "f4")
    checks = [
        writing(x, v.astype("f4"), (index,)),
        writing(x, v, (index,), (ROW, ROW), np.add),
        writing(x, v, (index,), (CUT[3], ROW), np.add),
        writing(x, v.reshape(20, 10), (index.reshape(20, 10),), (CUT[1], CUT[2]), np.add),
        writing(x.astype("i4"), v, (index,), (ROW, ROW), np.maximum),
        writing(x, None, (index,), (ROW, ROW), np.negative),
    ]
    verify([(check, ROW) for check in checks])


@given(st.data())
@settings(max_examples=40, deadline=None)
def test_any_rows(data):
    rank, leading = data.draw(st.sampled_from([(1, 1), (2, 1), (2, 2), (3, 2)]))
    shape = tuple(data.draw(st.lists(st.integers(1, 9), min_size=rank, max_size=rank)))
    index = tuple(data.draw(st.lists(st.integers(0, 12), min_size=1, max_size=2)))
    x, indices = case(data.draw(st.integers(0, 99)), shape, index, leading)
    other, place = (data.draw(st.sampled_from(LAYOUTS[:5])) for _ in range(2))
    v = values_of(data.draw(st.sampled_from(KINDS)), x, indices)
    checks = [reading(x, indices, other), writing(x, v, indices, (other, place))]
    pairs = [(check, place) for check in checks]
    verify(pairs, ranks=(data.draw(st.sampled_from(RANKS)),), flow=False)


class TestCost:
    X = np.arange(70.0).reshape(14, 5)
    INDEX = np.random.default_rng(3).integers(0, 14, 60)

    def nodes(self, split, index):
        x = node_of(taskarr.asarray(self.X, split=split))
        i = node_of(taskarr.asarray(self.INDEX, split=index))
        run([x, i], "test")
        return x, i

    @staticmethod
    def shuffles(n, act):
        def job(world):
            node = act()
            before = world.stages, world.counters["sends"], world.counters["alltoallv"]
            run([node], "test")
            after = world.stages, world.counters["sends"], world.counters["alltoallv"]
            return tuple(b - a for a, b in zip(before, after, strict=True))

        return on_ranks(n, job).value

    def test_a_distributed_index_takes_two_shuffles(self):
        assert self.shuffles(3, lambda: take_rows(*self.nodes(0, 0))) == (2, 0, 2)

    def test_a_known_index_takes_one(self):
        assert self.shuffles(3, lambda: take_rows(*self.nodes(0, None))) == (1, 0, 1)

    @pytest.mark.parametrize("split", [1, None])
    def test_whole_rows_or_columns_take_none(self, split):
        assert self.shuffles(3, lambda: take_rows(*self.nodes(split, None))) == (0, 0, 0)

    def test_one_rank_takes_none(self):
        assert self.shuffles(1, lambda: take_rows(*self.nodes(0, 0))) == (0, 0, 0)

    def test_a_write_takes_one(self):
        def act():
            x, i = self.nodes(0, 0)
            layout = following(i.layout, (5,), 8)
            v = node_of(taskarr.asarray(np.zeros((60, 5)), split=0, chunks=layout.chunks))
            run([v], "test")
            return scatter(x, [i], v)

        assert self.shuffles(3, act) == (1, 0, 1)

    def test_a_write_that_all_ranks_know_takes_none(self):
        def act():
            x, i = self.nodes(0, None)
            return scatter(x, [i], node_of(taskarr.asarray(np.zeros(5), split=None)))

        assert self.shuffles(3, act) == (0, 0, 0)

    @pytest.mark.parametrize("n", [2, 3])
    def test_a_row_travels_once_to_a_rank(self, n):
        def job(world):
            x = node_of(taskarr.asarray(self.X, split=0))
            i = node_of(taskarr.asarray(np.tile(np.arange(14), 50), split=0))
            node = take_rows(x, i)
            run([x, i], "test")
            before = world.counters["alltoallv_bytes"]
            run([node], "test")
            start, stop = rows_of(x.layout, 1).owned(world.rank)
            lo, hi = i.layout.brick(world.rank)[0]
            wanted = set(np.tile(np.arange(14), 50)[lo:hi]) - set(range(start, stop))
            return world.counters["alltoallv_bytes"] - before, len(wanted)

        ran = on_ranks(n, job, alike=False).values
        assert sum(b for b, _ in ran) == sum(rows for _, rows in ran) * (40 + 8)
        assert sum(rows for _, rows in ran) > 0

    def test_the_result_follows_the_index(self):
        def job(world):
            x, i = self.nodes(0, 0)
            node = take_rows(x, i)
            assert node.layout.axes[0].key == i.layout.axes[0].key
            return node.shape

        assert on_ranks(3, job).value == (60, 5)

    def test_grids_do_not_depend_on_the_ranks(self):
        def job(world):
            found = []
            for split, index in itertools.product((0, 1, (0, 1), None), (0, None)):
                x, i = self.nodes(split, index)
                found.append(take_rows(x, i).layout.chunks)
            return found

        first, *others = [on_ranks(n, job).value for n in RANKS]
        assert all(other == first for other in others)


class TestErrors:
    @pytest.mark.parametrize(
        ("index", "text"),
        [
            ([0, 7, 1], "index 7 is out of bounds for axis 0 with size 5"),
            ([0, -6, 1], "index -6 is out of bounds for axis 0 with size 5"),
        ],
    )
    def test_indices_out_of_range_raise_on_all_ranks(self, index, text):
        def job(world):
            with pytest.raises(IndexError, match=text):
                checked_index(node_of(taskarr.asarray(index, split=0)), 5, 0)
            return True

        assert all(on_ranks(3, job).values)

    def test_nothing_is_in_range_of_nothing(self):
        checked = on_ranks(
            2, lambda w: checked_index(node_of(taskarr.zeros(0, dtype=int)), 0, 0).shape
        )
        assert checked.value == (0,)

    @pytest.mark.parametrize("act", ["gather", "known", "scatter"])
    @pytest.mark.parametrize("failing", [0, 1, 2])
    def test_a_rank_that_fails_fails_all(self, monkeypatch, act, failing):
        def job(world):
            x = node_of(taskarr.asarray(np.arange(20.0), split=0))
            i = node_of(taskarr.asarray(np.arange(20)[::-1], split=None if act == "known" else 0))
            run([x, i], "test")
            node = scatter(x, [i], x) if act == "scatter" else gather(x, [i])
            with pytest.raises(MemoryError):
                run([node], "test")
            return x.value is not None and not node.held

        for module, name in ((route, "Gathering"), (spread, "Scattering")):
            real = getattr(module, name)

            def made(*args, real=real):
                if scheduler.current().rank == failing:
                    raise MemoryError("no room")
                return real(*args)

            monkeypatch.setattr(module, name, made)
        assert all(on_ranks(3, job).values)


def test_rows_in_order_of_ranks_are_known():
    def job(world):
        x = node_of(taskarr.asarray(np.zeros((8, 4)), split=0))
        return [
            is_in_order(x.layout),
            is_in_order(node_of(taskarr.asarray(np.zeros((8, 4)), split=1)).layout),
            is_in_order(node_of(taskarr.asarray(np.zeros((8, 4)), split=None)).layout),
            is_in_order(node_of(taskarr.asarray(np.zeros((8, 4)), split=0)[::-1]).layout),
        ]

    assert on_ranks(3, job).value == [True, False, False, False]


def test_an_index_is_checked_once_until_it_is_written():
    x = np.arange(40.0).reshape(10, 4)

    def job(world):
        a, index = ROW.place(x).persist(), ROW.place(np.array([9, 0, 3, 3, 7])).persist()
        messages = []
        for _ in range(3):
            before = world.counters["sends"] + world.counters["recvs"]
            found = a[index]
            messages.append(world.counters["sends"] + world.counters["recvs"] - before)
            np.testing.assert_array_equal(found.numpy(), x[[9, 0, 3, 3, 7]])
        assert messages[0] > 0 == messages[1] == messages[2]
        with pytest.raises(IndexError, match="index 9 is out of bounds for axis 0 with size 4"):
            a.T[index]
        index[1] = -2
        np.testing.assert_array_equal(a[index].numpy(), x[[9, -2, 3, 3, 7]])
        index[1] = 10
        with pytest.raises(IndexError, match="index 10 is out of bounds for axis 0 with size 10"):
            a[index]

    on_ranks(3, job)
