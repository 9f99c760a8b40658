"""The harness of the hostile programs: what it reads, and what it takes for a failure."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.soundness.__main__ import Judged, Verdict, summary, verdict_of
from tests.soundness.programs import SIZES, HostileProgram, hostile_programs

MISSING = "cutune: error: nvcc fails as quoted below [CT701]\na.cu(3): error: no such x\n"
BROKEN = "cutune: error: the program with changed launches does not compile [CT439]\n"


def test_a_folder_is_read(tmp_path: Path) -> None:
    (tmp_path / "c02_names.cu").write_text("// EXPECT: refused\n// WHY: x\n// FLAGS: -rdc=true -O1")
    plain = "// EXPECT: tunable w/o guard\n// SIZES: 20,33\nint x;\n"
    (tmp_path / "c03_plain.cu").write_text(plain)
    for name in ("c02_other.cu", "c09_other.cu", "c04.h"):
        (tmp_path / name).write_text("// EXPECT: tunable")
    (tmp_path / "sys").mkdir()
    first, second = hostile_programs(tmp_path)
    assert [path.name for path in first.sources] == ["c02_names.cu", "c02_other.cu"]
    assert first.flags == ("-rdc=true", "-O1") and not first.should_be_tunable
    assert [path.name for path in second.sources] == ["c03_plain.cu"]
    assert second.should_be_tunable and second.flags == ()
    assert (first.sizes, second.sizes) == (SIZES, "20,33")
    assert [one.name for one in hostile_programs(tmp_path, "plain")] == ["c03_plain.cu"]


@pytest.mark.parametrize(
    ("status", "output", "errors", "verdict"),
    [
        (0, "same: 20 seeds, 1 tunable launch\n", "", Verdict.SAME),
        (0, "nothing may change: 0 of 1 launches are tunable\n", "", Verdict.REFUSED),
        (1, "differs: seed 3, n=64: line 1\n", "", Verdict.DIFFERS),
        (1, "", MISSING, Verdict.UNUSABLE),
        (1, "", BROKEN, Verdict.ERROR),
        (1, "", "Traceback\nKeyError: 'x'\n", Verdict.ERROR),
        (-11, "", "", Verdict.ERROR),
    ],
)
def test_verdicts(status: int, output: str, errors: str, verdict: Verdict) -> None:
    assert verdict_of(status, output, errors)[0] is verdict


def judged(expected: str, verdict: Verdict) -> Judged:
    return Judged(HostileProgram((Path("a.cu"),), expected), verdict, "")


@pytest.mark.parametrize(
    ("found", "is_well"),
    [
        ([judged("refused", Verdict.REFUSED), judged("refused", Verdict.SAME)], True),
        ([judged("refused", Verdict.DIFFERS)], False),
        ([judged("?", Verdict.ERROR)], False),
        ([judged("tunable", Verdict.UNUSABLE)], True),
        ([judged("tunable", Verdict.SAME)] * 19 + [judged("tunable", Verdict.REFUSED)], True),
        ([judged("tunable", Verdict.SAME)] * 18 + [judged("tunable", Verdict.REFUSED)], False),
    ],
)
def test_what_counts_as_a_failure(found: list[Judged], is_well: bool) -> None:
    assert summary(found)[1] == is_well
