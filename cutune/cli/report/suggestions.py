"""Suggestions for refused launches, as paragraphs and as JSON. Takes `Program`s."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict

from rich.console import Console

from cutune.analysis.suggestions import Suggestion, suggestions
from cutune.cli.report.programs import Json, why_unmodelled
from cutune.frontend.program import Program


def suggestions_to_json(programs: Iterable[Program]) -> list[Json]:
    """The suggestions of `inspect --json`."""
    return [asdict(suggestion) for program in programs for suggestion in suggestions(program)]


def print_suggestions(programs: Sequence[Program], console: Console | None = None) -> None:
    """Print each as a paragraph that begins with its place."""
    console = console or Console(emoji=False)
    paragraphs = [_paragraph(one) for program in programs for one in suggestions(program)]
    paragraphs += [text for program in programs for text in _unmodelled(program)]
    if not paragraphs:
        console.print("nothing to suggest: no launch was refused", highlight=False)
    for text in paragraphs:
        console.print(text, markup=False, highlight=False, soft_wrap=True)


def _unmodelled(program: Program) -> Iterator[str]:
    """A paragraph for each launch that may be changed, and that no model can choose for."""
    for site in program.launches:
        if why := why_unmodelled(program, site):
            place = f"{site.source.path}:{site.source.location(site.span.start).line}"
            yield (
                f"{place}: launch of '{site.kernel}'\n"
                f"    Any legal block gives the same, but which is fast is not known: {why}. No "
                "annotation helps; the launch stays as it is."
            )


def _paragraph(suggestion: Suggestion) -> str:
    place = f"{suggestion.file}:{suggestion.line}"
    if suggestion.pragma is None:
        return (
            f"{place}: launch of '{suggestion.kernel}' [{suggestion.code}]\n    {suggestion.text}"
        )
    noun = "the launch in line" if len(suggestion.launches) == 1 else "the launches in lines"
    lines = ", ".join(map(str, suggestion.launches))
    head = f"{place}: insert, for {noun} {lines} [{suggestion.code}]"
    return f"{head}\n    {suggestion.pragma}\n    {suggestion.text}"
