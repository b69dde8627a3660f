from __future__ import annotations

from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskarr.backend import numpy_backend
from taskarr.geometry.grid import even_bounds
from taskarr.geometry.region import Box
from taskarr.geometry.view import broadcast, identity
from taskarr.kernel import folder as folder_module
from taskarr.kernel import run as run_module
from taskarr.kernel import tiles as tiles_module
from taskarr.kernel.collect import Collector
from taskarr.kernel.functions import ufunc
from taskarr.kernel.leaves import own_piece
from taskarr.kernel.program import Assembler, Filter, Fold, Leaf, Program
from taskarr.kernel.reduction import Reduction
from taskarr.kernel.run import Frame, run_blocks
from taskarr.ops.reductions import ROWS
from tests.geometry.strategies import part
from tests.kernel.programs import FLOAT, cases

BACKEND = numpy_backend(0)
SHAPES = ((), (1,), (7,), (7, 8), (1, 9), (3, 2, 5))


@pytest.fixture(autouse=True)
def tiny_tiles(monkeypatch):
    """Tiles of a few elements, so that small blocks have several."""
    tiles_module.tiles.cache_clear()
    folder_module.places.cache_clear()
    whole = tiles_module.tiles
    monkeypatch.setattr(run_module, "TILE", 6)
    monkeypatch.setattr(run_module, "SEGMENT", 10)
    monkeypatch.setattr(run_module, "tiles", lambda shape, most=10: whole(shape, most))
    monkeypatch.setattr(folder_module, "tiles", lambda shape: whole(shape, 10))
    yield
    folder_module.places.cache_clear()


def blocks_of(shape: tuple[int, ...], most: int = 2) -> list[Box]:
    return list(product(*[list(pairwise(even_bounds(n, most).tolist())) for n in shape]))


def frame(sources: Any, outputs: Any = (), collectors: Any = (), args: Any = ()) -> Frame:
    pieces = [[own_piece(tuple((0, n) for n in x.shape), x)] for x in sources]
    ndim = max([x.ndim for x in (*sources, *outputs)], default=0)
    return Frame(pieces, args, outputs, collectors, (0,) * ndim, BACKEND)


@given(st.sampled_from(SHAPES[1:]).flatmap(cases), st.integers(1, 3))
def test_programs_give_what_whole_arrays_give(case, most):
    outputs = [np.full(case.shape, np.nan) for _ in case.outputs]
    blocks = blocks_of(case.shape, most)
    found = run_blocks(case.program, frame(case.sources, outputs), blocks)
    for got, expected in zip(outputs, case.outputs, strict=True):
        assert np.array_equal(got, expected)
    for k, (fold, expected) in enumerate(zip(case.program.folds, case.folds, strict=True)):
        for box, block in zip(blocks, found, strict=True):
            assert block.states[k][0].shape == tuple(
                1 if a in fold.reduction.axes else hi - lo for a, (lo, hi) in enumerate(box)
            )
        if len(blocks) == 1:
            got = found[0].states[k][0].reshape(expected.shape)
            np.testing.assert_allclose(got, expected, rtol=1e-13, atol=1e-13)


@given(st.sampled_from(SHAPES[1:]).flatmap(lambda s: cases(s, folds=False)))
def test_a_brick_may_start_anywhere(case):
    box = tuple((n // 2, n) for n in case.shape)
    outputs = [np.empty(tuple(hi - lo for lo, hi in box)) for _ in case.outputs]
    work = frame(case.sources, outputs)
    work.origin = tuple(lo for lo, _ in box)
    run_blocks(case.program, work, [box])
    for got, expected in zip(outputs, case.outputs, strict=True):
        assert np.array_equal(got, part(expected, box))


def test_zero_dimensions():
    assembler = Assembler(0)
    x = assembler.leaf(Leaf("array", 0, identity(()), FLOAT))
    value = assembler.call(ufunc("add"), (x, ("arg", 0)), FLOAT, identity(()))
    assembler.output(value, FLOAT)
    out = np.empty(())
    run_blocks(assembler.program(), frame([np.array(2.5)], [out], args=(3,)), [()])
    assert out == 5.5


def fold_of(x: np.ndarray, view: Any, axes: tuple[int, ...], name: str = "sum") -> Program:
    assembler = Assembler(len(view.shape))
    value = assembler.leaf(Leaf("array", 0, view, x.dtype))
    count = int(np.prod([view.shape[a] for a in axes]))
    result = getattr(np, name)(np.ones(1, x.dtype)).dtype
    options = (0,) if name in ("var", "std") else ()
    assembler.folds.append(
        Fold(value, Reduction(ROWS[name], x.dtype, result, axes, count, options))
    )
    return assembler.program()


@pytest.mark.parametrize("axes", [(0,), (1,), (0, 1)])
def test_the_bits_of_a_state_do_not_depend_on_how_the_data_lies(axes):
    x = np.sin(np.arange(7 * 9.0)).reshape(7, 9)
    gaps = np.zeros((7, 20))[:, :9]
    gaps[...] = x
    program = fold_of(x, identity(x.shape), axes)
    block = [((0, 7), (0, 9))]
    one = run_blocks(program, frame([x]), block)[0].states[0][0]
    for other in (gaps, np.asfortranarray(x)):
        assert run_blocks(program, frame([other]), block)[0].states[0][0].tobytes() == one.tobytes()


def test_a_value_that_repeats_is_folded_as_often():
    x = np.arange(5.0).reshape(1, 5)
    program = fold_of(x, broadcast((1, 5), (7, 5)), (0,))
    (found,) = run_blocks(program, frame([x]), [((0, 7), (0, 5))])
    assert found.states[0][0].tolist() == [[0, 7, 14, 21, 28]]


@pytest.mark.parametrize("name", ["var", "std", "mean", "any", "all", "prod"])
def test_a_block_of_many_tiles_has_one_state(name):
    x = np.cos(np.arange(7 * 9.0)).reshape(7, 9)
    program = fold_of(x, identity(x.shape), (0,), name)
    (found,) = run_blocks(program, frame([x]), [((0, 7), (0, 9))])
    got = program.folds[0].reduction.finish(np, found.states[0])
    np.testing.assert_allclose(got.reshape(-1), getattr(np, name)(x, axis=0), rtol=1e-13)


@pytest.mark.parametrize("ndim", [1, 2])
def test_filters_keep_elements_in_c_order(ndim):
    x = np.arange(7 * 8.0).reshape(7, 8)
    mask = (x % 3 == 1) if ndim == 2 else (x[:, 0] % 16 == 0)
    assembler = Assembler(2)
    value = assembler.leaf(Leaf("array", 0, identity(x.shape), FLOAT))
    view = identity(x.shape) if ndim == 2 else broadcast((7, 1), (7, 8))
    chosen = assembler.leaf(Leaf("array", 1, view, np.dtype("?")))
    assembler.filters.append(Filter(value, chosen, ndim))
    collector = Collector(np.empty((56,) if ndim == 2 else (7, 8)))
    blocks = [((a, b), (0, 8)) for a, b in ((0, 3), (3, 7))]
    sources = [x, mask if ndim == 2 else mask[:, None]]
    found = run_blocks(assembler.program(), frame(sources, collectors=[collector]), blocks)
    assert np.array_equal(collector.brick(BACKEND), x[mask])
    assert [f.kept[0] for f in found] == [len(x[:3][mask[:3]]), len(x[3:][mask[3:]])]
