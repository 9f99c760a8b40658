"""Selection routines of a tuned program. Takes models and a device, gives C++ for the prelude.

Per model three parts: the rational program (`emit.model`), the candidates with their rule,
which `cutune_select.h` reads, and `cutune_select_KERNEL`, which guards both: it returns the
program's own configuration unless the device is the one that was modelled, the arguments are
integers, the sizes lie where the model may be asked and a candidate fits. `cutune_tuned.h`
remembers what it has decided.

Several devices share the code of a rational program, which is most of a tuned program: for another
device hardly anything differs but numbers. Each constant that differs becomes a *figure*: an input
of the shared program, like a size, for which every device has a value of its own. Tables that
differ are joined to one, and a figure is the row at which the part of a device begins. Operations
and their order do not change, so each device computes the same doubles as with its own program.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from itertools import count

from cutune.model.emit.emitter import Emitter, Tables, c_name
from cutune.model.emit.model import emit_model, needed
from cutune.model.emit.routine import Shared, deciding, preference, read_arguments, routine
from cutune.model.emit.selected_programs import SelectionText
from cutune.model.fit.fitted_model import FittedModel
from cutune.model.performance.definitions import launchable
from cutune.model.rational.program import (
    CANDIDATE,
    Cell,
    Constant,
    Expression,
    Lookup,
    Operation,
    RationalProgram,
    Reference,
    TableEntry,
    parts,
)
from cutune.model.selection.chooser import DEFAULT, MODELS, PerformanceModel
from cutune.model.selection.variants import Devices, Worthwhile, share_of, worthwhile_on
from cutune.source.program import SiteKey
from cutune.source.rewrite.c_text import argument_bits, c_comment
from cutune.toolchain.device.profile import DeviceProfile
from cutune.toolchain.device.thread_block import Block

#: Prefix of the names of figures, the inputs with a value per device.
FIGURE = "figure_"


@dataclass(frozen=True)
class Family:
    """A program that several devices share. `values`: per device those of the figures."""

    program: RationalProgram
    figures: tuple[str, ...]
    values: Mapping[int, tuple[float, ...]]


def families(programs: Mapping[int, RationalProgram]) -> list[Family]:
    """Merge the programs of the devices, by their numbers, into as few as possible."""
    alike: dict[object, dict[int, RationalProgram]] = {}
    for number, program in programs.items():
        pruned = _pruned(program)
        alike.setdefault(_structure(pruned), {})[number] = pruned
    return [_Merging(own).family() for own in alike.values()]


def _pruned(program: RationalProgram) -> RationalProgram:
    names = needed(program)
    definitions = tuple(one for one in program.definitions if one.name in names)
    every = (part for one in definitions for part in parts(one.value))
    read = {part.table for part in every if isinstance(part, TableEntry)}
    return replace(
        program,
        definitions=definitions,
        properties={name: column for name, column in program.properties.items() if name in names},
        tables={name: entries for name, entries in program.tables.items() if name in read},
    )


def _structure(program: RationalProgram) -> object:
    """All of a program but its numbers: programs of one family have it in common."""
    return (
        program.sizes,
        tuple(program.properties),
        tuple((name, len(entries)) for name, entries in program.tables.items()),
        tuple((one.name, _shape(one.value)) for one in program.definitions),
        program.candidate_count,
    )


def _shape(node: Expression) -> object:
    if isinstance(node, Constant):
        # A negative constant is no figure: sizes are not negative, either.
        return None if node.value >= 0 else node
    if isinstance(node, TableEntry):
        return type(node), node.table, _shape(node.place)
    if isinstance(node, Operation):
        return node.operator, tuple(map(_shape, node.operands))
    return node


class _Merging:
    def __init__(self, programs: Mapping[int, RationalProgram]) -> None:
        self._numbers, self._programs = tuple(programs), tuple(programs.values())
        #: Values of all devices → name of the figure.
        self._figures: dict[tuple[float, ...], str] = {}
        self._tables: dict[str, tuple[float, ...]] = {}

    def family(self) -> Family:
        first, count = self._programs[0], self._programs[0].candidate_count
        properties: dict[str, tuple[int, ...]] = {}
        #: Per joined table or property: the row, or entry, at which those of a device begin.
        places: dict[str, Expression] = {}
        for name in first.properties:
            columns = [program.properties[name] for program in self._programs]
            if len(set(columns)) == 1:
                properties[name] = columns[0]
            else:
                numbers = [tuple(map(float, column)) for column in columns]
                places[name] = self._stacked(name, numbers, count)
        every = (part for one in first.definitions for part in parts(one.value))
        tables_read = (part for part in every if isinstance(part, TableEntry))
        own = Reference(CANDIDATE)
        rows = {one.table for one in tables_read if isinstance(one, Cell) or one.place == own}
        for name in first.tables:
            tables = [program.tables[name] for program in self._programs]
            if len(set(tables)) == 1:
                self._tables[name] = tables[0]
            else:
                places[name] = self._stacked(name, tables, count if name in rows else 1)
        lines = zip(*(program.definitions for program in self._programs), strict=True)
        definitions = tuple(
            replace(same[0], value=self._merged([one.value for one in same], places))
            for same in lines
        )
        figures = tuple(self._figures.values())
        program = replace(
            first,
            sizes=(*first.sizes, *figures),
            properties=properties,
            tables=self._tables,
            definitions=definitions,
        )
        values = zip(*self._figures, strict=True) if figures else ((),) * len(self._numbers)
        return Family(program, figures, dict(zip(self._numbers, values, strict=True)))

    def _stacked(self, name: str, tables: Sequence[tuple[float, ...]], width: int) -> Expression:
        """Join the tables of all devices; returns the row at which those of a device begin."""
        distinct = list(dict.fromkeys(tables))
        self._tables[name] = tuple(entry for table in distinct for entry in table)
        rows = len(tables[0]) // width
        return self._figure([Fraction(rows * distinct.index(table)) for table in tables])

    def _figure(self, values: Sequence[Fraction]) -> Expression:
        if len(set(values)) == 1:
            return Constant(values[0])
        key = tuple(map(float, values))
        return Reference(self._figures.setdefault(key, f"{FIGURE}{len(self._figures)}"))

    def _merged(self, nodes: Sequence[Expression], places: Mapping[str, Expression]) -> Expression:
        first = nodes[0]
        if isinstance(first, Constant):
            return self._figure([node.value for node in nodes if isinstance(node, Constant)])
        if isinstance(first, Reference):
            # A property that differs is a table with one row per device.
            return Cell(first.name, places[first.name]) if first.name in places else first
        if isinstance(first, TableEntry):
            of_devices = [node.place for node in nodes if isinstance(node, TableEntry)]
            place, begin = self._merged(of_devices, places), places.get(first.table)
            if begin is None:
                return replace(first, place=place)
            if isinstance(first, Lookup) and place == Reference(CANDIDATE):
                return Cell(first.table, begin)
            return replace(first, place=begin + place)
        assert isinstance(first, Operation)
        operands = (node.operands for node in nodes if isinstance(node, Operation))
        merged = (self._merged(column, places) for column in zip(*operands, strict=True))
        return replace(first, operands=tuple(merged))


#: End of the name of what decides for a kernel itself, where it has variants.
PLAIN = "_plain"


def on_device(name: str, number: int) -> str:
    """The name of what only the device with this number has, and some behind it."""
    return f"{name}_on_{number}"


@dataclass(frozen=True)
class Decided:
    """The routines that decide for one kernel.

    Attributes:
        text: C++ of all routines.
        calls: per device, by its number, the call that decides; it reads `asked_` and `list_`, and,
            where there are several, the number of the device as `device_`.
        variants: those that are chosen somewhere.
    """

    text: str
    calls: Mapping[int, str]
    variants: frozenset[str]


def decided_together(
    judge: PerformanceModel, fitted: FittedModel, tables: Tables, devices: Devices, name: str
) -> Decided:
    """Routines of a kernel and its variants for all of these devices; one alone is called NAME."""
    writer = _Writer(judge, devices, tables)
    able = {number: launchable(fitted, device) for number, device in enumerate(devices)}
    able = {number: model for number, model in able.items() if model.blocks}
    variants: dict[int, Sequence[Worthwhile]] = dict.fromkeys(able, ())
    # The published models compare blocks of one kernel only.
    if judge is MODELS[DEFAULT]:
        worth_each = worthwhile_on(fitted, [devices[number] for number in able])
        variants = dict(zip(able, worth_each, strict=True))
    alone = frozenset(number for number, worth in variants.items() if not worth)
    is_simple = len(devices) == 1 and len(alone) == len(able)
    plain = writer.routines(name if is_simple else f"{name}{PLAIN}", able, alone)
    by_variant: defaultdict[str, dict[int, FittedModel]] = defaultdict(dict)
    for number, worth in variants.items():
        for one in worth:
            by_variant[one.model.kernel.variant][number] = one.model
    of_variants = {
        variant: writer.routines(f"{name}_{variant}", models, frozenset())
        for variant, models in by_variant.items()
    }
    groups: dict[tuple[Fraction, tuple[str, ...]], list[int]] = {}
    for number, worth in variants.items():
        names = [of_variants[one.model.kernel.variant][number] for one in worth]
        share = share_of(fitted, devices[number])
        groups.setdefault((share, (plain[number], *names)), []).append(number)
    calls: dict[int, str] = {}
    count, more = len(devices), ", device_" if len(devices) > 1 else ""
    is_first = True
    for (share, (its_plain, *names)), numbers in groups.items():
        decides = its_plain
        if names:
            decides = name if is_first else on_device(name, numbers[0])
            is_first = False
            sure = {n: tuple(float(one.sure_us) for one in variants[n]) for n in numbers}
            pairs = list(zip(variants[numbers[0]], names, strict=True))
            text = preference(fitted.kernel, decides, pairs, its_plain, sure, share, count, tables)
            writer.texts.append(text)
        calls |= dict.fromkeys(numbers, f"cutune_decide_{decides}(asked_, list_{more})")
    return Decided("".join(writer.texts), dict(sorted(calls.items())), frozenset(of_variants))


@dataclass(frozen=True)
class _Writer:
    judge: PerformanceModel
    devices: Devices
    tables: Tables
    texts: list[str] = field(default_factory=list)

    def routines(
        self, name: str, models: Mapping[int, FittedModel], alone: frozenset[int]
    ) -> dict[int, str]:
        """Write those of one kernel; the name of each device's. `alone`: where it decides."""
        by_blocks: dict[tuple[Block, ...], list[int]] = {}
        for number, its_model in models.items():
            by_blocks.setdefault(its_model.blocks, []).append(number)
        names: dict[int, str] = {}
        for numbers in by_blocks.values():
            programs = {n: self.judge.compose(models[n], self.devices[n]) for n in numbers}
            for family in families(programs):
                own = min(family.values)
                its_name = on_device(name, own) if names else name
                rules = {n: self.judge.rule(models[n], self.devices[n]) for n in family.values}
                its_alone = alone & family.values.keys()
                shared = Shared(len(self.devices), rules, family.values, its_alone)
                model = emit_model(family.program, its_name, self.tables, family.figures)
                self.texts.append(model + routine(models[own], its_name, self.tables, shared))
                names |= dict.fromkeys(family.values, its_name)
        return names


