"""No name becomes a command of the shell that nvcc starts."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutune.core.diagnostics import CutuneError
from cutune.toolchain.compiler_commands import executed_word
from cutune.toolchain.nvcc import find_nvcc

COMMANDS = ("a$(touch made).cu", "a`touch made`.cu", 'a"; touch made; ".cu', "a\\$(touch made).cu")


@pytest.mark.parametrize(
    "words",
    [
        ['-DNAME="text"', "-D", 'N="a b"', "a b.cu", "-I", "dir;x", "it's.cu"],
        ["-Xlinker", "-rpath,$ORIGIN", "-Xcompiler", '-iquote,"a\\$(b)"', "$HOME.cu"],
    ],
)
def test_what_is_only_text(words: list[str]) -> None:
    assert executed_word(words) is None


@pytest.mark.parametrize("name", COMMANDS)
def test_names_are_refused(name: str) -> None:
    assert executed_word([name]) == executed_word(["-c", "-I", name]) == name
    assert executed_word(["-Xcompiler", "-DX=`b`"]) == "-DX=`b`"


@pytest.mark.nvcc
def test_nothing_is_executed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for words in (*([name] for name in COMMANDS), ["-DN=$(touch made)", "a.cu"]):
        Path(words[-1]).write_text("__global__ void k() {}")
        with pytest.raises(CutuneError) as caught:
            find_nvcc().check(["-ptx", *words])
        assert caught.value.diagnostic.code.number == "CT712"
    assert not Path("made").exists()
