"""What the user sees of an array."""

from taskarr.arrays.array import Array
from taskarr.arrays.handle import node_of

__all__ = ["Array", "node_of"]
