"""Which devices there are by name, and which of a node's devices each of its ranks takes.

State: the table of devices, to which a program (or a test) may add.
"""

import os
import socket
from dataclasses import replace
from typing import Any

import numpy as np

from scheduler import World
from taskarr.backend import CPU, Backend
from taskarr.device.cuda import CUDA
from taskarr.device.memory import Device, DeviceBackend, backend_of

DEVICES: dict[str, Device] = {CUDA.name: CUDA}
"""Kinds of devices besides the processor, by name."""


def check_device(name: object) -> str:
    """Name of a device, if there is one of this name.

    Raises
    ------
    ValueError
        When there is none.
    """
    known = (CPU, *DEVICES)
    if name not in known:
        raise ValueError(f"device={name!r}: expected {' or '.join(map(repr, known))}")
    return str(name)


def device_of(x: Any) -> str | None:
    """Device whose array module made an array, None for the processor.

    Raises
    ------
    TypeError
        For an array on a device that another library made.
    """
    if not hasattr(type(x), "__cuda_array_interface__"):
        return None
    for device in DEVICES.values():
        if device.made(x):
            return device.name
    kind = f"{type(x).__module__}.{type(x).__qualname__}"
    raise TypeError(f"an array of type {kind} on a GPU; make it CuPy's first: cupy.asarray(x)")


def opened(name: str, world: World, like: Backend) -> DeviceBackend:
    """Memory of the device that this rank takes; ranks of a node take its devices in turn.

    Collective.

    Raises
    ------
    ImportError, RuntimeError
        When a rank has no such device, on all ranks.
    """
    device = DEVICES[check_device(name)]
    found: int | Exception
    try:
        found = device.count()
        if not found:
            found = RuntimeError(f"device={name!r}: no such device is visible")
    except Exception as error:  # the other ranks must hear of it, whatever it is
        found = error
    mine = (socket.gethostname(), found, _aware(world))
    every = world.allgather(mine, f"choosing a device for {name!r}")
    for rank, (host, count, _) in enumerate(every):
        if isinstance(count, Exception):
            raise type(count)(f"rank {rank} on {host}: {count}") from None
    before, beside = (
        sum(host == mine[0] for host, _, _ in ranks) for ranks in (every[: world.rank], every)
    )
    assert isinstance(found, int)
    here = backend_of(device, before % found, all(aware for _, _, aware in every), like)
    share = np.array([here.total // 2 // -(-beside // found)], np.int64)
    least = world.allreduce(share, "min", f"agreeing on the memory budget of {name!r}")
    return replace(here, share=int(least[0]))


def _aware(world: World) -> bool:
    """Whether MPI reads the device's memory: as ``TASKARR_GPU_MPI`` says, else as MPI says."""
    told = os.environ.get("TASKARR_GPU_MPI", "").strip()
    return told == "1" if told in ("0", "1") else world.reads_device_memory()
