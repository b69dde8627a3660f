"""Floating-point faults: NumPy's kinds, told once, at the line that built the operation, alike."""

from __future__ import annotations

import inspect
import io
import warnings
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import taskarr
from scheduler import run_virtual
from taskarr import faults
from taskarr.expr import Reduce
from taskarr.launch.hooks import _Hooks
from taskarr.runtime import runtime
from tests.layouts import TINY
from tests.test_run import mpiexec

pytestmark = pytest.mark.processor("GPUs have no floating-point flags")

RANKS = (1, 2, 3, 5)

ZEROS = np.array([1.0, 2, 3, 4, 5, 6, 0])
"""Only the last rank has the zero."""


def on(n: int, job: Callable[[Any], Any]) -> list[Any]:
    """Run a job on virtual ranks with tiny blocks, under the caller's errstate and filters."""

    def prepared(world):
        with taskarr.settings(**TINY):
            return job(world)

    return run_virtual(n, prepared)


@contextmanager
def heard():
    """Record the warnings of all ranks."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        yield found


def texts(found) -> list[str]:
    """Texts of recorded warnings, in order."""
    return [str(w.message) for w in found]


def split(x) -> taskarr.Array:
    return taskarr.asarray(np.asarray(x), split=0)


def line() -> int:
    """Number of the caller's line."""
    return inspect.currentframe().f_back.f_lineno


# ---------------------------------------------------------------------- which faults

INF, NAN = np.inf, np.nan
A = np.array([0.0, 1, -1, INF, NAN, 1e300, 1e-300, 5, 1000])
B = np.array([0.0, 0, 2, INF, 1, 1e300, 1e-300, 0, -1000])
C = np.array([0, 1 + 1j, complex(INF, 1), complex(NAN, 1), 1e300 + 1e300j, -1])
D = np.array([0, 0, 1j, 1, 1e300, INF])

_UNARY = """
negative absolute sign reciprocal square sqrt cbrt exp exp2 expm1 log log2 log10 log1p sin tan
arcsin arccos arctan sinh cosh tanh arccosh arctanh floor rint isnan isfinite
"""
_BINARY = """
add subtract multiply divide floor_divide remainder fmod power float_power arctan2 hypot logaddexp
minimum maximum fmin copysign equal less greater_equal
"""
REDUCED = {
    "large": [1e308] * 9,
    "both infinities": [INF, -INF, 1, 2, 3],
    "first infinite": [INF, 1, 2, 3, 4],
    "last infinite": [1.0, 2, 3, 4, INF],
    "nan": [NAN, 1, 2, 3],
    "plain": np.arange(9.0),
    "squares overflow": [1e200, -1e200, 1, 2, 3],
    "far from zero": [1e160] * 20,
    "tiny": [1e-300] * 9,
    "integers": np.arange(9),
    "single": np.full(9, 3e38, "f4"),
    "half": np.array([60000] * 9, "f2"),
    "complex": [complex(INF, 1), complex(-INF, 1), 1],
}
SUMS = ("sum", "mean", "min", "max", "any")
BETTER = ("large", "single", "half")
"""Where a variance overflows in NumPy's precision and not in ours, or the other way round."""


def act(name: str, *rest: Any) -> Callable[..., Any]:
    return lambda xp, *xs: getattr(xp, name)(*xs, *rest)


def at(name: str, *rest: Any) -> Callable[..., Any]:
    """``ufunc.at`` of a copy."""

    def accumulate(xp: Any, x: Any) -> Any:
        y = x.copy()
        getattr(np, name).at(y, *rest)
        return y

    return accumulate


