"""Scripts whose kernels PyCUDA and CuPy compile, tuned and run tuned on the emulated device."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from unittest.mock import patch

import pytest

from cutune.core.codes import Code
from tests.support.cutune_runs import cutune
from tests.support.short_headers import as_users_do

pytestmark = pytest.mark.nvcc
with_pycuda, with_cupy = (
    pytest.mark.skipif(importlib.util.find_spec(name) is None, reason=f"{name} is not installed")
    for name in ("pycuda", "cupy")
)

ROOT = Path(__file__).parents[2]
SCRIPTS = ROOT / "tests" / "corpus" / "python"
SCRIPT, KERNELS = SCRIPTS / "pycuda_tuned.py", SCRIPTS / "tuned_kernels.cu"
RUN = f"{sys.executable} {{script}} {{n}}"


def started(folder: Path, *words: object, **variables: str) -> subprocess.CompletedProcess[str]:
    with patch.dict(os.environ, {"PYTHONPATH": str(ROOT), **variables}):
        return cutune(*words, cwd=folder)


def run_tuned(folder: Path, *words: object, **variables: str) -> subprocess.CompletedProcess[str]:
    tuned = sys.executable, "-m", "cutune.tuned", "script.py", *words
    return started(folder, "run", *tuned, CUTUNE="verbose", **variables)


def tuned_in(folder: Path, script: Path) -> tuple[Path, str, str]:
    shutil.copy(script, folder / "script.py")
    shutil.copy(KERNELS, folder)
    done = started(folder, "tune", "script.py", "--run", RUN, "--vary", "n=1000,4000,16000")
    assert done.returncode == 0, done.stderr
    return folder, done.stdout, done.stderr


@pytest.fixture(scope="module")
def tuned(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, str]:
    """A folder with a tuned script, and what `tune` said."""
    return tuned_in(tmp_path_factory.mktemp("tuned"), SCRIPT)


@pytest.fixture(scope="module")
def tuned_cupy(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, str]:
    """The same of a script with CuPy, which has headers of its own, of a later standard."""
    with as_users_do():
        return tuned_in(tmp_path_factory.mktemp("tuned_cupy"), SCRIPTS / "cupy_tuned.py")


@pytest.mark.long
@with_pycuda
def test_what_is_tuned_and_what_is_refused(tuned: tuple[Path, str, str]) -> None:
    folder, shown, said = tuned
    assert "3 launches: 2 tuned, 1 refused" in shown
    assert "tuned runs: python3 -m cutune.tuned script.py" in shown
    assert "kernel 'ranks' uses threadIdx.x in a stored value" in said
    variable = Code.SCRIPT_VARIABLE.template.format(kernels="'scale'", name="factor")
    assert said.count(f"warning: {variable} [{Code.SCRIPT_VARIABLE.number}]") == 1
    (row,) = json.loads((folder / "script.tuned" / "units.json").read_text())["units"].values()
    assert row["kernels"] == ["blur", "saxpy"]


@with_pycuda
def test_launches_choose_and_results_stay(tuned: tuple[Path, str, str]) -> None:
    done = run_tuned(tuned[0], 100003, "hostile")
    assert (done.returncode, done.stdout) == (0, "all is well\n"), done.stderr
    assert "saxpy, 100003 x 1 x 1 threads: block 32x1x1 -> 128x1x1\n" in done.stderr
    assert "blur, 12503 x 40 x 1 threads: block 8x8x1 -> " in done.stderr
    # The text of the same name that was not tuned keeps its block, as do these kernels.
    assert "block 128x1x1 and 1 other" in done.stderr
    for kernel in ("ranks", "scale"):
        assert f"{kernel}: 1 launch, grid 3126x1x1, block 32x1x1" in done.stderr
        assert f"cutune: {kernel}," not in done.stderr


def check_hostile(folder: Path, name: str, least: int) -> None:
    """All print what they print when the script is run as it is."""
    table, words = str(folder / "script.tuned"), (SCRIPTS / name, KERNELS)
    own = started(folder, "run", sys.executable, *words)
    command = sys.executable, "-m", "cutune.tuned", *words
    done = started(folder, "run", *command, CUTUNE="verbose", CUTUNE_TUNED=table)
    assert own.returncode == done.returncode == 0
    assert done.stdout.splitlines() == own.stdout.splitlines()
    assert own.stdout.count("\n") > least
    changed = "saxpy, 100000 x 1 x 1 threads: block 32x1x1 -> 128x1x1"
    assert done.stderr.count(changed) > least * 2 // 3


@pytest.mark.long
@with_pycuda
def test_hostile_launches_of_pycuda(tuned: tuple[Path, str, str]) -> None:
    check_hostile(tuned[0], "hostile_pycuda.py", 44)


@pytest.mark.long
@with_cupy
@pytest.mark.usefixtures("own_standard")
@pytest.mark.parametrize(("name", "least"), [("cupy", 25), ("lives", 24), ("texts", 16)])
def test_hostile_launches_of_cupy(tuned_cupy: tuple[Path, str, str], name: str, least: int) -> None:
    check_hostile(tuned_cupy[0], f"hostile_{name}.py", least)


@pytest.mark.long
@with_cupy
@pytest.mark.usefixtures("own_standard")
def test_each_kind_of_kernel_of_cupy(tuned_cupy: tuple[Path, str, str]) -> None:
    folder, shown, said = tuned_cupy
    assert "5 launches: 3 tuned, 1 kept, 1 refused" in shown
    assert "kernel 'ranks' uses threadIdx.x in a stored value" in said
    assert Code.SCRIPT_UNTUNED.number not in said
    rows = json.loads((folder / "script.tuned" / "units.json").read_text())["units"].values()
    kernels = [kernel for row in rows for kernel in row["kernels"]]
    assert sorted(kernels) == ["_Z5twiceIfEvPT_i", "blur", "saxpy", "squares"]
    for _ in range(2):  # What was built is loaded.
        done = run_tuned(folder, 100003)
        assert (done.returncode, done.stdout) == (0, "all is well\n"), done.stderr
        for kernel in ("saxpy", "twice"):
            assert f"{kernel}, 100003 x 1 x 1 threads: block 32x1x1 -> 128x1x1\n" in done.stderr
        assert "blur, 12503 x 40 x 1 threads: block 8x8x1 -> " in done.stderr
        assert "ranks: 1 launch, grid 3126x1x1, block 32x1x1" in done.stderr


@pytest.mark.long
@with_pycuda
def test_off_and_one_line(tuned: tuple[Path, str, str], tmp_path: Path) -> None:
    text = SCRIPT.read_text().replace("import sys\n", "import sys\nimport cutune.tuned\n", 1)
    (tmp_path / "own.py").write_text(text)
    shutil.copy(KERNELS, tmp_path)
    own, folder = (sys.executable, "own.py", 100003), str(tuned[0] / "script.tuned")
    chosen = "saxpy, 100003 x 1 x 1 threads: block 32x1x1 -> 128x1x1\n"
    for mode, count in ("verbose", 1), ("off", 0):
        done = started(tmp_path, "run", *own, CUTUNE=mode, CUTUNE_TUNED=folder)
        assert (done.returncode, done.stdout) == (0, "all is well\n"), done.stderr
        assert done.stderr.count(chosen) == count


@with_pycuda
def test_a_script_without_a_table(tmp_path: Path) -> None:
    for path in SCRIPT, KERNELS:
        shutil.copy(path, tmp_path)
    (tmp_path / SCRIPT.name).rename(tmp_path / "script.py")
    done = run_tuned(tmp_path)
    assert (done.returncode, done.stdout) == (0, "all is well\n"), done.stderr
    assert done.stderr.count(Code.SCRIPT_UNTUNED.number) == 1


@pytest.mark.parametrize(
    ("text", "words", "code"),
    [
        ("print()", ("--run", f"{sys.executable} {{script}}"), Code.NO_SCRIPT_KERNELS),
        ("raise SystemExit(3)", ("--run", f"{sys.executable} {{script}}"), Code.RUN_FAILED),
        ("print()", ("--run", "python3 script.py"), Code.WRONG_USAGE),
        ("print()", ("--run", RUN), Code.BAD_RUN),
        ("print()", ("-DN=3", "--run", f"{sys.executable} {{script}}"), Code.WRONG_USAGE),
    ],
)
def test_scripts_that_cannot_be_tuned(
    text: str, words: tuple[str, ...], code: Code, tmp_path: Path
) -> None:
    (tmp_path / "script.py").write_text(text)
    done = started(tmp_path, "tune", "script.py", *words)
    assert done.returncode == (2 if code is Code.WRONG_USAGE else 1)
    assert code.number in done.stderr
