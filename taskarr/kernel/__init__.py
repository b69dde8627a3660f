"""Fused kernels: straight-line programs of array calls, run over tiles that stay in the cache."""
