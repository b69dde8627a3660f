"""What a rank prints: whole lines, each by one write, with the rank in front where wanted."""

from __future__ import annotations

import atexit
import io
import os
import sys
import threading
from typing import Any, Literal, TextIO

__all__ = ["Lines", "redirect"]

_LONGEST = 1 << 16
"""Bytes of an unfinished line that are kept back at most."""


class Lines(io.BufferedIOBase):
    """A binary stream that writes whole lines to a file descriptor.

    Parameters
    ----------
    descriptor : int
        Where the lines go; it is not closed.
    prefix : bytes
        What stands in front of every line.
    eager : bool
        Write an unfinished line on `flush`, as a prompt or a row of dots needs it. Without it
        only `finish` does.
    """

    name = "<lines>"

    def __init__(self, descriptor: int, prefix: bytes = b"", *, eager: bool = False) -> None:
        self._descriptor = descriptor
        self._prefix = prefix
        self._eager = eager
        self._rest = b""
        self._inside = False
        self._lock = threading.RLock()

    def writable(self) -> bool:
        """Return True."""
        return True

    def fileno(self) -> int:
        """Return the file descriptor."""
        return self._descriptor

    def isatty(self) -> bool:
        """Return whether the lines go to a terminal."""
        return os.isatty(self._descriptor)

    def write(self, data: Any, /) -> int:
        """Write the lines that `data` completes and keep the rest; return its length."""
        added = bytes(data)
        with self._lock:
            *lines, self._rest = _split(self._rest + added)
            for line in lines:
                self._put(line)
            if len(self._rest) > _LONGEST:
                self._put_rest()
        return len(added)

    def flush(self) -> None:
        """Write an unfinished line if the stream is eager."""
        with self._lock:
            if self._eager:
                self._put_rest()

    def finish(self) -> None:
        """Write what is left, as a whole line if it has a prefix."""
        with self._lock:
            if self._rest and self._prefix:
                self._rest += b"\n"
            self._put_rest()

    def _put_rest(self) -> None:
        if self._rest:
            self._put(self._rest)
            self._rest = b""

    def _put(self, line: bytes) -> None:
        data = memoryview(line if self._inside else self._prefix + line)
        self._inside = not line.endswith((b"\n", b"\r"))
        while data:
            data = data[os.write(self._descriptor, data) :]


def _split(data: bytes) -> list[bytes]:
    """Return the lines of `data` with their ends, and last what follows the last line feed.

    A carriage return inside ends a line too: progress bars write no other end.
    """
    lines = data.splitlines(keepends=True)
    if not lines or lines[-1].endswith(b"\n"):
        lines.append(b"")
    return lines


def redirect(rank: int, stdout: Literal["root", "all", "prefix"] = "root") -> None:
    """Replace ``sys.stdout`` and ``sys.stderr`` by streams of whole lines.

    Parameters
    ----------
    rank : int
        This rank.
    stdout : {"root", "all", "prefix"}
        Show rank 0's standard output and throw away the others', or show all ranks', or show
        all with the rank in front of each line. Standard error always has the rank.
    """
    prefix = f"[rank {rank}] ".encode()
    sys.stdout.flush()
    sys.stderr.flush()
    if stdout == "root" and rank != 0:
        with open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), sys.stdout.fileno())
    else:
        mark = prefix if stdout == "prefix" else b""
        sys.stdout = _text(sys.stdout, Lines(sys.stdout.fileno(), mark, eager=stdout == "root"))
    sys.stderr = _text(sys.stderr, Lines(sys.stderr.fileno(), prefix))


def _text(old: TextIO, lines: Lines) -> io.TextIOWrapper:
    atexit.register(lines.finish)
    return io.TextIOWrapper(
        lines, encoding=old.encoding, errors=old.errors, newline="\n", write_through=True
    )
