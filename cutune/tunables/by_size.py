"""Value sets of compile-time parameters from times to the program.

Takes a compiler, a program and its choices, gives what the pass `choose-values` needs.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from cutune.core.codes import Code
from cutune.core.diagnostics import Diagnostic, Warn
from cutune.frontend.program import Program
from cutune.frontend.tunable import HostTunable, TunableConstant
from cutune.passes import ChooseValues
from cutune.proof.unit_compiler import UnitCompiler
from cutune.search.regions import Settings
from cutune.space.asked import Asked
from cutune.space.condition import Condition
from cutune.tunables.clones.depending import OneValue
from cutune.tunables.clones.emit_sets import emit_sets
from cutune.tunables.clones.places import tag
from cutune.tunables.clones.proven import Question, reduced, without_unproven
from cutune.tunables.clones.sets import SetChoice
from cutune.tunables.clones.verdict import found_copies, note_of, verdicts


@dataclass(frozen=True)
class ByName:
    """Parameters that may be chosen by size together, and by which sizes."""

    names: tuple[str, ...]
    sizes: tuple[str, ...]


def chosen_together(
    compiler: UnitCompiler, parameters: Asked, program: Program, names: Collection[str]
) -> ByName | None:
    """Those of some parameters that one function of the host can choose; None where none can.

    Where several functions could, that of most parameters does.
    """
    asked = [one for one in program.constants if one.name in names and one.data]
    if not asked:
        return None
    free = _without_conditions(parameters, program, {one.name for one in asked})
    known = verdicts(compiler, program)
    groups: dict[str, list[TunableConstant]] = {}
    for one in asked:
        if one.name in free and known[one.name].outer:
            groups.setdefault(known[one.name].outer, []).append(one)
    if not groups:
        return None
    chosen = max(groups.values(), key=len)
    sizes = dict.fromkeys(size for one in chosen for size in one.data)
    return ByName(tuple(one.name for one in chosen), tuple(sizes))


def _without_conditions(parameters: Asked, program: Program, names: Collection[str]) -> set[str]:
    """Those that no condition ties to something that is not chosen with them."""
    places: list[HostTunable | TunableConstant] = [*program.tunables, *program.constants]
    read = [Condition.read(one.where) for one in places if one.where is not None]
    others = {one.name for one in places} | {one.name for one in parameters.parameters}
    free = {*names}
    while True:
        tied = {
            name
            for condition in (*read, *parameters.conditions)
            if condition.names & others - free
            for name in condition.names & free
        }
        if not tied:
            return free
        free -= tied


@dataclass(frozen=True)
class SetsInProgram:
    """What a tuned program gets.

    Attributes:
        step: with the proven sets. names: parameters that are chosen by size.
    """

    step: ChooseValues
    names: tuple[str, ...]


def sets_in_program(
    compiler: UnitCompiler, warn: Warn, program: Program, choice: SetChoice | None, fixed: Settings
) -> SetsInProgram | None:
    """The proven copies for the chosen sets; None without any.

    Args:
        fixed: values of all parameters that have one for all sizes.
    """
    if choice is None:
        return None
    constants = [one for one in program.constants if one.name in choice.names]
    rest = {n: str(v) for n, v in fixed.items() if n not in choice.names}
    texts = [
        {name: str(value) for name, value in zip(choice.names, one, strict=True)}
        for one in choice.sets
    ]
    try:
        found, copies = found_copies(compiler, program, constants, rest, texts)
    except OneValue as problem:
        warn(note_of(constants[0], problem))
        return None
    routine = f"cutune_set_{tag(program.source, texts)}"
    own = [
        constant.own_text
        for name in choice.names
        for constant in constants
        if constant.name == name
    ]
    every = {number: number for number in range(1, len(texts) + 1)}
    step = ChooseValues(copies, emit_sets(choice, routine, every, own), routine)
    question = Question(compiler, program, found, copies, rest, step)
    proven, refused = without_unproven(question)
    for prefix, reason in refused.items():
        values = ", ".join(f"{n} = {v}" for n, v in copies.sets[prefix].items())
        warn(Diagnostic.at(Code.COPY_LEFT_OUT, program.source, values=values, reason=reason))
    if not proven:
        return None
    cases = {list(copies.sets).index(prefix) + 1: case for case, prefix in enumerate(proven, 1)}
    left = reduced(step, proven, emit_sets(choice, routine, cases, own))
    return SetsInProgram(left, choice.names)


def fixed_for_all_sizes(chosen: Settings, by_size: SetsInProgram | None) -> dict[str, int | str]:
    """The chosen values without those of parameters that are chosen by size."""
    names: Sequence[str] = by_size.names if by_size is not None else ()
    return {name: value for name, value in chosen.items() if name not in names}
