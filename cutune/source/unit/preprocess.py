"""The compiler's view of a source. Takes preprocessed text with line markers, gives its parts.

Only the user's files remain: those that no marker calls a system header, and that lie neither
beside `cuda_runtime.h` or `Python.h` nor in an installed package of Python, as torch's. A file that
is found by several paths is one, called as it is first. The text of each file is laid out again so
that its line numbers are those of the file; a token is then found in the user's text on the same
line.
"""

from __future__ import annotations

import os
import re
from bisect import bisect
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from itertools import zip_longest
from typing import NamedTuple

from cutune.core.reading import spelled_plainly
from cutune.core.source import Source
from cutune.source.syntax.directives import renumbers
from cutune.source.syntax.parse import Syntax, parse
from cutune.source.syntax.tokens import Token
from cutune.source.unit.unit import UnitPart
from cutune.toolchain.nvcc import INCLUDE_DIRECTORY
from cutune.toolchain.preprocessed import BEGIN, unescaped

_MARKER = re.compile(BEGIN + r'(?:line)? (\d+) "((?:[^"\\\n]|\\.)*)"((?: \d)*)[ \t\r]*\n')
_DEFINED = re.compile(r"^#define (\w+)(.*?)[ \t\r]*$", re.MULTILINE)
_ATTRIBUTE = re.compile(
    r"__attribute__\(\((global|device|host|shared|constant|managed|grid_constant)\)\)"
)
_BOUNDS = re.compile(r"__attribute__\(\((launch_bounds|cluster_dims)(?=\()")
#: Headers that others lie beside which are no user's, either.
_TOOLKITS = (
    re.compile(r"(.*[/\\])cuda_runtime\.h"),
    re.compile(r"(.*[/\\]python3[^/\\]*[/\\])Python\.h"),
)
_PACKAGES = re.compile(r"[/\\](?:site|dist)-packages[/\\]")
#: A kernel; a column, or its class, and not a variable of that name.
_OF_USERS = re.compile(
    r"__attribute__\(\(global\)\)|__builtin_COLUMN|__builtin_source_location"
    r"|[(,<:]\s*source_location\b|\bsource_location\s*(?:::|\b[A-Za-z_]|[&*>{])"
)
_ENTERS, _RETURNS, _SYSTEM = "1", "2", "3"
#: What the compiler calls the place of `-include`.
_COMMAND_LINE = "<command-line>"


@dataclass
class _File:
    """A file that is laid out again: its text so far, and the line of the last marker."""

    path: str
    pieces: list[str] = field(default_factory=list)
    lines: int = 0
    last: int = 0

    def add(self, marker: _Marker, text: str) -> None:
        """Lay out the text behind a marker, whose line is none before those that were added."""
        self.last = marker.line
        line = marker.line - 1
        self._go_back(self.lines - line)
        # Text of another file in between is noted on the line.
        include = "#include" if marker.returns and line > self.lines else ""
        self.pieces.append(include + "\n" * (line - self.lines) + text)
        self.lines = line + text.count("\n")

    def _go_back(self, count: int) -> None:
        """Join the last lines: the compiler breaks them where a macro of a header is expanded."""
        while count > 0:
            lines = self.pieces.pop().split("\n")
            joined = min(count, len(lines) - 1)
            kept, last = lines[: len(lines) - joined - 1], lines[len(lines) - joined - 1 :]
            # What a macro says to the compiler (_Pragma) stands on lines of its own.
            code = " ".join(part for part in last if not part.lstrip().startswith("#"))
            rest = self.pieces.pop() if joined < count and self.pieces else ""
            self.pieces.append(rest + "\n".join([*kept, code]))
            count, self.lines = count - joined, self.lines - joined


def expanded_parts(
    expanded: str, syntax: Syntax, headers: Iterable[Source] = ()
) -> Iterator[UnitPart]:
    """The user's files as the compiler sees them, tied to the text that the user wrote if given."""
    written = {_real(header.path): header for header in headers}
    written[_real(_main_path(expanded, syntax.source.path))] = syntax.source
    for file in _user_files(expanded):
        source = Source(file.path, _plain("".join(file.pieces)))
        if (text := written.get(_real(file.path))) is not None:
            yield UnitPart(parse(source), text, partial(_place, source, text))
        else:
            yield UnitPart(parse(source), source)


def user_headers(expanded: str, path: str) -> dict[str, bool]:
    """The user's headers in the order of their first lines.

    Each with whether it is read before the first line of the source itself, by `-include`.
    """
    main = _real(_main_path(expanded, path))
    found, known = dict[str, bool](), {main}
    is_early = False
    for marker in _markers(expanded):
        real = _real(marker.path)
        if real == main or marker.path == _COMMAND_LINE:
            is_early = marker.path == _COMMAND_LINE
        if marker.enters and marker.is_users and real not in known:
            found[marker.path] = is_early
            known.add(real)
    return found


def other_paths(expanded: str, path: str) -> tuple[tuple[str, str], ...]:
    """Further paths by which the compiler finds a header, each with that of its name."""
    headers = {_real(header): header for header in user_headers(expanded, path)}
    entered = dict.fromkeys(one.path for one in _markers(expanded) if one.enters and one.is_users)
    known = ((other, headers.get(_real(other), other)) for other in entered)
    return tuple((other, header) for other, header in known if other != header)


