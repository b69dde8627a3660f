"""Views by name: the same elements otherwise, read and written through, and no message."""

from __future__ import annotations

import numpy as np
import pytest

import taskarr
from tests.layouts import RANKS, on_ranks
from tests.oracle import outcome

SHAPES = ((4, 3, 5), (7,), (1, 6, 1), (0, 3), (2, 1, 3, 2), ())
CALLS = {
    "transpose": [((), {}), ((None,), {}), (((1, 0, 2),), {}), ((), {"axes": (2, 0, 1)})],
    "swapaxes": [((0, -1), {}), ((0, 2), {}), ((5, 0), {})],
    "moveaxis": [((0, -1), {}), (([0, 1], [2, 0]), {}), ((0, [1, 2]), {}), (([0, 0], [1, 2]), {})],
    "squeeze": [((), {}), ((0,), {}), ((-1,), {}), (((0, 2),), {}), ((9,), {})],
    "expand_dims": [((0,), {}), ((-1,), {}), (((0, 2),), {}), ((9,), {}), (((1, 1),), {})],
    "flip": [((), {}), ((0,), {}), (((0, -1),), {}), ((), {"axis": 1}), ((0, 1), {})],
    "broadcast_to": [(((2, 4, 3, 5),), {}), ((7,), {}), (((3, 7),), {}), ((-1,), {}), (("x",), {})],
}


def numbers(shape):
    return np.arange(np.prod(shape, dtype=int)).reshape(shape).astype("f8")


@pytest.mark.parametrize("name", CALLS)
def test_as_numpy(name):
    tries = [(shape, args, options) for shape in SHAPES for args, options in CALLS[name]]

    def job(world):
        found = []
        for shape, args, options in tries:
            a = taskarr.asarray(numbers(shape), split=0 if shape else "auto")
            for f in (getattr(taskarr, name), getattr(np, name)):
                b = outcome(lambda f=f, a=a, x=args, o=options: f(a, *x, **o))
                found.append(b if isinstance(b, type) else b.numpy())
        return found

    expected = []
    for shape, args, options in tries:
        x = numbers(shape)
        expected += [outcome(lambda x=x, p=args, o=options: getattr(np, name)(x, *p, **o))] * 2
    assert any(isinstance(e, np.ndarray) for e in expected)
    for n in RANKS:
        for got, want in zip(on_ranks(n, job).value, expected, strict=True):
            if isinstance(want, type):
                assert issubclass(got, want)
            else:
                assert got.shape == want.shape
                np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("n", RANKS)
def test_writes_go_through(n):
    def program(make):
        a = make(numbers((4, 3, 1)))
        np.flip(a, 0)[1:, :2] = 100
        a.swapaxes(0, 1)[2] += 7
        a.squeeze()[0, :] = -1
        np.moveaxis(a, 0, -1)[0, 0] *= 2
        np.expand_dims(a, 0)[0, 3] = 5
        return np.asarray(a)

    found = on_ranks(n, lambda world: program(lambda x: taskarr.asarray(x, split=0))).value
    np.testing.assert_array_equal(found, program(np.array))


def test_views_move_nothing():
    def job(world):
        a = taskarr.asarray(numbers((8, 4)), split=0).persist()
        before = world.counters.copy()
        b = np.flip(np.moveaxis(a, 0, 1), 1)
        assert world.counters == before
        held = b.local.size, a.local.size
        return held, (world.counters - before)["send_bytes"]

    for n in RANKS:
        for (view, base), sent in on_ranks(n, job, alike=False).values:
            assert view == base
            assert sent == 0


def test_repeated_elements_are_not_written():
    a = taskarr.arange(3)
    b = taskarr.broadcast_to(a, (2, 3))
    for write in (lambda: b.__setitem__(0, 1), lambda: b.__iadd__(1)):
        with pytest.raises(ValueError, match="read-only"):
            write()
    a[0] = 9
    np.testing.assert_array_equal(b.numpy(), [[9, 1, 2]] * 2)


def test_arrays_are_locked_and_unlocked():
    a = taskarr.arange(4)
    before = a[1:]
    a.flags.writeable = False
    for locked in (a, a[1:], a.reshape(2, 2), a.view("u1")):
        assert not locked.flags.writeable
        assert not locked.flags["WRITEABLE"]
        with pytest.raises(ValueError, match="read-only"):
            locked[0] = 1
    with pytest.raises(ValueError, match="WRITEABLE"):
        a[1:].flags.writeable = True
    before[0] = 7
    a.setflags(write=True)
    a[0] = 5
    a.flags["W"] = False
    assert a.tolist() == [5, 7, 2, 3]
    assert repr(a.flags) == repr(a._stand_in().flags).replace(
        "WRITEABLE : True", "WRITEABLE : False"
    )
    with pytest.raises(ValueError, match="WRITEABLE"):
        a.sum().flags.writeable = True
    with pytest.raises(KeyError):
        a.flags["ALIGNED"] = False


def test_repeated_values_are_not_written():
    a = taskarr.arange(4.0)
    for value in (a.mean(), a[2]):
        b = taskarr.broadcast_to(value, (3,))
        with pytest.raises(ValueError, match="read-only"):
            b[0] = 5
        with pytest.raises(ValueError, match="read-only"):
            np.add(b, 1, out=b)


def test_shape_and_dtype_are_not_set():
    a = taskarr.arange(4)
    with pytest.raises(AttributeError, match=r"reshape\(\(2, 2\)\)"):
        a.shape = (2, 2)
    with pytest.raises(AttributeError, match=r"view\('f8'\)"):
        a.dtype = "f8"


def test_facts_by_numpys_functions():
    a = taskarr.zeros((4, 3))
    assert (np.shape(a), np.ndim(a), np.size(a), np.size(a, 1)) == ((4, 3), 2, 12, 3)


def test_views_are_unlocked_where_their_base_is_writable():
    a = taskarr.arange(6.0)
    locked = a[1:]
    locked.flags.writeable = False
    for number, view in enumerate((locked[1:], locked.view(), locked.reshape(5, 1), locked)):
        assert not view.flags.writeable
        view.flags.writeable = True
        view[-1] = number
        assert a[5] == number
    assert not taskarr.broadcast_to(a, (2, 6)).flags.writeable
    a.flags.writeable = False
    locked.flags.writeable = False
    with pytest.raises(ValueError, match="WRITEABLE"):
        locked.flags.writeable = True


@pytest.mark.parametrize("shape", [True, (True, 6), (2, np.True_, 3)])
def test_truth_is_no_length(shape):
    for xp in (np, taskarr):
        for call in (xp.zeros, xp.arange(6).reshape, xp.random.default_rng(1).random):
            with pytest.raises(TypeError):
                call(shape)
