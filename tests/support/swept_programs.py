"""Sets of programs whose launches were swept on a GPU: their sources, sweeps, and fitted models."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from cutune.core.workspace import Workspace
from cutune.measure import try_copies
from cutune.measure.program_runs import RunPlan
from cutune.model.fit.fitted_model import FittedModel
from cutune.proof.analysis.analyzer import Analyzer
from cutune.toolchain.device.profile import DeviceProfile
from cutune.tuning.stages import collect, fit

ROOT = Path(__file__).parents[2]
RECORDED = ROOT / "tests" / "recorded"
SAMPLES = ROOT / "samples" / "polybench"
#: The judge sets. Each has a folder with a number for its name, and a sizes.json there.
JUDGES = tuple(sorted((ROOT / "benchmarks" / "judges").glob("[0-9]*")))
#: What the emulated device runs of the samples; each judge set has its own sizes.json.
SMALL = ("64", "96")


def set_name(folder: Path) -> str:
    """`polybench`, or `judges/13`."""
    return f"judges/{folder.name}" if folder in JUDGES else folder.name


def recorded_sweep(folder: Path, with_variants: bool = False, gpu: str = "h200") -> Path:
    """Where the sweep of a set is kept, or that over variants, too.

    Args:
        gpu: profile of the GPU that a set is swept on which has no sweep yet.
    """
    kept = RECORDED / "variants" if with_variants else RECORDED
    recorded = sorted(kept.glob(f"{set_name(folder)}_*.json"))
    return recorded[0] if recorded else kept / f"{set_name(folder)}_{gpu}.json"


def may_reassociate(folder: Path) -> bool:
    """Are the programs of a set read with `--associative-math`? Its file `options` says that."""
    options = folder / "options"
    return options.exists() and "--associative-math" in options.read_text().split()


def tuned(
    path: Path, sizes: Sequence[str], device: DeviceProfile, with_variants: bool
) -> list[FittedModel]:
    """Models of one program, made from runs at small sizes on the emulated device."""
    with tempfile.TemporaryDirectory() as folder:
        may_sum = may_reassociate(path.parent)
        analyzer = Analyzer(
            with_variants=with_variants, is_associative=may_sum, try_copies=try_copies
        )
        workspace = Workspace(Path(folder))
        program = analyzer.load(str(path), require_nvcc=True)
        if not program.tunable_launches:
            return []
        plan = RunPlan("./{program} {n}", {"n": sizes}, "paper")
        collect(analyzer, [program], plan, device, workspace)
        # A program whose work depends on its data is left alone.
        return fit(analyzer.reporter, workspace) if workspace.measurements.exists() else []
