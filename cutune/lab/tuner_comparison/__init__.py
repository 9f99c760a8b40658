"""Comparison of tuners: cutune and others search one space, on one set of times."""
