"""The text of a translation unit, read once. Takes a source, its headers and preprocessed text.

Names are read from the compiler's preprocessed text (`nvcc <flags> -E -Xcompiler -U__CUDA_ARCH__`)
where it is there, else from the source and the given headers. Launches are always those of the text
that the user wrote.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from cutune.core.source import Source
from cutune.source.syntax.parse import Syntax, parse
from cutune.source.unit.kernel_texts import KernelTexts
from cutune.source.unit.macros import MacroTable, Seen, Unsteady
from cutune.source.unit.preprocess import expanded_parts, with_compiled_branches
from cutune.source.unit.unit import Unit, UnitPart

_PRAGMA = re.compile(r"^[ \t]*#[ \t]*pragma[ \t]+(?:cutune|kernel_info_)", re.MULTILINE)


@dataclass(frozen=True)
class UnitTexts:
    """One source with the user's headers that it includes, as written and as compiled.

    Attributes:
        written: the source; behind it those of its headers that hold a launch or a pragma, or all
            of them where there is no preprocessed text.
        headers: all of the user's headers, named as line markers name them.
        early: paths of those that are read before the first line of the source (`-include`).
        expanded: the host pass's text after preprocessing, line markers in it; None: not there.
        marked: see `Unsteady`.
    """

    written: tuple[Syntax, ...]
    headers: tuple[Source, ...]
    early: Container[str]
    expanded: str | None
    marked: Callable[[], Seen | None]

    @staticmethod
    def read(
        syntax: Syntax,
        expanded: str | None = None,
        headers: Iterable[Source] = (),
        early: Container[str] = (),
        marked: Callable[[], Seen | None] = lambda: None,
    ) -> UnitTexts:
        headers = tuple(headers)
        written = (syntax, *_speaking(headers, expanded))
        return UnitTexts(written, headers, early, expanded, marked)

    @property
    def syntax(self) -> Syntax:
        """The source itself."""
        return self.written[0]

    @property
    def late_headers(self) -> list[Syntax]:
        return [file for file in self.written[1:] if file.source.path not in self.early]

    @property
    def early_headers(self) -> list[Syntax]:
        return [file for file in self.written[1:] if file.source.path in self.early]

    @property
    def files(self) -> tuple[Source, ...]:
        return (self.syntax.source, *self.headers)

    @cached_property
    def unit(self) -> Unit:
        """What declarations are read from: the preprocessed text, else that of the user."""
        if self.expanded is None:
            macros = MacroTable.of(macro for one in self.written for macro in one.macros)
            parts = tuple(UnitPart(one, one.source) for one in self.written)
            return Unit(parts, macros, is_expanded=False, unsteady=self.unsteady)
        # Only the launches are left in the text before preprocessing.
        macros = MacroTable.of(self.syntax.macros)
        return Unit(self._parts, macros, is_expanded=True, unsteady=self.unsteady)

    @cached_property
    def unsteady(self) -> Unsteady:
        return Unsteady(self.files, seen_files(self._parts), self.marked)

    @cached_property
    def kernel_texts(self) -> KernelTexts:
        known = {one.source.path: one for one in self.written}
        seen = tuple(part.syntax for part in self._parts)

        def parsed(file: Source) -> Syntax:
            return with_compiled_branches(parse(file), self.expanded)

        return KernelTexts(self.files, known, seen, self.unsteady, parsed)

    @cached_property
    def _parts(self) -> tuple[UnitPart, ...]:
        if self.expanded is None:
            return ()
        headers = (header.source for header in self.written[1:])
        return tuple(expanded_parts(self.expanded, self.syntax, headers))


def seen_files(parts: Iterable[UnitPart]) -> Seen:
    """Parts of preprocessed text, as `Unsteady` takes them."""
    return tuple((part.source, part.syntax) for part in parts)


def _speaking(headers: Iterable[Source], expanded: str | None) -> Iterator[Syntax]:
    """Headers that matter, by path, so that sites have the same ids whoever lists the headers."""
    for header in sorted(headers, key=lambda header: os.path.abspath(header.path)):
        if expanded is None or "<<<" in header.text or _PRAGMA.search(header.text):
            syntax = with_compiled_branches(parse(header), expanded)
            if syntax.brackets.unbalanced is None:
                yield syntax
