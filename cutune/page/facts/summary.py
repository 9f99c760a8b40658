"""The sentence at the top of a report. Takes its programs and kernels, gives text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from cutune.page.facts.report import KernelFacts, ProgramFacts, Standing, geometric_mean

#: So many names are listed; of more, their number is told.
LISTED = 3


def summary(programs: Sequence[ProgramFacts], kernels: Sequence[KernelFacts], device: str) -> str:
    """How much is predicted to be gained, where, and where the own blocks are good already."""
    counts = Counter(launch.standing for program in programs for launch in program.launches)
    parts = _of_kernels(kernels)
    if waiting := counts[Standing.UNMODELLED]:
        have = "has" if waiting == 1 else "have"
        parts.append(f"{_launches(waiting)} may be tuned but {have} no prediction yet")
    if refused := counts[Standing.REFUSED]:
        stays, them = ("stays", "it") if refused == 1 else ("stay", "them")
        parts.append(f"{_launches(refused)} {stays} as the source has {them}")
    if not parts:
        return "There is no kernel launch here."
    return f"On {_article(device)} {device}, {'; '.join(parts)}."


def _of_kernels(kernels: Sequence[KernelFacts]) -> list[str]:
    gaining = sorted(
        (one for one in kernels if one.standing is Standing.GAINS), key=lambda one: -one.gain
    )
    called = _called(kernels)
    good = [called[one.key] for one in kernels if one.standing is Standing.GOOD]
    parts = [_gains(gaining, called)] if gaining else []
    if good:
        names = _names(good, "others" if gaining else "kernels")
        parts.append(f"the program’s own blocks are already good for {names}")
    return parts


def _called(kernels: Sequence[KernelFacts]) -> dict[str, str]:
    """Their names by key; where several have one name, with the program that each belongs to."""
    counts = Counter(one.name for one in kernels)
    return {
        one.key: one.name if counts[one.name] == 1 else f"{one.name} of {one.program}"
        for one in kernels
    }


def _gains(gaining: Sequence[KernelFacts], called: Mapping[str, str]) -> str:
    """`a is predicted to run 3.0 times as fast`, or of many how many and the greatest."""
    names, factors = [called[one.key] for one in gaining], [times(one.gain) for one in gaining]
    count = len(called)
    if len(gaining) <= LISTED:
        are = "is" if len(gaining) == 1 else "are"
        told = f"{_joined(factors)} times as fast with cutune"
        return f"{_joined(names)} {are} predicted to run {told}"
    all_of = f"all {count}" if len(gaining) == count else f"{len(gaining)} of {count}"
    mean = times(geometric_mean(one.gain for one in gaining))
    return (
        f"{all_of} kernels are predicted to run {mean} times as fast with cutune on average, "
        f"most of all {names[0]} ({factors[0]} times)"
    )


def _launches(count: int) -> str:
    return "1 launch" if count == 1 else f"{count} launches"


def _names(names: Sequence[str], others: str) -> str:
    return _joined(names) if len(names) <= LISTED else f"{len(names)} {others}"


def _joined(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _article(device: str) -> str:
    """`an NVIDIA H200`, `a Tesla T4`."""
    return "an" if device.startswith("NVIDIA") or device[:1].lower() in "aeio" else "a"


def times(factor: float) -> str:
    """A factor as people say it: `1.06`, `3.0`, `12`."""
    return f"{factor:.0f}" if factor >= 10 else f"{factor:.1f}" if factor >= 2 else f"{factor:.2f}"
