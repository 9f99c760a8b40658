"""Measured kernels and launches: the types of measurements.jsonl, and their reading.

Two kinds of lines: `cutune-kernel-3` describes a kernel once, with its basic blocks and memory
instructions as compiled, `cutune-measurement-3` holds the counters of one launch of it.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, fields
from enum import StrEnum
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeVar

from cutune.core.source import Source
from cutune.core.typed import (
    Count,
    Formula,
    Index,
    Integer,
    MemberName,
    Meta,
    Name,
    NameOrNone,
    QualifiedName,
    Small,
    Symbol,
    Text,
    one_of,
    require,
    typed,
)
from cutune.model.rational.formulas import is_formula, tie_of, whole_value
from cutune.source.candidates import BlockRange, candidate_blocks
from cutune.source.program import SiteKey
from cutune.toolchain.device.thread_block import (
    LARGEST_SHARED,
    Block,
    Extents,
    threads_of,
    warps_of,
)
from cutune.toolchain.ptxas import StaticCounters

T = TypeVar("T")

KERNEL_SCHEMA = "cutune-kernel-4"
MEASUREMENT_SCHEMA = "cutune-measurement-3"

#: Fields of `MeasuredKernel` whose keys in files are others.
_STORED = {"name": "kernel", "fixed_arguments": "kept", "required_arguments": "held"}

Blocks = tuple[Block, ...]
Flags = tuple[bool, bool, bool]
FormulaPerAxis = tuple[Formula | None, Formula | None, Formula | None]
#: An argument that a bit of a set of arguments stands for.
Position = Annotated[int, Meta(ge=0, le=62)]

#: As many threads as are tried in place of the program's own number: none.
NO_OTHERS = "0"
#: Replayed without data, or counted while the program ran.
REPLAYED, RUN = "emulation", "run"


class Purpose(StrEnum):
    """What a launch was measured for."""

    COUNTS = "counts"
    PROBE = "probe"
    FEATURES = "features"
    TRAINING = "training"
    #: Features at a smaller size: how the work of a warp grows where the grid is kept.
    SMALLER = "smaller"
    #: At sizes that took no part: counted in full; the same once functions were fitted again with
    #: those; some blocks of much larger launches; and at the program's own small values.
    CHECK = "check"
    RECHECK = "recheck"
    FAR = "far"
    OWN_SMALL = "own_small"


@dataclass(frozen=True)
class CodeBlock:
    """A basic block of a kernel.

    Attributes:
        loop: its innermost loop; -1: none.
        instructions: issue slots.
        load_phases: dependent load steps.
        chain: issue slots that follow each other, because each needs what the one before gives.
        double, special: passes through the FP64 and the special-function units.
        constants: uniform registers filled from constant memory.
        single: additions and products of the FP32 units.
    """

    loop: Index
    instructions: Count
    load_phases: Count
    double: Count
    special: Count
    barriers: Count
    constants: Count = 0
    chain: Count = 0
    single: Count = 0


@dataclass(frozen=True)
class MemoryInstruction:
    """A static memory instruction in global or shared memory.

    Attributes:
        site: its index among the memory instructions of the kernel.
        bytes: per lane.
        block: index of its basic block.
        real: does an atomic operation work on floating-point numbers?
        phase: of a load, its load phase; loads of one phase overlap.
    """

    site: Count
    kind: Annotated[str, one_of("load", "store", "atomic")]
    bytes: Annotated[int, Meta(ge=1, le=1024)]
    block: Count
    shared: bool
    real: bool = False
    phase: Count = 0


@dataclass(frozen=True)
class LeastWork:
    """The work of the shortest ways through the code; 0 where it is not known.

    Attributes:
        instructions: issue slots of any thread.
        of_working: of one that accesses memory.
        accesses: what that one executes of the instructions that access global memory.
    """

    instructions: Count = 0
    of_working: Count = 0
    accesses: Count = 0


@dataclass(frozen=True)
class CompiledKernel:
    """A kernel as compiled: registers, basic blocks, memory instructions."""

    static: StaticCounters
    code_blocks: tuple[CodeBlock, ...] = ()
    memory: tuple[MemoryInstruction, ...] = ()
    #: Data-dependent memory instructions, each executed at most once per thread.
    uncertain: Count = 0
    least: LeastWork = LeastWork()

    def __post_init__(self) -> None:
        most = len(self.code_blocks) or 1 << 62
        require(all(m.block < most for m in self.memory), "`memory` is in blocks that there are")


@dataclass(frozen=True)
class BoundedCopy:
    """A variant with launch bounds: the same code in other registers; `entry` is mangled."""

    variant: Name
    entry: Symbol
    max_threads: Annotated[int, Meta(ge=1, le=1024)]
    static: StaticCounters


@dataclass(frozen=True)
class Origin:
    """The source file that was measured: its absolute path and a hash of its bytes.

    Headers with tunable launches, and files of kernels of other sources, are part of the hash.
    """

    path: Text
    content: Symbol

    @staticmethod
    def of(source: Source, headers: Iterable[Source] = (), folder: str = os.curdir) -> Origin:
        """`folder`: where the source was read; its path is seen from there."""
        content = sha256(source.encode())
        for header in headers:
            content.update(header.encode())
        return Origin(str(Path(folder, source.path).resolve()), content.hexdigest()[:16])


@dataclass(frozen=True)
class MeasuredKernel:
    """A kernel of the program: what does not change from launch to launch.

    Attributes:
        name: the function in the source; `entry`: its mangled name; `code`: a hash of its PTX.
        parameters: data parameters by name, at `positions` among the kernel's arguments.
        fixed_arguments: other integer arguments by name, with the values of the recorded launch.
        free: dimensions in which the block may change.
        guards: per dimension the bound of the thread index, as C text; None: there is no guard.
        variable_extents: dimensions without a guard whose extent is a variable of its own. It
            counts blocks where the number of blocks is kept (`grid_kept`), elsewhere threads.
        original: the thread block of the source.
    """

    name: QualifiedName
    entry: Symbol
    code: Symbol
    origin: Origin
    sites: tuple[SiteKey, ...]
    parameters: tuple[MemberName, ...]
    positions: tuple[Position, ...]
    fixed_arguments: tuple[tuple[MemberName, Integer], ...]
    free: Flags
    guards: FormulaPerAxis
    variable_extents: Flags
    original: Block
    max_threads: Annotated[int, Meta(ge=1, le=1024)]
    candidate_set: Annotated[str, one_of("paper", "all")]
    #: The candidates that an annotation allows.
    allowed: BlockRange | None
    #: Does an annotation allow more than is proven?
    asserted: bool
    #: Of the recorded launch.
    dynamic_shared_bytes: Annotated[int, Meta(ge=0, lt=1 << 31)]
    #: Blocks whose results differed from the original's when they were tried.
    rejected: tuple[Block, ...]
    #: Recorded launches of the program: a value per data parameter, and the extents.
    recorded: tuple[tuple[tuple[Integer, ...], Extents], ...]
    compiled: CompiledKernel
    #: Dynamic shared memory as C text over the block's x, y and z; None: the same for every block.
    shared: Formula | None = None
    #: Must each warp hold the same threads with every block?
    needs_warps: bool = False
    #: Dimensions whose number of blocks stays the same with every block.
    grid_kept: Flags = (False, False, False)
    #: Per dimension without a guard, the product of sizes that replayed launches cover, as C text.
    covers: FormulaPerAxis = (None, None, None)
    #: Positions of integer arguments, and the only values that the model holds for.
    required_arguments: tuple[tuple[Position, Integer], ...] = ()
    #: Data parameters that follow from the others: name, position, and how, as C text.
    tied: tuple[tuple[MemberName, Position, Formula], ...] = ()
    #: Was it counted while the program ran, at its sizes and on its data? So for kernels whose work
    #: depends on data, or for which no function of the sizes was found.
    on_data: bool = False
    #: Were parts of its launches counted, which stand for all?
    is_sampled: bool = False
    #: The variant that was measured; empty: the kernel itself.
    variant: NameOrNone = ""
    #: Pointers whose memory a launch of the variant asks about.
    asked_pointers: Small = 0
    #: Ids of the kernel that each thread of the variant does, per dimension. Extents count threads.
    coarsen: Block = (1, 1, 1)
    #: Sizes that have to be multiples of the ids in x for it to be launched.
    divided: tuple[MemberName, ...] = ()
    #: For a copy with another constant they have to be multiples of this.
    multiple: Annotated[int, Meta(ge=1)] = 1
    #: Is the variant a copy with another constant, which is launched in its one block?
    is_tile: bool = False
    #: Sizes are counted at multiples of so many times 32: where blocks are whole.
    unit: Annotated[int, Meta(ge=1, le=64)] = 1
    #: Variants with launch bounds, whose code is the same.
    bounded: tuple[BoundedCopy, ...] = ()
    #: The types of its arguments, where its sites launch other instances of a template, too.
    signatures: tuple[Annotated[int, Meta(ge=0)], ...] = ()
    #: The names of `required_arguments`.
    required_names: tuple[MemberName, ...] = ()
    #: Data parameters that bound loops.
    bounds: tuple[MemberName, ...] = ()
    #: The data parameter up to which a loop strides by all threads, where one is known.
    strided_to: MemberName | None = None
    #: Per dimension where any number of threads does the same, how many have work, as C text;
    #: `NO_OTHERS` where counts are known for the program's own number alone.
    working: FormulaPerAxis = (None, None, None)
    #: What of the program it follows from (`decisive`), so that other changes leave it true.
    decisive: Symbol = field(default="", compare=False)

    @staticmethod
    def of_launch(
        name: str,
        entry: str,
        threads: Block,
        block: Block,
        compiled: CompiledKernel,
        *,
        asserted: bool = True,
        max_threads: int = 1024,
        dynamic_shared_bytes: int = 0,
    ) -> MeasuredKernel:
        """One without sizes, of which nothing is known but its code and a launch."""
        x, y, z = (size > 1 for size in threads)
        return MeasuredKernel(
            name=name,
            entry=entry,
            code="",
            origin=Origin("", ""),
            sites=(),
            parameters=(),
            positions=(),
            fixed_arguments=(),
            free=(x or not (y or z), y, z),
            guards=(None, None, None),
            variable_extents=(False, False, False),
            original=block,
            max_threads=max_threads,
            candidate_set="paper",
            allowed=None,
            asserted=asserted,
            dynamic_shared_bytes=dynamic_shared_bytes,
            rejected=(),
            recorded=(((), threads),),
            compiled=compiled,
        )

    def candidates(self, which: str | None = None, max_threads: int | None = None) -> Blocks:
        """The candidate blocks, of the kernel's own candidate set or of `which`."""
        asked = which or self.candidate_set, max_threads or self.max_threads
        about = *asked, self.allowed, self.needs_warps
        shapes = candidate_blocks(self.free, self.original, *about)
        if self.shared is None:
            return shapes
        # A program that has asked for more has raised the limit.
        static = self.compiled.static.static_shared_bytes
        most = max(LARGEST_SHARED - static, self.dynamic_shared_bytes)
        return tuple(s for s in shapes if s == self.original or 0 <= self.shared_bytes(s) <= most)

    def remaining(self, which: str | None = None, max_threads: int | None = None) -> Blocks:
        shapes = self.candidates(which, max_threads)
        return tuple(block for block in shapes if block not in self.rejected)

    def shared_bytes(self, block: Block) -> int:
        if self.shared is None or block == self.original:
            return self.dynamic_shared_bytes
        return _bytes_of(self.shared, block)

    @property
    def code_blocks(self) -> tuple[CodeBlock, ...]:
        return self.compiled.code_blocks

    @property
    def memory(self) -> tuple[MemoryInstruction, ...]:
        return self.compiled.memory

    @property
    def keeps_grid(self) -> bool:
        """Do the threads of a block share work that does not grow with the block?"""
        return any(self.grid_kept)

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables of the counts: data parameters, then unguarded extents."""
        extents = zip("xyz", self.variable_extents, strict=True)
        return (*self.parameters, *(f"extent_{d}" for d, variable in extents if variable))

    @property
    def extent_words(self) -> dict[str, str]:
        """The names that users have for unguarded extents: `T.x` for threads, `G.x` for blocks."""
        axes = zip("xyz", self.variable_extents, self.grid_kept, strict=True)
        varying = ((d, "G" if is_kept else "T") for d, varies, is_kept in axes if varies)
        return {f"{letter}.{d}": f"extent_{d}" for d, letter in varying}

    def words_at(self, sizes: Sequence[int], extents: Extents) -> dict[str, int]:
        """The sizes of a launch, `sizes` by parameter, by the names that users have for them."""
        told = {w: extents["xyz".index(w[-1])] for w in self.extent_words}
        return {**dict(zip(self.parameters, sizes, strict=True)), **told}

    def as_asked(self, sizes: Iterable[tuple[str, T]]) -> dict[str, T]:
        """Values of its variables, by the names that users have for these."""
        words = {variable: word for word, variable in self.extent_words.items()}
        return {words.get(name, name): value for name, value in sizes}

    @property
    def launched(self) -> tuple[str, tuple[SiteKey, ...], tuple[int, ...]]:
        """Its source, launch sites and template instance: its variants have the same."""
        return self.origin.path, self.sites, self.signatures

    @property
    def setting(self) -> str:
        """A hash of what launches are counted with besides sizes; empty where there is nothing.

        The same code does other work where an integer that is no size has another value.
        """
        parts = (self.fixed_arguments, self.tied, self.covers, self.strided_to)
        if not (self.fixed_arguments or self.tied or any(self.covers) or self.strided_to):
            return ""
        return sha256(repr(parts).encode()).hexdigest()[:16]

    @property
    def place(self) -> tuple[str, str, str]:
        """Identifies it in a workspace: source, name, compiled entry."""
        return self.origin.path, self.name, self.entry

    def to_json(self) -> dict[str, Any]:
        """As a line of measurements.jsonl: `origin` has the source of its sites."""
        values = {_STORED.get(name, name): value for name, value in asdict(self).items()}
        values |= {"sites": [site.id for site in self.sites], **values.pop("compiled")}
        return {"schema": KERNEL_SCHEMA, **values}

    @staticmethod
    def from_json(entry: dict[str, Any]) -> MeasuredKernel:
        stored = ((f.name, _STORED.get(f.name, f.name)) for f in fields(MeasuredKernel))
        # Older files say nothing of `shared`.
        values = {name: entry[key] for name, key in stored if key in entry}
        path = typed(Origin, entry["origin"]).path
        sites = typed(list[int], entry["sites"])
        values["sites"] = [{"source": path, "id": id} for id in sites]
        # Older files say nothing of `least`.
        names = [f.name for f in fields(CompiledKernel) if f.name in entry or f.name != "least"]
        values["compiled"] = {name: entry[name] for name in names}
        return checked_kernel(typed(MeasuredKernel, values))


class SiteCounters(NamedTuple):
    """Counters of one memory instruction in one launch; see `struct Site` of the machine.

    Attributes:
        executions, lanes: by warps, and active lanes of these.
        traced: executions whose addresses were traced. Costs and sectors are sums over these.
        load_cost_x20, store_cost_x20: in 1/20 of a wavefront or sector.
        missing: steps in which a warp of the block accessed a new sector.
        array: index of the pointer parameter that was accessed; -1: none.
        low, high: byte offsets from there of the lowest and one past the highest address.
    """

    executions: Count
    lanes: Count
    busiest: Count
    traced: Count
    load_cost_x20: Count
    store_cost_x20: Count
    rewritten_sectors: Count
    new_sectors: Count
    missing: Count
    array: Index
    low: Integer
    high: Integer
    sectors: Count
    lines: Count


@dataclass(frozen=True)
class Measurement:
    """Counters of one launch.

    Attributes:
        entry, code, setting: of the kernel, see `MeasuredKernel`.
        sizes: a value for each variable of the kernel.
        working_threads: threads of the executed blocks that access memory.
        lanes, executions: per basic block the active lanes and the warps that executed it.
        sites: per memory instruction.
    """

    entry: Symbol
    code: Symbol
    purpose: Annotated[str, one_of(*Purpose)]
    source: Annotated[str, one_of("emulation", "run")]
    sizes: tuple[tuple[MemberName, Integer], ...]
    grid: Extents
    block: Block
    executed_blocks: Count
    working_threads: Count
    lanes: tuple[Count, ...]
    executions: tuple[Count, ...]
    sites: tuple[SiteCounters, ...]
    setting: Symbol = ""

    @property
    def warps(self) -> int:
        return max(1, self.executed_blocks * warps_of(self.block))

    @property
    def working_warps(self) -> float:
        """Warps that access memory, if either all threads of a warp do or none does."""
        threads_per_warp = threads_of(self.block) / warps_of(self.block)
        return max(1.0, self.working_threads / threads_per_warp)

    @property
    def key(self) -> tuple[object, ...]:
        """Equal keys mean equal counters: the emulated device is deterministic."""
        return (self.entry, self.code, self.setting, self.purpose, self.sizes, self.block)

    def belongs_to(self, kernel: MeasuredKernel) -> bool:
        """Does it belong to this kernel, in this version of its code and of its description?"""
        source = RUN if kernel.on_data else REPLAYED
        own = (kernel.entry, kernel.code, kernel.setting, kernel.variables, source)
        variables = tuple(name for name, _ in self.sizes)
        return (self.entry, self.code, self.setting, variables, self.source) == own

    def to_json(self) -> dict[str, Any]:
        """As a line of measurements.jsonl: sites as plain lists, in the order of their fields."""
        line: dict[str, Any] = {"schema": MEASUREMENT_SCHEMA}
        line.update({f.name: getattr(self, f.name) for f in fields(self) if f.name != "sites"})
        line["sites"] = self.sites
        return line

    @staticmethod
    def from_json(entry: dict[str, Any]) -> Measurement:
        return typed(Measurement, entry)


#: Launches of one kernel, for example.
Measurements = Sequence[Measurement]


def by_entry(
    kernels: Iterable[MeasuredKernel], measurements: Iterable[Measurement]
) -> list[tuple[MeasuredKernel, list[Measurement]]]:
    """Join kernels and their measurements; those of another version of the code are left out.

    The last description of a kernel replaces earlier ones; launches that do not fit it are left
    out. A launch that was measured twice, by two simultaneous runs, counts once.
    """
    latest = {kernel.place: kernel for kernel in kernels}
    groups: defaultdict[tuple[str, str], list[Measurement]] = defaultdict(list)
    for measurement in {(m.source, m.key): m for m in measurements}.values():
        groups[measurement.entry, measurement.code].append(measurement)
    return [(k, [m for m in groups[k.entry, k.code] if m.belongs_to(k)]) for k in latest.values()]


@cache
def _bytes_of(formula: str, block: Block) -> int:
    return whole_value(formula, dict(zip("xyz", block, strict=True))) or 0


def checked_kernel(kernel: MeasuredKernel) -> MeasuredKernel:
    """The kernel, whose entries fit together; a ValueError where they do not."""
    count, tied = len(kernel.parameters), [name for name, _, _ in kernel.tied]
    require(len(kernel.positions) == count, "`positions` are as many as `parameters`")
    are_unique = len({*kernel.parameters, *tied}) == count + len(tied)
    require(are_unique, "each size has a name of its own")
    required = (place for place, _ in kernel.required_arguments)
    read = [*kernel.positions, *(place for _, place, _ in kernel.tied), *required]
    require(len({*read}) == len(read), "each argument is read once")
    for _, _, text in kernel.tied:
        require(tie_of(text, kernel.parameters), f"`tied`: {text!r} is no part of one size")
    known = {*kernel.parameters, *dict(kernel.fixed_arguments), *tied}
    require(all(one < 1 << 64 for one in kernel.signatures), "`signatures` have 64 bits")
    require(all(len(sizes) == count for sizes, _ in kernel.recorded), "`recorded` fits them, too")
    # Guards that cannot be read are those of the recorded launches.
    formulas = [text for text in (*kernel.guards, *kernel.covers) if text and is_formula(text)]
    for text in (*formulas, *filter(None, kernel.working)):
        require(is_formula(text, known), f"{text!r} is no formula of the parameters")
    if kernel.shared is not None:
        require(is_formula(kernel.shared, {*"xyz"}), f"`shared`: {kernel.shared!r} is no formula")
    are_told = len(formulas) + sum(kernel.variable_extents) >= 3
    require(kernel.recorded or are_told, "`recorded` holds a launch")
    if kernel.strided_to is not None:
        is_known = kernel.strided_to in kernel.parameters and any(kernel.variable_extents)
        require(is_known, f"`strided_to`: {kernel.strided_to!r} is no parameter of a strided loop")
    if kernel.allowed is not None:
        kernel.allowed.check()
    return kernel
