"""Launches as the compiler resolved them. Takes a `Program` and `HostLaunch`es, gives a `Program`.

A site is found by its file and the line on which its statement begins. Several launches on one
line are matched by their order. Macros may add or drop some: then all kernels of the line with the
name of the site's kernel count as its entries, perhaps more than it has, never fewer.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import product

from cutune.core.codes import Code
from cutune.core.diagnostics import Diagnostic
from cutune.proof.analysis.host_calls import HostLaunch
from cutune.source.launches.verdicts import because
from cutune.source.program import LaunchSite, Program, Verdict
from cutune.source.syntax.directives import renumbers
from cutune.toolchain.kernel_names import base_name, demangled, may_call

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
    sites: dict[int, LaunchSite] = {}
    diagnostics = list(program.diagnostics)
    for place, written in sites_by_place(program.launches).items():
        here = [] if written[0].source.path in renumbered else told[place]
        for site in written:
            known = elsewhere.get(site.kernel)
            sites[site.id], remark = _judged(site, written, here, known)
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
        kernel = program.kernel(site.kernel)
        reason = None
        if kernel is not None and site.verdict is Verdict.TUNABLE:
            called = site.entries, kernel.entries
            reason = next((why for name, why in kernel.unproven if may_call(name, *called)), None)
        if kernel is None or reason is None:
            sites.append(site)
            continue
        refusal = because(kernel, reason)
        notes = (refusal.note,) if refusal.note else ()
        remark = Diagnostic(refusal.code, refusal.reason, site.source, site.span, notes)
        diagnostics.append(remark)
        sites.append(_with_reason(site, remark))
    return replace(program, launches=tuple(sites), diagnostics=tuple(diagnostics))


def _judged(
    site: LaunchSite,
    written: Sequence[LaunchSite],
    told: Sequence[HostLaunch],
    elsewhere: tuple[str, ...] | None,
) -> tuple[LaunchSite, Diagnostic | None]:
    """Judge one of the launches of a line. `elsewhere`: entries, if another source defines them."""
    if len(told) < len(written):
        what = "the compiler finds no launch on that line"
        return _refused(site, Code.UNRESOLVED_LAUNCH, reason=what)
    if any(launch.indirect for launch in told):
        return _refused(site, Code.INDIRECT_LAUNCH, callee=site.callee)
    # Where the numbers differ, any of them may belong together.
    is_in_order = len(told) == len(written)
    pairs = zip(written, told, strict=True) if is_in_order else product(written, told)
    called = ((one.kernel, entry) for one, launch in pairs for entry in launch.entries)
    others = sorted({entry for kernel, entry in called if base_name(entry) != kernel})
    if others:
        found = f"'{demangled(others[:1])[0]}'"
        return _refused(site, Code.OTHER_KERNEL, found=found, name=site.kernel)
    own = {e for launch in told for e in launch.entries if base_name(e) == site.kernel}
    if not own:
        return _refused(site, Code.UNRESOLVED_LAUNCH, reason="it is never instantiated")
    site = replace(site, entries=tuple(sorted(own)))
    declared = [(own & launch.entries, own & launch.declared) for launch in told]
    is_defined = not any(here for _, here in declared)
    if elsewhere is not None:
        # A static kernel of this source may have the same entry.
        is_declared = all(entries == here for entries, here in declared)
        is_defined = is_declared and site.entries == elsewhere
    return (site, None) if is_defined else _refused(site, Code.MISSING_KERNEL, name=site.kernel)


def _refused(
    site: LaunchSite, code: Code, **values: object
) -> tuple[LaunchSite, Diagnostic | None]:
    """The site refused, if it was tunable; others are refused already."""
    if site.verdict is Verdict.REFUSED:
        return site, None
    remark = Diagnostic(code, code.template.format(**values), site.source, site.span)
    return _with_reason(site, remark), remark


def _with_reason(site: LaunchSite, remark: Diagnostic) -> LaunchSite:
    return replace(site, verdict=Verdict.REFUSED, reason=remark.message, code=remark.code)


def launches_by_place(launches: Iterable[HostLaunch]) -> defaultdict[_Place, list[HostLaunch]]:
    """Launches by file and line, as they are compiled."""
    places: defaultdict[_Place, list[HostLaunch]] = defaultdict(list)
    for launch in launches:
        places[launch.path, launch.line].append(launch)
    return places


def sites_by_place(sites: Iterable[LaunchSite]) -> dict[_Place, list[LaunchSite]]:
    """Launches by file and line, as they are written."""
    places: defaultdict[_Place, list[LaunchSite]] = defaultdict(list)
    for site in sorted(sites, key=lambda site: site.span.start):
        line = site.source.location(site.span.start).line
        places[os.path.realpath(site.source.path), line].append(site)
    return places
