"""The first configurations by the model, and what their times on a GPU tell it.

Takes a fitted model, gives the configurations that are worth timing at the sizes of the runs. Takes
their times, gives the model with factors for each candidate: the measured time by the predicted
one, at each length of launches that was timed. Between them the model goes on to decide, with
factors between these; far from them it decides as without, so the program's own is left where
another one is predicted to be clearly faster. A candidate that was not timed gets the mean factor
of those of the same variant that were, or of all: so it does not pass them by for being unknown.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain, pairwise, zip_longest
from statistics import geometric_mean

from cutune.core.diagnostics import CutuneError
from cutune.model.fit.fitted_model import FittedModel, ShortlistLaunch, ShortlistTimes
from cutune.model.measurement.sweep import SweptConfiguration, SweptLaunch
from cutune.model.performance import constants
from cutune.model.performance.definitions import launchable
from cutune.model.selection.choose import Selection, band_of
from cutune.model.selection.chooser import Chooser, ask
from cutune.toolchain.device.profile import DeviceProfile
from cutune.toolchain.device.thread_block import Block

Times = Mapping[SweptConfiguration, float]


def shortlist(
    model: FittedModel, device: DeviceProfile, count: int
) -> tuple[SweptConfiguration, ...]:
    """The first configurations by the model at the launches of the runs, the fastest first.

    The best one of each launch comes before the second ones, the longest launch before others. The
    program's own is not among them: whatever is timed is compared with it.
    """
    predicted = [times for times in _predicted(model, device) if times]
    predicted.sort(key=lambda times: -min(times.values()))
    ranked = [sorted(times, key=times.__getitem__) for times in predicted]
    each = dict.fromkeys(filter(None, chain.from_iterable(zip_longest(*ranked))))
    return tuple(one for one in each if one != _own(model))[:count]


@dataclass(frozen=True)
class TimedModel:
    """A model that was told times.

    Attributes:
        failed: configurations that are left out, since they did not run or gave other results.
        is_informed: did a launch take so long that its times tell configurations apart?
    """

    model: FittedModel
    failed: tuple[SweptConfiguration, ...]
    is_informed: bool


def with_times(
    model: FittedModel, device: DeviceProfile, swept: Sequence[SweptLaunch]
) -> TimedModel:
    """The model with what was measured at some of the launches of its runs."""
    predicted = _predicted(model, device)
    timed = [
        (place, one) for one in swept for place in [_place_of(model, one)] if place is not None
    ]
    failed = tuple(sorted({*chain.from_iterable(one.failed for one in swept)} - {_own(model)}))
    model = _without(model, failed)
    enough = constants.MINIMUM_TIME * float(device.model.floor_us)
    told = [(predicted[n], one.times) for n, one in timed if min(one.times.values()) >= enough]
    lengths = _joined([one for known, times in told if (one := _Length.of(known, times)).ratios])
    if not lengths:
        return TimedModel(model, failed, is_informed=False)
    own = _own(model)
    usual = geometric_mean([ratio for one in lengths for ratio in one.usual_ratios(own)])
    band = band_of(replace(model, timed=None), device)
    widest = max(float(band.smaller), float(band.larger), 1.0)
    kept = usual * min(float(constants.VARIANT_SHARE), 1 / widest)

    def informed(one: FittedModel) -> FittedModel:
        its = [SweptConfiguration(block, one.kernel.variant) for block in one.blocks]
        about = (
            tuple(tuple(length.predicted_us(c) for c in its) for length in lengths),
            tuple(tuple(length.factor(c, own) for c in its) for length in lengths),
        )
        launches = tuple(_launch(one, place, launch) for place, launch in timed)
        beyond = tuple(kept if configuration == own else usual for configuration in its)
        return replace(one, timed=ShortlistTimes(device.name, *about, beyond, launches))

    variants = tuple(map(informed, model.variants))
    return TimedModel(replace(informed(model), variants=variants), failed, is_informed=True)


@dataclass(frozen=True)
class _Length:
    """Launches that take about as long. `ratios`: measured by predicted time, where both are known.

    `predicted`: microseconds, of all that may be launched there.
    """

    predicted: dict[SweptConfiguration, float]
    ratios: dict[SweptConfiguration, float]

    @classmethod
    def of(cls, predicted: Times, measured: Times) -> _Length:
        ratios = {one: measured[one] / t for one, t in predicted.items() if one in measured}
        return cls(dict(predicted), ratios)

    def predicted_us(self, one: SweptConfiguration) -> float:
        known = self.predicted
        return known[one] if one in known else geometric_mean([*known.values()])

    def factor(self, one: SweptConfiguration, own: SweptConfiguration) -> float:
        """Its own ratio, else the mean of its variant's, else of all but the program's own."""
        if one in self.ratios:
            return self.ratios[one]
        variant = one.variant
        alike = [r for o, r in self.ratios.items() if o != own and o.variant == variant]
        return geometric_mean(alike or self.usual_ratios(own))

    def usual_ratios(self, own: SweptConfiguration) -> list[float]:
        others = [ratio for one, ratio in self.ratios.items() if one != own]
        return others or [*self.ratios.values()]


def _joined(lengths: Sequence[_Length]) -> list[_Length]:
    """Join neighbouring lengths until a choice may ask for all of them; the shortest first."""
    ordered = sorted(lengths, key=lambda one: min(one.predicted.values()))
    count = min(len(ordered), constants.MOST_TIMED_LENGTHS)
    ends = [len(ordered) * place // count for place in range(count + 1)] if count else []
    return [
        _Length(
            _means(one.predicted for one in ordered[first:last]),
            _means(one.ratios for one in ordered[first:last]),
        )
        for first, last in pairwise(ends)
    ]


def _means(rows: Iterable[Times]) -> dict[SweptConfiguration, float]:
    """The mean of each configuration, over the rows that have it."""
    each: defaultdict[SweptConfiguration, list[float]] = defaultdict(list)
    for row in rows:
        for one, value in row.items():
            each[one].append(value)
    return {one: geometric_mean(values) for one, values in each.items()}


def _own(model: FittedModel) -> SweptConfiguration:
    return SweptConfiguration(model.kernel.original)


def _predicted(model: FittedModel, device: DeviceProfile) -> list[dict[SweptConfiguration, float]]:
    """Per recorded launch the time of each configuration that may be launched there.

    One that was recorded before has none: each is asked about once.
    """
    recorded = model.kernel.recorded
    first = {launch: place for place, launch in reversed([*enumerate(recorded)])}
    places = sorted(first.values())
    times: list[dict[SweptConfiguration, float]] = [{} for _ in recorded]
    for one in _able(model, device):
        asked = [(_words(one, place), None) for place in places]
        for place, choice in zip(places, Chooser(one, device).choose_each(asked), strict=True):
            if isinstance(choice, Selection):
                variant = one.kernel.variant
                own = {SweptConfiguration(p.block, variant): p.time_us for p in choice.ranked}
                times[place].update(own)
    return times


def _able(model: FittedModel, device: DeviceProfile) -> Iterator[FittedModel]:
    """The kernel and its variants that can be launched on the device, before times were told."""
    for one in (model, *model.variants):
        fitting = launchable(replace(one, timed=None), device)
        if fitting.blocks and len(one.kernel.recorded) == len(model.kernel.recorded):
            yield fitting


def _words(model: FittedModel, place: int) -> dict[str, int]:
    """The sizes of a recorded launch, by the names that users have for them."""
    return model.kernel.words_at(*model.kernel.recorded[place])


def _place_of(model: FittedModel, launch: SweptLaunch) -> int | None:
    """The recorded launch that was timed: the first with the same sizes."""
    kernel = model.kernel
    for place, (sizes, extents) in enumerate(kernel.recorded):
        named = zip(kernel.parameters, sizes, strict=True)
        if any(launch.sizes.get(name, size) != size for name, size in named):
            continue
        told = launch.extents or extents
        if kernel.words_at(sizes, told) == kernel.words_at(sizes, extents):
            return place
    return None


def _launch(model: FittedModel, place: int, launch: SweptLaunch) -> ShortlistLaunch:
    sizes, extents = model.kernel.recorded[place]
    # Behind a guard they are what is asked about, not the threads of whole blocks.
    with suppress(CutuneError):
        extents = ask(model, _words(model, place), None).extents
    variant = model.kernel.variant
    times = (launch.times.get(SweptConfiguration(block, variant)) for block in model.blocks)
    return ShortlistLaunch(sizes, extents, tuple(times))


def _without(model: FittedModel, failed: Iterable[SweptConfiguration]) -> FittedModel:
    """The model without some configurations, and without variants of which none is left."""
    gone: defaultdict[str, set[Block]] = defaultdict(set)
    for one in failed:
        gone[one.variant].add(one.block)

    def left(one: FittedModel) -> FittedModel:
        blocks = gone.get(one.kernel.variant)
        return one.restricted({*one.blocks} - blocks) if blocks else one

    variants = tuple(one for one in map(left, model.variants) if one.blocks)
    return replace(left(model), variants=variants)
