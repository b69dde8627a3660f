"""Benchmarks: taskarr against NumPy, the copy limit and its peers; ``python -m benchmarks``."""
