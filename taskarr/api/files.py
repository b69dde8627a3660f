"""Arrays in files."""

from typing import Any

from taskarr.api.creation import asarray, new
from taskarr.arrays import Array
from taskarr.ops import creation, store

__all__ = ["load", "save"]


def load(
    file: Any, split: Any = "auto", chunks: Any = None, mesh: Any = None, comm: Any = None
) -> Array:
    """Array of an ``.npy`` file, which is opened now and read when it is needed. Collective.

    Every rank reads the bytes of its own blocks only. Layout arguments as `asarray`.

    Raises
    ------
    OSError
        When the file can't be opened, on every rank.
    ValueError
        When it is no ``.npy`` file, is cut short, or holds Python objects.
    """
    world = creation.world_of(comm)
    return new(store.load(file, split=split, chunks=chunks, mesh=mesh, world=world))


def save(file: Any, arr: Any) -> None:
    """Write an ``.npy`` file, whole or not at all. Collective.

    Every rank writes its own bytes into a temporary file beside the target, which then replaces
    it in one step. The extension is added where it is missing.

    Raises
    ------
    OSError
        When the folder can't be written, on every rank; a file that was there stays.
    """
    store.save(file, asarray(arr)._expr)


PUBLIC: dict[str, Any] = {name: globals()[name] for name in __all__}
"""Functions of this module by name."""
