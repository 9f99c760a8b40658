"""How well configurations are chosen, against a sweep. Takes sweep and models, gives scores.

Regret is t(chosen) / t(best) - 1. Error is the paper's (t - best) / (worst - best), which the
worst shapes of a sweep make small; it counts where worst / best is above 1.25. A strategy that has
no answer for a launch leaves it as the source has it. Variants count where they were swept and the
model has them. The strategies beside the models are habit, occupancy, and timings at other sizes.

`cutune evaluate --training` prints how far fitting changes what a model chooses (Table 2 of the
paper): MWP-CWP on the counters that were collected at the training sizes (`collect --fit paper`)
against MWP-CWP on fitted ones. A good fit has the same best block, and cycles alike.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import chain
from pathlib import Path

import numpy as np

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError
from cutune.model.fit.fitted_model import FittedModel, PublishedCounts
from cutune.model.fit.published_counters import COUNTERS, TrainingCounters, training_counters
from cutune.model.measurement.measurement import Measurement
from cutune.model.measurement.sweep import RecordedSweep, SweptConfiguration, SweptLaunch
from cutune.model.performance.published_models import compose_mwp_cwp
from cutune.model.rational.functions import constant_function
from cutune.model.rational.program import evaluate as evaluate_program
from cutune.model.rational.program import point
from cutune.model.selection.chooser import DEFAULT, MODELS, LaunchSizes, ask
from cutune.model.selection.variants import VariantChooser
from cutune.toolchain.device.profile import BlockResources, DeviceProfile, resident_blocks
from cutune.toolchain.device.thread_block import EXTENTS, Block, shape, threads_of

OWN, OCCUPANCY, REUSED, NEAREST, FIXED = (
    "the source's default",
    "occupancy API",
    "best at the training size, reused",
    "best at the nearest size",
    "best fixed block",
)
#: The usual width of a block of which only the number of threads is known.
USUAL_WIDTH = 32

Answer = SweptConfiguration | None
Strategy = Callable[[SweptLaunch], Answer]


def by_occupancy(device: DeviceProfile) -> Strategy:
    """Choose as `cudaOccupancyMaxPotentialBlockSize`: most resident threads, then most threads.

    Of the shapes with that many threads, the one whose width is nearest to a warp.
    """

    def choose(launch: SweptLaunch) -> Answer:
        registers, shared = launch.registers, launch.shared_bytes
        if registers is None or shared is None:
            return None

        def preference(block: Block) -> tuple[int, int, float]:
            threads = math.prod(block)
            resources = BlockResources(threads, registers, shared)
            resident = resident_blocks(resources, device.limits) * threads
            return (resident, threads, -abs(math.log2(block[0] / USUAL_WIDTH)))

        return SweptConfiguration(max(launch.microseconds, key=preference))

    return choose


def reused(launches: Sequence[SweptLaunch], train: int | None, launch: SweptLaunch) -> Answer:
    """The fastest at the training size; without one, at the smallest size of the kernel."""
    known = _other_sizes(launches, launch)
    if train is not None:
        at = next((other for other in known if other.size == train), None)
        return _fastest_at(at, launch)
    smaller = [other for other in known if _size(other) < _size(launch)]
    return _fastest_at(min(smaller, key=_size, default=None), launch)


def nearest(launches: Sequence[SweptLaunch], launch: SweptLaunch) -> Answer:
    """The fastest at the nearest other size, by ratio; of two the smaller."""

    def distance(other: SweptLaunch) -> tuple[float, int]:
        return abs(math.log(_size(other) / max(1, _size(launch)))), _size(other)

    known = _other_sizes(launches, launch)
    return _fastest_at(min(known, key=distance, default=None), launch)


def fixed(launches: Sequence[SweptLaunch]) -> Strategy:
    """The best single block for all kernels with the same number of dimensions."""
    best: dict[int, SweptConfiguration] = {}
    for dimensions in {_dimensions(launch) for launch in launches}:
        alike = [launch for launch in launches if _dimensions(launch) == dimensions]
        common = set.intersection(*(set(launch.microseconds) for launch in alike))
        if common:
            best[dimensions] = min(
                (SweptConfiguration(block) for block in sorted(common)),
                key=lambda chosen: sum(math.log1p(one.regret(chosen)) for one in alike),
            )

    return lambda launch: best.get(_dimensions(launch))


def _other_sizes(launches: Sequence[SweptLaunch], like: SweptLaunch) -> list[SweptLaunch]:
    same = (o for o in launches if (o.program, o.kernel) == (like.program, like.kernel))
    return [other for other in same if other.size not in (None, like.size)]


def _size(launch: SweptLaunch) -> int:
    return launch.size or 0


def _dimensions(launch: SweptLaunch) -> int:
    """The number of dimensions in which the blocks of a sweep vary."""
    return sum(len(set(axis)) > 1 for axis in zip(*launch.microseconds, strict=True))


def _fastest_at(other: SweptLaunch | None, launch: SweptLaunch) -> Answer:
    """The configuration that was fastest at another size, if it may be launched at this one."""
    return other.fastest if other is not None and other.fastest in launch.times else None


#: If worst / best is below this ratio, the Error is not reported.
ERROR_SPREAD = 1.25
#: A configuration this fast, relative to the source's own, is not a loss.
NO_LOSS = 0.97


@dataclass(frozen=True)
class Case:
    """One held-out launch, and the answer of each strategy."""

    launch: SweptLaunch
    answers: Mapping[str, Answer]

    def configuration(self, strategy: str) -> SweptConfiguration:
        """The configuration that is launched: the source's own where a strategy has no answer."""
        return self.answers[strategy] or SweptConfiguration(self.launch.own)

    def regret(self, strategy: str) -> float:
        return self.launch.regret(self.configuration(strategy))

    def gain(self, strategy: str) -> float:
        return self.launch.microseconds[self.launch.own] / self.microseconds(strategy)

    def microseconds(self, strategy: str) -> float:
        return self.launch.times[self.configuration(strategy)]


