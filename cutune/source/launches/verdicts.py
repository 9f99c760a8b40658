"""Verdicts about launches. Takes a syntax and the proofs about kernels, gives launch sites.

A launch is rewritten into a statement of its own. Where the address of its kernel is not certain,
the statement repeats its execution configuration and arguments, which must then be harmless.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

from cutune.core.codes import Code
from cutune.core.diagnostics import Diagnostic
from cutune.core.source import Span
from cutune.source.configuration.block_dependence import bytes_of, inferred_formula
from cutune.source.configuration.resolve import Configurations
from cutune.source.host_formula import constant
from cutune.source.launches.annotations import ByName
from cutune.source.launches.block_reading_copies import callee_of_copy, may_stand_in
from cutune.source.launches.callees import Callees, KernelReference, last_name
from cutune.source.launches.effects import HostTypes, doubt, unsteady
from cutune.source.launches.preprocessed_launches import ShownLaunches
from cutune.source.program import (
    DIMENSIONS,
    Configuration,
    Impurity,
    Kernel,
    LaunchSite,
    Verdict,
)
from cutune.source.syntax.directives import Macro
from cutune.source.syntax.functions import SourceFunction
from cutune.source.syntax.parse import Launch, Syntax
from cutune.source.unit.unit import Unit


def mismatches(kernel: Kernel, site: LaunchSite) -> Iterator[Diagnostic]:
    """Warnings: blocks or grids wider than 1 in a dimension that the kernel does not index."""
    is_flat = kernel.copy is not None and kernel.copy.is_flat
    if site.resolved is None or is_flat:
        return
    resolved = site.resolved
    for axis, (name, dimension) in enumerate(zip(DIMENSIONS, kernel.dimensions, strict=True)):
        if dimension.indexed:
            continue
        # The grid stands before the block.
        for number, code, shape in (
            (1, Code.REDUNDANT_THREADS, resolved.block),
            (0, Code.REDUNDANT_BLOCKS, resolved.grid),
        ):
            count = constant(shape[axis])
            if count is not None and count > 1:
                yield Diagnostic.at(
                    code,
                    site.source,
                    site.configuration_spans[number],
                    kernel=kernel.name,
                    d=name,
                    size=count,
                )


#: A launch says with a bit each which arguments are integers; `cutune_tuned.h` uses the last one.
MOST_ARGUMENTS = 63
_ANY_IMPURITY = Impurity(Code.BLOCK_DEPENDENT, "", Span(0, 0))


def _kernel_of(kernels: ByName, name: str) -> tuple[Kernel | None, Code | None]:
    """The kernel that a launch by this name runs, or why it is not certain."""
    found = kernels.get(name, ())
    if not found:
        return None, Code.MISSING_KERNEL
    first = found[0]
    is_one = all(_decides(first) == _decides(other) for other in found[1:])
    return first, None if is_one else Code.DIFFERING_KERNELS


@dataclass(frozen=True)
class Refusal:
    """Why a launch stays as it is; `note` points into its kernel."""

    code: Code
    reason: str
    note: Diagnostic | None = None


def launch_sites(
    syntax: Syntax, unit: Unit, kernels: ByName, first: int = 1, is_early: bool = False
) -> tuple[tuple[LaunchSite, ...], tuple[Diagnostic, ...]]:
    """All launches of a file in order of appearance, and the messages about them.

    Args:
        syntax: the file.
        unit: the translation unit that it belongs to.
        kernels: those of the unit by name; overloads and `#if` branches share one.
        first: the id of the first launch.
        is_early: is the file read before the first line of the source (`-include`)?
    """
    shown = ShownLaunches(syntax, unit)
    judge = _LaunchJudge(syntax, unit, kernels, shown, frozenset(_ignored(syntax)), is_early)
    configurations = Configurations(unit)
    found: list[Launch | Macro] = [*syntax.launches, *syntax.launch_macros]
    found.sort(key=lambda item: _start(syntax, item))
    sites, diagnostics = [], []
    for number, item in enumerate(found, first):
        resolved = None
        if isinstance(item, Launch):
            resolved = configurations.resolve(syntax, item, shown.of(item))
        site, refusal = judge.site(number, item, resolved)
        sites.append(site)
        if refusal is not None:
            notes = (refusal.note,) if refusal.note else ()
            diagnostics.append(
                Diagnostic(refusal.code, refusal.reason, syntax.source, site.span, notes)
            )
        else:
            kernel, _ = _kernel_of(kernels, site.kernel)
            diagnostics += mismatches(kernel, site) if kernel is not None else ()
    return tuple(sites), tuple(diagnostics)


def _start(syntax: Syntax, item: Launch | Macro) -> int:
    if isinstance(item, Macro):
        return item.body_start
    return syntax.tokens[item.callee[0]].start


def _ignored(syntax: Syntax) -> Iterator[int]:
    starts = sorted(launch.callee[0] for launch in syntax.launches)
    for pragma in syntax.pragmas:
        if pragma.text.split()[:2] == ["cutune", "ignore"]:
            yield from starts[(at := bisect_left(starts, pragma.index)) : at + 1]


@dataclass(frozen=True)
class _LaunchJudge:
    syntax: Syntax
    unit: Unit
    kernels: ByName
    shown: ShownLaunches
    ignored: frozenset[int]
    is_early: bool
    #: Results of `_declared_in`, by the first token of the function.
    declared: dict[int, dict[str, int]] = field(default_factory=dict)

    def site(
        self, number: int, item: Launch | Macro, resolved: Configuration | None
    ) -> tuple[LaunchSite, Refusal | None]:
        if isinstance(item, Macro):
            return self._in_macro(number, item)
        name = self._name(item)
        kernel, code = _kernel_of(self.kernels, name)
        shared = self._shared_formula(item, kernel, resolved)
        callee = self.callees.of(self.syntax, item, kernel) if kernel is not None else None
        refusal = self._refusal(item, name, kernel, code, resolved, shared)
        if refusal is None:
            refusal = self._uncertain_kernel(item, name, kernel, callee, resolved)
        if refusal is None and kernel is not None and not _uses_dynamic(kernel):
            # Proven not to use any.
            shared = None
        syntax = self.syntax
        brackets = syntax.span((item.callee[1] + 1, _closer(syntax, item)))
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
            resolved,
            shared,
            called=brackets if callee else None,
            is_global=callee.is_global if callee else False,
            deduced=callee.deduced if callee else (),
            brackets=brackets,
        )
        return site, refusal

    def _uncertain_kernel(
        self,
        launch: Launch,
        name: str,
        kernel: Kernel | None,
        callee: KernelReference | None,
        resolved: Configuration | None,
    ) -> Refusal | None:
        """The reason against a launch at which another kernel than the proven one may run."""
        if kernel is not None and (found := self._without_copy(launch, kernel, callee, resolved)):
            return found
        if callee is not None:
            moved = self.unit.unsteady.moved(
                self.syntax, (launch.callee[0], _closer(self.syntax, launch))
            )
            return _refusal(Code.SIDE_EFFECT, what=f"'{moved}'") if moved is not None else None
        if kernel is not None and kernel.elsewhere:
            return _refusal(Code.UNCERTAIN_ADDRESS, name=name)
        return self._doubt(launch)

    @cached_property
    def callees(self) -> Callees:
        return Callees(self.unit)

    def _doubt(self, launch: Launch) -> Refusal | None:
        types = HostTypes(self.unit)
        seen = self.shown.of(launch) or [(self.syntax, launch)]
        found = (doubt(types, *one) for one in seen)
        what = unsteady(self.unit, self.syntax, launch) or next(filter(None, found), None)
        return _refusal(Code.SIDE_EFFECT, what=what) if what is not None else None

    def _without_copy(
        self,
        launch: Launch,
        kernel: Kernel,
        callee: KernelReference | None,
        resolved: Configuration | None,
    ) -> Refusal | None:
        """The reason against a kernel where its copy cannot stand in for it."""
        copy = kernel.copy
        if copy is None:
            return None
        is_named = callee_of_copy(self.syntax.text(launch.callee), kernel.name, copy) is not None
        written, arguments = (
            [self.syntax.text(part) for part in parts]
            for parts in (launch.configuration, launch.arguments)
        )
        may_stand = may_stand_in(copy, resolved, written, arguments)
        if callee is not None and is_named and may_stand:
            return None
        return because(kernel, copy.instead_of)

    def _shared_formula(
        self, launch: Launch, kernel: Kernel | None, resolved: Configuration | None
    ) -> str | None:
        """Dynamic shared memory by the block: the annotation's formula, else the launch's own."""
        if not _asks_for_shared_memory(launch, resolved):
            return None
        if kernel is not None and (kernel.shared is not None or kernel.keeps_shared):
            return kernel.shared
        if resolved is None:
            return None
        tokens = self.syntax.tokens
        # Those that are the width of the block are no sizes of the data.
        widths = kernel.copy.widths if kernel is not None and kernel.copy is not None else ()
        others = (part for i, part in enumerate(launch.arguments) if i not in widths)
        names = {t.text for a, b in others for t in tokens[a : b + 1]}
        return inferred_formula(resolved, names)

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
        """The kernel's own name: the last of the callee, but for template arguments and indices."""
        first, last = launch.callee
        tokens = self.syntax.tokens[first : last + 1]
        if len(tokens) == 1:
            tokens = self.unit.with_macros(tokens) or tokens
        return last_name(tokens) or self.syntax.text(launch.callee)

    def _refusal(
        self,
        launch: Launch,
        name: str,
        kernel: Kernel | None,
        code: Code | None,
        resolved: Configuration | None,
        shared: str | None,
    ) -> Refusal | None:
        if self.is_early:
            return _refusal(Code.EARLY_HEADER)
        if launch.callee[0] in self.ignored:
            return _refusal(Code.IGNORED)
        if launch.function is not None and launch.function.is_device_code:
            return _refusal(Code.DEVICE_LAUNCH, name=name)
        if launch.directive_inside:
            return _refusal(Code.DIRECTIVE_IN_LAUNCH)
        if kernel is None and launch.function is not None and self._is_argument(launch):
            function = launch.function.name
            return _refusal(Code.KERNEL_ARGUMENT, name=name, function=function)
        if self._is_indirect(launch):
            return _refusal(Code.INDIRECT_LAUNCH, callee=self.syntax.text(launch.callee))
        written = [first <= last for first, last in launch.configuration]
        if not launch.is_statement or launch.function is None:
            return _refusal(Code.NOT_A_STATEMENT)
        if not (2 <= len(written) <= 4 and all(written)):
            texts = ", ".join(map(self.syntax.text, launch.configuration)).split()
            return _refusal(Code.HIDDEN_CONFIGURATION, text=" ".join(texts))
        if self.shown.is_hidden(launch):
            return _refusal(Code.HIDDEN_LAUNCH)
        if self.unit.is_expanded and not self.shown.of(launch):
            return _refusal(Code.UNCOMPILED_LAUNCH)
        if kernel is None and not self.unit.is_expanded and name in self.unit.functions:
            # A macro makes it a kernel, where the file can be read.
            unread = Code.NO_COMPILED_CODE
            return Refusal(unread, f"kernel '{name}' {unread.template}")
        if code is not None or kernel is None:
            return _refusal(code or Code.MISSING_KERNEL, name=name)
        is_known = shared is not None or kernel.keeps_shared
        if kernel.asserted and not is_known and _asks_for_shared_memory(launch, resolved):
            return _refusal(Code.DYNAMIC_SHARED_MEMORY)
        if kernel.needed_shared and not kernel.asserted and not _suffices(kernel, shared):
            return _refusal(Code.DYNAMIC_SHARED_MEMORY)
        return self._impure(kernel)

    def _is_indirect(self, launch: Launch) -> bool:
        """Anything but a (qualified) name with template arguments."""
        first, last = launch.callee
        depth = 0
        for token in self.syntax.tokens[first : last + 1]:
            depth += {"<": 1, ">": -1}.get(token.text, 0)
            if depth == 0 and token.text in (".", "->", "(", "["):
                return True
        return self._is_variable(launch)

    def _is_argument(self, launch: Launch) -> bool:
        first, last = launch.callee
        function = launch.function
        if function is None or first != last:
            return False
        head = self.syntax.tokens[function.first : function.parameters[1] + 1]
        name = self.syntax.tokens[first].text
        return name != function.name and name in {token.text for token in head}

    def _is_variable(self, launch: Launch) -> bool:
        """Is the callee declared in the function around it: NAME "=", "*" NAME ")", "auto" NAME?"""
        if launch.function is None or launch.callee[0] != launch.callee[1]:
            return False
        name = self.syntax.tokens[launch.callee[0]].text
        return self._declared_in(launch.function).get(name, launch.end) < launch.callee[0] - 1

    def _declared_in(self, function: SourceFunction) -> dict[str, int]:
        """Names that may be variables of a function, each with the first token that says so."""
        if function.first not in self.declared:
            last = function.body[1] if function.body is not None else function.parameters[1]
            tokens = self.syntax.tokens[function.first : last]
            found = self.declared.setdefault(function.first, {})
            triples = zip(tokens, tokens[1:], tokens[2:], strict=False)
            for index, (before, token, following) in enumerate(triples, function.first + 1):
                if following.text == "=" or before.text in ("*", "&", "auto"):
                    found.setdefault(token.text, index)
        return self.declared[function.first]

    def _impure(self, kernel: Kernel) -> Refusal | None:
        if len(kernel.argument_names) > MOST_ARGUMENTS:
            what = f"more than {MOST_ARGUMENTS} arguments; put some into a structure"
            message = Code.NOT_PROVEN.template.format(what=what)
            return because(kernel, Impurity(Code.NOT_PROVEN, message, kernel.span))
        if kernel.pure_dimensions:
            return None
        message = Code.NO_INDEX.template
        return because(kernel, kernel.reason or Impurity(Code.NO_INDEX, message, kernel.span))


