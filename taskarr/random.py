"""Random numbers like `numpy.random`, the same for any number of ranks; ``docs/random.md``."""

import copy
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import scheduler
from scheduler import SPMDError, World
from scheduler.comm.where import user_line
from taskarr import protocols
from taskarr.arrays import Array
from taskarr.arrays.handle import node_of
from taskarr.expr import Expr, moved_to
from taskarr.kernel.random import Streams
from taskarr.ops import random as ops
from taskarr.ops.creation import shape_of, world_of
from taskarr.ops.distributions import DISTRIBUTIONS, REQUIRED, Distribution
from taskarr.ops.random import Call
from taskarr.runtime import agree, runtime

PLACING: dict[str, Any] = {"split": "auto", "chunks": None, "mesh": None}
"""Arguments of all that makes an array, with their default values."""


def _restored(seed: np.random.SeedSequence, calls: int) -> "Generator":
    """Generator that a pickle stands for."""
    found = Generator(seed, world_of(None))
    found._calls = calls
    return found


class Generator:
    """Source of random arrays; `default_rng` makes one.

    State: the number of calls so far, alike on all ranks.

    Parameters
    ----------
    seed
        Where the key comes from.
    world
        Ranks that draw together.
    """

    def __init__(self, seed: np.random.SeedSequence, world: World) -> None:
        low, high = map(int, seed.generate_state(2, np.uint64))
        self._seed, self._world = seed, world
        self._streams = Streams(low + (high << 64))
        self._calls = 0

    def __repr__(self) -> str:
        return f"taskarr.random.Generator(entropy={self._seed.entropy}, calls={self._calls})"

    def __deepcopy__(self, memo: dict[int, Any]) -> "Generator":
        found = Generator(copy.deepcopy(self._seed), self._world)
        found._calls = self._calls
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        """Seed and number of calls; loaded, it draws on all ranks of the job."""
        return _restored, (self._seed, self._calls)

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Callable[..., Any]: ...

    else:

        def __getattr__(self, name: str) -> Any:
            raise _missing(name, np.random.Generator, "taskarr.random.Generator")

    def _call(self, placing: Mapping[str, Any]) -> Call:
        given = {key: v for key, v in placing.items() if not _is_default(v, PLACING[key])}
        call = Call(self._world, self._streams, self._calls, given)
        self._calls += 1
        return call

    def spawn(self, n_children: int) -> list["Generator"]:
        """Independent generators, alike on all ranks."""
        return [Generator(seed, self._world) for seed in self._seed.spawn(n_children)]

    def choice(
        self,
        a: Any,
        size: Any = None,
        replace: bool = True,
        p: Any = None,
        axis: int = 0,
        shuffle: bool = True,
        **placing: Any,
    ) -> Any:
        """Random elements of ``range(a)`` or of an array; see `numpy.random.Generator.choice`.

        ``p`` is a NumPy array or list. Layout arguments as `taskarr.asarray`.
        """
        given = {"size": _host(size), "replace": replace, "p": node_of(p)}
        given |= {"axis": axis, "shuffle": shuffle}
        return _shown(ops.choice(self._call(_checked(placing)), node_of(a), given))

    def permutation(self, x: Any, axis: int = 0, **placing: Any) -> Array:
        """A random order of ``range(x)`` or of an array; see `numpy.random.Generator.permutation`.

        Layout arguments as `taskarr.asarray`.
        """
        given = _host(x) if isinstance(x, Array) and x._fixed else node_of(x)
        return _shown(ops.permutation(self._call(_checked(placing)), given, axis))

    def shuffle(self, x: Any, axis: int = 0) -> None:
        """Put an array or a list, which must be the same on all ranks, into random order."""
        call = self._call({})
        if isinstance(x, Array):
            len(x)  # which refuses a value
            x._become(ops.shuffle(call, x._expr, axis))
        else:
            call.host().shuffle(x, axis)

    def _draw(self, row: Distribution, given: dict[str, Any]) -> Any:
        """Values of a distribution, into ``out`` if it is given."""
        call = self._call({key: given.pop(key) for key in PLACING})
        given["size"], out = _host(given["size"]), given.get("out")
        if out is not None:
            _check_out(out, given)
            given["size"] = out.shape
        found = ops.drawn(call, row.name, {key: node_of(x) for key, x in given.items()})
        if out is None:
            return _shown(found)
        return out._become(moved_to(found, out._expr.layout))


def _missing(name: str, model: Any, owner: str) -> AttributeError:
    """Error for a name that is not here; ``model`` is what NumPy has in this place."""
    if hasattr(model, name) and not name.startswith("_"):
        return protocols.NotYet(
            f"{owner} has no {name!r} in this version; where it is small, make it with NumPy from "
            "the same seed on every rank, and distribute it with asarray()"
        )
    return AttributeError(f"{owner!r} has no attribute {name!r}")


def _is_default(value: Any, default: Any) -> bool:
    return value is default or (isinstance(value, str) and value == default)


def _checked(placing: dict[str, Any]) -> dict[str, Any]:
    for key in placing:
        if key not in PLACING:
            raise TypeError(f"unexpected keyword argument {key!r}; layouts have {list(PLACING)}")
    return placing


def _host(x: Any) -> Any:
    """An array as NumPy's, or its scalar if it has no axes; anything else as it is."""
    if isinstance(x, Array):
        x = x.numpy()
    return x[()] if isinstance(x, np.ndarray) else x


def _shown(found: Any) -> Any:
    return Array._of(found, fixed=False) if isinstance(found, Expr) else found


