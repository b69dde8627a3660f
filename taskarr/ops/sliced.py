"""Arrays read from anything that can be sliced: datasets of HDF5 or zarr, memory-mapped files."""

from typing import Any

import numpy as np

from taskarr.expr import FILE, Expr
from taskarr.geometry.region import Region, region_shape
from taskarr.ops.creation import Placement, shape_of
from taskarr.ops.operands import checked_dtype


class Sliced:
    """Something with a shape and a dtype, of which slices are read when they are needed.

    State: the object, which must not change as long as it is read; its shape and dtype.
    """

    def __init__(self, source: Any) -> None:
        missing = [name for name in ("shape", "dtype", "__getitem__") if not hasattr(source, name)]
        if missing:
            raise TypeError(
                f"from_array() needs an object with shape, dtype and slices; "
                f"{type(source).__name__} has no {', '.join(missing)}"
            )
        self.source = source
        self.shape = shape_of(source.shape)
        self.dtype = checked_dtype(np.dtype(source.dtype))

    def read(self, region: Region) -> np.ndarray:
        """Elements of a region, in C order.

        Raises
        ------
        ValueError
            When the object gives another shape than was asked for.
        """
        index = tuple(slice(r.start, r.stop, r.step) for r in region)
        found = np.asarray(self.source[index], self.dtype, "C")
        if found.shape != region_shape(region):
            raise ValueError(
                f"from_array(): {type(self.source).__name__}[{index}] gave shape {found.shape}, "
                f"not {region_shape(region)}"
            )
        return found


def from_array(source: Any, place: Placement) -> Expr:
    """Node that reads what each rank needs out of its own ``source``.

    Raises
    ------
    TypeError
        When it has no shape, dtype or slices, or holds Python objects.
    """
    file = Sliced(source)
    layout = place.layout(file.shape, file.dtype)
    return Expr(FILE, (), file.dtype, layout, place.world, (file,))
