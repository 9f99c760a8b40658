"""Code that runs without a visible call. Takes a `Unit`, gives the functions that such code is in.

Operators, conversions, constructors with their initialisers, destructors, and what initialises
members. A call of `operator()` is visible: it is that of a function value.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from cutune.analysis import known
from cutune.analysis.integers import ALIASES, QUALIFIERS
from cutune.analysis.names import BUILTIN_TYPES, NO_TOKEN
from cutune.analysis.normalise import OBJECT_TYPES
from cutune.analysis.unit import FunctionText, Part, Unit, outside_bodies
from cutune.analysis.words import word_set
from cutune.functions import Function
from cutune.program import Impurity

_HOST_WORDS = (
    QUALIFIERS
    | BUILTIN_TYPES
    | ALIASES.keys()
    | word_set(
        """
        __host__ __inline__ __forceinline__ explicit virtual friend operator template class std
        ostream istream string vector
        """
    )
)
_CLASSES = frozenset({"class", "struct", "union"})
_BEFORE_NAMES = frozenset({"*", "&", ">", ";", "}", "::"})
_VISIBLE = frozenset({"()", "new", "delete", "new[]", "delete[]"})
#: Operators that change their first operand.
_ASSIGNMENTS = word_set("= += -= *= /= %= &= |= ^= <<= >>= ++ --")


class Hidden(NamedTuple):
    """What the functions do together that run without being called by name."""

    #: Which of them may depend on the block.
    refusal: str | None = None
    #: Do they touch memory other than the object that they are used with?
    has_effects: bool = False
    #: Does one that looks like a read (`a[i]`, `*a`, `a->m`) write memory?
    writes_where_read: bool = False

    def joined(
        self, text: FunctionText, impurity: Impurity | None, has_effects: bool, writes: bool
    ) -> Hidden:
        """With one function more."""
        refusal = f"'{text.name}' ({impurity.message})" if impurity is not None else None
        is_accessor = _is_accessor(text)
        return Hidden(
            self.refusal or refusal,
            self.has_effects or (has_effects and not is_accessor),
            self.writes_where_read or (writes and is_accessor),
        )


def may_handle_objects(unit: Unit, text: FunctionText) -> bool:
    """Does the text name a type, or a variable, that may be of a class?"""
    names = unit.types | unit.device_variables | text.type_parameters | OBJECT_TYPES | {"auto"}
    return any(
        token.text in names
        for tokens in (text.head, *text.parameters, text.body)
        for token in tokens
    )


def hidden_functions(unit: Unit) -> Iterator[tuple[Part, Function]]:
    """The functions that may run on the device without being called by name."""
    initialising = set(_called_in_classes(unit)) & unit.functions.keys()
    for name, found in unit.functions.items():
        for part, function in found:
            is_named = is_hidden(unit, name) or name in initialising
            if is_named and not function.is_kernel:
                text = unit.text(part, function)
                if operator_of(text) not in _VISIBLE and _may_be_device_code(unit, text):
                    yield part, function


def initialiser(unit: Unit) -> str | None:
    """A member's initialiser that names what no kernel may use."""
    for name in _called_in_classes(unit):
        if known.refusal(name) is not None or known.is_atomic(name):
            return f"a member's initialiser that calls '{name}'"
    return None


def is_hidden(unit: Unit, name: str) -> bool:
    """Is it the name of an operator, a constructor or a destructor?"""
    return name == "operator" or name.startswith("~") or name in unit.class_names


def operator_of(text: FunctionText) -> str:
    """The operator, for instance `+=`, or the type converted to; empty for other functions."""
    words = [token.text for token in text.head]
    return "".join(words[words.index("operator") + 1 :]) if "operator" in words else ""


def changes_its_object(text: FunctionText) -> bool:
    """Does whoever uses it own the object (or first operand), or count it as written?"""
    return text.name != "operator" or operator_of(text) in _ASSIGNMENTS


def _is_accessor(text: FunctionText) -> bool:
    """Is it an operator whose use counts as an access of memory anyway?"""
    operator = operator_of(text)
    return operator in ("->", "[]") or (operator == "*" and not text.parameters)


def _may_be_device_code(unit: Unit, text: FunctionText) -> bool:
    words = {token.text for token in text.head if token.kind == "IDENTIFIER"}
    if words & {"__device__", "constexpr"}:
        return True
    # A name that nobody explains may be a macro that says so.
    own = text.name.lstrip("~")
    explained = _HOST_WORDS | unit.types | {own, *text.template_parameters}
    return bool(words - explained) and not unit.is_expanded


def _called_in_classes(unit: Unit) -> Iterator[str]:
    """NAME "(" in the initialisers of members (a declaration has a type before the name)."""
    for part in unit.parts:
        tokens = list(outside_bodies(part.syntax))
        depth, classes, is_class = 0, list[int](), False
        for index in range(len(tokens) - 1):
            text = tokens[index].text
            is_class = text in _CLASSES or (is_class and text not in (";", "}", "("))
            if text == "{":
                depth += 1
                if is_class:
                    classes.append(depth)
                is_class = False
            elif text == "}":
                if classes and classes[-1] == depth:
                    classes.pop()
                depth -= 1
            before = tokens[index - 1] if index else NO_TOKEN
            declares = before.kind == "IDENTIFIER" or before.text in _BEFORE_NAMES
            declares = declares or (before.text == "~" and text in unit.class_names)
            is_called = tokens[index].kind == "IDENTIFIER" and tokens[index + 1].text == "("
            if classes and is_called and not declares:
                yield text
