"""Messages of arrays that lie on a device: bytes leave it before a send and arrive after a receive.

The plan is that of the processor, with a task more at either end of each message::

    brick ── Leave ──► buffer ── send ~~~ recv ──► buffer ── Arrive ──► piece

What the buffers are is the backend's affair: pinned host memory, or memory of the device where MPI
can read that.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True)
class Leave:
    """Buffer of a message, from the value that ``pack`` takes its part of."""

    pack: Callable[[Any], Any] | None

    def __call__(self, backend: Any, value: Any) -> Any:
        """Give the buffer."""
        return backend.outgoing(value if self.pack is None else self.pack(value))


@dataclass(frozen=True, slots=True)
class Buffer:
    """Memory that a message is received into."""

    nbytes: int

    def __call__(self, backend: Any) -> Any:
        """Give the memory."""
        return backend.buffer(self.nbytes)


@dataclass(frozen=True, slots=True)
class Arrive:
    """Piece on the device, from a received buffer.

    Parameters
    ----------
    make
        Of the values that it was planned with it gives the place that the piece is to have: part of
        a brick, which is filled, or host memory, which only tells shape and dtype.
    """

    make: Callable[..., Any]

    def __call__(self, backend: Any, buffer: Any, *values: Any) -> Any:
        """Give the piece."""
        place, data = self.make(*values), backend.incoming(buffer)
        if isinstance(place, np.ndarray):
            return data.view(place.dtype).reshape(place.shape)
        place[...] = data.view(place.dtype).reshape(place.shape)
        return place
