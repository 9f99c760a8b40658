"""What the compiler is told about a rewritten source and its headers."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from cutune.core.diagnostics import CutuneError
from cutune.core.reading import read_source
from cutune.core.workspace import Workspace
from cutune.emulator.program_builds import instrument
from cutune.toolchain.nvcc import Nvcc
from cutune.tuning.nvcc import rewriting
from cutune.tuning.nvcc.command import Command, Item, read_settings
from cutune.tuning.nvcc.shadows import ShadowSource
from tests.support.analyzed import analyzed

HEADER = """#pragma once
__global__ static void fill(int n, float *a) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] = 1;
}
static inline void start(int n, float *a) { fill<<<(n + 127) / 128, 128>>>(n, a); }
"""


def test_a_source_that_has_changed_leaves_the_others_tuned(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    @dataclass(frozen=True)
    class Rewriter:
        path: str

        def kept_or_made(self, assumes: bool) -> ShadowSource | None:
            if self.path == "stale.cu":
                raise Workspace(Path("none")).stale(self.path)
            return None if self.path == "plain.cu" else ShadowSource(f"copy/{self.path}", ())

    def of(command: Command, source: Item, *about: object) -> Rewriter:
        return Rewriter(source.value)

    monkeypatch.setattr(rewriting._Rewriter, "of", of)
    command = Command.parse(["stale.cu", "plain.cu", "tuned.cu"])
    (plain, _), nvcc = read_settings([]), Nvcc(Path("nvcc"))
    assert [*rewriting._shadows(command, plain, nvcc, False)] == ["tuned.cu"]
    assert "'stale.cu' has changed" in capsys.readouterr().err
    strict, _ = read_settings(["--cutune-strict"])
    with pytest.raises(CutuneError):
        rewriting._shadows(command, strict, nvcc, False)


def test_a_rewritten_header_is_found_before_the_users(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its folder, which -I names, is one of those in which quoted includes are looked for first."""
    monkeypatch.chdir(tmp_path)
    for name, text in (("include/fill.h", HEADER), ("src/a.cu", '#include "fill.h"\nint x;\n')):
        Path(name).parent.mkdir()
        Path(name).write_text(text)
    source, header = read_source("src/a.cu"), read_source("include/fill.h")
    program = analyzed(source, (header,))
    assert program.launching_headers == (header,)
    unit = instrument(program)
    shadow = ShadowSource.write(unit, tmp_path / "copies")
    # Copies of headers have a folder of their own.
    copies = tmp_path / "copies-tree"
    quoted = [option.split(",", 1)[1] for option in shadow.host_options if "-iquote" in option]
    ours = quoted.index(str(copies / "include"))
    users = [place for place, path in enumerate(quoted) if os.path.samefile(path, "include")]
    assert "cutune_launch" in (copies / "include" / "fill.h").read_text()
    assert all(ours < place for place in users)
