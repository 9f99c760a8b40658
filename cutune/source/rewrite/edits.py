"""The edits that instrumented and tuned programs share. Takes launches and tunables, gives edits.

`gemm<<<grid, block>>>(n, A)` becomes `cutune_launch(7, grid, block) ? (void)0 :
cutune_call(gemm)(n, A)`. nvcc itself makes this of a launch, so all is evaluated once, in the same
order. Where the name of the kernel does not tell its address, the call is repeated: `for
(cutune_repeated cutune_7(7, cutune_members<>(), grid, block, 0, 0, n, A); cutune_7.next();)
gemm<<<cutune_7.grid, …>>>(n, A)`. Both are one statement on the same lines. A kernel with a copy is
launched as `cutune_call(gemm, cutune_copied<256, 0, 0>(cutune_copy_gemm::gemm))(n, A)`, one with
variants as `cutune_call(gemm, cutune_variants(gemm__restrict))(n, A)`. Where the arguments choose
among kernels of a name, each is named as `static_cast<decltype(cutune_which_gemm(n, A))>(gemm)`; a
kernel with a copy whose name other functions share as `static_cast<decltype(&COPY)>(gemm)`. A
pointer to one of several kernels, each a site, is launched as `cutune_pointed(+p, cutune_branch(7,
cutune_call(gemm), cutune_branch(8, cutune_call(gemv))))(n, A)`.

`int m = 32;` becomes `int m = CALL(32, …);` on the same line; `#define WPT 1` gets another text.
A copy for other values stands right behind its declaration, so that it sees what that sees. A
prefix of the value set distinguishes its names: macros put it there, so that the text stays as it
is. A namespace would add names of its own to those that the types of arguments bring in. `#line`
keeps messages and `__LINE__` right.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from cutune.core.codes import Code
from cutune.core.diagnostics import Diagnostic
from cutune.core.source import Edit, Source, Span, apply_edits
from cutune.source.kernel_variant import KernelVariant
from cutune.source.launches.callees import callee_named, callee_of_copy, selector_name
from cutune.source.program import (
    HostTunable,
    Kernel,
    KernelCopy,
    LaunchSite,
    MemberParameter,
    Program,
    Region,
    TunableConstant,
)
from cutune.source.rewrite.c_text import c_string, line_structure, one_line
from cutune.source.rewrite.pipeline import TranslationUnit
from cutune.source.syntax.directives import COMMENT, directives_of, macros

#: Members that follow a dot in a repeated launch: a macro of that name would break it.
LAUNCH_MEMBERS = ("grid", "block", "smem", "stream", "next")
#: As many variants as `cutune_launch.h` has room for.
MOST_VARIANTS = 12
#: Words that only a rewritten source holds.
_MARKS = re.compile(
    r"\bcutune_launch\(\d|\bcutune_repeated cutune_\d|\bcutune_proven_[0-9a-f]{16}\[\] = \{"
)
_PERHAPS_HIDING = re.compile(
    rf"define(?:\s|\\|{COMMENT})+(?:cutune_|(?:{'|'.join(LAUNCH_MEMBERS)})\b)"
)


def is_rewritten(source: Source) -> bool:
    """Does a source hold a rewritten launch, or code that those of other sources need?"""
    return _MARKS.search(source.text) is not None


def launch_edits(
    site: LaunchSite, kernel: Kernel | None = None, variants: Sequence[KernelVariant] = ()
) -> Iterator[Edit]:
    """The edits that put one launch, among its kernel's variants, under the control of cutune."""
    expressions = [one_line(site.source[span]) for span in site.configuration_spans]
    if site.called is None:
        yield from _repeating_edits(site, kernel, expressions)
        return
    head = f"cutune_launch({', '.join([str(site.id), *expressions])}) ? (void)0 : cutune_call("
    cast = _cast_at(site, kernel)
    yield Edit.insert(site.span.start, head + cast + "::" * site.is_global)
    deduced = ", ".join(_deduced(site))
    if deduced and site.callee.endswith(">"):
        yield Edit.insert(site.span.start + len(site.callee) - 1, f", {deduced}")
        deduced = ""
    types = f"<{deduced}>" * bool(deduced) + ")" * bool(cast)
    told = "".join(f", {one}" for one in _told(site, kernel, variants))
    yield Edit(site.called, f"{types}{told})" + line_structure(site.source[site.called]))
    if site.filled:
        arguments = ", ".join(["", *site.filled] if site.arguments else site.filled)
        yield Edit.insert(site.span.end - 1, arguments)


