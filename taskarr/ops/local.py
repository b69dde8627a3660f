"""Local access: arrays made of what each rank has, or of what one has; writing one's own brick."""

import hashlib
from collections.abc import Callable, Sequence
from itertools import pairwise
from math import prod
from types import TracebackType
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from scheduler import SPMDError, World
from scheduler.agreement import close_run
from taskarr.backend import CPU
from taskarr.device.choosing import device_of
from taskarr.evaluate import run
from taskarr.expr import Expr, held, moved_to
from taskarr.geometry.grid import MOST_BLOCKS, block_bytes
from taskarr.geometry.layout import Axis, Layout, single
from taskarr.geometry.owners import on_root
from taskarr.ops.creation import Placement
from taskarr.ops.operands import checked_dtype
from taskarr.ops.redistribute import check_root
from taskarr.ops.store import together
from taskarr.runtime import agree, runtime

Piece = tuple[tuple[int, ...], np.dtype]
"""Shape and dtype of what a rank passes."""


def from_local(block: Any, split: int, world: World) -> Expr:
    """Node of which each rank owns the piece that it passes; collective.

    The pieces follow each other along an axis in the order of the ranks. Each is cut into blocks
    of the usual size, so that the grid depends on the pieces. Pieces on a device stay there.

    Raises
    ------
    ValueError, TypeError
        When the pieces don't fit together or can't be cut, on every rank.
    """
    agree(world, f"from_local(split={split})")
    data, device = together(world, lambda: _piece(block), "from_local")
    every = world.allgather((data.shape, data.dtype, device), "from_local")
    pieces = [(shape, dtype) for shape, dtype, _ in every]
    _check_alike(pieces)
    _check_together([where for _, _, where in every])
    layout = _layout(pieces, normalize_axis_index(split, data.ndim), world)
    memory = runtime(world).backend_on(device or CPU)
    brick = together(world, lambda: memory.own(data), "from_local")
    found = held(brick if data.size else None, data.dtype, layout, world)
    if device is not None:
        found.settle(device)
    return found


def _piece(block: Any) -> tuple[Any, str | None]:
    """A rank's piece, and the device on which it lies, None for the processor."""
    if hasattr(block, "layout"):
        raise TypeError("from_local() takes this rank's piece as a NumPy array; pass a.local")
    device = device_of(block)
    data = np.asarray(block) if device is None else block
    checked_dtype(data.dtype)
    if not data.ndim:
        raise ValueError("from_local() joins pieces along an axis; this one has no axes")
    return data, device


def _check_together(devices: Sequence[str | None]) -> None:
    """Raise on every rank unless all pieces lie on one device."""
    for rank, device in enumerate(devices):
        if device != devices[0]:
            raise TypeError(
                f"from_local(): the piece of rank 0 lies on {devices[0] or CPU!r}, that of rank "
                f"{rank} on {device or CPU!r}; pass all pieces on one device"
            )


def _check_alike(pieces: Sequence[Piece]) -> None:
    """Raise on every rank, naming two of them, unless dtypes and numbers of axes are equal."""
    (shape, dtype), *_ = pieces
    for rank, (other_shape, other_dtype) in enumerate(pieces):
        if other_dtype != dtype:
            raise TypeError(
                f"from_local(): rank 0 passes {dtype} and rank {rank} {other_dtype}; "
                "give all pieces one dtype"
            )
        if len(other_shape) != len(shape):
            raise ValueError(
                f"from_local(): rank 0 passes shape {shape} and rank {rank} {other_shape}; "
                "all pieces need as many axes"
            )


