"""The stand-in's array: NumPy memory behind the refusals of a CuPy array."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from tests.device.memory import Device, Memory, current_device, stream_of
from tests.device.signatures import DTYPES, METHODS, NOT_COMPLEX, REDUCING, parameters

SCALARS = bool | int | float | complex | np.generic


def check_dtype(dtype: Any) -> np.dtype:
    """The dtype, if a device computes with it; else TypeError."""
    found = np.dtype(dtype)
    if found.char not in DTYPES or not found.isnative:
        raise TypeError(f"Unsupported dtype {found}")
    return found


def bare(x: Any) -> Any:
    """What stands behind an argument: NumPy's array of one on this device, others as they are.

    Raises
    ------
    TypeError
        For a NumPy array.
    ValueError
        For an array on another device than this thread's.
    """
    if isinstance(x, ndarray):
        if x._memory.device != current_device():
            raise ValueError(
                f"Array device must be same as the current device: array device = "
                f"{x._memory.device} while current = {current_device()}"
            )
        return x._data
    if isinstance(x, np.ndarray):
        raise TypeError(f"Unsupported type {type(x)}")
    if isinstance(x, tuple | list):
        return type(x)(map(bare, x))
    if isinstance(x, slice):
        return slice(*(None if i is None else operator.index(i) for i in (x.start, x.stop, x.step)))
    return x


def wrapped(found: Any, sources: Sequence[Any] = ()) -> Any:
    """Result as the stand-in's: arrays and scalars as arrays, which share the memory they view."""
    if isinstance(found, tuple | list):
        return type(found)(wrapped(x, sources) for x in found)
    if not isinstance(found, np.ndarray | SCALARS):
        return found
    data = np.asarray(found)
    check_dtype(data.dtype)
    for source in sources:
        if isinstance(source, ndarray) and np.may_share_memory(source._data, data):
            return ndarray(data, source._memory)
    return ndarray(data, Memory(data.nbytes))


def only(name: str, known: Sequence[str], args: Sequence[Any], options: dict[str, Any]) -> None:
    """Raise TypeError for arguments that CuPy's function does not take."""
    if known == ("*",):
        return
    wrong = [key for key in options if key not in known]
    if wrong or len(args) + len(options) > len(known):
        raise TypeError(f"{name}() takes {', '.join(known)}; got {wrong or len(args)}")


def real_for(x: Any, dtype: np.dtype) -> Any:
    """Real part where a complex value goes to a real dtype, of which a device does not warn."""
    drops = isinstance(x, np.ndarray | np.generic | complex) and dtype.kind != "c"
    return x.real if drops and np.iscomplexobj(x) else x


class Ufunc:
    """A ufunc as CuPy has it: no ``where=``, results and outputs on the device, no warnings."""

    def __init__(self, name: str) -> None:
        self.name, self._ufunc = name, getattr(np, name)
        self.nin, self.nout, self.nargs = self._ufunc.nin, self._ufunc.nout, self._ufunc.nargs

    def __repr__(self) -> str:
        return f"<ufunc 'strict_{self.name}'>"

    def __call__(
        self, *args: Any, out: Any = None, dtype: Any = None, casting: str = "same_kind"
    ) -> Any:
        if len(args) not in (self.nin, self.nargs):
            raise TypeError(f"{self.name}() takes {self.nin} or {self.nargs} arrays")
        inputs, outs = args[: self.nin], args[self.nin :]
        if out is not None:
            outs = out if isinstance(out, tuple) else (out,)
        self._check(inputs, outs)
        into = {"out": tuple(map(bare, outs))} if outs else {}
        values = list(map(bare, inputs))
        kind = np.dtype(dtype or "i8").kind
        if self.name == "power" and {kind, *(np.asarray(x).dtype.kind for x in values)} <= set(
            "iu"
        ):
            values[1] = abs(values[1])  # no error, and another value than NumPy would give
        with np.errstate(all="ignore"):
            found = self._ufunc(*values, dtype=dtype, casting=casting, **into)
        for x in outs:
            if x is not None:
                x._memory.wrote()
        if not outs:
            return wrapped(found)
        results = found if isinstance(found, tuple) else (found,)
        kept = tuple(wrapped(r) if x is None else x for r, x in zip(results, outs, strict=True))
        return kept if self.nout > 1 else kept[0]

    def _check(self, inputs: Sequence[Any], outs: Sequence[Any]) -> None:
        for x in inputs:
            if not isinstance(x, ndarray | SCALARS):
                raise TypeError(f"Unsupported type {type(x)}")
            if self.name in NOT_COMPLEX and np.asarray(bare(x)).dtype.kind == "c":
                raise TypeError(f"Wrong type ({np.asarray(bare(x)).dtype}) for {self.name}")
        for x in outs:
            if not isinstance(x, ndarray | None):
                raise TypeError(f"Output arguments type must be cupy.ndarray, not {type(x)}")

    def reduce(
        self, array: Any, axis: Any = 0, dtype: Any = None, out: Any = None, keepdims: bool = False
    ) -> Any:
        """Reduce, for the few ufuncs that can."""
        if self.name not in REDUCING:
            raise NotImplementedError(f"`{self.name}.reduce` is not supported yet")
        if out is not None:
            raise NotImplementedError("out= of the stand-in's reduce")
        return wrapped(self._ufunc.reduce(bare(array), axis=axis, dtype=dtype, keepdims=keepdims))


