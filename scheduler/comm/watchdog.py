"""Who waits for whom: reports of waits that last too long.

Each rank of an MPI world has one `Watchdog` with a thread that wakes once a second, answers
"where are you?" and, when its own rank has waited too long, asks the others and prints one
line. Only the lowest of the waiting ranks prints.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from scheduler.comm.where import user_line

__all__ = ["Report", "Watchdog"]

_PERIOD = 1.0
_ANSWER_SECONDS = 3.0
_MOST_ASKED = 64
_ASK, _ANSWER = 1, 2


class Post(Protocol):
    """How watchdogs write to each other."""

    def send(self, text: bytes, dest: int, tag: int) -> None:
        """Send a short text."""

    def receive(self, tag: int) -> tuple[int, bytes] | None:
        """Return a sender and its text, if one has arrived."""


@dataclass(frozen=True, slots=True)
class Report:
    """What was found about a long wait: a text, and whether some rank has ended."""

    text: str
    ended: bool


class Watchdog:
    """Watches the waits of one rank.

    State: `where` the rank waits (None: it computes) since `_since`, when the next report is due
    (`_due`), the ranks to ask (`_wanted`, set to start a report), the last `_report` until it is
    fetched, whether the rank has `ended`, and the number of the last question.
    """

    def __init__(self, rank: int, size: int) -> None:
        self.rank = rank
        self.size = size
        self.ended = False
        self.where: str | None = None
        self._since = 0.0
        self._timeout = 0.0
        self._due = 0.0
        self._wanted: list[int] | None = None
        self._report: Report | None = None
        self._number = 0
        self._watched = threading.get_ident()
        self._thread: threading.Thread | None = None
        self._woken = threading.Event()
        self._stopped = False

    def start(self, post: Post) -> None:
        """Begin to answer the other ranks."""
        self._thread = threading.Thread(
            target=self._serve, args=(post,), name=f"watchdog of rank {self.rank}", daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """End the thread."""
        self._stopped = True
        self._woken.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def begin(self, where: str, timeout: float) -> None:
        """Note that the rank begins to wait."""
        self.where = where
        self._since = time.monotonic()
        self._timeout = timeout
        self._due = self._since + timeout
        self._report = None

    def finish(self) -> None:
        """Note that the rank goes on."""
        self.where = None

    def check(self, awaited: Callable[[], set[int]]) -> Report | None:
        """Start a report if one is due; return the one that was made meanwhile.

        Parameters
        ----------
        awaited : callable
            Returns the ranks with which messages are outstanding: whom to ask among many.
        """
        if time.monotonic() > self._due:
            self._due += self._timeout
            if self._thread is None:
                self._report = self._make_report({})
            else:
                self._wanted = self._whom_to_ask(awaited())
                self._woken.set()
        report = self._report
        self._report = None
        return report

    def _whom_to_ask(self, awaited: set[int]) -> list[int]:
        ranks = set(range(self.size))
        if self.size > _MOST_ASKED:
            ranks = awaited or set(range(0, self.size, self.size // _MOST_ASKED))
        return sorted(ranks - {self.rank})[:_MOST_ASKED]

    def _serve(self, post: Post) -> None:
        while not self._stopped:
            self._woken.wait(_PERIOD)
            self._woken.clear()
            self._answer(post)
            wanted, self._wanted = self._wanted, None
            if wanted is not None and self.where is not None:
                since = self._since
                answers = self._ask(post, wanted)
                if self.where is not None and self._since == since:
                    self._report = self._make_report(answers)

    def _answer(self, post: Post) -> None:
        while (question := post.receive(_ASK)) is not None:
            source, number = question
            post.send(number + b" " + self._status().encode(), source, _ANSWER)

    def _ask(self, post: Post, ranks: list[int]) -> dict[int, str]:
        """Return what the ranks answer in a few seconds; empty for those that do not."""
        self._number += 1
        for rank in ranks:
            post.send(b"%d" % self._number, rank, _ASK)
        answers = dict.fromkeys(ranks, "")
        end = time.monotonic() + _ANSWER_SECONDS
        while not all(answers.values()) and time.monotonic() < end and not self._stopped:
            self._answer(post)
            while (answer := post.receive(_ANSWER)) is not None:
                number, _, status = answer[1].partition(b" ")
                if int(number) == self._number:
                    answers[answer[0]] = status.decode()
            time.sleep(0.01)
        return answers

    def _status(self) -> str:
        if self.ended:
            return "has ended"
        where = self.where
        line = user_line(self._watched)
        return f"is computing at {line}" if where is None else f"waits in {where} ({line})"

    def _make_report(self, answers: dict[int, str]) -> Report:
        """Make a report and print it if no lower rank waits as well."""
        seconds = time.monotonic() - self._since
        others = [f"rank {rank} {text or 'does not answer'}" for rank, text in answers.items()]
        own = f"rank {self.rank} has waited {seconds:.0f} s in {self.where}"
        text = "; ".join([f"{own} ({user_line(self._watched)})", *others])
        if not any(answers[rank].startswith("waits") for rank in answers if rank < self.rank):
            os.write(2, f"taskarr: {text}\n".encode())
        return Report(text, any(text == "has ended" for text in answers.values()))
