"""What the generator of programs is made of: random draws, and pieces of CUDA text.

Takes a seed, gives choices and fresh names; the same seed gives the same ones on every machine.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from string import Template
from typing import TypeVar

T = TypeVar("T")
#: Text by which whole files are refused where source is all that is looked at.
_UNTAMED = re.compile(
    r"operator|\b(Number|Operators|Cursor|Pointer|Configuration)\b|~|= \$B;|\{int\(\$B\)\}"
    r"|\(\$B\)(?: \{\}|\))|f\(\)\}|int\(\$B\)\)"
)


@dataclass(frozen=True)
class Piece:
    """Text that a kernel is put together from.

    Attributes:
        expression: the value, valid behind `statements`.
        statements: lines of the function's body.
        helpers: declarations before the function.
        needs: what the launch must be like, so that the original is well defined
            (`warps`: whole warps; `even`, `square`, `flat`: of blocks; `x=64`: that block).
        is_dependent: the value follows the block, as far as the generator knows.
    """

    expression: str
    statements: tuple[str, ...] = ()
    helpers: tuple[str, ...] = ()
    needs: frozenset[str] = frozenset()
    is_dependent: bool = False


class Draw:
    """Random choices and fresh names for one program."""

    def __init__(self, seed: int | str, name: str = "p") -> None:
        """`name` makes the macros of a program differ from those of others in one file."""
        self._random = random.Random(seed)
        self.program = name
        self._names = 0
        self._features: frozenset[str] = frozenset()
        #: Names of other programs of a file may be the same.
        self.shares_names = False
        #: Nothing that may run unseen: no operators, no initialisers that call.
        self.is_tame = False

    def choose_features(self, options: Sequence[str], counts: Sequence[tuple[float, int]]) -> None:
        """From now on a few features are unusual, and everything else is plain.

        A program in which everything is unusual is refused for many reasons at once, and tries
        none of them.
        """
        self._features = frozenset(self.some(options, self.weighted(counts)))

    def has(self, feature: str, probability: float = 1.0) -> bool:
        """Is the feature unusual here?"""
        return feature in self._features and self.chance(probability)

    def one(self, options: Sequence[T]) -> T:
        """Any of the options."""
        return options[self._random.randrange(len(options))]

    def weighted(self, options: Sequence[tuple[float, T]]) -> T:
        """An option, by its weight."""
        at = self._random.random() * sum(weight for weight, _ in options)
        for weight, option in options:
            at -= weight
            if at < 0:
                return option
        return options[-1][1]

    def some(self, options: Sequence[T], count: int) -> list[T]:
        """Some different options, in random order."""
        return self._random.sample(list(options), min(count, len(options)))

    def chance(self, probability: float) -> bool:
        """True as often as asked."""
        return self._random.random() < probability

    def allowed(self, options: Sequence[T], texts: Callable[[T], str]) -> list[T]:
        """Those that a tame program may use; `texts` gives what to look into."""
        if not self.is_tame:
            return list(options)
        return [each for each in options if not _UNTAMED.search(texts(each))]

    def number(self, least: int, most: int) -> int:
        """An integer, both ends included."""
        return self._random.randint(least, most)

    def fresh(self, stem: str) -> str:
        """A name that this program has not used."""
        self._names += 1
        own = "" if self.shares_names else f"_{self.program}_"
        return f"{stem}{own}{self._names}"

    def macro(self, stem: str) -> str:
        """A macro's name that no program of the file has used."""
        self._names += 1
        return f"{stem}_{self.program}_{self._names}".upper()


def fill(template: str, **names: str | int) -> str:
    """A template with `$name` replaced.

    Raises:
        KeyError: if a name is missing.
    """
    return Template(template).substitute(names)


def lines(text: str) -> tuple[str, ...]:
    """The lines of a text that are not empty."""
    return tuple(line for line in text.splitlines() if line.strip())
