"""Recorded launches of a kernel, run again at other sizes and thread blocks."""
