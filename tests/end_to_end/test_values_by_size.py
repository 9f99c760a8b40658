"""Macros and constants that are chosen by size at run time: one program, its copies, its choice."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from cutune.analysis.session import Session
from cutune.frontend.program import Program
from cutune.passes import ChooseValues
from cutune.rewrite.copied import Copies
from cutune.tunables.clones.depending import Dependent, dependent
from cutune.tunables.clones.places import copies_of, tag
from cutune.tunables.clones.proven import Question, without_unproven
from cutune.tunables.clones.verdict import found_copies, verdicts
from cutune.tunables.clones.versions import versions
from tests.end_to_end import hostile_values as hostile
from tests.end_to_end.tuning import QUICK_FLAGS, compiled, run

pytestmark = pytest.mark.nvcc

SIZES = ("500", "700", "1500", "64", "1000")
FOUR = {"WPT": "4"}
#: Every call takes the next set, as in a program whose choice follows the size.
NEXT = """\
static inline int {routine}(long long) {{ static int next = 0; return next++ % {count}; }}
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "program.cu"
    path.write_text(text)
    (folder / "body.inc").write_text(hostile.INCLUDED)
    return path


def loaded(path: Path) -> tuple[Session, Program]:
    session = Session(flags=QUICK_FLAGS)
    return session, session.load(str(path))


def copied(program: Program, found: Dependent, copies: Copies) -> ChooseValues:
    routine = f"cutune_set_{tag(program.source, [])}"
    text = NEXT.format(routine=routine, count=len(copies.sets) + 1)
    return ChooseValues(copies, text, routine)


def lines_of(path: Path, original: Path, *options: str) -> list[str]:
    """What a program prints at all sizes."""
    binary = compiled(path, original, path.with_suffix(".bin"), (*QUICK_FLAGS, *options))
    done = run(binary, *SIZES)
    return [str(done.returncode), *done.stdout.splitlines()]


def plain_copies(path: Path) -> Path:
    """The program with copies of all that depends on WPT, whatever it is."""
    session, program = loaded(path)
    found = dependent(versions(session, program, program.constants, {}, [FOUR]), ["WPT"])
    copies = copies_of(program.source, found, program.constants, ["n"], [FOUR])
    unit = Question(session, program, found, copies, {}, copied(program, found, copies)).unit
    target = path.with_name("copies.cu")
    target.write_text(unit.rewritten().text)
    return target


@pytest.mark.parametrize("name", hostile.REFUSED)
def test_what_may_mean_something_else_keeps_one_value(name: str, tmp_path: Path) -> None:
    text, reason = hostile.REFUSED[name]
    session, program = loaded(written(tmp_path, text))
    verdict = verdicts(session, program)["WPT"]
    assert verdict.note is not None and reason in verdict.note.message
    assert verdict.note.code.number == "CT821" and not verdict.outer


@pytest.mark.parametrize("name", hostile.LEFT_OUT)
def test_copies_that_are_compiled_otherwise_are_left_out(name: str, tmp_path: Path) -> None:
    text, reason = hostile.LEFT_OUT[name]
    session, program = loaded(written(tmp_path, text))
    found, copies = found_copies(session, program, program.constants, {}, [FOUR])
    step = copied(program, found, copies)
    proven, refused = without_unproven(Question(session, program, found, copies, {}, step))
    assert not proven and [*refused.values()] == [reason]


@pytest.mark.parametrize("name", hostile.WRONG)
def test_plain_copies_of_it_would_be_wrong(name: str, tmp_path: Path) -> None:
    """Any value gives the same lines; one here and another there gives others."""
    text, _ = {**hostile.REFUSED, **hostile.LEFT_OUT}[name]
    path = written(tmp_path, text)
    own = lines_of(path, path)
    assert own[0] == "0" and lines_of(path, path, "-DWPT=4") == own
    assert lines_of(plain_copies(path), path) != own


@pytest.mark.parametrize("text", [hostile.PLAIN, hostile.MACROS])
def test_copies_stand_where_their_macros_are(text: str, tmp_path: Path) -> None:
    path = written(tmp_path, text)
    session, program = loaded(path)
    assert verdicts(session, program)["WPT"].outer == "run"
    found, copies = found_copies(session, program, program.constants, {}, [FOUR, {"WPT": "2"}])
    question = Question(session, program, found, copies, {}, copied(program, found, copies))
    assert without_unproven(question) == (tuple(copies.sets), {})
    target = tmp_path / "tuned.cu"
    target.write_text(question.unit.rewritten().text)
    assert lines_of(target, path) == lines_of(path, path)


def test_a_copy_of_other_values_is_not_proven(tmp_path: Path) -> None:
    """The copies are compared with what they claim to be, in text and in code."""
    session, program = loaded(written(tmp_path, hostile.PLAIN))
    found, copies = found_copies(session, program, program.constants, {}, [FOUR])
    (space,) = copies.sets
    step = copied(program, found, replace(copies, sets={space: {"WPT": "2"}}))
    _, refused = without_unproven(Question(session, program, found, copies, {}, step))
    assert refused == {space: "the compiler gets other tokens"}
