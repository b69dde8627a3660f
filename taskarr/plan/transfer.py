"""Steps that bring a pass its sources: messages or one all-to-all, and plain copies."""

from collections.abc import Callable
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from taskarr.geometry.layout import Layout
from taskarr.geometry.region import Box, Region, as_region, intersect, region_shape, slices
from taskarr.plan import exchange
from taskarr.plan.recorder import BACKEND, Key, Recorder, brick_key, raw_key
from taskarr.plan.stages import DenseExchange
from taskarr.plan.tasks import Copy, Make, SourceParts, first_of, lies_contiguous, pack


@dataclass(slots=True)
class Part:
    """One source of a pass, as far as one rank deals with it.

    Parameters
    ----------
    position
        Node that is read.
    source
        Where it lies and through which views it is read.
    dtype
        Of its elements.
    own
        Box of this rank's brick, or None.
    label
        What it is, for messages.
    received
        Keys and regions of the pieces that come from other ranks.
    """

    position: int
    source: exchange.Source
    dtype: np.dtype
    own: Box | None
    label: str
    received: list[tuple[Key, Region]] = field(default_factory=list)

    def parts_for(self, box: Box | None) -> tuple[SourceParts, list[Key]]:
        """Pieces that an iteration box reads (all for None), and their keys in order."""
        keys: list[Key] = [] if self.own is None else [brick_key(self.position)]
        found = [(key, r) for key, r in self.received if box is None or self._reads(box, r)]
        keys += [key for key, _ in found]
        return SourceParts(self.own, tuple(r for _, r in found)), keys

    def _reads(self, box: Box, region: Region) -> bool:
        spans = tuple((r.start, r[-1] + 1) for r in region)
        return any(intersect(view.image(box), spans) is not None for view in self.source.views)


@dataclass(frozen=True, slots=True)
class Target:
    """The output brick that received pieces lie in at once: its node, and its box here."""

    position: int
    box: Box | None


def exchange_step(
    recorder: Recorder,
    tag: tuple[int, int],
    part: Part,
    space: Layout,
    rank: int,
    target: Target | None,
) -> None:
    """Record how a source's pieces come to this rank, and what this rank sends.

    Parameters
    ----------
    tag
        Numbers of the pass and of the source in it, which name the pieces.
    part
        The source; gets its ``received`` pieces.
    space
        Iteration space of the pass.
    target
        For a plain copy the output; else None.
    """
    outgoing = [
        (peer, region)
        for peer in exchange.takers(part.source, space, rank)
        for region in exchange.pieces(part.source, space, rank, peer)
    ]
    incoming = [
        (peer, region)
        for peer in exchange.givers(part.source, space, rank)
        for region in exchange.pieces(part.source, space, peer, rank)
    ]
    part.received = [(("piece", *tag, k), region) for k, (_, region) in enumerate(incoming)]
    if exchange.is_dense((part.source,), space):
        _together(recorder, tag, part, outgoing, incoming, target)
    else:
        _in_pairs(recorder, part, outgoing, incoming, target)


def _in_pairs(
    recorder: Recorder,
    part: Part,
    outgoing: list[tuple[int, Region]],
    incoming: list[tuple[int, Region]],
    target: Target | None,
) -> None:
    step = recorder.step(f"exchange {part.label}")
    itemsize = part.dtype.itemsize
    for peer, region in outgoing:
        assert part.own is not None
        nbytes = prod(region_shape(region)) * itemsize
        copies = not lies_contiguous(region, part.own)
        step.send(brick_key(part.position), peer, nbytes, pack(region, part.own), copies)
    for (key, region), (peer, _) in zip(part.received, incoming, strict=True):
        shape = region_shape(region)
        make: Callable[..., Any] = Make(shape, part.dtype)
        inputs: tuple[Key, ...] = ()
        if target and target.box is not None and lies_contiguous(region, target.box):
            make, inputs = pack(region, target.box), (raw_key(target.position),)
        step.recv(key, peer, prod(shape) * itemsize, make, inputs)


def _together(
    recorder: Recorder,
    tag: tuple[int, int],
    part: Part,
    outgoing: list[tuple[int, Region]],
    incoming: list[tuple[int, Region]],
    target: Target | None,
) -> None:
    if recorder.staged:  # pieces arrive beside the bricks
        target = None
        part.received = [(("beside", *key), region) for key, region in part.received]
    box = target.box if target else None
    inputs: list[Key] = [BACKEND]
    inputs += [] if part.own is None else [brick_key(part.position)]
    if box is not None and target:
        inputs.append(raw_key(target.position))
        part.received = [(("filled", *tag), ())]
    name = f"exchange {part.label}"
    stage = DenseExchange(part.own, tuple(outgoing), tuple(incoming), part.dtype, box, name)
    recorder.stage(name, stage, inputs, [key for key, _ in part.received])


def copy_step(recorder: Recorder, name: str, part: Part, target: Target) -> None:
    """Record the end of a plain copy: the own part, and pieces that could not lie in place."""
    step = recorder.step(f"copy {name}")
    root, box = target.position, target.box
    if box is None:
        return
    raw, done = raw_key(root), []
    origin = [lo for lo, _ in box]
    mine = None if part.own is None else intersect(as_region(box), part.own)
    if mine is not None and part.own is not None:
        copy = Copy(slices(mine, origin), slices(mine, (lo for lo, _ in part.own)))
        done.append(step.task(copy, (raw, brick_key(part.position)), ("copied", root, -1)))
    for k, (key, region) in enumerate(part.received):
        if key[0] == "filled" or (key[0] != "beside" and lies_contiguous(region, box)):
            done.append(key)
            continue
        whole = tuple(slice(0, n) for n in region_shape(region))
        copy = Copy(slices(region, origin), whole)
        done.append(step.task(copy, (raw, key), ("copied", root, k)))
    step.task(first_of, (raw, *done), brick_key(root))
