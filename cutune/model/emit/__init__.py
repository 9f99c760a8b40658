"""Models in, C out: the selection routine of a tuned program."""
