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
        ``finish(xp, results)`` computes the results of one run and keeps them as they lie.
    begin
        ``begin(ranks)`` prepares it to use as many cores as there are ranks.
    """

    name: str
    module: str
    everywhere: bool
    hold: Callable[[Any, np.ndarray], Any]
    finish: Callable[[Any, tuple[Any, ...]], Any] = lambda xp, results: None
    begin: Callable[[int], None] = lambda ranks: None

    @property
    def installed(self) -> bool:
        """Whether it can be imported here."""
        return importlib.util.find_spec(self.name) is not None

    def prepared(self, case: Case, arrays: Arrays, ranks: int) -> Callable[[], Any] | None:
        """Return what computes a case and keeps its result; None if it can't be expressed."""
        run = case.run_of(self.name)
        if run is None:
            return None
        self.begin(ranks)
        xp = importlib.import_module(self.module)
        held = [self.hold(xp, x) for x in arrays]

        def compute() -> Any:
            found = run(xp, *held)
            self.finish(xp, found if isinstance(found, tuple) else (found,))
            return found

        return compute


def _finish_taskarr(xp: Any, results: tuple[Any, ...]) -> None:
    """Keep one result distributed; several, which are small, come out of one run."""
    pending = [x for x in results if isinstance(x, xp.Array)]
    if len(pending) == 1:
        pending[0].persist()
    elif pending:
        xp.compute(*pending)


def _begin_dask(ranks: int) -> None:
    import dask

    dask.config.set(scheduler="threads", num_workers=ranks)


def _hold_dask(xp: Any, x: np.ndarray) -> Any:
    return xp.from_array(x, chunks=("auto",) + (-1,) * (x.ndim - 1)).persist()


def _finish_dask(xp: Any, results: tuple[Any, ...]) -> list[Any]:
    import dask

    return list(dask.persist(*(x for x in results if dask.is_dask_collection(x))))


def _begin_heat(ranks: int) -> None:
    import torch

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
