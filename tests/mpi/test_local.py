"""Local access, scattering and pickling on real MPI ranks."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest

import taskarr
from scheduler import SPMDError
from tests.device.install import host
from tests.layouts import TINY, quiet

pytestmark = pytest.mark.ranks(1, 2, 3)

X = np.arange(35.0).reshape(7, 5)


@pytest.fixture(autouse=True)
def tiny(world):
    """Blocks of 16 bytes; sent buffers are overwritten."""
    world.state["poison"] = True
    with quiet(), taskarr.settings(**TINY):
        yield
    world.state.pop("poison")


def test_pieces_are_joined(world):
    lengths = (0, 4, 3) if world.size == 3 else (7,) if world.size == 1 else (5, 2)
    ends = np.cumsum((0, *lengths))
    mine = X[ends[world.rank] : ends[world.rank + 1]]
    a = taskarr.from_local(mine)
    np.testing.assert_array_equal(host(a.local).reshape(-1), mine.reshape(-1))
    np.testing.assert_array_equal((a + taskarr.asarray(X, split=1)).numpy(), X * 2)
    assert float(a.sum()) == X.sum()
    if world.size > 1:
        with pytest.raises(TypeError, match="rank 1 float32"):
            taskarr.from_local(np.zeros(3, "f4" if world.rank == 1 else "f8"))
        with pytest.raises(ValueError, match="inhomogeneous"):
            taskarr.from_local([[1], [1, 2]] if world.rank else [[1]])


def test_scatter(world):
    for root in range(world.size):
        a = taskarr.scatter(X if world.rank == root else None, root, split=1)
        np.testing.assert_array_equal(a.numpy(), X)
    with pytest.raises(TypeError, match="object"):
        taskarr.scatter([None] if world.rank == 0 else None)


def test_bricks_are_written(world):
    a = taskarr.asarray(X, split=0)
    with a[1:, ::-1].local_write() as mine:
        mine += world.rank + 1
    owners = a[1:, ::-1].layout.owners(tuple(np.indices((6, 5))))
    wanted = X.copy()
    wanted[1:, ::-1] += owners + 1
    np.testing.assert_array_equal(a.numpy(), wanted)
    with pytest.raises(KeyError, match="mine"), a.local_write() as mine:
        mine[...] = -1
        if world.rank == world.size - 1:
            raise KeyError("mine")
    np.testing.assert_array_equal(a.numpy(), wanted)
    if world.size > 1:
        with pytest.raises(SPMDError, match="local_write"), a.local_write() as mine:
            if world.rank:
                (a * 2).persist()
    np.testing.assert_array_equal(a.numpy(), wanted)


def test_pickles(world):
    a = taskarr.asarray(X, split=0) * 2
    again = pickle.loads(pickle.dumps(a))
    np.testing.assert_array_equal((again[::-1] + a).numpy(), (X * 2)[::-1] + X * 2)
    every = world.allgather(pickle.dumps(a), "test")
    if world.size > 1:
        with pytest.raises(ValueError, match=r"part of a pickled array|can't be loaded"):
            pickle.loads(every[1 - world.rank % 2])
    assert json.dumps(a.sum()) == str(X.sum() * 2)
    assert hash(a.sum()) == hash(X.sum() * 2)


def test_slices_are_read_by_each_rank(world, tmp_path_factory):
    path = world.bcast(str(tmp_path_factory.mktemp("mapped") / "x.npy"), 0, "test")
    if world.rank == 0:
        np.save(path, X)
    world.allgather(None, "test")
    a = taskarr.from_array(np.load(path, mmap_mode="r"), split=0)
    np.testing.assert_array_equal((a[::2, 1:] * 2).numpy(), X[::2, 1:] * 2)
