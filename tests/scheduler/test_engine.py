from __future__ import annotations

import gc
import weakref
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler import plan as plan_module
from scheduler.comm import run_virtual
from scheduler.engine import execute
from scheduler.errors import Failure, PeerFailed
from scheduler.events import Observer
from scheduler.plan import (
    Plan,
    Recv,
    RecvObject,
    Send,
    SendObject,
    Stage,
    Step,
    Task,
    check_together,
)

SIZES = (1, 2, 3, 5, 7)


class Broken(Exception):
    pass


@dataclass
class Program:
    """A serial program of sums: what each operation reads, its rank, and where it breaks."""

    reads: list[tuple[int, ...]]
    ranks: list[int]
    length: int = 5
    broken: set[int] = field(default_factory=set)
    lost: set[int] = field(default_factory=set)
    objects: bool = False
    per_step: int = 3

    def value(self, position: int, *inputs: np.ndarray) -> np.ndarray:
        if position in self.broken:
            raise Broken(position)
        start = np.arange(self.length) * (position + 1)
        return sum(inputs, start) % 1_000_003

    def serial(self) -> list[np.ndarray]:
        values: list[np.ndarray] = []
        for position, reads in enumerate(self.reads):
            values.append(self.value(position, *(values[i] for i in reads)))
        return values

    def plan(self, rank: int, size: int) -> Plan:
        owners = [owner % size for owner in self.ranks]
        readers: list[set[int]] = [set() for _ in owners]
        for owner, reads in zip(owners, self.reads, strict=True):
            for i in reads:
                readers[i].add(owner)
        tags: Counter[Any] = Counter()
        steps = []
        for start in range(0, len(owners), self.per_step):
            tasks, sends, recvs = [], [], []
            for p in range(start, min(start + self.per_step, len(owners))):
                if owners[p] == rank:
                    run = lambda *values, p=p: self.value(p, *values)  # noqa: E731
                    tasks.append(Task(f"op {p}", run, self.reads[p], p, p))
                    for dest in sorted(readers[p] - {rank}):
                        sends.append(self._send(p, dest, tags["send", dest]))
                        tags["send", dest] += 1
                elif rank in readers[p]:
                    recvs.append(self._recv(p, owners[p], tags["recv", owners[p]]))
                    tags["recv", owners[p]] += 1
            steps.append(Step(f"step {start}", tuple(tasks), tuple(sends), tuple(recvs)))
        own = tuple(p for p, owner in enumerate(owners) if owner == rank)
        return Plan(tuple(steps), own)

    def _send(self, p: int, dest: int, tag: int) -> Send | SendObject:
        if self.objects:
            return SendObject(p, dest, tag)

        def pack(value: np.ndarray) -> np.ndarray:
            if p in self.lost:
                raise Broken(p)
            return value.copy()

        return Send(p, dest, pack, 8 * self.length, tag, copies=True)

    def _recv(self, p: int, source: int, tag: int) -> Recv | RecvObject:
        if self.objects:
            return RecvObject(p, source, tag)
        return Recv(p, source, lambda: np.empty(self.length, np.int64), (), 8 * self.length, tag)


def run_program(program: Program, size: int, *, seed: int = 0, window: int | None = None) -> Any:
    """Run twice; return per rank its outputs, or the error and the outputs of a sound run."""

    def main(world: Any) -> Any:
        world.state["poison"] = True
        if window is not None:
            world.state["window"] = window
        plan = program.plan(world.rank, size)
        try:
            values = execute(world, plan, {}, "the test")
        except Exception as error:
            values = error
        sound = Program(program.reads, program.ranks, program.length, objects=program.objects)
        again = execute(world, sound.plan(world.rank, size), {}, "the next run")
        return values, again, world.counters["sends"], world.counters["recvs"]

    results = run_virtual(size, main, seed=seed)
    assert sum(r[2] for r in results) == sum(r[3] for r in results)
    for _, again, *_ in results:
        assert_equal(again, sound_values(program))
    return [r[0] for r in results]


def sound_values(program: Program) -> list[np.ndarray]:
    return Program(program.reads, program.ranks, program.length).serial()


def assert_equal(values: dict[int, np.ndarray], expected: list[np.ndarray]) -> None:
    for position, value in values.items():
        np.testing.assert_array_equal(value, expected[position])


