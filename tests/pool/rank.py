"""The rank's side of a pool: a pytest session that runs the tests its parent names."""

from __future__ import annotations

import faulthandler
import os
import signal
from multiprocessing.connection import Client

import pytest
from _pytest.runner import runtestprotocol

ADDRESS = "TASKARR_TEST_ADDRESS"
"""Environment variable with the socket of the parent; set in ranks only."""

_BACKSTOP = 60.0
"""Seconds after a test's time at which a rank whose parent has vanished ends itself."""


class Rank:
    """Stands in for pytest's loop over the tests."""

    @staticmethod
    def address() -> str | None:
        """Return where the parent listens, or None outside a pool."""
        return os.environ.get(ADDRESS)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        from scheduler.comm import default_world

        world = default_world()
        address = os.environ[ADDRESS]
        items = {item.nodeid: item for item in session.items}
        with (
            Client(address, "AF_UNIX") as parent,
            open(f"{address}.{world.rank}", "w") as stacks,
        ):
            faulthandler.register(signal.SIGUSR2, file=stacks, all_threads=True)
            parent.send((world.rank, world.size, os.getpid()))
            while (order := _next_order(parent)) is not None:
                nodeid, timeout = order
                faulthandler.dump_traceback_later(timeout + _BACKSTOP, exit=True, file=stacks)
                reports = runtestprotocol(items[nodeid], log=False, nextitem=None)
                faulthandler.cancel_dump_traceback_later()
                parent.send([_plain(session.config, report) for report in reports])
            faulthandler.unregister(signal.SIGUSR2)
        return True


def _next_order(parent) -> tuple[str, float] | None:
    """Wait on the socket, which costs no processor time; None when the pool is to end."""
    try:
        return parent.recv()
    except EOFError:
        return None


def _plain(config: pytest.Config, report: pytest.TestReport):
    return config.hook.pytest_report_to_serializable(config=config, report=report)
