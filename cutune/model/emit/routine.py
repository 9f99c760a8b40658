"""The selection routine of one kernel. Takes a fitted model and a rule, gives C++.

It guards the rational program and the rule: it returns the program's own configuration unless the
arguments are integers, the sizes lie where the model may be asked and a candidate fits.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from fractions import Fraction

from cutune.model.emit.emitter import ROWS, SMALL, Emitter, Tables, c_integer, c_name, double_text
from cutune.model.emit.model import padded
from cutune.model.fit.fitted_model import FittedModel
from cutune.model.measurement.measurement import NO_OTHERS, MeasuredKernel
from cutune.model.performance.constants import ASKING_US, BOUND_BAND, LAUNCH_BOUND
from cutune.model.rational.formulas import tie_of
from cutune.model.selection.choose import SelectionRule
from cutune.model.selection.chooser import LARGEST_SIZE, supported
from cutune.model.selection.variants import Worthwhile
from cutune.source.host_formula import names_in, renamed
from cutune.source.rewrite.c_text import argument_bits, axis_bits, c_string


@dataclass(frozen=True)
class Shared:
    """The facts of a routine that several devices share: per device, by its number.

    Attributes:
        count: of all devices, of which some have other routines.
        rules: of the choice.
        figures: numbers of the rational program that differ.
        alone: the devices for which it decides, and says so.
    """

    count: int
    rules: Mapping[int, SelectionRule]
    figures: Mapping[int, tuple[float, ...]]
    alone: frozenset[int]


#: A size in C text by which something is divided.
_BY_SIZE = re.compile(r"[/%][\s(]*[A-Za-z_]")
_READ_TABLES = f"const cutune_all_tables &{ROWS} = cutune_read_tables();"
#: Behind a request: on one device, and on several, of which a routine is told the number.
_LIST = ("list_", "list_, int device_")


def read_arguments(facts: MeasuredKernel) -> tuple[int, ...]:
    """The arguments that a model reads: sizes, and those it was made for one value of."""
    others = [position for position, _ in facts.required_arguments]
    return (*facts.positions, *others, *(position for _, position, _ in facts.tied))


def routine(model: FittedModel, name: str, tables: Tables, shared: Shared) -> str:
    """`cutune_decide_NAME`: a request, and of several devices the number, to a configuration."""
    emit, facts = Emitter(), model.kernel
    described = [c_string(facts.name), printed_extents(facts.grid_kept)]
    described += [axis_bits(facts.free), axis_bits(facts.grid_kept)]
    with deciding(emit, f"cutune_decide_{name}", _LIST[shared.count > 1]):
        if shared.count == 1:
            emit_rule(emit, shared.rules[0], described, tables)
        else:
            _emit_rules(emit, shared, described, tables)
        width = max(map(len, shared.figures.values()))
        if width:
            emit(_READ_TABLES)
            table = _of_devices(tables, f"figures_of_{name}", shared.figures, shared.count)
            emit(f"const double *const figures_ = {table}[device_];")
        figures = ("figures_",) if width else ()
        alone = " || ".join(f"device_ == {number}" for number in sorted(shared.alone)) or "false"
        alone = "true" if len(shared.alone) == len(shared.rules) else alone
        _emit_answer(emit, model, name, figures, alone)
    return str(emit)


def deciding(emit: Emitter, name: str, others: str = "list_") -> AbstractContextManager[None]:
    """Emit the head of a routine that decides; return its braces. `others`: behind the request."""
    emit(f"static inline cutune_chosen {name}(")
    emit(f"    const cutune_request *asked_, cutune_shortlist *{others})")
    return emit.braces()


def _of_devices(
    tables: Tables, name: str, rows: Mapping[int, tuple[float, ...]], count: int
) -> str:
    """A table whose `[n]` is the row of the device with this number."""
    distinct = list(dict.fromkeys(rows.values()))
    row_of = [distinct.index(rows.get(number, distinct[0])) for number in range(count)]
    return tables.rows(name, distinct, len(distinct[0]), row_of)


def _emit_answer(
    emit: Emitter, model: FittedModel, name: str, figures: Sequence[str], alone: str
) -> None:
    facts = model.kernel
    count, positions = len(model.blocks), facts.positions
    own = "cutune_only_block(asked_->block)"
    sizes = [f"asked_->arguments[{position}]" for position in positions]
    emit(f"const long long sizes_[] = {{{', '.join(sizes or ['0'])}}};")
    asks = f"cutune_may_ask<{len(positions)}>(cutune_all.kernel, *asked_, sizes_, list_)"
    emit(f"if ({' || '.join([*_unlike(model), f'!{asks}', *_uncovered(facts)])})")
    emit(f"    return {own};")
    _emit_ties(emit, facts, own)
    emit(f"double time_[{padded(count)}], floored_[{padded(count)}];")
    read = [f"sizes_[{index}]" for index in range(len(positions))]
    spaces = [f"asked_->extent[{axis}]" for axis in range(3)]
    doubles = [f"static_cast<double>({value})" for value in (*read, *spaces)]
    arguments = ", ".join([*doubles, *figures, "time_", "floored_"])
    emit(f"cutune_model_{name}({arguments});")
    emit(f"return cutune_answer<{count}>(cutune_all, *asked_, time_,")
    emit(f"                       floored_, list_, {alone});")


def _unlike(model: FittedModel) -> list[str]:
    facts, conditions = model.kernel, []
    if read := read_arguments(facts):
        conditions.append(f"(~asked_->integers & {argument_bits(read)}) != 0")
    for position, value in facts.required_arguments:
        conditions.append(f"asked_->arguments[{position}] != {c_integer(value)}")
    told = zip(facts.guards, facts.covers, facts.variable_extents, strict=True)
    for axis, (guard, cover, varies) in enumerate(told):
        if guard is None and cover is None and not varies:
            # It was the same in every recorded launch, and is built in.
            conditions.append(f"asked_->extent[{axis}] != {c_integer(facts.recorded[0][1][axis])}")
    # The counts are known for a range of each size; what is asked is 1 to 2^31.
    sizes = {name: f"sizes_[{index}]" for index, name in enumerate(facts.parameters)}
    for word, variable in facts.extent_words.items():
        sizes[variable] = f"asked_->extent[{'xyz'.index(word[-1])}]"
    ranges = supported(model)
    for name, size in sizes.items():
        if ranges[name].least > 1:
            conditions.append(f"{size} < {c_integer(ranges[name].least)}")
        if ranges[name].largest < LARGEST_SIZE:
            conditions.append(f"{size} > {c_integer(ranges[name].largest)}")
    if NO_OTHERS in facts.working:
        conditions.append("asked_->guarded >> 3 != 0")
    if facts.shared is None:
        conditions.append(f"asked_->smem != {facts.dynamic_shared_bytes}u")
    return conditions


def _uncovered(facts: MeasuredKernel) -> Iterator[str]:
    """Yield that a grid does not cover the size that it covered in all recorded launches.

    Sizes are 1 to 2^31 here, so that one of them and numbers cannot overflow.
    """
    known = {name: c_integer(value) for name, value in facts.fixed_arguments}
    known |= {name: f"sizes_[{index}]" for index, name in enumerate(facts.parameters)}
    for axis, cover in enumerate(facts.covers if facts.asserted else ()):
        names = {*names_in(cover or "")}
        if cover and len(names) == 1 and names <= known.keys() and not _BY_SIZE.search(cover):
            yield f"asked_->extent[{axis}] != {renamed(cover, known)}"


def emit_rule(emit: Emitter, rule: SelectionRule, facts: Sequence[str], tables: Tables) -> None:
    """`cutune_all`: candidates and rule. `facts`: name, unit of extents, free and kept axes."""
    c_type = _number_type([rule])
    initializer = _initializer(rule, facts, tables, c_type)
    emit(f"static const cutune_candidates<{c_type}> cutune_all = {initializer};")


def _emit_rules(emit: Emitter, shared: Shared, facts: Sequence[str], tables: Tables) -> None:
    """Emit the rules of several devices; `cutune_all` is that of the device that runs."""
    c_type = _number_type(shared.rules.values())
    rows = {n: _initializer(rule, facts, tables, c_type) for n, rule in shared.rules.items()}
    distinct = list(dict.fromkeys(rows.values()))
    emit(f"static const cutune_candidates<{c_type}> cutune_rules[] = {{")
    for initializer in distinct:
        emit(f"    {initializer},")
    emit("};")
    row_of = [distinct.index(rows.get(n, distinct[0])) for n in range(shared.count)]
    place = f"cutune_entry({tables.numbers('cutune_rule_of', row_of)}, device_)"
    emit(f"const cutune_candidates<{c_type}> &cutune_all = cutune_rules[{place}];")


def _number_type(rules: Iterable[SelectionRule]) -> str:
    largest = max(max(*rule.bound_ranks, *rule.ranks, len(rule.blocks)) for rule in rules)
    return "char" if largest < SMALL else "unsigned short"


def _initializer(rule: SelectionRule, facts: Sequence[str], tables: Tables, c_type: str) -> str:
    kernel, extents, free, kept = facts
    widths = [sorted({block[axis] for block in rule.blocks}) for axis in range(3)]
    places = [[own.index(block[axis]) for block in rule.blocks] for axis, own in enumerate(widths)]
    # As long as the arrays of the model, of which one may be the same.
    lists = [*(axis + axis[-1:] * (padded(len(axis)) - len(axis)) for axis in places)]
    lists += [list(rule.bound_ranks), list(rule.ranks)]
    names = [f"cutune_of_block_{letter}" for letter in "xyz"]
    names += ["cutune_bound_ranks", "cutune_ranks"]
    arrays = [
        "nullptr" if array in names[:3] and not any(one) else tables.numbers(array, one, c_type)
        for array, one in zip(names, lists, strict=True)
    ]
    width_arrays = [
        tables.array(f"cutune_width_{letter}", "unsigned short", map(str, own))
        for letter, own in zip("xyz", widths, strict=True)
    ]
    bands = (rule.band, rule.own_band.smaller, rule.own_band.larger)
    # Predicted times (microseconds) below this are dominated by the launch.
    numbers = map(double_text, (Fraction(LAUNCH_BOUND * rule.floor_us), BOUND_BAND, *bands))
    counts = ", ".join(str(len(own)) for own in widths)
    return f"""{{
    {kernel}, {extents}, {{{", ".join(width_arrays)}}},
    {{{counts}}}, {{{", ".join(arrays[:3])}}},
    {arrays[3]}, {arrays[4]}, {free}, {kept}, {", ".join(numbers)}}}"""


def printed_extents(kept: Sequence[bool]) -> str:
    """The unit of the extents of a request, as a string of C++."""
    return c_string("blocks or threads" if any(kept) else "threads")


def _emit_ties(emit: Emitter, facts: MeasuredKernel, own: str) -> None:
    """The model holds where sizes follow from each other as they did when it was made.

    By one they may be off: even sizes do not tell how halves are rounded.
    """
    for name, position, text in facts.tied:
        tie = tie_of(text, facts.parameters)
        assert tie is not None, "a text that was checked when it was read"
        # Sizes are at most 2^31 here: that cannot overflow, but the argument may be any number.
        follows = f"sizes_[{facts.parameters.index(tie.source)}]"
        follows += f" * {tie.factor}" if tie.factor != 1 else ""
        follows += f" + {c_integer(tie.added)}" if tie.added else ""
        follows = f"({follows}) / {tie.divisor}" if tie.divisor != 1 else follows
        asked, tied = f"asked_->arguments[{position}]", f"tied_{c_name(name)}"
        emit(f"const long long {tied} = {follows};")
        emit(f"if ({asked} < {tied} - 1 || {asked} > {tied} + 1) return {own};")


def preference(
    kernel: MeasuredKernel,
    name: str,
    variants: Sequence[tuple[Worthwhile, str]],
    plain: str,
    sure_us: Mapping[int, tuple[float, ...]],
    share: Fraction,
    count: int,
    tables: Tables,
) -> str:
    """`cutune_decide_NAME` of a kernel with variants, which are compared by their predictions.

    It serves those of `count` devices that have the same variants. `variants`: with the names of
    their routines. `plain`: the routine of the kernel itself. `sure_us`: per device and variant.
    `share`: of the kernel's own prediction, below which that of a variant has to lie.
    """
    emit = Emitter()
    with deciding(emit, f"cutune_decide_{name}", _LIST[count > 1]):
        if count == 1:
            sure = [double_text(one.sure_us) for one, _ in variants]
        else:
            emit(_READ_TABLES)
            table = _of_devices(tables, f"sure_of_{name}", sure_us, count)
            emit(f"const double *const sure_ = {table}[device_];")
            sure = [f"sure_[{index}]" for index in range(len(variants))]
        more = ", device_" if count > 1 else ""
        emit("cutune_chosen best_ = cutune_only_block(asked_->block);")
        emit("bool is_sure_ = false;")
        for (one, its_name), its_sure in zip(variants, sure, strict=True):
            _emit_variant(emit, one.model.kernel, its_name, its_sure, more)
        with emit.braces("if (!is_sure_)"):
            emit("const cutune_chosen plain_ =")
            emit(f"    cutune_decide_{plain}(asked_, list_{more});")
            emit("if (list_ != nullptr) return plain_;")
            most = f"{double_text(share)} * plain_.us"
            emit(f"if (best_.us <= 0 || best_.us >= {most}) best_ = plain_;")
        words = f"{c_string(kernel.name)}, {printed_extents(kernel.grid_kept)}"
        emit(f"cutune_print_variant({words}, *asked_, best_);")
        emit("return best_;")
    return str(emit)


def _emit_variant(emit: Emitter, variant: MeasuredKernel, name: str, sure: str, more: str) -> None:
    """Ask a variant, if it may run. `sure`: as C++. `more`: arguments of all routines."""
    name_text, asked = c_string(variant.variant), "asked_"
    with emit.braces(f"if (const int v_ = cutune_allowed(*asked_, {name_text}))"):
        if variant.coarsen != (1, 1, 1):
            asked = "&shared_"
            emit("cutune_request shared_ = *asked_;")
        if variant.is_tile:
            asked = "&tiled_"
            emit("const cutune_request tiled_ = cutune_as_tile(*asked_, v_);")
        for axis, ids in enumerate(variant.coarsen):
            if ids > 1:
                extent = f"shared_.extent[{axis}]"
                emit(f"{extent} = ({extent} + {ids - 1}) / {ids};")
        emit(f"cutune_prefer(&best_, cutune_decide_{name}({asked}, nullptr{more}), v_,")
        asking_us = double_text(ASKING_US * variant.asked_pointers)
        emit(f"              {asking_us}, {sure}, &is_sure_);")
