"""What runs keep, which pending reductions they compute, and what frees memory."""

import gc
import logging
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import taskarr
from taskarr.backend import POOLED, Pool
from taskarr.memory import MARKS, Wish, free_bytes, in_words, mark, over_budget
from taskarr.pending import PATIENCE
from taskarr.runtime import LOOK, MOST_WATCHED, runtime
from tests.device.install import DEVICE
from tests.geometry.strategies import layouts
from tests.layouts import RANKS, on_ranks

X = np.arange(35.0).reshape(7, 5)
LARGE = POOLED // 8
"""Elements of float64 of the smallest brick that is counted."""


# ---------------------------------------------------------------------- the policy


@given(st.data(), st.lists(st.integers(0, 9), min_size=1, max_size=3), st.sampled_from(RANKS))
def test_the_fullest_rank_is_found_without_asking_any(data, shape, size):
    layout = data.draw(layouts(tuple(shape), size))
    bricks = [layout.brick(rank) for rank in range(layout.size)]
    sizes = [math.prod(hi - lo for lo, hi in box) for box in bricks if box is not None]
    assert layout.fullest == max(sizes, default=0)


@given(st.lists(st.integers(0, 3000), min_size=1), st.integers(1, 2000))
def test_the_ranks_agree_on_a_little_less_than_what_is_free(live, budget):
    marks = 0
    for used in live:
        marks |= mark(used, budget)
    free = max(0, budget - max(live))
    assert marks < 1 << MARKS
    assert free - budget / (MARKS - 1) - 1 <= free_bytes(marks, budget) <= free


def test_what_does_not_fit_is_refused_generators_first():
    wishes = [Wish(0, 50, False), Wish(1, 50, True), Wish(2, 80, True), Wish(3, 40, True)]
    assert [w.position for w in over_budget(wishes, 100)] == [2, 0]
    assert [w.position for w in over_budget(wishes, 220)] == []
    assert [w.position for w in over_budget(wishes, 219)] == [0]
    assert [w.position for w in over_budget(wishes, -5)] == [1, 2, 3, 0]
    assert in_words(1_000) == "1 kB"
    assert in_words(2_340_000_000) == "2.34 GB"


# ---------------------------------------------------------------------- the pool


def test_the_pool_counts_bricks_and_keeps_a_quarter_of_the_budget_free():
    pool = Pool(8 * POOLED)
    bricks = [pool.empty((LARGE,), np.dtype("f8")) for _ in range(4)]
    small = pool.empty((LARGE - 512,), np.dtype("f8"))
    assert (pool.live, pool.kept) == (4 * POOLED, 0)
    part = bricks[0][3:9]
    del bricks[0]
    assert (pool.live, pool.kept) == (4 * POOLED, 0)
    address = part.__array_interface__["data"][0] - 24
    del part, small
    assert (pool.live, pool.kept) == (3 * POOLED, POOLED)
    again = pool.empty((LARGE,), np.dtype("f8"))
    assert again.__array_interface__["data"][0] == address
    del again, bricks
    assert (pool.live, pool.kept) == (0, 2 * POOLED)
    pool.resize(4 * POOLED)
    assert pool.kept == POOLED


def test_the_pool_gives_free_memory_away_when_bricks_need_it():
    pool = Pool(8 * POOLED)
    del [pool.empty((LARGE,), np.dtype("f8")) for _ in range(2)][:]
    assert pool.kept == 2 * POOLED
    brick = pool.empty((7 * LARGE,), np.dtype("f8"))
    assert (pool.live, pool.kept) == (7 * POOLED, POOLED)
    more = pool.empty((5 * LARGE,), np.dtype("f8"))
    assert pool.kept == 0
    del more
    assert (pool.live, pool.kept) == (7 * POOLED, 0)
    del brick


