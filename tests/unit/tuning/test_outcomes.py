"""What became of each launch: the last lines of `tune`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from cutune.cli.report.choices import Choices, outcomes
from cutune.cli.report.tuned import ChoiceRow, LaunchRow, Shown, TuningOutcome
from cutune.core.codes import Code
from cutune.core.diagnostics import Diagnostic
from cutune.core.source import Source
from cutune.core.typed import typed
from cutune.model.selection.choose import UNROLLED
from cutune.proof.analysis.recorded_launches import Helped, SeenLaunch, seen_launches, suggesting
from cutune.proof.analysis.suggestions import suggestions
from cutune.source.program import Program
from tests.support.analyzed import analyzed
from tests.support.measured_kernel import KERNEL

NO_CHOICES = Choices([], [], {}, {}, {})
TEXT = """
__global__ void copy(int n, float *a) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] = 1;
}
__global__ void tile(float *a) { __shared__ float s[32]; a[threadIdx.x] = s[threadIdx.x]; }
void run(int n, float *a) {
    copy<<<n / 256, 256>>>(n, a);
    tile<<<1, 32>>>(a);
}
"""


@pytest.fixture(scope="module")
def program() -> Program:
    return analyzed(Source("/project/app.cu", TEXT))


def test_launches_are_written_and_read(program: Program) -> None:
    seen = list(seen_launches([program], []))
    assert [(one.line, one.is_tunable, one.code) for one in seen] == [
        (8, True, ""),
        (9, False, "CT211"),
    ]
    assert [typed(SeenLaunch, one.to_json()) for one in seen] == seen


def test_each_launch_has_one_outcome(program: Program) -> None:
    seen = list(seen_launches([program], []))
    kernel = replace(KERNEL, sites=(seen[0].site,))
    model = SimpleNamespace(kernel=kernel)

    def of_copy(
        models: list[object], kept: dict[str, str], said: list[Diagnostic]
    ) -> tuple[TuningOutcome, str | None]:
        choices = Choices([], [], kept, {}, {})
        first, refused = outcomes(seen, models, choices, said)  # type: ignore[arg-type]
        assert (refused.outcome, refused.code) == (TuningOutcome.REFUSED, "CT211")
        return first.outcome, first.code

    assert of_copy([model], {}, []) == (TuningOutcome.TUNED, None)
    assert of_copy([model], {kernel.entry: "why"}, []) == (TuningOutcome.KEPT, None)
    assert of_copy([], {}, []) == (TuningOutcome.NOT_MODELLED, None)
    said = [
        Diagnostic.at(Code.POOR_FIT, None, kernel=name, error="9", where="", example="")
        for name in ("copy", "other")
    ]
    assert of_copy([], {}, said) == (TuningOutcome.NOT_MODELLED, "CT502")
    # What was said of the launch itself counts more than what was said of its kernel.
    site = program.launches[0]
    at_launch = Diagnostic.at(Code.NEVER_LAUNCHED, site.source, site.span, kernel="copy")
    assert of_copy([], {}, [at_launch, *said]) == (TuningOutcome.NOT_MODELLED, "CT412")
    # A warning of the analysis stands at the launch, too, and does not say why it has no model.
    warned = Diagnostic.at(
        Code.REDUNDANT_THREADS, site.source, site.span, kernel="copy", d="y", size="16"
    )
    assert of_copy([], {}, [warned, *said]) == (TuningOutcome.NOT_MODELLED, "CT502")


def test_a_kernel_that_is_known_at_one_value_is_not_modelled_beyond_it(program: Program) -> None:
    seen = list(seen_launches([program], []))
    model = SimpleNamespace(kernel=replace(KERNEL, sites=(seen[0].site,)))
    kept = {KERNEL.entry: "its own block is as good"}
    for of_all, outcome, reason in (
        (kept, TuningOutcome.NOT_MODELLED, "beyond C = 4, mode = 1"),
        ({}, TuningOutcome.TUNED, "not modelled beyond C = 4, mode = 1"),
    ):
        choices = Choices([], [], of_all, {KERNEL.entry: {"C": 4, "mode": 1}}, {})
        first, _ = outcomes(seen, [model], choices, [])  # type: ignore[list-item]
        assert (first.outcome, first.reason) == (outcome, reason)


def test_the_summary_counts_and_names_them(
    program: Program, capsys: pytest.CaptureFixture[str]
) -> None:
    tunable, refused = seen_launches([program], [])
    model = SimpleNamespace(kernel=replace(KERNEL, sites=(tunable.site,)))
    rows = outcomes([tunable, refused], [model], NO_CHOICES, [])  # type: ignore[list-item]
    Shown("", [], [], rows, []).show()
    head, first, second = capsys.readouterr().out.splitlines()
    # Who is sent to suggestions finds one there.
    assert not [one for one in suggestions(program) if one.helps]
    assert head == "2 launches: 1 tuned, 1 refused"
    assert first.split() == ["/project/app.cu:8", "copy", "tuned"]
    # The message with that code has told why.
    assert second.split() == ["/project/app.cu:9", "tile", "refused", "[CT211]"]
    assert rows[1].reason.startswith("uses shared memory")
    few = outcomes([replace(refused, blocks=1)], [], NO_CHOICES, [], 132)
    idle = f"launches 1 block: 131 of 132 multiprocessors idle; {UNROLLED}"
    assert few[0].cells[3] == f"[CT211]; {idle}"


def test_files_of_the_current_folder_are_named_from_there(
    program: Program,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    _, refused = seen_launches([program], [])
    files = (tmp_path / "src/a b.cu", tmp_path.parent / "other.cu")
    helped = [Helped((str(file),), (), str(tmp_path)) for file in files]
    refused = replace(refused, reason="word " * 60)
    launches = [
        replace(refused, file=str(file), helped=one)
        for file, one in zip(files, helped, strict=True)
    ]
    rows = outcomes(launches, [], NO_CHOICES, [])
    assert [row.cells[0] for row in rows] == ["src/a b.cu:9", f"{files[1]}:9"]
    Shown("", [], [], rows, [], helping=suggesting(launches)).show()
    *_, advice = capsys.readouterr().out.splitlines()
    assert advice.endswith(f": cutune inspect --suggest 'src/a b.cu' {files[1]}")
    assert rows[0].reason == refused.reason


def test_sources_that_are_compiled_alike_are_named_together(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    _, refused = seen_launches([program], [])
    below = str(tmp_path / "b")

    def compiled(names: str, folder: str, *flags: str) -> SeenLaunch:
        paths = tuple(str(tmp_path / name) for name in names.split())
        return replace(refused, helped=Helped(paths, flags, folder))

    launches = [
        compiled("a.cu", below),
        compiled("b/c.cu d.cu", below, "-I", "x y"),
        compiled("d.cu e.cu", str(tmp_path), "-DN=1"),
        compiled("f.cu", str(tmp_path), "-DN=1"),
        compiled("g.cu", str(tmp_path)),
    ]
    asked = "cutune inspect --suggest"
    assert suggesting([refused, *launches]) == [
        f"{asked} a.cu g.cu",
        f"cd {below} && {asked} c.cu {tmp_path}/d.cu --nvcc-flag=-I '--nvcc-flag=x y'",
        f"{asked} d.cu e.cu f.cu --nvcc-flag=-DN=1",
    ]


def test_several_programs_are_shown_as_one(capsys: pytest.CaptureFixture[str]) -> None:
    def part(name: str) -> Shown:
        launch = LaunchRow("a.cu", 1, name, TuningOutcome.REFUSED, "", None)
        row, asked = ChoiceRow(name, "1", "32", "64", 1.5, "-"), "cutune inspect --suggest a.cu"
        return Shown("GPU", [row], [], [launch], [], helping=[asked])

    Shown.joined([part("k"), part("other")], ["a.cu"], "and so on").show()
    said = capsys.readouterr().out
    assert "2 launches: 2 refused" in said and said.endswith("tuned program: a.cu\nand so on\n")
    assert said.count("what would help: cutune inspect --suggest a.cu\n") == 1
    assert [line.split()[0] for line in said.splitlines()[2:4]] == ["k", "other"]
