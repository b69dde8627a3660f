"""Random arrays: the same on any ranks, through any view; NumPy's signatures, types and errors."""

from __future__ import annotations

import copy
import inspect
import re

import numpy as np
import pytest

import scheduler
import taskarr
from scheduler import SPMDError, run_virtual
from taskarr.kernel import random as kernel
from taskarr.ops import random as ops
from taskarr.ops.distributions import DISTRIBUTIONS
from taskarr.runtime import runtime
from tests.layouts import LAYOUTS, RANKS, TINY, on_ranks
from tests.oracle import outcome
from tests.test_random_statistics import ARGUMENTS

SHAPES = {placing.name: placing for placing in LAYOUTS}


def rng(seed=1):
    return taskarr.random.default_rng(seed)


def on_all(job, ranks=RANKS, **settings):
    """Result of a job that must be the same on each number of ranks."""
    values = [on_ranks(n, lambda world: job(), **settings).value for n in ranks]
    for n, value in zip(ranks, values, strict=True):
        assert [x.tobytes() for x in value] == [x.tobytes() for x in values[0]], n
    return values[0]


def test_every_distribution_on_all_ranks():
    def job():
        source = rng()
        arrays = [getattr(source, name)(*ARGUMENTS[name], size=(7, 5)) for name in ARGUMENTS]
        return taskarr.compute(*arrays)

    for name, x in zip(ARGUMENTS, on_all(job, ranks=(1, 2, 5)), strict=True):
        assert x.shape == (7, 5)
        assert len(np.unique(x)) > 1, name
        assert x.dtype == getattr(np.random.default_rng(), name)(*ARGUMENTS[name], size=1).dtype


def test_every_layout_on_all_ranks():
    def job():
        source, found = rng(2), []
        for split in ("auto", None, 0, 1, (0, 1)):
            found.append(source.normal(size=(7, 5), split=split))
            found.append(source.integers(0, 9, (7, 5), split=split))
        found.append(source.random((7, 5), chunks=((1, 4, 2), (3, 2))))
        found.append(source.random((7, 5), chunks=3))
        found += [source.random(shape) for shape in ((0, 5), (3, 0, 2), (1,), (2, 3, 4), ())]
        found += [source.choice(20, (4, 5)), source.permutation(11), source.normal([0, 10], 1)]
        return taskarr.compute(*found)

    first = on_all(job)
    assert first[0].tobytes() != first[2].tobytes()
    assert first[-5].shape == (2, 3, 4)


def test_a_mesh_changes_nothing():
    def job(mesh):
        return rng().random((8, 6), split=(0, 1), mesh=mesh).numpy()

    values = [on_ranks(6, lambda world, m=m: job(m)).value for m in ((6, 1), (2, 3), (1, 6))]
    assert values[0].tobytes() == values[1].tobytes() == values[2].tobytes()


def test_blocks_of_several_streams_on_all_ranks():
    def job():
        source = rng()
        x = source.normal(size=200_000)
        y = source.standard_exponential((40_000, 3), split=1)
        return taskarr.compute(x, y, x.sum(), (source.random(200_000) * 2).mean())

    on_all(job, ranks=(1, 2, 3), block=1 << 19, replicate=False)


VIEWS = [
    np.s_[:],
    np.s_[1:],
    np.s_[::-1],
    np.s_[5:2:-1, ::2],
    np.s_[:, 1:4],
    np.s_[3],
    np.s_[..., -1],
    np.s_[:, None, 2:],
]


