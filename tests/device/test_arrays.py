"""Arrays on a device, here the strict stand-in: where they lie, what meets, how they travel."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import taskarr
from scheduler import run_virtual
from taskarr.device.choosing import DEVICES, opened
from taskarr.device.memory import Device
from taskarr.evaluate import collect, graph_of
from taskarr.plan.build import build
from taskarr.runtime import runtime
from tests.device import strict
from tests.device.install import STRICT
from tests.layouts import on_ranks

X = np.arange(35.0).reshape(7, 5)
NAME = STRICT.name


def test_arrays_lie_where_they_are_made():
    def job(world):
        a = taskarr.asarray(X, split=0, device=NAME)
        b = taskarr.asarray(X, split=0)
        with taskarr.settings(device=NAME):
            c, d = taskarr.zeros(7), taskarr.asarray(X, device="cpu")
        made = [a + 1, a.T, a[1:], a.sum(axis=0), taskarr.zeros_like(a), np.sin(a), a > np.ones(5)]
        assert all(x.device == NAME for x in (a, c, *made))
        assert b.device == d.device == (b + 1).device == "cpu"
        assert isinstance(a.local, strict.ndarray) and isinstance(b.local, np.ndarray)
        assert isinstance((a * 2).persist().local, strict.ndarray)
        return [x.numpy() for x in made[:-1]], taskarr.compute(a, b, c)

    for n in (1, 3):
        (made, (a, b, c)) = on_ranks(n, job, device="cpu").value
        expected = [X + 1, X.T, X[1:], X.sum(axis=0), np.zeros_like(X), np.sin(X)]
        assert all(map(np.array_equal, made, expected))
        assert np.array_equal(a, X) and np.array_equal(b, X) and np.array_equal(c, np.zeros(7))


def test_moving():
    def job(world):
        a = taskarr.asarray(X, split=0)
        b = taskarr.to_device(a, NAME)
        c = taskarr.to_device(b * 2, "cpu")
        sends = world.counters["sends"]
        assert taskarr.to_device(b, NAME) is b and taskarr.asarray(b) is b
        d = taskarr.asarray(a, device=NAME)
        b[0] = -1.0
        assert world.counters["sends"] == sends
        assert (a.device, b.device, c.device, d.device) == ("cpu", NAME, "cpu", NAME)
        assert b.layout == a.layout == c.layout
        return taskarr.compute(a, b, c, d)

    for n in (1, 3):
        a, b, c, d = on_ranks(n, job, device="cpu").value
        assert np.array_equal(a, X) and np.array_equal(c, X * 2) and np.array_equal(d, X)
        assert np.array_equal(b[1:], X[1:]) and (b[0] == -1).all()


def test_arrays_of_two_devices_do_not_meet():
    def job(world):
        a, b = taskarr.asarray(X, device=NAME), taskarr.asarray(X)
        for use in (
            lambda: a + b,
            lambda: taskarr.where(a > 1, a, b),
            lambda: a.__setitem__(0, b[0]),
        ):
            with pytest.raises(TypeError, match="to_device"):
                use()
        return (a + X[0]).numpy()

    assert np.array_equal(on_ranks(2, job, device="cpu").value, X + X[0])


@pytest.mark.parametrize("dtype", ["M8[s]", "m8[s]", "S3", "U2", "i4,f8", ">f8", "g"])
def test_dtypes_that_devices_have_not_name_the_way_out(dtype, tmp_path):
    np.save(tmp_path / "x.npy", np.zeros(7, dtype))

    def job(world):
        a = taskarr.zeros(7, dtype)
        assert a.device == "cpu"
        for use in (
            lambda: taskarr.zeros(7, dtype, device=NAME),
            lambda: taskarr.asarray(np.zeros(7, dtype), device=NAME),
            lambda: taskarr.to_device(a, NAME),
            lambda: taskarr.load(tmp_path / "x.npy", device=NAME),
        ):
            with pytest.raises(TypeError, match=rf"device {NAME!r}.*device='cpu'"):
                use()
        return a.numpy()

    on_ranks(2, job, device="cpu")


def test_names_of_devices():
    def job(world):
        for use in (
            lambda: taskarr.zeros(3, device="tape"),
            lambda: taskarr.to_device([1], "tape"),
            lambda: taskarr.settings(device="tape").__enter__(),
        ):
            with pytest.raises(ValueError, match=r"'cpu'.*'cuda'|cpu or cuda"):
                use()

    on_ranks(2, job, device="cpu")


def test_ranks_take_devices_in_turn():
    def job(world):
        with taskarr.settings(device=NAME):
            return runtime(world).backend_on(NAME).number, strict.cuda.runtime.getDevice()

    assert run_virtual(6, job) == [(k % 4, k % 4) for k in range(6)]


@pytest.mark.parametrize("count", [0, ImportError("not installed")])
def test_a_rank_without_a_device_is_everybodys_error(count, monkeypatch):
    class Without(Device):
        def count(self):
            if isinstance(count, Exception):
                raise count
            return count

    monkeypatch.setitem(DEVICES, "none", Without("none", STRICT.load))

    def job(world):
        name = "none" if world.rank == 1 else NAME
        with pytest.raises((RuntimeError, ImportError), match="rank 1"):
            opened(name, world, runtime(world).backend)
        return True

    assert run_virtual(3, job) == [True] * 3


def test_the_plan_of_a_device_has_the_messages_of_the_processors():
    """The same steps and messages, with a task more at either end of each."""

    def job(world):
        a = taskarr.asarray(X, split=0)
        node = (a[1:] + a[:-1]).sum(axis=0)._expr
        graph = graph_of(collect([node]))
        plans = [
            build(graph, frozenset([len(graph) - 1]), world.rank, world.size, staged)
            for staged in (False, True)
        ]
        plain, staged = (
            [
                (s.name, [(m.dest, m.nbytes) for m in s.sends], [m.nbytes for m in s.recvs])
                for s in plan.steps
                if hasattr(s, "sends")
            ]
            for plan in plans
        )
        assert plain == staged
        return sum(len(sends) for _, sends, _ in plain)

    assert sum(on_ranks(2, job, device="cpu", alike=False).values)


def test_many_small_blocks_and_transports():
    def job(world, shuffle):
        with taskarr.settings(shuffle=shuffle):
            a = taskarr.asarray(X, split=0)
            turned = a.redistribute(split=1)
            halo = (a[:-2] + a[1:-1] * 2 + a[2:]) / 4
            kept = a[a.sum(axis=1) > 40]
            return taskarr.compute(a.T.copy(), turned, halo, kept, a.std(axis=0), a.argmax())

    expected = [X.T, X, (X[:-2] + X[1:-1] * 2 + X[2:]) / 4, X[X.sum(axis=1) > 40]]
    for shuffle in ("auto", "alltoallv", "pairwise", "pull"):
        for n in (1, 2, 5):
            *found, deviation, at = on_ranks(n, job, shuffle, device=NAME).value
            assert all(map(np.array_equal, found, expected))
            assert np.allclose(deviation, X.std(axis=0), rtol=1e-14) and at == 34


def test_files(tmp_path):
    def job(world):
        a = taskarr.asarray(X, split=0)
        taskarr.save(tmp_path / "x", a * 2)
        loaded = taskarr.load(tmp_path / "x.npy", device="cpu")
        here = taskarr.load(tmp_path / "x.npy")
        assert (loaded.device, here.device) == ("cpu", NAME)
        assert str(here[0]) == str(X[0] * 2)
        return here.numpy(), loaded.numpy()

    for n in (1, 3):
        assert all(np.array_equal(x, X * 2) for x in on_ranks(n, job, device=NAME).value)


def test_there_are_no_floating_point_faults():
    def job(world):
        a = taskarr.asarray(X - 1, split=0)
        with warnings.catch_warnings(), np.errstate(all="raise"):
            warnings.simplefilter("error")
            return (1 / a).numpy(), np.log(a).min().numpy()

    for n in (1, 3):
        found, least = on_ranks(n, job, device=NAME).value
        with np.errstate(all="ignore"):
            assert np.array_equal(found, 1 / (X - 1)) and np.isnan(least)


def test_memory_is_counted_where_a_run_computes():
    """What is over the budget of the device is not kept; the processor's memory is none of it."""

    def job(world):
        memory = runtime(world).backend_on(NAME)
        before, used = memory.live, runtime(world).backend.live
        a = taskarr.ones(1 << 15, split=None).persist()
        assert memory.live - before == a.nbytes
        b = a + 1
        total = float(b.sum())
        assert runtime(world).backend.live == used
        return total, b._expr.held

    assert on_ranks(2, job, device=NAME, memory=3 << 18).value == (1 << 16, True)
    assert on_ranks(2, job, device=NAME, memory=5 << 16).value == (1 << 16, False)


