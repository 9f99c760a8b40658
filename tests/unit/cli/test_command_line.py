"""Command lines: names that are not known, options of nvcc, compile commands that are pasted."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from cutune.cli.main import main, parse, varied_values
from cutune.cli.options import parser
from cutune.cli.parser import VERBS, WIDTH, Verb
from cutune.core.diagnostics import CutuneError, known_names
from cutune.measure.program_runs import plan_runs


@pytest.mark.parametrize(
    ("line", "code", "meant"),
    [
        ("tun app.cu", "CT024", "tune"),
        ("--versoin", "CT025", "--version"),
        ("inspect app.cu --sugest", "CT025", "--suggest"),
        ("tune app.cu --vry=n=1", "CT025", "--vary"),
        ("tune app.cu -maxregcount=32", "CT025", "-maxrregcount"),
        ("tune -- nvcc -mllvm app.cu", "CT025", ""),
        ("select k --jsn", "CT025", "--json"),
        ("collect a.cu --on gppu", "CT026", "gpu"),
        ("emit a.cu --as=flag", "CT026", "flags"),
        ("frobnicate", "CT024", ""),
        ("select", "CT023", ""),
        ("tune app.cu --run", "CT023", ""),
        ("", "CT023", ""),
    ],
)
def test_what_is_not_known_is_one_message(
    line: str, code: str, meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        parse(shlex.split(line))
    (said,) = capsys.readouterr().err.splitlines()
    assert end.value.code == 2
    assert said.startswith("cutune: error: ") and said.endswith(f"[{code}]")
    assert (f"did you mean '{meant}'?" in said) if meant else ("did you mean" not in said)


@pytest.mark.parametrize(
    ("line", "verbs"),
    [
        (
            "tune app.cu --on emulated",
            "; it is one of cutune verify, cutune shake, cutune collect, cutune bat [CT025]",
        ),
        ("inspect app.cu --seeds 3", "; it is one of cutune shake [CT025]"),
    ],
)
def test_an_option_of_another_verb_is_known_as_such(
    line: str, verbs: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        parse(shlex.split(line))
    assert verbs in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            "tune app.cu --vary w=1,2 h=3 d=4",
            "each name has an option of its own: --vary w=1,2 --vary h=3 --vary d=4; see:",
        ),
        ("tune app.cu --run {w} --vary w=1 h=3 --json", "own: --vary w=1 --vary h=3; see:"),
    ],
)
def test_variations_behind_one_option(
    line: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        parse(shlex.split(line))
    assert end.value.code == 2
    assert said in capsys.readouterr().err
    # A file may have such a name, and sizes look alike.
    assert parse(shlex.split("tune --vary w=1 app.cu")).files == ["app.cu"]
    assert parse(shlex.split("select k --device a100 N=1024")).sizes == ["N=1024"]


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_standard_streams_may_be_closed(closed: str) -> None:
    words = shlex.join([sys.executable, "-m", "cutune", "help", "projects"])
    done = subprocess.run(f"{words} {closed}", shell=True, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


def test_seeds_that_no_one_waits_for(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["shake", "app.cu", "--seeds", "99999999999999"])
    assert end.value.code == 2
    assert "--seeds takes a count up to" in capsys.readouterr().err


def test_values_of_a_variation_have_commas_between_them() -> None:
    with pytest.raises(CutuneError, match="'n=1 2' is not a variation with commas between"):
        varied_values(["n=1 2"])
    assert varied_values(["name=a b,c"]) == {"name": ["a b", "c"]}


def test_a_name_is_meant_where_it_is_close() -> None:
    assert known_names("gem", ["gemm", "syrk", "gemm"]) == "gemm, syrk; did you mean 'gemm'?"
    assert known_names("GEMM_", ["gemm"]) == "gemm; did you mean 'gemm'?"
    assert known_names("atax", ["gemm", "syrk"]) == "gemm, syrk"
    assert known_names("atax", []) == "none"


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.name)
def test_help_begins_with_an_example_that_is_taken(
    verb: Verb, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(WIDTH))
    text = parser().verbs()[verb.name].format_help()
    assert text.splitlines()[2] == f"example: {verb.example}"
    assert max(map(len, text.splitlines())) <= WIDTH
    words = shlex.split(verb.example)
    if words[0] == "cutune":
        assert parse(words[1:]).verb == verb.name


def test_the_help_of_the_command_has_every_verb(monkeypatch: pytest.MonkeyPatch) -> None:
    text = parser().format_help()
    assert max(map(len, text.splitlines())) <= WIDTH
    assert {verb.name for verb in VERBS} == {*parser().verbs()}
    assert all(f"\n  {verb.name} " in text for verb in VERBS)


@pytest.mark.parametrize(
    ("line", "files", "flags"),
    [
        ("tune -O3 -arch=sm_90 -lcublas app.cu", "app.cu", "-O3 -arch=sm_90 -lcublas"),
        ("tune a.cu -O3 b.cu -Iinclude", "a.cu b.cu", "-Iinclude -O3"),
        (
            "tune a.cu -arch sm_90 -Xcompiler -Wall",
            "a.cu",
            "--gpu-architecture=sm_90 -Xcompiler -Wall",
        ),
        ("tune a.cu --nvcc-flag -lm --sizes 8 9 -c", "a.cu", "-lm"),
        ("tune a.cu -shared -ptx -MD -odir out --dryrun -v", "a.cu", "-v"),
        ("inspect @args.rsp a.cu -DN=4", "a.cu", "-DN=4 --options-file args.rsp"),
        (
            "tune --run 'x {n}' -- /opt/cuda/bin/nvcc -O3 -DN=4 -std=c++17 -MD -MF a.d -o app -dc "
            "a.cu util.cpp part.o",
            "a.cu util.cpp",
            "-O3 -DN=4 -std=c++17 -rdc=true -Xlinker=part.o",
        ),
        (
            "tune -- ccache nvcc -forward-unknown-to-host-compiler -Wall -x cu -c a.cu",
            "a.cu",
            "-forward-unknown-to-host-compiler -Wall --x=cu",
        ),
    ],
)
def test_options_of_nvcc_are_taken_as_they_are(
    line: str, files: str, flags: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    options = parse(shlex.split(line))
    assert options.files == files.split()
    asked = [f"--options-file {path}" for path in options.options_file]
    options.options_file = []
    assert " ".join([*options.parameters.flags, *asked]) == flags


def test_a_command_names_its_compiler() -> None:
    assert parse(shlex.split("tune -- /opt/cuda/bin/nvcc a.cu")).nvcc == "/opt/cuda/bin/nvcc"
    assert parse(shlex.split("tune --nvcc own -- /opt/cuda/bin/nvcc a.cu")).nvcc == "own"
    assert parse(shlex.split("tune -- nvcc a.cu")).nvcc is None


def test_words_behind_a_program_are_its_own() -> None:
    options = parse(shlex.split("run -O3 --check app.cu --check -O2 @x -- 5"))
    assert options.program == ["app.cu", "--check", "-O2", "@x", "--", "5"]
    assert (options.check, options.nvcc_flag) == (True, ["-O3"])


def test_values_may_be_negative_and_options_short() -> None:
    options = parse(shlex.split("verify a b --absolute -1e-3 --tol 0.5 -q"))
    assert (options.absolute, options.tolerance, options.quiet) == (-1e-3, 0.5, True)
    assert parse(["select", "k", "--json", "N=1024"]).sizes == ["N=1024"]


@pytest.mark.parametrize(
    ("run", "said"),
    [
        (
            "{size} {n} {sizee}",
            "{sizee} has no value; known: program, size, n; did you mean 'size'?",
        ),
        ("{size} {n} {m}", "{m} has no value; known: program, size, n"),
        ("{size}", "it does not use {n}"),
        ("{sizes} {n}", "it does not use {size}; did you mean 'sizes'?"),
    ],
)
def test_names_in_braces_are_looked_up(run: str, said: str) -> None:
    with pytest.raises(CutuneError) as error:
        plan_runs(f"./{{program}} {run}", {"size": ["1"], "n": ["2"]}, Path("app"))
    assert said in error.value.diagnostic.message


def test_the_program_that_was_built_has_to_be_run() -> None:
    with pytest.raises(CutuneError, match=r"does not run \{program\}.*'./\{program\} \{n\}'"):
        plan_runs("./app {n}", {"n": ["2"]}, Path("app"))
    # A project's own build makes it where --run says.
    assert plan_runs("./app {n}", {"n": ["2"]}, Path())[0].shown == "./app 2"


def test_the_command_line_of_a_temporary_program_is_shown_as_one_would_type_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that a message about it names what the user knows."""
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    template, values = "./{program} {n}", {"n": ["a b"]}
    (temporary,) = plan_runs(template, values, tmp_path / "temporary/x1/app")
    assert temporary.shown == "./app 'a b'"
    assert temporary.command == ("./../temporary/x1/app", "a b")
    (other,) = plan_runs(template, values, tmp_path / "build/app")
    assert other.shown == "./../build/app 'a b'"
    (own,) = plan_runs(template, values, here / ".cutune/app.instrumented")
    assert own.shown == "./.cutune/app.instrumented 'a b'"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("run ./app 100", ["./app", "100"]),
        ("run ./app -- 100", ["./app", "100"]),
        ("run ./app -- -- 100", ["./app", "--", "100"]),
        ("run ./app 100 --", ["./app", "100", "--"]),
        ("run ./app --n 64 -n 3 --check", ["./app", "--n", "64", "-n", "3", "--check"]),
    ],
)
def test_words_of_a_program_may_stand_behind_dashes(
    words: str, expected: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[list[str]] = []

    def ran(command: list[str], **_: object) -> int:
        asked.append(command)
        return 0

    monkeypatch.setattr("cutune.emulator.run.main_run", ran)
    assert main(words.split()) == 0
    assert asked == [expected]
