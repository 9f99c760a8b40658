"""How far the chosen blocks are from the best of exhaustive sweeps recorded on an H200.

Tunes the samples and the judge sets without a GPU, then compares with tests/recorded/*_h200.json;
`cutune evaluate --from` does the same for models that are there already. No timing enters the
choice.

    python -m benchmarks regret                  # all
    python -m benchmarks.regret judge_fourth …   # only these: polybench, judge, judge_second, …
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from cutune.device import DeviceProfile
from cutune.evaluation_tables import print_evaluation
from cutune.fitted import FittedModel
from cutune.gpu_stages import evaluate
from cutune.session import Session
from cutune.stages import collect, fit
from cutune.sweep import read_sweep
from cutune.workspace import Workspace

ROOT = Path(__file__).parents[1]
RECORDED = ROOT / "tests" / "recorded"
SAMPLES = ROOT / "samples" / "polybench"
#: Each has a sizes.json.
JUDGE_SETS = (
    "judge",
    "judge_second",
    "judge_third",
    "judge_fourth",
    "judge_fifth",
    "judge_sixth",
    "judge_seventh",
    "judge_eighth",
    "judge_ninth",
    "judge_tenth",
    "judge_eleventh",
    "judge_twelfth",
    "judge_thirteenth",
    "judge_fourteenth",
)
JUDGES = tuple(ROOT / "benchmarks" / name for name in JUDGE_SETS)
#: Up to here launches of the samples mostly cost what launching costs; others may reuse timings.
TRAIN = 512
#: What the emulated device runs of the samples; each judge set has its own sizes.json.
SMALL = ("64", "96")


def main(only: Sequence[str] = ()) -> None:
    """Print the scores of the samples, then those of the judge sets, and every launch of these."""
    device = DeviceProfile.named("h200")
    if not only or SAMPLES.name in only:
        samples = read_sweep(RECORDED / "polybench_h200.json")
        models = [model for path in _programs(SAMPLES) for model in tuned(path, SMALL, device)]
        print_evaluation(evaluate(samples, models, device, train=TRAIN), per_launch=False)
    for folder in JUDGES:
        if only and folder.name not in only:
            continue
        recorded = RECORDED / f"{folder.name}_h200.json"
        if not recorded.exists():
            print(f"{folder.name} has not been swept yet")
            continue
        plan = json.loads((folder / "sizes.json").read_text())
        models = [
            model
            for path in _programs(folder)
            for model in tuned(path, [str(n) for n in plan[path.stem]["emulated"]], device)
        ]
        print_evaluation(evaluate(read_sweep(recorded), models, device), per_launch=True)


def _programs(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.cu"))


def tuned(path: Path, sizes: Sequence[str], device: DeviceProfile) -> list[FittedModel]:
    """Models of one program, made from runs at small sizes on the emulated device."""
    with tempfile.TemporaryDirectory() as folder:
        session, workspace = Session(), Workspace(Path(folder))
        program = session.load(str(path), require_nvcc=True)
        if not program.tunable_launches:
            return []
        collect(session, program, "./{program} {n}", {"n": sizes}, device, workspace, "paper")
        # A program whose work depends on its data is left alone.
        return fit(session, workspace) if workspace.measurements.exists() else []


if __name__ == "__main__":
    main(sys.argv[1:])
