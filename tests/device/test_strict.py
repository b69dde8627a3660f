"""The stand-in for CuPy: NumPy's results, and each of its refusals."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import numpy as np
import pytest

from tests.device import strict
from tests.device.memory import Stream


@pytest.fixture(autouse=True)
def on_device_0() -> Iterator[None]:
    strict.cuda.Device(0).use()
    yield
    strict.cuda.Device(0).use()


def host(x):
    return strict.asnumpy(x)


def test_results_are_numpys():
    x, y = np.arange(6.0).reshape(2, 3), np.float32(3)
    a = strict.asarray(x, blocking=True)
    out = strict.empty((2, 3))
    strict.multiply(a, y, out)
    assert np.array_equal(host(out), x * y)
    assert np.array_equal(host(2 - a), 2 - x)
    assert np.array_equal(host(y * a), y * x)
    assert np.array_equal(host(a[:, ::-1].T), x[:, ::-1].T)
    assert np.array_equal(host(strict.where(a > 2, a, 0)), np.where(x > 2, x, 0))
    assert np.array_equal(host(a.sum(axis=0, keepdims=True)), x.sum(axis=0, keepdims=True))
    strict.copyto(out, a, where=a > 3)
    assert host(out).tolist() == [[0, 3, 6], [9, 4, 5]]
    a[a > 4] = 7
    assert host(a)[1].tolist() == [3, 4, 7]


def test_results_have_dimensions():
    a = strict.arange(3)
    for found in (a.sum(), a[1], strict.count_nonzero(a), strict.add(1, 2)):
        assert isinstance(found, strict.ndarray) and found.shape == ()
    assert int(a[1]) == 1 and bool(a[2] > 1) and float(a.sum()) == 3.0


def test_views_share_memory():
    a = strict.zeros((2, 2), dtype="i4")
    a.reshape(-1)[1:3] = 5
    strict.ravel(a).view("u1")[-1] = 1
    assert host(a).tolist() == [[0, 5], [5, 1 << 24]]
    assert a.flags.c_contiguous and not a.T.flags.c_contiguous


def test_no_implicit_conversion():
    a = strict.arange(3)
    for use in (np.asarray, np.sin, lambda x: np.add(x, 1), lambda x: np.zeros(3) + x):
        with pytest.raises(TypeError):
            use(a)
    with pytest.raises(TypeError):
        np.zeros(3)[:] = a


@pytest.mark.parametrize(
    "use",
    [
        lambda a, n: a + n,
        lambda a, n: strict.add(a, n),
        lambda a, n: strict.add(a, a, n),
        lambda a, n: strict.add(a, a, out=n),
        lambda a, n: strict.copyto(a, n),
        lambda a, n: strict.copyto(n, a),
        lambda a, n: strict.take(a, n),
        lambda a, n: strict.sum(a, out=n),
        lambda a, n: a.__setitem__(slice(None), n),
        lambda a, n: strict.concatenate([a, n]),
        lambda a, n: a + [1, 2, 3],
        lambda a, n: a == None,  # noqa: E711
    ],
)
def test_no_mixing_with_numpy(use):
    with pytest.raises(TypeError):
        use(strict.arange(3), np.arange(3))


def test_no_numpy_keys():
    with pytest.raises(IndexError, match="index type"):
        strict.arange(3)[np.array([1])]


def test_no_mixing_of_devices():
    a = strict.arange(3)
    strict.cuda.Device(1).use()
    b = strict.arange(3)
    assert b.device == strict.cuda.Device(1) != a.device
    for use in (lambda: a + b, lambda: a + 1, lambda: strict.copyto(b, a), lambda: a.sum()):
        with pytest.raises(ValueError, match="device"):
            use()
    with pytest.raises(RuntimeError, match="InvalidDevice"):
        strict.cuda.Device(9)


def test_memory_is_exported_only_when_synchronised():
    a = strict.zeros(4)
    with pytest.raises(RuntimeError, match="synchronize"):
        a.__cuda_array_interface__  # noqa: B018
    strict.cuda.get_current_stream().synchronize()
    assert a.__cuda_array_interface__["data"][0]
    for write in (
        lambda: a.fill(1),
        lambda: a.__setitem__(0, 1),
        lambda: strict.add(a[:2], 1, out=a[:2]),
        lambda: strict.copyto(a, 3.0),
    ):
        write()
        with pytest.raises(RuntimeError, match="synchronize"):
            a[1:].__cuda_array_interface__  # noqa: B018
        strict.cuda.get_current_stream().synchronize()
        assert a[1:].__cuda_array_interface__["shape"] == (3,)


def test_another_threads_synchronisation_does_not_help():
    a = strict.zeros(4)
    thread = threading.Thread(target=lambda: strict.cuda.get_current_stream().synchronize())
    thread.start()
    thread.join()
    with pytest.raises(RuntimeError, match="synchronize"):
        a.__cuda_array_interface__  # noqa: B018


def test_asynchronous_copies_arrive_at_the_synchronisation():
    a = strict.arange(3)
    out = strict.empty_pinned(3, "i8")
    a.get(out=out, blocking=False)
    assert out.tolist() != [0, 1, 2]
    strict.cuda.get_current_stream().synchronize()
    assert out.tolist() == [0, 1, 2]
    assert not Stream().copies
    with pytest.raises(RuntimeError, match="blocking"):
        strict.asarray(np.arange(3))
    with pytest.raises(RuntimeError, match="contiguous"):
        a.get(out=np.empty((3, 2), "i8")[:, 0])


def test_no_functions_and_arguments_that_cupy_has_not():
    a = strict.arange(3)
    for name in ("errstate", "isnat", "spacing", "nditer", "fromiter"):
        with pytest.raises(AttributeError):
            getattr(strict, name)
    for use in (
        lambda: strict.add(a, 1, where=a > 1),
        lambda: strict.sum(a, initial=1),
        lambda: strict.take(a, a, mode="clip"),
        lambda: a.take(a, axis=0, mode="clip"),
        lambda: a.sum(where=a > 1),
        lambda: a.astype("f4", casting="safe"),
        lambda: strict.logical_and(a * 1j, True),
    ):
        with pytest.raises(TypeError):
            use()
    with pytest.raises(NotImplementedError):
        strict.maximum.reduce(a)
    assert int(strict.add.reduce(a)) == 3
    with pytest.raises(AttributeError):
        a.flags.writeable = False


@pytest.mark.parametrize("dtype", ["M8[s]", "m8[s]", "S3", "U2", "i4,f8", "g", "G", "O", ">f8"])
def test_no_dtypes_that_devices_have_not(dtype):
    for make in (
        lambda: strict.empty(2, dtype),
        lambda: strict.zeros(2, dtype),
        lambda: strict.asarray(np.zeros(2, dtype), blocking=True),
        lambda: strict.arange(8).view(dtype),
        lambda: strict.arange(8).astype(dtype),
    ):
        with pytest.raises(TypeError):
            make()


def test_fresh_memory_is_garbage_and_duplicates_are_not_in_order():
    assert host(strict.empty(3, "u1")).tolist() == [0xA5] * 3
    a = strict.zeros(3)
    a[strict.asarray([1, 1])] = strict.asarray([4.0, 5.0])
    assert host(a).tolist() == [0, 4, 0]


def test_floating_point_errors_and_lost_imaginary_parts_are_silent():
    a = strict.zeros(2)
    assert np.isnan(host(a / 0)).all()
    strict.copyto(a, a * 1j + 2, casting="unsafe")
    assert host(a).tolist() == [2, 2]
    with pytest.raises(TypeError):
        strict.copyto(a, a * 1j)
