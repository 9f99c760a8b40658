"""Wheels hold everything: built, installed outside the tree in a new environment, used."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import venv
from pathlib import Path
from zipfile import ZipFile

import pytest

import cutune
from cutune.toolchain.nvcc import find_nvcc

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[2]
PROGRAM = """
#include <cstdio>
__global__ void add(int *sum) { atomicAdd(sum, 1); }
int main()
{
    int *sum, result = 0;
    cudaMalloc(&sum, sizeof(int));
    cudaMemcpy(sum, &result, sizeof(int), cudaMemcpyHostToDevice);
    add<<<1, 42>>>(sum);
    cudaMemcpy(&result, sum, sizeof(int), cudaMemcpyDeviceToHost);
    printf("%d\\n", result);
}
"""


@pytest.fixture(autouse=True)
def _only_what_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the tests are told to import a tree, what is installed is used all the same."""
    monkeypatch.delenv("PYTHONPATH", raising=False)


def tree(folder: Path) -> Path:
    """A copy of the tree: setuptools leaves folders in the one that it builds."""
    files = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True
    ).stdout.decode()
    copy = folder / "tree"
    for name in filter(None, files.split("\0")):
        target = copy / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_symlink():
            target.symlink_to(os.readlink(ROOT / name))
        elif (ROOT / name).exists():
            target.write_bytes((ROOT / name).read_bytes())
    return copy


def installed(wheel: Path, folder: Path) -> Path:
    """The interpreter of a new environment that holds cutune from a wheel."""
    # Its dependencies are those of the environment that runs the tests.
    venv.create(folder / "venv", with_pip=False)
    python = folder / "venv" / "bin" / "python"
    site = next((folder / "venv" / "lib").glob("python*")) / "site-packages"
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    # Few of its modules are ever loaded.
    options = ["--no-deps", "--no-compile", "--target", str(site), str(wheel)]
    subprocess.run([*pip, "install", *options], check=True)
    here = [path for path in sys.path if path.endswith("site-packages")]
    (site / "dependencies.pth").write_text("\n".join(here))
    return python


def built(tree: Path, *options: str) -> Path:
    """The one wheel that `python -m build` makes of a tree."""
    out = tree.parent / "dist"
    command = [sys.executable, "-m", "build", *options, "--outdir", str(out), str(tree)]
    subprocess.run(command, check=True, capture_output=True)
    (wheel,) = out.glob("*.whl")
    return wheel


def test_a_clone_installed_in_place_is_found_from_the_folder_around_it(tmp_path: Path) -> None:
    """There `cutune` is a folder, too, which Python would take for a package without files."""
    clone = tree(tmp_path).rename(tmp_path / "cutune")
    venv.create(tmp_path / "venv", with_pip=False)
    site = next((tmp_path / "venv" / "lib").glob("python*")) / "site-packages"
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    options = ["--no-deps", "--target", str(site), "--editable", str(clone)]
    subprocess.run([*pip, "install", *options], check=True)
    script = "import cutune; print(cutune.__version__)"
    python = tmp_path / "venv" / "bin" / "python"
    done = subprocess.run(
        [python, "-c", script],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout.strip(), done.stderr) == (cutune.__version__, "")


@pytest.mark.nvcc
def test_it_tunes_a_sample(tmp_path: Path) -> None:
    """The wheel is made of the sources' archive."""
    wheel, sample = built(tree(tmp_path)), ROOT / "samples" / "polybench" / "mvt.cu"
    python = installed(wheel, tmp_path)
    assert wheel.name.endswith("-py3-none-any.whl")
    assert len([*wheel.parent.glob("*.tar.gz")]) == 1
    script = "import cutune, cutune.passes, cutune.grammars; print(cutune.__file__)"
    assert not Path(ran(python, "-c", script).strip()).is_relative_to(ROOT)
    words = (sample, "-std=c++14", "--variants=none", "--workspace", "w", "-o", "mvt.tuned.cu")
    sizes = ("--run", "./{program} {n}", "--vary", "n=64,96")
    ran(python, "-m", "cutune", "tune", *words, *sizes)
    assert "cutune_select_mvt_kernel1" in (tmp_path / "mvt.tuned.cu").read_text()
    files = "[p.name for p in files('cutune.cli.page').joinpath('templates').iterdir()]"
    listed = ran(python, "-c", f"from importlib.resources import files; print({files})")
    assert {"page.html", "parts.html", "style.css", "script.js"} <= {*ast.literal_eval(listed)}
    assert "# Annotations of kernels" in ran(python, "-m", "cutune", "help", "annotations")
    with ZipFile(wheel) as archive:
        assert any(name.endswith("/man/man1/cutune.1") for name in archive.namelist())
    ran(python, "-m", "cutune", "instrument", sample, "-o", "mvt.instrumented.cu")
    assert "cutune_launch" in (tmp_path / "mvt.instrumented.cu").read_text()


@pytest.mark.nvcc
def test_the_emulated_device_needs_no_compiler_where_it_is_built_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = tree(tmp_path)
    # Code for this very processor: what was compiled for it is in the cache.
    make = "import build_device, cutune.emulator.build as b; build_device.build_in(b.MACHINE_FLAGS)"
    environment = {**os.environ, "PYTHONPATH": str(copy)}
    subprocess.run([sys.executable, "-c", make], cwd=tmp_path, env=environment, check=True)
    wheel = built(copy, "--wheel")
    assert "-py3-none-linux_" in wheel.name
    python = installed(wheel, tmp_path)
    source = tmp_path / "add.cu"
    source.write_text(PROGRAM)
    nvcc = find_nvcc(None)
    nvcc.run(["-cudart", "shared", "-arch=compute_80", str(source), "-o", str(tmp_path / "add")])
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path / "no compiler"))
    monkeypatch.setenv("CUDACXX", str(nvcc.path))
    assert ran(python, "-m", "cutune", "run", tmp_path / "add").strip() == "42"
    tune = [str(python), "-m", "cutune", "tune", source.name, "--run", "./{program}"]
    done = subprocess.run(tune, cwd=tmp_path, capture_output=True, text=True, check=False)
    (said,) = done.stderr.splitlines()
    assert (done.returncode, said[-7:]) == (1, "[CT007]")
    made = (tmp_path / "cache").rglob("*.*o")
    assert [path for path in made if not path.is_symlink()] == []
    # Started by itself, as build systems do, it finds the interpreter that has cutune.
    (folder,) = (tmp_path / "cache/cutune/alias").iterdir()
    alone = subprocess.run(
        [tmp_path / "add"], env={"LD_LIBRARY_PATH": str(folder)}, capture_output=True, check=False
    )
    assert (alone.returncode, alone.stdout.strip()) == (0, b"42")


def ran(python: Path, *words: object) -> str:
    """What it prints where it is installed, away from the tree."""
    done = subprocess.run(
        [python, *map(str, words)],
        cwd=python.parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
