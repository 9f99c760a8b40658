"""Measurements of a kernel as data: counts, extents, alignment, sweeps."""
