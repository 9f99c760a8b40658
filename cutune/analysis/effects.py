"""Side effects of host expressions. Takes tokens, says what they do besides having a value.

A rewritten launch evaluates its configuration and its arguments twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cutune.analysis import known
from cutune.analysis.macros import Unexpandable
from cutune.analysis.unit import Unit
from cutune.analysis.words import word_set
from cutune.functions import Function
from cutune.syntax import Syntax
from cutune.tokens import Token

_ASSIGNMENTS = word_set(
    """
    = += -= *= /= %= &= |= ^= <<= ++ --
    """
)
#: Host functions without side effects, and names that only look like calls.
_HOST_PURE = word_set(
    """
    dim3 size data get raw_pointer_cast length empty width height begin end cbegin cend first
    second sizeof static_cast reinterpret_cast const_cast addressof ref cref c_str value front
    back x y z div_ceil ceil_div
    """
)
_ARITHMETIC_WORDS = word_set(
    """
    int unsigned long short char float double bool size_t void const return
    """
)
_REFUSED_WORDS = frozenset(["new", "delete", "throw", "co_await", "typeid"])


@dataclass(frozen=True)
class Effects:
    """Answers for the expressions of one unit."""

    unit: Unit

    def of(self, tokens: Sequence[Token]) -> str | None:
        """What an expression does besides having a value; None for nothing."""
        return self._of(tokens, 0)

    def _of(self, tokens: Sequence[Token], depth: int) -> str | None:
        try:
            expanded = self.unit.macros.expand(tokens)
        except Unexpandable as error:
            return self._effect_of_macro(error.token.text, tokens, depth)
        for index, token in enumerate(expanded):
            before = expanded[index - 1].text if index else ""
            following = expanded[index + 1].text if index + 1 < len(expanded) else ""
            if token.text in _ASSIGNMENTS and not (token.text == "=" and before in (">", "=")):
                return f"'{token.text}'"
            if token.text == ";":
                return "a statement"
            is_operand = index > 0 and (
                expanded[index - 1].kind == "IDENTIFIER" or before in ("]", ")")
            )
            if token.text == "[" and not is_operand:
                return "a lambda"
            if token.kind == "IDENTIFIER" and token.text in _REFUSED_WORDS:
                return f"'{token.text}'"
            if token.kind == "IDENTIFIER" and following in ("(", "<"):
                if following == "<" and not _is_template_call(expanded, index + 1):
                    continue
                if not self._is_harmless(token.text, depth):
                    return f"a call of '{token.text}'"
        return None

    def _effect_of_macro(self, name: str, tokens: Sequence[Token], depth: int) -> str | None:
        """A macro with several definitions: each of them, and the rest, must be harmless."""
        definitions = self.unit.macros.definitions.get(name, ())
        is_simple = bool(definitions) and all(m.parameters is None for m in definitions)
        if depth > 4 or not is_simple:
            return f"the macro '{name}'"
        for macro in definitions:
            what = self._of(macro.body, depth + 1)
            if what is not None:
                return what
        rest = [t._replace(kind="NUMBER", text="0") if t.text == name else t for t in tokens]
        return self._of(rest, depth + 1)

    def _is_harmless(self, name: str, depth: int) -> bool:
        if name in _HOST_PURE or name in _ARITHMETIC_WORDS or known.is_pure(name):
            return True
        if name in self.unit.types or name.endswith("_t"):
            return True
        definitions = self.unit.functions.get(name, ())
        if depth > 4 or not definitions:
            return False
        return all(self._is_formula(part.syntax, f, depth) for part, f in definitions)

    def _is_formula(self, syntax: Syntax, function: Function, depth: int) -> bool:
        """Is the function's body a single `return` of a harmless expression?"""
        assert function.body is not None
        first, last = function.body
        body = syntax.tokens[first + 1 : last]
        texts = [token.text for token in body]
        if texts[:1] != ["return"] or texts.count(";") != 1 or texts[-1] != ";":
            return False
        return self._of(body[1:-1], depth + 1) is None


def _is_template_call(tokens: Sequence[Token], opener: int) -> bool:
    """NAME "<" … ">" "("."""
    depth = 0
    for index in range(opener, len(tokens)):
        depth += {"<": 1, ">": -1}.get(tokens[index].text, 0)
        if depth == 0:
            return index + 1 < len(tokens) and tokens[index + 1].text == "("
        if tokens[index].text in ("&&", "||", ";", ")"):
            return False
    return False
