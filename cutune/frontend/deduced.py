"""Template arguments that a launch does not write. They come from its arguments."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class DeducedFrom(Enum):
    """How an argument gives a template parameter T; the words of `cutune_deduced.h`."""

    #: The parameter is a T.
    VALUE = "cutune_by_value"
    #: It is a T *.
    POINTEE = "cutune_pointee"
    #: It is a const T *.
    CONSTANT = "cutune_constant_pointee"


@dataclass(frozen=True)
class Deduced:
    """A template argument that is not written, and the argument of the launch that gives it."""

    kind: DeducedFrom
    argument: int
