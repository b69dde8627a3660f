"""The parent's side: hands marked tests to a pool and merges the ranks' reports into one."""

from __future__ import annotations

import shutil
import tempfile
import time
from pathlib import Path

import pytest

from tests.pool.pool import BrokenPool, Outcome, Pool

TIMEOUT = 30.0
"""Seconds of a marked test."""

_MACHINERY = ("/_pytest/", "/pluggy/", "/pytest/", "/tests/pool/", "<frozen ")


class Parent:
    """Runs the marked tests of a session; `pool` is the living pool, `closed` are ending."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.pool: Pool | None = None
        self.closed: list[Pool] = []
        self.folder = Path(tempfile.mkdtemp(prefix="ranks-"))

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items.sort(key=ranks_of)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> bool | None:
        size = ranks_of(item)
        if not size:
            return None
        hook = item.ihook
        hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        for report in self._run(item, size):
            hook.pytest_runtest_logreport(report=report)
        hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True

    def pytest_sessionfinish(self) -> None:
        self._close()
        for pool in self.closed:
            pool.join()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _run(self, item: pytest.Item, size: int) -> list[pytest.TestReport]:
        start = time.time()
        mark = item.get_closest_marker("ranks")
        timeout = float(mark.kwargs.get("timeout", TIMEOUT)) if mark else TIMEOUT
        try:
            pool = self._pool_of(item, size)
        except BrokenPool as error:
            return [_failed(item, start, str(error))]
        outcome = pool.run(item.nodeid, timeout)
        reports = {rank: self._load(data) for rank, data in sorted(outcome.reports.items())}
        if not outcome.trouble and _agree(list(reports.values())):
            return reports[0]
        text = _explain(outcome, reports, size, pool.output() if outcome.trouble else "")
        pool.kill()
        self.pool = None
        return [_failed(item, start, text)]

    def _pool_of(self, item: pytest.Item, size: int) -> Pool:
        if self.pool is not None and self.pool.size != size:
            self._close()
        if self.pool is None:
            self.pool = Pool(size, self._arguments(item.session, size), self.folder)
        return self.pool

    def _close(self) -> None:
        if self.pool is not None:
            self.pool.close()
            self.closed.append(self.pool)
            self.pool = None

    def _arguments(self, session: pytest.Session, size: int) -> list[str]:
        """Return the command line of the ranks: just the files that they need."""
        files = dict.fromkeys(str(x.path) for x in session.items if ranks_of(x) == size)
        settings = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
        if self.config.inipath is not None:
            settings += ["-c", str(self.config.inipath)]
        return [*settings, "--rootdir", str(self.config.rootpath), *files]

    def _load(self, data: list[dict]) -> list[pytest.TestReport]:
        hook = self.config.hook
        return [
            hook.pytest_report_from_serializable(config=self.config, data=report) for report in data
        ]


def ranks_of(item: pytest.Item) -> int:
    """Return on how many ranks a test runs; 0 for a test that needs none."""
    if item.get_closest_marker("ranks") is None or not isinstance(item, pytest.Function):
        return 0
    number = item.callspec.params.get("ranks")
    return number if isinstance(number, int) else 0


def _agree(reports: list[list[pytest.TestReport]]) -> bool:
    """Return whether no rank failed and all had the same outcome."""
    outcomes = [[report.outcome for report in phases] for phases in reports]
    return all(x == outcomes[0] for x in outcomes) and "failed" not in outcomes[0]


def _explain(
    outcome: Outcome, reports: dict[int, list[pytest.TestReport]], size: int, output: str
) -> str:
    parts = [outcome.trouble] if outcome.trouble else []
    for rank, phases in reports.items():
        failures = [report for report in phases if report.failed]
        if not failures:
            parts.append(f"rank {rank} of {size}: {' '.join(x.outcome for x in phases)}")
        for report in failures:
            parts.append(f"---- rank {rank} of {size} failed in {report.when} ----")
            parts.append(report.longreprtext)
            parts += [f"-- {title} --\n{text}" for title, text in report.sections]
    for rank, stacks in outcome.stacks.items():
        parts.append(f"---- rank {rank} of {size} was here (innermost first) ----")
        parts.append(_without_machinery(stacks))
    if output:
        parts.append(f"---- output of the ranks ----\n{output}")
    return "\n".join(parts)


def _without_machinery(stacks: str) -> str:
    """Return the stacks without the frames of pytest."""
    return "\n".join(
        line for line in stacks.splitlines() if not any(part in line for part in _MACHINERY)
    )


def _failed(item: pytest.Item, start: float, text: str) -> pytest.TestReport:
    stop = time.time()
    return pytest.TestReport(
        item.nodeid,
        item.location,
        dict.fromkeys(item.keywords, 1),
        "failed",
        text,
        "call",
        start=start,
        stop=stop,
        duration=stop - start,
    )
