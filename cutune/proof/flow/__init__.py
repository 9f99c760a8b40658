"""The walk over a compiled function: the value of every operand, conditions at every block."""
