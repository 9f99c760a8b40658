"""Integers among the arguments of a recorded launch. Takes their bytes, gives values and places.

Positions number the arguments, then the members of those that are structures.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from cutune.emulator.bytecode.module import KernelCode
from cutune.emulator.launch_log import LaunchRecord
from cutune.frontend.program import Kernel

NOT_SEEN = "kernels of which a member is not seen are left out"


@dataclass(frozen=True)
class IntegerPlace:
    """Where an integer lies in the parameter buffer."""

    offset: int
    bytes: int
    is_signed: bool

    @property
    def slice(self) -> slice:
        """Its bytes."""
        return slice(self.offset, self.offset + self.bytes)


def integer_place(record: LaunchRecord, code: KernelCode, position: int) -> IntegerPlace | None:
    """The place of an argument or a member; the program logs where members lie."""
    if position < len(code.parameters):
        parameter = code.parameters[position]
        return IntegerPlace(parameter.offset, parameter.size, not parameter.type.startswith("u"))
    member = next((m for m in record.members if m.position == position), None)
    if member is None or member.argument >= len(code.parameters):
        return None
    whole = code.parameters[member.argument]
    if not 0 <= member.offset <= whole.size - member.bytes:
        return None
    return IntegerPlace(whole.offset + member.offset, member.bytes, member.is_signed)


def integer_argument(record: LaunchRecord, code: KernelCode, position: int) -> int:
    """The value of an integer parameter, or of a member of one, in a recorded launch."""
    place = integer_place(record, code, position)
    assert place is not None, NOT_SEEN
    return int.from_bytes(record.parameters[place.slice], "little", signed=place.is_signed)


def unseen_member(kernel: Kernel, records: Iterable[LaunchRecord], code: KernelCode) -> str | None:
    """A member whose value the launches do not show, or None.

    Copying its structure runs code of the program, or it is not certain which argument is which.
    """
    first = len(kernel.parameters)
    unseen = (
        member.name
        for record in records
        for position, member in enumerate(kernel.members, first)
        if integer_place(record, code, position) is None
    )
    return next(unseen, None)
