"""How far the chosen configurations are from the best of sweeps recorded on a GPU.

Tunes the samples and the judge sets without a GPU, then compares with the sweeps in
tests/recorded; `cutune evaluate --from` does the same for models that are there already. No timing
enters the choice.

    python -m benchmarks regret                   # all, blocks alone
    python -m benchmarks regret --variants        # the sets that were swept over variants, too
    python -m benchmarks.regret 13 14 polybench   # only these: sets by folder name, and the samples
    python -m benchmarks.regret --models DIR         # models are kept there and taken from there
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from cutune.check.evaluate import Evaluation, evaluate
from cutune.cli.evaluating import print_evaluation
from cutune.model.fit.fitted_model import FittedModel, read_models, write_models
from cutune.model.measurement.sweep import RecordedSweep, read_sweep
from cutune.model.selection.chooser import DEFAULT, choice_at, with_timings
from cutune.toolchain.device.present import profile_of
from cutune.toolchain.device.profile import DeviceProfile
from tests.support.swept_programs import JUDGES, SAMPLES, SMALL, recorded_sweep, set_name, tuned

#: Up to here launches of the samples mostly cost what launching costs; others may reuse timings.
TRAIN = 512
#: Blocks of each kernel that are timed there, in the second table of the samples.
TIMED = 4


def main(only: Sequence[str] = (), with_variants: bool = False, models: Path | None = None) -> None:
    """Print the scores of each set, and every launch of the judge sets; `models`: a folder."""
    known = [SAMPLES.name, *(folder.name for folder in JUDGES)]
    if unknown := set(only).difference(known):
        sys.exit(f"no such set: {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    folders = [folder for folder in (SAMPLES, *JUDGES) if not only or folder.name in only]
    if not only:  # a set that was just written has no sweep
        folders = [folder for folder in folders if recorded_sweep(folder).exists()]
    if with_variants:
        _sets(folders, models, with_variants=True)
        return
    if SAMPLES in folders:
        _samples(models)
    _sets([folder for folder in folders if folder != SAMPLES], models)


def swept_gpu(sweep: RecordedSweep) -> DeviceProfile:
    """The profile of the GPU of a sweep."""
    name = profile_of(sweep.device)
    assert name is not None, f"{sweep.device} has no profile"
    return DeviceProfile.named(name)


def _samples(kept: Path | None) -> None:
    """The scores of the samples, without timings of them and with a few."""
    samples = read_sweep(recorded_sweep(SAMPLES))
    device = swept_gpu(samples)
    models = models_of(SAMPLES, device, kept)
    print_evaluation(evaluate(samples, models, device, train=TRAIN), per_launch=False)
    print(f"with timings of {TIMED} blocks at N = {TRAIN}:")
    models = [_timed(model, samples, device) for model in models]
    print_evaluation(evaluate(samples, models, device, train=TRAIN), per_launch=False)


def _sets(folders: Sequence[Path], kept: Path | None, with_variants: bool = False) -> None:
    """The scores of each set and of all together, with every launch."""
    evaluations = []
    for folder in folders:
        recorded = recorded_sweep(folder, with_variants)
        if not recorded.exists():
            if not with_variants:
                print(f"{set_name(folder)} has not been swept yet")
            continue
        sweep = read_sweep(recorded)
        device = swept_gpu(sweep)
        models = models_of(folder, device, kept, with_variants)
        print(f"{set_name(folder)} on {device.name}:")
        evaluations.append(evaluate(sweep, models, device))
        print_evaluation(evaluations[-1], per_launch=True)
    if len(evaluations) > 1:
        print("these sets together:")
        cases = tuple(case for evaluation in evaluations for case in evaluation.cases)
        print_evaluation(Evaluation(DEFAULT, cases), per_launch=False)


def _timed(model: FittedModel, swept: RecordedSweep, device: DeviceProfile) -> FittedModel:
    """The model as it is where the own block and those it likes best have been timed once."""
    program, kernel = Path(model.kernel.origin.path).stem, model.kernel.name
    few = []
    for launch in swept.launches:
        if (launch.program, launch.kernel, launch.size) != (program, kernel, TRAIN):
            continue
        if (choice := choice_at(model, launch, device)) is not None:
            liked = [launch.own, choice.block, *(one.block for one in choice.ranked)]
            blocks = [b for b in dict.fromkeys(liked) if b in launch.microseconds][:TIMED]
            few.append(replace(launch, microseconds={b: launch.microseconds[b] for b in blocks}))
    return with_timings(model, few, device)[0]


def _programs(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.cu"))


def _emulated_sizes(folder: Path) -> Mapping[str, Sequence[str]]:
    """Sizes at which the emulated device runs each program of a set."""
    if folder == SAMPLES:
        return {path.stem: SMALL for path in _programs(folder)}
    plan = json.loads((folder / "sizes.json").read_text())
    return {name: [str(n) for n in sizes["emulated"]] for name, sizes in plan.items()}


def models_of(
    folder: Path, device: DeviceProfile, kept: Path | None, with_variants: bool = False
) -> list[FittedModel]:
    """The models of all programs of a set; `kept`: a folder where they stay, and are taken from."""
    sizes, found = _emulated_sizes(folder), []
    for path in _programs(folder):
        kind = "variants" if with_variants else "plain"
        file = kept / kind / f"{folder.name}_{path.stem}.json" if kept else None
        if file is not None and file.exists():
            found += read_models(file)
            continue
        models = tuned(path, sizes[path.stem], device, with_variants)
        if file is not None:
            file.parent.mkdir(parents=True, exist_ok=True)
            write_models(file, models)
        found += models
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("sets", nargs="*")
    parser.add_argument("--variants", action="store_true")
    parser.add_argument("--models", type=Path)
    words = parser.parse_args()
    main(words.sets, words.variants, words.models)
