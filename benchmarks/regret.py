"""How far the chosen blocks are from the best of an exhaustive sweep recorded on an H200.

Tunes every sample without a GPU, then looks the choices up in tests/recorded/polybench_h200.json.
Regret is t(chosen) / t(best) - 1. No timing enters the choice.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from cutune.device import DeviceProfile
from cutune.fitted import FittedModel
from cutune.question import choose_block
from cutune.session import Session
from cutune.stages import collect, fit
from cutune.summary import shape
from cutune.workspace import Workspace

ROOT = Path(__file__).parents[1]
RECORDED = ROOT / "tests" / "recorded" / "polybench_h200.json"
#: Up to here launches mostly cost what launching costs.
SMALLEST_SIZE = 1000
SHOWN_ABOVE = 0.05


def main() -> None:
    """Print the worst cases and the summary."""
    device = DeviceProfile.named("h200")
    models = {
        (path.stem, model.facts.kernel): model
        for path in sorted((ROOT / "samples" / "polybench").glob("*.cu"))
        for model in _tuned(path, device)
    }
    chosen, own = [], []
    for launch in json.loads(RECORDED.read_text())["launches"]:
        if launch["size"] < SMALLEST_SIZE:
            continue
        row = _regrets(launch, models, device)
        chosen.append(row[0])
        own.append(row[1])
    _summary("cutune", np.array(chosen))
    _summary("the programs' own blocks", np.array(own))


def _tuned(path: Path, device: DeviceProfile) -> list[FittedModel]:
    with tempfile.TemporaryDirectory() as folder:
        session, workspace = Session(), Workspace(Path(folder))
        program = session.load(str(path), require_nvcc=True)
        collect(
            session, program, "./{program} {n}", {"n": ["64", "96"]}, device, workspace, "paper"
        )
        return fit(session, workspace)


def _regrets(
    launch: Mapping[str, Any],
    models: Mapping[tuple[str, str], FittedModel],
    device: DeviceProfile,
) -> tuple[float, float]:
    times = {tuple(block): time for *block, time in launch["microseconds"]}
    model = models[launch["program"], launch["kernel"]]
    choice = choose_block(model, device, {}, launch["size"])
    best = min(times, key=lambda block: times[block])
    regret = times[choice.block] / times[best] - 1
    if regret > SHOWN_ABOVE:
        print(
            f"  {launch['program']} {launch['kernel']} {launch['size']}: {shape(choice.block)} is "
            f"{100 * regret:.0f} % slower than {shape(best)} ({times[best]:.1f} us)"
        )
    return regret, times[tuple(launch["own"])] / times[best] - 1


def _summary(name: str, regrets: np.ndarray[Any, np.dtype[np.float64]]) -> None:
    mean = np.expm1(np.log1p(regrets).mean())
    print(
        f"  {name}: geometric mean regret {100 * mean:.2f} %, median {100 * np.median(regrets):.1f}"
        f" %, worst {100 * regrets.max():.0f} %, within 2 % {100 * np.mean(regrets <= 0.02):.0f} %,"
        f" within 5 % {100 * np.mean(regrets <= 0.05):.0f} % of {len(regrets)} cases"
    )
