"""Reading leaves: the part of an array, of pieces of it, or of a generator that a tile needs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from taskarr.geometry.region import Box, Region, as_region, box_shape, contains
from taskarr.geometry.view import NEW, Affine
from taskarr.kernel.program import Leaf
from taskarr.kernel.random import Drawer, flat_index, shuffled

Read = Callable[[Box], Any]


@dataclass(frozen=True, slots=True)
class Piece:
    """Part of an array at hand: which region it is, and its elements."""

    region: Region
    data: Any

    @property
    def bounding(self) -> Box:
        """Smallest box around the region."""
        return tuple((r.start, r[-1] + 1) for r in self.region)


def reader(leaf: Leaf, pieces: Sequence[Piece], args: Sequence[Any], xp: ModuleType) -> Read:
    """Function from a tile to the leaf's values there, as an array that broadcasts to it."""
    if leaf.kind == "array":
        return _array_reader(leaf, pieces, xp)
    return GENERATORS[leaf.kind](leaf, args, xp)


def _array_reader(leaf: Leaf, pieces: Sequence[Piece], xp: ModuleType) -> Read:
    view = leaf.view
    picks = [(p.bounding, picker(p, view)) for p in pieces if _on_grid(p.region, view)]

    def read(tile: Box) -> Any:
        region = view.image(tile)
        for box, pick in picks:
            if contains(box, region):
                return pick(tile)
        return gather(tile)

    def gather(tile: Box) -> Any:
        shape = _leaf_shape(view, tile)
        whole = xp.empty(shape, leaf.dtype)
        for box, pick in picks:
            seen = view.preimage(box)
            part = seen and _overlap(seen, tile)
            if part:
                where = tuple(
                    slice(0, 1) if axis == NEW else slice(lo - t[0], hi - t[0])
                    for (lo, hi), t, axis in zip(part, tile, view.axes, strict=True)
                )
                whole[where] = pick(part)
        return whole

    if len(picks) == 1:
        return picks[0][1]
    return read


def _on_grid(region: Region, view: Affine) -> bool:
    """Whether a strided piece holds all that the view shows of the box around it."""
    for axis, (r, start) in enumerate(zip(region, view.start, strict=True)):
        step = view.step[view.axes.index(axis)] if axis in view.axes else 0
        if len(r) > 1 and ((start - r.start) % r.step or step % r.step):
            return False
    return True


def _leaf_shape(view: Affine, tile: Box) -> tuple[int, ...]:
    return tuple(
        1 if axis == NEW else hi - lo for (lo, hi), axis in zip(tile, view.axes, strict=True)
    )


def _overlap(a: Box, b: Box) -> Box | None:
    box = tuple((max(p[0], q[0]), min(p[1], q[1])) for p, q in zip(a, b, strict=True))
    return box if all(lo < hi for lo, hi in box) else None


def window(data: Any, shift: Sequence[int]) -> Read:
    """Function from a tile to the same box, shifted, of an array; written out for few axes."""
    if len(shift) == 1:
        (s,) = shift

        def window_1(tile: Box) -> Any:
            ((a, b),) = tile
            return data[a + s : b + s]

        return window_1
    if len(shift) == 2:
        s, t = shift

        def window_2(tile: Box) -> Any:
            (a, b), (c, d) = tile
            return data[a + s : b + s, c + t : d + t]

        return window_2

    def window_n(tile: Box) -> Any:
        spans = zip(tile, shift, strict=True)
        return data[(*[slice(lo + o, hi + o) for (lo, hi), o in spans], ...)]

    return window_n


