"""Counts in, rational functions of the sizes out."""
