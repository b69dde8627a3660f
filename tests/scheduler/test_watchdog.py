"""Reports of waits that last too long."""

import time
from collections import defaultdict, deque

import numpy as np
import pytest

from scheduler import SPMDError
from scheduler.comm import watchdog
from scheduler.comm.watchdog import Watchdog


class Office:
    """Carries texts between the watchdogs of one process."""

    def __init__(self, size):
        self.boxes = defaultdict(deque)
        self.dogs = [Watchdog(rank, size) for rank in range(size)]

    def __enter__(self):
        for dog in self.dogs:
            dog.start(Desk(self, dog.rank))
        return self.dogs

    def __exit__(self, *_):
        for dog in self.dogs:
            dog.stop()


class Desk:
    def __init__(self, office, rank):
        self.office, self.rank = office, rank

    def send(self, text, dest, tag):
        self.office.boxes[dest, tag].append((self.rank, text))

    def receive(self, tag):
        box = self.office.boxes[self.rank, tag]
        return box.popleft() if box else None


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    monkeypatch.setattr(watchdog, "_PERIOD", 0.01)
    monkeypatch.setattr(watchdog, "_ANSWER_SECONDS", 1.0)


def report_of(dog, awaited=()):
    """Poll as a waiting rank does until its report comes."""
    end = time.monotonic() + 10
    while time.monotonic() < end:
        report = dog.check(lambda: set(awaited))
        if report is not None:
            return report
        time.sleep(0.001)
    raise AssertionError("no report came")


def test_all_ranks_say_where_they_are(capfd):
    with Office(3) as dogs:
        dogs[2].begin("a product", 1e9)
        dogs[0].begin("a sum", 0.05)
        report = report_of(dogs[0])
    assert not report.ended
    assert report.text.startswith("rank 0 has waited 0 s in a sum (test_watchdog.py:")
    assert "; rank 1 is computing at test_watchdog.py:" in report.text
    assert "; rank 2 waits in a product (test_watchdog.py:" in report.text
    assert f"taskarr: {report.text}\n" in capfd.readouterr().err


def test_only_the_lowest_waiting_rank_prints(capfd):
    with Office(3) as dogs:
        dogs[1].begin("a sum", 1e9)
        dogs[2].begin("a sum", 0.05)
        report_of(dogs[2])
    assert capfd.readouterr().err == ""


def test_a_rank_that_has_ended_is_found():
    with Office(2) as dogs:
        dogs[1].ended = True
        dogs[0].begin("a sum", 0.05)
        report = report_of(dogs[0])
    assert report.ended
    assert report.text.endswith("rank 1 has ended")


def test_a_rank_that_does_not_answer(monkeypatch):
    monkeypatch.setattr(watchdog, "_ANSWER_SECONDS", 0.05)
    office = Office(2)
    dog = office.dogs[0]
    dog.start(Desk(office, 0))
    dog.begin("a sum", 0.05)
    assert report_of(dog).text.endswith("rank 1 does not answer")
    dog.stop()


def test_among_many_ranks_those_awaited_are_asked(monkeypatch):
    monkeypatch.setattr(watchdog, "_MOST_ASKED", 2)
    with Office(5) as dogs:
        dogs[1].begin("an exchange", 0.05)
        text = report_of(dogs[1], [3]).text
        dogs[1].begin("a sum", 0.05)
        sample = report_of(dogs[1]).text
    assert "rank 3" in text
    assert text.count("; rank") == 1
    assert sample.count("; rank") == 2


def test_without_a_thread_the_wait_itself_is_reported():
    dog = Watchdog(0, 2)
    dog.begin("a sum", 0.0)
    assert report_of(dog).text.startswith("rank 0 has waited 0 s in a sum")


def test_a_wait_that_is_over_is_not_reported(capfd):
    with Office(2) as dogs:
        dogs[0].begin("a sum", 0.0)
        dogs[0].check(set)
        dogs[0].finish()
        time.sleep(0.1)
        dogs[0].begin("the next", 1e9)
        assert dogs[0].check(set) is None
    assert capfd.readouterr().err.count("\n") <= 1


@pytest.mark.ranks(2, 3)
def test_mpi_in_debug_mode_a_long_wait_raises(world):
    world.state.update(timeout=0.1, debug=True)
    buffer = np.empty(1)
    try:
        if world.rank == 0:
            receive = world.irecv(buffer, 1, 0)
            with pytest.raises(SPMDError, match=r"waited \d s in an exchange .*rank 1 "):
                world.wait(receive.test, "an exchange")
        elif world.rank == 1:
            time.sleep(2)
            world.isend(buffer, 0, 0)
    finally:
        del world.state["timeout"], world.state["debug"]
    if world.rank == 0:
        world.wait(receive.test, "the late message")
    world.allgather(None, "the end")
