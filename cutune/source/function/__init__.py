"""One device function, normalised for pycparser: its names, parameters, variables."""