@dataclass(frozen=True)
class StrategyScore:
    """A strategy over all cases.

    Attributes:
        cases, answered: numbers of cases, and of those in which it had an answer.
        mean, median, ninetieth, worst: of the regrets, as fractions: geometric mean, percentiles.
        within_2, within_5: shares of cases with a regret up to 2 % and 5 %.
        error: mean of `SweptLaunch.error` where times differ (the paper's Table 3).
        no_loss: share of cases that are as fast as with the source's own configuration.
        gain, least_gain: speed relative to that: geometric mean, and the least.
    """

    strategy: str
    cases: int
    answered: int
    mean: float
    median: float
    ninetieth: float
    worst: float
    within_2: float
    within_5: float
    error: float
    no_loss: float
    gain: float
    least_gain: float


@dataclass(frozen=True)
class Evaluation:
    """A comparison of strategies at the launches of a sweep. `judged`: name of the model judged."""

    judged: str
    cases: tuple[Case, ...]

    @property
    def strategies(self) -> tuple[str, ...]:
        """In the order of the tables, the evaluated model last."""
        return tuple(self.cases[0].answers) if self.cases else ()

    def score(self, strategy: str) -> StrategyScore:
        regrets = np.array([case.regret(strategy) for case in self.cases])
        spread = [case for case in self.cases if case.launch.spread > ERROR_SPREAD]
        errors = [case.launch.error(case.configuration(strategy)) for case in spread]
        gains = np.array([case.gain(strategy) for case in self.cases])
        return StrategyScore(
            strategy=strategy,
            cases=len(self.cases),
            answered=sum(case.answers[strategy] is not None for case in self.cases),
            mean=float(np.expm1(np.log1p(regrets).mean())),
            median=float(np.median(regrets)),
            ninetieth=float(np.quantile(regrets, 0.9)),
            worst=float(regrets.max()),
            within_2=float(np.mean(regrets <= 0.02)),
            within_5=float(np.mean(regrets <= 0.05)),
            error=float(np.mean(errors)) if errors else 0.0,
            no_loss=float(np.mean(gains >= NO_LOSS)),
            gain=float(np.exp(np.log(gains).mean())),
            least_gain=float(gains.min()),
        )


def evaluate_sweep(
    launches: Sequence[SweptLaunch],
    models: Sequence[FittedModel],
    device: DeviceProfile,
    train: int | None = None,
    judged: str = DEFAULT,
) -> Evaluation:
    """Ask every strategy for a configuration of every held-out launch.

    `launches`: of an exhaustive sweep on `device`. `models` that are missing leave theirs alone.
    Those up to the size `train` may be known to strategies and are no cases; None: all are cases,
    and the smallest of a kernel is what others may reuse. `judged`: the performance model that
    chooses; the other models are shown too.
    """
    launches, models = _with_same_variants(launches, models)
    held_out = [one for one in launches if train is None or (one.size or train + 1) > train]
    strategies: dict[str, Strategy] = {
        OWN: lambda launch: SweptConfiguration(launch.own),
        OCCUPANCY: by_occupancy(device),
        REUSED: partial(reused, launches, train),
        NEAREST: partial(nearest, held_out),
        FIXED: fixed(held_out),
    }
    for name in sorted(MODELS, key=lambda name: name == judged):
        strategies[name] = by_model(models, device, name)
    cases = (
        Case(launch, {name: strategy(launch) for name, strategy in strategies.items()})
        for launch in held_out
    )
    return Evaluation(judged, tuple(cases))


def evaluate(
    swept: RecordedSweep,
    models: Iterable[FittedModel],
    device: DeviceProfile,
    programs: Sequence[str] = (),
    train: int | None = None,
    judged: str = DEFAULT,
) -> Evaluation:
    """Compare what the models choose with a sweep. Raises CT516 when it has no launch to judge by.

    `programs`: paths of the sources whose launches count; without any, all in the sweep do.
    """
    stems = {Path(path).stem for path in programs}
    launches = [one for one in swept.launches if not stems or one.program in stems]
    evaluation = evaluate_sweep(launches, [*models], device, train, judged)
    if not evaluation.cases:
        names = ", ".join(sorted({launch.program for launch in swept.launches})) or "nothing"
        raise CutuneError.at(Code.NOTHING_TO_JUDGE, known=names)
    return evaluation


