"""Blocks that were measured instead of modelled: from swept launches to the code that chooses.

The sweep is synthetic: up to 1000 x 1000 threads 32x2 is the fastest block, beyond it 64x8. The
emitted code is compiled with the host compiler against a stand-in for the runtime.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from cutune.cli.main import main
from cutune.core.reading import read_source
from cutune.core.typed import typed
from cutune.core.workspace import append_lines
from cutune.model.emit.selection import emit_selection
from cutune.model.fit.fitted_model import read_models
from cutune.model.measurement.measurement import Origin
from cutune.model.measurement.sweep import SweptConfiguration, SweptLaunch, read_sweep, swept_line
from cutune.proof.analysis.analyzer import Analyzer
from cutune.search.neighbours.classifier import document_entry
from cutune.search.tunables.measured_blocks import BlockClassifier, block_deciders, fit_kernel
from cutune.source.program import Program, SiteKey
from cutune.toolchain.device.profile import DeviceProfile
from cutune.toolchain.nvcc import INCLUDE_DIRECTORY
from cutune.toolchain.toolchain import Toolchain
from tests.support.cutune_runs import QUICK, QUICK_FLAGS
from tests.support.emitted_programs import FAKE_CUDART, SITES, build

pytestmark = pytest.mark.usefixtures("short_headers")

RECORDED = Path(__file__).parents[2] / "recorded"
H200 = DeviceProfile.named("h200")
OWN, SMALL, LARGE = (16, 16, 1), (32, 2, 1), (64, 8, 1)
SIZES = (64, 250, 1000, 4000)

MAIN = """
int main(int argc, char **argv) {
    float data = 0;
    fake_multiprocessors = atoi(argv[1]);
    for (int i = 2; i + 1 < argc; i += 2) {
        const dim3 block = launch(atoi(argv[i]), atoi(argv[i + 1]), &data);
        printf("%ux%ux%u ", block.x, block.y, block.z);
    }
    return 0;
}
"""


def swept(n: int, m: int) -> SweptLaunch:
    small, large = (10.0, 14.0) if n * m <= 1_000_000 else (50.0, 30.0)
    times = {OWN: 100.0, SMALL: small, LARGE: large}
    return SweptLaunch("add", "add", None, {"n": n, "m": m}, (n, m, 1), OWN, times)


@pytest.fixture(scope="module")
def program() -> Program:
    return Analyzer(Toolchain(flags=QUICK_FLAGS)).load(str(RECORDED / "add.cu"))


def fitted(
    program: Program, points: list[tuple[int, int]], device: str = H200.name
) -> BlockClassifier:
    kernel = program.kernel("add")
    assert kernel is not None
    choice = fit_kernel(kernel, device, [swept(n, m) for n, m in points], 0.04)
    assert choice is not None
    return choice


def test_one_size_that_all_others_follow_is_chosen_by_intervals(program: Program) -> None:
    choice = fitted(program, [(n, 2 * n + 3) for n in SIZES])
    assert choice.columns == ("n", "m", "T.x", "T.y", "T.z")
    assert choice.model.sizes == ("n",)
    assert [choice.columns[link.column] for link in choice.links] == ["m", "T.x", "T.y"]
    assert choice.choose((64, 131, 64, 131, 1)) == SMALL
    assert choice.choose((4000, 8003, 4000, 8003, 1)) == LARGE
    assert choice.choose((100, 203, 100, 203, 1)) == SMALL
    assert choice.choose((100, 200, 100, 200, 1)) is None, "m was never set like that"
    assert choice.choose((100, 203, 96, 203, 1)) is None, "nor so few threads"
    assert choice.choose((63, 129, 63, 129, 1)) is None, "smaller than measured"
    assert choice.choose((4001, 8005, 4001, 8005, 1)) is None, "larger than measured"
    read = typed(BlockClassifier, document_entry(choice))
    read.check()
    assert read.choose((100, 203, 100, 203, 1)) == SMALL


def test_a_launch_swept_at_one_size_is_known_there_alone(program: Program) -> None:
    choice = fitted(program, [(250, 250)])
    assert choice.choose((250, 250, 250, 250, 1)) == SMALL
    assert choice.choose((251, 250, 251, 250, 1)) is None


Runner = Callable[..., list[str]]


def compiled(program: Program, choice: BlockClassifier, folder: Path) -> Runner:
    """Runs launches of `add` in a program that has the emitted routine."""

    def header(name: str) -> str:
        return (INCLUDE_DIRECTORY / f"cutune_{name}.h").read_text()

    before = (
        *map(header, ("launch", "signature", "range", "allocation", "tables")),
        *map(header, ("operators", "host", "choice", "refine", "select")),
    )
    models = read_models(RECORDED / "add_models.json")
    deciders = block_deciders(program, [choice])
    selection = emit_selection(models, [H200], measured=deciders)
    assert selection.routines == (
        (SiteKey.of(program.source, program.launches[0]), "cutune_select_add"),
    )
    assert "cutune_model_add" not in selection.text, "what was measured takes the model's place"
    own = [SITES, header("tuned"), header("call")]
    parts = [*before, selection.text, *own, FAKE_CUDART, MAIN]
    binary = build("".join(parts), folder, "-std=c++11", "-O1", "-lpthread")

    def run(points: list[tuple[int, int]], sms: int = 132, **settings: str) -> list[str]:
        words = [str(value) for point in points for value in point]
        done = subprocess.run(
            [binary, str(sms), *words],
            env={**os.environ, "CUTUNE_REFINE_FILE": "/", **settings},
            capture_output=True,
            text=True,
            check=True,
        )
        return [*done.stdout.split(), *done.stderr.splitlines()]

    return run


def expected(choice: BlockClassifier, points: list[tuple[int, int]]) -> list[str]:
    blocks = [choice.choose((n, m, n, m, 1)) or OWN for n, m in points]
    return ["x".join(map(str, block)) for block in blocks]


@pytest.mark.nvcc
def test_the_emitted_routine_chooses_as_the_classifier_does(
    program: Program, tmp_path: Path
) -> None:
    choice = fitted(program, [(n, n) for n in SIZES])
    run = compiled(program, choice, tmp_path)
    points = [(n, n) for n in range(50, 4100, 37)] + [(n, n) for n in SIZES]
    wanted = expected(choice, points)
    assert {"x".join(map(str, block)) for block in (OWN, SMALL, LARGE)} == set(wanted)
    assert run(points) == wanted
    off_the_line = [(100, 101), (4000, 64), (0x7FFFFFF0, 64)]
    assert run(off_the_line) == ["16x16x1"] * 3
    assert run(points, sms=100) == ["16x16x1"] * len(points), "another device"
    assert run(points, CUTUNE="off") == ["16x16x1"] * len(points)
    assert run(points[20:24], CUTUNE="refine") == wanted[20:24]
    again = [(250, 250), (250, 250), (64, 64)]
    assert len(run(again, CUTUNE="verbose")) == len(again) + 2, "one line per new decision"


@pytest.mark.nvcc
def test_a_recorded_sweep_becomes_code_within_the_limit(program: Program, tmp_path: Path) -> None:
    """PolyBench's 2mm as it was swept on the H200, in place of `add`."""
    launches = [
        replace(one, extents=(one.size, one.size, 1), sizes={"n": one.size, "m": one.size})
        for one in read_sweep(RECORDED / "polybench_h200.json").launches
        if (one.program, one.kernel) == ("2mm", "mm2_kernel1") and one.size is not None
    ]
    assert len(launches) > 2
    kernel = program.kernel("add")
    assert kernel is not None
    choice = fit_kernel(kernel, H200.name, launches, 0.04)
    assert choice is not None
    for one in launches:
        n = one.size or 0
        block = choice.choose((n, n, n, n, 1))
        assert block is not None
        assert one.regret(SweptConfiguration(block)) <= 0.04
    measured = [one.size or 0 for one in launches]
    points = [(n, n) for n in (*measured, *range(min(measured) - 1, max(measured) + 90, 83))]
    wanted = expected(choice, points)
    assert wanted[len(measured)] == wanted[-1] == "16x16x1", "outside of what was measured"
    assert "16x16x1" not in wanted[len(measured) + 1 : -2]
    assert compiled(program, choice, tmp_path)(points) == wanted


