"""Text of kernels that may be repeated. Takes the user's files, gives definitions in them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from cutune.core.source import Source
from cutune.source.syntax.directives import renumbers
from cutune.source.syntax.functions import SourceFunction
from cutune.source.syntax.parse import Syntax, parse
from cutune.source.unit.macros import Unsteady
from cutune.source.unit.pointer_numbers import PointerNumbers

#: Macros that are put away, directives that change nothing.
_STATEFUL = re.compile(r"\b(?:push|pop)_macro\b")
_UNROLL = re.compile(r"[ \t]*#[ \t]*pragma[ \t]+(?:no)?unroll\b")
_CONDITIONS = frozenset({"if", "ifdef", "ifndef", "elif", "else", "endif"})


@dataclass(frozen=True)
class KernelTexts:
    """The user's files, each read once whatever is looked for. `parsed`: by path, if it was.

    `expanded`: the same as the compiler sees them, where it was asked.
    """

    files: tuple[Source, ...]
    parsed: dict[str, Syntax] = field(default_factory=dict)
    expanded: tuple[Syntax, ...] = ()
    unsteady: Unsteady | None = None

    def definitions(self, name: str) -> Iterator[tuple[Syntax, SourceFunction]]:
        """Where kernels of a name are defined."""
        for file in self.files:
            if "__global__" not in file.text or name not in file.text:
                continue
            syntax = self._syntax(file)
            yield from ((syntax, one) for one in syntax.kernels if one.name == name)

    def _syntax(self, file: Source) -> Syntax:
        if file.path not in self.parsed:
            self.parsed[file.path] = parse(file)
        return self.parsed[file.path]

    @cached_property
    def pointer_numbers(self) -> PointerNumbers:
        """Finds device code of the files that makes numbers of pointers."""
        return PointerNumbers([self._syntax(file) for file in self.files], self.expanded)

    def may_be_repeated(self, syntax: Syntax, function: SourceFunction) -> bool:
        """May its text be repeated, without changing the meaning of what follows?"""
        assert function.body is not None, "kernels of a syntax are defined"
        first, last = function.first, function.body[1]
        if self._is_stateful or renumbers(syntax.source.text):
            return False
        directives = syntax.directives_within(first, last)
        if not all(d.name in _CONDITIONS or _UNROLL.match(d.token.text) for d in directives):
            return False
        named = {token.text for token in syntax.tokens[function.body[0] : last]}
        if function.name in named or _is_argument(syntax, first):
            return False
        return (self.unsteady or Unsteady(self.files)).counted(syntax, (first, last)) is None

    @cached_property
    def _is_stateful(self) -> bool:
        return any(_STATEFUL.search(file.text) for file in self.files)


def _is_argument(syntax: Syntax, index: int) -> bool:
    """Does a token stand in parentheses, as text does that a macro is given?"""
    place = syntax.innermost(index)
    return place >= 0 and syntax.tokens[place].text == "("
