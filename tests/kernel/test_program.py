from __future__ import annotations

import numpy as np
from hypothesis import given

from taskarr.geometry.view import broadcast, identity
from taskarr.kernel.functions import CAST, ufunc
from taskarr.kernel.program import Assembler, Fold, Leaf, Program
from taskarr.kernel.reduction import Reduction
from taskarr.ops.reductions import ROWS
from tests.kernel.programs import FLOAT, Case, cases

ADD = ufunc("add")
HERE = identity((4, 5))


def leaf(assembler: Assembler, source: int = 0) -> tuple[str, int]:
    return assembler.leaf(Leaf("array", source, HERE, FLOAT))


def overwrites(program: Program) -> bool:
    """Whether a call is given memory that holds a value which is still to be read."""
    holds: dict[int, int] = {}
    for call in program.calls:
        for kind, k in call.args:
            if kind == "temp" and holds.get(program.temps[k].buffer) != k:
                return True
        if call.target[0] == "temp":
            buffer = program.temps[call.target[1]].buffer
            held = holds.get(buffer)
            if call.function.name == "select" and ("temp", held) in call.args:
                return True
            holds[buffer] = call.target[1]
    ends = [f.value for f in program.folds]
    return any(kind == "temp" and holds[program.temps[k].buffer] != k for kind, k in ends)


@given(cases((4, 5)))
def test_scratch_memory_is_not_overwritten_before_its_last_reader(case: Case):
    assert not overwrites(case.program)


@given(cases((4, 5)))
def test_everything_that_is_read_was_written_once(case: Case):
    program = case.program
    written = set()
    for call in program.calls:
        assert all(ref in written for ref in call.args if ref[0] in ("temp", "out"))
        in_place = call.target[0] == "out" and call.target in call.args
        assert call.target not in written or in_place
        written.add(call.target)
    assert all(f.value in written for f in program.folds)
    assert {("out", k) for k in range(len(program.outputs))} <= written
    shared: dict[int, set] = {}
    for temp in program.temps:
        if temp.buffer >= 0:
            shared.setdefault(temp.buffer, set()).add((temp.dtype, temp.axes))
    assert all(len(kinds) == 1 for kinds in shared.values())


def test_a_chain_lies_in_its_output():
    assembler = Assembler(2)
    value = leaf(assembler)
    for _ in range(9):
        value = assembler.call(ADD, (value, leaf(assembler)), FLOAT, HERE)
    assembler.output(value, FLOAT)
    program = assembler.program()
    assert {t.buffer for t in program.temps} == {-1}
    assert [call.target for call in program.calls] == [("out", 0)] * 9


def test_a_reduced_chain_needs_one_scratch_buffer():
    assembler = Assembler(2)
    value = leaf(assembler)
    for _ in range(9):
        value = assembler.call(ADD, (value, leaf(assembler)), FLOAT, HERE)
    assembler.folds.append(Fold(value, Reduction(ROWS["sum"], FLOAT, FLOAT, (0,), 4)))
    assert {t.buffer for t in assembler.program().temps} == {0}


def test_equal_leaves_are_read_once():
    assembler = Assembler(2)
    assert leaf(assembler) == leaf(assembler) != leaf(assembler, 1)
    assert len(assembler.program().leaves) == 2


def test_values_smaller_than_a_tile_are_stored_by_a_copy():
    assembler = Assembler(2)
    narrow = broadcast((4, 1), (4, 5))
    value = assembler.call(ADD, (leaf(assembler), leaf(assembler)), FLOAT, narrow)
    assembler.output(value, FLOAT)
    first, last = assembler.program().calls
    assert (first.target, first.function, last.function) == (("temp", 0), ADD, CAST)
    assert assembler.program().temps[0].axes == (True, False)


def test_a_value_stored_twice_is_computed_once():
    assembler = Assembler(2)
    value = assembler.call(ADD, (leaf(assembler), leaf(assembler)), FLOAT, HERE)
    reduction = Reduction(ROWS["sum"], FLOAT, FLOAT, (0,), 4)
    assembler.folds.append(Fold(value, reduction))
    assembler.output(value, FLOAT)
    assembler.output(value, FLOAT)
    program = assembler.program()
    assert [(c.function.name, c.args, c.target) for c in program.calls] == [
        ("add", (("leaf", 0), ("leaf", 0)), ("out", 0)),
        ("cast", (("out", 0),), ("out", 1)),
    ]
    assert program.folds[0].value == ("out", 0)


def test_copies_are_recognised():
    def copy(function=CAST, dtype=FLOAT, kind="array"):
        assembler = Assembler(2)
        value = assembler.leaf(Leaf(kind, 0, HERE, FLOAT))
        if function is not CAST:
            value = assembler.call(function, (value,), dtype, HERE)
        assembler.output(value, dtype)
        return assembler.program().is_copy

    assert copy()
    assert not copy(dtype=np.dtype("f4"))
    assert not copy(kind="fill")
    assert not copy(ufunc("negative"))
