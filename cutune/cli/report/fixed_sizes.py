"""Sizes that no run varied. Takes a kernel's, and how the runs were asked for; gives lines.

The counts of some kernels hold at one value of a size: `C = 4` where each run had 4 channels. Such
a kernel is not modelled beyond that. A line says so, and what to write so that runs vary the size.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence

from cutune.measure.program_runs import RunPlan

#: Sizes that a line names.
MOST_NAMED = 4
#: A number that is a word of a command line, or the value of an option.
_WORD = r"(?<![^\s=]){value}(?!\S)"


def beyond(fixed: Mapping[str, int]) -> str:
    """`beyond C = 4`: where a kernel is not modelled."""
    shown = [f"{name} = {value}" for name, value in fixed.items()]
    more = ["…"] if len(shown) > MOST_NAMED else []
    return f"beyond {', '.join([*shown[:MOST_NAMED], *more])}"


def closing_line(name: str, fixed: Mapping[str, int], plan: RunPlan | None) -> str:
    """`k: not modelled beyond C = 4, which no run varied; try: …`"""
    line = f"{name}: not modelled {beyond(fixed)}"
    if plan is None:
        return line
    return "; ".join([line, *(_freed(*one, plan) for one in [*fixed.items()][:MOST_NAMED])])


def _freed(name: str, value: int, plan: RunPlan) -> str:
    """What to write so that the runs vary this size."""
    values = f"{value},{2 * value or 1}"
    of_vary = [word for word, its in plan.vary.items() if [*its] == [str(value)]]
    if len(of_vary) == 1:
        return f"to free {name}, give it other values: --vary {of_vary[0]}={values}"
    word = _new_word(name, plan.vary)
    places = [*re.finditer(_WORD.format(value=value), plan.run)] if value >= 0 else []
    if not of_vary and len(places) == 1:
        (place,) = places
        run = f"{plan.run[: place.start()]}{{{word}}}{plan.run[place.end() :]}"
        return f"to free {name}, try: --run {shlex.quote(run)} and --vary {word}={values}"
    if places or of_vary:
        return f"to free {name}, write {{{word}}} for it in --run, and --vary {word}={values}"
    return (
        f"no word of --run is {name}: where the program reads it, as from an argument, write"
        f" {{{word}}} for it in --run, and --vary {word}={values}"
    )


def _new_word(name: str, known: Mapping[str, Sequence[str]]) -> str:
    """A name for --vary that is none yet."""
    word = re.sub(r"\W", "", name.rpartition(".")[2]) or "size"
    while word in known or word == "program":
        word += "_"
    return word