def picker(piece: Piece, view: Affine) -> Read:
    """Function from a tile inside the piece to a view of the piece's data there."""
    data = piece.data
    walks = []  # per base axis: (view axis or -1, start, step) in elements of the piece
    for axis, (start, r) in enumerate(zip(view.start, piece.region, strict=True)):
        walker = view.axes.index(axis) if axis in view.axes else -1
        step = view.step[walker] if walker >= 0 else 1
        walks.append((walker, start - r.start, step, r.step))
    if all(w == k and s == 1 and g == 1 for k, (w, _, s, g) in enumerate(walks)) and len(
        walks
    ) == len(view.axes):
        return window(data, [start for _, start, _, _ in walks])
    walked = [w for w, _, _, _ in walks if w >= 0]
    order = tuple(walked.index(v) for v in sorted(walked))
    expand = tuple(None if axis == NEW else slice(None) for axis in view.axes)
    straight = order == tuple(range(len(order)))
    full = None not in expand

    def pick(tile: Box) -> Any:
        index: list[Any] = []
        for walker, start, step, grain in walks:
            if walker < 0:
                index.append(start // grain)
            else:
                lo, hi = tile[walker]
                index.append(_slice(start + step * lo, step, hi - lo, grain))
        part = data[(*index, ...)]
        if not straight:
            part = part.transpose(order)
        return part if full else part[expand]

    return pick


def _slice(first: int, step: int, count: int, grain: int) -> slice:
    first, step = first // grain, (step // grain) or (1 if step > 0 else -1)
    last = first + step * (count - 1)
    stop = last + (1 if step > 0 else -1)
    return slice(first, None if stop < 0 else stop, step)


def _fill_reader(leaf: Leaf, args: Sequence[Any], xp: ModuleType) -> Read:
    value = xp.asarray(args[leaf.source], leaf.dtype).reshape((1,) * len(leaf.view.axes))
    return lambda tile: value


def _arange_reader(leaf: Leaf, args: Sequence[Any], xp: ModuleType) -> Read:
    first, delta = args[leaf.source], args[leaf.source + 1]
    view, dtype = leaf.view, leaf.dtype
    walker = view.axes.index(0) if 0 in view.axes else -1
    expand = tuple(None if axis == NEW else slice(None) for axis in view.axes)

    def read(tile: Box) -> Any:
        lo, hi = tile[walker] if walker >= 0 else (0, 1)
        step = view.step[walker] if walker >= 0 else 1
        at = xp.arange(lo, hi, dtype="i8") * step + view.start[0]
        values = (at.astype(dtype) * delta + first).astype(dtype, copy=False)
        return values[expand] if walker >= 0 else values.reshape((1,) * len(view.axes))

    return read


def _by_region(leaf: Leaf, values: Callable[[Region], Any], xp: ModuleType) -> Read:
    """Reader of what makes the values of any region; tiles are contiguous however it is seen."""
    view = leaf.view
    if view.is_identity:
        return lambda tile: xp.ascontiguousarray(values(as_region(tile))).reshape(box_shape(tile))

    def read(tile: Box) -> Any:
        region = view.image(tile)
        part = picker(Piece(region, values(region)), view)(tile)
        return xp.ascontiguousarray(part).reshape(part.shape)

    return read


def _file_reader(leaf: Leaf, args: Sequence[Any], xp: ModuleType) -> Read:
    file = args[leaf.source]
    return _by_region(leaf, lambda region: xp.asarray(file.read(region)), xp)


def _drawn_reader(leaf: Leaf, args: Sequence[Any], xp: ModuleType) -> Read:
    drawer = Drawer(*args[leaf.source : leaf.source + 3])
    return _by_region(leaf, lambda region: xp.asarray(drawer.read(region, leaf.dtype)), xp)


def _shuffled_reader(leaf: Leaf, args: Sequence[Any], xp: ModuleType) -> Read:
    permutation = shuffled(*args[leaf.source : leaf.source + 3])

    def values(region: Region) -> Any:
        at = flat_index(leaf.view, region, xp)
        return permutation(at.reshape(-1), xp).reshape(at.shape).astype(leaf.dtype)

    return _by_region(leaf, values, xp)


GENERATORS = {
    "fill": _fill_reader,
    "arange": _arange_reader,
    "file": _file_reader,
    "drawn": _drawn_reader,
    "shuffled": _shuffled_reader,
}


def own_piece(box: Box, data: Any) -> Piece:
    """Piece that is a rank's brick."""
    assert box_shape(box) == data.shape
    return Piece(as_region(box), data)
