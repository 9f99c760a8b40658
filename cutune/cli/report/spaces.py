"""The space of a program, for people and programs. Takes a `ProgramSpace`, gives text or JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from cutune.cli.report.programs import Json, place_of
from cutune.frontend.program import Program
from cutune.search.program_space import ProgramSpace, Setting
from cutune.space.parameter import listed, shown

if TYPE_CHECKING:
    from cutune.tunables.clones.verdict import BySizeVerdict


def space_lines(
    program: Program, program_space: ProgramSpace, verdicts: Mapping[str, BySizeVerdict]
) -> Iterator[str]:
    """Parameters with their places, unless they are host integers; how many configurations."""
    for constant in program.constants:
        place = place_of(program, constant, constant.value, "line ")
        by = f"; by {', '.join(constant.data)}" if constant.data else ""
        values = listed(constant.parameter.values)
        yield f"constant {constant.name} ({place}): {values}; is {constant.own_text}{by}"
        yield f"  {_verdict_line(verdicts[constant.name])}"
    for parameter in program_space.space.parameters:
        setting = program_space.settings[parameter.name]
        if setting in (Setting.FLAG, Setting.MAKE, Setting.RUN):
            yield f"{setting.value} {{{parameter.name}}}: {listed(parameter.values)}"
    yield _size_line(program_space)
    for condition in program_space.sized:
        yield f"asked at each size: {condition.text}"


def _verdict_line(verdict: BySizeVerdict) -> str:
    if verdict.note is None:
        return f"by size: chosen at each call of {verdict.outer}"
    return f"by size: no; {verdict.note.message} [{verdict.note.code.number}]"


def _size_line(program_space: ProgramSpace) -> str:
    size, raw, builds = program_space.space.size, program_space.space.raw_size, program_space.builds
    of = "" if size == raw else f" of {raw:,}"
    programs = "1 program" if builds == 1 else f"{builds:,} programs"
    return f"space: {size:,}{of} configurations, {programs} to build"


def space_json(program_space: ProgramSpace, verdicts: Mapping[str, BySizeVerdict]) -> Json:
    """Raw and valid size, parameters with their settings, the number of programs."""
    return {
        "raw_size": program_space.space.raw_size,
        "size": program_space.space.size,
        "builds": program_space.builds,
        "parameters": [
            {
                "name": parameter.name,
                "values": [v if isinstance(v, int) else shown(v) for v in parameter.values],
                "set_by": program_space.settings[parameter.name].value,
                **_by_size(verdicts.get(parameter.name)),
            }
            for parameter in program_space.space.parameters
        ],
        "axes": [list(table.names) for table in program_space.space.tables],
        "asked_at_each_size": [condition.text for condition in program_space.sized],
    }


def _by_size(verdict: BySizeVerdict | None) -> Json:
    """Of macros and constants: the function at each call of which one is chosen, or why not."""
    if verdict is None:
        return {}
    note = verdict.note.message if verdict.note is not None else None
    return {"chosen_at": verdict.outer or None, "one_value": note}
