"""How runs begin and end alike on all ranks."""

import numpy as np
import pytest

from scheduler import PeerFailed, SPMDError, run_virtual
from scheduler.agreement import Flag, close_run, farewell, open_run

SIZES = [1, 2, 3, 5, 7]
OTHERS = SIZES[1:]


class Custom(Exception):
    """Cannot be made again from its arguments."""

    def __init__(self, first, second):
        super().__init__(f"{first} and {second}")


class Unpicklable(Exception):
    def __reduce__(self):
        raise TypeError("no")


def merged_bits(world, count=100):
    bits = sum(1 << k for k in range(world.rank, count, world.size))
    assert open_run(world, 77, bits, count, lambda: "never") == (
        (1 << count) - 1 if world.size > 1 else bits
    )


def raises_first(world):
    """Ranks 1 and 2 fail in steps 3 and 2: the error of step 2 is everybody's."""
    size = world.size
    errors = {1 % size: (3, ValueError("late")), 2 % size: (2, KeyError("early"))}
    step, error = errors.get(world.rank, (0, None))
    with pytest.raises((KeyError, ValueError)) as caught:
        close_run(world, step, error, "a test")
    expected = {1: KeyError, 2: KeyError}.get(size, KeyError)
    assert caught.type is expected
    if error is not None and type(error) is expected:
        assert caught.value is error
    else:
        assert caught.value.__notes__ == [f"raised on rank {2 % size}"]


@pytest.mark.parametrize("count", [1, 64, 3840, 3841, 10_000])
@pytest.mark.parametrize("size", SIZES)
def test_open_merges_bits(size, count):
    run_virtual(size, merged_bits, count)


@pytest.mark.ranks(1, 2, 3)
@pytest.mark.parametrize("count", [1, 5000])
def test_open_on_mpi(world, count):
    merged_bits(world, count)


@pytest.mark.ranks(2, 3)
def test_open_finds_a_difference_on_mpi(world):
    nodes = ["a", "b", f"c{world.rank}"]
    with pytest.raises(SPMDError, match=r"first at node 2: rank 0: c0 .*; rank 1: c1"):
        open_run(world, world.rank, 0, 3, lambda: ("sum", "job.py:3", nodes))
    merged_bits(world)


@pytest.mark.ranks(1, 2, 3)
def test_close_on_mpi(world):
    raises_first(world)
    close_run(world, 0, None, "a test")


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("who", [None, 0, 1, 4])
def test_a_flag_is_up_where_any_rank_put_it_up(size, who):
    def body(world):
        flag = Flag(world.rank == who)
        close_run(world, 0, None, "a test", flag)
        failed = Flag(world.rank == who)
        with pytest.raises(KeyError):
            close_run(world, 1, KeyError("x") if world.rank == 0 else None, "a test", failed)
        return flag.up, failed.up

    up = who is not None and who < size
    assert run_virtual(size, body) == [(up, up)] * size


@pytest.mark.parametrize("size", SIZES)
def test_run_numbers_are_alike(size):
    def body(world):
        open_run(world, 1, 0, 1, lambda: "")
        open_run(world, 1, 0, 1, lambda: "")
        return world.runs

    assert run_virtual(size, body) == [2] * size


@pytest.mark.parametrize("size", OTHERS)
def test_open_names_the_first_different_node(size):
    def body(world):
        last = world.rank == world.size - 1
        nodes = ["x", "mean" if last else "sum", *(["y"] * last)]
        with pytest.raises(SPMDError) as caught:
            describe = ("compute", f"job.py:{world.rank}", nodes)
            open_run(world, len(nodes), 0, len(nodes), lambda: describe)
        text = str(caught.value)
        assert "differ first at node 1" in text
        assert "rank 0: sum (compute at job.py:0)" in text
        assert f"rank {size - 1}: mean (compute at job.py:{size - 1})" in text
        merged_bits(world)

    run_virtual(size, body)


def test_open_with_one_node_list_longer():
    def body(world):
        nodes = ["x"] * (2 + world.rank)
        with pytest.raises(SPMDError, match=r"node 2: rank 0: nothing.*; rank 1: x"):
            open_run(world, 5, 0, len(nodes), lambda: ("f", "l", nodes))

    run_virtual(2, body)


def test_open_described_by_a_text():
    def body(world):
        with pytest.raises(SPMDError, match=r"rank 1: nothing \(call 1 at test_agreement.py"):
            open_run(world, world.rank, 0, 1, lambda: f"call {world.rank}")

    run_virtual(2, body)


@pytest.mark.parametrize("size", SIZES)
def test_close_raises_the_first_step_then_the_lowest_rank(size):
    run_virtual(size, raises_first)


@pytest.mark.parametrize("size", OTHERS)
def test_close_prefers_the_cause_over_its_consequences(size):
    def body(world):
        last = world.rank == world.size - 1
        error = ZeroDivisionError() if last else PeerFailed()
        with pytest.raises(ZeroDivisionError):
            close_run(world, 9 if last else 1, error, "a test")

    run_virtual(size, body)


@pytest.mark.parametrize("error", [Custom(1, 2), Unpicklable("text")])
def test_close_with_an_error_that_cannot_be_pickled(error):
    def body(world):
        mine = error if world.rank == 0 else None
        with pytest.raises(RuntimeError, match=f"{type(error).__name__}: {error}") as caught:
            close_run(world, 0, mine, "a test")
        assert caught.value.__cause__ is mine

    run_virtual(2, body)


def test_notes_travel():
    def body(world):
        error = ValueError("bad")
        error.add_note("job.py:7")
        with pytest.raises(ValueError, match="bad") as caught:
            close_run(world, 0, error if world.rank == 1 else None, "a test")
        assert caught.value.__notes__[0] == "job.py:7"

    run_virtual(2, body)


def test_one_rank_raises_its_own_error():
    error = ValueError()

    def body(world):
        close_run(world, 0, None, "a test")
        with pytest.raises(ValueError) as caught:
            close_run(world, 0, error, "a test")
        assert caught.value is error
        assert world.counters["allreduce"] == 0

    run_virtual(1, body)


@pytest.mark.parametrize("size", SIZES)
def test_farewell_of_all(size):
    run_virtual(size, farewell)


@pytest.mark.parametrize("size", OTHERS)
def test_an_early_farewell_is_told_to_all(size, capfd):
    def body(world):
        if world.rank == 1:
            with pytest.raises(SystemExit) as caught:
                farewell(world)
            assert caught.value.code == 1
            return
        with pytest.raises(SPMDError) as error:
            open_run(world, 5, 0, 1, lambda: ("sum", "job.py:12", ["sum"]))
        assert "rank 1 has ended (" in str(error.value)
        assert "in sum at job.py:12" in str(error.value)
        with pytest.raises(SPMDError, match="rank 1 has ended"):
            world.allreduce(np.zeros(1), "sum", "later")
        farewell(world)

    run_virtual(size, body)
    assert "SPMDError: rank 1 has ended" in capfd.readouterr().err
