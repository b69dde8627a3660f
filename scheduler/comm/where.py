"""The user's line: where in the program a thread is, leaving out the frames of the runtime."""

from __future__ import annotations

import os
import sys
from types import FrameType

__all__ = ["user_line"]

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


def user_line(thread: int | None = None) -> str:
    """Return ``file.py:line`` of the innermost frame of the program in a thread.

    Parameters
    ----------
    thread : int, optional
        Identity of the thread; the calling one by default.
    """
    if thread is None:
        innermost: FrameType | None = sys._getframe(1)
    else:
        innermost = sys._current_frames().get(thread)
    frame = innermost
    while frame is not None and _is_own(frame):
        frame = frame.f_back
    frame = frame or innermost
    if frame is None:
        return "an unknown line"
    return f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}"


def _is_own(frame: FrameType) -> bool:
    name = frame.f_globals.get("__name__", "")
    return name.partition(".")[0] in _OWN
