"""Reaching definitions. Takes a host function, gives the one value of a variable at a place.

Token level, so that no construct of C++ in between can hide it. Innermost declaration whose scope
holds the place; constructor or initialiser; whole and `.x =` assignments before the place, or
anywhere in a loop around both. Two that may reach it, an address taken, a possible reference, a
parameter: not known.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from cutune.analysis import known
from cutune.analysis.formulas import basic_size
from cutune.analysis.unit import Unit, split_commas
from cutune.analysis.words import word_set
from cutune.functions import Function
from cutune.syntax import Range, Syntax
from cutune.tokens import Token

_ASSIGNMENTS = word_set("= += -= *= /= %= &= |= ^= <<=")
_LOOPS = frozenset({"for", "while", "do"})
_CONTROL = frozenset({"if", "for", "while", "switch", "catch", "constexpr"})
_NO_TYPE = word_set(
    """
    return else do goto case new delete throw using typedef sizeof co_return co_await operator
    if for while switch template break continue default not
    """
)
_NOT_PLAIN = frozenset({"*", "&", "&&", "volatile", "static", "extern", "thread_local"})
#: Their constructors take sizes by value.
_CONTAINERS = frozenset({"vector", "device_vector", "host_vector", "string"})
#: Stands for what a caller gives.
_PARAMETER = "parameter"
#: Functions of the host that take their numbers by value, besides the pure ones.
_BY_VALUE = word_set(
    """
    printf fprintf sprintf snprintf malloc calloc realloc free exit srand memset memcpy dim3 sizeof
    min max assert static_cast reinterpret_cast const_cast int unsigned float double size_t long
    exit abs div_ceil ceil_div puts atoi sleep usleep
    """
)


@dataclass(frozen=True)
class Variable:
    """A local variable. `scope`: first and last token of where it is visible."""

    name: str
    declared: int
    scope: Range
    #: The words of its type.
    type: tuple[str, ...]
    #: Tokens of the initialiser, and by which bracket or `=` it begins.
    initialiser: Range | None
    opening: str
    is_plain: bool


@dataclass(frozen=True)
class Definition:
    """The one definition that reaches a place. Equal ones give equal values.

    `value`: tokens of the right-hand side or of the constructor's arguments (`is_constructor`);
    None where the value is that of an untouched parameter of the function. `at` is where the names
    in it have to be looked up.
    """

    variable: str
    at: int
    value: Range | None
    is_constructor: bool = False
    #: It defines one component of a `dim3` alone.
    is_component: bool = False


@dataclass
class Reaching:
    """Answers for the places of one function."""

    syntax: Syntax
    unit: Unit
    function: Function
    _variables: dict[str, tuple[Variable, ...]] = field(default_factory=dict)

    def variable(self, name: str, at: int) -> Variable | None:
        """The local variable or parameter that a name means at a token."""
        found = [
            variable
            for variable in self._declared(name)
            if variable.declared < at and variable.scope[0] <= at <= variable.scope[1]
        ]
        return max(found, key=lambda variable: variable.declared, default=None)

    def reaching(
        self, variable: Variable, at: int, component: str | None = None
    ) -> Definition | None:
        """The definition of a variable, or of one component of a `dim3`, that reaches a token."""
        if not variable.is_plain or not self._same_branch(variable.declared, at):
            return None
        if self._has_jumps or variable.name in self._hidden_names:
            return None
        if self._is_captured(variable, at):
            return None
        found = self._first_definition(variable)
        last, doubtful = variable.declared, False
        for index in self._uses(variable):
            touched = self._touches(index)
            if touched is None:
                continue
            if touched.component is not None and component not in (None, touched.component):
                continue
            is_before = index < at
            # What escapes does so for good, not only until the next definition.
            since = variable.declared if touched.escapes else last
            if not is_before and not self._loops_back(since, at, index):
                continue
            if touched.escapes:
                return None
            is_whole = touched.component in (None, component)
            is_certain = touched.value is not None and is_whole
            if is_before and is_certain and self._dominates(index, at):
                found = Definition(
                    _identity(variable),
                    index,
                    touched.value,
                    is_component=touched.component is not None,
                )
                last, doubtful = index, False
            else:
                doubtful = True
        return None if doubtful else found

    def _first_definition(self, variable: Variable) -> Definition | None:
        """What the variable has from its declaration on."""
        name, at = _identity(variable), variable.declared
        if variable.opening == _PARAMETER:
            return Definition(name, at, None)
        if variable.initialiser is not None:
            return Definition(name, at, variable.initialiser, variable.opening != "=")
        if variable.type[-1:] == ("dim3",) and not variable.opening:
            return Definition(name, at, (at + 1, at), True)
        return None

    def parts(self, tokens: Range) -> list[list[Token]]:
        """The expressions of a list."""
        return list(split_commas(self.syntax.tokens[tokens[0] : tokens[1] + 1]))

    # What happens to a name at one of its occurrences.

    def _touches(self, index: int) -> _Touch | None:
        """What may change the variable at an occurrence of its name; None for a mere use."""
        tokens = self.syntax.tokens
        component, last = None, index
        if tokens[index + 1].text == "." and index + 3 < len(tokens):
            component, last = tokens[index + 2].text, index + 2
        before, after = tokens[index - 1].text, tokens[last + 1].text
        if after in _ASSIGNMENTS:
            return _Touch(self._right_side(last + 2) if after == "=" else None, component)
        if before in ("++", "--") or after in ("++", "--"):
            return _Touch(None, component)
        if component is not None and after == "(":
            # A method, or a call through a member.
            return _ESCAPE
        if after in ("[", "->"):
            return _ESCAPE
        if before == "&" and not self._is_operand(index - 2):
            return _ESCAPE
        if before == ">" and tokens[index - 2].text == ">":
            # `stream >> name`, or a shift.
            return _Touch(None, component)
        if self._binds_reference(index) or self._may_be_referenced(index, last):
            return _ESCAPE
        return None

    def _right_side(self, first: int) -> Range | None:
        """expression ";" of an assignment that is a statement of its own."""
        tokens, partner = self.syntax.tokens, self.syntax.brackets.partner
        index = first
        while index < len(tokens):
            text = tokens[index].text
            if text in ("(", "[", "{"):
                if partner[index] < 0:
                    return None
                index = partner[index]
            elif text == ";":
                return (first, index - 1)
            elif text in (")", "]", "}", ",") or text in _ASSIGNMENTS:
                return None
            index += 1
        return None

    def _is_operand(self, index: int) -> bool:
        token = self.syntax.tokens[index]
        is_word = token.kind in ("IDENTIFIER", "NUMBER") and token.text not in _NO_TYPE
        return is_word or token.text in (")", "]")

    def _binds_reference(self, index: int) -> bool:
        """ "&" NAME "=" name, "&" NAME "(" name ")"."""
        tokens = self.syntax.tokens
        return (
            tokens[index - 1].text in ("=", "(", "{")
            and tokens[index - 2].kind == "IDENTIFIER"
            and tokens[index - 3].text in ("&", "&&")
        )

    def _may_be_referenced(self, index: int, last: int) -> bool:
        """Is the bare name an argument of a call that may take it by reference?"""
        tokens, partner = self.syntax.tokens, self.syntax.brackets.partner
        if tokens[last + 1].text not in (",", ")", "}"):
            return False
        if tokens[index - 1].text not in (",", "(", "{"):
            return False
        place, position = index - 1, 0
        while place > 0 and tokens[place].text not in ("(", "{", "["):
            text = tokens[place].text
            if text in (")", "]", "}") and partner[place] >= 0:
                place = partner[place]
            elif text == ",":
                position += 1
            elif text == ";" or tokens[place].kind == "LAUNCH_OPEN":
                # A launch takes its configuration by value.
                return False
            place -= 1
        callee = tokens[place - 1]
        if callee.text == ">":
            # A launch or a template: arguments of kernels are copies.
            return [t.text for t in tokens[place - 3 : place]] != [">", ">", ">"]
        if callee.kind != "IDENTIFIER" or callee.text in _CONTROL or callee.text in _NO_TYPE:
            return tokens[place].text == "[" or callee.text in (")", "]")
        return not self._takes_by_value(callee.text, position, place)

    def _takes_by_value(self, name: str, position: int, opener: int) -> bool:
        if name in _BY_VALUE or name.startswith(("cuda", "cu")) or known.is_pure(name):
            return True
        if name in self.unit.macros.definitions:
            return self.unit.macros.is_formula(name)
        before = self.syntax.tokens[opener - 2].text
        if before in (".", "->"):
            return False
        if self._is_declared_here(opener - 1):
            # `int n(m);` and `dim3 grid(n, m);`
            return True
        found = self.unit.functions.get(name, ())
        if not found:
            return False
        for part, function in found:
            first, last = function.parameters
            parameters = list(split_commas(part.syntax.tokens[first + 1 : last]))
            words = (
                [token.text for token in parameters[position]] if position < len(parameters) else []
            )
            if not words or "&" in words or "&&" in words:
                return False
        return True

    def _is_declared_here(self, index: int) -> bool:
        """Is the name before the bracket a variable of a plain type that is declared here?"""
        name = self.syntax.tokens[index].text
        variable = self._declaration(name, index) if index in self._occurrences[name] else None
        if variable is None or not variable.is_plain:
            return False
        return _is_number_type(variable.type) or bool(_CONTAINERS & {*variable.type})

    # Order of execution.

    def _dominates(self, index: int, at: int) -> bool:
        """Does a statement that begins with the token run before `at`, whatever path is taken?"""
        if not self._same_branch(index, at) or self._statement_start(index) != index:
            return False
        tokens = self.syntax.tokens
        before = tokens[index - 1].text
        if before not in (";", "{", "}"):
            return False
        block = self._enclosing(index)
        if block < 0 or tokens[block].text != "{":
            return False
        if not block < at < self.syntax.brackets.partner[block]:
            return False
        return not self._has_label(index, at, block)

    def _has_label(self, first: int, last: int, block: int) -> bool:
        """Is there a label between two tokens, in the block of the first?"""
        tokens, partner = self.syntax.tokens, self.syntax.brackets.partner
        index = first
        while index < last:
            text = tokens[index].text
            if text in ("case", "default") and tokens[index - 1].text != "=":
                return True
            if text in ("(", "[", "{") and index < partner[index] < last:
                index = partner[index]
            index += 1
        return False

    def _loops_back(self, definition: int, at: int, write: int) -> bool:
        """Is there a loop around `at` and a later write that does not begin with the definition?"""
        return any(
            first <= at <= last and first <= write <= last and not first < definition <= last
            for first, last in self._loops
        )

    def _is_captured(self, variable: Variable, at: int) -> bool:
        """Does the place lie in a lambda around which the variable is, or is it changed in one?"""
        for first, last in self._lambdas:
            if first <= variable.declared <= last:
                continue
            if first <= at <= last:
                return True
            inside = (index for index in self._uses(variable) if first <= index <= last)
            if any(self._touches(index) is not None for index in inside):
                return True
        return False

    def _same_branch(self, definition: int, at: int) -> bool:
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
    def _has_jumps(self) -> bool:
        """Does the function jump in a way that the order of its text does not show?"""
        return any(token.text in ("goto", "setjmp") for _, token in self._body)

    @cached_property
    def _hidden_names(self) -> frozenset[str]:
        """Names that macros may change unseen."""
        found: set[str] = set()
        macros = (m for same in self.unit.macros.definitions.values() for m in same)
        for macro in (*self.syntax.macros, *macros):
            texts = {token.text for token in macro.body}
            if texts & (_ASSIGNMENTS | {"++", "--", "&"}):
                found |= texts - {*(macro.parameters or ())}
        return frozenset(found)

    @cached_property
    def _loops(self) -> list[Range]:
        """From the keyword to the end of the loop's statement."""
        found = []
        for index, token in self._body:
            if token.text in _LOOPS and token.kind == "IDENTIFIER":
                found.append((index, self._statement_end(index)))
        return found

    @cached_property
    def _lambdas(self) -> list[Range]:
        """Bodies of lambdas: "[" … "]" ["(" … ")"] … "{"."""
        tokens, partner = self.syntax.tokens, self.syntax.brackets.partner
        found = []
        for index, token in self._body:
            if token.text != "[" or partner[index] < 0 or self._is_operand(index - 1):
                continue
            place = partner[index] + 1
            if tokens[place].text == "(" and partner[place] > 0:
                place = partner[place] + 1
            while tokens[place].text not in ("{", ";", ")", "}", ",") and place < index + 40:
                place += 1
            if tokens[place].text == "{" and partner[place] > 0:
                found.append((place, partner[place]))
        return found

    # The text.

    @cached_property
    def _body(self) -> list[tuple[int, Token]]:
        body = self.function.body
        assert body is not None
        return list(enumerate(self.syntax.tokens[body[0] : body[1] + 1], body[0]))

    @cached_property
    def _occurrences(self) -> Mapping[str, Sequence[int]]:
        """The places of each name in the body, members of other things left out."""
        table: defaultdict[str, list[int]] = defaultdict(list)
        for (_, before), (index, token) in zip(self._body, self._body[1:], strict=False):
            if token.kind == "IDENTIFIER" and before.text not in (".", "->", "::"):
                table[token.text].append(index)
        return table

    def _uses(self, variable: Variable) -> Iterator[int]:
        """Occurrences of a variable behind its declaration that mean this variable."""
        inner = [
            v
            for v in self._declared(variable.name)
            if v.declared > variable.declared and v.declared <= variable.scope[1]
        ]
        for index in self._occurrences.get(variable.name, ()):
            if variable.declared < index <= variable.scope[1] and not any(
                v.scope[0] <= index <= v.scope[1] for v in inner
            ):
                yield index

    def _declared(self, name: str) -> tuple[Variable, ...]:
        """All declarations of parameters and local variables of a name."""
        if name not in self._variables:
            places = () if name in _NO_TYPE else self._occurrences.get(name, ())
            found = [self._declaration(name, index) for index in places]
            self._variables[name] = (
                *self._parameters.get(name, ()),
                *(variable for variable in found if variable is not None),
            )
        return self._variables[name]

    @cached_property
    def _parameters(self) -> Mapping[str, tuple[Variable, ...]]:
        """The function's parameters, as variables of its body."""
        body = self.function.body
        assert body is not None
        first, last = self.function.parameters
        found: dict[str, tuple[Variable, ...]] = {}
        for tokens in split_commas(self.syntax.tokens[first + 1 : last]):
            texts = [token.text for token in tokens]
            texts = texts[: texts.index("=")] if "=" in texts else texts
            names = [token.text for token in tokens[: len(texts)] if token.kind == "IDENTIFIER"]
            if len(names) < 2:
                continue
            is_plain = not _NOT_PLAIN & {*texts} and "[" not in texts
            found[names[-1]] = (
                Variable(
                    names[-1], body[0], body, _type_words(names[:-1]), None, _PARAMETER, is_plain
                ),
            )
        return found

    def _declaration(self, name: str, index: int) -> Variable | None:
        """declaration = type declarator ("," declarator)*; is this name a declarator's?"""
        tokens = self.syntax.tokens
        after = tokens[index + 1].text
        if after not in ("=", ";", ",", "(", "{", "[", ":", ")"):
            return None
        before = tokens[index - 1]
        is_after_type = before.kind == "IDENTIFIER" and before.text not in _NO_TYPE
        if not is_after_type and before.text not in ("*", "&", "&&", ">", ","):
            return None
        start = self._statement_start(index)
        first = self._first_declarator(start, index)
        if first is None:
            return None
        words = [token.text for token in tokens[start:first]]
        scope = self._scope(index, start)
        if scope is None:
            return None
        initialiser, opening = self._initialiser(index)
        between = [before.text] if index != first else words
        is_plain = (
            not _NOT_PLAIN & {*between, *words}
            and after not in ("[", ":", ")")
            and (opening == "" or initialiser is not None)
        )
        type_ = _type_words(words)
        return Variable(name, index, scope, type_, initialiser, opening, is_plain)

    def _first_declarator(self, start: int, index: int) -> int | None:
        """The first declarator's name in the statement, if it is a declaration that `index` is in.

        type = (NAME | "::" | "<" … ">" | "*" | "&")+.
        """
        tokens, partner = self.syntax.tokens, self.syntax.brackets.partner
        if tokens[start].kind != "IDENTIFIER" or tokens[start].text in _NO_TYPE:
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
        if last < 0 or count < 2 or last > index:
            return None
        if last == index:
            return last
        # A further declarator: behind a comma of this statement.
        place = last + 1
        while place < index:
            text = tokens[place].text
            if text in ("(", "[", "{"):
                if partner[place] < 0 or partner[place] > index:
                    return None
                place = partner[place]
            place += 1
        before = index - 1
        while tokens[before].text in ("*", "&"):
            before -= 1
        return last if tokens[before].text == "," else None

    def _template_end(self, opener: int, stop: int) -> int:
        depth = 0
        for place in range(opener, stop):
            text = self.syntax.tokens[place].text
            depth += {"<": 1, ">": -1}.get(text, 0)
            if depth == 0:
                return place
            if text in (";", "(", ")", "{", "}", "&&", "||"):
                return -1
        return -1

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
            if text in ("(", "[", "{"):
                if partner[place] < 0:
                    return None, opening
                place = partner[place]
            elif text in (",", ";"):
                return (first, place - 1), opening
            elif text in (")", "]", "}") or text in _ASSIGNMENTS:
                return None, opening
            elif text == "<" and (end := self._template_end(place, place + 40)) > 0:
                following = tokens[end + 1].text
                place = end if following in ("(", "{", "::") else place
            place += 1
        return None, opening

    def _scope(self, index: int, start: int) -> Range | None:
        """Where a variable declared at a token is visible."""
        tokens, partner = self.syntax.tokens, self.syntax.brackets.partner
        around = self._enclosing(index)
        if around < 0:
            return None
        if tokens[around].text == "{":
            return (index, partner[around]) if partner[around] > 0 else None
        head = tokens[around - 1].text
        if tokens[around].text == "(" and head in ("for", "if", "while", "switch"):
            # In the head of a statement; `if (int n = …)` is visible in the `else`, too.
            return (index, self._statement_end(around - 1))
        return None

    def _enclosing(self, index: int) -> int:
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

    def _statement_start(self, index: int) -> int:
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
                if before == ")" and tokens[opener - 1].text in _CONTROL:
                    return place
                place = opener
                continue
            place -= 1
        return place

    def _statement_end(self, index: int) -> int:
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


@dataclass(frozen=True)
class _Touch:
    """A change of a variable, or of one component, to some tokens (None: it is not known).

    `escapes`: from here on it may change without its name being seen.
    """

    value: Range | None = None
    component: str | None = None
    escapes: bool = False


_ESCAPE = _Touch(escapes=True)


def _identity(variable: Variable) -> str:
    return f"{variable.name}@{variable.declared}"


def _type_words(words: Sequence[str]) -> tuple[str, ...]:
    return tuple(word for word in words if word not in ("const", "constexpr", "std", "::"))


def _is_number_type(words: Sequence[str]) -> bool:
    return words[-1:] == ("dim3",) or basic_size(words) is not None
