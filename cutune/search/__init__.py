"""Parameters of a program tried: built, run, timed, searched."""