def edits_of(program: Program, sites: Iterable[LaunchSite]) -> Iterator[tuple[Source, list[Edit]]]:
    """The edits of each launch, with its file; of a pointer for all kernels that it may lead to."""
    for launch in by_launch(sites):
        first, kernel = launch[0], program.kernel(launch[0].kernel)
        edits = launch_edits(first, kernel, variants_at(program, first))
        if first.pointer is not None:
            edits = _pointer_edits(program, launch)
        yield first.source, [*edits]


def by_launch(sites: Iterable[LaunchSite]) -> list[list[LaunchSite]]:
    """Sites of one launch together: those of the kernels to which its pointer may lead."""
    found: dict[tuple[str, Span], list[LaunchSite]] = {}
    for site in sites:
        found.setdefault((site.source.path, site.span), []).append(site)
    return [*found.values()]


def _pointer_edits(program: Program, sites: Sequence[LaunchSite]) -> Iterator[Edit]:
    site, text = sites[0], ""
    for one in reversed(sites):
        told = _told(one, program.kernel(one.kernel), variants_at(program, one))
        callee = ", ".join([function_at(one, one.callee), *told])
        text = f", cutune_branch({one.id}, cutune_call({callee}){text})"
    configuration = ", ".join(one_line(site.source[span]) for span in site.configuration_spans)
    # An object may be one that is converted to a pointer.
    head = f"cutune_launch({site.id}, {configuration}) ? (void)0 : cutune_pointed(+"
    yield Edit.insert(site.span.start, head)
    assert site.called is not None, "its kernel is named"
    yield Edit(site.called, f"{text})" + line_structure(site.source[site.called]))


def _cast_at(site: LaunchSite, kernel: Kernel | None) -> str:
    """The beginning of a cast, where the name of a kernel alone does not tell which one it is."""
    if site.by_arguments:
        return f"static_cast<{_chosen(site)}>("
    if site.by_copy and kernel is not None and kernel.copy is not None:
        return f"static_cast<decltype(&{_copy_at(site, kernel.copy)})>("
    return ""


def _told(
    site: LaunchSite, kernel: Kernel | None, variants: Sequence[KernelVariant]
) -> Iterator[str]:
    """What a call is told besides its kernel: the copy, the variants, members of arguments."""
    copied = kernel.copy if kernel is not None else None
    if copied is not None:
        change = ["1"] * copied.is_flat + ["2"] * copied.is_of_one_block
        known = ", ".join([*map(str, copied.block), *change])
        yield f"cutune_copied<{known}>({_copy_at(site, copied)})"
    callees = (callee_named(site.callee, site.kernel, variant.kernel) for variant in variants)
    names = ", ".join(function_at(site, callee) for callee in callees if callee is not None)
    if names:
        yield f"cutune_variants({names})"
    if kernel is not None and (kernel.members or kernel.inner_pointers):
        yield _members(kernel.members, kernel.inner_pointers)


def _copy_at(site: LaunchSite, copy: KernelCopy) -> str:
    callee = callee_of_copy(site.callee, site.kernel, copy)
    assert callee is not None, "the name of the kernel is written"
    return function_at(site, callee)