def table() -> dict[str, tuple[Callable[..., Any], tuple[np.ndarray, ...]]]:
    """Operations and operands by label."""
    cases: dict[str, Any] = {}
    for dtype in "def":
        with np.errstate(all="ignore"):
            a, b = A.astype(dtype), B.astype(dtype)
        cases |= {f"{name} {dtype}": (act(name), (a,)) for name in _UNARY.split()}
        cases |= {f"{name} {dtype}": (act(name), (a, b)) for name in _BINARY.split()}
    cases |= {f"{name} D": (act(name), (C,)) for name in ("sqrt", "exp", "log", "absolute")}
    cases |= {f"{name} D": (act(name), (C, D)) for name in ("add", "multiply", "divide")}
    ints = np.array([1, 2, 3, -(2**63)]), np.array([1, 0, 2, -1])
    cases |= {f"{name} int": (act(name), ints) for name in ("floor_divide", "remainder", "divide")}
    for dtype in ("i4", "i8", "u1", "f4", "f2", "?"):
        for value in (NAN, INF, 1e300, 70000.0, 1.5):
            x = np.array([1.0, 2, 3, value])
            cases[f"{value} as {dtype}"] = (lambda xp, x, d=dtype: x.astype(d), (x,))
    for label, x in REDUCED.items():
        x = np.asarray(x)
        for name in SUMS if label in BETTER else (*SUMS, "var", "std"):
            cases[f"{name} of {label}"] = (act(name), (x,))
            cases[f"{name} of rows, {label}"] = (act(name, 1), (np.stack([x, x]),))
        less = lambda xp, x: x - x.mean(axis=1, keepdims=True)  # noqa: E731
        cases[f"less the mean of rows, {label}"] = (less, (np.stack([x, x]),))
    cases |= {f"{name} at": (at(name, [0, 8, 0]), (A,)) for name in ("log", "square", "sqrt")}
    for name in ("divide", "multiply", "add", "subtract"):
        cases[f"{name} at"] = (at(name, np.arange(9), B), (A,))
        cases[f"{name} one at"] = (at(name, np.array([4, 7, 7]), 0.0), (A,))
    cases["floor_divide at"] = (at("floor_divide", [1], 0), (np.arange(5),))
    cases["where"] = (lambda xp, a, b: xp.where(a > b, a, b), (A, B))
    cases["scalar"] = (lambda xp, a: a * 1e300, (A.clip(-9, 9).astype("f4"),))
    return cases


def kinds(job: Callable[[], Any]) -> set[str]:
    """Kinds of faults that the job's operations are told of, by ``errstate(all="call")``."""
    found: set[str] = set()
    with np.errstate(all="call", call=lambda kind, flags: found.add(kind)):
        job()
    return found


def hold(n: int, cases: dict[str, Any]) -> None:
    """Hold the faults of operations against NumPy's on so many ranks."""
    expected = {k: kinds(lambda f=f, xs=xs: f(np, *xs)) for k, (f, xs) in cases.items()}
    assert any(expected.values())

    def job(world):
        return {
            k: kinds(lambda f=f, xs=xs: f(taskarr, *map(split, xs)).persist())
            for k, (f, xs) in cases.items()
        }

    for rank, found in enumerate(on(n, job)):
        wrong = {k: (found[k], expected[k]) for k in cases if found[k] != expected[k]}
        assert not wrong, f"rank {rank} of {n}: (ours, NumPy's) {wrong}"


@pytest.mark.parametrize("n", (1, 3))
def test_the_same_faults_as_numpy(n):
    hold(n, table())


@pytest.mark.parametrize("dtype", ("f8", "f4", "c16"))
def test_no_faults_in_large_arrays_of_ordinary_numbers(dtype):
    x = np.random.default_rng(1).normal(size=(900, 1000)).astype(dtype)
    x[400, 500] = NAN
    a = taskarr.asarray(x)

    def job():
        for axis in (None, 0, 1):
            taskarr.compute(a.mean(axis), a.var(axis), a.std(axis), a.sum(axis), a.max(axis))
        (a - a.mean(1, keepdims=True)).persist()

    assert kinds(job) == set()


# ---------------------------------------------------------------------- told once, where, by whom


@pytest.mark.parametrize("n", RANKS)
def test_one_warning_at_the_building_line_on_every_rank(n):
    def job(world):
        a = split(ZEROS)
        c = 1 / a
        where = line() - 1
        total = (c + 1).sum()
        c.persist()
        float(total)
        return where

    with heard() as found:
        where = on(n, job)[0]
    assert texts(found) == ["divide by zero encountered in divide"] * n
    assert {(w.filename, w.lineno, w.category) for w in found} == {
        (__file__, where, RuntimeWarning)
    }
    assert sorted(w.message.rank for w in found) == list(range(n))


@pytest.mark.parametrize("n", (1, 3))
def test_ignored_where_it_was_built_or_where_it_is_computed(n):
    def job(world):
        a = split(ZEROS)
        with np.errstate(divide="ignore"):
            silent = 1 / a
        loud = 2 / a
        with np.errstate(all="ignore"):
            taskarr.compute(silent, loud)

    with heard() as found:
        on(n, job)
    assert texts(found) == ["divide by zero encountered in divide"] * n


def test_each_node_and_kind_in_the_order_of_the_program():
    def job(world):
        a = split(np.array([0.0, 1, -1, 1000, 2]))
        return taskarr.compute(np.exp(a), np.sqrt(a), a / a, np.log(a), a.astype("i8"))

    with heard() as found:
        on(1, job)
    assert texts(found) == [
        "overflow encountered in exp",
        "invalid value encountered in sqrt",
        "invalid value encountered in divide",
        "divide by zero encountered in log",
        "invalid value encountered in log",
    ]


