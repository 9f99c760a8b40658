"""The choice among a kernel and its variants. Takes a model with variants, gives a configuration.

Each variant has a model and a rule of its own, which choose its block. A variant is taken where its
prediction, with what asking about its pointers costs, is at least 3 % below that of the kernel
itself (more where its work depends on data), or below it at all where both were timed:
`cutune_prefer` of `cutune_choice.h` does the same.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import chain

from cutune.core.diagnostics import CutuneError
from cutune.model.fit.fitted_model import FittedModel
from cutune.model.performance.constants import (
    NEAR_BEST,
    OWN_BAND_DATA_SMALLER,
    VARIANT_SHARE,
)
from cutune.model.performance.definitions import launchable
from cutune.model.selection.choose import PredictedBlock, Selection
from cutune.model.selection.chooser import DEFAULT, Chooser
from cutune.toolchain.device.profile import DeviceProfile
from cutune.toolchain.device.thread_block import Block

#: So many variants of a kernel are emitted: each takes its time in a decision.
MOST_EMITTED = 4
#: Sizes at which candidates have to be near the best: powers of two, three quarters of them, and
#: beside them sizes of which no power of two is a factor.
_POWERS = tuple(1 << exponent for exponent in range(6, 15))
SIZES = tuple(sorted({size for p in _POWERS for size in (p, 3 * p // 4, p + 1, p - 24)}))
#: One size, and all others.
CORNERS = ((1, 2048), (33, 4096), (4096, 33), (1 << 20, 64))
#: Larger ones, for kernels with little work per thread.
LONG_SIZES = tuple(1000 * 4**exponent for exponent in range(8))

#: Longer than any launch takes.
NEVER_SURE_US = Fraction(10**12)

Devices = Sequence[DeviceProfile]
#: Sizes by name, and that of all others.
Asked = tuple[Mapping[str, int], int | None]


def share_of(model: FittedModel, device: DeviceProfile) -> Fraction:
    """The share of the kernel's own prediction below which that of a variant has to lie.

    What is counted on data is less certain: there a variant has to promise what one promises
    elsewhere, and what another block does.
    """
    if model.timed_on(device.name) is not None:
        return Fraction(1)
    return VARIANT_SHARE / OWN_BAND_DATA_SMALLER if model.kernel.on_data else VARIANT_SHARE


@dataclass(frozen=True)
class ConfigurationChoice:
    """A block for the kernel itself, and a variant with its own block, where one is faster.

    Attributes:
        plain: what is launched where no variant may run.
        variant: the name of the one that is faster; empty: none is.
        of_variants: the choice of each variant, by its name.
        others: that of variants that were timed, and are not as good anywhere.
    """

    plain: Selection
    variant: str = ""
    of_variants: Mapping[str, Selection] = field(default_factory=dict)
    others: Mapping[str, Selection] = field(default_factory=dict)

    @property
    def chosen(self) -> Selection:
        """The choice that is launched where the variant may run."""
        return self.of_variants[self.variant] if self.variant else self.plain

    @property
    def gain(self) -> float | None:
        """The program's own configuration's predicted time by that of the chosen one."""
        own, chosen = self.plain.own_ms, self.chosen.chosen_ms
        return own / chosen if own and chosen else None

    @property
    def ranked(self) -> list[tuple[str, PredictedBlock]]:
        """All candidates, the fastest first, each with its variant's name."""
        choices = {"": self.plain, **self.of_variants, **self.others}
        ranked = [(name, one) for name, choice in choices.items() for one in choice.ranked]
        return sorted(ranked, key=lambda pair: pair[1].predicted_ms)

    @property
    def reason(self) -> str:
        if not self.variant:
            return self.plain.reason
        plain = self.plain.chosen_ms or 0.0
        chosen = self.chosen.chosen_ms or 1.0
        return (
            f"{self.variant}: predicted {plain / chosen:.2f} times as fast as the kernel itself in"
            " its best block"
        )


