"""Headers that a source includes by `#include "…"`. Takes a source, gives the headers' sources.

Used where no compiler tells what is included: only files beside the including one, or in the given
directories, are found, and conditions are not looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from cutune.diagnostics import CutuneError
from cutune.source import Source
from cutune.syntax import Syntax, parse

_MAXIMAL_HEADERS = 500


def find_headers(source: Source, directories: Sequence[str | Path] = ()) -> tuple[Source, ...]:
    """All headers of the user that can be found, each once."""
    seen = {Path(source.path).resolve()}
    found: list[Source] = []
    waiting = [parse(source)]
    while waiting and len(found) < _MAXIMAL_HEADERS:
        for path in _included(waiting.pop(), directories):
            if path.resolve() in seen:
                continue
            seen.add(path.resolve())
            try:
                header = Source.read(path)
            except CutuneError:
                continue
            found.append(header)
            waiting.append(parse(header))
    return tuple(found)


def _included(syntax: Syntax, directories: Sequence[str | Path]) -> list[Path]:
    """The files that its directives name, where they exist."""
    beside = Path(syntax.source.path).parent
    names = [name for directive in syntax.directives if (name := directive.included)]
    choices = ([Path(folder) / name for folder in (beside, *directories)] for name in names)
    existing = (next((path for path in paths if path.is_file()), None) for paths in choices)
    return [path for path in existing if path is not None]