@pytest.mark.parametrize("name", ["drawn", "shuffled"])
def test_a_view_of_what_is_not_held(name, monkeypatch):
    monkeypatch.setattr(ops, "SMALL", 0)

    def make():
        if name == "drawn":
            return rng(3).integers(0, 1000, (7, 5), split=(0, 1))
        return rng(3).choice(1000, (7, 5), replace=False)

    def job():
        whole = make().numpy()
        found = [(make()[key] * 1, whole[key]) for key in VIEWS]
        found.append((make().T * 1, whole.T))
        found.append((make() + make()[::-1], whole + whole[::-1]))
        found.append((make().redistribute(1), whole))
        found.append((make()[:, :1] + make(), whole[:, :1] + whole))
        found.append((make().sum(axis=0), whole.sum(axis=0)))
        found.append((taskarr.zeros((3, 7, 5), int) + make(), np.zeros((3, 7, 5), int) + whole))
        results = taskarr.compute(*[x for x, _ in found])
        for x, (_, expected) in zip(results, found, strict=True):
            assert np.array_equal(x, expected)
        x = make()
        x[2:5] = make()[:3]
        assert np.array_equal(x, np.concatenate((whole[:2], whole[:3], whole[5:])))
        return [whole]

    on_all(job, ranks=(1, 3))


def test_an_array_is_drawn_once_and_only_where_it_is_read(monkeypatch):
    begun = []
    begin = kernel.Streams.begin
    monkeypatch.setattr(
        kernel.Streams, "begin", lambda self, words: begun.append(1) or begin(self, words)
    )

    def tiles(make):
        begun.clear()
        found = make(rng().normal(size=50, split=0)).numpy()  # 25 blocks of one tile
        return len(begun), found

    with taskarr.settings(**TINY):
        assert tiles(lambda x: x * 2)[0] == 25
        assert tiles(lambda x: x[10:20] * 2)[0] == 5
        assert tiles(lambda x: x[::-1] * 2)[0] == 25
        assert tiles(lambda x: x[1:] - x[:-1])[0] == 25
        assert tiles(lambda x: x.redistribute(0, chunks=7) * 2)[0] == 25
        count, zero = tiles(lambda x: (x - x.mean()).mean())
        assert count == 25
        assert abs(zero) < 1e-15


def test_the_order_of_calls_counts_not_that_of_use():
    a, b = rng().random(5), rng().random(5)
    assert np.array_equal(a.numpy(), b.numpy())
    source = rng()
    x, y = source.random(5), source.random(5)
    assert np.array_equal(y.numpy(), y.numpy())
    assert np.array_equal(x.numpy(), a.numpy())
    assert not set(x.numpy()) & set(y.numpy())


def test_scalars_have_numpys_types():
    ours, numpys = rng(), np.random.default_rng(1)
    for name, arguments in ARGUMENTS.items():
        found = getattr(ours, name)(*arguments)
        assert type(found) is type(getattr(numpys, name)(*arguments)), name
    assert type(ours.integers(5, dtype="i2")) is np.int16
    assert type(ours.choice(5)) is type(numpys.choice(5))
    assert type(ours.choice([1.5, 2.5])) is np.float64
    assert type(ours.integers(0, 2, dtype=bool)) is bool
    assert ours.random(()).shape == ()
    assert on_ranks(3, lambda world: (rng().random(), rng().choice(1000))).value[0] > 0


def test_signatures_are_numpys():
    layout = tuple(taskarr.random.PLACING)
    for name in (*DISTRIBUTIONS, "choice", "permutation", "shuffle"):
        said = re.search(r"\((.*?)\)\n", getattr(np.random.Generator, name).__doc__ + "\n", re.S)
        theirs = [part.split("=")[0].strip() for part in said[1].split(",")]
        ours = list(inspect.signature(getattr(taskarr.random.Generator, name)).parameters)
        assert [p for p in ours[1:] if p not in (*layout, "placing")] == theirs, name
    assert taskarr.random.Generator.normal.__doc__


def test_distributed_parameters_on_all_ranks():
    def job():
        loc = taskarr.asarray(np.arange(35.0).reshape(7, 5) * 100)
        scale = taskarr.asarray(np.arange(5) * 0.0)
        source = rng()
        found = [source.normal(loc, scale), source.uniform(loc, loc + 1), source.laplace(loc)]
        found += [source.normal(loc.sum() * 0, 1, 4), source.poisson(loc.max() * 0 + 2.0, 4)]
        found += [source.gamma(2.0, loc + 1), source.exponential(scale + 1, (7, 5))]
        found += [source.lognormal(loc * 0, scale), source.normal(loc, size=(2, 7, 5), split=2)]
        return taskarr.compute(*found)

    found = on_all(job, ranks=(1, 3))
    loc = np.arange(35.0).reshape(7, 5) * 100
    assert np.array_equal(found[0], loc)
    assert ((found[1] >= loc) & (found[1] <= loc + 1)).all()
    assert abs(found[2] - loc).max() < 20
    assert (found[7] == 1).all()
    assert found[8].shape == (2, 7, 5)


