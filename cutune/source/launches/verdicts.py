"""Verdicts about launches. Takes a syntax and the proofs about kernels, gives launch sites.

A launch is rewritten into a statement of its own. Where the address of its kernel is not certain,
the statement repeats its execution configuration and arguments, which must then be harmless.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import itemgetter

from cutune.core.codes import Code
from cutune.core.diagnostics import Diagnostic
from cutune.core.source import Span
from cutune.source.configuration.block_dependence import bytes_of, inferred_formula, needed_formula
from cutune.source.configuration.resolve import Configurations
from cutune.source.host_formula import constant
from cutune.source.kernel_variant import Tile
from cutune.source.launches.annotations import ByName
from cutune.source.launches.block_copies import may_stand_in
from cutune.source.launches.callees import KernelReference, callee_of_copy, last_name
from cutune.source.launches.columns import LaunchColumns
from cutune.source.launches.effects import VARIABLE, HostTypes, doubt
from cutune.source.launches.pointers import Pointed, PointedKernels
from cutune.source.launches.shown_launches import ShownLaunches
from cutune.source.program import (
    DIMENSIONS,
    Configuration,
    Impurity,
    Kernel,
    KernelCopy,
    LaunchSite,
    Verdict,
)
from cutune.source.syntax.directives import Macro
from cutune.source.syntax.parse import Launch, SourceFunction, Syntax
from cutune.source.unit.unit import Unit


def _mismatches(kernel: Kernel, site: LaunchSite) -> Iterator[Diagnostic]:
    """Warnings: blocks or grids wider than 1 in a dimension that the kernel does not index."""
    is_flat = kernel.copy is not None and kernel.copy.is_flat
    if site.resolved is None or is_flat:
        return
    for axis, (name, dimension) in enumerate(zip(DIMENSIONS, kernel.dimensions, strict=True)):
        # The grid stands before the block.
        for number, code, shape in (
            (1, Code.REDUNDANT_THREADS, site.resolved.block),
            (0, Code.REDUNDANT_BLOCKS, site.resolved.grid),
        ):
            count = constant(shape[axis])
            if not dimension.indexed and count is not None and count > 1:
                place = site.source, site.configuration_spans[number]
                yield Diagnostic.at(code, *place, kernel=kernel.name, d=name, size=count)


#: A launch says with a bit each which arguments are integers; `cutune_tuned.h` uses the last one.
MOST_ARGUMENTS = 63
_ANY_IMPURITY = Impurity(Code.BLOCK_DEPENDENT, "", Span(0, 0))


def launch_sites(
    syntax: Syntax,
    unit: Unit,
    kernels: ByName,
    first: int,
    is_early: bool,
    named: Mapping[int, str],
    is_main: bool = True,
) -> tuple[tuple[LaunchSite, ...], tuple[Diagnostic, ...]]:
    """All launches of a file in order of appearance, and the messages about them.

    `kernels`: those of the unit; overloads and `#if` branches share a name. `first`: the id of
    the first launch. `is_early`: is the file read before the first line of the source
    (`-include`)? `named`: kernels with qualified names by the first byte of their launches.
    `is_main`: is it the source itself? A launch through a pointer is a site for each kernel to
    which that may lead.
    """
    file = _File(syntax, unit, kernels, is_early, named, is_main)
    found: list[tuple[int, Launch | Macro]] = [
        *((syntax.tokens[one.callee[0]].start, one) for one in syntax.launches),
        *((macro.body_start, macro) for macro in syntax.launch_macros),
    ]
    judged = [one for _, each in sorted(found, key=itemgetter(0)) for one in _each(file, each)]
    sites, diagnostics = [], []
    for number, one in enumerate(judged, first):
        site, refusal = (
            _in_macro(syntax, one, number) if isinstance(one, Macro) else one.site(number)
        )
        sites.append(site)
        if refusal is not None:
            diagnostics.append(replace(refusal, source=syntax.source, span=site.span))
        elif (kernel := next(iter(kernels.get(site.kernel, ())), None)) is not None:
            # A kernel to which a pointer may lead is perhaps launched elsewhere.
            diagnostics += _mismatches(kernel, site) if site.pointer is None else ()
    return tuple(sites), tuple(diagnostics)


def _each(file: _File, one: Launch | Macro) -> list[_Judged] | list[Macro]:
    """All that is judged of a launch: itself, or each kernel to which its pointer may lead."""
    if isinstance(one, Macro):
        return [one]
    launch = _Judged(file, one)
    return [replace(launch, pointed=kernel) for kernel in launch.kernels_behind()] or [launch]


def _in_macro(syntax: Syntax, macro: Macro, number: int) -> tuple[LaunchSite, Diagnostic]:
    refusal = Diagnostic.at(Code.LAUNCH_IN_MACRO, name=macro.name)
    callee = re.search(r"([\w:]+)\s*(?:<[^<>]*>)?\s*<<<", macro.body_text)
    offset = macro.body_start + (callee.start() if callee else 0)
    text = callee[1] if callee else ""
    site = LaunchSite(
        number,
        kernel=text.split("::")[-1],
        source=syntax.source,
        span=Span(offset, offset + max(1, len(text))),
        callee=text,
        configuration=(),
        configuration_spans=(),
        arguments=(),
        function=None,
        verdict=Verdict.REFUSED,
        reason=refusal.message,
        code=refusal.code,
    )
    return site, refusal


class _File:
    """What the launches of one file are judged by; see `launch_sites`."""

    def __init__(
        self,
        syntax: Syntax,
        unit: Unit,
        kernels: ByName,
        is_early: bool,
        named: Mapping[int, str],
        is_main: bool,
    ) -> None:
        self.syntax, self.unit, self.kernels = syntax, unit, kernels
        self.is_early, self.named, self.is_main = is_early, named, is_main
        self.types, self.columns = HostTypes(unit), LaunchColumns(unit)
        self.pointed = PointedKernels(unit, kernels, self.types.callees)
        self.shown, self.configurations = ShownLaunches(syntax, unit), Configurations(unit)
        #: First tokens of launches that stay because the pragma before them says so.
        self.ignored = set[int]()
        starts = sorted(launch.callee[0] for launch in syntax.launches)
        for pragma in syntax.pragmas:
            if pragma.text.split()[:2] == ["cutune", "ignore"]:
                self.ignored.update(starts[bisect_left(starts, pragma.index) :][:1])
        self._declared: dict[int, dict[str, int]] = {}

    def declared_in(self, function: SourceFunction) -> dict[str, int]:
        """Names that may be variables of a function, each with the first token that says so."""
        if function.first not in self._declared:
            last = function.body[1] if function.body is not None else function.parameters[1]
            tokens = self.syntax.tokens[function.first : last]
            found = self._declared.setdefault(function.first, {})
            triples = zip(tokens, tokens[1:], tokens[2:], strict=False)
            for index, (before, token, following) in enumerate(triples, function.first + 1):
                is_declared = before.text in ("*", "&", "auto") and not self._is_address(index)
                if following.text == "=" or is_declared:
                    found.setdefault(token.text, index)
        return self._declared[function.first]

    def _is_address(self, index: int) -> bool:
        """Is it `&kernel` where no reference is declared, as in `call((void *)&kernel, …)`?

        A reference gets its value behind its name, or is a parameter, behind a type.
        """
        before, sign, _, after = (t.text for t in self.syntax.tokens[index - 2 : index + 2])
        is_operand = before in ("(", ",", "=", "return", "{", ")", "?", ":", "<", "==", "!=")
        is_alone = before == "(" and after == ")"  # Perhaps `(&name)(…)` declares it.
        return sign == "&" and is_operand and not is_alone and after in (",", ")", ";", "}", ":")


@dataclass(frozen=True)
class _Judged:
    """A launch that is judged; refusals are messages whose place is that of the launch.

    `pointed`: the kernel to which its callee, a pointer, may lead.
    """

    file: _File
    launch: Launch
    pointed: Pointed | None = None

    def kernels_behind(self) -> list[Pointed]:
        """The kernels to which its callee may lead, where this is a pointer."""
        is_pointer = self._refusal_of_pointer() is not None or self._is_other_variable
        if not is_pointer or self._refusal_of_place() or self._refusal_of_text():
            return []
        return self.file.pointed.of(self.launch, self.file.shown.of(self.launch), self.file.is_main)

    def site(self, number: int) -> tuple[LaunchSite, Diagnostic | None]:
        syntax, launch, callee = self.file.syntax, self.launch, self.callee
        refusal, shared = self._refusal() or self._uncertain_kernel(), self.shared
        if refusal is None and (kernel := self.kernel) is not None:
            # Else it is proven not to use any.
            uses_shared = kernel.asserted or kernel.shared or kernel.needed_shared
            shared = shared if uses_shared else None
        brackets = syntax.span((launch.callee[1] + 1, self._closer))
        site = LaunchSite(
            number,
            kernel=self._called_name,
            source=syntax.source,
            span=syntax.span((launch.callee[0], launch.end)),
            callee=self._callee_text,
            configuration=tuple(map(syntax.text, launch.configuration)),
            configuration_spans=tuple(map(syntax.span, launch.configuration)),
            arguments=tuple(map(syntax.text, launch.arguments)),
            function=launch.function.name if launch.function is not None else None,
            verdict=Verdict.REFUSED if refusal else Verdict.TUNABLE,
            reason=refusal.message if refusal else _proven(self.kernel),
            code=refusal.code if refusal else None,
            resolved=self.resolved,
            by_calls=self.file.configurations.by_calls(syntax, launch) if refusal else None,
            shared=shared,
            entries=self.pointed.entries if self.pointed is not None else (),
            called=brackets if callee else None,
            is_global=callee.is_global if callee else False,
            deduced=callee.deduced if callee else (),
            filled=callee.filled if callee else (),
            by_copy=callee.by_copy if callee else False,
            brackets=brackets,
            macro_line=self.file.shown.macro_line(launch),
            pointer=syntax.text(launch.callee) if self.pointed is not None else None,
        )
        return site, refusal

    @cached_property
    def name(self) -> str:
        """The kernel's own name: the last of the callee, but for template arguments and indices."""
        if self.pointed is not None:
            return self.pointed.kernel
        tokens = self.file.syntax.part(self.launch.callee)
        if len(tokens) == 1:
            tokens = self.file.unit.with_macros(tokens) or tokens
        return last_name(tokens) or self.file.syntax.text(self.launch.callee)

    @property
    def _called_name(self) -> str:
        """The name of the kernel in the program: the qualified one where others share the last."""
        start = self.file.syntax.tokens[self.launch.callee[0]].start
        return self.file.named.get(start, self.name) if self.pointed is None else self.name

    @property
    def _callee_text(self) -> str:
        written = self.file.syntax.text(self.launch.callee)
        return written if self.pointed is None else self.pointed.callee

    @cached_property
    def kernels(self) -> Sequence[Kernel]:
        """The kernels that the launch may run by their name."""
        return self.file.kernels.get(self._called_name, ())

    @cached_property
    def kernel(self) -> Kernel | None:
        return next(iter(self.kernels), None)

    @cached_property
    def callee(self) -> KernelReference | None:
        file, launch, kernel = self.file, self.launch, self.kernel
        if kernel is None:
            return None
        if self.pointed is not None:
            return KernelReference(is_global=True, deduced=())
        return file.types.callees.of(file.syntax, launch, kernel, file.shown.of(launch))

    @cached_property
    def resolved(self) -> Configuration | None:
        compiled = self.file.shown.of(self.launch)
        return self.file.configurations.resolve(self.file.syntax, self.launch, compiled)

    @property
    def _closer(self) -> int:
        """The last token of `>>>`, behind which the arguments begin."""
        return self.file.syntax.brackets.partner[self.launch.end] - 1

    @property
    def _asks_for_shared_memory(self) -> bool:
        shared = self.resolved.shared if self.resolved is not None else None
        return len(self.launch.configuration) > 2 and (shared is None or constant(shared) != 0)

    @property
    def _may_suffice(self) -> bool:
        """May it ask for as much as its kernel is proven to need? That is seen as it runs."""
        shared = self.resolved.shared if self.resolved is not None else None
        asked = constant(shared) if shared is not None else None
        least = least_shared(self.kernel) if self.kernel is not None else 0
        return self._asks_for_shared_memory and (asked is None or asked >= least)

    @cached_property
    def shared(self) -> str | None:
        """Dynamic shared memory by the block: the annotation's formula, else the launch's own."""
        kernel, arguments = self.kernel, self.launch.arguments
        if not self._asks_for_shared_memory:
            return None
        if kernel is not None and (kernel.shared is not None or kernel.keeps_shared):
            return kernel.shared
        if self.resolved is None:
            return None
        # Those that are the width of the block are no sizes of the data.
        widths = kernel.copy.widths if kernel is not None and kernel.copy is not None else ()
        others = (part for i, part in enumerate(arguments) if i not in widths)
        names = {token.text for part in others for token in self.file.syntax.part(part)}
        inferred = inferred_formula(self.resolved, names)
        if kernel is None or kernel.asserted or (inferred and _suffices(kernel, inferred)):
            return inferred
        return needed_formula(kernel.needed_shared, self.resolved) or inferred

    def _uncertain_kernel(self) -> Diagnostic | None:
        """The reason against a launch at which another kernel than the proven one may run."""
        file, launch, kernel, callee = self.file, self.launch, self.kernel, self.callee
        shown = file.shown.of(launch) or [(file.syntax, launch)]
        if kernel is not None and kernel.copy is not None and not self._may_be_copy(kernel.copy):
            return because(kernel, kernel.copy.instead_of)
        if callee is None and kernel is not None and kernel.elsewhere:
            return Diagnostic.at(Code.UNCERTAIN_ADDRESS, name=self.name)
        # Macros that mean something else where they are moved, or repeated.
        written = launch.callee[0], launch.end if callee is None else self._closer
        unsteady = file.unit.unsteady
        counted = unsteady.counted(file.syntax, written) if callee is None else None
        macro = counted or unsteady.moved(file.syntax, written)
        doubts = (doubt(file.types, *one) for one in (shown if callee is None else ()))
        what = f"'{macro}'" if macro is not None else next(filter(None, doubts), None)
        if what is not None:
            where = "another of a built-in type" if what.startswith(VARIABLE) else "a variable"
            return Diagnostic.at(Code.SIDE_EFFECT, what=what, where=where)
        types = [parameter.type for parameter in kernel.parameters] if kernel is not None else []
        columns = (file.columns.seen(*one, types) for one in shown)
        column = next(filter(None, columns), None)
        return Diagnostic.at(Code.SEEN_COLUMN, name=column) if column is not None else None

    @property
    def _has_no_place_for_a_loop(self) -> bool:
        """Would it have to be repeated, which parentheses around it do not allow?"""
        shown = (launch for _, launch in self.file.shown.of(self.launch))
        is_inside = any(one.in_parentheses for one in (self.launch, *shown))
        return is_inside and self.kernel is not None and self.callee is None

    def _may_be_copy(self, copy: KernelCopy) -> bool:
        text, launch = self.file.syntax.text, self.launch
        written, arguments = map(text, launch.configuration), [*map(text, launch.arguments)]
        if any("..." in argument for argument in arguments):
            arguments = []  # Several may be in one.
        return (
            self.callee is not None
            and callee_of_copy(self._callee_text, self.name, copy) is not None
            and may_stand_in(copy, self.resolved, [*written], arguments)
            and all(map(self._keeps_width, copy.widths))
        )

    def _keeps_width(self, position: int) -> bool:
        """Is an argument the width of the block still when it is evaluated?"""
        file, launch, resolved, kernel = self.file, self.launch, self.resolved, self.kernel
        if resolved is None or kernel is None:
            return False
        place, passed_as = launch.arguments[position][0], kernel.parameters[position].type
        width = resolved.block[0]
        return file.configurations.keeps_block(file.syntax, launch, place, width, passed_as)

    def _refusal(self) -> Diagnostic | None:
        is_named = self.pointed is None
        pointer = self._refusal_of_pointer() if is_named else None
        return self._refusal_of_place() or pointer or self._refusal_of_text() or self._unproven()

    def _refusal_of_place(self) -> Diagnostic | None:
        file, launch, function = self.file, self.launch, self.launch.function
        if file.is_early:
            return Diagnostic.at(Code.EARLY_HEADER)
        if launch.callee[0] in file.ignored:
            return Diagnostic.at(Code.IGNORED)
        if function is not None and function.is_device_code:
            return Diagnostic.at(Code.DEVICE_LAUNCH, name=self.name)
        if launch.directive_inside:
            return Diagnostic.at(Code.DIRECTIVE_IN_LAUNCH)
        return None

    def _refusal_of_pointer(self) -> Diagnostic | None:
        """Why it is not certain what is called."""
        launch, function = self.launch, self.launch.function
        if self.kernel is None and function is not None and self._is_argument(function):
            return Diagnostic.at(Code.KERNEL_ARGUMENT, name=self.name, function=function.name)
        if self._is_indirect():
            return Diagnostic.at(Code.INDIRECT_LAUNCH, callee=self.file.syntax.text(launch.callee))
        return None

    def _refusal_of_text(self) -> Diagnostic | None:
        """Why a launch that is written so stays, whatever its kernel."""
        file, launch, function = self.file, self.launch, self.launch.function
        text, unit = file.syntax.text, file.unit
        written = [first <= last for first, last in launch.configuration]
        # An argument of a macro may be all of a statement there.
        is_statement = launch.is_statement or file.shown.macro_line(launch) is not None
        if not is_statement or function is None or self._has_no_place_for_a_loop:
            uncompiled = Code.UNCOMPILED_LAUNCH if self._is_in_hole else Code.NOT_A_STATEMENT
            is_changed = not is_statement and file.shown.is_given_to_macro(launch)
            return Diagnostic.at(Code.HIDDEN_LAUNCH if is_changed else uncompiled)
        if not (2 <= len(written) <= 4 and all(written)):
            texts = ", ".join(map(text, launch.configuration)).split()
            return Diagnostic.at(Code.HIDDEN_CONFIGURATION, text=" ".join(texts))
        if file.shown.is_hidden(launch):
            return Diagnostic.at(Code.HIDDEN_LAUNCH)
        if unit.is_expanded and not file.shown.of(launch):
            return Diagnostic.at(Code.UNCOMPILED_LAUNCH)
        return None

    def _unproven(self) -> Diagnostic | None:
        """Why a launch of its kernel stays."""
        kernel, name, unit = self.kernel, self.name, self.file.unit
        if kernel is None and not unit.is_expanded and name in unit.functions:
            # A macro makes it a kernel, where the file can be read.
            unread = Code.NO_COMPILED_CODE
            return Diagnostic(unread, f"kernel '{name}' {unread.template}")
        if kernel is None:
            return Diagnostic.at(Code.MISSING_KERNEL, name=name)
        if not are_alike(self.kernels):
            return Diagnostic.at(Code.DIFFERING_KERNELS, name=name)
        is_known = self.shared is not None or kernel.keeps_shared
        is_unknown = not is_known and self._asks_for_shared_memory
        suffices = self._may_suffice if least_shared(kernel) else _suffices(kernel, self.shared)
        if is_unknown if kernel.asserted else not suffices:
            return Diagnostic.at(Code.DYNAMIC_SHARED_MEMORY)
        return _impure(kernel) or self._has_no_copy(kernel)

    def _has_no_copy(self, kernel: Kernel) -> Diagnostic | None:
        """The kernel's own reason, where its copies are all it has, and none is launched here."""
        if kernel.pure_dimensions or not kernel.tiles or kernel.reason is None:
            return None
        tiles = (one.tile for one in kernel.tiles if one.tile is not None)
        is_open = any(may_be_launched(tile, self.resolved) for tile in tiles)
        return None if is_open else because(kernel, kernel.reason)

    @property
    def _is_in_hole(self) -> bool:
        holes, first = self.file.syntax.brackets.holes, self.launch.callee[0]
        return any(begin <= first < end for begin, end in holes)

    def _is_indirect(self) -> bool:
        """Anything but a (qualified) name with template arguments."""
        depth = 0
        for token in self.file.syntax.part(self.launch.callee):
            depth += {"<": 1, ">": -1}.get(token.text, 0)
            if depth == 0 and token.text in (".", "->", "(", "["):
                return True
        # A variable of the function around it: NAME "=", "*" NAME ")", "auto" NAME?
        (first, last), function = self.launch.callee, self.launch.function
        if function is None or first != last:
            return False
        name = self.file.syntax.tokens[first].text
        return self.file.declared_in(function).get(name, self.launch.end) < first - 1

    @property
    def _is_other_variable(self) -> bool:
        """Is it a pointer that is a member, or a global variable?"""
        (first, last), file = self.launch.callee, self.file
        is_named = self.kernel is None and first == last and file.unit.is_expanded
        is_function = is_named and bool(file.types.callees.signatures(self.name))
        return is_named and not is_function and file.pointed.is_pointer(self.name)

    def _is_argument(self, function: SourceFunction) -> bool:
        head = self.file.syntax.part((function.first, function.parameters[1]))
        name, *others = self.file.syntax.part(self.launch.callee)
        is_named = not others and name.text != function.name
        return is_named and any(token.text == name.text for token in head)


