"""Kernels to which a pointer may lead. Takes a unit and a launch, gives kernels by their names.

    template <class F> void run(F kernel, int n, float *x) { kernel<<<n, 256>>>(n, x); }

Whatever names a kernel other than to launch it may give its address to a variable. No assignment is
followed: the rewritten launch compares addresses, and another kernel is launched as it was. So what
is found here need not be all, and need not be right; but each name has to mean one kernel, and has
to be declared before the launch. Where the types of parameters differ for certain, the kernel is
left out.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, takewhile

from cutune.source.launches.callees import NUMBER, Callees, macros_of
from cutune.source.launches.shown_launches import Shown
from cutune.source.program import Kernel
from cutune.source.syntax.parse import Launch, Syntax, template_closers
from cutune.source.syntax.tokens import begin_of, word_set
from cutune.source.unit.unit import Unit, split_commas
from cutune.toolchain.kernel_names import demangled, is_qualified

ByName = Mapping[str, Sequence[Kernel]]
Types = list[list[str]]
"""The words of types, perhaps with names of parameters."""
#: Words of types that mean the same everywhere.
_BUILT_IN = word_set("bool char double float int long short signed unsigned void")
_OF_TYPES = _BUILT_IN | {"const", "*"}
#: What stands around the name of a kernel that is a value.
_BEFORE = frozenset({"(", ",", "=", "{", "&", "?", ":", "::", ")", "return"})
_BEHIND = frozenset({",", ")", ";", "}", ":"})
#: Template arguments are no longer.
_MOST_TOKENS = 100
#: `unsigned` is `unsigned int`.
_IMPLIED = frozenset({"int", "signed"})
#: Of a kernel that is weak another source may have another definition.
_WEAK = frozenset({"weak", "__weak__"})
_PRAGMA_WEAK = re.compile(r"\b(?:_P|p)ragma\b.*?\bweak\b")


@dataclass(frozen=True)
class Pointed:
    """A kernel to which a pointer may lead, or an instance of a template.

    `callee`: its name at the launch, to be looked up by `::`. `entries`: as it is compiled.
    """

    kernel: str
    callee: str
    entries: tuple[str, ...]


@dataclass(frozen=True)
class _Mention:
    """Where a kernel is named.

    `arguments`: the first ones of the template, as far as they mean the same everywhere. `call`:
    the function of which it is an argument.
    """

    kernel: str
    arguments: tuple[str, ...]
    call: str


@dataclass(frozen=True)
class PointedKernels:
    """The kernels of one unit that pointers may lead to."""

    unit: Unit
    kernels: ByName
    callees: Callees

    def of(self, launch: Launch, shown: Sequence[Shown], is_main: bool) -> list[Pointed]:
        """The kernels to which the callee of a launch may lead, in the order of their names.

        `shown`: the launch as it is compiled. `is_main`: does it stand in no header?
        """
        function = launch.function
        if function is None or not shown or not self.unit.is_expanded:
            return []
        named = (one for one in self._mentions if self._may_come(one, function.name))
        found = dict.fromkeys(pointed for one in named for pointed in self._instances(one))

        def may_be(kernel: Kernel) -> bool:
            return all(
                self._may_be(kernel, *place) and self._is_before(kernel.name, *place, is_main)
                for place in shown
            )

        return [one for one in found if may_be(self._certain[one.kernel])]

    def is_pointer(self, name: str) -> bool:
        """Does the user's text declare a pointer to functions by that name?"""
        return name in self._named or any(
            token.text == name and before.text in self._named
            for part in self.unit.parts
            for before, token in pairwise(part.syntax.tokens)
        )

    @cached_property
    def _named(self) -> frozenset[str]:
        """Pointers to functions, and other names of their types."""
        parts = self.unit.parts
        return frozenset(name for part in parts for name, _ in _named_types(part.syntax))

    def _instances(self, one: _Mention) -> Iterator[Pointed]:
        """The kernel, or those instances of the template that are compiled."""
        kernel = self._certain[one.kernel]
        name = "::".join([*(kernel.scope or ()), kernel.name])
        if not kernel.template_parameters and kernel.entries:
            yield Pointed(kernel.name, name, kernel.entries)
        if not kernel.template_parameters:
            return
        shown = zip(demangled([*kernel.entries], parameters=True), kernel.entries, strict=True)
        for text, entry in shown:
            found = re.search(rf"\b{re.escape(kernel.name)}<", text)
            given = _arguments_in(text[found.end() :]) if found is not None else None
            pairs = zip(given or (), one.arguments, strict=False)
            if given is not None and all(_in_short(a) == _in_short(b) for a, b in pairs):
                yield Pointed(kernel.name, f"{name}<{', '.join(given)}>", (entry,))

    @cached_property
    def _certain(self) -> Mapping[str, Kernel]:
        """Kernels of this unit whose name means one function, and no macro."""
        sources = self.unit.unsteady.sources
        tokens = (token.text for part in self.unit.parts for token in part.syntax.tokens)
        is_weak = any(_PRAGMA_WEAK.search(source.text) for source in sources)
        if is_weak or not _WEAK.isdisjoint(tokens):
            return {}
        macros = macros_of(sources)
        return {
            name: known[0]
            for name, known in self.kernels.items()
            if len(known) == 1
            and not is_qualified(name)
            and known[0].elsewhere is None
            and known[0].scope is not None
            and macros.isdisjoint([name, *known[0].scope])
            and self.callees.is_one_function(name, known[0].scope)
        }

    @cached_property
    def _mentions(self) -> Sequence[_Mention]:
        found = (one for part in self.unit.parts for one in self._mentioned(part.syntax))
        return sorted({*found}, key=lambda one: (one.kernel, one.arguments, one.call))

    def _mentioned(self, syntax: Syntax) -> Iterator[_Mention]:
        """Where kernels are named, and neither declared nor launched."""
        tokens, known = syntax.tokens, self._certain
        for index, token in enumerate(tokens):
            if token.text not in known or tokens[index - 1].text not in _BEFORE:
                continue
            arguments, behind = _arguments(syntax, index)
            call = _call_around(syntax, index)
            is_value = behind < len(tokens) and tokens[behind].text in _BEHIND
            if is_value and not call.startswith("cuda"):
                yield _Mention(token.text, arguments, call)

    def _may_come(self, one: _Mention, function: str) -> bool:
        """May a kernel that is named there be launched in this function?

        Not where it is given to another one, which does not name this one.
        """
        bodies = self.unit.functions.get(one.call, ())
        return (
            one.call == function
            or not bodies
            or any(
                token.text == function
                for part, called in bodies
                for token in part.syntax.part(called.braces)
            )
        )

    def _may_be(self, kernel: Kernel, syntax: Syntax, launch: Launch) -> bool:
        """May the pointer have the type of the kernel?"""
        types = self._types(syntax, launch)
        if types is None:
            texts = [[t.text for t in syntax.part(one)] for one in launch.arguments]
            is_pack = any("..." in words for words in texts)
            return is_pack or len(texts) == len(kernel.parameters)
        if len(types) != len(kernel.parameters):
            return False
        own = (re.findall(r"\w+|[^\w\s]", one.type) for one in kernel.parameters)
        pairs = (map(_plain_type, pair) for pair in zip(types, own, strict=True))
        return all(None in (one, other) or one == other for one, other in pairs)

    def _types(self, syntax: Syntax, launch: Launch) -> Types | None:
        """The types of a pointer's parameters; None where they are not seen."""
        (first, last), function = launch.callee, launch.function
        if first != last or function is None:
            return None
        tokens, name = syntax.tokens, syntax.tokens[first].text
        for index in range(function.first + 1, first):
            if tokens[index].text == name and tokens[index - 1].text != "*":
                return self._pointers.get(tokens[index - 1].text)  # `type name`
            if tokens[index].text == name:  # `void (*name)(int)`
                is_behind = [one.text for one in tokens[index + 1 : index + 3]] == [")", "("]
                return _types_behind(syntax, index + 2) if is_behind else None
        return None

    @cached_property
    def _pointers(self) -> Mapping[str, Types]:
        """The parameters' types of what is named so, where all of that name have the same."""
        found: dict[str, Types | None] = {}
        for part in self.unit.parts:
            for name, types in _named_types(part.syntax):
                found[name] = types if found.get(name, types) == types else None
        return {name: types for name, types in found.items() if types is not None}

    def _is_before(self, name: str, syntax: Syntax, launch: Launch, is_main: bool) -> bool:
        """Is the kernel declared before the launch, perhaps in a header that is included there?"""
        place = launch.callee[0]
        is_last = is_main and not any(
            one.name == "include" and one.index > place for one in syntax.directives
        )
        declared = (
            (part.syntax, self.callees.declared_at(part.syntax, name)) for part in self.unit.parts
        )
        return any(
            is_last if part is not syntax else min(places) < place
            for part, places in declared
            if places
        )


