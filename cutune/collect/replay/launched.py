"""Which launch sites launched which kernel. Takes a `Program` and launch records."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from cutune.core.codes import Code
from cutune.core.diagnostics import Diagnostic, Warn
from cutune.emulator.launch_log import LaunchRecord
from cutune.frontend.launch_sites import SiteNumbers
from cutune.frontend.program import Kernel, LaunchSite, Program
from cutune.toolchain.entry_names import is_among


def launched_sites(
    program: Program,
    recorded: Sequence[Sequence[LaunchRecord]],
    numbers: SiteNumbers,
    warn: Warn,
) -> Iterator[tuple[Kernel, list[LaunchSite]]]:
    """Kernels, each with the sites that launched one and the same instance of it.

    Sites that launched none or several, or another kernel than the compiler calls there, are left
    out with a warning.
    """
    entries: dict[int, set[str]] = {}
    for record in (r for run in recorded for r in run):
        if record.site is not None:
            entries.setdefault(record.site, set()).add(record.kernel)
    by_instance: dict[tuple[str, str], list[LaunchSite]] = {}
    for site in program.tunable_launches:
        names = entries.get(numbers.number(site), set())
        remark = _not_one(site, names)
        if remark is None:
            same = by_instance.setdefault((site.kernel, next(iter(names))), [])
            if not same or same[0].shared == site.shared:
                same.append(site)
                continue
            code = Code.DIFFERENT_SHARED_MEMORY
            remark = Diagnostic.at(code, site.source, site.span, kernel=site.kernel)
        warn(remark)
    for (name, _), sites in by_instance.items():
        kernel = program.kernel(name)
        assert kernel is not None, "a tunable launch has a kernel"
        yield kernel, sites


def _not_one(site: LaunchSite, names: Collection[str]) -> Diagnostic | None:
    """Why a site is left out: it must have launched exactly the kernel that the compiler calls."""
    others = [name for name in names if site.entries and not is_among(name, site.entries)]
    if others:
        where = site.source, site.span
        return Diagnostic.at(Code.OTHER_ENTRY, *where, entry=min(others), kernel=site.kernel)
    if len(names) == 1:
        return None
    code = Code.MANY_INSTANCES if names else Code.NEVER_LAUNCHED
    return Diagnostic.at(code, site.source, site.span, kernel=site.kernel)
