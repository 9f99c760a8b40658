"""By which variable make is given another nvcc, as Makefiles of strangers name it."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutune.tuning.project import compiler_variable, is_make, kept_tuned

RULE = "app: app.cu\n\t$({}) -O2 app.cu -o app\n"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("NVCC ?= nvcc\n" + RULE.format("NVCC"), "NVCC"),
        ("NVCC := $(CUDA)/bin/nvcc -ccbin $(HOST)\n" + RULE.format("NVCC"), "NVCC"),
        ("CC = nvcc\n" + RULE.format("CC"), "CC"),
        ("CC=/usr/local/cuda-8.0/bin/nvcc\nCFLAGS=-O3\n" + RULE.format("CC"), "CC"),
        ("CC = gcc\nexport CUCC = nvcc\napp: app.cu\n\t${CUCC} app.cu\n", "CUCC"),
        # Nobody uses it.
        ("NVCC = nvcc\napp: app.cu\n\tnvcc app.cu -o app\n", None),
        ("app: app.cu\n\t@nvcc app.cu -o app\n", None),
        # Its rules stand elsewhere.
        ("include common.mk\n", "NVCC"),
        ("app:\n\t$(MAKE) -C src\n", "NVCC"),
    ],
)
def test_the_variable_is_the_one_that_rules_use(
    text: str, name: str | None, tmp_path: Path
) -> None:
    (tmp_path / "Makefile").write_text(text)
    assert compiler_variable("make -j2 app", tmp_path) == name


def test_the_makefile_is_the_one_that_make_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("src").mkdir()
    Path("Makefile").write_text("CC = nvcc\n" + RULE.format("CC"))
    Path("src/other.mk").write_text("CUDACC = nvcc\n" + RULE.format("CUDACC"))
    assert compiler_variable("make") == "CC"
    assert compiler_variable("make -C src -f other.mk") == "CUDACC"
    assert compiler_variable("make -C absent") == "NVCC"
    assert compiler_variable("make 'unbalanced") == "CC"
    Path("makefile").write_text("app: app.cu\n\t$(MYCC) app.cu\n")  # before Makefile
    assert compiler_variable("make MYCC=nvcc") == "MYCC"


def test_what_keeps_a_project_tuned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("Makefile").write_text("CC = nvcc\n" + RULE.format("CC"))
    assert kept_tuned("make -j2", ".cutune/bin") == 'make -j2 CC="cutune nvcc"'
    Path("Makefile").write_text("app: app.cu\n\tnvcc app.cu -o app\n")
    assert kept_tuned("make", ".cutune/bin") == 'PATH="$PWD/.cutune/bin:$PATH" make'


def test_other_commands_are_no_make() -> None:
    assert is_make("make -j2") and is_make("gmake")
    assert not is_make("cmake --build build") and not is_make("cd src && make") and not is_make("")
