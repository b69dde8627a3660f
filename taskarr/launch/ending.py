"""The ways in which a rank ends: normally, by `SystemExit`, or by an uncaught exception.

Each returns the exit status of a rank that may end by itself, or ends the whole job.
``world.state["ended"]`` is set once the rank has ended in one of them.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from typing import TYPE_CHECKING, NoReturn

from taskarr.launch import last_words, report

if TYPE_CHECKING:
    from scheduler.comm.world import World

__all__ = ["fail", "finish", "leave"]

_DRAIN = 0.1
"""Seconds that the launcher gets to pass on what was printed before all ranks are killed."""

_FINALIZE = 5
"""Seconds that MPI gets to end in order after a failure."""


def finish(world: World) -> int:
    """End normally; name this rank if the others wait for it."""
    if world.state.get("ended"):
        return 0
    from scheduler.agreement import farewell

    try:
        farewell(world)
    except SystemExit as reported:
        return _stop(world, 1, reported, "")
    except BaseException as error:
        return fail(world, error)
    world.state["ended"] = True
    return 0


def leave(world: World, code: object) -> int:
    """End as ``sys.exit(code)`` asks for; other ranks that go on are ended with the same code."""
    status = 0 if code is None else code & 0xFF if isinstance(code, int) else 1
    if status == 0:
        return finish(world)
    text = "" if isinstance(code, int) else f"{code}\n"
    return _stop(world, status, SystemExit(code), text)


def fail(world: World, error: BaseException) -> int:
    """Report an uncaught exception once and end the job."""
    status = 130 if isinstance(error, KeyboardInterrupt) else 1
    return _stop(world, status, error, report.user_traceback(error))


def _stop(world: World, status: int, error: BaseException, text: str) -> int:
    """Say `text` if no lower rank does, and see that all ranks end."""
    world.state["ended"] = True
    try:
        verdict = last_words.exchange(world, report.word_of(error))
    except Exception:  # the world may be what has failed
        verdict = last_words.Verdict(speaks=True, all_end=False)
    if verdict.speaks and text:
        alike = verdict.alike and world.size > 1 and not isinstance(error, SystemExit)
        report.say(world.rank, text + f"(the same on all {world.size} ranks)\n" * alike)
    sys.stdout.flush()
    sys.stderr.flush()
    if not verdict.all_end:
        _end_all(world, status)
    if world.size > 1:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(_FINALIZE)
    return status


def _end_all(world: World, status: int) -> NoReturn:
    from scheduler.comm.mpi import abort

    report.say(world.rank, f"ends the job with status {status}: other ranks were still running\n")
    time.sleep(_DRAIN)
    abort(status)
    time.sleep(_FINALIZE)  # MPICH returns now and then, before the launcher kills this process
    os._exit(status)
