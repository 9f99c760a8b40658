"""Members of class templates by which launches are configured. Takes a unit, gives formulas.

    template <int LANES, int SYSTEMS> struct Batch {
        static constexpr int lanes = LANES;
        static dim3 grid(int count) { return dim3((count + SYSTEMS - 1) / SYSTEMS); }
    };
    using Config = Batch<16, 8>;
    solve<Config><<<Config::grid(count), Config::lanes>>>(…);

`Config::lanes` is 16, an argument of the template; `Config::grid(n)` is what its only statement
returns. An alias, or a class, that is defined in two ways tells nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import takewhile
from typing import TypeVar

from cutune.source.host_formula import (
    Formula,
    HostOperation,
    Name,
    SizeOfType,
    constant,
    formula_of,
    rebuilt,
)
from cutune.source.syntax.directives import OPENERS, template_end
from cutune.source.syntax.parse import Syntax
from cutune.source.syntax.tokens import Token
from cutune.source.unit.unit import (
    Unit,
    split_commas,
    template_parameters,
    until_semicolon,
    using_alias,
)

_DEEPEST = 8
_ARGUMENT = "argument "
#: Tokens before a class among which the head of its template begins.
_LONGEST_HEAD = 100
_STOPS = (";", "{", "}")


@dataclass(frozen=True)
class _ClassText:
    """A class template: its parameters, its constants, and functions of one `return`, as words."""

    parameters: tuple[str, ...]
    constants: Mapping[str, Sequence[Token]]
    functions: Mapping[str, tuple[tuple[str, ...], Sequence[Token]]]


def template_argument(key: str | None) -> tuple[int, str] | None:
    """Which argument of which class, as the host names it, a name with this key stands for."""
    if key is None or not key.startswith(_ARGUMENT):
        return None
    place, _, written = key.removeprefix(_ARGUMENT).partition(" of ")
    return int(place), written


@dataclass(frozen=True)
class ClassMembers:
    """The members of class templates of a unit, by the aliases of their instances."""

    unit: Unit

    def formula(
        self, name: str, arguments: Sequence[Formula] | None, size_of: SizeOfType
    ) -> Formula | None:
        """Return what `Config::lanes` is, or what `Config::grid(…)` returns; None: not known.

        Names of the arguments stay as they are; template arguments are names that have a value.
        """
        written, _, member = name.rpartition("::")
        known = self._instances.get(written)
        if known is None:
            return None
        of_class, values = known
        bound = dict[str, Formula]()
        for place, (parameter, words) in enumerate(zip(of_class.parameters, values, strict=True)):
            value = formula_of(words, size_of)
            if constant(value) is not None:
                # A sum, because this name is none that the text of the host may have.
                same = HostOperation("+", (value,))
                key = f"{_ARGUMENT}{place} of {written}"
                bound[parameter] = Name(f"{written}::{parameter}", key, same)
        if arguments is None:
            words_of = of_class.constants.get(member)
            return None if words_of is None else _Bound(of_class, bound, size_of).read(words_of)
        function = of_class.functions.get(member)
        if function is None or len(function[0]) != len(arguments):
            return None
        bound |= zip(function[0], arguments, strict=True)
        return _Bound(of_class, bound, size_of).read(function[1])

    @cached_property
    def _instances(self) -> Mapping[str, tuple[_ClassText, Sequence[Sequence[Token]]]]:
        """The class and the template arguments that each alias stands for."""
        classes = _certain(pair for part in self.unit.parts for pair in _classes(part.syntax))
        found = {}
        for alias, words in _certain(
            pair for part in self.unit.parts for pair in _aliases(part.syntax)
        ).items():
            texts = [token.text for token in words]
            opener = texts.index("<") if "<" in texts and texts[-1] == ">" else 0
            of_class = classes.get(texts[opener - 1]) if opener > 0 else None
            values = [*split_commas(words[opener + 1 : -1])]
            if of_class is not None and len(values) == len(of_class.parameters):
                found[alias] = (of_class, values)
        return found


@dataclass(frozen=True)
class _Bound:
    """Reads words of a class whose template parameters, and parameters of a function, are known."""

    of_class: _ClassText
    bound: Mapping[str, Formula]
    size_of: SizeOfType

    def read(self, words: Sequence[Token], depth: int = 0) -> Formula:
        return self._with(formula_of(words, self.size_of), depth)

    def _with(self, formula: Formula, depth: int) -> Formula:
        match formula:
            case Name(text, _, None) if text in self.bound:
                return self.bound[text]
            case Name(text, _, None) if text in self.of_class.constants and depth < _DEEPEST:
                return self.read(self.of_class.constants[text], depth + 1)
        return rebuilt(formula, partial(self._with, depth=depth))


_Meaning = TypeVar("_Meaning", Sequence[Token], _ClassText)


def _certain(pairs: Iterable[tuple[str, _Meaning]]) -> dict[str, _Meaning]:
    """What has one meaning: by texts of tokens, wherever these stand."""
    found = dict[str, _Meaning]()
    several = set[str]()
    for name, meaning in pairs:
        if name in found and _words(found[name]) != _words(meaning):
            several.add(name)
        found.setdefault(name, meaning)
    return {name: meaning for name, meaning in found.items() if name not in several}


def _words(meaning: Sequence[Token] | _ClassText) -> object:
    if isinstance(meaning, _ClassText):
        constants = {name: _words(words) for name, words in meaning.constants.items()}
        functions = {name: (of, _words(words)) for name, (of, words) in meaning.functions.items()}
        return meaning.parameters, constants, functions
    return [token.text for token in meaning]


def _aliases(syntax: Syntax) -> Iterator[tuple[str, Sequence[Token]]]:
    """alias = "using" NAME "=" type ";" | "typedef" type NAME ";", wherever it stands."""
    tokens = syntax.tokens
    for index, token in enumerate(tokens):
        if token.text == "using":
            yield from using_alias(tokens, index)
        elif token.text == "typedef" and (words := [*until_semicolon(tokens, index + 1)]):
            yield words[-1].text, words[:-1]


def _classes(syntax: Syntax) -> Iterator[tuple[str, _ClassText]]:
    """class = "template" "<" … ">" ("struct" | "class") NAME (":" …)? "{" member* "}"."""
    tokens, partner = syntax.tokens, syntax.brackets.partner
    for index, token in enumerate(tokens[:-1]):
        if token.text not in ("struct", "class") or index == 0 or tokens[index - 1].text != ">":
            continue
        opener = next((i for i in range(index, len(tokens)) if tokens[i].text in _STOPS), index)
        head = _head(tokens, index)
        if head is None or tokens[opener].text != "{" or partner[opener] < 0:
            continue
        parameters = tuple(name for name, _ in template_parameters(head))
        members = [*_members(syntax, opener + 1, partner[opener])]
        constants = dict(pair for words in members for pair in _constants(words))
        functions = dict(pair for words in members for pair in _functions(words))
        yield tokens[index + 1].text, _ClassText(parameters, constants, functions)


def _head(tokens: Sequence[Token], end: int) -> Sequence[Token] | None:
    """`template <…>` before a class; None where it is another `<…>`."""
    for first in range(end - 1, max(-1, end - _LONGEST_HEAD), -1):
        if tokens[first].text == "template":
            is_whole = template_end(tokens, range(first + 1, end), _STOPS) == end - 1
            return tokens[first:end] if is_whole else None
    return None


def _members(syntax: Syntax, first: int, end: int) -> Iterator[Sequence[Token]]:
    """The static members of a class: up to `;`, or to the end of a body."""
    tokens, partner, begin, index = syntax.tokens, syntax.brackets.partner, first, first
    while index < end:
        is_body = tokens[index].text == "{"
        index = max(index, partner[index]) if tokens[index].text in OPENERS else index
        if is_body or tokens[index].text == ";":
            words = tokens[begin : index + 1]
            if any(token.text == "static" for token in words):
                yield words
            begin = index + 1
        index += 1


def _constants(words: Sequence[Token]) -> Iterator[tuple[str, Sequence[Token]]]:
    """constant = "static" "constexpr" type NAME "=" value ("," NAME "=" value)* ";"."""
    if words[-1].text != ";" or not {"const", "constexpr"} & {token.text for token in words}:
        return
    for part in split_commas(words[:-1]):
        texts = [token.text for token in part]
        if "=" in texts[1:]:
            place = texts.index("=")
            yield texts[place - 1], part[place + 1 :]


def _functions(
    words: Sequence[Token],
) -> Iterator[tuple[str, tuple[tuple[str, ...], Sequence[Token]]]]:
    """function = "static" type NAME "(" parameters ")" … "{" "return" value ";" "}"."""
    texts = [token.text for token in words]
    if words[-1].text != "}" or "(" not in texts:
        return
    opener = texts.index("(")
    body = texts.index("{") if "{" in texts else 0
    closer = texts.index(")", opener) if ")" in texts[opener:] else body
    is_returned = texts[body + 1 : body + 2] == ["return"] and texts[-2:] == [";", "}"]
    if closer < body and is_returned and texts.count(";") == 1:
        parameters = split_commas(words[opener + 1 : closer])
        declared = (takewhile(lambda token: token.text != "=", part) for part in parameters)
        named = tuple([token.text for token in part][-1] for part in declared)
        yield texts[opener - 1], (named, words[body + 2 : -2])
