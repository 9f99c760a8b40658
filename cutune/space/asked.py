"""Parameters of a command line: `--tune`, `--space`, and `{NAME}` in other options."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from cutune.space.condition import Condition, Value
from cutune.space.parameter import NONE, Parameter, shown

_HOLE = re.compile(r"(?<!\$)\{([A-Za-z_]\w*)\}")
#: What stands between blanks and quotes of a command, and holds a name in braces.
_PART = re.compile(r"""[^\s'"]*\{[A-Za-z_]\w*\}[^\s'"]*""")


@dataclass(frozen=True)
class ParameterOptions:
    """Parameters of the command line.

    Attributes:
        parameters: with their values; those of pragmas are narrowed.
        conditions: of a file.
        flags: options of nvcc, with the names of parameters in braces.
        make: the command that builds a project, likewise; empty: cutune compiles one source.
        clean: a command that is run before it.
    """

    parameters: tuple[Parameter, ...] = ()
    conditions: tuple[Condition, ...] = ()
    flags: tuple[str, ...] = ()
    make: str = ""
    clean: str = ""

    @property
    def own(self) -> dict[str, Value]:
        """The value of each parameter unless another one is chosen: the first."""
        return {parameter.name: parameter.values[0] for parameter in self.parameters}

    def flags_at(self, values: Mapping[str, Value]) -> tuple[str, ...]:
        """The options of nvcc with values in place of the names."""
        return filled(self.flags, {**self.own, **values})

    def make_at(self, values: Mapping[str, Value]) -> str:
        """The command that builds, likewise; of a word in quotes a part between blanks is one."""
        all_values = {**self.own, **values}
        return _PART.sub(lambda part: "".join(filled([part[0]], all_values)), self.make)


#: Where the command line says nothing of them.
NO_PARAMETERS = ParameterOptions()


def holes(words: Iterable[str]) -> set[str]:
    """The names that stand in braces."""
    return {name for word in words for name in _HOLE.findall(word)}


def filled(words: Iterable[str], values: Mapping[str, Value]) -> tuple[str, ...]:
    """Words with values in place of names; a word with the value `none` is left out."""
    texts = {name: shown(value) for name, value in values.items()}
    return tuple(
        _HOLE.sub(lambda hole: texts.get(hole[1], hole[0]), word)
        for word in words
        if all(values.get(name) != NONE for name in holes([word]))
    )
