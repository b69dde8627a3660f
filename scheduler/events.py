"""Observers: what the scheduler tells to a trace, a progress bar or a test while it works."""

from __future__ import annotations

from typing import Literal

__all__ = ["Observer"]


class Observer:
    """Receives events; override the hooks that are of interest.

    Add one to ``world.observers``. Times are in seconds of `time.perf_counter`.
    A hook must not communicate.
    """

    def task(self, rank: int, name: str, start: float, end: float, step: int) -> None:
        """Report that a task of step number `step` has run."""

    def message(
        self,
        kind: Literal["send", "recv"],
        rank: int,
        peer: int,
        nbytes: int,
        start: float,
        end: float,
    ) -> None:
        """Report that a message of `nbytes` was posted at `start` and is complete."""

    def stage(
        self, rank: int, name: str, start: float, end: float, nbytes: int, transport: str
    ) -> None:
        """Report that a stage has sent `nbytes` from this rank by `transport`."""

    def run(self, rank: int, where: str, start: float, end: float) -> None:
        """Report that a whole run has ended."""
