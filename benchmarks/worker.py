"""One job: the rounds of one case on the ranks that the launcher has started.

``mpiexec -n 2 python -m benchmarks.worker sum 9 1.0 found.json [peer ...]``; rank 0 writes the
readings to the file.
"""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from mpi4py import MPI

from benchmarks.case import Arrays, Case
from benchmarks.cases import BY_NAME
from benchmarks.libraries import NUMPY, TASKARR, Library, chosen_peers
from benchmarks.ranks import Ranks, Unable

REQUIRED = ("numpy", "copy", "taskarr")


@dataclass(frozen=True, slots=True)
class Contender:
    """One column of the table: a call, alone on rank 0 or on all ranks at once."""

    name: str
    call: Callable[[], Any] | None
    everywhere: bool

    def time(self, ranks: Ranks, repeat: int) -> float:
        """Seconds of one call, alike on all ranks."""
        reading = ranks.time_together if self.everywhere else ranks.time_alone
        return reading(self.call, repeat)


def copy_of(nbytes: int) -> Callable[[], None]:
    """Return a copy of so many bytes between two arrays whose pages are there."""
    source, target = np.ones(nbytes // 8), np.ones(nbytes // 8)
    return lambda: np.copyto(target, source)


def contender_of(library: Library, case: Case, arrays: Arrays, ranks: Ranks) -> Contender | None:
    """Return a library's column; None where it has no way to compute the case."""
    if case.run_of(library.name) is None:
        return None

    def prepare() -> Callable[[], Any] | None:
        here = library.everywhere or ranks.rank == 0
        return library.prepared(case, arrays, ranks.size) if here else None

    return Contender(library.name, ranks.agree(prepare), library.everywhere)


def contenders_of(
    case: Case, scale: float, peers: Sequence[Library], ranks: Ranks
) -> tuple[list[Contender], dict[str, str]]:
    """Return the columns in the order of a round, and why some peers have none."""
    arrays = case.make(scale)
    found = [contender_of(NUMPY, case, arrays, ranks)]
    if case.traffic is not None:
        share = case.traffic(*arrays) // 2 // ranks.size
        found.append(Contender("copy", copy_of(share), True))
    found.append(contender_of(TASKARR, case, arrays, ranks))
    unable = {}
    for peer in peers:
        try:
            found.append(contender_of(peer, case, arrays, ranks))
        except Unable as error:
            unable[peer.name] = str(error)
    return [contender for contender in found if contender is not None], unable


def run_rounds(
    contenders: list[Contender], rounds: int, repeat: int, ranks: Ranks
) -> tuple[dict[str, list[float]], dict[str, str]]:
    """Time all contenders in turn, `rounds` times after a cold round of single calls.

    Returns
    -------
    readings
        Seconds by name, the cold round first.
    unable
        Why peers have dropped out.
    """
    readings: dict[str, list[float]] = {contender.name: [] for contender in contenders}
    unable: dict[str, str] = {}
    for number in range(rounds + 1):
        for contender in [c for c in contenders if c.name not in unable]:
            try:
                seconds = contender.time(ranks, repeat if number else 1)
                readings[contender.name].append(seconds)
            except Unable as error:
                if contender.name in REQUIRED:
                    raise
                unable[contender.name] = str(error)
                del readings[contender.name]
    return readings, unable


def measure(
    case: Case, rounds: int, scale: float, peers: Sequence[Library], ranks: Ranks
) -> dict[str, Any]:
    """Return the readings of a case, in seconds for one unit of work, as plain data."""
    contenders, unprepared = contenders_of(case, scale, peers, ranks)
    readings, unable = run_rounds(contenders, rounds, case.repeat, ranks)
    return {
        "case": case.name,
        "ranks": ranks.size,
        "seconds": {name: [t / case.units for t in times] for name, times in readings.items()},
        "unable": unprepared | unable,
    }


def main(arguments: Sequence[str]) -> None:
    """Measure what the arguments say and write it to their file."""
    name, rounds, scale, file, *peers = arguments
    ranks = Ranks()
    found = measure(BY_NAME[name], int(rounds), float(scale), chosen_peers(peers), ranks)
    if ranks.rank == 0:
        Path(file).write_text(json.dumps(found))
    ranks.meet_asleep()


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
        MPI.COMM_WORLD.Abort(1)