def _arguments(syntax: Syntax, index: int) -> tuple[tuple[str, ...], int]:
    """The template arguments behind a name that are known, and the token behind them all."""
    tokens, begin = syntax.tokens, index + 1
    if begin >= len(tokens) or tokens[begin].text != "<":
        return (), begin
    last = min(len(tokens) - 1, begin + _MOST_TOKENS)
    closer = template_closers(tokens, syntax.brackets.partner, begin, last).get(begin)
    if closer is None:
        return (), begin
    given = (" ".join(t.text for t in one) for one in split_commas(tokens[begin + 1 : closer]))
    return tuple(takewhile(_is_plain, given)), closer + 1


def _arguments_in(text: str) -> tuple[str, ...] | None:
    """argument ("," argument)* ">"; None where one means something else in another place."""
    given = tuple(one.strip() for one in text.partition(">")[0].split(","))
    return given if all(map(_is_plain, given)) else None


def _is_plain(argument: str) -> bool:
    """Is it a number, or a type of the language?"""
    is_type = _OF_TYPES.issuperset(re.findall(r"\w+|[^\w\s]", argument))
    is_number = NUMBER.fullmatch(argument.removeprefix("-")) is not None
    return is_type or is_number or argument in ("true", "false")


def _in_short(argument: str) -> str:
    """Spell `16` and `16u` alike, and `unsigned` and `unsigned int`."""
    words = [word for word in argument.split() if word not in _IMPLIED]
    return re.sub(r"(?<=\d)[uUlLzZ]+$", "", " ".join(words))


