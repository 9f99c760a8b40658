"""What a report says: kernels at sizes, launches with verdicts, timings, the sentence on top."""

from __future__ import annotations

import json
from contextlib import chdir
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import pytest

from cutune.cli.page.charts import agreement
from cutune.cli.page.facts import excerpt, kernel_facts, summary
from cutune.cli.page.flow_chart import flow_chart, formula
from cutune.cli.page.gather import (
    NO_TIMINGS,
    ReportSource,
    Timings,
    read_subjects,
    read_timings,
    report_of,
)
from cutune.cli.page.html import heat_tables, variant_words
from cutune.cli.page.page_facts import AtSizes, Candidate, KernelFacts, PageFacts, Standing
from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, Diagnostic
from cutune.core.progress import silent
from cutune.core.source import Source, Span
from cutune.core.workspace import Workspace
from cutune.model.measurement.sweep import (
    RecordedSweep,
    SweptConfiguration,
    SweptLaunch,
    swept_line,
    write_sweep,
)
from cutune.model.performance.definitions import TIME, TIME_WITH_FLOOR
from cutune.model.rational.program import (
    Definition,
    RationalProgram,
    Reference,
    choice,
    floor,
    less,
    norm,
)
from cutune.model.selection.choose import published_rule
from cutune.model.selection.variants import VariantChooser
from cutune.proof.analysis.analyzer import Analyzer
from cutune.toolchain import toolchain
from cutune.toolchain.toolchain import Toolchain
from tests.support.reported_program import (
    ADD,
    H200,
    LAUNCH,
    RECORDED,
    TILE,
    add_program,
    program,
    with_times,
)


@cache
def facts_at_64() -> KernelFacts:
    return facts(sizes=(64,))


def facts(launches: tuple[SweptLaunch, ...] = (), sizes: tuple[int, ...] = ()) -> KernelFacts:
    found = kernel_facts(ADD, H200, ("kernel-1", "add", "add.cu"), launches, sizes or None)
    assert found is not None
    return found


def report(subjects: list[ReportSource], folder: Path, timings: Timings = NO_TIMINGS) -> PageFacts:
    made = datetime(2026, 1, 2, tzinfo=UTC)
    return report_of(Toolchain(), silent, subjects, H200, Workspace(folder), timings, made=made)


# ---- kernels


def test_a_kernel_has_what_select_says() -> None:
    found = facts(sizes=(1024, 4096))
    chooser = VariantChooser(ADD, H200)
    assert [at.label for at in found.sizes] == ["1024", "4096"]
    for at, size in zip(found.sizes, (1024, 4096), strict=True):
        choice = chooser.choose({}, size)
        assert at.gain == choice.gain
        assert at.chosen == SweptConfiguration(choice.chosen.block, choice.variant)
        assert at.own == SweptConfiguration((16, 16, 1))
        plain = [c for c in at.predicted if not c.configuration.variant]
        assert [c.configuration.block for c in plain] == [p.block for p in choice.plain.ranked]
        assert plain[0].predicted_us == pytest.approx(1e3 * choice.plain.ranked[0].predicted_ms)
        assert dict(plain[0].terms_us) == dict(choice.plain.ranked[0].terms_us)


def test_sizes_are_the_usual_ones_unless_more_were_timed() -> None:
    assert [at.label for at in facts().sizes] == ["1000", "1024", "2048", "4096"]
    few = facts((with_times(512),))
    assert [at.label for at in few.sizes] == ["512", "1000", "1024", "2048", "4096"]
    many = facts(tuple(with_times(64 * n) for n in range(1, 12)))
    assert [at.label for at in many.sizes] == ["64", "192", "320", "448", "576", "704"]


