"""NumPy's functions as kernels call them, by a module like CuPy's.

What the module has of the same name and form is passed on; the methods here stand for those whose
form differs. A function that it has not raises NotImplementedError with the way out.
"""

from types import ModuleType
from typing import Any

import numpy as np

from taskarr.device.ufuncs import DeviceUfunc


class DeviceFunctions:
    """Array module for kernels whose arrays lie on a device.

    Parameters
    ----------
    module
        CuPy, or a module that has its functions.
    device
        Its name, for messages.

    Notes
    -----
    State: the functions that were asked for, as attributes.
    """

    def __init__(self, module: ModuleType, device: str) -> None:
        self.module, self.device = module, device

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        found = getattr(self.module, name, None)
        if found is None:
            raise NotImplementedError(
                f"numpy.{name} is not available on device {self.device!r}; bring the array to "
                "the processor first: taskarr.to_device(x, 'cpu')"
            )
        if isinstance(found, self.module.ufunc):
            found = DeviceUfunc(name, self.module)
        setattr(self, name, found)
        return found

    def asarray(self, x: Any, dtype: Any = None) -> Any:
        """Array on the device, of host memory, which may be used again at once, or of a number."""
        if isinstance(x, np.ndarray):
            x = x if dtype is None else x.astype(dtype, copy=False)
            return self.module.asarray(np.ascontiguousarray(x).reshape(x.shape), blocking=True)
        return self.module.asarray(x, dtype)

    def ascontiguousarray(self, x: Any) -> Any:
        """Array in C order; a number as an array of zero dimensions."""
        known = isinstance(x, self.module.ndarray)
        return self.module.ascontiguousarray(x) if known else self.asarray(x)

    def copyto(self, dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> None:
        """Copy with broadcasting; of complex values to real ones the real part."""
        if casting == "unsafe" and dst.dtype.kind != "c" and np.iscomplexobj(src):
            src = src != 0 if dst.dtype.kind == "b" else src.real
        if isinstance(where, bool | np.bool_):
            if not where:
                return
            where = None
        self.module.copyto(dst, src, casting=casting, where=where)

    def clip(
        self, x: Any, least: Any, most: Any, out: Any = None, where: Any = True, **options: Any
    ) -> Any:
        """Elements, but none below or above bounds; computed in ``dtype``, if it is given."""
        dtype = options.get("dtype")
        found = self.maximum(x, least, dtype=dtype)
        found = self.minimum(found, most, dtype=dtype)
        if out is None:
            return found
        (target,) = out if isinstance(out, tuple) else (out,)
        self.copyto(target, found, casting="unsafe", where=where)
        return target

    def take(
        self, x: Any, indices: Any, axis: Any = None, out: Any = None, mode: str = "raise"
    ) -> Any:
        """Elements by indices, which are known to be in range."""
        if out is None:
            return self.module.take(x, indices, axis=axis)
        out[...] = self.module.take(x, indices, axis=axis)
        return out
