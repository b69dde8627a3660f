"""A selection of all families on real MPI ranks."""

from __future__ import annotations

import os
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

import taskarr
from scheduler import SPMDError
from scheduler.comm import VirtualWorld
from scheduler.shuffle import TRANSPORTS
from tests.device.install import DEVICE, held_here
from tests.layouts import LAYOUTS, TINY, quiet
from tests.oracle import Check, difference, on_these_ranks

pytestmark = pytest.mark.ranks(1, 2, 3)

X = np.arange(35.0).reshape(7, 5)
N = np.arange(35).reshape(7, 5)


@pytest.fixture(autouse=True)
def tiny(world):
    """Blocks of 16 bytes; sent buffers are overwritten."""
    world.state["poison"] = True
    with quiet(), taskarr.settings(**TINY):
        yield
    world.state.pop("poison")


def hold(world, acts, operands, placings=LAYOUTS[:5], exact=True):
    """Hold functions against NumPy in every layout, on all ranks."""
    checks = [Check(name, act, operands, exact) for name, act in acts.items()]
    pairs = [(check, placing) for check in checks for placing in placings]
    found = on_these_ranks(world, *zip(*pairs, strict=True))
    expected = {id(check): check.by_numpy() for check in checks}
    wrong = [
        f"{check.label} [{placing}]: {fault}"
        for (check, placing), result in zip(pairs, found, strict=True)
        if (fault := difference(check, expected[id(check)], result))
    ]
    assert not wrong, "\n".join(wrong)


def moved(world):
    return world.counters["sends"] + world.counters["alltoallv_bytes"]


def test_elementwise_and_broadcasting(world):
    acts = {
        "operators": lambda xp, a, b: (a + 1) * b - a / (b + 1) + a // 3 % 2,
        "ufuncs": lambda xp, a, b: xp.maximum(xp.sqrt(a), xp.hypot(a, b)),
        "comparison": lambda xp, a, b: (a > b) | (b == 3),
        "row": lambda xp, a, b: a - b[0],
        "column": lambda xp, a, b: a[:, :1] * b[2],
        "reversed": lambda xp, a, b: a + b[::-1, ::-1],
        "transposed": lambda xp, a, b: a.T[:, :5] - b[:5],
        "where": lambda xp, a, b: xp.where(a % 2 == 0, b, -1),
        "host": lambda xp, a, b: np.arange(5) + a,
        "cast": lambda xp, a, b: a.astype("f4"),
        "shapes": lambda xp, a, b: a + b[:, :2],
        "overflow": lambda xp, a, b: a.astype("u1") + 300,
    }
    hold(world, acts, (N, N[::-1] * 2))
    if world.size > 1:
        assert world.allreduce(np.array([moved(world)]), "sum", "test")[0] > 0


def test_reductions(world):
    acts = {
        f"{name} {axis}": lambda xp, a, name=name, axis=axis: getattr(xp, name)(a, axis=axis)
        for name in ("sum", "prod", "min", "max", "mean", "var", "std", "any", "all")
        for axis in (None, 0, 1)
    }
    hold(world, acts, (X / 7 + 0.5,), exact=False)
    hold(world, {"sum": lambda xp, a: a.sum(axis=(0, 1), keepdims=True)}, (N,))


def test_keys_and_writes(world):
    def written(xp, a):
        view = a[1:-1, ::-1]
        view += 100
        a[0] = a[-1] * 2
        a[:, 2] = a[::-1, 3]
        return a

    def aliased(xp, a):
        b = a[2:]
        t = a[0, 0]
        a[0, 0] = a[1, 1]
        a[1, 1] = t
        b[...] = a[:-2]
        return a

    acts = {
        "slices": lambda xp, a: a[1:6:2, ::-2],
        "row": lambda xp, a: a[3],
        "element": lambda xp, a: a[3, 4],
        "new axis": lambda xp, a: a[:, None, 1:3],
        "stencil": lambda xp, a: a[2:] - 2 * a[1:-1] + a[:-2],
        "out of bounds": lambda xp, a: a[7],
        "written": written,
        "aliased": aliased,
    }
    hold(world, acts, (N,))


def test_masks(world):
    def put(xp, a):
        a[a % 3 == 0] = -1
        return a

    acts = {
        "elements": lambda xp, a: a[a > 11],
        "rows": lambda xp, a: a[a[:, 1] % 2 == 0],
        "none": lambda xp, a: a[a > 1000],
        "then": lambda xp, a: a[a > 11][::-1] * 2,
        "put": put,
    }
    hold(world, acts, (N,))


