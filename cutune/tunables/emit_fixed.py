"""Chosen values as a header, or as options of nvcc. Takes a program and its choices, gives text."""

from __future__ import annotations

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, Diagnostic
from cutune.frontend.program import Program
from cutune.search.program_space import own_values
from cutune.search.regions import Settings
from cutune.search.trials import plain
from cutune.space.asked import ParameterOptions, holes

HEADER, FLAGS = "header", "flags"


def options_text(program: Program, values: Settings, asked: ParameterOptions) -> str:
    """Return one option of nvcc per line, for `nvcc --options-file`.

    Raises:
        CutuneError: CT810 for a constant that the source does not leave open.
    """
    defined = _guarded(program, values)
    words = [*compiler_flags(values, asked), *(f"-D{n}={v}" for n, v in defined.items())]
    return "".join(f"{word}\n" for word in words)


def header_text(program: Program, values: Settings) -> str:
    """Return macros, for `nvcc -include`.

    Raises:
        CutuneError: CT810 for a constant that the source does not leave open.
    """
    defined = _guarded(program, values)
    lines = [f"#ifndef {n}\n#define {n} {v}\n#endif\n" for n, v in defined.items()]
    return "".join(["// The values that were fastest over all sizes.\n", *lines])


def compiler_flags(values: Settings, asked: ParameterOptions) -> tuple[str, ...]:
    """Return the options in which a chosen value stands."""
    with_names = [word for word in asked.flags if holes([word]) & values.keys()]
    return ParameterOptions(asked.parameters, (), tuple(with_names)).flags_at(values)


def make_command(values: Settings, asked: ParameterOptions) -> str:
    """Return the command that builds a project with the chosen values; "" where it has none."""
    chosen = {name: one for name, one in values.items() if name in holes([asked.make])}
    return asked.make_at(chosen) if chosen else ""


def changed(
    program: Program, values: Settings, asked: ParameterOptions
) -> dict[str, tuple[str, str]]:
    """Return the own and the chosen value of each name that is compiled in otherwise."""
    constants = {constant.name: constant.own_text for constant in program.constants}
    own = {name: str(plain(value)) for name, value in own_values(program, asked).items()}
    before, compiled = {**constants, **own}, {*constants, *holes([*asked.flags, asked.make])}
    texts = {name: str(value) for name, value in values.items() if name in compiled}
    return {n: (before[n], t) for n, t in texts.items() if before.get(n, t) != t}


def without_place(program: Program, values: Settings, asked: ParameterOptions) -> list[Diagnostic]:
    """Return notes about values that neither the source nor an option of nvcc holds."""
    named = holes([*asked.flags, asked.make])
    known = {constant.name for constant in program.constants} | named
    return [
        Diagnostic.at(Code.CHOSEN_NOWHERE, None, name=name, value=value)
        for name, value in values.items()
        if name not in known
    ]


def _guarded(program: Program, values: Settings) -> dict[str, int | str]:
    """Return the macros that a header or `-D` can set; raise CT810 for others."""
    chosen = [constant for constant in program.constants if constant.name in values]
    for one in chosen:
        if not one.is_guarded:
            code, path = Code.UNGUARDED_CONSTANT, one.source.path
            raise CutuneError(Diagnostic.at(code, one.source, one.value, name=one.name, path=path))
    return {constant.name: values[constant.name] for constant in chosen}