def test_the_curve_tells_the_choice_at_each_size() -> None:
    chooser = VariantChooser(ADD, H200)
    for point in facts_at_64().curve:
        choice = chooser.choose({}, point.size)
        assert point.gain == choice.gain
        assert point.chosen == SweptConfiguration(choice.chosen.block, choice.variant)
        least = choice.ranked[0][1].predicted_ms
        near = {p.block for name, p in choice.ranked if p.predicted_ms <= 1.02 * least and not name}
        assert {one.block for one in point.near if not one.variant} == near


def test_timings_stand_beside_predictions() -> None:
    (at, *_) = facts((with_times(2048),)).sizes
    found = agreement(at)
    assert found is not None and at.gain is not None
    assert found.median == pytest.approx(0.5)
    assert found.ninetieth == pytest.approx(2.0)
    assert at.measured_gain == pytest.approx(at.gain)


def test_a_configuration_without_a_time_has_no_measured_gain() -> None:
    launch = with_times(2048)
    (at, *_) = facts((replace(launch, microseconds={(1, 32, 1): 5.0}),)).sizes
    assert at.measured_gain is None
    assert agreement(at) is None


# ---- programs


def test_launches_have_verdicts_and_the_source_beside_them(tmp_path: Path) -> None:
    found, model = add_program()
    (launch,) = report([ReportSource("add.cu", found, (model,))], tmp_path).launches
    assert launch.standing in (Standing.GAINS, Standing.GOOD)
    assert launch.models == ("kernel-1",)
    marked = [line for line in launch.lines if line.marked]
    assert [line.number for line in marked] == [launch.line]
    low, high = marked[0].marked or (0, 0)
    assert marked[0].text[low:high].startswith("add<<<dim3(")
    assert marked[0].text[low:high].endswith("(n, n, a, b)")


def test_a_refused_launch_says_what_would_settle_it(tmp_path: Path) -> None:
    text = f"{TILE}void f(int n, float *b) {{\n{LAUNCH}}}\n"
    made = report([ReportSource("t.cu", program(text), ())], tmp_path)
    (launch,) = made.launches
    assert launch.standing is Standing.REFUSED
    assert launch.code == "CT211"
    assert launch.pragma.startswith("#pragma cutune kernel tile")
    assert "assert" in launch.remedy
    assert made.summary == "On an NVIDIA H200, 1 launch stays as the source has it."
    annotated = program(text.replace("__global__", f"{launch.pragma}\n__global__", 1))
    assert len(annotated.tunable_launches) == 1


def test_a_launch_without_a_model_says_how_to_get_one(tmp_path: Path) -> None:
    found, _ = add_program()
    (launch,) = report([ReportSource("add.cu", found, ())], tmp_path).launches
    assert launch.standing is Standing.UNMODELLED
    assert "cutune tune" in launch.question


def test_where_a_thread_space_has_to_be_named_that_of_the_runs_is_shown(tmp_path: Path) -> None:
    found, model = add_program()
    kernel = replace(
        model.kernel,
        guards=(None, None, None),
        variable_extents=(True, True, False),
        recorded=(((64, 64), (64, 64, 1)), ((64, 64), (96, 64, 1))),
    )
    changed = replace(model, kernel=kernel, reached=model.reached * 2, variants=())
    made = report([ReportSource("add.cu", found, (changed,))], tmp_path)
    assert [one.label for one in made.kernels[0].sizes] == [
        "n=64, m=64, T.x=64, T.y=64",
        "n=64, m=64, T.x=96, T.y=64",
    ]


def test_excerpts_count_bytes_and_show_characters() -> None:
    text = "a\n\t/* é */ k<<<1, 2>>>();\nb\n".encode().decode("latin-1")
    start = text.index("k<<<")
    before, line, after = excerpt(Source("a.cu", text), Span(start, text.index(";")), around=1)
    assert (before.text, after.text) == ("a", "b")
    assert line.marked is not None
    assert line.text == "    /* é */ k<<<1, 2>>>();"
    assert line.text[slice(*line.marked)] == "k<<<1, 2>>>()"


