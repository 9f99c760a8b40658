"""Places that one process measures together."""

from __future__ import annotations

from cutune.search.techniques import registry
from cutune.search.techniques.tries import Allowance, SharedProcess, Timed, Tries
from cutune.space import space as spaces
from cutune.space.parameter import Parameter


def test_what_one_process_measures_is_tried_together() -> None:
    """Ranked places, those of even numbers as cheaply together as one."""

    def chosen(most: int, processes: int, least: int = 4, budget: int = 96) -> list[int]:
        company = SharedProcess(most, processes, lambda one: int(one["a"]) % 2)
        space = spaces.Space.of([Parameter("a", tuple(range(20)))])
        tries = Tries(space, lambda one: Timed(1.0), Allowance(budget), sharing=company)
        return [row for (row,) in tries.first_of([(row,) for row in range(20)], least)]

    assert chosen(20, 1) == [0, 2, 4, 6, 8, 10]  # a sixteenth of the budget
    assert chosen(20, 1, budget=800) == [*range(0, 20, 2)]
    assert chosen(3, 1) == [0, 2, 4, 1, 3, 5]  # enough in no single one
    assert chosen(5, 2) == [0, 2, 4, 6, 8, 1, 3, 5, 7, 9]
    assert chosen(1, 1, least=2) == [0, 1]


def test_a_search_whose_places_share_processes_begins_few_of_them() -> None:
    """In 256 * 3 places the last digit is compiled in; 128 places, nearly as good."""
    begun: list[set[object]] = []
    space = spaces.Space.of([Parameter("a", tuple(range(256))), Parameter("b", (0, 1, 2))])
    tries = Tries(
        space,
        lambda one: Timed(2 + int(one["b"]) + abs(int(one["a"]) - 200) / 8),
        Allowance(128),
        lambda some: begun.append({one["b"] for one in some}),
        SharedProcess(50, 1, lambda one: one["b"]),
    )
    registry.search(registry.technique_named("local"), tries, (16, 1))
    assert len(tries.known) == 128
    assert sum(map(len, begun)) <= 40
    assert min(time for time in tries.known.values() if time is not None) < 2.5
