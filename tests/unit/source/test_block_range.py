"""Which blocks an annotation allows."""

from __future__ import annotations

import json
from dataclasses import asdict

import pytest

from cutune.core.typed import typed
from cutune.source.candidates import BlockRange, candidate_blocks
from cutune.space.annotation import Values

RANGE = BlockRange(Values((), (8, 64)), Values((1, 3)), None, "ceil(x / y) % 2 == 0 && x * y <= 96")


@pytest.mark.parametrize(
    ("where", "shape", "allowed"),
    [
        ("x * y <= 1024", (32, 32, 1), True),
        ("x * y <= 1024", (64, 32, 1), False),
        ("x / y == 1", (3, 2, 1), False),
        ("floor(x / y) == 1", (3, 2, 1), True),
        ("x < y || z == 1 && x != 32", (32, 8, 1), False),
        ("(x < y || z == 1) && x == 32", (32, 8, 1), True),
        ("max(x, y) - min(x, y) >= 24", (32, 8, 1), True),
        ("x % (y - 8) == 0", (32, 8, 1), False),
        ("x", (1, 1, 1), True),
    ],
)
def test_where(where: str, shape: tuple[int, int, int], allowed: bool) -> None:
    assert BlockRange(where=where).allows(shape) is allowed


def test_sizes() -> None:
    assert RANGE.allows((32, 1, 1)) and RANGE.allows((30, 3, 1))
    assert not RANGE.allows((4, 1, 1)) and not RANGE.allows((32, 2, 1))


def test_json() -> None:
    assert typed(BlockRange, json.loads(json.dumps(asdict(RANGE)))) == RANGE


@pytest.mark.parametrize("where", ["x <", "n > 3", "(" * 900 + "x"])
def test_a_condition_that_cannot_be_asked_is_said(where: str) -> None:
    with pytest.raises(ValueError, match="is no condition"):
        BlockRange(where=where).check()


def test_a_range_filters_the_candidates_and_keeps_the_own_block() -> None:
    allowed = BlockRange(Values((), (32, 128)))
    blocks = candidate_blocks([True, False, False], (256, 1, 1), allowed=allowed)
    assert [x for x, _, _ in blocks] == [32, 64, 96, 128, 256]


def test_a_list_takes_the_place_of_the_candidates() -> None:
    allowed = BlockRange(Values((48, 100)), Values((), (1, 2)))
    blocks = candidate_blocks([True, True, False], (32, 8, 1), allowed=allowed)
    assert blocks == ((32, 8, 1), (48, 1, 1), (48, 2, 1), (100, 1, 1), (100, 2, 1))
