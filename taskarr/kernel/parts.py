"""Functions that read and write parts of elements: fields, real and imaginary parts, bytes.

A writing function takes the whole element and the part, and gives the element with that part.
"""

from collections.abc import Callable
from functools import lru_cache
from types import ModuleType
from typing import Any

import numpy as np

from taskarr.kernel.functions import Call, Function

Pick = Callable[[Any], Any]


def _reading(name: str, pick: Pick) -> Function:
    def bind(xp: ModuleType) -> Call:
        return lambda x, out: xp.copyto(out, pick(x), casting="unsafe")

    return Function(name, bind)


def _writing(name: str, pick: Pick) -> Function:
    def bind(xp: ModuleType) -> Call:
        def write(whole: Any, part: Any, out: Any) -> None:
            xp.copyto(out, whole)
            pick(out)[...] = part

        return write

    return Function(name, bind)


def _real(x: Any) -> Any:
    return x.real


def _imag(x: Any) -> Any:
    return x.imag


PARTS = {
    "real": (_reading("real part", _real), _writing("with real part", _real)),
    "imag": (_reading("imaginary part", _imag), _writing("with imaginary part", _imag)),
}
"""Functions that read and write a part of a complex number."""


@lru_cache(256)
def field(names: str | tuple[str, ...]) -> tuple[Function, Function]:
    """Functions that read and write a field, or several, of a structured dtype."""
    key: Any = list(names) if isinstance(names, tuple) else names
    if not isinstance(names, tuple):
        read = _reading(f"field {names!r}", lambda x: x[key])
        return read, _writing(f"with field {names!r}", lambda x: x[key])

    def bind(xp: ModuleType) -> Call:
        def write(whole: Any, part: Any, out: Any) -> None:
            xp.copyto(out, whole)
            for name, given in zip(names, part.dtype.names, strict=True):
                out[name] = part[given]

        return write

    return Function(f"fields {names!r}", _whole), Function(f"with fields {names!r}", bind)


def _whole(xp: ModuleType) -> Call:
    """Copy all bytes of elements: those between the fields that are shown are there too."""

    def read(x: Any, out: Any) -> None:
        raw = np.dtype(("V", x.dtype.itemsize))
        xp.copyto(out.view(raw), x.view(raw))

    return read


@lru_cache(256)
def bits(source: np.dtype, target: np.dtype) -> Function:
    """Function that gives the same bytes as elements of a dtype of the same size."""

    def bind(xp: ModuleType) -> Call:
        return lambda x, out: xp.copyto(out.view(source), x)

    return Function(f"bytes of {source.str} as {target.descr}", bind)


@lru_cache(256)
def pieces(source: np.dtype, target: np.dtype) -> Function:
    """Function of elements and piece numbers: the numbered piece of each element's bytes."""
    count = source.itemsize // target.itemsize

    def bind(xp: ModuleType) -> Call:
        def read(x: Any, number: Any, out: Any) -> None:
            x = xp.ascontiguousarray(x)
            every = x.reshape(-1, 1).view(target).reshape(-1, count)
            at = xp.arange(x.size).reshape(x.shape)
            xp.copyto(out, every[at, number])

        return read

    return Function(f"pieces of {source.str} as {target.descr}", bind)


@lru_cache(256)
def joined(source: np.dtype, target: np.dtype) -> Function:
    """Function of all pieces of elements: the elements of their bytes."""

    def bind(xp: ModuleType) -> Call:
        def join(*parts: Any) -> None:
            out, shape = parts[-1], parts[-1].shape
            whole = xp.empty((*shape, len(parts) - 1), source)
            for k, part in enumerate(parts[:-1]):
                whole[..., k] = part
            xp.copyto(out, whole.view(target).reshape(shape))

        return join

    return Function(f"joined {source.str} as {target.descr}", bind)