def test_a_node_that_is_computed_again_does_not_warn_again():
    def job(world):
        a = split(ZEROS)
        inner = 1 / a
        first, second = inner + 1, inner + 2
        del inner
        first.persist()
        second.persist()

    with heard() as found:
        on(2, job)
    assert len(found) == 2


def test_a_node_in_several_passes_warns_once():
    def job(world):
        a = split(ZEROS)
        c = 1 / a
        return taskarr.compute(c[::-1] + a, c.sum(), c[1:] - c[:-1])

    with heard() as found:
        on(2, job)
    assert texts(found).count("divide by zero encountered in divide") == 2


def test_merging_blames_the_reduction_that_overflowed():
    def job(world):
        a = split(np.full(8, 1e100))
        total = a.sum()
        product = a.prod()
        where = line() - 1
        taskarr.compute(total, product, a.max())
        return where

    for n in (1, 3):
        with heard() as found:
            where = on(n, job)[0]
        told = [(str(w.message), w.lineno) for w in found]
        assert told == [("overflow encountered in reduce", where)] * n


def test_default_filters_print_a_line_once_in_a_loop():
    def job(world):
        a = split(ZEROS)
        for _ in range(3):
            (1 / a).persist()

    globals().pop("__warningregistry__", None)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("default")
        on(1, job)
    assert len(found) == 1


def test_filters_by_module():
    def job(world):
        (1 / split(ZEROS)).persist()

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module=__name__.replace(".", r"\."))
        on(2, job)


# ---------------------------------------------------------------------- modes


def warned_as_error(world) -> None:
    """One rank's fault is everybody's error; what was computed stays, and the program goes on."""
    a = split(ZEROS)
    c = 1 / a
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning, match="divide by zero encountered in divide"):
            c.persist()
    assert float(c[0]) == 1
    assert float(a.sum()) == 21


def raised(world) -> None:
    """Under ``raise`` the call raises on every rank, and writes nothing."""
    a, b = split(ZEROS), split(ZEROS)
    with np.errstate(divide="raise", over="raise", invalid="ignore"):
        for fails in (lambda: 1 / a, lambda: np.divide(b, a - a, out=b), lambda: (1 / a).sum()):
            with pytest.raises(FloatingPointError, match="divide by zero encountered in divide"):
                fails()
        with pytest.raises(FloatingPointError, match="overflow encountered in reduce"):
            split(np.full(4, 1e308)).sum()
        with pytest.raises(FloatingPointError, match="floor_divide"):
            split([1, 2, 3]) // split([1, 2, 0])
        with pytest.raises(FloatingPointError, match="divide"):
            b /= a - 3
        with pytest.raises(FloatingPointError, match="divide"):
            b[1:] = 1 / a[1:]
        assert not (a + 1)._expr.depth
        assert (a > 3)[2:]._expr.depth
    np.testing.assert_array_equal(b.numpy(), ZEROS)
    assert float((a + 1).sum()) == 28


MODES = (warned_as_error, raised)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("n", RANKS)
def test_errors_are_everybodys(n, mode):
    assert on(n, lambda world: mode(world) or "done") == ["done"] * n


def test_the_error_names_the_line():
    def job(world):
        with np.errstate(divide="raise"), pytest.raises(FloatingPointError) as caught:
            1 / split(ZEROS)
        assert caught.value.__notes__ == [f"in the operation at test_faults.py:{line() - 1}"]

    on(2, job)


def test_seterr():
    def job(world):
        np.seterr(divide="raise")
        with pytest.raises(FloatingPointError):
            1 / split(ZEROS)

    before = np.geterr()
    on(2, job)
    assert np.geterr() == before


def test_print_on_rank_0(capsys):
    with np.errstate(divide="print"):
        on(3, lambda world: (1 / split(ZEROS)).persist())
    assert capsys.readouterr().out == "Warning: divide by zero encountered in divide\n"


def test_call_and_log_use_the_object_of_the_building_moment():
    def job(world):
        log, calls = io.StringIO(), []
        a = split(ZEROS)
        with np.errstate(divide="log", call=log):
            c = 1 / a
        with np.errstate(all="call", call=lambda *told: calls.append(told)):
            d = c - c
        taskarr.compute(c, d)
        return log.getvalue(), calls

    expected = "Warning: divide by zero encountered in divide\n", [("invalid value", 8)]
    assert on(3, job) == [expected] * 3


