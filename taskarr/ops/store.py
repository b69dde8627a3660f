"""Files: ``.npy`` read and written by every rank for its own bytes only."""

import ast
import os
import struct
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial as bound
from itertools import chain, product
from math import prod
from pathlib import Path
from tokenize import TokenError
from typing import Any, BinaryIO

import numpy as np

from scheduler import World
from scheduler.comm.where import user_line
from taskarr.evaluate import BY_PART, collect, run
from taskarr.expr import (
    FILE,
    Elementwise,
    Expr,
    Generate,
    Held,
    Move,
    Viewed,
    moved_to,
    view_of,
)
from taskarr.geometry.grid import even_bounds
from taskarr.geometry.owners import balance, dealt
from taskarr.geometry.region import Region, region_shape, region_size
from taskarr.geometry.view import transpose
from taskarr.ops.keys import view_of_key
from taskarr.ops.operands import checked_dtype, layout_for
from taskarr.runtime import agree, runtime

UNEVEN = 1.1
"""Balance above which rows are dealt out evenly before they are written."""


class NpyFile:
    """An open ``.npy`` file; it can be replaced on disk while this one is still being read.

    State: the descriptor, closed when the last expression that reads the file is gone.
    """

    def __init__(self, path: str, shape: tuple[int, ...], dtype: np.dtype, offset: int) -> None:
        self.path, self.shape, self.dtype, self.offset = path, shape, dtype, offset
        self.descriptor = os.open(path, os.O_RDONLY)
        self.counters: Any = None

    def __del__(self) -> None:
        with suppress(OSError, AttributeError):
            os.close(self.descriptor)

    def read(self, region: Region) -> np.ndarray:
        """Elements of a region, in C order."""
        found = np.empty(region_shape(region), self.dtype)
        flat = found.reshape(-1).view("u1").data
        at = 0
        for start, nbytes in runs_of(region, self.shape, self.dtype.itemsize):
            _read_all(self.descriptor, flat[at : at + nbytes], self.offset + start, self.path)
            at += nbytes
        if self.counters is not None:
            self.counters["file_read_bytes"] += at
        return found


def runs_of(region: Region, shape: tuple[int, ...], itemsize: int) -> list[tuple[int, int]]:
    """Contiguous runs (first byte, bytes) of a region of a C-ordered array.

    >>> runs_of((range(1, 3), range(0, 4)), (5, 4), 8)
    [(32, 64)]
    """
    strides = [itemsize * prod(shape[k + 1 :]) for k in range(len(shape))]
    inner = len(shape)
    while inner and region[inner - 1].step == 1:
        inner -= 1
        if len(region[inner]) < shape[inner]:
            break
    length = itemsize * region_size(region[inner:])
    first = sum(r.start * s for r, s in zip(region[inner:], strides[inner:], strict=True))
    return [
        (first + sum(i * s for i, s in zip(lead, strides, strict=False)), length)
        for lead in product(*region[:inner])
    ]


def _read_all(descriptor: int, into: memoryview, offset: int, path: str) -> None:
    while into:
        count = os.preadv(descriptor, [into], offset)
        if count == 0:
            raise OSError(f"{path}: the file ended {len(into)} bytes early while it was read")
        into, offset = into[count:], offset + count


def _write_all(descriptor: int, data: memoryview, offset: int) -> None:
    while data:
        count = os.pwrite(descriptor, data, offset)
        data, offset = data[count:], offset + count


def load(
    path: Any, *, split: Any = "auto", chunks: Any = None, mesh: Any = None, world: World
) -> Expr:
    """Node of an ``.npy`` file: opened now, read when it is needed.

    Raises
    ------
    FileNotFoundError, PermissionError, OSError
        As opening a file does, on every rank.
    ValueError
        For a file that is no ``.npy``, is cut short, or holds Python objects.
    """
    name = os.fspath(path)
    agree(world, "load")
    shape, fortran, text, offset = together(world, lambda: _header(name), "load", rank=0)
    dtype = np.dtype(text if isinstance(text, str) else [tuple(field) for field in text])
    order = shape[::-1] if fortran else shape
    file = together(world, lambda: NpyFile(name, order, dtype, offset), "load")
    file.counters = world.counters
    if fortran:
        layout = layout_for(world, order, dtype, "auto", None, None)
    else:
        layout = layout_for(world, shape, dtype, split, chunks, mesh)
    node = Expr(FILE, (), dtype, layout, world, (file,))
    if not fortran:
        return node
    turned = view_of(node, transpose(order, tuple(range(len(order)))[::-1]))
    return moved_to(turned, layout_for(world, shape, dtype, split, chunks, mesh))


def together(world: World, act: Callable[[], Any], call: str, rank: int | None = None) -> Any:
    """What ``act`` gives here (or on one rank), or the first rank's error on every rank."""
    found: Any = None
    if rank is None or rank == world.rank:
        try:
            found = act()
        except Exception as error:  # the others must hear of it, whatever it is
            found = error
    if rank is not None:
        found = world.bcast(found, rank, call)
    failed = isinstance(found, Exception)
    if rank is None:
        errors = world.allgather(found if failed else None, call)
        first = next((e for e in errors if e is not None), None)
        if first is not None:
            raise found if failed else first
    elif failed:
        raise found
    return found


def _header_3_0(file: BinaryIO) -> tuple[tuple[int, ...], bool, np.dtype]:
    """Header in UTF-8, which NumPy has no public reader for; the format is NumPy's NEP 1."""
    (length,) = struct.unpack("<I", file.read(4))
    if length > LONGEST_HEADER:
        raise ValueError(f"a header of {length} bytes")
    found = ast.literal_eval(file.read(length).decode())
    return found["shape"], found["fortran_order"], np.lib.format.descr_to_dtype(found["descr"])