Decide = Callable[[Devices, str], Decided]


@dataclass(frozen=True)
class Decider:
    """A decision for one kernel, by its model or in its place.

    Attributes:
        positions: which arguments of the kernel it reads.
        decide: gives the routines for devices, by a NAME for `cutune_decide_NAME`.
        signatures: types of arguments of the instances that it decides for; empty: for all.
        suffixes: ends of the names of routines that decide for a part.
    """

    kernel: str
    sites: tuple[SiteKey, ...]
    positions: tuple[int, ...]
    decide: Decide
    signatures: tuple[int, ...] = ()
    suffixes: tuple[str, ...] = ()


def decided_apart(text: Callable[[DeviceProfile, str], str | None]) -> Decide:
    """Return a decision with a routine for each device, or none, whose C++ `text` gives by name."""

    def decide(devices: Devices, name: str) -> Decided:
        texts, calls = [], {}
        for number, device in enumerate(devices):
            its_name = on_device(name, number) if len(devices) > 1 else name
            if (routine := text(device, its_name)) is not None:
                texts.append(routine)
                calls[number] = f"cutune_decide_{its_name}(asked_, list_)"
        return Decided("".join(texts), calls, frozenset())

    return decide


def emit_selection(
    models: Sequence[FittedModel],
    devices: Devices,
    performance: str = DEFAULT,
    measured: Sequence[Decider] = (),
) -> SelectionText:
    """Emit the routines of all models of a source. `measured` decides in place of fitted models."""
    judge, tables = MODELS[performance], Tables()
    parts: list[str] = []
    routines: defaultdict[SiteKey, list[_Routine]] = defaultdict(list)
    taken: set[str] = set()
    variants: defaultdict[str, frozenset[str]] = defaultdict(frozenset)
    taken_over = {decider.kernel for decider in measured}
    modelled = (_modelled(judge, m, tables) for m in models if m.kernel.name not in taken_over)
    for decider in (*measured, *modelled):
        name = _unique(decider, len(devices), taken)
        decided = decider.decide(devices, name)
        if decided.calls:
            variants[decider.kernel] = variants[decider.kernel].union(decided.variants)
            read = argument_bits(decider.positions)
            routine = f"cutune_select_{name}"
            enumeration = f"enum : unsigned long long {{ {routine}_arguments = {read} }};\n"
            parts += [decided.text, enumeration, _dispatcher(devices, decided.calls, name), "\n"]
            for site in decider.sites:
                routines[site].append((routine, decider.signatures))
    several = dict.fromkeys(tuple(its) for its in routines.values() if any(told for _, told in its))
    shared = {its: f"cutune_select_instance_{k}" for k, its in enumerate(several)}
    parts += [_by_signature(its, name) for its, name in shared.items()]
    named = tuple((site, shared.get(tuple(its), its[0][0])) for site, its in routines.items())
    names = " and ".join(device.name for device in devices)
    head = [f"// Emitted by cutune for {c_comment(names)}.\n", str(tables), _numbered(devices)]
    return SelectionText("".join([*head, *parts]), named, variants)


