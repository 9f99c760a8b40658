"""Launches as they were judged, one small value each. Takes programs, gives `SeenLaunch`es.

A source that a build compiles is judged in the compiler's process; its launches are written down
for the process that tunes the build.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from math import prod

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, path_from
from cutune.core.typed import Count, Text
from cutune.core.workspace import Json
from cutune.proof.analysis.suggestions import suggestions
from cutune.source.host_formula import constant
from cutune.source.program import Kernel, LaunchSite, Program, SiteKey, Verdict

_LOOP = re.compile(r"\b(?:for|while)\b")


@dataclass(frozen=True)
class Helped:
    """A launch that `cutune inspect --suggest` has a line for: what has to be given to it.

    `sources`: absolute paths. `flags`: how they are compiled, seen from `folder`.
    """

    sources: tuple[Text, ...]
    flags: tuple[str, ...]
    folder: Text


@dataclass(frozen=True)
class SeenLaunch:
    """One launch: its place, its verdict, and why it is refused.

    `code`: that of the rule. `blocks`: see `constant_blocks`. `helped`: None where nothing helps.
    `is_possible`: a pointer is launched, which may lead to the kernel.
    """

    site: SiteKey
    kernel: str
    file: Text
    line: Count
    is_tunable: bool
    reason: str = ""
    code: str = ""
    blocks: Count = 0
    helped: Helped | None = None
    is_possible: bool = False

    def to_json(self) -> Json:
        return asdict(self)


@dataclass(frozen=True)
class SeenLaunches:
    """The document with those of a source, whose files are named as from a folder."""

    launches: tuple[SeenLaunch, ...]
    folder: Text = os.curdir

    def from_here(self) -> Iterator[SeenLaunch]:
        """The launches, their files named as from the current folder."""
        for launch in self.launches:
            yield replace(launch, file=path_from(os.getcwd(), self.folder, launch.file))


def seen_launches(programs: Sequence[Program], flags: Sequence[str]) -> Iterator[SeenLaunch]:
    """The launches of programs, which are linked together and compiled so, in their order."""
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
                _helped(programs, program, site, flags)
                if (site.source.path, line) in helped
                else None,
                site.pointer is not None,
            )


def _helped(
    programs: Sequence[Program], program: Program, site: LaunchSite, flags: Sequence[str]
) -> Helped:
    kernel, paths = program.kernel(site.kernel), [program.source.path]
    if kernel is not None and kernel.elsewhere is not None:
        # Of a program that was read alone it is known where its kernel stands.
        others = [one.source.path for one in programs if one is not program]
        paths += others or [kernel.source.path]
    return Helped(tuple(map(os.path.abspath, paths)), tuple(flags), os.getcwd())


def suggesting(seen: Iterable[SeenLaunch]) -> list[str]:
    """The commands that say what would help; sources that are compiled alike are in one."""
    asked: dict[tuple[str, tuple[str, ...]], dict[str, None]] = {}
    for helped in (one.helped for one in seen):
        if helped is not None:
            alike = asked.setdefault((helped.folder if helped.flags else "", helped.flags), {})
            alike.update(dict.fromkeys(helped.sources))
    return [_suggesting(folder, flags, sources) for (folder, flags), sources in asked.items()]


def _suggesting(folder: str, flags: Iterable[str], sources: Iterable[str]) -> str:
    here = folder or os.getcwd()
    words = [path.removeprefix(os.path.join(here, "")) for path in sources]
    words += [f"--nvcc-flag={flag}" for flag in flags]
    moved = "" if here == os.getcwd() else f"cd {shlex.quote(here)} && "
    return f"{moved}cutune inspect --suggest {shlex.join(words)}"


def nothing_tunable(programs: Sequence[Program]) -> CutuneError:
    """CT415, of sources of which no launch may be changed."""
    path = "', '".join(program.source.path for program in programs)
    has_launches = any(program.launches for program in programs)
    why = ", because there is no <<<…>>> in it; name the source that has it"
    why = ": the messages above say why" if has_launches else why
    return CutuneError.at(Code.NOTHING_TUNABLE, path=path, why=why)


def constant_blocks(site: LaunchSite, kernel: Kernel | None) -> int:
    """Return the blocks of a kernel that shares its work among any number of them.

    0 where it is not known to, as without a loop in its text, where another number is chosen at the
    launch, or where the text does not give one number.
    """
    text = "" if kernel is None else kernel.source[kernel.span]
    if site.resolved is None or kernel is None or "gridDim" not in text or not _LOOP.search(text):
        return 0
    if any(dimension.grid_free is not None for dimension in kernel.dimensions):
        return 0
    return prod(int(constant(size) or 0) for size in site.resolved.grid)
