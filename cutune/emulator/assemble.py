"""Assembler: takes the text of a PTX module, gives an image for the machine and its metadata.

    python -m cutune.emulator.assemble IN.ptx OUT.image

is run by the replacement libcudart for each module of the user's program. Instructions that the
machine lacks are refused here, with the PTX line and the source line. Only the standard library is
imported, because a program waits for this command.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from math import prod
from pathlib import Path

from cutune.emulator.lower.dispatch import lower
from cutune.emulator.lower.encoder import (
    LANES,
    NEGATED,
    Access,
    FunctionEncoder,
    Record,
    parameter_offsets,
)
from cutune.emulator.lower.memory import BUILTINS, lower_function_call
from cutune.emulator.lower.warp import lower_barrier
from cutune.emulator.module_metadata import (
    AssembledModule,
    Block,
    KernelCode,
    ParameterSlot,
    Site,
    Waits,
    leap_bytes,
    listed,
    relocation_bytes,
    sized,
    u32,
    variable_bytes,
)
from cutune.ptx.chains import waiting_of
from cutune.ptx.control_flow import BasicBlock, ControlFlow, call_target, control_flow
from cutune.ptx.leaps import leap_of
from cutune.ptx.parse import parse, parsed
from cutune.ptx.taint import Obliviousness, data_oblivious, names
from cutune.ptx.types import Function, Module, PtxError, Variable, aligned, placed, understood
from cutune.ptx.units import Demand, demand_of, uniform_reads
from cutune.ptx.vectors import joined_loads


@dataclass(frozen=True)
class _LoweredFunction:
    encoder: FunctionEncoder
    flow: ControlFlow
    first_block: int
    sites: range
    joined: dict[int, int]


class _Assembler:
    """Numbers blocks, sites and loops through the whole module; lowers function by function."""

    def __init__(self, module: Module, entries: Collection[str] | None) -> None:
        self.module = module
        self.functions = reached_functions(module, entries)
        for alias, name in module.aliases.items():
            if name in self.functions:
                self.functions[alias] = self.functions[name]
        self.variables = {v.name: v for v in module.variables}
        self.shared = {n: v for n, v in self.variables.items() if v.space == "shared" and v.count}
        self.operands: list[int] = []
        #: With their blocks, regions, and what they cost as a part of a vector.
        self.sites: list[tuple[Access, int, int, int]] = []
        self.records: list[Record] = []
        self.blocks: list[tuple[int, int, bytes]] = []
        self.verdicts: dict[str, Obliviousness] = {}
        self.lowered: dict[str, _LoweredFunction] = {}
        self.regions = 0
        self.joined: dict[int, int] = {}
        self.here = (0, 0)  # block and region that are being lowered
        self.callees = {name: self._callees(f) for name, f in self.functions.items()}
        self.shared_of = {name: self._shared_names(f) for name, f in self.functions.items()}
        self.layouts: dict[str, tuple[dict[str, int], int]] = {}
        # Shared variables of device functions have the same offset in every kernel.
        called = (self.shared_of[n] for n, f in self.functions.items() if not f.is_kernel)
        self.common = _shared_layout({v.name: v for used in called for v in used}.values(), {}, 0)

    def site(self, access: Access) -> int:
        cost = self.joined.get(access.line, access.bytes)
        self.sites.append((access, *self.here, cost))
        return len(self.sites) - 1

    def shared_offset(self, name: str, function: Function) -> int | None:
        places, size = self._layout(function)
        return places.get(name, aligned(size, 16) if function.is_kernel else None)

    def _shared_names(self, function: Function) -> list[Variable]:
        own = [v for v in function.variables if v.space == "shared" and v.count]
        mentioned = _mentioned(function) if self.shared else ()
        return own + [v for n, v in self.shared.items() if n in mentioned]

    def _layout(self, function: Function) -> tuple[dict[str, int], int]:
        if not function.is_kernel:
            return self.common
        if function.name not in self.layouts:
            places, size = self.common if self.callees[function.name] else ({}, 0)
            own = [v for v in self.shared_of[function.name] if v.name not in places]
            self.layouts[function.name] = _shared_layout(own, places, size)
        return self.layouts[function.name]

    def _alignments(self) -> dict[str, int]:
        """What addresses of shared variables are multiples of; ptxas places those with a size."""
        shared = [*self.shared.values(), *chain.from_iterable(self.shared_of.values())]
        return {v.name: max(v.alignment, 16 if v.size >= 16 else 1) for v in shared}

    def _callees(self, function: Function) -> list[str]:
        found = []
        for item in function.instructions:
            if item.opcode == "call":
                target = call_target(item)
                if target in self.functions:
                    found.append(target)
                elif target in function.registers:  # any of them
                    found += [n for n, f in self.functions.items() if not f.is_kernel]
        return list(dict.fromkeys(found))

    def lower(self, name: str, function: Function) -> None:
        flow = control_flow(function, BUILTINS.__contains__)
        self.joined = joined_loads(function, flow, self._alignments())
        encoder = FunctionEncoder(function, self)
        encoder.records = self.records
        start = len(self.records)
        base, first_operand, first_site = len(self.blocks), len(self.operands), len(self.sites)
        for index, block in enumerate(flow.blocks):
            self.here = (len(self.blocks), self.regions + block.loop + 1)
            leap = self._leap(encoder, index, block)
            self.blocks.append((len(self.records), len(block.instructions), leap))
            _lower_block(encoder, block, base)
        encoder.records = self.records[start:]
        encoder.finish(first_operand)
        self.regions += len(flow.loops) + 1
        sites = range(first_site, len(self.sites))
        self.lowered[name] = _LoweredFunction(encoder, flow, base, sites, self.joined)

    def _verdict(self, name: str) -> Obliviousness:
        if name not in self.verdicts:
            self.verdicts[name] = data_oblivious(self.functions[name], self.functions)
        return self.verdicts[name]

    def _leap(self, encoder: FunctionEncoder, index: int, block: BasicBlock) -> bytes:
        """How the block repeats, for launches without data; empty when it is not known."""
        function = encoder.function
        if not function.is_kernel or index not in block.terminator.targets:
            return b""
        verdict = self._verdict(function.name)
        if not verdict.holds or verdict.uncertain:
            return b""
        leap = leap_of(index, block, function.registers, verdict.loaded)
        return leap_bytes(leap, encoder) if leap else b""

    def _reached(self, name: str) -> list[str]:
        found = [name]
        for each in found:
            found += [callee for callee in self.callees[each] if callee not in found]
        return found

    def kernel(self, name: str) -> KernelCode:
        function = self.functions[name]
        reached = self._reached(name)
        blocks: list[Block] = []
        sites: list[Site] = []
        block_indices: list[int] = []
        site_indices: list[int] = []
        loops = 0
        for each in reached:
            lowered = self.lowered[each]
            flow, first = lowered.flow, lowered.first_block
            constants = uniform_reads(flow, self.functions[each])
            offset = len(blocks)
            for k, block in enumerate(flow.blocks):
                loop = block.loop + loops if block.loop >= 0 else -1
                parts = sum(lowered.joined.get(i.line) == 0 for i in block.instructions)
                demand = demand_of(block) + Demand(slots=-parts, constants=constants[k])
                targets = tuple(offset + target for target in block.terminator.targets)
                calls = any(i.opcode == "call" for i in block.instructions)
                blocks.append(Block(loop, demand, targets, calls))
            block_indices += range(first, first + len(flow.blocks))
            for access, block_index, _, _ in self.sites[lowered.sites.start : lowered.sites.stop]:
                sites.append(Site(**vars(access), block=offset + block_index - first))
            site_indices += lowered.sites
            loops += len(flow.loops)
        return KernelCode(
            name,
            tuple(ParameterSlot(p.type, p.size, o) for o, p in parameter_offsets(function)),
            tuple(blocks),
            tuple(sites),
            self._verdict(name),
            self._layout(function)[1],
            _max_threads(function),
            tuple(block_indices),
            tuple(site_indices),
            function,
            partial(self._waits, reached),
        )

    def _waits(self, reached: Sequence[str]) -> Waits:
        steps: list[int] = []
        chains: list[int] = []
        phases: list[int] = []
        for lowered in map(self.lowered.__getitem__, reached):
            phase_of: dict[int, int] = {}  # by line
            waiting = waiting_of(lowered.flow, lowered.joined)
            for one, block in zip(waiting, lowered.flow.blocks, strict=True):
                lines = (i.line for i in block.instructions)
                phase_of |= dict(zip(lines, one.phases, strict=True))
                steps.append(one.steps)
                chains.append(one.chain)
            own = self.sites[lowered.sites.start : lowered.sites.stop]
            phases += (phase_of[access.line] for access, *_ in own)
        return Waits(tuple(steps), tuple(chains), tuple(phases))

    def image(self) -> bytes:
        handlers = list(dict.fromkeys(record.handler for record in self.records))
        numbers = {name: index for index, name in enumerate(handlers)}
        spaces = ("global", "const")
        variables = [v for v in self.module.variables if v.space in spaces and v.count]
        parts = (
            listed(sized(name.encode()) for name in handlers),
            listed(map(variable_bytes, variables)),
            listed(self._function_bytes(*function) for function in self.functions.items()),
            listed(_record_bytes(record, numbers[record.handler]) for record in self.records),
            listed(u32(first, count) + sized(leap) for first, count, leap in self.blocks),
            u32(len(self.operands), *self.operands),
            listed(_site_bytes(*site) for site in self.sites),
        )
        return b"CUTUNE-3" + b"".join(parts)

    def _function_bytes(self, name: str, function: Function) -> bytes:
        lowered = self.lowered[name]
        encoder = lowered.encoder
        _, size = self._layout(function)
        parameters = parameter_offsets(function) if function.is_kernel else []
        numbers = u32(
            function.is_kernel,
            any(self.callees[each] for each in self._reached(name)),
            encoder.register_bytes + encoder.constant_bytes,
            encoder.local_bytes,
            size if function.is_kernel else 0,
            _max_threads(function),
            max((o + p.size for o, p in parameters), default=0),
            lowered.first_block,
            len(lowered.flow.blocks),
        )
        constants = bytearray(encoder.constant_bytes)
        for offset, width, value in encoder.constant_values:
            constants[offset : offset + LANES * width] = value.to_bytes(width, "little") * LANES
        places = listed(u32(offset, parameter.size) for offset, parameter in parameters)
        relocations = listed(map(relocation_bytes, encoder.relocations))
        return sized(name.encode()) + numbers + places + sized(bytes(constants)) + relocations


def _record_bytes(r: Record, handler: int) -> bytes:
    fields = (handler, r.d, r.a, r.b, r.c, r.x, r.flags)
    return struct.pack("<7IqII", *fields, r.imm, r.line, r.source_line)


def _site_bytes(access: Access, block: int, region: int, cost: int) -> bytes:
    kind = ("load", "store", "atomic").index(access.kind)
    # Parameters lie in the local memory of a thread.
    spaces = {"generic": 0, "global": 1, "shared": 2, "local": 3, "const": 4, "param": 3}
    return u32(access.bytes, region, block, kind, spaces[access.space], access.guarded, cost)


def reached_functions(module: Module, entries: Collection[str] | None) -> dict[str, Function]:
    """Kernels of these names, and functions that they or an initialiser mention, directly or not.

    Others are in the text because a library was linked; what they hold need not be supported.
    """
    defined = {n: f for n, f in module.functions.items() if f.body is not None}
    kernels = [name for name, function in defined.items() if function.is_kernel]
    reached = [name for name in kernels if entries is None or name in entries]
    for variable in module.variables:
        reached += [name for name in names(variable.initial) if name in defined]
    seen = set(reached)
    for name in reached:
        for mentioned in _mentioned(defined[name]):
            target = module.aliases.get(mentioned, mentioned)
            if target in defined and target not in seen:
                seen.add(target)
                reached.append(target)
    return {name: function for name, function in defined.items() if name in seen}


def _mentioned(function: Function) -> set[str]:
    return {name for operand in function.operands for name in names(operand)}


def _shared_layout(
    variables: Collection[Variable], earlier: dict[str, int], size: int
) -> tuple[dict[str, int], int]:
    """Offsets of variables, behind earlier ones of this size, and the size of all."""
    offsets, size = placed(variables, size)
    return earlier | dict(zip((v.name for v in variables), offsets, strict=True)), size


def _max_threads(function: Function) -> int:
    for directive in ("reqntid", "maxntid"):
        if numbers := function.directives.get(directive):
            return min(prod(numbers), 1024)
    return 1024


def _lower_block(encoder: FunctionEncoder, block: BasicBlock, base: int) -> None:
    """Emit the records of a block; `base` is the number of the function's first block."""
    terminator = block.terminator
    instructions = block.instructions
    suspending = instructions[-1] if terminator.kind == "suspend" else None
    for instruction in instructions[:-1] if suspending else instructions:
        if instruction.opcode not in ("bra", "brx", "ret", "exit"):
            lower(encoder, instruction)
    targets = [base + target for target in terminator.targets]
    if suspending is not None:
        encoder.begin(suspending)
        lower_last = lower_function_call if suspending.opcode == "call" else lower_barrier
        lower_last(encoder, targets[0])
        return
    if terminator.instruction is not None:
        encoder.begin(terminator.instruction)
    if terminator.kind == "branch":
        guard, flags = encoder.source(terminator.guard, "pred"), NEGATED * terminator.negated
        encoder.emit("branch", a=guard, x=targets[0], imm=targets[1], flags=flags)
    elif terminator.kind == "table":
        assert terminator.instruction is not None
        index = encoder.source(terminator.instruction.operands[0], "u32")
        encoder.emit("branch_table", a=index, flags=encoder.table([len(targets), *targets]))
    else:
        encoder.emit(terminator.kind, x=targets[0] if targets else 0)


