"""How the statements of a function nest, and what they declare. Takes its tokens.

Brackets, statements, loops, lambdas and `#if` branches, at token level: what is not understood in
between does not matter. `Declarations` says which local variable a name means at a place.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from operator import itemgetter

from cutune.frontend.syntax.functions import SourceFunction
from cutune.frontend.syntax.parse import Range, Syntax
from cutune.frontend.syntax.tokens import Token
from cutune.frontend.syntax.words import word_set

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
    function: SourceFunction
    #: Ends of statements, by the tokens from which they were looked for.
    _ends: dict[int, int] = field(default_factory=dict)

    def enclosing(self, index: int) -> int:
        """The innermost bracket that is open at a token of the body, or -1."""
        return self._enclosing[index - self._first]

    def statement_start(self, index: int) -> int:
        """The first token of the statement, declaration or head part that holds a token."""
        return self._starts[index - self._first]

    def _around(self, index: int) -> Iterator[int]:
        """All brackets of the body that are open at a token, from the innermost outwards."""
        place = self.enclosing(index)
        while place >= 0:
            yield place
            place = self.enclosing(place)

    @cached_property
    def extent(self) -> Range:
        """The braces of the body."""
        assert self.function.body is not None
        return self.function.body

    @property
    def _first(self) -> int:
        return self.extent[0]

    @cached_property
    def _enclosing(self) -> Sequence[int]:
        """For each token of the body: what is open behind the token before it."""
        partner = self.syntax.brackets.partner
        found = [-1]
        for index, token in self.body:
            last, opener = found[-1], partner[index]
            if token.text in ("(", "[", "{"):
                last = index
            elif token.text in (")", "]", "}") and 0 <= opener < index:
                last = found[opener - self._first] if opener >= self._first else -1
            found.append(last)
        return found

    @cached_property
    def _starts(self) -> Sequence[int]:
        """For each token of the body: where the token before it belongs to, or the token itself."""
        tokens = self.syntax.tokens
        found, asked = [self._first], Counter[int]()
        for index, token in self.body:
            place, origin, before = index + 1, index, token.text
            opener = self.syntax.brackets.partner[index]
            is_start = before in (";", "{", "(", "[", "else", "do")
            if before in ("?", ":") and tokens[index - 1].text != before:
                # Of a condition, `a ? b : c`, unless no question is open between these brackets.
                around = self.enclosing(index)
                is_start = before == ":" and asked[around] == 0
                asked[around] += {"?": 1, ":": -1}[before] if not is_start else 0
            elif before == ";":
                asked[self.enclosing(index)] = 0
            if before in ("}", ")", "]"):
                is_list = before != "}" or (place < len(tokens) and tokens[place].text == ",")
                is_head = before == ")" and tokens[opener - 1].text in CONTROL
                is_start = opener < self._first or not is_list or is_head
                origin = opener
            found.append(place if is_start else found[origin - self._first])
        return found

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
        """The last token of the statement, a `while` behind `do … ` left out.

        Statements that end together are walked through once.
        """
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
        for place in (opener for opener in self._around(last) if opener >= block):
            labels = self._labels.get(place, ())
            number = bisect_left(labels, max(first, place))
            if number < len(labels) and labels[number] < last:
                return True
        return False

    @cached_property
    def _labels(self) -> Mapping[int, Sequence[int]]:
        """The `case` and `default` in each bracket."""
        table: defaultdict[int, list[int]] = defaultdict(list)
        for index, token in self.body:
            if token.text in ("case", "default") and self.syntax.tokens[index - 1].text != "=":
                table[self.enclosing(index)].append(index)
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
