"""`convert`, `bat`: results of other tuners, and these tuners."""
