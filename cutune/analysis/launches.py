"""Verdicts about launches. Takes a syntax and the proofs about kernels, gives launch sites.

A launch is rewritten into a statement in which its configuration and its arguments stand twice, so
that neither may have a side effect, and the launch must be a statement of its own.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from cutune.analysis import known
from cutune.analysis.macros import Unexpandable
from cutune.analysis.unit import Unit
from cutune.analysis.words import word_set
from cutune.diagnostics import Code, Diagnostic
from cutune.directives import Macro
from cutune.functions import Function
from cutune.program import DIMENSIONS, DimensionFacts, Impurity, Kernel, LaunchSite, Verdict
from cutune.source import Span
from cutune.syntax import Launch, Syntax
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


_ANY_IMPURITY = Impurity(Code.BLOCK_DEPENDENT, "", Span(0, 0))


@dataclass(frozen=True)
class KernelTable:
    """The kernels of a unit by name; several where overloads or `#if` branches share one."""

    kernels: Mapping[str, Sequence[Kernel]]

    def resolve(self, name: str) -> tuple[Kernel | None, Code | None]:
        """The kernel that a launch by this name runs, or why it is not certain."""
        found = self.kernels.get(name, ())
        if not found:
            return None, Code.MISSING_KERNEL
        first = found[0]
        if all(_same_facts(first, other) for other in found[1:]):
            return first, None
        return first, Code.DIFFERING_KERNELS


@dataclass(frozen=True)
class Refusal:
    """Why a launch stays as it is; `note` points into its kernel."""

    code: Code
    reason: str
    note: Diagnostic | None = None


def launch_sites(
    syntax: Syntax, unit: Unit, table: KernelTable, first: int = 1, is_early: bool = False
) -> tuple[tuple[LaunchSite, ...], tuple[Diagnostic, ...]]:
    """All launches of a file in order of appearance, and what there is to say about them.

    Args:
        syntax: the file.
        unit: the translation unit that it belongs to.
        table: the kernels.
        first: the id of the first launch.
        is_early: is the file read before the first line of the source (`-include`)?
    """
    judge = _Judge(syntax, unit, table, frozenset(_ignored(syntax)), is_early)
    found: list[Launch | Macro] = [*syntax.launches, *syntax.launch_macros]
    found.sort(key=lambda item: _start(syntax, item))
    sites, diagnostics = [], []
    for number, item in enumerate(found, first):
        site, refusal = judge.site(number, item)
        sites.append(site)
        if refusal is not None:
            notes = (refusal.note,) if refusal.note else ()
            diagnostics.append(
                Diagnostic(refusal.code, refusal.reason, syntax.source, site.span, notes)
            )
        elif isinstance(item, Launch):
            diagnostics += judge.redundant_threads(site, item)
    return tuple(sites), tuple(diagnostics)


def _start(syntax: Syntax, item: Launch | Macro) -> int:
    if isinstance(item, Macro):
        return item.body_start
    return syntax.tokens[item.callee[0]].start


def _ignored(syntax: Syntax) -> Iterator[int]:
    """The first tokens of launches that follow `#pragma cutune ignore`."""
    starts = sorted(launch.callee[0] for launch in syntax.launches)
    for pragma in syntax.pragmas:
        if pragma.words[:2] == ("cutune", "ignore"):
            yield next((start for start in starts if start >= pragma.index), -1)


@dataclass(frozen=True)
class _Judge:
    syntax: Syntax
    unit: Unit
    table: KernelTable
    ignored: frozenset[int]
    is_early: bool

    def site(self, number: int, item: Launch | Macro) -> tuple[LaunchSite, Refusal | None]:
        if isinstance(item, Macro):
            return self._in_macro(number, item)
        name = self._name(item)
        kernel, code = self.table.resolve(name)
        refusal = self._refusal(item, name, kernel, code)
        syntax = self.syntax
        site = LaunchSite(
            number,
            name,
            syntax.source,
            syntax.span((item.callee[0], item.end)),
            syntax.text(item.callee),
            tuple(syntax.text(part) for part in item.configuration),
            tuple(syntax.span(part) for part in item.configuration),
            tuple(syntax.text(part) for part in item.arguments),
            item.function.name if item.function is not None else None,
            Verdict.REFUSED if refusal else Verdict.TUNABLE,
            refusal.reason if refusal else _proven(kernel),
            refusal.code if refusal else None,
        )
        return site, refusal

    def _in_macro(self, number: int, macro: Macro) -> tuple[LaunchSite, Refusal]:
        code = Code.LAUNCH_IN_MACRO
        callee = re.search(r"([\w:]+)\s*(?:<[^<>]*>)?\s*<<<", macro.body_text)
        offset = macro.body_start + (callee.start() if callee else 0)
        text = callee[1] if callee else ""
        reason = code.template.format(name=macro.name)
        site = LaunchSite(
            number,
            text.split("::")[-1],
            self.syntax.source,
            Span(offset, offset + max(1, len(text))),
            text,
            (),
            (),
            (),
            None,
            Verdict.REFUSED,
            reason,
            code,
        )
        return site, Refusal(code, reason)

    def _name(self, launch: Launch) -> str:
        """The kernel's own name: the last of the callee, template arguments left out."""
        tokens = list(self.syntax.tokens[launch.callee[0] : launch.callee[1] + 1])
        if len(tokens) == 1 and not self.unit.is_expanded:
            tokens = self._expanded(tokens) or tokens
        name, depth = "", 0
        for token in tokens:
            depth += {"<": 1, ">": -1}.get(token.text, 0)
            if depth == 0 and token.kind == "IDENTIFIER":
                name = token.text
        return name or self.syntax.text(launch.callee)

    def _expanded(self, tokens: list[Token]) -> list[Token] | None:
        try:
            return self.unit.macros.expand(tokens)
        except Unexpandable:
            return None

    def _refusal(
        self, launch: Launch, name: str, kernel: Kernel | None, code: Code | None
    ) -> Refusal | None:
        """The first rule that the launch or its kernel breaks."""
        if self.is_early:
            return _refusal(Code.EARLY_HEADER)
        if launch.callee[0] in self.ignored:
            return _refusal(Code.IGNORED)
        if launch.function is not None and launch.function.is_device_code:
            return _refusal(Code.DEVICE_LAUNCH, name=name)
        if launch.directive_inside:
            return _refusal(Code.DIRECTIVE_IN_LAUNCH)
        if self._is_indirect(launch):
            return _refusal(Code.INDIRECT_LAUNCH, callee=self.syntax.text(launch.callee))
        if not launch.is_statement or launch.function is None or len(launch.configuration) < 2:
            return _refusal(Code.NOT_A_STATEMENT)
        what = self._side_effect(launch)
        if what is not None:
            return _refusal(Code.SIDE_EFFECT, what=what)
        if code is not None or kernel is None:
            return _refusal(code or Code.MISSING_KERNEL, name=name)
        if kernel.asserted and self._asks_for_shared_memory(launch):
            return _refusal(Code.DYNAMIC_SHARED_MEMORY)
        return self._impure(kernel)

    def _asks_for_shared_memory(self, launch: Launch) -> bool:
        return len(launch.configuration) > 2 and self.syntax.text(launch.configuration[2]) != "0"

    def _is_indirect(self, launch: Launch) -> bool:
        """Anything but a (qualified) name with template arguments."""
        first, last = launch.callee
        depth = 0
        for token in self.syntax.tokens[first : last + 1]:
            depth += {"<": 1, ">": -1}.get(token.text, 0)
            if depth == 0 and token.text in (".", "->", "(", "["):
                return True
        return self._is_variable(launch)

    def _is_variable(self, launch: Launch) -> bool:
        """Is the callee declared in the function around it: NAME "=", "*" NAME ")", "auto" NAME?"""
        name = self.syntax.tokens[launch.callee[0]]
        if launch.function is None or launch.callee[0] != launch.callee[1]:
            return False
        tokens = self.syntax.tokens[launch.function.first : launch.callee[0]]
        return any(
            token.text == name.text and (following.text == "=" or before.text in ("*", "&", "auto"))
            for before, token, following in zip(tokens, tokens[1:], tokens[2:], strict=False)
        )

    def _impure(self, kernel: Kernel) -> Refusal | None:
        if kernel.pure_dimensions:
            return None
        impurity = kernel.impurity or next(
            (facts.impurity for facts in kernel.dimensions if facts.impurity is not None), None
        )
        if impurity is None:
            message = Code.NO_INDEX.template
            impurity = Impurity(Code.NO_INDEX, message, kernel.span)
        reason = f"kernel '{kernel.name}' {impurity.message}"
        note = Diagnostic.at(
            Code.KERNEL_REASON,
            kernel.source,
            impurity.span,
            kernel=kernel.name,
            message=impurity.message,
        )
        return Refusal(impurity.code, reason, note)

    # Side effects.

    def _side_effect(self, launch: Launch) -> str | None:
        effects = (
            self.effect(syntax.tokens[first : last + 1], 0)
            for syntax, seen in self._compiled.get(launch.callee[0], [(self.syntax, launch)])
            for first, last in (*seen.configuration, *seen.arguments)
        )
        return next((what for what in effects if what is not None), None)

    @cached_property
    def _compiled(self) -> dict[int, list[tuple[Syntax, Launch]]]:
        """Launches as the preprocessed text has them, by first token: the same line tells.

        A header that is included twice has each of its launches twice.
        """
        if not self.unit.is_expanded:
            return {}
        written = _by_line(self.syntax)
        compiled: defaultdict[int, list[tuple[Syntax, Launch]]] = defaultdict(list)
        for part in self.unit.parts:
            if part.source is not self.syntax.source:
                continue
            for line, found in _by_line(part.syntax).items():
                for launch, seen in zip(written.get(line, ()), found, strict=False):
                    compiled[launch.callee[0]].append((part.syntax, seen))
        return compiled

    def effect(self, tokens: Sequence[Token], depth: int) -> str | None:
        """What an expression does besides having a value."""
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
            what = self.effect(macro.body, depth + 1)
            if what is not None:
                return what
        rest = [t._replace(kind="NUMBER", text="0") if t.text == name else t for t in tokens]
        return self.effect(rest, depth + 1)

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
        return self.effect(body[1:-1], depth + 1) is None

    # Dimensions that the kernel does not index.

    def redundant_threads(self, site: LaunchSite, launch: Launch) -> Iterator[Diagnostic]:
        """A block that is wider than 1 where the kernel has no index: the threads race."""
        kernel, _ = self.table.resolve(site.kernel)
        if kernel is None:
            return
        sizes = self._block_sizes(launch)
        for name, facts, size in zip(DIMENSIONS, kernel.dimensions, sizes, strict=False):
            if not facts.indexed and size is not None and size > 1:
                yield Diagnostic.at(
                    Code.REDUNDANT_THREADS,
                    self.syntax.source,
                    site.configuration_spans[1],
                    kernel=kernel.name,
                    d=name,
                    size=size,
                )

    def _block_sizes(self, launch: Launch) -> list[int | None]:
        """The block's constructor arguments where they are literals (after macros)."""
        first, last = launch.configuration[1]
        tokens = list(self.syntax.tokens[first : last + 1])
        if len(tokens) == 1 and tokens[0].kind == "IDENTIFIER" and launch.function is not None:
            tokens = self._definition(tokens[0].text, launch)
        return [_literal(self._expanded(part) or part) for part in _dim3_arguments(tokens)]

    def _definition(self, name: str, launch: Launch) -> list[Token]:
        """definition = "dim3" NAME "(" … ")"; the last one before the launch."""
        assert launch.function is not None and launch.function.body is not None
        tokens = self.syntax.tokens
        for index in range(launch.callee[0] - 1, launch.function.body[0], -1):
            if tokens[index].text == name and tokens[index - 1].text == "dim3":
                closer = self.syntax.brackets.partner[index + 1]
                if closer > index:
                    return [tokens[index - 1], *tokens[index + 1 : closer + 1]]
                return []
        return []


