"""How programs are linked, read from their own headers."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from cutune.emulator.elf import read_linkage
from cutune.toolchain.nvcc import host_compiler


def test_a_program_names_its_libraries_and_search_path(tmp_path: Path) -> None:
    source, program = tmp_path / "a.cpp", tmp_path / "a"
    source.write_text('#include <cstdio>\nint main() { std::puts(""); }\n')
    command = [host_compiler(), str(source), "-o", str(program), "-Wl,-rpath,/one:/two", "-lm"]
    subprocess.run(command, check=True)
    linkage = read_linkage(program)
    assert linkage is not None
    assert "libc.so.6" in linkage.needed
    assert linkage.search_path == ("/one", "/two")
    assert {".text", ".dynamic"} <= linkage.sections


def test_scripts_and_damaged_files_have_none(tmp_path: Path) -> None:
    script = tmp_path / "run.sh"
    script.write_text("#!/bin/sh\n")
    assert read_linkage(script) is None
    torn = tmp_path / "torn"
    torn.write_bytes(Path(sys.executable).resolve().read_bytes()[:200])
    assert read_linkage(torn) is None
    with pytest.raises(OSError):
        read_linkage(tmp_path / "missing")
