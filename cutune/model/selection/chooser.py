"""The block of a launch at given sizes. Takes `NAME=VALUE` words and a model, gives a `Selection`.

`MODELS` has the performance models by name. Beyond the sizes for which its counts hold, a model is
not asked and the program's own block and kernel stay: `cutune select` says so, and the selection
routine of a tuned program does the same.

Timings (`collect --on gpu`) test the model, they do not override it or break its ties: measured,
that made choices worse, because a timing holds at its own size and alignment only. The timings of
one size are used: the smallest at which the kernel takes `PREFERRED_TIME` times the launch floor.
A model that chooses well there is confirmed: small predicted gains then count too. Only those of a
shortlist (`tune --shortlist`) correct it, near the sizes of their launches (`shortlist`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, Diagnostic, known_names
from cutune.model.fit.fitted_model import FittedModel, SizeRange
from cutune.model.measurement.measurement import MeasuredKernel
from cutune.model.measurement.size_relations import (
    busy_threads,
    extents_at,
    guarding,
    only_at,
    usually_held,
)
from cutune.model.measurement.sweep import SweptLaunch
from cutune.model.performance import constants
from cutune.model.performance.definitions import launchable
from cutune.model.performance.mechanistic import compose
from cutune.model.performance.published_models import compose_latency, compose_mwp_cwp
from cutune.model.rational.functions import fit_polynomial
from cutune.model.rational.program import RationalProgram, evaluate_each, point
from cutune.model.selection.choose import (
    Selection,
    SelectionRule,
    band_of,
    idle_text,
    published_rule,
    select,
    selection_rule,
)
from cutune.toolchain.device.profile import DeviceProfile
from cutune.toolchain.device.thread_block import GRID_LIMITS, WARP, Block, as_block, grid_of

DEFAULT = "mechanistic"


@dataclass(frozen=True)
class PerformanceModel:
    """A way to predict the time of a launch, and a rule that chooses a block from that."""

    compose: Callable[[FittedModel, DeviceProfile], RationalProgram]
    rule: Callable[[FittedModel, DeviceProfile], SelectionRule]


def _own_rule(model: FittedModel, device: DeviceProfile) -> SelectionRule:
    floor_us, band = device.model.floor_us, band_of(model, device)
    rule = selection_rule(model.blocks, model.one_dimensional, floor_us, band)
    # What was timed needs no ranks to be told apart.
    return rule if model.timed_on(device.name) is None else replace(rule, band=Fraction(1))


MODELS = {
    DEFAULT: PerformanceModel(compose, _own_rule),
    "mwp-cwp": PerformanceModel(compose_mwp_cwp, lambda model, _: published_rule(model.blocks)),
    "latency": PerformanceModel(compose_latency, lambda model, _: published_rule(model.blocks)),
}


#: From this size on, products of the model are not exact.
LARGEST_SIZE = 1 << 31


def supported(model: FittedModel) -> dict[str, SizeRange]:
    """The least and the largest value of each variable of the counts, and of what had one value."""
    kernel = model.kernel
    pairs = zip(kernel.variables, model.reached, strict=True)
    ranges = {name: _widened(model, name, reached) for name, reached in pairs}
    if kernel.on_data:
        # What an element takes does not depend on how many threads there are.
        free = (d for d, text in zip("xyz", kernel.working, strict=True) if text is not None)
        ranges |= {f"extent_{d}": SizeRange(1, LARGEST_SIZE) for d in free}
    return ranges | {name: SizeRange(value, value) for name, value in only_at(kernel)}


def measured_only_at(model: FittedModel) -> dict[str, int]:
    """Integers of which one value is known, by the names that users have for them."""
    ranges = supported(model).items()
    return model.kernel.as_asked((name, r.least) for name, r in ranges if r.least == r.largest)


def outside(ranges: Mapping[str, SizeRange], sizes: Mapping[str, int]) -> dict[str, SizeRange]:
    """The variables whose value lies where the counts are not known to hold, with their range."""
    known = ((name, held) for name, held in ranges.items() if name in sizes)
    return {name: held for name, held in known if not held.least <= sizes[name] <= held.largest}


def _widened(model: FittedModel, name: str, reached: SizeRange) -> SizeRange:
    # What was met so many times beyond its samples is asked as far again.
    factor = max(constants.REACH_NUMERICAL, reached.factor)
    factor = constants.REACH_EXACT if model.is_exact else factor
    if model.kernel.on_data:
        # What never varied tells of other numbers of threads, if at all.
        covers = name in guarding(model.kernel) and reached.least >= WARP
        factor = constants.REACH_ON_DATA if covers or reached.least < reached.largest else 1
        if covers and (not model.looped or max(model.kernel.coarsen) > 1):
            # A thread goes through its code once, or once for each of its ids, however many others
            # there are.
            factor = constants.REACH_EXACT
    least, largest = -(-reached.least // factor), reached.largest * factor
    return SizeRange(max(1, least), min(LARGEST_SIZE, largest))


_WORD = re.compile(r"(?P<name>[A-Za-z_][\w.]*)=(?P<value>.*)", re.DOTALL)


@dataclass(frozen=True)
class LaunchSizes:
    """Sizes by name, and threads to cover per dimension (blocks, where the grid is kept)."""

    sizes: Mapping[str, int]
    extents: Block


def parse_sizes(words: Sequence[str]) -> dict[str, int]:
    """`NAME=VALUE` words (`T.x`: threads in x, `G.x`: blocks in x) as a mapping. Raises CT008."""
    sizes = {}
    for word in words:
        match = _WORD.fullmatch(word)
        if match is None:
            every = f", or --all-sizes {word}" if word.isdecimal() else ""
            raise _bad(word, "a size", f"NAME=1024{every}")
        sizes[match["name"]] = parse_size(match["value"], f"{match['name']}=1024")
    return sizes


def parse_size(text: str, example: str) -> int:
    """A positive integer below 2^31. Raises CT008."""
    try:
        value = int(text)
    except ValueError:
        value = 0
    if not 0 < value < LARGEST_SIZE:
        raise _bad(text, "a positive integer below 2^31", example)
    return value


def ask(model: FittedModel, named: Mapping[str, int], every: int | None) -> LaunchSizes:
    """Complete the sizes of a question.

    `named`: sizes by name; case is ignored where the name stays unambiguous. `every`: the value of
    all other sizes, or None. Raises CT511 for a missing size, CT512 for an unknown name.
    """
    kernel = model.kernel
    extents_by_name = kernel.extent_words
    asked = {**{name: name for name in kernel.parameters}, **extents_by_name}
    known = {**asked, **{name: name for name, _ in only_at(kernel)}}
    sizes = {known[_resolve(name, known, kernel)]: value for name, value in named.items()}
    if every is not None:
        sizes = {**dict.fromkeys(kernel.parameters, every), **sizes}
        if word := threads_alone(kernel):
            whole = _whole_blocks(kernel, "xyz".index(word[-1]), every)
            sizes.setdefault(extents_by_name[word], whole)
    for word, variable in extents_by_name.items():
        if variable not in sizes:
            extent = _recorded_extent(kernel, "xyz".index(word[-1]), sizes)
            if extent is not None:
                sizes[variable] = extent
    missing = [word for word, variable in asked.items() if variable not in sizes]
    if missing:
        example = " ".join(f"{name}=…" for name in missing)
        meaning, code = "".join(map(_meaning, missing)), Code.MISSING_SIZE
        raise CutuneError.at(code, kernel=kernel.name, example=example, meaning=meaning)
    extents = extents_at(kernel, sizes)
    for name, guard, extent in zip("xyz", kernel.guards, extents, strict=True):
        if guard is not None and extent < 1:
            raise _impossible(kernel, f"it has no thread in {name}, where {guard} is {extent}")
    return LaunchSizes(sizes, _launched(kernel, extents))


def _launched(kernel: MeasuredKernel, extents: Block) -> Block:
    """Threads of the launch: without a guard the program rounds up to whole blocks of its own."""
    return as_block(
        [
            _whole_blocks(kernel, axis, extent) if guard is None and covers else extent
            for axis, (extent, guard, covers) in enumerate(
                zip(extents, kernel.guards, kernel.covers, strict=True)
            )
        ]
    )


def threads_alone(kernel: MeasuredKernel) -> str:
    """`T.x`, where a number of threads is all that differs among the launches; else nothing."""
    words = [*kernel.extent_words]
    if kernel.parameters or len(words) != 1 or not words[0].startswith("T."):
        return ""
    axis = "xyz".index(words[0][-1])
    return words[0] if len({threads[axis] for _, threads in kernel.recorded}) > 1 else ""


def _whole_blocks(kernel: MeasuredKernel, axis: int, ids: int) -> int:
    """Threads of as many of its own blocks as give one to each id."""
    width = kernel.original[axis]
    return -(-ids // width) * width


def _meaning(word: str) -> str:
    """The meaning of a size that is no argument of the kernel; empty for others."""
    meanings = {"T": "threads of all blocks together", "G": "blocks of the grid"}
    letter, _, axis = word.partition(".")
    meaning = meanings.get(letter) if axis in ("x", "y", "z") else None
    return f"; {word}: {meaning} in {axis}" if meaning else ""


class Chooser:
    """Chooses the block that the tuned program would use; composes the model once for all sizes."""

    def __init__(
        self,
        model: FittedModel,
        device: DeviceProfile,
        performance: str = DEFAULT,
        *,
        any_threads: bool = False,
    ) -> None:
        """A chooser for one model on one device.

        Args:
            performance: the name of the model in `MODELS`.
            any_threads: may a launch get another number of threads, where any does the same?

        Raises:
            CutuneError: CT515, no launch is possible.
        """
        self._multiprocessors = device.sm_count if any_threads else 0
        self._device = device.name
        self._filling = constants.FILLING_THREADS * self._multiprocessors
        self._model = launchable(model, device)
        judge = MODELS[performance]
        self._program = judge.compose(self._model, device)
        self._rule = judge.rule(self._model, device)
        self._supported = supported(self._model)
        #: How sizes are named, and what asking about pointers takes.
        self.size_names = model.kernel.parameters
        self.asking_us = float(constants.ASKING_US) * model.kernel.asked_pointers

    def choose(self, sizes: Mapping[str, int], every: int | None = None) -> Selection:
        """The block at these sizes. Raises CT511, CT512 (wrong sizes), CT515 (no launch)."""
        [choice] = self.choose_each([(sizes, every)])
        if isinstance(choice, CutuneError):
            raise choice
        return choice

    def choose_each(
        self, asked: Sequence[tuple[Mapping[str, int], int | None]]
    ) -> list[Selection | CutuneError]:
        """As `choose`, for many sizes at once, which takes little longer than for one."""
        prepared = [self._prepared(sizes, every) for sizes, every in asked]
        launches = [launch for launch in prepared if isinstance(launch, LaunchSizes)]
        selected = iter(self._selected(launches))
        choices = (next(selected) if isinstance(one, LaunchSizes) else one for one in prepared)
        return [self._launchable(one) if isinstance(one, Selection) else one for one in choices]

    def _prepared(
        self, sizes: Mapping[str, int], every: int | None
    ) -> LaunchSizes | Selection | CutuneError:
        """Sizes of a launch, or the program's own block where the model may not be asked there."""
        try:
            launch = ask(self._model, sizes, every)
        except CutuneError as error:
            return error
        kernel, far = self._model.kernel, outside(self._supported, launch.sizes)
        # Guards that are larger than what a tuned program asks its model about.
        axes = zip(kernel.guards, launch.extents, kernel.coarsen, strict=True)
        beyond = [guard for guard, n, ids in axes if guard and n * ids > LARGEST_SIZE]
        far |= dict.fromkeys(beyond, SizeRange(1, LARGEST_SIZE))
        multiple = kernel.coarsen[0] * kernel.multiple
        is_odd = any(launch.sizes.get(name, 0) % multiple for name in kernel.divided)
        if not far and not is_odd:
            return launch
        grid = grid_of(kernel.original, launch.extents, kernel.grid_kept)
        far = kernel.as_asked(far.items())
        return Selection(kernel.original, grid, (), False, kernel.original, 1.0, far)

    def _launchable(self, choice: Selection) -> Selection | CutuneError:
        for name, blocks, most in zip("xyz", choice.grid, GRID_LIMITS, strict=True):
            if blocks > most:
                reason = f"it would need {blocks} blocks in {name}, of which CUDA allows {most}"
                return _impossible(self._model.kernel, reason)
        return choice

    def _selected(self, launches: Sequence[LaunchSizes]) -> Iterator[Selection]:
        kernel = self._model.kernel
        sizes = {name: [launch.sizes[name] for launch in launches] for name in kernel.parameters}
        extents = [[launch.extents[axis] for launch in launches] for axis in range(3)]
        each = evaluate_each(self._program, point(sizes, extents))
        for launch, values in zip(launches, each, strict=True):
            choice = self._with_times(launch, select(values, self._rule, launch.extents, kernel))
            yield self._with_best_threads(launch, choice) if self._multiprocessors else choice

    def _with_times(self, launch: LaunchSizes, choice: Selection) -> Selection:
        """The choice, with the times of candidates that were timed at these sizes."""
        timed = self._model.timed_on(self._device)
        sizes = [launch.sizes[n] for n in self._model.kernel.parameters]
        rows = timed.launches if timed is not None else ()
        same = (r for r in rows if r.extents == launch.extents and [*r.sizes] == sizes)
        known = {
            b: us for r in same for b, us in zip(self._model.blocks, r.microseconds, strict=True)
        }
        if not known:
            return choice
        ranked = (replace(one, measured_us=known[one.block]) for one in choice.ranked)
        return replace(choice, ranked=tuple(ranked))

    def _with_best_threads(self, launch: LaunchSizes, own: Selection) -> Selection:
        """The choice with as many threads as fill the GPU, or have work, where that is faster.

        `cutune_try_threads` of `cutune_threads.h` does the same.
        """
        best, own_ms = own, own.chosen_ms
        for axis in range(3):
            working = busy_threads(self._model.kernel, axis, launch.sizes)
            numbers = sorted({min(self._filling, working), working})
            for threads in numbers if own_ms and working else ():
                found, least = self._with_threads(launch, axis, threads), best.chosen_ms
                ms = found.chosen_ms if found is not None else None
                if found and ms and least and ms * float(constants.OTHER_THREADS) < least:
                    best = replace(found, own_launch=own.predicted(own.original))
        return best if best is not own else replace(own, idle=self._idle(launch, own))

    def _idle(self, launch: LaunchSizes, own: Selection) -> str:
        """That most of the GPU is idle, whatever the block.

        Not where a guard tells the threads, or where other numbers were tried.
        """
        kernel = self._model.kernel
        axes = [axis for axis in range(3) if kernel.variable_extents[axis]]
        if any(busy_threads(kernel, axis, launch.sizes) for axis in axes):
            return ""
        if not axes or len({extents for _, extents in kernel.recorded}) > 1:
            return ""
        blocks = math.prod(grid_of(kernel.original, launch.extents, kernel.grid_kept))
        text = idle_text(blocks, self._multiprocessors)
        if not text or own.own_ms is None or len(axes) > 1 or any(kernel.grid_kept):
            return text
        found = self._with_threads(launch, axes[0], self._filling)
        ms = found.chosen_ms if found is not None else None
        return idle_text(blocks, self._multiprocessors, own.own_ms / ms if ms else None)

    def _with_threads(self, launch: LaunchSizes, axis: int, threads: int) -> Selection | None:
        """The choice with so many threads in one dimension; None where the counts do not hold."""
        asked = {**launch.sizes, f"extent_{'xyz'[axis]}": threads}
        if outside(self._supported, asked):
            return None
        kernel = self._model.kernel
        extents = as_block([*launch.extents[:axis], threads, *launch.extents[axis + 1 :]])
        sizes = {name: [asked[name]] for name in kernel.parameters}
        [values] = evaluate_each(self._program, point(sizes, [[extent] for extent in extents]))
        return select(values, self._rule, extents, kernel, may_idle=True)