def _by_line(syntax: Syntax) -> dict[int, list[Launch]]:
    """Launches by the line on which their callee ends."""
    lines: defaultdict[int, list[Launch]] = defaultdict(list)
    for launch in syntax.launches:
        lines[syntax.source.location(syntax.tokens[launch.callee[1]].start).line].append(launch)
    return lines


def _proven(kernel: Kernel | None) -> str:
    """Why a launch may be tuned."""
    assert kernel is not None, "a tunable launch has a kernel"
    proven = [d for d in kernel.pure_dimensions if d not in kernel.asserted]
    said = [f"any block in {', '.join(kernel.asserted)} by annotation"] if kernel.asserted else []
    return "; ".join([*([f"global ids only in {', '.join(proven)}"] if proven else []), *said])


def _refusal(code: Code, **values: object) -> Refusal:
    return Refusal(code, code.template.format(**values))


def _same_facts(first: Kernel, second: Kernel) -> bool:
    names = ([(p.name, p.is_pointer) for p in kernel.parameters] for kernel in (first, second))
    return (
        next(names) == next(names)
        and [_facts(d) for d in first.dimensions] == [_facts(d) for d in second.dimensions]
        and (first.impurity is None) == (second.impurity is None)
        and first.data_parameters == second.data_parameters
    )


def _facts(dimension: DimensionFacts) -> DimensionFacts:
    """What decides about a launch: the words and the place of a reason do not."""
    return replace(dimension, impurity=dimension.impurity and _ANY_IMPURITY)


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


def _dim3_arguments(tokens: Sequence[Token]) -> list[list[Token]]:
    """dim3 = "dim3" ("(" | "{") [argument ("," argument)*] (")" | "}")."""
    if len(tokens) < 4 or tokens[0].text != "dim3" or tokens[1].text not in ("(", "{"):
        return []
    arguments: list[list[Token]] = [[]]
    depth = 0
    for token in tokens[2:-1]:
        depth += (token.text in ("(", "[", "{")) - (token.text in (")", "]", "}"))
        if token.text == "," and depth == 0:
            arguments.append([])
        else:
            arguments[-1].append(token)
    return arguments


def _literal(tokens: Sequence[Token]) -> int | None:
    texts = [token.text for token in tokens if token.text not in ("(", ")")]
    if len(texts) != 1 or not texts[0].isdigit():
        return None
    return int(texts[0])
