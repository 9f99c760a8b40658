"""What people read fits a terminal of 80 columns; colours are only for terminals."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from rich.console import Console
from rich.text import Text

from cutune.cli.report.choices import print_choice
from cutune.cli.report.console import with_remarks
from cutune.cli.report.programs import print_programs
from cutune.cli.report.tuned import LaunchRow, Shown, TuningOutcome
from cutune.core.codes import Code
from cutune.core.diagnostics import Diagnostic, tell, wrapped
from cutune.core.reading import read_source
from cutune.core.source import Source, Span
from cutune.model.fit.fitted_model import read_models
from cutune.model.selection.variants import VariantChooser
from cutune.toolchain.device.profile import DeviceProfile
from tests.support.analyzed import analyzed

ROOT = Path(__file__).parents[3]
WIDTH = 80
_COLOUR = re.compile(r"\x1b\[[\d;]*m")


def lines(text: str) -> list[str]:
    return _COLOUR.sub("", text).splitlines()


@pytest.mark.parametrize("name", ["annotations", "impure", "launches", "forms"])
def test_launches(name: str) -> None:
    (path,) = ROOT.glob(f"tests/golden/inspect/{name}.cu")
    stream = io.StringIO()
    program = analyzed(read_source(path))
    print_programs([program], Console(file=stream, force_terminal=True, width=WIDTH))
    found = lines(stream.getvalue())
    rows = [line for line in found if line.startswith(tuple("123456789"))]
    assert len(rows) >= len(program.launches)
    assert [line for line in found if len(line) > WIDTH] == []
    said = " ".join(" ".join(found).split())
    for launch in (one for one in program.launches if one.code is not None):
        assert launch.reason.removeprefix(f"kernel '{launch.kernel}' ") in said


def test_cells_without_room_go_on_below_themselves() -> None:
    rows = [("1", "7", "push", "x < n, y < m", "n, m", ""), ("2", "a/b.h:12", "k", "z", "n", "why")]
    heads = ("launch", "line", "kernel", "threads", "sizes", "reason")

    def shown(columns: int) -> list[str]:
        found = with_remarks(heads, rows, columns)
        return [str(line) for line in found if isinstance(line, Text)]

    assert shown(80)[1:] == [
        "1       7         push    x < n, y < m  n, m",
        "2       a/b.h:12  k       z             n",
    ]
    assert shown(40)[1:] == [
        "1       7         push    x < n,   n, m",
        "                          y < m",
        "2       a/b.h:12  k       z        n",
    ]
    assert shown(36)[1:] == [
        "1       7       push    x < n,   n, m",
        "                        y < m",
        "2       a/      k       z        n",
        "        b.h:12",
    ]


@pytest.mark.parametrize("code", Code)
def test_messages(code: Code) -> None:
    """No line is longer than the terminal, unless that is one piece, which is to be copied."""
    source = Source("a.cu", f"{'x' * 70} k<<<1, 2>>>(x); {'y' * 70}\n")
    found = Diagnostic(code, code.template, source, Span(71, 85)).render(columns=WIDTH)
    *said, excerpt, carets = found.splitlines()
    assert " ".join(" ".join(said).split()) == " ".join(
        f"a.cu:1:72: {code.severity}: {code.template} [{code.number}]".split()
    )
    assert max(len(excerpt), len(carets)) <= WIDTH and "k<<<1" in excerpt
    for line in (line for line in said if len(line) > WIDTH):
        assert re.match(r"    (cutune|pip|make|--|')", line)


def test_commands_are_not_broken() -> None:
    command = "cutune tune app.cu --run './{program} {n}' --vary n=100,200"
    text = f"a.cu: error: what is wrong with it is told here; write: {command}; or not [CT999]"
    assert wrapped(text, WIDTH).splitlines() == [
        "a.cu: error: what is wrong with it is told here; write:",
        f"    {command}; or not [CT999]",
    ]


def test_candidates(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", str(WIDTH))
    (model,) = read_models(ROOT / "tests/recorded/add_models.json")
    choice = VariantChooser(model, DeviceProfile.named("h200")).choose({}, 4096)
    print_choice(model, choice)
    found = lines(capsys.readouterr().out)
    assert [line for line in found if len(line) > WIDTH or "…" in line] == []
    assert {"predicted", "block", "grid"} <= {word for line in found for word in line.split()}


def test_outcomes(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", str(WIDTH))
    unmodelled, why = TuningOutcome.NOT_MODELLED, "so it is " * 12
    rows = [
        LaunchRow("a.cu", 1, "k", TuningOutcome.TUNED, "", None),
        LaunchRow("a.cu", 20, "tile", unmodelled, why, "CT502"),
    ]
    Shown("", [], [], rows, []).show()
    counts, tuned, refused, *remark = lines(capsys.readouterr().out)
    assert (counts, tuned, refused) == (
        "2 launches: 1 tuned, 1 not modelled",
        "a.cu:1   k     tuned",
        "a.cu:20  tile  not modelled",
    )
    assert all(len(line) <= WIDTH for line in remark)
    assert "".join("".join(remark).split()) == rows[1].cells[3].replace(" ", "")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stream", "variables", "is_coloured"),
    [
        (Terminal(), {"TERM": "xterm"}, True),
        (Terminal(), {"TERM": "dumb"}, False),
        (Terminal(), {"TERM": "xterm", "NO_COLOR": "1"}, False),
        (io.StringIO(), {"TERM": "xterm"}, False),
    ],
)
def test_warnings_are_coloured_on_terminals(
    stream: io.StringIO,
    variables: dict[str, str],
    is_coloured: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("sys.stderr", stream)
    source = Source("a.cu", "x\n")
    note = Diagnostic.at(Code.HOST_ONLY, source, Span(0, 1))
    found = Diagnostic.at(Code.IGNORED, source, Span(0, 1), notes=(note,))
    tell(found)
    text = stream.getvalue()
    assert ("\x1b[1;35mwarning:\x1b[0m" in text) == is_coloured
    assert ("\x1b[1;36mnote:\x1b[0m" in text) == is_coloured
    assert "\n".join(lines(text)) == found.render()
