"""Builds of a changed source: what was proven earlier is assumed, and holds where nvcc says so."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from contextlib import chdir
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from cutune.core.diagnostics import CutuneError
from cutune.toolchain import device_code, toolchain
from cutune.toolchain.cache import keep_text, key_of
from cutune.toolchain.device_code import EarlierCode, NoEarlierCode
from cutune.toolchain.nvcc import find_nvcc
from cutune.tuning import kept as kept_results
from cutune.tuning.inputs import Inputs
from cutune.tuning.kept import EarlierBuild, Making, earlier_build
from cutune.tuning.nvcc import rewriting
from cutune.tuning.nvcc.command import Command, read_settings
from tests.support.cutune_runs import QUICK, cutune, let_files_age
from tests.support.short_headers import STANDARD

SOURCE = """#include <cassert>
#include <cstdio>
#include <cstdlib>
#include "factor.h"
template <class T> __global__ void fill(int n, T *a) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] = 1;
}
__global__ void scale(int n, float *a) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    assert(n > 0);
    if (i < n) a[i] *= FACTOR;
}
int main(int argc, char **argv) {
    int n = atoi(argv[1]);
    float *a;
    cudaMalloc(&a, n * sizeof(float));
    cudaMemset(a, 0, n * sizeof(float));
    fill<<<(n + 255) / 256, 256>>>(n, a);
    scale<<<(n + 255) / 256, 256>>>(n, a);
    printf("%d\\n", cudaDeviceSynchronize());
}
"""
WORDS = [STANDARD, "-arch=sm_80", "-MD", "-c", "app.cu", "-o", "app.o"]
SETTINGS, _ = read_settings(["--cutune-mode=tuned", "--cutune-device=h200"])


@dataclass(frozen=True)
class Build:
    """What was done: compilations for proofs, runs of nvcc; the rewritten source, messages."""

    proving: int
    compiling: int
    rewritten: str
    said: str

    @property
    def is_tuned(self) -> bool:
        return b"cutune_select_scale" in Path("app.o").read_bytes()


@pytest.fixture(scope="module")
def tuned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("earlier")
    (folder / "app.cu").write_text(SOURCE)
    (folder / "factor.h").write_text("#define FACTOR 2\n")
    run = ["--run", "./{program} {n}", "--vary", "n=64,96,128"]
    done = cutune("tune", "app.cu", *run, *QUICK[:2], cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def build(
    tuned: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Iterator[Callable[..., Build]]:
    """Build the source with a text in place of another, and see what is done for that."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    counts = {"proving": 0, "compiling": 0}
    run = subprocess.run

    def proving(*words: Any) -> Any:
        counts["proving"] += 1
        return device_code.compiled(*words)

    def compiling(words: Any, **options: Any) -> Any:
        counts["compiling"] += str(find_nvcc().path) in words
        return run(words, **options)

    def instead(launcher: list[str], words: list[str]) -> int:
        return run([*launcher, *words], check=False).returncode

    monkeypatch.setattr(toolchain, "compiled", proving)
    monkeypatch.setattr(subprocess, "run", compiling)
    monkeypatch.setattr(rewriting, "run_instead", instead)

    def built(old: str = "", new: str = "", *words: str) -> Build:
        counts.update(proving=0, compiling=0)
        Path("app.cu").write_text(SOURCE.replace(old, new, 1) if old else SOURCE)
        let_files_age()
        command = Command.parse([*words, *WORDS])
        status = rewriting.compile_rewritten([str(find_nvcc().path)], command, SETTINGS)
        assert status == 0
        # Other options have a copy of their own.
        copies = Path(".cutune/nvcc").glob("*-tuned/app.cu")
        copy = max(copies, key=lambda path: path.stat().st_mtime_ns)
        text = copy.read_text("latin-1")
        return Build(counts["proving"], counts["compiling"], text, capfd.readouterr().err)

    with chdir(tuned):
        yield built
    (tuned / "factor.h").write_text("#define FACTOR 2\n")


HOST = ("int n = atoi", 'puts("more"); int n = atoi')


@pytest.mark.long
@pytest.mark.nvcc
def test_a_change_of_host_code_compiles_nothing_for_proofs(
    build: Callable[..., Build], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = build()
    assert first.proving > 0 and first.compiling == 1 and first.is_tuned
    changed = build(*HOST)
    assert (changed.proving, changed.compiling, changed.is_tuned) == (0, 1, True)
    # It is kept, and so is its object.
    again = build(*HOST)
    assert (again.proving, again.compiling) == (0, 0)
    # Another change, from there on.
    assert build("int n = atoi", 'puts("other"); int n = atoi').proving == 0
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "empty"))
    anew = build(*HOST)
    assert anew.proving > 0 and anew.rewritten == changed.rewritten


@pytest.mark.long
@pytest.mark.nvcc
def test_a_comment_compiles_nothing(build: Callable[..., Build]) -> None:
    build()
    remark = "// A remark\n\nint main("
    changed = build("int main(", remark)
    assert (changed.proving, changed.compiling, changed.is_tuned) == (0, 0, True)
    assert remark in changed.rewritten
    assert {"app.o", "app.cu", "factor.h"} <= {*Path("app.d").read_text().split()}
    assert build("int main(", remark).compiling == 0
    # Where lines count, nvcc has to run.
    build("", "", "-lineinfo")
    changed = build("int main(", remark, "-lineinfo")
    assert (changed.proving, changed.compiling) == (0, 1)


