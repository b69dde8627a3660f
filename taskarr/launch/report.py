"""The text of an uncaught exception: the user's frames, without those of this library."""

from __future__ import annotations

import sys
import traceback
from hashlib import blake2b
from pathlib import Path

from taskarr.launch.output import Lines

__all__ = ["say", "user_traceback", "word_of"]

_ROOT = Path(__file__).parents[2]
_OURS = (f"{_ROOT / 'taskarr'}/", f"{_ROOT / 'scheduler'}/", "<frozen ")
_WORD = 16


def user_traceback(error: BaseException) -> str:
    """Return the traceback of `error`, its causes and notes, with the user's frames only.

    An exception that has no frame of the user's keeps all of them.
    """
    report = traceback.TracebackException.from_exception(error)
    seen: list[traceback.TracebackException] = []
    pending = [report]
    while pending:
        one = pending.pop()
        if one in seen:
            continue
        seen.append(one)
        theirs = [frame for frame in one.stack if not _is_ours(frame)]
        if theirs or isinstance(error, SyntaxError):
            one.stack[:] = theirs
        pending += [x for x in (one.__cause__, one.__context__) if x is not None]
        pending += one.exceptions or []
    return "".join(report.format())


def _is_ours(frame: traceback.FrameSummary) -> bool:
    return frame.filename.startswith(_OURS)


def word_of(error: BaseException) -> bytes:
    """Return 16 bytes that are equal for the same exception raised at the same place.

    The text of an `SPMDError` names the places of all ranks itself; each rank raises it at
    its own.
    """
    kind = type(error)
    text = f"{kind.__module__}.{kind.__qualname__}: {error}"
    if isinstance(error, KeyboardInterrupt):
        text = "interrupted"
    elif kind.__name__ != "SPMDError":
        frames = traceback.extract_tb(error.__traceback__)
        text += "".join(f"\n{x.filename}:{x.lineno}" for x in frames if not _is_ours(x))
    return blake2b(text.encode(errors="surrogatepass"), digest_size=_WORD).digest()


def say(rank: int, text: str) -> None:
    """Write `text` to standard error with the rank in front of each line."""
    sys.stdout.flush()
    stream = sys.stderr
    lines = getattr(stream, "buffer", None)
    if isinstance(lines, Lines):
        lines.finish()
    else:
        stream.flush()
        text = "".join(f"[rank {rank}] {line}" for line in text.splitlines(keepends=True))
    stream.write(text)
    stream.flush()
