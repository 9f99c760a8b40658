"""Facts of a kernel at some sizes, and over all. Takes a model, gives `KernelFacts`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from cutune.check.evaluate import sizes_of
from cutune.cli.page.flow_chart import flow_chart
from cutune.cli.page.page_facts import AtSizes, Candidate, CurvePoint, KernelFacts
from cutune.core.diagnostics import CutuneError
from cutune.model.emit.model import emit_model
from cutune.model.emit.tables import Tables
from cutune.model.fit.fitted_model import FittedModel
from cutune.model.measurement.size_relations import usually_held
from cutune.model.measurement.sweep import SweptConfiguration, SweptLaunch
from cutune.model.performance.constants import REPORTED_BAND
from cutune.model.performance.definitions import launchable
from cutune.model.selection.choose import PredictedBlock
from cutune.model.selection.chooser import (
    DEFAULT,
    MODELS,
    Chooser,
    is_stream,
    sizes_as_run,
    threads_alone,
    usual_sizes,
)
from cutune.model.selection.variants import VariantChooser
from cutune.toolchain.device.profile import DeviceProfile

#: Launches of a sweep that are shown of one kernel; with fewer, usual sizes stand beside them.
MOST_SHOWN, FEW = 6, 2
_POWERS = tuple(1 << exponent for exponent in range(6, 14))
#: Sizes of the curve: powers of two, three quarters of them, and sizes with no such factor.
CURVE = tuple(sorted({size for p in _POWERS for size in (p, 3 * p // 4)} - {48}))
CURVE_UNALIGNED = tuple(p - 24 for p in _POWERS if p >= 128)
LONG_CURVE = tuple(10_000 * 2**exponent for exponent in range(15))


@dataclass(frozen=True)
class SizeQuestion:
    """Sizes to ask for, and the launch that was timed there, if one was."""

    label: str
    sizes: Mapping[str, int] = field(default_factory=dict)
    every: int | None = None
    launch: SweptLaunch | None = None


def kernel_facts(
    model: FittedModel,
    device: DeviceProfile,
    names: tuple[str, str, str],
    launches: Sequence[SweptLaunch] = (),
    sizes: Sequence[int] | None = None,
) -> KernelFacts | None:
    """Everything about one kernel; None where the device can launch nothing, or sizes are missing.

    Args:
        names: `key`, `name` and `program` of the facts.
        launches: of this kernel, timed on the device.
        sizes: what all data parameters are set to, besides; by default the sizes of the launches,
            else sizes that keep a GPU busy.
    """
    try:
        every = _Choosers(model, device)
    except CutuneError:
        return None
    shown = list(every.answers(_questions(model, launches, sizes)))
    if not shown or not (sizes or launches or any(one.gain is not None for one in shown)):
        # No others can be asked for.
        as_run = (SizeQuestion(_label(own), own) for own in sizes_as_run(model))
        shown = list(every.answers(as_run)) or shown
    if not shown:
        return None
    kernel, usable = model.kernel, launchable(model, device)
    program, rule = MODELS[DEFAULT].compose(usable, device), MODELS[DEFAULT].rule(usable, device)
    words = (*kernel.parameters, *kernel.extent_words)
    error = model.held_out_error
    return KernelFacts(
        *names,
        counts="exact" if error == 0 else f"{100 * error:.2g} % off at held-out sizes",
        idle_variants=tuple(sorted(model.variant_names - every.variants.keys())),
        sizes=tuple(shown),
        curve=tuple(every.curve()),
        flow=flow_chart(program, rule, words, bool(every.variants)),
        c_text=emit_model(program, re.sub(r"\W", "_", kernel.name), Tables()),
    )


def at_sizes(
    model: FittedModel, device: DeviceProfile, sizes: Mapping[str, int], every: int | None = None
) -> AtSizes:
    """A kernel at one question of `select`.

    Raises:
        CutuneError: CT511, CT512 for sizes that do not fit the kernel, CT515 where no launch is
            possible.
    """
    label = _label(sizes, *([str(every)] if every is not None else []))
    return _Choosers(model, device).at(SizeQuestion(label, sizes, every))


def _label(sizes: Mapping[str, int], *first: str) -> str:
    return ", ".join([*first, *(f"{name}={value}" for name, value in sizes.items())])


def _questions(
    model: FittedModel, launches: Sequence[SweptLaunch], sizes: Sequence[int] | None
) -> Iterator[SizeQuestion]:
    """The launches, then sizes that none of them has."""
    timed = _spread(launches)
    labels = _labels(timed)
    for launch, label in zip(timed, labels, strict=True):
        yield SizeQuestion(label, sizes_of(launch, model), launch.size, launch)
    word = threads_alone(model.kernel)
    for size in sizes or (() if len(timed) > FEW else usual_sizes(model)):
        if str(size) not in labels:
            held = usually_held(model.kernel)
            yield SizeQuestion(_label(held, f"{word}={size}" if word else str(size)), held, size)


def _spread(launches: Sequence[SweptLaunch]) -> list[SweptLaunch]:
    """At most `MOST_SHOWN` of them, the smallest and the largest too."""
    ordered = sorted(launches, key=lambda one: (one.size or 0, sorted(one.sizes.items())))
    if len(ordered) <= MOST_SHOWN:
        return ordered
    step = (len(ordered) - 1) / (MOST_SHOWN - 1)
    return [ordered[round(index * step)] for index in range(MOST_SHOWN)]


def _labels(launches: Iterable[SweptLaunch]) -> list[str]:
    """A short and unique name of the sizes of each."""
    labels: list[str] = []
    for launch in launches:
        label = str(launch.size) if launch.size is not None else _label(launch.sizes) or "?"
        labels.append(f"{label} ({labels.count(label) + 1})" if label in labels else label)
    return labels


class _Choosers:
    """The choice, and the predictions of all blocks of the variants that are faster somewhere."""

    def __init__(self, model: FittedModel, device: DeviceProfile) -> None:
        self._is_stream = is_stream(model)
        self._choice = VariantChooser(model, device)
        names = self._choice.variant_names
        self.variants = {
            one.kernel.variant: Chooser(one, device)
            for one in model.variants
            if one.kernel.variant in names
        }

    def answers(self, questions: Iterable[SizeQuestion]) -> Iterator[AtSizes]:
        """Those that have an answer: no size is missing, and a launch is possible."""
        for asked in questions:
            with suppress(CutuneError):
                yield self.at(asked)

    def at(self, asked: SizeQuestion) -> AtSizes:
        """At the sizes of a launch; raises as `Chooser.choose` does."""
        choice = self._choice.choose(asked.sizes, asked.every)
        predicted = {SweptConfiguration(p.block): p for p in choice.plain.ranked}
        for name, chooser in self.variants.items():
            with suppress(CutuneError):
                ranked = chooser.choose(asked.sizes, asked.every).ranked
                predicted |= {SweptConfiguration(p.block, name): p for p in ranked}
        return AtSizes(
            asked.label,
            SweptConfiguration(choice.plain.original),
            SweptConfiguration(choice.chosen.block, choice.variant),
            choice.gain,
            choice.reason,
            tuple(_candidates(predicted, asked.launch.times if asked.launch else {})),
            choice.chosen.grid,
        )

    def curve(self) -> Iterator[CurvePoint]:
        sizes = LONG_CURVE if self._is_stream else sorted((*CURVE, *CURVE_UNALIGNED))
        choices = self._choice.choose_each([({}, size) for size in sizes])
        for size, choice in zip(sizes, choices, strict=True):
            if not isinstance(choice, CutuneError) and choice.gain is not None:
                near = (
                    SweptConfiguration(p.block, name)
                    for name, p in choice.ranked
                    if p.predicted_ms <= REPORTED_BAND * choice.ranked[0][1].predicted_ms
                )
                yield CurvePoint(
                    size,
                    choice.gain,
                    SweptConfiguration(choice.plain.original),
                    SweptConfiguration(choice.chosen.block, choice.variant),
                    frozenset(near),
                )


def _candidates(
    predicted: Mapping[SweptConfiguration, PredictedBlock],
    measured: Mapping[SweptConfiguration, float],
) -> Iterator[Candidate]:
    for one in dict.fromkeys((*predicted, *measured)):
        known = predicted.get(one)
        predicted_us = 1e3 * known.predicted_ms if known is not None else None
        terms = known.terms_us if known is not None else {}
        yield Candidate(one, predicted_us, measured.get(one), terms)
