"""cutune: every CUDA kernel launch picks its own thread-block shape at run time."""

__version__ = "0.1.0"
