"""The user's line: where in the program a thread is, leaving out the frames of the runtime."""

from __future__ import annotations

import os
import sys
from types import FrameType
from typing import NamedTuple

__all__ = ["Place", "user_line", "user_place"]

_OWN = (
    "scheduler",
    "taskarr",
    "numpy",
    "runpy",
    "importlib",
    "threading",
    "concurrent",
    "contextlib",
)


class Place(NamedTuple):
    """A line of a program: path of its file, number, and the module that it is in."""

    filename: str
    lineno: int
    module: str

    def __str__(self) -> str:
        return f"{os.path.basename(self.filename)}:{self.lineno}"


def user_line(thread: int | None = None) -> str:
    """Return ``file.py:line`` of the innermost frame of the program in a thread.

    Parameters
    ----------
    thread : int, optional
        Identity of the thread; the calling one by default.
    """
    if thread is None:
        return str(user_place())
    frame = sys._current_frames().get(thread)
    return "an unknown line" if frame is None else str(_place(frame))


def user_place() -> Place:
    """Return the line of the innermost frame of the program in the calling thread."""
    return _place(sys._getframe(1))


def _place(innermost: FrameType) -> Place:
    frame: FrameType | None = innermost
    while frame is not None and _is_own(frame):
        frame = frame.f_back
    found = frame or innermost
    module = found.f_globals.get("__name__", "")
    return Place(found.f_code.co_filename, found.f_lineno, module)


def _is_own(frame: FrameType) -> bool:
    name = frame.f_globals.get("__name__", "")
    return name.partition(".")[0] in _OWN
