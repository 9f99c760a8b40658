"""Timings of cutune: `python -m benchmarks [NAME …]`. Tests never measure time."""
