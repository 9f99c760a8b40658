"""Where the loop over candidates is cut. Takes definitions in order, gives runs of them.

The definitions of a model are one long chain: each division waits for the one before it. A
processor works on the next candidates meanwhile, but only as far as it looks ahead, which is a few
hundred instructions. So one long loop becomes several short ones; values that a later one reads
stand in arrays. `_Processor` says what a loop costs; of all ways to cut the cheapest is taken.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from cutune.fit.rational.nodes import NORMS, Expression, Operation, Operator, parameters, parts
from cutune.fit.rational.program import Definition


@dataclass(frozen=True)
class _Processor:
    """The properties of a processor that decide how long a loop takes.

    Attributes:
        looks_ahead: instructions in flight (AMD Zen 4: 320). With 224, as of Intel's Skylake, loops
            are more and no faster where that was tried; with 448 decisions take a fifth longer.
        width: instructions that begin in a cycle, as this code is seen to reach.
        exit_cycles: of a loop that ends: its last branch is not predicted.
    """

    looks_ahead: int = 320
    width: int = 3
    exit_cycles: int = 20

    def cycles(self, instructions: int, latency: int, rounds: int) -> float:
        """Cycles of a loop whose rounds do not depend on each other."""
        waiting = latency * min(1.0, instructions / self.looks_ahead)
        between = max(waiting, instructions / self.width)
        return (rounds - 1) * between + latency + self.exit_cycles


_PROCESSOR = _Processor()
#: Instructions of an operator on a register of doubles, and cycles until its result is there, as
#: compiled from `include/cutune_operators.h`; `_PLAIN`: of additions and multiplications.
_PLAIN = (1, 4)
_COSTS: Mapping[Operator, tuple[int, int]] = {
    Operator.DIVIDE: (1, 13),
    Operator.MINIMUM: (2, 5),
    Operator.MAXIMUM: (2, 5),
    Operator.LESS: (2, 5),
    Operator.LESS_EQUAL: (2, 5),
    Operator.EQUAL: (2, 5),
    Operator.CHOICE: (5, 6),
    Operator.FLOOR: (16, 25),
    Operator.CEILING: (16, 25),
    Operator.REMAINDER: (19, 46),
    **dict.fromkeys(NORMS, (17, 42)),
}
#: Cycles until a value is there that is read from an array.
_LOADED = 5


def cut_into_loops(definitions: Sequence[Definition], rounds: int) -> list[list[Definition]]:
    """The definitions in the runs that cost least, in their order. `rounds`: of each loop."""
    lines = [_Line.of(definition) for definition in definitions]
    later = _read_later(lines)
    # Per number of definitions: the least cycles that they take, and where their last run begins.
    best = [(0.0, 0), *[(math.inf, 0)] * len(lines)]
    for begin in range(len(lines)):
        before, _ = best[begin]
        for end, cycles in enumerate(_runs(lines[begin:], later[begin + 1 :], rounds), begin + 1):
            best[end] = min(best[end], (before + cycles, begin))
    runs, end = [], len(lines)
    while end > 0:
        begin = best[end][1]
        runs.append(list(definitions[begin:end]))
        end = begin
    return runs[::-1]


@dataclass(frozen=True)
class _Line:
    """A definition, what it reads, and its instructions."""

    definition: Definition
    reads: frozenset[str]
    instructions: int

    @staticmethod
    def of(definition: Definition) -> _Line:
        instructions = sum(_cost(part)[0] for part in parts(definition.value))
        return _Line(definition, frozenset(parameters(definition.value)), instructions)


def _read_later(lines: Sequence[_Line]) -> list[frozenset[str]]:
    """Per number of lines, what is read behind them."""
    reads = accumulate(
        (line.reads for line in reversed(lines)), operator.or_, initial=frozenset[str]()
    )
    return [*reads][::-1]


def _runs(lines: Sequence[_Line], later: Sequence[frozenset[str]], rounds: int) -> Iterator[float]:
    """Cycles of the first line as a loop, of the first two, and so on."""
    ready: dict[str, int] = {}
    read: set[str] = set()
    instructions = 0
    for line, behind in zip(lines, later, strict=True):
        ready[line.definition.name] = _ready(line.definition.value, ready)
        read |= line.reads
        instructions += line.instructions
        moved = len(read - ready.keys()) + len(behind & ready.keys())
        yield _PROCESSOR.cycles(instructions + moved, max(ready.values()), rounds)


def _ready(value: Expression, known: Mapping[str, int]) -> int:
    """Cycles from the begin of a round until a value is there."""
    if not isinstance(value, Operation):
        names = parameters(value)
        return max((known.get(name, _LOADED) for name in names), default=0)
    return _cost(value)[1] + max(_ready(operand, known) for operand in value.operands)


def _cost(value: Expression) -> tuple[int, int]:
    """Instructions and latency of an operator alone; of a name or a number none."""
    return _COSTS.get(value.operator, _PLAIN) if isinstance(value, Operation) else (0, 0)
