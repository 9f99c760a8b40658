"""Launch sites and the kernels that they launched. Takes a `Program` and launch records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from cutune.core.codes import Code
from cutune.core.diagnostics import Diagnostic, Warn
from cutune.emulator.launch_log import LaunchRecord
from cutune.frontend.launch_sites import SiteNumbers, may_launch
from cutune.frontend.program import Kernel, LaunchSite, Program


@dataclass(frozen=True)
class Launched:
    """One instance of a kernel, by its mangled name, and the sites that launched it.

    `signatures`: those of its launches, where some site launches other instances, too.
    """

    kernel: Kernel
    entry: str
    sites: tuple[LaunchSite, ...]
    signatures: tuple[int, ...] = ()

    def made(self, record: LaunchRecord, numbers: SiteNumbers) -> bool:
        """Is this one of its launches?"""
        site_numbers = {numbers.number(site) for site in self.sites}
        return record.site in site_numbers and record.kernel == self.entry


def launched_sites(
    program: Program, recorded: Sequence[Sequence[LaunchRecord]], numbers: SiteNumbers, warn: Warn
) -> Iterator[Launched]:
    """Instances of kernels, each with the sites that launched it.

    Left out with a warning: sites that launched none, or another kernel than the compiler calls
    there, or several instances that the types of their arguments do not tell apart.
    """
    seen: dict[int, dict[str, set[int]]] = {}
    for record in (r for run in recorded for r in run):
        if record.site is not None:
            of_site = seen.setdefault(record.site, {})
            of_site.setdefault(record.kernel, set()).add(record.signature)
    by_instance: dict[tuple[str, str], list[LaunchSite]] = {}
    for site in program.tunable_launches:
        instances = seen.get(numbers.number(site), {})
        remark = _not_clear(program, site, instances)
        if remark is not None:
            warn(remark)
            continue
        for entry in instances:
            same = by_instance.setdefault((site.kernel, entry), [])
            if same and same[0].shared != site.shared:
                code = Code.DIFFERENT_SHARED_MEMORY
                warn(Diagnostic.at(code, site.source, site.span, kernel=site.kernel))
                break
            same.append(site)
    for (name, entry), sites in by_instance.items():
        kernel = program.kernel(name)
        assert kernel is not None, "a tunable launch has a kernel"
        of_sites = [seen[numbers.number(site)] for site in sites]
        is_one_of_several = any(len(instances) > 1 for instances in of_sites)
        signatures = {one for instances in of_sites for one in instances[entry]}
        told = tuple(sorted(signatures)) if is_one_of_several else ()
        yield Launched(kernel, entry, tuple(sites), told)


def _not_clear(
    program: Program, site: LaunchSite, instances: Mapping[str, set[int]]
) -> Diagnostic | None:
    """Why a site is left out: it must have launched the kernels that the compiler calls there."""
    where = site.source, site.span
    others = [name for name in instances if not may_launch(program, site, name)]
    if others:
        return Diagnostic.at(Code.OTHER_ENTRY, *where, entry=min(others), kernel=site.kernel)
    if not instances:
        return Diagnostic.at(Code.NEVER_LAUNCHED, *where, kernel=site.kernel)
    if sum(map(len, instances.values())) > len(set().union(*instances.values())):
        return Diagnostic.at(Code.MANY_INSTANCES, *where, kernel=site.kernel)
    return None
