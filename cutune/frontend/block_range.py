"""Which thread blocks an annotation allows. Takes `block(…)` and `where(…)`, judges shapes.

A range restricts the candidates. A list names them, and need not hold powers of two.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from lark import LarkError

from cutune.core.typed import Formula
from cutune.frontend.syntax.annotation import Values
from cutune.space.condition import Condition


@dataclass(frozen=True)
class BlockRange:
    """Sizes per dimension (None: any), and a condition on x, y and z as it was written."""

    x: Values | None = None
    y: Values | None = None
    z: Values | None = None
    where: Formula | None = None

    def listed(self, axis: int) -> tuple[int, ...]:
        """The sizes that a list names for a dimension; nothing for a range."""
        values = (self.x, self.y, self.z)[axis]
        listed = values.listed if values is not None and values.interval is None else ()
        return tuple(map(int, listed))

    def allows(self, shape: tuple[int, int, int]) -> bool:
        """Does a shape lie within the range?"""
        axes = zip((self.x, self.y, self.z), shape, strict=True)
        if any(values is not None and size not in values for values, size in axes):
            return False
        if self._condition is None:
            return True
        return self._condition.holds(dict(zip("xyz", shape, strict=True)))

    @cached_property
    def _condition(self) -> Condition | None:
        return Condition.read(self.where) if self.where is not None else None

    def check(self) -> None:
        """Can the condition be read, and asked about a block?

        Raises:
            ValueError: it cannot.
        """
        try:
            names = self._condition.names if self._condition is not None else frozenset[str]()
        except (LarkError, RecursionError) as error:
            raise ValueError(f"`where`: {self.where!r} is no condition on a block") from error
        if not names <= {*"xyz"}:
            raise ValueError(f"`where`: {self.where!r} is no condition on x, y and z")
