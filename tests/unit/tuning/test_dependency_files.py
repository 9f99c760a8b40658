"""Dependency files appear whole: nvcc writes elsewhere, and the user's file is replaced at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutune.core.temporary import run_folder
from cutune.tuning.nvcc.command import Command
from cutune.tuning.nvcc.rewriting import _dependencies_elsewhere, _object_elsewhere
from cutune.tuning.nvcc.shadows import restore_dependencies, with_copies


@pytest.mark.parametrize(
    ("words", "expected", "others"),
    [
        ("-MD -c a.cu -o x.o", "x.d", "-MD -c a.cu -o x.o"),
        ("-MD -MF y.d -c a.cu", "y.d", "-MD -c a.cu"),
        ("-MMD -MF=y.d -c a.cu", "y.d", "-MMD -c a.cu"),
        ("-c a.cu", "", "-c a.cu"),
        ("-MD -c a.cu b.cu", "", "-MD -c a.cu b.cu"),
    ],
)
def test_where_nvcc_writes_them(words: str, expected: str, others: str) -> None:
    command = Command.parse(words.split())
    elsewhere = _dependencies_elsewhere(command)
    assert elsewhere.startswith(str(run_folder())) == bool(expected)
    assert [*command.dependency_files()] == [expected] or not elsewhere
    given = ["-MF", elsewhere] if expected else []
    assert with_copies(command, {}, elsewhere) == [*others.split(), *given]


def test_where_nvcc_writes_the_object() -> None:
    for words, expected in (
        ("-MD -c a.cu -o x.o", "-MD -c a.cu -MF D -MT x.o -o O"),
        ("-MD -MT t -c a.cu -o x.o", "-MD -MT t -c a.cu -MF D -o O"),
        ("-MD -c a.cu", "-MD -c a.cu -MF D"),
        ("-MD a.cu -o x", "-MD a.cu -o x -MF D"),
        ("-MD -Xcompiler -gsplit-dwarf -c a.cu -o x.o", ""),
    ):
        command = Command.parse(words.split())
        made = _object_elsewhere(command)
        assert made.startswith(str(run_folder())) == expected.endswith("-o O")
        if expected:
            given = with_copies(command, {}, "D", "O" if made else "")
            assert given == expected.split()


def test_the_users_file_is_replaced_at_once(tmp_path: Path) -> None:
    written, wanted = tmp_path / "a.d.1.cutune", tmp_path / "a.d"
    wanted.write_text("a.o : old.h\n")
    written.write_text("a.o : copy.cu cutune.h \\\n    a.h\n")
    names = {"copy.cu": "a.cu", "a.h": "a.h"}
    restore_dependencies(str(written), str(wanted), names.get, ["a.cu"])
    assert wanted.read_text().split() == ["a.o", ":", "a.cu", "\\", "a.h"]
    assert not written.exists()
