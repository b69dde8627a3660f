"""What ``mpiexec python job.py`` gets without the runner, from ``import taskarr`` on.

State of the process: `install` sets ``sys.excepthook``, ``sys.exit``, ``warnings.showwarning`` and
an ``atexit`` function, all methods of one `_Hooks`.
"""

from __future__ import annotations

import atexit
import os
import sys
import warnings
from types import TracebackType
from typing import TYPE_CHECKING, NoReturn, TextIO

from scheduler import lifetime
from taskarr.launch import ending, environment, report

if TYPE_CHECKING:
    from scheduler.comm.world import World

__all__ = ["install"]


def install() -> None:
    """Make an uncaught exception, ``sys.exit`` or an early end of one rank end the whole job."""
    sys.excepthook = _hooks.uncaught
    sys.exit = _hooks.exit
    _hooks.print_warning, warnings.showwarning = warnings.showwarning, _hooks.warned
    atexit.register(_hooks.end)
    lifetime.before_close.append(_hooks.end)
    lifetime.when_made.append(_check_launcher)


def _check_launcher() -> None:
    """End with status 2 if the launcher does not belong to the MPI library."""
    if trouble := environment.check_world(_world().size):
        if environment.told_rank() == 0:
            report.say(0, f"{trouble}\n")
        sys.exit(2)


class _Hooks:
    """The hooks of a process.

    `code` is what ``sys.exit`` was last called with, `print_warning` what printed warnings before.
    """

    def __init__(self) -> None:
        self.code: object = None
        self.print_warning = warnings.showwarning
        self.process = os.getpid()

    def exit(self, status: object = None, /) -> NoReturn:
        """Stand in for ``sys.exit`` and remember the code for `end`."""
        self.code = status
        raise SystemExit(status)

    def uncaught(
        self, kind: type[BaseException], error: BaseException, trace: TracebackType | None
    ) -> None:
        """Stand in for ``sys.excepthook``."""
        ending.fail(_world(), error.with_traceback(trace))

    def warned(
        self,
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        """Stand in for ``warnings.showwarning``: what all ranks are warned of, rank 0 prints."""
        if getattr(message, "rank", 0) == 0:
            self.print_warning(message, category, filename, lineno, file, line)

    def end(self) -> None:
        """Take leave of the other ranks when the interpreter ends."""
        if os.getpid() != self.process or not environment.one_of_several():
            return
        world = _world()
        if not world.state.get("ended"):
            text = self.code is not None and not isinstance(self.code, int)
            ending.leave(world, 1 if text else self.code)
        world.close()


def _world() -> World:
    """Return the world of all ranks; MPI is started if need be, since others may wait for that."""
    from scheduler.comm import default_world

    return default_world()


_hooks = _Hooks()
