"""Who speaks when ranks end in trouble, on virtual ranks."""

from __future__ import annotations

import time

import pytest

from scheduler import run_virtual
from taskarr.launch.last_words import Verdict, exchange


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_one_speaks_for_all(size):
    verdicts = run_virtual(size, lambda world: exchange(world, b"same"))
    assert verdicts == [Verdict(rank == 0, True, True) for rank in range(size)]


def test_each_different_word_is_spoken_once():
    words = [b"a", b"b", b"a", b"b", b"c"]
    verdicts = run_virtual(5, lambda world: exchange(world, words[world.rank]))
    assert [v.speaks for v in verdicts] == [True, True, False, False, True]
    assert all(v.all_end and not v.alike for v in verdicts)


class Unanswered:
    """A world whose other ranks go on computing: nothing arrives, what is sent stays there."""

    size = 3
    tag_limit = 100

    def __init__(self, rank: int) -> None:
        self.rank = rank

    def isend(self, buffer, dest, tag):
        return Pending()

    irecv = isend

    def idle(self, where):
        time.sleep(0.001)


class Pending:
    def test(self) -> bool:
        return False


@pytest.mark.parametrize("rank", [0, 1])
def test_a_rank_without_an_answer_speaks_and_ends_the_others(rank):
    assert exchange(Unanswered(rank), b"same", patience=0.01) == Verdict(True, False)
