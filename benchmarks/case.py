"""What a case is: its data, its computation, the bytes that must move, its targets.

**The rule for bytes.** ``traffic`` counts what an ideal single pass over the data must read and
write: each input once, each result once, no temporaries. Copying m bytes reads m and writes m, so
the copy limit of a case is the time of copying half of its traffic, spread over the ranks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

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
