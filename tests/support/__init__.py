"""Helpers of tests and benchmarks: programs, recorded data, stand-ins, and ways to run cutune."""
