from __future__ import annotations

import uuid
from operator import add

import numpy as np
import pytest

from scheduler.comm import current, run_virtual
from scheduler.dask import get
from scheduler.errors import SPMDError

dask = pytest.importorskip("dask")

SIZES = (1, 2, 3, 5)
LEGACY = {
    "x": 1,
    "y": (add, "x", 10),
    ("z", 0): (sum, ["x", "y", (add, "y", 1)]),
    ("z", 1): (max, ("z", 0), 3),
    "list": ["x", "y"],
    "alias": "y",
}


class Broken(Exception):
    pass


def break_down(*_):
    raise Broken("no")


@pytest.mark.parametrize("size", SIZES)
def test_graphs_of_tuples(size):
    keys = ["y", [("z", 0), ["x"]], "alias", "list", ("z", 1)]
    expected = (11, (24, (1,)), 11, [1, 11], 24)
    results = run_virtual(size, lambda world: get(LEGACY, keys, world=world, num_workers=4))
    assert results == [expected] * size
    assert run_virtual(size, lambda world: get(LEGACY, "y", world=world)) == [11] * size
    assert run_virtual(size, lambda world: get(LEGACY, ("z", 1))) == [24] * size


@pytest.mark.parametrize("size", SIZES)
def test_dask_array(size):
    da = pytest.importorskip("dask.array")

    def main(world):
        x = da.arange(1000, chunks=70).reshape(20, 50)
        y = (x + x.mean(axis=0)).T @ da.ones((20, 3), chunks=(7, 3))
        return dask.compute(y, x.sum(), (x[::2] > 10).any(), scheduler=get)

    x = np.arange(1000).reshape(20, 50)
    for y, total, found in run_virtual(size, main):
        np.testing.assert_allclose(y, (x + x.mean(axis=0)).T @ np.ones((20, 3)))
        assert total == x.sum()
        assert found


@pytest.mark.parametrize("size", SIZES)
def test_unseeded_random_numbers_are_those_of_rank_0(size):
    da = pytest.importorskip("dask.array")

    def main(world):
        x = da.random.default_rng().random((40, 3), chunks=(10, 3))
        return dask.compute(x, x.sum(), scheduler=get)

    first, *others = run_virtual(size, main)
    assert first[0].sum() == pytest.approx(first[1])
    for values, total in others:
        np.testing.assert_array_equal(values, first[0])
        assert total == first[1]


@pytest.mark.parametrize("size", SIZES)
def test_bag_and_delayed(size):
    db = pytest.importorskip("dask.bag")

    def main(world):
        bag = db.from_sequence(range(50), npartitions=7).map(lambda n: n % 5).frequencies()
        total = dask.delayed(sum)([dask.delayed(pow)(i, 2) for i in range(10)])
        counts, value = dask.compute(bag, total, scheduler=get)
        return sorted(counts), value

    assert run_virtual(size, main) == [([(n, 10) for n in range(5)], 285)] * size


def test_the_text_of_keys_does_not_matter():
    def main(world):
        a, b, c = (f"{name}-{uuid.uuid4()}" for name in "abc")
        value = get({c: (add, a, b), b: (add, a, 1), a: (abs, -1)}, c, world=world)
        return value, world.counters["bcast"]

    assert run_virtual(3, main) == [(3, 0)] * 3


def test_different_graphs_are_replaced_by_that_of_rank_0():
    def main(world):
        dsk = {"a": (abs, world.rank + 1), "b": (add, "a", world.rank)}
        if world.rank == 1:
            dsk["b"] = (add, "a", (add, "a", "a"))
        return get(dsk, ["b", "a"], world=world)

    assert run_virtual(3, main) == [(1, 1)] * 3


def test_different_numbers_of_keys_are_a_wrong_program():
    def main(world):
        with pytest.raises(SPMDError, match="1 keys"):
            get({"a": (abs, 1)}, ["a"] * (1 + world.rank), world=world)

    run_virtual(2, main)


@pytest.mark.parametrize("size", SIZES)
def test_errors_come_to_every_rank(size):
    def main(world):
        with pytest.raises(Broken, match="no") as caught:
            get({"a": (break_down,), "b": (add, "a", 1), "c": 3}, ["b", "c"], world=world)
        assert caught.value.__notes__[0] == "in the task 'a' of a Dask graph"
        return get({"a": (abs, -1)}, "a", world=world)

    assert run_virtual(size, main) == [1] * size


def test_mistakes_are_told():
    with pytest.raises(KeyError, match="no key 'b'"):
        get({"a": 1}, "b")
    with pytest.raises(ValueError, match="cycle: a -> b -> a"):
        get({"a": (abs, "b"), "b": (abs, "a")}, "a", world=current())


@pytest.mark.ranks(1, 2, 3)
def test_mpi_ranks(world):
    da = pytest.importorskip("dask.array")
    x = da.random.default_rng().random((60, 5), chunks=(7, 5))
    values, product = dask.compute(x, x.T @ x, scheduler=get)
    np.testing.assert_allclose(product, values.T @ values)
    assert len(set(world.allgather(values.tobytes(), "the values"))) == 1
