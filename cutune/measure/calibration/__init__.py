"""The model's constants of a GPU: micro-kernels timed there, constants fitted."""
