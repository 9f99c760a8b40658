"""Launch sites of several sources. Takes a source and a site, gives a key or a number.

The id of a site is unique within one source and its headers. The key adds the path of the source.
In logs and in the file of candidates each site of a process has a number, which adds an offset per
source.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from cutune.core.source import Source
from cutune.core.typed import SiteNumber, Text
from cutune.source.program import LaunchSite, Program
from cutune.toolchain.kernel_names import may_call


@dataclass(frozen=True, order=True)
class SiteKey:
    """A launch site, under a name that holds in all sources.

    Attributes:
        source: the absolute path of the source that was analyzed.
        id: of the site there.
    """

    source: Text
    id: SiteNumber

    @staticmethod
    def of(source: Source, site: LaunchSite) -> SiteKey:
        """That of a site of the source or of one of its headers."""
        return SiteKey(str(Path(source.path).resolve()), site.id)


@dataclass(frozen=True)
class SiteNumbers:
    """The numbers that one process gives the launch sites of one source: `before` + id."""

    before: int = 0

    def number(self, site: SiteKey | LaunchSite) -> int:
        """Return the number that logs and candidates give to a site of this source."""
        return self.before + site.id

    def written(self, program: Program) -> Program:
        """The program as it is instrumented: its sites have their numbers for ids."""
        sites = (replace(site, id=self.number(site)) for site in program.launches)
        return replace(program, launches=tuple(sites))


def numbers_of(programs: Iterable[Program]) -> Iterator[SiteNumbers]:
    """Numbers for the sources of one program, one behind the other."""
    before = 0
    for program in programs:
        yield SiteNumbers(before)
        before += len(program.launches)


def may_launch(program: Program, site: LaunchSite, entry: str) -> bool:
    """May a launch call the kernel of this name in compiled code, as the host names it?"""
    kernel = program.kernel(site.kernel)
    return may_call(entry, site.entries, kernel.entries if kernel is not None else ())
