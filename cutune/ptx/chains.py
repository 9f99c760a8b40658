"""What a warp alone waits for: load steps, and chains of instructions that need each other.

Takes the control flow of a function, gives both by basic block. Instructions are looked at in
pieces of straight code, of which ptxas may put each instruction where it likes. A branch around a
few instructions is part of such a piece: ptxas makes predicates of it, so that loads behind several
of them overlap.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from cutune.ptx.control_flow import ControlFlow
from cutune.ptx.taint import results, sources, spaces
from cutune.ptx.types import BINDING, BRANCHES, LOADS, ROUNDINGS, SLOW_PATHS, Instruction
from cutune.ptx.units import instruction_demand

#: A branch around so many instructions becomes predicates. Published: CUDA C Programming Guide,
#: "Branch Predication", of branches in which threads of a warp may part.
PREDICATED = 7
#: Cycles from an instruction to one that needs its result, where both are arithmetic, by those
#: from one to the next that does not: 4 and 1 on Volta to Hopper. Published: Jia et al.,
#: "Dissecting the NVIDIA Volta GPU Architecture via Microbenchmarking", 2018.
DEPENDENT = 4
#: Latency of a load from shared memory by that of arithmetic: 23 cycles (A100) to 29 (H100).
#: Published: Luo et al., "Benchmarking and Dissecting the Nvidia Hopper GPU Architecture", 2024.
SHARED_LOAD = 6
#: The same of a branch that a condition decides, until the next instruction. Calibrated on
#: calibration_h200.json: a round of `fma_loop`, in which a sum waits for an addition and a
#: comparison, takes a warp 29 cycles, seven times four.
BRANCH = 5


@dataclass(frozen=True)
class Waiting:
    """What one basic block waits for.

    Attributes:
        phases: the load phase of each instruction.
        steps: dependent load steps, beyond those of the blocks before it in its piece.
        chain: likewise the longest chain of dependent instructions, in issue slots.
    """

    phases: tuple[int, ...]
    steps: int
    chain: int


def waiting_of(flow: ControlFlow, joined: Mapping[int, int]) -> list[Waiting]:
    """What each basic block of a function waits for. `joined`: see `vectors.joined_loads`."""
    found: dict[int, Waiting] = {}
    for piece in _pieces(flow):
        loads, chain = _LoadSteps(), _Chain()
        for place, index in enumerate(piece):
            before = loads.deepest, chain.length
            # Every second one is what a branch skips: it needs the condition.
            guard = (flow.blocks[piece[place - 1]].terminator.guard,) if place % 2 else ()
            phases = []
            for instruction in flow.blocks[index].instructions:
                needed = (*sources(instruction), *guard)
                phases.append(loads.add(instruction, needed))
                chain.add(instruction, needed, _slots(instruction, joined), index == piece[-1])
            steps, length = loads.deepest - before[0], chain.length - before[1]
            found[index] = Waiting(tuple(phases), steps, length)
    return [found[index] for index in range(len(flow.blocks))]


def _slots(instruction: Instruction, joined: Mapping[int, int]) -> int:
    """Issue slots of an instruction, none of a load that is a part of another one."""
    return instruction_demand(instruction).slots if joined.get(instruction.line, 1) else 0


def _has_slow_path(instruction: Instruction) -> bool:
    """Is it compiled to a branch? Seen in code for sm_90 of divisions and square roots."""
    is_rounded = not ROUNDINGS.isdisjoint(instruction.modifiers)
    return instruction.opcode in SLOW_PATHS and is_rounded


def _pieces(flow: ControlFlow) -> Iterator[list[int]]:
    """The basic blocks in pieces that ptxas makes straight code of."""
    entered = [0] * len(flow.blocks)
    for block in flow.blocks:
        for target in {*block.terminator.targets}:
            entered[target] += 1
    taken: set[int] = set()
    for start in range(len(flow.blocks)):
        if start in taken:
            continue
        piece = [start]
        while following := _following(flow, entered, piece[-1]):
            piece += following
        taken.update(piece)
        yield piece


def _following(flow: ControlFlow, entered: Sequence[int], index: int) -> list[int]:
    """The few instructions that the branch at the end of a block skips, and what is behind them."""
    block, meeting = flow.blocks[index], flow.meetings[index]
    skipped = [target for target in block.terminator.targets if target != meeting]
    if block.terminator.kind != "branch" or len(skipped) != 1 or meeting >= len(flow.blocks):
        return []
    [middle] = skipped
    inside, behind = flow.blocks[middle], flow.blocks[meeting]
    is_short = len(inside.instructions) <= PREDICATED and BINDING.isdisjoint(
        one.opcode for one in inside.instructions
    )
    is_way_round = inside.terminator.targets == (meeting,) and len(block.terminator.targets) == 2
    is_straight = entered[middle] == 1 and entered[meeting] == 2
    is_same_loop = block.loop == inside.loop == behind.loop and middle > index < meeting
    fits = is_short and is_way_round and is_straight and is_same_loop
    return [middle, meeting] if fits else []


class _LoadSteps:
    """Global loads that follow each other in straight code.

    The phase of a load is one more than that of the loads that its address depends on, wherever it
    stands, because ptxas moves loads up. A load does not move above a store or atomic behind
    another load, because they may alias, unless it reads constant data (`ld.global.nc`). No load
    moves above an operation with a slow path, which waits for the loads that it depends on.
    """

    def __init__(self) -> None:
        self.deepest = 0
        self._fence, self._branched, self._is_written = 0, 0, False
        self._depth: dict[str, int] = {}

    def add(self, instruction: Instruction, needed: Iterable[str]) -> int:
        """The phase of a load; of another instruction, the number of phases so far.

        `needed`: the registers that it reads.
        """
        opcode = instruction.opcode
        is_global = spaces(instruction).isdisjoint(("shared", "local", "const", "param"))
        phase = max((self._depth.get(name, 0) for name in needed), default=0)
        if opcode in LOADS and is_global:
            if self._is_written:
                self._fence, self._is_written = self.deepest, False
            is_constant = "nc" in instruction.modifiers
            least = self._branched if is_constant else max(self._branched, self._fence)
            phase = 1 + max(phase, least)
            self.deepest = max(self.deepest, phase)
        elif opcode in ("st", "red", "atom") and is_global:
            self._is_written = self.deepest > 0
        elif _has_slow_path(instruction):
            self._branched = max(self._branched, phase)
        self._depth |= dict.fromkeys(results(instruction), phase)
        return phase if opcode in LOADS and is_global else self.deepest


class _Chain:
    """The longest chain of dependent instructions in straight code, in issue slots.

    At least a `DEPENDENT`-th of all slots: a warp issues no more than that between two of a chain.
    Nothing moves above an operation with a slow path, either.
    """

    def __init__(self) -> None:
        self._slots = self._longest = self._branched = 0
        self._ready: dict[str, int] = {}

    @property
    def length(self) -> int:
        return max(self._longest, -(-self._slots // DEPENDENT))

    def add(
        self, instruction: Instruction, needed: Iterable[str], slots: int, is_last: bool
    ) -> None:
        """`slots`: what it takes to issue it; `is_last`: is it of the last block of its piece?"""
        latency = slots
        if instruction.opcode in LOADS and "shared" in spaces(instruction):
            latency = SHARED_LOAD
        elif instruction.opcode in BRANCHES and instruction.guard and is_last:
            latency = BRANCH
        elif _has_slow_path(instruction):
            latency = slots + BRANCH
        start = max((self._ready.get(name, 0) for name in needed), default=0)
        start = max(start, self._branched)
        self._slots += slots
        self._ready |= dict.fromkeys(results(instruction), start + latency)
        self._longest = max(self._longest, start + latency)
        if _has_slow_path(instruction):
            self._branched = start + latency
