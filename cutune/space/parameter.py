"""Parameters: a name and the values that it may have. Takes texts, gives `Parameter`s.

Those of a command line stand in `--tune` and `--space`, and as `{NAME}` in other options.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from lark import UnexpectedInput

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError
from cutune.core.source import Source, Span
from cutune.space.annotation import Condition, Value, Values, read_choice

#: The value with which a word of a command line is left out.
NONE = "none"
MOST_VALUES = 65536
#: Longer runs of integers are written as a range.
LONGEST_RUN = 8


@dataclass(frozen=True)
class Parameter:
    """Something that may have one of several values, each listed once."""

    name: str
    values: tuple[Value, ...]

    def at(self, text: str) -> Value | None:
        """The value that is written so; None where there is none."""
        return next((value for value in self.values if shown(value) == text), None)


def shown(value: Value) -> str:
    """A value as it is written: `0.5`, `16`, `none`."""
    if isinstance(value, Fraction) and value.denominator > 1:
        return repr(float(value))
    return str(value)


def listed(values: Sequence[Value]) -> str:
    """Values as an option has them, a long run of integers as a range."""
    if is_run(values):
        return f"{values[0]}..{values[-1]}"
    return ", ".join(map(shown, values))


def is_run(values: Sequence[Value]) -> bool:
    """Are they many integers, one after the other?"""
    first = values[0]
    if len(values) <= LONGEST_RUN or not isinstance(first, int):
        return False
    return list(values) == list(range(first, first + len(values)))


def parameter_of(name: str, values: Values) -> Parameter:
    """Return the parameter of a pragma or an option. Raises CT800, as `checked`."""
    if values.interval is None:
        return checked(name, values.listed)
    first, last = values.interval
    if not 0 <= last - first < MOST_VALUES:
        raise _bad_values(name, f"{first}..{last} has no or too many values")
    return Parameter(name, tuple(range(first, last + 1)))


def checked(
    name: str, values: Sequence[Value], source: Source | None = None, span: Span | None = None
) -> Parameter:
    """Return a parameter. Raises CT800 for values that are repeated, or none, or too many."""
    if not 0 < len(values) <= MOST_VALUES:
        raise _bad_values(name, f"there are {len(values)}", source, span)
    repeated = [value for value, count in Counter(values).items() if count > 1]
    if repeated:
        raise _bad_values(name, f"{shown(repeated[0])} occurs twice", source, span)
    return Parameter(name, tuple(values))


def read_option(word: str) -> Parameter:
    """Return the parameter of `--tune 'R=none,20,40'`. Raises CT800, or CT801 for no choice."""
    name, equals, text = word.partition("=")
    try:
        if not equals or not name.isidentifier():
            raise ValueError(name)
        values = read_choice(text)
    except (UnexpectedInput, ValueError):
        raise CutuneError.at(Code.BAD_CHOICE_OPTION, text=word) from None
    return parameter_of(name, values)


def narrowed(parameter: Parameter, by: Parameter) -> Parameter:
    """The parameter with some of its values. Raises CT800 for a value that it does not have."""
    for value in by.values:
        if value not in parameter.values:
            reason = f"{shown(value)} is none of those of its pragma"
            raise _bad_values(parameter.name, reason)
    return by


def _bad_values(
    name: str, reason: str, source: Source | None = None, span: Span | None = None
) -> CutuneError:
    return CutuneError.at(Code.BAD_VALUES, source, span, name=name, reason=reason)


_HOLE = re.compile(r"(?<!\$)\{([A-Za-z_]\w*)\}")
#: What stands between blanks and quotes of a command, and holds a name in braces.
_PART = re.compile(r"""[^\s'"]*\{[A-Za-z_]\w*\}[^\s'"]*""")


@dataclass(frozen=True)
class ParameterOptions:
    """Parameters of the command line; those of pragmas are narrowed by their values.

    `flags`: options of nvcc, with the names of parameters in braces. `make`: the command that
    builds a project, likewise; empty: cutune compiles one source. `clean` is run before it.
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
    """The names in braces: `{N}`."""
    return {name for word in words for name in _HOLE.findall(word)}


def filled(words: Iterable[str], values: Mapping[str, Value]) -> tuple[str, ...]:
    """Words with values in place of names; a word with the value `none` is left out."""
    texts = {name: shown(value) for name, value in values.items()}
    return tuple(
        _HOLE.sub(lambda hole: texts.get(hole[1], hole[0]), word)
        for word in words
        if all(values.get(name) != NONE for name in holes([word]))
    )
