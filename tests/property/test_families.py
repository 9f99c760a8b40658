"""A program that devices share gives each of them the same doubles as its own."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from cutune.model.emit.model import simplify
from cutune.model.emit.selection import families
from cutune.model.fit.fitted_model import FittedModel, read_models
from cutune.model.performance.definitions import TIME, TIME_WITH_FLOOR, launchable
from cutune.model.rational.program import RationalProgram, evaluate
from cutune.model.selection.chooser import MODELS
from cutune.toolchain.device.profile import DeviceProfile, shipped_profiles

RECORDED = Path(__file__).parents[1] / "recorded"
SIZES = (1, 31, 64, 1000, 4097, 1 << 20)


def models(folder: Path) -> Iterator[FittedModel]:
    """Recorded models, and those of their variants."""
    for name in ("regret", "syrk"):
        place = folder / f"{name}.json"
        place.write_bytes(gzip.decompress((RECORDED / f"{name}_models.json.gz").read_bytes()))
        for model in read_models(place):
            yield from (model, *model.variants)


def composed(model: FittedModel, device: DeviceProfile, performance: str) -> RationalProgram:
    return MODELS[performance].compose(launchable(model, device), device)


@pytest.mark.long
@pytest.mark.parametrize("performance", MODELS)
def test_each_device_gets_what_its_own_program_gives(performance: str, tmp_path: Path) -> None:
    devices = shipped_profiles()
    shared = 0
    for model in list(models(tmp_path))[::7]:
        programs = {n: composed(model, d, performance) for n, d in enumerate(devices)}
        found = families(programs)
        assert sorted(n for family in found for n in family.values) == sorted(programs)
        shared += len(devices) - len(found)
        for family in found:
            for number, values in family.values.items():
                figures = dict(zip(family.figures, values, strict=True))
                for size in SIZES:
                    point = dict.fromkeys(programs[number].sizes, size)
                    own = evaluate(programs[number], point)
                    its = evaluate(
                        simplify(family.program, (TIME, TIME_WITH_FLOOR)), point | figures
                    )
                    for output in (TIME, TIME_WITH_FLOOR):
                        np.testing.assert_array_equal(own[output], its[output])
    assert shared > 0


def test_what_a_family_shares_is_written_once(tmp_path: Path) -> None:
    model = next(models(tmp_path))
    devices = shipped_profiles()
    programs = {n: composed(model, d, "mechanistic") for n, d in enumerate(devices)}
    # A term more stands where an SM has fewer FP32 units than threads that are issued.
    few = {number for number, device in enumerate(devices) if device.single_cycles}
    family = max(families(programs), key=lambda one: len(one.values))
    assert {*family.values} >= {*programs} - few
    assert len(set(family.values.values())) > 1
    assert family.program.sizes[-len(family.figures) :] == family.figures


def test_programs_of_other_operations_stay_apart(tmp_path: Path) -> None:
    first, *others = models(tmp_path)
    other = next(m for m in others if len(m.groups) != len(first.groups))
    device = DeviceProfile.named("h200")
    one, another = (composed(m, device, "mechanistic") for m in (first, other))
    assert len(families({0: one, 1: another})) == 2
    [alone] = families({5: one})
    assert alone.figures == () and alone.values == {5: ()}
