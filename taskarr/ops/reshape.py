"""Reshaping: the elements in C order as an array of another shape.

Bricks that are runs of elements are seen in the new shape where they are. Else elements move, as
flat arrays do: to bricks that are runs, from these to the flat cuts of the result, and on to the
result's layout if that has none.
"""

from math import prod

from taskarr.expr import RESHAPED, Expr, blank, moved_to, view_of
from taskarr.geometry.flat import flat_of, has_blocks_of_rows, in_rows, shaped
from taskarr.geometry.layout import Layout
from taskarr.geometry.view import NEW, Affine
from taskarr.ops.operands import layout_for
from taskarr.runtime import runtime


def reshaped(x: Expr, shape: tuple[int, ...]) -> Expr:
    """Node of the elements of ``x`` in C order in a shape of as many elements."""
    view = squeezed(x.shape, shape)
    if view is not None:
        return view_of(x, view)
    if not prod(shape):
        layout = layout_for(x.world, shape, x.dtype)
        return blank(x.dtype, layout, x.world)
    if x.layout.replicated:
        return _seen(x, layout_for(x.world, shape, x.dtype, split=None))
    flat = flat_of(x.layout)
    if flat and has_blocks_of_rows(x.layout):
        free = shaped(flat, shape)
        if free:
            return _seen(x, free)
    final = layout_for(x.world, shape, x.dtype)
    target = final if flat_of(final) else _rows(x, shape)
    cuts = flat_of(target)
    if flat is None:
        x = moved_to(x, _rows(x, x.shape))
        flat = flat_of(x.layout)
    assert flat is not None and cuts is not None
    return moved_to(_seen(moved_to(_seen(x, flat), cuts), target), final)


def _seen(x: Expr, layout: Layout) -> Expr:
    return Expr(RESHAPED, (x,), x.dtype, layout, x.world)


def _rows(x: Expr, shape: tuple[int, ...]) -> Layout:
    world = x.world
    return in_rows(shape, max(1, x.dtype.itemsize), world.size, runtime(world).settings.block)


def squeezed(old: tuple[int, ...], new: tuple[int, ...]) -> Affine | None:
    """View that only takes away or puts in axes of length one, if that gives the shape."""
    kept = [k for k, n in enumerate(old) if n != 1]
    if [old[k] for k in kept] != [n for n in new if n != 1]:
        return None
    rest = iter(kept)
    axes = tuple(NEW if n == 1 else next(rest) for n in new)
    steps = tuple(0 if a == NEW else 1 for a in axes)
    return Affine(new, axes, (0,) * len(old), steps, old)
