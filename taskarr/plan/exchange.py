"""Exchange: which pieces of a source array move between which ranks before a pass.

Both ends of a pair derive the same list from layouts alone: the receiver's iteration brick, seen
through the pass's views, laid over the sender's brick::

    sender's brick      ┌──────────┐
    receiver's region        ┌──────────┐      piece = overlap, cut to PIECE bytes
                             └──────────┘
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from taskarr.geometry.layout import Layout
from taskarr.geometry.region import Box, Region, cut_to, intersect, merged, region_size
from taskarr.geometry.view import Affine

PIECE = 1 << 20
"""Bytes of the largest piece: small enough to be in the cache when the other side reads it."""

ROUND = 64 << 20
"""Bytes that all pieces of a rank in one round of an all-to-all may have together."""


@dataclass(frozen=True, slots=True)
class Source:
    """An array that a pass reads: where it lies, through which views, how wide an element is."""

    layout: Layout
    views: tuple[Affine, ...]
    itemsize: int


def pieces(source: Source, space: Layout, owner: int, reader: int) -> tuple[Region, ...]:
    """Regions of the source that ``owner`` holds and ``reader`` needs, in order, cut to size."""
    brick, box = source.layout.brick(owner), _swept(space, reader)
    if brick is None or box is None:
        return ()
    needed = [intersect(view.image(box), brick) for view in source.views]
    whole = merged([r for r in needed if r is not None])
    most = max(1, min(PIECE, ROUND // space.size) // source.itemsize)
    return tuple(part for region in whole for part in cut_to(region, most))


def _swept(space: Layout, rank: int) -> Box | None:
    """Box that a rank's pass sweeps, or None when there is nothing in it."""
    box = space.brick(rank)
    return box if box is not None and all(lo < hi for lo, hi in box) else None


def givers(source: Source, space: Layout, rank: int) -> Iterator[int]:
    """Other ranks that hold what this rank needs, each once, in rank order."""
    box = _swept(space, rank)
    if box is None or source.layout.replicated:
        return
    found: set[int] = set()
    for view in source.views:
        spans = tuple((r.start, r[-1] + 1) for r in view.image(box))
        found.update(source.layout.owners_of(spans))
    yield from sorted(found - {rank})


def takers(source: Source, space: Layout, rank: int) -> Iterator[int]:
    """Other ranks that need what this rank holds, each once, in rank order."""
    brick = source.layout.brick(rank)
    if brick is None or source.layout.replicated:
        return
    found: set[int] = set()
    for view in source.views:
        box = view.preimage(brick)
        if box is not None:
            found.update(space.owners_of(box))
    yield from sorted(found - {rank})


def is_dense(sources: Sequence[Source], space: Layout) -> bool:
    """Whether the exchange is an all-to-all: the first owner deals with all others, in bulk.

    All others are those that read, and at least half of the world. Computed from the layouts, so
    alike on all ranks; costs as much as one rank's own planning.
    """
    return any(_dense(source, space) for source in sources)


@lru_cache(512)
def _dense(source: Source, space: Layout) -> bool:
    layout = source.layout
    if layout.replicated or layout.size == 1:
        return False
    first = next(layout.owners_of(layout.whole), None)
    brick = None if first is None else layout.brick(first)
    if first is None or brick is None:
        return False
    partners = list(takers(source, space, first))
    others = sum(1 for _ in space.owners_of(space.whole)) - (space.brick(first) is not None)
    if not partners or len(partners) < max(others, layout.size // 2):
        return False
    moved = sum(region_size(r) for p in partners for r in pieces(source, space, first, p))
    held = region_size(tuple(range(lo, hi) for lo, hi in brick))
    return moved * 8 >= held
