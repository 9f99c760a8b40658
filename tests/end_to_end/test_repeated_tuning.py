"""A program that is tuned, or compiled, once more: anew only where something has changed."""

from __future__ import annotations

import os
from pathlib import Path
from unittest.mock import patch

import pytest

from cutune.toolchain.nvcc import find_nvcc
from tests.support.cutune_runs import QUICK, cutune, in_own_process, let_files_age
from tests.support.program_texts import TIMES_FACTOR
from tests.support.short_headers import STANDARD

pytestmark = pytest.mark.nvcc

#: Is said where an earlier answer is given; else the program is measured.
NOTE = "[CT022]"


def tuned(folder: Path, *options: str, run: str = "./{program} {n}") -> tuple[str, str]:
    """What is shown, and what is said; a process of its own, as a person has."""
    command = ["tune", "app.cu", "--run", run, *QUICK, "--vary", "n=64,96,128", *options]
    done = in_own_process(command, folder)
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


@pytest.mark.long
def test_nothing_is_measured_again_unless_something_has_changed(tmp_path: Path) -> None:
    (tmp_path / "app.cu").write_text(TIMES_FACTOR)
    (tmp_path / "factor.h").write_text("#define FACTOR 2\n")
    shown, said = tuned(tmp_path)
    text = (tmp_path / "app.tuned.cu").read_text()
    assert NOTE not in said
    (tmp_path / "app.tuned.cu").unlink()

    shown_again, said = tuned(tmp_path)
    assert shown_again == shown
    assert NOTE in said
    assert (tmp_path / "app.tuned.cu").read_text() == text
    commands = (tmp_path / ".cutune" / "commands.jsonl").read_text().splitlines()
    assert len(commands) == 2

    shown_anew, said = tuned(tmp_path, "--again")
    assert shown_anew == shown
    assert NOTE not in said
    assert (tmp_path / "app.tuned.cu").read_text() == text

    (tmp_path / "factor.h").write_text("#define FACTOR a[n - 1 - i]\n")
    _, said = tuned(tmp_path, "--again")
    assert NOTE not in said


@pytest.mark.long
def test_a_program_that_reads_a_file_is_run_each_time(tmp_path: Path) -> None:
    reading = 'if (FILE *file = fopen(argv[2], "r")) n = fscanf(file, "%d", &n) == 1 ? n : 0'
    (tmp_path / "app.cu").write_text(TIMES_FACTOR.replace("float *a;", f"float *a; {reading};", 1))
    (tmp_path / "factor.h").write_text("#define FACTOR 2\n")
    (tmp_path / "size.txt").write_text("4096\n")
    run = "./{program} {n} size.txt"
    _, said = tuned(tmp_path, run=run)
    assert NOTE not in said
    _, said = tuned(tmp_path, run=run)
    assert NOTE not in said


#: Stands for nvcc. The rewritten source is compiled once: all else is whether it would be.
ONE_OBJECT = """\
#!/bin/sh
echo "$@" >> {log}
case "$*" in */.cutune/nvcc/*) test -e app.o && exit ;; esac
exec {nvcc} "$@"
"""


def compiled(folder: Path, *words: str, **variables: str) -> list[str]:
    """The command lines of nvcc that `cutune nvcc` has run for a source."""
    log = folder / "log"
    log.write_text("")
    script = folder / "nvcc"
    if not script.exists():
        script.write_text(ONE_OBJECT.format(log=log, nvcc=find_nvcc().path))
        script.chmod(0o755)
    # An object is not kept where ptxas is told something.
    options = ["-arch=compute_80", STANDARD, "-Xptxas=-O1", "-c", "app.cu"]
    let_files_age()
    with patch.dict(os.environ, variables):
        done = cutune("nvcc", f"--cutune-nvcc={script}", *options, *words, cwd=folder)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    lines = log.read_text().splitlines()
    assert f"{folder}/.cutune/nvcc/" in lines[-1], "the rewritten source is compiled"
    return lines


def is_proven(lines: list[str]) -> bool:
    """Was the source proven?"""
    return any(" -ptx " in line for line in lines)


@pytest.mark.long
def test_a_source_is_rewritten_again_only_where_something_has_changed(tmp_path: Path) -> None:
    (tmp_path / "app.cu").write_text(TIMES_FACTOR)
    header = tmp_path / "factor.h"
    header.write_text("#define FACTOR 2\n")
    tuned(tmp_path)
    assert is_proven(compiled(tmp_path))
    (copy,) = (tmp_path / ".cutune" / "nvcc").glob("*/app.cu")
    text = copy.read_text()
    copy.write_text("no program")
    assert not is_proven(compiled(tmp_path))
    assert copy.read_text() == text

    assert is_proven(compiled(tmp_path, "-DMORE=1"))
    assert is_proven(compiled(tmp_path, "-O1"))
    assert is_proven(compiled(tmp_path, CUTUNE_DEVICE="a100"))
    assert is_proven(compiled(tmp_path, CUTUNE_VARIANTS="none"))
    assert is_proven(compiled(tmp_path, NVCC_APPEND_FLAGS="-DMORE=1"))
    assert not is_proven(compiled(tmp_path))

    header.write_text("#define FACTOR 3\n")
    assert is_proven(compiled(tmp_path))
    assert not is_proven(compiled(tmp_path))
    models = tmp_path / ".cutune" / "models.json"
    models.write_text(models.read_text().rstrip() + " \n")
    assert is_proven(compiled(tmp_path))
    assert not is_proven(compiled(tmp_path))
    script = tmp_path / "nvcc"
    script.write_text(script.read_text() + "# Another compiler.\n")
    assert is_proven(compiled(tmp_path))
