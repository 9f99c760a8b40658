"""Launches as the compiler resolved them. Takes a `Program` and `HostLaunch`es, gives a `Program`.

A site is found by its file and the line on which its statement begins. Several launches on one
line are matched by their order. Macros may add or drop some: then all kernels of the line with the
name of the site's kernel count as its entries, perhaps more than it has, never fewer.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from cutune.core.codes import Code
from cutune.core.diagnostics import Diagnostic
from cutune.proof.analysis.host_calls import HostLaunch
from cutune.source.launches.verdicts import because
from cutune.source.program import Impurity, Kernel, LaunchSite, Program, Verdict
from cutune.source.syntax.directives import renumbers
from cutune.toolchain.kernel_names import demangled, is_named, may_call

_Place = tuple[str, int]


def confirmed(program: Program, launches: Sequence[HostLaunch]) -> Program:
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
        line = _Line(
            written, [] if written[0].source.path in renumbered else told[place], elsewhere
        )
        for site in written:
            sites[site.id], remark = line.judged(site)
            diagnostics += [remark] if remark is not None else []
    judged = tuple(sites[site.id] for site in program.launches)
    return replace(program, launches=judged, diagnostics=tuple(diagnostics))


def unconfirmed(program: Program, reason: str) -> Program:
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
        is_tunable = site.verdict is Verdict.TUNABLE
        reason = _unproven(site, kernel) if is_tunable and kernel is not None else None
        if kernel is None or reason is None:
            sites.append(site)
            continue
        remark = replace(because(kernel, reason), source=site.source, span=site.span)
        diagnostics.append(remark)
        sites.append(_with_reason(site, remark))
    return replace(program, launches=tuple(sites), diagnostics=tuple(diagnostics))


def _unproven(site: LaunchSite, kernel: Kernel) -> Impurity | None:
    """Why an instance that the launch may call is not proven, if one is not."""
    reasons = (
        reason for name, reason in kernel.unproven if may_call(name, site.entries, kernel.entries)
    )
    return next(reasons, None)


def entries_of(site: LaunchSite, launches: Iterable[HostLaunch]) -> tuple[str, ...]:
    """The entries among launches of the site's line that bear the name of its kernel."""
    entries = {entry for launch in launches for entry in launch.entries}
    return tuple(sorted(entry for entry in entries if is_named(entry, site.kernel)))


@dataclass(frozen=True)
class _Line:
    """The launches of a line: as they are written, and as they are compiled.

    `elsewhere`: the entries of kernels that other translation units define.
    """

    written: Sequence[LaunchSite]
    told: Sequence[HostLaunch]
    elsewhere: Mapping[str, tuple[str, ...]]

    def judged(self, site: LaunchSite) -> tuple[LaunchSite, Diagnostic | None]:
        """The site with its entries, or refused."""
        if len(self.told) < len(self.written):
            return _refused(
                site, Code.UNRESOLVED_LAUNCH, reason="the compiler finds no launch on that line"
            )
        if any(launch.indirect for launch in self.told):
            return _refused(site, Code.INDIRECT_LAUNCH, callee=site.callee)
        others = sorted({entry for pair in self._pairs() for entry in _others(*pair)})
        if others:
            found = f"'{demangled(others[:1])[0]}'"
            return _refused(site, Code.OTHER_KERNEL, found=found, name=site.kernel)
        entries = entries_of(site, self.told)
        if not entries:
            return _refused(site, Code.UNRESOLVED_LAUNCH, reason="it is never instantiated")
        site = replace(site, entries=entries)
        if not self._is_defined(site):
            return _refused(site, Code.MISSING_KERNEL, name=site.kernel)
        return site, None

    def _is_defined(self, site: LaunchSite) -> bool:
        """Do the entries of the site belong to the analysed definition?"""
        own = {*site.entries}
        declared = [(own & launch.entries, own & launch.declared) for launch in self.told]
        if site.kernel in self.elsewhere:
            # A static kernel of this source may have the same entry.
            is_declared = all(entries == here for entries, here in declared)
            return is_declared and site.entries == self.elsewhere[site.kernel]
        return not any(here for _, here in declared)

    def _pairs(self) -> Iterator[tuple[LaunchSite, HostLaunch]]:
        """Pairs that may belong together: by order, or all where the numbers differ."""
        if len(self.told) == len(self.written):
            yield from zip(self.written, self.told, strict=True)
        else:
            yield from ((site, launch) for site in self.written for launch in self.told)


def _others(site: LaunchSite, launch: HostLaunch) -> Iterator[str]:
    return (entry for entry in launch.entries if not is_named(entry, site.kernel))


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
