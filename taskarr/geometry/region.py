"""Rectangles of array indices: a box of (start, stop) pairs, a region of ``range`` objects."""

import math
from collections.abc import Iterable, Iterator
from itertools import product

Box = tuple[tuple[int, int], ...]
Region = tuple[range, ...]


def box_shape(box: Box) -> tuple[int, ...]:
    """Lengths of the box along each axis.

    >>> box_shape(((2, 5), (0, 4)))
    (3, 4)
    """
    return tuple(hi - lo for lo, hi in box)


def box_size(box: Box) -> int:
    """Number of elements in the box."""
    return math.prod(hi - lo for lo, hi in box)


def as_region(box: Box) -> Region:
    """Region with step one that covers the box."""
    return tuple(range(lo, hi) for lo, hi in box)


def region_shape(region: Region) -> tuple[int, ...]:
    """Lengths of the region along each axis."""
    return tuple(map(len, region))


def region_size(region: Region) -> int:
    """Number of elements in the region."""
    return math.prod(map(len, region))


def clip(indices: range, lo: int, hi: int) -> range:
    """Members of an increasing range that lie in ``[lo, hi)``.

    >>> clip(range(1, 20, 3), 5, 12)
    range(7, 13, 3)
    """
    step = indices.step
    first = max(0, -(-(lo - indices.start) // step))
    last = max(first, -(-(hi - indices.start) // step))
    return indices[first:last]


def intersect(region: Region, box: Box) -> Region | None:
    """Part of the region inside the box, or None when nothing is."""
    found = []
    for indices, (lo, hi) in zip(region, box, strict=True):
        part = clip(indices, lo, hi)
        if not part:
            return None
        found.append(part)
    return tuple(found)


def contains(box: Box, region: Region) -> bool:
    """Whether every index of a region that is not empty lies in the box."""
    return all(lo <= r[0] and r[-1] < hi for r, (lo, hi) in zip(region, box, strict=True))


def slices(region: Region, origin: Iterable[int]) -> tuple[slice, ...]:
    """Slices that pick the region out of an array whose first element has index ``origin``."""
    return tuple(
        slice(r.start - o, r.stop - o, r.step) for r, o in zip(region, origin, strict=True)
    )


def merged(regions: list[Region]) -> list[Region]:
    """Fewest bounding rectangles that hold no more elements than the given regions together.

    Regions of a stencil that overlap are joined, so that a row needed by three shifted views
    is counted once. Only contiguous regions are joined.
    """
    found: list[Region] = []
    for region in dict.fromkeys(regions):
        for i, other in enumerate(found):
            both = _bounding(region, other)
            if both and region_size(both) <= region_size(region) + region_size(other):
                found[i] = both
                break
        else:
            found.append(region)
    return found if len(found) == len(regions) else merged(found)


def _bounding(a: Region, b: Region) -> Region | None:
    if any(r.step != 1 for r in a + b):
        return a if a == b else None
    return tuple(
        range(min(p.start, q.start), max(p.stop, q.stop)) for p, q in zip(a, b, strict=True)
    )


def cut_to(region: Region, most: int) -> Iterator[Region]:
    """Pieces of the region in C order, each of at most ``most`` elements (at least one).

    >>> list(cut_to((range(0, 4), range(0, 3)), 6))
    [(range(0, 2), range(0, 3)), (range(2, 4), range(0, 3))]
    """
    if not region:
        yield region
        return
    axis = next(k for k in range(len(region)) if region_size(region[k + 1 :]) <= most)
    indices, inner = region[axis], region_size(region[axis + 1 :])
    rows = max(1, most // max(1, inner))
    for lead in product(*region[:axis]):
        head = tuple(range(i, i + 1) for i in lead)
        for first in range(0, len(indices), rows):
            yield (*head, indices[first : first + rows], *region[axis + 1 :])
