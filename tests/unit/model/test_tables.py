"""Tables of a tuned program as C++ text: read back here as `cutune_tables.h` does."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import pytest

from cutune.model.emit.emitter import SMALL, Tables

STRING = r'"(?:[^"\\]|\\.)*"'


def string(name: str, text: str) -> str:
    """What a string of C++ holds."""
    (found,) = re.findall(rf'char {name}\[\] = "(.*)";', text)
    return re.sub(r"\\(.)", r"\1", found)


def numbers(text: str, name: str, c_type: str) -> list[float]:
    (found,) = re.findall(rf"static const {c_type} {name}\[\d*\] = \{{([^}}]*)\}}", text)
    return [float(word.strip().removesuffix("f")) for word in found.split(",") if word.strip()]


def places(text: str) -> Iterator[int]:
    """Numbers of which the last digit is one of 72, and those before it are of the 20 behind."""
    before = 0
    for character in text:
        digit = ord(character) - ord("#")
        if digit >= 72:
            before = before * 20 + digit - 72 + 1
        else:
            yield before * 72 + digit
            before = 0


def rows_of(tables: Tables, name: str) -> tuple[list[float], list[str]]:
    """The entries of a table, and what else it is made of."""
    text = str(tables)
    member = name.partition(".")[2]
    words = rf"(?:{STRING}|\w+)"
    table = rf"cutune_table<\d+, \d+> {member}\{{all_,\s*({words}(?:, {words})*)\}};"
    (found,) = re.findall(table, text)
    first, *others = re.findall(words, found)
    values = numbers(text, "cutune_values", "double")
    entries = re.sub(r"\\(.)", r"\1", first[1:-1])
    return [values[place] for place in places(entries)], others


def test_small_numbers_are_characters() -> None:
    tables = Tables()
    every = list(range(SMALL))
    assert tables.numbers("small", every) == "small"
    assert [ord(c) - ord("#") for c in string("small", str(tables))] == every


def test_a_string_holds_no_trigraph() -> None:
    tables = Tables()
    tables.numbers("asked", [ord(c) - ord("#") for c in "???=\\?"])
    assert r'"?\?\?=\\?"' in str(tables)


def test_other_numbers_are_written_out() -> None:
    tables = Tables()
    assert tables.numbers("large", [1, 1000], "short") == "large"
    assert numbers(str(tables), "large", "short") == [1, 1000]


@pytest.mark.parametrize("entries", [[0.5, 2.0], [1.0, float(SMALL)], [-1.0, 2.0], [-0.0, 1.0]])
def test_floats(entries: list[float]) -> None:
    tables = Tables()
    name = tables.floats("real", entries)
    found = numbers(str(tables), name, "float")
    assert [str(value) for value in found] == [str(value) for value in entries]


def test_floats_that_are_small_numbers_are_characters() -> None:
    tables = Tables()
    tables.floats("whole", [0.0, float(SMALL - 1)])
    assert string("whole", str(tables)) == "#~"


def test_equal_arrays_are_one_and_names_are_told_apart() -> None:
    tables = Tables()
    names = [tables.numbers("a", entries) for entries in ([1], [2], [1], [3])]
    assert names == ["a", "a_2", "a", "a_3"]
    assert tables.numbers("a", [1], "short") == "a_4"
    first, second = (tables.rows("a", [[entry]], 1) for entry in (1.0, 2.0))
    assert (first, second) == ("tables_.a_", "tables_.a_2_")


@pytest.mark.parametrize("count", [1, 72, 73, 72 + 20 * 72, 72 + 20 * 72 + 1, 2000])
def test_rows_are_read_back(count: int) -> None:
    tables = Tables()
    # Frequent values have short places.
    entries = [float(n // 2) for n in range(2 * count)]
    first = tables.rows("first", [entries[:count], entries[count:]], count)
    second = tables.rows("second", [entries[::-1]], 2 * count)
    assert rows_of(tables, first) == (entries, [])
    assert rows_of(tables, second) == (entries[::-1], [])
    assert f"cutune_table<2, {count}> first_" in str(tables)


def test_frequent_values_come_first() -> None:
    tables = Tables()
    tables.rows("r", [[3.0, 1.5, 1.5, -2.0]], 4)
    assert numbers(str(tables), "cutune_values", "double") == [1.5, -2.0, 3.0]


@pytest.mark.parametrize(
    ("row_of", "shape", "expected"),
    [
        (None, None, []),
        ([0, 0, 1], None, ['"##$"']),
        (None, [1, 0], ["nullptr", '"$#"']),
        ([0, 1], [1, 0], ['"#$"', '"$#"']),
    ],
)
def test_classes_share_rows(
    row_of: Sequence[int] | None, shape: Sequence[int] | None, expected: list[str]
) -> None:
    tables = Tables()
    name = tables.rows("r", [[1.0, 2.0], [2.0, 1.0]], 2, row_of, shape)
    assert rows_of(tables, name) == ([1.0, 2.0, 2.0, 1.0], expected)


def test_what_several_tables_have_is_written_once() -> None:
    tables = Tables()
    names = [tables.rows("r", [[n, 2.0], [2.0, n]], 2, [0, 1, 0]) for n in (1.0, 3.0)]
    assert [rows_of(tables, name)[1] for name in names] == [["cutune_row0"]] * 2
    assert string("cutune_row0", str(tables)) == "#$#"
