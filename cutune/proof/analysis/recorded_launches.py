"""Launches as they were judged, one small value each. Takes programs, gives `SeenLaunch`es.

A source that a build compiles is judged in the compiler's process; its launches are written down
for the process that tunes the build.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from math import prod

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError
from cutune.core.typed import Count, Text
from cutune.core.workspace import Json
from cutune.proof.analysis.suggestions import suggestions
from cutune.source.host_formula import constant
from cutune.source.program import Kernel, LaunchSite, Program, SiteKey, Verdict


@dataclass(frozen=True)
class SeenLaunch:
    """One launch: its place, its verdict, and why it is refused.

    `code`: that of the rule. `blocks`: see `constant_blocks`. `is_helped`: a suggestion helps.
    """

    site: SiteKey
    kernel: str
    file: Text
    line: Count
    is_tunable: bool
    reason: str = ""
    code: str = ""
    blocks: Count = 0
    is_helped: bool = False

    def to_json(self) -> Json:
        return asdict(self)


@dataclass(frozen=True)
class SeenLaunches:
    """The document with those of a source."""

    launches: tuple[SeenLaunch, ...]


def seen_launches(programs: Iterable[Program]) -> Iterator[SeenLaunch]:
    """The launches of programs, in their order."""
    for program in programs:
        found = [one for one in suggestions(program) if one.helps]
        helped = {(one.file, line) for one in found for line in one.launches}
        for site in program.launches:
            line = site.source.location(site.span.start).line
            is_tunable = site.verdict is Verdict.TUNABLE
            yield SeenLaunch(
                SiteKey.of(program.source, site),
                site.kernel,
                site.source.path,
                line,
                is_tunable,
                "" if is_tunable else site.reason,
                "" if is_tunable or site.code is None else site.code.number,
                constant_blocks(site, program.kernel(site.kernel)),
                (site.source.path, line) in helped,
            )


def nothing_tunable(programs: Sequence[Program]) -> CutuneError:
    """CT415, of sources of which no launch may be changed."""
    path = "', '".join(program.source.path for program in programs)
    has_launches = any(program.launches for program in programs)
    why = ": the messages above say why" if has_launches else ", because there is no <<<…>>> in it"
    return CutuneError.at(Code.NOTHING_TUNABLE, path=path, why=why)


def constant_blocks(site: LaunchSite, kernel: Kernel | None) -> int:
    """Return the blocks of a kernel that shares its work among any number of them.

    0 where it is not known to, where another number is chosen at the launch, or where the text does
    not give one number.
    """
    if site.resolved is None or kernel is None or "gridDim" not in kernel.source[kernel.span]:
        return 0
    if any(dimension.grid_free is not None for dimension in kernel.dimensions):
        return 0
    return prod(int(constant(size) or 0) for size in site.resolved.grid)
