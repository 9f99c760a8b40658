"""Proves copies for value sets. Takes a program with copies, gives the sets whose copies hold.

Copies are compared with programs that have these values alone. Three things must be equal: the
tokens that the compiler gets, its code for the device (PTX) of each architecture that will run, and
its unoptimized code for the host. Code of the host is a text per function: symbols as the source
has them, labels in order, constants in place of their labels.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from cutune.core.diagnostics import CutuneError
from cutune.passes import ChooseValues, ReplaceTunables
from cutune.proof.compiled import UnitCompiler
from cutune.proof.same_code import code_of
from cutune.ptx.parse import parse
from cutune.ptx.types import Module, PtxError
from cutune.search.clones.declarations import Declaration, Expanded, Kind
from cutune.search.clones.dependence import Dependent, NotBySize, Versions, expanded, plain_unit
from cutune.source.program import Program
from cutune.source.rewrite.edits import Copies, dispatcher
from cutune.source.rewrite.pipeline import TranslationUnit, run_passes
from cutune.source.syntax.tokens import lex_significant
from cutune.toolchain.dry_run import first_error
from cutune.toolchain.kernel_names import demangled

_FUNCTION = re.compile(r"^([A-Za-z_$][\w$.]*):$(.*?)^\s*\.size\s+\1,", re.MULTILINE | re.DOTALL)
_SYMBOL = re.compile(r"(?<![\w$.])_Z[\w$]+")
_LABEL = re.compile(r"(?<![\w$])\.L\w+")
#: Data of the compiler: constants, texts, tables of jumps.
_DATA = re.compile(
    r"^(\.L\w+):\n((?:\s*\.(?:string|ascii|asciz|byte|value|word|long|quad|octa|zero)\b.*\n)+)",
    re.MULTILINE,
)
#: What says where code stands, not what it does.
_PLACES = re.compile(r"^\s*\.(?:loc|file|cfi_\w+|p2align|align)\b.*\n", re.MULTILINE)


def functions_of(assembly: str, names: Collection[str], prefix: str) -> dict[str, tuple[str, ...]]:
    """The code of functions of these names behind a prefix, without what differs by place."""
    constants = dict(_DATA.findall(assembly))
    symbols = sorted({*_SYMBOL.findall(assembly)})
    shown = dict(zip(symbols, demangled(symbols, parameters=True), strict=True))
    plain = {one: name.replace(prefix, "") for one, name in shown.items()}
    texts: dict[str, tuple[str, ...]] = {}
    for symbol, body in _FUNCTION.findall(assembly):
        base = shown.get(symbol, symbol).partition("(")[0].rpartition(" ")[2]
        name = base.removeprefix(prefix)
        if base.startswith(prefix) and name in names:
            code = _SYMBOL.sub(lambda one: plain[one[0]], _PLACES.sub("", body))
            own = plain.get(symbol, name)
            texts[name] = (*texts.get(name, ()), f"{own}\n{_with_labels(code, constants)}")
    return texts


def _with_labels(text: str, constants: dict[str, str]) -> str:
    """Replace labels of the function by their order, others by the data there."""
    numbers: dict[str, int] = {}
    own = {*re.findall(r"^(\.L\w+):", text, re.MULTILINE)}

    def named(found: re.Match[str]) -> str:
        label = found[0]
        if label in own or label not in constants:
            return f".L<{numbers.setdefault(label, len(numbers))}>"
        # A table of jumps names labels of the function.
        return f"<{_LABEL.sub(named, constants[label])}>"

    return _LABEL.sub(named, text)


_PTX_SYMBOL = re.compile(r"(?<![\w$.])(_Z[\w$.]*?)(?=(?:_param_\d+)?(?![\w$.]))")
#: Begins names beside the copies of one set: the program's own, and those of other copies.
_OTHER = "cutune_other_"
_PUSHED = re.compile(r"#\s*pragma (?:push|pop)_macro\b")
#: Strings, which are numbered through a module.
_TEXT = re.compile(r"\$str|__unnamed_")


class NotProven(Exception):
    """The copies of a value set are left out; the message says why."""


@dataclass(frozen=True)
class ProgramWithCopies:
    """A program with copies; `fixed` are values of other parameters."""

    compiler: UnitCompiler
    program: Program
    found: Dependent
    copies: Copies
    fixed: Mapping[str, str]
    step: ChooseValues

    @property
    def unit(self) -> TranslationUnit:
        steps = (ReplaceTunables(values=self.fixed), self.step)
        return run_passes(steps, TranslationUnit(self.program))

    def plain(self, values: Mapping[str, str]) -> TranslationUnit:
        return plain_unit(self.program, {**self.fixed, **values})


def without_unproven(question: ProgramWithCopies) -> tuple[tuple[str, ...], dict[str, str]]:
    """Return the prefixes of the sets whose copies are proven; of the others, why not."""
    refused = _unequal_texts(question)
    left = [prefix for prefix in question.copies.sets if prefix not in refused]
    refused |= unequal_code(question, left) if left else {}
    return tuple(prefix for prefix in left if prefix not in refused), refused


# ---- tokens


def _unequal_texts(question: ProgramWithCopies) -> dict[str, str]:
    sets, found = question.copies.sets, question.found
    try:
        whole = expanded(question.compiler, question.unit)
    except CutuneError as error:
        reason = f"the copies are not preprocessed: {first_error(error.diagnostic.message)}"
        return dict.fromkeys(sets, reason)
    own = found.versions.own
    if not _is_own(question, whole, own):
        return dict.fromkeys(sets, "they change the program itself")

    def reason_against(prefix: str) -> str:
        try:
            plain = expanded(question.compiler, question.plain(sets[prefix]))
            Versions(question.program.source.path, own, (plain,)).check()
        except CutuneError as error:
            return f"no program has them: {first_error(error.diagnostic.message)}"
        except NotBySize as problem:
            return problem.reason
        others = {*range(len(own.declarations))} - {*found.declarations}
        if any(own.declarations[i].texts != plain.declarations[i].texts for i in others):
            return "more depends on the values than is written again"
        wanted = [plain.declarations[index].texts for index in found.declarations]
        is_equal = _copied(whole, prefix, question) == wanted
        return "" if is_equal else "the compiler gets other tokens"

    return {prefix: reason for prefix in sets if (reason := reason_against(prefix))}


def _copied(whole: Expanded, prefix: str, question: ProgramWithCopies) -> list[tuple[str, ...]]:
    """Return the copies of a value set, by their own names; without the outermost prototype."""
    outer = prefix + question.copies.outer.name
    names = {prefix + name: name for name in question.copies.names}
    return [
        tuple(names.get(text, text) for text in one.texts)
        for one in whole.declarations
        if _is_of(one, (prefix,)) and not (one.kind is Kind.PROTOTYPE and one.name == outer)
    ]


def _is_of(one: Declaration, prefixes: Iterable[str]) -> bool:
    return any(name.startswith(prefix) for name in one.names for prefix in prefixes)


def _is_own(question: ProgramWithCopies, whole: Expanded, own: Expanded) -> bool:
    """Is the rest the unchanged program, but for the choice in its outermost function?"""
    prefixes = tuple(question.copies.sets)
    rest = (
        one.texts
        for one in whole.declarations
        if not _is_of(one, prefixes)
        and not (one.kind is Kind.DIRECTIVE and _PUSHED.match(one.texts[0]))
    )
    choice = lex_significant(dispatcher(question.copies, question.step.routine))
    outer = question.found.of(question.found.outer)
    body = outer.body + 1
    wanted = [one.texts for one in own.declarations]
    wanted[question.found.outer] = (
        *outer.texts[:body],
        *(token.text for token in choice),
        *outer.texts[body:],
    )
    # A function of a header that only the choice includes might be called in place of the user's.
    named = frozenset[str]().union(*(one.names for one in own.declarations))
    if named & (whole.other_words - own.other_words):
        return False
    return [*rest] == wanted


# ---- code


def unequal_code(question: ProgramWithCopies, prefixes: Sequence[str]) -> dict[str, str]:
    """Why copies are not the program that has their values; by prefix, those alone that are not."""
    compiler = question.compiler
    try:
        device, host = compiler.ptx(question.unit), compiler.assembly(question.unit)
    except CutuneError as error:
        reason = f"the copies do not compile: {first_error(error.diagnostic.message)}"
        return dict.fromkeys(prefixes, reason)

    def reason_against(prefix: str) -> str:
        try:
            plain = question.plain(question.copies.sets[prefix])
            for copied, alone in zip(device, compiler.ptx(plain), strict=True):
                _compare_device(question, prefix, copied, alone)
            _compare_host(question, prefix, host, compiler.assembly(plain))
        except CutuneError as error:
            return f"no program has them: {first_error(error.diagnostic.message)}"
        except NotProven as problem:
            return str(problem)
        return ""

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        reasons = zip(prefixes, pool.map(reason_against, prefixes), strict=True)
        return {prefix: reason for prefix, reason in reasons if reason}


def _compare_device(question: ProgramWithCopies, prefix: str, copied: str, alone: str) -> None:
    declarations = [question.found.of(index) for index in question.found.declarations]
    names = {one.name for one in declarations}
    kernels = {one.name for one in declarations if one.is_kernel}
    first_text, _ = _named(alone, "", ())
    others = [one for one in question.copies.sets if one != prefix]
    second_text, of_set = _named(copied, prefix, others)
    try:
        first, second = parse(first_text), parse(second_text)
    except PtxError as error:
        raise NotProven(f"their code is not understood: {error}") from error
    # With instances of templates for types and functions of the copies.
    wanted = {name for name in second.functions if name in of_set}
    if not wanted <= first.functions.keys() or not kernels <= {_base(name) for name in wanted}:
        raise NotProven("they are compiled to other functions")
    if {name for name in first.functions if _base(name) in names} - wanted:
        raise NotProven("they are compiled to fewer functions")
    # Code that is not copied: the device's text may depend on values where the host's does not.
    rest, left = (
        {f for f in m.functions if _base(f) not in names} - wanted for m in (first, second)
    )
    left = {name for name in left if not name.startswith(_OTHER)}
    if rest != left or any(code_of(first, name) != code_of(second, name) for name in rest):
        raise NotProven("more of the device's code depends on the values than is written again")
    _compare_variables(first, second)
    for name in sorted(wanted):
        if code_of(first, name) != code_of(second, name):
            raise NotProven(f"'{_base(name)}' is compiled to other code")
        if _memory_of(first, name) != _memory_of(second, name):
            raise NotProven(f"'{_base(name)}' has other variables")


def _compare_variables(first: Module, second: Module) -> None:
    """Raise NotProven unless the second has all variables of the first; it may have others."""
    theirs = {one.name: one.content for one in second.variables}
    own = [one for one in first.variables if not _TEXT.match(one.name)]
    if any(theirs.get(one.name) != one.content for one in own):
        raise NotProven("variables of the device depend on the values")


def _memory_of(module: Module, name: str) -> object:
    operands = module.functions[name].operands
    words = {word for operand in operands for word in re.findall(r"[\w$.]+", operand)}
    return {one.name: one.content for one in module.variables if one.name in words}


def _named(text: str, prefix: str, others: Sequence[str]) -> tuple[str, frozenset[str]]:
    """Return PTX with symbols as in the source, and the names of one value set without prefix."""
    symbols = sorted({*_PTX_SYMBOL.findall(text)})
    shown = demangled(symbols, parameters=True)
    inside = {name.replace(prefix, "") for name in shown if prefix and prefix in name}
    names = {}
    for symbol, name in zip(symbols, shown, strict=True):
        plain = name.replace(prefix, "")
        # The original of a copy is there as well, under its own name.
        is_own = plain == name and name in inside
        mark = _OTHER if is_own or any(one in name for one in others) else ""
        names[symbol] = mark + _identifier(plain)
    of_set = frozenset(_identifier(name) for name in inside)
    return _PTX_SYMBOL.sub(lambda match: names[match[1]], text), of_set


def _identifier(name: str) -> str:
    return name if name.isidentifier() else "S$" + name.encode("latin-1", "replace").hex()


def _base(identifier: str) -> str:
    """Return `f` for the identifier of `f(int)`, or `void f<…>(int)`; "" for others."""
    if identifier.startswith(_OTHER):
        return ""
    name = identifier
    if name.startswith("S$"):
        name = bytes.fromhex(name[2:]).decode("latin-1")
    return name.partition("(")[0].rpartition(" ")[2]


def _compare_host(question: ProgramWithCopies, prefix: str, copied: str, alone: str) -> None:
    declarations = map(question.found.of, question.found.declarations)
    functions = (one for one in declarations if one.kind is Kind.FUNCTION)
    names = {one.name for one in functions if one.is_on_host}
    first, second = functions_of(alone, names, ""), functions_of(copied, names, prefix)
    for name in sorted(names):
        if name not in first or first[name] != second.get(name):
            raise NotProven(f"'{name}' is compiled to other code for the host")
