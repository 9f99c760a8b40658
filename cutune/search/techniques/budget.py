"""The budget of a search. Takes `200`, `10min` or `5%`, gives a `Budget`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, inf

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, Diagnostic

#: Seconds of a unit of time.
_SECONDS = {"s": 1, "min": 60, "h": 3600}
_BUDGET = re.compile(r"([0-9]{1,9})|([0-9]{1,6}(?:\.[0-9]{1,6})?) ?(s|min|h|%)")


@dataclass(frozen=True)
class Allowance:
    """The limits of a search at one size: measured configurations, and seconds."""

    most: int
    seconds: float = inf


@dataclass(frozen=True)
class Budget:
    """The limit of a whole search, which is one of these.

    Attributes:
        configurations: that are measured at each size.
        share: of all that are allowed at each size.
        seconds: for all sizes together.
    """

    configurations: int | None = None
    share: Fraction | None = None
    seconds: float | None = None

    @staticmethod
    def read(text: str) -> Budget:
        """Return the budget that `--search` states.

        Raises:
            CutuneError: CT815 for what is no budget.
        """
        match = _BUDGET.fullmatch(text.strip())
        amount = Fraction(match[1] or match[2]) if match is not None else Fraction(0)
        if match is not None and amount > 0:
            if match[1]:
                return Budget(configurations=int(amount))
            if match[3] != "%":
                return Budget(seconds=float(amount * _SECONDS[match[3]]))
            if amount <= 100:
                return Budget(share=amount / 100)
        raise CutuneError(Diagnostic.at(Code.BAD_BUDGET, None, text=text))

    def most(self, size: int) -> int:
        """Return how many configurations may be measured in a space of this size."""
        if self.share is not None:
            return ceil(size * self.share)
        return size if self.configurations is None else min(size, self.configurations)

    def at(self, size: int, spent_seconds: float, sizes_left: int) -> Allowance:
        """Return the allowance at the next size; the time left is shared by the sizes left."""
        if self.seconds is None:
            return Allowance(self.most(size))
        return Allowance(size, max(0.0, self.seconds - spent_seconds) / sizes_left)
