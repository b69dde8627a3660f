"""A line on stderr of rank 0 that says how far its runs are.

State of a `Progress`: what was counted since the run began, when, and when it was last shown.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from typing import Literal, TextIO

from scheduler.events import Observer

__all__ = ["Progress"]


class Progress(Observer):
    """Shows the tasks, messages and stages of one rank while they are done.

    Parameters
    ----------
    file : text file, optional
        Where to; stderr by default.
    interval : float
        Seconds between two updates.
    rank : int
        The rank that reports; the others are silent.
    """

    def __init__(self, file: TextIO | None = None, *, interval: float = 0.1, rank: int = 0) -> None:
        self._file = file
        self._interval = interval
        self._rank = rank
        self._counts: Counter[str] = Counter()
        self._first = 0.0
        self._shown = time.perf_counter()
        self._width = 0

    def task(self, rank: int, name: str, start: float, end: float, step: int) -> None:
        """Count a task."""
        self._count("tasks", rank, start, end, name)

    def message(
        self,
        kind: Literal["send", "recv"],
        rank: int,
        peer: int,
        nbytes: int,
        start: float,
        end: float,
    ) -> None:
        """Count a message."""
        self._count("messages", rank, start, end, "")

    def stage(
        self, rank: int, name: str, start: float, end: float, nbytes: int, transport: str
    ) -> None:
        """Count a stage."""
        self._count("stages", rank, start, end, name)

    def run(self, rank: int, where: str, start: float, end: float) -> None:
        """End the line."""
        if rank == self._rank and self._width:
            self._show(end, where)
            self._write("\n")
        if rank == self._rank:
            self._counts.clear()
            self._width = 0

    def _count(self, what: str, rank: int, start: float, end: float, name: str) -> None:
        if rank != self._rank:
            return
        if not self._counts:
            self._first = start
        self._counts[what] += 1
        if end - self._shown >= self._interval:
            self._show(end, name)

    def _show(self, now: float, name: str) -> None:
        self._shown = now
        counts = ", ".join(f"{number:,} {what}" for what, number in self._counts.items())
        line = f"rank {self._rank}: {counts}, {now - self._first:.1f} s {name}".rstrip()
        self._write("\r" + line.ljust(self._width))
        self._width = len(line)

    def _write(self, text: str) -> None:
        file = sys.stderr if self._file is None else self._file
        file.write(text)
        file.flush()
