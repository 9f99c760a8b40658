"""What would make refused launches tunable, as paragraphs and as JSON. Takes `Program`s."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict

from rich.console import Console

from cutune.analysis.suggestions import Suggestion, suggestions
from cutune.frontend.program import Program

Json = dict[str, object]


def suggestions_to_json(programs: Iterable[Program]) -> list[Json]:
    """As a part of what `inspect --json` prints."""
    return [asdict(found) for program in programs for found in suggestions(program)]


def print_suggestions(programs: Iterable[Program], console: Console | None = None) -> None:
    """Print each as a paragraph that begins with its place."""
    console = console or Console(emoji=False)
    found = [suggestion for program in programs for suggestion in suggestions(program)]
    if not found:
        console.print("nothing to suggest: no launch was refused", highlight=False)
    for suggestion in found:
        console.print(
            "\n".join(_paragraph(suggestion)), markup=False, highlight=False, soft_wrap=True
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
