"""The space of a program. Takes it and the options of a command line, gives a `ProgramSpace`.

Where the name of a parameter stands says how it is set: a host integer by the environment, a macro
or constant by `-D`, `{R}` in the options of nvcc or in the command that builds a project, `{G}` in
the command line of `--run`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from math import prod

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, known_names, meant
from cutune.source.program import Program
from cutune.source.rewrite.tunable_edit import VALUE_PREFIX
from cutune.source.tunable import HostTunable, TunableConstant
from cutune.space.condition import Condition, Value
from cutune.space.parameter import Parameter, ParameterOptions, holes, narrowed, shown
from cutune.space.space import Configuration, Space
from cutune.toolchain.device.profile import DeviceProfile


class Setting(Enum):
    """The ways in which a parameter gets a value."""

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

    Attributes:
        space: with the conditions that need no size.
        sized: those that do; `at` adds them.
        own: the program's own values, as far as they are known.
        asked: what the command line says.
    """

    space: Space
    sized: tuple[Condition, ...]
    settings: Mapping[str, Setting]
    own: Mapping[str, Value]
    asked: ParameterOptions = field(default_factory=ParameterOptions)

    def at(self, sizes: Mapping[str, Value]) -> Space:
        """Return the space at some sizes; conditions on other sizes are left out."""
        space = self.space.at(sizes)
        decided = [condition for condition in self.sized if not space.unknown(condition)]
        return replace(space, conditions=(*space.conditions, *decided))

    def restricted(self, names: Sequence[str]) -> ProgramSpace:
        """Return the space of some parameters; the others keep their own values.

        Raises:
            CutuneError: CT425 for an unknown name.
        """
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
        """Return the part of a configuration that is set in these ways."""
        return {n: v for n, v in configuration.items() if self.settings[n] in settings}

    def definitions(self, configuration: Configuration) -> tuple[str, ...]:
        """Return the options of nvcc that give the constants values."""
        constants = self.values(configuration, Setting.CONSTANT)
        return tuple(f"-D{VALUE_PREFIX}{n}={shown(v)}" for n, v in constants.items())

    @property
    def compiled_names(self) -> tuple[str, ...]:
        """The parameters that are fixed by compiling."""
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

    Args:
        run: the template of its command line.
        sizes: names that are known at each run.
        device: `device.shared` and the like.

    Raises:
        CutuneError: CT808 for a name that stands nowhere, CT809 for one in several places, and
            what `Space.of` says.
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
    parameters = [_parameter(written, by_name.get(name), name) for name, _, written in places]
    conditions = [*_conditions(program), *asked.conditions]
    known = {**device, **dict.fromkeys(sizes, 0)}
    # A pragma may speak of words that the command line leaves out.
    written_words = [v for _, _, p in places if p for v in p.values if isinstance(v, str)]
    whole = Space.of(parameters, conditions, known, written_words)
    space = replace(whole, conditions=(), known=device)
    sized = tuple(condition for condition in conditions if space.unknown(condition))
    fixed = tuple(condition for condition in conditions if condition not in sized)
    own = own_values(program, asked)
    settings = {name: setting for name, setting, _ in places}
    return ProgramSpace(replace(space, conditions=fixed), sized, settings, own, asked)


def device_values(device: DeviceProfile, count: int | None = None) -> dict[str, Value]:
    """Return the values of a device in conditions.

    Args:
        count: of devices, where it is known; `CUTUNE_DEVICES` overrides it. Else it is 1.
    """
    text = os.environ.get("CUTUNE_DEVICES", "")
    said = int(text) if text.isascii() and text.isdigit() else 1
    return {
        "device.shared": device.limits.shared_bytes_opt_in,
        "device.threads": device.limits.threads_per_block,
        "device.count": said if text or count is None else count,
    }


_Place = tuple[str, Setting, Parameter | None]


def _places(program: Program, asked: ParameterOptions, run: str) -> Iterator[_Place]:
    """Yield each place of a parameter, with its values where the source has them."""
    for tunable in program.tunables:
        yield tunable.name, Setting.HOST, tunable.parameter
    for constant in program.constants:
        yield constant.name, Setting.CONSTANT, constant.parameter
    names = [parameter.name for parameter in asked.parameters]
    commands = ((Setting.FLAG, asked.flags), (Setting.MAKE, (asked.make,)), (Setting.RUN, (run,)))
    for setting, words in commands:
        for name in dict.fromkeys(names):
            if name in holes(words):
                yield name, setting, None


def _check_once(names: Sequence[str], code: Code) -> None:
    """Raise an error for the first name that occurs more than once."""
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise CutuneError.at(code, name=twice)


def _parameter(written: Parameter | None, asked: Parameter | None, name: str) -> Parameter:
    if written is not None and asked is not None:
        return narrowed(written, asked)
    only = written or asked
    assert only is not None, name
    return only


def _conditions(program: Program) -> Iterator[Condition]:
    """Yield the conditions of pragmas, each once."""
    seen = set()
    places: list[HostTunable | TunableConstant] = [*program.tunables, *program.constants]
    for one in places:
        pragma = one.source.path, one.pragma
        if one.where is None or pragma in seen:
            continue
        seen.add(pragma)
        condition = Condition.read(one.where, one.source, one.pragma)
        # Sizes of the host are expressions: the program tells their values when it runs.
        is_asked_later = isinstance(one, HostTunable) and condition.names & set(one.data)
        if not is_asked_later:
            yield condition


def own_values(program: Program, asked: ParameterOptions) -> dict[str, Value]:
    """Return the program's own values: of constants that are one number or word, and of holes."""
    values = dict(asked.own)
    for constant in program.constants:
        text, value = constant.own_text, constant.parameter.at(constant.own_text)
        if value is not None or (text.isascii() and text.isdigit()):
            values[constant.name] = int(text) if value is None else value
    return values
