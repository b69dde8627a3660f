"""Messages, collectives and waits of virtual and MPI ranks."""

import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from scheduler import Hang, SPMDError, current, run_virtual, use
from scheduler.comm import VirtualWorld, byte_view
from scheduler.comm.default import LAUNCHERS
from scheduler.comm.where import user_line, user_place

SIZES = [1, 2, 3, 5, 7]


def ring(world):
    """Send this rank's number to the next rank."""
    size = world.size
    received = np.empty(3)
    receive = world.irecv(received, (world.rank - 1) % size, 5)
    send = world.isend(np.full(3, float(world.rank)), (world.rank + 1) % size, 5)
    world.wait(lambda: receive.test() and send.test(), "the ring")
    assert receive.nbytes == 24
    assert send.nbytes == 24
    np.testing.assert_array_equal(received, (world.rank - 1) % size)


def collectives(world):
    """Try each collective."""
    rank, size = world.rank, world.size
    numbers = np.array([rank, -rank], np.int64)
    assert world.allreduce(numbers, "max", "max").tolist() == [size - 1, 0]
    assert world.allreduce(numbers, "min", "min").tolist() == [0, 1 - size]
    assert world.allreduce(numbers / 2, "sum", "sum")[0] == sum(range(size)) / 2
    bits = world.allreduce(np.array([1 << rank], np.uint64), "or", "or")
    assert bits.dtype == np.uint64
    assert bits[0] == (1 << size) - 1
    assert world.allgather({"rank": rank}, "gather") == [{"rank": k} for k in range(size)]
    big = world.allgather(np.full(10_000 + rank, rank), "gather")
    assert [array.size for array in big] == [10_000 + k for k in range(size)]
    for root in range(size):
        assert world.bcast("x" * rank, root, "bcast") == "x" * root
    given = np.arange(size) + 100 * rank
    np.testing.assert_array_equal(world.alltoall(given, "all"), 100 * np.arange(size) + rank)


def exchange_bytes(world):
    """Send rank + 2 * dest bytes to each other rank by alltoallv."""
    rank, size = world.rank, world.size
    send_counts = [0 if k == rank else rank + 2 * k for k in range(size)]
    recv_counts = [0 if k == rank else k + 2 * rank for k in range(size)]
    recv = np.full(4 * size * size, 99, np.uint8)
    starts = [4 * size * (size - 1 - k) for k in range(size)]
    send = np.full(sum(send_counts), rank, np.uint8)
    world.alltoallv(send, send_counts, recv, starts, recv_counts)
    for k, part in enumerate(reversed(recv.reshape(size, 4 * size))):
        assert part.tolist() == [k] * recv_counts[k] + [99] * (4 * size - recv_counts[k])


def overtaking(world):
    """Messages of one tag arrive in order; other tags do not disturb them."""
    dest, source = (world.rank + 1) % world.size, (world.rank - 1) % world.size
    sends = [world.isend(np.array([k], np.int64), dest, k % 2) for k in range(6)]
    buffers = np.empty((2, 3, 1), np.int64)
    receives = [world.irecv(buffers[tag, k], source, tag) for tag in (1, 0) for k in range(3)]
    world.wait(lambda: all(r.test() for r in receives + sends), "messages")
    assert buffers[0].ravel().tolist() == [0, 2, 4]
    assert buffers[1].ravel().tolist() == [1, 3, 5]


def empty_message(world):
    """A message of no bytes is really sent."""
    dest, source = (world.rank + 1) % world.size, (world.rank - 1) % world.size
    receive = world.irecv(np.empty(4), source, 0)
    send = world.isend(b"", dest, 0)
    while not (receive.test() and send.test()):
        world.idle("nothing")
    assert receive.nbytes == 0


def counted(world):
    """Counters tell of messages and collectives."""
    ring(world)
    world.allreduce(np.zeros(1), "sum", "counted")
    assert world.counters["sends"] == world.counters["recvs"] == 1
    assert world.counters["send_bytes"] == world.counters["recv_bytes"] == 24
    assert world.counters["allreduce"] == 1


BODIES = [ring, collectives, exchange_bytes, overtaking, empty_message, counted]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("body", BODIES)
def test_virtual(body, size):
    for seed in range(3):
        run_virtual(size, body, seed=seed)


