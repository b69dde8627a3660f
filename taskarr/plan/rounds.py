"""In how many rounds an owner takes what all ranks have for its rows, so that each fits a buffer.

The contributions of a rank are sorted by row. All ranks tell how many fall into each of some spans
of rows; a round takes neighbouring spans whole. A span that is too much for one round is taken in
several, from one rank after the other, so that contributions to a row keep their order.
"""

import numpy as np

BINS = 256
"""Spans into which an owner's rows are cut."""


def bin_edges(starts: np.ndarray) -> np.ndarray:
    """First address of each span of each rank, and of the next rank: (ranks, BINS + 1).

    >>> bin_edges(np.array([0, 512, 512])).shape
    (2, 257)
    """
    steps = np.arange(BINS + 1, dtype=np.int64)
    return starts[:-1, None] + np.diff(starts)[:, None] * steps // BINS


def schedule(counts: np.ndarray, own: int, most: int) -> np.ndarray:
    """Contributions that an owner takes from each rank in each round: (rounds, ranks).

    Parameters
    ----------
    counts
        Contributions per rank and span.
    own
        The owner, whose own contributions need no buffer.
    most
        Contributions of others in one round.

    Examples
    --------
    >>> schedule(np.array([[1, 1, 1], [2, 0, 2]]), 0, 2).tolist()
    [[2, 2], [1, 2]]
    >>> schedule(np.array([[1], [3]]), 0, 2).tolist()
    [[1, 0], [0, 2], [0, 1]]
    """
    ranks, _ = counts.shape
    others = counts.sum(axis=0) - counts[own]
    rounds: list[np.ndarray] = []
    taken, size = np.zeros(ranks, np.int64), 0
    for span, new in zip(counts.T, others.tolist(), strict=True):
        if size + new > most and taken.any():
            rounds.append(taken)
            taken, size = np.zeros(ranks, np.int64), 0
        if new > most:
            rounds += _one_by_one(span, own, most)
        else:
            taken, size = taken + span, size + new
    if taken.any():
        rounds.append(taken)
    return np.array(rounds, np.int64).reshape(-1, ranks)


def _one_by_one(span: np.ndarray, own: int, most: int) -> list[np.ndarray]:
    """Rounds of one span, from one rank after the other."""
    rounds = []
    for rank, count in enumerate(span.tolist()):
        step = max(1, count) if rank == own else most
        for first in range(0, count, step):
            taken = np.zeros(len(span), np.int64)
            taken[rank] = min(step, count - first)
            rounds.append(taken)
    return rounds