class VariantChooser:
    """Chooses among a kernel and its variants; the models are composed once for all sizes."""

    def __init__(
        self,
        model: FittedModel,
        device: DeviceProfile,
        performance: str = DEFAULT,
        *,
        any_threads: bool = False,
    ) -> None:
        self._plain = Chooser(model, device, performance, any_threads=any_threads)
        #: How sizes are named, and extents that no guard tells.
        self.size_names = self._plain.size_names
        self.extent_words = model.kernel.extent_words
        # The published models compare blocks of one kernel only.
        variants = worthwhile(model, device) if performance == DEFAULT else ()
        self._of_variants = [(one, Chooser(one.model, device, performance)) for one in variants]
        self._share = float(share_of(model, device))
        names = self.variant_names
        timed = (m for m in model.variants if m.timed_on(device.name) is not None)
        others = [m for m in timed if m.kernel.variant not in names and m.timed_blocks]
        self._others = {m.kernel.variant: Chooser(m, device, performance) for m in others}

    @property
    def variant_names(self) -> frozenset[str]:
        """The variants that are faster somewhere: those that are compared."""
        return frozenset(one.model.kernel.variant for one, _ in self._of_variants)

    def choose(self, sizes: Mapping[str, int], every: int | None = None) -> ConfigurationChoice:
        """The configuration at these sizes; raises as `Chooser.choose` does."""
        [choice] = self.choose_each([(sizes, every)])
        if isinstance(choice, CutuneError):
            raise choice
        return choice

    def choose_each(
        self, asked: Sequence[tuple[Mapping[str, int], int | None]]
    ) -> list[ConfigurationChoice | CutuneError]:
        """Choose for many sizes at once, which takes little longer than for one."""
        choosers = (self._plain, *(chooser for _, chooser in self._of_variants))
        each = zip(*(chooser.choose_each(asked) for chooser in choosers), strict=True)
        preferred = [self._preferred(choices) for choices in each]
        for name, chooser in self._others.items():
            for number, other in enumerate(chooser.choose_each(asked)):
                choice = preferred[number]
                if isinstance(other, Selection) and isinstance(choice, ConfigurationChoice):
                    others = {**choice.others, name: other}
                    preferred[number] = replace(choice, others=others)
        return preferred

    def _preferred(
        self, choices: Sequence[Selection | CutuneError]
    ) -> ConfigurationChoice | CutuneError:
        failed = next((one for one in choices if isinstance(one, CutuneError)), None)
        if failed is not None:
            return failed
        plain, *others = (one for one in choices if isinstance(one, Selection))
        best_us, variant, is_sure = math.inf, "", False
        of_variants = {}
        for (one, chooser), choice in zip(self._of_variants, others, strict=True):
            kernel = one.model.kernel
            of_variants[kernel.variant] = choice
            us = _chosen_us(choice) + chooser.asking_us
            if choice.chosen_ms and us < best_us:
                best_us, variant, is_sure = us, kernel.variant, us >= one.sure_us
        if not is_sure and best_us >= self._share * _chosen_us(plain):
            variant = ""
        return ConfigurationChoice(plain, variant, of_variants)


@dataclass(frozen=True)
class Worthwhile:
    """A variant that is faster somewhere, with the candidates that are near the best there.

    `sure_us`: where it is predicted to take as long, or longer, it is known to be faster than the
    kernel itself, which need not be asked about then.
    """

    model: FittedModel
    sure_us: Fraction


def worthwhile(model: FittedModel, device: DeviceProfile) -> tuple[Worthwhile, ...]:
    """The variants that are faster at some size, each than the kernel itself and the others."""
    if not model.variants:
        return ()
    fitting = {v.kernel.variant: launchable(v, device) for v in model.variants}
    choosers = {name: Chooser(one, device) for name, one in fitting.items() if one.blocks}
    own, share = Chooser(model, device), float(share_of(model, device))
    timed = list(_rows_as_timed(model, own, choosers, share))
    rows = [*timed, *_rows(own, choosers, share)]
    # What was timed decides first.
    names = _faster_somewhere(timed, list(choosers), [])
    names = _faster_somewhere(rows, list(choosers), names)
    near_best = {
        name: _near_best(name, names, rows) | fitting[name].timed_blocks
        for name in choosers
        if name in names
    }
    return tuple(
        Worthwhile(fitting[name].restricted(blocks), sure_from(model, name, rows))
        for name, blocks in near_best.items()
        if blocks
    )


def worthwhile_on(model: FittedModel, devices: Devices) -> list[tuple[Worthwhile, ...]]:
    """Return what is `worthwhile` for each device, among candidates near the best on any.

    Devices with the same candidates share code where a program is emitted for several.
    """
    each = [worthwhile(model, device) for device in devices]
    blocks: dict[str, set[Block]] = {}
    for one in chain.from_iterable(each):
        blocks.setdefault(one.model.kernel.variant, set()).update(one.model.blocks)
    fitted = {variant.kernel.variant: variant for variant in model.variants}

    def with_all(one: Worthwhile, device: DeviceProfile) -> Worthwhile:
        name = one.model.kernel.variant
        return replace(one, model=launchable(fitted[name], device).restricted(blocks[name]))

    return [
        tuple(with_all(one, device) for one in own)
        for own, device in zip(each, devices, strict=True)
    ]


