"""Performance models, each written once as a rational program."""