def test_out():
    out = taskarr.zeros((7, 5))
    held = out[2]
    found = rng().random(out=out)
    assert found is out
    assert np.array_equal(out.numpy(), rng().random((7, 5)).numpy())
    assert np.array_equal(held.numpy(), out.numpy()[2])
    with pytest.raises(ValueError, match="size must match"):
        rng().random(3, out=out)
    with pytest.raises(TypeError, match="wrong type"):
        rng().random(dtype="f4", out=out)
    with pytest.raises(TypeError, match="taskarr array"):
        rng().random(out=np.zeros(3))


def test_a_large_choice_without_replacement(monkeypatch):
    monkeypatch.setattr(ops, "SMALL", 10)

    def job():
        source = rng()
        found = [source.permutation(97), source.choice(1000, (20, 3), replace=False)]
        found.append(source.choice(np.arange(50) * 2.5, 50, replace=False))
        return taskarr.compute(*found)

    order, some, values = on_all(job)
    assert np.array_equal(np.sort(order), np.arange(97))
    assert len(np.unique(some)) == 60
    assert some.max() < 1000
    assert np.array_equal(np.sort(values), np.arange(50) * 2.5)


def test_choice_takes_what_the_array_held(monkeypatch):
    pool = np.arange(5.0)
    x = rng().choice(pool, 6)
    pool[:] = -1
    assert (x.numpy() >= 0).all()


def test_shuffle_of_numpy_arrays_and_lists():
    def job():
        x, y = np.arange(20), list("abcdefghij")
        rng().shuffle(x)
        rng().shuffle(y)
        return [x, np.array(y)]

    x, y = on_all(job, ranks=(1, 2))
    assert np.array_equal(np.sort(x), np.arange(20))
    assert (x != np.arange(20)).any()
    assert sorted(y) == list("abcdefghij")


def test_seeds():
    def first(seed):
        return rng(seed).random(3).numpy().tolist()

    sequence = np.random.SeedSequence(5, spawn_key=(1,))
    values = [first(s) for s in (0, 1, (1, 2), 2**100, sequence, np.random.SeedSequence(5))]
    assert len({tuple(v) for v in values}) == len(values)
    assert first((1, 2)) == first([1, 2])
    source = rng()
    assert taskarr.random.default_rng(source) is source
    children = rng().spawn(2)
    again = rng().spawn(2)
    numbers = [child.random(3).numpy().tolist() for child in (*children, *again)]
    assert numbers[:2] == numbers[2:]
    assert numbers[0] != numbers[1]
    for wrong in (-1, "a", 1.5, [-1]):
        expected = outcome(lambda w=wrong: np.random.default_rng(w))
        assert outcome(lambda w=wrong: rng(w)) is expected
    with pytest.raises(TypeError, match="one stream"):
        rng(np.random.PCG64())
    source.random(3)
    twin = copy.deepcopy(source)
    assert np.array_equal(source.random(4).numpy(), twin.random(4).numpy())
    assert "entropy=1" in repr(rng())
    assert first(taskarr.asarray([3])[0]) == first(np.array(3)) == first(3)
    assert first(taskarr.asarray([3, 4])) == first([3, 4])


def test_without_a_seed_all_ranks_share_one():
    ran = [on_ranks(3, lambda world: rng(None).random(4).numpy()).value for _ in range(2)]
    assert ran[0].tobytes() != ran[1].tobytes()


