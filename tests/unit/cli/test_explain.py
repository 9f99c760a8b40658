"""What a choice says about itself: terms, ties, why the program's own block stays or goes."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from cutune.cli.report.choices import choice_to_json, print_choice, tile_text
from cutune.model.fit.fitted_model import FittedModel
from cutune.model.measurement.measurement import MemoryInstruction
from cutune.model.performance.mechanistic import compose
from cutune.model.rational.program import evaluate_each, point
from cutune.model.selection.choose import NO_OWN_BAND, Selection, select
from cutune.model.selection.chooser import DEFAULT, MODELS
from cutune.model.selection.variants import ConfigurationChoice
from cutune.toolchain.device.profile import DeviceProfile
from cutune.toolchain.device.thread_block import Block
from tests.recorded.calibrate_h200 import models_of_suite
from tests.support.measured_kernel import compiled

H200 = DeviceProfile.named("h200")
Chooser = Callable[[str, Block, Block], tuple[FittedModel, Selection]]


@pytest.fixture(scope="module")
def chooser() -> Chooser:
    """Chooses a block for the first case of a micro-kernel, at any thread space."""
    models = {
        case.kernel: model
        for case, model in reversed(models_of_suite(("empty", "copy", "plane_window")))
    }

    def choose(kernel: str, extents: Block, own: Block) -> tuple[FittedModel, Selection]:
        found = models[kernel]
        x, y, z = ("n" if is_free else None for is_free in found.kernel.free)
        model = replace(found, kernel=replace(found.kernel, original=own))
        rule = MODELS[DEFAULT].rule(model, H200)
        at = point({}, [[extent] for extent in extents])
        [values] = evaluate_each(compose(model, H200), at)
        return model, select(values, rule, extents, replace(model.kernel, guards=(x, y, z)))

    return choose


def test_terms_stand_beside_every_candidate(chooser: Chooser) -> None:
    model, choice = chooser("plane_window", (4096, 4096, 1), (32, 8, 1))
    answer = json.loads(json.dumps(choice_to_json(model, ConfigurationChoice(choice))))
    for candidate in answer["ranked"]:
        terms = candidate["terms_us"]
        assert {"load_store_unit", "below_l1", "issue", "waiting", "dispatch", "dram"} <= set(terms)
        longest = max(value for name, value in terms.items() if name != "launch")
        assert 1e3 * candidate["predicted_ms"] >= longest
    assert [*choice.block] in answer["indistinguishable"]
    assert 0 < answer["expected_regret"]["typical"] < answer["expected_regret"]["nine_in_ten"]


def test_small_blocks_are_bound_by_the_dispatcher(chooser: Chooser) -> None:
    _, choice = chooser("plane_window", (4096, 4096, 1), (32, 8, 1))
    smallest = next(p for p in choice.ranked if p.block == (32, 1, 1))
    assert max(smallest.terms_us, key=lambda name: smallest.terms_us[name]) == "dispatch"


def test_arrays_that_fit_the_cache_do_not_come_from_dram(chooser: Chooser) -> None:
    _, choice = chooser("copy", (1 << 20, 1, 1), (1024, 1, 1))
    assert choice.ranked[0].terms_us["dram"] == 0
    times = {p.block[0]: p.predicted_ms for p in choice.ranked}
    assert times[512] < times[128]


def test_the_program_s_own_block_stays_where_launching_dominates(
    chooser: Chooser, capsys: pytest.CaptureFixture[str]
) -> None:
    model, choice = chooser("empty", (4096, 1, 1), (128, 1, 1))
    assert choice.launch_bound
    assert choice.kept_original
    print_choice(model, ConfigurationChoice(choice))
    shown = capsys.readouterr().out
    assert "own block stays" in shown
    assert "128 * (own)" in shown
    assert "expected regret" in shown


def test_a_better_block_is_justified_by_its_gain(chooser: Chooser) -> None:
    _, choice = chooser("plane_window", (4096, 4096, 1), (32, 1, 1))
    assert not choice.kept_original
    assert "times as fast" in choice.reason
    assert choice.original not in choice.indistinguishable


def test_where_the_work_is_not_proven_to_be_the_same_more_is_asked(chooser: Chooser) -> None:
    model, _ = chooser("copy", (1 << 20, 1, 1), (256, 1, 1))
    asserted = replace(model, kernel=replace(model.kernel, asserted=True))
    on_data = replace(model, kernel=replace(model.kernel, on_data=True))
    bands = [MODELS[DEFAULT].rule(one, H200).own_band for one in (model, asserted, on_data)]
    assert 1 < bands[0].smaller < bands[2].smaller < bands[1].smaller
    assert 1 < bands[2].larger < bands[1].larger
    adding = MemoryInstruction(0, "atomic", 4, 0, True)
    contended = replace(asserted, kernel=replace(asserted.kernel, compiled=compiled([adding])))
    assert MODELS[DEFAULT].rule(contended, H200).own_band.larger > bands[2].smaller
    assert (
        MODELS[DEFAULT].rule(replace(model, confirmed_on=H200.name), H200).own_band == NO_OWN_BAND
    )


@pytest.mark.parametrize(
    ("variant", "shown"),
    [
        ("", ""),
        ("BX_32_BY_8", "BX = 32, BY = 8"),
        ("TILE_16", "TILE = 16"),
        ("blocks_y2", "blocks_y2"),
        ("beside_x4", "beside_x4"),
    ],
)
def test_copies_are_shown_by_their_values_or_their_name(variant: str, shown: str) -> None:
    assert tile_text(variant) == shown
