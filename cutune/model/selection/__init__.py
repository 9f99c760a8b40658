"""The choice of a thread block from predicted times."""
