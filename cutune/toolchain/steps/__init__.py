"""nvcc's steps, run one by one: what it makes of a source, in parts."""
