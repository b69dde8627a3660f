"""The shuffle stage by both transports."""

import numpy as np
import pytest

from scheduler import PeerFailed, run_virtual
from scheduler import pairwise as pairwise_module
from scheduler import shuffle as shuffle_module
from scheduler.events import Observer
from scheduler.shuffle import In, Out, alltoallv_counts, choose_transport, shuffle

SIZES = [1, 2, 3, 5, 7]
TRANSPORTS = ["alltoallv", "pairwise", "pull"]


@pytest.fixture(autouse=True)
def any_run_is_pulled(monkeypatch):
    monkeypatch.setattr("scheduler.shuffle.SHORTEST_RUN", 1)


def content(source, dest, number):
    """Return the bytes of a piece: a length and values that depend on all three."""
    length = (3 * source + 5 * dest + 7 * number) % 11
    return np.arange(length, dtype=np.uint8) + np.uint8(16 * source + 4 * dest + number)


def pieces_of(source, dest):
    return 1 + (source + dest) % 3


def strided(data):
    """Return a view with gaps that holds the data."""
    wide = np.zeros(2 * data.size, np.uint8)
    wide[::2] = data
    return wide[::2]


def out(dest, data, way):
    def pack(buffer):
        if buffer is None:
            return data if way == 0 else np.ascontiguousarray(data) if way == 1 else None
        buffer[...] = data
        return buffer

    return Out(dest, data.size, pack, data)


def into(source, target, placed):
    def drain(buffer):
        assert not placed
        target[...] = buffer

    return In(source, target.size, lambda: target if placed else None, drain, target)


def all_to_all(world, transport):
    """Exchange pieces of many lengths (some empty) in several rounds."""
    rank, size = world.rank, world.size
    outgoing, incoming, targets = [], [], []
    for peer in range(size):
        if peer == rank:
            continue
        for number in range(pieces_of(rank, peer)):
            data = content(rank, peer, number)
            way = (rank + peer + number) % 3
            outgoing.append(out(peer, data if way == 0 else strided(data), way))
        for number in range(pieces_of(peer, rank)):
            expected = content(peer, rank, number)
            target = np.zeros(2 * expected.size, np.uint8)
            placed = (rank + number) % 2 == 0
            target = target[: expected.size] if placed else target[::2]
            incoming.append(into(peer, target, placed))
            targets.append((target, expected))
    shuffle(world, outgoing, incoming, failed=False, where="a test", transport=transport)
    for target, expected in targets:
        np.testing.assert_array_equal(target, expected)


def ring(world, data, *, failing=(), transport=None, drain_error=None):
    """Send `data` to the next rank; ranks in `failing` cannot pack."""
    rank, size = world.rank, world.size
    target = np.zeros_like(data)

    def pack(buffer):
        if rank in failing:
            raise ValueError("cannot pack")
        if buffer is None:
            return None
        buffer[...] = data
        return buffer

    def drain(buffer):
        if drain_error is not None:
            raise drain_error
        target[...] = buffer

    plain = not failing and drain_error is None
    outgoing = [Out((rank + 1) % size, data.size, pack, data if plain else None)]
    incoming = [In((rank - 1) % size, data.size, lambda: None, drain, target if plain else None)]
    shuffle(world, outgoing, incoming, failed=False, where="a ring", transport=transport)
    return target


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("size", SIZES)
def test_virtual(size, transport):
    def body(world):
        world.state["poison"] = True
        for _ in range(3):
            all_to_all(world, transport)
        return dict(world.counters)

    for seed in range(3):
        for counters in run_virtual(size, body, seed=seed):
            if size > 1:
                assert (counters.get("alltoallv", 0) > 0) == (transport == "alltoallv")
                assert (counters.get("pairwise", 0) == 3) == (transport == "pairwise")
                assert (counters.get("pull", 0) == 3) == (transport == "pull")


@pytest.mark.ranks(1, 2, 3)
@pytest.mark.parametrize("transport", TRANSPORTS)
def test_mpi(world, transport):
    all_to_all(world, transport)
    all_to_all(world, transport)


@pytest.mark.ranks(2, 3)
@pytest.mark.parametrize("nbytes", [1 << 20, 9 << 20])
@pytest.mark.parametrize("transport", TRANSPORTS)
def test_mpi_large(world, transport, nbytes):
    data = np.arange(nbytes).astype(np.uint8)
    np.testing.assert_array_equal(ring(world, data, transport=transport), data)


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("size", SIZES)
def test_a_failed_rank_stops_all(size, transport):
    def body(world):
        with pytest.raises(PeerFailed):
            shuffle(world, [], [], failed=world.rank == 0, where="x", transport=transport)
        all_to_all(world, transport)

    run_virtual(size, body)


