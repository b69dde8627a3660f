"""The cases: what is computed, on which data, how many bytes must move, and the targets.

A case is one entry of `CASES`. Its ``run`` is written once, for the functions and methods that all
libraries share: ``run(xp, *arrays)`` with NumPy and NumPy arrays, with taskarr and its arrays, and
so on; ``special`` has what a library spells in its own way.

**The rule for bytes.** ``traffic`` counts what an ideal single pass over the data must read and
write: each input once, each result once, no temporaries. Copying m bytes reads m and writes m, so
the copy limit of a case is the time of copying half of its traffic, spread over the ranks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal

import numpy as np

import scheduler
from scheduler.engine import execute
from scheduler.plan import Plan, Step, Task

TASKS = 10_000

Arrays = tuple[np.ndarray, ...]


@dataclass(frozen=True, slots=True)
class Target:
    """What taskarr's time may be at most, as a multiple of NumPy's, of the copy limit's, or in s.

    A target over NumPy also counts as reached within `COPY_LIMITS` copy limits.
    """

    over: Literal["numpy", "copy", "seconds"]
    most: float


COPY_LIMITS = 1.25
"""Copy limits within which a case passes, whatever its ratio to NumPy."""


@dataclass(frozen=True, slots=True)
class Case:
    """One benchmark.

    Parameters
    ----------
    name, title
        What it is called on the command line, and what it computes.
    make
        ``make(scale)`` gives its float64 arrays, alike on all ranks, with `scale` times the
        elements of the full size.
    run
        ``run(xp, *arrays)`` gives a result or a tuple of them, which each library then computes
        and keeps; None if there is no common spelling.
    traffic
        ``traffic(*arrays)`` gives bytes that must be read and written; None without copy limit.
    targets
        By number of ranks.
    special
        Other ``run`` by name of the library; None: not for this one.
    least_ranks
        Ranks from which on the case makes sense.
    repeat
        Calls in one reading of the clock (the first round: one).
    units
        Pieces of work in one call; times are given for one.
    """

    name: str
    title: str
    make: Callable[[float], Arrays]
    run: Callable[..., Any] | None
    traffic: Callable[..., int] | None
    targets: Mapping[int, Target]
    special: Mapping[str, Callable[..., Any] | None] = field(default_factory=dict)
    least_ranks: int = 1
    repeat: int = 1
    units: int = 1

    def run_of(self, library: str) -> Callable[..., Any] | None:
        """Return what computes the case with a library."""
        return self.special.get(library, self.run)


def normal(count: int, *shape: int) -> Callable[[float], Arrays]:
    """Return a maker of `count` arrays of normal numbers, scaled along the first axis."""

    def make(scale: float) -> Arrays:
        rows = max(1, round(shape[0] * scale))
        return tuple(
            np.random.default_rng(seed).standard_normal((rows, *shape[1:])) for seed in range(count)
        )

    return make


def square(side: int) -> Callable[[float], Arrays]:
    """Return a maker of one square of normal numbers, scaled along both axes."""

    def make(scale: float) -> Arrays:
        scaled = max(3, round(side * scale**0.5))
        return (np.random.default_rng(0).standard_normal((scaled, scaled)),)

    return make


def against_numpy(alone: float, two: float) -> dict[int, Target]:
    """Return targets as multiples of NumPy's time, for one rank and for two."""
    return {1: Target("numpy", alone), 2: Target("numpy", two)}


def read(*arrays: np.ndarray) -> int:
    """Return the traffic of a reduction to little: each array is read once."""
    return sum(x.nbytes for x in arrays)


def read_and_write(*arrays: np.ndarray) -> int:
    """Return the traffic of an operation with one result as large as its first array."""
    return read(*arrays) + arrays[0].nbytes


def read_and_write_rows(a: np.ndarray) -> int:
    """Return the traffic of `outlier_rows`: the array is read once, the rows found are written."""
    return a.nbytes + outlier_rows(np, a).nbytes


def outlier_rows(xp: Any, a: Any) -> Any:
    """Return the rows that have a number over 3."""
    return a[(a > 3).any(axis=1)]


def five_points(xp: Any, u: Any) -> Any:
    """Return the difference of each inner point and the mean of its four neighbours."""
    neighbours = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
    return neighbours * 0.25 - u[1:-1, 1:-1]


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


ELEMENTS = 50_000_000
TABLE = (1_000_000, 50)

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
)

BY_NAME = {case.name: case for case in CASES}
