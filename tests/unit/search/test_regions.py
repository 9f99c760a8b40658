"""Times of regions become the tables by which tunables are chosen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict

import pytest

from cutune.core.source import Source, Span
from cutune.core.typed import typed
from cutune.model.measurement.measurement import Origin
from cutune.search.regions import HostMeasurement, merged
from cutune.search.tunables.choices import group_table
from cutune.source.program import HostTunable
from cutune.space.parameter import Parameter

ORIGIN, SOURCE = Origin("a.cu", "0"), Source("a.cu", "")


def tunable(name: str, group: int, *given: str) -> HostTunable:
    return HostTunable(
        Parameter(name, (1, 2)), ("N",), SOURCE, Span(0, 1), Span(0, 1), None, group, given
    )


def measured(time: float | None, n: int = 10, **values: int) -> HostMeasurement:
    data: dict[str, Mapping[str, int]] = {name: {"N": n, **values} for name in values}
    return HostMeasurement(ORIGIN, "a GPU", values, data, time)


R, M, S = tunable("R", 1), tunable("m", 2, "R"), tunable("S", 3)


def test_what_is_chosen_later_counts_with_its_best() -> None:
    lines = [measured(3, R=1, m=1), measured(1, R=1, m=2), measured(2, R=2, m=1)]
    table = group_table((R, M), 1, lines)
    assert table is not None and table.times == {(10,): {(1,): 1, (2,): 2}}


def test_given_tunables_are_coordinates() -> None:
    lines = [measured(3, R=1, m=1), measured(1, R=1, m=2), measured(2, R=2, m=1)]
    table = group_table((R, M), 2, lines)
    assert table is not None and table.sizes == ("R", "N")
    # If R = 2 is chosen, then for its time with m = 1.
    assert table.times == {(1, 10): {(1,): 3, (2,): 1}, (2, 10): {(1,): 2}}


def test_given_tunables_come_with_what_made_them_fast() -> None:
    """m = 2 given R = 1 was tried with S = 2 only; the best time for this R is one of S = 1."""
    lines = [measured(1, R=1, m=1, S=1), measured(4, R=1, m=1, S=2), measured(3, R=1, m=2, S=2)]
    others = [measured(2, R=2, m=1, S=1), measured(1, R=2, m=2, S=1)]
    table = group_table((R, M, S), 2, [*lines, *others])
    assert table is not None
    assert table.times == {(1, 10): {(1,): 1}, (2, 10): {(1,): 2, (2,): 1}}


def test_the_only_configuration_of_the_fastest_place_is_a_choice() -> None:
    """A search varies m with S = 2, and S with m = 2: with S = 1, no other m was tried."""
    lines = [measured(9, R=1, m=1, S=2), measured(3, R=1, m=2, S=2), measured(2, R=1, m=2, S=1)]
    table = group_table((R, M, S), 2, lines)
    assert table is not None and table.times == {(1, 10): {(2,): 2}}
    assert group_table((R, M, S), 2, lines[1:]) is None


def test_others_are_held_where_most_was_measured() -> None:
    """Streams were swept for m = 1 only: the faster time with m = 2 says nothing about them."""
    lines = [measured(5, m=1, S=1), measured(4, m=1, S=2), measured(1, m=2, S=1)]
    table = group_table((tunable("m", 1), tunable("S", 2)), 2, lines)
    assert table is not None and table.times == {(10,): {(1,): 5, (2,): 4}}


def test_without_times_there_is_no_table() -> None:
    assert group_table((R,), 1, [measured(None, R=1), measured(None, R=2)]) is None


def test_repetitions_give_their_median() -> None:
    runs = [[measured(time, R=1)] for time in (3.0, 1.0, 2.0)]
    (one,) = merged(runs)
    assert one.milliseconds == pytest.approx(2.0)
    assert typed(HostMeasurement, asdict(one)) == one
