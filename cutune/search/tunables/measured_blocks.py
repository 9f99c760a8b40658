"""Thread blocks by nearest neighbours. Takes launches that were swept on a GPU, gives classifiers.

The best thread block of such a kernel was measured, not predicted by a model. The choice depends on
the data parameters of a launch: the integer arguments that are sizes, and the threads per dimension
that it has to cover. A classifier is emitted as a decider for `emit/selection.py`, a routine that
keeps the program's own block unless the launch lies where it was measured and the chosen block
covers its threads.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from math import gcd
from statistics import median
from typing import Annotated

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, Warn, known_names
from cutune.core.typed import Label, MemberName, Meta, QualifiedName, Small, require
from cutune.core.workspace import Json, Workspace, read_lines
from cutune.model.emit.emitter import Emitter, c_integer
from cutune.model.emit.routine import deciding, printed_extents
from cutune.model.emit.selection import Decider, decided_apart
from cutune.model.measurement.measurement import Origin
from cutune.model.measurement.sweep import LINE_SCHEMA, SweptLaunch, swept_launch
from cutune.search.neighbours.classifier import ChoiceModel, fit_choice
from cutune.search.neighbours.emit_classifier import emit_choices
from cutune.search.neighbours.table import Configuration, Point, TimeTable
from cutune.source.program import DIMENSIONS, Kernel, Program, SiteKey
from cutune.source.rewrite.c_text import argument_bits, c_string
from cutune.toolchain.device.profile import DeviceProfile
from cutune.toolchain.device.thread_block import Block, as_block, is_block

#: Larger values could overflow in the test of a link.
LARGEST = 1 << 31
_Factor = Annotated[int, Meta(gt=-LARGEST, lt=LARGEST)]
_Measured = Annotated[int, Meta(ge=0, le=LARGEST)]


@dataclass(frozen=True)
class Link:
    """Two data parameters that depend on each other in all swept launches, as n and n threads in x.

    `divisor * values[column] == factor * values[source] + offset`; elsewhere nothing was measured.
    """

    column: Small
    source: Small
    factor: _Factor
    offset: Annotated[int, Meta(gt=-(1 << 62), lt=1 << 62)]
    divisor: _Factor

    def holds(self, values: Sequence[int]) -> bool:
        return self.divisor * values[self.column] == self.factor * values[self.source] + self.offset


@dataclass(frozen=True)
class BlockClassifier:
    """The classifier of one kernel on one device.

    `columns`: the data parameters, `T.x` for the threads to be covered in x, `G.x` for the blocks
    where their number is kept. `lowest`, `highest`: per column the range that was measured. Columns
    of `links` follow from others; the others are columns of the model.
    """

    kernel: QualifiedName
    device: Label
    columns: Annotated[tuple[MemberName, ...], Meta(min_length=1, max_length=66)]
    lowest: tuple[_Measured, ...]
    highest: tuple[_Measured, ...]
    links: tuple[Link, ...]
    model: ChoiceModel

    def choose(self, values: Point) -> Block | None:
        """Return the block at values of all columns; None where nothing was measured."""
        ranges = zip(self.lowest, values, self.highest, strict=True)
        if not all(low <= value <= high for low, value, high in ranges):
            return None
        if not all(link.holds(values) for link in self.links):
            return None
        named = dict(zip(self.columns, values, strict=True))
        return as_block(self.model.choose(tuple(named[name] for name in self.model.sizes)))

    def completed(self, named: Mapping[str, int], every: int | None) -> Point:
        """Complete the columns: those that follow from others, or never varied, may be left out.

        All arguments that are not named are `every`. Raises CT511 when a size is missing,
        CT512 for an unknown name.
        """
        kernel = self.kernel
        for name in named:
            if name not in self.columns:
                code, known = Code.UNKNOWN_SIZE, known_names(name, self.columns)
                raise CutuneError.at(code, name=name, kernel=kernel, known=known)
        usual = {} if every is None else {n: every for n in self.columns if "." not in n}
        known_values = {**usual, **named}
        followers = {link.column: link for link in self.links}
        values: list[int] = []
        for index, name in enumerate(self.columns):
            if name in known_values:
                values.append(known_values[name])
            elif index in followers:
                # If the line has no integer here, nothing was measured, which `choose` notices.
                link = followers[index]
                values.append((link.factor * values[link.source] + link.offset) // link.divisor)
            elif self.lowest[index] == self.highest[index]:
                values.append(self.lowest[index])
            else:
                code, example = Code.MISSING_SIZE, f"{name}=…"
                raise CutuneError.at(code, kernel=kernel, example=example, meaning="")
        return tuple(values)

    def check(self) -> None:
        """Raise ValueError where entries of a file do not fit together."""
        count, model = len(self.columns), self.model
        model.check()
        require(len(self.lowest) == len(self.highest) == count, "a range is one of all columns")
        are_there = all(max(link.column, link.source) < count for link in self.links)
        require(are_there, "a link is one of two columns")
        require({*model.sizes} <= {*self.columns}, "a classifier decides on columns")
        require(model.tunables == DIMENSIONS, "a classifier gives x, y and z")
        require(not model.given, "a classifier of blocks is given nothing")
        blocks = [block for one in model.choices for block in one.configurations]
        require(all(map(is_block, blocks)), "a configuration is a thread block")


def fit_blocks(
    warn: Warn, program: Program, workspace: Workspace, limit: float, may_lack: bool
) -> list[BlockClassifier]:
    """Return a classifier per kernel and device from the sweeps of this version of the program.

    Raises CT431 when there are no sweeps, unless they `may_lack`, because something else is fitted,
    or the program has host tunables, whose own diagnostic says more.
    """
    swept: dict[tuple[str, str], list[SweptLaunch]] = {}
    if workspace.measurements.exists():
        origin = asdict(Origin.of(program.source, program.deciding_files))

        def convert(entry: Json) -> tuple[str, SweptLaunch] | None:
            is_current = entry.get("origin") == origin
            return (str(entry["device"]), swept_launch(entry)) if is_current else None

        command = "cutune collect --on gpu"
        lines = read_lines(workspace.measurements, LINE_SCHEMA, convert, command, warn)
        for device, launch in filter(None, lines):
            swept.setdefault((launch.kernel, device), []).append(launch)
    classifiers = []
    for (name, device), launches in swept.items():
        kernel = program.kernel(name)
        choice = fit_kernel(kernel, device, launches, limit) if kernel is not None else None
        if choice is not None:
            classifiers.append(choice)
    if not classifiers and not may_lack and not (program.tunables or program.constants):
        path = program.source.path
        raise CutuneError.at(Code.NOT_SWEPT, path=path, device="a GPU")
    return classifiers


def measured_columns(kernel: Kernel) -> tuple[str, ...]:
    """Return the data parameters of a kernel: sizes, and threads or blocks per dimension."""
    dimensions = zip(DIMENSIONS, kernel.dimensions, strict=True)
    extents = (f"{'G' if dimension.grid_kept else 'T'}.{d}" for d, dimension in dimensions)
    return (*kernel.sizes, *extents)


def fit_kernel(
    kernel: Kernel, device: str, launches: Iterable[SweptLaunch], limit: float
) -> BlockClassifier | None:
    """Fit a classifier of thread blocks to a sweep; None where no launch has all sizes."""
    columns = measured_columns(kernel)
    samples: dict[Point, dict[Configuration, list[float]]] = {}
    for launch in launches:
        if launch.extents is not None and all(name in launch.sizes for name in kernel.sizes):
            point = (*(launch.sizes[name] for name in kernel.sizes), *launch.extents)
            for block, time in launch.microseconds.items():
                samples.setdefault(point, {}).setdefault(block, []).append(time)
    if not samples:
        return None
    links, free = _links(sorted(samples), len(columns))
    times = {
        tuple(point[column] for column in free): {c: median(t) for c, t in own.items()}
        for point, own in samples.items()
    }
    table = TimeTable(tuple(columns[column] for column in free), DIMENSIONS, times)
    lowest, highest = (tuple(map(end, zip(*samples, strict=True))) for end in (min, max))
    model = fit_choice(table, limit)
    return BlockClassifier(kernel.name, device, columns, lowest, highest, links, model)


def _links(points: Sequence[Point], count: int) -> tuple[tuple[Link, ...], tuple[int, ...]]:
    """Return the links to earlier columns, and the other columns; constant ones are in neither."""
    links: list[Link] = []
    free: list[int] = []
    for column in range(count):
        values = [point[column] for point in points]
        if min(values) == max(values):
            continue
        candidates = (_link(points, column, source) for source in free)
        link = next((one for one in candidates if one is not None), None)
        if link is not None:
            links.append(link)
        else:
            free.append(column)
    # If all columns are constant, any one represents them.
    return tuple(links), tuple(free) or (0,)


def _link(points: Sequence[Point], column: int, source: int) -> Link | None:
    low, high = (end(points, key=lambda point: point[source]) for end in (min, max))
    divisor, factor = high[source] - low[source], high[column] - low[column]
    common = gcd(divisor, factor)
    divisor, factor = divisor // common, factor // common
    offset = divisor * low[column] - factor * low[source]
    link = Link(column, source, factor, offset, divisor)
    largest = (divisor, abs(factor), *(abs(v) for p in points for v in (p[column], p[source])))
    return link if max(largest) < LARGEST and all(map(link.holds, points)) else None


def block_deciders(program: Program, choices: Sequence[BlockClassifier]) -> list[Decider]:
    """The C that chooses blocks by these classifiers, kernel by kernel."""
    by_kernel: dict[str, dict[str, BlockClassifier]] = {}
    for choice in choices:
        by_kernel.setdefault(choice.kernel, {})[choice.device] = choice
    deciders = []
    for name, by_device in by_kernel.items():
        kernel = program.kernel(name)
        if kernel is None:
            continue
        columns = measured_columns(kernel)
        if all(choice.columns == columns for choice in by_device.values()):
            launches = (site for site in program.tunable_launches if site.kernel == name)
            sites = tuple(SiteKey.of(program.source, site) for site in launches)
            places = tuple(_positions(kernel).values())
            text = decided_apart(partial(_text, kernel, by_device))
            deciders.append(Decider(kernel.name, sites, places, text))
    return deciders


def _positions(kernel: Kernel) -> dict[str, int]:
    return {size: kernel.argument_names.index(size) for size in kernel.sizes}


def _text(
    kernel: Kernel, by_device: Mapping[str, BlockClassifier], device: DeviceProfile, name: str
) -> str | None:
    choice = by_device.get(device.name)
    if choice is None:
        return None
    values = {column: f"cutune_size_{i}" for i, column in enumerate(choice.columns)}
    sizes = tuple(f"size_{choice.columns.index(column)}" for column in choice.model.sizes)
    tunables = tuple(f"{d}_of_{name}" for d in DIMENSIONS)
    emit = Emitter()
    with deciding(emit, f"cutune_decide_{name}", ""):
        emit("cutune_chosen cutune_answer = cutune_only_block(asked_->block);")
        positions = _positions(kernel)
        if positions:
            emit(f"if (~asked_->integers & {argument_bits(tuple(positions.values()))})")
            emit("    return cutune_answer;")
        for column, low, high in zip(choice.columns, choice.lowest, choice.highest, strict=True):
            value = values[column]
            if column in positions:
                place = f"arguments[{positions[column]}]"
            else:
                place = f"extent[{DIMENSIONS.index(column[-1])}]"
            emit(f"const long long {value} = asked_->{place};")
            limits = f"{value} < {c_integer(low)} || {value} > {c_integer(high)}"
            emit(f"if ({limits}) return cutune_answer;")
        for link in choice.links:
            column, source = (values[choice.columns[i]] for i in (link.column, link.source))
            divisor, factor, offset = map(c_integer, (link.divisor, link.factor, link.offset))
            line = f"{factor} * {source} + {offset}"
            emit(f"if ({divisor} * {column} != {line}) return cutune_answer;")
        arguments = ", ".join(f"cutune_{size}" for size in sizes)
        for d, tunable in zip(DIMENSIONS, tunables, strict=True):
            emit(f"const unsigned cutune_{d} =")
            emit(f"    static_cast<unsigned>(cutune_choose_{tunable}({arguments}));")
        _emit_answer(emit, kernel)
    model = replace(choice.model, sizes=sizes, tunables=tunables)
    return emit_choices([model]) + str(emit)


def _emit_answer(emit: Emitter, kernel: Kernel) -> None:
    kept = [dimension.grid_kept for dimension in kernel.dimensions]
    for axis, d in enumerate(DIMENSIONS):
        if kept[axis]:
            continue
        emit(f"if (cutune_{d} != asked_->block.{d} &&")
        if d in kernel.pure_dimensions:
            emit(f"    (asked_->guarded >> {axis} & 1u) == 0 &&")
            emit(f"    static_cast<unsigned long long>(asked_->extent[{axis}]) % cutune_{d})")
        else:
            emit("    true)")
        emit("    return cutune_answer;")
    emit("cutune_answer.block = dim3(cutune_x, cutune_y, cutune_z);")
    words = f"{c_string(kernel.name)}, {printed_extents(kept)}"
    emit(f"cutune_print({words}, *asked_, cutune_answer);")
    emit("return cutune_answer;")
