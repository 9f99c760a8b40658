"""What would make refused launches tunable, as paragraphs and as JSON. Takes `Program`s."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict

from rich.console import Console

from cutune.analysis.suggestions import Suggestion, suggestions
from cutune.cli.report.programs import why_unmodelled
from cutune.frontend.program import Program

Json = dict[str, object]


def suggestions_to_json(programs: Iterable[Program]) -> list[Json]:
    """As a part of what `inspect --json` prints."""
    return [asdict(found) for program in programs for found in suggestions(program)]


def print_suggestions(programs: Sequence[Program], console: Console | None = None) -> None:
    """Print each as a paragraph that begins with its place."""
    console = console or Console(emoji=False)
    found: list[Iterable[str]] = []
    found += [_paragraph(one) for program in programs for one in suggestions(program)]
    found += [lines for program in programs for lines in _unmodelled(program)]
    if not found:
        console.print("nothing to suggest: no launch was refused", highlight=False)
    for lines in found:
        console.print("\n".join(lines), markup=False, highlight=False, soft_wrap=True)


def _unmodelled(program: Program) -> Iterator[Iterable[str]]:
    """What is to be said of launches that may be changed, and that no model can choose for."""
    for site in program.launches:
        if why := why_unmodelled(program, site):
            place = f"{site.source.path}:{site.source.location(site.span.start).line}"
            yield (
                f"{place}: launch of '{site.kernel}'",
                f"    Any legal block gives the same, but which is fast is not known: {why}. No "
                "annotation helps; the launch stays as it is.",
            )


def _paragraph(found: Suggestion) -> Iterator[str]:
    place = f"{found.file}:{found.line}"
    if found.pragma is None:
        yield f"{place}: launch of '{found.kernel}' [{found.code}]"
    else:
        noun = "the launch in line" if len(found.launches) == 1 else "the launches in lines"
        yield f"{place}: insert, for {noun} {', '.join(map(str, found.launches))} [{found.code}]"
        yield f"    {found.pragma}"
    yield f"    {found.text}"