def with_compiled_branches(syntax: Syntax, expanded: str | None) -> Syntax:
    """The syntax with the brackets that the compiler sees, where branches of `#if` differ."""
    if expanded is None or not syntax.brackets.is_uneven or renumbers(syntax.source.text):
        return syntax
    real, compiled = _real(syntax.source.path), set[int]()
    for marker in _markers(expanded):
        if _real(marker.path) == real:
            lines = expanded[marker.begin : marker.end].split("\n")
            compiled.update(n for n, line in enumerate(lines, marker.line) if line.strip())
    return parse(syntax.source, compiled)


def early_macros(text: str) -> dict[str, str]:
    """Macros of options and of the user's headers in a text with all definitions (`-dD`).

    Each with what stands behind its name.
    """
    found: dict[str, str] = {}
    for marker in _markers(text):
        if marker.is_users or marker.path == _COMMAND_LINE:
            found.update(_DEFINED.findall(text, marker.begin, marker.end))
    return found


def _plain(text: str) -> str:
    """Attributes in the spelling of CUDA's programmers, brackets in that of most."""
    plain, _ = spelled_plainly(text)
    return _BOUNDS.sub(r"__\1__ ((", _ATTRIBUTE.sub(r"__\1__", plain))


def _user_files(expanded: str) -> Iterator[_File]:
    open_files: dict[str, _File] = {}
    users, entered = set[str](), set[str]()
    for marker in _markers(expanded):
        real, text = _real(marker.path), expanded[marker.begin : marker.end]
        users |= {real} if marker.is_users else set()
        entered |= {real} if marker.enters else set()
        # Perhaps an included file ends before it.
        if real not in users or not (text.strip() or marker.returns):
            continue
        file = open_files.setdefault(real, _File(marker.path))
        is_again = real in entered and bool(file.pieces)
        entered.discard(real)
        if is_again or marker.line < file.last:
            # Included once more, perhaps with other macros: a part of its own.
            yield file
            file = open_files[real] = _File(file.path)
        file.add(marker, text)
    yield from open_files.values()


class _Marker(NamedTuple):
    """A line marker, and where the text lies that it speaks of."""

    path: str
    line: int
    flags: list[str]
    is_users: bool
    begin: int
    end: int

    @property
    def enters(self) -> bool:
        """Does a file begin there?"""
        return _ENTERS in self.flags

    @property
    def returns(self) -> bool:
        """Does an included file end there?"""
        return _RETURNS in self.flags


@lru_cache(maxsize=2)
def _markers(text: str) -> Sequence[_Marker]:
    found, markers = list(_MARKER.finditer(text)), []
    toolkits = _toolkit_directories(dict.fromkeys(unescaped(match[2]) for match in found))
    for match, following in zip_longest(found, found[1:]):
        path, flags = unescaped(match[2]), match[3].split()
        is_system = _SYSTEM in flags or path.startswith("<") or _is_below(path, toolkits)
        end = following.start() if following is not None else len(text)
        markers.append(_Marker(path, int(match[1]), flags, not is_system, match.end(), end))
    if _are_packages_users(text, markers):
        return markers
    return [one._replace(is_users=one.is_users and not _is_in_package(one.path)) for one in markers]


def _are_packages_users(text: str, markers: Sequence[_Marker]) -> bool:
    """Are the headers of packages the user's?

    So they are for a source of a package, and where one has kernels, or may ask for a column.
    """
    if markers and _is_in_package(markers[0].path):
        return True
    if not any(one.is_users and _is_in_package(one.path) for one in markers):
        return False
    begins = [one.begin for one in markers]
    places = (bisect(begins, found.start()) for found in _OF_USERS.finditer(text))
    seen = (markers[place - 1] for place in places if place)
    return any(one.is_users and _is_in_package(one.path) for one in seen)


def _toolkit_directories(paths: Iterable[str]) -> tuple[str, ...]:
    matches = (next(filter(None, map(pattern.fullmatch, paths)), None) for pattern in _TOOLKITS)
    return tuple(os.path.realpath(match[1]) + os.sep for match in matches if match)


def _real(path: str) -> str:
    """The file that a path leads to; seen from the folder where one is, if it is relative."""
    return _real_from(os.getcwd(), path)


@lru_cache(maxsize=8192)
def _real_from(folder: str, path: str) -> str:
    return path if path.startswith("<") else os.path.realpath(os.path.join(folder, path))


def _is_below(path: str, directories: tuple[str, ...]) -> bool:
    return _real(path).startswith(directories)


@lru_cache(maxsize=4096)
def _is_in_package(path: str) -> bool:
    """Is it part of an installed package of Python? cutune's own headers go with each source."""
    return _PACKAGES.search(path) is not None and not path.startswith(str(INCLUDE_DIRECTORY))


def _main_path(expanded: str, path: str) -> str:
    names = {unescaped(name): None for _, name, _ in _MARKER.findall(expanded)}
    if path in names:
        return path
    same = (n for n in names if _real(n) == _real(path))
    by_name = (n for n in names if os.path.basename(n) == os.path.basename(path))
    first = (n for n in names if not n.startswith("<"))
    return next(same, None) or next(by_name, None) or next(first, path)


def _place(expanded: Source, written: Source, token: Token) -> int:
    line = expanded.location(token.start).line
    if line > written.line_count:
        return 0
    text, name = written.line_text(line), re.escape(token.text)
    is_word = token.text[:1].isalnum() or token.text[:1] == "_"
    match = re.search(rf"(?<!\w){name}(?!\w)" if is_word else name, text)
    return written.line_start(line) + (match.start() if match else len(text) - len(text.lstrip()))
