"""The choice among a kernel and its variants. Takes a model with variants, gives a configuration.

Each variant has a model and a rule of its own, which choose its block. A variant is taken where its
prediction, with what asking about its pointers costs, is at least 3 % below that of the kernel
itself: `cutune_prefer` of `cutune_choice.h` does the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from cutune.core.diagnostics import CutuneError
from cutune.device.profile import DeviceProfile
from cutune.device.thread_block import Block
from cutune.fit.fitted_model import FittedModel
from cutune.models.candidates import launchable
from cutune.models.constants import ASKING_US, NEAR_BEST, VARIANT_SHARE
from cutune.models.selection.choose import Prediction, Selection
from cutune.models.selection.question import Chooser
from cutune.models.selection.registry import DEFAULT

#: Sizes at which candidates have to be near the best: powers of two, three quarters of them, and
#: beside them sizes of which no power of two is a factor.
_POWERS = tuple(1 << exponent for exponent in range(6, 15))
SIZES = tuple(sorted({size for p in _POWERS for size in (p, 3 * p // 4, p + 1, p - 24)}))
#: Larger ones, for kernels with little work per thread.
LONG_SIZES = tuple(1000 * 4**exponent for exponent in range(8))


@dataclass(frozen=True)
class ConfigurationChoice:
    """A block for the kernel itself, and a variant with its own block, where one is faster.

    Attributes:
        plain: what is launched where no variant may run.
        variant: the name of the one that is faster; empty: none is.
        of_variants: the choice of each variant, by its name.
    """

    plain: Selection
    variant: str = ""
    of_variants: Mapping[str, Selection] = field(default_factory=dict)

    @property
    def chosen(self) -> Selection:
        """The choice that is launched where the variant may run."""
        return self.of_variants[self.variant] if self.variant else self.plain

    @property
    def gain(self) -> float | None:
        """The program's own configuration's predicted time by that of the chosen one."""
        own = self.plain.predicted_ms(self.plain.original)
        chosen = self.chosen.predicted_ms(self.chosen.block)
        return own / chosen if own and chosen else None

    @property
    def ranked(self) -> list[tuple[str, Prediction]]:
        """All candidates, the fastest first, each with its variant's name."""
        found = [("", one) for one in self.plain.ranked]
        for name, choice in self.of_variants.items():
            found += [(name, one) for one in choice.ranked]
        return sorted(found, key=lambda pair: pair[1].predicted_ms)

    @property
    def reason(self) -> str:
        """Why this is chosen."""
        if not self.variant:
            return self.plain.reason
        plain = self.plain.predicted_ms(self.plain.block) or 0.0
        chosen = self.chosen.predicted_ms(self.chosen.block) or 1.0
        return (
            f"{self.variant}: predicted {plain / chosen:.2f} times as fast as the kernel itself in"
            " its best block"
        )


class VariantChooser:
    """Chooses among a kernel and its variants; the models are composed once for all sizes."""

    def __init__(
        self, model: FittedModel, device: DeviceProfile, performance: str = DEFAULT
    ) -> None:
        """See `Chooser`.

        Raises:
            CutuneError: CT515 where no launch is possible.
        """
        self._plain = Chooser(model, device, performance)
        #: How sizes are named, and extents that no guard tells.
        self.size_names = model.kernel.parameters
        self.extent_words = model.kernel.extent_words
        # The published models compare blocks of one kernel only.
        variants = worthwhile(model, device) if performance == DEFAULT else ()
        self._of_variants = [
            (variant.kernel, Chooser(variant, device, performance)) for variant in variants
        ]

    def choose(self, sizes: Mapping[str, int], every: int | None = None) -> ConfigurationChoice:
        """The configuration at these sizes; raises as `Chooser.choose` does."""
        plain = self._plain.choose(sizes, every)
        limit, variant = float(VARIANT_SHARE) * _chosen_us(plain), ""
        of_variants = {}
        for kernel, chooser in self._of_variants:
            choice = chooser.choose(sizes, every)
            of_variants[kernel.variant] = choice
            us = _chosen_us(choice) + float(ASKING_US) * kernel.asked_pointers
            if choice.ranked and us < limit:
                limit, variant = us, kernel.variant
        return ConfigurationChoice(plain, variant, of_variants)


def worthwhile(model: FittedModel, device: DeviceProfile) -> tuple[FittedModel, ...]:
    """The variants that are faster at some size, with the candidates that are near the best."""
    if not model.variants:
        return ()
    own = Chooser(model, device)
    found = []
    for variant in model.variants:
        fitting = launchable(variant, device)
        if fitting.blocks:
            chooser = Chooser(fitting, device)
            blocks = _near_best(own, chooser, fitting)
            if blocks:
                found.append(fitting.restricted(blocks))
    return tuple(found)


def _near_best(own: Chooser, chooser: Chooser, variant: FittedModel) -> set[Block]:
    """The blocks that are near the best where the variant is worth its while."""
    blocks: set[Block] = set()
    for plain, choice in _sampled(own, chooser):
        asking_us = float(ASKING_US) * variant.kernel.asked_pointers
        if _chosen_us(choice) + asking_us >= float(VARIANT_SHARE) * _chosen_us(plain):
            continue
        limit = float(NEAR_BEST) * choice.ranked[0].predicted_ms
        blocks |= {p.block for p in choice.ranked if p.predicted_ms <= limit}
        blocks.add(choice.block)
    return blocks


def _sampled(own: Chooser, chooser: Chooser) -> Iterator[tuple[Selection, Selection]]:
    """The choices of both, with all sizes alike."""
    for size in (*SIZES, *LONG_SIZES):
        try:
            pair = own.choose({}, size), chooser.choose({}, size)
        except CutuneError:
            continue  # too large for a grid
        if pair[0].ranked and pair[1].ranked:
            yield pair


def _chosen_us(choice: Selection) -> float:
    """What is predicted for the chosen block, in microseconds; 0 where nothing is."""
    return 1e3 * (choice.predicted_ms(choice.block) or 0.0)
