"""The stages joined, answers that still hold, and `cutune nvcc`."""