@pytest.mark.nvcc
def test_several_sizes_take_the_nearest(program: Program, tmp_path: Path) -> None:
    choice = fitted(program, [(n, m) for n in SIZES for m in SIZES])
    assert choice.model.sizes == ("n", "m")
    run = compiled(program, choice, tmp_path)
    points = [(n, m) for n in range(60, 4100, 331) for m in range(60, 4100, 477)]
    wanted = expected(choice, points)
    assert len(set(wanted)) == 3
    assert run(points) == wanted


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "add.cu"
    path.write_bytes((RECORDED / "add.cu").read_bytes())
    return path


def sweep_into(source: Path, device: str) -> None:
    folder = source.parent / ".cutune"
    folder.mkdir()
    about = {"device": device, "origin": asdict(Origin.of(read_source(source)))}
    lines = ({**swept_line(swept(n, n)), **about} for n in SIZES)
    append_lines(folder / "measurements.jsonl", lines)


def test_a_swept_program_is_fitted_and_emitted(
    source: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sweep_into(source, H200.name)
    assert main(["fit", str(source), "--model", "neighbours", "-q", *QUICK]) == 0
    said = capsys.readouterr().out
    assert f"add on {H200.name}:" in said
    assert "above: x = 64, y = 8, z = 1" in said
    assert main(["emit", str(source), "--model", "neighbours", "-q", *QUICK]) == 0
    text = source.with_name("add.tuned.cu").read_text()
    assert "cutune_select_add,cutune_select_add_arguments,nullptr,false,0u,true,3u" in text.replace(
        "\n", ""
    )
    assert "cutune_decide_add" in text

    def answer(*words: str) -> str:
        place = ["--model", "neighbours", "--workspace", str(source.parent / ".cutune")]
        assert main(["select", "add", *words, *place]) == 0
        return capsys.readouterr().out

    assert answer("n=100") == "add: block 32x2x1, the best that was measured\n"
    assert answer("--all-sizes", "4000") == "add: block 64x8x1, the best that was measured\n"
    assert "own block stays" in answer("n=100", "m=101")
    assert "own block stays" in answer("n=4001")
    place = ["--model", "neighbours", "--workspace", str(source.parent / ".cutune")]
    for words, code in ((["add"], "CT511"), (["add", "k=1"], "CT512"), (["sub"], "CT510")):
        assert main(["select", *words, *place]) == 1
        assert f"[{code}]" in capsys.readouterr().err

    source.write_text(source.read_text() + "// changed\n")
    assert main(["emit", str(source), "--model", "neighbours", "-q", *QUICK]) == 1
    assert "[CT513]" in capsys.readouterr().err
    assert main(["fit", str(source), "--model", "neighbours", "-q", *QUICK]) == 1
    assert "[CT431]" in capsys.readouterr().err, "times of another version do not count"


def test_without_a_sweep_there_is_nothing_to_choose_by(
    source: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["fit", str(source), "--model", "neighbours", "-q", *QUICK]) == 1
    assert "[CT431]" in capsys.readouterr().err
    assert main(["emit", str(source), "--model", "neighbours", "-q", *QUICK]) == 1
    assert "[CT009]" in capsys.readouterr().err


def test_times_of_another_device_decide_nothing(
    source: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sweep_into(source, "Another GPU")
    assert main(["fit", str(source), "--model", "neighbours", "-q", *QUICK]) == 0
    assert main(["emit", str(source), "--model", "neighbours", "-q", *QUICK]) == 1
    assert "[CT431]" in capsys.readouterr().err
