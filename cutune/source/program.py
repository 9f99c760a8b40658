"""A source as it is known: the `Program` that `analyze` gives and every later stage reads.

Kernels with what is proven about them, launch sites with their verdicts, what pragmas make
parameters. All frozen.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path
from typing import Protocol

from cutune.core.codes import Code
from cutune.core.diagnostics import Diagnostic
from cutune.core.source import Edit, Source, Span
from cutune.core.typed import SiteNumber, Text
from cutune.source.candidates import BlockRange, BlockUse
from cutune.source.host_formula import Formula
from cutune.source.kernel_variant import KernelVariant
from cutune.source.unit.integers import QUALIFIERS, IntegerType, PassedStructure, integer_type
from cutune.space.parameter import Parameter
from cutune.toolchain.device.thread_block import EXTENTS, Block
from cutune.toolchain.kernel_names import may_call


class Placed(Protocol):
    """Something that stands in a file."""

    @property
    def source(self) -> Source:
        """The file."""


@dataclass(frozen=True)
class Tunable:
    """A parameter of the program: something that may have another value than its own."""

    parameter: Parameter
    #: The expressions that the choice depends on, as written.
    data: tuple[str, ...]
    #: The file it stands in: the program's own, or a header of the user.
    source: Source
    value: Span
    pragma: Span
    #: A condition on tunables of the pragma and data: text of the annotation language, or None.
    where: str | None

    @property
    def name(self) -> str:
        return self.parameter.name


@dataclass(frozen=True)
class HostTunable(Tunable):
    """An integer of the host; its values are integers."""

    #: Tunables of one pragma are chosen together; groups are numbered from 1 in their order.
    group: int
    given: tuple[str, ...]

    @property
    def choices(self) -> tuple[int, ...]:
        """The values that it may have, in rising order."""
        return tuple(value for value in self.parameter.values if isinstance(value, int))


@dataclass(frozen=True)
class TunableConstant(Tunable):
    """A macro or a constant of the source that may have another value when it is compiled."""

    is_macro: bool
    #: May the compiler's `-D` define it, because `#ifndef` stands around its `#define`?
    is_guarded: bool

    @property
    def is_integer(self) -> bool:
        return all(isinstance(value, int) for value in self.parameter.values)

    @property
    def own_text(self) -> str:
        return self.source[self.value]


@dataclass(frozen=True)
class Region:
    """A piece of code timed for host tunables: from one pragma to the other."""

    id: int
    source: Source
    begin: Span
    end: Span
    may_repeat: bool = False
    #: The host integers that get their next values between two runs of it.
    assigned: tuple[str, ...] = ()


class DeducedFrom(Enum):
    """How an argument gives a template parameter T; the words of `cutune_deduced.h`."""

    VALUE = "cutune_by_value"
    POINTEE = "cutune_pointee"
    CONSTANT = "cutune_constant_pointee"


@dataclass(frozen=True)
class Deduced:
    """A template argument that is not written, and the argument of the launch that gives it."""

    kind: DeducedFrom
    argument: int


DIMENSIONS = ("x", "y", "z")


@dataclass(frozen=True)
class KernelParameter:
    """A kernel parameter: name and type as written, with macros expanded.

    `alias_of`: the words of the arithmetic type of a value, where the type is another name of it.
    """

    name: str
    type: str
    alias_of: tuple[str, ...] = field(default=(), kw_only=True)

    @property
    def words(self) -> tuple[str, ...]:
        return self.alias_of or tuple(w for w in self.type.split() if w not in QUALIFIERS)

    @property
    def integer(self) -> IntegerType | None:
        return None if self.is_pointer else integer_type(self.words)

    @property
    def is_pointer(self) -> bool:
        return "*" in self.type or "[" in self.type


@dataclass(frozen=True)
class MemberParameter(KernelParameter):
    """An integer member of a structure that a kernel gets by value: `grid.nx`.

    `argument`: the position of the structure; `structure`: its type as one may name it
    anywhere; `steps`: the pointers to members that lead to this one.
    """

    argument: int
    structure: str
    steps: tuple[str, ...]


class Role(Enum):
    """How an integer parameter reaches the work of a kernel, the strongest use first."""

    #: The upper bound of a global id: the size of the thread space.
    GUARD = "guard"
    #: The upper bound of a loop, or of another compared value.
    BOUND = "bound"
    #: A factor of an id or a loop variable in an address: the distance of neighbours.
    STRIDE = "stride"
    #: The lower bound of an id or a loop, or a value compared with a bound: a launch counter.
    COUNTER = "counter"
    BRANCH = "branch"
    OFFSET = "offset"


@dataclass(frozen=True)
class DataParameter:
    """An integer kernel parameter, or a member of one, that reaches a condition or an address."""

    name: str
    role: Role

    @property
    def is_size(self) -> bool:
        """Does the amount of work depend on it? Other parameters keep their recorded value."""
        # Models use these names for the threads of a launch.
        return self.role in (Role.GUARD, Role.BOUND, Role.STRIDE) and self.name not in EXTENTS


@dataclass(frozen=True)
class Impurity:
    """Why a kernel may not be re-blocked, or has no variant: the rule that failed, and where.

    `what`: the part of the message that gives the reason; "" where the rule alone is the reason.
    """

    code: Code
    message: str
    span: Span
    what: str = ""


@dataclass(frozen=True)
class DimensionProof:
    """The proof about one index dimension of a kernel.

    `indexed`: the kernel uses a built-in of this dimension. `impurity`: None when the dimension is
    pure, that is, built-ins occur only as the global id or as the grid stride. `guard`: C text of
    an expression g over the kernel's parameters such that every effect, and every access of memory
    that differs between threads, lies under `id < g`, or None. It holds for exact integers: compute
    it in 64 bits, and keep the original launch unless 0 < g < 2^31 and every parameter in it fits
    in 32 bits. `grid_stride`: the dimension is used with `gridDim.d * blockDim.d`, so that the
    number of threads must be kept; `guard` is None then. `grid_kept`: the number of blocks stays,
    and their size varies, by annotation or because each block is proven to share a row among its
    threads; `guard` is None then, too. `grid_free`: C text as of a guard, where any number of
    threads does the same: how many of them have work, if that is from 1 to 2^29; else the number
    of threads must be kept. `idle_from`: C text of the same form, where launches of at least as
    many threads do the same: the others have no work.
    """

    indexed: bool
    impurity: Impurity | None = None
    guard: str | None = None
    grid_stride: bool = False
    grid_kept: bool = False
    grid_free: str | None = None
    idle_from: str | None = None


@dataclass(frozen=True)
class DistinctPlaces:
    """Threads access distinct places if larger >= smaller * extent.

    `larger`, `smaller`: absolute values are the bytes between neighbours in two dimensions, as C
    text over the kernel's integer parameters, read as `DimensionProof.guard`. `dimension`: that of
    the smaller step; its extent is the guard bound, else T.
    """

    larger: str
    smaller: str
    dimension: int


@dataclass(frozen=True)
class KernelCopy:
    """A copy of a kernel that reads its block where the kernel has a constant.

    With blocks of this size both do the same; what is proven about the kernel holds for its copy.
    """

    #: Threads per dimension that the constants stand for; 0 where there are none.
    block: Block
    #: Its namespace, in which it has the name of the kernel.
    namespace: str
    source: Source
    edit: Edit
    #: Declares it where the kernel is declared, if it is launched from there on.
    declaration: Edit | None = field(default=None, kw_only=True)
    #: Why the kernel itself is launched with no other thread block.
    instead_of: Impurity
    #: Positions of arguments that are the width of the block, where it has one thread in y and z.
    widths: tuple[int, ...] = ()
    #: Is it launched in blocks of as many threads in one row, instead of blocks of warps in y?
    is_flat: bool = False
    #: Are its warps what the kernel's blocks, of a warp each, are?
    is_of_warps: bool = False
    #: Is it launched in place of one block alone, and has ids where that has its threads?
    is_of_one_block: bool = False
    entries: tuple[str, ...] = ()


@dataclass(frozen=True)
class CompiledCode:
    """Device code under a unique name; PTX versions for which its kernels were proven."""

    name: str
    versions: tuple[int, ...]
    emulated: str = ""  # a hash of that for the emulated device, without lines of the source


Layout = tuple[str, int, tuple[tuple[str, int, int], ...]]
"""A structure: its name and size, then path, offset and size of each member."""


@dataclass(frozen=True)
class Kernel:
    """A `__global__` function definition (declarations are joined to it)."""

    name: str
    source: Source
    span: Span
    parameters: tuple[KernelParameter, ...]
    template_parameters: tuple[str, ...]
    dimensions: tuple[DimensionProof, DimensionProof, DimensionProof]
    #: Why no dimension can be tuned (shared memory, warp-level code, not parsed …), or None.
    impurity: Impurity | None = None
    #: Integer parameters, then members, that reach a condition or an address, in their order.
    data_parameters: tuple[DataParameter, ...] = ()
    max_threads: int = 1024
    #: The candidates that an annotation allows; None without an annotation.
    allowed: BlockRange | None = None
    #: Dimensions in which an annotation asserts more than is proven.
    asserted: tuple[str, ...] = ()
    #: Bytes of dynamic shared memory as an annotation says: C text over x, y and z, or `keep`, as
    #: it is where blocks of any size are proven to use the same.
    shared: str | None = None
    keeps_shared: bool = False
    #: Bytes of dynamic shared memory that it needs by the threads of a block, where that is proven.
    needed_shared: tuple[tuple[int, int], ...] = ()
    #: May threads of a warp exchange values, so that each warp must keep its threads?
    needs_warps: bool = False
    #: Do they use warp-level functions? Then only an annotation can make it tunable.
    warp_level: bool = False
    #: How it uses its block, where that decides which blocks to propose.
    block_use: BlockUse = field(default_factory=BlockUse)
    members: tuple[MemberParameter, ...] = ()
    #: Pairs of positions of pointers, of which one is written through: each warp must keep its
    #: threads, unless the two lie in different allocations.
    may_meet: tuple[tuple[int, int], ...] = ()
    #: Those of them in structures, numbered behind the members: position of each one's, first byte.
    inner_pointers: tuple[tuple[int, int], ...] = ()
    #: Conditions without which threads may share a place, and each warp must keep its threads.
    distinct_places: tuple[DistinctPlaces, ...] = ()
    #: Do these conditions hold for any other block, whatever warps keep?
    must_hold: bool = False
    #: Is it proven for launches of fewer than 2^23 blocks?
    narrow_blocks: bool = False
    #: Does the order in which rounded numbers are added up depend on the block, and may it?
    reassociates: bool = False
    is_associative: bool = False
    #: Dimensions that stay: where a block has several threads in one, each warp must keep its own;
    #: where warps must anyway, such a launch stays.
    single_thread: tuple[str, ...] = ()
    #: PTX versions for which it is proven (80 for compute_80); empty: the compiler was not asked.
    proven_for: tuple[int, ...] = ()
    copy: KernelCopy | None = None  # launched with any other than the program's own thread block
    #: Mangled names of those instances of a template for which this is not proven, and why.
    unproven: tuple[tuple[str, Impurity], ...] = ()
    #: Mangled names of its instances.
    entries: tuple[str, ...] = ()
    #: The structures whose members are data parameters; None where one is not known.
    layouts: tuple[Layout, ...] | None = ()
    passed: tuple[PassedStructure, ...] = ()  # all that structures among its arguments hold
    #: The code of the translation unit that defines it, if it is another one.
    elsewhere: CompiledCode | None = None
    #: Copies among which a launch may choose, too; names of those that it may not have, and why.
    variants: tuple[KernelVariant, ...] = ()
    variant_reasons: tuple[tuple[str, Impurity], ...] = ()
    #: The namespaces around it, unnamed ones left out; None: a class, or it is not certain.
    scope: tuple[str, ...] | None = None
    #: Where a function is inserted by which arguments choose among kernels of its name; or None.
    selector: tuple[Source, Edit] | None = None

    @property
    def free(self) -> tuple[bool, bool, bool]:
        """Per dimension: is it indexed, and may the block be changed in it?"""
        is_pure = self.impurity is None
        x, y, z = (is_pure and d.indexed and d.impurity is None for d in self.dimensions)
        return (x, y, z)

    @property
    def tiles(self) -> tuple[KernelVariant, ...]:
        """The copies with other values of constants; a kernel that has some keeps its own block."""
        return tuple(one for one in self.variants if one.tile is not None)

    @property
    def pure_dimensions(self) -> tuple[str, ...]:
        return tuple(d for d, is_free in zip(DIMENSIONS, self.free, strict=True) if is_free)

    def keeps_warps_of(self, block: Block) -> bool:
        """Must each warp keep the threads that it has in this block of the program?"""
        has_several = (
            size > 1 and d in self.single_thread for d, size in zip(DIMENSIONS, block, strict=True)
        )
        return self.needs_warps or any(has_several)

    @property
    def reason(self) -> Impurity | None:
        """Why some of its dimensions keep their block, or None."""
        reasons = (self.impurity, *(d.impurity for d in self.dimensions))
        return next((reason for reason in reasons if reason is not None), None)

    @property
    def argument_names(self) -> tuple[str, ...]:
        """Names of what a launch shows, by position: its arguments, then their members."""
        return tuple(argument.name for argument in (*self.parameters, *self.members))

    @property
    def sizes(self) -> tuple[str, ...]:
        """The data parameters that the amount of work depends on."""
        return tuple(parameter.name for parameter in self.data_parameters if parameter.is_size)


class Verdict(Enum):
    """May the launch be tuned?"""

    TUNABLE = "tunable"
    REFUSED = "refused"


class GridForm(Enum):
    """How one component of a grid depends on the thread block, as the source spells it."""

    #: ceil((float)n / block)
    FLOAT_CEILING = "float ceil"
    #: (n + block - 1) / block and what always equals it
    CEILING = "ceil"
    #: n / block: the remainder is not covered
    TRUNCATING = "truncates"
    #: n / block + 1: possibly one block too many
    ONE_MORE = "one more"
    #: f(n, block)
    HELPER = "helper"
    OTHER = "of block"
    SINGLE = "1"
    CONSTANT = "constant"
    #: A formula in which the block does not occur.
    INDEPENDENT = "no block"
    UNKNOWN = "unknown"


Shape = tuple[Formula, Formula, Formula]
"""x, y and z of a grid or block."""


@dataclass(frozen=True)
class Configuration:
    """The configuration of a launch, with the definitions that reach it."""

    grid: Shape
    block: Shape
    #: Bytes of dynamic shared memory; None where none are asked for.
    shared: Formula | None
    forms: tuple[GridForm, GridForm, GridForm]


@dataclass(frozen=True)
class LaunchSite:
    """One `kernel<<<grid, block, shared, stream>>>(arguments)` in the text."""

    id: int
    kernel: str
    source: Source
    #: From the first byte of the callee to the `)` of the argument list, without the `;`.
    span: Span
    #: The callee as written, with namespace and explicit template arguments.
    callee: str
    configuration: tuple[str, ...]
    configuration_spans: tuple[Span, ...]
    arguments: tuple[str, ...]
    function: str | None
    verdict: Verdict
    reason: str
    code: Code | None = None
    resolved: Configuration | None = None
    by_calls: Configuration | None = None  # as calls of its function give it; there may be others
    #: Dynamic shared memory as C text over the block's x, y and z; None: independent of them.
    shared: str | None = None
    #: Mangled names of the kernels that the compiler calls here; empty: it was not asked.
    entries: tuple[str, ...] = ()
    #: From `<<<` to `>>>`, where the callee tells the kernel, as its address does; or None.
    called: Span | None = None
    is_global: bool = False  # must it be looked up at file scope, as a using-directive may hide it?
    #: Template arguments behind those that are written.
    deduced: tuple[Deduced, ...] = ()
    #: Default arguments that the launch leaves out.
    filled: tuple[str, ...] = ()
    #: From `<<<` to `>>>`, and is the kernel between named with the type that arguments choose?
    brackets: Span | None = None
    by_arguments: bool = False
    #: Is the kernel named with the type of its copy, since other functions share its name?
    by_copy: bool = False
    macro_line: int | None = None  # where the compiler sees the macro in whose argument it is
    pointer: str | None = None  # the callee as written, where it may lead to several kernels

    @property
    def compiled_line(self) -> int:
        """The line on which the compiler sees it; in the text it may stand on a later one."""
        return self.macro_line or self.source.location(self.span.start).line

    def has_all_arguments(self, kernel: Kernel) -> bool:
        """Is each argument known for certain, and none left out?"""
        # `f<a, b>(c)` may have been split as if it were two comparisons.
        texts = (re.sub(r"->|<<|<=|>=", " ", argument) for argument in self.arguments)
        are_whole = all(text.count("<") <= text.count(">") for text in texts)
        return are_whole and len(self.arguments) == len(kernel.parameters)


@dataclass(frozen=True)
class Program:
    """One source with the user's headers that it includes, and everything known about them.

    Sources that are linked together are a sequence, `programs`, with a `Program` for each. Ids of
    launch sites are unique within one; those of the source come before those of its headers.
    """

    source: Source
    kernels: tuple[Kernel, ...]
    launches: tuple[LaunchSite, ...]
    diagnostics: tuple[Diagnostic, ...] = field(default=())
    headers: tuple[Source, ...] = ()
    #: Integers of the host that may be chosen, then macros and constants.
    tunables: tuple[HostTunable, ...] = ()
    constants: tuple[TunableConstant, ...] = ()
    regions: tuple[Region, ...] = ()
    #: Kernels of the user's headers that nothing launches here.
    unlaunched: tuple[Kernel, ...] = ()
    #: The code on which its own kernels were proven; None: the compiler was not asked.
    code: CompiledCode | None = None
    is_lent: bool = False  # by sources that are linked with it and rely on that code
    has_checked_variants: bool = False  # Are they proven on their own compiled code?
    defined: Mapping[str, str] = field(default_factory=dict)  # macros, before its first line
    unmodelled: tuple[tuple[str, str], ...] = ()  # kernels, and why; `inspect` alone asks
    on_data: tuple[tuple[str, str], ...] = ()  # likewise: those that are counted as they run
    other_paths: tuple[tuple[str, str], ...] = ()  # of headers, each with the header's own

    def kernel(self, name: str) -> Kernel | None:
        """The kernel of that name, if its definition was read."""
        return next((kernel for kernel in self.kernels if kernel.name == name), None)

    @property
    def definitions(self) -> tuple[Kernel, ...]:
        """The kernels that this translation unit defines, those of headers too."""
        own = (kernel for kernel in self.kernels if kernel.elsewhere is None)
        return (*own, *self.unlaunched)

    @property
    def borrowed(self) -> tuple[Kernel, ...]:
        """Kernels of other translation units that tunable launches call."""
        names = {site.kernel for site in self.tunable_launches}
        return tuple(k for k in self.kernels if k.elsewhere is not None and k.name in names)

    @property
    def tunable_launches(self) -> tuple[LaunchSite, ...]:
        return tuple(site for site in self.launches if site.verdict is Verdict.TUNABLE)

    @property
    def launching_headers(self) -> tuple[Source, ...]:
        """Headers with a launch that may be tuned, in the order of the ids."""
        return self._headers_of(self.tunable_launches)

    @property
    def deciding_files(self) -> tuple[Source, ...]:
        """Other files that its launches depend on: those with a launch or its kernel."""
        return (*self.launching_headers, *(kernel.source for kernel in self.borrowed))

    @property
    def tunable_headers(self) -> tuple[Source, ...]:
        return self._headers_of((*self.tunables, *self.constants, *self.regions))

    @property
    def rewritten_headers(self) -> tuple[Source, ...]:
        """Headers that a pass may rewrite."""
        copies = [kernel.copy for kernel in self.kernels if kernel.copy is not None]
        variants = [variant for kernel in self.kernels for variant in kernel.variants]
        parameters: list[Placed] = [*self.tunables, *self.constants, *self.regions]
        return self._headers_of([*self.tunable_launches, *parameters, *copies, *variants])

    def _headers_of(self, places: Iterable[Placed]) -> tuple[Source, ...]:
        found = {place.source.path: place.source for place in places}
        found.pop(self.source.path, None)
        return tuple(found.values())


@dataclass(frozen=True, order=True)
class SiteKey:
    """A launch site, under a name that holds in all sources; `source`: its absolute path."""

    source: Text
    id: SiteNumber

    @staticmethod
    def of(source: Source, site: LaunchSite) -> SiteKey:
        """Return the key of a site of the source or of one of its headers."""
        return SiteKey(str(Path(source.path).resolve()), site.id)


@dataclass(frozen=True)
class SiteNumbers:
    """The numbers that one process gives the launch sites of one source: `before` + id."""

    before: int = 0

    def number(self, site: SiteKey | LaunchSite) -> int:
        """Return the number that logs and candidates give to a site of this source."""
        return self.before + site.id

    def written(self, program: Program) -> Program:
        """The program as it is instrumented: its sites have their numbers for ids."""
        sites = (replace(site, id=self.number(site)) for site in program.launches)
        return replace(program, launches=tuple(sites))


def numbers_of(programs: Iterable[Program]) -> Iterator[SiteNumbers]:
    """Numbers for the sites of sources that are linked together, one source behind the other."""
    before = 0
    for program in programs:
        yield SiteNumbers(before)
        before += len(program.launches)


def may_launch(program: Program, site: LaunchSite, entry: str) -> bool:
    """May a launch call the kernel of this name in compiled code, as the host names it?"""
    kernel = program.kernel(site.kernel)
    return may_call(entry, site.entries, kernel.entries if kernel is not None else ())