@pytest.mark.ranks(1, 2, 3)
@pytest.mark.parametrize("body", [ring, collectives, exchange_bytes, overtaking, empty_message])
def test_mpi(world, body):
    body(world)


@pytest.mark.ranks(1, 2, 3)
def test_mpi_counters(world):
    before = world.counters.copy()
    ring(world)
    assert world.counters["recv_bytes"] - before["recv_bytes"] == 24
    assert world.counters["sends"] - before["sends"] == 1


@pytest.mark.ranks(1, 2, 3)
def test_mpi_poison(world):
    world.state["poison"] = True
    data = np.zeros(100, np.uint8)
    receive = world.irecv(np.empty(100, np.uint8), (world.rank - 1) % world.size, 0)
    send = world.isend(data, (world.rank + 1) % world.size, 0, owned=True)
    world.wait(lambda: send.test() and receive.test(), "poison")
    del world.state["poison"]
    assert (data == 0xA5).all()


def test_virtual_poison():
    def body(world):
        world.state["poison"] = True
        kept, given, received = np.zeros(3), np.zeros(3), np.empty(3)
        world.isend(kept, 0, 0)
        world.isend(given, 0, 1, owned=True)
        world.wait(world.irecv(received, 0, 1).test, "poison")
        return kept, given, received

    ((kept, given, received),) = run_virtual(1, body)
    assert (kept == 0).all()
    assert (given.view(np.uint8) == 0xA5).all()
    assert (received == 0).all()


def test_results_come_in_rank_order_whatever_the_seed():
    def body(world, factor):
        world.allgather(None, "all")
        return factor * world.rank

    for seed in range(5):
        assert run_virtual(4, body, 10, seed=seed) == [0, 10, 20, 30]


def schedule(seed):
    order = []

    def body(world):
        for turn in range(3):
            order.append((turn, world.rank))
            world.allgather(None, "turn")

    run_virtual(5, body, seed=seed)
    return order


def test_a_seed_gives_one_schedule():
    assert schedule(3) == schedule(3)
    assert len({tuple(schedule(seed)) for seed in range(10)}) > 1


def test_one_rank_runs_at_a_time():
    running = []

    def body(world):
        for _ in range(20):
            running.append(world.rank)
            assert len(running) == 1
            time.sleep(1e-4)
            running.remove(world.rank)
            world.allgather(None, "turn")

    run_virtual(3, body)


def test_current_world_is_that_of_the_thread():
    def body(world):
        world.allgather(None, "switch")
        assert current() is world

    run_virtual(3, body)
    run_virtual(1, body)
    alone = VirtualWorld()
    with use(alone):
        assert current() is alone
    assert current() is current()


def test_errstate_is_that_of_the_caller():
    with np.errstate(divide="raise"):
        assert run_virtual(2, lambda world: np.geterr()["divide"]) == ["raise"] * 2


@pytest.mark.parametrize("size", SIZES)
def test_a_hang_names_each_wait(size):
    def body(world):
        receive = world.irecv(np.empty(1), (world.rank + 1) % world.size, 0)
        world.wait(receive.test, f"wait {world.rank}")

    with pytest.raises(Hang) as caught:
        run_virtual(size, body)
    for rank in range(size):
        assert f"rank {rank} waits in wait {rank} at test_world.py:" in str(caught.value)


def test_a_hang_can_be_caught_and_the_program_goes_on():
    def body(world):
        with pytest.raises(Hang):
            world.wait(lambda: False, "never")
        return world.allgather(world.rank, "afterwards")

    assert run_virtual(3, body) == [[0, 1, 2]] * 3


def test_idle_in_all_ranks_is_a_hang():
    def body(world):
        while True:
            world.idle()

    with pytest.raises(Hang, match="rank 2 waits in its run"):
        run_virtual(3, body)


def test_idle_does_not_miss_a_message_that_came_in_a_collective():
    def body(world):
        received = np.empty(1)
        if world.rank:
            world.isend(np.ones(1), 0, 0)
        else:
            receive = world.irecv(received, 1, 0)
        world.allgather(None, "all")
        if world.rank == 0:
            while not receive.test():
                world.idle()
        return received[0]

    for seed in range(5):
        assert run_virtual(2, body, seed=seed)[0] == 1


