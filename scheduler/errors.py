"""The exceptions of the scheduler and the value that stands for a failed task's output."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Failure", "Hang", "PeerFailed", "SPMDError"]


class SPMDError(RuntimeError):
    """The ranks of a program disagree, or one of them is missing."""


class Hang(SPMDError):
    """Every rank waits and nothing that they wait for can happen."""


class PeerFailed(RuntimeError):
    """A rank cannot go on because another one failed, which has the reason."""


@dataclass(frozen=True, slots=True)
class Failure:
    """The output of a task that failed, passed along to its readers.

    Parameters
    ----------
    step : int
        Number of the step in which it began.
    error : BaseException
        What was raised; a `PeerFailed` if the failure came in a message.
    """

    step: int
    error: BaseException
