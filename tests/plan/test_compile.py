from __future__ import annotations

import numpy as np
import pytest

import taskarr as ta
from taskarr.geometry.view import identity
from taskarr.kernel.functions import CAST
from tests.plan.ghost import plan_for

ROWS = (16, 5)


def only(program, size=1):
    (made,) = plan_for(program, 0, size).compiled
    return made


def test_an_expression_is_a_straight_line():
    def program(make):
        a, b = make(ROWS), make(ROWS)
        return ta.sqrt(a * a + b) * 2

    made = only(program)
    assert [c.function.name for c in made.program.calls] == ["multiply", "add", "sqrt", "multiply"]
    assert made.program.calls[-1].target == ("out", 0)
    assert made.program.calls[-1].args[1] == ("arg", 0)
    assert len(made.sources) == 2
    assert {t.buffer for t in made.program.temps} == {-1}


def test_equal_parts_are_computed_once():
    def program(make):
        c = make(ROWS) + 1
        return c * c + c

    names = [c.function.name for c in only(program).program.calls]
    assert names == ["add", "multiply", "add"]


def test_views_end_at_the_leaves():
    def program(make):
        e = make(ROWS) * 2
        return (e[1:] + 1)[::2, ::-1][:, 1] + 0

    made = only(program)
    (leaf,) = made.program.leaves
    assert (leaf.view.shape, leaf.view.start, leaf.view.step) == ((8,), (1, 3), (2,))
    assert leaf.view.base == ROWS


def test_one_array_read_through_two_views_is_one_source():
    def program(make):
        u = make(ROWS)
        return u[1:] - u[:-1]

    made = only(program)
    assert len(made.sources) == 1
    assert [leaf.view.start for leaf in made.program.leaves] == [(1, 0), (0, 0)]


@pytest.mark.parametrize(
    ("key", "packed"),
    [
        (slice(1, None), False),
        ((slice(None), slice(1, 3)), False),
        ((slice(None, None, 2)), False),
        ((slice(None), slice(None, None, 2)), True),
        ((slice(None), slice(None, None, -1)), True),
        ((slice(None), None), False),
        ((slice(None), 3), True),
        (3, False),
    ],
)
def test_rows_that_are_not_contiguous_are_packed(key, packed):
    """So that the bits of what is computed do not depend on how the data lies."""
    made = only(lambda make: make(ROWS)[key] * 2)
    names = [c.function for c in made.program.calls]
    assert (CAST in names) == packed


def test_transposed_leaves_are_packed():
    made = only(lambda make: make(ROWS).T * 2)
    assert [c.function.name for c in made.program.calls] == ["cast", "multiply"]


def test_generators_are_leaves_without_a_source():
    def program(make):
        a = make(ROWS)
        return a + ta.full_like(a, 3)

    made = only(program)
    assert sorted(leaf.kind for leaf in made.program.leaves) == ["array", "fill"]
    assert len(made.sources) == 1


def test_arguments_are_numbered_over_the_whole_graph():
    made = only(lambda make: (make(ROWS) * 2 + 3) / 4)
    refs = [ref for call in made.program.calls for ref in call.args if ref[0] == "arg"]
    assert refs == [("arg", 0), ("arg", 1), ("arg", 2)]


def test_a_broadcast_operand_is_computed_at_its_own_size():
    def program(make):
        return make(ROWS) + make((5,), split=None) * 2

    made = only(program)
    assert [t.axes for t in made.program.temps] == [(False, True), (True, True)]


def test_two_ways_to_the_same_value_are_stored_and_used():
    def program(make):
        e = make(ROWS, split=0) + 1
        first, second = e.redistribute(split=1), e.redistribute(split=1)
        return first, second * 2

    made = only(program, size=2)
    assert len(made.outputs) == 2
    calls = made.program.calls
    assert [(c.function.name, c.target) for c in calls] == [
        ("add", ("out", 0)),
        ("multiply", ("out", 1)),
    ]
    assert calls[1].args[0] == ("out", 0)


def test_a_plain_copy_is_known_as_one():
    made = only(lambda make: make(ROWS, split=0).redistribute(split=1), size=2)
    assert made.program.is_copy
    assert made.program.leaves[0].view == identity(ROWS)
    assert made.program.outputs == (np.dtype("f8"),)
