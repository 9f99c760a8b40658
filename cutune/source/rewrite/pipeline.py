"""Passes and what runs them. Takes a translation unit and passes, gives a translation unit.

A pass returns edits or diagnostics: it never mutates, never prints. All edits refer to the original
text and are made once, by `TranslationUnit.rewritten`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import ClassVar

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, Diagnostic
from cutune.core.progress import Reporter
from cutune.core.source import Edit, EditConflict, Source, apply_edits
from cutune.source.program import Program
from cutune.source.rewrite.c_text import guarded, prelude_edit


@dataclass(frozen=True)
class OwnedEdit:
    """An edit of the pass called `owner` in the file at `path`."""

    owner: str
    edit: Edit
    path: str


@dataclass(frozen=True)
class TranslationUnit:
    """A program on its way through the passes; `owner`: the pass that it goes through."""

    program: Program
    owner: str = ""
    edits: tuple[OwnedEdit, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    #: What stands before line 1 of the source; empty where no pass wants anything there.
    prelude: str = ""

    @property
    def failed(self) -> bool:
        return any(diagnostic.is_error for diagnostic in self.diagnostics)

    def with_edits(self, edits: Iterable[Edit], source: Source | None = None) -> TranslationUnit:
        """This unit with further edits of the source, or of one of its headers."""
        path = (source or self.program.source).path
        added = tuple(OwnedEdit(self.owner, edit, path) for edit in edits)
        return replace(self, edits=self.edits + added)

    def with_numbered_edits(self, edits: Iterable[Edit], source: Source) -> TranslationUnit:
        """This unit with further edits; in a header nvcc goes on naming the user's file."""
        is_header = source is not self.program.source
        return self.with_edits([*([prelude_edit(source, "")] if is_header else []), *edits], source)

    def with_diagnostics(self, diagnostics: Iterable[Diagnostic]) -> TranslationUnit:
        return replace(self, diagnostics=self.diagnostics + tuple(diagnostics))

    def with_prelude(self, text: str) -> TranslationUnit:
        """This unit with further text before line 1 of the source, behind earlier passes'."""
        return replace(self, prelude=self.prelude + text)

    def rewritten(self) -> Source:
        """The source with all edits made. Raises CT301 when two passes want the same place."""
        return self._edited(self.program.source)

    def rewritten_headers(self) -> tuple[Source, ...]:
        """The user's headers, those without an edit too; raises as `rewritten`."""
        return tuple(map(self._edited, self.program.headers))

    def _edited(self, source: Source) -> Source:
        own = [owned for owned in self.edits if owned.path == source.path]
        edits = [owned.edit for owned in own]
        if self.prelude and source is self.program.source:
            edits.append(prelude_edit(source, guarded(self.prelude, self.program.defined)))
        try:
            return apply_edits(source, edits)
        except EditConflict as error:
            owners = {owned.edit: owned.owner for owned in own}
            first, second = (owners.get(one, "prelude") for one in (error.first, error.second))
            names = {"first": first, "second": second}
            raise CutuneError.at(Code.EDIT_CONFLICT, source, error.second.span, **names) from error


@dataclass(frozen=True)
class Pass(ABC):
    """A named step from translation unit to translation unit. Its fields are its options."""

    name: ClassVar[str]

    @abstractmethod
    def run(self, unit: TranslationUnit) -> TranslationUnit:
        """Return the unit with this pass's edits or messages added."""


def run_passes(
    passes: Iterable[Pass],
    unit: TranslationUnit,
    after: Callable[[Pass, TranslationUnit], None] | None = None,
) -> TranslationUnit:
    """Run passes in order; stop at the first that fails. `after` sees the unit behind each."""
    for step in passes:
        if unit.failed:
            break
        unit = step.run(replace(unit, owner=step.name))
        if after is not None:
            after(step, unit)
    return unit


def rewrite(
    program: Program,
    passes: Iterable[Pass],
    reporter: Reporter,
    after: Callable[[Pass, TranslationUnit], None] | None = None,
) -> TranslationUnit:
    """Run passes over a program, and show their messages. Raises the first error of a pass."""
    unit = run_passes(passes, TranslationUnit(program), after)
    reporter.report(unit.diagnostics)
    return unit
