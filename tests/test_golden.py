"""Golden files: tests/golden/<stage>/<case>.cu gives <case>.expected.<suffix>.

What is emitted to choose blocks is `selection/add.expected.cu`, of a recorded model.

A line that ends `// expect CT211: message` must give exactly that diagnostic, and nothing
unannounced may appear. A stage whose output is not there is tested for its diagnostics alone.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from rich.console import Console

from cutune.cli.report.programs import print_programs, print_suggestions
from cutune.core.diagnostics import Diagnostic
from cutune.core.reading import read_source
from cutune.core.source import Source
from cutune.model.emit.selection import emit_selection
from cutune.model.fit.fitted_model import read_models
from cutune.passes.instrument_launches import InstrumentLaunches
from cutune.passes.instrument_tunables import InstrumentTunables
from cutune.passes.replace_launches import ReplaceLaunches
from cutune.source.rewrite.pipeline import TranslationUnit, run_passes
from cutune.toolchain.device.profile import DeviceProfile
from tests.support.analyzed import analyzed

GOLDEN = Path(__file__).parent / "golden"
EXPECT = re.compile(r"//\s*expect (CT\d{3}): (.*?)\s*$")

#: The recorded model of a kernel `add`, and the routine that chooses its blocks.
ADD = Path(__file__).parent / "recorded" / "add_models.json"
ADD_SELECTION = GOLDEN / "selection" / "add.expected.cu"

Outcome = tuple[str, Sequence[Diagnostic]]


def inspect(source: Source) -> Outcome:
    """The table, as a pipe gets it."""
    program = analyzed(source)
    stream = io.StringIO()
    print_programs([program], Console(file=stream, force_terminal=False))
    return stream.getvalue(), program.diagnostics


def suggest(source: Source) -> Outcome:
    """What would make the refused launches tunable."""
    program = analyzed(source)
    stream = io.StringIO()
    print_suggestions([program], Console(file=stream, force_terminal=False, width=200))
    return stream.getvalue(), program.diagnostics


def instrument(source: Source) -> Outcome:
    """The program with hooks at its launches; what analysis says is tested by `inspect`."""
    unit = run_passes((InstrumentLaunches(),), TranslationUnit(analyzed(source)))
    return unit.rewritten().text, unit.diagnostics


def emit(source: Source) -> Outcome:
    """The tuned program from the user's first line on; the text before it is emitted code."""
    program = analyzed(source)
    routines = tuple((site.id, "cutune_select_any") for site in program.tunable_launches)
    unit = run_passes((ReplaceLaunches(routines=routines),), TranslationUnit(program))
    text = unit.rewritten().text
    return text[max(0, text.find("#line 1 ")) :], unit.diagnostics


def tunables(source: Source) -> Outcome:
    """The program whose host tunables can be set from outside; a launch stays as it is."""
    program = analyzed(source)
    unit = run_passes((InstrumentTunables(),), TranslationUnit(program))
    return unit.rewritten().text, (*program.diagnostics, *unit.diagnostics)


#: Stage → function and suffix of its output.
STAGES: dict[str, tuple[Callable[[Source], Outcome], str]] = {
    "inspect": (inspect, ".expected.txt"),
    "suggest": (suggest, ".expected.txt"),
    "instrument": (instrument, ".expected.cu"),
    "emit": (emit, ".expected.cu"),
    "tunables": (tunables, ".expected.cu"),
}
CASES = [
    pytest.param(stage, path, id=f"{stage}/{path.stem}")
    for stage in STAGES
    for path in sorted((GOLDEN / stage).glob("*.cu"))
    if ".expected" not in path.name
]


@pytest.mark.parametrize(("stage", "path"), CASES)
def test_golden(stage: str, path: Path, update_golden: bool) -> None:
    run, suffix = STAGES[stage]
    source = Source(path.name, read_source(path).text)
    output, diagnostics = run(source)
    assert sorted(map(_reported, diagnostics)) == sorted(_announced(source.text))
    expected = path.with_name(path.stem + suffix)
    if update_golden:
        expected.write_bytes(output.encode("latin-1"))
    assert output.encode("latin-1") == expected.read_bytes()


def test_golden_selection(update_golden: bool) -> None:
    text = emit_selection(read_models(ADD), [DeviceProfile.named("h200")]).text
    if update_golden:
        ADD_SELECTION.write_text(text)
    assert text == ADD_SELECTION.read_text()


def _announced(text: str) -> list[tuple[int, str, str]]:
    lines = enumerate(text.split("\n"), 1)
    found = ((number, EXPECT.search(line.rstrip("\r"))) for number, line in lines)
    return [(number, match[1], match[2]) for number, match in found if match]


def _reported(diagnostic: Diagnostic) -> tuple[int, str, str]:
    source, span = diagnostic.source, diagnostic.span
    line = source.location(span.start).line if source is not None and span is not None else 1
    return line, diagnostic.code.number, diagnostic.message
