"""The wheel holds everything: built, installed outside the tree in a new environment, used."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def installed(folder: Path) -> Path:
    """The interpreter of a new environment that holds cutune from a wheel."""
    files = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True
    ).stdout.decode()
    # Build from a copy: setuptools leaves a build folder in the tree it builds.
    tree = folder / "tree"
    for name in filter(None, files.split("\0")):
        target = tree / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_symlink():
            target.symlink_to(os.readlink(ROOT / name))
        elif (ROOT / name).exists():
            target.write_bytes((ROOT / name).read_bytes())
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    wheels = folder / "wheels"
    subprocess.run([*pip, "wheel", "--no-deps", "--wheel-dir", wheels, tree], check=True)
    # Its dependencies are those of the environment that runs the tests.
    venv.create(folder / "venv", with_pip=False)
    python = folder / "venv" / "bin" / "python"
    site = next((folder / "venv" / "lib").glob("python*")) / "site-packages"
    subprocess.run(
        [*pip, "install", "--no-deps", "--target", site, *wheels.glob("*.whl")], check=True
    )
    here = [path for path in sys.path if path.endswith("site-packages")]
    (site / "dependencies.pth").write_text("\n".join(here))
    return python


@pytest.mark.nvcc
def test_it_tunes_a_sample(tmp_path: Path) -> None:
    python, sample = installed(tmp_path), ROOT / "samples" / "polybench" / "mvt.cu"
    script = "import cutune, cutune.passes, cutune.grammars; print(cutune.__file__)"
    assert not Path(ran(python, "-c", script).strip()).is_relative_to(ROOT)
    words = (sample, "-std=c++14", "--variants=none", "--workspace", "w", "-o", "mvt.tuned.cu")
    sizes = ("--run", "./{program} {n}", "--vary", "n=64,96")
    ran(python, "-m", "cutune", "tune", *words, *sizes)
    assert "cutune_select_mvt_kernel1" in (tmp_path / "mvt.tuned.cu").read_text()
    files = "[p.name for p in files('cutune.page').joinpath('templates').iterdir()]"
    listed = ran(python, "-c", f"from importlib.resources import files; print({files})")
    assert {"page.html", "parts.html", "style.css", "script.js"} <= {*ast.literal_eval(listed)}
    ran(python, "-m", "cutune", "instrument", sample, "-o", "mvt.instrumented.cu")
    assert "cutune_launch" in (tmp_path / "mvt.instrumented.cu").read_text()


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