def function_at(site: LaunchSite, callee: str) -> str:
    """A function with the template arguments of a launch, as an expression."""
    if site.by_arguments:
        return f"static_cast<{_chosen(site)}>({one_line(callee)})"
    name, deduced = one_line(callee), ", ".join(_deduced(site))
    if deduced:
        name = f"{name[:-1]}, {deduced}>" if name.endswith(">") else f"{name}<{deduced}>"
    return f"{'::' if site.is_global else ''}{name}"


def _chosen(site: LaunchSite) -> str:
    selector = callee_named(site.callee, site.kernel, selector_name(site.kernel))
    assert selector is not None, "the name of the kernel is written"
    return f"decltype({one_line(selector)}({', '.join(map(one_line, site.arguments))}))"


def variants_at(program: Program, site: LaunchSite) -> tuple[KernelVariant, ...]:
    """The variants among which a launch may choose: where the kernel's name says which one."""
    kernel = program.kernel(site.kernel)
    if kernel is None or site.called is None or not program.has_checked_variants:
        return ()
    named = (v for v in kernel.variants if callee_named(site.callee, kernel.name, v.kernel))
    return tuple(named)[:MOST_VARIANTS]


def _deduced(site: LaunchSite) -> Iterator[str]:
    for deduced in site.deduced:
        argument = one_line(site.arguments[deduced.argument])
        yield f"{deduced.kind.value}<decltype(({argument}))>"


def _repeating_edits(
    site: LaunchSite, kernel: Kernel | None, expressions: Sequence[str]
) -> Iterator[Edit]:
    name = f"cutune_{site.id}"
    # Members lie behind all arguments.
    is_told = kernel is not None and site.has_all_arguments(kernel)
    members = _members(kernel.members if kernel is not None and is_told else ())
    configuration = [*expressions, *["0"] * (4 - len(expressions))]
    arguments = [one_line(argument) for argument in site.arguments]
    values = ", ".join([str(site.id), members, *configuration, *arguments])
    yield Edit.insert(site.span.start, f"for (cutune_repeated {name}({values}); {name}.next();) ")
    chosen, spans = [f"{name}.{one}" for one in LAUNCH_MEMBERS[:4]], site.configuration_spans
    # The last expression that was written also takes the place of those that were not.
    texts = [*chosen[: len(spans) - 1], ", ".join(chosen[len(spans) - 1 :])]
    for span, text in zip(spans, texts, strict=True):
        yield Edit(span, text + line_structure(site.source[span]))


def _members(members: Iterable[MemberParameter], pointers: Iterable[tuple[int, int]] = ()) -> str:
    types = []
    for one in members:
        steps = (
            f"cutune_place<decltype({step}), {step}>" if step[0] == "&" else step
            for step in one.steps
        )
        types.append(f"cutune_member< {one.structure}, {one.argument}, {', '.join(steps)}>")
    types += (f"cutune_inner<{place}, {byte}>" for place, byte in pointers)
    return f"cutune_members<{', '.join(types)}>()"


def with_launch_edits(
    unit: TranslationUnit, sites: Sequence[LaunchSite], prelude: str
) -> TranslationUnit:
    """Put launches under the control of `cutune_launch`, which the prelude defines."""
    program = unit.program
    repeats = any(site.called is None for site in sites)
    names = (hiding_macro(file, repeats) for file in (program.source, *program.headers))
    early = sorted({*LAUNCH_MEMBERS} & program.defined.keys()) if repeats else ()
    if hidden := next(filter(None, (*early, *names)), None):
        return unit.with_diagnostics(
            Diagnostic.at(Code.HIDDEN_MEMBER, site.source, site.span, name=hidden) for site in sites
        )
    unit = unit.with_prelude(prelude)
    for source, edits in edits_of(program, sites):
        unit = unit.with_numbered_edits(edits, source)
    return with_copies(unit, {site.kernel for site in sites})


