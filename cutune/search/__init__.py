"""Parameters of a program tried: built, run, timed, compared, searched, chosen."""
