"""Takes programs and models, gives `ProgramFacts`, `KernelFacts`, a sentence that sums them up."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from cutune.check.evaluate import sizes_of
from cutune.cli.page.flow_chart import flow_chart
from cutune.cli.page.page_facts import (
    AtSizes,
    Candidate,
    CodeLine,
    CurvePoint,
    KernelFacts,
    LaunchFacts,
    ProgramFacts,
    Standing,
    mean_gain,
)
from cutune.cli.report.choices import question_of
from cutune.core.diagnostics import CutuneError, Diagnostic, shown
from cutune.core.source import Source, Span
from cutune.model.emit.emitter import Tables
from cutune.model.emit.model import emit_model
from cutune.model.fit.count_functions import off_text
from cutune.model.fit.fitted_model import FittedModel
from cutune.model.measurement.measurement import Origin
from cutune.model.measurement.size_relations import usually_held
from cutune.model.measurement.sweep import SweptConfiguration, SweptLaunch
from cutune.model.performance.constants import REPORTED_BAND
from cutune.model.performance.definitions import launchable
from cutune.model.selection.chooser import (
    DEFAULT,
    MODELS,
    Chooser,
    is_stream,
    sizes_as_run,
    threads_alone,
    usual_sizes,
)
from cutune.model.selection.variants import VariantChooser, share_of
from cutune.proof.analysis.suggestions import Suggestion, suggestions
from cutune.source.program import LaunchSite, Program, Verdict, may_launch
from cutune.toolchain.device.profile import DeviceProfile

#: Lines shown around a launch, and at most of a kernel; characters of a line.
AROUND, MOST_LINES, MOST_CHARACTERS = 2, 150, 240
NOT_YET = "no model: run cutune tune"


#: A model, and what it predicts; None where it has to be asked by name (`cutune select`).
Modelled = tuple[FittedModel, KernelFacts | None]


def program_facts(
    program: Program, models: Iterable[Modelled], notes: Sequence[str] = ()
) -> ProgramFacts:
    """A program, each launch with what is known of its kernels."""
    known = list(models)
    remedies = {(s.kernel, line): s for s in suggestions(program) for line in s.launches}
    return ProgramFacts(
        Path(program.source.path).name,
        program.source.path,
        Origin.of(program.source).content,
        tuple(_launch(program, site, known, remedies) for site in program.launches),
        (*notes, *(one_line(message) for message in program.diagnostics)),
    )


def one_line(diagnostic: Diagnostic) -> str:
    """A message with its place, without an excerpt."""
    return shown(diagnostic.render().split("\n", 1)[0])


def _launch(
    program: Program,
    site: LaunchSite,
    models: Sequence[Modelled],
    remedies: Mapping[tuple[str, int], Suggestion],
) -> LaunchFacts:
    """A launch; `remedies`: what would help refused launches, by kernel and line."""
    line = site.source.location(site.span.start).line
    own = [
        (model, facts)
        for model, facts in models
        if model.kernel.name == site.kernel and may_launch(program, site, model.kernel.entry)
    ]
    known = [facts for _, facts in own if facts is not None]
    place = LaunchFacts(
        kernel=shown(site.callee),
        file=site.source.path,
        line=line,
        standing=Standing.REFUSED,
        reason=shown(site.reason),
        code=site.code.number if site.code is not None else "",
        lines=excerpt(site.source, site.span, AROUND),
        models=tuple(one.key for one in known),
        question=next((question_of(model) for model, facts in own if facts is None), ""),
    )
    if site.verdict is Verdict.REFUSED:
        remedy = remedies.get((site.kernel, line))
        if remedy is None:
            return place
        return replace(place, remedy=shown(remedy.text), pragma=shown(remedy.pragma or ""))
    kernel = program.kernel(site.kernel)
    dimensions = " and ".join(kernel.pure_dimensions) if kernel is not None else ""
    gains = any(one.standing is Standing.GAINS for one in known)
    standing = Standing.GAINS if gains else Standing.GOOD if known else Standing.UNMODELLED
    return replace(
        place,
        standing=standing,
        reason=f"its block may change in {dimensions}" if kernel is not None else "",
        code="",
        question=place.question or ("" if known else NOT_YET),
    )


def definition(program: Program, name: str) -> tuple[str, int, tuple[CodeLine, ...]]:
    """File, line and text of a kernel; nothing where its definition was not read."""
    kernel = program.kernel(name)
    if kernel is None:
        return "", 0, ()
    line = kernel.source.location(kernel.span.start).line
    return kernel.source.path, line, excerpt(kernel.source, kernel.span, marks=False)


def excerpt(
    source: Source, span: Span, around: int = 0, marks: bool = True
) -> tuple[CodeLine, ...]:
    """The lines of a span and some around it."""
    first = source.location(span.start).line
    last = source.location(max(span.start, span.end - 1)).line
    # Behind the last line break there is no line.
    count = source.line_count - source.text.endswith("\n")
    start, end = max(1, first - around), min(count, last + around)
    lines = []
    for number in range(start, min(end + 1, start + MOST_LINES)):
        line, begin = source.line_text(number), source.line_start(number)
        low, high = (max(0, min(place - begin, len(line))) for place in span)
        marked = None
        if marks and low < high:
            # Columns count bytes, and tabs; what is shown has neither.
            columns = [len(shown(line[:place]).expandtabs(4)) for place in (low, high)]
            marked = (min(columns[0], MOST_CHARACTERS), min(columns[1], MOST_CHARACTERS))
        lines.append(CodeLine(number, shown(line).expandtabs(4)[:MOST_CHARACTERS], marked))
    return tuple(lines)


#: So many names are listed; of more, their number is told.
LISTED = 3


def summary(programs: Sequence[ProgramFacts], kernels: Sequence[KernelFacts], device: str) -> str:
    """How much is predicted to be gained, where, and where the own blocks are good already."""
    counts = Counter(launch.standing for program in programs for launch in program.launches)
    gaining = [one for one in kernels if one.standing is Standing.GAINS]
    names = Counter(one.name for one in kernels)
    # Of kernels with one name, the program that each belongs to is told.
    called = {
        one.key: one.name if names[one.name] == 1 else f"{one.name} of {one.program}"
        for one in kernels
    }
    good = [called[one.key] for one in kernels if one.standing is Standing.GOOD]
    parts = [_gains(sorted(gaining, key=lambda one: -one.gain), called)] if gaining else []
    if good:
        others = f"{len(good)} {'others' if gaining else 'kernels'}"
        told = _joined(good) if len(good) <= LISTED else others
        parts.append(f"the program’s own blocks are already good for {told}")
    if waiting := counts[Standing.UNMODELLED]:
        have = "has" if waiting == 1 else "have"
        parts.append(f"{_launches(waiting)} may be tuned but {have} no prediction yet")
    if refused := counts[Standing.REFUSED]:
        stays, them = ("stays", "it") if refused == 1 else ("stay", "them")
        parts.append(f"{_launches(refused)} {stays} as the source has {them}")
    if not parts:
        return "There is no kernel launch here."
    # `an NVIDIA H200`, `a Tesla T4`.
    is_vowel = device.startswith("NVIDIA") or device[:1].lower() in "aeio"
    return f"On {'an' if is_vowel else 'a'} {device}, {'; '.join(parts)}."


def _gains(gaining: Sequence[KernelFacts], called: Mapping[str, str]) -> str:
    """`a is predicted to run 3.0 times as fast`, or of many how many and the greatest."""
    names, factors = [called[one.key] for one in gaining], [times(one.gain) for one in gaining]
    count = len(called)
    if len(gaining) <= LISTED:
        are = "is" if len(gaining) == 1 else "are"
        told = f"{_joined(factors)} times as fast with cutune"
        return f"{_joined(names)} {are} predicted to run {told}"
    all_of = f"all {count}" if len(gaining) == count else f"{len(gaining)} of {count}"
    mean = times(mean_gain(one.gain for one in gaining))
    return (
        f"{all_of} kernels are predicted to run {mean} times as fast with cutune on average, "
        f"most of all {names[0]} ({factors[0]} times)"
    )


def _launches(count: int) -> str:
    return "1 launch" if count == 1 else f"{count} launches"


def _joined(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def times(factor: float) -> str:
    """A factor as people say it: `1.06`, `3.0`, `12`."""
    return f"{factor:.0f}" if factor >= 10 else f"{factor:.1f}" if factor >= 2 else f"{factor:.2f}"


#: Launches of a sweep that are shown of one kernel; with fewer, usual sizes stand beside them.
MOST_SHOWN, FEW = 6, 2
_POWERS = tuple(1 << exponent for exponent in range(6, 14))
#: Sizes of the curve: powers of two, three quarters of them, and sizes with no such factor.
CURVE = sorted({n for p in _POWERS for n in (p, 3 * p // 4, p - 24)} - {40, 48})
LONG_CURVE = [10_000 * 2**exponent for exponent in range(15)]


@dataclass(frozen=True)
class SizeQuestion:
    """Sizes to ask for, and the launch that was timed there, if one was."""

    label: str
    sizes: Mapping[str, int]
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
    share = share_of(model, device) if every.variants else None
    return KernelFacts(
        *names,
        counts="exact" if error == 0 else f"{off_text(error)} at held-out sizes",
        idle_variants=tuple(sorted(model.variant_names - every.variants.keys())),
        sizes=tuple(shown),
        curve=tuple(every.curve()),
        flow=flow_chart(program, rule, words, share),
        c_text=emit_model(program, re.sub(r"\W", "_", kernel.name), Tables()),
    )


def at_sizes(
    model: FittedModel, device: DeviceProfile, sizes: Mapping[str, int], every: int | None
) -> AtSizes:
    """A kernel at one question of `select`. Raises CT511, CT512, CT515."""
    label = _label(sizes, *([str(every)] if every is not None else []))
    return _Choosers(model, device).at(SizeQuestion(label, sizes, every))


def _label(sizes: Mapping[str, int], *first: str) -> str:
    return ", ".join([*first, *(f"{name}={value}" for name, value in sizes.items())])


def _questions(
    model: FittedModel, launches: Sequence[SweptLaunch], sizes: Sequence[int] | None
) -> Iterator[SizeQuestion]:
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
    ordered = sorted(launches, key=lambda one: (one.size or 0, sorted(one.sizes.items())))
    if len(ordered) <= MOST_SHOWN:
        return ordered
    step = (len(ordered) - 1) / (MOST_SHOWN - 1)
    return [ordered[round(index * step)] for index in range(MOST_SHOWN)]


def _labels(launches: Iterable[SweptLaunch]) -> list[str]:
    labels: list[str] = []
    for launch in launches:
        label = str(launch.size) if launch.size is not None else _label(launch.sizes) or "?"
        labels.append(f"{label} ({labels.count(label) + 1})" if label in labels else label)
    return labels


class _Choosers:
    """The choice, and the predictions of all blocks of the variants that are faster somewhere."""

    def __init__(self, model: FittedModel, device: DeviceProfile) -> None:
        self._is_stream = is_stream(model)
        self._choice = VariantChooser(model, device, any_threads=True)
        names = self._choice.variant_names
        self.variants = {
            one.kernel.variant: Chooser(one, device)
            for one in model.variants
            if one.kernel.variant in names
        }

    def answers(self, questions: Iterable[SizeQuestion]) -> Iterator[AtSizes]:
        """Answer questions; not those for which a size is missing, or no launch is possible."""
        for asked in questions:
            with suppress(CutuneError):
                yield self.at(asked)

    def at(self, asked: SizeQuestion) -> AtSizes:
        """Answer for the sizes of one launch; raises as `Chooser.choose` does."""
        choice = self._choice.choose(asked.sizes, asked.every)
        predicted = {SweptConfiguration(p.block): p for p in choice.plain.ranked}
        for name, chooser in self.variants.items():
            with suppress(CutuneError):
                ranked = chooser.choose(asked.sizes, asked.every).ranked
                predicted |= {SweptConfiguration(p.block, name): p for p in ranked}
        measured = asked.launch.times if asked.launch else {}
        candidates = []
        for one in dict.fromkeys((*predicted, *measured)):
            known = predicted.get(one)
            predicted_us = 1e3 * known.predicted_ms if known is not None else None
            terms = known.terms_us if known is not None else {}
            candidates.append(Candidate(one, predicted_us, measured.get(one), terms))
        return AtSizes(
            asked.label,
            SweptConfiguration(choice.plain.original),
            SweptConfiguration(choice.chosen.block, choice.variant),
            choice.gain,
            choice.reason,
            tuple(candidates),
            choice.chosen.grid,
        )

    def curve(self) -> Iterator[CurvePoint]:
        sizes = LONG_CURVE if self._is_stream else CURVE
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
