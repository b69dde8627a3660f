"""Array-level nodes of the symbolic graph, and the cells that user handles share."""

import hashlib
import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from scheduler import World
from scheduler.comm.where import user_place
from taskarr import faults
from taskarr.backend import CPU
from taskarr.device.dtypes import check_dtype, common_device
from taskarr.geometry.layout import Layout
from taskarr.geometry.strides import Strides, kept_order, ordered, viewed
from taskarr.geometry.view import NEW, Affine, identity
from taskarr.kernel.functions import Function
from taskarr.kernel.reduction import Reduction
from taskarr.kernel.scan import Accumulation
from taskarr.kernel.tiles import SEGMENT

Token = tuple[Any, ...]


def spelled(dtype: np.dtype) -> str:
    """Text that only equal dtypes share."""
    return dtype.str if dtype.names is None else str(dtype)


class Op:
    """What a node does with its inputs; ``token`` is equal for equal operations, on all ranks."""

    __slots__ = ("token",)

    def __init__(self, *token: Any) -> None:
        self.token: Token = token


class Held(Op):
    """The blocks are at hand."""

    __slots__ = ()


class Generate(Op):
    """Values that a kernel makes from indices and arguments: fill, arange, file.

    Costly ones are stored rather than made twice, or tile by tile in another order than their own.
    """

    __slots__ = ("costly", "kind")

    def __init__(self, kind: str, costly: bool = False) -> None:
        super().__init__(kind)
        self.kind = kind
        self.costly = costly


FILE = Generate("file")
"""Values read from outside of the program."""


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
            spelled(reduction.source),
            spelled(reduction.dtype),
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


class Stored(Op):
    """An operation with steps of its own: inputs and result are bricks, nothing is inlined."""

    __slots__ = ()


class Reshaped(Stored):
    """The input's bricks in another shape: on every rank the same elements in C order."""

    __slots__ = ()


RESHAPED = Reshaped("reshape")


class Gather(Stored):
    """Rows of the first input; the others, of one layout, are their indices along some axes.

    Indices are of type int64 and in range. They stand for neighbouring axes from ``axis`` on, which
    is 0 unless this rank's brick has all rows; in the result their shape takes these axes' place.
    """

    __slots__ = ("axis",)

    def __init__(self, axis: int) -> None:
        super().__init__("gather", axis)
        self.axis = axis


class Scatter(Stored):
    """The first input, whose memory nobody else sees, with rows written into it.

    Parameters
    ----------
    leading
        Number of inputs behind the first that are indices along its first axes, as in `Gather`.
    function
        What combines an element with each value that is scattered to it, in C order of the indices;
        None: the last value stays.

    Notes
    -----
    A last input holds the values: a row for each index, or one for all.
    """

    __slots__ = ("function", "leading")

    def __init__(self, leading: int, function: np.ufunc | None = None) -> None:
        super().__init__("scatter", leading, function and function.__name__)
        self.leading = leading
        self.function = function


class Scan(Stored):
    """The input accumulated along an axis, in the input's layout."""

    __slots__ = ("axis", "what")

    def __init__(self, what: Accumulation, axis: int) -> None:
        super().__init__("accumulate", what.name, axis)
        self.what = what
        self.axis = axis


