"""Local access: arrays of pieces, arrays of one rank, writing bricks, indices and owners."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import taskarr
from scheduler import SPMDError
from taskarr.runtime import runtime
from tests.device import strict
from tests.device.install import STRICT, host
from tests.layouts import LAYOUTS, MESSAGES, RANKS, on_ranks, uneven

X = np.arange(35.0).reshape(7, 5)


def pieces(n, axis=0, x=X):
    """The array in ``n`` pieces of different lengths, some of them zero."""
    ends = np.cumsum([0, *uneven(x.shape[axis]), *[0] * n])[: n + 1]
    ends[-1] = x.shape[axis]
    return [x.take(range(lo, hi), axis) for lo, hi in pairwise(ends)]


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_pieces_are_joined(axis):
    def job(world):
        mine = pieces(world.size, axis)[world.rank]
        a = taskarr.from_local(mine, split=axis)
        kept = mine.copy()
        mine[...] = -1
        before = [world.counters[name] for name in MESSAGES]
        np.testing.assert_array_equal(host(a.local).reshape(-1), kept.reshape(-1))
        again = taskarr.from_local(a.local.reshape(kept.shape), split=axis)
        assert again.layout == a.layout
        assert [world.counters[name] for name in MESSAGES] == before
        assert a.split == (axis % 2,)
        c = a + taskarr.asarray(X, split=1)
        return (
            a.numpy(),
            (a * 2)[::-1, 1:].numpy(),
            c.numpy(),
            a.sum().numpy(),
            a.T.mean(axis=0).numpy(),
        )

    for n in RANKS:
        a, b, c, total, mean = on_ranks(n, job).value
        np.testing.assert_array_equal(a, X)
        np.testing.assert_array_equal(b, (X * 2)[::-1, 1:])
        np.testing.assert_array_equal(c, X * 2)
        assert total == X.sum()
        np.testing.assert_allclose(mean, X.mean(axis=1))


def test_pieces_on_a_device_stay_there():
    def job(world):
        with taskarr.settings(device=STRICT.name):  # this rank's device
            taskarr.zeros(3).persist()
        mine = pieces(world.size, 0)[world.rank]
        other = strict.asarray(mine, blocking=True)
        there = taskarr.from_local(other)
        other[...] = -1
        strict.cuda.Device(0).use()
        far = strict.asarray(mine, blocking=True)
        strict.cuda.Device(runtime(world).backend_on(STRICT.name).number).use()
        moved = taskarr.from_local(far)
        assert there.device == moved.device == STRICT.name
        assert isinstance(there.local, strict.ndarray)
        if world.size > 1:
            with pytest.raises(TypeError, match="rank 1 on 'strict'"):
                taskarr.from_local(other if world.rank else mine)
        return (there * 2).numpy(), (there - moved).numpy()

    for n in (1, 2, 5):
        doubled, nothing = on_ranks(n, job, device="cpu").value
        np.testing.assert_array_equal(doubled, X * 2)
        assert not nothing.any()


def test_pieces_of_other_libraries_on_a_device_name_a_way_out():
    class Tensor:
        __cuda_array_interface__ = None

    with pytest.raises(TypeError, match=r"Tensor.*cupy\.asarray"):
        taskarr.from_local(Tensor())


def test_pieces_of_other_kinds():
    def job(world):
        rank = world.rank
        found = [
            taskarr.from_local(np.full(rank % 2, rank)),
            taskarr.from_local(np.zeros((0, 3), "i2")),
            taskarr.from_local(X.T[::-2]),
        ]
        assert all(
            sum(lengths) == n for lengths, n in zip(found[2].chunks, found[2].shape, strict=True)
        )
        return [a.numpy() for a in found]

    for n in RANKS:
        first, none, strided = on_ranks(n, job).value
        assert first.tolist() == [rank for rank in range(n) if rank % 2]
        assert (none.shape, none.dtype) == ((0, 3), np.dtype("i2"))
        np.testing.assert_array_equal(strided, np.concatenate([X.T[::-2]] * n))


def test_pieces_of_text_and_records():
    def job(world):
        texts = taskarr.from_local(np.array(["a", "bc"]))
        records = taskarr.from_local(np.array([(world.rank, 2.5)], [("a", "i1"), ("b", "f8")]))
        return texts.numpy(), records.numpy()

    for n in RANKS:
        texts, records = on_ranks(n, job).value
        assert texts.tolist() == ["a", "bc"] * n
        assert records["a"].tolist() == list(range(n))


def test_long_pieces_have_blocks():
    def job(world):
        a = taskarr.from_local(np.ones((10 + world.rank, 2)), split=0)
        assert max(a.chunks[0]) == 3
        return a.chunks

    assert on_ranks(2, job, block=48).value[0] == (3, 3, 3, 1, 3, 3, 3, 2)


WRONG_PIECES = {
    "dtype": (lambda rank: np.zeros(3, "f4" if rank == 1 else "f8"), TypeError, "rank 1 float32"),
    "axes": (lambda rank: np.zeros((3,) * (1 + (rank == 1))), ValueError, r"rank 1 \(3, 3\)"),
    "trailing": (lambda rank: np.zeros((3, 4 + rank)), ValueError, r"rank 1 \(3, 5\)"),
    "no axes": (lambda rank: np.float64(3), ValueError, "no axes"),
    "objects": (lambda rank: [None] if rank == 1 else [1.0], TypeError, "object"),
    "ragged": (lambda rank: [[1], [1, 2]] if rank == 1 else [[1]], ValueError, "inhomogeneous"),
    "distributed": (lambda rank: taskarr.ones(3), TypeError, r"a\.local"),
}


@pytest.mark.parametrize("fault", WRONG_PIECES)
def test_pieces_that_do_not_fit_are_refused_on_all_ranks(fault):
    make, kind, text = WRONG_PIECES[fault]

    def job(world):
        with pytest.raises(kind, match=text):
            taskarr.from_local(make(world.rank))
        with pytest.raises(ValueError, match="out of bounds"):
            taskarr.from_local([1], split=1)
        return taskarr.from_local([1]).sum().numpy()

    for n in (2, 3):
        assert on_ranks(n, job).value == n


def test_scatter():
    def job(world):
        root = world.size - 1
        x = X.copy() if world.rank == root else None
        found = [taskarr.scatter(x, root), taskarr.scatter(x, root=root, split=1, chunks=2)]
        found += [
            taskarr.scatter(5 if world.rank == 0 else "other"),
            taskarr.scatter(x, root, split=None),
        ]
        if world.rank == root:
            x[...] = -1
        assert found[1].chunks == ((2, 2, 2, 1), (2, 2, 1))
        assert found[1].split == (1,)
        assert found[3].split is None
        return [a.numpy() for a in found]

    for n in RANKS:
        a, b, five, c = on_ranks(n, job).value
        for found in (a, b, c):
            np.testing.assert_array_equal(found, X)
        assert five == 5


def test_scatter_sends_each_its_own():
    def job(world):
        x = np.arange(7000.0) if world.rank == 0 else None
        before = world.counters["send_bytes"] + world.counters["alltoallv_bytes"]
        taskarr.scatter(x)
        return world.counters["send_bytes"] + world.counters["alltoallv_bytes"] - before

    sent = on_ranks(7, job, alike=False, block=800).values
    assert 48_000 * 0.9 <= sent[0] <= 48_000 * 1.1
    assert max(sent[1:]) < 1000


def test_errors_of_the_root_are_everybodys():
    def job(world):
        for x, kind in (([None], TypeError), ([[1], [1, 2]], ValueError)):
            with pytest.raises(kind):
                taskarr.scatter(x if world.rank == 0 else None)
        with pytest.raises(TypeError, match="rank 0, the root, must pass an array"):
            taskarr.scatter(None)
        for root, kind in ((-1, ValueError), (7, ValueError), ("a", TypeError), (True, TypeError)):
            with pytest.raises(kind, match="is not a rank"):
                taskarr.scatter([1], root)
        if world.size > 1:
            with pytest.raises(SPMDError, match="scatter"):
                taskarr.scatter([1], world.rank)

    for n in (1, 3):
        on_ranks(n, job)


@pytest.mark.parametrize("placing", LAYOUTS, ids=str)
def test_bricks_are_written(placing):
    x = np.arange(np.prod(placing.shape, dtype=int)).reshape(placing.shape)

    def job(world):
        a = placing.place(x)
        part = a[1:, ::-2]
        before = a + 0
        with part.local_write() as mine:
            box = part.layout.brick(world.rank)
            if box is not None:
                where = np.indices(mine.shape) + np.array([lo for lo, _ in box])[:, None, None]
                assert (host(mine) == x[1:, ::-2][tuple(where)]).all()
                mine += 100
            assert part.numpy().max(initial=0) < 100, "nothing changes inside"
        assert not isinstance(mine, np.ndarray) or not mine.flags.writeable
        with a.local_write() as mine:
            mine *= 2
        return a.numpy(), before.numpy()

    for n in RANKS:
        a, before = on_ranks(n, job).value
        wanted = x.copy()
        wanted[1:, ::-2] += 100
        np.testing.assert_array_equal(a, wanted * 2)
        np.testing.assert_array_equal(before, x)


def test_views_of_other_kinds_are_written():
    def job(world):
        a = taskarr.asarray(X, split=0)
        with a.reshape(35)[::2].local_write() as mine:
            mine[...] = -1
        b = taskarr.asarray(X + 1j, split=0)
        with b.T.imag.local_write() as mine:
            mine[...] = 5
        return a.numpy(), b.numpy()

    wanted = X.copy()
    wanted.reshape(35)[::2] = -1
    for n in RANKS:
        a, b = on_ranks(n, job).value
        np.testing.assert_array_equal(a, wanted)
        np.testing.assert_array_equal(b, X + 5j)


def test_an_error_on_one_rank_writes_nothing():
    def job(world):
        a = taskarr.asarray(X, split=0)
        with pytest.raises(KeyError, match="mine"), a.local_write() as mine:
            mine[...] = -1
            if world.rank == world.size - 1:
                raise KeyError("mine")
        return a.numpy()

    for n in RANKS:
        np.testing.assert_array_equal(on_ranks(n, job).value, X)


def test_a_rank_that_does_not_write_with_the_others():
    def job(world):
        a = taskarr.asarray(X, split=0)
        with pytest.raises(SPMDError, match="local_write"), a.local_write() as mine:
            mine[...] = -1
            if world.rank:
                (a * 2).persist()
        return a.numpy()

    np.testing.assert_array_equal(on_ranks(3, job).value, X)


def test_what_cannot_be_written():
    def job(world):
        a = taskarr.asarray(X)
        with pytest.raises(TypeError, match="assignment"):
            a.sum().local_write()
        with pytest.raises(ValueError, match="read-only"):
            taskarr.broadcast_to(a, (2, 7, 5)).local_write()
        with pytest.raises(RuntimeError, match="while local_write"), a[1:].local_write() as mine:
            a[0] += 0
            mine[:] = 1
        b = taskarr.asarray(X, split=None)
        if world.size > 1:
            with pytest.raises(SPMDError, match="rank 1 wrote"), b.local_write() as mine:
                mine[0] = world.rank
        return a.numpy(), b.numpy()

    for n in (1, 3):
        for found in on_ranks(n, job).value:
            np.testing.assert_array_equal(found, X)


@pytest.mark.parametrize("placing", LAYOUTS[:6], ids=str)
def test_indices_and_owners(placing):
    x = np.arange(np.prod(placing.shape)).reshape(placing.shape)

    def job(world):
        a = placing.place(x)[::-1, 1:]
        brick = host(a.local)
        before = world.counters.copy()
        mine = {}
        for i in np.ndindex(a.shape):
            at = a.local_index(i)
            assert at == a.local_index(tuple(k - n for k, n in zip(i, a.shape, strict=True)))
            if at is not None:
                mine[i] = int(brick[at])
        owners = a.layout.owners(tuple(np.indices(a.shape)))
        rows = [a.local_index(i) for i in range(len(a))]
        assert world.counters == before
        return mine, owners, rows

    shown = x[::-1, 1:]
    for n in RANKS:
        found = on_ranks(n, job, alike=False).values
        owners = found[0][1]
        assert (owners.shape, owners.dtype) == (shown.shape, np.dtype("i8"))
        for rank, (mine, _, rows) in enumerate(found):
            for i, value in mine.items():
                assert value == shown[i]
                assert owners[i] == (0 if placing.split is None else rank)
            assert {i for i, _ in mine} == {i for i, at in enumerate(rows) if at is not None}
        seen = [i for mine, _, _ in found for i in mine]
        assert len(seen) == shown.size * (n if placing.split is None else 1)


def test_owners_of_rows():
    def job(world):
        a = taskarr.asarray(X, split=0)
        owners = a.layout.owners(np.array([[0, 6], [-1, -7]]))
        assert owners.shape == (2, 2)
        assert a.layout.owners(6) == world.size - 1
        return owners

    for n in (2, 3, 7):
        np.testing.assert_array_equal(on_ranks(n, job).value, [[0, n - 1], [n - 1, 0]])


def test_wrong_indices():
    def job(world):
        a = taskarr.asarray(X, split=(0, 1))
        for index in (7, -8, (0, 5), (0, 1, 2), 1.5, "a", None, (0, [1.0])):
            with pytest.raises(IndexError):
                a.local_index(index)
            with pytest.raises(IndexError):
                a.layout.owners(index)
        if world.size > 1:
            with pytest.raises(IndexError, match="cut among ranks"):
                taskarr.asarray(X, split=1).layout.owners([0, 1])

    for n in (1, 7):
        on_ranks(n, job)


def test_get():
    keys = ((2, 3), 2, (slice(1, None, 3), 0), (0, Ellipsis), (None, -1), (2, 3, Ellipsis))

    def job(world):
        a = taskarr.asarray(X, split=0)
        return [a.get(key) for key in keys] + [a.get(a.numpy()[:, 0] > 10)]

    for n in RANKS:
        for found, key in zip(on_ranks(n, job).value, (*keys, X[:, 0] > 10), strict=True):
            assert type(found) is type(X[key])
            np.testing.assert_array_equal(found, X[key])