def test_the_budget_is_half_of_the_device_over_the_ranks_that_share_it():
    def job(world):
        return runtime(world).backend_on(NAME).share, runtime(world).budget_on(NAME)

    assert on_ranks(4, job, device=NAME).value == (40 << 30, 40 << 30)
    assert on_ranks(5, job, device=NAME).value == (20 << 30, 20 << 30)
    assert on_ranks(5, job, device=NAME, memory=99).value == (20 << 30, 99)


def test_bricks_are_written_on_the_device():
    """Ranks without elements get an array there, too, so that the same code runs on all ranks."""

    def job(world):
        a = taskarr.asarray(X[:2], split=0)
        with a.local_write() as mine:
            mine += 1
            mine[...] = strict.sqrt(mine)
        assert isinstance(mine, strict.ndarray) and isinstance(a.local, strict.ndarray)
        return (a * 2).numpy()

    for n in (1, 3):
        assert np.array_equal(on_ranks(n, job, device=NAME).value, np.sqrt(X[:2] + 1) * 2)


def test_an_error_inside_the_block_leaves_the_setting():
    def job(world):
        with pytest.raises(RuntimeError), taskarr.settings(device=NAME):
            raise RuntimeError
        return taskarr.zeros(2).device

    assert on_ranks(2, job, device="cpu").value == "cpu"
