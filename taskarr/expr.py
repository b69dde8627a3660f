"""Array-level nodes of the symbolic graph, and the cells that user handles share."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from scheduler import World
from scheduler.comm.where import user_line
from taskarr.geometry.layout import Layout
from taskarr.geometry.view import Affine, identity
from taskarr.kernel.functions import Function
from taskarr.kernel.reduction import Reduction

Token = tuple[Any, ...]


class Op:
    """What a node does with its inputs; ``token`` is equal for equal operations, on all ranks."""

    __slots__ = ("token",)

    def __init__(self, *token: Any) -> None:
        self.token: Token = token


class Held(Op):
    """The blocks are at hand."""

    __slots__ = ()


class Generate(Op):
    """Values that a kernel makes from indices and arguments: fill, arange, file."""

    __slots__ = ("kind",)

    def __init__(self, kind: str) -> None:
        super().__init__(kind)
        self.kind = kind


class Elementwise(Op):
    """A function of inputs and arguments; ``order`` says which stands where."""

    __slots__ = ("function", "order")

    def __init__(self, function: Function, order: tuple[str, ...]) -> None:
        super().__init__(function.name, order)
        self.function = function
        self.order = order


class Viewed(Op):
    """An affine view of the input."""

    __slots__ = ("view",)

    def __init__(self, view: Affine) -> None:
        super().__init__("view", view)
        self.view = view


class Move(Op):
    """The input in another layout."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__("move")


class Reduce(Op):
    """A reduction of the input."""

    __slots__ = ("reduction",)

    def __init__(self, reduction: Reduction) -> None:
        super().__init__(
            reduction.row.name,
            reduction.axes,
            reduction.source.str,
            reduction.dtype.str,
            reduction.options,
        )
        self.reduction = reduction


class Own(Op):
    """The input in memory of its own, to be written into."""

    __slots__ = ()


class Put(Op):
    """The first input, whose memory nobody else sees, with the second written into a view of it."""

    __slots__ = ("view",)

    def __init__(self, view: Affine) -> None:
        super().__init__("put", view)
        self.view = view


class Filtered(Op):
    """Elements of the first input where the second, over its leading axes, is true."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__("filter")


class Expr:
    """Immutable node: what to compute, or the blocks that were computed.

    Parameters
    ----------
    op
        Operation.
    inputs
        Nodes that it reads.
    dtype, layout
        Of the result; the shape is the layout's.
    world
        Ranks that share the array.
    args
        Kernel arguments that are no part of the structure: Python scalars, open files.

    Notes
    -----
    ``value`` is this rank's brick once the node is held (None where the rank owns nothing);
    ``holders`` counts the cells that show the node; ``depth`` is the number of pending operations
    on the longest way to a leaf. When a run commits, the inputs go.
    """

    __slots__ = (
        "__weakref__",
        "args",
        "depth",
        "dtype",
        "holders",
        "inputs",
        "layout",
        "line",
        "op",
        "shape",
        "value",
        "world",
    )

    def __init__(
        self,
        op: Op,
        inputs: tuple["Expr", ...],
        dtype: np.dtype,
        layout: Layout,
        world: World,
        args: tuple[Any, ...] = (),
    ) -> None:
        self.op = op
        self.inputs = inputs
        self.dtype = dtype
        self.layout = layout
        self.shape = layout.shape
        self.world = world
        self.args = args
        self.value: Any = None
        self.holders = 0
        self.depth: int = 1 + max([x.depth for x in inputs], default=-1)
        self.line = user_line()

    @property
    def held(self) -> bool:
        """Whether the blocks are at hand."""
        return type(self.op) is Held

    def commit(self, value: Any) -> None:
        """Keep the computed brick and let go of what it was computed from."""
        self.value = value
        self.op = HELD
        self.inputs = ()
        self.args = ()
        self.depth = 0

    def describe(self) -> str:
        """Operation, shape and line, for messages."""
        name = self.op.token[0] if self.op.token else "held"
        return f"{name}{list(self.shape)} {self.dtype} at {self.line}"


HELD = Held("held")


def held(value: Any, dtype: np.dtype, layout: Layout, world: World) -> Expr:
    """Node whose brick is at hand."""
    node = Expr(HELD, (), dtype, layout, world)
    node.value = value
    return node


class Cell:
    """The current expression of one array; a write replaces it."""

    __slots__ = ("expr",)

    def __init__(self, expr: Expr) -> None:
        self.expr = expr
        expr.holders += 1

    def replace(self, expr: Expr) -> None:
        """Show another expression from now on."""
        expr.holders += 1
        self.expr.holders -= 1
        self.expr = expr

    def __del__(self) -> None:
        self.expr.holders -= 1


def view_of(source: Expr, view: Affine) -> Expr:
    """Node that shows a view of another; views of views are one view."""
    if type(source.op) is Viewed:
        view, source = view.after(source.op.view), source.inputs[0]
    if view == identity(source.shape):
        return source
    layout = source.layout.viewed(view)
    return Expr(Viewed(view), (source,), source.dtype, layout, source.world)


def moved_to(source: Expr, layout: Layout) -> Expr:
    """Node with the same elements in another layout."""
    if layout == source.layout:
        return source
    return Expr(Move(), (source,), source.dtype, layout, source.world)


def same_world(nodes: Iterable[Expr]) -> World:
    """World that all nodes share.

    Raises
    ------
    ValueError
        When arrays of two communicators meet.
    """
    first, *rest = nodes
    for node in rest:
        if node.world is not first.world:
            raise ValueError(
                f"arrays of two communicators in one expression: one of {first.world.size} ranks "
                f"(made at {first.line}), one of {node.world.size} (made at {node.line}); "
                "bring one to the other with asarray(x.numpy(), comm=...)"
            )
    return first.world
