"""Reaching definitions. Takes a host function, gives the one value of a variable at a place.

Works on tokens, so that no construct of C++ in between can hide a change. The variable is that of
the innermost declaration around the place. Its constructor or initialiser counts, and assignments,
whole or to `.x`, before the place or anywhere in a loop around both. The value is not known where
two of them may reach the place, or where its address is taken, it may be bound to a reference, or
it is a parameter.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import takewhile

from cutune.source.configuration.host_scopes import (
    ASSIGNMENTS,
    PARAMETER,
    HostFunction,
    HostVariable,
)
from cutune.source.configuration.host_statements import CONTROL, NO_TYPE
from cutune.source.host_formula import basic_size
from cutune.source.syntax.parse import Range
from cutune.source.syntax.tokens import word_set
from cutune.source.unit.unit import Unit, split_commas

#: Their constructors take sizes by value.
_CONTAINERS = frozenset({"vector", "device_vector", "host_vector", "string"})
#: Functions of <math.h>, most of which are templates, too, in C++.
MATHEMATICAL = word_set(
    """
    abs acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp2
    expm1 fabs fdim floor fma fmax fmin fmod fpclassify frexp hypot ilogb isfinite isgreater
    isgreaterequal isinf isless islessequal islessgreater isnan isnormal isunordered ldexp
    lgamma llrint llround log log10 log1p log2 logb lrint lround modf nearbyint nextafter
    nexttoward pow remainder remquo rint round scalbln scalbn signbit sin sinh sqrt tan tanh
    tgamma trunc
    """
)
#: Other functions of the host that take their numbers by value.
_BY_VALUE = word_set(
    """
    printf fprintf sprintf snprintf malloc calloc realloc free exit srand memset memcpy dim3 sizeof
    min max assert static_cast reinterpret_cast const_cast int unsigned float double size_t long
    exit div_ceil ceil_div puts atoi sleep usleep labs llabs div move forward get make_pair
    make_tuple
    """
)
_VECTOR = re.compile(r"make_\w+[1-4]")


@dataclass(frozen=True)
class ReachingDefinition:
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


@dataclass(frozen=True)
class Reaching(HostFunction):
    """The definitions that reach the places of one function."""

    unit: Unit
    _known_changes: dict[tuple[str, int, str | None], _Changes] = field(
        default_factory=dict, kw_only=True
    )

    def reaching(
        self, variable: HostVariable, at: int, component: str | None = None
    ) -> ReachingDefinition | None:
        """The definition of a variable, or of one component of a `dim3`, that reaches a token."""
        if not variable.is_plain or not self.same_branch(variable.declared, at):
            return None
        if variable.is_constant:
            return None if self._is_redeclared(variable, at) else self._first_definition(variable)
        is_hidden = self._has_jumps or variable.name in self._hidden_names
        if is_hidden or self._is_captured(variable, at):
            return None
        changes = self._changes(variable, component)
        if self._may_change_unseen(variable, changes, at, at):
            return None
        last, found = variable.declared, self._first_definition(variable)
        number = bisect_left(changes.places, at)
        if number > 0:
            # If it certainly runs, nothing before it matters.
            last, touch = changes.places[number - 1], changes.touches[number - 1]
            is_whole = touch.component in (None, component)
            if touch.value is None or not is_whole or not self._dominates(last, at):
                return None
            is_component = touch.component is not None
            found = ReachingDefinition(
                variable.identity, last, touch.value, is_component=is_component
            )
        is_changed_later = self._runs_again(last, at) >= changes.next_from(at)
        return None if is_changed_later else found

    def stays(self, variable: HostVariable, first: int, last: int) -> bool:
        """Is it known that nothing changes a variable between two tokens?"""
        if not variable.is_plain:
            return False
        if variable.is_constant:
            return not self._is_redeclared(variable, first)
        if variable.name in self._hidden_names or self._is_captured(variable, first):
            return False
        changes = self._changes(variable, None)
        is_unseen = self._may_change_unseen(variable, changes, first, last)
        return not is_unseen and changes.next_from(first) >= last

    def _may_change_unseen(
        self, variable: HostVariable, changes: _Changes, first: int, last: int
    ) -> bool:
        """Has a variable escaped before `last`, or in a loop that goes on to `first`?

        What escapes stays escaped, whatever defines it next.
        """
        is_around = self._runs_again(variable.declared, first) >= changes.first_escape
        return is_around or changes.first_escape < last

    def _changes(self, variable: HostVariable, component: str | None) -> _Changes:
        key = (variable.name, variable.declared, component)
        if key not in self._known_changes:
            touches = {index: self._touches(index) for index in self.uses(variable)}
            changes = {
                index: touch
                for index, touch in touches.items()
                if touch is not None and (component is None or touch.component in (None, component))
            }
            escapes = (index for index, touch in changes.items() if touch.escapes)
            first_escape = next(escapes, math.inf)
            self._known_changes[key] = _Changes([*changes], [*changes.values()], first_escape)
        return self._known_changes[key]

    def _first_definition(self, variable: HostVariable) -> ReachingDefinition | None:
        name, at = variable.identity, variable.declared
        if variable.opening == PARAMETER:
            return ReachingDefinition(name, at, None)
        if variable.initialiser is not None:
            return ReachingDefinition(name, at, variable.initialiser, variable.opening != "=")
        if variable.type[-1:] == ("dim3",) and not variable.opening:
            return ReachingDefinition(name, at, (at + 1, at), True)
        return None

    def _touches(self, index: int) -> _Touch | None:
        """The change that an occurrence of the name may make; None for a mere use."""
        tokens = self.syntax.tokens
        component, last = None, index
        if tokens[index + 1].text == "." and index + 3 < len(tokens):
            component, last = tokens[index + 2].text, index + 2
        before, after = tokens[index - 1].text, tokens[last + 1].text
        if after in ASSIGNMENTS:
            return _Touch(self._right_side(last + 2) if after == "=" else None, component)
        if before in ("++", "--") or after in ("++", "--"):
            return _Touch(None, component)
        # A method, or a call through a member.
        is_call = component is not None and after == "("
        is_address = before == "&" and not self.is_operand(index - 2)
        if is_call or is_address or after in ("[", "->"):
            return _ESCAPE
        if before == ">" and tokens[index - 2].text == ">":
            # `stream >> name`, or a shift.
            return _Touch(None, component)
        is_bound = self._binds_reference(index) or self._may_be_referenced(index, last)
        return _ESCAPE if is_bound else None

    def _right_side(self, first: int) -> Range | None:
        """expression ";" of an assignment that is a statement of its own."""
        for index in self.syntax.outer(first):
            text = self.syntax.tokens[index].text
            if text == ";":
                return (first, index - 1)
            if text in (")", "]", "}", ",") or text in ASSIGNMENTS:
                return None
        return None

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
        tokens = self.syntax.tokens
        before, after = tokens[index - 1].text, tokens[last + 1].text
        if before not in (",", "(", "{") or after not in (",", ")", "}"):
            return False
        opener = self.syntax.innermost(index)
        ahead = takewhile(lambda place: place < index, self.syntax.outer(opener + 1))
        earlier = [tokens[place] for place in ahead]
        if any(one.text == ";" or one.kind == "LAUNCH_OPEN" for one in earlier):
            # A launch takes its configuration by value.
            return False
        callee = tokens[opener - 1]
        if callee.text == ">":
            # A launch or a template: arguments of kernels are copies.
            return [one.text for one in tokens[opener - 3 : opener]] != [">", ">", ">"]
        if callee.kind != "IDENTIFIER" or callee.text in CONTROL or callee.text in NO_TYPE:
            return tokens[opener].text == "[" or callee.text in (")", "]")
        position = sum(one.text == "," for one in earlier)
        return not self._takes_by_value(callee.text, position, opener)

    def _takes_by_value(self, name: str, position: int, opener: int) -> bool:
        if not {name, name.removesuffix("f")}.isdisjoint(MATHEMATICAL | _BY_VALUE):
            return True
        if name.startswith("cu") or _VECTOR.fullmatch(name):
            return True
        if name in self.unit.macros.definitions:
            return self.unit.macros.is_formula(name)
        before = self.syntax.tokens[opener - 2].text
        if before in (".", "->"):
            return False
        if self._is_declared_here(opener - 1):
            # `int n(m);` and `dim3 grid(n, m);`
            return True
        namesakes = self.unit.functions.get(name, ())
        for part, function in namesakes:
            first, last = function.parameters
            parameters = list(split_commas(part.syntax.tokens[first + 1 : last]))
            words = {token.text for one in parameters[position : position + 1] for token in one}
            if not words or not words.isdisjoint(("&", "&&")):
                return False
        return bool(namesakes)

    def _is_declared_here(self, index: int) -> bool:
        name = self.syntax.tokens[index].text
        if index not in self.occurrences[name]:
            return False
        variable = self.declaration(name, index)
        if variable is None or not variable.is_plain:
            return False
        is_number = variable.type[-1:] == ("dim3",) or basic_size(variable.type) is not None
        return is_number or not _CONTAINERS.isdisjoint(variable.type)

    def _dominates(self, index: int, at: int) -> bool:
        if not self.same_branch(index, at) or self.statement_start(index) != index:
            return False
        tokens = self.syntax.tokens
        block = self.syntax.innermost(index)
        if tokens[index - 1].text not in (";", "{", "}") or tokens[block].text != "{":
            return False
        is_around = 0 <= block < at < self.syntax.brackets.partner[block]
        return is_around and not self.has_label(index, at, block)

    def _runs_again(self, definition: int, at: int) -> int:
        """The last token of those loops around a place that do not hold the definition."""
        around = [(first, last) for first, last in self.loops if first <= at <= last]
        return max((last for first, last in around if not first < definition <= last), default=-1)

    def _is_captured(self, variable: HostVariable, at: int) -> bool:
        for _, first, last in self.lambdas:
            if first <= variable.declared <= last:
                continue
            if first <= at <= last:
                return True
            changes = self._changes(variable, None)
            if changes.next_from(first) <= last:
                return True
        return False

    def _is_redeclared(self, variable: HostVariable, at: int) -> bool:
        tokens = self.syntax.tokens
        return any(
            first <= at <= last
            and any(token.text == variable.name for token in tokens[introducer:first])
            for introducer, first, last in self.lambdas
            if not first <= variable.declared <= last
        )

    @cached_property
    def _has_jumps(self) -> bool:
        return any(token.text in ("goto", "setjmp") for _, token in self.body)

    @cached_property
    def _hidden_names(self) -> frozenset[str]:
        found: set[str] = set()
        macros = (m for same in self.unit.macros.definitions.values() for m in same)
        for macro in (*self.syntax.macros, *macros):
            texts = {token.text for token in macro.body}
            if texts & (ASSIGNMENTS | {"++", "--", "&"}):
                found |= texts - {*(macro.parameters or ())}
        return frozenset(found)


@dataclass(frozen=True)
class _Touch:
    """A change to some tokens (None: not known); `escapes`: later ones may be unseen."""

    value: Range | None = None
    component: str | None = None
    escapes: bool = False


_ESCAPE = _Touch(escapes=True)


@dataclass(frozen=True)
class _Changes:
    """The places where a variable may change, in order, and how.

    `first_escape` is the first place from which on it may change unseen.
    """

    places: Sequence[int]
    touches: Sequence[_Touch]
    first_escape: float

    def next_from(self, place: int) -> float:
        """The first change at a place or behind it."""
        number = bisect_left(self.places, place)
        return self.places[number] if number < len(self.places) else math.inf
