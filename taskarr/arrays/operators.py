"""Python's operators on arrays."""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from taskarr import fetch, protocols
from taskarr.arrays.calling import called
from taskarr.arrays.handle import Handle, node_of
from taskarr.arrays.writing import scalar_of
from taskarr.ops import elementwise, ufuncs

OPERANDS = (Handle, complex, float, int, np.generic, np.ndarray, str, bytes, list, tuple, range)
"""Arrays, numbers, and what NumPy makes an array of when it stands beside one."""


def known(x: Any) -> bool:
    """Whether an operand is one that arrays compute with; else Python asks the operand.

    Raises
    ------
    TypeError
        For a masked array, whose mask would be lost.
    """
    if isinstance(x, np.ndarray) and type(x) is not np.ndarray and isinstance(x, np.ma.MaskedArray):
        raise TypeError(
            "distributed arrays have no masks: give the operand's filled(value), and its mask to "
            "where()"
        )
    return isinstance(x, OPERANDS)


def _binary(name: str) -> tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]:
    """Operator methods of a ufunc: plain, reflected, in place."""

    def plain(self: Handle, other: Any) -> Any:
        if not known(other):
            return NotImplemented
        return self._of(elementwise.apply(name, [self._expr, node_of(other)]))

    def reflected(self: Handle, other: Any) -> Any:
        if not known(other):
            return NotImplemented
        return self._of(elementwise.apply(name, [node_of(other), self._expr]))

    def in_place(self: Handle, other: Any) -> Any:
        if self._fixed or not known(other):
            return plain(self, other)
        self._check_writable()
        found = ufuncs.apply_into(name, self._expr, [self._expr, node_of(other)])
        return self._become(found)

    return plain, reflected, in_place


def _compare(name: str) -> Callable[..., Any]:
    """Comparison; Python would make an answer of its own where equality is not implemented."""
    plain = _binary(name)[0]

    def compare(self: Handle, other: Any) -> Any:
        found = plain(self, other)
        if found is NotImplemented and not hasattr(other, "__array_ufunc__"):
            raise TypeError(
                f"{name} of an array and {type(other).__name__} {other!r}: taskarr compares with "
                "arrays, numbers, and what NumPy makes an array of"
            )
        return found

    return compare


_LIKE_ONLY: tuple[Any, ...] = tuple(kind.__eq__ for kind in (object, set, frozenset, dict, slice))
"""How objects compare that equal nothing but their like."""

_AS_ARRAY = ("__array_ufunc__", "__array__", "__array_interface__", "__array_struct__")


def equals_nothing(x: Any) -> bool:
    """Whether an object, None for one, equals no element, and NumPy makes no array of it."""
    kind: Any = type(x)
    if kind.__eq__ not in _LIKE_ONLY or any(hasattr(x, name) for name in _AS_ARRAY):
        return False
    return kind.__eq__ is not object.__eq__ or not hasattr(kind, "__len__")


def _equality(name: str) -> Callable[..., Any]:
    """Method of ``==`` or ``!=``; what NumPy can't compare, an object for one, is not equal."""
    ordinary = _compare(name)

    def method(self: Handle, other: Any) -> Any:
        if not known(other):
            if not equals_nothing(other):
                return ordinary(self, other)
            other = np.array(None)
        return self._of(ufuncs.compared(name, [self._expr, node_of(other)]))

    return method


def _unary(name: str) -> Callable[[Handle], Handle]:
    def method(self: Handle) -> Handle:
        return self._of(elementwise.apply(name, [self._expr]))

    return method


_PRODUCTS = _binary("multiply")


class Operators(Handle):
    """Arithmetic, bitwise operations and comparisons."""

    __slots__ = ()
    __hash__ = None

    __add__, __radd__, __iadd__ = _binary("add")
    __sub__, __rsub__, __isub__ = _binary("subtract")
    __truediv__, __rtruediv__, __itruediv__ = _binary("divide")
    __floordiv__, __rfloordiv__, __ifloordiv__ = _binary("floor_divide")
    __mod__, __rmod__, __imod__ = _binary("remainder")
    __and__, __rand__, __iand__ = _binary("bitwise_and")
    __or__, __ror__, __ior__ = _binary("bitwise_or")
    __xor__, __rxor__, __ixor__ = _binary("bitwise_xor")
    __lshift__, __rlshift__, __ilshift__ = _binary("left_shift")
    __rshift__, __rrshift__, __irshift__ = _binary("right_shift")
    __eq__ = _equality("equal")
    __ne__ = _equality("not_equal")
    __lt__ = _compare("less")
    __le__ = _compare("less_equal")
    __gt__ = _compare("greater")
    __ge__ = _compare("greater_equal")
    __neg__ = _unary("negative")
    __pos__ = _unary("positive")
    __abs__ = _unary("absolute")
    __invert__ = _unary("invert")
    _, __rpow__, __ipow__ = _binary("power")

    def __mul__(self, other: Any) -> Any:
        if self._is_repeated(other):
            return self._text() * other
        return other * self._times() if self._repeats(other) else _PRODUCTS[0](self, other)

    def __rmul__(self, other: Any) -> Any:
        if self._is_repeated(other):
            return self._text() * other
        return other * self._times() if self._repeats(other) else _PRODUCTS[1](self, other)

    def __imul__(self, other: Any) -> Any:
        return self * other if self._is_repeated(other) else _PRODUCTS[2](self, other)

    def _is_repeated(self, other: Any) -> bool:
        """Whether this is one text and the other one of Python's integers, which repeats it."""
        return self._fixed and self.dtype.kind in "SU" and isinstance(other, int)

    def _text(self) -> Any:
        return scalar_of(self, "repeating text")

    def _times(self) -> int:
        return fetch.single(self._expr, operator.index)

    def _repeats(self, other: Any) -> bool:
        """Whether a sequence times this number is the sequence so many times."""
        sequence = isinstance(other, list | tuple | str | bytes)
        return sequence and self._fixed and self.dtype.kind in "iu"

    def __divmod__(self, other: Any) -> Any:
        return called(self._of, np.divmod, (self, other), {}) if known(other) else NotImplemented

    def __rdivmod__(self, other: Any) -> Any:
        return called(self._of, np.divmod, (other, self), {}) if known(other) else NotImplemented

    def __matmul__(self, other: Any) -> Handle:
        raise protocols.missing("matmul", np, "taskarr")

    __rmatmul__ = __imatmul__ = __matmul__

    def __pow__(self, exponent: Any) -> Handle:
        if not known(exponent):
            return NotImplemented
        return self._of(ufuncs.power(self._expr, node_of(exponent)))

    def __contains__(self, value: Any) -> bool:
        return bool((self == value).any())
