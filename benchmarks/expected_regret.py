"""The regret of unseen launches by kind of kernel, and whether what is promised of it holds.

Takes the sweeps of the judge sets and models of their programs, gives per kind the geometric mean
and the 90th percentile: `EXPECTED_REGRET` of the performance model. Then each set is judged by the
bounds that the others give: of its launches about nine in ten should keep them.

    python -m benchmarks.expected_regret --models DIR            # a table
    python -m benchmarks.expected_regret --models DIR --record   # kept in tests/recorded, too

Models are kept in DIR as by `benchmarks.regret`.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import astuple, dataclass
from pathlib import Path

import numpy as np

from benchmarks.regret import models_of, swept_gpu
from cutune.check.evaluate import model_of, sizes_of
from cutune.core.diagnostics import CutuneError
from cutune.model.measurement.sweep import SweptConfiguration, read_sweep
from cutune.model.selection.choose import KINDS, kind_of
from cutune.model.selection.chooser import Chooser
from tests.support.swept_programs import JUDGES, RECORDED, recorded_sweep

FILE = RECORDED / "regrets_h200.json"


@dataclass(frozen=True)
class Regret:
    """The loss of a choice at one launch of a judge set, as a fraction of the best time."""

    judges: str
    program: str
    kernel: str
    size: int | None
    kind: str
    regret: float


def read_regrets(path: Path = FILE) -> list[Regret]:
    """Those that are kept."""
    return [Regret(*row) for row in json.loads(path.read_text())]


def regrets_of(folder: Path, kept: Path) -> Iterator[Regret]:
    """Those of a judge set, where the model answers."""
    sweep = read_sweep(recorded_sweep(folder))
    device = swept_gpu(sweep)
    models = [model for model in models_of(folder, device, kept) if model.blocks]
    choosers = {model.kernel.place: Chooser(model, device) for model in models}
    for launch in sweep.launches:
        model = model_of(launch, models)
        if model is None:
            continue
        try:
            choice = choosers[model.kernel.place].choose(sizes_of(launch, model), launch.size)
        except CutuneError:
            continue  # a size is missing: the tuned program launches its own block
        if choice.ranked and choice.block in launch.microseconds:
            regret = launch.regret(SweptConfiguration(choice.block))
            kind = kind_of(model, choice)
            yield Regret(
                folder.name, launch.program, launch.kernel, launch.size, kind, round(regret, 4)
            )


def expected(regrets: list[Regret]) -> dict[str, tuple[float, float]]:
    """Per kind the geometric mean and the 90th percentile, of all launches where there are few."""
    return {kind: _typical([r.regret for r in regrets if r.kind == kind]) for kind in KINDS}


def coverage(regrets: list[Regret]) -> float:
    """The share of launches within the bound that the other sets give for their kind."""
    kept = []
    for judges in sorted({one.judges for one in regrets}):
        bounds = expected([one for one in regrets if one.judges != judges])
        kept += [r.regret <= bounds[r.kind][1] for r in regrets if r.judges == judges]
    return float(np.mean(kept))


def _typical(regrets: list[float]) -> tuple[float, float]:
    if not regrets:
        return 0.0, 0.0
    return float(np.expm1(np.log1p(regrets).mean())), float(np.quantile(regrets, 0.9))


def main() -> None:
    """Print the table; keep the regrets if asked to."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--models", type=Path, required=True)
    parser.add_argument("--record", action="store_true")
    words = parser.parse_args()
    swept = [folder for folder in JUDGES if recorded_sweep(folder).exists()]
    regrets = [one for folder in swept for one in regrets_of(folder, words.models)]
    if words.record:
        rows = ",\n".join(json.dumps(astuple(one)) for one in regrets)
        FILE.write_text(f"[\n{rows}\n]\n")
    for kind, (typical, most) in expected(regrets).items():
        count = sum(one.kind == kind for one in regrets)
        print(f"{kind}: {count} launches, typical {typical:.4f}, nine in ten {most:.4f}")
    print(f"within the bound that other sets give: {coverage(regrets):.3f}")


if __name__ == "__main__":
    main()
