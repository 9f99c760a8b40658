"""The first configurations of a model, and what their times on a GPU make of it."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from cutune.cli.report.choices import choice_to_json, print_choice
from cutune.model.fit.fitted_model import FittedModel, read_models, write_models
from cutune.model.measurement.sweep import SweptConfiguration, SweptLaunch
from cutune.model.performance.constants import MOST_TIMED_LENGTHS
from cutune.model.selection.choose import NO_OWN_BAND, band_of
from cutune.model.selection.chooser import Chooser
from cutune.model.selection.shortlist import TimedModel, shortlist, with_times
from cutune.model.selection.variants import MOST_EMITTED, VariantChooser
from cutune.toolchain.device.profile import DeviceProfile
from tests.support.replayed_kernels import fitted, measured

H200, A100 = (DeviceProfile.named(name) for name in ("h200", "a100"))
COPY = fitted(*measured("copy"))
LONG, LONGER = 1 << 24, 1 << 26
OWN = SweptConfiguration(COPY.kernel.original)
Times = Mapping[SweptConfiguration, float]


def launched(*sizes: int) -> FittedModel:
    """The kernel and three copies, each of which takes longer, launched at these sizes."""
    recorded = tuple(((size,), (-(-size // 256) * 256, 1, 1)) for size in sizes)
    plain = replace(COPY, kernel=replace(COPY.kernel, recorded=recorded))

    def copied(number: int) -> FittedModel:
        columns = (
            replace(c, values=tuple(v * (1 + number / 8) for v in c.values)) for c in plain.columns
        )
        kernel = replace(plain.kernel, variant=f"copy_{number}")
        return replace(plain, kernel=kernel, columns=tuple(columns))

    return replace(plain, variants=tuple(map(copied, range(1, 4))))


def swept(size: int, times: Times, failed: Sequence[SweptConfiguration] = ()) -> SweptLaunch:
    plain = {one.block: time for one, time in times.items() if not one.variant}
    names = {one.variant for one in times if one.variant}
    variants = {n: {o.block: t for o, t in times.items() if o.variant == n} for n in names}
    about = "app", "copy", size, {"n": size}, (size, 1, 1), OWN.block
    return SweptLaunch(*about, plain, variants=variants, failed=frozenset(failed))


def timed(model: FittedModel, *launches: SweptLaunch) -> TimedModel:
    return with_times(model, H200, launches)


def predicted(model: FittedModel, size: int) -> dict[SweptConfiguration, float]:
    each = ((o, Chooser(o, H200).choose({"n": size})) for o in (model, *model.variants))
    return {
        SweptConfiguration(p.block, one.kernel.variant): p.time_us
        for one, choice in each
        for p in choice.ranked
    }


def test_the_best_of_each_launch_comes_first() -> None:
    model = launched(5000, LONG, 5000)
    assert OWN not in shortlist(model, H200, 1000)
    first = shortlist(model, H200, 6)
    assert first == shortlist(model, H200, 1000)[:6]
    ranked = [
        sorted(times, key=times.__getitem__)
        for times in (predicted(model, LONG), predicted(model, 5000))
    ]
    each = dict.fromkeys(one for pair in zip(*ranked, strict=True) for one in pair)
    assert [*first] == [one for one in each if one != OWN][:6]


@pytest.mark.parametrize("seed", range(20))
def test_the_best_that_was_timed_is_chosen(seed: int) -> None:
    rng, model = random.Random(seed), launched(LONG)
    listed = shortlist(model, H200, rng.randint(1, 12))
    times = {one: 1000 * rng.uniform(0.3, 3) for one in (OWN, *listed)}
    found = timed(model, swept(LONG, times))
    assert found.is_informed and found.failed == ()
    choice = VariantChooser(found.model, H200).choose({"n": LONG})
    best = min(times, key=times.__getitem__)
    assert (choice.chosen.block, choice.variant) == best
    chosen = choice.chosen.predicted(choice.chosen.block)
    assert chosen is not None and chosen.measured_us == times[best]
    # As single precision has the factor, and beside the floor of a launch.
    assert 1e3 * chosen.predicted_ms == pytest.approx(times[best], rel=1e-4)


def test_at_sizes_between_the_model_goes_on_with_what_was_measured() -> None:
    model = launched(LONG, LONGER)
    listed = (OWN, *shortlist(model, H200, 4))
    factors = {one: 1 + place / 2 for place, one in enumerate(listed)}
    launches = [
        swept(size, {one: factors[one] * predicted(model, size)[one] for one in listed})
        for size in (LONG, LONGER)
    ]
    found = timed(model, *launches).model
    between = 3 << 23
    before, now = predicted(model, between), predicted(found, between)
    for one, factor in factors.items():
        assert now[one] == pytest.approx(factor * before[one], rel=0.1)
    # Launches of another length have one factor, but for the program's own configuration.
    before, now = predicted(model, 100 * LONGER // 4), predicted(found, 100 * LONGER // 4)
    ratios = {one: now[one] / before[one] for one in listed if one != OWN}
    assert max(ratios.values()) / min(ratios.values()) < 1.05
    assert now[OWN] / before[OWN] < min(ratios.values())


def test_at_each_size_that_was_timed_the_best_is_chosen() -> None:
    sizes = [LONG << shift for shift in (0, 2, 4, 6)]
    model, rng = launched(*sizes), random.Random(5)
    listed = (OWN, *shortlist(model, H200, 10))
    times = {
        size: {one: rng.uniform(0.7, 1.4) * predicted(model, size)[one] for one in listed}
        for size in sizes
    }
    assert len({min(each, key=each.__getitem__) for each in times.values()}) > 1
    found = timed(model, *(swept(size, each) for size, each in times.items())).model
    for size, each in times.items():
        now = predicted(found, size)
        assert all(now[one] == pytest.approx(time, rel=1e-3) for one, time in each.items())
        choice = VariantChooser(found, H200).choose({"n": size})
        assert (choice.chosen.block, choice.variant) == min(each, key=each.__getitem__)
    one, first, second = listed[1], *sizes[:2]
    ratios = [times[size][one] / predicted(model, size)[one] for size in (first, second)]
    between = predicted(found, 2 * first)[one] / predicted(model, 2 * first)[one]
    assert min(ratios) < between < max(ratios)


@pytest.mark.long
def test_many_lengths_are_joined() -> None:
    sizes = [LONG + 4096 * number for number in range(40)]
    model = launched(*sizes)
    listed = (OWN, *shortlist(model, H200, 4))
    launches = [
        swept(size, {one: 2 * predicted(model, size)[one] for one in listed}) for size in sizes
    ]
    found = timed(model, *launches).model
    assert found.timed is not None and len(found.timed.factors) == MOST_TIMED_LENGTHS
    before, now = predicted(model, sizes[7]), predicted(found, sizes[7])
    assert all(now[one] == pytest.approx(2 * before[one], rel=1e-3) for one in before)


def test_other_devices_are_not_corrected() -> None:
    model = launched(LONG)
    listed = shortlist(model, H200, 3)
    found = timed(model, swept(LONG, dict.fromkeys((OWN, *listed), 1000.0))).model
    assert band_of(found, H200) == NO_OWN_BAND
    for device in (A100,):
        asked = [Chooser(one, device).choose({"n": LONG}) for one in (model, found)]
        assert asked[0] == asked[1]
        assert band_of(found, device) == band_of(model, device)


def test_short_launches_say_nothing() -> None:
    model = launched(5000)
    floor = float(H200.model.floor_us)
    times = dict.fromkeys((OWN, *shortlist(model, H200, 3)), 1.2 * floor)
    assert timed(model, swept(5000, times)) == TimedModel(model, (), is_informed=False)
    assert timed(model) == TimedModel(model, (), is_informed=False)
    other = timed(model, swept(6000, dict.fromkeys(times, 1000.0)))
    assert other == TimedModel(model, (), is_informed=False), "it was not recorded"


def test_what_fails_is_left_out() -> None:
    model = launched(LONG)
    listed = shortlist(model, H200, 30)
    gone = next(one for one in listed if one.variant == "copy_1")
    plain = next(one for one in listed if not one.variant)
    times = {one: 1000.0 for one in (OWN, *listed) if one not in (gone, plain)}
    found = timed(model, swept(LONG, times, [gone, plain, OWN]))
    assert found.failed == tuple(sorted((gone, plain)))
    by_name = {one.kernel.variant: one.blocks for one in (found.model, *found.model.variants)}
    assert plain.block not in by_name[""] and gone.block not in by_name["copy_1"]
    assert OWN.block in by_name[""] and gone.block in by_name["copy_2"]
    every = {*model.variants[0].blocks}
    whole = [SweptConfiguration(block, "copy_1") for block in every]
    left = timed(model, swept(LONG, {OWN: 1000.0}, whole)).model
    assert [one.kernel.variant for one in left.variants] == ["copy_2", "copy_3"]


def test_all_that_was_timed_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    model = launched(LONG)
    listed = shortlist(model, H200, 8)
    assert len({one.variant for one in listed}) > 1
    times = {one: 1000.0 + 200 * place for place, one in enumerate([*listed, OWN])}
    found = timed(model, swept(LONG, times)).model
    chooser = VariantChooser(found, H200)
    assert len(chooser.variant_names) <= MOST_EMITTED
    choice = chooser.choose({"n": LONG})
    known = choice_to_json(found, choice)["ranked"]
    measured = [one["measured_ms"] for one in known if one["measured_ms"] is not None]
    assert measured == pytest.approx(sorted(time / 1e3 for time in times.values()))
    print_choice(found, choice)
    head, *rows = capsys.readouterr().out.splitlines()[1:]
    assert head.split()[:5] == ["rank", "variant", "block", "grid", "predicted"]
    assert head.split()[5] == "measured"
    assert rows[0].split()[0] == "1" and f"{min(times.values()):.4g}" in rows[0]
    elsewhere = choice_to_json(found, chooser.choose({"n": LONG + 4096}))["ranked"]
    assert {one["measured_ms"] for one in elsewhere} == {None}


def test_times_are_saved(tmp_path: Path) -> None:
    model = launched(LONG)
    times = dict.fromkeys((OWN, *shortlist(model, H200, 3)), 1000.0)
    found = timed(model, swept(LONG, times)).model
    write_models(tmp_path / "models.json", [found])
    assert read_models(tmp_path / "models.json") == [found]
