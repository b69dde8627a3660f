"""The layouts under test, as data, and running a job on virtual ranks that must agree."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import taskarr
from scheduler import run_virtual
from taskarr.backend import Backend, Pool
from taskarr.runtime import runtime
from tests.device.install import DEVICE, is_refused

RANKS = (1, 2, 3, 5, 7)
"""Numbers of virtual ranks."""

TINY = {"block": 16, "replicate": False, "device": DEVICE}
"""Settings under which arrays of a few rows have several owners, on the device under test."""

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


def difference(a: Any, b: Any, path: str = "") -> str:
    """Where two results differ in type, shape or bits; empty when nowhere."""
    if type(a) is type(b) and isinstance(a, dict) and a.keys() == b.keys():
        return next(filter(None, (difference(a[k], b[k], f"{path}[{k!r}]") for k in a)), "")
    if type(a) is type(b) and isinstance(a, list | tuple) and len(a) == len(b):
        pairs = enumerate(zip(a, b, strict=True))
        return next(filter(None, (difference(x, y, f"{path}[{k}]") for k, (x, y) in pairs)), "")
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        alike = (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes())
    else:
        alike = type(a) is type(b) and a == b
    return "" if alike else f"{path}: {a!r} is not {b!r}"


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


class Poisoned(Pool):
    """Memory in which what was never written is seen."""

    def empty(self, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        found = super().empty(shape, dtype)
        found.reshape(-1).view(np.uint8).fill(0xA5)
        return found


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

    Buffers are poisoned once sent, so that no rank can live on another one's memory, and bricks
    before they are written.
    """

    def prepared(world: Any) -> Any:
        world.state["poison"] = True
        runtime(world).backend = Backend(np, Poisoned(0))
        with taskarr.settings(**{**TINY, **settings}):
            return job(world, *args), world.counters

    with quiet():
        try:
            values, counters = zip(*run_virtual(n, prepared, seed=seed), strict=True)
        except (TypeError, NotImplementedError) as error:
            if is_refused(type(error).__name__, str(error)):
                pytest.skip(f"not on a device: {error}")
            raise
    if alike:
        for rank, value in enumerate(values):
            fault = difference(value, values[0])
            assert not fault, f"rank {rank} of {n} differs from rank 0: {fault}"
    return Ran(list(values), list(counters))
