"""Tuners compared over one space and one set of times: cutune's, and those of others."""
