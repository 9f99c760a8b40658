"""Passes run in order, stop at an error, and never overwrite each other's edits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import pytest

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, Diagnostic
from cutune.core.source import Edit, Source
from cutune.passes import PASSES
from cutune.source.program import Program
from cutune.source.rewrite.pipeline import Pass, TranslationUnit, run_passes

UNIT = TranslationUnit(Program(Source("a.cu", "int a;\n"), (), ()))


@dataclass(frozen=True)
class Insert(Pass):
    name: ClassVar[str] = "insert"
    offset: int = 0
    text: str = "x"

    def run(self, unit: TranslationUnit) -> TranslationUnit:
        return unit.with_edits([Edit.insert(self.offset, self.text)])


@dataclass(frozen=True)
class Complain(Pass):
    name: ClassVar[str] = "complain"
    code: Code = Code.MISSING_NVCC

    def run(self, unit: TranslationUnit) -> TranslationUnit:
        return unit.with_diagnostics([Diagnostic(self.code, "message")])


def test_no_pass_no_change() -> None:
    assert run_passes([], UNIT).rewritten() == UNIT.program.source


def test_edits_are_made_once_at_the_end() -> None:
    unit = run_passes([Insert(5, "b"), Insert(0, "a")], UNIT)
    assert unit.program.source.text == "int a;\n"
    assert unit.rewritten().text == "aint ab;\n"


def test_an_error_stops_the_passes_behind_it() -> None:
    seen: list[str] = []
    unit = run_passes(
        [Insert(), Complain(), Insert(3)], UNIT, lambda step, _: seen.append(step.name)
    )
    assert unit.failed
    assert seen == ["insert", "complain"]
    assert len(unit.edits) == 1


def test_a_warning_does_not() -> None:
    unit = run_passes([Complain(Code.TORN_LINE), Insert()], UNIT)
    assert not unit.failed
    assert len(unit.edits) == 1


def test_a_conflict_names_both_passes() -> None:
    @dataclass(frozen=True)
    class Other(Insert):
        name: ClassVar[str] = "other"

    with pytest.raises(CutuneError) as caught:
        run_passes([Insert(2, "a"), Other(2, "b")], UNIT).rewritten()
    assert caught.value.diagnostic.code is Code.EDIT_CONFLICT
    assert "'insert'" in caught.value.diagnostic.message
    assert "'other'" in caught.value.diagnostic.message


def test_registered_names_follow_their_classes() -> None:
    for step in PASSES:
        words = "".join(word.capitalize() for word in step.name.split("-"))
        assert words == step.__name__
        assert step.__module__ == f"cutune.passes.{step.name.replace('-', '_')}"