@pytest.mark.parametrize("size", SIZES[1:])
def test_a_failed_pack_by_alltoallv_stops_all(size):
    def body(world):
        with pytest.raises(ValueError if world.rank == 1 else PeerFailed):
            ring(world, np.ones(9, np.uint8), failing=(1,), transport="alltoallv")
        all_to_all(world, "alltoallv")

    run_virtual(size, body)


@pytest.mark.parametrize("size", SIZES[1:])
@pytest.mark.parametrize("transport", ["pairwise", "pull"])
def test_a_failed_pack_reaches_its_target(size, transport):
    def body(world):
        data = np.ones(9, np.uint8)
        if world.rank == 1:
            with pytest.raises(ValueError, match="cannot pack"):
                ring(world, data, failing=(1,), transport=transport)
        elif world.rank == 2 % size:
            with pytest.raises(PeerFailed, match="rank 1 could not send"):
                ring(world, data, transport=transport)
        else:
            ring(world, data, transport=transport)
        all_to_all(world, transport)

    run_virtual(size, body)


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_an_error_while_draining_is_raised_at_the_end(transport):
    def body(world):
        error = KeyError("drain") if world.rank == 0 else None
        data = np.ones(9, np.uint8)
        if error is None:
            assert ring(world, data, transport=transport).all()
        else:
            with pytest.raises(KeyError):
                ring(world, data, transport=transport, drain_error=error)
        all_to_all(world, transport)

    run_virtual(3, body)


def test_a_place_that_cannot_be_made_stops_all():
    def no_place():
        raise MemoryError

    def body(world):
        peer = 1 - world.rank
        sent = np.ones(4, np.uint8)
        outgoing = [out(peer, sent, 0)]
        target = np.zeros(4, np.uint8)
        piece = into(peer, target, True)
        if world.rank == 0:
            piece = In(peer, 4, no_place, piece.drain)
        with pytest.raises(MemoryError if world.rank == 0 else PeerFailed):
            shuffle(world, outgoing, [piece], failed=False, where="x", transport="pairwise")
        assert not target.any()

    run_virtual(2, body)


def test_pieces_are_cut_and_the_window_is_kept(monkeypatch):
    monkeypatch.setattr("scheduler.plan.PIECE", 10)
    monkeypatch.setattr(pairwise_module, "_WINDOW", 30)

    def body(world):
        data = np.arange(95, dtype=np.uint8)
        np.testing.assert_array_equal(ring(world, data, transport="pairwise"), data)
        assert world.counters["sends"] == 10
        all_to_all(world, "pairwise")

    run_virtual(3, body)


def test_messages_of_others_are_not_disturbed():
    def body(world):
        peer = 1 - world.rank
        got = np.zeros(4, np.uint8)
        receive = world.irecv(got, peer, 0)
        data = np.full(4, 9, np.uint8)
        assert (ring(world, data, transport="pairwise") == 9).all()
        world.isend(np.full(4, 3, np.uint8), peer, 0)
        world.wait(receive.test, "the message")
        assert (got == 3).all()

    run_virtual(2, body)


def test_transport_rule():
    big = 4 << 20
    assert choose_transport("auto", True, big, big, True) == "pull"
    assert choose_transport("auto", True, big, big, False) == "pairwise"
    assert choose_transport("auto", False, big, big, True) == "alltoallv"
    assert choose_transport("auto", True, big - 1, big, True) == "alltoallv"
    assert choose_transport("pairwise", False, 0, 0, True) == "pairwise"
    assert choose_transport("pull", False, 0, 0, True) == "pairwise"
    assert choose_transport("pull", True, 0, 0, True) == "pull"
    assert choose_transport("alltoallv", True, big, big, True) == "alltoallv"
    assert choose_transport("alltoallv", True, 1 << 31, 1 << 31, True) == "pairwise"
    with pytest.raises(ValueError, match="'fast'"):
        choose_transport("fast", True, 0, 0, True)


@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("dtype", ["u1", "f8", "c16"])
def test_pull_between_any_strides(n, dtype):
    """More runs than one call of the kernel takes, long and short ones on either side."""

    def body(world):
        me, peer = world.rank, (world.rank + 1) % n
        wide = (np.arange(3 * 700 * 40) % 251).astype(dtype).reshape(3, 700, 40) + me
        views = (wide[:, ::2, 5:9], wide[1], wide[:, :, ::-1], wide.transpose(2, 0, 1)[::3])
        before = np.stack([wide] * 2)[me % 2].copy()
        for view in views:
            for target in (np.zeros(view.shape, dtype), np.zeros((*view.shape, 2), dtype)[..., 1]):
                outgoing = [out(peer, view, 2)]
                outgoing = [Out(peer, view.nbytes, outgoing[0].pack, view)]
                incoming = [In((me - 1) % n, view.nbytes, lambda: None, lambda b: None, target)]
                shuffle(world, outgoing, incoming, failed=False, where="x", transport="pull")
                np.testing.assert_array_equal(target, view - me + (me - 1) % n)
        np.testing.assert_array_equal(wide, before)
        return world.counters["pull"]

    assert run_virtual(n, body) == [8] * n


