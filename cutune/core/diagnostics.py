"""Diagnostics in compiler form: one table of codes, data instead of exceptions.

Takes a code, a place and values; gives `file:line:col: error: … [CT201]` with the line and a caret.
CT0xx files and options, 1xx syntax, 2xx program, 3xx passes and edits, 4xx measuring and
emulation, 5xx fitting, 6xx emitting, 7xx nvcc wrapper, 8xx parameters and trials. A released code
keeps its meaning.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

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

    @property
    def is_error(self) -> bool:
        return self.code.severity == ERROR

    def render(self, is_coloured: bool = False) -> str:
        """Return the message as GCC and clang print it; line and carets show a known place."""
        # Quoted output of another program stands on further lines, after the code.
        head, *quoted = self.message.splitlines() or [""]
        severity = f"{self.code.severity}:"
        if is_coloured:
            severity = f"{COLOURS[self.code.severity]}{severity}{PLAIN}"
        text = "\n".join([f"{severity} {head} [{self.code.number}]", *quoted])
        if self.source is None:
            text = f"cutune: {text}"
        elif self.span is None:
            text = f"{self.source.path}: {text}"
        else:
            text = f"{self.source.location(self.span.start)}: {text}\n{self._excerpt()}"
        return "\n".join([text, *(note.render(is_coloured) for note in self.notes)])

    def _excerpt(self) -> str:
        assert self.source is not None and self.span is not None
        place = self.source.location(self.span.start)
        line = self.source.line_text(place.line)
        start, mark = place.column - 1, ""
        if start > LONGEST_LINE - AFTER_PLACE:
            first = start - LONGEST_LINE // 2
            # A character of several bytes is not split.
            whole = (i for i, c in enumerate(line[first:]) if not "\x80" <= c < "\xc0")
            first += next(whole, 0)
            line, mark = line[first:], CUT
            start -= first
        line = mark + line[:LONGEST_LINE]
        start += len(mark)
        # Columns count bytes, carets characters.
        before = shown(line[:start])
        width = max(1, len(shown(line[start : start + self.span.end - self.span.start])))
        # Tabs stay tabs, so that the caret stands below its character in any terminal.
        indent = "".join("\t" if c == "\t" else " " for c in before)
        return f"{place.line:5d} | {shown(line)}\n      | {indent}^{'~' * (width - 1)}"


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
