"""A failure on any rank is everybody's: same exception, nothing changed, the program goes on."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import taskarr
from scheduler import SPMDError, run_virtual
from scheduler.comm import VirtualWorld
from scheduler.errors import Failure
from scheduler.plan import Plan, Recv, Send, Stage
from taskarr import evaluate
from tests.layouts import TINY, on_ranks, quiet
from tests.oracle import Raised

X = np.arange(35.0).reshape(7, 5)


class Injected(ArithmeticError):
    """What the tests raise."""


def fail(*args):
    raise Injected("injected")


def places(plan: Plan) -> list[tuple[str, int, int]]:
    """All that can fail in a plan: (kind, step, number in it)."""
    found = []
    for at, step in enumerate(plan.steps):
        if isinstance(step, Stage):
            found.append(("stage", at, 0))
            continue
        found += [("task", at, k) for k in range(len(step.tasks))]
        found += [("send", at, k) for k, s in enumerate(step.sends) if isinstance(s, Send)]
        found += [("recv", at, k) for k, r in enumerate(step.recvs) if isinstance(r, Recv)]
    return found


def broken(plan: Plan, kind: str, at: int, k: int) -> Plan:
    """The plan with one thing in it that raises."""
    steps = list(plan.steps)
    step = steps[at]
    if isinstance(step, Stage):
        run = step.run

        def failing(world, values):
            run(world, Failure(at, Injected("injected")))

        def failing_stage(world, values):
            try:
                failing(world, values)
            except Exception as error:
                raise Injected("injected") from error

        steps[at] = replace(step, run=failing_stage)
    else:
        name = {"task": "tasks", "send": "sends", "recv": "recvs"}[kind]
        call = {"task": "run", "send": "pack", "recv": "make"}[kind]
        items = list(getattr(step, name))
        items[k] = replace(items[k], **{call: fail})
        steps[at] = replace(step, **{name: tuple(items)})
    return Plan(tuple(steps), plan.outputs)


def halves(a):
    """Expressions with messages, trees, dense exchanges and views."""
    return (a[1:] + a[:-1]) * 2, a.sum(), a.std(axis=0), a.redistribute(split=1), a[::-1, ::2].T + 1


def masked(a):
    return (a[a[:, 1] % 2 == 0],)


def written(a):
    a[1:-1] = a[2:] + a[:-2]
    a += 1
    return a, a.max(axis=1)


@pytest.fixture
def breakable(monkeypatch):
    """Let ``world.state["break"]`` = (rank, number of the run, place) choose what fails."""
    real = evaluate.execute

    def execute(world, plan, values, where, **options):
        state = world.state
        number = state["runs"] = state.get("runs", -1) + 1
        state.setdefault("places", []).append((world.rank, number, places(plan)))
        case = state.get("break")
        if case and case[:2] in ((world.rank, number), (world.rank, ANY)):
            plan = broken(plan, *(case[2] or places(plan)[-1]))
        return real(world, plan, values, where, **options)

    monkeypatch.setattr(evaluate, "execute", execute)


ANY = -1
"""Every run."""


def attempt_and_repeat(world, program, case):
    """What a program's first run raised, and what its results are at the second attempt."""
    a = taskarr.asarray(X, split=0).persist()
    world.state.update({"runs": -1, "break": case})
    results, message = None, "nothing was raised"
    try:
        results = program(a)
        taskarr.compute(*results)
    except Injected as error:
        message = str(error)
    world.state["break"] = None
    return message, taskarr.compute(*(results or program(a)))


