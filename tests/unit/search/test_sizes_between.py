"""What a classifier says of sizes between those that it knows."""

from __future__ import annotations

import pytest

from cutune.cli.parameters import print_model
from cutune.search.neighbours.classifier import Evidence, fit_choice
from cutune.search.neighbours.table import Configuration, Point, TimeTable

Times = dict[int, dict[Configuration, float]]
SMALL: Configuration = (1,)
LARGE: Configuration = (2,)


def table(times: Times) -> TimeTable:
    named: dict[Point, dict[Configuration, float]] = {(n,): own for n, own in times.items()}
    return TimeTable(("n",), ("block",), named)


def evidence(times: Times) -> Evidence:
    (choice,) = fit_choice(table(times), 0.04).choices
    assert choice.evidence is not None
    return choice.evidence


#: The one size that is unlike its neighbours loses half of its time without being measured.
UNLIKE: Times = {
    100: {SMALL: 1.0, LARGE: 2.0},
    400: {SMALL: 1.0, LARGE: 2.0},
    1600: {SMALL: 3.0, LARGE: 2.0},
    6400: {SMALL: 1.0, LARGE: 2.0},
    25600: {SMALL: 1.0, LARGE: 2.0},
}


def test_sizes_are_asked_for_beside_those_that_would_have_lost() -> None:
    found = evidence(UNLIKE)
    assert found.left_out is not None and found.left_out.worst_point == (1600,)
    assert found.amid == (800, 3200)
    # Between 1599 and 1601 nothing is left to be measured.
    near = dict(zip((100, 1599, 1600, 1601, 9000), UNLIKE.values(), strict=True))
    assert evidence(near).amid == (400, 3796)


def test_nothing_is_asked_for_where_nothing_is_lost_or_known() -> None:
    same: Times = {n: {SMALL: 1.0, LARGE: 1.03} for n in (100, 400, 1600)}
    assert evidence(same).amid == ()
    two = {n: UNLIKE[n] for n in (400, 1600)}
    assert evidence(two).left_out is None and evidence(two).amid == ()
    # With two sizes there is no between.
    plane: dict[Point, dict[Configuration, float]] = {
        (n, m): own for n, own in UNLIKE.items() for m in (1, 2)
    }
    (choice,) = fit_choice(TimeTable(("n", "m"), ("block",), plane), 0.04).choices
    assert choice.evidence is not None and choice.evidence.amid == ()


def test_what_is_asked_for_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    print_model(fit_choice(table(UNLIKE), 0.04))
    said = capsys.readouterr().out
    assert "  as much may be lost between; measure n = 800, 3200 too\n" in said