class _Kernels(Mapping[str, KernelCode]):
    """The kernels of a module, each described when it is asked for first."""

    def __init__(self, assembler: _Assembler) -> None:
        self._assembler = assembler
        self._names = [name for name, f in assembler.functions.items() if f.is_kernel]
        self._known: dict[str, KernelCode] = {}

    def __getitem__(self, name: str) -> KernelCode:
        if name not in self._known:
            if name not in self._names:
                raise KeyError(name)
            with understood():
                self._known[name] = self._assembler.kernel(name)
        return self._known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def assemble(text: str | Module, entries: Collection[str] | None = None) -> AssembledModule:
    """Assemble a PTX module, or only kernels of these names and what they call.

    Raises PtxError for what is no PTX and what the machine lacks.
    """
    with understood():
        if isinstance(text, Module):
            module = text
        else:
            module = parsed(text) if entries is None else parse(text, entries)
        assembler = _Assembler(module, entries)
        for name, function in assembler.functions.items():
            assembler.lower(name, function)
        counts = len(assembler.blocks), len(assembler.sites)
        return AssembledModule(assembler.image(), _Kernels(assembler), *counts)


#: Exit status for PTX that the machine does not support; Python ends with 1 when cutune is broken.
UNSUPPORTED = 3


def main(arguments: Sequence[str]) -> int:
    """The command: 0 and an image, or `UNSUPPORTED` and the reason on standard error."""
    if len(arguments) != 2:
        words = "usage: python -m cutune.emulator.assemble IN.ptx OUT.image"
        print(words, file=sys.stderr)
        return 2
    text = Path(arguments[0]).read_text(encoding="utf-8", errors="replace")
    try:
        image = assemble(text).image
    except PtxError as error:
        source = error.source_line or "unknown"
        print(f"PTX line {error.line}, source line {source}: {error.reason}", file=sys.stderr)
        return UNSUPPORTED
    Path(arguments[1]).write_bytes(image)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
