"""Floating-point faults: what to do about them, noting them while kernels run, telling the user.

NumPy tells of a division by zero when it happens, as ``numpy.errstate`` wants it at that moment.
Here an operation is computed later, by several ranks, each of which sees its own part. So a node
keeps the `Policy` of the moment at which it was built; a `Recorder` notes during a run which nodes
faulted; the ranks put their notes together (`agreed`), and every rank tells the same (`tell`).

The same path serves texts about data that reductions warn of, as "Mean of empty slice": see `note`.
"""

import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

import numpy as np

from scheduler import World, current
from scheduler.agreement import Flag
from scheduler.comm.where import Place, user_place


class Kind(NamedTuple):
    """A kind of fault: the processor's flag, the argument of ``errstate``, NumPy's words."""

    bit: int
    name: str
    text: str


KINDS = (
    Kind(1, "divide", "divide by zero"),
    Kind(2, "over", "overflow"),
    Kind(4, "under", "underflow"),
    Kind(8, "invalid", "invalid value"),
)
"""Faults in NumPy's order."""

NOTES = (
    "Mean of empty slice",
    "Degrees of freedom <= 0 for slice",
    "All-NaN slice encountered",
    "All-NaN axis encountered",
)
"""Texts that `note` takes; each has a bit behind those of the faults."""

_NOTE_BITS = {text: 1 << (len(KINDS) + k) for k, text in enumerate(NOTES)}
_FAULTS = sum(kind.bit for kind in KINDS)
_ALL = _FAULTS | sum(_NOTE_BITS.values())
_BITS = np.dtype(np.uint16)

NOBODY = -1
"""Position of what no node answers for, as reading a file: its faults are dropped."""

UNSURE = -2
"""Position of work for several nodes at once; see `Recorder.doubtful`."""


# ---------------------------------------------------------------------- policy


@dataclass(frozen=True, slots=True)
class Policy:
    """What ``numpy.errstate`` said when a node was built.

    Parameters
    ----------
    modes
        Of each of `KINDS`: ``"ignore"``, ``"warn"``, ``"raise"``, ``"call"``, ``"print"`` or
        ``"log"``.
    call
        What ``call`` calls and ``log`` writes to.
    heard
        Bits of what the user shall be told, that is not ignored nor told before.
    """

    modes: tuple[str, ...]
    call: Any
    heard: int

    @property
    def raises(self) -> bool:
        """Whether some kind of fault raises."""
        return "raise" in self.modes

    def told(self, bits: int) -> "Policy":
        """The policy once the user was told of some faults: they are told once."""
        return replace(self, heard=self.heard & ~bits)


@lru_cache(64)
def _policy_of(settings: Any) -> Policy:
    """Policy of NumPy's present settings, which the argument stands for."""
    modes: Any = np.geterr()
    chosen = tuple([modes[kind.name] for kind in KINDS])
    heard = sum(k.bit for k, mode in zip(KINDS, chosen, strict=True) if mode != "ignore")
    return Policy(chosen, np.geterrcall(), heard | (_ALL & ~_FAULTS))


def _capture() -> Callable[[], Policy]:
    """Function that gives the policy of the moment.

    The identity of the object that NumPy keeps its settings in tells whether they have changed,
    and takes a tenth of the time of asking for all of them.
    """
    core: Any = vars(np)["_core"]
    try:
        get = core.umath._extobj_contextvar.get
    except AttributeError:
        return lambda: _policy_of.__wrapped__(None)
    return lambda: _policy_of(get())


policy: Callable[[], Policy] = _capture()
"""Policy of this moment."""


# ---------------------------------------------------------------------- recording


@dataclass(slots=True)
class Recorder(Flag):
    """Notes which nodes of a run faulted on this rank.

    NumPy calls it with a fault's name and the processor's flags. Who computes for a node says so
    before in ``at``.

    State: the position of the node that is computed now; bits of faults by position. ``up`` tells
    that there are some, and after the run that some rank has some.
    """

    at: int = NOBODY
    bits: dict[int, int] = field(default_factory=dict)

    def __call__(self, name: str, flags: int) -> None:
        """Note flags of the node at hand."""
        if self.at != NOBODY:
            self.bits[self.at] = self.bits.get(self.at, 0) | flags
            self.up = self.up or self.at >= 0

    def recording(self, policies: Iterable[Policy]) -> np.errstate:
        """Forget everything, and give a context that records what some policy wants told."""
        self.at, self.up = NOBODY, False
        self.bits.clear()
        heard = 0
        for one in policies:
            heard |= one.heard
        modes: dict[str, Any] = {k.name: "call" if heard & k.bit else "ignore" for k in KINDS}
        return np.errstate(call=self, **modes)

    def doubtful(self) -> bool:
        """Whether work for several nodes faulted; then it must be done again for each alone."""
        return self.bits.pop(UNSURE, 0) != 0