def test_pull_where_memory_cannot_be_read(monkeypatch):
    def refused(self, *args):
        raise OSError(1, "Operation not permitted")

    monkeypatch.setattr("scheduler.pull.Puller._copy", refused)

    def body(world):
        all_to_all(world, "pull")
        return world.counters["pull"], world.counters["pairwise"]

    assert run_virtual(3, body) == [(0, 1)] * 3


def test_pull_that_is_refused_later_is_everybodys_error(monkeypatch):
    def body(world):
        all_to_all(world, "pull")
        if world.rank == 1:
            monkeypatch.setattr(
                world.state["puller"], "copy", lambda *args: (_ for _ in ()).throw(OSError("no"))
            )
        with pytest.raises(OSError if world.rank == 1 else PeerFailed):
            all_to_all(world, "pull")
        monkeypatch.undo()
        return True

    assert run_virtual(3, body) == [True] * 3


def test_the_setting_of_the_world_is_used():
    def body(world):
        world.state["shuffle"] = "pairwise"
        all_to_all(world, None)
        assert world.counters["pairwise"] == 1

    run_virtual(2, body)


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_observers_are_told(transport):
    events = []

    class Seen(Observer):
        def stage(self, rank, name, start, end, nbytes, transport):
            events.append((rank, name, nbytes, transport, start <= end))

    def body(world):
        world.observers.append(Seen())
        ring(world, np.ones(5, np.uint8), transport=transport)

    run_virtual(2, body)
    assert sorted(events) == [(rank, "a ring", 5, transport, True) for rank in range(2)]


@pytest.mark.parametrize("size", SIZES)
def test_counts(size):
    def body(world):
        return alltoallv_counts(world, np.arange(size) + 10 * world.rank).tolist()

    assert run_virtual(size, body) == [[10 * k + r for k in range(size)] for r in range(size)]


def test_all_ranks_together(monkeypatch):
    """The number of rounds is that of the busiest pair, also for ranks with nothing to move."""

    def body(world):
        outgoing = [out(1, np.ones(3, np.uint8), 0)] * 4 if world.rank == 0 else []
        targets = [np.zeros(3, np.uint8) for _ in range(4)]
        incoming = [into(0, t, True) for t in targets] if world.rank == 1 else []
        shuffle(world, outgoing, incoming, failed=False, where="x", transport="alltoallv")
        assert world.counters["alltoallv"] == calls
        return sum(int(t.sum()) for t in targets)

    calls = 1
    assert run_virtual(4, body) == [0, 12, 0, 0]
    calls = 2
    monkeypatch.setattr("scheduler.shuffle._JOINED_BYTES", 6)
    assert run_virtual(4, body) == [0, 12, 0, 0]


@pytest.mark.parametrize("n", [2, 3, 5])
@pytest.mark.parametrize("apart", [False, True])
def test_alltoallv_receives_in_place_what_lies_one_behind_the_other(n, apart, monkeypatch):
    """Of each peer two pieces; if they lie apart, they come through a buffer."""
    emptied, empty = [], shuffle_module._empty

    def counted(recv, pieces):
        emptied.append(len(pieces))
        empty(recv, pieces)

    monkeypatch.setattr(shuffle_module, "_empty", counted)

    def filled(buffer):
        buffer[...] = len(buffer)
        return buffer

    def body(world):
        room = np.full(50 * n, 99, np.uint8)
        outs, ins = [], []
        for peer in range(n):
            if peer == world.rank:
                continue
            at = 50 * (n - 1 - peer)
            for start, length in ((at, 5 + peer), (at + 5 + peer + apart, 7)):
                place = room[start : start + length]
                ins.append(In(peer, length, lambda place=place: place, None))
            outs += [Out(peer, length, filled) for length in (5 + world.rank, 7)]
        shuffle(world, outs, ins, failed=False, where="here", transport="alltoallv")
        for peer in range(n):
            at = 50 * (n - 1 - peer)
            got = room[at : at + 50].tolist()
            if peer == world.rank:
                assert got == [99] * 50
            else:
                parts = [5 + peer] * (5 + peer) + [99] * apart + [7] * 7
                assert got == parts + [99] * (50 - len(parts))

    run_virtual(n, body)
    assert bool(emptied) == apart
