"""A strict stand-in for CuPy: NumPy's results, CuPy's refusals, and some that CuPy only implies.

What works here with ``xp = strict`` is written as for a device. It refuses

* implicit conversion: ``numpy.asarray(x)``, and NumPy's functions of such arrays, raise TypeError;
  `asnumpy` and ``x.get()`` are the way to the host, ``asarray(host, blocking=True)`` the way back
  (without ``blocking`` the host memory may still be read when it is used again);
* NumPy arrays, and lists, beside its own as operands, outputs, keys and values: TypeError;
* arrays of another device than this thread's: ValueError;
* memory that is read from outside while work on it is pending: `__cuda_array_interface__` raises
  RuntimeError until the stream is synchronised, and ``get(blocking=False)`` fills its output only
  then;
* functions, methods and arguments that CuPy has not: AttributeError, TypeError; ``where=`` and
  ``initial=`` are among them, and ``reduce`` of all ufuncs but two;
* dtypes that no device computes with: TypeError.

Results are arrays of zero dimensions where NumPy gives scalars. Of several elements that are
written to one place the first wins, where NumPy keeps the last and a device any. Fresh memory holds
garbage. Floating-point errors are silent.

``tests/device/test_strict.py`` tests it; ``tests/gpu/test_names.py`` holds its names and parameters
against CuPy's, where CuPy is installed.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from tests.device.array import Ufunc, bare, check_dtype, ndarray, only, real_for, wrapped
from tests.device.memory import (
    COUNT,
    TOTAL,
    Device,
    Memory,
    MemoryPool,
    current_device,
    empty_pinned,
    stream_of,
)
from tests.device.signatures import ABSENT, FUNCTIONS, PLAIN, parameters

__all__ = ["array", "asarray", "asnumpy", "cuda", "empty_pinned", "ndarray"]

cuda = SimpleNamespace(
    Device=Device,
    get_current_stream=lambda: stream_of(current_device()),
    runtime=SimpleNamespace(
        getDeviceCount=lambda: COUNT,
        getDevice=current_device,
        memGetInfo=lambda: (TOTAL - MemoryPool().used_bytes(), TOTAL),
    ),
)
"""Devices and streams."""


def array(obj: Any, dtype: Any = None, copy: bool = True, *, blocking: bool = False) -> ndarray:
    """Array on this thread's device, of a host array, a number, or an array that is there."""
    if isinstance(obj, ndarray):
        data = bare(obj)
        same = dtype is None or data.dtype == np.dtype(dtype)
        return obj if same and not copy else wrapped(data.astype(dtype or data.dtype))
    if isinstance(obj, np.ndarray) and obj.ndim and not blocking:
        raise RuntimeError("host memory may be read after this call; pass blocking=True")
    found = np.array(obj, dtype)
    check_dtype(found.dtype)
    return ndarray(found, Memory(found.nbytes))


def asarray(
    a: Any, dtype: Any = None, *, copy: bool | None = None, blocking: bool = False
) -> ndarray:
    """As `array`, without a copy of what is there."""
    return array(a, dtype, copy=bool(copy), blocking=blocking)


def asnumpy(
    a: Any, stream: Any = None, order: str = "C", out: Any = None, *, blocking: bool = True
) -> np.ndarray:
    """Array in host memory."""
    if isinstance(a, ndarray):
        return a.get(stream, order, out, blocking)
    return np.asarray(a)


def _empty(shape: Any, dtype: Any = float, order: str = "C") -> ndarray:
    data = np.empty(shape, check_dtype(dtype))
    data.reshape(-1).view(np.uint8).fill(0xA5)
    return ndarray(data, Memory(data.nbytes))


def _copyto(dst: Any, src: Any, casting: str = "same_kind", where: Any = None) -> None:
    if not isinstance(dst, ndarray):
        raise TypeError(f"Unsupported type {type(dst)}")
    source = bare(src)
    if casting == "unsafe":
        source = real_for(source, dst.dtype)
    with np.errstate(all="ignore"):
        np.copyto(bare(dst), source, casting, True if where is None else bare(where))
    dst._memory.wrote()


def _function(name: str, known: tuple[str, ...]) -> Any:
    model = getattr(np, name)

    def function(*args: Any, **options: Any) -> Any:
        only(name, known, args, options)
        out = options.pop("out", None)
        if out is not None and not isinstance(out, ndarray):
            raise TypeError(f"Output arguments type must be cupy.ndarray, not {type(out)}")
        given = {key: bare(value) for key, value in options.items()}
        if out is not None:
            given["out"] = bare(out)
        with np.errstate(all="ignore"):
            found = model(*map(bare, args), **given)
        if name in PLAIN:
            return found
        if out is None:
            return wrapped(found, [x for x in args if isinstance(x, ndarray)])
        out._memory.wrote()
        return out

    function.__name__ = name
    return function


_NAMES: dict[str, Any] = {
    name: Ufunc(name)
    for name in dir(np)
    if isinstance(getattr(np, name), np.ufunc) and name not in ABSENT
}
_NAMES.update((name, _function(name, known)) for name, known in parameters(FUNCTIONS).items())
_NAMES.update(empty=_empty, copyto=_copyto, ufunc=Ufunc, get_default_memory_pool=MemoryPool)
_NAMES.update((name, getattr(np, name)) for name in ("dtype", "newaxis", "pi", "inf", "nan"))


def __getattr__(name: str) -> Any:
    try:
        return _NAMES[name]
    except KeyError:
        raise AttributeError(f"module 'strict' has no attribute {name!r}") from None
