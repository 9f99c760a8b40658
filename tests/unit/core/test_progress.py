"""What a pipe sees of a long activity."""

from __future__ import annotations

import re
import time

import pytest

from cutune.core.progress import ANALYZING, _Lines, during, progress_for


def test_a_line_when_it_is_done(capsys: pytest.CaptureFixture[str]) -> None:
    report = _Lines(every_seconds=1000)
    report("running", 0, 2)
    report("running", 1, 2)
    assert capsys.readouterr().err == ""
    report("running", 2, 2)
    assert capsys.readouterr().err.startswith("cutune: running: 2 done in ")


def test_lines_while_a_step_takes_long(capsys: pytest.CaptureFixture[str]) -> None:
    report = _Lines(every_seconds=0.001)
    report("running", 3, 7)
    said = ""
    while "\n" not in said:
        time.sleep(0.001)
        said += capsys.readouterr().err
    report("running", 7, 7)
    assert re.match(r"cutune: running: 3 of 7 done, \d+ s so far\n", said)


def test_nothing_when_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    progress_for(quiet=True)("running", 1, 1)
    assert capsys.readouterr().err == ""


def test_what_every_verb_begins_with_is_worth_a_line_where_it_takes_long(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with during(_Lines(every_seconds=1000), ANALYZING):
        pass
    assert capsys.readouterr().err == ""
    said = ""
    with during(_Lines(every_seconds=0.001), ANALYZING):
        while "\n" not in said:
            time.sleep(0.001)
            said += capsys.readouterr().err
    assert "cutune: analyzing: 1 done in " in capsys.readouterr().err


def test_an_activity_ends_with_an_error() -> None:
    told: list[int] = []
    with pytest.raises(KeyError), during(lambda what, done, total: told.append(done), "reading"):
        raise KeyError
    assert told == [0, 1]
