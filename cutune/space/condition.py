"""Conditions on parameters and sizes, such as `N >= 2 * m`. Takes text, gives a tree with names."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property

from lark import Tree

from cutune.core.source import Source, Span
from cutune.space.annotation import Expression, names_in, read_condition

#: A value of a parameter: an exact number, or a word.
Value = int | Fraction | str


@dataclass(frozen=True)
class Condition:
    """A condition on the values of a configuration.

    Attributes:
        text: as it was written.
        tree: of the nodes of the annotation language; `negation`, `word`, `//` and `**` besides.
        source, span: where it stands, if it does.
    """

    text: str
    tree: Expression
    source: Source | None = field(default=None, compare=False)
    span: Span | None = field(default=None, compare=False)

    @staticmethod
    def read(text: str, source: Source | None = None, span: Span | None = None) -> Condition:
        """Return a condition of the annotation language. Raises lark.UnexpectedInput."""
        return Condition(text, read_condition(text), source, span)

    @cached_property
    def names(self) -> frozenset[str]:
        """All names in it: parameters, sizes, and words."""
        return names_in(self.tree)

    @property
    def possible_words(self) -> set[str]:
        """Names that are compared with something for equality."""
        return {
            str(side.children[0])
            for comparison in self.tree.find_data("comparison")
            if str(comparison.children[1]) in ("==", "!=")
            for side in map(subtree, comparison.children[::2])
            if side.data == "name"
        }

    def conjuncts(self) -> Iterator[Condition]:
        """The conditions of which all must hold; they may be asked one by one."""
        if self.tree.data != "conjunction":
            yield self
            return
        for child in self.tree.children:
            yield from replace(self, tree=subtree(child)).conjuncts()


def subtree(child: object) -> Expression:
    assert isinstance(child, Tree)
    return child
