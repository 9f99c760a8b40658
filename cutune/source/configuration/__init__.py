"""Execution configurations: which definitions of grid, block and shared memory reach a launch."""
