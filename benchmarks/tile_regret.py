"""How far chosen tiles are from the best of a sweep over all value sets, recorded on a GPU.

    python -m benchmarks.tile_regret [NAME …] [--set tiles_second] [--models FOLDER]

Tunes the programs of tests/corpus/tiles, or of the second set, without a GPU and without an
annotation, for the GPU of the sweep that `benchmarks.tile_sweep` made (`SWEEPS`), and looks up what
was measured of the chosen values: against the best of all legal sets, and beside the program's own.
Where the sweep does not hold a choice, the next one by the model that it holds counts. Programs
whose kernel has no copies keep their own values. `--models`: keep tuned programs there, take them
from there.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import geometric_mean
from tempfile import TemporaryDirectory

from benchmarks.tile_programs import SETS, TileProgram, Values, tile_programs
from cutune.core.diagnostics import CutuneError
from cutune.model.fit.fitted_model import FittedModel, read_models
from cutune.model.selection.chooser import Chooser
from cutune.model.selection.variants import VariantChooser
from cutune.toolchain.device.present import profile_of
from cutune.toolchain.device.profile import DeviceProfile

RECORDED = Path(__file__).parents[1] / "tests" / "recorded"
SWEEPS = dict(zip(SETS, ("tiles_h100.json", "tiles_second_h200.json"), strict=True))
#: As many of the model's first sets, of which the best is looked up, too.
SHORTLIST = 8
Times = Mapping[Values, float]


@dataclass(frozen=True)
class Row:
    """One program at one size. `chosen`, `first`, `own`: times by that of the best of all sets."""

    program: TileProgram
    size: str
    chosen: float
    first: float
    own: float
    values: Values


def main(of_set: str, names: Sequence[str], models: Path | None) -> None:
    """Print a line per program and size, then the means of the seen and of the unseen half."""
    sweep = json.loads((RECORDED / SWEEPS[of_set]).read_text("utf-8"))
    name = profile_of(sweep["device"])
    assert name is not None, f"{sweep['device']} has no profile"
    device, rows = DeviceProfile.named(name), list[Row]()
    with TemporaryDirectory() as temporary:
        for program in tile_programs(of_set):
            if names and program.name not in names:
                continue
            model = _model(program, (models or Path(temporary)) / program.name, name)
            measured = sweep["milliseconds"][program.name]
            for row in _rows(program, model, device, measured):
                rows.append(row)
                _print(row)
    for is_unseen in (False, True):
        half = [row for row in rows if row.program.is_unseen is is_unseen]
        if half:
            means = (
                geometric_mean([getattr(r, word) for r in half])
                for word in ("chosen", "first", "own")
            )
            chosen, first, own = (f"{100 * (mean - 1):.1f} %" for mean in means)
            print(
                f"{'unseen' if is_unseen else 'seen'}: chosen {chosen} off the best,"
                f" the best of the first {SHORTLIST} {first}, the program's own {own}"
            )


def _print(row: Row) -> None:
    marks = "unseen" if row.program.is_unseen else "seen"
    print(
        f"{row.program.name:18}{row.size:8}{marks:8}{'x'.join(map(str, row.values)):16}"
        f"{row.chosen:7.3f} first {SHORTLIST} {row.first:7.3f} own {row.own:7.3f}",
        flush=True,
    )


def _model(program: TileProgram, folder: Path, device: str) -> FittedModel | None:
    """The model of the kernel that has copies; None where there is none."""
    kept = folder / ".cutune" / "models.json"
    if not kept.exists():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / program.path.name).write_text(program.path.read_text())
        runs = [word for sizes in _small(program) for word in ("--run", _run(sizes))]
        command = [sys.executable, "-m", "cutune", "tune", program.path.name, "-q", *runs]
        subprocess.run([*command, "--device", device], cwd=folder, capture_output=True, check=False)
    with suppress(CutuneError):
        return next((model for model in read_models(kept) if model.variants), None)
    return None


def _small(program: TileProgram) -> list[list[int]]:
    """Sizes of three runs on the emulated device, two of them odd."""
    last = [max(sizes) for sizes in zip(*program.emulated, strict=True)]
    return [*map(list, program.emulated), [128 if n > 16 else n for n in last]]


def _run(sizes: Sequence[int]) -> str:
    return " ".join(["./{program}", *map(str, sizes)])


def _rows(
    program: TileProgram,
    model: FittedModel | None,
    device: DeviceProfile,
    measured: Mapping[str, Mapping[str, float]],
) -> Iterator[Row]:
    for size, by_text in measured.items():
        times = {tuple(map(int, text.split(","))): time for text, time in by_text.items()}
        best, own = min(times.values()), times[program.own]
        ranked = [program.own]
        if model is not None:
            ranked = _ranked(program, model, device, _arguments(program, model, size), times)
        first = min(times[values] for values in ranked[:SHORTLIST])
        yield Row(program, size, times[ranked[0]] / best, first / best, own / best, ranked[0])


def _arguments(program: TileProgram, model: FittedModel, size: str) -> dict[str, int]:
    # A member of a structure has the name of a variable, too.
    named = {name.rpartition(".")[2]: name for name in model.kernel.parameters}
    known = zip(program.arguments, program.sizes[size], strict=False)
    return {named[name]: value for name, value in known if name in named}


def _ranked(
    program: TileProgram,
    model: FittedModel,
    device: DeviceProfile,
    sizes: Mapping[str, int],
    times: Times,
) -> list[Values]:
    """The value sets that were measured, in the order of the model; first what is launched."""
    predicted: dict[Values, float] = {}
    for one in (model, *model.variants):
        choice = Chooser(one, device).choose(sizes)
        if choice.ranked and (values := _values(program, one.kernel.variant)) in times:
            predicted[values] = choice.ranked[0].predicted_ms
    order = sorted(predicted, key=predicted.__getitem__)
    launched = _values(program, VariantChooser(model, device).choose(sizes).variant)
    return [launched, *(one for one in order if one != launched)] if launched in times else order


def _values(program: TileProgram, variant: str) -> Values:
    """The values of a copy by its name, `TILE_W_16_PER_THREAD_4`."""
    own, rest = program.named(program.own), f"_{variant}"
    for name in sorted(own, key=len, reverse=True):
        before, mark, behind = rest.lower().partition(f"_{name.lower()}_")
        if mark:
            own[name] = int(behind.partition("_")[0])
            rest = f"{before}_{behind.partition('_')[2]}"
    return tuple(own.values())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--set", choices=SETS, default=SETS[0])
    parser.add_argument("--models", type=Path)
    options = parser.parse_args()
    main(options.set, options.names, options.models)
