"""Does the name of a kernel say which one is launched? Takes a unit, judges launches.

Where it does, the address identifies the kernel as a call does: no overload depends on the
arguments, those that are left out are numbers, and at most the types of template parameters are
deduced.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any

from cutune.core.codes import Code
from cutune.core.diagnostics import Diagnostic
from cutune.core.source import Source
from cutune.source.configuration.definitions import MATHEMATICAL
from cutune.source.launches.shown_launches import Shown
from cutune.source.program import Deduced, DeducedFrom, Kernel, KernelCopy
from cutune.source.syntax.directives import COMMENT
from cutune.source.syntax.parse import Launch, SourceFunction, Syntax
from cutune.source.syntax.tokens import Token, begin_of
from cutune.source.unit.kernels import parameter_of
from cutune.source.unit.unit import (
    FunctionText,
    Unit,
    UnitPart,
    outside_bodies,
    scope_around,
    split_commas,
    until_semicolon,
)
from cutune.toolchain.kernel_names import is_qualified, plain_name

_PLAINLY = "written as '{kernel}<<<grid, block>>>(…)', without attributes, it can be judged"
_TOGETHER = "its blocks wait for one another, so no other grid would do"
#: Functions that launch a kernel → what is to be said of such a launch of `{kernel}`.
_FUNCTIONS = {
    "cudaLaunchKernel": _PLAINLY,
    "cudaLaunchKernelEx": _PLAINLY,
    "cudaLaunchKernelExC": _PLAINLY,
    "cudaLaunchCooperativeKernel": _TOGETHER,
}
#: Functions of NVRTC and of the driver that take kernels which no compiler of the program sees.
_AT_RUN_TIME = frozenset(
    {
        "nvrtcCompileProgram",
        "cuModuleLoad",
        "cuModuleLoadData",
        "cuModuleLoadDataEx",
        "cuModuleLoadFatBinary",
        "cuLibraryLoadData",
        "cuLibraryLoadFromFile",
        "cuLaunchKernel",
        "cuLaunchKernelEx",
    }
)


def callee_of_copy(callee: str, kernel: str, copy: KernelCopy) -> str | None:
    """`ns::k<4>` with the namespace of the copy before `k`; None where that is not written."""
    return callee_named(callee, kernel, f"{copy.namespace}::{kernel}")


def selector_name(kernel: str) -> str:
    """Return the name of the selectors of all kernels of a name."""
    return f"cutune_which_{kernel}"


def callee_named(callee: str, kernel: str, name: str) -> str | None:
    """`ns::k<4>` with another name in place of `k`; None where that is not written."""
    qualified, bracket, arguments = callee.partition("<")
    found = re.fullmatch(rf"((?:.*\W)?){re.escape(kernel)}(\s*)", qualified, re.DOTALL)
    return f"{found[1]}{name}{found[2]}{bracket}{arguments}" if found is not None else None


def called_launches(syntax: Syntax, kernels: Container[str]) -> Iterator[Diagnostic]:
    """Return a note for each kernel that a function of the runtime launches, once for each."""
    tokens, told = syntax.tokens, set()
    for index, token in enumerate(tokens[:-1]):
        if token.text not in _FUNCTIONS or tokens[index + 1].text != "(":
            continue
        end = syntax.brackets.partner[index + 1]
        named = (t.text for t in tokens[index + 2 : end] if t.text in kernels)
        kernel = next(named, None)
        if kernel is None or (token.text, kernel) in told:
            continue
        told.add((token.text, kernel))
        place, function = (syntax.source, syntax.span((index, end))), token.text
        advice = _FUNCTIONS[function].format(kernel=kernel)
        about: dict[str, Any] = {"kernel": kernel, "function": function, "advice": advice}
        yield Diagnostic.at(Code.LAUNCHED_BY_CALL, *place, **about)


def loaded_kernels(syntax: Syntax) -> Iterator[Diagnostic]:
    """Yield a note at the first call that compiles, loads or launches a kernel by the driver."""
    for index, (token, following) in enumerate(pairwise(syntax.tokens)):
        if token.text in _AT_RUN_TIME and following.text == "(":
            place = (syntax.source, syntax.span((index, syntax.brackets.partner[index + 1])))
            yield Diagnostic.at(Code.LOADED_KERNEL, *place, function=token.text)
            return


_NAME = re.compile(r"[A-Za-z_]\w*")
#: What may stand between words, spelled in any way.
_SPACE = rf"(?:[ \t\f\v]|{COMMENT}|\\\r?\n)"
_MACRO = re.compile(rf"(?:#|%:){_SPACE}*define{_SPACE}+(\w+)")
#: Line markers name files, which may be called as kernels are.
_MARKER = re.compile(r"^#[^\n]*", re.MULTILINE)


def certain_kernels(
    unit: Unit, expanded: str, written: Iterable[Syntax], sources: Iterable[Source]
) -> frozenset[str]:
    """Names that can only mean one kernel; `written`: files with launches, before expansion."""
    defined = Counter(k.name for part in unit.parts for k in part.syntax.kernels)
    launched = Counter(_launched(part.syntax for part in unit.parts))
    named = Counter(_launched(written))
    text = Counter(_NAME.findall(_MARKER.sub("", expanded)))
    return frozenset(
        name
        for name, count in defined.items()
        if count == 1 and text[name] == 1 + launched[name] and launched[name] == named[name]
    ).difference(macros_of(sources))


def macros_of(sources: Iterable[Source]) -> frozenset[str]:
    """The names that sources define as macros, wherever."""
    return frozenset(name for source in sources for name in _MACRO.findall(source.text))


def _launched(files: Iterable[Syntax]) -> Iterable[str]:
    return (last_name(syntax.part(launch.callee)) for syntax in files for launch in syntax.launches)


def last_name(callee: Iterable[Token]) -> str:
    """The last name of a callee, template arguments and indices left out."""
    name, depth = "", 0
    for token in callee:
        depth += {"<": 1, "[": 1, ">": -1, "]": -1}.get(token.text, 0)
        if depth == 0 and token.kind == "IDENTIFIER":
            name = token.text
    return name


#: A number of the language, with a suffix of it.
NUMBER = re.compile(
    r"(?:0[xX][\da-fA-F'.]+(?:[pP][+-]?[\d']+)?|0[bB][01']+|[\d'.]+(?:[eE][+-]?[\d']+)?)"
    r"(?:[uUlLzZ]{1,3}|[fF])?"
)
#: `__null` is what NULL stands for.
_CONSTANTS = frozenset({"true", "false", "nullptr", "__null"})
_RESTRICT = frozenset({"__restrict__", "__restrict", "restrict"})


def _is_plain(tokens: Sequence[Token]) -> bool:
    """May the argument stand where it is not evaluated? No list has a type, no lambda may."""
    texts = [token.text for token in tokens]
    return "{" not in texts and not any(begins_lambda(tokens, i) for i in range(len(tokens)))


def begins_lambda(tokens: Sequence[Token], index: int) -> bool:
    """Does a `[` stand there that subscripts nothing?"""
    before = tokens[index - 1] if index else None
    is_operand = before is not None and (before.kind == "IDENTIFIER" or before.text in ("]", ")"))
    return tokens[index].text == "[" and not is_operand


def _kind(texts: Sequence[str], name: str) -> DeducedFrom | None:
    """How a parameter gives T: ("const"? T | T "const") "*"? NAME?."""
    if name not in texts or "=" in texts:
        return None
    rest = [text for text in texts if text != "const" and text not in _RESTRICT]
    star = texts.index("*") if "*" in texts else len(texts)
    is_pointer = rest[1:2] == ["*"]
    words = rest[2:] if is_pointer else rest[1:]
    if rest[0] != name or len(words) > 1 or not all(word.isidentifier() for word in words):
        return None
    if not is_pointer:
        return DeducedFrom.VALUE
    return DeducedFrom.CONSTANT if "const" in texts[:star] else DeducedFrom.POINTEE


@dataclass(frozen=True)
class KernelReference:
    """A kernel's name in a launch. `is_global`: it has to be looked up with `::`.

    `by_copy`: other functions share it, so that the type of the kernel's copy has to decide.
    `filled`: the default arguments of a launch that leaves some out.
    """

    is_global: bool
    #: Template arguments behind those that are written.
    deduced: tuple[Deduced, ...]
    by_copy: bool = False
    filled: tuple[str, ...] = ()


@dataclass(frozen=True)
class Signature:
    """One declaration of a name; `scope`: the namespaces around it, None where that is a class.

    `defaults`: of each parameter, empty where it has none.
    """

    scope: tuple[str, ...] | None
    types: tuple[str, ...]
    defaults: tuple[tuple[str, ...], ...]
    is_template: bool
    is_variadic: bool

    @property
    def key(self) -> tuple[tuple[str, ...], bool]:
        """What tells it from others of its name."""
        return self.types, self.is_template


@dataclass(frozen=True)
class Callees:
    """How the launches of one unit name their kernels."""

    unit: Unit
    _known: dict[str, frozenset[Signature]] = field(default_factory=dict)

    def of(
        self, syntax: Syntax, launch: Launch, kernel: Kernel, shown: Sequence[Shown] = ()
    ) -> KernelReference | None:
        """How the address of the callee names the kernel; None where it may be another.

        `shown`: the launch with all macros expanded, where it is known, as often as it is there.
        """
        name = plain_name(kernel.name)
        words = [token.text for token in syntax.part(launch.callee)]
        signatures = self.signatures(name)
        if is_qualified(kernel.name):
            signatures = frozenset(one for one in signatures if one.scope == kernel.scope)
            if not self._is_spelled_out(words, kernel):
                return None
        # The scope of others counts: they may hide the kernel.
        scope, *others = {signature.scope for signature in signatures} or {None}
        by_copy = kernel.copy is not None and len({one.key for one in signatures}) > 1
        if by_copy:
            signatures = self._of_kernels(name, signatures)
        # Beside a template the address deduces nothing (C++ [temp.deduct.call]).
        is_beside_template = not scope and name in MATHEMATICAL
        if others or is_beside_template or not _is_one_function(signatures):
            return None
        filled = self._filled(signatures, [(syntax, launch), *shown], kernel)
        deduced = self._deduced(syntax, launch, kernel, words)
        if filled is None or deduced is None:
            return None
        # Of a template without arguments there is no type.
        if by_copy and kernel.template_parameters and not (deduced or words[-1] == ">"):
            return None
        is_global = self._is_global(shown or [(syntax, launch)], words, scope)
        return None if is_global is None else KernelReference(is_global, deduced, by_copy, filled)

    def _of_kernels(self, name: str, signatures: frozenset[Signature]) -> frozenset[Signature]:
        """Signatures of kernels, without other functions of their name."""
        defined = (self._signature(p.syntax, f.parameters[0] - 1) for p, f in self._defined(name))
        own = {one.key for one in defined if one is not None}
        return frozenset(one for one in signatures if one.key in own)

    def _filled(
        self, signatures: Iterable[Signature], shown: Sequence[Shown], kernel: Kernel
    ) -> tuple[str, ...] | None:
        """The default arguments that a launch leaves out; None where they may mean something else.

        A number means the same wherever it is written. `shown`: the launch as it is written, and
        with all macros expanded: one may stand for several arguments.
        """
        defaults = [one.defaults for one in signatures if any(one.defaults)]
        parameters, counts = len(kernel.parameters), {len(one.arguments) for _, one in shown}
        if not defaults or (counts == {parameters} and _is_split_rightly(*shown[0])):
            return ()
        is_known = all(len(one) == parameters for one in defaults) and len(counts) == 1
        macros = () if self.unit.is_expanded else self.unit.macros.definitions
        if not (is_known and all(_is_split_rightly(*one, macros) for one in shown)):
            return None
        is_unseen = self.unit.is_expanded and len(shown) < 2
        if is_unseen or self._is_redeclared(plain_name(kernel.name)):
            return None
        places = range(counts.pop(), parameters)
        each = [{one[place] for one in defaults if one[place]} for place in places]
        filled = [_number_in(*said) if len(said) == 1 else None for said in each]
        known = tuple(number for number in filled if number is not None)
        return known if len(known) == len(filled) else None

    def _is_redeclared(self, name: str) -> bool:
        """May a function declare it once more, perhaps with other default arguments?"""
        texts = (part.syntax for part in self.unit.parts)
        return any(
            sum(t.text == name and behind.text == "(" for t, behind in pairwise(syntax.tokens))
            > sum(1 for _ in _calls(syntax, name))
            for syntax in texts
        )

    def _defined(self, name: str) -> Iterator[tuple[UnitPart, SourceFunction]]:
        """Return the definitions of kernels of a name, of which other functions may share it."""
        definitions = self.unit.functions.get(name, ())
        return ((part, function) for part, function in definitions if function.is_kernel)

    def _is_spelled_out(self, words: Sequence[str], kernel: Kernel) -> bool:
        """Is the kernel named by its namespace, with all template arguments?"""
        count = _template_arguments(words)
        end = words.index("<") if "<" in words else len(words)
        names = [word for word in words[:end] if word != "::"]
        whole = [*(kernel.scope or ()), plain_name(kernel.name)]
        is_named = "::" in words[:end] and whole[-len(names) :] == names
        is_using = plain_name(kernel.name) in self._usings[0]
        return is_named and count == len(kernel.template_parameters) and not is_using

    def _deduced(
        self, syntax: Syntax, launch: Launch, kernel: Kernel, words: Sequence[str]
    ) -> tuple[Deduced, ...] | None:
        """Template arguments that are not written; None where they are not known."""
        count = _template_arguments(words)
        if count is None or count > len(kernel.template_parameters):
            return None
        if count == len(kernel.template_parameters):
            return ()
        texts = (self.unit.text(part, function) for part, function in self._defined(kernel.name))
        # Not a specialisation.
        general = next((text for text in texts if text.template_parameters), None)
        if general is None or not _is_split_rightly(syntax, launch):
            return None
        defaults = {name for name, sign in pairwise(t.text for t in general.head) if sign == "="}
        named = {token.text for parameter in general.parameters for token in parameter}
        given: list[Deduced] = []
        names = general.template_parameters[count:]
        for number, name in enumerate(names):
            deduced = self._argument(general, name, syntax, launch)
            if deduced is None and name not in defaults - named:
                return None
            # Those that are left out can only be the last ones.
            if deduced is not None and len(given) < number:
                return None
            given += [deduced] if deduced is not None else []
        return tuple(given)

    def _argument(
        self, text: FunctionText, name: str, syntax: Syntax, launch: Launch
    ) -> Deduced | None:
        if name not in text.type_parameters:
            return None
        for position, parameter in enumerate(text.parameters):
            kind = _kind([token.text for token in parameter], name)
            if kind is None or position >= len(launch.arguments):
                continue
            argument = launch.arguments[position]
            is_steady = self.unit.unsteady.counted(syntax, argument) is None
            if _is_plain(syntax.part(argument)) and is_steady:
                return Deduced(kind, position)
        return None

    def _is_global(
        self, shown: Sequence[Shown], words: Sequence[str], scope: tuple[str, ...] | None
    ) -> bool | None:
        """Must the kernel be looked up with `::`? None where its name may mean another function."""
        depth, is_qualified = 0, False
        for word in words:
            depth += {"<": 1, ">": -1}.get(word, 0)
            is_qualified = is_qualified or (depth == 0 and word == "::")
        names, namespaces = self._usings
        if is_qualified:
            return False
        if scope is None or words[0] in names:
            return None
        if not scope:
            # Names of a library may stand beside it, but not at file scope.
            return bool(namespaces)
        around = (scope_around(text, one.callee[0], through_classes=True) for text, one in shown)
        is_within = all(one is not None and one[: len(scope)] == scope for one in around)
        return False if is_within or {scope[-1]} == namespaces else None

    def signatures(self, name: str) -> frozenset[Signature]:
        """All that is declared by a name outside of functions; specialisations are left out."""
        if name not in self._known:
            self._known[name] = frozenset(
                signature
                for part in self.unit.parts
                for index in _calls(part.syntax, name)
                if (signature := self._signature(part.syntax, index)) is not None
            )
        return self._known[name]

    def is_one_function(self, name: str, scope: tuple[str, ...]) -> bool:
        """Does a name that is looked up in a namespace mean one function, and no template else?"""
        signatures = self.signatures(name)
        return {one.scope for one in signatures} == {scope} and _is_one_function(signatures)

    def declared_at(self, syntax: Syntax, name: str) -> list[int]:
        """Where a text declares functions of a name."""
        return [*_calls(syntax, name)]

    def _signature(self, syntax: Syntax, index: int) -> Signature | None:
        closer = syntax.brackets.partner[index + 1]
        inner = syntax.tokens[index + 2 : closer] if closer > 0 else ()
        parameters = [p for p in split_commas(inner) if [t.text for t in p] != ["void"]]
        head = [t.text for t in syntax.tokens[begin_of(syntax.tokens, index) : index]]
        if head[:3] == ["template", "<", ">"]:
            return None
        return Signature(
            scope_around(syntax, index),
            tuple(map(_type, parameters)),
            tuple(map(_default, parameters)),
            "template" in head,
            "..." in head or any(token.text == "..." for token in inner),
        )

    @cached_property
    def _usings(self) -> tuple[set[str], set[str]]:
        """The names of `using a::name;`, and those of `using namespace name;`."""
        names, namespaces = set[str](), set[str]()
        for tokens in (part.syntax.tokens for part in self.unit.parts):
            for index in (i for i, token in enumerate(tokens) if token.text == "using"):
                words = [token.text for token in until_semicolon(tokens, index + 1)]
                if words and "=" not in words:
                    (namespaces if words[0] == "namespace" else names).add(words[-1])
        return names, namespaces


def _calls(syntax: Syntax, name: str) -> Iterator[int]:
    """Where a name stands before a parenthesis, outside of functions."""
    tokens = syntax.tokens
    named = (i for i in outside_bodies(syntax) if tokens[i].text == name)
    return (i for i in named if [token.text for token in tokens[i + 1 : i + 2]] == ["("])


def _type(tokens: Sequence[Token]) -> str:
    parameter = parameter_of(tokens)
    words = parameter.type.replace("[]", " *").split()
    if not parameter.is_pointer:
        words = [word for word in words if word not in ("const", "volatile")]
    return " ".join(word for word in words if word not in _RESTRICT)


def _default(parameter: Sequence[Token]) -> tuple[str, ...]:
    texts = [token.text for token in parameter]
    return tuple(texts[texts.index("=") + 1 :]) if "=" in texts else ()


def _number_in(words: Sequence[str]) -> str | None:
    """The number that words are, with its sign; None for another expression."""
    sign = "-" if words[0] == "-" else ""
    number = "".join(words).removeprefix(sign)
    is_alone = len(words) == 1 + len(sign)
    is_number = NUMBER.fullmatch(number) is not None or number in _CONSTANTS
    return f"{sign}{number}" if is_alone and is_number else None


def _is_one_function(signatures: Collection[Signature]) -> bool:
    """Do they declare one function, and no template whose parameters are deduced otherwise?"""
    if len({one.key for one in signatures}) != 1:
        return False
    # A parameter of type `auto` makes a template.
    types = next(iter(signatures)).types
    is_auto = any("&" in type_ or "auto" in type_.split() for type_ in types)
    return not is_auto and not any(one.is_variadic for one in signatures)


def _is_split_rightly(syntax: Syntax, launch: Launch, macros: Container[str] = ()) -> bool:
    """`f<a, b>(c)` may have been split as if it were two comparisons, or be a macro's."""
    tokens = (token for one in launch.arguments for token in syntax.part(one))
    return all(token.text != "<" and token.text not in macros for token in tokens)


def _template_arguments(words: Sequence[str]) -> int | None:
    """How many template arguments are written behind a name; None: it is not certain."""
    if words[-1] != ">":
        return 0
    depth, count = 0, 1
    for word in reversed(words):
        depth += {">": 1, "<": -1, ")": 1, "(": -1}.get(word, 0)
        count += depth == 1 and word == ","
        if depth == 0:
            return None if "(" in words else count
    return None
