"""A digest of Python values by what they are, not by where they lie in memory.

Nothing that may differ between the ranks of a correct program enters it: no `id`, no `hash`, no
order of a set.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import types
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from scheduler import wire

__all__ = ["digest", "text"]

_PLAIN = (type(None), bool, int, float, complex, str, bytes, range, slice, type(...), np.dtype)


def digest(values: Iterable[Any], *, strict: bool = False) -> int:
    """Return 64 bits of the values.

    Parameters
    ----------
    strict : bool
        Compare objects of unknown types by their pickles, which may differ for equal ones, rather
        than by their types.
    """
    made = _Digest(strict)
    for value in values:
        made.feed(value)
    return int.from_bytes(made.state.digest(), "little")


def text(function: Any) -> str:
    """Return a short name of something that can be called.

    >>> text(sum), text(functools.partial(max, 3))
    ('sum', 'max')
    """
    while isinstance(function, functools.partial):
        function = function.func
    return getattr(function, "__qualname__", None) or type(function).__name__


class _Digest:
    """A digest being made; ``path`` are the functions that were taken in."""

    def __init__(self, strict: bool) -> None:
        self.state = hashlib.blake2b(digest_size=8)
        self.strict = strict
        self.path: set[int] = set()

    def feed(self, value: Any) -> None:
        self.state.update(f"{type(value).__qualname__}:".encode())
        for kinds, write in _WRITERS:
            if isinstance(value, kinds):
                write(self, value)
                return
        name = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
        if isinstance(name, str):
            self.state.update(f"{getattr(value, '__module__', '')}.{name}".encode())
        elif self.strict:
            self.state.update(wire.dumps(value))

    def plain(self, value: Any) -> None:
        self.state.update(repr(value).encode())

    def sequence(self, values: Any) -> None:
        self.state.update(b"%d" % len(values))
        for value in values:
            self.feed(value)

    def mapping(self, value: dict[Any, Any]) -> None:
        self.sequence([part for item in value.items() for part in item])

    def collection(self, value: Any) -> None:
        self.sequence(sorted(digest([part], strict=self.strict) for part in value))

    def array(self, value: Any) -> None:
        array = np.asarray(value)
        self.state.update(f"{array.dtype!r}{array.shape}".encode())
        if array.dtype.hasobject:
            self.sequence(array.ravel().tolist())
        else:
            self.state.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)

    def partial(self, value: Any) -> None:
        self.sequence((value.func, value.args, value.keywords))

    def code(self, value: types.CodeType) -> None:
        self.state.update(value.co_code)
        self.sequence((value.co_names, value.co_consts))

    def method(self, value: types.MethodType) -> None:
        self.sequence((value.__func__, value.__self__))

    def function(self, value: types.FunctionType) -> None:
        self.sequence((value.__module__, value.__qualname__))
        if id(value) in self.path:
            return
        self.path.add(id(value))
        defaults = (value.__defaults__, value.__kwdefaults__)
        self.sequence((value.__code__, *defaults, _closure(value)))


_WRITERS: tuple[tuple[Any, Callable[[_Digest, Any], None]], ...] = (
    (_PLAIN, _Digest.plain),
    ((tuple, list), _Digest.sequence),
    (dict, _Digest.mapping),
    ((set, frozenset), _Digest.collection),
    ((np.ndarray, np.generic), _Digest.array),
    (functools.partial, _Digest.partial),
    (types.CodeType, _Digest.code),
    (types.FunctionType, _Digest.function),
    (types.MethodType, _Digest.method),
)


def _closure(function: types.FunctionType) -> list[Any]:
    contents = []
    for cell in function.__closure__ or ():
        with contextlib.suppress(ValueError):  # a variable that was not set yet
            contents.append(cell.cell_contents)
    return contents
