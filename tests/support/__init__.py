"""What tests and benchmarks share: programs, recorded data, stand-ins, and ways to run cutune."""
