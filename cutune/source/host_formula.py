"""Formulas of the host: trees, read from tokens and written as C text. Launches are made of them.

Tokens that are no formula become opaque text. Names are not looked up here; see `definitions`.
Two names with the same key have the same value. A name without a key may have another value each
time it is read. `Name.value` is the formula that defines the name, where that is known.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from operator import add, mul, sub

from cutune.source.syntax.directives import closing, template_end
from cutune.source.syntax.tokens import Token, word_set
from cutune.source.unit.integers import integer_type, literal_value
from cutune.source.unit.unit import split_commas


@dataclass(frozen=True)
class Number:
    """A literal, or the size of a type."""

    value: Fraction
    is_real: bool = False


@dataclass(frozen=True)
class Name:
    """A variable, macro or member as it is written, for instance `block.x`."""

    text: str
    key: str | None = None
    value: Formula | None = None


@dataclass(frozen=True)
class MemberAccess:
    """`base.field` of something that is no name, a call for instance."""

    base: Formula
    field: str


@dataclass(frozen=True)
class HostOperation:
    """A unary or binary operator of C, or `?:` of three operands."""

    operator: str
    operands: tuple[Formula, ...]


@dataclass(frozen=True)
class Call:
    """A call, or a constructor: `dim3(…)` and `{…}` (without a name)."""

    name: str
    arguments: tuple[Formula, ...]


@dataclass(frozen=True)
class Cast:
    """A conversion between numbers; `type`: the words of the type, as they are written."""

    type: str
    operand: Formula


@dataclass(frozen=True)
class Opaque:
    """Text that is no formula."""

    text: str


Formula = Number | Name | MemberAccess | HostOperation | Call | Cast | Opaque

ONE = Number(Fraction(1))


def number(value: int | Fraction) -> Number:
    """An integer literal."""
    return Number(Fraction(value))


def children(formula: Formula) -> tuple[Formula, ...]:
    """The direct parts; the definition of a name is not one of them."""
    match formula:
        case HostOperation(_, parts) | Call(_, parts):
            return parts
        case Cast(_, part) | MemberAccess(part, _):
            return (part,)
    return ()


def rebuilt(formula: Formula, change: Callable[[Formula], Formula]) -> Formula:
    """Return the formula with what `change` makes of its direct parts."""
    match formula:
        case HostOperation(operator, operands):
            return HostOperation(operator, tuple(map(change, operands)))
        case Call(name, arguments):
            return Call(name, tuple(map(change, arguments)))
        case Cast(type_, operand):
            return Cast(type_, change(operand))
        case MemberAccess(base, field):
            return MemberAccess(change(base), field)
    return formula


def parts(formula: Formula, through_names: bool = True) -> Iterator[Formula]:
    """The formula and all its parts, definitions of names among them."""
    yield formula
    for child in children(formula):
        yield from parts(child, through_names)
    if through_names and isinstance(formula, Name) and formula.value is not None:
        yield from parts(formula.value)


def names_of(formula: Formula) -> Iterator[Name]:
    """The names in a formula, and in what defines them."""
    return (part for part in parts(formula) if isinstance(part, Name))


def plain(formula: Formula) -> Formula:
    """Without outer casts and without names that only stand for another formula."""
    while True:
        if isinstance(formula, Cast):
            formula = formula.operand
        elif isinstance(formula, Name) and formula.value is not None:
            formula = formula.value
        else:
            return formula


REAL_TYPES = ("float", "double")


def constant(formula: Formula) -> Fraction | None:
    """Return the value of a formula that is certain to be one number."""
    match formula:
        case Number(value, _):
            return value
        case Name(_, _, value):
            return constant(value) if value is not None else None
        case Cast(type_, operand):
            inner = constant(operand)
            if inner is None or type_ in REAL_TYPES:
                return inner
            return Fraction(int(inner)) if inner >= 0 else None
        case HostOperation(operator, operands):
            values = [constant(operand) for operand in operands]
            known = [value for value in values if value is not None]
            if len(known) < len(values):
                return None
            return _apply(operator, known, any(map(is_real, operands)))
        case Call(name, (argument,)):
            inner = constant(argument)
            if inner is not None and _short(name) in ("ceil", "ceilf"):
                return Fraction(-(-inner // 1))
    return None


def _short(name: str) -> str:
    return name.removeprefix("::").removeprefix("std::")


def is_real(formula: Formula) -> bool:
    """Is it certain to be a floating-point value?"""
    match formula:
        case Number(_, real):
            return real
        case Name(_, _, value):
            return value is not None and is_real(value)
        case Cast(type_, _):
            return type_ in REAL_TYPES
        case HostOperation(operator, operands):
            return operator in ("+", "-", "*", "/") and any(map(is_real, operands))
        case Call(name, _):
            return _short(name) in ("ceil", "ceilf", "floor", "floorf")
    return False


_ARITHMETIC = {"+": add, "-": sub, "*": mul}


def _apply(operator: str, values: list[Fraction], real: bool) -> Fraction | None:
    if len(values) == 1:
        return {"-": -values[0], "+": values[0]}.get(operator)
    if len(values) != 2:
        return None
    left, right = values
    if operator in _ARITHMETIC:
        return Fraction(_ARITHMETIC[operator](left, right))
    if operator == "/" and right != 0 and (real or (left >= 0 and right > 0)):
        return left / right if real else Fraction(left // right)
    if real or left < 0:
        return None
    if operator == "%" and right > 0:
        return left % right
    if operator in ("<<", ">>") and 0 <= right < 31:
        return Fraction(left * 2 ** int(right) if operator == "<<" else left // 2 ** int(right))
    return None


_PRECEDENCE = {"*": 10, "/": 10, "%": 10, "+": 9, "-": 9, "<<": 8, ">>": 8}


def text_of(formula: Formula) -> str:
    """C text, names replaced by what they are defined by, unless that is a plain number."""
    return _text(formula)[0]


def _text(formula: Formula) -> tuple[str, int]:
    match formula:
        case Number(value, real):
            return (str(value) if value.denominator == 1 and not real else f"{float(value):g}"), 20
        case Name(text, _, value):
            is_plain = value is None or isinstance(plain(value), Number | Opaque)
            return (text, 20) if is_plain or value is None else _text(value)
        case MemberAccess(base, field):
            return f"{_operand(base, 19)}.{field}", 20
        case Cast(type_, operand):
            return f"({type_}){_operand(operand, 15)}", 15
        case Call(name, arguments):
            return f"{name}({', '.join(map(text_of, arguments))})", 20
        case Opaque(text):
            return text, 20
        case HostOperation("?:", (condition, if_true, if_false)):
            return f"{_operand(condition, 1)} ? {text_of(if_true)} : {_operand(if_false, 0)}", 0
        case HostOperation(operator, (operand,)):
            return f"{operator}{_operand(operand, 15)}", 15
        case HostOperation(operator, (left, right)):
            level = _PRECEDENCE.get(operator, 5)
            return f"{_operand(left, level)} {operator} {_operand(right, level + 1)}", level
    return "?", 20


def _operand(formula: Formula, at_least: int) -> str:
    text, level = _text(formula)
    return text if level >= at_least else f"({text})"


_NAME = re.compile(r"(?<![\w.])[A-Za-z_][\w.]*")


def names_in(text: str) -> list[str]:
    """The names in C text, members as one: `grid.nx`."""
    return _NAME.findall(text)


def renamed(text: str, names: Mapping[str, str]) -> str:
    """C text with other names in place of some."""
    return _NAME.sub(lambda found: names.get(found[0], found[0]), text)


SizeOfType = Callable[[Sequence[str]], int | None]
"""Bytes of a type, given its words; None where it is no type or its size is not known."""

#: Operators of two operands, those that bind least first.
_LEVELS = ("||", "&&", "|", "^", "&", "== !=", "< > <= >=", "<< >>", "+ -", "* / %")
_BINARY = {operator: n for n, level in enumerate(_LEVELS, 1) for operator in level.split()}
_TYPE_WORDS = word_set("int unsigned signed long short char float double bool const size_t uint")
_NAMED_CASTS = frozenset({"static_cast", "reinterpret_cast", "const_cast", "dynamic_cast"})
_VECTOR = re.compile(r"(u?)(char|short|int|long|longlong|float|double)([1-4])")
_WIDTHS = {"char": 1, "short": 2, "int": 4, "float": 4, "long": 8, "longlong": 8, "double": 8}
_REAL = re.compile(r"(?=\.?\d)\d{0,40}(\.\d{0,40})?([eE][+-]?\d{1,2})?", re.ASCII)
_DEEPEST = 60
#: Tokens of a formula: trees are walked by recursion.
_LONGEST = 300


class _NoFormula(Exception):
    """The tokens are not an expression of this small language."""


def formula_of(tokens: Sequence[Token], size_of: SizeOfType) -> Formula:
    """Read tokens; what is no formula of this small language becomes opaque text."""
    try:
        reader = _FormulaReader(tokens, size_of)
        found = reader.conditional(0) if len(tokens) <= _LONGEST else None
        if found is not None and reader.index == len(tokens):
            return found
    except _NoFormula:
        pass
    return Opaque(" ".join(token.text for token in tokens))


def basic_size(words: Sequence[str]) -> int | None:
    """Bytes of a built-in type, `int` to `double4` and pointers, on a 64-bit host."""
    names = [word for word in words if word not in ("const", "volatile", "struct")]
    if names and names[-1] == "*":
        return 8
    if names in (["float"], ["double"]):
        return _WIDTHS[names[0]]
    vector = _VECTOR.fullmatch(names[0]) if len(names) == 1 else None
    if vector is not None:
        # A vector of three is as large as its elements, it is not padded.
        return _WIDTHS[vector[2]] * int(vector[3])
    integer = integer_type(names)
    return integer.bits // 8 if integer is not None else None


class _FormulaReader:
    """Precedence climbing; every method leaves `index` behind what it has read."""

    def __init__(self, tokens: Sequence[Token], size_of: SizeOfType) -> None:
        self.tokens, self.size_of, self.index = tokens, size_of, 0

    def _peek(self, offset: int = 0) -> str:
        place = self.index + offset
        return self.tokens[place].text if place < len(self.tokens) else ""

    def _take(self, text: str) -> None:
        if self._peek() != text:
            raise _NoFormula
        self.index += 1

    def conditional(self, depth: int) -> Formula:
        """conditional = binary ["?" conditional ":" conditional]."""
        if depth > _DEEPEST:
            raise _NoFormula
        condition = self._binary(1, depth)
        if self._peek() != "?":
            return condition
        self.index += 1
        if_true = self.conditional(depth + 1)
        self._take(":")
        return HostOperation("?:", (condition, if_true, self.conditional(depth + 1)))

    def _operator(self) -> str:
        """`>` is always a token of its own."""
        text = self._peek()
        if text == ">" and self._peek(1) in (">", "="):
            following = self.tokens[self.index + 1]
            if following.start == self.tokens[self.index].end:
                return text + following.text
        return text

    def _binary(self, least: int, depth: int) -> Formula:
        left = self._unary(depth)
        while True:
            operator = self._operator()
            level = _BINARY.get(operator, 0)
            if level < least:
                return left
            self.index += 2 if operator in (">>", ">=") and self._peek() == ">" else 1
            left = HostOperation(operator, (left, self._binary(level + 1, depth + 1)))

    def _unary(self, depth: int) -> Formula:
        """unary = ("-" | "+" | "!" | "~") unary | cast | postfix."""
        if depth > _DEEPEST:
            raise _NoFormula
        text = self._peek()
        if text in ("-", "+", "!", "~"):
            self.index += 1
            return HostOperation(text, (self._unary(depth + 1),))
        if text == "sizeof":
            return self._sizeof()
        if text == "(":
            closer = self._closer(self.index)
            words = [token.text for token in self.tokens[self.index + 1 : closer]]
            following = self.tokens[closer + 1 : closer + 2]
            begins = any(t.kind in ("IDENTIFIER", "NUMBER") or t.text == "(" for t in following)
            if begins and self._is_arithmetic_type(words):
                self.index = closer + 1
                return Cast(" ".join(words), self._unary(depth + 1))
        return self._postfix(depth)

    def _is_arithmetic_type(self, words: Sequence[str]) -> bool:
        if not words or "*" in words:
            return False
        if set(words) <= _TYPE_WORDS:
            return True
        name = [word for word in words if word not in ("std", "::", "const")]
        return len(name) == 1 and (name[0].endswith("_t") or self.size_of(name) is not None)

    def _sizeof(self) -> Formula:
        """sizeof = "sizeof" "(" type ")"; of an expression it is not known."""
        if self._peek(1) != "(":
            raise _NoFormula
        first, closer = self.index, self._closer(self.index + 1)
        self.index = closer + 1
        size = self.size_of([token.text for token in self.tokens[first + 2 : closer]])
        return number(size) if size is not None else self._unread(first)

    def _postfix(self, depth: int) -> Formula:
        """postfix = primary ("." NAME | "->" NAME | "[" … "]" | "(" … ")")*."""
        first = self.index
        found = self._primary(depth)
        while True:
            text = self._peek()
            if text == "." and self._peek(2) != "(" and self.index + 1 < len(self.tokens):
                found = MemberAccess(found, self._peek(1))
                self.index += 2
            elif text in (".", "->") and self.index + 1 < len(self.tokens):
                self.index += 2
                found = self._unread(first)
            elif text in ("[", "("):
                self.index = self._closer(self.index) + 1
                found = self._unread(first)
            else:
                return found

    def _unread(self, first: int) -> Formula:
        """The tokens read since `first` as text: an element, a method's result, a remote member."""
        return Opaque("".join(token.text for token in self.tokens[first : self.index]))

    def _primary(self, depth: int) -> Formula:
        if self.index >= len(self.tokens):
            raise _NoFormula
        token = self.tokens[self.index]
        if token.text == "(":
            self.index += 1
            inner = self.conditional(depth + 1)
            self._take(")")
            return inner
        if token.text == "{":
            return Call("", self._arguments())
        if token.kind == "NUMBER":
            self.index += 1
            return _literal(token.text)
        if token.kind != "IDENTIFIER":
            raise _NoFormula
        name = token.text
        self.index += 1
        while self._peek() == "::" and self.index + 1 < len(self.tokens):
            name += "::" + self._peek(1)
            self.index += 2
        if name in _NAMED_CASTS:
            return self._named_cast()
        if self._peek() == "<":
            self._skip_template_arguments()
        if self._peek() not in ("(", "{"):
            return Name(name)
        arguments = self._arguments()
        if len(arguments) == 1 and self._is_arithmetic_type([name]):
            return Cast(name, arguments[0])
        return Call(name, arguments)

    def _named_cast(self) -> Formula:
        """cast = NAME "<" type ">" "(" expression ")"."""
        first = self.index + 1
        self._skip_template_arguments()
        words = [token.text for token in self.tokens[first : self.index - 1]]
        arguments = self._arguments()
        if len(arguments) != 1 or not self._is_arithmetic_type(words):
            raise _NoFormula
        return Cast(" ".join(words), arguments[0])

    def _skip_template_arguments(self) -> None:
        """ "<" … ">" that a call follows; else `<` compares."""
        places, stops = range(self.index, len(self.tokens)), ("&&", "||", ";", ")", "(")
        closer = template_end(self.tokens, places, stops)
        if closer >= 0 and any(t.text in ("(", "{") for t in self.tokens[closer + 1 : closer + 2]):
            self.index = closer + 1

    def _arguments(self) -> tuple[Formula, ...]:
        """arguments = ("(" | "{") [conditional ("," conditional)*] (")" | "}")."""
        closer = self._closer(self.index)
        inner = self.tokens[self.index + 1 : closer]
        self.index = closer + 1
        return tuple(formula_of(part, self.size_of) for part in split_commas(inner))

    def _closer(self, opener: int) -> int:
        place = closing([token.text for token in self.tokens], opener)
        if place == len(self.tokens):
            raise _NoFormula
        return place


def _literal(text: str) -> Formula:
    integer = literal_value(text)
    if integer is not None:
        return number(integer)
    digits = text.replace("'", "").rstrip("fFlL")
    # Larger powers of ten are no doubles; as fractions they would fill the memory.
    return Number(Fraction(digits), True) if _REAL.fullmatch(digits) else Opaque(text)
