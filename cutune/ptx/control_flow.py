"""Control flow: takes a parsed function, gives basic blocks in the order in which warps run them.

The machine reconverges by order: of the groups of lanes of a warp that wait at different blocks,
the one at the lowest block runs, and groups at the same block merge. That equals reconvergence at
the immediate post-dominator when every block between a branch and its post-dominator comes before
the latter, which holds for reducible graphs if

- blocks are in topological order, back edges aside,
- the blocks of a loop are contiguous, so that lanes that left it wait for those still in it,
- a loop has one latch, its last block, so that lanes that `continue` wait for the others.

The order made here has these properties; loops with several back edges get an empty latch. In an
irreducible graph (none seen from nvcc) lanes may meet later than they could: results are the same.

A call by address, of a virtual function or through a pointer, names a prototype:

    call (result), %rd7, (arguments), prototype_0;

A module that is linked with no other one has all functions that such a call may reach: those whose
address is taken somewhere, in a table of virtual functions or by an instruction, and whose results
and parameters have the sizes of the prototype.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from cutune.core.reaching import reached
from cutune.ptx.types import (
    BARRIERS,
    LEAVING,
    TYPE_BYTES,
    Function,
    Instruction,
    Label,
    Module,
    PtxError,
    Variable,
    first_of,
    split_operands,
)

_SUSPENDING = BARRIERS | {"call"}


@dataclass(frozen=True, slots=True)
class Terminator:
    """How a block ends.

    `jump` goes to its target; `branch` goes to the first target where the guard holds, else to the
    second; `table` picks by an index register; `suspend` means that the last instruction (barrier
    or call) sends the warp to the target when it is done; `ret` and `exit` have no targets.
    """

    kind: str
    targets: tuple[int, ...]
    guard: str = ""
    negated: bool = False
    instruction: Instruction | None = None


@dataclass(frozen=True, slots=True)
class BasicBlock:
    """Instructions that run one after the other. `loop` is -1 outside of loops."""

    instructions: tuple[Instruction, ...]
    terminator: Terminator
    loop: int = -1


@dataclass(frozen=True, slots=True)
class Loop:
    """A natural loop: its header and all its blocks; `parent` is -1 for an outermost one."""

    header: int
    blocks: frozenset[int]
    parent: int = -1


@dataclass(frozen=True)
class ControlFlow:
    """The blocks of a function (the first is the entry) and its loops."""

    blocks: tuple[BasicBlock, ...]
    loops: tuple[Loop, ...]

    @cached_property
    def meetings(self) -> tuple[int, ...]:
        """Immediate post-dominator of each block; the number of blocks stands for the exit."""
        count = len(self.blocks)
        successors = [block.terminator.targets or (count,) for block in self.blocks]
        sets = on_all_ways([*successors, ()], reversed(range(count + 1)))
        # Of the strict post-dominators the nearest is itself post-dominated by all others.
        strict = (
            (other for other in range(count + 1) if other != index and sets[index] >> other & 1)
            for index in range(count)
        )
        return tuple(
            max(others, key=lambda other: sets[other].bit_count(), default=count)
            for others in strict
        )


def control_flow(function: Function, is_builtin: Callable[[str], bool]) -> ControlFlow:
    """Build the blocks of a function with a body. A call of a builtin does not end a block."""
    blocks = _with_single_latches(_reachable(_Splitter(function, is_builtin).split()))
    loops = _natural_loops(blocks)
    innermost = [-1] * len(blocks)
    for index, loop in enumerate(loops):
        for block in loop.blocks:
            innermost[block] = index
    order = _order(blocks, loops, innermost)
    place = {old: new for new, old in enumerate(order)}
    return ControlFlow(
        tuple(replace(_retarget(blocks[old], place), loop=innermost[old]) for old in order),
        tuple(
            Loop(place[loop.header], frozenset(place[old] for old in loop.blocks), loop.parent)
            for loop in loops
        ),
    )


def on_all_ways(neighbours: Sequence[Sequence[int]], order: Iterable[int]) -> list[int]:
    """Return, for each block, the blocks on all its ways to one without neighbours, as bits.

    With successors these are its post-dominators, with predecessors its dominators; `order` that
    of the blocks, in which neighbours come first where they can.
    """
    everything, order = (1 << len(neighbours)) - 1, tuple(order)
    passed = [everything] * len(neighbours)
    changed = True
    while changed:
        changed = False
        for block in order:
            common = everything if neighbours[block] else 0
            for other in neighbours[block]:
                common &= passed[other]
            common |= 1 << block
            changed |= common != passed[block]
            passed[block] = common
    return passed


def call_target(instruction: Instruction) -> str:
    """The function (or register) that a call names: `call (results), target, (arguments)`."""
    return first_of(x for x in instruction.operands if not x.startswith("("))


class _Splitter:
    """Cuts the body at labels and after instructions that may send lanes elsewhere."""

    def __init__(self, function: Function, is_builtin: Callable[[str], bool]) -> None:
        assert function.body is not None
        self.body = function.body
        self.registers = function.registers
        self.is_builtin = is_builtin
        self.tables = {x.name: x.table for x in self.body if isinstance(x, Label) and x.table}
        self.blocks: list[tuple[list[Instruction], Terminator | None]] = [([], None)]
        self.places: dict[str, int] = {}
        self.pending: list[tuple[int, Instruction]] = []

    def split(self) -> list[BasicBlock]:
        for item in self.body:
            if isinstance(item, Label):
                if not item.table:
                    self._begin()
                    self.places[item.name] = len(self.blocks) - 1
            elif item.opcode in ("bra", "brx"):
                self.blocks[-1][0].append(item)
                self.pending.append((len(self.blocks) - 1, item))
                self._end(Terminator("jump", ()))
            elif item.opcode in LEAVING:
                self.blocks[-1][0].append(item)
                if item.guard:
                    self._end(_branch(item, len(self.blocks), len(self.blocks) + 1))
                self._end(Terminator(item.opcode, (), instruction=item))
            elif self._suspends(item):
                self._suspend(item)
            else:
                self.blocks[-1][0].append(item)
        self._set(len(self.blocks) - 1, Terminator("ret", ()))
        for index, instruction in self.pending:
            self._set(index, self._terminator(index, instruction))
        return [
            BasicBlock(tuple(instructions), terminator or Terminator("jump", (index + 1,)))
            for index, (instructions, terminator) in enumerate(self.blocks)
        ]

    def _begin(self) -> None:
        if self.blocks[-1][0] or self.blocks[-1][1]:
            self.blocks.append(([], None))

    def _set(self, index: int, terminator: Terminator) -> None:
        self.blocks[index] = (self.blocks[index][0], terminator)

    def _end(self, terminator: Terminator) -> None:
        self._set(len(self.blocks) - 1, terminator)
        self.blocks.append(([], None))

    def _suspends(self, item: Instruction) -> bool:
        if item.opcode == "call" and self.is_builtin(call_target(item)):
            return False
        return item.opcode in _SUSPENDING and "arrive" not in item.modifiers

    def _suspend(self, item: Instruction) -> None:
        if item.opcode == "call" and call_target(item) in self.registers:
            self._begin()  # lanes that call different functions execute it one after the other
        here = len(self.blocks) - 1
        if item.guard:
            # Lanes without the guard go round it: the machine suspends whole groups only.
            self._end(_branch(item, here + 1, here + 2))
            here += 1
        self.blocks[-1][0].append(replace(item, guard="", negated=False))
        self._end(Terminator("suspend", (here + 1,), instruction=item))

    def _terminator(self, index: int, item: Instruction) -> Terminator:
        if item.opcode == "brx":
            table = self.tables.get(item.operands[1], "")
            if not table.startswith(".branchtargets"):
                raise PtxError(item.line, "brx.idx without .branchtargets", item.source_line)
            names = table.removeprefix(".branchtargets").split(",")
            targets = tuple(self._place(name.strip(), item) for name in names)
            if item.guard:
                raise PtxError(item.line, "guarded brx.idx is not supported", item.source_line)
            return Terminator("table", targets, instruction=item)
        target = self._place(item.operands[0], item)
        if not item.guard:
            return Terminator("jump", (target,), instruction=item)
        return _branch(item, target, index + 1)

    def _place(self, name: str, item: Instruction) -> int:
        if name not in self.places:
            raise PtxError(item.line, f"unknown label '{name}'", item.source_line)
        return self.places[name]


def _branch(item: Instruction, if_true: int, otherwise: int) -> Terminator:
    return Terminator("branch", (if_true, otherwise), item.guard, item.negated, item)


def _retarget(block: BasicBlock, places: Mapping[int, int]) -> BasicBlock:
    targets = tuple(places.get(target, target) for target in block.terminator.targets)
    return replace(block, terminator=replace(block.terminator, targets=targets))


def _reachable(blocks: Sequence[BasicBlock]) -> list[BasicBlock]:
    kept = sorted(reached([0], lambda index: blocks[index].terminator.targets))
    place = {old: new for new, old in enumerate(kept)}
    return [_retarget(blocks[old], place) for old in kept]


def _post_order(
    successors: Sequence[Sequence[int]] | Mapping[int, Collection[int]], entry: int = 0
) -> list[int]:
    """Depth-first post-order, later successors first: its reverse keeps the order of the text."""
    seen, order = {entry}, []
    stack = [(entry, iter(sorted(successors[entry], reverse=True)))]
    while stack:
        node, rest = stack[-1]
        for target in rest:
            if target not in seen:
                seen.add(target)
                stack.append((target, iter(sorted(successors[target], reverse=True))))
                break
        else:
            order.append(node)
            stack.pop()
    return order


def _predecessors(blocks: Sequence[BasicBlock]) -> list[list[int]]:
    predecessors: list[list[int]] = [[] for _ in blocks]
    for node, block in enumerate(blocks):
        for target in block.terminator.targets:
            predecessors[target].append(node)
    return predecessors


def _back_edges(blocks: Sequence[BasicBlock]) -> dict[int, list[int]]:
    successors, entry = [block.terminator.targets for block in blocks], len(blocks)
    predecessors = [*_predecessors(blocks), []]
    predecessors[0].append(entry)
    dominators = on_all_ways(predecessors, [entry, *reversed(_post_order(successors))])
    edges: dict[int, list[int]] = {}
    for node, targets in enumerate(successors):
        for target in set(targets):
            if dominators[node] >> target & 1:
                edges.setdefault(target, []).append(node)
    return edges


def _with_single_latches(blocks: list[BasicBlock]) -> list[BasicBlock]:
    for header, sources in _back_edges(blocks).items():
        if len(sources) < 2:
            continue
        for source in sources:
            blocks[source] = _retarget(blocks[source], {header: len(blocks)})
        blocks.append(BasicBlock((), Terminator("jump", (header,))))
    return blocks


def _natural_loops(blocks: Sequence[BasicBlock]) -> list[Loop]:
    """All loops, an outer one before those in it."""
    before = dict(enumerate(_predecessors(blocks)))
    edges = _back_edges(blocks).items()
    loops = [Loop(header, leading_to(ends, header, before)) for header, ends in edges]
    nested: list[Loop] = []
    for loop in sorted(loops, key=lambda loop: (-len(loop.blocks), loop.header)):
        around = [i for i, outer in enumerate(nested) if loop.header in outer.blocks]
        nested.append(replace(loop, parent=around[-1] if around else -1))
    return nested


def leading_to(
    ends: Iterable[int], header: int, before: Mapping[int, Sequence[int]]
) -> frozenset[int]:
    """The blocks of a loop that goes back from these ends; `before`: those before each block."""
    return frozenset(reached([header, *ends], lambda b: () if b == header else before[b]))


def _order(
    blocks: Sequence[BasicBlock], loops: Sequence[Loop], innermost: Sequence[int]
) -> list[int]:
    """Topological order with every loop contiguous: order each region with its loops collapsed."""

    def child(block: int, region: int) -> int:
        """The loop directly inside `region` that holds the block; `region` when there is none."""
        inside = innermost[block]
        while inside not in (-1, region) and loops[inside].parent != region:
            inside = loops[inside].parent
        return inside

    def arrange(region: int, entry: int, members: Sequence[int]) -> list[int]:
        # Nodes of the collapsed region are named by a block: the header for an inner loop.
        groups: dict[int, list[int]] = {}
        for block in members:
            inside = child(block, region)
            name = block if inside == region else loops[inside].header
            groups.setdefault(name, []).append(block)
        name_of = {block: name for name, group in groups.items() for block in group}
        successors: dict[int, set[int]] = {name: set() for name in groups}
        for block in members:
            for target in blocks[block].terminator.targets:
                if target in name_of and target != entry and name_of[target] != name_of[block]:
                    successors[name_of[block]].add(name_of[target])
        order: list[int] = []
        for name in reversed(_post_order(successors, name_of[entry])):
            inside = child(name, region)
            order += [name] if inside == region else arrange(inside, name, groups[name])
        return order

    return arrange(-1, 0, range(len(blocks)))


#: results "_" parameters, each in parentheses; no results may be none at all.
_PROTOTYPE = re.compile(r"\.callprototype\s*(?:\(([^()]*)\))?\s*_\s*(?:\(([^()]*)\))?")
_PARAMETER = re.compile(r"\.param\s*(?:\.align\s+\d+\s*)?\.(\w+)\s+_\s*(?:\[\s*(\d+)\s*\])?$")
_NAME = re.compile(r"[%$A-Za-z_][\w$]*")
_Sizes = tuple[tuple[int, ...], tuple[int, ...]]


def is_by_address(call: Instruction, function: Function) -> bool:
    """Does a register say which function is called?"""
    return call_target(call) in function.registers


@dataclass(frozen=True)
class CallTargets:
    """Answers for one module."""

    module: Module
    _known: dict[str, tuple[str, ...] | None] = field(default_factory=dict, compare=False)

    def of(self, call: Instruction, function: Function) -> tuple[str, ...] | None:
        """All functions that an instruction of a function may call; None where more may be."""
        target = call_target(call)
        if target not in function.registers:
            return (target,)
        tables = (x for x in function.body or () if isinstance(x, Label) and x.table)
        table = next((x.table for x in tables if x.name == call.operands[-1]), "")
        if table not in self._known:
            self._known[table] = self._of_table(table)
        return self._known[table]

    def _of_table(self, table: str) -> tuple[str, ...] | None:
        if table.startswith(".calltargets"):
            return split_operands(table.removeprefix(".calltargets"))
        sizes = _sizes(table)
        if sizes is None or not self.module.is_whole:
            return None
        known = ((name, self.module.functions[name]) for name in self._addressed)
        return tuple(
            name
            for name, one in known
            if _are(sizes[0], one.results) and _are(sizes[1], one.parameters)
        )

    @cached_property
    def _addressed(self) -> tuple[str, ...]:
        """Functions whose address is taken, by their own names."""
        functions, aliases = self.module.functions, self.module.aliases
        found = (aliases.get(name, name) for name in self._named())
        own = (name for name in found if name in functions and not functions[name].is_kernel)
        return tuple(dict.fromkeys(own))

    def _named(self) -> Iterator[str]:
        """What stands in initial values and in operands, but for the targets of calls."""
        functions = self.module.functions.values()
        for variable in (*self.module.variables, *(v for f in functions for v in f.variables)):
            yield from _NAME.findall(variable.initial)
        for item in (item for function in functions for item in function.instructions):
            called = call_target(item) if item.opcode == "call" else None
            for operand in item.operands:
                if operand != called:
                    yield from _NAME.findall(operand)


def _sizes(table: str) -> _Sizes | None:
    """The bytes of each result and parameter of a prototype; None where it is not understood."""
    found = _PROTOTYPE.match(table)
    if found is None:
        return None
    parts = [[_PARAMETER.match(p) for p in split_operands(text or "")] for text in found.groups()]
    if not all(match is not None and match[1] in TYPE_BYTES for part in parts for match in part):
        return None
    results, parameters = (
        tuple(TYPE_BYTES[m[1]] * int(m[2] or 1) for m in part if m is not None) for part in parts
    )
    return results, parameters


def _are(sizes: tuple[int, ...], variables: tuple[Variable, ...]) -> bool:
    """May arguments of these sizes be passed so? A list of any length has no size."""
    lengths = tuple(variable.size for variable in variables)
    return lengths == sizes or 0 in lengths
