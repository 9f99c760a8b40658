"""The space of a program. Takes it and the options of a command line, gives a `ProgramSpace`.

Where the name of a parameter stands says how it is set: a host integer by the environment, a macro
or constant by `-D`, `{R}` in the options of nvcc or in the command that builds a project, `{G}` in
the command line of `--run`.

`refusal` says which launches a device refuses: a thread block whose size follows from
parameters is judged before anything is compiled, and again, with the registers and the shared
memory of its kernel, before the program runs.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from fractions import Fraction
from functools import partial
from math import prod

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, known_names, meant
from cutune.source.host_formula import Formula, Name, Number, rebuilt
from cutune.source.host_formula import constant as constant_value
from cutune.source.program import HostTunable, LaunchSite, Program, TunableConstant
from cutune.source.rewrite.edits import VALUE_PREFIX
from cutune.space.annotation import Condition, Value
from cutune.space.parameter import Parameter, ParameterOptions, holes, narrowed, shown
from cutune.space.space import Configuration, Space
from cutune.toolchain.device.profile import (
    REGISTER_UNIT,
    SUB_PARTITIONS,
    BlockResources,
    DeviceProfile,
    Limits,
    can_launch,
)
from cutune.toolchain.device.thread_block import WARP
from cutune.toolchain.kernel_names import is_named
from cutune.toolchain.ptxas import StaticCounters


class Setting(Enum):
    """Where a parameter stands in a program, which says how it is set."""

    HOST = "host integer"
    CONSTANT = "constant"
    FLAG = "option of nvcc"
    MAKE = "command that builds"
    RUN = "command line"


#: These are fixed when a program is compiled.
COMPILED = (Setting.CONSTANT, Setting.FLAG, Setting.MAKE)


@dataclass(frozen=True)
class ProgramSpace:
    """The parameters of a program, and how each is set.

    `space` has the conditions that need no size; `at` adds those of `sized`, which do. `own`: the
    program's own values, as far as they are known.
    """

    space: Space
    sized: tuple[Condition, ...]
    settings: Mapping[str, Setting]
    own: Mapping[str, Value]

    def at(self, sizes: Mapping[str, Value]) -> Space:
        """Return the space at some sizes; conditions on other sizes are left out."""
        space = self.space.at(sizes)
        decided = [condition for condition in self.sized if not space.unknown(condition)]
        return replace(space, conditions=(*space.conditions, *decided))

    def restricted(self, names: Sequence[str]) -> ProgramSpace:
        """Return the space of some parameters; others keep their values. Raises CT425."""
        known = self.space.names
        for name in names:
            if name not in known:
                reason = f"no tunable is named '{name}'; known: {known_names(name, known)}"
                raise CutuneError.at(Code.BAD_SWEEP, reason=reason)
        kept = tuple(p for p in self.space.parameters if p.name in names)
        fixed = {name: self.own[name] for name in known if name not in names and name in self.own}
        space = replace(self.space, parameters=kept, known={**self.space.known, **fixed})
        conditions = [c for c in self.space.conditions if not space.unknown(c)]
        return replace(self, space=replace(space, conditions=tuple(conditions)))

    def values(self, configuration: Configuration, *settings: Setting) -> dict[str, Value]:
        return {n: v for n, v in configuration.items() if self.settings[n] in settings}

    def definitions(self, configuration: Configuration) -> tuple[str, ...]:
        constants = self.values(configuration, Setting.CONSTANT)
        return tuple(f"-D{VALUE_PREFIX}{n}={shown(v)}" for n, v in constants.items())

    @property
    def compiled_names(self) -> tuple[str, ...]:
        return tuple(n for n in self.space.names if self.settings[n] in COMPILED)

    @property
    def builds(self) -> int:
        """The number of programs that have to be compiled, if no size forbids one."""
        return prod(table.distinct(self.compiled_names) for table in self.space.tables)


def program_space(
    program: Program,
    asked: ParameterOptions,
    run: str,
    sizes: Iterable[str],
    device: Mapping[str, Value],
) -> ProgramSpace:
    """Return the parameters of a program, with their conditions.

    `run` is the template of its command line; `sizes` are names that are known at each run;
    `device` has values of `device.shared` and the like.

    Raises CT808 for a name that stands nowhere, CT809 for one in several places, or as `Space.of`.
    """
    places = list(_places(program, asked, run))
    names = [name for name, _, _ in places]
    for parameter in asked.parameters:
        if (name := parameter.name) not in names:
            further = meant(name, names)
            raise CutuneError.at(Code.NOWHERE, name=name, further=further)
    _check_once(names, Code.SEVERAL_PLACES)
    _check_once([parameter.name for parameter in asked.parameters], Code.PARAMETER_TWICE)
    by_name = {parameter.name: parameter for parameter in asked.parameters}
    # Each place without values is one of a parameter of the command line.
    parameters = [
        by_name[name] if written is None else narrowed(written, by_name.get(name, written))
        for name, _, written in places
    ]
    conditions = [*_conditions(program), *asked.conditions]
    known = {**device, **dict.fromkeys(sizes, 0)}
    # A pragma may speak of words that the command line leaves out.
    written_words = [v for _, _, p in places if p for v in p.values if isinstance(v, str)]
    whole = Space.of(parameters, conditions, known, written_words)
    space = replace(whole, conditions=(), known=device)
    sized = tuple(condition for condition in conditions if space.unknown(condition))
    fixed = tuple(condition for condition in conditions if condition not in sized)
    settings = {name: setting for name, setting, _ in places}
    space = replace(space, conditions=fixed)
    return ProgramSpace(space, sized, settings, own_values(program, asked))


def device_values(device: DeviceProfile, count: int | None = None) -> dict[str, Value]:
    """Return the values of a device in conditions; `CUTUNE_DEVICES` overrides their count."""
    text = os.environ.get("CUTUNE_DEVICES", "")
    said = int(text) if text.isascii() and text.isdigit() else 1
    return {
        "device.shared": device.limits.shared_bytes_opt_in,
        "device.threads": device.limits.threads_per_block,
        "device.count": said if text or count is None else count,
    }


_Place = tuple[str, Setting, Parameter | None]


def _places(program: Program, asked: ParameterOptions, run: str) -> Iterator[_Place]:
    for tunable in program.tunables:
        yield tunable.name, Setting.HOST, tunable.parameter
    for constant in program.constants:
        yield constant.name, Setting.CONSTANT, constant.parameter
    names = dict.fromkeys(parameter.name for parameter in asked.parameters)
    commands = ((Setting.FLAG, asked.flags), (Setting.MAKE, (asked.make,)), (Setting.RUN, (run,)))
    for setting, words in commands:
        yield from ((name, setting, None) for name in names if name in holes(words))


def _check_once(names: Sequence[str], code: Code) -> None:
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise CutuneError.at(code, name=twice)


def _conditions(program: Program) -> Iterator[Condition]:
    seen = set()
    places: list[HostTunable | TunableConstant] = [*program.tunables, *program.constants]
    for one in places:
        pragma = one.source.path, one.pragma
        if one.where is None or pragma in seen:
            continue
        seen.add(pragma)
        condition = Condition.read(one.where, one.source, one.pragma)
        # Sizes of the host are expressions: the program tells their values when it runs.
        if not isinstance(one, HostTunable) or condition.names.isdisjoint(one.data):
            yield condition


def own_values(program: Program, asked: ParameterOptions) -> dict[str, Value]:
    """Return the program's own values: of constants that are one number or word, and of holes."""
    values = dict(asked.own)
    for constant in program.constants:
        text, value = constant.own_text, constant.parameter.at(constant.own_text)
        if value is not None or (text.isascii() and text.isdigit()):
            values[constant.name] = int(text) if value is None else value
    return values


