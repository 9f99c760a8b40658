"""Calibration: micro-kernels timed on a real GPU, and the constants that explain their times."""
