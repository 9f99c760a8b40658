"""`inspect --require`: launches that have to be tunable. Takes programs and patterns, gives which
are not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from cutune.cli.report.programs import is_confirmed, verdict_of, why_unmodelled
from cutune.core.codes import Code
from cutune.core.diagnostics import Diagnostic, known_names
from cutune.frontend.program import LaunchSite, Program, Verdict

#: The status where a launch that has to be tunable is not.
NOT_AS_REQUIRED = 3


class Lacking(NamedTuple):
    """A pattern that does not hold: the message, and the launch that it is about."""

    diagnostic: Diagnostic
    site: LaunchSite | None = None


def lacking(programs: Sequence[Program], patterns: Sequence[str]) -> Iterator[Lacking]:
    """Patterns that match no launch, and launches that they match and that are not tunable."""
    launches = [(program, site) for program in programs for site in program.launches]
    names = [site.kernel for _, site in launches]
    for pattern in dict.fromkeys(patterns):
        matching = [(p, site) for p, site in launches if fnmatchcase(site.kernel, pattern)]
        if not matching:
            known = known_names(pattern, names)
            yield Lacking(Diagnostic.at(Code.NOTHING_REQUIRED, None, name=pattern, known=known))
        for program, site in matching:
            reason, kernel = _why_not(program, site), site.kernel
            if reason:
                code, place = Code.REQUIRED_NOT_TUNABLE, (site.source, site.span)
                said = Diagnostic.at(code, *place, pattern=pattern, kernel=kernel, reason=reason)
                yield Lacking(said, site)


def _why_not(program: Program, site: LaunchSite) -> str:
    """Why a launch does not count as tunable; empty where it does."""
    if verdict_of(program, site) == Verdict.TUNABLE.value:
        return "" if is_confirmed(program) else "the compiler has not confirmed it"
    code = f" [{site.code.number}]" if site.code is not None else ""
    return why_unmodelled(program, site) or f"{site.reason}{code}"
