"""Where arrays lie: the processor's memory or a GPU's."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from taskarr.api.creation import asarray
from taskarr.arrays import Array
from taskarr.ops import devices
from taskarr.ops.creation import world_of
from taskarr.runtime import present

__all__ = ["to_device"]

CONVERTERS = ("array", "asanyarray", "asarray", "ascontiguousarray", "asfortranarray")
"""Functions that give an array which they are given, and so bring it to the device."""

LIKE = (
    *CONVERTERS,
    *("arange", "empty", "eye", "fromfunction", "full", "identity", "ones", "tri", "zeros"),
)
"""Functions that take ``like=`` in NumPy, which says by whom an array is made: None for nobody."""


def to_device(x: Any, device: str) -> Array:
    """Array on a device; the one that is given if it lies there, else a copy. Collective.

    Parameters
    ----------
    x
        Array, or anything that NumPy makes an array of.
    device
        ``"cpu"`` or ``"cuda"``.

    Raises
    ------
    ValueError
        For a device of another name.
    ImportError, RuntimeError
        When a rank has no such device, on all ranks.
    TypeError
        For a dtype that devices do not compute with, dates or text for example.

    Examples
    --------
    >>> import taskarr
    >>> taskarr.to_device(taskarr.arange(3), "cpu").device
    'cpu'
    """
    array = asarray(x)
    if array.device == device:
        return array
    return Array._of(devices.to_device(array._expr, device), fixed=array._fixed)


def on_device(function: Callable[..., Any]) -> Callable[..., Any]:
    """Public function that makes arrays, with ``device=``, and ``like=None`` where NumPy has it.

    Without it, the result lies where a first argument that is an array lies, else where
    ``settings`` say.
    """
    name = function.__name__

    @wraps(function)
    def made(*args: Any, device: str | None = None, **options: Any) -> Any:
        if name in LIKE and options.get("like", name) is None:
            del options["like"]
        given = args[0] if args and isinstance(args[0], Array) else None
        if device is None and given is None:
            return function(*args, **options)
        world = given._expr.world if given is not None else world_of(options.get("comm"))
        with present(world, device or given.device):  # type: ignore[union-attr]
            if given is not None and device is not None and name in CONVERTERS:
                args = (to_device(given, device), *args[1:])
            return function(*args, **options)

    return made


PUBLIC: dict[str, Any] = {name: globals()[name] for name in __all__}
"""Functions of this module by name."""