def test_seeds_that_differ_are_told_under_debug():
    def job(world):
        with taskarr.settings(debug=True):
            rng(world.rank)

    with pytest.raises(SPMDError, match="seed"):
        run_virtual(2, job)

    def drawn(world):
        source = rng()
        with taskarr.settings(**TINY, debug=True):
            if world.rank:
                source.random(3)
            source.random(8).numpy()

    with pytest.raises(SPMDError, match="argument"):
        run_virtual(2, drawn)


def test_a_loop_plans_once():
    def job(world):
        source = rng()
        cache = runtime(world).cache
        for _ in range(3):
            float((source.normal(1, 2, 40) + source.poisson(3, 40)).sum())
            if not world.state.setdefault("plans", len(cache.plans)):
                raise AssertionError
        return len(cache.plans) - world.state["plans"]

    assert on_ranks(2, job).value == 0


def test_functions_share_the_worlds_generator():
    def job():
        xp = taskarr.random
        xp.seed(3)
        found = [xp.rand(3, 4), xp.randn(5, split=0), xp.randint(0, 9, 6), xp.normal(size=4)]
        found += [xp.random_sample((2, 2)), xp.beta(1, 2, 3), xp.permutation(5)]
        found.append(xp.choice(9, 4, False))
        again = taskarr.random.default_rng(3).random((3, 4))
        return [*taskarr.compute(*found), again.numpy()]

    found = on_all(job)
    assert np.array_equal(found[0], found[-1])
    assert [x.shape for x in found[:6]] == [(3, 4), (5,), (6,), (4,), (2, 2), (3,)]
    assert isinstance(taskarr.random.rand(), float)
    assert type(taskarr.random.randint(5)) is int
    assert taskarr.random.randint(5, size=3).dtype == np.dtype(int)


def test_worlds_do_not_share_numbers():
    def job(world):
        taskarr.random.seed(3)
        return taskarr.random.rand(3).numpy()

    taskarr.random.seed(4)
    before = scheduler.current().state[taskarr.random.STATE]
    assert on_ranks(2, job).value.tobytes() == on_ranks(1, job).value.tobytes()
    assert taskarr.random.shared() is before


def test_what_is_missing_says_so():
    for owner, name in ((rng(), "dirichlet"), (taskarr.random, "multinomial")):
        with pytest.raises(NotImplementedError, match=name):
            getattr(owner, name)
    with pytest.raises(AttributeError, match="nonsense"):
        rng().nonsense  # noqa: B018


@pytest.mark.parametrize("small", [0, 1 << 16])
def test_rows_of_arrays_in_random_order(small, monkeypatch):
    monkeypatch.setattr(ops, "SMALL", small)
    data = np.arange(35.0).reshape(7, 5)

    def job():
        x, source = taskarr.asarray(data), rng()
        found = [source.permutation(x), source.permutation(x, axis=1), source.permutation(data)]
        found += [source.choice(x, 4), source.choice(x, (2, 3), axis=1), source.choice(x[:, 0], 3)]
        found += [source.choice(x, 7, replace=False, split=1), source.choice(x)]
        found += [source.choice(data), source.choice(x[0], p=[0, 0, 1, 0, 0])]
        y, z = x.copy(), x.copy()
        source.shuffle(y)
        source.shuffle(z[1:], axis=1)
        return taskarr.compute(*found, y, z)

    found = on_all(job, ranks=(1, 2, 7))
    rows, columns, host, four, wide, some, all_rows, one, of_host, third, y, z = found
    assert np.array_equal(np.sort(rows, 0), data)
    assert np.array_equal(np.sort(columns, 1), data)
    assert np.array_equal(np.sort(host, 0), data)
    assert four.shape == (4, 5)
    assert wide.shape == (7, 2, 3)
    assert np.array_equal(wide - wide[0], np.broadcast_to(data[:, :1, None], (7, 2, 3)))
    assert set(some) <= set(data[:, 0])
    assert np.array_equal(np.sort(all_rows, 0), data)
    assert one.tolist() in data.tolist()
    assert of_host.tolist() in data.tolist()
    assert third == 2
    assert np.array_equal(np.sort(y, 0), data)
    assert np.array_equal(z[0], data[0])
    assert np.array_equal(np.sort(z, 1), data)