@st.composite
def programs(draw: Any) -> Program:
    count = draw(st.integers(1, 14))
    reads = [
        tuple(draw(st.lists(st.integers(0, p - 1), max_size=3, unique=False))) if p else ()
        for p in range(count)
    ]
    ranks = draw(st.lists(st.integers(0, 6), min_size=count, max_size=count))
    return Program(reads, ranks, objects=draw(st.booleans()), per_step=draw(st.integers(1, count)))


WAVE = Program(
    reads=[(), (0,), (0,), (1, 2), (3, 0), (3,), (4, 5), (6, 1), (7,), (7, 2), (8, 9, 0)],
    ranks=[0, 1, 2, 3, 4, 0, 1, 2, 0, 1, 2],
)


@pytest.mark.parametrize("size", SIZES)
@given(program=programs(), seed=st.integers(0, 5))
def test_random_programs_give_the_serial_values(size, program, seed):
    check_together([program.plan(rank, size) for rank in range(size)])
    for values in run_program(program, size, seed=seed):
        assert_equal(values, program.serial())


@pytest.mark.parametrize("size", SIZES)
@given(program=programs(), data=st.data())
def test_the_first_error_is_raised_on_every_rank_and_the_next_run_is_right(size, program, data):
    places = st.sets(st.integers(0, len(program.reads) - 1), min_size=1, max_size=3)
    program.broken = data.draw(places)
    for error in run_program(program, size, seed=data.draw(st.integers(0, 5))):
        assert type(error) is Broken
        assert error.args == (min(program.broken),)


@pytest.mark.parametrize("size", SIZES[1:])
@pytest.mark.parametrize("lost", range(10))
def test_a_message_that_cannot_be_packed_is_everybodys_error(size, lost):
    program = Program(WAVE.reads, WAVE.ranks, lost={lost})
    owners = [rank % size for rank in program.ranks]
    travels = any(lost in r and owners[p] != owners[lost] for p, r in enumerate(program.reads))
    for result in run_program(program, size, seed=lost):
        assert type(result) is (Broken if travels else dict)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("window", [0, 40, 100])
@pytest.mark.parametrize("objects", [False, True])
def test_a_window_smaller_than_a_step(window, seed, objects):
    program = Program(WAVE.reads, WAVE.ranks, objects=objects, per_step=11)
    for values in run_program(program, 3, seed=seed, window=window):
        assert_equal(values, program.serial())


@pytest.mark.parametrize("objects", [False, True])
@pytest.mark.parametrize("piece", [8, 24, 4096])
def test_long_messages_are_cut(monkeypatch, piece, objects):
    monkeypatch.setattr(plan_module, "PIECE", piece)
    length = 5 if piece < 4096 else 10_000
    program = Program(WAVE.reads, WAVE.ranks, length, objects=objects)
    for values in run_program(program, 3):
        assert_equal(values, program.serial())
    program.broken = {3}
    assert {type(error) for error in run_program(program, 3)} == {Broken}


@pytest.mark.parametrize("objects", [False, True])
@pytest.mark.parametrize("limit", [1, 2, 3])
@pytest.mark.parametrize("seed", range(3))
def test_tags_wrap(monkeypatch, limit, objects, seed):
    from scheduler.comm.virtual import VirtualWorld

    monkeypatch.setattr(VirtualWorld, "tag_limit", limit)
    reads = [()] * 8 + [tuple(range(8))] * 2
    program = Program(reads, [0] * 8 + [1, 1], 700, objects=objects, per_step=10)
    for values in run_program(program, 2, seed=seed):
        assert_equal(values, program.serial())


def total(world: Any, values: Any) -> tuple[Any]:
    failed = isinstance(values, Failure)
    if world.allreduce(np.array([failed], np.int64), "max", "status")[0]:
        raise PeerFailed("the stage")
    return (int(world.allreduce(np.array(values, np.int64), "sum", "data")[0]),)


def fail(*_: Any) -> Any:
    raise Broken


def staged(rank: int, broken: str = "") -> Plan:
    """A task, a message to the next rank, a stage, a task, a stage: one may be broken."""
    before = Task("before", fail if broken == "before" else lambda: rank + 1, (), "a", 0)
    after = Task("after", fail if broken == "after" else lambda s: s + rank, ("s",), "b", 2)

    def second(world: Any, values: Any) -> tuple[Any]:
        result = total(world, values)
        return fail() if broken == "stage" else result

    return Plan(
        (
            Step("make", (before,)),
            Stage("first", total, ("a",), ("s",)),
            Step("use", (after,)),
            Stage("second", second, ("b",), ("t",)),
            Step("end", (Task("end", lambda t: t, ("t",), "out", 4),)),
        ),
        ("out", "s"),
    )