def _recorded_extent(kernel: MeasuredKernel, axis: int, sizes: Mapping[str, int]) -> int | None:
    """The thread space of the source's grid expression, inferred from recorded launches."""
    if any(name not in sizes for name in kernel.parameters):
        return None
    samples = {(values, threads[axis]) for values, threads in kernel.recorded}
    seen = dict(samples)
    if len(seen) < len(samples):
        return None  # it does not follow from the sizes
    if len(seen) == 1:
        threads = next(iter(seen.values()))
        return threads if not kernel.parameters else None
    function = fit_polynomial(kernel.parameters, list(seen), list(seen.values()))
    if function is None:
        return _one_per_id(kernel, axis, seen, sizes)
    value: Fraction = function(sizes)
    return int(value) if value.denominator == 1 and value > 0 else None


def _one_per_id(
    kernel: MeasuredKernel, axis: int, seen: Mapping[tuple[int, ...], int], sizes: Mapping[str, int]
) -> int | None:
    """The thread space, if in all launches one size counts the ids and the blocks just cover it.

    Of a grid that is kept, the blocks, if in all launches they are as many as one size says.
    """
    if len(set(seen.values())) < 2:
        return None

    def covering(ids: int) -> int:
        return ids if kernel.grid_kept[axis] else _whole_blocks(kernel, axis, ids)

    extents = {
        covering(sizes[name])
        for place, name in enumerate(kernel.parameters)
        if all(extent == covering(values[place]) for values, extent in seen.items())
    }
    return extents.pop() if len(extents) == 1 else None