@dataclass(frozen=True)
class _Row:
    """The choices at some sizes. `us`: predictions for variants, with the asking, by name.

    `share` of the kernel's own prediction: a variant has to lie below.
    """

    plain: Selection
    of_variants: Mapping[str, Selection]
    us: Mapping[str, float]
    share: float

    @property
    def plain_us(self) -> float:
        return _chosen_us(self.plain)

    def is_faster(self, name: str) -> bool:
        return name in self.us and self.us[name] < self.share * self.plain_us

    def best_us(self, names: Iterable[str]) -> float:
        """The prediction for what is launched, where these variants are there."""
        return min((self.us[n] for n in names if self.is_faster(n)), default=self.plain_us)


def _faster_somewhere(
    rows: Sequence[_Row], names: Sequence[str], already: Sequence[str]
) -> list[str]:
    """The variants that gain most over all sizes, one after the other: as many as are emitted."""
    chosen = [*already]
    while len(chosen) < MOST_EMITTED:
        gains = {name: _gain(rows, chosen, name) for name in names if name not in chosen}
        best = max(gains, key=gains.__getitem__, default=None)
        if best is None or gains[best] <= 0:
            break
        chosen.append(best)
    return chosen


def _gain(rows: Sequence[_Row], chosen: Sequence[str], name: str) -> float:
    """The gain by one more variant, as a sum of logarithms; 0 if it is no better anywhere."""
    ratios = [row.best_us([*chosen, name]) / row.best_us(chosen) for row in rows]
    pairs = zip(ratios, rows, strict=True)
    is_better = any(ratio < row.share for ratio, row in pairs)
    return -sum(map(math.log, ratios)) if is_better else 0.0


def _near_best(name: str, names: Sequence[str], rows: Iterable[_Row]) -> set[Block]:
    blocks: set[Block] = set()
    for row in rows:
        if not row.is_faster(name) or row.us[name] > row.best_us(names):
            continue
        choice = row.of_variants[name]
        blocks.add(choice.block)
        if not choice.launch_bound:
            limit = float(NEAR_BEST) * choice.ranked[0].predicted_ms
            blocks |= {p.block for p in choice.ranked if p.predicted_ms <= limit}
    return blocks


def sure_from(model: FittedModel, name: str, rows: Sequence[_Row]) -> Fraction:
    """Predictions of the variant from which on it is faster in all samples.

    What is counted on data is known of sizes that belong together as in the runs; samples do not.
    """
    if model.kernel.on_data:
        return NEVER_SURE_US
    slower = [row.us[name] for row in rows if name in row.us and not row.is_faster(name)]
    # As much again: sizes between the samples may be slower for longer.
    return Fraction(2 * max(slower, default=0.0)).limit_denominator(1000)


def _rows(own: Chooser, choosers: Mapping[str, Chooser], share: float) -> Iterator[_Row]:
    """The choices of all with all sizes alike, and with one far from the others."""
    asked: list[Asked] = [({}, size) for size in (*SIZES, *LONG_SIZES)]
    if len(own.size_names) > 1:
        asked += [({name: one}, others) for name in own.size_names for one, others in CORNERS]
    return _rows_at(own, asked, choosers, dict.fromkeys(choosers, asked), share)


def _rows_as_timed(
    model: FittedModel, own: Chooser, choosers: Mapping[str, Chooser], share: float
) -> Iterator[_Row]:
    """The choices of all at the launches that were timed; nothing where none was."""
    asked = {one.kernel.variant: asked_as_timed(one) for one in (model, *model.variants)}
    return _rows_at(own, asked[""], choosers, asked, share)


def asked_as_timed(model: FittedModel) -> list[Asked]:
    """The sizes, by the names that users have for them, of all launches that were timed."""
    launches = model.timed.launches if model.timed is not None else ()
    return [(model.kernel.words_at(one.sizes, one.extents), None) for one in launches]


def _rows_at(
    own: Chooser,
    asked_of_own: Sequence[Asked],
    choosers: Mapping[str, Chooser],
    asked: Mapping[str, Sequence[Asked]],
    share: float,
) -> Iterator[_Row]:
    chosen = {name: chooser.choose_each(asked[name]) for name, chooser in choosers.items()}
    for number, plain in enumerate(own.choose_each(asked_of_own)):
        if isinstance(plain, CutuneError) or not plain.chosen_ms:
            continue  # too large for a grid, for example
        choices = ((name, each[number]) for name, each in chosen.items())
        valid = {n: c for n, c in choices if not isinstance(c, CutuneError) and c.chosen_ms}
        us = {n: _chosen_us(c) + choosers[n].asking_us for n, c in valid.items()}
        yield _Row(plain, valid, us, share)


def _chosen_us(choice: Selection) -> float:
    """The prediction for the chosen block, in microseconds; 0 where there is none."""
    return 1e3 * (choice.chosen_ms or 0.0)
