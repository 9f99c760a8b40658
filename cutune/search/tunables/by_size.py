"""Compile-time parameters that are chosen by size. Takes a compiler, a program and its choices.

Gives the pass `choose-values` for the value sets whose copies are proven.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from cutune.core.codes import Code
from cutune.core.diagnostics import Diagnostic, Warn
from cutune.passes import ChooseValues
from cutune.proof.unit_compiler import UnitCompiler
from cutune.search.clones.dependence import NotBySize
from cutune.search.clones.find_copies import by_size_verdicts, found_copies, note_of, tag
from cutune.search.clones.prove_copies import ProgramWithCopies, reduced, without_unproven
from cutune.search.clones.value_sets import SetChoice, emit_sets
from cutune.search.regions import Settings
from cutune.source.program import Program
from cutune.source.tunable import HostTunable, TunableConstant
from cutune.space.condition import Condition
from cutune.space.parameter import ParameterOptions


@dataclass(frozen=True)
class ChosenTogether:
    """Parameters that may be chosen by size together, and by which sizes."""

    names: tuple[str, ...]
    sizes: tuple[str, ...]


def chosen_together(
    compiler: UnitCompiler, parameters: ParameterOptions, program: Program, names: Collection[str]
) -> ChosenTogether | None:
    """Return those of some parameters that one function of the host can choose, or None.

    Where several functions could, that of most parameters does.
    """
    sized = [one for one in program.constants if one.name in names and one.data]
    if not sized:
        return None
    free = _without_conditions(parameters, program, {one.name for one in sized})
    verdicts = by_size_verdicts(compiler, program)
    groups: dict[str, list[TunableConstant]] = {}
    for one in sized:
        if one.name in free and (outer := verdicts[one.name].outer):
            groups.setdefault(outer, []).append(one)
    if not groups:
        return None
    chosen = max(groups.values(), key=len)
    sizes = dict.fromkeys(size for one in chosen for size in one.data)
    return ChosenTogether(tuple(one.name for one in chosen), tuple(sizes))


def _without_conditions(
    parameters: ParameterOptions, program: Program, names: Collection[str]
) -> set[str]:
    """Return those that no condition ties to a parameter that is not chosen with them."""
    places: list[HostTunable | TunableConstant] = [*program.tunables, *program.constants]
    conditions = [Condition.read(one.where) for one in places if one.where is not None]
    conditions += parameters.conditions
    others = {one.name for one in places} | {one.name for one in parameters.parameters}
    free = {*names}
    while tied := {
        name
        for condition in conditions
        if condition.names & others - free
        for name in condition.names & free
    }:
        free -= tied
    return free


@dataclass(frozen=True)
class SetsInProgram:
    """The pass with the proven sets, and the names of the parameters that are chosen by size."""

    step: ChooseValues
    names: tuple[str, ...]


def sets_in_program(
    compiler: UnitCompiler, warn: Warn, program: Program, choice: SetChoice | None, fixed: Settings
) -> SetsInProgram | None:
    """Return the proven copies for the chosen sets; None without any.

    Args:
        fixed: values of all parameters that have one for all sizes.
    """
    if choice is None:
        return None
    constants = [one for one in program.constants if one.name in choice.names]
    rest = {n: str(v) for n, v in fixed.items() if n not in choice.names}
    texts = [dict(zip(choice.names, map(str, one), strict=True)) for one in choice.sets]
    try:
        found, copies = found_copies(compiler, program, constants, rest, texts)
    except NotBySize as problem:
        warn(note_of(constants[0], problem))
        return None
    routine = f"cutune_set_{tag(program.source, texts)}"
    own_texts = {constant.name: constant.own_text for constant in constants}
    own = [own_texts[name] for name in choice.names if name in own_texts]
    every = {number: number for number in range(1, len(texts) + 1)}
    step = ChooseValues(copies, emit_sets(choice, routine, every, own), routine)
    copied = ProgramWithCopies(compiler, program, found, copies, rest, step)
    proven, refused = without_unproven(copied)
    for prefix, reason in refused.items():
        values = ", ".join(f"{n} = {v}" for n, v in copies.sets[prefix].items())
        code = Code.COPY_LEFT_OUT
        warn(Diagnostic.at(code, program.source, values=values, reason=reason))
    if not proven:
        return None
    cases = {list(copies.sets).index(prefix) + 1: case for case, prefix in enumerate(proven, 1)}
    left = reduced(step, proven, emit_sets(choice, routine, cases, own))
    return SetsInProgram(left, choice.names)


def fixed_for_all_sizes(chosen: Settings, by_size: SetsInProgram | None) -> dict[str, int | str]:
    """Return the chosen values without those of parameters that are chosen by size."""
    names = by_size.names if by_size is not None else ()
    return {name: value for name, value in chosen.items() if name not in names}
