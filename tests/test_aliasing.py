"""Random programs of views of views, written through; every array must show what NumPy's shows.

``TASKARR_FUZZ=20000 pytest tests/test_aliasing.py`` runs that many; ``TASKARR_FUZZ_SEED=7`` others.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

import taskarr
from tests.device.install import held_here
from tests.layouts import on_ranks, quiet

EXAMPLES = int(os.environ.get("TASKARR_FUZZ", "300"))
SEED = int(os.environ.get("TASKARR_FUZZ_SEED", "0"))

PAIR = np.dtype([("a", "i4"), ("b", "f8")])
SHAPES = ((6,), (4, 6), (3, 4), (2, 3, 4), (1, 5), (0, 4), (5, 1, 2))
VIEWS: tuple[Any, ...] = (
    ("slice", lambda x: x[::2]),
    ("tail", lambda x: x[1:]),
    ("backwards", lambda x: x[::-1]),
    ("last axis", lambda x: x[..., -2:]),
    ("every other column", lambda x: x[..., ::-2]),
    ("row", lambda x: x[0]),
    ("column", lambda x: x[..., 1]),
    ("new axis", lambda x: x[None, ..., None]),
    ("T", lambda x: x.T),
    ("swapaxes", lambda x: x.swapaxes(0, -1)),
    ("moveaxis", lambda x: np.moveaxis(x, 0, -1)),
    ("flip", lambda x: np.flip(x)),
    ("squeeze", lambda x: x.squeeze()),
    ("ravel", lambda x: x.ravel()),
    ("ravel F", lambda x: x.ravel("F")),
    ("ravel A", lambda x: x.ravel("A")),
    ("ravel K", lambda x: x.ravel("K")),
    ("flatten", lambda x: x.flatten()),
    ("reshape -1", lambda x: x.reshape(-1)),
    ("reshape 2", lambda x: x.reshape(2, -1)),
    ("reshape 3 F", lambda x: x.reshape(3, -1, order="F")),
    ("reshape 3 2", lambda x: x.reshape(-1, 3, 2)),
    ("reshape A", lambda x: x.reshape((-1, 2), order="A")),
    ("no copy", lambda x: x.reshape(-1, 2, copy=False)),
    ("real", lambda x: x.real),
    ("imag", lambda x: x.imag),
    ("field a", lambda x: x["a"]),
    ("fields b, a", lambda x: x[["b", "a"]]),
    ("view i4", lambda x: x.view("i4")),
    ("view f8", lambda x: x.view("f8")),
    ("view u1", lambda x: x.view("u1")),
    ("view c16", lambda x: x.view("c16")),
    ("diagonal", lambda x: x.diagonal()),
    ("diagonal 1", lambda x: x.diagonal(1, -1, 0)),
    ("copy", lambda x: x.copy()),
    ("plus", lambda x: x + x),
    ("broadcast", lambda x: np.broadcast_to(x, (2, *x.shape))),
    ("rot90", lambda x: np.rot90(x)),
    ("atleast_3d", lambda x: np.atleast_3d(x)),
)


def set_all(x: Any, y: Any) -> None:
    x[...] = y


def set_row(x: Any, y: Any) -> None:
    x[1] = y[0]


def add_in_place(x: Any, y: Any) -> None:
    x += y[..., :1]


def add_into(x: Any, y: Any) -> None:
    np.add(x, y, out=x)


def shift(x: Any, y: Any) -> None:
    x[1:] = x[:-1]


def turn(x: Any, y: Any) -> None:
    x[:] = x[::-1]


def set_real(x: Any, y: Any) -> None:
    if not x.flags.writeable:
        raise ValueError  # NumPy writes the zeros that it gives as imaginary parts
    x.real = y.real


def set_number(x: Any, y: Any) -> None:
    x[..., :2] = 7


WRITES: tuple[Any, ...] = (
    set_all, set_row, add_in_place, add_into, shift, turn, set_real, set_number,
)  # fmt: skip


def numbers(shape: tuple[int, ...], dtype: Any, first: int) -> np.ndarray:
    size = int(np.prod(shape))
    values = np.arange(first, first + size)
    found = np.zeros(size, dtype)
    if found.dtype.names:
        found["a"], found["b"] = values, values * 0.5
    elif found.dtype.kind == "c":
        found[:] = values + 1j * (values % 5)
    else:
        found[:] = values % 100
    return found.reshape(shape)


def run(xp: Any, program: Any) -> list[Any]:
    """What all arrays show at the end, and what every step raised."""
    arrays: list[Any] = []
    found: list[Any] = []
    for shape, dtype, split in program["bases"]:
        base = numbers(shape, dtype, len(arrays))
        axis = min(split, len(shape) - 1)
        arrays.append(base if xp is np else taskarr.asarray(base, split=axis))
    for kind, which, target, source in program["steps"]:
        try:
            if kind == "view":
                arrays.append(VIEWS[which % len(VIEWS)][1](arrays[target % len(arrays)]))
            else:
                write = WRITES[which % len(WRITES)]
                write(arrays[target % len(arrays)], arrays[source % len(arrays)])
            found.append(None)
        except (ValueError, TypeError, IndexError, AttributeError) as error:
            found.append(type(error).__name__ if kind == "view" else "refused")
    values = [np.array(x) if xp is np else x.numpy() for x in arrays]
    return [*found, *values, *map(walks, arrays)]


def walks(x: Any) -> list[int]:
    """Strides of the axes that are walked along."""
    return [s for n, s in zip(x.shape, x.strides, strict=True) if n > 1] if x.size else []


STEP = st.tuples(
    st.sampled_from(("view", "view", "write")),
    st.integers(0, 10**6),
    st.integers(0, 20),
    st.integers(0, 20),
)
BASE = st.tuples(
    st.sampled_from(SHAPES),
    st.sampled_from(held_here(("f8", "i4", "c16", "u1", PAIR))),
    st.integers(0, 2),
)
PROGRAMS = st.fixed_dictionaries(
    {
        "bases": st.lists(BASE, min_size=1, max_size=2),
        "steps": st.lists(STEP, min_size=2, max_size=7),
    }
)


@seed(SEED)
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)
@given(program=PROGRAMS, n=st.sampled_from((1, 2, 3, 5)))
def test_as_numpy(program, n):
    with quiet():
        expected = run(np, program)
    found = on_ranks(n, lambda world: run(taskarr, program)).value
    names = [
        (VIEWS[w % len(VIEWS)][0] if k == "view" else WRITES[w % len(WRITES)].__name__, t, s)
        for k, w, t, s in program["steps"]
    ]
    for got, want in zip(found, expected, strict=True):
        if isinstance(want, np.ndarray):
            assert (got.dtype, got.shape) == (want.dtype, want.shape), names
            np.testing.assert_array_equal(got, want, err_msg=str(names))
        else:
            assert got == want, names