def _layout(pieces: Sequence[Piece], axis: int, world: World) -> Layout:
    shape, dtype = pieces[0]
    for rank, (other, _) in enumerate(pieces):
        if other[:axis] + other[axis + 1 :] != shape[:axis] + shape[axis + 1 :]:
            raise ValueError(
                f"from_local(): rank 0 passes shape {shape} and rank {rank} {other}; "
                f"pieces may differ in length along axis {axis} only"
            )
    lengths = [piece[axis] for piece, _ in pieces]
    cut = np.concatenate(([0], np.cumsum(lengths, dtype=np.int64)))
    row = prod(n for k, n in enumerate(shape) if k != axis) * max(1, dtype.itemsize)
    block = block_bytes(int(cut[-1]) * row, runtime(world).settings.block)
    rows = max(1, block // max(1, row), -(-int(cut[-1]) // MOST_BLOCKS))
    inner = [np.arange(lo, hi, rows) for lo, hi in pairwise(cut)]
    bounds = np.unique(np.concatenate((*inner, cut)))
    if len(bounds) == 1:
        bounds = np.zeros(2, np.int64)
    axes = [single(n) for n in shape]
    axes[axis] = Axis(bounds, cut, 1)
    return Layout(tuple(axes), world.size)


def scatter(x: Any, root: int, place: Placement) -> Expr:
    """Node of an array that one rank passes; every rank is sent its own part only. Collective.

    Raises
    ------
    ValueError, TypeError
        When ``root`` is no rank, or the array can't be cut, on every rank.
    """
    world = place.world
    check_root(root, world)
    agree(world, f"scatter(root={root})")
    data: list[np.ndarray] = []

    def described() -> Piece:
        if x is None:
            raise TypeError(f"scatter(): rank {root}, the root, must pass an array, not None")
        found = np.asarray(x)
        checked_dtype(found.dtype)
        data.append(found)
        return found.shape, found.dtype

    shape, dtype = together(world, described, "scatter", rank=root)
    source = held(None, dtype, on_root(shape, root, world.size), world)
    target = moved_to(source, place.layout(shape, dtype))
    if world.rank == root and data[0].size:
        source.value = np.array(data[0], copy=True if target is source else None, order="C")
    target.settle()
    run([target], "scatter()")
    return target


def _check_same(x: np.ndarray, world: World, where: str) -> None:
    """Raise SPMDError on every rank when the copies of a replicated array differ."""
    digest = hashlib.blake2b(np.ascontiguousarray(x).tobytes(), digest_size=8).hexdigest()
    every = world.allgather(digest, where)
    for rank, other in enumerate(every):
        if other != every[0]:
            raise SPMDError(
                f"{where}: every rank holds all of this array, and rank {rank} wrote other values "
                "than rank 0; write the same, or give the array a split"
            )


class LocalWrite:
    """Context in which this rank writes its own brick; collective at both ends.

    An error inside it on any rank is raised on all, and the array stays as it was.

    State: the node before; a copy of this rank's brick, which is the new version at the end;
    the view of it that the user writes to, and that is locked afterwards.

    Parameters
    ----------
    node
        What the array shows.
    show
        Called with the node of the new version, if all ranks got through.
    unchanged
        Tells whether the array still shows what it did.
    """

    def __init__(self, node: Expr, show: Any, unchanged: Callable[[], bool]) -> None:
        self.node, self.show, self.unchanged = node, show, unchanged
        self.brick: Any = None
        self.given: Any = None

    def __enter__(self) -> Any:
        node = self.node
        run([node], "local_write()")
        agree(node.world, "the start of local_write()")
        if node.value is None:
            memory = runtime(node.world).backend_on(node.device)
            self.given = memory.empty((0,) * len(node.shape), node.dtype)
        else:
            self.brick = node.value.copy()
            self.given = self.brick.view()
        return self.given

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        node, where = self.node, "the end of local_write()"
        if isinstance(self.given, np.ndarray):
            self.given.flags.writeable = False
        if isinstance(error, SPMDError):  # which the others have been told too
            return
        agree(node.world, where)
        close_run(node.world, 0, error, where)
        if node.layout.replicated:
            _check_same(runtime(node.world).backend.host(self.brick), node.world, where)
        if error is None and not self.unchanged():
            raise RuntimeError(
                "the array was written while local_write() was open, which would be lost: write "
                "to the block only, or to the array once it is closed"
            )
        self.show(held(self.brick, node.dtype, node.layout, node.world))
