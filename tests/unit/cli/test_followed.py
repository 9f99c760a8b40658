"""Remedies of command lines, followed to the letter."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from cutune.cli.main import main
from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError
from cutune.measure.program_runs import plan_runs
from cutune.search.neighbours.table import Columns, read_labels, read_table
from tests.support.cutune_runs import QUICK

TEXT = """#ifndef R
#define R 4
#endif
__global__ void k(int n, float *a) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] = R;
}
int main() { k<<<1, 32>>>(32, nullptr); }
"""


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "app.cu"
    path.write_text(TEXT)
    return path


@pytest.mark.nvcc
@pytest.mark.parametrize(
    ("code", "wrong", "said", "right"),
    [
        ("CT304", "instrument app.cu --passes nope", "instrument-launches", "--passes {}"),
        ("CT808", "inspect app.cu --tune R=1,2", "{R} in --nvcc-flag", "--nvcc-flag=-DR={{R}}"),
        (
            *("CT809", "inspect app.cu --tune R=1,2 --nvcc-flag=-DR={R} --run ./app{R}"),
            *("leave it in one", "--nvcc-flag=-DR={{R}}"),
        ),
    ],
)
def test_what_is_written_then_is_taken(
    code: str, wrong: str, said: str, right: str, app: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*wrong.split(), *map(str, QUICK)]) == 1
    told = capsys.readouterr().err
    assert f"[{code}]" in told and said in told
    kept = [word for word in wrong.split() if not word.startswith(("--passes", "nope", "--run"))]
    kept = [word for word in kept if not word.startswith(("./app{", "--nvcc-flag"))]
    assert main([*kept, *right.format(said).split(), *map(str, QUICK)]) == 0


@pytest.mark.nvcc
def test_a_source_without_launches(app: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`inspect --suggest`, which would have nothing to suggest, is not named."""
    app.write_text("int main() {}\n")
    assert main(["tune", "app.cu", "--run", "./{program}", *map(str, QUICK)]) == 1
    said = capsys.readouterr()
    assert "because there is no <<<…>>> in it; name the source that has it [CT415]" in said.err
    assert "--suggest" not in said.err + said.out


@pytest.mark.parametrize(
    "template",
    ["./app {n} --iters 3 -v", "app {n} 5", "cd build && ./app {n} > out", "A=1 ./app {n}", ""],
)
def test_a_command_line_keeps_its_other_words(template: str) -> None:
    with pytest.raises(CutuneError, match=r"it does not run {program}") as caught:
        plan_runs(template, {"n": ["7"]}, Path("program"))
    _, proposed = shlex.split(re.findall(r"write: (--run .*)", str(caught.value))[0])
    (run,) = plan_runs(proposed, {"n": ["7"]}, Path("program"))
    others = {*template.split()} - {"./app", "app", "{n}"}
    assert {"7", *others} <= {*run.command[-1].split()} | {*run.command}


def told(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """What is said of words that are wrong usage."""
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2
    return capsys.readouterr().err


def test_a_command_line_without_quotes(app: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = "tune app.cu --run ./{program} {n} 3 --vary n=7"
    said = told(capsys, *wrong.split())
    _, proposed = shlex.split(re.findall(r"one word: (--run '[^']*')", said)[0])
    (run,) = plan_runs(proposed, {"n": ["7"]}, Path("program"))
    assert run.command == ("./program", "7", "3")


@pytest.mark.nvcc
def test_a_file_in_place_of_a_verb(app: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = told(capsys, "app.cu")
    words = shlex.split(re.findall(r"cutune (inspect app.cu)", said)[0])
    assert main(words) == 0


def test_a_file_by_another_name(app: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for wrong, remedy in (("apq.cu", "did you mean 'app.cu'?"), (".", "name a file in it")):
        assert main(["tune", wrong]) == 1
        assert f"; {remedy} [CT001]" in capsys.readouterr().err


@pytest.mark.nvcc
def test_a_header_is_read_as_cuda(app: Path, capsys: pytest.CaptureFixture[str]) -> None:
    app.rename("app.cuh")
    assert main(["inspect", "app.cuh"]) == 0
    assert "1 launch, 1 tunable" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("run", "proposed"),
    [
        ("python3 ./x.py {n} -v", "python3 {script} {n} -v"),
        ("python3 -u x.py {n} x.pyc", "python3 -u {script} {n} x.pyc"),
        ("python3", "python3 {script} {n}"),
    ],
)
def test_a_script_is_named(
    run: str, proposed: str, app: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = told(capsys, "tune", "x.py", "--run", run, "--vary", "n=7")
    _, found = shlex.split(re.findall(r"write: (--run '[^']*')", said)[0])
    assert found == proposed


def test_times_tell_which_row_is_meant(tmp_path: Path) -> None:
    table = tmp_path / "rows.csv"
    table.write_text("n,m,ms\n64,4,2.5\n64,8,1.5\n")
    columns = Columns(("n",), ("m",))
    with pytest.raises(CutuneError, match="name the column of times with --time") as caught:
        read_labels(table, columns)
    assert caught.value.diagnostic.code is Code.CONTRADICTING_ROWS
    times = read_table(table, replace(columns, time="ms")).times
    assert times == {(64,): {(4,): 2.5, (8,): 1.5}}
