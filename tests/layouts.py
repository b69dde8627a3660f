"""The layouts under test, as data, and running a job on virtual ranks that must agree."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

import taskarr
from scheduler import run_virtual

RANKS = (1, 2, 3, 5, 7)
"""Numbers of virtual ranks."""

TINY = {"block": 16, "replicate": False}
"""Settings under which arrays of a few rows have several owners."""

MESSAGES = ("sends", "alltoallv_bytes", "pairwise")


def uneven(n: int) -> tuple[int, ...]:
    """Block lengths that differ: (1, 4, 2) of 7."""
    parts = (1, n * 3 // 5, n - 1 - n * 3 // 5)
    return tuple(p for p in parts if p > 0) if n else (0,)


@dataclass(frozen=True)
class Placing:
    """A layout and the shape of the arrays that it is tested with.

    Arrays of fewer axes are cut along the first one if the layout's axes are missing.
    """

    name: str
    shape: tuple[int, int] = (7, 5)
    split: Any = 0
    uneven: bool = False

    def __str__(self) -> str:
        return self.name

    def place(self, x: np.ndarray) -> taskarr.Array:
        """Distribute an array so."""
        if x.ndim == 0 or self.split is None:
            return taskarr.asarray(x, split=None)
        if self.uneven:
            return taskarr.asarray(x, split=0, chunks=tuple(map(uneven, x.shape)))
        axes = self.split if isinstance(self.split, tuple) else (self.split,)
        axes = tuple(a for a in axes if a < x.ndim)
        return taskarr.asarray(x, split=axes or 0)


LAYOUTS = (
    Placing("replicated", split=None),
    Placing("split 0"),
    Placing("split 1", split=1),
    Placing("split (0, 1)", split=(0, 1)),
    Placing("uneven chunks", uneven=True),
    Placing("more ranks than rows", shape=(2, 5)),
    Placing("zero-length", shape=(0, 5)),
)
CUT = LAYOUTS[1:5]
"""Those in which an array of the usual shape has several owners."""


def same(a: Any, b: Any) -> bool:
    """Whether two results have the same types, shapes and bits."""
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, np.ndarray):
        return (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes())
    return type(a) is type(b) and a == b


@dataclass(frozen=True)
class Ran:
    """What a job gave on every rank, and what each rank's world counted."""

    values: list[Any]
    counters: list[Counter]

    @property
    def value(self) -> Any:
        """Result of rank 0, which is that of all ranks."""
        return self.values[0]

    def total(self, *names: str) -> int:
        """Sum of counters over ranks."""
        return sum(counter[name] for counter in self.counters for name in names)

    @property
    def flowed(self) -> bool:
        """Whether any array data went from rank to rank."""
        return self.total(*MESSAGES) > 0


@contextmanager
def quiet() -> Iterator[None]:
    """Let numbers that are not finite, and lost imaginary parts, pass without a warning."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        for category in (RuntimeWarning, np.exceptions.ComplexWarning):
            warnings.simplefilter("ignore", category)
        yield


def on_ranks(
    n: int, job: Callable[..., Any], *args: Any, alike: bool = True, seed: int = 0, **settings: Any
) -> Ran:
    """Run ``job(world, *args)`` on virtual ranks with tiny blocks; all must give the same.

    Buffers are poisoned once sent, so that no rank can live on another one's memory.
    """

    def prepared(world: Any) -> Any:
        world.state["poison"] = True
        with taskarr.settings(**{**TINY, **settings}):
            return job(world, *args), world.counters

    with quiet():
        values, counters = zip(*run_virtual(n, prepared, seed=seed), strict=True)
    if alike:
        for rank, value in enumerate(values):
            assert same(value, values[0]), f"rank {rank} of {n}: {value!r} is not {values[0]!r}"
    return Ran(list(values), list(counters))
