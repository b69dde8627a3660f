"""The table of cases; adding a benchmark is adding an entry to `CASES`.

A computation is written once, for the functions and methods that all libraries share:
``run(xp, *arrays)`` with NumPy and NumPy arrays, with taskarr and its arrays, and so on;
``special`` has what a library spells in its own way.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

import scheduler
from benchmarks.case import (
    Arrays,
    Case,
    Target,
    against_numpy,
    normal,
    read,
    read_and_write,
    square,
)
from scheduler.engine import execute
from scheduler.plan import Plan, Step, Task

ELEMENTS = 50_000_000
TABLE = (1_000_000, 50)
ROWS = (5_000_000, 8)
TASKS = 10_000
ONLY_HERE = {"dask": None, "heat": None, "mpiarray": None}
"""Left out of a case: a write would add to an array's graph, or most of these have no way."""


def outlier_rows(xp: Any, a: Any) -> Any:
    """Return the rows that have a number over 3."""
    return a[(a > 3).any(axis=1)]


def read_and_write_rows(a: np.ndarray) -> int:
    """Return the traffic of `outlier_rows`: the array is read once, the rows found are written."""
    return a.nbytes + outlier_rows(np, a).nbytes


def five_points(xp: Any, u: Any) -> Any:
    """Return the inner points after one explicit step of the heat equation."""
    neighbours = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
    return u[1:-1, 1:-1] + 0.1 * (neighbours - 4 * u[1:-1, 1:-1])


def draw_normals(xp: Any, a: Any) -> Any:
    """Return as many normal numbers as the array has, of a new generator."""
    return xp.random.default_rng(1).normal(size=a.shape)


def turn_of_a_loop(xp: Any, a: Any) -> float:
    """Return a number that takes ten operations on small arrays."""
    b = a * 2 + 1
    c = b - a
    d = xp.sqrt(abs(c)) + b
    e = d / (1 + c * c)
    return float((e - a).sum())


def rows_and_index(count: int, order: str) -> Callable[[float], Arrays]:
    """Return a maker of `count` arrays of rows, and of as many row numbers, random or sorted."""

    def make(scale: float) -> Arrays:
        rows = normal(count, *ROWS)(scale)
        index = np.random.default_rng(9).integers(0, len(rows[0]), len(rows[0]))
        return (*rows, np.sort(index) if order == "sorted" else index)

    return make


def numbers_and_mask(scale: float) -> Arrays:
    """Return normal numbers and where they are positive."""
    (a,) = normal(1, ELEMENTS)(scale)
    return a, a > 0


def read_by_mask(a: np.ndarray, mask: np.ndarray) -> int:
    """Return the traffic of ``a[mask]``: all is read once, what is found is written."""
    return read(a, mask) + a[mask].nbytes


def write_by_mask(xp: Any, a: Any, mask: Any) -> Any:
    """Write a number where a mask is true."""
    a[mask] = 7.5
    return a


def write_rows(xp: Any, a: Any, values: Any, index: Any) -> Any:
    """Write rows at row numbers, some of which come more than once."""
    a[index] = values
    return a


def _nothing(*inputs: None) -> None:
    return None


@cache
def chain_of_empty_tasks() -> Plan:
    """Return a plan of `TASKS` local tasks that do nothing, each with the last one's value."""
    tasks = (Task("empty", _nothing, (k - 1,) if k else (), k) for k in range(TASKS))
    return Plan((Step("chain", tuple(tasks)),), (TASKS - 1,))


def run_empty_tasks(taskarr: Any) -> None:
    """Run `chain_of_empty_tasks` on this rank's engine."""
    execute(scheduler.current(), chain_of_empty_tasks(), {}, "benchmark")


