"""Bounds of ids beyond which threads do nothing. Takes accesses and a finished walk."""

from __future__ import annotations

from collections.abc import Iterable

from cutune.proof.flow.graph import Graph
from cutune.proof.flow.walk import Walk
from cutune.proof.memory.accesses import MemoryAccess
from cutune.proof.values.bounds import IdBound, common
from cutune.proof.values.predicates import properties_of


def guards(
    dimension: str, accesses: Iterable[MemoryAccess], graph: Graph, walk: Walk
) -> list[IdBound]:
    """The bounds that hold wherever additional threads could do something."""
    places = [a.known for a in accesses if _matters(a, dimension, graph, walk)]
    places += [
        walk.known_at_beginning(header)
        for header, blocks in graph.loop_of_header.items()
        if _may_last(blocks, dimension, graph, walk)
    ]
    return common(places, dimension, walk.atoms)


def _matters(access: MemoryAccess, dimension: str, graph: Graph, walk: Walk) -> bool:
    """May additional threads do anything that the present ones do not do anyway?"""
    if access.is_effect or dimension in access.properties.ids:
        return True
    deciding = graph.controllers(access.block)
    return any(dimension in properties_of(walk.branches[b], walk.atoms).ids for b in deciding)


def _may_last(blocks: frozenset[int], dimension: str, graph: Graph, walk: Walk) -> bool:
    """Does the id decide how long threads stay in a loop?"""
    leaving = (b for b in blocks if set(graph.flow.blocks[b].terminator.targets) - blocks)
    return any(
        dimension in properties_of(walk.branches[b], walk.atoms).ids
        for b in leaving
        if b in walk.branches
    )
