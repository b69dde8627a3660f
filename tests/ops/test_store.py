"""Files: every rank reads and writes its own bytes, files appear whole, bad files are refused."""

from __future__ import annotations

import os
import struct

import numpy as np
import pytest

import taskarr
from tests.device.install import held_here, host
from tests.layouts import LAYOUTS, RANKS, on_ranks
from tests.oracle import Check, verify

DTYPES = ["?", "i1", "u2", ">i4", "f2", "f4", "c16", "M8[D]", "S3", "U2"]


def numbers(shape=(7, 5), dtype="f8"):
    return np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)


@pytest.mark.parametrize("dtype", held_here(DTYPES))
def test_files_of_numpy_are_read(tmp_path, dtype):
    x = numbers(dtype="i8").astype(dtype)
    np.save(tmp_path / "x.npy", x)
    acts = {
        "whole": lambda xp: xp.load(tmp_path / "x.npy"),
        "text path": lambda xp: xp.load(str(tmp_path / "x.npy")),
        "slice": lambda xp: xp.load(tmp_path / "x.npy")[1::2, ::-1],
        "transposed": lambda xp: xp.load(tmp_path / "x.npy").T,
        "column": lambda xp: xp.load(tmp_path / "x.npy")[:, 2],
        "element": lambda xp: xp.load(tmp_path / "x.npy")[3, 4],
        "equal": lambda xp: xp.load(tmp_path / "x.npy") == xp.load(tmp_path / "x.npy")[0],
    }
    verify([Check(name, act) for name, act in acts.items()], ranks=(1, 3))


def test_shapes_and_layouts(tmp_path):
    def job(world, path, expected):
        for arguments in ({}, {"split": 1}, {"split": (0, 1)}, {"split": None}, {"chunks": 2}):
            if len(expected.shape) < 2 and arguments.get("split") in (1, (0, 1)):
                continue
            if not expected.shape and arguments:
                continue
            found = taskarr.load(path, **arguments)
            assert found.shape == expected.shape
            np.testing.assert_array_equal(found.numpy(), expected)
            np.testing.assert_array_equal((found + 1).sum().numpy(), (expected + 1).sum())

    for shape in ((7, 5), (2, 5), (9,), (), (0, 5), (4, 3, 2), (3, 0)):
        for order in "CF":
            path = tmp_path / "x.npy"
            x = np.asarray(numbers(shape), order=order)
            np.save(path, x)
            for n in (1, 2, 5):
                on_ranks(n, job, path, x)


@pytest.mark.parametrize("placing", LAYOUTS, ids=str)
def test_saved_files_are_numpys(tmp_path, placing):
    x = numbers(placing.shape)

    def job(world):
        a = placing.place(x)
        taskarr.save(tmp_path / "a.npy", a)
        taskarr.save(tmp_path / "view.npy", a[::-1, 1:].T)
        taskarr.save(tmp_path / "expression", a * 2 + 1)
        taskarr.save(tmp_path / "rows.npy", a[a[:, 0] % 2 == 0])
        taskarr.save(tmp_path / "sum.npy", a.sum(axis=0))
        taskarr.save(tmp_path / "scalar.npy", a.sum())

    expected = {
        "a.npy": x,
        "view.npy": x[::-1, 1:].T,
        "expression.npy": x * 2 + 1,
        "rows.npy": x[x[:, 0] % 2 == 0],
        "sum.npy": x.sum(axis=0),
        "scalar.npy": x.sum(),
    }
    for n in RANKS:
        on_ranks(n, job)
        assert sorted(os.listdir(tmp_path)) == sorted(expected)
        for name, value in expected.items():
            found = np.load(tmp_path / name)
            assert found.dtype == value.dtype
            np.testing.assert_array_equal(found, value)


@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes_survive(tmp_path, dtype):
    x = numbers(dtype="i8").astype(dtype)
    on_ranks(3, lambda world: taskarr.save(tmp_path / "x.npy", taskarr.asarray(x)))
    np.save(tmp_path / "numpy.npy", x)
    assert (tmp_path / "x.npy").read_bytes() == (tmp_path / "numpy.npy").read_bytes()


def test_structures_survive(tmp_path):
    x = np.zeros(7, [("a", "i2"), ("b", "f8", (2,))])
    x["a"] = range(7)
    on_ranks(3, lambda world: taskarr.save(tmp_path / "x.npy", taskarr.asarray(x)))
    np.testing.assert_array_equal(np.load(tmp_path / "x.npy"), x)
    found = on_ranks(2, lambda world: taskarr.load(tmp_path / "x.npy").numpy()).value
    np.testing.assert_array_equal(found, x)


def test_saving_over_the_file_that_is_read(tmp_path):
    path = tmp_path / "x.npy"

    def job(world):
        old = taskarr.load(path)
        taskarr.save(path, old[::-1] * 2)
        return old.numpy(), taskarr.load(path).numpy()

    for n in RANKS:
        np.save(path, numbers())
        old, new = on_ranks(n, job).value
        np.testing.assert_array_equal(old, numbers())
        np.testing.assert_array_equal(new, numbers()[::-1] * 2)


