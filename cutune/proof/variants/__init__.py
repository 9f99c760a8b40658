"""Copies of kernels that do the same under a condition. Takes a `Kernel`, gives its variants."""
