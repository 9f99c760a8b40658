"""How the statements of a function nest. Takes its tokens, says what lies in what.

Brackets, statements, loops, lambdas and `#if` branches, at token level: what is not understood in
between does not matter.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from cutune.analysis.words import word_set
from cutune.functions import Function
from cutune.syntax import Range, Syntax
from cutune.tokens import Token

_LOOPS = frozenset({"for", "while", "do"})
#: Words before the parenthesis of a statement.
CONTROL = frozenset({"if", "for", "while", "switch", "catch", "constexpr"})
#: Words that begin no declaration.
NO_TYPE = word_set(
    """
    return else do goto case new delete throw using typedef sizeof co_return co_await operator
    if for while switch template break continue default not
    """
)


@dataclass(frozen=True)
class Nesting:
    """Answers about the tokens of one function that has a body."""

    syntax: Syntax
    function: Function

    def enclosing(self, index: int) -> int:
        """The innermost bracket that is open at a token, or -1."""
        partner, body = self.syntax.brackets.partner, self.function.body
        assert body is not None
        place = index - 1
        while place >= body[0]:
            text = self.syntax.tokens[place].text
            if text in (")", "]", "}") and 0 <= partner[place] < place:
                place = partner[place]
            elif text in ("(", "[", "{"):
                return place
            place -= 1
        return -1

    def statement_start(self, index: int) -> int:
        """The first token of the statement, declaration or head part that holds a token."""
        tokens, partner = self.syntax.tokens, self.syntax.brackets.partner
        place = index
        while place > 0:
            before = tokens[place - 1].text
            if before in (";", "{", "(", "[", "else", "do"):
                return place
            if before == ":" and tokens[place - 2].text != ":":
                return place
            if before == "}":
                opener = partner[place - 1]
                if tokens[place].text != "," or opener < 0:
                    return place
                place = opener
                continue
            if before in (")", "]"):
                opener = partner[place - 1]
                if opener < 0:
                    return place
                if before == ")" and tokens[opener - 1].text in CONTROL:
                    return place
                place = opener
                continue
            place -= 1
        return place

    def statement_end(self, index: int) -> int:
        """The last token of the statement that a control keyword begins."""
        tokens, partner, body = self.syntax.tokens, self.syntax.brackets.partner, self.function.body
        assert body is not None
        place = index
        while place < body[1]:
            text = tokens[place].text
            if text in ("if", "for", "while", "switch"):
                place += 1 + (tokens[place + 1].text == "constexpr")
                if tokens[place].text != "(" or partner[place] < 0:
                    return body[1]
                place = partner[place] + 1
            elif text in ("else", "do"):
                place += 1
            elif text == "{":
                place = partner[place] if partner[place] > 0 else body[1]
                if tokens[min(place + 1, body[1])].text != "else":
                    return self._behind_do(index, place)
                place += 1
            elif text in ("(", "["):
                place = (partner[place] if partner[place] > 0 else body[1]) + 1
            elif text == ";":
                if tokens[place + 1].text != "else":
                    return self._behind_do(index, place)
                place += 1
            else:
                place += 1
        return body[1]

    def _behind_do(self, keyword: int, end: int) -> int:
        """`do … while (…);` goes on behind its statement."""
        tokens, partner = self.syntax.tokens, self.syntax.brackets.partner
        if tokens[keyword].text != "do" or tokens[end + 1].text != "while":
            return end
        return partner[end + 2] if partner[end + 2] > 0 else end

    def is_operand(self, index: int) -> bool:
        token = self.syntax.tokens[index]
        is_word = token.kind in ("IDENTIFIER", "NUMBER") and token.text not in NO_TYPE
        return is_word or token.text in (")", "]")

    def same_branch(self, definition: int, at: int) -> bool:
        """Is the definition compiled whenever the place is?"""
        here, there = self._branch(definition), self._branch(at)
        return there[: len(here)] == here

    def _branch(self, index: int) -> tuple[tuple[int, int], ...]:
        """The `#if`s around a token, and which branch of each."""
        return self._branches[bisect_left(self._branch_starts, index + 1) - 1][1]

    @cached_property
    def _branch_starts(self) -> list[int]:
        return [start for start, _ in self._branches]

    @cached_property
    def _branches(self) -> list[tuple[int, tuple[tuple[int, int], ...]]]:
        assert self.function.body is not None
        stack: tuple[tuple[int, int], ...] = ()
        found = [(-1, stack)]
        directives = self.syntax.directives_within(self.function.first, self.function.body[1])
        for number, directive in enumerate(directives):
            if directive.name in ("if", "ifdef", "ifndef"):
                stack = (*stack, (number, 0))
            elif directive.name.startswith("el") and stack:
                stack = (*stack[:-1], (stack[-1][0], stack[-1][1] + 1))
            elif directive.name == "endif":
                stack = stack[:-1]
            else:
                continue
            found.append((directive.index, stack))
        return found

    @cached_property
    def loops(self) -> list[Range]:
        """From the keyword to the end of the loop's statement."""
        found = []
        for index, token in self.body:
            if token.text in _LOOPS and token.kind == "IDENTIFIER":
                found.append((index, self.statement_end(index)))
        return found

    @cached_property
    def lambdas(self) -> list[tuple[int, int, int]]:
        """The "[" and the body of each lambda: "[" … "]" ["(" … ")"] … "{" … "}"."""
        tokens, partner = self.syntax.tokens, self.syntax.brackets.partner
        found = []
        for index, token in self.body:
            if token.text != "[" or partner[index] < 0 or self.is_operand(index - 1):
                continue
            place = partner[index] + 1
            if tokens[place].text == "(" and partner[place] > 0:
                place = partner[place] + 1
            while tokens[place].text not in ("{", ";", ")", "}", ",") and place < index + 40:
                place += 1
            if tokens[place].text == "{" and partner[place] > 0:
                found.append((index, place, partner[place]))
        return found

    @cached_property
    def body(self) -> list[tuple[int, Token]]:
        body = self.function.body
        assert body is not None
        return list(enumerate(self.syntax.tokens[body[0] : body[1] + 1], body[0]))

    @cached_property
    def occurrences(self) -> Mapping[str, Sequence[int]]:
        """The places of each name in the body, members of other things left out."""
        table: defaultdict[str, list[int]] = defaultdict(list)
        for (_, before), (index, token) in zip(self.body, self.body[1:], strict=False):
            if token.kind == "IDENTIFIER" and before.text not in (".", "->", "::"):
                table[token.text].append(index)
        return table

    def template_end(self, opener: int, stop: int) -> int:
        depth = 0
        for place in range(opener, stop):
            text = self.syntax.tokens[place].text
            depth += {"<": 1, ">": -1}.get(text, 0)
            if depth == 0:
                return place
            if text in (";", "(", ")", "{", "}", "&&", "||"):
                return -1
        return -1