def model_of(launch: SweptLaunch, models: Iterable[FittedModel]) -> FittedModel | None:
    """The model that a tuned program asks at this launch, if there is one."""
    return next((model for model in models if launch.is_of(model.kernel)), None)


def _with_same_variants(
    launches: Sequence[SweptLaunch], models: Sequence[FittedModel]
) -> tuple[list[SweptLaunch], list[FittedModel]]:
    """Launches with the variants that the models have, models with those that were swept."""
    asked = [model_of(launch, models) for launch in launches]
    known = [
        launch.only(model.variant_names if model is not None else ())
        for launch, model in zip(launches, asked, strict=True)
    ]
    swept = ((one, [v for v in launches if v.is_of(one.kernel)]) for one in models)
    return known, [one.only({*chain(*(own.variants for own in its))}) for one, its in swept]


def by_model(models: Sequence[FittedModel], device: DeviceProfile, performance: str) -> Strategy:
    """The strategy of cutune: what the model of the kernel chooses."""
    choosers: dict[object, VariantChooser] = {}

    def choose(launch: SweptLaunch) -> Answer:
        model = model_of(launch, models)
        if model is None:
            return None
        place = model.kernel.place
        try:
            if place not in choosers:
                choosers[place] = VariantChooser(model, device, performance)
            choice = choosers[place].choose(sizes_of(launch, model), launch.size)
        except CutuneError:
            return None  # a size is missing: the tuned program launches its own block
        chosen = SweptConfiguration(choice.chosen.block, choice.variant)
        return chosen if chosen in launch.times else None

    return choose


def sizes_of(launch: SweptLaunch, model: FittedModel) -> dict[str, int]:
    """The sizes that a model is asked for at a launch: data parameters, and unguarded extents."""
    sizes = {n: v for n, v in launch.sizes.items() if n in model.kernel.parameters}
    if launch.extents is not None:
        extents = dict(zip(EXTENTS, launch.extents, strict=True))
        words = model.kernel.extent_words.items()
        sizes |= {word: extents[variable] for word, variable in words}
    return sizes


#: The sizes that the paper's table shows.
SHOWN_SIZES = (256, 512)


@dataclass(frozen=True)
class TrainingRow:
    """One kernel at one size: the best block by collected and by fitted counters, in cycles."""

    kernel: str
    size: int
    best: Block
    best_cycles: float
    chosen: Block
    chosen_cycles: float
    #: The model on collected counters at the chosen block: it should equal `chosen_cycles`.
    collected_cycles: float

    @property
    def cells(self) -> tuple[str, ...]:
        best, chosen = f"{self.best_cycles:.0f}", f"{self.chosen_cycles:.0f}"
        blocks = (shape(self.best), best, shape(self.chosen), chosen)
        return (self.kernel, str(self.size), *blocks, f"{self.collected_cycles:.0f}")

    @property
    def ratio(self) -> float:
        """Fitted by collected cycles at the chosen block."""
        return self.chosen_cycles / self.collected_cycles


def training_rows(
    model: FittedModel, measured: Sequence[Measurement], device: DeviceProfile
) -> Iterator[TrainingRow]:
    """The rows of one kernel; none where it was not counted at these sizes."""
    launches = training_counters(model.kernel, measured)
    for size in SHOWN_SIZES:
        at = {one.block: one for one in launches if one.size == size}
        kept = model.restricted(at.keys())
        if not kept.blocks:
            continue
        try:
            question = ask(model, {}, size)
        except CutuneError:
            continue  # its thread space is a variable of its own
        true = {block: _on_collected(kept, at[block], question, device) for block in kept.blocks}
        fitted = dict(zip(kept.blocks, _cycles(kept, question, device), strict=True))
        best, chosen = _least(true), _least(fitted)
        yield TrainingRow(
            model.kernel.name,
            size,
            best,
            best_cycles=true[best],
            chosen=chosen,
            chosen_cycles=fitted[chosen],
            collected_cycles=true[chosen],
        )


def _on_collected(
    model: FittedModel, launch: TrainingCounters, question: LaunchSizes, device: DeviceProfile
) -> float:
    names = (model.kernel.variables[0],)
    constants = (constant_function(names, Fraction(launch.values[name])) for name in COUNTERS)
    one = replace(model.restricted([launch.block]), published=PublishedCounts(*constants))
    return _cycles(one, question, device)[0]


def _cycles(model: FittedModel, question: LaunchSizes, device: DeviceProfile) -> list[float]:
    at = point(question.sizes, question.extents)
    values = evaluate_program(compose_mwp_cwp(model, device), at)["cycles"]
    count = len(model.blocks)
    return [float(values)] * count if values.ndim == 0 else [float(value) for value in values]


def _least(cycles: dict[Block, float]) -> Block:
    """The fastest; of equals the smallest, then the narrowest, as in the paper."""
    return min(cycles, key=lambda b: (cycles[b], threads_of(b), b[0]))
