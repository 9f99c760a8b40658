"""How the statements of a function nest. Takes its tokens.

Brackets, statements, loops, lambdas and `#if` branches, at token level: what is not understood in
between does not matter.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import takewhile
from operator import itemgetter

from cutune.source.syntax.directives import CLOSERS
from cutune.source.syntax.parse import Range, SourceFunction, Syntax
from cutune.source.syntax.tokens import Token, word_set

_LOOPS = frozenset({"for", "while", "do"})
#: Words before the parenthesis of a statement.
CONTROL = frozenset({"if", "for", "while", "switch", "catch", "constexpr"})
#: Words that are neither a type nor what has one.
NO_TYPE = word_set(
    """
    return else do goto case new delete throw using typedef sizeof co_return co_await operator
    if for while switch template break continue default not
    """
)


@dataclass(frozen=True)
class HostStatements:
    """The statements of one function that has a body."""

    syntax: Syntax
    function: SourceFunction
    #: Ends of statements, by the tokens from which they were looked for.
    _ends: dict[int, int] = field(default_factory=dict, kw_only=True)

    def statement_start(self, index: int) -> int:
        """The first token of the statement, declaration or head part that holds a token."""
        return self._starts[index - self.extent[0]]

    @property
    def extent(self) -> Range:
        """The braces of the function."""
        return self.function.braces

    @cached_property
    def _starts(self) -> Sequence[int]:
        """For each token of the body the first one of its statement.

        Where no statement ends, a token belongs to that of the token before it; behind a bracket
        that closes, to that of the bracket that opened.
        """
        first, partner = self.extent[0], self.syntax.brackets.partner
        found, questions = [first], Counter[int]()
        for index, token in self.body:
            if self._ends_statement(index, questions):
                found.append(index + 1)
            else:
                before = partner[index] if token.text in CLOSERS else index
                found.append(found[before - first])
        return found

    def _ends_statement(self, index: int, questions: Counter[int]) -> bool:
        """Does a statement, or a part of a head, end with a token?

        `questions`: how many `?` wait for their `:`, by the bracket that is open around them.
        """
        tokens, text = self.syntax.tokens, self.syntax.tokens[index].text
        if text in CLOSERS:
            return self._closes_statement(index)
        around = self.syntax.innermost(index)
        if text in ("?", ":") and tokens[index - 1].text != text:
            is_label = text == ":" and questions[around] == 0
            if not is_label:
                questions[around] += 1 if text == "?" else -1
            return is_label
        if text == ";":
            questions[around] = 0
        return text in (";", "{", "(", "[", "else", "do")

    def _closes_statement(self, closer: int) -> bool:
        """Does a bracket end a block or the head of a statement, rather than a part of it?"""
        tokens, opener = self.syntax.tokens, self.syntax.brackets.partner[closer]
        text = tokens[closer].text
        following = tokens[closer + 1].text if closer + 1 < len(tokens) else ""
        is_block = text == "}" and following != ","
        is_head = text == ")" and tokens[opener - 1].text in CONTROL
        return is_block or is_head or opener < self.extent[0]

    def statement_end(self, index: int) -> int:
        """The last token of the statement that a control keyword begins."""
        tokens, end = self.syntax.tokens, self._end(index)
        is_do = tokens[index].text == "do" and end < self.extent[1] - 2
        if not is_do or tokens[end + 1].text != "while":
            return end
        # `do … while (…);` goes on behind its statement.
        closer = self.syntax.brackets.partner[end + 2]
        return closer if closer > 0 else end

    def _end(self, index: int) -> int:
        """The end of a statement, before the `while` of a `do`; each is walked through once."""
        tokens, partner, last = self.syntax.tokens, self.syntax.brackets.partner, self.extent[1]
        place, passed, end = index, [], last
        while place < last:
            if place in self._ends:
                end = self._ends[place]
                break
            passed.append(place)
            text = tokens[place].text
            if text in ("if", "for", "while", "switch"):
                place += 1 + (tokens[place + 1].text == "constexpr")
                if tokens[place].text != "(" or partner[place] < 0:
                    break
                place = partner[place] + 1
            elif text in ("{", ";"):
                if text == "{":
                    place = partner[place] if partner[place] > 0 else last
                if tokens[min(place + 1, last)].text != "else":
                    end = place
                    break
                place += 1
            elif text in ("(", "["):
                place = (partner[place] if partner[place] > 0 else last) + 1
            else:
                place += 1
        self._ends.update(dict.fromkeys(passed, end))
        return end

    def has_label(self, first: int, last: int, block: int) -> bool:
        """Is there a `case` between two tokens of a block, through which `last` can be reached?"""
        for place in takewhile(lambda place: place >= block, self.syntax.around(last)):
            labels = self._labels.get(place, ())
            number = bisect_left(labels, max(first, place))
            if number < len(labels) and labels[number] < last:
                return True
        return False

    @cached_property
    def _labels(self) -> Mapping[int, Sequence[int]]:
        table: defaultdict[int, list[int]] = defaultdict(list)
        for index, token in self.body:
            if token.text in ("case", "default") and self.syntax.tokens[index - 1].text != "=":
                table[self.syntax.innermost(index)].append(index)
        return table

    def is_operand(self, index: int) -> bool:
        token = self.syntax.tokens[index]
        is_word = token.kind in ("IDENTIFIER", "NUMBER") and token.text not in NO_TYPE
        return is_word or token.text in (")", "]")

    def same_branch(self, definition: int, at: int) -> bool:
        """Does the preprocessor keep the definition wherever it keeps the place?"""
        here, there = (
            self._branches[bisect_right(self._branches, index, key=itemgetter(0)) - 1][1]
            for index in (definition, at)
        )
        return there[: len(here)] == here

    @cached_property
    def _branches(self) -> list[tuple[int, tuple[tuple[int, int], ...]]]:
        """From which token on which `#if`s are around, and which branch of each."""
        stack: tuple[tuple[int, int], ...] = ()
        found = [(-1, stack)]
        directives = self.syntax.directives_within(self.function.first, self.extent[1])
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
        keywords = (index for index, token in self.body if token.text in _LOOPS)
        return [(index, self.statement_end(index)) for index in keywords]

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
        first, last = self.extent
        return list(enumerate(self.syntax.tokens[first : last + 1], first))
