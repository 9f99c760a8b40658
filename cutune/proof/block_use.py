"""How an entry uses its thread block. Takes a function of a module, gives `BlockUse`.

For entries that are not proven: what they are told about, and which blocks are proposed to whoever
knows that others are right. What a proof does not understand is unknown here, and is passed over.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

from cutune.proof.flow.graph import Graph, Irreducible
from cutune.proof.flow.walk import Walk
from cutune.proof.memory.accesses import MemoryAccess, Recorder, raw_kinds
from cutune.proof.memory.called_functions import CalledFunctions
from cutune.proof.values.operations import FUNCTIONS, Moment, NotUnderstood, Operations, parts
from cutune.proof.values.polynomial import (
    BLOCK,
    BLOCK_SIZE,
    IDENTITY,
    THREAD,
    Atom,
    IntegerPolynomial,
)
from cutune.proof.values.predicates import Relation, operands_of
from cutune.proof.values.terms import Atoms
from cutune.ptx.call_targets import CallTargets
from cutune.ptx.control_flow import control_flow
from cutune.ptx.taint import names, results, sources
from cutune.ptx.types import UNREADABLE, Function, Instruction, Module, Variable
from cutune.source.candidates import BlockUse
from cutune.source.program import DIMENSIONS

_WARP_OPCODES = frozenset({"shfl", "vote", "match", "redux", "activemask", "elect"})
_WARP_OPCODES |= {"wmma", "mma", "ldmatrix", "stmatrix", "movmatrix"}
_LANES = ("%laneid", "%lanemask", "%warpid")
_MEMORY = frozenset({"ld", "st", "atom", "red"})
_SHARED = "shared"
#: `_ZZ6kernelPfE4tile`: how long the last name within a mangled one is, and what follows. Numbers
#: of template arguments stand behind an `E`, too, and equal names of one function get a number.
_LOCAL_NAME = re.compile(r"(?:E|^_Z)(?=([1-9]\d*)([A-Za-z_]\w*)$)")
_REPEATED = re.compile(r"(?:_\d|__\d+_)?")


def is_warp_level(module: Module, function: Function) -> bool:
    """May threads of a warp work together, here or in a function that is called?"""
    return any(
        item.opcode in _WARP_OPCODES
        or (item.opcode in ("bar", "barrier") and "warp" in item.modifiers)
        or any(operand.startswith(_LANES) for operand in item.operands)
        for item in _instructions(module, function)
    )


def block_use(module: Module, function: Function) -> BlockUse:
    """Return how the code of a kernel uses its block."""
    instructions = list(_instructions(module, function))
    variables = {v.name: v for v in (*module.variables, *function.variables)}
    named = (name for i in instructions for text in i.operands for name in names(text))
    shared = (v for name in named if (v := variables.get(name)) is not None and v.space == _SHARED)
    first = next((f"threads of a block share '{_name(variable)}'" for variable in shared), "")
    widths = frozenset(
        d for d in DIMENSIONS if any(f"%ntid.{d}" in item.operands for item in instructions)
    )
    use = BlockUse(
        widths=widths,
        kept_grids=widths,
        halved=frozenset(d for d in widths if _halves(instructions, d)),
        sharing=first,
        takes_order=_takes_order(instructions),
        reads=widths,
    )
    try:
        seen = _Seen(module, function)
    except (NotUnderstood, Irreducible, *UNREADABLE):
        return use
    limits = {d: least for d in DIMENSIONS if (least := seen.limit(d)) is not None}
    sharing, line = seen.sharing()
    return replace(
        use,
        kept_grids=frozenset(d for d in widths if not seen.has_global_id(d)),
        limits=tuple((d, most) for d, (most, _) in limits.items()),
        shortest=min(limits.values(), key=lambda limit: limit[0], default=(0, ""))[1],
        sharing=sharing or first,
        sharing_line=line,
        follows_block=seen.follows_block(),
        least=tuple((d, number) for d in DIMENSIONS if (number := seen.least(d)) > 1),
    )


def _instructions(module: Module, function: Function) -> Iterator[Instruction]:
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


def _takes_order(instructions: list[Instruction]) -> bool:
    """Is the result of an atomic operation read?"""
    read = {name for item in instructions for name in sources(item)}
    atomics = (item for item in instructions if item.opcode == "atom")
    return any(name in read for item in atomics for name in parts(item.operands[0]))


def _halves(instructions: list[Instruction], d: str) -> bool:
    """Is there `blockDim.d / 2`?"""
    read = {i.operands[0] for i in instructions if i.opcode == "mov" and f"%ntid.{d}" in i.operands}
    halves = {("shr", "1"), ("div", "2")}
    return any(
        (i.opcode, i.operands[-1]) in halves and i.operands[1] in read | {f"%ntid.{d}"}
        for i in instructions
        if len(i.operands) == 3
    )


class _Observer(Recorder):
    """Passes over what proofs do not understand."""

    def see(self, moment: Moment) -> bool:
        try:
            if super().see(moment):
                return True
        except NotUnderstood:
            if moment.instruction.opcode in _MEMORY:
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
        opcode = moment.instruction.opcode
        self.accesses.append(self._access(moment, opcode, address, space=space))


class _Seen:
    def __init__(self, module: Module, function: Function) -> None:
        self.atoms = Atoms()
        self.variables = {v.name: v for v in (*module.variables, *function.variables)}
        flow = control_flow(function, lambda name: name not in module.functions)
        called = CalledFunctions(CallTargets(module), self.variables)
        observer = _Observer(function, called, self.variables, self.atoms)
        observer.shares_rows = True
        parameters = (parameter.name for parameter in function.parameters)
        self.walk = Walk(
            Graph(flow),
            self.atoms,
            Operations(self.atoms),
            function.registers,
            frozenset({*self.variables, *module.functions, *parameters}),
            observer.see,
        )
        self.walk.run(observer.begin)
        self.places = [
            _Place(access.address, variable, access)
            for access in observer.accesses
            if access.address is not None and (variable := self._shared(access)) is not None
        ]
        self.tests: list[Relation] = []
        self._values = list(self._all_values(observer.accesses))

    def _shared(self, access: MemoryAccess) -> Variable | None:
        atoms = access.address.atoms if access.address is not None else ()
        found = (self.variables.get(atom.name.removeprefix("&")) for atom in atoms)
        return next((one for one in found if one is not None and one.space == _SHARED), None)

    def has_global_id(self, d: str) -> bool:
        return any(
            Atom(IDENTITY, d) in monomial
            or (Atom(BLOCK, d) in monomial and any(self._is_width(atom, d) for atom in monomial))
            for value in self._values
            for monomial, _ in value.terms
        )

    def _is_width(self, atom: Atom, d: str) -> bool:
        if (operation := self.atoms.operation(atom)) is None:
            return atom == Atom(BLOCK_SIZE, d)
        return any(self._is_width(one, d) for value in operation.numbers[:1] for one in value.atoms)

    def least(self, d: str) -> int:
        """The narrowest block that has each thread which the code singles out by a number."""
        return 1 + max((_singled_out(_thread(d), test) for test in self.tests), default=0)

    def limit(self, d: str) -> tuple[int, str] | None:
        """The widest block for which each shared array has a place for each thread, and which."""
        limits = [(place.limit(d, self.atoms), _name(place.variable)) for place in self.places]
        # Threads may be numbered by a constant: `threadIdx.y * 16 + threadIdx.x`.
        limits += [(_numbered(value, d) or None, "") for value in self._values]
        return min(((most, name) for most, name in limits if most is not None), default=None)

    def sharing(self) -> tuple[str, int]:
        """How threads use shared memory, in words, and the line of the PTX where they do."""
        found: list[tuple[int, str, int]] = []
        for place in self.places:
            name, line = _name(place.variable), place.access.instruction.line
            threads = " and ".join(f"threadIdx.{d}" for d in sorted(place.steps))
            if threads:
                found.append((0, f"'{name}' has a place for each {threads}", line))
            elif kinds := self._built_ins(place.address):
                found.append((1, f"the place in '{name}' depends on {kinds}", line))
            else:
                found.append((2, f"threads of a block share '{name}'", line))
        return min(found, default=(0, "", 0), key=lambda one: one[0])[1:]

    def follows_block(self) -> bool:
        dynamic = [place for place in self.places if place.variable.size == 0]
        return not dynamic or any(place.steps or self.atoms.of(place.rest).raw for place in dynamic)

    def _built_ins(self, address: IntegerPolynomial) -> str:
        found, raw = [], self.atoms.of(address).raw
        for d in sorted(raw):
            kinds, _ = raw_kinds(address, d, self.atoms)
            found += [f"{kind}.{d}" for kind in sorted(kinds, reverse=True)]
        return " and ".join(found) or ("the thread's place in its block" if raw else "")

    def _all_values(self, accesses: list[MemoryAccess]) -> Iterator[IntegerPolynomial]:
        left: list[object] = [*self.walk.branches.values()]
        for access in accesses:
            left += [access.address, *access.values]
        known: set[object] = set()
        while left:
            value = left.pop()
            if value is None or value in known:
                continue
            known.add(value)
            left += operands_of(value)
            if isinstance(value, IntegerPolynomial):
                yield value
                operations = map(self.atoms.operation, value.atoms)
                left += [o for one in operations if one is not None for o in one.operands]
            elif isinstance(value, Relation):
                self.tests.append(value)


class _Place:
    def __init__(
        self, address: IntegerPolynomial, variable: Variable, access: MemoryAccess
    ) -> None:
        self.address, self.variable, self.access = address, variable, access
        coefficients, rest = dict(address.terms), dict(address.terms)
        #: Bytes between the places of neighbours, where each thread has its own.
        self.steps: dict[str, int] = {}
        self.spans: dict[str, int] = {}
        for d in DIMENSIONS:
            step = coefficients.get((Atom(THREAD, d),), 0)
            width = Atom(BLOCK_SIZE, d)
            rounds = [m for m, c in coefficients.items() if width in m and len(m) > 1 and c == step]
            if step > 0 and not rounds:
                self.steps[d] = step
                # Each thread has more places, as many as the block is wide from each other.
                self.spans[d] = step + max(0, coefficients.get((width,), 0))
            elif step > 0:
                # Threads step through a row by the width of the block.
                for monomial in ((Atom(THREAD, d),), *rounds):
                    rest.pop(monomial)
        self.rest = IntegerPolynomial.of(rest)

    def limit(self, d: str, atoms: Atoms) -> int | None:
        """The widest block of which each thread has a place."""
        step, size = self.steps.get(d), self.variable.size
        if not size:
            return None
        if step is None:
            return self._limit_of_groups(d, atoms)
        larger = [other // step for other in self.steps.values() if other > step]
        return min([size // self.spans[d], *larger])

    def _limit_of_groups(self, d: str, atoms: Atoms) -> int | None:
        """As above, where a group of threads has a place: `array[threadIdx.x / 32]`."""
        for (atom, *others), step in ((m, c) for m, c in self.address.terms if m and c > 0):
            operation = atoms.operation(atom)
            if others or operation is None or operation.numbers[:1] != [_thread(d)]:
                continue
            number = operation.numbers[-1].literal
            opcode = operation.name.split(".")[0]
            if number is not None and number > 0 and opcode in ("shr", "div"):
                return self.variable.size // step * (1 << number if opcode == "shr" else number)
        return None


def _thread(d: str) -> IntegerPolynomial:
    return IntegerPolynomial.atom(THREAD, d)


def _numbered(value: IntegerPolynomial, d: str) -> int | None:
    """The widest block in which numbers that threads get by constants differ."""
    steps = {m[0].name: c for m, c in value.terms if len(m) == 1 and m[0].kind == THREAD and c > 0}
    larger = [step for step in steps.values() if step > steps.get(d, step)]
    return min(larger) // steps[d] if larger else None


def _singled_out(thread: IntegerPolynomial, test: Relation) -> int:
    """The number of the thread that a comparison singles out; 0: none."""
    if test.relation not in ("eq", "ne"):
        return 0
    others = {test.left: test.right, test.right: test.left}
    number = others[thread].literal if thread in others else None
    return number if number is not None and number > 0 else 0


def _name(variable: Variable) -> str:
    for found in _LOCAL_NAME.finditer(variable.name):
        length = int(found[1])
        if length <= len(found[2]) and _REPEATED.fullmatch(found[2][length:]):
            return found[2][:length]
    return variable.name
