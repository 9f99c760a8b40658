"""Columns that a program may see. Takes a unit and launches, gives the name that may see one.

The compiler writes a rewritten launch as longer text, and what begins on its line, or goes on
behind it, stands in other columns. A column is given to a parameter by default, or to a member: so
the names of functions and classes tell whether a line may see one, if all are found whose
declarations lead to one.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, takewhile

from cutune.source.syntax.directives import behind_template
from cutune.source.syntax.parse import Launch, Syntax
from cutune.source.syntax.tokens import Token, begin_of, word_set
from cutune.source.unit.unit import Unit

_WORDS = word_set("source_location __builtin_COLUMN __builtin_source_location")
_CLASSES = word_set("struct class union")
_ENDS = frozenset({";", "{", "}"})
#: In place of the name of an operator that has parameters: `(` may call it anywhere.
_OPERATOR = "("
#: What stands behind a type, and what it is of: a value, parameters, a launch.
_TYPE_ENDS = _ENDS | {"=", "(", ")", "<<<"}
_PARAMETER_ENDS = _TYPE_ENDS | {",", ":"}


@dataclass(frozen=True)
class LaunchColumns:
    """What launches of one unit move to other columns, and what may see that."""

    unit: Unit

    @cached_property
    def names(self) -> frozenset[str]:
        """The words that give a column, and what is declared with one of them."""
        found, count = set(_WORDS), 0
        syntaxes = [part.syntax for part in self.unit.parts]
        if not any(token.text in _WORDS for one in syntaxes for token in one.tokens):
            return frozenset()
        while count < len(found):
            count = len(found)
            found.update(*(_declared_with(one, found) for one in syntaxes))
        return frozenset(found)

    @cached_property
    def objects(self) -> frozenset[str]:
        """What has such a type, or returns it: something may be converted to it."""
        return frozenset(
            name
            for syntax in (part.syntax for part in self.unit.parts)
            for index in self._mentioned(syntax, range(len(syntax.tokens)))
            if not _stands_in("(", syntax, index)  # no parameter of a function
            for name in _objects_of(syntax, index)
        )

    def _mentioned(self, syntax: Syntax, where: range) -> Iterator[int]:
        """Where there is one of the names."""
        tokens = syntax.tokens
        return (i for i in where if tokens[i].kind == "IDENTIFIER" and tokens[i].text in self.names)

    def seen(self, syntax: Syntax, launch: Launch, types: Sequence[str]) -> str | None:
        """Name what may see a column that this launch moves. `types`: of the kernel's parameters.

        An argument is perhaps converted by a constructor.
        """
        if not self.names:
            return None
        converted = (word for words in types for word in words.split())
        moved = [token.text for token in _moved(syntax, launch)]
        known = self.names | self.objects
        for where in _heads(syntax, launch.callee[0]):
            for index in self._mentioned(syntax, where):
                if not _stands_in("", syntax, index):
                    known |= {*_objects_of(syntax, index)}
            if "return" in moved:  # what is converted to the type of the result
                moved += (syntax.tokens[index].text for index in where)
        word = next((word for word in (*moved, *converted) if word in known), None)
        return "operator" if word == _OPERATOR else word


def _stands_in(bracket: str, syntax: Syntax, index: int) -> bool:
    """Does a token outside of functions stand in such a bracket, or, without one, in none?"""
    opener = syntax.innermost(index)
    around = syntax.tokens[opener].text if opener >= 0 else ""
    return around == bracket and not syntax.functions_around(index)


def _objects_of(syntax: Syntax, index: int) -> Iterator[str]:
    """Names that are declared with the class that a token names."""
    opener = syntax.innermost(index)
    is_parameter = opener >= 0 and syntax.tokens[opener].text == "("
    ends = _PARAMETER_ENDS if is_parameter else _TYPE_ENDS
    return _identifiers(_until(syntax.tokens, index + 1, ends))


def _declared_with(syntax: Syntax, names: set[str]) -> Iterator[str]:
    """Names of types, functions and classes in whose declarations there is one of these."""
    tokens = syntax.tokens
    for index, token in enumerate(tokens):
        if token.text not in names:
            continue
        begin = begin_of(tokens, index, _ENDS)
        declared = _without_parameters(tokens[begin:index])
        head = [one.text for one in declared]
        if "using" in head or "typedef" in head:
            # `using Name = …`, `typedef … Name`
            yield from _identifiers(tokens[begin:index])
            yield from _identifiers(_until(tokens, index, _ENDS))
        elif not _CLASSES.isdisjoint(head):
            yield from _class_names(declared)
        elif head[-1:] == ["="] and "auto" in head:
            yield from _identifiers(tokens[index - 2 : index])
        yield from _around(syntax, index)


def _heads(syntax: Syntax, index: int) -> Iterator[range]:
    """What stands in front of the braces around a token."""
    for brace in syntax.around(index):
        if syntax.tokens[brace].text == "{":
            yield range(begin_of(syntax.tokens, brace, _ENDS), brace)


def _until(tokens: Sequence[Token], index: int, ends: Container[str]) -> Iterator[Token]:
    return takewhile(lambda token: token.text not in ends, islice(tokens, index, None))


def _without_parameters(head: Sequence[Token]) -> Sequence[Token]:
    """A declaration without its `template <class T>`; all of it where that does not end."""
    end = behind_template([token.text for token in head])
    return _without_parameters(head[end:]) if end else head


def _around(syntax: Syntax, index: int) -> Iterator[str]:
    """The functions and classes in whose declarations a token stands; not in their bodies."""
    tokens = syntax.tokens
    for opener in syntax.around(index):
        if tokens[opener].text == "{":
            head = _without_parameters(tokens[begin_of(tokens, opener, _ENDS) : opener])
            if _CLASSES.isdisjoint(token.text for token in head):
                return
            yield from _class_names(head)
        elif tokens[opener].text == "(":
            # One in a function is a call, unless it has a default.
            has_default = any(token.text == "=" for token in tokens[opener:index])
            if has_default or not syntax.functions_around(opener):
                yield _name_before(tokens, opener)


def _name_before(tokens: Sequence[Token], opener: int) -> str:
    """What a list of parameters belongs to; one of an operator may stand anywhere."""
    if tokens[opener - 1].kind == "IDENTIFIER":
        return tokens[opener - 1].text
    head = [token.text for token in tokens[begin_of(tokens, opener, _ENDS) : opener]]
    if "=" in head and tokens[opener - 1].text == "]":
        return head[head.index("=") - 1]
    return _OPERATOR


def _class_names(head: Sequence[Token]) -> Iterator[str]:
    last = max(i for i, token in enumerate(head) if token.text in _CLASSES)
    return _identifiers(_until(head, last + 1, (":", "<")))


def _identifiers(tokens: Iterable[Token]) -> Iterator[str]:
    return (token.text for token in tokens if token.kind == "IDENTIFIER")


def _moved(syntax: Syntax, launch: Launch) -> Iterator[Token]:
    """What stands on the lines of a launch, and behind brackets that hold it."""
    first, last = launch.callee[0], launch.end
    yield from _on_lines(syntax, first, last)
    body = launch.function.body if launch.function is not None else None
    for opener in syntax.around(first):
        if body is None or opener <= body[0]:
            return
        closer = syntax.brackets.partner[opener]
        yield from _on_lines(syntax, closer, closer)
        after = syntax.tokens[closer + 1]
        if syntax.tokens[opener].text != "{" or after.kind != "IDENTIFIER" or after.text == "while":
            yield from (syntax.tokens[closer], *_until(syntax.tokens, closer + 1, _ENDS))


def _on_lines(syntax: Syntax, first: int, last: int) -> Iterator[Token]:
    line = syntax.source.location
    lines = line(syntax.tokens[first].start).line, line(syntax.tokens[last].start).line
    while first > 0 and line(syntax.tokens[first - 1].start).line >= lines[0]:
        first -= 1
    for token in syntax.tokens[first:]:
        if line(token.start).line > lines[1]:
            return
        yield token
