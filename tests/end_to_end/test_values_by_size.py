"""Macros and constants that are chosen by size at run time: one program, its copies, its choice."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest

from cutune.core.reading import read_source
from cutune.passes import ChooseValues
from cutune.proof.analysis.analyze import analyze
from cutune.proof.analysis.analyzer import Analyzer
from cutune.search.clones.dependence import Dependent, dependent, versions
from cutune.search.clones.find_copies import by_size_verdicts, copies_of, found_copies, tag
from cutune.search.clones.prove_copies import ProgramWithCopies, unequal_code, without_unproven
from cutune.source.program import Program
from cutune.source.rewrite.edits import Copies
from cutune.source.syntax.parse import parse
from cutune.source.unit.unit_texts import UnitTexts
from cutune.toolchain.toolchain import Toolchain
from tests.support import hostile_values as hostile
from tests.support.cutune_runs import QUICK, QUICK_FLAGS, SAMPLES, compiled, cutune, run
from tests.support.short_headers import with_all_headers
from tests.support.trial_files import write_trials

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


def loaded(path: Path) -> tuple[Analyzer, Program]:
    analyzer = Analyzer(Toolchain(flags=QUICK_FLAGS))
    return analyzer, analyzer.load(str(path))


def read(analyzer: Analyzer, path: Path) -> Program:
    """The same by its text alone, which is all that is asked about places of parameters."""
    expanded = analyzer.toolchain.nvcc.preprocess(path, analyzer.toolchain.compile_flags(str(path)))
    return analyze(UnitTexts.read(parse(read_source(str(path))), expanded))


def copied(program: Program, found: Dependent, copies: Copies) -> ChooseValues:
    routine = f"cutune_set_{tag(program.source, [])}"
    text = NEXT.format(routine=routine, count=len(copies.sets) + 1)
    return ChooseValues(copies, text, routine)


def lines_of(path: Path, original: Path, *options: str) -> list[str]:
    """What a program prints at all sizes."""
    binary = compiled(path, original, path.with_suffix(".bin"), (*QUICK_FLAGS, *options))
    done = run(binary, *SIZES)
    return [str(done.returncode), *done.stdout.splitlines()]


def plain_copies(analyzer: Analyzer, program: Program, path: Path) -> Path:
    """The program with copies of all that depends on WPT, whatever it is."""
    found = dependent(versions(analyzer.compiler, program, program.constants, {}, [FOUR]), ["WPT"])
    copies = copies_of(program.source, found, program.constants, ["n"], [FOUR])
    unit = ProgramWithCopies(
        analyzer.compiler, program, found, copies, {}, copied(program, found, copies)
    ).unit
    target = path.with_name("copies.cu")
    target.write_text(unit.rewritten().text)
    return target


def parts_of(programs: Mapping[str, str], folder: Path, *options: str) -> dict[str, list[str]]:
    """What each of several programs prints at all sizes: they are one program here.

    Each has a namespace. What is printed before `main` is the part "".
    """
    spaces, calls = [], []
    for number, (name, text) in enumerate(programs.items()):
        own = re.sub(r"#include <.*>", "", text).replace("int main(", "int begin(")
        spaces.append(f"namespace program_{number} {{\n{own}\n}}\n")
        calls.append(f'puts("# {name}"); printf("%d\\n", program_{number}::begin(argc, argv));\n')
    folder.mkdir()
    includes = "".join(f"#include <{name}>\n" for name in ("cstdio", "cstdlib", "typeinfo"))
    text = f"{includes}{''.join(spaces)}int main(int argc, char **argv) {{\n{''.join(calls)}}}\n"
    status, *lines = lines_of(written(folder, text), folder / "program.cu", *options)
    assert status == "0"
    parts: dict[str, list[str]] = {"": []}
    for line in lines:
        if line.startswith("# "):
            parts[line[2:]] = []
        else:
            parts[[*parts][-1]].append(line)
    return parts


def assert_refused(name: str, analyzer: Analyzer, program: Program) -> None:
    verdict = by_size_verdicts(analyzer.compiler, program)["WPT"]
    assert verdict.note is not None and hostile.REFUSED[name][1] in verdict.note.message, name
    assert verdict.note.code.number == "CT835" and not verdict.outer


def assert_left_out(name: str, analyzer: Analyzer, program: Program) -> None:
    found, copies = found_copies(analyzer.compiler, program, program.constants, {}, [FOUR])
    step = copied(program, found, copies)
    proven, refused = without_unproven(
        ProgramWithCopies(analyzer.compiler, program, found, copies, {}, step)
    )
    assert not proven and [*refused.values()] == [hostile.LEFT_OUT[name][1]]


def test_all_that_is_wrong_is_told_at_once(tmp_path: Path) -> None:
    """No size is named, a template depends on the value, and a variable of the host is used."""
    text = (
        "#pragma cutune tune(TILE: 8, 16)\n#ifndef TILE\n#define TILE 16\n#endif\n"
        "int other;\n"
        "template <class T> __global__ void fill(T *a) { a[threadIdx.x] = TILE; }\n"
        "void go(float *a) { fill<<<other, TILE>>>(a); }\n"
        "int main() { go(0); }\n"
    )
    analyzer = Analyzer(Toolchain(flags=QUICK_FLAGS))
    verdict = by_size_verdicts(analyzer.compiler, read(analyzer, written(tmp_path, text)))["TILE"]
    assert verdict.note is not None
    for part in ("write data(n) behind tune", "'fill' is declared with 'template", "'other'"):
        assert part in verdict.note.message


@pytest.mark.parametrize(
    ("head", "call", "only"),
    [
        ("void operator+(App, Size size)", "App() + Size{n, a}", "declares no or several names"),
        ("template <class T> void run(Size size)", "run<int>(Size{n, a})", "is declared with"),
    ],
)
def test_of_another_head_nothing_else_is_told(
    head: str, call: str, only: str, tmp_path: Path
) -> None:
    """Its parameters, its result and its calls would be read as those of a plain function."""
    launch = f"int n = size.n, *a = size.a; {hostile.LAUNCH}"
    run = f"struct App {{}};\nstruct Size {{ int n, *a; }};\n{head} {{ {launch} }}\n"
    analyzer = Analyzer(Toolchain(flags=QUICK_FLAGS))
    text = hostile.HEAD + hostile.ADD + run + hostile.main(call)
    verdict = by_size_verdicts(analyzer.compiler, read(analyzer, written(tmp_path, text)))["WPT"]
    assert verdict.note is not None and only in verdict.note.message
    assert "; and " not in verdict.note.message


@pytest.mark.parametrize("name", sorted({*hostile.REFUSED} - {*hostile.WRONG}))
def test_what_may_mean_something_else_keeps_one_value(name: str, tmp_path: Path) -> None:
    analyzer = Analyzer(Toolchain(flags=QUICK_FLAGS))
    assert_refused(name, analyzer, read(analyzer, written(tmp_path, hostile.REFUSED[name][0])))


@pytest.mark.long
def test_copies_that_would_be_wrong_are_refused_or_left_out(tmp_path: Path) -> None:
    """Any value gives the same lines; one here and another there gives others."""
    analyzer = Analyzer(Toolchain(flags=QUICK_FLAGS))
    (tmp_path / "plain").mkdir()
    path = written(tmp_path / "plain", hostile.PLAIN)
    texts = {"plain": hostile.PLAIN}
    copies = {"plain": plain_copies(analyzer, read(analyzer, path), path).read_text()}
    for number, name in enumerate(hostile.WRONG):
        (folder := tmp_path / str(number)).mkdir()
        texts[name], _ = {**hostile.REFUSED, **hostile.LEFT_OUT}[name]
        path = written(folder, texts[name])
        if name in hostile.LEFT_OUT:
            program = analyzer.load(str(path))
            assert_left_out(name, analyzer, program)
        else:
            program = read(analyzer, path)
            assert_refused(name, analyzer, program)
        copies[name] = plain_copies(analyzer, program, path).read_text()
    own, wrong = parts_of(texts, tmp_path / "own"), parts_of(copies, tmp_path / "copies")
    assert parts_of(texts, tmp_path / "other", "-DWPT=4") == own
    # What is printed before `main` is the constructor's. "plain" is right.
    assert own[""] == ["begin"] and own.keys() == wrong.keys() == {"", "plain", *hostile.WRONG}
    own["constructor"], wrong["constructor"] = own.pop(""), wrong.pop("")
    assert {name for name in own if own[name] != wrong[name]} == {*hostile.WRONG}


def test_the_function_that_other_sources_call_chooses(tmp_path: Path) -> None:
    text = hostile.HEAD + hostile.ADD + hostile.RUN.removeprefix("static ")
    analyzer, program = loaded(written(tmp_path, text))
    assert by_size_verdicts(analyzer.compiler, program)["WPT"].outer == "run"


def test_headers_of_the_choice_declare_nothing_of_the_users_name(tmp_path: Path) -> None:
    analyzer, program = loaded(written(tmp_path, hostile.NAMED_LIKE_ANOTHER))
    found, copies = found_copies(analyzer.compiler, program, program.constants, {}, [FOUR])
    step = copied(program, found, copies)
    changed = ["they change the program itself"]
    for included, reasons in (("", []), ("#include <cstdio>\n", changed)):
        own = replace(step, selection=included + step.selection)
        _, refused = without_unproven(
            ProgramWithCopies(analyzer.compiler, program, found, copies, {}, own)
        )
        assert [*refused.values()] == reasons


@pytest.mark.long
@pytest.mark.parametrize(
    "text",
    [hostile.PLAIN, hostile.MACROS, hostile.DECLARED, hostile.BY_ARGUMENT, hostile.CONSTANTS],
)
def test_copies_stand_where_their_macros_are(text: str, tmp_path: Path) -> None:
    path = written(tmp_path, text)
    analyzer, program = loaded(path)
    assert by_size_verdicts(analyzer.compiler, program)["WPT"].outer == "run"
    found, copies = found_copies(
        analyzer.compiler, program, program.constants, {}, [FOUR, {"WPT": "2"}]
    )
    question = ProgramWithCopies(
        analyzer.compiler, program, found, copies, {}, copied(program, found, copies)
    )
    assert without_unproven(question) == (tuple(copies.sets), {})
    target = tmp_path / "tuned.cu"
    target.write_text(question.unit.rewritten().text)
    assert lines_of(target, path) == lines_of(path, path)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (hostile.PLAIN, "'add' is compiled to other code"),
        (hostile.HOST_ONLY, "'run' is compiled to other code for the host"),
    ],
)
def test_a_copy_of_other_values_is_not_proven(text: str, reason: str, tmp_path: Path) -> None:
    """The copies are compared with what they claim to be, in text and in code."""
    analyzer, program = loaded(written(tmp_path, text))
    found, copies = found_copies(analyzer.compiler, program, program.constants, {}, [FOUR])
    (prefix,) = copies.sets
    step = copied(program, found, replace(copies, sets={prefix: {"WPT": "2"}}))
    question = ProgramWithCopies(analyzer.compiler, program, found, copies, {}, step)
    _, refused = without_unproven(question)
    assert refused == {prefix: "the compiler gets other tokens"}
    assert unequal_code(question, [prefix]) == {prefix: reason}


# ---- from times to a program

#: Per sample its parameters with the values that were tried, and at which size which are fastest.
SAMPLE_VALUES = {
    "triad": {"PRECISION": (32,), "WORK_PER_THREAD": (1, 2, 4), "LOOP_UNROLL_TRIAD": (0, 1)},
    "md": {"PRECISION": (32,), "TEXTURE_MEMORY": (1,), "WORK_PER_THREAD": (1, 2, 4)},
}
BEST = {64: 4, 200: 1, 600: 2}
BLOCKS = (64, 128)


def _time(n: int, values: Mapping[str, int]) -> float:
    """The best work per thread falls and rises; it is best unrolled, in blocks of 64."""
    work = abs(values["WORK_PER_THREAD"] - BEST[n])
    unrolled = values.get("LOOP_UNROLL_TRIAD", 1)
    return 1 + 0.5 * work + 0.2 * (1 - unrolled) + (values["BLOCK_SIZE"] == BLOCKS[1])


def tuned(source: Path, workspace: Path) -> Path:
    """What `fit` and `emit` make of the times in a workspace."""
    where = ("--workspace", workspace, *QUICK)
    done = cutune("fit", source, "--model", "neighbours", *where)
    assert done.returncode == 0 and "in one program:" in done.stdout, done.stderr
    target = workspace / f"{source.stem}.tuned.cu"
    done = cutune("emit", source, "-o", target, *where)
    assert done.returncode == 0 and "CT836" not in done.stderr, done.stderr
    assert "CT812" in done.stderr or "0 tunable" in done.stdout
    return target


@pytest.fixture
def textures(name: str) -> Iterator[None]:
    """One of them reads textures."""
    with with_all_headers() if name == "md" else nullcontext():
        yield


@pytest.mark.long
@pytest.mark.usefixtures("textures")
@pytest.mark.parametrize("name", SAMPLE_VALUES)
def test_samples_choose_by_size(name: str, tmp_path: Path) -> None:
    """Another set at each size; the results are those of the original, whichever set runs."""
    source = SAMPLES.parent / "bat" / f"{name}.cu"
    _, program = loaded(source)
    values = {**SAMPLE_VALUES[name], "BLOCK_SIZE": BLOCKS}
    write_trials(tmp_path / "work", program, [*BEST], values, _time)
    target = tuned(source, tmp_path / "work")
    options = (*QUICK_FLAGS,)
    own = compiled(source, source, tmp_path / "own", options)
    binary = compiled(target, source, tmp_path / "tuned", options)
    for n in (*BEST, 40, 100, 900):
        wanted = run(own, str(n))
        assert wanted.returncode == 0 and "PASSED" in wanted.stdout
        for asked in ("", "0", "1", "2", "3", "next"):
            done = run(binary, str(n), CUTUNE_VALUES=asked)
            assert (done.returncode, done.stdout) == (0, wanted.stdout), (n, asked)
    for n, best in BEST.items():
        shown = run(binary, str(n), CUTUNE="verbose").stderr
        assert f"WORK_PER_THREAD = {best}" in shown and f"for n = {n}" in shown
        assert f"cutune: BLOCK_SIZE = 64 for n = {n}" in shown
        assert "cutune" not in run(binary, str(n), CUTUNE="off").stderr
    # Nothing was measured there.
    assert "WORK_PER_THREAD = 1" in run(binary, "900", CUTUNE="verbose").stderr