@pytest.mark.parametrize("program", [halves, masked, written], ids=lambda p: p.__name__)
@pytest.mark.parametrize("n", [1, 2, 3])
def test_any_failure_on_any_rank(breakable, program, n):
    """Every task, message and stage of every rank fails once; then the same arrays are right."""

    def clean(world):
        return attempt_and_repeat(world, program, None)[1], world.state["places"]

    ran = on_ranks(n, clean, alike=False)
    assert ran.flowed or n == 1
    expected = ran.value[0]
    cases = [
        (rank, number, place)
        for _, runs in ran.values
        for rank, number, found in runs[: len(runs) // 2]
        for place in found
    ]
    assert n == 1 or {place[0] for _, _, place in cases} >= {"task", "stage"}
    cases = cases[:: max(1, len(cases) // 60)]
    found = on_ranks(n, lambda w: [attempt_and_repeat(w, program, case) for case in cases]).value
    for case, (message, results) in zip(cases, found, strict=True):
        assert message == "injected", case
        for x, y in zip(results, expected, strict=True):
            assert x.tobytes() == y.tobytes(), case


def test_nothing_is_committed(breakable):
    """After a failed run every array is as it was, and can be computed later."""

    def job(world):
        a = taskarr.asarray(X, split=0)
        b = a * 2
        view = b[1:]
        total = b.sum()
        view += 100
        world.state["break"] = (world.size - 1, ANY, None)
        for act in (
            b.numpy,
            b.persist,
            total.numpy,
            view.gather,
            lambda: float(total),
            lambda: str(b),
            lambda: a[a > 3],
        ):
            with pytest.raises(Injected):
                act()
        assert not b._cell.expr.held
        world.state["break"] = None
        return a.numpy(), b.numpy(), view.numpy(), total.numpy(), a[a > 3].numpy()

    y = X * 2
    y[1:] += 100
    for n in (1, 2, 3):
        for found, wanted in zip(
            on_ranks(n, job).value, (X, y, y[1:], (X * 2).sum(), X[X > 3]), strict=True
        ):
            np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("size", [0, 1, 100_000])
def test_exceptions_of_any_kind_reach_all_ranks(monkeypatch, size):
    class Unpicklable(Exception):
        def __reduce__(self):
            raise TypeError("no")

    real = evaluate.execute
    errors = (ValueError("x" * size), MemoryError(), KeyError(1, 2), Unpicklable("mine"))

    def job(world):
        names = []
        for error in errors:

            def raising(*args, error=error):
                raise error

            def execute(w, plan, values, where, raising=raising, **options):
                if w.rank == 1 % w.size:
                    at = next(k for k, s in enumerate(plan.steps) if getattr(s, "tasks", ()))
                    tasks = plan.steps[at].tasks
                    first = replace(
                        plan.steps[at], tasks=(replace(tasks[0], run=raising), *tasks[1:])
                    )
                    plan = Plan((*plan.steps[:at], first, *plan.steps[at + 1 :]), plan.outputs)
                return real(w, plan, values, where, **options)

            world.state["execute"] = execute
            try:
                (taskarr.asarray(X, split=0) + 1).numpy()
            except Exception as caught:
                told = isinstance(error, Unpicklable) and world.size > 1
                kind = RuntimeError if told else type(error)
                names.append((isinstance(caught, kind), str(error) in str(caught)))
            world.state["execute"] = real
        return names

    monkeypatch.setattr(
        evaluate, "execute", lambda w, *rest, **more: w.state.get("execute", real)(w, *rest, **more)
    )
    for n in (1, 3):
        for names in on_ranks(n, job, alike=False).values:
            assert names == [(True, True)] * 4


BAD = {
    "shapes": lambda a: a + np.ones(4),
    "key": lambda a: a[9],
    "axis": lambda a: a.sum(axis=3),
    "dtype": lambda a: a & a,
    "write": lambda a: a.__setitem__(0, np.ones(4)),
    "truth": lambda a: bool(a),
    "minimum of nothing": lambda a: a[:0].min(),
    "mask": lambda a: a[np.ones(3, bool)],
    "layout": lambda a: a.redistribute(split=5),
    "root": lambda a: a.gather(root=99),
    "file": lambda a: taskarr.load("/does/not/exist.npy"),
    "folder": lambda a: taskarr.save("/does/not/exist.npy", a),
    "object": lambda a: taskarr.asarray([None]),
    "later": lambda a: a @ a,
    "index": lambda a: a[[1, 99]],
    "settings": lambda a: taskarr.settings(block=-1).__enter__(),
}


def test_the_program_goes_on_after_bad_input():
    def job(world):
        a = taskarr.asarray(X, split=0)
        b = a * 2
        names = []
        for act in BAD.values():
            try:
                act(b)
            except Exception as error:
                names.append(Raised(type(error).__name__, str(error)))
            else:
                names.append("nothing was raised")
            b = b + 1
        return names, b.numpy()

    for n in (1, 2, 5):
        names, b = on_ranks(n, job).value
        assert all(isinstance(name, Raised) for name in names), dict(zip(BAD, names, strict=True))
        np.testing.assert_array_equal(b, X * 2 + len(BAD))


# ------------------------------------------------------------------ ranks that disagree


def each(n, job):
    """What every rank raised or gave."""

    def guarded(world):
        try:
            with taskarr.settings(**TINY):
                return job(world)
        except Exception as error:
            return error

    with quiet():
        return run_virtual(n, guarded)


def other_operation(world, a):
    return ((a + 1) if world.rank else (a - 1)).numpy()


def other_shape(world, a):
    return a[world.rank :].numpy()


def other_dtype(world, a):
    return a.astype("f4" if world.rank else "f8").numpy()


def other_layout(world, a):
    return taskarr.asarray(X, split=world.rank % 2).sum().numpy()


def other_axis(world, a):
    return a.sum(axis=min(world.rank, 1)).numpy()


def other_length(world, a):
    return taskarr.compute(*[a + k for k in range(1 + (world.rank == 1))])


def other_key_of_a_write(world, a):
    a[min(world.rank, 1)] = 0
    return a.numpy()


def other_held_nodes(world, a):
    b = a * 2
    if world.rank == 0:
        b.persist()
    return (b + 1).numpy()


def load_or_compute(world, a):
    return a.numpy() if world.rank else taskarr.load("x.npy")


def save_or_compute(world, a):
    return a.sum().numpy() if world.rank else taskarr.save("x.npy", a)


def print_on_one_rank(world, a):
    if world.rank == 0:
        str(a * 2)
    return (a + 1).sum().numpy()


def mask_on_one_rank(world, a):
    return a[a > 3] if world.rank == 0 else a.sum().numpy()


DISAGREE = (
    other_operation, other_shape, other_dtype, other_layout, other_axis, other_length,
    other_key_of_a_write, other_held_nodes, load_or_compute, save_or_compute, print_on_one_rank,
    mask_on_one_rank,
)  # fmt: skip


@pytest.mark.parametrize("program", DISAGREE, ids=lambda p: p.__name__)
@pytest.mark.parametrize("n", [2, 3])
def test_ranks_that_compute_different_things_are_told_so(program, n):
    found = each(n, lambda world: program(world, taskarr.asarray(X, split=0)))
    assert all(isinstance(error, SPMDError) for error in found), found
    for error in found:
        assert "test_failures.py" in str(error)


def test_the_first_difference_and_the_lines_are_named():
    found = each(2, lambda world: other_operation(world, taskarr.asarray(X, split=0)))
    for error in found:
        text = str(error)
        assert "subtract" in text and "add" in text
        assert "rank 0" in text and "rank 1" in text
        assert "numpy()" in text


def test_other_views_and_layouts_are_told_apart():
    x = np.arange(16.0).reshape(4, 4)

    def views(world):
        a = taskarr.asarray(x, split=0)
        return a[(slice(None), 1) if world.rank else slice(None, None, -1)].numpy()

    def layouts(world):
        return (taskarr.asarray(x, split=world.rank) + 1).numpy()

    texts = {
        views: r"0: view.* of \[3::-1, 0:4\].*; rank 1: view.* of \[0:4, 1\]",
        layouts: r"split=\(0,\), blocks=4 .*split=\(1,\), blocks=4",
    }
    for job, text in texts.items():
        with pytest.raises(SPMDError, match=text):
            on_ranks(2, job)


@pytest.mark.parametrize("n", [2, 3])
def test_the_program_goes_on_after_a_disagreement(n):
    def job(world):
        a = taskarr.asarray(X, split=0)
        for program in DISAGREE[:7]:
            with pytest.raises(SPMDError):
                program(world, a.copy())
        return (a + 1).numpy()

    for found in each(n, job):
        np.testing.assert_array_equal(found, X + 1)


@pytest.mark.parametrize("n", [2, 3])
def test_a_rank_that_ends_early_is_named(n):
    def job(world):
        a = taskarr.asarray(X, split=0)
        if world.rank == 1:
            return "ended"
        return a.sum().numpy()

    found = each(n, job)
    assert found[1] == "ended"
    for rank in {0, n - 1} - {1}:
        assert isinstance(found[rank], SPMDError)
        assert "rank 1 has ended" in str(found[rank])


def test_a_rank_that_raises_alone_is_named():
    def job(world):
        a = taskarr.asarray(X, split=0)
        if world.rank == 1:
            raise KeyError("mine")
        return a.sum().numpy()

    found = each(3, job)
    assert isinstance(found[1], KeyError)
    for rank in (0, 2):
        assert isinstance(found[rank], SPMDError)
        assert "rank 1" in str(found[rank])


def test_arrays_of_two_worlds_in_one_expression():
    def job(world):
        a = taskarr.asarray(X)
        other = taskarr.asarray(X, comm=VirtualWorld())
        for act in (
            lambda: a + other,
            lambda: other * a,
            lambda: taskarr.where(a > 3, other, 0),
            lambda: a[other > 3],
            lambda: a.__setitem__(0, other[0]),
            lambda: a.__iadd__(other),
            lambda: taskarr.compute(a, other),
        ):
            with pytest.raises(ValueError, match="two communicators"):
                act()
        return a.numpy(), (other + 1).numpy()

    for n in (1, 3):
        a, b = on_ranks(n, job).value
        np.testing.assert_array_equal(a, X)
        np.testing.assert_array_equal(b, X + 1)
