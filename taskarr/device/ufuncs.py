"""NumPy's ufuncs as kernels call them, by a device module's: ``where=``, outputs, ``reduce``.

CuPy's ufuncs compute what NumPy's do, and so this adds only what they leave out.
"""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

REDUCERS = {
    "add": "sum",
    "multiply": "prod",
    "minimum": "min",
    "maximum": "max",
    "logical_or": "any",
    "logical_and": "all",
}
"""Functions of a device module that stand for the ``reduce`` of a ufunc."""

TAKES_DTYPE = ("add", "multiply")

FOLDED = (
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "fmax",
    "fmin",
    "gcd",
    "hypot",
    "lcm",
    "logaddexp",
    "logaddexp2",
    "logical_xor",
)
"""Ufuncs whose ``reduce`` is many calls, each of which joins neighbours."""

RUNNING = {"add": "cumsum", "multiply": "cumprod"}
"""Functions of a device module that stand for the ``accumulate`` of a ufunc."""

IDENTITIES = {"add": 0, "multiply": 1, "logical_or": False, "logical_and": True}

TRUTHS = ("logical_and", "logical_or", "logical_xor", "logical_not")
"""Ufuncs that ask whether an element is not zero, which devices do for real numbers only."""


class DeviceUfunc:
    """A ufunc of a device module, called as NumPy's.

    Parameters
    ----------
    name
        Its name.
    module
        The device module.
    """

    __slots__ = ("_module", "_ufunc", "name", "nin", "nout")

    def __init__(self, name: str, module: ModuleType) -> None:
        self.name, self._module = name, module
        self._ufunc = getattr(module, name)
        self.nin, self.nout = self._ufunc.nin, self._ufunc.nout

    def __repr__(self) -> str:
        return f"<{self._ufunc!r} of a device>"

    def __call__(self, *args: Any, out: Any = None, where: Any = True, **options: Any) -> Any:
        """Call it; an output may stand behind the inputs, be one of several, and be masked."""
        inputs, outs = args[: self.nin], args[self.nin :]
        if out is not None:
            outs = out if isinstance(out, tuple) else (out,)
        if "signature" in options:
            inputs = self._cast(inputs, options.pop("signature"))
        if self.name in TRUTHS:
            inputs = tuple([self._truth(x) for x in inputs])
        if self.name == "power" and np.dtype(options.get("dtype") or "i8").kind in "iu":
            base, exponent = inputs
            inputs = self._checked_power(base, exponent, where)
        if where is True and all(x is not None for x in outs):
            return self._ufunc(*inputs, *outs, **options)
        found = self._ufunc(*inputs, **options)
        results = found if isinstance(found, tuple) else (found,)
        kept = []
        for result, target in zip(results, outs or (None,) * self.nout, strict=True):
            if target is not None:
                mask = None if where is True else where
                self._module.copyto(target, result, casting="unsafe", where=mask)
            kept.append(result if target is None else target)
        return tuple(kept) if self.nout > 1 else kept[0]

    def _cast(self, inputs: tuple[Any, ...], signature: Any) -> tuple[Any, ...]:
        """Inputs in the dtypes of a signature, as ``"dd->d"`` or a tuple."""
        codes = signature.split("->")[0] if isinstance(signature, str) else signature
        return tuple(
            [
                x if code is None else self._module.asarray(x).astype(code)
                for x, code in zip(inputs, codes, strict=False)
            ]
        )

    def _checked_power(self, base: Any, exponent: Any, where: Any) -> tuple[Any, Any]:
        """Operands of a power, where integers are raised to no negative ones.

        NumPy raises ValueError; devices give some number.
        """
        kinds = [np.result_type(getattr(x, "dtype", type(x))).kind for x in (base, exponent)]
        if kinds[0] not in "iu" or kinds[1] != "i":
            return base, exponent
        if where is not True:
            exponent = self._module.where(where, exponent, 0)
        if bool((exponent < 0).any() if hasattr(exponent, "any") else exponent < 0):
            raise ValueError("Integers to negative integer powers are not allowed.")
        return base, exponent

    def _truth(self, x: Any) -> Any:
        return x != 0 if np.iscomplexobj(x) else x

    def reduce(
        self,
        array: Any,
        axis: Any = 0,
        dtype: Any = None,
        out: Any = None,
        keepdims: bool = False,
        initial: Any = np._NoValue,
        where: Any = True,
    ) -> Any:
        """Reduce as NumPy's method does, except for the order in which elements are combined."""
        x = self._truth(array) if self.name in TRUTHS else array
        if dtype is not None and self.name not in TAKES_DTYPE:
            x = x.astype(dtype, copy=False)
        if where is not True:
            absent = IDENTITIES.get(self.name, initial)
            x = self._module.where(where, x, absent).astype(x.dtype, copy=False)
        given = range(x.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
        found = self._reduced(x, tuple([a % x.ndim for a in given]), dtype, keepdims)
        if initial is not np._NoValue and initial is not None:
            found = self(found, initial)
        if out is None:
            return found
        self._module.copyto(out, found, casting="same_kind")
        return out

    def accumulate(self, array: Any, axis: int = 0, out: Any = None) -> Any:
        """Accumulate as NumPy's method does, except for the order in which elements are combined.

        What the device has no function for is done in steps that join neighbours, then values that
        lie two, four, eight elements apart; what is not associative, row by row.
        """
        x = array != 0 if self.name in TRUTHS else array
        if self.name in RUNNING:
            found = getattr(self._module, RUNNING[self.name])(x, axis=axis, dtype=x.dtype)
        elif self.name in REDUCERS or self.name in FOLDED:
            found, apart, before = x.copy(), 1, (slice(None),) * axis
            while apart < x.shape[axis]:
                behind = found[(*before, slice(apart, None))]
                joined = self._ufunc(found[(*before, slice(0, -apart))], behind)
                behind[...] = joined
                apart *= 2
        else:
            found, before = x.copy(), (slice(None),) * axis
            for k in range(1, x.shape[axis]):
                above = found[(*before, slice(k - 1, k))]
                row = found[(*before, slice(k, k + 1))]
                row[...] = self._ufunc(above, row)
        if out is None:
            return found
        self._module.copyto(out, found, casting="same_kind")
        return out

    def reduceat(self, array: Any, indices: np.ndarray, axis: int = 0) -> Any:
        """Reduce stretches that begin at indices in host memory, which rise from 0.

        What lies one, two, four rows apart in a stretch is joined, if the ufunc is associative;
        else rows are joined to the first one by one.
        """
        x = array != 0 if self.name in TRUTHS else array

        def at(rows: np.ndarray) -> tuple[Any, ...]:
            return (*(slice(None),) * axis, self._module.asarray(rows, blocking=True))

        found, heads = x.copy(), np.unique(indices)
        lengths = np.diff(np.append(heads, x.shape[axis]))
        rows = np.arange(x.shape[axis])
        places = rows - np.repeat(heads, lengths)
        behind = np.repeat(lengths, lengths) - places
        tree, apart = self.name in REDUCERS or self.name in FOLDED, 1
        while apart < lengths.max():
            joining = rows[(places % (2 * apart if tree else len(rows)) == 0) & (behind > apart)]
            found[at(joining)] = self._ufunc(found[at(joining)], found[at(joining + apart)])
            apart += apart if tree else 1
        result = found[at(indices)]
        empty = np.flatnonzero(np.diff(indices) == 0)
        if len(empty):
            result[at(empty)] = x[at(indices[empty])]
        return result

    def _reduced(self, x: Any, axes: tuple[int, ...], dtype: Any, keepdims: bool) -> Any:
        if self.name in REDUCERS and axes:
            function: Callable[..., Any] = getattr(self._module, REDUCERS[self.name])
            given = {"dtype": dtype} if self.name in TAKES_DTYPE else {}
            return function(x, axis=axes, keepdims=keepdims, **given)
        if self.name in TRUTHS:
            x = x != 0
        if not axes:
            return x.astype(x.dtype if dtype is None else dtype)
        if self.name not in FOLDED:
            raise NotImplementedError(
                f"numpy.{self.name}.reduce on a GPU; bring the array to the processor first: "
                "taskarr.to_device(x, 'cpu')"
            )
        for axis in axes:
            x = self._folded(x, axis)
        return x if keepdims else x.reshape([n for a, n in enumerate(x.shape) if a not in axes])

    def _folded(self, x: Any, axis: int) -> Any:
        """Join neighbours along an axis until one is left."""
        before = (slice(None),) * axis
        while x.shape[axis] > 1:
            even = x.shape[axis] // 2 * 2
            joined = self._ufunc(x[(*before, slice(0, even, 2))], x[(*before, slice(1, even, 2))])
            rest = x[(*before, slice(even, None))]
            parts = (joined, rest) if rest.shape[axis] else (joined,)
            x = self._module.concatenate(parts, axis=axis) if len(parts) > 1 else joined
        return x
