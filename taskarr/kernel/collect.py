"""Collecting what filters keep: one buffer with room for all, filled in C order."""

from dataclasses import dataclass
from typing import Any

from taskarr.backend import Backend


@dataclass(slots=True)
class Collector:
    """Elements, or rows, that a filter kept so far.

    State: the buffer, of which only what is filled takes memory pages, and the filled length.
    """

    buffer: Any
    filled: int = 0

    def add(self, backend: Backend, values: Any, mask: Any) -> int:
        """Append the elements of a tile at which the mask over its leading axes is true.

        Returns
        -------
        int
            How many.
        """
        xp = backend.xp
        if mask.ndim > 1:
            kept = values[mask]
            count = len(kept)
            self.buffer[self.filled : self.filled + count] = kept
        else:
            at = xp.flatnonzero(mask)
            count = len(at)
            into = self.buffer[self.filled : self.filled + count]
            values.take(at, axis=0, out=into, mode="clip")
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