def test_del_gives_bricks_back_at_once():
    def job(world):
        pool = runtime(world).backend_on(DEVICE)
        a = taskarr.arange(4.0 * LARGE * world.size, split=0).persist()
        before = pool.live
        b = (a + 1).persist()
        view = b[3:]
        assert pool.live == before + 4 * POOLED
        del b
        assert pool.live == before + 4 * POOLED
        del view
        assert pool.live == before
        del a
        return pool.live

    assert on_ranks(2, job, block=POOLED).values == [0, 0]


# ---------------------------------------------------------------------- the keep set


@pytest.mark.parametrize("n", [1, 2, 3])
def test_a_run_keeps_what_a_variable_shows_on_any_rank(n):
    def job(world):
        a = taskarr.asarray(X, split=0)
        kept, dropped = a * 2, a + 5
        nodes = [kept._expr, dropped._expr]
        last = kept.mean() + dropped.max()
        del dropped
        if world.rank == n - 1:
            on_one = kept
        del kept
        assert float(last) == 34 + 39
        assert world.rank < n - 1 or on_one._expr is nodes[0]
        return [node.held for node in nodes]

    assert on_ranks(n, job).value == [True, False]


@pytest.mark.parametrize("n", [1, 2, 3])
def test_what_is_over_budget_is_computed_again_and_a_hint_says_so_once(n, caplog):
    def job(world):
        a = taskarr.asarray(X, split=0)
        found = []
        for _ in range(3):
            b = a * 2
            found += [float(b.sum()), float(b.max()), b._expr.held]
        with taskarr.settings(memory=10_000):
            found += [float(b.min()), b._expr.held]
        return found

    with caplog.at_level(logging.WARNING, "taskarr"):
        found = on_ranks(n, job, memory=24).value
    assert found == [1190.0, 68.0, False] * 3 + [0.0, True]
    (record,) = caplog.records
    text = record.getMessage()
    assert "multiply[7, 5] float64 at test_memory.py:" in text
    assert f"takes {in_words(fullest_bytes(n))} on the fullest rank" in text
    assert "budget of 24 bytes" in text
    assert "TASKARR_MEMORY" in text
    assert "persist()" in text


def fullest_bytes(n):
    return {1: 280, 2: 160, 3: 120}[n]


@pytest.mark.parametrize("n", [1, 2])
def test_what_is_asked_for_is_kept_whatever_the_budget(n, caplog):
    def job(world):
        a = taskarr.asarray(X, split=0)
        b = a * 2
        c = (b + 1).persist()
        assert not b._expr.held
        pinned = c._expr
        total = float((c + b).sum())
        return total, c._expr is pinned and c._expr.held, float(c.sum()), c.numpy()

    found = on_ranks(n, job, memory=24).value
    assert found[:3] == ((4 * X + 1).sum(), True, (2 * X + 1).sum())
    np.testing.assert_array_equal(found[3], 2 * X + 1)


def test_generators_are_kept_if_there_is_room_and_made_again_without_a_hint(tmp_path, caplog):
    np.save(tmp_path / "x.npy", X)

    def job(world, memory):
        with taskarr.settings(memory=memory):
            made = [
                taskarr.arange(35.0, split=0),
                taskarr.full((7, 5), 3.0, split=0),
                taskarr.load(tmp_path / "x.npy", split=0),
            ]
            totals = [float((x + 1).sum()) for x in made for _ in range(2)]
            return totals, [x._expr.held for x in made], world.counters["file_read_bytes"]

    totals = [630.0, 630.0, 140.0, 140.0, 630.0, 630.0]
    for n in (1, 2):
        with caplog.at_level(logging.WARNING, "taskarr"):
            tight = on_ranks(n, job, 24, alike=False)
        wide = on_ranks(n, job, 1 << 20, alike=False)
        assert not caplog.messages
        assert tight.value[:2] == (totals, [False] * 3)
        assert wide.value[:2] == (totals, [True] * 3)
        assert sum(v[2] for v in tight.values) == 2 * X.nbytes
        assert sum(v[2] for v in wide.values) == X.nbytes


