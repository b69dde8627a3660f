"""Pytest plugin: marked tests run on pools of MPI ranks, all others here, each in bounded time.

``@pytest.mark.ranks(1, 2, 3, timeout=30)`` runs a test once for each number of ranks, on all
ranks at once; the fixture `world` is then the world of the ranks. One pool lives at a time: the
marked tests are sorted to the end, by their number of ranks. ``TASKARR_TEST_RANKS=1,2`` leaves
the other numbers out. ``@pytest.mark.limit(seconds)`` changes the time of an unmarked test.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Generator, Iterator
from contextlib import contextmanager

import pytest

from tests.pool.parent import Parent
from tests.pool.rank import Rank

LIMIT = 120.0
"""Seconds of an unmarked test, fixtures apart."""


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "ranks(*numbers, timeout=30): run on that many MPI ranks, once for each number"
    )
    config.addinivalue_line("markers", "limit(seconds): time for a test that needs no ranks")
    config.pluginmanager.register(Rank() if Rank.address() else Parent(config), "ranks")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    mark = metafunc.definition.get_closest_marker("ranks")
    if mark is None:
        return
    if not mark.args:
        raise pytest.UsageError(f"{metafunc.definition.nodeid}: ranks() needs numbers of ranks")
    wanted = os.environ.get("TASKARR_TEST_RANKS")
    allowed = {int(text) for text in wanted.split(",")} if wanted else set(mark.args)
    numbers = [number for number in mark.args if number in allowed]
    metafunc.fixturenames.append("ranks")
    metafunc.parametrize("ranks", numbers, ids=lambda number: f"n{number}")


@pytest.fixture
def world():
    """The world of the ranks that run this test."""
    if not Rank.address():
        pytest.fail("only a test marked with @pytest.mark.ranks has a world of ranks")
    from scheduler.comm import default_world
    from taskarr.runtime import Pending

    world = default_world()
    yield world
    if "taskarr" in world.state:  # tests of what ranks must not do leave reductions on some of them
        world.state["taskarr"].pending = Pending()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None]:
    with _limited(item):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    with _limited(item):
        return (yield)


@contextmanager
def _limited(item: pytest.Item) -> Iterator[None]:
    """Fail the test where it stands when its time is over; in ranks the parent does that."""
    if Rank.address():
        yield
        return
    mark = item.get_closest_marker("limit")
    seconds = float(mark.args[0]) if mark else LIMIT

    def ring(signum: int, frame: object) -> None:
        pytest.fail(f"took longer than {seconds:g} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
