"""Chosen values as a header, or as options of nvcc. Takes a program and its choices, gives text.

Both are for the original source: what they set must be open to it, by `#ifndef` or as `{NAME}`.
"""

from __future__ import annotations

from collections.abc import Mapping

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, Diagnostic
from cutune.frontend.program import Program
from cutune.frontend.tunable import TunableConstant
from cutune.search.program_space import own_values
from cutune.search.regions import Settings
from cutune.search.trials import plain
from cutune.space.asked import Asked, holes

HEADER, FLAGS = "header", "flags"


def options_text(program: Program, values: Settings, asked: Asked) -> str:
    """One option of nvcc per line, for `nvcc --options-file`.

    Raises:
        CutuneError: CT810 for a constant that the source does not leave open.
    """
    defined = _guarded(program, values)
    words = [*compiler_flags(values, asked), *(f"-D{n}={v}" for n, v in defined.items())]
    return "".join(f"{word}\n" for word in words)


def header_text(program: Program, values: Settings) -> str:
    """Macros, for `nvcc -include`.

    Raises:
        CutuneError: CT810 for a constant that the source does not leave open.
    """
    defined = _guarded(program, values)
    lines = [f"#ifndef {n}\n#define {n} {v}\n#endif\n" for n, v in defined.items()]
    return "".join(["// The values that were fastest over all sizes.\n", *lines])


def compiler_flags(values: Settings, asked: Asked) -> tuple[str, ...]:
    """The options in which a chosen value stands."""
    with_names = [word for word in asked.flags if holes([word]) & values.keys()]
    return Asked(asked.parameters, (), tuple(with_names)).flags_at(values)


def make_command(values: Settings, asked: Asked) -> str:
    """What builds a project with the chosen values; empty where they stand without_place."""
    chosen = {name: one for name, one in values.items() if name in holes([asked.make])}
    return asked.make_at(chosen) if chosen else ""


def changed(program: Program, values: Settings, asked: Asked) -> dict[str, tuple[str, str]]:
    """What is not compiled as it was: per name its own value, and the chosen one."""
    own = {name: str(plain(value)) for name, value in own_values(program, asked).items()}
    constants = {constant.name: constant.own_text for constant in program.constants}
    before: Mapping[str, str] = {**constants, **own}
    return {
        name: (before[name], str(value))
        for name, value in values.items()
        if name in {*constants, *holes([*asked.flags, asked.make])} and name in before
        if before[name] != str(value)
    }


def without_place(program: Program, values: Settings, asked: Asked) -> list[Diagnostic]:
    """Values that neither the source nor an option of nvcc holds."""
    named = holes([*asked.flags, asked.make])
    known = {constant.name for constant in program.constants} | named
    return [
        Diagnostic.at(Code.CHOSEN_NOWHERE, None, name=name, value=value)
        for name, value in values.items()
        if name not in known
    ]


def _guarded(program: Program, values: Settings) -> dict[str, int | str]:
    """The macros that a header or `-D` can set."""
    chosen = [constant for constant in program.constants if constant.name in values]
    for constant in chosen:
        if not constant.is_guarded:
            raise CutuneError(_closed(constant))
    return {constant.name: values[constant.name] for constant in chosen}


def _closed(constant: TunableConstant) -> Diagnostic:
    place = constant.source, constant.value
    path = constant.source.path
    return Diagnostic.at(Code.UNGUARDED_CONSTANT, *place, name=constant.name, path=path)
