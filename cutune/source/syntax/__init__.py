"""Text to syntax: tokens, brackets, functions, kernels, launches, pragmas."""