def _call_around(syntax: Syntax, index: int) -> str:
    """The function of which a token is an argument; "" where there is none."""
    opener = syntax.innermost(index)
    if opener <= 0 or syntax.tokens[opener].text != "(":
        return ""
    before = syntax.tokens[opener - 1]
    return before.text if before.kind == "IDENTIFIER" else ""


def _types_behind(syntax: Syntax, index: int) -> Types | None:
    """The types of parameters whose list opens at a token: "(" (type NAME? ("," …)*)? ")"."""
    closer = syntax.brackets.partner[index]
    if closer <= index:
        return None
    given = ([t.text for t in one] for one in split_commas(syntax.tokens[index + 1 : closer]))
    return [one for one in given if one != ["void"]]


def _named_types(syntax: Syntax) -> Iterator[tuple[str, Types | None]]:
    """("(" "*" NAME ")" "(" list ")" | "using" NAME "=" type "(" "*" ")" "(" list ")")."""
    tokens = syntax.tokens
    for index, token in enumerate(tokens[:-4]):
        if token.text != "(" or tokens[index + 1].text != "*":
            continue
        words = [one.text for one in tokens[index + 2 : index + 5]]
        if words[1:] == [")", "("]:
            yield words[0], _types_behind(syntax, index + 4)
        elif words[:2] == [")", "("]:
            begin = begin_of(tokens, index)
            if [one.text for one in tokens[begin : begin + 3 : 2]] == ["using", "="]:
                yield tokens[begin + 1].text, _types_behind(syntax, index + 3)


def _plain_type(words: Sequence[str]) -> Counter[str] | None:
    """Words that make a parameter's type, if it is one of the language; its name left out."""
    known = Counter("*" if word == "[" else word for word in words)
    if _BUILT_IN.isdisjoint(known) or any(re.fullmatch(r"[^\w*\]]+", word) for word in known):
        return None
    if "*" not in known:
        del known["const"]
    return Counter({word: n for word, n in known.items() if word in _OF_TYPES - _IMPLIED})
