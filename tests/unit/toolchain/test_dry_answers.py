"""What nvcc says by `--dryrun`: asked once for equal questions, told as if each had been asked."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from cutune.toolchain.dry_run import dry_answer
from cutune.toolchain.nvcc import Nvcc, find_nvcc
from tests.support.shell_programs import script

KEEP = ("--dryrun", "--keep", "--keep-dir")


@pytest.fixture
def nvcc(tmp_path: Path) -> Nvcc:
    """One that says its words, and notes each call beside it."""
    said = f'echo "#$ gcc $@"; echo call >> {tmp_path}/calls; test "$1" != bad'
    found = Nvcc(script(tmp_path / "nvcc", said))
    # It is asked once where it lies.
    assert found.extra_flags == ()
    (tmp_path / "calls").unlink()
    return found


def calls(nvcc: Nvcc) -> int:
    return len(nvcc.path.with_name("calls").read_text().splitlines())


def answer(nvcc: Nvcc, *options: str, folder: str = "/k", output: str = "") -> str:
    written = ["-o", output or f"{folder}/module.ptx"]
    return dry_answer(nvcc, [*options, *KEEP, folder, *written, "a.cu"], folder, output)


def test_places_are_those_of_the_question(nvcc: Nvcc) -> None:
    first = answer(nvcc, "-c", "-Xcompiler", "-iquote,/src", folder="/tmp/one")
    second = answer(nvcc, "-c", "-Xcompiler", "-iquote,/other", folder="/tmp/two")
    assert "-iquote,/src " in first and "--keep-dir /tmp/one -o /tmp/one/module.ptx" in first
    assert second == first.replace("/tmp/one", "/tmp/two").replace("/src", "/other")
    assert calls(nvcc) == 1


def test_many_folders_stay_apart(nvcc: Nvcc) -> None:
    folders = [f"/src/{number}" for number in range(12)]
    options = [word for folder in folders for word in ("-Xcompiler", f"-iquote,{folder}")]
    assert re.findall(r"-iquote,(\S+)", answer(nvcc, *options)) == folders


def test_what_an_output_is_called_matters(nvcc: Nvcc) -> None:
    answer(nvcc, output="/tmp/one/app")
    assert "-o /tmp/two/app" in answer(nvcc, output="/tmp/two/app") and calls(nvcc) == 1
    assert "-o /tmp/two/lib" in answer(nvcc, output="/tmp/two/lib") and calls(nvcc) == 2
    assert "-o app" in answer(nvcc, output="app") and calls(nvcc) == 3


def test_a_folder_is_not_a_part_of_other_words(nvcc: Nvcc) -> None:
    said = answer(nvcc, "-I/k/include", "-iquote,/k", "/k", "/kind/of", folder="/k")
    assert said.startswith("#$ gcc -I/k/include -iquote,/k /k /kind/of --dryrun")
    assert "-iquote,/ -x cu /a/b" in answer(nvcc, "-iquote,/", "-x", "cu", "/a/b", output="cu")


@pytest.mark.parametrize("option", ["-DX=1", "-iquote,/a b", "-iquote,relative"])
def test_other_options_are_other_questions(nvcc: Nvcc, option: str) -> None:
    answer(nvcc)
    assert option in answer(nvcc, option)
    assert calls(nvcc) == 2


def test_variables_and_another_nvcc_are_other_questions(
    nvcc: Nvcc, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer(nvcc)
    monkeypatch.setenv("CPATH", "/usr/include/other")
    answer(nvcc)
    assert calls(nvcc) == 2
    answer(nvcc)
    assert calls(nvcc) == 2
    nvcc.path.write_text(nvcc.path.read_text().replace("gcc", "clang"))
    assert "clang" in answer(nvcc)


@pytest.mark.parametrize("variable", ["", "NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS"])
@pytest.mark.parametrize("words", ["@more", "-optf more", "--options-file=more"])
def test_options_in_files_are_read_each_time(
    nvcc: Nvcc, monkeypatch: pytest.MonkeyPatch, variable: str, words: str
) -> None:
    if variable:
        monkeypatch.setenv(variable, words)
    options = [] if variable else words.split()
    assert answer(nvcc, *options) == answer(nvcc, *options)
    assert calls(nvcc) == 2


def test_a_failure_is_asked_about_again(nvcc: Nvcc) -> None:
    assert answer(nvcc, "bad") == answer(nvcc, "bad")
    assert calls(nvcc) == 2


def test_where_nvcc_is_is_said_with_the_first_answer(tmp_path: Path) -> None:
    for name, flags in (("usual", ()), ("wheel", (f"-L{tmp_path}/wheel/lib",))):
        place = tmp_path / name
        place.mkdir()
        if flags:
            (place / "lib").mkdir()
        said = f'echo "#$ TOP={place}"; echo "#$ gcc $@"; echo call >> {place}/calls'
        nvcc = Nvcc(script(place / "nvcc", said))
        assert answer(nvcc, "-c").splitlines()[1].startswith(" ".join(["#$ gcc", *flags, "-c "]))
        assert (nvcc.root, nvcc.extra_flags) == (place, flags)
        assert calls(nvcc) == 1 + len(flags)


@pytest.mark.nvcc
@pytest.mark.parametrize(
    "options",
    [
        ["-arch=compute_80", "-ptx"],
        ["-O1", "-gencode", "arch=compute_80,code=compute_80", "-lineinfo", "-I."],
        ["-c", "-rdc=true", "-arch=sm_90", "-std=c++17", "-Xptxas", "-v"],
        ["-x", "cu", "-g", "-G", "-shared"],
    ],
)
def test_nvcc_says_the_same_as_without(options: list[str], tmp_path: Path) -> None:
    nvcc = find_nvcc()
    for name in ("first", "second"):
        folder, output = str(tmp_path / name / "kept"), str(tmp_path / name / "app")
        quoted = ["-Xcompiler", f"-iquote,{tmp_path / name}"]
        words = [*options, *quoted, *KEEP, folder, "a.cu", "-o", output]
        asked = nvcc.run(words)
        assert dry_answer(nvcc, words, folder, output) == asked.stderr + asked.stdout
        assert asked.returncode == 0 and os.path.basename(output) in asked.stderr
