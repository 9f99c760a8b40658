"""What may be reached, and what leads to itself."""

from __future__ import annotations

import random

from cutune.core.reaching import circles, reached


def test_circles_are_what_reaches_itself() -> None:
    for seed in range(200):
        rng = random.Random(seed)
        count = rng.randint(1, 9)
        edges = {
            one: [rng.randrange(count) for _ in range(rng.randint(0, 3))] for one in range(count)
        }
        own = {one for one in edges if one in reached(edges[one], edges.__getitem__)}
        found = [*circles(edges)]
        assert sorted(one for group in found for one in group) == sorted(own)
        for group in found:
            assert all({*group} <= {*reached([one], edges.__getitem__)} for one in group)


def test_long_ways_are_no_recursion() -> None:
    edges = {n: [n + 1] for n in range(10_000)} | {10_000: [0]}
    [group] = circles(edges)
    assert len(group) == 10_001
