"""docs/model.md has every constant of the models, with the value that the program has."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields
from fractions import Fraction
from pathlib import Path

import pytest

from cutune.model.performance import constants
from cutune.ptx import chains
from cutune.toolchain.device.profile import ModelConstants

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs/model.md").read_text(encoding="utf-8")
COSTS = ROOT / "cutune/emulator/native/machine_costs.h"
TABLE = PAGE.partition("## Constants of the model\n")[2]
SOURCES = ("published", "derived", "calibrated on", "read off", "the same")


def flat(value: object) -> Iterator[float]:
    """All numbers of a constant, in order."""
    if isinstance(value, dict):
        value = tuple(value.items())
    if isinstance(value, tuple):
        for part in value:
            yield from flat(part)
    elif not isinstance(value, str):  # a name is no number
        assert isinstance(value, int | float | Fraction)
        yield float(value)


def of_python() -> dict[str, object]:
    found = {name: value for name, value in vars(constants).items() if name.isupper()}
    own = ("PREDICATED", "DEPENDENT", "SHARED_LOAD", "BRANCH")
    return found | {name: vars(chains)[name] for name in own}


def of_cpp() -> dict[str, object]:
    found = re.findall(r"^constexpr u32 (\w+) = (\d+);$", COSTS.read_text(), re.MULTILINE)
    return {name: int(value) for name, value in found}


def rows() -> list[tuple[list[str], list[float], str]]:
    """Of each row of the table: names, values, source."""
    found = []
    for line in TABLE.splitlines():
        if line.startswith("| `"):
            names, values, _, source = (cell.strip() for cell in line.strip("| ").split(" | "))
            numbers = [float(Fraction(text)) for text in re.split(r"[,;:] ", values)]
            found.append((re.findall(r"`(\w+)`", names), numbers, source))
    return found


def test_the_page_has_every_constant_and_its_value() -> None:
    known = of_python() | of_cpp()
    shown = [name for names, _, _ in rows() for name in names]
    assert sorted(shown) == sorted(known)
    for names, numbers, _ in rows():
        assert [n for name in names for n in flat(known[name])] == numbers, names


def test_each_row_says_where_its_constants_come_from() -> None:
    assert [names for names, _, source in rows() if not source.startswith(SOURCES)] == []


def test_the_named_records_exist() -> None:
    records = set(re.findall(r"`([\w/]+\.(?:json|txt))`", TABLE))
    assert records and all((ROOT / "tests/recorded" / name).exists() for name in records)


@pytest.mark.parametrize("name", [field.name for field in fields(ModelConstants)])
def test_each_constant_of_a_device_is_in_a_formula(name: str) -> None:
    assert f"`{name}`" in PAGE
