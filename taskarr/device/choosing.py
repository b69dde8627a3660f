"""Which devices there are by name, and which of a node's devices each of its ranks takes.

State: the table of devices, to which a program (or a test) may add.
"""

import os
import socket

from scheduler import World
from taskarr.backend import CPU, Backend
from taskarr.device.cuda import CUDA
from taskarr.device.memory import Device, backend_of

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


def opened(name: str, world: World, like: Backend) -> Backend:
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
    before = sum(host == mine[0] for host, _, _ in every[: world.rank])
    assert isinstance(found, int)
    return backend_of(device, before % found, all(aware for _, _, aware in every), like)


def _aware(world: World) -> bool:
    """Whether MPI reads the device's memory: as ``TASKARR_GPU_MPI`` says, else as MPI says."""
    told = os.environ.get("TASKARR_GPU_MPI", "").strip()
    return told == "1" if told in ("0", "1") else world.reads_device_memory()