def _impure(kernel: Kernel) -> Diagnostic | None:
    if len(kernel.argument_names) > MOST_ARGUMENTS:
        what = f"more than {MOST_ARGUMENTS} arguments; put some into a structure"
        message = Code.NOT_PROVEN.template.format(what=what)
        return because(kernel, Impurity(Code.NOT_PROVEN, message, kernel.span))
    if kernel.pure_dimensions or kernel.tiles:
        return None
    unindexed = Impurity(Code.NO_INDEX, Code.NO_INDEX.template, kernel.span)
    return because(kernel, kernel.reason or unindexed)


def because(kernel: Kernel, impurity: Impurity) -> Diagnostic:
    """The refusal of a launch because of its kernel; the note points into the kernel."""
    note = Diagnostic.at(Code.KERNEL_REASON, kernel.source, impurity.span, kernel=kernel.name)
    return Diagnostic(impurity.code, f"kernel '{kernel.name}' {impurity.message}", notes=(note,))


def may_be_launched(tile: Tile, resolved: Configuration | None) -> bool:
    """May a copy run in place of a launch, by what is known of its block and its grid?"""
    if resolved is None:
        return True
    blocks = zip(map(constant, resolved.block), tile.own_block, strict=True)
    counts = zip(map(constant, resolved.grid), tile.whole, strict=True)
    is_block = all(size is None or size == own for size, own in blocks)
    return is_block and all(count is None or count % whole == 0 for count, whole in counts)


