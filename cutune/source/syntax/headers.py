"""The user's headers that a source includes. Takes a source, gives the headers' sources.

The compiler says which they are (`unit.preprocess.user_headers`). Where there is none, only
files beside the including one, or in the given directories, are found, and conditions are
ignored. The options `-I` and `-include` are read here, too.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError
from cutune.core.reading import read_source, readable_source
from cutune.core.source import Source
from cutune.source.syntax.directives import directives_of

_MAXIMAL_HEADERS = 500
_ANGLES = re.compile(r"\s*<([^>\n]+)>")
_INCLUDE, _FORCE = "-I", "-include"
#: nvcc's options that name folders of headers, or headers.
_PATH_OPTIONS = {
    "-I": _INCLUDE,
    "--include-path": _INCLUDE,
    "-include": _FORCE,
    "--pre-include": _FORCE,
}


def read_headers(paths: Iterable[str]) -> tuple[Source, ...]:
    """Read headers; the compiler also names files that only a `#line` mentions."""
    return tuple(header for path in paths if (header := readable_source(path)) is not None)


def include_directories(flags: Iterable[str]) -> tuple[str, ...]:
    """The folders that compile flags name by `-I`."""
    return tuple(path for option, path in _path_options(flags) if option == _INCLUDE)


def forced_headers(flags: Iterable[str]) -> tuple[str, ...]:
    """The headers that compile flags name by `-include`."""
    return tuple(path for option, path in _path_options(flags) if option == _FORCE)


def redirected(flags: Iterable[str], copy_of: Callable[[str], str | None]) -> list[str]:
    """Compile flags that search copies of folders and headers first, where there are any."""
    found: list[str] = []
    for option, path in _path_options(flags):
        copy = copy_of(path) if option else None
        if option == _FORCE:
            found += [_FORCE, copy or path]
        else:
            found += [*([f"{option}{copy}"] if copy else []), f"{option}{path}"]
    return found


def expand_response_files(flags: Iterable[str]) -> Iterator[str]:
    """Put the options in the file for `--options-file FILE` and `@FILE`. Raises CT001."""
    pending = iter(flags)
    for flag in pending:
        name, equals, value = flag.partition("=")
        if flag.startswith("@"):
            yield from _options_in(flag[1:])
        elif name in ("--options-file", "-optf"):
            yield from _options_in(value if equals else next(pending, ""))
        else:
            yield flag


def _options_in(path: str) -> list[str]:
    text = read_source(path).text
    try:
        return shlex.split(text)
    except ValueError as error:
        reason = str(error).lower()
        raise CutuneError.at(Code.UNREADABLE_FILE, path=path, reason=reason) from error


def _path_options(flags: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Pairs of `-I` or `-include` and a path; other flags as `("", flag)`."""
    pending = iter(flags)
    for flag in pending:
        name, equals, value = flag.partition("=")
        if flag in _PATH_OPTIONS:
            value = next(pending, "")
        elif not (name in _PATH_OPTIONS and equals):
            is_folder = flag.startswith(_INCLUDE)
            name, value = (_INCLUDE, flag[len(_INCLUDE) :]) if is_folder else ("", flag)
        for path in value.split(",") if name else (value,):
            yield _PATH_OPTIONS.get(name, ""), path


def find_headers(
    source: Source, directories: Sequence[str | Path] = (), known: Iterable[Source] = ()
) -> tuple[Source, ...]:
    """All headers of the user that can be found, each once, without those known already."""
    seen = {Path(file.path).resolve() for file in (source, *known)}
    found: list[Source] = []
    waiting = [source]
    while waiting and len(found) < _MAXIMAL_HEADERS:
        for path in _included(waiting.pop(), directories):
            header = readable_source(path) if path.resolve() not in seen else None
            seen.add(path.resolve())
            if header is not None:
                found.append(header)
                waiting.append(header)
    return tuple(found)


def _included(source: Source, directories: Sequence[str | Path]) -> list[Path]:
    beside = Path(source.path).parent
    choices = []
    for directive in directives_of(source.text):
        if name := directive.included:
            choices.append([Path(folder) / name for folder in (beside, *directories)])
        elif directive.name == "include" and (match := _ANGLES.match(directive.rest)):
            choices.append([Path(folder) / match[1] for folder in directories])
    existing = (next((path for path in paths if path.is_file()), None) for paths in choices)
    return [path for path in existing if path is not None]
