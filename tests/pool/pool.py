"""A pool: one ``mpiexec`` whose ranks each hold a pytest session and wait for names of tests."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from taskarr.launch.environment import find_launcher, launcher_environment
from taskarr.launch.threads import VARIABLES
from tests.pool.rank import ADDRESS

_START = 60.0
"""Seconds for the ranks to start and collect their tests."""

_GRACE = 2.0
"""Seconds that the other ranks get after one has failed or died."""

_END = 10.0
"""Seconds for the ranks of a closed pool to end."""


class BrokenPool(Exception):
    """The ranks could not be started."""


@dataclass
class Outcome:
    """What came of one test.

    Attributes
    ----------
    reports : dict
        Serialised reports of the ranks that answered.
    trouble : str
        Why some did not, or "".
    stacks : dict
        Where the silent ranks stand.
    """

    reports: dict[int, list[dict[str, Any]]] = field(default_factory=dict)
    trouble: str = ""
    stacks: dict[int, str] = field(default_factory=dict)


class Pool:
    """The ranks of one ``mpiexec``.

    Parameters
    ----------
    size : int
        Number of ranks.
    arguments : sequence of str
        The command line of the ranks' pytest.
    folder : Path
        For the socket, the stacks and the output of the ranks; its path must be short.

    Raises
    ------
    BrokenPool
        The ranks did not start; the message holds their output.
    """

    def __init__(self, size: int, arguments: Sequence[str], folder: Path) -> None:
        self.size = size
        self._address = str(folder / f"{size}-{time.monotonic_ns()}")
        self._ranks: dict[int, Connection] = {}
        self._pids: dict[int, int] = {}
        self._dead: set[int] = set()
        listener = socket.socket(socket.AF_UNIX)
        with contextlib.closing(listener):
            listener.bind(self._address)
            listener.listen(size)
            listener.settimeout(0.1)
            self._launcher = self._launch(arguments)
            try:
                self._welcome(listener)
            except BaseException:
                self.kill()
                raise

    def _launch(self, arguments: Sequence[str]) -> subprocess.Popen[bytes]:
        env = launcher_environment(os.environ) | dict.fromkeys(VARIABLES, "1")
        env[ADDRESS] = self._address
        command = [_launcher(self.size), "-n", str(self.size), sys.executable, "-m", "pytest"]
        with open(self._address + ".log", "wb") as log:
            return subprocess.Popen(
                [*command, *arguments],
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def _welcome(self, listener: socket.socket) -> None:
        deadline = time.monotonic() + _START
        while len(self._ranks) < self.size:
            try:
                caller = Connection(listener.accept()[0].detach())
            except TimeoutError:
                if self._launcher.poll() is not None or time.monotonic() > deadline:
                    raise BrokenPool(
                        f"{len(self._ranks)} of {self.size} ranks started\n{self.output()}"
                    ) from None
                continue
            rank, size, pid = caller.recv()
            self._ranks[rank], self._pids[rank] = caller, pid
            if size != self.size:
                raise BrokenPool(f"mpiexec made a world of {size} ranks instead of {self.size}")

    def run(self, nodeid: str, timeout: float) -> Outcome:
        """Run one test on all ranks."""
        outcome = Outcome()
        for rank, connection in self._ranks.items():
            try:
                connection.send((nodeid, timeout))
            except OSError:
                self._dead.add(rank)
        self._hear(outcome, timeout)
        silent = [rank for rank in range(self.size) if rank not in outcome.reports]
        if silent:
            outcome.trouble = self._describe(silent, timeout)
            outcome.stacks = self._stacks([rank for rank in silent if rank not in self._dead])
        return outcome

    def _hear(self, outcome: Outcome, timeout: float) -> None:
        """Take the ranks' reports until all have answered or time is over."""
        deadline = time.monotonic() + timeout
        waiting = {c: r for r, c in self._ranks.items() if r not in self._dead}
        while waiting and (left := deadline - time.monotonic()) > 0:
            for connection in wait(list(waiting), left):
                rank = waiting.pop(connection)
                try:
                    reports = connection.recv()
                except (EOFError, OSError):
                    self._dead.add(rank)
                    reports = None
                else:
                    outcome.reports[rank] = reports
                if reports is None or any(x["outcome"] == "failed" for x in reports):
                    deadline = min(deadline, time.monotonic() + _GRACE)

    def _describe(self, silent: list[int], timeout: float) -> str:
        dead = [rank for rank in silent if rank in self._dead]
        mute = [rank for rank in silent if rank not in self._dead]
        parts = []
        if dead:
            parts.append(f"rank {', '.join(map(str, dead))} of {self.size} died")
        if mute:
            parts.append(f"rank {', '.join(map(str, mute))} of {self.size} did not answer")
        return f"{'; '.join(parts)} (time for the test: {timeout:g} s)"

    def _stacks(self, ranks: list[int]) -> dict[int, str]:
        """Ask living ranks for the Python stacks of all their threads."""
        for rank in ranks:
            self._signal(rank, signal.SIGUSR2)
        time.sleep(0.3)
        return {rank: Path(f"{self._address}.{rank}").read_text() for rank in ranks}

    def _signal(self, rank: int, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._pids[rank], number)

    def output(self) -> str:
        """Return the end of what the ranks have printed outside tests."""
        return Path(self._address + ".log").read_text(errors="replace")[-4000:]

    def kill(self) -> None:
        """End all ranks at once."""
        for rank in self._ranks:
            if rank not in self._dead:
                self._signal(rank, signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._launcher.pid, signal.SIGKILL)
        self._launcher.wait()
        for connection in self._ranks.values():
            connection.close()

    def close(self) -> None:
        """Tell the ranks to end in order; `join` waits for that."""
        for connection in self._ranks.values():
            with contextlib.suppress(OSError):
                connection.send(None)
            connection.close()

    def join(self) -> None:
        """Wait for the end of a closed pool, a bounded time."""
        try:
            self._launcher.wait(_END)
        except subprocess.TimeoutExpired:
            self._launcher.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._launcher.wait(_GRACE)
            self._launcher.kill()
            self._launcher.wait()


def _launcher(size: int) -> str:
    """Return the program that starts a pool.

    MPICH's ``gforker`` keeps the ranks in one session: with more ranks than cores they hand
    the cores to each other much faster than under ``hydra``.
    """
    path = find_launcher()
    if path is None:
        raise BrokenPool("found no mpiexec")
    gforker = Path(path).with_name("mpiexec.gforker")
    crowded = size > len(os.sched_getaffinity(0))
    return str(gforker) if crowded and gforker.exists() else path
