"""Diagnostics in compiler form: one table of codes, data instead of exceptions.

Takes a code, a place and values; gives `file:line:col: error: … [CT201]` with the line and a caret.
CT0xx files and options, 1xx syntax, 2xx program, 3xx passes and edits, 4xx measuring and
emulation, 5xx fitting, 6xx emitting, 7xx nvcc wrapper, 8xx parameters and trials. A released code
keeps its meaning.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, TextIO

from cutune.core.codes import ERROR, NOTE, WARNING, Code

if TYPE_CHECKING:
    from cutune.core.source import Source, Span

#: Longer source lines are cut when they are shown.
LONGEST_LINE = 160
#: At least this much is shown after the place; a cut before it is marked.
AFTER_PLACE, CUT = 20, "... "
#: Of a terminal, as GCC has them.
COLOURS = {ERROR: "\033[1;31m", WARNING: "\033[1;35m", NOTE: "\033[1;36m"}
PLAIN = "\033[0m"
#: A terminal that is narrower has its lines wrapped as if it had so many columns.
NARROWEST = 40
#: Stands before the further lines of a message on a terminal.
INDENT = "    "
#: No line is broken in these: a command or an option that is to be copied, what is quoted, a word.
_WHOLE = re.compile(
    r"""(?<=:\ )(?:cutune\ |cd\ |pip\ |make\ |--[\w-]+\ (?:'|\w+=)).+?(?=[;,)]?\ \[CT|[;,)]\ |$)\S*
      | (?<!\w)'[^']*'[^\w\s]* (?!\S)
      | \S+""",
    re.VERBOSE,
)
#: So much of two names is the same where one may be meant by the other.
ALIKE = 0.7


@dataclass(frozen=True)
class Diagnostic:
    """One message at one place; without a place it concerns the whole run."""

    code: Code
    message: str
    source: Source | None = None
    span: Span | None = None
    notes: tuple[Diagnostic, ...] = ()
    #: The kernel that it speaks of, if it names one.
    about: str = field(default="", compare=False)

    @staticmethod
    def at(
        code: Code,
        source: Source | None = None,
        span: Span | None = None,
        *,
        notes: tuple[Diagnostic, ...] = (),
        **values: object,
    ) -> Diagnostic:
        """Fill the template of `code` with `values`."""
        about = str(values.get("kernel", ""))
        return Diagnostic(code, code.template.format(**values), source, span, notes, about)

    @staticmethod
    def with_notes_once(diagnostics: Iterable[Diagnostic]) -> Iterator[Diagnostic]:
        """Yield the messages; a note that several of them have is left with the first."""
        shown: set[Diagnostic] = set()
        for diagnostic in diagnostics:
            notes = tuple(note for note in diagnostic.notes if note not in shown)
            shown.update(notes)
            yield replace(diagnostic, notes=notes)

    def seen_from(self, here: str, folder: str) -> Diagnostic:
        """The message of what was read in a folder, its files named as from another one."""
        notes = tuple(note.seen_from(here, folder) for note in self.notes)
        if self.source is None:
            return replace(self, notes=notes)
        path = path_from(here, folder, self.source.path)
        return replace(self, source=replace(self.source, path=path), notes=notes)

    @property
    def is_error(self) -> bool:
        return self.code.severity == ERROR

    def render(self, is_coloured: bool = False, columns: int | None = None) -> str:
        """Return the message as GCC and clang print it; line and carets show a known place.

        `columns` are those of a terminal, within which its own text stays.
        """
        # Quoted output of another program stands on further lines, after the code.
        head, *quoted = self.message.splitlines() or [""]
        place = "cutune" if self.source is None else self.source.path
        if self.source is not None and self.span is not None:
            place = str(self.source.location(self.span.start))
        severity = f"{self.code.severity}:"
        text = wrapped(f"{place}: {severity} {head} [{self.code.number}]", columns)
        if is_coloured:
            text = text.replace(severity, f"{COLOURS[self.code.severity]}{severity}{PLAIN}", 1)
        lines = [text, *quoted]
        if self.span is not None:
            lines.append(self._excerpt(LONGEST_LINE if columns is None else columns - 8))
        return "\n".join([*lines, *(note.render(is_coloured, columns) for note in self.notes)])

    def _excerpt(self, longest: int) -> str:
        assert self.source is not None and self.span is not None
        place = self.source.location(self.span.start)
        line, start = _cut(self.source.line_text(place.line), place.column - 1, longest)
        # Columns count bytes, carets characters.
        before = shown(line[:start])
        width = max(1, len(shown(line[start : start + self.span.end - self.span.start])))
        # Tabs stay tabs, so that the caret stands below its character in any terminal.
        indent = "".join("\t" if c == "\t" else " " for c in before)
        return f"{place.line:5d} | {shown(line)}\n      | {indent}^{'~' * (width - 1)}"


def path_from(here: str, folder: str, path: str) -> str:
    """Return a path that was written in a folder as one would write it in another, `here`."""
    if os.path.isabs(path) or os.path.realpath(folder) == os.path.realpath(here):
        return path
    return os.path.relpath(os.path.join(folder, path), here)


def _cut(line: str, start: int, longest: int) -> tuple[str, int]:
    """Return the part of a long line around a place, and the place in that part."""
    if start <= longest - AFTER_PLACE:
        return line[:longest], start
    first = start - longest // 2
    # A character of several bytes is not split.
    whole = (i for i, c in enumerate(line[first:]) if not "\x80" <= c < "\xc0")
    first += next(whole, 0)
    return CUT + line[first : first + longest - len(CUT)], start - first + len(CUT)


def wrapped(text: str, columns: int | None) -> str:
    """Return a line as lines of so many columns; None: as it is.

    What is to be copied stays whole: where a command is longer than a line, the terminal breaks it.
    """
    if columns is None or len(text) <= columns:
        return text
    lines = [""]
    for piece in _WHOLE.findall(text):
        longer = f"{lines[-1]} {piece}" if lines[-1].strip() else lines[-1] + piece
        if len(longer) <= columns or not lines[-1].strip():
            lines[-1] = longer
        else:
            lines.append(INDENT + piece)
    return "\n".join(lines)


def columns_of(stream: TextIO) -> int | None:
    """Return how wide a terminal is; None where the stream is none."""
    try:
        wide = os.get_terminal_size(stream.fileno()).columns if stream.isatty() else 0
    except (OSError, ValueError):
        wide = 0
    return max(wide, NARROWEST) if wide else None


def tell(diagnostic: Diagnostic) -> None:
    """Print a message to standard error; a terminal has colours, and lines of its width."""
    wants_none = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    is_coloured = sys.stderr.isatty() and not wants_none
    print(diagnostic.render(is_coloured, columns_of(sys.stderr)), file=sys.stderr, flush=True)


def known_names(name: str, known: Iterable[str]) -> str:
    """List the names that there are, and which of them an unknown name may stand for."""
    names = list(dict.fromkeys(known))
    return f"{', '.join(names) or 'none'}{meant(name, names)}"


def meant(name: str, known: Iterable[str]) -> str:
    """Return `; did you mean 'gemm'?` where a name is close to what was written."""
    by_lower = {one.lower(): one for one in known}
    close = get_close_matches(name.lower(), by_lower, 1, ALIKE)
    return f"; did you mean '{by_lower[close[0]]}'?" if close else ""


#: Says something to the user, and goes on.
Warn = Callable[[Diagnostic], None]


def shown(text: str) -> str:
    """Return readable text of bytes decoded as latin-1: sources, nvcc's output."""
    return text.encode("latin-1", "replace").decode("utf-8", "replace")


class ToldAlready(Exception):
    """The command ends; a process that it has started has said why."""


class CutuneError(Exception):
    """A stage cannot produce its value. Caught only in `cli.main`."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(diagnostic.message)
        self.diagnostic = diagnostic

    @staticmethod
    def at(
        code: Code, source: Source | None = None, span: Span | None = None, **values: Any
    ) -> CutuneError:
        """The error of one message, as `Diagnostic.at` makes it; most concern the whole run."""
        return CutuneError(Diagnostic.at(code, source, span, **values))
