"""What a pipe sees of a long activity."""

from __future__ import annotations

import io
import re
import time

import pytest

from cutune.core.codes import Code
from cutune.core.diagnostics import Diagnostic
from cutune.core.progress import Reporter, _Lines, close_bars, during, progress_for


def test_a_line_when_it_is_done(capsys: pytest.CaptureFixture[str]) -> None:
    report = _Lines(every_seconds=1000, short_seconds=0)
    report("running", 0, 2)
    report("running", 1, 2)
    assert capsys.readouterr().err == ""
    report("running", 2, 2)
    assert capsys.readouterr().err == "cutune: running: done, 0 s so far\n"


def test_what_is_over_soon_is_told_with_what_comes_behind_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    report = _Lines(every_seconds=1000, short_seconds=2)
    for activity in ("compiling", "counting", "tracing"):
        report(activity, 0, 1)
        report(activity, 1, 1)
    assert capsys.readouterr().err == ""
    report.told -= 2
    report("fitting", 1, 1)
    assert capsys.readouterr().err == "cutune: fitting: done, 0 s so far\n"


def test_lines_while_a_step_takes_long(capsys: pytest.CaptureFixture[str]) -> None:
    report = _Lines(every_seconds=0.001, short_seconds=0)
    report("running", 3, 7)
    report("running", 4, 7)
    report.running["running"].begun -= 10
    said = ""
    while said.count("\n") < 2:
        time.sleep(0.001)
        said += capsys.readouterr().err
    report("running", 7, 7)
    assert re.search(r"cutune: running: 4 of 7 done, about 30 s left, \d+ s so far\n", said)


def test_nothing_when_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    progress_for(quiet=True)("running", 1, 1)
    assert capsys.readouterr().err == ""


def test_bars_fit_into_80_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is left of a bar but what it overwrites; time left is told where it is long."""
    screen = io.StringIO()
    screen.isatty = lambda: True  # type: ignore[method-assign]
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    report = progress_for(quiet=False)
    report("a_kernel_with_quite_a_long_name: finding classes", 0, 12)
    report("a_kernel_with_quite_a_long_name: finding classes", 12, 12)
    lines = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", screen.getvalue()).splitlines()
    shown = [line.split("\r")[-1] for line in lines if line]
    assert shown and all(len(line) <= 80 for line in shown) and "left" not in "".join(shown)
    assert any("12/12" in line for line in shown)


def test_an_activity_ends_with_an_error() -> None:
    told: list[int] = []
    with pytest.raises(KeyError), during(lambda what, done, total: told.append(done), "reading"):
        raise KeyError
    assert told == [0, 1]


def test_what_is_true_of_the_machine_is_said_once() -> None:
    said: list[Code] = []
    reporter = Reporter(lambda diagnostic: said.append(diagnostic.code))
    codes = (Code.NO_COMPILED_CODE, Code.CACHE_ELSEWHERE) * 2
    messages = [Diagnostic(code, str(number)) for number, code in enumerate(codes)]
    reporter.report(messages)
    reporter.remembering()[0].report(messages)
    assert said.count(Code.NO_COMPILED_CODE) == 1
    assert said.count(Code.CACHE_ELSEWHERE) > 1


def test_a_bar_ends_with_a_message(monkeypatch: pytest.MonkeyPatch) -> None:
    """However a command ends, the cursor of its terminal is shown again."""
    monkeypatch.setattr("sys.stderr", said := _Terminal())
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("FORCE_COLOR", "1")
    progress_for(quiet=False)("compiling", 0, 2)
    close_bars()
    text = said.getvalue()
    assert text.count("\x1b[?25l") == text.count("\x1b[?25h") == 1


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True
