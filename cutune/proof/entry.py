"""The verdict about one entry of a PTX module: how may the blocks of its launches change?

Proven is per dimension: the block matters only through the global id or the number of threads;
nothing that threads do together depends on it; all effects lie under a bound of the id.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from math import prod

from cutune.core.codes import Code
from cutune.proof.block_use import MOST_INSTRUCTIONS, block_use, is_warp_level, narrows_blocks
from cutune.proof.blocks.shared_rows import RowJudge
from cutune.proof.blocks.tables_and_sums import EachBlockJudge
from cutune.proof.blocks.whole_grid import GridJudge
from cutune.proof.collectives.reductions import Reduction, Reductions, reduced_by, settled_by
from cutune.proof.collectives.run_ends import Unsettled
from cutune.proof.entry_proof import EntryDimension, EntryProof, Refused, in_source, ordered_first
from cutune.proof.flow import simplified
from cutune.proof.flow.graph import (
    Graph,
    Irreducible,
    cut_where_threads_meet,
    is_meeting,
    is_straight,
    register_pressure,
)
from cutune.proof.flow.ranges import Ranges
from cutune.proof.flow.second_tests import without_second_tests
from cutune.proof.flow.walk import Settled, Walk
from cutune.proof.memory.accesses import MemoryAccess, Recorder
from cutune.proof.memory.block_sums import BlockSums, Reduced
from cutune.proof.memory.pointers import pointer_uses
from cutune.proof.memory.roles import roles, row_products
from cutune.proof.memory.thread_meetings import meetings
from cutune.proof.values.built_ins import (
    OVER_WARPS,
    BuiltIns,
    KeptGrid,
    RowsOfEachBlock,
    RowsOfEachFlatBlock,
    RowsOfWarps,
    Segments,
    WholeGrid,
)
from cutune.proof.values.id_bounds import IdBound, common, of_threads
from cutune.proof.values.launch_conditions import LARGEST as FITTING
from cutune.proof.values.launch_conditions import Meetings, SizeConditions, Spread
from cutune.proof.values.operations import NotUnderstood, Operations
from cutune.proof.values.predicates import properties_of_all
from cutune.proof.values.terms import MOST_NARROW_BLOCKS, MOST_THREADS, WARP, Atoms
from cutune.ptx.control_flow import control_flow
from cutune.ptx.taint import names
from cutune.ptx.types import UNREADABLE, Function, Instruction, Module
from cutune.ptx.units import global_widths
from cutune.source.candidates import BlockUse
from cutune.source.program import DIMENSIONS

_MOST_BLOCKS = 3000  # beyond which an entry is not walked
_MOST_REDUCTIONS = 12  # of which each needs the one before
_FIXING = {
    "reqntid": "a block that is required",
    "explicitcluster": "a cluster",
    "reqnctapercluster": "a cluster",
    "maxclusterrank": "a cluster",
}
#: What threads of a block may do together where blocks keep their indices.
_OF_BLOCKS = (Code.BARRIER, Code.SHARED_MEMORY)
#: Reasons that are known once it is known what threads combine.
_OF_REDUCTIONS = frozenset({Code.RACE, Code.BLOCK_RESULT})
_OVER_WARPS = (None, "threadIdx.x in a condition")
_NO_LINES = frozenset[int]()
_OF_ROWS = (KeptGrid, RowsOfWarps)
_BOUNDING = frozenset({"maxntid", "reqntid", "minnctapersm", "maxnreg"})


def prove(module: Module, name: str, assembly: Container[int] = ()) -> EntryProof:
    """Judge one entry. `assembly`: lines of PTX that the program has written itself."""
    try:
        return _judged(module, name, assembly)
    except UNREADABLE as error:
        refused = _refused(Code.NOT_PROVEN, _unread(error), 0)
        unknown = replace(_unknown(module.functions[name]), refused=refused)
        return replace(unknown, warp_level=True, narrow_blocks=True)


def _judged(module: Module, name: str, assembly: Container[int]) -> EntryProof:
    function = simplified.without_idle_adds(simplified.without_cas_loops(module.functions[name]))
    variables = {v.name: v for v in (*module.variables, *function.variables)}
    proof = _by_readings(module, function)
    # What rows need a launch may not be able to ask.
    kept = any(one.raw is not None or one.grid_kept for one in proof.dimensions)
    use = block_use(module, function) if kept or proof.refused is not None else BlockUse()
    return replace(
        proof,
        refused=ordered_first(proof.refused, use),
        warp_level=is_warp_level(module, function),
        block_use=use,
        structures=frozenset(i for i, p in enumerate(function.parameters) if p.type == "b8"),
        uses=pointer_uses(function, variables, assembly),
        is_straight=is_straight(function, assembly),
        narrowest=min(global_widths(function, "ld", "st"), default=0),
        pressure=register_pressure(function),
        max_threads=_most_threads(function),
        narrow_blocks=narrows_blocks(function),
        is_bounded=not _BOUNDING.isdisjoint(function.directives),
    )


def _most_threads(function: Function) -> int:
    return prod(function.directives.get("maxntid", (1024,)))


def _by_readings(module: Module, function: Function) -> EntryProof:
    """Judge by global ids; where no dimension may change then, by the other readings in turn."""
    proof = judge(module, function)
    if proof.is_tunable:
        return _with_free_grid(module, function, _with_single_threads(module, function, proof))
    if len(function.instructions) > MOST_INSTRUCTIONS:
        return proof
    found = _by_other_readings(module, function, proof)
    return found if found.is_tunable else _in_wide_rows(module, function) or found


def _in_wide_rows(module: Module, function: Function) -> EntryProof | None:
    """Judge by ids where the launch is asked that sizes are as large as any block."""
    for reading in (BuiltIns(), *OVER_WARPS):
        asked = replace(reading, loops=set(), wide=set())
        proof = judge(module, function, asked)
        if not asked.wide:
            return None
        if proof.is_tunable and (not asked.of_warps or proof.dimensions[0].raw in _OVER_WARPS):
            return proof
    return None


def _by_other_readings(module: Module, function: Function, proof: EntryProof) -> EntryProof:
    """Judge by readings other than that of ids, which has given this proof."""
    reason, not_by_rows = None, ""
    for built_ins, reducing in _other_readings(proof, function):
        other = judge(module, function, built_ins, reducing)
        refused = other.refused
        if refused is None:
            if not built_ins.of_warps or other.dimensions[0].raw in _OVER_WARPS:
                return other
        elif refused.code in _OF_REDUCTIONS:
            reason = other
        elif isinstance(built_ins, KeptGrid) and not reducing:
            d, axis = built_ins.dimension, DIMENSIONS.index(built_ins.dimension)
            is_by_index = proof.dimensions[axis].raw == f"blockIdx.{d} in an address"
            if is_by_index and f"%ntid.{d}" in function.operands:
                not_by_rows = refused.message.removeprefix(Code.NOT_PROVEN.template.format(what=""))
    return reason or replace(proof, not_by_rows=not_by_rows)


def _other_readings(proof: EntryProof, function: Function) -> Iterator[tuple[BuiltIns, bool]]:
    """Readings for an entry that ids do not prove; may threads combine sums in them?"""
    named = function.operands
    is_of_blocks = proof.refused is not None and proof.refused.code in _OF_BLOCKS
    for d, one in zip(DIMENSIONS, proof.dimensions, strict=True):
        if one.raw is not None or (is_of_blocks and f"%tid.{d}" in named):
            yield KeptGrid(dimension=d), False
            if d == "x" and any(map(is_meeting, function.instructions)):
                yield KeptGrid(dimension=d), True
                yield RowsOfWarps(dimension=d), True
    if proof.dimensions[0].raw is not None:
        yield from ((reading, False) for reading in OVER_WARPS)
    if is_of_blocks and "%ctaid.x" in named:
        yield RowsOfEachBlock(dimension="x"), False
        yield (rows := RowsOfEachBlock(dimension="x")), True
        yield from ((Segments(dimension="x", count=k), True) for k in sorted(rows.segments))
        if "%ctaid.y" in named:
            yield RowsOfEachFlatBlock(), False


def _with_free_grid(module: Module, function: Function, proof: EntryProof) -> EntryProof:
    """With the limits of its loops, where any number of threads may share what they do.

    The launch asks no more for that than it asks for other blocks anyway, but the limits.
    """
    indexed = [i for i, one in enumerate(proof.dimensions) if one.indexed]
    if proof.refused is not None or proof.needs_warps or proof.must_hold or len(indexed) != 1:
        return proof
    (axis,) = indexed
    one = proof.dimensions[axis]
    if not one.grid_stride or one.raw is not None:
        return proof
    free = judge(module, function, WholeGrid(dimension=DIMENSIONS[axis]))
    asks_more = not ({*free.pointers} <= {*proof.pointers} and {*free.spreads} <= {*proof.spreads})
    if free.refused is not None or asks_more:
        return proof
    found = free.dimensions[axis]
    shared = replace(one, free_up_to=found.free_up_to, in_one_round=found.in_one_round)
    return replace(
        proof, dimensions=(*proof.dimensions[:axis], shared, *proof.dimensions[axis + 1 :])
    )


def _with_single_threads(module: Module, function: Function, proof: EntryProof) -> EntryProof:
    """Let warps change where blocks have one thread in the dimensions that stay."""
    kept = frozenset(d for d, one in zip(DIMENSIONS, proof.dimensions, strict=True) if one.raw)
    if not (kept and proof.needs_warps and proof.is_tunable):
        return proof
    alone = judge(module, function, BuiltIns(single_thread=kept))
    if alone.refused is not None or alone.needs_warps:
        return proof
    asked = replace(proof, pointers=alone.pointers, spreads=alone.spreads)
    return replace(asked, needs_warps=False, single_thread=tuple(sorted(kept)))


def judge(
    module: Module, function: Function, built_ins: BuiltIns | None = None, reducing: bool = False
) -> EntryProof:
    """Judge one entry, with a reading of its built-ins: by global ids, if there is no other.

    `reducing`: threads may combine sums of rows, in a reading that keeps a grid.
    """
    try:
        if reducing and isinstance(built_ins, RowsOfEachBlock):
            function = cut_where_threads_meet(function)
        reading, steady = built_ins or BuiltIns(), _NO_LINES
        try:
            return _proven(module, function, reading, reducing, steady)
        except NotUnderstood:
            if not (isinstance(reading, KeptGrid) and type(reading) in _OF_ROWS):
                raise
            if reducing and (early := simplified.with_early_loads(function)) is not None:
                with suppress(NotUnderstood):
                    return _proven(module, early, reading.anew(), reducing, steady)
            function, steady = simplified.without_repeated_loads(function)
            if not steady:
                raise
            return _proven(module, function, reading.anew(), reducing, steady)
    except NotUnderstood as error:
        code, what, line = error.code, error.what, error.instruction.line
    except Irreducible:
        code, what, line = Code.NOT_PROVEN, "a loop with several entries", 0
    except UNREADABLE as error:
        code, what, line = Code.NOT_PROVEN, _unread(error), 0
    return replace(_unknown(function), refused=_refused(code, what, line))


def _proven(
    module: Module,
    function: Function,
    built_ins: BuiltIns,
    reducing: bool,
    steady: frozenset[int],
) -> EntryProof:
    """Judge an entry; raises NotUnderstood. `steady`: lines of loads of what must not change."""
    left_by = _NO_LINES
    if type(built_ins) is KeptGrid:
        function, left_by = without_second_tests(function)
    while True:
        prover = _EntryProver(module, function, built_ins, left_by, steady)
        proof = prover.proof_with_reductions() if reducing else prover.proof()
        if not isinstance(built_ins, KeptGrid) or not built_ins.has_learnt_ends:
            return proof
        # What J is at most was not known.
        built_ins = built_ins.anew()


def _unread(error: Exception) -> str:
    return f"compiled code that is not read ({error})"


def _refused(code: Code, what: str, line: int) -> Refused:
    return Refused(code, code.template.format(what=in_source(what)), line)


def _unknown(function: Function) -> EntryProof:
    sizes = tuple(parameter.size for parameter in function.parameters)
    return EntryProof(function.name, sizes, (EntryDimension(False),) * len(DIMENSIONS))


class _EntryProver:
    def __init__(
        self,
        module: Module,
        function: Function,
        built_ins: BuiltIns,
        left_by: frozenset[int],
        steady: frozenset[int],
    ) -> None:
        self.function, self.built_ins = function, built_ins
        self.left_by, self.steady = left_by, steady
        is_whole, keeps_grid = (isinstance(built_ins, one) for one in (WholeGrid, KeptGrid))
        blocks = MOST_NARROW_BLOCKS if narrows_blocks(function) else MOST_THREADS
        self.atoms = Atoms(WARP if built_ins.of_warps else 1, is_whole, blocks)
        self.recorder = Recorder(module, function, self.atoms, allows_lanes=not keeps_grid)
        self.recorder.shares_rows = keeps_grid and not is_whole
        self.recorder.has_rows_behind = type(built_ins) is KeptGrid
        self._check_allowed()
        flow = control_flow(function, lambda name: name not in module.functions)
        if len(flow.blocks) > _MOST_BLOCKS:
            raise ValueError("too long")
        self.graph = Graph(flow)
        if isinstance(built_ins, KeptGrid):
            tests = ((i, block.terminator.instruction) for i, block in enumerate(flow.blocks))
            built_ins.by_rounds |= {
                i for i, one in tests if one is not None and one.line in left_by
            }
        if isinstance(built_ins, RowsOfEachBlock):
            self.recorder.sums = BlockSums(self.recorder.variables)
        self.operations = Operations(self.atoms)
        self.reductions: tuple[Reduction, ...] = ()
        self.rows_behind = False

    def _run_walk(self, settled: Settled) -> None:
        self.walk = Walk(
            self.graph,
            self.atoms,
            self.operations,
            self.function.registers,
            self.recorder.symbols,
            self.recorder.see,
            self.built_ins,
            settled=settled,
            is_reducing=self.recorder.reduced is not None,
        )
        self.walk.run(self.recorder.begin)

    def proof(self) -> EntryProof:
        self._run_walk(Settled())
        match self.built_ins:
            case RowsOfEachBlock() as rows:
                while self.recorder.sums.has_learnt():
                    self.walk.run(self.recorder.begin)
                return self._verdict_beside_ids(rows)
            case KeptGrid() as rows:
                return self._verdict_by_rows(rows)
        return self._verdict()

    def proof_with_reductions(self) -> EntryProof:
        rows = self.built_ins
        assert isinstance(rows, KeptGrid), "blocks that share rows keep their indices"
        self.operations.have_lanes = False
        if isinstance(rows, RowsOfEachBlock):
            rows.has_one_dimension = True
            self._find_reductions(rows, self.graph.meeting_blocks)
            self.recorder.sums.adding |= {line for one in self.reductions for line in one.effects}
            proof = self._verdict_beside_ids(rows)
        else:
            self._find_reductions(rows, ())
            proof = self._verdict_by_rows(rows)
        assert not proof.widths, "rows of first threads are not looked for beside reductions"
        widths = sorted(frozenset.intersection(*(one.widths for one in self.reductions)))
        needed = tuple(max(one.endings[w].bytes for one in self.reductions) for w in widths)
        return replace(
            proof,
            widths=tuple(widths),
            shared_bytes=needed if any(needed) else (),
            keeps_shared=self.rows_behind,
            reassociates=any(one.reassociates for one in self.reductions),
        )

    def _find_reductions(self, kept_grid: KeptGrid, together: Sequence[int]) -> None:
        """Walk until no more reductions are found; each may need what the one before leaves."""
        self.recorder.reduced, settled = Reduced(), Settled()
        known: dict[object, Reduction | None] = {}
        for _ in range(_MOST_REDUCTIONS):
            kept_grid.loops.clear()
            self._run_walk(settled)
            finder = Reductions(
                self.graph,
                self.walk,
                self.function,
                self.recorder.variables,
                kept_grid,
                _most_threads(self.function),
                together,
                known,
                self.recorder.accesses,
            )
            found = finder.found()
            if found == self.reductions:
                break
            self.reductions, settled = found, settled_by(found, self.walk, self.function)
            self.recorder.reduced = reduced_by(found)
        else:
            what = f"more than {_MOST_REDUCTIONS} reductions, each of what the one before leaves"
            raise NotUnderstood(Code.NOT_PROVEN, what, self._first)
        self._check_found(finder.failures)
        for block, error in self.recorder.postponed:
            if block not in self.recorder.reduced.blocks:
                raise error

    def _check_found(self, failures: Mapping[int, Unsettled]) -> None:
        begun = {one.begin for one in self.reductions}
        for begin, problem in failures.items():
            code, instruction = problem.code, problem.instruction
            if code is not None and begin not in begun and instruction is not None:
                raise NotUnderstood(code, problem.what, instruction)
        if not self.reductions:
            failure = next(iter(failures.values()), Unsettled("sums that are not found"))
            raise NotUnderstood(Code.NOT_PROVEN, failure.what, failure.instruction or self._first)

    def _check_allowed(self) -> None:
        body = self.function.instructions
        for directive, what in _FIXING.items():
            if directive in self.function.directives:
                raise NotUnderstood(Code.COOPERATIVE, what, body[0])
        variables = self.recorder.variables.values()
        sizes = {one.name: one.size for one in variables if one.space == "shared"}
        operands = ((text, item) for item in reversed(body) for text in item.operands)
        shared = {name: item for text, item in operands for name in names(text) if name in sizes}
        # All arrays whose size the launch gives begin at the same place.
        unsized = [name for name in shared if sizes[name] == 0]
        if shared and (not self.recorder.shares_rows or len(unsized) > 1):
            raise NotUnderstood(Code.SHARED_MEMORY, "", [*shared.values()][-1])

    @property
    def _first(self) -> Instruction:
        return self.graph.flow.blocks[0].instructions[0]

    @property
    def _uses_lanes(self) -> bool:
        return self.recorder.uses_lanes or self.operations.uses_lanes

    def _verdict_by_rows(self, kept_grid: KeptGrid) -> EntryProof:
        """Blocks share rows in one dimension; the others stay. Raises NotUnderstood if not so."""
        if self._uses_lanes:
            raise NotUnderstood(Code.WARP_LEVEL, "'warps'", self._first)
        if self._has_local_memory and not isinstance(kept_grid, WholeGrid):
            # The next element finds there what the one before has left.
            raise NotUnderstood(Code.NOT_PROVEN, "local memory", self._first)
        if kept_grid.dimension in self.recorder.raw:
            what, instruction = self.recorder.raw[kept_grid.dimension]
            raise NotUnderstood(Code.NOT_PROVEN, what, instruction)
        if isinstance(kept_grid, WholeGrid):
            return self._verdict_of_grid(kept_grid)
        judge = RowJudge(self.walk, self.recorder, kept_grid, reductions=self.reductions)
        judge.check_left_by(self.left_by)
        meeting = judge.judged()
        judge.check_steady(self.steady, meeting)
        self.rows_behind = any(not self.recorder.variables[one].size for one in judge.behind)
        others = f"blockIdx while the grid is kept in {kept_grid.dimension}"
        dimensions = dict.fromkeys(self._named(), EntryDimension(True, others))
        dimensions[kept_grid.dimension] = EntryDimension(True, grid_kept=True)
        uses_shared = any(access.space == "shared" for access in self.recorder.accesses)
        widths = judge.needed_widths()
        return replace(self._proven(dimensions, meeting), uses_shared=uses_shared, widths=widths)

    @property
    def _has_local_memory(self) -> bool:
        return any(variable.space == "local" for variable in self.recorder.variables.values())

    def _verdict_of_grid(self, grid: WholeGrid) -> EntryProof:
        """All threads share rows in the one dimension that is indexed; raises NotUnderstood."""
        grid_judge = GridJudge(self.walk, self.recorder, grid)
        grid_judge.check_atomics()
        if self._has_local_memory:
            grid_judge.check_local_memory()
        meeting, limits = grid_judge.judged(), grid_judge.limits()
        once = self._has_local_memory
        shared = EntryDimension(True, free_up_to=limits, in_one_round=once)
        return self._proven({grid.dimension: shared}, meeting)

    def _verdict_beside_ids(self, kept_grid: RowsOfEachBlock) -> EntryProof:
        """Ids count, and each block fills tables or makes sums; raises NotUnderstood if not so."""
        if self._uses_lanes:
            raise NotUnderstood(Code.WARP_LEVEL, "'warps'", self._first)
        for what, instruction in self.recorder.raw.values():
            raise NotUnderstood(Code.NOT_PROVEN, what, instruction)
        named = self._named(["ctaid"]) if self.reductions else self._named()
        if named != kept_grid.of_block.ids:
            raise NotUnderstood(Code.NOT_PROVEN, "blocks in several dimensions", self._first)
        judge = EachBlockJudge(self.walk, self.recorder, kept_grid, reductions=self.reductions)
        of_ids, conditions = judge.each_block()
        # Further threads would have further values to add.
        strides = named if self.reductions else self._strides()
        bounds = {d: [] if d in strides else self._guards(d, of_ids) for d in sorted(named)}
        # Threads do not meet through tables, and sums of blocks.
        met = [access for access in of_ids if access.space != "shared"]
        meeting = self._meetings(met, named, bounds)
        if meeting.keep_warps:
            # What barriers keep apart in a block they do not in two.
            what = "a place that threads of blocks may share"
            raise NotUnderstood(Code.NOT_PROVEN, what, self._first)
        meeting.pointers |= conditions.pointers
        meeting.spreads |= conditions.spreads
        by_id = {d: EntryDimension(True, None, tuple(b), d in strides) for d, b in bounds.items()}
        proven = self._proven(by_id, meeting, list(chain(*bounds.values())))
        widths = judge.needed_widths()
        return replace(proven, uses_shared=True, must_hold=True, widths=widths)

    def _verdict(self) -> EntryProof:
        self._note_branches()
        strides, raw, of_warps = self._strides(), self.recorder.raw, self.built_ins.of_warps
        indexed = {*raw, *self._named(), *("x" if self._uses_lanes else "")}
        found = {
            d: self._guards(d, self.recorder.accesses)
            for d in DIMENSIONS
            if d in indexed - strides and d not in raw
        }
        if of_warps:
            found = {"x": of_threads(found.get("x", ()))}
            self._keep_others(indexed)
            meeting = Meetings(True)
        else:
            meeting = self._meetings(self.recorder.accesses, indexed, found)
        dimensions = {
            d: EntryDimension(d in indexed, None, tuple(found.get(d, ())), d in strides)
            for d in DIMENSIONS
        }
        for d, (words, instruction) in raw.items():
            dimensions[d] = replace(dimensions[d], raw=words, line=instruction.line)
        wide = self.built_ins.wide or ()
        meeting.ask(SizeConditions(frozenset(size - _most_threads(self.function) for size in wide)))
        meeting.spreads |= {Spread(FITTING, size, -1) for size in wide}
        return replace(
            self._proven(dimensions, meeting, list(chain(*found.values()))),
            needs_warps=meeting.keep_warps or self._uses_lanes,
            single_thread=tuple(sorted(self.built_ins.single_thread if of_warps else ())),
            must_hold=bool(wide),
        )

    def _proven(
        self,
        dimensions: Mapping[str, EntryDimension],
        meeting: Meetings,
        bounds: Sequence[IdBound] = (),
    ) -> EntryProof:
        unknown, accesses = _unknown(self.function), self.recorder.accesses
        pairs = zip(DIMENSIONS, unknown.dimensions, strict=True)
        return replace(
            unknown,
            dimensions=tuple(dimensions.get(d, other) for d, other in pairs),
            pointers=tuple(sorted(meeting.pointers)),
            spreads=tuple(sorted(meeting.spreads, key=str)),
            roles=roles(self.graph, self.walk, accesses, bounds),
            row_products=row_products(self.atoms, accesses),
        )

    def _keep_others(self, indexed: set[str]) -> None:
        """Ids of warps are right where blocks have whole warps in x: only x may change."""
        for dimension in indexed - {"x"}:
            is_single = dimension in self.built_ins.single_thread
            what = f"threadIdx.{dimension}" if is_single else "the warps of a block"
            self.recorder.raw.setdefault(dimension, (what, self._first))

    def _meetings(
        self, accesses: list[MemoryAccess], indexed: set[str], bounds: Mapping[str, list[IdBound]]
    ) -> Meetings:
        """Use bounds that hold for all sizes; if that keeps warps, also those a launch must ask."""
        exact = {d: [b for b in each if b.step == 1] for d, each in bounds.items()}
        firm = {d: [b.limit for b in each if b.is_firm] for d, each in exact.items()}
        loose = [bound for bound in chain(*exact.values()) if not bound.is_firm]
        ranges, needed = Ranges(self.walk), frozenset(indexed)
        meeting = meetings(accesses, self.atoms, needed, firm, ranges)
        if not (meeting.keep_warps and loose):
            return meeting
        every = {d: [b.limit for b in each] for d, each in exact.items()}
        other = meetings(accesses, self.atoms, needed, every, ranges)
        asked = frozenset(v for bound in loose for v in (bound.limit, *bound.conditions))
        other.ask(SizeConditions(asked))
        return meeting if other.keep_warps else other

    def _note_branches(self) -> None:
        graph, blocks = self.graph, self.graph.flow.blocks
        for block, predicate in self.walk.branches.items():
            leaves = any(block in graph.exits(header) for header in graph.loops_around[block])
            how = "in the condition of a loop" if leaves else "in a condition"
            instructions = blocks[block].instructions or blocks[0].instructions
            self.recorder.use(predicate, instructions[-1], how)

    def _strides(self) -> set[str]:
        accesses = self.recorder.accesses
        values = (*self.walk.branches.values(), *(v for a in accesses for v in a.values))
        known = properties_of_all(values, self.atoms)
        return {*known.strides, *(d for access in accesses for d in access.properties.strides)}

    def _named(self, built_ins: Iterable[str] = ("tid", "ctaid")) -> set[str]:
        named = self.function.operands
        return {d for d in DIMENSIONS if any(f"%{one}.{d}" in named for one in built_ins)}

    def _guards(self, dimension: str, accesses: Iterable[MemoryAccess]) -> list[IdBound]:
        """The bounds that hold wherever additional threads could do something."""
        places = [
            access.known
            for access in accesses
            if access.is_effect
            or dimension in access.properties.ids
            or self._decides(dimension, self.graph.controllers(access.block))
        ]
        places += [
            self.walk.known_at_beginning(header)
            for header in self.graph.loop_of_header
            if self._decides(dimension, self.graph.exits(header))
        ]
        return common(places, dimension, self.atoms)

    def _decides(self, dimension: str, blocks: Iterable[int]) -> bool:
        known = self.walk.branches
        branches = (known[block] for block in blocks if block in known)
        return dimension in properties_of_all(branches, self.atoms).ids