def test_an_excerpt_of_several_lines_is_marked_on_each() -> None:
    text = "x\nk<<<1,\n  2>>>();\ny"
    lines = excerpt(Source("a.cu", text), Span(2, text.index(";")))
    assert [(one.number, one.text[slice(*one.marked or (0, 0))]) for one in lines] == [
        (2, "k<<<1,"),
        (3, "  2>>>()"),
    ]


# ---- workspaces


def stored(folder: Path, content: str) -> Workspace:
    """A workspace with the model of a program of this text."""
    source, workspace = folder / "add.cu", Workspace(folder / ".cutune").create()
    source.write_text((RECORDED / "add.cu").read_text() + content)
    text = (RECORDED / "add_models.json").read_text()
    workspace.models.write_text(text.replace("/project/add.cu", str(source)))
    return workspace


@pytest.fixture
def by_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """No compiler is asked: what the text says is enough here."""

    def none(option: str | None) -> None:
        raise CutuneError(Diagnostic.at(Code.MISSING_NVCC, None))

    monkeypatch.setattr(toolchain, "find_nvcc", none)


@pytest.mark.usefixtures("by_text")
def test_without_files_all_that_was_tuned_is_read(tmp_path: Path) -> None:
    workspace = stored(tmp_path, "")
    (subject,) = read_subjects(Analyzer(), workspace, ())
    assert subject.program is not None
    assert [model.kernel.name for model in subject.models] == ["add"]
    # A source that is gone leaves its models, and says so.
    (tmp_path / "add.cu").unlink()
    (subject,) = read_subjects(Analyzer(), workspace, ())
    assert subject.program is None and len(subject.models) == 1
    made = report([subject], tmp_path)
    assert "CT001" in made.programs[0].notes[0]
    assert made.kernels[0].text == ()


@pytest.mark.usefixtures("by_text")
def test_sources_are_read_as_the_last_command_compiled_them(tmp_path: Path) -> None:
    workspace = stored(tmp_path, "")
    (tmp_path / "tile.cu").write_text(f"{TILE}void f(int n, float *b) {{\n{LAUNCH}}}\n")
    with chdir(tmp_path):
        workspace.note_command(["tune", "gone.cu", "add.cu"], ["gone.cu", "add.cu"])
        workspace.note_command(["tune", "add.cu", "tile.cu"], ["add.cu", "tile.cu"], ["-DN=4"])
    workspace.note_command(["fit"])
    first, second = read_subjects(Analyzer(), workspace, ())
    assert [Path(subject.path).name for subject in (first, second)] == ["add.cu", "tile.cu"]
    assert len(first.models) == 1 and second.program is not None
    assert not second.program.tunable_launches
    # One that is gone leaves the others.
    (tmp_path / "tile.cu").unlink()
    first, second = read_subjects(Analyzer(), workspace, ())
    assert first.program is not None and second.program is None


@pytest.mark.usefixtures("by_text")
def test_models_of_an_earlier_version_are_left_out(tmp_path: Path) -> None:
    (subject,) = read_subjects(Analyzer(), stored(tmp_path, "// changed\n"), ())
    assert subject.models == ()
    assert "[CT513]" in subject.notes[0]


def test_timings_of_another_device_are_left_out(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path).create()
    launch = with_times(1024)
    for name in (H200.name, "other"):
        sweep = RecordedSweep(name, "1.0", "by hand", (launch,))
        write_sweep(tmp_path / f"{name}.json", sweep)
    lines = [{**swept_line(launch), "device": name} for name in ("other", H200.name)]
    workspace.measurements.write_text("\n".join(map(json.dumps, lines)) + "\n")
    files = [str(tmp_path / f"{name}.json") for name in (H200.name, "other")]
    timings = read_timings(workspace, files, H200)
    assert timings.launches == (launch, launch)
    assert [origin.split(" on ")[1].split(";")[0] for origin in timings.origins] == 2 * [H200.name]
    (note,) = timings.notes
    assert "left out" in note and "other" in note


