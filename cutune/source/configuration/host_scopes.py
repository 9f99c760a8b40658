"""What a function of the host declares. Takes its tokens, gives the variable that a name means."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from cutune.source.configuration.host_statements import CONTROL, NO_TYPE, HostStatements
from cutune.source.syntax.directives import CLOSERS, OPENERS, template_end
from cutune.source.syntax.parse import Range
from cutune.source.syntax.tokens import word_set
from cutune.source.unit.unit import split_commas

#: Operators that change what stands to their left.
ASSIGNMENTS = word_set("= += -= *= /= %= &= |= ^= <<=")
_NOT_PLAIN = frozenset({"*", "&", "&&", "volatile", "static", "extern", "thread_local"})
#: Stands for the value that a caller gives.
PARAMETER = "parameter"


@dataclass(frozen=True)
class HostVariable:
    """A local variable.

    Attributes:
        declared: the token of its name; of a parameter, where the body begins.
        scope: first and last token of where it is visible.
    """

    name: str
    declared: int
    scope: Range
    type: tuple[str, ...]
    #: Tokens of the initialiser, and by which bracket or `=` it begins.
    initialiser: Range | None
    opening: str
    is_plain: bool
    is_constant: bool = False

    @property
    def identity(self) -> str:
        """A name that no other variable of the function has."""
        return f"{self.name}@{self.declared}"


@dataclass(frozen=True)
class HostFunction(HostStatements):
    """The statements, scopes and variables of one function that has a body."""

    #: Variables by name: each is looked up once.
    _variables: dict[str, tuple[HostVariable, ...]] = field(default_factory=dict, kw_only=True)

    def variable(self, name: str, at: int) -> HostVariable | None:
        """The local variable or parameter that a name means at a token."""
        visible = (
            variable
            for variable in self._declared(name)
            if variable.declared < at and variable.scope[0] <= at <= variable.scope[1]
        )
        return max(visible, key=lambda variable: variable.declared, default=None)

    def uses(self, variable: HostVariable) -> Iterator[int]:
        """Occurrences of a variable behind its declaration that mean this variable."""
        declared, last = variable.declared, variable.scope[1]
        inner = [v.scope for v in self._declared(variable.name) if declared < v.declared <= last]
        for index in self.occurrences.get(variable.name, ()):
            is_hidden = any(begin <= index <= end for begin, end in inner)
            if declared < index <= last and not is_hidden:
                yield index

    @cached_property
    def occurrences(self) -> Mapping[str, Sequence[int]]:
        """The places of each name in the body, members of other things left out."""
        table: defaultdict[str, list[int]] = defaultdict(list)
        for (_, before), (index, token) in zip(self.body, self.body[1:], strict=False):
            if token.kind == "IDENTIFIER" and before.text not in (".", "->", "::"):
                table[token.text].append(index)
        return table

    def _declared(self, name: str) -> tuple[HostVariable, ...]:
        if name not in self._variables:
            places = () if name in NO_TYPE else self.occurrences.get(name, ())
            found = [self._parameters.get(name), *(self.declaration(name, i) for i in places)]
            self._variables[name] = tuple(v for v in found if v is not None)
        return self._variables[name]

    @cached_property
    def _parameters(self) -> Mapping[str, HostVariable]:
        body = self.extent
        first, last = self.function.parameters
        found: dict[str, HostVariable] = {}
        for tokens in split_commas(self.syntax.tokens[first + 1 : last]):
            texts = [token.text for token in tokens]
            texts = texts[: texts.index("=")] if "=" in texts else texts
            names = [token.text for token in tokens[: len(texts)] if token.kind == "IDENTIFIER"]
            if len(names) < 2:
                continue
            is_plain = not _NOT_PLAIN & {*texts} and "[" not in texts
            *words, name = names
            type_ = _type_words(words)
            found[name] = HostVariable(name, body[0], body, type_, None, PARAMETER, is_plain)
        return found

    def declaration(self, name: str, index: int) -> HostVariable | None:
        """declaration = type declarator ("," declarator)*; is this name a declarator's?"""
        tokens = self.syntax.tokens
        after = tokens[index + 1].text
        if after not in ("=", ";", ",", "(", "{", "[", ":", ")", "]"):
            return None
        before = tokens[index - 1]
        inner = self._inner_scope(index)
        if inner is not None:
            return HostVariable(name, index, inner, (), None, "", False)
        is_after_type = before.kind == "IDENTIFIER" and before.text not in NO_TYPE
        if not is_after_type and before.text not in ("*", "&", "&&", ">", ","):
            return None
        start = self.statement_start(index)
        first, scope = self._first_declarator(start, index), self._scope(index)
        if first is None or scope is None:
            return None
        words = [token.text for token in tokens[start:first]]
        initialiser, opening = self._initialiser(index)
        between = [before.text] if index != first else words
        is_plain = (
            not _NOT_PLAIN & {*between, *words}
            and after not in ("[", ":", ")")
            and (opening == "" or initialiser is not None)
        )
        type_ = _type_words(words)
        is_constant = initialiser is not None and not {"const", "constexpr"}.isdisjoint(words)
        return HostVariable(name, index, scope, type_, initialiser, opening, is_plain, is_constant)

    def _first_declarator(self, start: int, index: int) -> int | None:
        """The first declarator's name in the statement, if it is a declaration that `index` is in.

        type = (NAME | "::" | "<" … ">" | "*" | "&")+.
        """
        tokens = self.syntax.tokens
        if tokens[start].kind != "IDENTIFIER" or tokens[start].text in NO_TYPE:
            return None
        place, last, count = start, -1, 0
        while place <= index:
            token = tokens[place]
            if token.text == "<":
                place = self._template_end(place, index)
                if place < 0:
                    return None
            elif token.kind == "IDENTIFIER":
                # Two words in a row, or a word behind `*`, `&` or `>`, name what is declared.
                count += tokens[place - 1].text != "::" or place == start
                last = place
            elif token.text not in ("::", "*", "&", "&&"):
                break
            place += 1
        if count < 2:
            return None
        if last == index:
            return last
        # A further declarator: behind a comma of this statement.
        if self.syntax.innermost(index) != self.syntax.innermost(last + 1):
            return None
        before = index - 1
        while tokens[before].text in ("*", "&"):
            before -= 1
        return last if tokens[before].text == "," else None

    def _initialiser(self, index: int) -> tuple[Range | None, str]:
        """("=" expression | "(" … ")" | "{" … "}") behind a declarator."""
        tokens, partner = self.syntax.tokens, self.syntax.brackets.partner
        opening = tokens[index + 1].text
        if opening in ("(", "{"):
            closer = partner[index + 1]
            return ((index + 2, closer - 1) if closer > 0 else None), opening
        if opening != "=":
            return None, ""
        place = first = index + 2
        while place < len(tokens):
            text = tokens[place].text
            if text in OPENERS:
                if partner[place] < 0:
                    return None, opening
                place = partner[place]
            elif text in (",", ";"):
                return (first, place - 1), opening
            elif text in CLOSERS or text in ASSIGNMENTS:
                return None, opening
            elif text == "<" and (end := self._template_end(place, place + 40)) > 0:
                following = tokens[end + 1].text
                place = end if following in ("(", "{", "::") else place
            place += 1
        return None, opening

    def _template_end(self, opener: int, stop: int) -> int:
        stops = (";", "(", ")", "{", "}", "&&", "||")
        return template_end(self.syntax.tokens, range(opener, stop), stops)

    def _inner_scope(self, index: int) -> Range | None:
        """The scope of parameters of lambdas and local classes, and of names in `auto [a, b]`."""
        tokens, partner = self.syntax.tokens, self.syntax.brackets.partner
        around = self.syntax.innermost(index)
        if around < 0 or partner[around] < 0:
            return None
        if tokens[around].text == "[" and tokens[around - 1].text in ("auto", "&", "&&"):
            block = self.syntax.innermost(around)
            return (index, partner[block]) if block >= 0 and partner[block] > 0 else None
        head = tokens[around - 1].text
        before = tokens[index - 1]
        is_typed = before.kind == "IDENTIFIER" or before.text in ("*", "&", "&&", ">")
        is_control = head in CONTROL and head != "catch"
        if tokens[around].text != "(" or is_control or not is_typed:
            return None
        place = partner[around] + 1
        while place < partner[around] + 20 and (
            tokens[place].kind == "IDENTIFIER" or tokens[place].text in ("->", "::", "*", "&")
        ):
            place += 1
        is_body = tokens[place].text == "{" and partner[place] >= 0
        return (index, partner[place]) if is_body else None

    def _scope(self, index: int) -> Range | None:
        tokens, partner = self.syntax.tokens, self.syntax.brackets.partner
        around = self.syntax.innermost(index)
        if around < 0:
            return None
        if tokens[around].text == "{":
            return (index, partner[around]) if partner[around] > 0 else None
        head = tokens[around - 1].text
        if tokens[around].text == "(" and head in ("for", "if", "while", "switch"):
            # In the head of a statement; `if (int n = …)` is visible in the `else`, too.
            return (index, self.statement_end(around - 1))
        return None


def _type_words(words: Sequence[str]) -> tuple[str, ...]:
    return tuple(word for word in words if word not in ("const", "constexpr", "std", "::"))
