"""Accesses of a compiled kernel, and which of its threads may meet in memory."""
