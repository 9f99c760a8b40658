"""Loops in which threads stride over elements. Takes a finished walk, gives the elements' limits.

In `for (j = id; j < n; j += threads)` each thread does the elements j = id + threads * rounds, and
no two do the same one: j tells which thread it is, and which round.
"""

from __future__ import annotations

from cutune.frontend.values.polynomial import IDENTITY, OPAQUE, STRIDE, IntegerPolynomial
from cutune.proof.flow.walk import Known, Walk
from cutune.proof.values.bounds import ID_BITS, ordered
from cutune.proof.values.terms import is_of_parameters


def elements_of(header: int, dimension: str) -> IntegerPolynomial:
    """Return the amount that a loop has added to the id so far."""
    threads = IntegerPolynomial.atom(STRIDE, dimension)
    return threads * IntegerPolynomial.atom(OPAQUE, f"rounds{header}")


def element_limits(walk: Walk, header: int, dimension: str) -> frozenset[IntegerPolynomial]:
    """Return numbers n of parameters such that elements are below n, if n is from 1 to 2^30.

    A thread that comes to the loop has tested `id < n`, and one that goes on `j + threads < n`,
    both on registers. By induction these hold the exact numbers: j < n <= 2^30, and there are at
    most 2^30 threads, so that j + threads fits, with a sign or without.
    """
    graph = walk.graph
    identity = IntegerPolynomial.atom(IDENTITY, dimension)
    following = identity + elements_of(header, dimension)
    following = following + IntegerPolynomial.atom(STRIDE, dimension)
    ways = [(walk.known_on_way(block, header), identity) for block in graph.entries(header)]
    ways += [(walk.known_on_way(block, header), following) for block in graph.latches(header)]
    limits = [_limits(known, value) for known, value in ways]
    return frozenset.intersection(*limits) if limits else frozenset()


def _limits(known: Known, value: IntegerPolynomial) -> frozenset[IntegerPolynomial]:
    return frozenset(
        large
        for comparison in known
        if comparison.bits >= ID_BITS
        for small, large in ordered(comparison)
        if small == value and is_of_parameters(large)
    )