#: The name of a selection routine, and the instances of a template that it decides for; none: all.
_Routine = tuple[str, tuple[int, ...]]


def _by_signature(routines: Sequence[_Routine], name: str) -> str:
    emit = Emitter()
    read = " | ".join(f"{routine}_arguments" for routine, _ in routines)
    emit(f"enum : unsigned long long {{ {name}_arguments = {read} }};")
    with deciding(emit, name):
        for routine, signatures in routines:
            asked = " || ".join(f"asked_->signature == {number}ull" for number in signatures)
            emit(f"if ({asked or 'true'}) return {routine}(asked_, list_);")
        emit("return cutune_only_block(asked_->block);")
    return f"{emit}\n"


def _modelled(judge: PerformanceModel, fitted: FittedModel, tables: Tables) -> Decider:
    facts, decide = fitted.kernel, partial(decided_together, judge, fitted, tables)
    suffixes = (PLAIN, *(f"_{variant.kernel.variant}" for variant in fitted.variants))
    read = read_arguments(facts)
    return Decider(facts.name, facts.sites, read, decide, facts.signatures, suffixes)


def _dispatcher(devices: Devices, calls: Mapping[int, str], name: str) -> str:
    emit = Emitter()
    with deciding(emit, f"cutune_select_{name}"):
        if len(devices) == 1:
            [device] = devices
            major, minor = device.compute_capability
            emit(f"if (cutune_is_current({device.sm_count}, {major}, {minor}))")
            emit(f"    return {calls[0]};")
        else:
            emit("const int device_ = cutune_device_number();")
            with emit.braces("switch (device_)"):
                for call in dict.fromkeys(calls.values()):
                    cases = " ".join(f"case {n}:" for n, its in calls.items() if its == call)
                    emit(f"{cases} return {call};")
                emit("default: break;")
        emit("return cutune_only_block(asked_->block);")
    return str(emit)


def _numbered(devices: Devices) -> str:
    """`cutune_device_number`: which of several devices the current one is like; none: another."""
    if len(devices) == 1:
        return ""
    facts = (f"{{{d.sm_count}, {', '.join(map(str, d.compute_capability))}}}" for d in devices)
    emit = Emitter()
    with emit.braces("static inline int cutune_device_number()"):
        emit(f"static const short known_[][3] = {{{', '.join(facts)}}};")
        emit("int number_ = 0;")
        emit(f"while (number_ < {len(devices)} && !cutune_is_current(known_[number_][0],")
        emit("                 known_[number_][1], known_[number_][2])) ++number_;")
        emit("return number_;")
    return str(emit)


def _unique(decider: Decider, devices: int, taken: set[str]) -> str:
    """A name of a kernel from which all of its routines get names that no other has."""
    parts = ("", *decider.suffixes)
    ends = [*parts, *(on_device(part, number) for part in parts for number in range(devices))]
    kernel = c_name(decider.kernel)
    for number in count(1):
        name = f"{kernel}_{number}" if number > 1 else kernel
        if taken.isdisjoint(name + end for end in ends):
            break
    taken.update(name + end for end in ends)
    return name
