"""Compiling a pass: its roots' expressions become one straight-line program."""

from dataclasses import dataclass
from math import prod

from taskarr.expr import Elementwise, Filtered, Generate, Move, Own, Put, Reduce, Viewed
from taskarr.geometry.view import NEW, Affine, identity
from taskarr.kernel.functions import CAST
from taskarr.kernel.program import Assembler, Filter, Fold, Leaf, Program, Ref
from taskarr.kernel.reduction import of_rows
from taskarr.optimize import Graph, Pass, Read, body, same_point


@dataclass(frozen=True, slots=True)
class Compiled:
    """Program of a pass, and what its numbers stand for.

    Parameters
    ----------
    program
        What runs at each tile.
    sources
        Positions of the arrays that it reads.
    outputs, folds, filters
        Positions of the roots that it stores, reduces to, and selects.
    """

    program: Program
    sources: tuple[int, ...]
    outputs: tuple[int, ...]
    folds: tuple[int, ...]
    filters: tuple[int, ...]


def compiled(graph: Graph, work: Pass, stored: frozenset[int]) -> Compiled:
    """Program of one pass.

    Parameters
    ----------
    stored
        All roots of the run: read from their bricks unless this pass computes them at the same
        point.
    """
    return _Compiler(graph, work, stored).run()


class _Compiler:
    """State: the assembler, values found so far by (position, view), numbers given so far."""

    def __init__(self, graph: Graph, work: Pass, stored: frozenset[int]) -> None:
        self.graph, self.work, self.stored = graph, work, stored
        self.assembler = Assembler(len(work.space.axes))
        self.values: dict[tuple[int, Affine], Ref] = {}
        self.sources: dict[int, int] = {}
        self.outputs: list[int] = []

    def run(self) -> Compiled:
        """Compile all roots, in the order of the graph."""
        folds, filters = [], []
        for root in self.work.roots:
            op = self.graph[root].op
            if isinstance(op, Reduce):
                ((source, view),) = body(self.graph, root)
                self.assembler.folds.append(Fold(self.value(source, view), op.reduction, root))
                folds.append(root)
            elif isinstance(op, Filtered):
                (data, view), (mask, mask_view) = body(self.graph, root)
                ndim = len(self.graph[mask].shape)
                chosen = Filter(self.value(data, view), self.value(mask, mask_view), ndim)
                self.assembler.filters.append(chosen)
                filters.append(root)
            elif isinstance(op, Put):
                _, (source, view) = body(self.graph, root)
                value = self.value(source, view)
                self.outputs.append(root)
                self.assembler.copied_output(value, self.graph[root].dtype)
            else:
                self.value(root, identity(self.graph[root].shape))
        return Compiled(
            self.assembler.program(),
            tuple(self.sources),
            tuple(self.outputs),
            tuple(folds),
            tuple(filters),
        )

    def value(self, position: int, view: Affine) -> Ref:
        """Place of a node's value, seen through a view from the iteration space."""
        todo = [(position, view)]
        while todo:
            read = todo[-1]
            missing = [r for r in self._inputs(*read) if r not in self.values]
            if missing:
                todo += missing[::-1]
                continue
            todo.pop()
            if read not in self.values:
                self.values[read] = self._value(*read)
        return self.values[position, view]

    def _here(self, position: int, view: Affine) -> bool:
        """Whether this pass computes and stores the node just where it is read."""
        return position in self.work.roots and same_point(
            self.graph, position, view, self.work.space
        )

    def _is_read(self, position: int, view: Affine) -> bool:
        """Whether the node's brick is read."""
        node = self.graph[position]
        given = not node.inputs and not isinstance(node.op, Generate)
        return given or (position in self.stored and not self._here(position, view))

    def _inputs(self, position: int, view: Affine) -> list[Read]:
        return [] if self._is_read(position, view) else body(self.graph, position, view)

    def _value(self, position: int, view: Affine) -> Ref:
        node = self.graph[position]
        if self._is_read(position, view):
            source = self.sources.setdefault(position, len(self.sources))
            return self._read(Leaf("array", source, view, node.dtype))
        value = self._computed(position, view)
        if not self._here(position, view):
            return value
        self.outputs.append(position)
        return self.assembler.output(value, node.dtype)

    def _computed(self, position: int, view: Affine) -> Ref:
        node = self.graph[position]
        if isinstance(node.op, Generate):
            return self.assembler.leaf(Leaf(node.op.kind, node.first_arg, view, node.dtype))
        inputs = [self.values[read] for read in body(self.graph, position, view)]
        if isinstance(node.op, Viewed | Move | Own):
            return inputs[0]
        if isinstance(node.op, Reduce):
            rows = self._whole(inputs[0], body(self.graph, position)[0])
            rows_of = of_rows(node.op.reduction)
            return self.assembler.call(rows_of, (rows,), node.dtype, view, position)
        assert isinstance(node.op, Elementwise), node.op
        ready, args = iter(inputs), iter(range(node.first_arg, node.first_arg + 99))
        refs = tuple(next(ready) if o == "x" else ("arg", next(args)) for o in node.op.order)
        return self.assembler.call(node.op.function, refs, node.dtype, view, position)

    def _whole(self, ref: Ref, read: Read) -> Ref:
        """Value that has the tile's length on every axis."""
        if self.assembler.is_whole(ref):
            return ref
        source, view = read
        return self.assembler.call(CAST, (ref,), self.graph[source].dtype, view)

    def _read(self, leaf: Leaf) -> Ref:
        """Leaf as it lies when its rows are contiguous, else packed, so that bits don't depend."""
        ref = self.assembler.leaf(leaf)
        if _rows_are_contiguous(leaf.view):
            return ref
        return self.assembler.call(CAST, (ref,), leaf.dtype, leaf.view)


def _rows_are_contiguous(view: Affine) -> bool:
    """Whether the view's innermost elements are neighbours in a brick that holds them."""
    walked = [(axis, step) for axis, step in zip(view.axes, view.step, strict=True) if axis != NEW]
    if not walked:
        return True
    axes, (last, step) = [axis for axis, _ in walked], walked[-1]
    return axes == sorted(axes) and step == 1 and prod(view.base[last + 1 :]) == 1
