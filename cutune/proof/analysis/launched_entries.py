"""Launches as the compiler resolved them. Takes a `Program` and `HostLaunch`es, gives a `Program`.

A site is found by its file and the line on which its statement begins. Several launches on one
line are matched by their order. Macros may add or drop some: then all kernels of the line with the
name of the site's kernel count as its entries, perhaps more than it has, never fewer.

`scale<<<grid, block>>>(n, a)` may be one of several kernels named `scale`. Behind each of them
stands a selector, `cutune_which_scale`, that takes the same and gives a pointer to such a kernel:
then `static_cast<decltype(cutune_which_scale(n, a))>(scale)` is the kernel that is launched, and
with `scale__restrict` in place of `scale` its copy. That this is so is asked of the compiler, for
the kernel and for every copy, at every launch. A launch of which it is not true stays as it is.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import product

from cutune.core.codes import Code
from cutune.core.diagnostics import Diagnostic
from cutune.core.source import Edit
from cutune.proof.analysis.host_calls import HostLaunch, launches_by_place
from cutune.proof.compiled import in_halves
from cutune.source.launches.callees import callee_named
from cutune.source.launches.verdicts import because
from cutune.source.program import Kernel, LaunchSite, Program, Verdict
from cutune.source.rewrite.c_text import one_line, prelude_edit
from cutune.source.rewrite.edits import by_launch, function_at, with_variant_copies
from cutune.source.rewrite.pipeline import TranslationUnit
from cutune.source.syntax.directives import renumbers
from cutune.toolchain.kernel_names import (
    base_name,
    canonical,
    demangled,
    is_among,
    is_named,
    is_overload,
    may_call,
    renamed_entry,
)

_Place = tuple[str, int]


def with_launched_entries(program: Program, launches: Sequence[HostLaunch]) -> Program:
    """The program with the entries that the compiler names at each site.

    Tunable sites are refused where it names none, goes through a pointer, or names another kernel
    than the text does (CT201, CT208, CT225, CT226).
    """
    told = launches_by_place(launches)
    sources = {site.source.path: site.source for site in program.launches}
    renumbered = {p for p, source in sources.items() if renumbers(source.text)}
    elsewhere = {k.name: k.entries for k in program.kernels if k.elsewhere is not None}
    overloads = {k.name: k.entries for k in program.kernels if is_overload(k.name)}

    def is_own(entry: str, kernel: str) -> bool:
        its = overloads.get(kernel)
        return is_named(entry, kernel) and (its is None or is_among(entry, its))

    sites: dict[int, LaunchSite] = {}
    diagnostics = list(program.diagnostics)
    for place, written in _sites_by_place(program.launches).items():
        here = [] if written[0].source.path in renumbered else told[place]
        launching = [of_one[0] for of_one in by_launch(written)]
        for site in written:
            known = elsewhere.get(site.kernel)
            if site.pointer is not None:  # It knows what it may be.
                sites[site.id], remark = site, None
            else:
                sites[site.id], remark = _judged(site, launching, here, is_own, known)
            diagnostics += [remark] if remark is not None else []
    judged = tuple(sites[site.id] for site in program.launches)
    return replace(program, launches=judged, diagnostics=tuple(diagnostics))


def without_launched_entries(program: Program, reason: str) -> Program:
    """The program without tunable launches: the compiler could not be asked, for this reason."""
    judged = [_refused(site, Code.UNRESOLVED_LAUNCH, reason=reason) for site in program.launches]
    remarks = [remark for _, remark in judged if remark is not None]
    launches = tuple(site for site, _ in judged)
    return replace(program, launches=launches, diagnostics=(*program.diagnostics, *remarks))


def without_unproven(program: Program) -> Program:
    """The program without launches of instances for which their kernel is not proven."""
    sites, diagnostics = [], list(program.diagnostics)
    for site in program.launches:
        kernel, judged = program.kernel(site.kernel), site
        if kernel is not None and may_be_unproven(site, kernel):
            called = site.entries, kernel.entries
            reasons = (why for name, why in kernel.unproven if may_call(name, *called))
            if (reason := next(reasons, None)) is not None:
                remark = replace(because(kernel, reason), source=site.source, span=site.span)
                diagnostics = [one for one in diagnostics if not _is_of(one, site)] + [remark]
                judged = _with_reason(site, remark)
        sites.append(judged)
    return replace(program, launches=tuple(sites), diagnostics=tuple(diagnostics))


def may_be_unproven(site: LaunchSite, kernel: Kernel) -> bool:
    """May it launch an instance for which the kernel is not proven, where it seems to be?

    An annotation of other instances, which are, would not make it tunable.
    """
    is_proven = site.verdict is Verdict.TUNABLE or site.code is Code.ROUNDED_SUM
    return is_proven and bool(kernel.unproven)


def _is_of(diagnostic: Diagnostic, site: LaunchSite) -> bool:
    place = diagnostic.code, diagnostic.source, diagnostic.span
    return place == (site.code, site.source, site.span)


def _judged(
    site: LaunchSite,
    written: Sequence[LaunchSite],
    told: Sequence[HostLaunch],
    is_own: Callable[[str, str], bool],
    elsewhere: tuple[str, ...] | None,
) -> tuple[LaunchSite, Diagnostic | None]:
    """Judge one of the launches of a line.

    `is_own`: has a kernel of this name this entry? `elsewhere`: entries, if another source defines
    them.
    """
    if len(told) < len(written):
        what = "the compiler finds no launch on that line"
        return _refused(site, Code.UNRESOLVED_LAUNCH, reason=what)
    # Where the numbers differ, any of them may belong together.
    is_in_order = len(told) == len(written)
    pairs = [*(zip(written, told, strict=True) if is_in_order else product(written, told))]
    if any(launch.indirect for one, launch in pairs if one is site):
        return _refused(site, Code.INDIRECT_LAUNCH, callee=site.callee)
    # What a pointer calls has another name than the pointer.
    direct = [(o, t) for o, t in pairs if o is site or not (t.indirect or o.pointer)]
    called = ((one.kernel, entry) for one, launch in direct for entry in launch.entries)
    others = sorted({entry for kernel, entry in called if not is_own(entry, kernel)})
    if others:
        found = f"'{demangled(others[:1])[0]}'"
        return _refused(site, Code.OTHER_KERNEL, found=found, name=site.kernel)
    own = {e for launch in told for e in launch.entries if is_own(e, site.kernel)}
    if not own:
        return _refused(site, Code.UNRESOLVED_LAUNCH, reason="it is never instantiated")
    site = replace(site, entries=tuple(sorted(own)))
    declared = [(own & launch.entries, own & launch.declared) for launch in told]
    is_defined = not any(here for _, here in declared)
    if elsewhere is not None:
        # A static kernel of this source may have the same entry.
        is_declared = all(entries == here for entries, here in declared)
        is_defined = is_declared and site.entries == elsewhere
    if is_defined:
        return site, None
    is_weak = elsewhere is None and all(own & one.declared <= one.weak for one in told)
    return _refused(site, Code.WEAK_KERNEL if is_weak else Code.MISSING_KERNEL, name=site.kernel)


def _refused(
    site: LaunchSite, code: Code, **values: object
) -> tuple[LaunchSite, Diagnostic | None]:
    if site.verdict is Verdict.REFUSED:
        return site, None
    remark = Diagnostic(code, code.template.format(**values), site.source, site.span)
    return _with_reason(site, remark), remark


def _with_reason(site: LaunchSite, remark: Diagnostic) -> LaunchSite:
    return replace(site, verdict=Verdict.REFUSED, reason=remark.message, code=remark.code)


def _sites_by_place(sites: Iterable[LaunchSite]) -> dict[_Place, list[LaunchSite]]:
    places: defaultdict[_Place, list[LaunchSite]] = defaultdict(list)
    for site in sorted(sites, key=lambda site: site.span.start):
        places[os.path.realpath(site.source.path), site.compiled_line].append(site)
    return places


Ask = Callable[[TranslationUnit], Sequence[HostLaunch]]
"""The launches of a rewritten program. Raises CutuneError where it does not compile."""
_OWNER = "by-arguments"


def with_kernels_by_arguments(program: Program, ask: Ask) -> Program:
    """The program in which launches name the kernel that their arguments choose, where known."""

    def right(sites: Sequence[LaunchSite]) -> set[int]:
        wanted = {site.id for site in sites}
        changed = named_by_arguments(program, wanted)
        return {site.id for site in _confirmed(changed, wanted, ask(_launching(changed, wanted)))}

    wanted = sorted(_open(program), key=lambda site: site.kernel)
    named = set[int]().union(*in_halves(wanted, right))
    return named_by_arguments(program, named) if wanted else program


def named_by_arguments(program: Program, sites: Collection[int]) -> Program:
    """The program in which these launches name the kernel that their arguments choose."""
    launches = tuple(
        replace(site, called=site.brackets, by_arguments=True) if site.id in sites else site
        for site in program.launches
    )
    return replace(program, launches=launches)


def without_choice(program: Program) -> list[Diagnostic]:
    """Return a note for each launch that names no kernel for certain (CT276)."""
    varied = {kernel.name for kernel in program.kernels if kernel.variants}
    return [
        Diagnostic.at(Code.VARIANT_CALLEE, site.source, site.span, name=site.kernel)
        for site in program.tunable_launches
        if site.called is None and site.kernel in varied
    ]


def _open(program: Program) -> Iterator[LaunchSite]:
    """Launches of kernels with variants whose name alone does not say which one is meant."""
    for site in program.launches:
        kernels = [kernel for kernel in program.kernels if kernel.name == site.kernel]
        if (
            site.verdict is Verdict.TUNABLE
            and site.called is None
            and site.brackets is not None
            and site.entries
            and all(k.variants and k.selector is not None for k in kernels)
            and all(site.has_all_arguments(kernel) for kernel in kernels)
            and callee_named(site.callee, site.kernel, site.kernel) is not None
        ):
            yield site


def _launching(program: Program, wanted: Collection[int]) -> TranslationUnit:
    unit = TranslationUnit(program, _OWNER).with_prelude("\n")
    for header in program.launching_headers:
        unit = unit.with_edits([prelude_edit(header, "")], header)
    for site in program.launches:
        if site.id in wanted:
            both = site.configuration, site.arguments
            configuration, arguments = (", ".join(map(one_line, texts)) for texts in both)
            functions = (function_at(site, callee) for callee in _callees(program, site))
            text = " ".join(f"{one}<<<{configuration}>>>({arguments});" for one in functions)
            # Still one statement, whose end the program has.
            edit = Edit(site.span, f"do {{ {text} }} while (0)")
            unit = unit.with_edits([edit], site.source)
    for kernel in program.kernels:
        unit = with_variant_copies(unit, kernel, kernel.variants)
    return unit


def _callees(program: Program, site: LaunchSite) -> list[str]:
    kernel = program.kernel(site.kernel)
    variants = kernel.variants if kernel is not None else ()
    found = (callee_named(site.callee, site.kernel, one.kernel) for one in variants)
    return [site.callee, *(one for one in found if one is not None)]


def _confirmed(
    program: Program, wanted: Collection[int], told: Iterable[HostLaunch]
) -> Iterator[LaunchSite]:
    lines = launches_by_place(told)
    for place, written in _sites_by_place(program.launches).items():
        sites = [launch[0] for launch in by_launch(written)]
        counts = [len(_callees(program, s)) if s.id in wanted else 1 for s in sites]
        if sum(counts) != len(lines[place]):
            continue
        left = iter(lines[place])
        for site, count in zip(sites, counts, strict=True):
            own = [next(left) for _ in range(count)]
            kernel = program.kernel(site.kernel)
            if site.id in wanted and kernel is not None and _are_of(site, kernel, own):
                yield site


def _are_of(site: LaunchSite, kernel: Kernel, told: Sequence[HostLaunch]) -> bool:
    names = [site.kernel, *(one.kernel for one in kernel.variants)]
    entries = set(map(canonical, site.entries))
    return len(told) == len(names) and all(
        not launch.indirect
        and {base_name(entry) for entry in launch.entries} == {name}
        and {canonical(renamed_entry(e, site.kernel)) for e in launch.entries} == entries
        for launch, name in zip(told, names, strict=True)
    )