@pytest.mark.parametrize("size", SIZES)
def test_stages_run_in_order_on_all_ranks(size):
    results = run_virtual(size, lambda w: execute(w, staged(w.rank), {}, "the test"))
    first = size * (size + 1) // 2
    second = first * size + size * (size - 1) // 2
    assert results == [{"out": second, "s": first}] * size


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("place", ["before", "after", "stage"])
def test_stages_are_entered_after_a_failure(size, place):
    def main(world: Any) -> Any:
        with pytest.raises(Broken):
            execute(world, staged(world.rank, place if world.rank == size - 1 else ""), {}, "test")
        return execute(world, staged(world.rank), {}, "the next run")["s"]

    assert run_virtual(size, main, seed=size) == [size * (size + 1) // 2] * size


def test_messages_and_stages_mix():
    """Sends may still be on their way when a stage begins."""

    def main(world: Any) -> Any:
        other = 1 - world.rank
        make = lambda: np.zeros(1)  # noqa: E731
        steps = []
        for n in range(4):
            task = Task("t", lambda n=n: np.full(1, 10.0 * world.rank + n), (), ("own", n), 3 * n)
            send = Send(("own", n), other, None, 8, n)
            recv = Recv(("other", n), other, make, (), 8, n)
            use = Task("u", lambda a: int(a[0]), (("other", n),), ("int", n), 3 * n)
            steps += [
                Step("move", (task,), (send,), (recv,)),
                Step("use", (use,)),
                Stage("sum", total, (("int", n),), (("sum", n),)),
            ]
        plan = Plan(tuple(steps), tuple(("sum", n) for n in range(4)))
        return list(execute(world, plan, {}, "test").values())

    assert run_virtual(2, main) == [[10, 12, 14, 16]] * 2


def test_buffers_made_by_earlier_tasks():
    def main(world: Any) -> Any:
        brick = Task("brick", lambda: np.zeros(4), (), "brick")
        if world.rank:
            steps: Any = (Step("s", (), (Send("x", 0, None, 16, 0), Send("y", 0, None, 16, 1))),)
            values = {"x": np.ones(2), "y": np.full(2, 2.0)}
            return execute(world, Plan(steps), values, "test")
        recvs = (
            Recv("left", 1, lambda b: b[:2], ("brick",), 16, 0),
            Recv("right", 1, lambda b: b[2:], ("brick",), 16, 1),
        )
        whole = Task("whole", lambda b, *_: b, ("brick", "left", "right"), "out")
        plan = Plan((Step("s", (brick,), (), recvs), Step("t", (whole,))), ("out",))
        return execute(world, plan, {}, "test")["out"].tolist()

    assert run_virtual(2, main)[0] == [1, 1, 2, 2]


@pytest.mark.parametrize("where", ["make", "task"])
def test_a_buffer_that_cannot_be_made(where):
    """Its message is received all the same."""

    def main(world: Any) -> Any:
        def plan(broken: str) -> Plan:
            if world.rank:
                return Plan((Step("s", (), (Send("x", 0, None, 16, 0),)),))
            brick = Task("brick", fail if broken == "task" else lambda: np.zeros(2), (), "b")
            make = fail if broken == "make" else lambda b: b
            return Plan((Step("s", (brick,), (), (Recv("x", 1, make, ("b",), 16, 0),)),), ("x",))

        values = {"x": np.ones(2)} if world.rank else {}
        with pytest.raises(Broken):
            execute(world, plan(where), values, "test")
        return execute(world, plan(""), values, "test")

    np.testing.assert_array_equal(run_virtual(2, main)[0]["x"], [1, 1])


class Big:
    """Something to which weak references can be made."""


@pytest.mark.parametrize("size", [1, 2])
def test_values_are_released_after_their_last_reader(size):
    def main(world: Any) -> None:
        refs: dict[str, Any] = {}

        def make(name: str) -> Big:
            value = Big()
            refs[name] = weakref.ref(value)
            return value

        def alive(*names: str) -> None:
            gc.collect()
            assert {name for name, ref in refs.items() if ref() is not None} == set(names)

        def check(*names: str) -> Any:
            return lambda *_: alive(*names)

        tasks = (
            Task("given", lambda g: None, ("g",), "0"),
            Task("a", lambda _: make("a"), ("0",), "a"),
            Task("b", lambda a: make("b"), ("a",), "b"),
            Task("none", lambda b: make("none"), ("b",), None),
            Task("1", check("a", "b"), ("a", "b"), "1"),
            Task("2", check("b"), ("1",), "2"),
            Task("3", lambda b, _: None, ("b", "2"), "3"),
            Task("4", check(), ("3",), "4"),
        )
        messages: Any = ((), ())
        if world.size > 1:
            other = 1 - world.rank
            messages = ((SendObject("4", other, 0),), (RecvObject("r", other, 0),))
        steps = (
            Step("s", tasks, *messages),
            Stage("stage", lambda w, values: (make("c"), make("d")), ("4",), ("c", "d")),
            Step(
                "t",
                (Task("5", check("c", "d"), ("c", "d"), "5"), Task("6", check("d"), ("d",), "6")),
            ),
            Stage("last", lambda w, values: alive() or (), ()),
            Step("end", (Task("7", check(), ("r",) if world.size > 1 else (), "7"),)),
        )
        plan = Plan(steps, ("4", "7"))
        execute(world, plan, {"g": make("g")}, "test")
        alive()

    run_virtual(size, main)


def test_partial_results_meet_early():
    """Two chains are not run side by side."""
    done: list[str] = []
    tasks = [Task(f"{c}0", lambda c=c: done.append(f"{c}0"), (), f"{c}0") for c in "ab"]
    for n in (1, 2):
        for c in "ab":
            run = lambda _, c=c, n=n: done.append(f"{c}{n}")  # noqa: E731
            tasks.append(Task(f"{c}{n}", run, (f"{c}{n - 1}",), f"{c}{n}"))
    plan = Plan((Step("s", tuple(tasks)),))
    run_virtual(1, lambda world: execute(world, plan, {}, "test"))
    assert done == ["a0", "a1", "a2", "b0", "b1", "b2"]


def test_a_plan_is_used_with_other_values():
    plan = Plan((Step("s", (Task("t", lambda a: a + 1, ("a",), "b"),)),), ("b", "a"))

    def main(world: Any) -> Any:
        return [execute(world, plan, {"a": n, "unused": 0}, "test") for n in range(2)]

    assert run_virtual(1, main) == [[{"b": 1, "a": 0}, {"b": 2, "a": 1}]]


def test_missing_value():
    plan = Plan((Step("s", (Task("t", lambda a: a, ("a",), "b"),)),), ("b",))
    with pytest.raises(ValueError, match="needs a value for 'a'"):
        run_virtual(1, lambda world: execute(world, plan, {}, "test"))


@pytest.mark.parametrize("size", [1, 3])
def test_an_interrupt_stops_the_tasks_that_follow(size):
    done = []

    def interrupt() -> None:
        raise KeyboardInterrupt

    def main(world: Any) -> None:
        tasks = (
            Task("t", interrupt if world.rank == 0 else lambda: None, (), "a", 0),
            Task("u", lambda: done.append(world.rank), (), "b", 0),
        )
        with pytest.raises(KeyboardInterrupt):
            execute(world, Plan((Step("s", tasks),)), {}, "test")

    run_virtual(size, main)
    assert sorted(done) == list(range(1, size))


@pytest.mark.parametrize("value", [lambda: 3, np.arange(100_000), [np.arange(3)], None, "x" * 9999])
def test_objects_travel(value):
    def main(world: Any) -> Any:
        if world.rank:
            plan = Plan((Step("s", (), (), (RecvObject("x", 0, 0),)),), ("x",))
            return execute(world, plan, {}, "test")["x"]
        return execute(world, Plan((Step("s", (), (SendObject("x", 1, 0),)),)), {"x": value}, "t")

    got = run_virtual(2, main)[1]
    if callable(value):
        assert got() == 3
    else:
        np.testing.assert_equal(got, value)


def test_an_object_that_cannot_be_pickled_is_everybodys_error():
    def main(world: Any) -> Any:
        with pytest.raises(TypeError, match="generator"):
            if world.rank:
                plan = Plan((Step("s", (), (), (RecvObject("x", 0, 0),)),), ("x",))
                execute(world, plan, {}, "test")
            else:
                step = Step("s", (), (SendObject("x", 1, 0),))
                execute(world, Plan((step,)), {"x": (i for i in range(3))}, "test")

    run_virtual(2, main)


def test_observers_are_told():
    class Record(Observer):
        def __init__(self) -> None:
            self.events: list[Any] = []

        def task(self, rank, name, start, end, step):
            assert start <= end
            self.events.append(("task", name, step))

        def message(self, kind, rank, peer, nbytes, start, end):
            assert start <= end
            self.events.append((kind, peer, nbytes))

        def run(self, rank, where, start, end):
            self.events.append(("run", where))

    def main(world: Any) -> Any:
        world.observers.append(Record())
        plan = Program([(), (0,)], [0, 1]).plan(world.rank, 2)
        execute(world, plan, {}, "here")
        return world.observers[0].events

    assert run_virtual(2, main) == [
        [("task", "op 0", 0), ("send", 1, 40), ("run", "here")],
        [("recv", 0, 40), ("task", "op 1", 1), ("run", "here")],
    ]


@pytest.mark.parametrize("size", [1, 2])
def test_values_are_released_after_a_failure(size):
    def main(world: Any) -> None:
        refs = []

        def make() -> Big:
            value = Big()
            refs.append(weakref.ref(value))
            return value

        tasks = (
            Task("a", make, (), "a", 0),
            Task("b", make, (), "b", 0),
            Task("c", fail if world.rank == 0 else make, (), "c", 1),
        )
        caught = None
        try:
            execute(world, Plan((Step("s", tasks),), ("a", "b")), {}, "test")
        except Broken as error:
            caught = error  # as an interactive interpreter keeps the last error
        assert caught is not None
        gc.collect()
        assert [ref() for ref in refs] == [None] * len(refs)

    run_virtual(size, main)


def test_the_error_is_the_one_that_was_raised():
    error = Broken("this")

    def raise_it() -> None:
        raise error

    def main(world: Any) -> Any:
        task = Task("t", raise_it if world.rank == 1 else lambda: None, (), "a")
        with pytest.raises(Broken) as caught:
            execute(world, Plan((Step("s", (task,)),)), {}, "test")
        return caught.value is error, caught.traceback[-1].name

    assert run_virtual(2, main)[1] == (True, "raise_it")


@pytest.mark.parametrize("size", SIZES)
def test_tasks_after_a_failure_are_not_run(size):
    ran = []

    def main(world: Any) -> Any:
        tasks = (Task("t", fail, (), "a", 0), Task("u", lambda: ran.append(1), (), "b", 1))
        with pytest.raises(Broken):
            execute(world, Plan((Step("s", tasks[:1]), Step("t", tasks[1:]))), {}, "test")

    run_virtual(size, main)
    assert not ran


@pytest.mark.ranks(1, 2, 3)
@pytest.mark.parametrize("objects", [False, True])
@pytest.mark.parametrize("length", [1, 5000])
def test_mpi_ranks(world, monkeypatch, objects, length):
    monkeypatch.setattr(plan_module, "PIECE", 8192)
    monkeypatch.setitem(world.state, "window", 50_000)
    program = Program(WAVE.reads, WAVE.ranks, length, objects=objects)
    sound = program.plan(world.rank, world.size)
    assert_equal(execute(world, sound, {}, "test"), program.serial())
    for broken in range(len(WAVE.reads)):
        program.broken = {broken}
        with pytest.raises(Broken) as caught:
            execute(world, program.plan(world.rank, world.size), {}, "test")
        assert caught.value.args == (broken,)
    program.broken = set()
    assert_equal(execute(world, sound, {}, "test"), program.serial())


@pytest.mark.ranks(1, 2, 3)
@pytest.mark.parametrize("place", ["before", "after", "stage"])
def test_mpi_ranks_enter_stages_after_a_failure(world, place):
    broken = place if world.rank == world.size - 1 else ""
    with pytest.raises(Broken):
        execute(world, staged(world.rank, broken), {}, "test")
    total = world.size * (world.size + 1) // 2
    assert execute(world, staged(world.rank), {}, "next run")["s"] == total


@pytest.mark.parametrize("size", [2, 3])
def test_a_value_that_one_rank_lacks_is_everybodys_error(size):
    def body(world):
        plan = Plan((Step("s", (Task("t", lambda x: x, ("x",), "y", 0),)),), ("y",))
        with pytest.raises(ValueError, match="'x'"):
            execute(world, plan, {} if world.rank == 1 else {"x": 1}, "here")
        return execute(world, plan, {"x": 2}, "here")

    assert run_virtual(size, body) == [{"y": 2}] * size
