"""The sets of programs whose launches were swept on a GPU, and where their sweeps are kept."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[1]
RECORDED = ROOT / "tests" / "recorded"
SAMPLES = ROOT / "samples" / "polybench"
#: The judge sets. Each has a folder with a number for its name, and a sizes.json there.
JUDGES = tuple(sorted((ROOT / "benchmarks" / "judges").glob("[0-9]*")))


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
