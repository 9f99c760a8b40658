"""Rounding in compiled code: is it the same in a copy of a kernel?"""
