"""Results of tuners, in the formats of several: read, written, told apart."""

#: Names of the formats, for options: what reads them takes longer to import.
TRIALS, CACHE, WISDOM, T4, CSV = "trials", "kernel-tuner", "wisdom", "t4", "csv"
FORMAT_NAMES = (TRIALS, T4, CACHE, WISDOM, CSV)
