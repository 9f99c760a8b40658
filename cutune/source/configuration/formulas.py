"""Expressions of the host as formulas. Takes tokens, gives a tree; the rest is opaque text.

Names are not looked up here; see `definitions`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from fractions import Fraction

from cutune.source import host_formula as tree
from cutune.source.syntax.tokens import Token, word_set
from cutune.source.unit.integers import integer_type, literal_value
from cutune.source.unit.unit import split_commas

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


def formula_of(tokens: Sequence[Token], size_of: SizeOfType) -> tree.Formula:
    try:
        reader = _FormulaReader(tokens, size_of)
        found = reader.conditional(0) if len(tokens) <= _LONGEST else None
        if found is not None and reader.index == len(tokens):
            return found
    except _NoFormula:
        pass
    return tree.Opaque(" ".join(token.text for token in tokens))


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

    def conditional(self, depth: int) -> tree.Formula:
        """conditional = binary ["?" conditional ":" conditional]."""
        if depth > _DEEPEST:
            raise _NoFormula
        condition = self._binary(1, depth)
        if self._peek() != "?":
            return condition
        self.index += 1
        if_true = self.conditional(depth + 1)
        self._take(":")
        return tree.HostOperation("?:", (condition, if_true, self.conditional(depth + 1)))

    def _operator(self) -> str:
        """`>` is always a token of its own."""
        text = self._peek()
        if text == ">" and self._peek(1) in (">", "="):
            following = self.tokens[self.index + 1]
            if following.start == self.tokens[self.index].end:
                return text + following.text
        return text

    def _binary(self, least: int, depth: int) -> tree.Formula:
        left = self._unary(depth)
        while True:
            operator = self._operator()
            level = _BINARY.get(operator, 0)
            if level < least:
                return left
            self.index += 2 if operator in (">>", ">=") and self._peek() == ">" else 1
            left = tree.HostOperation(operator, (left, self._binary(level + 1, depth + 1)))

    def _unary(self, depth: int) -> tree.Formula:
        """unary = ("-" | "+" | "!" | "~") unary | cast | postfix."""
        if depth > _DEEPEST:
            raise _NoFormula
        text = self._peek()
        if text in ("-", "+", "!", "~"):
            self.index += 1
            return tree.HostOperation(text, (self._unary(depth + 1),))
        if text == "sizeof":
            return self._sizeof()
        if text == "(":
            closer = self._closer(self.index)
            words = [token.text for token in self.tokens[self.index + 1 : closer]]
            following = self.tokens[closer + 1 : closer + 2]
            begins = any(t.kind in ("IDENTIFIER", "NUMBER") or t.text == "(" for t in following)
            if begins and self._is_arithmetic_type(words):
                self.index = closer + 1
                return tree.Cast(" ".join(words), self._unary(depth + 1))
        return self._postfix(depth)

    def _is_arithmetic_type(self, words: Sequence[str]) -> bool:
        if not words or "*" in words:
            return False
        if set(words) <= _TYPE_WORDS:
            return True
        name = [word for word in words if word not in ("std", "::", "const")]
        return len(name) == 1 and (name[0].endswith("_t") or self.size_of(name) is not None)

    def _sizeof(self) -> tree.Formula:
        """sizeof = "sizeof" "(" type ")"; of an expression it is not known."""
        if self._peek(1) != "(":
            raise _NoFormula
        first, closer = self.index, self._closer(self.index + 1)
        self.index = closer + 1
        size = self.size_of([token.text for token in self.tokens[first + 2 : closer]])
        return tree.number(size) if size is not None else self._unread(first)

    def _postfix(self, depth: int) -> tree.Formula:
        """postfix = primary ("." NAME | "->" NAME | "[" … "]" | "(" … ")")*."""
        first = self.index
        found = self._primary(depth)
        while True:
            text = self._peek()
            if text == "." and self._peek(2) != "(" and self.index + 1 < len(self.tokens):
                found = tree.MemberAccess(found, self._peek(1))
                self.index += 2
            elif text in (".", "->") and self.index + 1 < len(self.tokens):
                self.index += 2
                found = self._unread(first)
            elif text in ("[", "("):
                self.index = self._closer(self.index) + 1
                found = self._unread(first)
            else:
                return found

    def _unread(self, first: int) -> tree.Formula:
        """The tokens read since `first` as text: an element, a method's result, a remote member."""
        return tree.Opaque("".join(token.text for token in self.tokens[first : self.index]))

    def _primary(self, depth: int) -> tree.Formula:
        if self.index >= len(self.tokens):
            raise _NoFormula
        token = self.tokens[self.index]
        if token.text == "(":
            self.index += 1
            inner = self.conditional(depth + 1)
            self._take(")")
            return inner
        if token.text == "{":
            return tree.Call("", self._arguments())
        if token.kind == "NUMBER":
            self.index += 1
            return _literal(token.text)
        if token.kind != "IDENTIFIER":
            raise _NoFormula
        name = self._qualified_name()
        if name in _NAMED_CASTS:
            return self._named_cast()
        if self._peek() == "<":
            self._skip_template_arguments()
        if self._peek() not in ("(", "{"):
            return tree.Name(name)
        arguments = self._arguments()
        if len(arguments) == 1 and self._is_arithmetic_type([name]):
            return tree.Cast(name, arguments[0])
        return tree.Call(name, arguments)

    def _qualified_name(self) -> str:
        name = self._peek()
        self.index += 1
        while self._peek() == "::" and self.index + 1 < len(self.tokens):
            name += "::" + self._peek(1)
            self.index += 2
        return name

    def _named_cast(self) -> tree.Formula:
        """cast = NAME "<" type ">" "(" expression ")"."""
        first = self.index + 1
        self._skip_template_arguments()
        words = [token.text for token in self.tokens[first : self.index - 1]]
        arguments = self._arguments()
        if len(arguments) != 1 or not self._is_arithmetic_type(words):
            raise _NoFormula
        return tree.Cast(" ".join(words), arguments[0])

    def _skip_template_arguments(self) -> None:
        """ "<" … ">" that a call follows; else `<` compares."""
        depth = 0
        for place in range(self.index, len(self.tokens)):
            text = self.tokens[place].text
            depth += {"<": 1, ">": -1}.get(text, 0)
            if depth == 0:
                if place + 1 < len(self.tokens) and self.tokens[place + 1].text in ("(", "{"):
                    self.index = place + 1
                return
            if text in ("&&", "||", ";", ")", "("):
                return

    def _arguments(self) -> tuple[tree.Formula, ...]:
        """arguments = ("(" | "{") [conditional ("," conditional)*] (")" | "}")."""
        closer = self._closer(self.index)
        inner = self.tokens[self.index + 1 : closer]
        self.index = closer + 1
        return tuple(formula_of(part, self.size_of) for part in split_commas(inner))

    def _closer(self, opener: int) -> int:
        depth = 0
        for place in range(opener, len(self.tokens)):
            text = self.tokens[place].text
            depth += (text in ("(", "[", "{")) - (text in (")", "]", "}"))
            if depth == 0:
                return place
        raise _NoFormula


def _literal(text: str) -> tree.Formula:
    integer = literal_value(text)
    if integer is not None:
        return tree.number(integer)
    digits = text.replace("'", "").rstrip("fFlL")
    # Larger powers of ten are no doubles; as fractions they would fill the memory.
    return tree.Number(Fraction(digits), True) if _REAL.fullmatch(digits) else tree.Opaque(text)