def test_redistribution_and_fetching(world):
    for dtype in held_here(("f8", "c16", "i1", "S3")):
        x = N.astype(dtype)
        a = taskarr.asarray(x, split=0)
        for split in (1, (0, 1), None, 0):
            a = a.redistribute(split=split)
            np.testing.assert_array_equal(a.numpy(), x)
    for root in range(world.size):
        found = (taskarr.asarray(X) + 1).gather(root)
        if world.rank == root:
            np.testing.assert_array_equal(found, X + 1)
        else:
            assert found is None
    assert float(taskarr.asarray(X).sum()) == 595
    assert str(taskarr.asarray(X)) == str(X)


@pytest.mark.parametrize("shuffle", ["auto", "alltoallv", "pairwise", "pull"])
def test_any_transport(world, monkeypatch, shuffle):
    monkeypatch.setattr("scheduler.shuffle.SHORTEST_RUN", 1)
    before = world.counters.copy()
    with taskarr.settings(shuffle=shuffle):
        a = taskarr.asarray(np.arange(4096.0).reshape(64, 64), split=0)
        b = (a.redistribute(split=1) * 2).persist()
        np.testing.assert_array_equal(b.numpy(), np.arange(4096.0).reshape(64, 64) * 2)
    used = {t for t in TRANSPORTS if world.counters[t] > before[t]}
    wanted = "alltoallv" if shuffle == "auto" else shuffle
    if DEVICE != "cpu" and shuffle == "pull":
        wanted = "pairwise"  # other ranks can't read a device's memory
    assert used == ({wanted} if world.size > 1 else set())


def test_large_messages(world):
    with taskarr.settings(block=1 << 20):
        n = 1 << 21
        a = taskarr.arange(n, split=0, dtype="f8")
        b = (a[::-1] + a).persist()
        assert float(b.min()) == float(b.max()) == n - 1


def test_files(world, tmp_path_factory):
    folder = Path(world.bcast(str(tmp_path_factory.mktemp("files")), 0, "test"))
    taskarr.save(folder / "x.npy", taskarr.asarray(X, split=0) + 1)
    np.testing.assert_array_equal(np.load(folder / "x.npy"), X + 1)
    a = taskarr.load(folder / "x.npy", split=1)
    taskarr.save(folder / "x.npy", a[a[:, 0] > 10].T)
    np.testing.assert_array_equal(taskarr.load(folder / "x.npy").numpy(), (X + 1)[2:].T)
    np.testing.assert_array_equal(a.numpy(), X + 1)
    for path in ("none.npy", "no/folder.npy"):
        with pytest.raises(FileNotFoundError):
            (taskarr.load if path == "none.npy" else taskarr.save)(
                *((folder / path,) if path == "none.npy" else (folder / path, a))
            )
    world.allgather(None, "test")
    assert os.listdir(folder) == ["x.npy"]


def test_bits(world):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((101, 7)) * 10.0 ** rng.integers(-9, 9, (101, 7))
    mine = taskarr.asarray(x, chunks=(2, 7))
    alone = taskarr.asarray(x, chunks=(2, 7), comm=VirtualWorld(), device=DEVICE)
    for act in (
        lambda a: a.sum(),
        lambda a: a.std(axis=0),
        lambda a: (a * a.T.T).mean(axis=1),
        lambda a: a[a[:, 0] > 0].sum(axis=0),
    ):
        assert act(mine).numpy().tobytes() == act(alone).numpy().tobytes()


def test_an_error_is_everybodys(world):
    a = taskarr.asarray(X, split=0)
    if world.size > 1:
        with pytest.raises(SPMDError, match=r"test_mpi\.py"):
            (a + 1 if world.rank else a - 1).numpy()
    with pytest.raises(ValueError, match="broadcast"):
        a + np.ones(3)
    np.testing.assert_array_equal((a + 1).numpy(), X + 1)


def test_a_communicator_has_one_world(world):
    from mpi4py import MPI

    assert taskarr.asarray(X, comm=MPI.COMM_WORLD)._expr.world is world
    half = MPI.COMM_WORLD.Split(world.rank % 2)
    a, b = (taskarr.asarray(X, split=0, comm=half) for _ in range(2))
    assert a._expr.world is b._expr.world
    assert float((a + b).sum()) == 2 * X.sum()
    if world.size > 1:
        with pytest.raises(ValueError, match="two communicators"):
            a + taskarr.asarray(X)
    with pytest.raises(TypeError, match="comm=3"):
        taskarr.asarray(X, comm=3)


def test_no_rank_holds_what_the_others_do(world):
    """Peaks are per rank: two bricks and some buffers, never a whole array."""
    a = taskarr.arange(1_500_000.0, split=0).persist()
    share = a.nbytes // world.size
    tracemalloc.start()
    try:
        b = (a[::-1] * 2 + 1).persist()
        mean, most = taskarr.compute(b.mean(), b.max())
        rows = b[b > 100.0 * most / 101]
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (float(mean), float(most), len(rows)) == (1_500_000.0, 2_999_999.0, 14_852)
    assert peak <= 3 * share + (3 << 20) if world.size > 1 else peak > 0