CASES = (
    Case(
        name="sqrt",
        title="sqrt(a*a + b*b)*2 - 1, 50 M",
        make=normal(2, ELEMENTS),
        run=lambda xp, a, b: xp.sqrt(a * a + b * b) * 2 - 1,
        traffic=read_and_write,
        targets=against_numpy(0.65, 0.38),
    ),
    Case(
        name="square-sum",
        title="((a - b)**2).sum(), 50 M",
        make=normal(2, ELEMENTS),
        run=lambda xp, a, b: ((a - b) ** 2).sum(),
        traffic=read,
        targets=against_numpy(0.6, 0.35),
    ),
    Case(
        name="sum",
        title="a.sum(), (1 M, 50)",
        make=normal(1, *TABLE),
        run=lambda xp, a: a.sum(),
        traffic=read,
        targets=against_numpy(1.15, 0.8),
    ),
    Case(
        name="mean-axis0",
        title="a.mean(axis=0), (1 M, 50)",
        make=normal(1, *TABLE),
        run=lambda xp, a: a.mean(axis=0),
        traffic=read,
        targets=against_numpy(1.15, 0.8),
    ),
    Case(
        name="var",
        title="a.var(), (1 M, 50)",
        make=normal(1, *TABLE),
        run=lambda xp, a: a.var(),
        traffic=read,
        targets=against_numpy(0.6, 0.35),
    ),
    Case(
        name="std-axis0",
        title="a.std(axis=0), (1 M, 50)",
        make=normal(1, *TABLE),
        run=lambda xp, a: a.std(axis=0),
        traffic=read,
        targets=against_numpy(0.75, 0.42),
    ),
    Case(
        name="describe",
        title="mean, std, min, max in one run, (1 M, 50)",
        make=normal(1, *TABLE),
        run=lambda xp, a: (a.mean(), a.std(), a.min(), a.max()),
        traffic=read,
        targets=against_numpy(0.6, 0.35),
    ),
    Case(
        name="filter",
        title="a[(a > 3).any(axis=1)], (1 M, 50)",
        make=normal(1, *TABLE),
        run=outlier_rows,
        traffic=read_and_write_rows,
        targets=against_numpy(0.8, 0.45),
    ),
    Case(
        name="stencil",
        title="5-point stencil by slices, 4000 x 4000",
        make=square(4000),
        run=five_points,
        traffic=read_and_write,
        targets=against_numpy(0.45, 0.28),
    ),
    Case(
        name="argmax",
        title="a.argmax(), (1 M, 50)",
        make=normal(1, *TABLE),
        run=lambda xp, a: a.argmax(),
        traffic=read,
        targets=against_numpy(1.1, 0.7),
    ),
    Case(
        name="sum-axis1",
        title="a.sum(axis=1), (1 M, 50)",
        make=normal(1, *TABLE),
        run=lambda xp, a: a.sum(axis=1),
        traffic=read,
        targets=against_numpy(1.0, 0.6),
    ),
    Case(
        name="where",
        title="where(a > 0, a, -a), 50 M",
        make=normal(1, ELEMENTS),
        run=lambda xp, a: xp.where(a > 0, a, -a),
        traffic=read_and_write,
        targets=against_numpy(0.7, 0.4),
    ),
    Case(
        name="reverse",
        title="a[::-1].copy(), 50 M",
        make=normal(1, ELEMENTS),
        run=lambda xp, a: a[::-1].copy(),
        special={"heat": None},
        traffic=read_and_write,
        targets=against_numpy(1.1, 0.7),
    ),
    Case(
        name="transpose",
        title="x.T.copy(), 5000 x 5000",
        make=square(5000),
        run=lambda xp, a: a.T.copy(),
        special={"heat": None},
        traffic=read_and_write,
        targets=against_numpy(0.4, 0.3),
    ),
    Case(
        name="cumsum",
        title="a.cumsum(), 50 M",
        make=normal(1, ELEMENTS),
        run=lambda xp, a: a.cumsum(axis=0),
        traffic=read_and_write,
        targets=against_numpy(1.0, 0.6),
    ),
    Case(
        name="normals",
        title="default_rng(1).normal(size=50 M)",
        make=normal(1, ELEMENTS),
        run=None,
        special={"numpy": draw_normals, "taskarr": draw_normals, "dask": draw_normals},
        traffic=None,
        targets=against_numpy(1.1, 0.6),
    ),
    Case(
        name="redistribute",
        title="rows to columns, 5000 x 5000",
        make=square(5000),
        run=None,
        special={
            "taskarr": lambda xp, a: a.redistribute(split=1),
            "dask": lambda xp, a: a.rechunk((-1, "auto")),
            "heat": lambda xp, a: xp.resplit(a, 1),
            "mpiarray": lambda xp, a: a.redistribute(xp.empty(a.shape, split=1).layout),
        },
        traffic=read_and_write,
        targets={2: Target("copy", 1.6)},
        least_ranks=2,
    ),
    Case(
        name="tasks",
        title="one of 10,000 empty local tasks",
        make=lambda scale: (),
        run=None,
        special={"taskarr": run_empty_tasks},
        traffic=None,
        targets={1: Target("seconds", 15e-6), 2: Target("seconds", 15e-6)},
        units=TASKS,
    ),
    Case(
        name="small-sum",
        title="float(a.sum()), 1,000 elements",
        make=lambda scale: normal(1, 1000)(1.0),
        run=lambda xp, a: float(a.sum()),
        traffic=None,
        targets={1: Target("seconds", 200e-6)},
        repeat=100,
    ),
    Case(
        name="small-loop",
        title="ten small operations and float(), 1,000 elements",
        make=lambda scale: normal(1, 1000)(1.0),
        run=turn_of_a_loop,
        traffic=None,
        targets={1: Target("seconds", 400e-6), 2: Target("seconds", 600e-6)},
        repeat=50,
    ),
    Case(
        name="mask-read",
        title="a[mask], half of 50 M",
        make=numbers_and_mask,
        run=lambda xp, a, mask: a[mask],
        special={"heat": None},
        traffic=read_by_mask,
        targets=against_numpy(0.5, 0.4),
    ),
    Case(
        name="mask-write",
        title="a[mask] = 7.5, half of 50 M",
        make=numbers_and_mask,
        run=write_by_mask,
        special=ONLY_HERE,
        traffic=read_and_write,
        targets=against_numpy(1.0, 0.7),
    ),
    Case(
        name="gather",
        title="a[index], random rows of (5 M, 8)",
        make=rows_and_index(1, "random"),
        run=lambda xp, a, index: a[index],
        special=ONLY_HERE,
        traffic=read_and_write,
        targets=against_numpy(0.5, 0.45),
    ),
    Case(
        name="gather-sorted",
        title="a[index], sorted rows of (5 M, 8)",
        make=rows_and_index(1, "sorted"),
        run=lambda xp, a, index: a[index],
        special=ONLY_HERE,
        traffic=read_and_write,
        targets=against_numpy(0.5, 0.4),
    ),
    Case(
        name="scatter",
        title="a[index] = rows, random of (5 M, 8)",
        make=rows_and_index(2, "random"),
        run=write_rows,
        special=ONLY_HERE,
        traffic=read_and_write,
        targets=against_numpy(1.2, 0.9),
    ),
    Case(
        name="element",
        title="float(a[i, j]), (1000, 50)",
        make=normal(1, 1000, 50),
        run=lambda xp, a: float(a[len(a) // 3, 7]),
        traffic=None,
        targets={1: Target("seconds", 60e-6), 2: Target("seconds", 120e-6)},
        repeat=200,
    ),
)

BY_NAME = {case.name: case for case in CASES}
