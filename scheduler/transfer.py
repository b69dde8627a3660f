"""One message of a plan on the world's MPI messages: cut, packed, pickled, or failed.

A piece goes as one MPI message for each of its `plan.cuts`; if it failed, each is of zero length.
An object goes as a first message of at most `FIRST` bytes (length of the header, or -1 if it
failed, and the header if it fits), then the header if it didn't, then each of its buffers, cut.
All MPI messages of one plan message have the same tag and are posted in order on both sides,
so that MPI's non-overtaking order keeps them apart.

A receive is a generator: it yields the requests to wait for and returns the value. It receives
all that is sent, also if it fails.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Generator
from typing import Any

import numpy as np

from scheduler import wire
from scheduler.comm.world import Request, World, byte_view
from scheduler.errors import PeerFailed, SPMDError
from scheduler.plan import Recv, Send, SendObject, cuts

FIRST = 4096
"""Bytes of the first message of an object."""

Receiving = Generator[list[Request], None, Any]


def post(world: World, send: Send | SendObject, value: Any, tag: int) -> list[Request]:
    """Begin to send a value. If this raises, nothing was posted: call `post_failure`."""
    if isinstance(send, SendObject):
        return _post_object(world, send.dest, value, tag)
    buffer = value if send.pack is None else send.pack(value)
    nbytes = _nbytes(buffer)
    if nbytes != send.nbytes:
        raise SPMDError(f"{send.nbytes} bytes of {send.key!r} were planned, there are {nbytes}")
    parts = _parts(buffer, nbytes)
    return [world.isend(part, send.dest, tag, owned=send.copies) for part in parts]


def post_failure(world: World, send: Send | SendObject, tag: int) -> list[Request]:
    """Tell the receiver of a message that there is no value."""
    if isinstance(send, SendObject):
        return [world.isend(struct.pack("<q", -1), send.dest, tag)]
    empty = np.empty(0, np.uint8)
    return [world.isend(empty, send.dest, tag) for _ in cuts(send.nbytes)]


def receive(world: World, recv: Recv, make: Callable[[], Any], tag: int) -> Receiving:
    """Receive a piece into the buffer that ``make()`` gives."""
    try:
        buffer = make()
        parts = _parts(buffer, _nbytes(buffer))
        if _nbytes(buffer) != recv.nbytes:
            raise SPMDError(f"the buffer of {recv.key!r} has not {recv.nbytes} bytes")
    except BaseException:
        yield from _drain(world, recv.source, [recv.nbytes], tag)
        raise
    requests = [world.irecv(part, recv.source, tag) for part in parts]
    yield requests
    got = sum([request.nbytes for request in requests])
    if got != recv.nbytes:
        raise _unexpected(recv, got)
    if world.state.get("poison") and isinstance(buffer, np.ndarray):
        buffer.flags.writeable = False
    return buffer


def receive_object(world: World, source: int, tag: int) -> Receiving:
    """Receive an object."""
    first = np.empty(FIRST, np.uint8)
    request = world.irecv(first, source, tag)
    yield [request]
    (length,) = struct.unpack("<q", first[:8].tobytes())
    if length < 0:
        raise PeerFailed(f"rank {source} has failed")
    if 8 + length <= FIRST:
        header = first[8 : 8 + length]
    else:
        header = np.empty(length, np.uint8)
        yield [world.irecv(part, source, tag) for part in _parts(header, length)]
    data = header.data
    try:
        buffers = wire.allocate(data)
    except MemoryError:
        yield from _drain(world, source, wire.sizes(data), tag)
        raise
    requests = [
        world.irecv(part, source, tag)
        for buffer in buffers
        for part in _parts(buffer, buffer.nbytes)
    ]
    if requests:
        yield requests
    return wire.decode(data, buffers)


def _post_object(world: World, dest: int, value: Any, tag: int) -> list[Request]:
    header, buffers = wire.encode(value)
    head = struct.pack("<q", len(header))
    if 8 + len(header) <= FIRST:
        head += header
    else:
        buffers.insert(0, byte_view(header))
    pieces = [piece for buffer in buffers for piece in _parts(buffer, buffer.nbytes)]
    return [world.isend(piece, dest, tag) for piece in (head, *pieces)]


def _drain(world: World, source: int, lengths: Any, tag: int) -> Receiving:
    """Receive bytes that nobody wants, one message at a time."""
    for length in lengths:
        for start, stop in cuts(length):
            yield [world.irecv(np.empty(stop - start, np.uint8), source, tag)]


def _nbytes(buffer: Any) -> int:
    nbytes = getattr(buffer, "nbytes", None)
    return len(buffer) if nbytes is None else int(nbytes)


def _parts(buffer: Any, nbytes: int) -> list[Any]:
    """Cut a buffer into MPI messages."""
    spans = list(cuts(nbytes))
    if len(spans) <= 1:
        return [buffer]
    flat = byte_view(buffer)
    if not isinstance(flat, np.ndarray):
        flat = flat.reshape(-1).view(np.uint8)
    return [flat[start:stop] for start, stop in spans]


def _unexpected(recv: Recv, got: int) -> Exception:
    if got == 0:
        return PeerFailed(f"rank {recv.source} has failed")
    return SPMDError(f"{got} bytes came from rank {recv.source}, {recv.nbytes} were planned")
