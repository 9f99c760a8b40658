"""The types of what a source makes parameters, and of what is timed for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from cutune.core.source import Source, Span
from cutune.space.parameter import Parameter


class Placed(Protocol):
    """Something that stands in a file."""

    @property
    def source(self) -> Source:
        """The file."""


@dataclass(frozen=True)
class Tunable:
    """A parameter of the program: something that may have another value than its own."""

    parameter: Parameter
    #: The expressions that the choice depends on, as written.
    data: tuple[str, ...]
    #: The file it stands in: the program's own, or a header of the user.
    source: Source
    #: The program's own value.
    value: Span
    pragma: Span
    #: A condition on tunables of the pragma and data: text of the annotation language, or None.
    where: str | None

    @property
    def name(self) -> str:
        """Its name."""
        return self.parameter.name


@dataclass(frozen=True)
class HostTunable(Tunable):
    """An integer of the host; its values are integers."""

    #: Tunables of one pragma are chosen together; groups are numbered from 1 in their order.
    group: int
    #: Earlier tunables on which the choice depends.
    given: tuple[str, ...]

    @property
    def choices(self) -> tuple[int, ...]:
        """The values that it may have, in rising order."""
        return tuple(value for value in self.parameter.values if isinstance(value, int))


@dataclass(frozen=True)
class TunableConstant(Tunable):
    """A macro or a constant of the source that may have another value when it is compiled."""

    is_macro: bool
    #: May the compiler's `-D` define it, because `#ifndef` stands around its `#define`?
    is_guarded: bool

    @property
    def is_integer(self) -> bool:
        """Are all its values integers?"""
        return all(isinstance(value, int) for value in self.parameter.values)

    @property
    def own_text(self) -> str:
        """The program's own value, as it is written."""
        return self.source[self.value]


@dataclass(frozen=True)
class Region:
    """A piece of code timed for host tunables: from one pragma to the other."""

    id: int
    #: The file it stands in.
    source: Source
    begin: Span
    end: Span
    #: May it be run again with other values of the parameters?
    may_repeat: bool = False
    #: The host integers that get their next values between two runs of it.
    assigned: tuple[str, ...] = ()