def _operator(name: str, reflected: bool = False, in_place: bool = False) -> Callable[..., Any]:
    function = Ufunc(name)

    def method(self: ndarray, other: Any) -> Any:
        if not isinstance(other, ndarray | SCALARS):
            if other is None or isinstance(other, np.ndarray):
                raise TypeError(f"Unsupported type {type(other)}")
            return NotImplemented
        if in_place:
            return function(self, other, out=self)
        return function(other, self) if reflected else function(self, other)

    return method


def _unary(name: str) -> Callable[..., Any]:
    function = Ufunc(name)
    return lambda self: function(self)


def _method(name: str, known: tuple[str, ...]) -> Callable[..., Any]:
    def method(self: ndarray, *args: Any, **options: Any) -> Any:
        only(name, known, args, options)
        out = options.pop("out", None)
        given = {key: bare(value) for key, value in options.items()}
        if out is not None:
            given["out"] = bare(out)
        with np.errstate(all="ignore"):
            found = getattr(bare(self), name)(*map(bare, args), **given)
        if found is None:  # fill, sort
            self._memory.wrote()
            return None
        if out is None:
            return wrapped(found, (self,))
        out._memory.wrote()
        return out

    method.__name__ = name
    return method


class ndarray:  # noqa: N801 - CuPy's name
    """Elements in a device's memory; see `tests.device.strict` for what it refuses."""

    __slots__ = ("_data", "_memory")
    __array_ufunc__ = None
    __array_priority__ = 100
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, data: np.ndarray, memory: Memory) -> None:
        self._data, self._memory = data, memory

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        raise TypeError(
            "Implicit conversion to a NumPy array is not allowed. "
            "Please use `.get()` to construct a NumPy array explicitly."
        )

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """Where the elements lie, for libraries; refused while work on them is pending."""
        self._check_done()
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (self._data.ctypes.data, False),
            "strides": None if self.flags.c_contiguous else self.strides,
            "version": 3,
            "stream": None,
        }

    def _check_done(self) -> None:
        if self._memory.pending:
            raise RuntimeError(
                "this memory is read from outside while work that writes it is pending; "
                "synchronize the stream first"
            )

    def get(
        self, stream: Any = None, order: str = "C", out: Any = None, blocking: bool = True
    ) -> np.ndarray:
        """Copy in host memory; with ``blocking=False`` it is filled by the next synchronisation."""
        if out is None:
            out = np.empty(self.shape, self.dtype)
        if type(out) is not np.ndarray or (out.shape, out.dtype) != (self.shape, self.dtype):
            raise ValueError(f"out must be a NumPy array of {self.dtype}{self.shape}")
        if not out.flags.c_contiguous:
            raise RuntimeError("`out` cannot be specified with non-contiguous memory")
        if blocking:
            out[...] = self._data
            return out
        out.reshape(-1).view(np.uint8).fill(0xA5)
        data = self._data
        stream_of(self._memory.device).copies.append(lambda: np.copyto(out, data))
        return out

    def set(self, arr: np.ndarray, stream: Any = None) -> None:
        """Fill from host memory."""
        if not isinstance(arr, np.ndarray):
            raise TypeError("Only numpy.ndarray can be set to cupy.ndarray")
        if (arr.shape, arr.dtype) != (self.shape, self.dtype):
            raise ValueError(f"{arr.dtype}{arr.shape} can't be set to {self.dtype}{self.shape}")
        self._data[...] = arr
        self._memory.wrote()

    def astype(self, dtype: Any, order: str = "K", *, copy: bool = True) -> ndarray:
        """Elements as another dtype."""
        if not copy and self.dtype == np.dtype(dtype):
            return self
        with np.errstate(all="ignore"):
            return wrapped(real_for(bare(self), check_dtype(dtype)).astype(dtype, order))

    def view(self, dtype: Any = None) -> ndarray:
        """The same memory, as another dtype if one is given."""
        data = self._data.view() if dtype is None else self._data.view(check_dtype(dtype))
        return ndarray(data, self._memory)

    def item(self) -> Any:
        """The only element."""
        return self._data.item()

    def tolist(self) -> Any:
        """Elements as Python lists."""
        return self._data.tolist()

    def tobytes(self) -> bytes:
        """Elements as bytes."""
        return self._data.tobytes()

    def __getitem__(self, key: Any) -> ndarray:
        return wrapped(bare(self)[_key(key)], (self,))

    def __setitem__(self, key: Any, value: Any) -> None:
        if not isinstance(value, ndarray | SCALARS):
            raise TypeError(f"Unsupported type {type(value)}")
        data, key, value = bare(self), _key(key), bare(value)
        with np.errstate(all="ignore"):
            if isinstance(key, np.ndarray) and key.ndim == 1 and key.dtype.kind in "iu":
                # which of several elements for one place wins is not defined: here the first
                value = np.broadcast_to(value, data[key].shape)
                data[key[::-1]] = value[::-1]
            else:
                data[key] = value
        self._memory.wrote()

    def __len__(self) -> int:
        return len(self._data)

    def __iter__(self) -> Iterator[ndarray]:
        return (self[k] for k in range(len(self)))

    def __bool__(self) -> bool:
        return bool(self._data)

    def __int__(self) -> int:
        return int(self._data)

    def __float__(self) -> float:
        return float(self._data)

    def __complex__(self) -> complex:
        return complex(self._data)

    def __index__(self) -> int:
        return operator.index(self._data.item() if self.ndim == 0 else self._data)

    def __repr__(self) -> str:
        return f"strict.{self._data!r}"

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes."""
        return self._data.shape

    @property
    def dtype(self) -> np.dtype:
        """Type of the elements."""
        return self._data.dtype

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return self._data.ndim

    @property
    def size(self) -> int:
        """Number of elements."""
        return self._data.size

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self._data.nbytes

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return self._data.itemsize

    @property
    def strides(self) -> tuple[int, ...]:
        """Bytes from one element to the next along each axis."""
        return self._data.strides

    @property
    def flags(self) -> Flags:
        """How the elements lie; there is no ``writeable``."""
        return Flags(self._data)

    @property
    def device(self) -> Device:
        """Where it lies."""
        return Device(self._memory.device)

    @property
    def T(self) -> ndarray:  # noqa: N802 - NumPy's name
        """View with the axes in reverse order."""
        return wrapped(self._data.T, (self,))

    @property
    def real(self) -> ndarray:
        """Real parts."""
        return wrapped(self._data.real, (self,))

    @real.setter
    def real(self, value: Any) -> None:
        self.real[...] = value

    @property
    def imag(self) -> ndarray:
        """Imaginary parts."""
        return wrapped(self._data.imag, (self,))

    @imag.setter
    def imag(self, value: Any) -> None:
        self.imag[...] = value

    __neg__, __pos__, __abs__ = _unary("negative"), _unary("positive"), _unary("absolute")
    __invert__ = _unary("invert")
    __eq__ = _operator("equal")  # type: ignore[assignment]
    __ne__ = _operator("not_equal")  # type: ignore[assignment]
    __lt__, __le__ = _operator("less"), _operator("less_equal")
    __gt__, __ge__ = _operator("greater"), _operator("greater_equal")


class Flags:
    """How an array's elements lie."""

    __slots__ = ("c_contiguous", "f_contiguous", "owndata")

    def __init__(self, data: np.ndarray) -> None:
        self.c_contiguous = data.flags.c_contiguous
        self.f_contiguous = data.flags.f_contiguous
        self.owndata = data.base is None


def _key(key: Any) -> Any:
    """Key for NumPy: of integers, slices and arrays on the device."""
    parts = key if isinstance(key, tuple) else (key,)
    for part in parts:
        if not isinstance(part, ndarray | slice | int | np.integer | None | type(Ellipsis)):
            raise IndexError(f"Unsupported index type {type(part)}")
    return tuple(map(bare, parts)) if isinstance(key, tuple) else bare(key)


_OPERATORS = {
    "add": "add",
    "sub": "subtract",
    "mul": "multiply",
    "truediv": "true_divide",
    "floordiv": "floor_divide",
    "mod": "remainder",
    "pow": "power",
    "and": "bitwise_and",
    "or": "bitwise_or",
    "xor": "bitwise_xor",
    "lshift": "left_shift",
    "rshift": "right_shift",
}
for _short, _name in _OPERATORS.items():
    setattr(ndarray, f"__{_short}__", _operator(_name))
    setattr(ndarray, f"__r{_short}__", _operator(_name, reflected=True))
    setattr(ndarray, f"__i{_short}__", _operator(_name, in_place=True))
for _name, _known in parameters(METHODS).items():
    setattr(ndarray, _name, _method(_name, _known))