class Stretches(Stored):
    """Stretches of an axis of the input, each reduced by the rank that has all of it.

    Parameters
    ----------
    what
        The ufunc and the dtype of the result, which is the input's.
    axis
        Which.
    starts
        Where stretches begin, rising from 0; each ends where the next one begins.
    """

    __slots__ = ("axis", "starts", "what")

    def __init__(self, what: Accumulation, axis: int, starts: np.ndarray) -> None:
        digest = hashlib.blake2b(starts.tobytes(), digest_size=16).hexdigest()
        super().__init__("reduceat", what.name, axis, len(starts), digest)
        self.what = what
        self.axis = axis
        self.starts = starts


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
    on the longest way to a leaf. When a run commits, the inputs go. ``order`` names the axes from
    the slowest to the fastest in the memory that NumPy would have given the array, None for C
    order; it decides which reshapings are views. ``place`` is the user's line that built the node,
    ``policy`` what ``numpy.errstate`` said then; ``risky`` tells that reading from a file may fail.
    ``device`` is where the brick lies; None for what goes wherever it is needed, as the operand 1
    in ``a + 1``. ``top`` is the largest element of an index that has been checked, negative ones
    being larger than all others (`ops.gather.lies_within`), None for others.
    """

    __slots__ = (
        "__weakref__",
        "args",
        "depth",
        "device",
        "dtype",
        "holders",
        "inputs",
        "layout",
        "op",
        "order",
        "place",
        "policy",
        "risky",
        "shape",
        "top",
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
        self.order: tuple[int, ...] | None = None
        self.depth: int = 1 + max([x.depth for x in inputs], default=-1)
        self.risky: bool = op is FILE or any(x.risky for x in inputs)
        self.place = user_place()
        self.policy = faults.policy()
        self.device: str | None = None
        self.top: int | None = None
        if inputs:
            self._bind(common_device(inputs))
        if type(op) is Reduce or (type(op) is Viewed and not layout.axes):
            _watch(self)

    def _bind(self, device: str | None) -> None:
        self.device = device
        if device is not None and device != CPU:
            check_dtype(self.dtype, device)

    def settle(self, device: str | None = None) -> None:
        """Bind the node to a device, the world's present one for None, if it has none yet."""
        if self.device is None:
            self._bind(device or self.world.state.get("device", CPU))

    @property
    def line(self) -> str:
        """The user's line that built the node."""
        return str(self.place)

    @property
    def title(self) -> str:
        """What NumPy's warnings call the operation."""
        if isinstance(self.op, Reduce):
            return "reduce"
        if isinstance(self.op, Scatter) and self.op.function:
            return self.op.function.__name__
        return re.split(r"[\[#(]", str(self.op.token[0]))[0]

    @property
    def can_fault(self) -> bool:
        """Whether the processor may raise a floating-point flag."""
        if not isinstance(self.op, Elementwise | Reduce | Scan | Scatter | Stretches):
            return False
        kinds = self.dtype.kind + "".join([x.dtype.kind for x in self.inputs])
        return "f" in kinds or "c" in kinds or self.title in INTEGER_FAULTS

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
        self.risky = False

    def describe(self) -> str:
        """Operation, shape and line, for messages."""
        name = self.op.token[0] if self.op.token else "held"
        return f"{name}{list(self.shape)} {self.dtype} at {self.line}"

    def described(self) -> str:
        """What `describe` says, what a view shows, the layout: all that may tell nodes apart."""
        part = f" of [{self.op.view.text}]" if isinstance(self.op, Viewed | Put) else ""
        return f"{self.describe()}{part}, {self.layout.text}"


HELD = Held("held")
SMALL = 1 << 20
"""Bytes of a rank's part of a result up to which a pending reduction is small."""


def _watch(node: Expr) -> None:
    """Have a small reduction computed by the next run that deals with its data."""
    here, source = node.world.state.get("taskarr"), node.inputs[0]
    nbytes = node.dtype.itemsize * node.layout.fullest if node.shape else 0
    most = source.layout.fullest
    less = node.layout.replicated or 8 * nbytes <= source.dtype.itemsize * most
    if here is not None and nbytes <= SMALL and less:
        here.pending.add(node, source.dtype.itemsize * min(most, SEGMENT))


INTEGER_FAULTS = ("floor_divide", "remainder", "fmod", "divmod")
"""Functions of integers that may divide by zero."""


def held(value: Any, dtype: np.dtype, layout: Layout, world: World) -> Expr:
    """Node whose brick is at hand."""
    node = Expr(HELD, (), dtype, layout, world)
    node.value = value
    return node


FILL = Generate("fill")


def filled(value: Any, layout: Layout, world: World) -> Expr:
    """Node of one value, a NumPy scalar, everywhere."""
    return Expr(FILL, (), value.dtype, layout, world, (value,))


def blank(dtype: np.dtype, layout: Layout, world: World) -> Expr:
    """Node of zeros of a dtype, or of empty text; a scalar of text would not tell its width."""
    return Expr(FILL, (), dtype, layout, world, (np.zeros(1, dtype)[0],))


class Cell:
    """The current expression of one array; a write replaces it, the order in memory stays."""

    __slots__ = ("expr", "order")

    def __init__(self, expr: Expr) -> None:
        self.expr = expr
        self.order = expr.order
        expr.holders += 1
        expr.settle()

    def replace(self, expr: Expr) -> None:
        """Show another expression from now on."""
        expr.settle(self.expr.device)
        expr.holders += 1
        self.expr.holders -= 1
        self.expr = expr

    def __del__(self) -> None:
        self.expr.holders -= 1


def strides_of(x: Expr) -> Strides:
    """Strides in bytes that NumPy's array would have."""
    if isinstance(x.op, Viewed):
        return viewed(strides_of(x.inputs[0]), x.op.view)
    return ordered(x.shape, x.dtype.itemsize, x.order)


def keep_order(x: Expr, operands: Sequence[Expr]) -> Expr:
    """The node, with the order in memory that NumPy gives a new array made of such operands."""
    if not all(map(lies_in_order, operands)):
        like = tuple((y.shape, strides_of(y)) for y in operands)
        x.order = kept_order(like, x.shape)
    return x


def lies_in_order(x: Expr) -> bool:
    """Whether NumPy would have the axes of such an array in C order in memory."""
    if not isinstance(x.op, Viewed):
        return x.order is None
    walked = [axis for axis in x.op.view.axes if axis != NEW]
    return walked == sorted(walked) and x.inputs[0].order is None


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
    node = Expr(Move(), (source,), source.dtype, layout, source.world)
    node.order = source.order
    return node


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
