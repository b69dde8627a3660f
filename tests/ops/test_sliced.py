"""Arrays read from objects that can be sliced."""

from __future__ import annotations

import numpy as np
import pytest

import taskarr
from tests.layouts import RANKS, on_ranks

X = np.arange(35.0).reshape(7, 5)


class Source:
    """A data set as HDF5 and zarr have them: positive steps only; it counts what is read."""

    def __init__(self, data, fault=False):
        self.data, self.fault, self.read = data, fault, 0
        self.shape, self.dtype = data.shape, data.dtype

    def __getitem__(self, key):
        assert type(key) is tuple
        assert all(s.step >= 1 and 0 <= s.start < s.stop for s in key)
        found = self.data[key]
        self.read += found.size
        return found[:-1] if self.fault else found


def test_slices_are_read_when_needed():
    def job(world):
        source = Source(X)
        b = taskarr.from_array(source, split=0, chunks=(2, 5))[::-2, 1:] * 2
        assert source.read == 0
        values = b.numpy()
        assert source.read == b.local.size
        a = taskarr.from_array(source, split=0, chunks=(2, 5)).persist()
        assert source.read == b.local.size + a.local.size
        a[0] = 5
        return values, a.numpy(), taskarr.from_array(Source(X), split=1).sum(axis=0).numpy()

    for n in RANKS:
        values, a, sums = on_ranks(n, job).value
        np.testing.assert_array_equal(values, X[::-2, 1:] * 2)
        np.testing.assert_array_equal(a[1:], X[1:])
        assert (a[0] == 5).all()
        np.testing.assert_array_equal(sums, X.sum(axis=0))


def test_other_sources(tmp_path):
    path = tmp_path / "x.npy"
    np.save(path, X)

    def job(world):
        mapped = np.load(path, mmap_mode="r")
        found = [
            taskarr.from_array(mapped, split=0),
            taskarr.from_array(Source(np.array(5))),
            taskarr.from_array(Source(np.zeros((0, 3), "i2"))),
            taskarr.from_array(X),
            taskarr.from_array(taskarr.asarray(X), split=1),
        ]
        assert found[4].split == (1,)
        return [a.numpy() for a in found]

    for n in (1, 3):
        mapped, five, none, plain, distributed = on_ranks(n, job).value
        for found in (mapped, plain, distributed):
            np.testing.assert_array_equal(found, X)
        assert five == 5
        assert (none.shape, none.dtype) == ((0, 3), np.dtype("i2"))


def test_sources_of_foreign_byte_order():
    x = X.astype(">f4")
    for n in (1, 3):
        found = on_ranks(n, lambda world: taskarr.from_array(Source(x)).numpy()).value
        np.testing.assert_array_equal(found, x)
        assert found.dtype == x.dtype


def test_wrong_sources():
    for source in ([1, 2], 5, object()):
        with pytest.raises(TypeError, match="shape, dtype"):
            taskarr.from_array(source)
    with pytest.raises(TypeError, match="object"):
        taskarr.from_array(Source(np.array([None])))


def test_errors_while_reading_are_everybodys():
    def job(world):
        a = taskarr.from_array(
            Source(X, fault=world.rank == world.size - 1), split=0, chunks=(2, 5)
        )
        with pytest.raises(ValueError, match="gave shape"):
            a.numpy()
        return taskarr.ones(3).numpy()

    for n in (1, 2, 3):
        on_ranks(n, job)
