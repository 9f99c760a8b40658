"""What was measured of a kernel, as data: counts, extents, alignment, sweeps."""