@pytest.mark.parametrize("mode", ("call", "log"))
def test_call_and_log_without_an_object(mode):
    def job(world):
        with np.errstate(divide=mode, call=None):
            c = 1 / split(ZEROS)
        with pytest.raises(NameError, match="divide by zero"):
            c.persist()

    on(2, job)


# ---------------------------------------------------------------------- what is converted at once


def test_values_that_are_written_warn_at_the_line_of_the_write():
    def job(world):
        a = split(np.zeros(5, "f4"))
        a[1:] = 1e300
        where = line() - 1
        taskarr.where(a > 0, 1e300, a)
        return where

    with heard() as found:
        where = on(1, job)[0]
    assert texts(found) == ["overflow encountered in cast"] * 2
    assert [(w.filename, w.lineno) for w in found] == [(__file__, where), (__file__, where + 2)]


# ---------------------------------------------------------------------- notes about data


@pytest.mark.parametrize("n", (1, 3))
def test_notes_of_a_reduction_warn_at_its_line_whatever_errstate_says(n):
    def finish(xp, state, count, options):
        if state[0].max() > 5:
            faults.note("Mean of empty slice")
        return state[0]

    def noting(node):
        (node,) = [x for x in (node, *node.inputs) if isinstance(x.op, Reduce)]
        reduction = node.op.reduction
        row = replace(reduction.row, name="noting", finish=finish)
        node.op = Reduce(replace(reduction, row=row))

    def job(world):
        a = split(ZEROS)
        with np.errstate(all="ignore"):
            small, large = (a - 5).sum(), a.sum()
        noting(small._expr)
        noting(large._expr)
        taskarr.compute(a.mean(), small, large)

    with heard() as found:
        on(n, job)
    assert texts(found) == ["Mean of empty slice"] * n


def test_notes_are_those_that_have_a_bit():
    faults.note(faults.NOTES[0])
    with pytest.raises(KeyError):
        faults.note("no such text")


# ---------------------------------------------------------------------- cost


def test_nothing_is_sent_for_runs_without_faults():
    def job(world):
        a = split(ZEROS)
        a.persist()
        counts = []
        for divisor in (2, 0):
            before = world.counters["allreduce"]
            (a / divisor).persist()
            counts.append(world.counters["allreduce"] - before)
        return counts

    with heard():
        assert on(3, job) == [[2, 3]] * 3


def test_plans_do_not_depend_on_errstate():
    def job(world):
        a = split(ZEROS)
        for mode in ("warn", "ignore", "print"):
            with np.errstate(divide=mode):
                (2 / (a + 1)).persist()
        return len(runtime(world).cache.plans)

    assert on(2, job) == [1, 1]


def test_policy_without_numpys_private_name(monkeypatch):
    monkeypatch.setattr(np._core, "umath", None)
    policy = faults._capture()
    with np.errstate(over="raise", under="print"):
        found = policy()
        assert found.modes == ("warn", "raise", "print", "warn")
        assert found == faults.policy()
    assert found.raises
    assert not policy().raises


# ---------------------------------------------------------------------- real ranks


@pytest.mark.ranks(2, 3)
@pytest.mark.parametrize("mode", MODES)
def test_errors_are_everybodys_on_mpi(world, mode):
    with taskarr.settings(**TINY):
        mode(world)


@pytest.mark.ranks(2, 3)
def test_one_warning_on_every_mpi_rank(world):
    with taskarr.settings(**TINY), heard() as found:
        a = split(ZEROS)
        c = (1 / a).sum()
        with np.errstate(all="ignore"):
            float(c)
            float((0 / a).sum())
    assert texts(found) == ["divide by zero encountered in divide"]
    assert found[0].message.rank == world.rank


JOB = """
import numpy as np, taskarr
with taskarr.settings(block=16, replicate=False):
    a = taskarr.asarray(np.arange(7.0)[::-1].copy(), split=0)
    c = 1 / a
    print(float(c.max()))
"""


def test_a_job_prints_a_warning_once(tmp_path):
    done = mpiexec(tmp_path, JOB, 3)
    assert done.returncode == 0, done.stderr
    said = [text for text in done.stderr.splitlines() if "Warning" in text]
    assert len(said) == 1, done.stderr
    assert said[0].endswith("job.py:5: RuntimeWarning: divide by zero encountered in divide")


def test_the_hook_passes_on_all_other_warnings():
    shown = []
    hooks = _Hooks()
    hooks.print_warning = lambda message, *rest: shown.append(str(message))
    told = RuntimeWarning("of rank 1")
    told.rank = 1
    for message in (told, RuntimeWarning("somebody's"), "a text"):
        hooks.warned(message, RuntimeWarning, "f.py", 1)
    assert shown == ["somebody's", "a text"]