def test_each_rank_reads_and_writes_its_share(tmp_path):
    x = numbers((60, 4))
    np.save(tmp_path / "x.npy", x)

    def job(world):
        taskarr.save(tmp_path / "y.npy", taskarr.load(tmp_path / "x.npy", split=0) + 1)
        return world.counters["file_read_bytes"], world.counters["file_written_bytes"]

    for n in (1, 2, 3, 5):
        found = on_ranks(n, job, alike=False).values
        assert found == [(x.nbytes // n, x.nbytes // n)] * n


def test_columns_are_read_by_their_owners(tmp_path):
    np.save(tmp_path / "x.npy", numbers((6, 20)))

    def job(world):
        a = taskarr.load(tmp_path / "x.npy", split=1)
        a.persist()
        return world.counters["file_read_bytes"], host(a.local)

    ran = on_ranks(2, job, alike=False).values
    assert sum(nbytes for nbytes, _ in ran) == 6 * 20 * 8
    np.testing.assert_array_equal(np.hstack([local for _, local in ran]), numbers((6, 20)))


def raised(n, job):
    """Exception that a job raised, alike on all ranks."""

    def guarded(world):
        before = taskarr.arange(20).sum()
        try:
            job(world)
        except Exception as error:
            assert int(before) == 190  # the program goes on
            return type(error), str(error)
        return None, ""

    return on_ranks(n, guarded).value


def header(text: str) -> bytes:
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode()


BAD = {
    "empty": b"",
    "text": b"month,delay\n1,2\n",
    "magic only": b"\x93NUMPY",
    "cut header": header("{'descr': '<f8', 'fortran_order': False")[:-3],
    "broken header": header("{'descr': '<f8', 'shape'"),
    "no shape": header("{'descr': '<f8', 'fortran_order': False}\n"),
    "unknown dtype": header("{'descr': '<q9', 'fortran_order': False, 'shape': (3,)}\n"),
    "unknown version": b"\x93NUMPY\x09\x00" + bytes(100),
    "negative shape": header("{'descr': '<f8', 'fortran_order': False, 'shape': (-3,)}\n"),
    "cut data": header("{'descr': '<f8', 'fortran_order': False, 'shape': (30,)}\n") + bytes(64),
    "zip": b"PK\x03\x04" + bytes(100),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_files(tmp_path, name):
    path = tmp_path / "bad.npy"
    path.write_bytes(BAD[name])
    for n in (1, 3):
        kind, text = raised(n, lambda world: taskarr.load(path))
        assert issubclass(kind, (ValueError, EOFError)), (kind, text)
        assert "bad.npy" in text


def test_files_of_python_objects(tmp_path):
    np.save(tmp_path / "o.npy", np.array([1, None]), allow_pickle=True)
    for n in (1, 2):
        kind, text = raised(n, lambda world: taskarr.load(tmp_path / "o.npy"))
        assert kind is ValueError
        assert "object" in text.lower()


def test_missing_files_and_folders(tmp_path):
    (tmp_path / "folder.npy").mkdir()
    a = np.arange(12.0)
    jobs = {
        "missing": (lambda world: taskarr.load(tmp_path / "none.npy"), FileNotFoundError),
        "a folder": (lambda world: taskarr.load(tmp_path / "folder.npy"), IsADirectoryError),
        "no path": (lambda world: taskarr.load(None), TypeError),
        "no folder": (
            lambda world: taskarr.save(tmp_path / "no" / "x.npy", taskarr.asarray(a)),
            FileNotFoundError,
        ),
        "over a folder": (
            lambda world: taskarr.save(tmp_path / "folder.npy", taskarr.asarray(a)),
            IsADirectoryError,
        ),
        "below a file": (
            lambda world: taskarr.save(tmp_path / "file" / "x.npy", taskarr.asarray(a)),
            NotADirectoryError,
        ),
        "split": (lambda world: taskarr.load(tmp_path / "x.npy", split=3), ValueError),
    }
    (tmp_path / "file").write_text("")
    np.save(tmp_path / "x.npy", a)
    before = sorted(os.listdir(tmp_path))
    for n in (1, 3):
        for name, (job, expected) in jobs.items():
            kind, text = raised(n, job)
            assert kind is expected, (name, kind, text)
    assert sorted(os.listdir(tmp_path)) == before


def test_a_file_that_shrinks_while_it_is_read(tmp_path):
    path = tmp_path / "x.npy"
    np.save(path, numbers((40, 4)))

    def job(world):
        a = taskarr.load(path, split=0)
        world.allgather(None, "opened")
        if world.rank == 0:
            os.truncate(path, 500)
        world.allgather(None, "cut")
        a.numpy()

    for n in (1, 3):
        np.save(path, numbers((40, 4)))
        kind, text = raised(n, job)
        assert issubclass(kind, OSError)
        assert "x.npy" in text


def test_a_failing_rank_leaves_the_old_file(tmp_path, monkeypatch):
    """The file is replaced when all ranks have written, or not at all."""
    path = tmp_path / "x.npy"
    np.save(path, numbers())
    real = os.pwrite

    def job(world):
        try:
            taskarr.save(path, taskarr.asarray(numbers() + 1, split=0))
        except OSError as error:
            return str(error)
        return "saved"

    for n in (1, 2, 3):
        calls = []

        def full_disk(*args, n=n, calls=calls):
            calls.append(args)
            if len(calls) == n:
                raise OSError(28, "No space left on device")
            return real(*args)

        monkeypatch.setattr(os, "pwrite", full_disk)
        assert "No space left" in on_ranks(n, job).value
        monkeypatch.setattr(os, "pwrite", real)
        np.testing.assert_array_equal(np.load(path), numbers())
        assert os.listdir(tmp_path) == ["x.npy"]
        assert on_ranks(n, job).value == "saved"
        np.testing.assert_array_equal(np.load(path), numbers() + 1)
        np.save(path, numbers())


def test_permissions_are_those_of_any_new_file(tmp_path):
    (tmp_path / "plain").write_text("")
    taskarr.save(tmp_path / "x.npy", taskarr.arange(3))
    assert os.stat(tmp_path / "x.npy").st_mode == os.stat(tmp_path / "plain").st_mode


@pytest.mark.parametrize("placing", LAYOUTS[:5], ids=str)
def test_large_pending_arrays_are_saved_in_parts(tmp_path, placing, caplog):
    x = numbers((23, 4))
    y = x[::-1] * 2 - x.mean(axis=0)

    def job(world):
        a = placing.place(x)
        taskarr.save(tmp_path / "y.npy", a[::-1] * 2 - a.mean(axis=0))
        taskarr.save(tmp_path / "t.npy", (a * 2).T)
        return world.counters["file_written_bytes"]

    for n in (1, 2, 3):
        ran = on_ranks(n, job, memory=64, alike=False)
        assert sum(ran.values) == 2 * x.nbytes
        assert not caplog.messages
        np.testing.assert_allclose(np.load(tmp_path / "y.npy"), y, rtol=1e-14)
        np.testing.assert_array_equal(np.load(tmp_path / "t.npy"), 2 * x.T)


class Torn:
    """Numbers of which the last can't be read."""

    shape, dtype = (99,), np.dtype("f8")

    def __getitem__(self, key):
        if np.arange(99)[key].max(initial=0) > 90:
            raise OSError("torn")
        return np.arange(99.0)[key]


def test_a_part_that_fails_leaves_the_old_file(tmp_path):
    np.save(tmp_path / "x.npy", numbers())

    def job(world):
        a = taskarr.from_array(Torn(), split=0) + 1
        with pytest.raises(OSError, match="torn"):
            taskarr.save(tmp_path / "x.npy", a)
        return world.counters["file_written_bytes"]

    assert sum(on_ranks(2, job, memory=64, alike=False).values) > 0
    np.testing.assert_array_equal(np.load(tmp_path / "x.npy"), numbers())
    assert [path.name for path in tmp_path.iterdir()] == ["x.npy"]


def test_objects_are_not_saved(tmp_path):
    with pytest.raises(TypeError, match="object"):
        taskarr.save(tmp_path / "x.npy", np.array([1, None]))
    assert os.listdir(tmp_path) == []


def test_host_arrays_are_saved_too(tmp_path):
    on_ranks(2, lambda world: taskarr.save(tmp_path / "x", [[1, 2], [3, 4]]))
    np.testing.assert_array_equal(np.load(tmp_path / "x.npy"), [[1, 2], [3, 4]])


def test_a_link_stays_and_what_it_leads_to_is_replaced(tmp_path):
    np.save(tmp_path / "x.npy", numbers())
    (tmp_path / "link.npy").symlink_to(tmp_path / "x.npy")
    on_ranks(2, lambda world: taskarr.save(tmp_path / "link.npy", taskarr.asarray(numbers() + 1)))
    assert (tmp_path / "link.npy").is_symlink()
    np.testing.assert_array_equal(np.load(tmp_path / "x.npy"), numbers() + 1)


@pytest.mark.parametrize("dtype", ["f8", [("x", "f4"), ("y", "i2")], [("\u6f22", "i4")]])
def test_headers_of_all_versions_are_read(tmp_path, dtype):
    x = np.zeros(5, dtype)
    x[:] = [tuple([k] * len(x.dtype)) if x.dtype.names else k for k in range(5)]
    versions = [(3, 0)] if "\u6f22" in str(dtype) else [(1, 0), (2, 0), (3, 0)]
    for version in versions:
        with open(tmp_path / "x.npy", "wb") as file:
            np.lib.format.write_array(file, x, version=version)
        found = on_ranks(2, lambda world: taskarr.load(tmp_path / "x.npy").numpy()).value
        assert found.dtype == x.dtype
        np.testing.assert_array_equal(found, x)


def test_an_error_names_the_users_path(tmp_path):
    path = tmp_path / "none" / "x.npy"
    with pytest.raises(FileNotFoundError) as caught:
        taskarr.save(path, taskarr.arange(3))
    assert caught.value.filename == str(path)
