"""The count of tunable launches: options of a Makefile, command lines, two runs compared."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.compile_lines import compile_options
from benchmarks.launch_verdicts import LaunchVerdict, Unit, command_line
from benchmarks.tunable import changes, own_programs, public_program

TUNABLE = LaunchVerdict("s", "p", "a.cu", 3, "k", 1, "tunable", None, "global ids only in x")
REFUSED = replace(TUNABLE, verdict="refused", code="CT211", reason="uses shared memory")


@pytest.mark.parametrize(
    ("line", "kept"),
    [
        ("-O3 -std=c++17 -arch=sm_90 -c a.cu -o a.o", ["-std=c++17"]),
        ("-DN=3 -D M -dc a.cu", ["-DN=3", "-D", "M", "-rdc=true"]),
        ("--default-stream per-thread -Xcompiler -fopenmp a.cu",
         ["--default-stream", "per-thread", "-Xcompiler", "-fopenmp"]),
        ("-stdpar=gpu -g -G a.cu", []),
    ],
)  # fmt: skip
def test_options_that_decide_what_is_compiled(line: str, kept: list[str]) -> None:
    assert list(compile_options(line.split(), Path("/p"))) == kept


def test_include_folders_are_absolute(tmp_path: Path) -> None:
    assert list(compile_options(["-I../include"], tmp_path)) == [f"-I{tmp_path}/../include"]


def test_inspect_is_called_in_its_own_words() -> None:
    words = command_line(Unit(("a.cu", "b.cu"), ("-DN=3", "-I/x", "-std=c++17", "-x", "cu")))
    assert words[words.index("inspect") :] == [
        *("inspect", "--json", "-q", "-D", "N=3", "-I", "/x"),
        *("--nvcc-flag=-std=c++17", "--nvcc-flag=-x", "--nvcc-flag=cu", "a.cu", "b.cu"),
    ]


def test_launches_of_both_runs_are_compared() -> None:
    other = replace(TUNABLE, line=9)
    assert changes([REFUSED, other], [TUNABLE, other]) == ([TUNABLE], [])
    assert changes([TUNABLE, other], [REFUSED, other]) == ([], [REFUSED])


def test_a_tunable_launch_that_is_no_longer_seen_is_lost() -> None:
    other = replace(TUNABLE, line=9)
    assert changes([TUNABLE, other], [other]) == ([], [TUNABLE])


def test_programs_that_were_not_looked_at_are_not_lost() -> None:
    assert changes([TUNABLE], [replace(TUNABLE, program="q")]) == ([], [])


def test_a_program_is_what_its_makefile_compiles(tmp_path: Path) -> None:
    folder = tmp_path / "p"
    folder.mkdir()
    for name in ("a.cu", "included.cu", "host.cpp"):
        (folder / name).write_text("")
    (folder / "Makefile").write_text("all:\n\tnvcc -DN=1 -c a.cu\n\tnvcc -c host.cpp\n")
    assert public_program(tmp_path, "p").units == (Unit(("a.cu",), ("-DN=1",)),)
    (folder / "Makefile").unlink()
    (unit,) = public_program(tmp_path, "p").units
    assert unit.files == ("a.cu", "included.cu")


def test_samples_and_judge_sets_are_programs() -> None:
    sets = {program.set for program in own_programs()}
    assert {"polybench", "tridiagonal", "judges/01", "judges/14"} <= sets