@pytest.mark.parametrize("n", [2, 3])
def test_the_fullest_rank_decides_for_all(n):
    def job(world, other):
        pool = runtime(world).backend_on(DEVICE)
        mine = pool.empty((other,), np.dtype("u1")) if world.rank == 1 else None
        b = taskarr.asarray(X, split=0) * 2
        total = float(b.sum())
        assert mine is None or pool.live >= other
        return total, b._expr.held

    memory = 4 * POOLED
    assert on_ranks(n, job, memory // 2, memory=memory).value == (1190.0, True)
    assert on_ranks(n, job, memory, memory=memory).value == (1190.0, False)


# ---------------------------------------------------------------------- pending reductions


def held(*arrays):
    return [a._expr.held for a in arrays]


def watched(world):
    return len(runtime(world).pending.watched)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_a_run_computes_the_pending_reductions_of_its_data(n, tmp_path):
    np.save(tmp_path / "x.npy", X)

    def job(world):
        x = taskarr.load(tmp_path / "x.npy", split=0)
        y = taskarr.asarray(np.arange(9.0), split=0)
        mean, most, later = x.mean(), ((x - 1) ** 2).max() * 2, y.sum()
        inner = most._expr.inputs[0]
        assert float(x.sum()) == 595
        read = world.counters["file_read_bytes"]
        assert [*held(mean, most, later), inner.held] == [True, False, False, True]
        assert watched(world) == 1
        total = (float(mean), float(most), float(later))
        assert world.counters["file_read_bytes"] == read
        assert watched(world) == 0
        return total

    assert on_ranks(n, job).value == (17.0, 2 * 33.0**2, 36.0)


def test_large_results_and_larger_sweeps_wait_until_they_are_asked_for():
    def job(world):
        a = taskarr.asarray(X, split=0)
        rows = a.sum(axis=1)
        row = taskarr.asarray(X[0], split=0)
        wide = (row * a).sum()
        float(row.max())
        assert held(wide) == [False]
        float(a.max())
        return held(wide, rows)

    assert on_ranks(2, job).value == [True, False]


@pytest.mark.parametrize("n", [1, 2])
def test_a_reduction_that_alone_keeps_an_array_joins_any_run(n):
    def job(world):
        pool = runtime(world).backend_on(DEVICE)
        other = taskarr.arange(5.0, split=0).persist()
        a = taskarr.ones(2 * LARGE * n, split=0).persist()
        shown = taskarr.ones(2 * LARGE * n, split=0).persist()
        lost, kept = a.mean(), shown.mean()
        del a
        before = pool.live
        (other + 1).persist()
        assert round((before - pool.live) / POOLED) == 2  # devices count small arrays too
        return held(lost, kept), float(lost), float(kept)

    assert on_ranks(n, job, block=POOLED).value == ([True, False], 1.0, 1.0)


def test_runs_that_pass_a_reduction_by_forget_it():
    def job(world):
        a, other = (taskarr.asarray(X, split=0) for _ in range(2))
        mean = a.mean()
        for k in range(PATIENCE):
            assert float((other + k).sum()) == X.sum() + 35 * k
        assert watched(world) == 1
        float(other.sum())
        assert watched(world) == 0
        float(a.sum())
        return held(mean), float(mean)

    assert on_ranks(2, job).value == ([False], 17.0)


@pytest.mark.parametrize("n", [1, 2])
def test_too_many_pending_reductions_are_computed_at_once(n):
    def job(world):
        found = [taskarr.full((7, 5), float(k), split=0).mean() for k in range(MOST_WATCHED)]
        assert not any(held(*found))
        found += [taskarr.full((7, 5), float(k), split=0).mean() for k in range(LOOK)]
        assert all(held(*found[:MOST_WATCHED]))
        assert watched(world) <= LOOK
        return [float(x) for x in found]

    numbers = [float(k) for k in (*range(MOST_WATCHED), *range(LOOK))]
    assert on_ranks(n, job).value == numbers


@pytest.mark.parametrize("n", [1, 2])
def test_reductions_of_arrays_from_the_program_do_not_fill_memory(n):
    """No run touches their data: from half of the budget on, they are computed at every look."""

    def job(world):
        pool, losses, most = runtime(world).backend_on(DEVICE), [], 0
        for k in range(60):
            losses.append(taskarr.asarray(np.full(LARGE * n, float(k)), split=0).mean())
            most = max(most, pool.live)
        return most // POOLED, [float(x) for x in losses]

    most, losses = on_ranks(n, job, block=POOLED, memory=24 * POOLED).value
    assert losses == [float(k) for k in range(60)]
    assert most <= 12 + LOOK + 1


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("persisted", [False, True])
def test_losses_of_a_loop_are_computed_on_the_way(n, persisted):
    def job(world):
        x, y, losses, most = taskarr.asarray(X, split=0), taskarr.asarray(X, split=1), [], 0
        for _ in range(60):
            x = x * 0.5 + 1
            if persisted:
                x = x.persist()
            losses += [x.mean(), ((x - y) ** 2).mean() * 2]
            most = max(most, watched(world))
        assert most <= (4 if persisted else MOST_WATCHED + LOOK)
        return [float(loss) for loss in losses]

    expected, x = [], X
    for _ in range(60):
        x = x * 0.5 + 1
        expected += [x.mean(), ((x - X) ** 2).mean() * 2]
    np.testing.assert_allclose(on_ranks(n, job).value, expected, rtol=1e-14)


# ---------------------------------------------------------------------- garbage and errors


@pytest.mark.parametrize("n", [2, 3])
def test_cyclic_garbage_on_one_rank_changes_nothing(n):
    def job(world):
        a = taskarr.asarray(X, split=0)
        nodes, found = [], []
        for k in range(5):
            b = a * k
            mean, both = b.mean(), (b + 1).max()
            nodes.append(b._expr)
            if world.rank == k % n:
                cycle = [mean, both, b]
                cycle.append(cycle)
                del cycle
            del mean, both, b
            found.append(float((a + k).sum()))
            if k == 3 and world.rank == 1:
                gc.collect()
        return found, [node.held for node in nodes], watched(world)

    gc.disable()
    try:
        found = on_ranks(n, job).value
    finally:
        gc.enable()
    assert found == ([X.sum() + 35 * k for k in range(5)], [False] * 5, 0)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_the_error_of_a_reduction_that_joins_comes_where_it_is_asked_for(n, tmp_path):
    def job(world):
        path = tmp_path / f"{world.rank}.npy"
        np.save(path, X)
        x = taskarr.asarray(X, split=0)
        lost = (x * taskarr.load(path, split=0)).sum()
        fine = x.mean()
        path.write_bytes(path.read_bytes()[:-80])
        y = (x + 1).persist()
        assert held(lost, y) == [False, True]
        with pytest.raises(OSError, match="bytes early"):
            float(lost)
        return y.numpy(), float(fine), float((x + y).sum()), watched(world)

    y, fine, total, left = on_ranks(n, job).value
    np.testing.assert_array_equal(y, X + 1)
    assert (fine, total, left) == (17.0, (2 * X + 1).sum(), 0)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_after_an_exception_everything_is_as_it_was(n, tmp_path):
    def job(world):
        path = tmp_path / f"{world.rank}.npy"
        x, losses = taskarr.asarray(X, split=0), []
        pool = runtime(world).backend_on(DEVICE)
        before = pool.live
        for _ in range(6):
            losses.append(x.mean())
            with pytest.raises(ValueError, match="broadcast"):
                x + np.ones(4)
            np.save(path, X)
            bad = taskarr.load(path, split=0)
            path.write_bytes(path.read_bytes()[:-80])
            with pytest.raises(OSError, match="early"):
                (bad + x).persist()
            x = x * 2
        del bad
        assert pool.live - before < POOLED  # devices count small arrays too
        return x.numpy(), [float(loss) for loss in losses]

    x, losses = on_ranks(n, job).value
    np.testing.assert_array_equal(x, X * 64)
    assert losses == [17.0 * 2**k for k in range(6)]
