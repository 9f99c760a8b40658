"""Outcomes of tuning. Takes launches, measured kernels and messages, gives an outcome of each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from cutune.analysis.seen import SeenLaunch
from cutune.core.diagnostics import Diagnostic
from cutune.fit.measurement.measurement import MeasuredKernel
from cutune.frontend.launch_sites import SiteKey


class TuningOutcome(Enum):
    """The outcome of a launch, in the words of the summary."""

    #: It chooses its configuration.
    TUNED = "tuned"
    #: It does, and the program's own block is its choice at all sizes shown.
    KEPT = "kept"
    #: It may not be changed.
    REFUSED = "refused"
    #: It may be, but no model could be made.
    NOT_MODELLED = "not modelled"


@dataclass(frozen=True)
class LaunchOutcome:
    """The outcome of a launch; why, and the code of the rule or the message."""

    launch: SeenLaunch
    outcome: TuningOutcome
    why: str = ""
    code: str = ""


def outcomes(
    seen: Iterable[SeenLaunch],
    kernels: Sequence[MeasuredKernel],
    kept: Mapping[str, str],
    said: Sequence[Diagnostic],
) -> Iterator[LaunchOutcome]:
    """The outcome of each launch.

    Args:
        kernels: those of the models that the tuned program has.
        kept: entries of kernels whose own block is the choice at all sizes shown, and why it is.
        said: all messages of the measuring stages.
    """
    modelled: dict[SiteKey, set[str]] = {}
    for kernel in kernels:
        for site in kernel.sites:
            modelled.setdefault(site, set()).add(kernel.entry)
    for launch in seen:
        if not launch.is_tunable:
            yield LaunchOutcome(launch, TuningOutcome.REFUSED, launch.reason, launch.code)
        elif launch.site in modelled:
            entries = sorted(modelled[launch.site])
            is_kept = all(entry in kept for entry in entries)
            why = "; ".join(dict.fromkeys(kept[entry] for entry in entries)) if is_kept else ""
            yield LaunchOutcome(launch, TuningOutcome.KEPT if is_kept else TuningOutcome.TUNED, why)
        else:
            last = _last_about(launch, said)
            why = "no measurement of it" if last is None else last.message.splitlines()[0]
            code = "" if last is None else last.code.number
            yield LaunchOutcome(launch, TuningOutcome.NOT_MODELLED, why, code)


def _last_about(launch: SeenLaunch, said: Sequence[Diagnostic]) -> Diagnostic | None:
    """The last message of measuring that speaks of this launch, else of its kernel."""
    # What the analysis warns of (CT2..) is true of a launch that may be changed, and no reason.
    said = [one for one in said if not one.code.number.startswith("CT2")]
    places = (one for one in reversed(said) if _is_at(one, launch))
    kernels = (one for one in reversed(said) if one.about == launch.kernel)
    return next(places, None) or next(kernels, None)


def _is_at(diagnostic: Diagnostic, launch: SeenLaunch) -> bool:
    if diagnostic.source is None or diagnostic.span is None:
        return False
    location = diagnostic.source.location(diagnostic.span.start)
    return (location.path, location.line) == (launch.file, launch.line)