def _check_out(out: Any, given: Mapping[str, Any]) -> None:
    if not isinstance(out, Array):
        raise TypeError(f"out must be a taskarr array, not {type(out).__name__}")
    if out.dtype != np.dtype(given["dtype"]):
        raise TypeError(
            f"Supplied output array has the wrong type. Expected {np.dtype(given['dtype'])}, "
            f"got {out.dtype}"
        )
    if given["size"] is not None and shape_of(given["size"]) != out.shape:
        raise ValueError("size must match out.shape when used together")


def _signature(row: Distribution) -> inspect.Signature:
    """Signature of a method: NumPy's, then the layout arguments by name."""
    plain = {**row.parameters, "size": None, **(row.options or {})}
    parameters = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)]
    for kind, defaults in (("POSITIONAL_OR_KEYWORD", plain), ("KEYWORD_ONLY", PLACING)):
        for name, value in defaults.items():
            default = inspect.Parameter.empty if value is REQUIRED else value
            parameters.append(
                inspect.Parameter(name, getattr(inspect.Parameter, kind), default=default)
            )
    return inspect.Signature(parameters)


def _method(row: Distribution) -> Callable[..., Any]:
    """Method of a distribution."""
    signature = _signature(row)

    def method(*args: Any, **kwargs: Any) -> Any:
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{row.name}(): {error}") from None
        bound.apply_defaults()
        given = dict(bound.arguments)
        return given.pop("self")._draw(row, given)

    method.__name__ = row.name
    method.__qualname__ = f"Generator.{row.name}"
    method.__signature__ = signature  # type: ignore[attr-defined]
    method.__doc__ = (
        f"Draw as `numpy.random.Generator.{row.name}` does; layout arguments as `taskarr.asarray`."
    )
    return method


for _row in DISTRIBUTIONS.values():
    setattr(Generator, _row.name, _method(_row))


def default_rng(seed: Any = None, comm: Any = None) -> Generator:
    """Generator of random arrays that are the same for any number of ranks.

    Parameters
    ----------
    seed
        An integer, a sequence of them, a `numpy.random.SeedSequence`, the same on all ranks; or a
        `Generator`, which is given back. Without one rank 0's entropy is everybody's. Collective.
    comm
        An mpi4py communicator, or None for all ranks of the job.

    Raises
    ------
    TypeError, ValueError
        For what is no seed.
    SPMDError
        Under ``TASKARR_DEBUG``, when the seeds differ.

    Examples
    --------
    >>> import taskarr
    >>> rng = taskarr.random.default_rng(1)
    >>> rng.normal(size=(3, 4)).shape
    (3, 4)
    """
    if isinstance(seed, Generator):
        return seed
    if isinstance(seed, np.random.BitGenerator | np.random.Generator | np.random.RandomState):
        raise TypeError(
            f"seed={seed!r}: NumPy's generators have one stream, which ranks can't share; "
            "give an integer"
        )
    world = world_of(comm)
    if seed is None:
        agree(world, "default_rng()")
        seed = world.bcast(np.random.SeedSequence().entropy, 0, "random entropy")
    seed = _host(seed)
    if not isinstance(seed, np.random.SeedSequence):
        seed = np.random.SeedSequence(seed)
    if runtime(world).settings.debug:
        _same_seed(seed, world)
    return Generator(seed, world)


def _same_seed(seed: np.random.SeedSequence, world: World) -> None:
    agree(world, "comparing a seed")
    every = world.allgather(repr(seed), "comparing a seed")
    for rank, other in enumerate(every):
        if other != every[0]:
            raise SPMDError(
                f"default_rng() at {user_line()}: the seed is {every[0]} on rank 0 and {other} on "
                f"rank {rank}; seeds must be the same, blocks have numbers of their own anyway"
            )


STATE = "taskarr.random"
"""Where a world keeps the generator of the functions of this module."""


def seed(seed: Any = None) -> None:
    """Begin the numbers of this module's functions anew.

    Raises
    ------
    TypeError, ValueError
        As `numpy.random.seed`, for what is no integer of 32 bits nor a row of them.
    """
    world, seed = scheduler.current(), _host(seed)
    if not isinstance(seed, np.random.SeedSequence | Generator | None):
        np.random.RandomState(seed)
    world.state[STATE] = default_rng(seed, world)


def shared() -> Generator:
    """Generator of this module's functions; without a seed its first use is collective."""
    state = scheduler.current().state
    if STATE not in state:
        seed()
    return state[STATE]


def rand(*shape: Any, **placing: Any) -> Any:
    """Uniform values of a shape that is given by its lengths."""
    return shared().random(shape or None, **_checked(placing))


def randn(*shape: Any, **placing: Any) -> Any:
    """Standard normal values of a shape that is given by its lengths."""
    return shared().standard_normal(shape or None, **_checked(placing))


def randint(low: Any, high: Any = None, size: Any = None, dtype: Any = int, **placing: Any) -> Any:
    """Integers from ``low`` up to, without, ``high``."""
    return shared().integers(low, high, size, dtype, **_checked(placing))


def _function(name: str) -> Callable[..., Any]:
    """Function of this module that calls a method of the shared generator."""

    def function(*args: Any, **kwargs: Any) -> Any:
        return getattr(shared(), name)(*args, **kwargs)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"`Generator.{name}` of the generator that all functions here share."
    return function


_SHARED: Sequence[str] = [
    *(name for name in DISTRIBUTIONS if hasattr(np.random, name)),
    *("choice", "permutation", "shuffle"),
]
globals().update({name: _function(name) for name in _SHARED})
random_sample = ranf = sample = _function("random")

__all__ = [
    "Generator",
    "default_rng",
    "rand",
    "randint",
    "randn",
    "random_sample",
    "ranf",
    "sample",
    "seed",
    *_SHARED,
]


def __getattr__(name: str) -> Any:
    raise _missing(name, np.random, "taskarr.random")
