"""Collecting what filters keep: one buffer with room for all, filled in C order."""

from dataclasses import dataclass
from typing import Any

from taskarr.backend import Backend
from taskarr.geometry.region import Box


@dataclass(slots=True)
class Collector:
    """Elements, or rows, that a filter kept so far.

    State: the buffer, of which only what is filled takes memory pages, and the filled length.
    """

    buffer: Any
    filled: int = 0

    def add(self, backend: Backend, values: Any, mask: Any, columns: Box) -> int:
        """Append the elements of a tile at which the mask over its leading axes is true.

        Parameters
        ----------
        columns
            Box of the tile on the other axes; a row that is longer than a tile comes in parts.

        Returns
        -------
        int
            How many elements, or whole rows.
        """
        where = [slice(lo, hi) for lo, hi in columns]
        if mask.ndim > 1:
            kept = values[mask]
            count = len(kept)
            self.buffer[(slice(self.filled, self.filled + count), *where)] = kept
        else:
            at = backend.xp.flatnonzero(mask)
            count = len(at)
            into = self.buffer[(slice(self.filled, self.filled + count), *where)]
            backend.xp.take(values, at, axis=0, out=into, mode="clip")
        if any(hi < n for (_, hi), n in zip(columns, self.buffer.shape[1:], strict=True)):
            return 0
        self.filled += count
        return count

    def brick(self, backend: Backend) -> Any:
        """What was kept: the buffer itself if it is more than half full, else a copy."""
        kept = self.buffer[: self.filled]
        if 2 * self.filled > len(self.buffer):
            return kept
        brick = backend.empty(kept.shape, kept.dtype)
        brick[...] = kept
        return brick
