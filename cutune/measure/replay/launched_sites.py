"""Launch sites by the kernels that they launched. Takes recorded launches, gives `Launched`.

Sites are left out whose launches do not show which kernel they launch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from cutune.core.codes import Code
from cutune.core.diagnostics import Diagnostic, Warn
from cutune.emulator.launch_log import LaunchRecord
from cutune.source.program import Kernel, LaunchSite, Program, SiteNumbers, may_launch


@dataclass(frozen=True)
class Launched:
    """One instance of a kernel, and its sites. `signatures`: where one launches others, too."""

    kernel: Kernel
    entry: str
    sites: tuple[LaunchSite, ...]
    signatures: tuple[int, ...] = ()


def launched_sites(
    program: Program, launches: Sequence[LaunchRecord], numbers: SiteNumbers, warn: Warn
) -> Iterator[Launched]:
    """Instances of kernels, each with the sites that launched it.

    Warns of sites that are left out: those that launched nothing, another kernel than the compiler
    calls there, or several instances that their arguments' types do not tell apart.
    """
    seen: dict[int, dict[str, set[int]]] = {}
    for record in launches:
        if record.site is not None:
            seen.setdefault(record.site, {}).setdefault(record.kernel, set()).add(record.signature)
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
    """Why a site is left out; None where it launched the kernels that the compiler calls there."""
    where = site.source, site.span
    others = [name for name in instances if not may_launch(program, site, name)]
    if others:
        return Diagnostic.at(Code.OTHER_ENTRY, *where, entry=min(others), kernel=site.kernel)
    if not instances:
        return Diagnostic.at(Code.NEVER_LAUNCHED, *where, kernel=site.kernel)
    if sum(map(len, instances.values())) > len(set().union(*instances.values())):
        return Diagnostic.at(Code.MANY_INSTANCES, *where, kernel=site.kernel)
    return None