LONGEST_HEADER = 10_000
READERS: dict[tuple[int, int], Callable[[BinaryIO], tuple[tuple[int, ...], bool, np.dtype]]] = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
    (3, 0): _header_3_0,
}


def _header(path: str) -> tuple[tuple[int, ...], bool, Any, int]:
    with open(path, "rb") as file:
        try:
            version = np.lib.format.read_magic(file)
            if version not in READERS:
                raise ValueError(f"version {version} of the format is not supported")
            shape, fortran, dtype = READERS[version](file)
            if min(shape, default=0) < 0:
                raise ValueError(f"negative dimensions in shape {shape}")
        except (ValueError, SyntaxError, TokenError, KeyError, TypeError, struct.error) as error:
            raise ValueError(f"{path}: not a readable .npy file: {error}") from None
        if dtype.hasobject:
            raise ValueError(f"{path}: Object arrays cannot be loaded when allow_pickle=False")
        offset = file.tell()
        size = os.fstat(file.fileno()).st_size - offset
    wanted = prod(shape) * dtype.itemsize
    if size < wanted:
        raise ValueError(
            f"{path}: the file is cut short: {size} bytes of data where shape {shape} of {dtype} "
            f"takes {wanted}"
        )
    return shape, fortran, np.lib.format.dtype_to_descr(dtype), offset


def save(path: Any, x: Expr) -> None:
    """Write an ``.npy`` file whole or not at all: each rank writes its own part of a temporary.

    Collective. The extension is added where it is missing, as NumPy does; of a link, the file
    that it leads to is replaced.

    Raises
    ------
    OSError
        When the folder is missing or cannot be written, on every rank; the old file stays.
    """
    name = os.fspath(path)
    name = os.path.realpath(name if name.endswith(".npy") else name + ".npy")
    world = x.world
    checked_dtype(x.dtype)
    parts = _parts(x)
    first = next(parts)
    run([first[1]], "save" if first[1].shape == x.shape else BY_PART)
    agree(world, f"save {user_line()}")
    made: tuple[str, int] | None = None
    try:
        made = together(world, lambda: _create(name, x.shape, x.dtype), "save", rank=0)
        for part in chain([first], parts):
            run([part[1]], BY_PART)
            together(world, bound(_write_part, made, *part), "save")
        together(world, lambda: os.replace(made[0], name), "save", rank=0)
    except BaseException:
        if made is not None and world.rank == 0:
            with suppress(OSError):
                os.unlink(made[0])
        raise


def _parts(x: Expr) -> Iterator[tuple[int, Expr]]:
    """Rows that are computed and written together, each with the offset of its bytes.

    One part, unless the array is pending and takes more than half of the budget.
    """
    world, budget = x.world, runtime(x.world).budget_on(x.device)
    rows = _for_writing(x)
    whole = x.held or not x.shape or rows.layout.fullest * x.dtype.itemsize <= budget // 2
    stored = [] if whole else [node for node in collect([x]) if not isinstance(node.op, INLINED)]
    if whole or x in stored:
        yield 0, rows
        return
    if stored:
        run(stored, "save")
    length = x.dtype.itemsize * prod(x.shape[1:])
    count = max(1, budget // 8 * world.size // length)
    for lo in range(0, x.shape[0], count):
        yield lo * length, _for_writing(view_of(x, view_of_key(x.shape, slice(lo, lo + count))))


INLINED = (Elementwise, Generate, Held, Move, Viewed)
"""Operations that a part needs a part of only."""


def _for_writing(x: Expr) -> Expr:
    """The array in a layout in which each rank writes one run of bytes, all about as many."""
    in_rows = all(axis.owners == 1 for axis in x.layout.axes[1:])
    if x.layout.replicated or (in_rows and balance(x.layout) < UNEVEN):
        return x
    bounds = (even_bounds(x.shape[0], x.world.size), *(even_bounds(n, 1) for n in x.shape[1:]))
    return moved_to(x, dealt(bounds, (0,), None, x.world.size))


def _create(name: str, shape: tuple[int, ...], dtype: np.dtype) -> tuple[str, int]:
    """Temporary file beside the target with a header and room for the data."""
    target = Path(name)
    if target.is_dir():
        raise IsADirectoryError(f"{name} is a folder")
    try:
        descriptor, temporary = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    except OSError as error:  # which names the temporary
        raise type(error)(error.errno, error.strerror, name) from None
    try:
        with os.fdopen(descriptor, "wb") as file:
            header = {
                "descr": np.lib.format.dtype_to_descr(dtype),
                "fortran_order": False,
                "shape": shape,
            }
            np.lib.format.write_array_header_1_0(file, header)
            offset = file.tell()
            file.truncate(offset + prod(shape) * dtype.itemsize)
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)
    except BaseException:
        os.unlink(temporary)
        raise
    return temporary, offset


def _write_part(made: tuple[str, int], before: int, x: Expr) -> None:
    temporary, offset = made
    world = x.world
    box = x.layout.brick(world.rank)
    if box is None or (x.layout.replicated and world.rank):
        return
    region = tuple(range(lo, hi) for lo, hi in box)
    host = runtime(world).backend.host(x.value)
    data = np.ascontiguousarray(host).reshape(-1).view("u1").data
    descriptor = os.open(temporary, os.O_WRONLY)
    try:
        at = 0
        for start, nbytes in runs_of(region, x.shape, x.dtype.itemsize):
            _write_all(descriptor, data[at : at + nbytes], offset + before + start)
            at += nbytes
    finally:
        os.close(descriptor)
    world.counters["file_written_bytes"] += at