def _resolve(name: str, known: Mapping[str, str], kernel: MeasuredKernel) -> str:
    if name in known:
        return name
    same = [candidate for candidate in known if candidate.lower() == name.lower()]
    if len(same) == 1:
        return same[0]
    names = known_names(name, known)
    raise CutuneError.at(Code.UNKNOWN_SIZE, name=name, kernel=kernel.name, known=names)


def _impossible(kernel: MeasuredKernel, reason: str) -> CutuneError:
    return CutuneError.at(Code.IMPOSSIBLE_GRID, kernel=kernel.name, reason=reason)


def _bad(text: str, wanted: str, example: str) -> CutuneError:
    return CutuneError.at(Code.BAD_SIZE, text=text, wanted=wanted, example=example)


#: Matrices, and long vectors.
USUAL_SIZES = (1000, 1024, 2048, 4096)
#: Where three to six sizes are multiplied: more threads in one dimension are not launched.
FACTOR_SIZES = ((100, 128, 256, 512), (32, 50, 64, 100), (16, 20, 32, 40), (8, 10, 16, 20))
STREAMING_SIZES = (100_000, 1_000_000, 10_000_000)
#: So many launches of the runs stand for all of them.
MOST_AS_RUN = 3


def usual_sizes(model: FittedModel) -> tuple[int, ...]:
    """Sizes that keep a GPU busy, for all data parameters alike."""
    if is_stream(model):
        return STREAMING_SIZES
    kernel = model.kernel
    for sizes in (USUAL_SIZES, *FACTOR_SIZES):
        most = dict.fromkeys(kernel.variables, sizes[-1]) | usually_held(kernel)
        if max(extents_at(kernel, most)) < LARGEST_SIZE:
            return sizes
    return USUAL_SIZES


