"""Recording a plan: open steps that take tasks and messages, and the keys of their values."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from scheduler.plan import Plan, Recv, Send, Stage, Step, Task
from taskarr.plan.staging import Arrive, Buffer, Leave

Key = Any

BACKEND: Key = ("backend",)
ARGS: Key = ("args",)


def brick_key(position: int) -> Key:
    """Key of a node's brick."""
    return "brick", position


def raw_key(position: int) -> Key:
    """Key of a brick that is still being filled."""
    return "raw", position


def counts_key(position: int) -> Key:
    """Key of the counts per block that a filter kept."""
    return "counts", position


@dataclass(slots=True)
class OpenStep:
    """A step that still takes tasks and messages.

    Parameters
    ----------
    name
        What it does, for traces.
    number
        Its index in the plan.
    recorder
        Which counts the messages of each pair.
    """

    name: str
    number: int
    recorder: "Recorder"
    tasks: list[Task] = field(default_factory=list)
    sends: list[Send] = field(default_factory=list)
    recvs: list[Recv] = field(default_factory=list)

    def task(self, run: Callable[..., Any], inputs: Sequence[Key], output: Key) -> Key:
        """Add a task; gives its output key."""
        self.tasks.append(Task(self.name, run, tuple(inputs), output, self.number))
        return output

    def send(
        self,
        key: Key,
        peer: int,
        nbytes: int,
        pack: Callable[[Any], Any] | None = None,
        copies: bool = False,
    ) -> None:
        """Add a message to another rank."""
        tag = self.recorder.next_tag("send", peer)
        if self.recorder.staged:
            key = self.task(Leave(pack), (BACKEND, key), ("left", peer, tag))
            pack, copies = None, True
        self.sends.append(Send(key, peer, pack, nbytes, tag, copies))

    def recv(
        self,
        key: Key,
        peer: int,
        nbytes: int,
        make: Callable[..., Any],
        inputs: Sequence[Key] = (),
    ) -> Key:
        """Add a message from another rank; gives its key."""
        tag = self.recorder.next_tag("recv", peer)
        if self.recorder.staged:
            wire = ("wire", peer, tag)
            self.recvs.append(Recv(wire, peer, Buffer(nbytes), (BACKEND,), nbytes, tag))
            return self.task(Arrive(make), (BACKEND, wire, *inputs), key)
        self.recvs.append(Recv(key, peer, make, tuple(inputs), nbytes, tag))
        return key

    def closed(self) -> Step:
        """Give the finished step."""
        return Step(self.name, tuple(self.tasks), tuple(self.sends), tuple(self.recvs))


class Recorder:
    """Collects the steps of a plan.

    All ranks record the same steps, a rank without a part in one an empty one.

    Parameters
    ----------
    staged
        Whether arrays lie on a device, so that messages need `plan.staging`.

    Notes
    -----
    State: the steps so far, the next tag for each direction and peer.
    """

    def __init__(self, staged: bool = False) -> None:
        self.staged = staged
        self.steps: list[OpenStep | Stage] = []
        self.tags: dict[tuple[str, int], int] = defaultdict(int)

    def step(self, name: str) -> OpenStep:
        """Open the next step."""
        opened = OpenStep(name, len(self.steps), self)
        self.steps.append(opened)
        return opened

    def stage(
        self,
        name: str,
        run: Callable[[Any, Any], tuple[Any, ...]],
        inputs: Sequence[Key],
        outputs: Sequence[Key],
    ) -> None:
        """Add a collective stage."""
        self.steps.append(Stage(name, run, tuple(inputs), tuple(outputs)))

    def next_tag(self, way: str, peer: int) -> int:
        """Give the running number of the next message of a pair."""
        tag = self.tags[way, peer]
        self.tags[way, peer] = tag + 1
        return tag

    def plan(self, outputs: Sequence[Key]) -> Plan:
        """Give the finished plan."""
        steps = tuple(s if isinstance(s, Stage) else s.closed() for s in self.steps)
        return Plan(steps, tuple(outputs))