def note(text: str) -> None:
    """Warn, once the run is over, of something that the node's data are like.

    For the functions of a reduction, ``finish`` above all: every rank warns, at the node's line.

    Parameters
    ----------
    text
        One of `NOTES`.
    """
    bit = _NOTE_BITS[text]
    recorder = np.geterrcall()
    if isinstance(recorder, Recorder):
        recorder(text, bit)


# ---------------------------------------------------------------------- agreeing and telling


class Site(Protocol):
    """What is known of a node: its policy, the line that built it, its name in a warning."""

    policy: Policy
    place: Place

    @property
    def title(self) -> str:
        """What NumPy calls the operation."""


@dataclass(frozen=True, slots=True)
class Fault:
    """What the user is told of a node."""

    title: str
    place: Place
    policy: Policy
    bits: int


def agreed(world: World, recorder: Recorder, sites: Sequence[Site]) -> list[Fault]:
    """Faults of a run on any rank, those to be told, in the order of the nodes.

    Collective if a fault was recorded somewhere, which the end of the run has told all ranks.
    What is told of a node is told once: it is taken from the node's policy.
    """
    if not recorder.up:
        return []
    bits = np.zeros(-(-len(sites) // 4) * 4, _BITS)
    for position, found in recorder.bits.items():
        bits[position] = found
    if world.size > 1:
        words = world.allreduce(bits.view(np.uint64), "or", "agreeing on floating-point faults")
        bits = words.view(_BITS)
    faults = []
    for position in np.flatnonzero(bits).tolist():
        site = sites[position]
        heard = int(bits[position]) & site.policy.heard
        if heard:
            faults.append(Fault(site.title, site.place, site.policy, heard))
            site.policy = site.policy.told(heard)
    return faults


def tell(faults: Sequence[Fault], rank: int) -> None:
    """Warn of faults, or what else the policies say, each at its node's line.

    Raises
    ------
    FloatingPointError
        Where a policy says ``"raise"``.
    Warning
        Where the filters of `warnings` make an error of a warning.
    """
    for fault in faults:
        for kind, mode in zip(KINDS, fault.policy.modes, strict=True):
            if fault.bits & kind.bit:
                _MODES[mode](fault, kind, rank)
        for text, bit in _NOTE_BITS.items():
            if fault.bits & bit:
                warn(RuntimeWarning(text), fault.place, rank)


def _said(fault: Fault, kind: Kind) -> str:
    return f"{kind.text} encountered in {fault.title}"


def _on_warn(fault: Fault, kind: Kind, rank: int) -> None:
    warn(RuntimeWarning(_said(fault, kind)), fault.place, rank)


def _on_raise(fault: Fault, kind: Kind, rank: int) -> None:
    error = FloatingPointError(_said(fault, kind))
    error.add_note(f"in the operation at {fault.place}")
    raise error


def _on_print(fault: Fault, kind: Kind, rank: int) -> None:
    if rank == 0:
        print(f"Warning: {_said(fault, kind)}")


def _on_call(fault: Fault, kind: Kind, rank: int) -> None:
    if fault.policy.call is None:
        raise NameError(
            f"python callback specified for {kind.text} (in {fault.title}) but no function found: "
            "give numpy.seterrcall() one"
        )
    fault.policy.call(kind.text, fault.bits & _FAULTS)


def _on_log(fault: Fault, kind: Kind, rank: int) -> None:
    if fault.policy.call is None:
        raise NameError(
            f"log specified for {kind.text} (in {fault.title}) but no object with write method "
            "found: give numpy.seterrcall() one"
        )
    fault.policy.call.write(f"Warning: {_said(fault, kind)}\n")


_MODES: dict[str, Callable[[Fault, Kind, int], None]] = {
    "warn": _on_warn,
    "raise": _on_raise,
    "print": _on_print,
    "call": _on_call,
    "log": _on_log,
}


def warn(warning: Warning, place: Place, rank: int) -> None:
    """Warn as if the user's line had; the rank goes along, so that only rank 0's is printed."""
    vars(warning)["rank"] = rank
    module = sys.modules.get(place.module)
    registry = None if module is None else vars(module).setdefault("__warningregistry__", {})
    warnings.warn_explicit(
        warning, type(warning), place.filename, place.lineno, place.module, registry
    )


@contextmanager
def at_once(title: str, rank: int | None = None) -> Iterator[None]:
    """Tell of faults in what every rank computes alike and at once within a ``with`` block.

    Converting a value that is written, for example: the warning stands at the user's line.

    Parameters
    ----------
    title
        What NumPy calls the operation.
    rank
        This rank in the world of the array; in the current world for None.
    """
    chosen, recorder = policy(), Recorder()
    with recorder.recording([chosen]):
        recorder.at = 0
        yield
    if recorder.up:
        heard = recorder.bits[0] & chosen.heard
        who = current().rank if rank is None else rank
        tell([Fault(title, user_place(), chosen, heard)], who)
