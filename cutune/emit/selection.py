"""Selection routines of a tuned program. Takes models and a device, gives C++ for the prelude.

Per model three parts: the rational program (`emit.emit_model`), the candidates with their rule,
which `cutune_select.h` reads, and `cutune_select_KERNEL`, which guards both: it returns the
program's own configuration unless the device is the one that was modelled, the arguments are
integers, the sizes lie where the model may be asked and a candidate fits. `cutune_tuned.h`
remembers what it has decided.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from cutune.device.profile import DeviceProfile
from cutune.emit.emitter import Emitter, c_integer, c_name, double_text
from cutune.emit.model import emit_model, padded
from cutune.emit.tables import SMALL, Tables
from cutune.fit.fitted_model import FittedModel
from cutune.fit.measurement.measurement import MeasuredKernel
from cutune.fit.rational.formulas import tie_of
from cutune.frontend.launch_sites import SiteKey
from cutune.models.candidates import launchable
from cutune.models.constants import ASKING_US, BOUND_BAND, LAUNCH_BOUND, VARIANT_SHARE
from cutune.models.selection.choose import SelectionRule
from cutune.models.selection.registry import DEFAULT, MODELS, PerformanceModel
from cutune.models.selection.support import LARGEST_SIZE, supported
from cutune.models.selection.variants import Worthwhile, worthwhile
from cutune.rewrite.prelude import c_comment, c_string


@dataclass(frozen=True)
class Decider:
    """What decides for one kernel in place of its model.

    `decision`: of a device, and a NAME for `cutune_decide_NAME`; None on other devices.
    `positions`: which arguments of the kernel it reads.
    """

    kernel: str
    sites: tuple[SiteKey, ...]
    positions: tuple[int, ...]
    decision: Callable[[DeviceProfile, str], DecisionText | None]
    #: Types of arguments of the instances that it decides for; empty: for all.
    signatures: tuple[int, ...] = ()


@dataclass(frozen=True)
class DecisionText:
    """C++ that decides for one kernel on one device, and the variants that it may choose."""

    text: str
    variants: tuple[str, ...] = ()


@dataclass(frozen=True)
class SelectionText:
    """C++ of all routines, and which routine serves which launch site.

    `variants`: names of those that are chosen somewhere, by the name of the kernel.
    """

    text: str
    routines: tuple[tuple[SiteKey, str], ...]
    variants: Mapping[str, frozenset[str]]


def emit_selection(
    models: Sequence[FittedModel],
    devices: Sequence[DeviceProfile],
    performance: str = DEFAULT,
    measured: Sequence[Decider] = (),
) -> SelectionText:
    """Emit the routines of all models of one source file, each for several devices.

    Args:
        performance: the performance model, by its name in `MODELS`.
        measured: what decides for kernels whose model is then passed over.
    """
    judge, tables = MODELS[performance], Tables()
    parts: list[str] = []
    routines: dict[SiteKey, list[_Routine]] = {}
    taken: set[str] = set()
    variants: defaultdict[str, frozenset[str]] = defaultdict(frozenset)
    decided = {decider.kernel for decider in measured}
    modelled = (
        _modelled(judge, model, tables) for model in models if model.kernel.name not in decided
    )
    for decider in (*measured, *modelled):
        name = _unique(c_name(decider.kernel), taken)
        decided_on = []
        for number, device in enumerate(devices):
            its_name = name if len(devices) == 1 else f"{name}_on_{number}"
            decision = decider.decision(device, its_name)
            if decision is not None:
                parts.append(decision.text)
                variants[decider.kernel] = variants[decider.kernel].union(decision.variants)
                decided_on.append((device, its_name))
        if decided_on:
            read = argument_bits(decider.positions)
            parts.append(
                f"enum : unsigned long long {{ cutune_select_{name}_arguments = {read} }};\n"
            )
            parts += [_dispatcher(decided_on, name), "\n"]
            routine = _Routine(f"cutune_select_{name}", decider)
            for site in decider.sites:
                routines.setdefault(site, []).append(routine)
    several = {tuple(own): None for own in routines.values() if any(r.is_told for r in own)}
    shared = {own: f"cutune_select_instance_{k}" for k, own in enumerate(several)}
    parts += [_by_signature(own, name) for own, name in shared.items()]
    named = tuple((site, shared.get(tuple(own), own[0].name)) for site, own in routines.items())
    names = " and ".join(device.name for device in devices)
    head = [f"// Emitted by cutune for {c_comment(names)}.\n", str(tables)]
    return SelectionText("".join([*head, *parts]), named, variants)


@dataclass(frozen=True)
class _Routine:
    """A selection routine, by its name, and what it decides for."""

    name: str
    decider: Decider

    @property
    def is_told(self) -> bool:
        """Does it decide for some instances of a template only?"""
        return bool(self.decider.signatures)


def _by_signature(routines: Sequence[_Routine], name: str) -> str:
    """A routine for sites that launch several instances; of others blocks stay as they are."""
    emit = Emitter()
    read = " | ".join(f"{routine.name}_arguments" for routine in routines)
    emit(f"enum : unsigned long long {{ {name}_arguments = {read} }};")
    emit(f"static inline cutune_configuration {name}(")
    emit("    const cutune_request *asked_, cutune_shortlist *list_)")
    with emit.braces():
        for routine in routines:
            told = routine.decider.signatures
            asked = " || ".join(f"asked_->signature == {number}ull" for number in told)
            emit(f"if ({asked or 'true'}) return {routine.name}(asked_, list_);")
        emit("return cutune_only_block(asked_->block);")
    return f"{emit}\n"


def _modelled(judge: PerformanceModel, fitted: FittedModel, tables: Tables) -> Decider:
    """Model, rule and routine of one kernel; None where the device can launch no candidate."""

    def one(model: FittedModel, device: DeviceProfile, name: str, is_alone: bool) -> str:
        program, rule = judge.compose(model, device), judge.rule(model, device)
        return emit_model(program, name, tables) + _routine(model, rule, name, tables, is_alone)

    def decision(device: DeviceProfile, name: str) -> DecisionText | None:
        model = launchable(fitted, device)
        if not model.blocks:
            return None
        # The published models compare blocks of one kernel only.
        variants = worthwhile(fitted, device) if judge is MODELS[DEFAULT] else ()
        if not variants:
            return DecisionText(one(model, device, name, True))
        named = [(variant, f"{name}_{variant.model.kernel.variant}") for variant in variants]
        parts = [one(model, device, f"{name}_plain", False)]
        parts += [one(variant.model, device, its_name, False) for variant, its_name in named]
        text = "".join([*parts, _preference(model.kernel, name, named)])
        return DecisionText(text, tuple(variant.model.kernel.variant for variant in variants))

    facts = fitted.kernel
    return Decider(facts.name, facts.sites, _read_arguments(facts), decision, facts.signatures)


def _dispatcher(variants: Sequence[tuple[DeviceProfile, str]], name: str) -> str:
    """`cutune_select_NAME`: the routine of the device that the program runs on."""
    emit = Emitter()
    emit("static inline cutune_configuration cutune_select_" + name + "(")
    emit("    const cutune_request *asked_, cutune_shortlist *list_)")
    with emit.braces():
        for device, variant in variants:
            major, minor = device.compute_capability
            emit(f"if (cutune_is_current({device.sm_count}, {major}, {minor}))")
            emit(f"    return cutune_decide_{variant}(asked_, list_);")
        emit("return cutune_only_block(asked_->block);")
    return str(emit)


def argument_bits(positions: Sequence[int]) -> str:
    """The set of these arguments as C++."""
    return f"{sum(1 << position for position in positions)}ull"


def _read_arguments(facts: MeasuredKernel) -> tuple[int, ...]:
    """The arguments that a model reads: sizes, and those it was made for one value of."""
    others = [position for position, _ in facts.required_arguments]
    return (*facts.positions, *others, *(position for _, position, _ in facts.tied))


def _unique(name: str, taken: set[str]) -> str:
    candidate, number = name, 2
    while candidate in taken:
        candidate, number = f"{name}_{number}", number + 1
    taken.add(candidate)
    return candidate


def _preference(
    kernel: MeasuredKernel, name: str, variants: Sequence[tuple[Worthwhile, str]]
) -> str:
    """`cutune_decide_NAME` of a kernel with variants, which are compared by their predictions."""
    emit = Emitter()
    emit(f"static inline cutune_configuration cutune_decide_{name}(")
    emit("    const cutune_request *asked_, cutune_shortlist *list_)")
    with emit.braces():
        emit("cutune_configuration best_ = cutune_only_block(asked_->block);")
        emit("bool is_sure_ = false;")
        for one, its_name in variants:
            variant = one.model.kernel
            numbers = ASKING_US * variant.asked_pointers, one.sure_us
            texts = ", ".join(map(double_text, numbers))
            name_text = c_string(variant.variant)
            with emit.braces(f"if (const int v_ = cutune_allowed(*asked_, {name_text}))"):
                asked = "asked_"
                if variant.coarsen != (1, 1, 1):
                    emit("cutune_request shared_ = *asked_;")
                    for axis, ids in enumerate(variant.coarsen):
                        if ids > 1:
                            extent = f"shared_.extent[{axis}]"
                            emit(f"{extent} = ({extent} + {ids - 1}) / {ids};")
                    asked = "&shared_"
                emit(f"cutune_prefer(&best_, cutune_decide_{its_name}({asked}, nullptr), v_,")
                emit(f"              {texts}, &is_sure_);")
        with emit.braces("if (!is_sure_)"):
            emit("const cutune_configuration plain_ =")
            emit(f"    cutune_decide_{name}_plain(asked_, list_);")
            share = double_text(VARIANT_SHARE)
            emit("if (list_ != nullptr) return plain_;")
            emit(f"if (best_.us <= 0 || best_.us >= {share} * plain_.us) best_ = plain_;")
        words = f"{c_string(kernel.name)}, {printed_extents(kernel.grid_kept)}"
        emit(f"cutune_print_variant({words}, *asked_, best_);")
        emit("return best_;")
    return str(emit)


def _routine(
    model: FittedModel, rule: SelectionRule, name: str, tables: Tables, is_alone: bool
) -> str:
    """`cutune_decide_NAME`: a request in, a configuration out.

    `is_alone`: it decides for the launch, and says so.
    """
    facts = model.kernel
    count, positions = len(model.blocks), facts.positions
    own, alone = "cutune_only_block(asked_->block)", "true" if is_alone else "false"
    emit = Emitter()
    emit(f"static inline cutune_configuration cutune_decide_{name}(")
    emit("    const cutune_request *asked_, cutune_shortlist *list_)")
    with emit.braces():
        emit_candidates(emit, model, rule, name, tables)
        sizes = [f"asked_->arguments[{position}]" for position in positions]
        emit(f"const long long sizes_[] = {{{', '.join(sizes or ['0'])}}};")
        asks = f"cutune_may_ask<{len(positions)}>(cutune_all.kernel, *asked_, sizes_, list_)"
        emit(f"if ({' || '.join([*_unlike(model), f'!{asks}'])})")
        emit(f"    return {own};")
        _emit_ties(emit, facts, own)
        emit(f"double time_[{padded(count)}], floored_[{padded(count)}];")
        read = [f"sizes_[{index}]" for index in range(len(positions))]
        spaces = [f"asked_->extent[{axis}]" for axis in range(3)]
        doubles = [f"static_cast<double>({value})" for value in (*read, *spaces)]
        arguments = ", ".join([*doubles, "time_", "floored_"])
        emit(f"cutune_model_{name}({arguments});")
        emit(f"return cutune_answer<{count}>(cutune_all, *asked_, time_,")
        emit(f"                       floored_, list_, {alone});")
    return str(emit)


def _unlike(model: FittedModel) -> list[str]:
    """Conditions on a launch which the model was not made for."""
    facts, conditions = model.kernel, []
    if read := _read_arguments(facts):
        conditions.append(f"(~asked_->integers & {argument_bits(read)}) != 0")
    conditions += [
        f"asked_->arguments[{i}] != {c_integer(value)}" for i, value in facts.required_arguments
    ]
    conditions += [
        f"asked_->extent[{axis}] != {c_integer(threads)}" for axis, threads in _fixed_extents(model)
    ]
    conditions += _beyond(model)
    if facts.shared is None:
        conditions.append(f"asked_->smem != {facts.dynamic_shared_bytes}u")
    return conditions


def _beyond(model: FittedModel) -> list[str]:
    """Conditions on a launch for which the counts are not known; what is asked is 1 to 2^31."""
    facts, ranges, conditions = model.kernel, supported(model), []
    values = {name: f"sizes_[{index}]" for index, name in enumerate(facts.parameters)}
    for word, variable in facts.extent_words.items():
        values[variable] = f"asked_->extent[{'xyz'.index(word[-1])}]"
    for name, value in values.items():
        if ranges[name].least > 1:
            conditions.append(f"{value} < {c_integer(ranges[name].least)}")
        if ranges[name].largest < LARGEST_SIZE:
            conditions.append(f"{value} > {c_integer(ranges[name].largest)}")
    return conditions


def emit_candidates(
    emit: Emitter, model: FittedModel, rule: SelectionRule, name: str, tables: Tables
) -> None:
    """`cutune_all`: the candidates of a kernel, and the rule of the choice."""
    facts = model.kernel
    texts = [c_string(facts.name), printed_extents(facts.grid_kept)]
    bits = [_axis_bits(facts.free), _axis_bits(facts.grid_kept)]
    emit_rule(emit, rule, [*texts, *bits], tables)


def emit_rule(emit: Emitter, rule: SelectionRule, facts: Sequence[str], tables: Tables) -> None:
    """The same. `facts`: name, what extents count, free and kept dimensions as C++."""
    kernel, extents, free, kept = facts
    widths = [sorted({block[axis] for block in rule.blocks}) for axis in range(3)]
    places = [[own.index(block[axis]) for block in rule.blocks] for axis, own in enumerate(widths)]
    # As long as the arrays of the model, of which one may be the same.
    lists = [*(axis + axis[-1:] * (padded(len(axis)) - len(axis)) for axis in places)]
    lists += [list(rule.bound_ranks), list(rule.ranks)]
    c_type = "char" if max(map(max, lists)) < SMALL else "unsigned short"
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
    numbers = (
        bound_below(rule),
        BOUND_BAND,
        rule.band,
        rule.own_band.smaller,
        rule.own_band.larger,
    )
    emit(f"static const cutune_candidates<{c_type}> cutune_all = {{")
    emit(f"    {kernel}, {extents}, {{{', '.join(width_arrays)}}},")
    emit(f"    {{{', '.join(str(len(own)) for own in widths)}}}, {{{', '.join(arrays[:3])}}},")
    emit(f"    {arrays[3]}, {arrays[4]}, {free}, {kept}, {', '.join(map(double_text, numbers))}}};")


def _axis_bits(axes: Sequence[bool]) -> str:
    return f"{sum(1 << axis for axis, is_set in enumerate(axes) if is_set)}u"


def bound_below(rule: SelectionRule) -> Fraction:
    """Predicted times below this (microseconds) are dominated by the launch."""
    return Fraction(LAUNCH_BOUND * rule.floor_us)


def printed_extents(kept: Sequence[bool]) -> str:
    """What the extents of a request count, as a string of C++."""
    return c_string("blocks or threads" if any(kept) else "threads")


def _fixed_extents(model: FittedModel) -> list[tuple[int, int]]:
    """Dimensions whose thread space was the same in every recorded launch, and is built in."""
    facts = model.kernel
    return [
        (axis, facts.recorded[0][1][axis])
        for axis in range(3)
        if facts.guards[axis] is None
        and facts.covers[axis] is None
        and not facts.variable_extents[axis]
    ]


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
