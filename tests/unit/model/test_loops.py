"""Where the loop over candidates is cut."""

from __future__ import annotations

from itertools import chain, pairwise

import pytest

from cutune.model.emit.model import cut_into_loops
from cutune.model.rational.program import Definition, Expression, Operation, Operator, Reference


def norm(first: Expression, second: Expression) -> Expression:
    return Operation(Operator.NORM_3, (first, second))


def chain_of(length: int) -> list[Definition]:
    """Each waits for the one before."""
    names = ["width", *(f"step_{number}" for number in range(length))]
    return [
        Definition(name, norm(Reference(before), Reference("width")))
        for before, name in pairwise(names)
    ]


@pytest.mark.parametrize("length", [0, 1, 5, 40])
def test_all_definitions_stay_in_their_order(length: int) -> None:
    definitions = chain_of(length)
    assert list(chain.from_iterable(cut_into_loops(definitions, 26))) == definitions


def test_a_long_chain_is_cut_and_a_short_one_is_not() -> None:
    assert len(cut_into_loops(chain_of(1), 26)) == 1
    found = cut_into_loops(chain_of(12), 26)
    assert len(found) > 1
    assert all(found)


def test_few_rounds_are_not_worth_a_cut() -> None:
    assert len(cut_into_loops(chain_of(12), 1)) == 1


def test_cuts_stand_where_few_values_cross() -> None:
    # Two chains; between them one value crosses, within the first two do.
    first = [
        definition
        for number in range(6)
        for definition in (
            Definition(
                f"a{number}", norm(Reference(f"a{number - 1}" if number else "w"), Reference("w"))
            ),
            Definition(
                f"b{number}", Reference(f"b{number - 1}" if number else "w") + Reference("w")
            ),
        )
    ]
    join = Definition("j", Reference("a5") + Reference("b5"))
    second = [
        Definition(f"c{n}", norm(Reference(f"c{n - 1}" if n else "j"), Reference("w")))
        for n in range(6)
    ]
    found = cut_into_loops([*first, join, *second], 26)
    assert any(run[0].name == "c0" for run in found)
