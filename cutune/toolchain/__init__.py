"""The compiler of the machine: where it is, its steps, the code and the names that it makes."""
