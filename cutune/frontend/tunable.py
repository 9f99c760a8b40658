"""The types of host tunables: integers of the host that are chosen, and what is timed for them."""

from __future__ import annotations

from dataclasses import dataclass

from cutune.core.source import Source, Span


@dataclass(frozen=True)
class HostTunable:
    """A host integer that may get another value than the program's own."""

    name: str
    #: Tunables of one pragma are chosen together; groups are numbered from 1 in their order.
    group: int
    choices: tuple[int, ...]
    #: The expressions that the choice depends on, as written.
    data: tuple[str, ...]
    #: Earlier tunables on which the choice depends.
    given: tuple[str, ...]
    #: The file it stands in: the program's own, or a header of the user.
    source: Source
    #: The program's own value.
    value: Span
    pragma: Span
    #: A condition on tunables of the pragma and data: text of the annotation language, or None.
    where: str | None = None


@dataclass(frozen=True)
class Region:
    """What is timed for host tunables: from one pragma to the other."""

    id: int
    #: The file it stands in.
    source: Source
    begin: Span
    end: Span
