"""NumPy's protocols: ``numpy.sin(a)`` and ``numpy.sum(a)`` give what taskarr's functions give."""

from collections.abc import Callable
from typing import Any

import numpy as np


def refused(call: str) -> NotImplementedError:
    """Error for a call that taskarr does not have; ``call`` is what follows ``numpy.``."""
    return NotYet(
        f"numpy.{call} of a taskarr array is not in this version; "
        "fetch the array with a.numpy() first"
    )


class NotYet(NotImplementedError, AttributeError):
    """A name of NumPy's that taskarr does not have yet."""


def missing(name: str, model: Any, owner: str) -> AttributeError:
    """Error for a name that is not there; ``model`` is what NumPy has in this place."""
    if hasattr(model, name) and not name.startswith("_"):
        return NotYet(
            f"{owner} has no {name!r} in this version; a.numpy() gives a NumPy array, which has"
        )
    return AttributeError(f"{owner!r} has no attribute {name!r}")


SHARED = frozenset(
    """
pi e inf nan euler_gamma newaxis dtype errstate seterr geterr seterrcall geterrcall finfo iinfo
can_cast promote_types broadcast_shapes ndim shape s_ index_exp isscalar ndindex bool bool_ int_
uint intp uintp int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64
longdouble complex64 complex128 clongdouble datetime64 timedelta64 str_ bytes_ void generic number
integer floating complexfloating inexact
""".split()  # noqa: SIM905
)
"""NumPy's names that have nothing to do with where elements lie: ``taskarr.pi`` is ``numpy.pi``."""

FUNCTIONS: dict[str, Callable[..., Any]] = {}
"""Public functions by name, entered by `taskarr.api`."""


def function_of(function: Callable[..., Any]) -> Callable[..., Any]:
    """The taskarr function that stands for one of NumPy's.

    Raises
    ------
    TypeError
        When there is none; the message names it and the way out.
    """
    aliases = {"amin": "min", "amax": "max"}
    name = function.__name__
    found = FUNCTIONS.get(aliases.get(name, name))
    if found is None or getattr(np, name, None) is not function:
        raise TypeError(
            f"{function.__module__}.{name} of a taskarr array is not in this version; "
            "fetch the array with a.numpy() first"
        )
    return found
