"""Collective stages of a plan: dense exchanges, and the counts of filtered rows."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from scheduler import World
from scheduler.errors import Failure, PeerFailed
from scheduler.shuffle import In, Out, shuffle
from taskarr.backend import CPU
from taskarr.geometry.region import Box, Region, region_shape, region_size, slices
from taskarr.plan.tasks import lies_contiguous


@dataclass(frozen=True, slots=True)
class DenseExchange:
    """All-to-all of one source: every rank's pieces for every other.

    Parameters
    ----------
    box
        This rank's brick of the source, or None.
    outgoing, incoming
        Pieces per peer, in peer order; the k-th piece of a pair belongs to round k.
    dtype
        Of the elements.
    target
        Box of the output brick that pieces are received into, or None: into fresh buffers.
    """

    box: Box | None
    outgoing: tuple[tuple[int, Region], ...]
    incoming: tuple[tuple[int, Region], ...]
    dtype: np.dtype
    target: Box | None
    where: str

    def __call__(self, world: World, values: Any) -> tuple[Any, ...]:
        """Take part; the inputs are the backend, this rank's brick, the output brick, if any."""
        if isinstance(values, Failure):
            shuffle(world, (), (), failed=True, where=self.where)
            raise PeerFailed(self.where)
        backend, *bricks = values
        todo = iter(bricks)
        brick = next(todo) if self.box is not None else None
        into = next(todo) if self.target is not None else None
        if backend.device != CPU:
            return self._by_way_of_host(world, backend, brick)
        received = [None if into is not None else self._fresh(r) for _, r in self.incoming]
        outs = [self._sender(brick, peer, region) for peer, region in self.outgoing]
        ins = [
            self._receiver(peer, region, fresh, into)
            for (peer, region), fresh in zip(self.incoming, received, strict=True)
        ]
        shuffle(world, outs, ins, failed=False, where=self.where)
        return (into,) if self.target is not None else tuple(received)

    def _by_way_of_host(self, world: World, backend: Any, brick: Any) -> tuple[Any, ...]:
        """Exchange pieces of a brick on a device through host memory."""
        received = [backend.pinned(region_shape(r), self.dtype) for _, r in self.incoming]
        outs = [self._leaver(backend, brick, peer, region) for peer, region in self.outgoing]
        ins = [
            self._receiver(peer, region, fresh, None)
            for (peer, region), fresh in zip(self.incoming, received, strict=True)
        ]
        shuffle(world, outs, ins, failed=False, where=self.where)
        return tuple(map(backend.here, received))

    def _leaver(self, backend: Any, brick: Any, peer: int, region: Region) -> Out:
        assert self.box is not None
        part = brick[(*slices(region, (lo for lo, _ in self.box)), ...)]

        def fill(buffer: Any) -> Any:
            leaving = backend.host(part).reshape(-1).view("u1")
            if buffer is None:
                return leaving
            np.copyto(buffer, leaving)
            return buffer

        return Out(peer, self._bytes(region), fill)

    def _bytes(self, region: Region) -> int:
        return region_size(region) * self.dtype.itemsize

    def _fresh(self, region: Region) -> np.ndarray:
        return np.empty(region_shape(region), self.dtype)

    def _sender(self, brick: Any, peer: int, region: Region) -> Out:
        assert self.box is not None
        part = brick[(*slices(region, (lo for lo, _ in self.box)), ...)]

        def fill(buffer: Any) -> Any:
            if buffer is None:
                return part.reshape(-1).view("u1") if part.flags.c_contiguous else None
            np.copyto(buffer.view(self.dtype).reshape(part.shape), part)
            return buffer

        return Out(peer, self._bytes(region), fill, part)

    def _receiver(self, peer: int, region: Region, fresh: Any, into: Any) -> In:
        if fresh is not None:
            place = fresh.reshape(-1).view("u1")
            return In(peer, place.nbytes, lambda: place, lambda buffer: None, fresh)
        assert self.target is not None
        part = into[(*slices(region, (lo for lo, _ in self.target)), ...)]
        if lies_contiguous(region, self.target):
            flat = part.reshape(-1).view("u1")
            return In(peer, flat.nbytes, lambda: flat, lambda buffer: None, part)

        def drain(buffer: Any) -> None:
            np.copyto(part, buffer.view(self.dtype).reshape(part.shape))

        return In(peer, self._bytes(region), lambda: None, drain, part)


@dataclass(frozen=True, slots=True)
class CountRows:
    """Counts of kept elements per block, known to all, and this rank's kept elements.

    Parameters
    ----------
    number
        Position of the filter's result in what the tasks of the pass return.
    blocks
        Number of blocks along the first axis.
    alone
        Whether every rank has all blocks, so that nothing is counted together.
    """

    number: int
    blocks: int
    alone: bool
    where: str

    def __call__(self, world: World, values: Any) -> tuple[Any, Any]:
        """Give (counts, brick); the inputs are the backend, the collector, the tasks' results.

        A rank without blocks has neither collector nor results, and gets no brick.
        """
        failed = isinstance(values, Failure)
        counts = np.zeros(self.blocks + 1, np.int64)
        if not failed:
            for run in values[2:]:
                for key, count in run[self.number].items():
                    counts[key[0][1]] += count
        counts[-1] = failed
        if not self.alone:
            counts = world.allreduce(counts, "sum", self.where)
        if counts[-1]:
            raise PeerFailed(self.where)
        brick = values[1].brick(values[0]) if len(values) > 1 else None
        return counts[:-1], brick