def because(kernel: Kernel, impurity: Impurity) -> Refusal:
    """The refusal of a launch because of its kernel."""
    reason = f"kernel '{kernel.name}' {impurity.message}"
    note = Diagnostic.at(
        Code.KERNEL_REASON,
        kernel.source,
        impurity.span,
        kernel=kernel.name,
        message=impurity.message,
    )
    return Refusal(impurity.code, reason, note)


def _closer(syntax: Syntax, launch: Launch) -> int:
    """The last token of `>>>`, behind which the arguments begin."""
    return syntax.brackets.partner[launch.end] - 1


def _uses_dynamic(kernel: Kernel) -> bool:
    return bool(kernel.asserted or kernel.shared or kernel.needed_shared)


def _suffices(kernel: Kernel, shared: str | None) -> bool:
    """Does a formula of the block give as much dynamic shared memory as each block needs?"""
    return shared is not None and all(
        (bytes_of(shared, width) or 0) >= needed for width, needed in kernel.needed_shared
    )


def _asks_for_shared_memory(launch: Launch, resolved: Configuration | None) -> bool:
    """Is there a third expression in the configuration that may be other than 0?"""
    shared = resolved.shared if resolved is not None else None
    return len(launch.configuration) > 2 and (shared is None or constant(shared) != 0)


def _proven(kernel: Kernel | None) -> str:
    assert kernel is not None, "a tunable launch has a kernel"
    proven = [d for d in kernel.pure_dimensions if d not in kernel.asserted]
    said = [f"any block in {', '.join(kernel.asserted)} by annotation"] if kernel.asserted else []
    return "; ".join([*([f"global ids only in {', '.join(proven)}"] if proven else []), *said])


def _refusal(code: Code, **values: object) -> Refusal:
    return Refusal(code, code.template.format(**values))


def _decides(kernel: Kernel) -> tuple[object, ...]:
    """What launches depend on: all but the words and the place of a reason."""
    return (
        [(p.name, p.is_pointer) for p in kernel.parameters],
        [replace(d, impurity=d.impurity and _ANY_IMPURITY) for d in kernel.dimensions],
        kernel.impurity is None,
        kernel.data_parameters,
        kernel.members,
        kernel.inner_pointers,
        (kernel.shared, kernel.keeps_shared),
        kernel.must_hold,
        (kernel.allowed, kernel.needed_shared),
        (kernel.reassociates, kernel.is_associative),
        (kernel.needs_warps, kernel.single_thread),
        (kernel.may_meet, kernel.distinct_places),
        kernel.proven_for,
        kernel.unproven,
    )