def sizes_as_run(model: FittedModel) -> list[dict[str, int]]:
    """Sizes of launches of the program itself, the smallest and the largest too.

    For kernels whose threads do not follow from their sizes, which nothing else can be asked of.
    """
    kernel = model.kernel
    threads = {
        (
            *zip(kernel.parameters, values, strict=True),
            *((word, extents["xyz".index(word[-1])]) for word in kernel.extent_words),
        ): math.prod(extents)
        for values, extents in kernel.recorded
    }
    ordered = sorted(threads, key=lambda sizes: (threads[sizes], sizes))
    step = max(1, (len(ordered) - 1) / (MOST_AS_RUN - 1))
    places = dict.fromkeys(round(index * step) for index in range(min(len(ordered), MOST_AS_RUN)))
    return [dict(ordered[place]) for place in places]


def is_stream(model: FittedModel) -> bool:
    """Has it about one thread per element of a single size, or always as many for a long one?"""
    most = STREAMING_SIZES[-1]
    extents = extents_at(model.kernel, dict.fromkeys(model.kernel.variables, most))
    is_one_pass = not model.looped and math.prod(extents) <= 2 * most
    return model.one_dimensional and (is_one_pass or _strides_over_long_vectors(model))


def _strides_over_long_vectors(model: FittedModel) -> bool:
    """Do always as many threads share one size, and are they or it beyond those of matrices?

    At a smaller size many of the threads would have nothing to do.
    """
    recorded = model.kernel.recorded
    values = [size for sizes, _ in recorded for size in sizes]
    threads = {extents for _, extents in recorded}
    is_shared = len(model.kernel.parameters) == len(threads) == 1
    return is_shared and max(min(values), *map(math.prod, threads)) > USUAL_SIZES[-1]


