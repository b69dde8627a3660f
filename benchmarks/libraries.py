"""The libraries that are measured, and how each holds an array and finishes a computation.

A library computes on rank 0 alone, where it finds whole NumPy arrays, or on all ranks at once.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.case import Arrays, Case


@dataclass(frozen=True, slots=True)
class Library:
    """A library of arrays.

    Parameters
    ----------
    name, module
        What its column is called, and what is imported for ``xp``.
    everywhere
        Whether it runs on all ranks; otherwise on rank 0 while the others sleep.
    hold
        ``hold(xp, x)`` gives its array of the elements of a NumPy array, in memory.
    finish
        ``finish(xp, results)`` computes the results of one run where that is still to be done,
        and returns what holds their elements, as they lie.
    begin
        ``begin(ranks)`` prepares it to use as many cores as there are ranks.
    """

    name: str
    module: str
    everywhere: bool
    hold: Callable[[Any, np.ndarray], Any]
    finish: Callable[[Any, tuple[Any, ...]], tuple[Any, ...]] = lambda xp, results: results
    begin: Callable[[int], None] = lambda ranks: None

    @property
    def installed(self) -> bool:
        """Whether it can be imported here."""
        return importlib.util.find_spec(self.name) is not None

    def prepared(
        self, case: Case, arrays: Arrays, ranks: int
    ) -> Callable[[], tuple[Any, ...]] | None:
        """Return what computes a case and gives its results; None if it can't be expressed."""
        run = case.run_of(self.name)
        if run is None:
            return None
        self.begin(ranks)
        xp = importlib.import_module(self.module)
        held = [self.hold(xp, x) for x in arrays]

        def compute() -> tuple[Any, ...]:
            found = run(xp, *held)
            return self.finish(xp, found if isinstance(found, tuple) else (found,))

        return compute


def _finish_taskarr(xp: Any, results: tuple[Any, ...]) -> tuple[Any, ...]:
    """Keep a single result distributed; several, which are small, come out of one run."""
    if len(results) > 1:
        return xp.compute(*results)
    return tuple(x.persist() if isinstance(x, xp.Array) else x for x in results)


def _begin_dask(ranks: int) -> None:
    import dask

    dask.config.set(scheduler="threads", num_workers=ranks)


def _hold_dask(xp: Any, x: np.ndarray) -> Any:
    return xp.from_array(x, chunks=("auto",) + (-1,) * (x.ndim - 1)).persist()


def _finish_dask(xp: Any, results: tuple[Any, ...]) -> tuple[Any, ...]:
    import dask.base

    return dask.base.persist(*results)


def _begin_heat(ranks: int) -> None:
    torch = importlib.import_module("torch")
    torch.set_num_threads(1)


NUMPY = Library("numpy", "numpy", False, hold=lambda xp, x: x)

TASKARR = Library(
    "taskarr", "taskarr", True, hold=lambda xp, x: xp.asarray(x), finish=_finish_taskarr
)

PEERS = (
    Library("dask", "dask.array", False, hold=_hold_dask, finish=_finish_dask, begin=_begin_dask),
    Library("heat", "heat", True, hold=lambda xp, x: xp.array(x, split=0), begin=_begin_heat),
    Library("mpiarray", "mpiarray", True, hold=lambda xp, x: xp.array(x)),
)


def chosen_peers(names: Sequence[str] | None) -> list[Library]:
    """Return the peers of these names, or, for None, those that are installed."""
    return [peer for peer in PEERS if (peer.installed if names is None else peer.name in names)]
