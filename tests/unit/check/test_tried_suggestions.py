"""Suggestions after trials: kept, narrowed, or dropped with the reason."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from cutune.check.tried_suggestions import Judged, narrowed
from cutune.proof.analysis.suggestions import NOT_TRIED, Suggestion

RANGE = "#pragma cutune kernel k data(n) block(x: 32..1024) grid(keep)"
LIST = "#pragma cutune kernel k block(x: 32, 64, 128, 256, 512)"
ASSOCIATIVE = "#pragma cutune kernel k associative"


def suggestion(pragma: str) -> Suggestion:
    return Suggestion("a.cu", 3, "k", (9,), "CT211", pragma, "You thereby assert it.", NOT_TRIED)


def shown(work: Mapping[int, float], **about: str) -> Judged:
    by_block = {(width, 1, 1): times for width, times in work.items()}
    return Judged(
        own=(128, 1, 1), sizes=("n=64", "n=96"), blocks=(*by_block,), work=by_block, **about
    )


@pytest.mark.parametrize(
    ("pragma", "work", "becomes"),
    [
        (RANGE, {32: 1.0, 256: 1.1, 1024: 1.25}, RANGE),
        (RANGE, {32: 4.0, 64: 1.2, 256: 1.0, 1024: 1.0}, RANGE.replace("32..", "64..")),
        (RANGE, {32: 1.0, 256: 1.0, 512: 1.3, 1024: 2.0}, RANGE.replace("1024", "256")),
        # Behind a block that does more, none is taken.
        (RANGE, {32: 1.0, 64: 3.0, 256: 1.0}, RANGE.replace("32..1024", "128..256")),
        (LIST, {32: 4.0, 64: 1.0, 256: 1.0, 512: 1.0}, LIST.replace("32, ", "")),
        # What is proven needs no other range: the model counts what its blocks cost.
        (ASSOCIATIVE, {32: 1.0, 256: 1.0, 1024: 7.0}, ASSOCIATIVE),
    ],
)
def test_blocks_that_do_more_work_are_taken_out(
    pragma: str, work: dict[int, float], becomes: str
) -> None:
    judged = shown(work).judged(suggestion(pragma))
    assert judged.pragma == becomes and judged.tried is not None
    assert "n=64 and n=96" in judged.tried and "the same results" in judged.tried
    assert judged.text == "You thereby assert it."
    assert ("left out" in judged.tried) == (becomes != pragma)


@pytest.mark.parametrize(
    ("work", "about", "said"),
    [
        ({32: 9.0, 256: 1.5}, {}, "block 256, the best of them, does 1.50 times the work"),
        ({32: 9.0, 64: 1.0, 96: 2.0, 256: 1.5}, {}, "block 32 does 9.00 times the work"),
        ({32: 1.0}, {"difference": "results change with block 32 at n=64"}, "block 32 at n=64"),
        ({}, {"obstacle": "uses a texture"}, "no launch may be tuned with it (uses a texture)"),
    ],
)
@pytest.mark.parametrize("pragma", [RANGE, LIST])
def test_what_fails_is_not_proposed(
    pragma: str, work: dict[int, float], about: dict[str, str], said: str
) -> None:
    judged = shown(work, **about).judged(suggestion(pragma))
    assert judged.pragma is None and judged.tried is None
    assert judged.text.startswith(f"`{pragma}` was tried") and said in judged.text


def test_a_trial_that_was_not_possible_is_told() -> None:
    judged = Judged(problem="these runs do not launch it").judged(suggestion(RANGE))
    assert judged.pragma == RANGE and "these runs do not launch it" in str(judged.tried)


def test_widths_are_those_around_the_own_one() -> None:
    assert narrowed(96, {32: 1.0, 64: 1.0, 128: 1.26, 256: 1.0}) == [32, 64, 96]
    assert narrowed(96, {64: 1.3, 128: 1.3}) == [96]
