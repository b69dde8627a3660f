"""Devices, streams and host memory of the stand-in for CuPy.

A thread has one device at a time (`Device.use`) and one stream per device, as CuPy's threads have.
What a stream was told to do counts as done only after `Stream.synchronize`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

COUNT = 4
"""Devices that there are."""

TOTAL = 80 << 30
"""Bytes of a device's memory."""

UNIT = 512
"""Bytes of which a device's pool gives whole multiples."""

_here = threading.local()
_used = [0] * COUNT


class Stream:
    """Work of one thread on one device, in order.

    State: how much work was begun, how much of it is known to be done, and the copies to host
    memory that a synchronisation still has to make.
    """

    def __init__(self) -> None:
        self.begun = 0
        self.done = 0
        self.copies: list[Callable[[], None]] = []

    def begin(self) -> int:
        """Number of a new piece of work."""
        self.begun += 1
        return self.begun

    def synchronize(self) -> None:
        """Wait until all that was begun is done."""
        for copy in self.copies:
            copy()
        self.copies.clear()
        self.done = self.begun


class Device:
    """A device, by number."""

    def __init__(self, device: int | None = None) -> None:
        self.id = current_device() if device is None else int(device)
        if not 0 <= self.id < COUNT:
            raise RuntimeError(f"cudaErrorInvalidDevice: invalid device ordinal {self.id}")

    def use(self) -> None:
        """Make it this thread's device."""
        _here.device = self.id

    def synchronize(self) -> None:
        """Wait for this thread's work on it."""
        stream_of(self.id).synchronize()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device) and other.id == self.id

    def __hash__(self) -> int:
        return hash(self.id)

    def __repr__(self) -> str:
        return f"<strict device {self.id}>"


def current_device() -> int:
    """Number of this thread's device."""
    return getattr(_here, "device", 0)


def stream_of(device: int) -> Stream:
    """This thread's stream on a device."""
    streams: dict[int, Stream] = _here.__dict__.setdefault("streams", {})
    return streams.setdefault(device, Stream())


class Memory:
    """What arrays that share memory have in common: the device, and the last work that writes it.

    State: its size in the device's pool; the stream of that work and its number there.
    """

    __slots__ = ("device", "nbytes", "number", "stream")

    def __init__(self, nbytes: int) -> None:
        self.device = current_device()
        self.nbytes = -(-nbytes // UNIT) * UNIT
        _used[self.device] += self.nbytes
        self.wrote()

    def __del__(self) -> None:
        _used[self.device] -= self.nbytes

    def wrote(self) -> None:
        """Note work of this thread's stream that writes it."""
        self.stream = stream_of(self.device)
        self.number = self.stream.begin()

    @property
    def pending(self) -> bool:
        """Whether it is not known that all that writes it is done."""
        return self.number > self.stream.done


class MemoryPool:
    """Where the present device's memory comes from."""

    def used_bytes(self) -> int:
        """Bytes that arrays lie in."""
        return _used[current_device()]


def empty_pinned(shape: Any, dtype: Any = float, order: str = "C") -> np.ndarray:
    """Host memory that a device can copy to and from while the program goes on."""
    found: np.ndarray = np.empty(shape, dtype, order)  # type: ignore[call-overload]
    found.reshape(-1).view(np.uint8).fill(0xA5)
    return found
