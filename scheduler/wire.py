"""Any Python value as a header of bytes and a list of large buffers, and back.

Values are pickled by protocol 5. Buffers of `INLINE` bytes or more (the data of NumPy arrays,
mostly) stay out of the pickle, are not copied and can be sent as they are. cloudpickle is used
only for what plain pickle refuses: lambdas and local functions or classes.

The header begins with the number of buffers and their sizes, so that a receiver can allocate
them before anything is unpickled.
"""

from __future__ import annotations

import pickle
import struct
from collections.abc import Sequence
from typing import Any

import cloudpickle
import numpy as np

__all__ = ["INLINE", "allocate", "decode", "dumps", "encode", "loads", "sizes"]

INLINE = 4096
"""Smaller buffers travel inside the header; so no buffer is empty."""


def encode(value: Any) -> tuple[bytes, list[np.ndarray]]:
    """Return the header of a value and its large buffers, which share the value's memory.

    Examples
    --------
    >>> header, buffers = encode({"a": np.zeros(1000), "b": 1})
    >>> [buffer.nbytes for buffer in buffers]
    [8000]
    >>> sorted(decode(header, buffers))
    ['a', 'b']
    """
    try:
        pickled, buffers = _pickle(pickle.dumps, value)
    except (pickle.PicklingError, AttributeError, TypeError):
        pickled, buffers = _pickle(cloudpickle.dumps, value)
    count = len(buffers)
    head = struct.pack(f"<{count + 1}q", count, *(buffer.nbytes for buffer in buffers))
    return head + pickled, buffers


def sizes(header: bytes | memoryview) -> tuple[int, ...]:
    """Return the bytes of each buffer that belongs to a header."""
    (count,) = struct.unpack_from("<q", header)
    return struct.unpack_from(f"<{count}q", header, 8)


def allocate(header: bytes | memoryview) -> list[np.ndarray]:
    """Return uint8 arrays into which the buffers of a header can be received."""
    return [np.empty(size, np.uint8) for size in sizes(header)]


def decode(header: bytes | memoryview, buffers: Sequence[Any]) -> Any:
    """Return the value; its arrays use the memory of `buffers`."""
    (count,) = struct.unpack_from("<q", header)
    if len(buffers) != count:
        raise ValueError(f"the header belongs to {count} buffers, got {len(buffers)}")
    return pickle.loads(memoryview(header)[8 * (count + 1) :], buffers=buffers)


def dumps(value: Any) -> bytes:
    """Return a small value as one piece of bytes."""
    header, buffers = encode(value)
    return b"".join([struct.pack("<q", len(header)), header, *(buffer.data for buffer in buffers)])


def loads(data: bytes) -> Any:
    """Return the value of `dumps`; its arrays are writable and share no memory with `data`."""
    (length,) = struct.unpack_from("<q", data)
    header = data[8 : 8 + length]
    buffers = allocate(header)
    start = 8 + length
    for buffer in buffers:
        buffer[:] = np.frombuffer(data, np.uint8, buffer.nbytes, start)
        start += buffer.nbytes
    return decode(header, buffers)


def _pickle(dump: Any, value: Any) -> tuple[bytes, list[np.ndarray]]:
    buffers: list[np.ndarray] = []

    def keep_inline(buffer: pickle.PickleBuffer) -> bool:
        raw = buffer.raw()
        if raw.nbytes < INLINE:
            return True
        buffers.append(np.frombuffer(raw, np.uint8))
        return False

    return dump(value, protocol=5, buffer_callback=keep_inline), buffers