def test_a_predicate_on_something_else_than_messages():
    flags = []

    def body(world):
        if world.rank == 0:
            world.allgather(None, "first") if world.size == 1 else None
            flags.append(1)
        world.wait(lambda: bool(flags), "the flag")

    for seed in range(5):
        flags.clear()
        run_virtual(3, body, seed=seed)


def test_a_rank_that_has_ended_is_named():
    def body(world):
        if world.rank != 1:
            world.allgather(None, "a sum")

    with pytest.raises(SPMDError, match=r"rank 1 has ended .*rank 0 waits in a sum at") as caught:
        run_virtual(3, body)
    assert not isinstance(caught.value, Hang)


def test_the_first_own_error_is_raised():
    def body(world):
        if world.rank == 2:
            raise KeyError("mine")
        world.allgather(None, "all")

    with pytest.raises(KeyError, match="mine") as caught:
        run_virtual(3, body)
    notes = "\n".join(caught.value.__notes__)
    assert "rank 0: SPMDError" in notes
    assert "raised on virtual rank 2 of 3" in notes


def test_an_error_in_a_predicate_is_raised_by_its_rank():
    def ready():
        raise KeyError("bad")

    def body(world):
        if world.rank == 0:
            with pytest.raises(KeyError):
                world.wait(ready, "bad")
        world.allgather(None, "all")

    run_virtual(2, body)


def test_different_collectives_clash():
    def body(world):
        if world.rank == 1:
            world.allgather(None, "here")
        else:
            world.bcast(None, 1, "there")

    with pytest.raises(SPMDError, match="different operations"):
        run_virtual(3, body)


def test_a_message_that_does_not_fit():
    def body(world):
        receive = world.irecv(np.empty(1, np.uint8), 0, 0)
        world.isend(b"12", 0, 0)
        with pytest.raises(SPMDError, match="does not fit"):
            receive.test()

    run_virtual(1, body)


def test_no_thread_outlives_its_run():
    before = threading.active_count()

    def body(world):
        if world.rank == 1:
            while True:
                pass
        world.allgather(None, "all")

    with pytest.raises(Hang, match=r"rank 1 runs at test_world\.py"):
        run_virtual(3, body, timeout=0.5)
    assert threading.active_count() == before


def test_gone_ranks_are_named_by_every_later_collective():
    def body(world):
        world.gone[1] = "done"
        with pytest.raises(SPMDError, match=r"rank 1 has ended \(done\)"):
            world.allgather(None, "all")

    run_virtual(2, body)


def test_a_wrong_rank_is_refused():
    with pytest.raises(ValueError, match="no rank 3"):
        VirtualWorld().isend(b"", 3, 0)


def test_a_wrong_operation_is_refused():
    with pytest.raises(ValueError, match="op must be"):
        VirtualWorld().allreduce(np.zeros(1), "product", "here")


def test_byte_view():
    dates = np.zeros((2, 3), "M8[s]")
    assert byte_view(dates).nbytes == 48
    assert np.shares_memory(byte_view(dates), dates)
    assert byte_view(np.empty((0, 4))).size == 0
    assert byte_view(b"abc").tolist() == [97, 98, 99]
    assert byte_view(b"").size == 0
    with pytest.raises(ValueError, match="C-contiguous"):
        byte_view(np.zeros((4, 4))[:, ::2])


def test_user_line_leaves_out_the_runtime():
    assert user_line().startswith("test_world.py:")
    assert user_line(-1) == "an unknown line"
    place = user_place()
    assert (place.filename, place.module) == (__file__, __name__)
    assert str(place) == f"test_world.py:{place.lineno}"


def test_one_rank_needs_no_mpi():
    program = (
        "import sys, scheduler; world = scheduler.default_world(); "
        "assert world.size == 1 and scheduler.current() is world; "
        "assert 'mpi4py' not in sys.modules"
    )
    environment = {k: v for k, v in os.environ.items() if k not in LAUNCHERS}
    subprocess.run([sys.executable, "-c", program], env=environment, check=True, timeout=60)
