"""Nearest neighbours over tables of times, as data and as C."""
