"""Memory of a device: bricks there, and how their bytes come to other ranks.

Messages either leave the device's memory as they are, where MPI can read it, or go through
*pinned* host memory, which a device copies to and from by itself::

    brick ──pack──► device buffer ──copy──► pinned buffer ──MPI──► pinned buffer ──copy──► piece

A device works on while the program goes on. So whatever is given to MPI is waited for first.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any, ClassVar

import numpy as np

from taskarr.backend import Backend
from taskarr.device.functions import DeviceFunctions


@dataclass(frozen=True, slots=True)
class Device:
    """A kind of device: how its array module is found.

    Parameters
    ----------
    name
        What ``device=`` calls it.
    load
        Gives the array module, CuPy or one that has its functions, and its function
        ``empty_pinned(shape, dtype)``; raises ImportError where it is not installed.
    """

    name: str
    load: Callable[[], tuple[ModuleType, Callable[..., np.ndarray]]]

    def count(self) -> int:
        """Number of devices that this process sees."""
        return int(self.load()[0].cuda.runtime.getDeviceCount())

    def made(self, x: Any) -> bool:
        """Whether an array is of this array module, which may not be installed."""
        try:
            module, _ = self.load()
        except ImportError:
            return False
        return isinstance(x, module.ndarray)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceBackend(Backend):
    """Array module and memory of one device.

    Parameters
    ----------
    module
        CuPy, or a module that has its functions.
    pinned
        Gives host memory that the device copies to and from.
    number
        Which of the devices that this process sees.
    aware
        Whether MPI reads and writes the device's memory.
    share
        Bytes of the memory budget there unless it is set, the same on all ranks.
    """

    module: ModuleType
    pinned: Callable[..., np.ndarray]
    name: str
    number: int
    aware: bool
    share: int = sys.maxsize

    whole_blocks: ClassVar[bool] = True

    @property
    def device(self) -> str:
        """Name of the kind of device."""
        return self.name

    @property
    def live(self) -> int:
        """Bytes in use on the device by this process."""
        return int(self.module.get_default_memory_pool().used_bytes())

    @property
    def total(self) -> int:
        """Bytes of the device's memory."""
        return int(self.module.cuda.runtime.memGetInfo()[1])

    def empty(self, shape: tuple[int, ...], dtype: np.dtype) -> Any:
        """Uninitialised brick."""
        return self.module.empty(shape, dtype)

    def here(self, x: Any) -> Any:
        """Array on the device, of one in host memory."""
        return self.xp.asarray(x)

    def own(self, x: Any) -> Any:
        """Brick with the elements of an array of any device of this kind."""
        return x.copy("C") if x.device.id == self.number else self.here(x.get())

    def buffer(self, nbytes: int) -> Any:
        """Memory that a message is received into."""
        if not self.aware:
            return self.pinned(nbytes, np.uint8)
        found = self.module.empty(nbytes, np.uint8)
        self.module.cuda.get_current_stream().synchronize()  # who had this memory is done with it
        return found

    def outgoing(self, x: Any) -> Any:
        """Contiguous memory with an array's elements that MPI can read at once."""
        if isinstance(x, np.ndarray):
            return np.ascontiguousarray(x)
        x = self.module.ascontiguousarray(x)
        if not self.aware:
            return self.module.asnumpy(x, out=self.pinned(x.shape, x.dtype))
        self.module.cuda.get_current_stream().synchronize()
        return x

    def incoming(self, buffer: Any) -> Any:
        """Bytes on the device, of a received message."""
        return buffer if self.aware else self.here(buffer)


def backend_of(device: Device, number: int, aware: bool, like: Backend) -> DeviceBackend:
    """Backend of a device, which this thread uses from now on."""
    module, pinned = device.load()
    module.cuda.Device(number).use()
    return DeviceBackend(
        DeviceFunctions(module, device.name),
        like.pool,
        like.faults,
        module=module,
        pinned=pinned,
        name=device.name,
        number=number,
        aware=aware,
    )
