"""Results of tuners in the formats of several: read, written, told apart."""