def with_timings(
    model: FittedModel, launches: Iterable[SweptLaunch], device: DeviceProfile
) -> tuple[FittedModel, Diagnostic | None]:
    """The model, confirmed or not, and a warning if its order of blocks differs from the times'."""
    launch = _reference(launches, float(device.model.floor_us))
    if launch is None:
        return model, None
    trusted = replace(model, confirmed_on=device.name)
    choice = choice_at(trusted, launch, device)
    agreement = None if choice is None else suitability(choice, launch, device)
    if agreement is not None and agreement < constants.LEAST_CORRELATION:
        kernel, shown = model.kernel.name, f"{agreement:.2f}"
        return model, Diagnostic.at(Code.UNSUITED_MODEL, kernel=kernel, correlation=shown)
    return trusted if choice is not None and _is_confirmed(choice, launch) else model, None


def choice_at(model: FittedModel, launch: SweptLaunch, device: DeviceProfile) -> Selection | None:
    """The model's choice for that launch; None where it has no answer."""
    sizes = {n: v for n, v in launch.sizes.items() if n in model.kernel.parameters}
    try:
        return Chooser(model, device).choose(sizes, launch.size)
    except CutuneError:
        return None


def _is_confirmed(choice: Selection, launch: SweptLaunch) -> bool:
    """Does the model choose a block other than the program's own, and is that block no slower?"""
    if choice.block == choice.original:
        return False
    chosen, own = (launch.microseconds.get(block) for block in (choice.block, choice.original))
    return chosen is not None and own is not None and chosen <= constants.NO_LONGER * own


