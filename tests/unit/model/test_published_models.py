"""MWP-CWP against the example of its paper, and the latency bounds against numbers by hand."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from cutune.cli.options import CACHE_STATES, MODEL_NAMES
from cutune.model.fit.fitted_model import PublishedCounts, read_models
from cutune.model.measurement.sweep import CACHES
from cutune.model.performance.constants import PUBLISHED_BAND
from cutune.model.performance.definitions import Lines
from cutune.model.performance.published_models import (
    LatencyHardware,
    LaunchShape,
    MwpCwpHardware,
    WarpCounts,
    compose_mwp_cwp,
    latency_cycles,
    mwp_cwp_cycles,
)
from cutune.model.rational.functions import constant_function
from cutune.model.rational.program import (
    TERM,
    RationalProgram,
    evaluate,
    expression,
    point,
    value_of,
)
from cutune.model.selection.choose import published_rule
from cutune.model.selection.chooser import MODELS
from cutune.toolchain.device.profile import DeviceProfile

ADD = read_models(Path(__file__).parents[2] / "recorded" / "add_models.json")[0]


@pytest.mark.parametrize("model", MODELS)
def test_each_definition_says_what_it_is(model: str) -> None:
    program = MODELS[model].compose(ADD, DeviceProfile.named("h200"))
    silent = [d.name for d in program.definitions if not d.meaning]
    assert [name for name in silent if not name.startswith(TERM)] == []
    assert not any("{" in definition.meaning for definition in program.definitions)


def counts(
    compute: int, coalesced: int, uncoalesced: int, transactions: int, barriers: int = 0
) -> WarpCounts:
    sectors = 4 * coalesced + uncoalesced * transactions
    values = (compute, coalesced, uncoalesced, transactions, sectors, barriers)
    return WarpCounts(*map(expression, values))


def launch(blocks: int, warps: int, resident: int, sms: int) -> LaunchShape:
    return LaunchShape(*map(expression, (blocks, warps, resident, min(sms, blocks))))


def values(lines: Lines) -> dict[str, float]:
    program = RationalProgram((), {}, {}, tuple(lines.definitions), 1)
    return {name: float(value) for name, value in evaluate(program, {}).items() if value.ndim == 0}


def mwp(warp: WarpCounts, shape: LaunchShape, machine: MwpCwpHardware) -> dict[str, float]:
    lines = Lines()
    mwp_cwp_cycles(lines, warp, shape, machine)
    return values(lines)


#: Section 3.5 of Hong and Kim: FX5600, matrix product in tiles.
FX5600 = MwpCwpHardware(
    clock_ghz=Fraction(1),
    bandwidth_gbs=Fraction(80),
    issue_cycles=Fraction(4),
    memory_latency=Fraction(420),
    departure_coalesced=Fraction(4),
    departure_uncoalesced=Fraction(10),
)


def test_the_example_of_hong_and_kim() -> None:
    found = mwp(counts(27, 0, 6, 32, barriers=6), launch(80, 4, 5, 16), FX5600)
    assert found["mwp_latency"] == 730
    assert found["mwp_departure"] == 320
    assert found["mwp_peak"] == pytest.approx(28.57, rel=2e-3)
    assert found["mwp_mwp"] == pytest.approx(2.28, rel=1e-3)
    assert found["mwp_compute_cycles"] == 132
    assert found["mwp_memory_cycles"] == 4380
    assert found["mwp_cwp"] == 20
    assert found["mwp_repetitions"] == 1
    assert found["mwp_execution"] == pytest.approx(38450, rel=1e-3)
    assert found["mwp_total"] == pytest.approx(50738, rel=1e-3)


def test_few_warps() -> None:
    # MWP and CWP are both the 2 active warps: memory, computation, one more period.
    found = mwp(counts(8, 2, 0, 1), launch(16, 2, 1, 16), FX5600)
    assert found["mwp_mwp"] == found["mwp_cwp"] == 2
    assert found["mwp_total"] == 2 * 420 + 4 * 10 + 4 * 10 / 2


def test_bound_by_computation() -> None:
    # CWP = (420 + 4004) / 4004 is below MWP, but computation takes longer: the second case.
    found = mwp(counts(1000, 1, 0, 1), launch(64, 4, 4, 16), FX5600)
    assert found["mwp_cwp"] == pytest.approx(1 + 420 / 4004)
    assert found["mwp_mwp"] == 16
    assert found["mwp_total"] == pytest.approx(420 * 16 / 16 + 4004 * 15)


def test_memory_parallelism_exceeds_computation() -> None:
    found = mwp(counts(49, 1, 0, 1), launch(64, 4, 4, 16), FX5600)
    assert found["mwp_cwp"] == pytest.approx(620 / 200)
    assert found["mwp_total"] == pytest.approx(420 + 200 * 16)


def test_at_least_one_warp_reads_memory() -> None:
    narrow = MwpCwpHardware(
        Fraction(1), Fraction(1), Fraction(4), Fraction(420), Fraction(4), Fraction(10)
    )
    assert mwp(counts(27, 0, 6, 32), launch(80, 4, 5, 16), narrow)["mwp_mwp"] == 1


def test_departure_delays_of_a_profile() -> None:
    machine = MwpCwpHardware.of(DeviceProfile.named("h200"))
    assert float(machine.departure_uncoalesced) == pytest.approx(1.74, rel=0.01)
    assert machine.departure_coalesced == 4 * machine.departure_uncoalesced


#: Issue, sectors and bytes per cycle, latency of memory and of arithmetic.
GPU = LatencyHardware(Fraction(4), Fraction(2), Fraction(1280), Fraction(400), Fraction(4))


def test_bounds_of_a_launch() -> None:
    lines = Lines()
    cycles = latency_cycles(
        lines, counts(6, 2, 0, 1), launch(300, 8, 2, 100), expression(12800), GPU
    )
    found = values(lines)
    assert found["warps_per_sm"] == 3 * 8
    assert found["bound_issue"] == 24 * 8 / 4
    assert found["bound_units"] == 24 * 8 / 2
    assert found["bound_bandwidth"] == 10
    assert found["bound_latency"] == (2 * 400 + 6 * 4) * 2
    assert value_of(cycles, {name: round(value) for name, value in found.items()}) == 1802


def test_names_of_the_command_line() -> None:
    assert tuple(MODELS) == MODEL_NAMES
    assert CACHES == CACHE_STATES


def test_ties_go_to_128_threads_then_to_wide_blocks() -> None:
    blocks = [(32, 1, 1), (16, 8, 1), (32, 4, 1), (256, 1, 1)]
    rule = published_rule(blocks)
    assert sorted(range(4), key=lambda c: rule.ranks[c]) == [2, 1, 3, 0]
    assert rule.band == PUBLISHED_BAND and rule.floor_us == 0


def test_fitted_counters_may_depend_on_the_block() -> None:
    names = ("n", "block_x", "block_y")
    terms = (((1, 0, 0), Fraction(1)), ((0, 1, 0), Fraction(2)))
    function = replace(constant_function(names, 1), numerator=terms)
    model = replace(ADD, published=PublishedCounts(*[function] * 6))
    found = evaluate(
        compose_mwp_cwp(model, DeviceProfile.named("h200")), point({"n": 64, "m": 64}, (64, 64, 1))
    )
    assert found["memory"].tolist() == [64 + 2 * x for x, _, _ in ADD.blocks]
    assert all(found["time_us"] > 0)
