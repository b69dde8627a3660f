"""Step of stretches of an axis that are reduced where they lie."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from taskarr.backend import Backend
from taskarr.expr import Stretches
from taskarr.faults import NOBODY
from taskarr.geometry.region import box_shape, box_size
from taskarr.kernel.scan import Accumulation
from taskarr.optimize import Graph
from taskarr.plan.recorder import BACKEND, Recorder, brick_key
from taskarr.plan.tasks import Allocate


@dataclass(frozen=True, slots=True)
class ReduceStretches:
    """Reduce the stretches of a brick.

    Parameters
    ----------
    what, axis
        The ufunc, and along which axis.
    position
        Node that answers for faults.
    starts
        Where stretches begin in the brick.
    """

    what: Accumulation
    axis: int
    position: int
    starts: np.ndarray

    def __call__(self, backend: Backend, brick: Any) -> Any:
        """Give the brick of the results."""
        function: Any = self.what.find(backend.xp)
        backend.faults.at = self.position
        found = function.reduceat(brick, self.starts, self.axis)
        backend.faults.at = NOBODY
        return found


def stretch_steps(recorder: Recorder, graph: Graph, root: int, rank: int) -> None:
    """Record how a rank gets its brick: the input's has the same stretches."""
    node = graph[root]
    op, source = node.op, node.inputs[0]
    assert isinstance(op, Stretches)
    step = recorder.step(f"{op.what.name}.reduceat{list(node.shape)}")
    box, whole = node.layout.brick(rank), graph[source].layout.brick(rank)
    if box is None:
        return
    if not box_size(box) or whole is None:
        step.task(Allocate(box_shape(box), node.dtype), (BACKEND,), brick_key(root))
        return
    starts = op.starts[slice(*box[op.axis])] - whole[op.axis][0]
    reduce = ReduceStretches(op.what, op.axis, root, starts)
    step.task(reduce, (BACKEND, brick_key(source)), brick_key(root))
