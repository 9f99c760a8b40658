"""Loops over a row that have two tests. Takes an entry, gives one with the first test alone.

    for (int c = 0; c < n; c += blockDim.x) {          for (int c = 0;; c += blockDim.x) {
        const int j = c + threadIdx.x;                     const int j = c + threadIdx.x;
        if (j >= n) break;                                 if (j >= n) break;

Where c is n or more, so is j, if their sum does not wrap around: the thread would leave the loop by
the test of j as well, to the same place. What stands before that test must be functions of
registers, whose results nothing behind the loop reads. So it is with `continue` in place of
`break`, which `if (j < n) { … }` is, if what stands between it and the test of c are such functions
as well: further on j is never less than n again.

Whether sums wrap around, and c grows, is not seen here: who reads the entry must see that j is that
of a row, whose end is asked to be far from 2^31.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from cutune.proof.values.operations import FUNCTIONS
from cutune.ptx.taint import moved_once, results, sources
from cutune.ptx.types import Function, Instruction, Label

Item = Instruction | Label
_ADDED = ("add", ("s32",))
_IS_BEHIND = ("setp", ("ge", "s32"))
_IS_BEFORE = ("setp", ("lt", "s32"))


def without_second_tests(function: Function) -> tuple[Function, frozenset[int]]:
    """Return the entry with one test per such loop, and the lines of the branches that stay.

    It does the same where none of these sums wraps around.
    """
    items = list(function.body or ())
    jumps = Counter(_target(item) for item in items)
    if any(isinstance(item, Instruction) and item.opcode == "brx" for item in items):
        return function, frozenset()
    moved = moved_once(function.instructions)
    threads = {name for name, what in moved.items() if what.startswith("%tid.")}
    lines = set[int]()
    for first, label in enumerate(items):
        if isinstance(label, Label) and not label.table and jumps[label.name] == 1:
            found = _Loop(items, first, threads).second_test()
            if found is not None:
                latch, test = (items[place] for place in found)
                assert isinstance(latch, Instruction), "a loop goes on by a branch"
                assert isinstance(test, Instruction), "a loop is left by a branch"
                items[found[1]] = replace(test, operands=(_behind(items, found[0]),))
                items[found[0]] = replace(latch, guard="", negated=False)
                lines.add(test.line)
    return replace(function, body=tuple(items)) if lines else function, frozenset(lines)


def _target(item: Item) -> str:
    return item.operands[0] if isinstance(item, Instruction) and item.opcode == "bra" else ""


def _behind(items: Sequence[Item], branch: int) -> str:
    """The label at which a thread is that a branch does not take; empty: none."""
    item = items[branch + 1] if branch + 1 < len(items) else None
    if isinstance(item, Label):
        return item.name
    return _target(item) if item is not None and not item.guard else ""


@dataclass
class _Straight:
    """What instructions one after the other compute; a register stands for its value before them.

    `made`: opcode, modifiers and values of operands, by value.
    """

    values: dict[str, object] = field(default_factory=dict)
    made: dict[object, tuple[str, tuple[str, ...], tuple[object, ...]]] = field(
        default_factory=dict
    )

    def of(self, text: str) -> object:
        return self.values.get(text, text)

    def see(self, item: Instruction) -> None:
        operands, written = tuple(map(self.of, item.operands[1:])), results(item)
        for name in written:
            self.values[name] = object()
        if item.guard or item.operands[:1] != written:
            return
        if item.opcode == "mov" and len(operands) == 1:
            self.values[written[0]] = operands[0]
            return
        self.made[self.values[written[0]]] = item.opcode, item.modifiers, operands


@dataclass(frozen=True)
class _Loop:
    """A loop whose label is an item, to which one branch leads back. `threads`: threadIdx."""

    items: Sequence[Item]
    first: int
    threads: set[str]

    def second_test(self) -> tuple[int, int] | None:
        """Return where the branch back is, and that of the first test; None: there is none."""
        label = self.items[self.first]
        assert isinstance(label, Label), "loops begin at labels"
        latch = next((k for k, item in enumerate(self.items) if _target(item) == label.name), -1)
        if latch < self.first or not _behind(self.items, latch):
            return None
        before = _Straight()
        for place in range(self.first + 1, latch):
            item = self.items[place]
            if _target(item):
                assert isinstance(item, Instruction), "a target is that of a branch"
                behind = self._idle_behind(item.operands[0], latch)
                tested = self._tested(item, before) if behind is not None else None
                if behind is None or tested is None or not self._is_same_again(latch, *tested):
                    return None
                if behind < latch and tested[0] in self._written(place, behind):
                    return None  # c grows by something else where there is no element
                own = self._written(self.first, place) | self._written(behind, latch)
                return (latch, place) if self._is_inside(own, latch) else None
            if not isinstance(item, Instruction) or not _is_function(item):
                return None
            before.see(item)
        return None

    def _idle_behind(self, target: str, latch: int) -> int | None:
        """Return where what a thread does begins that has no element; None where it does more."""
        if target == _behind(self.items, latch):
            return latch
        for place in range(latch - 1, self.first, -1):
            item = self.items[place]
            if isinstance(item, Label):
                if item.name == target:
                    return place
            elif not _is_function(item):
                return None
        return None

    def _tested(self, branch: Instruction, before: _Straight) -> tuple[str, str] | None:
        """`c` and `n` of a branch that leaves where `c + threadIdx >= n`."""
        match before.made.get(before.of(branch.guard)):
            case (opcode, modifiers, (index, str(end))) if (opcode, modifiers) == _IS_BEHIND:
                added = before.made.get(index)
            case _:
                return None
        if branch.negated or added is None or added[:2] != _ADDED or end in before.values:
            return None
        names = [one for one in added[2] if one not in self.threads]
        if len(names) != 1 or len(added[2]) != 2:
            return None
        (name,) = names
        is_own = isinstance(name, str) and name.startswith("%") and name not in before.values
        return (str(name), end) if is_own else None

    def _is_same_again(self, latch: int, name: str, end: str) -> bool:
        """Does the branch back go on where `c < n`?"""
        begin = latch
        while not isinstance(self.items[begin - 1], Label) and not _target(self.items[begin - 1]):
            begin -= 1
        behind, branch = _Straight(), self.items[latch]
        for item in self.items[begin:latch]:
            assert isinstance(item, Instruction), "no label lies between"
            behind.see(item)
        assert isinstance(branch, Instruction), "a loop goes on by a branch"
        match behind.made.get(behind.of(branch.guard)):
            case (opcode, modifiers, (index, limit)) if (opcode, modifiers) == _IS_BEFORE:
                is_here = index == behind.of(name) and limit == behind.of(end)
                return is_here and not branch.negated
        return False

    def _written(self, begin: int, end: int) -> set[str]:
        return {
            name
            for item in self.items[begin:end]
            if isinstance(item, Instruction)
            for name in results(item)
        }

    def _is_inside(self, written: set[str], latch: int) -> bool:
        """Are registers read in the loop alone, which threads come to by its label alone?"""
        outside = [*self.items[: self.first], *self.items[latch + 1 :]]
        within = self.items[self.first + 1 : latch]
        inner = {item.name for item in within if isinstance(item, Label)}
        return not any(
            (isinstance(item, Instruction) and not written.isdisjoint(sources(item)))
            or _target(item) in inner
            for item in outside
        )


def _is_function(item: Instruction) -> bool:
    # A carry is a result that no operand names.
    return item.opcode in FUNCTIONS and not item.guard and "cc" not in item.modifiers