def test_the_choice_is_compared_with_what_was_timed(tmp_path: Path) -> None:
    found, model = add_program()
    timings = Timings((with_times(1024), with_times(2048, 3.0)))
    made = report([ReportSource("add.cu", found, (model,))], tmp_path, timings)
    assert made.evaluation is not None
    # Where times are what is predicted, only a band of equals is between the choice and the best.
    assert made.evaluation.score(made.evaluation.judged).worst < 0.07
    others = Timings((replace(with_times(1024), kernel="unknown"),))
    assert report([ReportSource("add.cu", found, (model,))], tmp_path, others).evaluation is None


def test_the_provenance_has_commands_hashes_and_versions(tmp_path: Path) -> None:
    found, model = add_program()
    Workspace(tmp_path).note_command(["tune", "a b.cu", "--run", "./{program} {n}"])
    made = report([ReportSource("add.cu", found, (model,))], tmp_path)
    lines = dict(made.provenance)
    assert lines["made"] == "2026-01-02 00:00 UTC"
    assert lines["command"] == "cutune tune 'a b.cu' --run './{program} {n}'"
    assert model.kernel.origin.content in lines["model of add"]
    assert lines["device profile"].startswith("NVIDIA H200, 132 SMs")


# ---- the sentence


def kernel(name: str, gain: float) -> KernelFacts:
    own = SweptConfiguration((32, 8, 1))
    at = AtSizes("1", own, own, gain, "", (), (1, 1, 1))
    return replace(facts_at_64(), key=name, name=name, sizes=(at,))


@pytest.mark.parametrize(
    ("gains", "said"),
    [
        ([3.04], "a is predicted to run 3.0 times as fast with cutune."),
        ([1.0], "the program’s own blocks are already good for a."),
        (
            [1.0, 2.0, 1.5],
            "b and c are predicted to run 2.0 and 1.50 times as fast with cutune; "
            "the program’s own blocks are already good for a.",
        ),
        (
            [4.0, 4.0, 4.0, 16.0],
            "all 4 kernels are predicted to run 5.7 times as fast with cutune on average, "
            "most of all d (16 times).",
        ),
        ([1.01] * 4, "the program’s own blocks are already good for 4 kernels."),
    ],
)
def test_one_sentence_says_what_is_gained(gains: list[float], said: str) -> None:
    kernels = [kernel(name, gain) for name, gain in zip("abcd", gains, strict=False)]
    assert summary([], kernels, "NVIDIA H200") == f"On an NVIDIA H200, {said}"


def test_kernels_of_one_name_are_told_apart() -> None:
    kernels = [replace(kernel(file, 1.0), name="a", program=file) for file in ("x.cu", "y.cu")]
    good = "the program’s own blocks are already good for a of x.cu and a of y.cu."
    assert summary([], kernels, "NVIDIA H200") == f"On an NVIDIA H200, {good}"


def test_nothing_is_said_of_nothing() -> None:
    assert summary([], [], "NVIDIA H200") == "There is no kernel launch here."


# ---- heat maps


def at(times: dict[tuple[int, int, int], float], own: tuple[int, int, int]) -> AtSizes:
    candidates = tuple(
        Candidate(SweptConfiguration(block), us, None, {}) for block, us in times.items()
    )
    first = min(times, key=lambda block: times[block])
    configurations = SweptConfiguration(own), SweptConfiguration(first)
    return AtSizes("1", *configurations, 1.0, "", candidates, (1, 1, 1))


def test_blocks_of_two_dimensions_lie_by_width_and_height() -> None:
    (table,) = heat_tables(at({(32, 1, 1): 1.0, (32, 4, 1): 3.0, (64, 1, 1): 1.1}, (32, 4, 1)))
    assert table.columns == ("32", "64")
    (low, first), (high, second) = table.rows
    assert (low, high) == ("1", "4")
    assert [cell.text for cell in (*first, *second)] == ["1.00", "1.10", "3.0", ""]
    assert [cell.shade for cell in (*first, second[0])] == [0, 1, 5]
    assert first[0].marks == ("chosen",) and second[0].marks == ("own",)
    assert second[0].title == "32x4: 3.00 µs"


