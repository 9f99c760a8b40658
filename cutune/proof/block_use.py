"""How an entry uses its thread block. Takes a function of a module, gives `BlockUse`.

For entries that are not proven: what they are told about, and which blocks are proposed to whoever
knows that others are right. What a proof does not understand is unknown here, and is passed over.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import permutations

from cutune.proof.flat_blocks import ONE_WIDTH, FlatJudge
from cutune.proof.flow.graph import Graph, Irreducible
from cutune.proof.flow.walk import Walk
from cutune.proof.last_block import LastBlock
from cutune.proof.memory.accesses import ATOMIC_OPERATIONS, MemoryAccess, Recorder, raw_kinds
from cutune.proof.rows_of_all_blocks import LoopUse
from cutune.proof.same_code import FLOATS, FUSED, SUMS
from cutune.proof.values.built_ins import BuiltIns, WarpsInADimension
from cutune.proof.values.id_bounds import ordered
from cutune.proof.values.operations import FUNCTIONS, Moment, NotUnderstood, Operations, parts
from cutune.proof.values.polynomial import BLOCK_SIZE, THREAD, Atom, IntegerPolynomial
from cutune.proof.values.predicates import Relation, all_parts_of
from cutune.proof.values.terms import WARP, Atoms
from cutune.proof.width_dependence import WidthDependence
from cutune.ptx.control_flow import CallTargets, control_flow
from cutune.ptx.taint import names, results, sources
from cutune.ptx.types import UNREADABLE, Function, Instruction, Module, Variable
from cutune.source.candidates import BlockUse, FlatUse
from cutune.source.program import DIMENSIONS
from cutune.toolchain.kernel_names import base_name

#: Entries that are longer are judged by ids alone: each further reading walks them a few times,
#: which takes a minute for tiles of 64 x 64 that are unrolled.
MOST_INSTRUCTIONS = 10_000
TOO_LONG = (
    f"its compiled code has more than {MOST_INSTRUCTIONS:,} instructions, as loops are unrolled"
)
_WARP_OPCODES = frozenset({"shfl", "vote", "match", "redux", "activemask", "elect"})
_TENSOR = frozenset({"wmma", "mma", "wgmma"})
_WARP_OPCODES |= _TENSOR | {"ldmatrix", "stmatrix", "movmatrix"}
_LANES = ("%laneid", "%lanemask", "%warpid")
#: `__umul24`, and `__mul24`, which extends the sign by another shift.
_NARROWING = {("and", "16777215"), ("shl", "8")}
_KINDS = {"ld": "load", "st": "store", "atom": "atomic", "red": "atomic"}
_SHARED = "shared"
#: `_ZZ6kernelPfE4tile`: how long the last name within a mangled one is, and what follows. Numbers
#: of template arguments stand behind an `E`, too, and equal names of one function get a number.
_LOCAL_NAME = re.compile(r"(?:E|^_Z)(?=([1-9]\d*)([A-Za-z_]\w*)$)")
_REPEATED = re.compile(r"(?:_\d|__\d+_)?")


def narrows_blocks(function: Function) -> bool:
    """Tell whether it takes 24 bits of a number of blocks: `__umul24(blockIdx.x, n)`."""
    blocks = {
        item.operands[0]
        for item in function.instructions
        if item.opcode == "mov"
        and any(read.startswith(("%ctaid", "%nctaid")) for read in item.operands[1:])
    }
    return any(
        (item.opcode, item.operands[-1]) in _NARROWING or item.opcode in ("mul24", "mad24")
        for item in function.instructions
        if not blocks.isdisjoint(item.operands[1:])
    )


def is_warp_level(module: Module, function: Function) -> bool:
    """May threads of a warp work together, here or in a function that is called?"""
    for item in _instructions(module, function):
        is_barrier = item.opcode in ("bar", "barrier") and "warp" in item.modifiers
        asks = any(operand.startswith(_LANES) for operand in item.operands)
        if item.opcode in _WARP_OPCODES or is_barrier or asks:
            return True
    return False


def block_use(module: Module, function: Function) -> BlockUse:
    """Return how the code of a kernel uses its block."""
    instructions = list(_instructions(module, function))
    variables = {v.name: v for v in (*module.variables, *function.variables)}
    named = (name for i in instructions for text in i.operands for name in names(text))
    shared = (v for name in named if (v := variables.get(name)) is not None and v.space == _SHARED)
    first = next((f"threads of a block share '{_name(variable)}'" for variable in shared), "")
    widths = {d for d in DIMENSIONS if any(f"%ntid.{d}" in item.operands for item in instructions)}
    order, adds_rounded = _order(instructions), _adds_rounded(instructions)
    read = frozenset(widths)
    use = BlockUse(read, first, order=order, reads=read, adds_rounded=adds_rounded)
    if len(function.instructions) > MOST_INSTRUCTIONS:
        long = FlatUse(TOO_LONG)
        return replace(use, flat=long, flat_y=long, flat_z=long, layers=long, is_long=True)
    try:
        seen = _Seen(module, function)
    except (NotUnderstood, Irreducible, *UNREADABLE):
        return use
    sharing, line = seen.sharing()
    others = [item for item in instructions if not seen.tells_no_order(item)]
    return replace(
        use,
        order=_order(others),
        sharing=sharing or first,
        sharing_line=line,
        follows_block=seen.follows_block(),
        singles_out=seen.singles_out(),
        flat=_flat(module, function, instructions, seen) if "x" in widths else FlatUse(ONE_WIDTH),
        flat_y=_in_dimension(module, function, "y") if "y" in widths else FlatUse(ONE_WIDTH),
        flat_z=_in_dimension(module, function, "z") if "z" in widths else FlatUse(ONE_WIDTH),
        layers=_in_layers(module, function, instructions) if "y" in widths else FlatUse(ONE_WIDTH),
    )


def _flat(
    module: Module, function: Function, instructions: list[Instruction], seen: _Seen
) -> FlatUse:
    """How far the width of a flat block is free. `seen`: the walk for blocks of any shape."""
    read = {operand for item in instructions for operand in item.operands}
    if not read.isdisjoint(f"%{name}.{d}" for name in ("tid", "ntid") for d in "yz"):
        try:
            seen = _Seen(module, function, BuiltIns(single_thread=frozenset("yz")))
        except (NotUnderstood, Irreducible, *UNREADABLE):
            return FlatUse()
    return seen.flat()


def _in_layers(module: Module, function: Function, body: Iterable[Instruction]) -> FlatUse:
    """How far the number of warps along y is free, where layers in z read threadIdx.z."""
    is_read = any("%tid.z" in item.operands for item in body)
    return _in_dimension(module, function, "y", has_layers=True) if is_read else FlatUse()


def _in_dimension(
    module: Module, function: Function, dimension: str, has_layers: bool = False
) -> FlatUse:
    """How far the number of warps is free that lie along y or z."""
    built_ins = WarpsInADimension(dimension=dimension, has_layers=has_layers)
    try:
        return _Seen(module, function, built_ins).flat(dimension, has_layers)
    except (NotUnderstood, Irreducible, *UNREADABLE):
        return FlatUse()


def _instructions(module: Module, function: Function) -> Iterator[Instruction]:
    """Those of a function and of all that it may call."""
    left, reached, targets = [function], {function.name}, CallTargets(module)
    every = [name for name, other in module.functions.items() if not other.is_kernel]
    for one in left:
        yield from one.instructions
        with suppress(ValueError):  # a call that names nothing
            calls = [i for i in one.instructions if i.opcode == "call"]
            for target in [t for call in calls for t in targets.of(call, one) or every]:
                if target in module.functions and target not in reached:
                    reached.add(target)
                    left.append(module.functions[target])


def _order(instructions: Sequence[Instruction]) -> tuple[str, int]:
    """The first atomic operation whose result is read, and its line."""
    read = {name for item in instructions for name in sources(item)}
    for item in instructions:
        if item.opcode == "atom" and any(name in read for name in parts(item.operands[0])):
            operation = next((word for word in item.modifiers if word in ATOMIC_OPERATIONS), "")
            return operation, item.line
    return "", 0


def _adds_rounded(instructions: list[Instruction]) -> bool:
    """May it add up rounded numbers of several threads?

    It does not where it adds none, or where threads hand on nothing: neither by shared memory or
    shuffles, nor by atomic operations or tensor cores, nor by functions that are not read.
    """
    rounds = hands_on = False
    for item in instructions:
        is_rounded = not FLOATS.isdisjoint(item.modifiers)
        is_atomic = item.opcode in ("atom", "red")
        rounds |= is_rounded and (is_atomic or item.opcode in SUMS | FUSED)
        # Loops around `atomicCAS` add with integers in place of numbers.
        hands_on |= is_atomic or item.opcode in _WARP_OPCODES or item.opcode == "call"
        hands_on |= any(word.startswith(_SHARED) for word in item.modifiers)
    return (rounds and hands_on) or any(item.opcode in _TENSOR for item in instructions)


class _Observer(Recorder):
    def see(self, moment: Moment) -> bool:
        try:
            if super().see(moment):
                return True
        except NotUnderstood:
            if moment.instruction.opcode in _KINDS:
                self._place(moment)
        else:
            if moment.instruction.opcode in FUNCTIONS:
                return False
        for register in results(moment.instruction):
            self._write_unknown(moment, "unseen", register)
        return True

    def _place(self, moment: Moment) -> None:
        place = next((o for o in moment.instruction.operands if o.startswith("[")), "")
        is_shared = any(word.startswith(_SHARED) for word in moment.instruction.modifiers)
        address, space = self._address(moment, place, _SHARED if is_shared else "")
        kind = _KINDS[moment.instruction.opcode]
        values = tuple(self._numbers(moment)) if kind == "atomic" else ()
        access = self._access(moment, kind, address, space=space)
        self.accesses.append(replace(access, values=values))

    def _numbers(self, moment: Moment) -> Iterator[IntegerPolynomial]:
        """What an atomic operation that is not understood combines with memory."""
        first = 2 if moment.instruction.opcode == "atom" else 1
        for operand in moment.instruction.operands[first:]:
            for text in parts(operand):
                if isinstance(value := moment.read(text), IntegerPolynomial):
                    yield value


class _Seen:
    def __init__(
        self, module: Module, function: Function, built_ins: BuiltIns | None = None
    ) -> None:
        self.function = function
        self.atoms = Atoms()
        flow = control_flow(function, lambda name: name not in module.functions)
        observer = _Observer(module, function, self.atoms)
        observer.shares_rows = True
        self.variables, self.called = observer.variables, observer.called
        self.walk = Walk(
            Graph(flow),
            self.atoms,
            Operations(self.atoms),
            function.registers,
            observer.symbols,
            observer.see,
            built_ins or BuiltIns(),
        )
        self.walk.run(observer.begin)
        self.places = [
            _Place(access.address, variable, access)
            for access in observer.accesses
            if access.address is not None and (variable := self._shared(access)) is not None
        ]
        self.accesses = observer.accesses
        seen = [*self._parts_in(range(len(flow.blocks)))]
        self._values = [one for one in seen if isinstance(one, IntegerPolynomial)]
        self.tests = [one for one in seen if isinstance(one, Relation)]
        self._of_width = WidthDependence(function, self.atoms)
        self.last_block = LastBlock(self.accesses, self.tests, self._values, self.atoms)

    def _shared(self, access: MemoryAccess) -> Variable | None:
        atoms = access.address.atoms if access.address is not None else ()
        found = (self.variables.get(atom.symbol or "") for atom in atoms)
        return next((one for one in found if one is not None and one.space == _SHARED), None)

    def singles_out(self) -> bool:
        threads = [IntegerPolynomial.atom(THREAD, d) for d in DIMENSIONS]
        return any(
            one in threads and (number := other.literal) is not None and number > WARP
            for test in self.tests
            for one, other in ((test.left, test.right), (test.right, test.left))
        )

    def sharing(self) -> tuple[str, int]:
        """How threads use shared memory, in words, and the line of the PTX where they do."""
        found: list[tuple[int, str, int]] = []
        for place in self.places:
            name, line = _name(place.variable), place.access.instruction.line
            if threads := " and ".join(f"threadIdx.{d}" for d in sorted(place.steps)):
                found.append((0, f"'{name}' has a place for each {threads}", line))
            elif kinds := self._built_ins(place.address):
                found.append((1, f"the place in '{name}' depends on {kinds}", line))
            else:
                found.append((2, f"threads of a block share '{name}'", line))
        _, words, line = min(found, default=(0, "", 0), key=lambda one: one[0])
        return words, line

    def tells_no_order(self, item: Instruction) -> bool:
        """Is the result of an atomic operation, if it is one, no matter of the order of threads?"""
        return item.line in self.last_block.lines or _is_retried(item, self.walk.graph)

    def follows_block(self) -> bool:
        dynamic = [place.access for place in self.places if place.variable.size == 0]
        return not dynamic or not all(map(self._is_within_sizes, dynamic))

    def _is_within_sizes(self, access: MemoryAccess) -> bool:
        """Does a place lie below an end that does not depend on the block?"""
        assert access.address is not None, "a place in shared memory is known"
        place = self._of_width.without_lanes(access.address)
        if not self.atoms.of(self._without_rows(place)).raw:
            return True
        tests = (one for one in access.known if one.relation != "eq")
        pairs = (pair for test in tests for pair in ordered(test))
        return any(
            not self.atoms.of(large).raw
            and self._is_multiple(place, self._of_width.without_lanes(small))
            for small, large in pairs
        )

    def _without_rows(self, value: IntegerPolynomial) -> IntegerPolynomial:
        """A value without the elements of rows, of some size, that threads of a block share."""
        terms, width = dict(value.terms), Atom(BLOCK_SIZE, "x")
        step = terms.get((Atom(THREAD, "x"),), 0)
        # A loop that is unrolled steps by several widths.
        rounds = [
            m for m, c in value.terms if width in m and len(m) == 2 and step and c % step == 0
        ]
        if not rounds or not all(map(self._has_size, rounds)):
            return value
        for monomial in ((Atom(THREAD, "x"),), *rounds):
            del terms[monomial]
        return IntegerPolynomial.of(terms)

    def _has_size(self, rounds: Sequence[Atom]) -> bool:
        """Is there an end, which does not depend on the block, to what goes on in these rounds?"""
        sides = (pair for one in self.tests for pair in permutations((one.left, one.right)))
        return any(
            rounds in dict(one.terms) and not self.atoms.of(other).raw for one, other in sides
        )

    def _is_multiple(self, place: IntegerPolynomial, small: IntegerPolynomial) -> bool:
        """Is a place a number of steps from what does not depend on the block?"""
        thread = (Atom(THREAD, "x"),)
        step, one = dict(place.terms).get(thread, 0), dict(small.terms).get(thread, 0)
        return one == 1 and not self.atoms.of(place - small * step).raw

    def flat(self, dimension: str = "x", has_layers: bool = False) -> FlatUse:
        """How far the width of a flat block is free, or the number of warps in a dimension."""
        operands = (o for item in self.function.instructions for o in item.operands)
        body = {name for operand in operands for name in names(operand)}
        shared = [v for v in self.variables.values() if v.space == _SHARED and v.name in body]
        arrays = [(_name(variable), variable) for variable in shared]
        blocks = range(len(self.walk.graph.flow.blocks))
        known = ((block, self.walk.known_at_beginning(block)) for block in blocks)
        first_warp = {b for b, one in known if self._of_width.are_of_first_warp(one)}
        others = {*self._parts_in([block for block in blocks if block not in first_warp])}
        tests = [one for one in self.tests if one in others or self._is_of_width(one)]
        seen = self.accesses, self._values, tests
        return FlatJudge(
            self.function,
            *seen,
            arrays,
            self.atoms,
            self.called,
            self.last_block,
            dimension,
            self._loops(),
            first_warp,
            has_layers,
        ).use()

    def _is_of_width(self, test: Relation) -> bool:
        return any(BLOCK_SIZE in self._of_width.kinds(side) for side in (test.left, test.right))

    def _loops(self) -> LoopUse:
        graph, branches = self.walk.graph, self.walk.branches
        blocks = graph.flow.blocks
        return LoopUse(
            {h: [branches.get(block) for block in graph.exits(h)] for h in graph.loop_of_header},
            frozenset(
                header
                for header, inside in graph.loop_of_header.items()
                if any(i.opcode in _WARP_OPCODES for b in inside for i in blocks[b].instructions)
            ),
        )

    def _built_ins(self, address: IntegerPolynomial) -> str:
        found, raw = [], self.atoms.of(address).raw
        for d in sorted(raw):
            kinds, _ = raw_kinds(address, d, self.atoms)
            found += [f"{kind}.{d}" for kind in sorted(kinds, reverse=True)]
        return " and ".join(found) or ("the thread's place in its block" if raw else "")

    def _parts_in(self, blocks: Collection[int]) -> Iterator[object]:
        """All that accesses and branches in these basic blocks are computed from."""
        accesses = [one for one in self.accesses if one.block in blocks]
        of_accesses = (v for one in accesses for v in (one.address, *one.values))
        branches = (one for block, one in self.walk.branches.items() if block in blocks)
        return all_parts_of((*branches, *of_accesses), self.atoms)


class _Place:
    def __init__(
        self, address: IntegerPolynomial, variable: Variable, access: MemoryAccess
    ) -> None:
        self.address, self.variable, self.access = address, variable, access
        #: Bytes between the places of neighbours, where each thread has its own.
        self.steps: dict[str, int] = {}
        rest = dict(address.terms)
        for d in DIMENSIONS:
            thread, width = (Atom(THREAD, d),), Atom(BLOCK_SIZE, d)
            step = dict(address.terms).get(thread, 0)
            rounds = [m for m, c in address.terms if width in m and len(m) > 1 and c == step]
            if step > 0 and not rounds:
                self.steps[d] = step
            # Threads step through a row by the width of the block.
            for monomial in (thread, *rounds) if step > 0 and rounds else ():
                rest.pop(monomial)
        self.rest = IntegerPolynomial.of(rest)


def _name(variable: Variable) -> str:
    """The name as the source has it."""
    for found in _LOCAL_NAME.finditer(variable.name):
        length = int(found[1])
        if length <= len(found[2]) and _REPEATED.fullmatch(found[2][length:]):
            return found[2][:length]
    return base_name(variable.name)


# ---- compare-and-swaps that are repeated until they succeed


def _is_retried(swap: Instruction, graph: Graph) -> bool:
    """Tell whether the result of a swap reaches nothing but whether, and how, it is tried again.

        do { seen = old; old = atomicCAS(p, seen, f(seen)); } while (old != seen);

    Memory holds f of what it held, as after an atomic operation whose result is not used. Which
    thread came first is not told but to memory. No proof rests on it: what f is, is not asked.
    """
    if "cas" not in swap.modifiers:
        return False
    instructions = (item for block in graph.flow.blocks for item in block.instructions)
    swaps = [item for item in instructions if _is_swap_at(item, swap.operands[1])]
    if swap not in swaps:
        return False
    told = _told_by(swaps, graph)
    # What fails is tried again, with what memory held instead.
    return told is not None and any(item.operands[2] in told for item in swaps)


def _is_swap_at(item: Instruction, place: str) -> bool:
    return item.opcode == "atom" and "cas" in item.modifiers and item.operands[1] == place


def _told_by(swaps: Sequence[Instruction], graph: Graph) -> set[str] | None:
    """The registers that depend on their results; None where an effect does."""
    told, before = {item.operands[0] for item in swaps}, 0
    while before != (before := len(told)):
        for item, is_decided in _in_order(graph, told):
            is_read = not told.isdisjoint((*sources(item), item.guard))
            if item in swaps or not (is_read or is_decided):
                continue
            if item.opcode not in FUNCTIONS and (is_read or item.opcode not in ("ld", "bra")):
                return None
            told.update(results(item))
    is_place = any(not told.isdisjoint(names(item.operands[1])) for item in swaps)
    return told if not is_place else None


def _in_order(graph: Graph, told: set[str]) -> Iterator[tuple[Instruction, bool]]:
    """All instructions but branches; do such registers decide whether a thread comes to one?"""
    blocks = graph.flow.blocks
    for index, block in enumerate(blocks):
        deciding = (blocks[other].terminator for other in graph.dependences[index])
        is_decided = any(one.guard in told for one in deciding)
        yield from ((i, is_decided) for i in block.instructions if i.opcode != "bra")
