"""Arrays in the memory of a device such as a GPU: NumPy's functions by a module like CuPy's."""