def test_blocks_of_one_dimension_fill_rows_of_eight() -> None:
    times = {(32 * n, 1, 1): float(n) for n in range(1, 33)}
    (table,) = heat_tables(at(times, (256, 1, 1)))
    for row, cells in table.rows:
        for column, cell in zip(table.columns, cells, strict=True):
            block = int(row) + int(column)
            assert cell.title.startswith(f"{block}: ")
            assert cell.marks == {32: ("chosen",), 256: ("own",)}.get(block, ())


def test_many_widths_are_grouped_and_show_the_fastest() -> None:
    times = {(x, y, 1): 1.0 + x + y for x in range(1, 40) for y in (1, 2)}
    (table,) = heat_tables(at(times, (17, 2, 1)))
    assert table.columns == ("1", "2–3", "4–7", "8–15", "16–31", "32–39")
    assert table.words == "as the source has it; of several blocks the fastest"
    (_, first), (_, second) = table.rows
    assert first[2].title == "4: 6.00 µs"
    # What the program has is shown where it lies, though another one there is faster.
    assert second[4].title == "17x2: 20.0 µs" and second[4].marks == ("own",)


def test_blocks_of_three_dimensions_have_a_table_per_depth() -> None:
    times = {(x, y, z): 1.0 + x for x in (8, 16) for y in (2, 4) for z in (1, 4)}
    found = heat_tables(at(times, (8, 2, 1)))
    assert found[0].rows[0][1][0].marks == ("stays",)
    captions = [table.caption for table in found]
    assert captions == ["the kernel itself, z = 1", "the kernel itself, z = 4"]


def test_variants_are_told_in_words() -> None:
    assert variant_words("") == "as the source has it"
    assert variant_words("restrict_y4") == "pointers are __restrict__, a thread does 4 ids of y"
    assert variant_words("bounds256x3") == "registers leave room for 3 blocks of 256 threads"


# ---- the flow chart

X, Y = Reference("x"), Reference("y")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (X + (-4), "x − 4"),
        (Y + X * (-2), "y + x · (−2)"),
        (Y + (-2) * X, "y − 2 · x"),
        (X - (Y + 1), "x − (y + 1)"),
        (X / (Y * 2), "x / (y · 2)"),
        (norm(3, floor(X), Y % 32), "‖⌊x⌋, y mod 32‖₃"),
    ],
)
def test_formulas(value: Reference, text: str) -> None:
    assert formula(value) == text


def test_a_choice_is_a_question() -> None:
    definitions = (
        Definition("a", X * 2, "twice"),
        Definition("unused", X * 3),
        Definition("b", choice(less(X, 5), X, Y) * 2),
        Definition(TIME, choice(less(Reference("a"), Reference("block_x")), 1, Reference("b"))),
        Definition(TIME_WITH_FLOOR, Reference(TIME) + 4),
    )
    made = RationalProgram(("x", "y"), {"block_x": (1, 2)}, {}, definitions, 2)
    chart = flow_chart(made, published_rule([(1, 1, 1), (2, 1, 1)]), ["x", "y"], None)
    assert [step.title for step in chart.once] == ["once per launch", "x < 5?", "once per launch"]
    first, question, second = chart.once
    assert [(line.name, line.formula) for line in first.lines] == [("a", "x · 2")]
    assert (question.if_true, question.if_false) == ("b′ = x", "b′ = y")
    assert [line.formula for line in second.lines] == ["b′ · 2"]
    asked, last = chart.each
    assert asked.title == "a < block_x?" and asked.if_true == "time_us = 1"
    assert last.lines[0].formula == "time_us + 4"
