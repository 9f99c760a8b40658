"""How compiled code rounds: is it the same in a copy of a kernel?"""
