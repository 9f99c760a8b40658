"""Programs, launches with their verdicts and source, and the sentence that sums them up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cutune.cli.page.page_facts import (
    CodeLine,
    KernelFacts,
    LaunchFacts,
    ProgramFacts,
    Standing,
    geometric_mean,
)
from cutune.core.diagnostics import Diagnostic, shown
from cutune.core.source import Source, Span
from cutune.model.fit.fitted_model import FittedModel
from cutune.model.measurement.measurement import Origin
from cutune.proof.analysis.suggestions import Suggestion, suggestions
from cutune.source.launch_sites import may_launch
from cutune.source.program import LaunchSite, Program, Verdict

#: Lines shown around a launch, and at most of a kernel; characters of a line.
AROUND, MOST_LINES, MOST_CHARACTERS = 2, 150, 240
NOT_YET = "no model: run cutune tune"


@dataclass(frozen=True)
class Modelled:
    """A model. `facts`: None where there is no prediction; `question` then asks for one."""

    model: FittedModel
    facts: KernelFacts | None
    question: str = ""


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
        one
        for one in models
        if one.model.kernel.name == site.kernel
        and may_launch(program, site, one.model.kernel.entry)
    ]
    facts = [one.facts for one in own if one.facts is not None]
    question = next((one.question for one in own if one.facts is None), "")
    reason = code = text = pragma = ""
    if site.verdict is Verdict.REFUSED:
        standing, reason = Standing.REFUSED, shown(site.reason)
        code = site.code.number if site.code is not None else ""
        if remedy := remedies.get((site.kernel, line)):
            text, pragma = shown(remedy.text), shown(remedy.pragma or "")
    else:
        gains = any(one.standing is Standing.GAINS for one in facts)
        standing = Standing.GAINS if gains else Standing.GOOD if facts else Standing.UNMODELLED
        question = question or ("" if facts else NOT_YET)
        if kernel := program.kernel(site.kernel):
            reason = f"its block may change in {' and '.join(kernel.pure_dimensions)}"
    lines, keys = excerpt(site.source, site.span, AROUND), tuple(one.key for one in facts)
    place = shown(site.callee), site.source.path, line
    return LaunchFacts(*place, standing, reason, code, lines, text, pragma, keys, question)


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
    return tuple(_lines(source, span, range(start, min(end + 1, start + MOST_LINES)), marks))


def _lines(source: Source, span: Span, numbers: Iterable[int], marks: bool) -> Iterator[CodeLine]:
    for number in numbers:
        line, begin = source.line_text(number), source.line_start(number)
        text = shown(line).expandtabs(4)
        low, high = (max(0, min(place - begin, len(line))) for place in span)
        marked = None
        if marks and low < high:
            # Columns count bytes, and tabs; what is shown has neither.
            columns = [len(shown(line[:place]).expandtabs(4)) for place in (low, high)]
            marked = (min(columns[0], MOST_CHARACTERS), min(columns[1], MOST_CHARACTERS))
        yield CodeLine(number, text[:MOST_CHARACTERS], marked)


#: So many names are listed; of more, their number is told.
LISTED = 3


def summary(programs: Sequence[ProgramFacts], kernels: Sequence[KernelFacts], device: str) -> str:
    """How much is predicted to be gained, where, and where the own blocks are good already."""
    counts = Counter(launch.standing for program in programs for launch in program.launches)
    parts = _of_kernels(kernels)
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


def _of_kernels(kernels: Sequence[KernelFacts]) -> list[str]:
    gaining = sorted(
        (one for one in kernels if one.standing is Standing.GAINS), key=lambda one: -one.gain
    )
    counts = Counter(one.name for one in kernels)
    # Of kernels with one name, the program that each belongs to is told.
    called = {
        one.key: one.name if counts[one.name] == 1 else f"{one.name} of {one.program}"
        for one in kernels
    }
    good = [called[one.key] for one in kernels if one.standing is Standing.GOOD]
    parts = [_gains(gaining, called)] if gaining else []
    if good:
        others = f"{len(good)} {'others' if gaining else 'kernels'}"
        names = _joined(good) if len(good) <= LISTED else others
        parts.append(f"the program’s own blocks are already good for {names}")
    return parts


def _gains(gaining: Sequence[KernelFacts], called: Mapping[str, str]) -> str:
    """`a is predicted to run 3.0 times as fast`, or of many how many and the greatest."""
    names, factors = [called[one.key] for one in gaining], [times(one.gain) for one in gaining]
    count = len(called)
    if len(gaining) <= LISTED:
        are = "is" if len(gaining) == 1 else "are"
        told = f"{_joined(factors)} times as fast with cutune"
        return f"{_joined(names)} {are} predicted to run {told}"
    all_of = f"all {count}" if len(gaining) == count else f"{len(gaining)} of {count}"
    mean = times(geometric_mean(one.gain for one in gaining))
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