@pytest.mark.long
@pytest.mark.nvcc
def test_a_comment_above_an_assertion_leaves_what_was_proven(build: Callable[..., Build]) -> None:
    """Its line is an argument of a call in the device code."""
    build()
    changed = build("template", "// A remark\ntemplate")
    assert (changed.proving, changed.compiling, changed.is_tuned) == (0, 1, True)
    assert "CT513" not in changed.said


@pytest.mark.long
@pytest.mark.nvcc
@pytest.mark.parametrize(
    ("old", "new"),
    [("a[i] *= FACTOR", "a[i] *= FACTOR + 1"), ("if (i < n) a[i] *=", "if (i + 1 < n) a[i] *=")],
)
def test_a_changed_kernel_has_no_model(build: Callable[..., Build], old: str, new: str) -> None:
    build()
    changed = build(old, new)
    assert not changed.is_tuned and "CT513" in changed.said


@pytest.mark.long
@pytest.mark.nvcc
def test_device_code_that_changes_elsewhere_is_noticed(build: Callable[..., Build]) -> None:
    """No text of the source has changed: only what the compiler makes of it."""
    build()
    Path("factor.h").write_text("#define FACTOR 3\n")
    changed = build()
    assert changed.proving > 0 and changed.compiling == 2


@pytest.mark.long
@pytest.mark.nvcc
def test_host_code_that_needs_more_device_code_is_proven_anew(build: Callable[..., Build]) -> None:
    build()
    more = "double *b = 0; auto other = fill<double>; (void)b; (void)other; int n = atoi"
    assert build("int n = atoi", more).proving > 0


@pytest.mark.long
@pytest.mark.nvcc
def test_an_error_is_that_of_the_original(
    build: Callable[..., Build], capfd: pytest.CaptureFixture[str]
) -> None:
    build()
    Path("app.cu").write_text(SOURCE.replace("int n = atoi", "int n = oops + atoi"))
    let_files_age()
    words = [str(find_nvcc().path)], Command.parse(WORDS), SETTINGS
    assert rewriting.compile_rewritten(*words) != 0
    assert 'app.cu(15): error: identifier "oops" is undefined' in capfd.readouterr().err


DIGESTS = {
    name: name
    for name in (
        *("request", "cutune", "environment", "machine", "devices", "named", "workspace"),
        *("compiler", "text", "files"),
    )
}


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Making:
    """A build that was kept under the name `app`."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (tmp_path / "app.ptx").write_text(".entry k\n")
    code = EarlierCode({"source 80": "ptx"})
    making = Making("app", Inputs(DIGESTS, [], [], ["int a;\n"]), code, None, lambda: True)
    assert making.was_compiled(tmp_path)
    return making


def test_nothing_is_assumed_where_anything_but_sources_has_changed(kept: Making) -> None:
    found = earlier_build("app", kept.inputs)
    assert found is not None and found.compiled == {"source 80": "ptx"}
    for name in DIGESTS:
        inputs = replace(kept.inputs, digests={**DIGESTS, name: "other"})
        assert (earlier_build("app", inputs) is not None) == (name in ("text", "files"))
    assert earlier_build("other", kept.inputs) is None


def test_a_damaged_build_is_none(kept: Making, tmp_path: Path) -> None:
    (file,) = (tmp_path / "cutune" / kept_results.EARLIER).iterdir()
    file.write_bytes(file.read_bytes()[:-1])
    assert earlier_build("app", kept.inputs) is None
    # What another version may have kept.
    for text in ("{}", "text"):
        keep_text(file, f"{key_of(text)}\n{text}")
        assert earlier_build("app", kept.inputs) is None


def test_what_nvcc_has_made_confirms_it(kept: Making, tmp_path: Path) -> None:
    assumed = earlier_build("app", kept.inputs)
    assert isinstance(assumed, EarlierBuild)
    calls: list[str] = []

    def keep() -> bool:
        calls.append("kept")
        return True

    making = replace(kept, assumed=assumed, keep=keep)
    assert making.was_compiled(tmp_path) and calls == ["kept"]
    (tmp_path / "app.ptx").write_text(".entry k // other\n")
    assert not making.was_compiled(tmp_path)
    (tmp_path / "app.ptx").unlink()
    assert not making.was_compiled(tmp_path)
    (tmp_path / "other.ptx").write_text(".entry k\n")
    assert not making.was_compiled(tmp_path) and calls == ["kept"]


def test_comments_are_told_from_changes(kept: Making) -> None:
    assumed = earlier_build("app", kept.inputs)

    def is_alike(text: str) -> bool:
        return replace(kept, assumed=assumed, inputs=replace(kept.inputs, texts=[text])).is_alike

    assert is_alike('# 3 "app.cu"\n\nint a;\n')
    assert not is_alike("int b;\n")
    assert not is_alike("int a; // __builtin_LINE\n")
    assert not replace(kept, assumed=None).is_alike


def test_only_what_was_compiled_is_assumed() -> None:
    def begin() -> Any:
        raise AssertionError

    code = EarlierCode({"source 80": "text", "other 90": None})
    assert code.codes("source", ["80"], begin)["80"].result().ptx == "text"
    for about, name in (("source", "90"), ("other", "80")):
        with pytest.raises(NoEarlierCode):
            code.codes(about, [name], begin)
    assert isinstance(code.codes("other", ["90"], begin)["90"].exception(), CutuneError)
    assert code.found() == {"source 80": "text", "other 90": None}
    failed = EarlierCode()
    failed.codes("source", ["80"], lambda: code.codes("source", ["80"], begin))
    failed.codes("other", ["90"], lambda: code.codes("other", ["90"], begin))
    assert failed.found() == code.found()
