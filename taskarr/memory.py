"""What a run keeps within the memory budget: functions of numbers that all ranks know."""

from collections.abc import Iterable
from typing import NamedTuple

MARKS = 64
"""Bits in which a rank says how much of its budget is in use."""


def mark(live: int, budget: int) -> int:
    """One of `MARKS` bits that tells how much of a budget is in use, rounded up.

    When the ranks' bits are OR-ed, the highest one is that of the fullest rank.

    >>> mark(0, 100), mark(50, 100) == 1 << 32, mark(1000, 100) == 1 << 63
    (1, True, True)
    """
    return 1 << min(MARKS - 1, -(-live * (MARKS - 1) // budget))


def free_bytes(marks: int, budget: int) -> int:
    """Bytes of the budget that are free on the fullest rank.

    >>> free_bytes(mark(0, 100) | mark(50, 100), 100)
    49
    """
    return budget - -(-budget * (marks.bit_length() - 1) // (MARKS - 1))


SMALL = 16
"""Bytes that are always kept: those of one number."""


class Wish(NamedTuple):
    """A node that might be kept.

    Parameters
    ----------
    position
        In the graph.
    nbytes
        Of its largest brick.
    costly
        Whether it is computed, and not only read or generated.
    """

    position: int
    nbytes: int
    costly: bool


def over_budget(wishes: Iterable[Wish], free: int) -> list[Wish]:
    """Those that don't fit: what is computed goes first, and what the graph needs earlier.

    >>> over_budget([Wish(0, 60, False), Wish(1, 60, True), Wish(2, 30, True)], 100)
    [Wish(position=0, nbytes=60, costly=False)]
    """
    refused = []
    for wish in sorted(wishes, key=lambda w: (not w.costly, w.position)):
        if wish.nbytes <= max(free, SMALL):
            free -= wish.nbytes
        else:
            refused.append(wish)
    return refused


def in_words(nbytes: int) -> str:
    """Bytes as a person reads them.

    >>> in_words(950), in_words(20_500_000)
    ('950 bytes', '20.5 MB')
    """
    for size, unit in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if nbytes >= size:
            return f"{nbytes / size:.3g} {unit}"
    return f"{nbytes} bytes"
