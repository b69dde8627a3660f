"""This rank's part of an array: reading and writing it, handing it to others, pickling it."""

from typing import Any, NamedTuple

import numpy as np

from taskarr import fetch
from taskarr.arrays.handle import Handle
from taskarr.backend import CPU
from taskarr.expr import held
from taskarr.geometry.layout import Layout
from taskarr.geometry.strides import order_of
from taskarr.ops.creation import world_of
from taskarr.ops.local import LocalWrite
from taskarr.runtime import runtime


class Local(Handle):
    """What concerns the brick of this rank."""

    __slots__ = ()

    @property
    def local(self) -> np.ndarray:
        """This rank's brick, computed, read-only. Collective.

        A rank that owns nothing gets an array without elements.
        """
        return fetch.local(self._expr)

    def local_write(self) -> LocalWrite:
        """Context manager that gives this rank's brick to be written to. Collective at both ends.

        What it gives is a copy, which becomes the new version of the array when all ranks have
        left the context; afterwards it is read-only. When one of them raises, all raise the same
        error, and the array is as it was. Of an array that every rank holds whole, all ranks must
        write the same.

        Raises
        ------
        TypeError
            For a value of zero dimensions, which never changes.
        ValueError
            For a view that can't be written to.
        RuntimeError
            At the end, when the array was written in another way meanwhile.
        scheduler.SPMDError
            When ranks wrote different values to what they all hold.

        Examples
        --------
        >>> import taskarr
        >>> a = taskarr.zeros(3)
        >>> with a.local_write() as x:
        ...     x[:] = 7
        >>> print(a)
        [7. 7. 7.]
        """
        if self._fixed:
            raise TypeError("a value of zero dimensions does not support item assignment")
        self._check_writable()
        cell, shown = self._cell, self._cell.expr
        return LocalWrite(self._expr, self._become, lambda: cell.expr is shown)

    def local_index(self, index: Any) -> tuple[int, ...] | None:
        """Where an element, or a row, lies in `local`; None where this rank does not own it.

        Communicates nothing.

        Parameters
        ----------
        index
            An integer, or one per leading axis; negative ones count from the end.

        Raises
        ------
        IndexError
            For an index out of bounds.

        Examples
        --------
        >>> import taskarr
        >>> taskarr.arange(5).local_index(-1)
        (4,)
        """
        return self.layout.local_index(self._cell.expr.world.rank, index)

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: Any = None,
        copy: bool | None = None,
    ) -> Any:
        """Capsule of this rank's brick, for `numpy.from_dlpack` and other libraries. Collective.

        The brick is shared read-only; who can't be told so gets a copy.
        """
        brick = fetch.local(self._expr)
        if max_version is None or max_version[0] < 1:
            if copy is False:
                raise BufferError(
                    "a brick is read-only, which this version of DLPack can't say: copy it"
                )
            return brick.copy().__dlpack__(stream=stream)
        return brick.__dlpack__(
            stream=stream, max_version=max_version, dl_device=dl_device, copy=copy
        )

    def __dlpack_device__(self) -> tuple[int, int]:
        like = np.empty(0) if self.device == CPU else fetch.local(self._expr)
        return like.__dlpack_device__()

    def __reduce__(self) -> tuple[Any, ...]:
        """Layout and this rank's brick, computed; collective.

        The pickle of each rank is loaded by the same rank of a job of as many.
        """
        node = self._expr
        fetch.persist([node])
        world = node.world
        brick = None if node.value is None else runtime(world).backend.host(node.value)
        seen = Pickled(node.layout, node.dtype, order_of(self.shape, self.strides), self._fixed)
        return _restored, (type(self), seen, brick, world.rank)


class Pickled(NamedTuple):
    """What ranks know alike of a pickled array.

    Parameters
    ----------
    layout, dtype
        Of its elements.
    order
        In which its axes lie in memory.
    fixed
        Whether it is a value that never changes.
    """

    layout: Layout
    dtype: np.dtype
    order: Any
    fixed: bool


def _restored(kind: Any, seen: Pickled, brick: np.ndarray | None, rank: int) -> Any:
    """Array of this program's ranks, of which this one has the brick.

    Raises
    ------
    ValueError
        When the pickle is another rank's, or of a job with another number of ranks.
    """
    world, layout = world_of(None), seen.layout
    if layout.size != world.size:
        raise ValueError(
            f"an array pickled by {layout.size} ranks can't be loaded by {world.size}: "
            "start as many, or store the array with taskarr.save()"
        )
    if rank != world.rank and not layout.replicated:
        raise ValueError(
            f"this is rank {rank}'s part of a pickled array, loaded on rank {world.rank}: "
            "every rank must load its own pickle"
        )
    node = held(brick, seen.dtype, layout, world)
    node.order = seen.order
    return kind._of(node, seen.fixed)
