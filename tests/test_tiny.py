"""The product on one page: what a user can do, on any number of ranks. Run first."""

import numpy as np
import pytest

import taskarr
from tests.layouts import on_ranks

X = np.arange(35.0).reshape(7, 5)
RANKS = (1, 2, 3)


def everywhere(job):
    """What a job gives on 1, 2 and 3 ranks, and on every rank."""
    found = [on_ranks(n, lambda world: job()) for n in RANKS]
    assert all(ran.flowed for ran in found[1:]), "no data moved between the ranks"
    for ran in found[1:]:
        np.testing.assert_array_equal(ran.value, found[0].value)
    return found[0].value


def test_arrays_are_cut_among_ranks():
    def job(world):
        a = taskarr.asarray(X)
        return a.split, len(a.chunks[0]), a.local.shape[0]

    found = on_ranks(3, job, alike=False).values
    assert [rows for _, _, rows in found] == [2, 2, 3]
    assert found[0][:2] == ((0, 1), 7)


def test_expressions_are_numpys():
    def job():
        a = taskarr.asarray(X)
        return (taskarr.sqrt(a * a + 1) / (a + 2) - a[0]).numpy()

    np.testing.assert_array_equal(everywhere(job), np.sqrt(X * X + 1) / (X + 2) - X[0])


def test_reductions():
    def job():
        a = taskarr.asarray(X)
        return taskarr.compute(a.sum(), a.mean(axis=0).max(), a.std(), (a > 3).any(axis=1).sum())

    np.testing.assert_allclose(everywhere(job), (595, 19, X.std(), 7), rtol=1e-12)


def test_slices_are_views():
    def job():
        a = taskarr.asarray(X)
        inner = a[1:-1, ::2]
        inner += 100
        a[0] = a[-1]
        return a.numpy()

    expected = X.copy()
    expected[1:-1, ::2] += 100
    expected[0] = expected[-1]
    np.testing.assert_array_equal(everywhere(job), expected)


def test_neighbours_meet_at_their_edges():
    def job():
        u = taskarr.asarray(X)
        return (u[2:] - 2 * u[1:-1] + u[:-2]).numpy()

    np.testing.assert_array_equal(everywhere(job), np.zeros((5, 5)))


def test_masks_select_rows():
    def job():
        a = taskarr.asarray(X)
        late = a[a[:, 2] > a[:, 2].mean()]
        return late.numpy(), len(late)

    rows, count = everywhere_pair(job)
    np.testing.assert_array_equal(rows, X[4:])
    assert count == 3


def everywhere_pair(job):
    return on_ranks(3, lambda world: job()).value


def test_scalars_are_python_numbers():
    def job():
        a = taskarr.asarray(X)
        total = 0.0
        while float(a.max()) > 1:
            a = a / 2
            total += float(a.sum())
        return np.array([total])

    assert everywhere(job)[0] > 0


def test_layouts_change_no_value():
    def job():
        rows = taskarr.asarray(X, split=0)
        columns = rows.redistribute(split=1)
        return (rows + columns + columns.T.T).numpy()

    np.testing.assert_array_equal(everywhere(job), 3 * X)


def test_numpy_functions_take_arrays():
    def job():
        a = taskarr.asarray(X)
        return (np.sqrt(a) + np.sum(a, axis=0)).numpy()

    np.testing.assert_array_equal(everywhere(job), np.sqrt(X) + X.sum(axis=0))


def test_files(tmp_path):
    np.save(tmp_path / "in.npy", X)

    def job():
        a = taskarr.load(tmp_path / "in.npy")
        taskarr.save(tmp_path / "out.npy", a[a[:, 0] >= 10] * 2)
        return taskarr.load(tmp_path / "out.npy").numpy()

    np.testing.assert_array_equal(everywhere(job), X[2:] * 2)
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), X[2:] * 2)


def test_text():
    def job(world):
        return str(taskarr.asarray(X)), repr(taskarr.asarray(X))

    text, short = on_ranks(3, job).value
    assert text == str(X)
    assert short == "<taskarr.Array shape=(7, 5) dtype=float64 split=(0, 1), blocks=21>"


def test_mistakes_raise_what_numpy_raises():
    a = taskarr.asarray(X)
    with pytest.raises(ValueError, match=r"\(7,5\) \(3,\)"):
        a + np.ones(3)
    with pytest.raises(IndexError, match="index 7"):
        a[7]
    with pytest.raises(ValueError, match="ambiguous"):
        bool(a)
    with pytest.raises(NotImplementedError, match="numpy"):
        taskarr.sort(a)
