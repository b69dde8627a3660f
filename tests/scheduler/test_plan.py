from __future__ import annotations

import pytest

from scheduler import plan as plan_module
from scheduler.plan import (
    Plan,
    Recv,
    RecvObject,
    Send,
    SendObject,
    Stage,
    Step,
    Task,
    check,
    check_together,
    cuts,
)
from scheduler.prepared import Ready, Straight, prepare


def task(name, *inputs, output=None):
    return Task(name, lambda *_: None, inputs, output or name)


def recv(key, source=0, tag=0, inputs=(), nbytes=8):
    return Recv(key, source, lambda *_: bytearray(nbytes), inputs, nbytes, tag)


def steps(*tasks, sends=(), recvs=(), outputs=()):
    return Plan((Step("s", tasks, sends, recvs),), outputs)


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        (steps(task("a"), task("a")), "produced twice"),
        (steps(task("b", "a"), task("a")), "too early"),
        (steps(sends=(Send("a", 1, None, 0, 0),)), "empty message"),
        (steps(recvs=(recv("a", nbytes=0),)), "empty message"),
        (steps(sends=(SendObject("a", 1, 0), SendObject("b", 1, 0))), "has tag 0"),
        (steps(recvs=(recv("a", tag=1),)), "has tag 1"),
        (Plan((Stage("st", tuple, ("a",), ("b",)), Step("s", (task("a"),)))), "too early"),
        (steps(task("a"), recvs=(recv("a"),)), "produced twice"),
    ],
)
def test_broken_plans_are_refused(plan, message):
    with pytest.raises(ValueError, match=message):
        check(plan)
    with pytest.raises(ValueError, match=message):
        prepare(plan)


def test_given_keys_are_checked_if_known():
    plan = steps(task("b", "a"), outputs=("b", "c"))
    check(plan)
    with pytest.raises(ValueError, match="too early"):
        check(plan, given=())
    with pytest.raises(ValueError, match="its output 'c'"):
        check(plan, given=("a",))
    check(plan, given=("a", "c"))


def test_a_buffer_that_depends_on_its_own_message_is_refused():
    plan = steps(task("brick", "a"), recvs=(recv("a", inputs=("brick",)),))
    with pytest.raises(ValueError, match="depends on later messages"):
        prepare(plan)


def test_messages_of_two_plans_must_match():
    sender = steps(sends=(Send("a", 1, None, 8, 0), SendObject("b", 1, 1)))
    check_together([sender, steps(recvs=(recv("x"), RecvObject("y", 0, 1)))])
    with pytest.raises(ValueError, match="rank 0 sends"):
        check_together([sender, steps(recvs=(recv("x"),))])
    with pytest.raises(ValueError, match="rank 0 sends"):
        check_together([sender, steps(recvs=(recv("x", nbytes=16), RecvObject("y", 0, 1)))])
    with pytest.raises(ValueError, match="different steps"):
        check_together([steps(), Plan(())])


def test_cuts(monkeypatch):
    monkeypatch.setattr(plan_module, "PIECE", 3)
    assert list(cuts(7)) == [(0, 3), (3, 6), (6, 7)]
    assert list(cuts(3)) == [(0, 3)]


def test_plans_are_equal_only_to_themselves_and_tasks_by_value():
    assert steps() != steps()
    assert Task("t", print, (), 1) == Task("t", print, (), 1)
    with pytest.raises(AttributeError):
        Task("t", print, (), 1).name = "u"  # type: ignore[misc]


def test_steps_between_stages_are_one_part():
    plan = Plan(
        (
            Step("a", (task("a"),)),
            Step("b", (task("b", "a"),)),
            Stage("st", tuple, ("b",), ("c",)),
            Step("d", (task("d", "c"),), (), (recv("r"),)),
        ),
        ("d",),
    )
    first, _, last = prepare(plan).parts
    assert isinstance(first, Straight)
    assert [op.task.name for op in first.program] == ["a", "b"]
    assert isinstance(last, Ready)
