"""The verdict about one entry of a PTX module: how may the blocks of its launches change?

Three things are proven per dimension. The block matters only through the global id or the number of
threads. Nothing that threads do together depends on the block they are in. All effects lie under a
bound of the id.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from math import prod

from cutune.core.codes import Code
from cutune.proof.block_use import block_use, is_warp_level
from cutune.proof.blocks.shared_rows import shared_rows
from cutune.proof.blocks.tables_and_sums import EachBlockJudge
from cutune.proof.blocks.whole_grid import GridJudge
from cutune.proof.collectives.meeting_points import (
    cut_where_threads_meet,
    is_meeting,
    where_threads_meet,
)
from cutune.proof.collectives.reductions import Reduction, Reductions, reduced_by, settled_by
from cutune.proof.entry_proof import EntryDimension, EntryProof, Refused
from cutune.proof.flow.cas_loops import without_cas_loops
from cutune.proof.flow.graph import Graph, Irreducible, is_straight, register_pressure
from cutune.proof.flow.ranges import Ranges
from cutune.proof.flow.walk import Settled, Walk
from cutune.proof.memory.accesses import MemoryAccess, Recorder
from cutune.proof.memory.block_sums import BlockSums
from cutune.proof.memory.pointers import pointer_uses
from cutune.proof.memory.reduced_places import Reduced
from cutune.proof.memory.roles import guards, roles
from cutune.proof.memory.thread_meetings import meetings
from cutune.proof.values.built_ins import (
    BUILT_INS,
    OVER_WARPS,
    BuiltIns,
    KeptGrid,
    RowsOfEachBlock,
    WholeGrid,
)
from cutune.proof.values.id_bounds import IdBound, of_threads
from cutune.proof.values.launch_conditions import Meetings, SizeConditions, Spread
from cutune.proof.values.operations import NotUnderstood, Operations
from cutune.proof.values.predicates import properties_of
from cutune.proof.values.terms import WARP, AtomProperties, Atoms
from cutune.ptx.control_flow import control_flow
from cutune.ptx.taint import names
from cutune.ptx.types import UNREADABLE, Function, Instruction, Module, Variable
from cutune.source.candidates import BlockUse
from cutune.toolchain.kernel_names import base_name

_DIMENSIONS = ("x", "y", "z")
#: Blocks beyond which an entry is not walked.
_MOST_BLOCKS = 3000
#: Reductions of which each needs the one before.
_MOST_REDUCTIONS = 12
_FIXING = {
    "reqntid": "a block that is required",
    "explicitcluster": "a cluster",
    "reqnctapercluster": "a cluster",
    "maxclusterrank": "a cluster",
}


_UNKNOWN = EntryDimension(False)
_ATOMIC = re.compile(r"'(?:atom|red)\.(\w+)'")
_MARKED = re.compile(r"'(?:ld|st)\.(volatile|relaxed|acquire|release|mmio)\b.*'")
_CALLED = re.compile(r"'(_Z\w+|%\w+)'")
#: What threads of a block may do together where blocks keep their indices.
_OF_BLOCKS = (Code.BARRIER, Code.SHARED_MEMORY)
#: Reasons that are known once it is known what threads combine.
_OF_REDUCTIONS = frozenset({Code.RACE, Code.BLOCK_RESULT})
_BOUNDING = frozenset({"maxntid", "reqntid", "minnctapersm", "maxnreg"})


def prove(module: Module, name: str, assembly: Container[int] = ()) -> EntryProof:
    """Judge one entry. `assembly`: lines of PTX that the program has written itself."""
    function = without_cas_loops(module.functions[name])
    variables = {v.name: v for v in (*module.variables, *function.variables)}
    proof = _either(module, function)
    is_kept = proof.refused is not None or any(one.raw is not None for one in proof.dimensions)
    return replace(
        proof,
        warp_level=is_warp_level(module, function),
        block_use=block_use(module, function) if is_kept else BlockUse(),
        structures=frozenset(i for i, p in enumerate(function.parameters) if p.type == "b8"),
        uses=pointer_uses(function, variables, assembly),
        is_straight=is_straight(function, assembly),
        pressure=register_pressure(function),
        max_threads=prod(function.directives.get("maxntid", (1024,))),
        is_bounded=not _BOUNDING.isdisjoint(function.directives),
    )


def _either(module: Module, function: Function) -> EntryProof:
    """By its global ids, or else by rows, by ids of warps, or by ids beside rows of each block."""
    proof = judge(module, function)
    is_of_blocks = proof.refused is not None and proof.refused.code in _OF_BLOCKS
    reason: EntryProof | None = None
    named = function.operands
    meets = any(map(is_meeting, function.instructions))
    for dimension, dimension_proof in zip(_DIMENSIONS, proof.dimensions, strict=True):
        is_raw = not _is_tunable(proof) and dimension_proof.raw is not None
        if is_raw or (is_of_blocks and f"%tid.{dimension}" in named):
            by_rows = judge(module, function, dimension)
            if by_rows.refused is None:
                return by_rows
            if dimension == "x" and meets:
                reduced = judge(module, function, dimension, reducing=True)
                if reduced.refused is None:
                    return reduced
                reason = reduced if reduced.refused.code in _OF_REDUCTIONS else None
    if proof.refused is None and not _is_tunable(proof) and proof.dimensions[0].raw is not None:
        for built_ins in OVER_WARPS:
            by_warps = judge(module, function, built_ins=built_ins)
            if by_warps.refused is None and by_warps.dimensions[0].raw is None:
                return by_warps
    if is_of_blocks and "%ctaid.x" in named:
        for reducing in (False, True):
            beside_ids = judge(module, function, "x", beside_ids=True, reducing=reducing)
            if beside_ids.refused is None:
                return beside_ids
            reason = beside_ids if beside_ids.refused.code in _OF_REDUCTIONS else reason
    if reason is not None and not _is_tunable(proof):
        return reason
    return _with_free_grid(module, function, _with_single_threads(module, function, proof))


def _with_free_grid(module: Module, function: Function, proof: EntryProof) -> EntryProof:
    """With the limits of its loops, where any number of threads may share what they do.

    The launch asks no more for that than it asks for other blocks anyway, but the limits.
    """
    indexed = [i for i, one in enumerate(proof.dimensions) if one.indexed]
    if proof.refused is not None or proof.needs_warps or proof.must_hold or len(indexed) != 1:
        return proof
    (axis,) = indexed
    if not proof.dimensions[axis].grid_stride or proof.dimensions[axis].raw is not None:
        return proof
    free = judge(module, function, _DIMENSIONS[axis], whole_grid=True)
    if free.refused is not None:
        return proof
    if not ({*free.pointers} <= {*proof.pointers} and {*free.spreads} <= {*proof.spreads}):
        return proof
    dimensions = list(proof.dimensions)
    dimensions[axis] = replace(dimensions[axis], free_up_to=free.dimensions[axis].free_up_to)
    return replace(proof, dimensions=(dimensions[0], dimensions[1], dimensions[2]))


def _with_single_threads(module: Module, function: Function, proof: EntryProof) -> EntryProof:
    """With warps free where blocks have one thread in the dimensions that stay.

    There `blockIdx` is the id: batches that it alone tells apart are different threads'.
    """
    kept = frozenset(
        d for d, known in zip(_DIMENSIONS, proof.dimensions, strict=True) if known.raw is not None
    )
    if not (kept and proof.needs_warps and _is_tunable(proof)):
        return proof
    alone = judge(module, function, built_ins=BuiltIns(single_thread=kept))
    if alone.refused is not None or alone.needs_warps:
        return proof
    return replace(
        proof,
        needs_warps=False,
        pointers=alone.pointers,
        spreads=alone.spreads,
        single_thread=tuple(sorted(kept)),
    )


def _is_tunable(proof: EntryProof) -> bool:
    return any(
        dimension_proof.indexed and dimension_proof.raw is None
        for dimension_proof in proof.dimensions
    )


def judge(
    module: Module,
    function: Function,
    kept_dimension: str | None = None,
    built_ins: BuiltIns = BUILT_INS,
    beside_ids: bool = False,
    reducing: bool = False,
    whole_grid: bool = False,
) -> EntryProof:
    """Judge one entry.

    Args:
        kept_dimension: the dimension whose grid is kept.
        beside_ids: are rows in that dimension those of each block, while ids count?
        built_ins: how they are read in the other dimensions.
        reducing: may threads combine sums of rows?
        whole_grid: do all blocks share rows in that dimension, as one?
    """
    sizes = tuple(parameter.size for parameter in function.parameters)
    kind = WholeGrid if whole_grid else RowsOfEachBlock if beside_ids else KeptGrid
    kept_grid = kind(kept_dimension) if kept_dimension else None
    try:
        if reducing and beside_ids:
            function = cut_where_threads_meet(function)
        prover = _EntryProver(module, function, sizes, kept_grid, built_ins)
        return prover.proof_with_reductions() if reducing else prover.proof()
    except NotUnderstood as error:
        code, what, line = error.code, error.what, error.instruction.line
    except Irreducible:
        code, what, line = Code.NOT_PROVEN, "a loop with several entries", 0
    except UNREADABLE as error:
        code, what, line = Code.NOT_PROVEN, f"compiled code that is not read ({error})", 0
    refused = Refused(code, code.template.format(what=_in_source(what)), line)
    return EntryProof(function.name, sizes, (_UNKNOWN, _UNKNOWN, _UNKNOWN), refused)


def _in_source(what: str) -> str:
    """Name an instruction or a symbol as the source does."""
    if (operation := _ATOMIC.fullmatch(what)) is not None:
        name = operation[1]
        return f"atomic{'CAS' if name == 'cas' else name.capitalize()}"
    if (access := _MARKED.fullmatch(what)) is not None:
        return f"{access[1]} memory"
    if (function := _CALLED.fullmatch(what)) is not None:
        return (
            "a function by its address" if function[1][0] == "%" else f"'{base_name(function[1])}'"
        )
    return what


class _EntryProver:
    def __init__(
        self,
        module: Module,
        function: Function,
        sizes: tuple[int, ...],
        kept_grid: KeptGrid | None,
        built_ins: BuiltIns,
    ) -> None:
        self.module, self.function, self.sizes, self.kept_grid = module, function, sizes, kept_grid
        self.built_ins = built_ins
        is_whole = isinstance(kept_grid, WholeGrid)
        self.atoms = Atoms(WARP if built_ins.of_warps else 1, raw_ids=is_whole)
        self.variables = {v.name: v for v in (*module.variables, *function.variables)}
        self.recorder = Recorder(function, module.functions, self.variables, self.atoms)
        self.recorder.shares_rows = kept_grid is not None and not is_whole
        is_beside_ids = isinstance(kept_grid, RowsOfEachBlock)
        self.recorder.sums = BlockSums(self.variables if is_beside_ids else {})
        self.operations = Operations(self.atoms)

    def proof(self) -> EntryProof:
        graph = self._graph()
        walk = self._walk(graph, Settled())
        if isinstance(self.kept_grid, RowsOfEachBlock):
            while self.recorder.sums.has_learnt():
                walk.run(self.recorder.begin)
            return self._verdict_beside_ids(graph, walk, self.kept_grid)
        if self.kept_grid is not None:
            return self._verdict_by_rows(graph, walk, self.kept_grid)
        return self._verdict(graph, walk)

    def proof_with_reductions(self) -> EntryProof:
        """Blocks share rows, and threads combine what they have summed up.

        Raises:
            NotUnderstood: they do something else together.
        """
        assert self.kept_grid is not None, "blocks that share rows keep their indices"
        graph = self._graph()
        together: tuple[int, ...] = ()
        if isinstance(self.kept_grid, RowsOfEachBlock):
            self.kept_grid.has_one_dimension = True
            together = where_threads_meet(graph)
        self.operations.have_lanes = False
        self.recorder.reduced, settled = Reduced(), Settled()
        reductions: tuple[Reduction, ...] = ()
        known: dict[object, Reduction | None] = {}
        for _ in range(_MOST_REDUCTIONS):
            self.kept_grid.loops.clear()
            walk = self._walk(graph, settled)
            finder = Reductions(
                graph,
                walk,
                self.function,
                self.variables,
                self.kept_grid,
                self._most_threads,
                together,
                known,
            )
            found = finder.found()
            if found == reductions:
                break
            reductions, settled = found, settled_by(found, walk, self.function)
            self.recorder.reduced = reduced_by(found)
        first = graph.flow.blocks[0].instructions[0]
        begun = {one.begin for one in reductions}
        for begin, problem in finder.failures.items():
            known_code, instruction = problem.code, problem.instruction
            if known_code is not None and begin not in begun and instruction is not None:
                raise NotUnderstood(known_code, "", instruction)
        if not reductions or found != reductions:
            failure = next(iter(finder.failures.values()), None)
            what = failure.what if failure is not None else "sums that are not found"
            instruction = (failure.instruction if failure is not None else None) or first
            raise NotUnderstood(Code.NOT_PROVEN, what, instruction)
        for block, error in self.recorder.postponed:
            if block not in self.recorder.reduced.blocks:
                raise error
        if isinstance(self.kept_grid, RowsOfEachBlock):
            self.recorder.sums.adding |= {line for one in reductions for line in one.effects}
            proof = self._verdict_beside_ids(graph, walk, self.kept_grid, reductions)
        else:
            proof = self._verdict_by_rows(graph, walk, self.kept_grid, reductions)
        widths = frozenset.intersection(*(one.widths for one in reductions))
        needed = tuple(max(one.endings[w].bytes for one in reductions) for w in sorted(widths))
        return replace(
            proof,
            widths=tuple(sorted(widths)),
            shared_bytes=needed if any(needed) else (),
            reassociates=any(one.reassociates for one in reductions),
        )

    @property
    def _most_threads(self) -> int:
        return prod(self.function.directives.get("maxntid", (1024,)))

    def _graph(self) -> Graph:
        self._forbidden()
        flow = control_flow(self.function, lambda name: name not in self.module.functions)
        if len(flow.blocks) > _MOST_BLOCKS:
            raise ValueError("too long")
        return Graph(flow)

    def _walk(self, graph: Graph, settled: Settled) -> Walk:
        symbols = frozenset({*self.variables, *self.module.functions, *self._parameters()})
        walk = Walk(
            graph,
            self.atoms,
            self.operations,
            self.function.registers,
            symbols,
            self.recorder.see,
            self.kept_grid,
            self.built_ins,
            settled=settled,
            is_reducing=self.recorder.reduced is not None,
        )
        walk.run(self.recorder.begin)
        return walk

    def _verdict_by_rows(
        self,
        graph: Graph,
        walk: Walk,
        kept_grid: KeptGrid,
        reductions: Sequence[Reduction] = (),
    ) -> EntryProof:
        """Blocks share rows in one dimension; the others stay as they are.

        Raises:
            NotUnderstood: they do not, or threads do something else together.
        """
        first = graph.flow.blocks[0].instructions[0]
        if self.recorder.uses_lanes or self.operations.uses_lanes:
            raise NotUnderstood(Code.WARP_LEVEL, "'warps'", first)
        if any(variable.space == "local" for variable in self.variables.values()):
            # The next element finds there what the one before has left.
            raise NotUnderstood(Code.NOT_PROVEN, "local memory", first)
        if kept_grid.dimension in self.recorder.raw:
            what, instruction = self.recorder.raw[kept_grid.dimension]
            raise NotUnderstood(Code.NOT_PROVEN, what, instruction)
        if isinstance(kept_grid, WholeGrid):
            return self._verdict_of_grid(graph, walk, kept_grid)
        meeting = shared_rows(graph, walk, self.recorder, kept_grid, reductions)
        named, others = self._named(), f"blockIdx while the grid is kept in {kept_grid.dimension}"
        dimensions = [
            EntryDimension(True, grid_kept=True)
            if d == kept_grid.dimension
            else EntryDimension(d in named, others if d in named else None)
            for d in _DIMENSIONS
        ]
        return replace(
            self._proven(graph, walk, dimensions, meeting, []),
            uses_shared=any(access.space == "shared" for access in self.recorder.accesses),
        )

    def _verdict_of_grid(self, graph: Graph, walk: Walk, grid: WholeGrid) -> EntryProof:
        """All threads share rows in the one dimension that is indexed.

        Raises:
            NotUnderstood: they do not.
        """
        grid_judge = GridJudge(graph, walk, self.recorder, grid)
        grid_judge.check_atomics()
        meeting = grid_judge.judged()
        shared = EntryDimension(True, free_up_to=grid_judge.limits())
        dimensions = [shared if d == grid.dimension else EntryDimension(False) for d in _DIMENSIONS]
        return self._proven(graph, walk, dimensions, meeting, [])

    def _verdict_beside_ids(
        self,
        graph: Graph,
        walk: Walk,
        kept_grid: RowsOfEachBlock,
        reductions: Sequence[Reduction] = (),
    ) -> EntryProof:
        """Ids count, and blocks fill tables or make sums for themselves.

        Raises:
            NotUnderstood: they do something else.
        """
        first, dimension = graph.flow.blocks[0].instructions[0], kept_grid.dimension
        if self.recorder.uses_lanes or self.operations.uses_lanes:
            raise NotUnderstood(Code.WARP_LEVEL, "'warps'", first)
        for what, instruction in self.recorder.raw.values():
            raise NotUnderstood(Code.NOT_PROVEN, what, instruction)
        named = self._named() if not reductions else {d for d in self._named() if self._blocks(d)}
        if named != {dimension}:
            raise NotUnderstood(Code.NOT_PROVEN, "blocks in several dimensions", first)
        sums = self.recorder.sums
        each = EachBlockJudge(
            graph, walk, self.recorder, kept_grid, sums, dimension, reductions=reductions
        )
        found = each.each_block()
        # Further threads would have further values to add.
        is_stride = dimension in self._strides(walk) or bool(reductions)
        bounds = [] if is_stride else guards(dimension, found.of_ids, graph, walk)
        meeting = self._meetings(walk, found.met_by_ids, {dimension}, {dimension: bounds})
        if meeting.keep_warps:
            # What barriers keep apart in a block they do not in two.
            raise NotUnderstood(Code.NOT_PROVEN, "a place that threads of blocks may share", first)
        meeting.pointers |= found.conditions.pointers
        meeting.spreads |= found.conditions.spreads
        by_id = EntryDimension(True, None, tuple(bounds), is_stride)
        dimensions = [by_id if d == dimension else EntryDimension(False) for d in _DIMENSIONS]
        proven = self._proven(graph, walk, dimensions, meeting, bounds)
        return replace(proven, uses_shared=True, must_hold=True)

    def _strides(self, walk: Walk) -> frozenset[str]:
        """Dimensions whose number of threads is used."""
        properties = AtomProperties()
        for predicate in walk.branches.values():
            properties = properties.joined(properties_of(predicate, self.atoms))
        for access in self.recorder.accesses:
            properties = properties.joined(access.properties).joined(
                self.atoms.joined(access.values)
            )
        return properties.strides

    def _parameters(self) -> list[str]:
        return [parameter.name for parameter in self.function.parameters]

    def _forbidden(self) -> None:
        body = self.function.instructions
        for directive, what in _FIXING.items():
            if directive in self.function.directives:
                raise NotUnderstood(Code.COOPERATIVE, what, body[0])
        shared = {n: item for item in reversed(body) for n in self._shared_in(item)}
        # All arrays whose size the launch gives begin at the same place.
        unsized = [name for name in shared if self.variables[name].size == 0]
        if shared and (not self.recorder.shares_rows or len(unsized) > 1):
            raise NotUnderstood(Code.SHARED_MEMORY, "", [*shared.values()][-1])

    def _shared_in(self, item: Instruction) -> Iterator[str]:
        found = (name for operand in item.operands for name in names(operand))
        return (name for name in found if _is_shared(self.variables.get(name)))

    def _verdict(self, graph: Graph, walk: Walk) -> EntryProof:
        strides, indexed = self._uses(graph, walk)
        found: dict[str, list[IdBound]] = {}
        for dimension in _DIMENSIONS:
            if dimension in indexed - strides and dimension not in self.recorder.raw:
                accesses = self.recorder.accesses
                found[dimension] = guards(dimension, accesses, graph, walk)
        of_warps = self.built_ins.of_warps
        if of_warps:
            found = {"x": of_threads(found.get("x", ()))}
            self._keep_others(indexed, graph)
        meeting = Meetings(True)
        if not of_warps:
            meeting = self._meetings(walk, self.recorder.accesses, indexed, found)
        uses_lanes = self.recorder.uses_lanes or self.operations.uses_lanes
        single_thread = self.built_ins.single_thread if of_warps else ()
        raw = self.recorder.raw
        dimensions = [
            EntryDimension(
                d in indexed,
                raw[d][0] if d in raw else None,
                tuple(found.get(d, ())),
                d in strides,
                line=raw[d][1].line if d in raw else 0,
            )
            for d in _DIMENSIONS
        ]
        bounds = [bound for each in found.values() for bound in each]
        return replace(
            self._proven(graph, walk, dimensions, meeting, bounds),
            needs_warps=meeting.keep_warps or uses_lanes,
            single_thread=tuple(sorted(single_thread)),
        )

    def _proven(
        self,
        graph: Graph,
        walk: Walk,
        dimensions: Sequence[EntryDimension],
        meeting: Meetings,
        bounds: Sequence[IdBound],
    ) -> EntryProof:
        """Return the proof about an entry whose dimensions are proven."""
        x, y, z = dimensions
        return EntryProof(
            self.function.name,
            self.sizes,
            (x, y, z),
            pointers=tuple(sorted(meeting.pointers)),
            spreads=_sorted(meeting),
            roles=roles(graph, walk, self.recorder.accesses, bounds),
        )

    def _keep_others(self, indexed: set[str], graph: Graph) -> None:
        """Ids of warps are right where blocks have whole warps in x: only x may change."""
        first = graph.flow.blocks[0].instructions[0]
        for dimension in indexed - {"x"}:
            is_single = dimension in self.built_ins.single_thread
            what = f"threadIdx.{dimension}" if is_single else "the warps of a block"
            self.recorder.raw.setdefault(dimension, (what, first))

    def _meetings(
        self,
        walk: Walk,
        accesses: list[MemoryAccess],
        indexed: set[str],
        bounds: Mapping[str, list[IdBound]],
    ) -> Meetings:
        """By the bounds that hold for all sizes; or else by all, if they are as they should be."""
        exact = {d: [b for b in each if b.step == 1] for d, each in bounds.items()}
        firm = {d: [b.limit for b in each if b.is_firm] for d, each in exact.items()}
        asked = {
            value
            for bound in chain(*exact.values())
            if not bound.is_firm
            for value in (bound.limit, *bound.conditions)
        }
        ranges, needed = Ranges(walk), frozenset(indexed)
        meeting = meetings(accesses, self.atoms, needed, firm, ranges)
        if not (meeting.keep_warps and asked):
            return meeting
        every = {d: [b.limit for b in each] for d, each in exact.items()}
        other = meetings(accesses, self.atoms, needed, every, ranges)
        other.ask(SizeConditions(frozenset(asked)))
        return meeting if other.keep_warps else other

    def _uses(self, graph: Graph, walk: Walk) -> tuple[set[str], set[str]]:
        """Dimensions whose number of threads is used; dimensions that are indexed."""
        end = graph.flow.blocks[0].instructions
        properties = AtomProperties()
        for block, predicate in walk.branches.items():
            of_branch = properties_of(predicate, self.atoms)
            instructions = graph.flow.blocks[block].instructions or end
            around = graph.loops_around[block]
            leaves = any(
                set(graph.flow.blocks[block].terminator.targets) - graph.loop_of_header[header]
                for header in around
            )
            how = "in the condition of a loop" if leaves else "in a condition"
            self.recorder.use(predicate, instructions[-1], how)
            properties = properties.joined(of_branch)
        for access in self.recorder.accesses:
            properties = properties.joined(access.properties).joined(
                self.atoms.joined(access.values)
            )
        indexed = {*self.recorder.raw, *self._named()}
        if self.recorder.uses_lanes or self.operations.uses_lanes:
            indexed.add("x")
        return set(properties.strides), indexed

    def _blocks(self, dimension: str) -> bool:
        """Does the code ask for the place of its block in a dimension?"""
        return f"%ctaid.{dimension}" in self.function.operands

    def _named(self) -> set[str]:
        """Dimensions whose id or block the code asks for at all."""
        named = self.function.operands
        return {d for d in _DIMENSIONS if named & {f"%tid.{d}", f"%ctaid.{d}"}}


def _is_shared(variable: Variable | None) -> bool:
    return variable is not None and variable.space == "shared"


def _sorted(meeting: Meetings) -> tuple[Spread, ...]:
    return tuple(sorted(meeting.spreads, key=str))