def least_shared(kernel: Kernel) -> int:
    """Return the bytes of dynamic shared memory that launches ask for, if all blocks get as many.

    0 where these follow the block, or an annotation says what they are.
    """
    is_kept = kernel.keeps_shared and kernel.shared is None and not kernel.asserted
    return max((size for _, size in kernel.needed_shared), default=0) if is_kept else 0


def _suffices(kernel: Kernel, shared: str | None) -> bool:
    """Does it get the dynamic shared memory that it is proven to need?"""
    return all(
        shared is not None and (bytes_of(shared, width) or 0) >= needed
        for width, needed in kernel.needed_shared
    )


def _proven(kernel: Kernel | None) -> str:
    assert kernel is not None, "a tunable launch has a kernel"
    proven = ", ".join(d for d in kernel.pure_dimensions if d not in kernel.asserted)
    asserted = ", ".join(kernel.asserted)
    said = f"any block in {asserted} by annotation" if asserted else ""
    tried = "; ".join(one.tile.text for one in kernel.tiles if one.tile is not None)
    tiles = f"copies do the same with {tried}" if tried else ""
    by_ids = f"global ids only in {proven}" if proven else ""
    return "; ".join(filter(None, (by_ids, said, tiles)))


def are_alike(kernels: Sequence[Kernel]) -> bool:
    """May a launch of any of them be judged by the first one?"""
    return all(
        one.name == kernels[0].name and _decides(one) == _decides(kernels[0]) for one in kernels
    )


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
        (kernel.must_hold, kernel.narrow_blocks),
        (kernel.allowed, kernel.needed_shared),
        (kernel.reassociates, kernel.is_associative),
        (kernel.needs_warps, kernel.single_thread),
        (kernel.may_meet, kernel.distinct_places),
        kernel.proven_for,
        kernel.unproven,
    )