Counters = Mapping[str, StaticCounters]
#: Messages of CUDA and ptxas about a launch that needs more than there is.
_REFUSED = re.compile(
    r"too many resources requested for launch|invalid configuration argument"
    r"|uses too much shared data|LaunchOutOfResources|InvalidConfiguration"
)


def says_limits(reason: str) -> bool:
    """Is a failure that of a launch, or a kernel, that needs more than the device has?"""
    return _REFUSED.search(reason) is not None


def refusal(
    program: Program, limits: Limits, values: Mapping[str, Value], counters: Counters
) -> str:
    """Return why a device would refuse a launch of a program; empty where that is not known.

    `values`: of parameters whose names stand in the source. Without `counters` of the program with
    these values, only the size of a block counts.
    """
    for site in program.launches:
        threads = threads_of(site, values)
        if threads is None:
            continue
        launch = f"kernel '{site.kernel}' with {threads} threads per block"
        if threads > limits.threads_per_block:
            return f"{launch}; the device has {limits.threads_per_block}"
        kernel = counters_of(site, counters)
        if kernel is None or threads < 1:
            continue
        dynamic = _value(site.resolved.shared, values) if site.resolved else None
        shared, most = kernel.static_shared_bytes + int(dynamic or 0), limits.shared_bytes_opt_in
        if shared > most:
            return f"{launch} and {shared} bytes of shared memory; the device has {most}"
        if not can_launch(BlockResources(threads, kernel.registers, 0), limits):
            # As they are allocated for a warp.
            each = -(-kernel.registers * WARP // REGISTER_UNIT) * REGISTER_UNIT // WARP
            warps = limits.registers_per_sm // SUB_PARTITIONS // (each * WARP)
            most = SUB_PARTITIONS * warps * WARP
            return f"{launch} of {each} registers; the device has room for {most}"
    return ""


def threads_of(site: LaunchSite, values: Mapping[str, Value]) -> int | None:
    """Return the threads per block of a launch, where they follow from values of parameters."""
    if site.resolved is None:
        return None
    sides = [_value(side, values) for side in site.resolved.block]
    known = [side for side in sides if side is not None]
    return int(prod(known)) if len(known) == len(sides) else None


def counters_of(site: LaunchSite, counters: Counters) -> StaticCounters | None:
    """Return the counters of a launch's kernel; of several instances the least of each."""
    named = [counters[entry] for entry in site.entries if entry in counters]
    found = named or [one for entry, one in counters.items() if is_named(entry, site.kernel)]
    if not found:
        return None
    shared = min(one.static_shared_bytes for one in found)
    return StaticCounters(min(one.registers for one in found), shared)


def _value(formula: Formula | None, values: Mapping[str, Value]) -> Fraction | None:
    return None if formula is None else constant_value(_with(formula, values))


def _with(formula: Formula, values: Mapping[str, Value]) -> Formula:
    """Replace the names that are certain to be parameters by their values."""
    match formula:
        case Name(text, key, value):
            chosen = values.get(text)
            # A name that no definition reaches may be that of another variable.
            is_parameter = isinstance(value, Number) or key in (f"macro {text}", f"constant {text}")
            if isinstance(chosen, int | Fraction) and is_parameter:
                return Number(Fraction(chosen))
            if text in values or value is None:
                return Name(text)
            return Name(text, key, _with(value, values))
    return rebuilt(formula, partial(_with, values=values))