def with_callees(
    unit: TranslationUnit, callee: Callable[[LaunchSite], str | None]
) -> TranslationUnit:
    """Launch other kernels, where a callee is given, and change nothing else.

    Where a pointer is launched they are named beside it.
    """
    for launch in by_launch(unit.program.launches):
        first, others = launch[0], [*filter(None, map(callee, launch))]
        written = first.pointer or first.callee
        span = Span(first.span.start, first.span.start + len(written))
        if first.pointer is not None and others:
            named = "".join(f"static_cast<void>({other}), " for other in others)
            others = [f"({named}{one_line(written)})"]
        edits = [Edit(span, other) for other in others]
        unit = unit.with_edits(edits, first.source)
    return unit


def with_copies(unit: TranslationUnit, names: Collection[str]) -> TranslationUnit:
    """Put the copies of kernels of these names behind them, and their variants."""
    for kernel in unit.program.kernels:
        if kernel.name not in names:
            continue
        if kernel.copy is not None:
            edits = filter(None, (kernel.copy.declaration, kernel.copy.edit))
            unit = unit.with_edits([*edits], kernel.copy.source)
        variants = kernel.variants if unit.program.has_checked_variants else ()
        unit = with_variant_copies(unit, kernel, variants)
    return unit


def with_variant_copies(
    unit: TranslationUnit, kernel: Kernel, variants: Sequence[KernelVariant]
) -> TranslationUnit:
    """Put variants of a kernel behind it, and its selector: to the pipeline that is one place."""
    sites = unit.program.launches
    is_selected = any(site.by_arguments and site.kernel == kernel.name for site in sites)
    selector = (kernel.selector,) if is_selected and kernel.selector is not None else ()
    inserted = [*selector, *((variant.source, variant.edit) for variant in variants)]
    if not inserted:
        return unit
    declared = [edit for variant in variants if (edit := variant.declaration) is not None]
    edits = [_joined(declared)] if declared else []
    return unit.with_edits([*edits, _joined([edit for _, edit in inserted])], inserted[0][0])


def _joined(edits: Sequence[Edit]) -> Edit:
    """One insertion in place of several at one place."""
    return Edit(edits[0].span, "".join(edit.text for edit in edits))


def hiding_macro(source: Source, repeats: bool = True) -> str | None:
    """A macro of this file that would expand in a launch, perhaps a repeated one; or None."""
    if "define" not in source.text or not _PERHAPS_HIDING.search(source.text):
        return None
    for macro in macros(tuple(directives_of(source.text))):
        # A macro with parameters only expands before a parenthesis, which `next` alone has.
        expands = macro.parameters is None or macro.name == "next"
        is_member = macro.name in LAUNCH_MEMBERS and expands
        if macro.name.startswith("cutune_") or (repeats and is_member):
            return macro.name
    return None


Call = Callable[[HostTunable], tuple[str, str]]
"""Text before and behind the program's own value of a tunable."""
#: Beginning of the macros that stand for the values of constants.
VALUE_PREFIX = "CUTUNE_VALUE_"


def with_tunable_edits(unit: TranslationUnit, tunable: HostTunable, call: Call) -> TranslationUnit:
    """Make a tunable's value the first argument of a call."""
    edits = map(Edit.insert, tunable.value, call(tunable))
    return unit.with_numbered_edits(edits, tunable.source)


def settable(constants: Iterable[TunableConstant]) -> str:
    """Text before line 1: the program's own values, unless the command line has others."""
    values = ((VALUE_PREFIX + c.name, one_line(c.own_text)) for c in constants)
    return "".join(f"#ifndef {n}\n#define {n} {value}\n#endif\n" for n, value in values)


def with_value(unit: TranslationUnit, constant: TunableConstant, text: str) -> TranslationUnit:
    """Put another text in place of a constant's own value."""
    edit = Edit(constant.value, text + line_structure(constant.own_text))
    return unit.with_numbered_edits([edit], constant.source)


def data_arguments(tunable: HostTunable) -> list[str]:
    """The data and the tunables that are given, as C expressions."""
    return [f"(long long)({name})" for name in (*tunable.data, *tunable.given)]


