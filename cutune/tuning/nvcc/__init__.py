"""`cutune nvcc`: the compiler driver with cutune in it. Takes nvcc's arguments, gives its status.

Only `driver` and `command` are imported by a call that has nothing to do.
"""
