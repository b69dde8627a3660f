"""Pickling: this rank's brick and the layout, loaded by as many ranks; and copies."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import taskarr
from scheduler import run_virtual
from tests.device.install import held_here
from tests.layouts import LAYOUTS, RANKS, on_ranks

X = np.arange(35.0).reshape(7, 5)

(OTHER, *_) = held_here(("S3", "f4"))


@pytest.mark.parametrize("placing", LAYOUTS, ids=str)
@pytest.mark.parametrize("protocol", [2, 5])
def test_arrays_come_back(placing, protocol):
    x = np.arange(np.prod(placing.shape, dtype=int)).reshape(placing.shape)

    def job(world):
        a = placing.place(x)
        found = []
        for array in (a, a * 2, a[::-1, 1:], a.sum(), a.astype(OTHER)):
            data = pickle.dumps(array, protocol)
            assert len(data) < 2000 + array.nbytes
            again = pickle.loads(data)
            assert again.layout == array.layout
            assert hash(again.layout) == hash(array.layout)
            assert type(again) is taskarr.Array
            found += [array.numpy(), (again + again if again.dtype.kind != "S" else again).numpy()]
        return found

    for n in RANKS:
        found = on_ranks(n, job).value
        for one, twice in zip(found[::2], found[1::2], strict=True):
            np.testing.assert_array_equal(twice, one + one if one.dtype.kind != "S" else one)


def test_pickles_hold_this_ranks_part():
    def job(world):
        a = taskarr.arange(70_000.0, split=0)
        return len(pickle.dumps(a))

    sizes = on_ranks(7, job, alike=False, block=800).values
    assert max(sizes) < 700_00 * 8 / 7 + 30_000


def test_what_is_loaded_is_an_array_of_its_own():
    def job(world):
        a = taskarr.asarray(X, split=0)
        part = a[1:]
        again, other = pickle.loads(pickle.dumps((part, part)))
        again[...] = -1
        assert again is other
        data = pickle.dumps(a.sum())
        assert pickle.loads(data) == 595
        with pytest.raises(TypeError):
            pickle.loads(data)[...] = 3
        return a.numpy(), again.numpy()

    for n in (1, 3):
        a, again = on_ranks(n, job).value
        np.testing.assert_array_equal(a, X)
        assert (again == -1).all()


def test_the_order_of_the_axes_comes_back():
    def job(world):
        a = taskarr.asarray(X, split=0)
        found = pickle.loads(pickle.dumps(a.T))
        assert found.strides == a.T.copy("K").strides
        found.T.reshape(-1)[:] = 0
        return found.numpy()

    for n in (1, 3):
        assert not on_ranks(n, job).value.any()


def test_generators_come_back():
    def job(world):
        rng = taskarr.random.default_rng(3)
        rng.normal(size=3)
        again = pickle.loads(pickle.dumps(rng))
        return rng.normal(size=5).numpy(), again.normal(size=5).numpy()

    first, second = on_ranks(3, job).value
    assert first.tolist() == second.tolist()


def test_other_ranks_are_refused():
    def dump(world):
        return pickle.dumps(taskarr.asarray(X, split=0))

    def load(world):
        with pytest.raises(ValueError, match="pickled by 3 ranks can't be loaded by 2"):
            pickle.loads(data[0])

    def swapped(world):
        with pytest.raises(ValueError, match="rank 1's part"):
            pickle.loads(data[1 if world.rank == 0 else 1 - world.rank % 2])

    data = on_ranks(3, dump, alike=False).values
    run_virtual(2, load)
    run_virtual(3, lambda world: None if world.rank == 1 else swapped(world))


def test_a_pickle_from_another_process_is_equal():
    """Hashes of bytes differ between processes, so that no layout may carry its own."""
    layout = taskarr.asarray(X, split=0).layout
    hash(layout)
    again = pickle.loads(pickle.dumps(layout))
    assert "_hash" not in vars(again)
    assert again == layout


def test_copies():
    def job(world):
        a = taskarr.asarray(X, split=0)
        b, (c,) = copy.copy(a), copy.deepcopy([a])
        a[...] = 0
        return b.numpy(), c.numpy()

    for n in (1, 3):
        for found in on_ranks(n, job).value:
            np.testing.assert_array_equal(found, X)