def region_edits(region: Region) -> Iterator[Edit]:
    """Calls in place of the pragmas; behind a region that may repeat the way back to its begin."""
    number = region.id
    begin, end = f"cutune_region_begin({number});", f"cutune_region_end({number});"
    if region.may_repeat:
        given = "".join(f" cutune_give_next({c_string(n)}, {n});" for n in region.assigned)
        begin = f"cutune_again_{number}:; {begin}"
        end += (
            f" {{ const int cutune_next = cutune_region_again(); if (cutune_next > 0) {{{given} }}"
            f" if (cutune_next > 1) goto cutune_again_{number}; }}"
        )
    for span, text in ((region.begin, begin), (region.end, end)):
        yield Edit(span, text + line_structure(region.source[span]))


@dataclass(frozen=True)
class Outer:
    """The function of the host that chooses a value set.

    Attributes:
        place: of its name. head: from its first token to the bracket behind its parameters.
        body: the offset behind its `{`.
        arguments: the names of its parameters. sizes: of those by which it chooses.
    """

    name: str
    place: Span
    head: Span
    body: int
    arguments: tuple[str, ...]
    sizes: tuple[str, ...]


@dataclass(frozen=True)
class Copies:
    """Declarations that are written again for each value set.

    Attributes:
        declarations: from the first token to the last, in order. names: what they declare.
        values: the places of values of constants; macros have none.
        sets: the prefix of each value set, and its values by the names of parameters.
    """

    source: Source
    declarations: tuple[Span, ...]
    names: tuple[str, ...]
    outer: Outer
    values: Mapping[str, Span]
    sets: Mapping[str, Mapping[str, str]]


def copy_edits(copies: Copies, routine: str) -> list[Edit]:
    """Copies behind each declaration; the outermost function asks `routine` which one to call."""
    outer, source = copies.outer, copies.source
    texts: defaultdict[int, str] = defaultdict(str)
    for span in copies.declarations:
        first, last = (source.location(at).line for at in (span.start, span.end - 1))
        written = [_copy_with(copies, span, first, *one) for one in copies.sets.items()]
        texts[span.end] += "".join(["\n", *written, f"#line {last}\n"])
    before = one_line(source[Span(outer.head.start, outer.place.start)])
    behind = one_line(source[Span(outer.place.end, outer.head.end)])
    prototypes = (f"{before} {prefix}{outer.name}{behind}; " for prefix in copies.sets)
    texts[outer.head.start] += "".join(prototypes)
    texts[outer.body] += dispatcher(copies, routine)
    return [Edit.insert(offset, text) for offset, text in texts.items()]


def dispatcher(copies: Copies, routine: str) -> str:
    """The statement that calls the copy of the chosen set; the program's own one is below it."""
    outer = copies.outer
    sizes = ", ".join(f"(long long)({name})" for name in outer.sizes)
    arguments = ", ".join(outer.arguments)
    cases = (
        f"case {number}: return {prefix}{outer.name}({arguments});"
        for number, prefix in enumerate(copies.sets, 1)
    )
    return f" switch ({routine}({sizes})) {{ {' '.join(cases)} default: break; }}"


def _copy_with(
    copies: Copies, span: Span, line: int, prefix: str, values: Mapping[str, str]
) -> str:
    edits = [
        Edit(Span(place.start - span.start, place.end - span.start), values[name])
        for name, place in copies.values.items()
        if name in values and span.start <= place.start and place.end <= span.end
    ]
    text = apply_edits(Source("", copies.source[span]), edits).text
    macros = {name: value for name, value in values.items() if name not in copies.values}
    macros |= {name: prefix + name for name in copies.names}
    defined = (
        f'#pragma push_macro("{name}")\n#undef {name}\n#define {name} {value}\n'
        for name, value in macros.items()
    )
    restored = (f'#pragma pop_macro("{name}")\n' for name in macros)
    return "".join([*defined, f"#line {line}\n{text}\n", *restored])
