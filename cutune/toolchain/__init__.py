"""The compiler of the machine: where it is, what it makes of a source, the names that it gives."""