def _reference(launches: Iterable[SweptLaunch], floor: float) -> SweptLaunch | None:
    """The launch whose times are used: long enough for the launch overhead not to dominate."""
    ordered = sorted(launches, key=lambda launch: launch.size or 0)
    times = [(launch, launch.microseconds[launch.best]) for launch in ordered]
    preferred = (launch for launch, time in times if time >= constants.PREFERRED_TIME * floor)
    enough = (launch for launch, time in reversed(times) if time > constants.MINIMUM_TIME * floor)
    return next(preferred, None) or next(enough, None)


def suitability(choice: Selection, launch: SweptLaunch, device: DeviceProfile) -> float | None:
    """Rank correlation (Spearman) of predicted and measured times.

    None where too few blocks take longer than the launch overhead, or all take about as long.
    """
    least = constants.INFORMATIVE_TIME * float(device.model.floor_us)
    us = launch.microseconds
    pairs = [(p.predicted_ms, us[p.block]) for p in choice.ranked if us.get(p.block, 0.0) > least]
    if len(pairs) < constants.FEWEST_BLOCKS:
        return None
    predicted, measured = np.array(pairs).T
    if max(measured) < constants.LEAST_SPREAD * min(measured):
        return None
    # Takes a second to import, and most commands have no timings.
    from scipy.stats import spearmanr  # noqa: PLC0415

    correlation = float(spearmanr(predicted, measured).statistic)
    return 0.0 if math.isnan(correlation) else correlation
