"""Selection routines of a tuned program. Takes models and a device, gives C++ for the prelude.

Per model three parts: the rational program (`emit.emit_model`), the rule (`emit.emit_choice`) and
`cutune_select_KERNEL`, which guards both: it returns the program's own configuration unless the
device is the one that was modelled, the arguments are integers, the sizes lie where the model may
be asked and a candidate fits. `cutune_tuned.h` remembers what it has decided.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cutune.device.profile import DeviceProfile
from cutune.device.thread_block import GRID_LIMITS
from cutune.emit.emitter import Emitter, Tables, block_array, bound_text, c_name, emit_choice
from cutune.emit.model import emit_model, padded
from cutune.fit.fitted_model import FittedModel
from cutune.fit.measurement.measurement import MeasuredKernel
from cutune.frontend.c_names import names_in, renamed
from cutune.frontend.launch_sites import SiteKey
from cutune.models.candidates import launchable
from cutune.models.selection.choose import LARGEST_SIZE, SelectionRule
from cutune.models.selection.registry import DEFAULT, MODELS, PerformanceModel
from cutune.rewrite.prelude import c_string

#: Words of a key before the sizes: guards, block, three extents.
KEY_HEAD = 5

SUPPORT = """\
#include <stdio.h>

// CUTUNE=verbose: one line per new decision.
static inline void cutune_print_decision(const char *kernel, const char *extents,
                                         const cutune_request &asked, dim3 chosen)
{
    if (!cutune_is_verbose()) return;
    fprintf(stderr, "cutune: %s, %lld x %lld x %lld %s: block %ux%ux%u -> %ux%ux%u\\n", kernel,
            asked.extent[0], asked.extent[1], asked.extent[2], extents, asked.block.x,
            asked.block.y, asked.block.z, chosen.x, chosen.y, chosen.z);
}

"""


@dataclass(frozen=True)
class Decider:
    """What decides for one kernel in place of its model.

    `text`: device and NAME to the C++ of `cutune_decide_NAME`, or None on other devices.
    `positions`: which arguments of the kernel it reads.
    """

    kernel: str
    sites: tuple[SiteKey, ...]
    positions: tuple[int, ...]
    text: Callable[[DeviceProfile, str], str | None]


@dataclass(frozen=True)
class SelectionText:
    """C++ of all routines, and which routine serves which launch site."""

    text: str
    routines: tuple[tuple[SiteKey, str], ...]


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
    routines: list[tuple[SiteKey, str]] = []
    taken: set[str] = set()
    decided = {decider.kernel for decider in measured}
    modelled = (
        _modelled(judge, model, tables) for model in models if model.kernel.name not in decided
    )
    for decider in (*measured, *modelled):
        name = _unique(re.sub(r"\W", "_", decider.kernel), taken)
        variants = []
        for number, device in enumerate(devices):
            variant = name if len(devices) == 1 else f"{name}_on_{number}"
            text = decider.text(device, variant)
            if text is not None:
                parts.append(text)
                variants.append((device, variant))
        if variants:
            read = argument_bits(decider.positions)
            parts.append(
                f"enum : unsigned long long {{ cutune_select_{name}_arguments = {read} }};\n"
            )
            parts += [_dispatcher(variants, name), "\n"]
            routines += [(site, f"cutune_select_{name}") for site in decider.sites]
    names = " and ".join(device.name for device in devices)
    head = [f"// Emitted by cutune for {names}.\n", SUPPORT, "\n"]
    return SelectionText("".join([*head, *parts]), tuple(routines))


def _modelled(judge: PerformanceModel, fitted: FittedModel, tables: Tables) -> Decider:
    """Model, rule and routine of one kernel; None where the device can launch no candidate."""

    def text(device: DeviceProfile, name: str) -> str | None:
        model = launchable(fitted, device)
        if not model.blocks:
            return None
        program, rule = judge.compose(model, device), judge.rule(model, device)
        parts = emit_model(program, name, tables), emit_choice(rule, name, tables)
        return "".join([*parts, _routine(model, rule, name, tables)])

    kernel = fitted.kernel
    return Decider(kernel.name, kernel.sites, _read_arguments(kernel), text)


def _dispatcher(variants: Sequence[tuple[DeviceProfile, str]], name: str) -> str:
    """`cutune_select_NAME`: the routine of the device that the program runs on."""
    emit = Emitter()
    emit("static inline cutune_configuration cutune_select_" + name + "(")
    emit("    const cutune_request *cutune_asked, cutune_shortlist *cutune_list)")
    with emit.braces():
        emit("const cutune_device cutune_gpu = cutune_current_device();")
        for device, variant in variants:
            major, minor = device.compute_capability
            emit(f"if (cutune_gpu.multiprocessors == {device.sm_count} &&")
            emit(f"    cutune_gpu.major == {major} && cutune_gpu.minor == {minor})")
            emit(f"    return cutune_decide_{variant}(cutune_asked, cutune_list);")
        emit("const cutune_configuration cutune_own = {cutune_asked->grid, cutune_asked->block};")
        emit("return cutune_own;")
    return str(emit)


def argument_bits(positions: Sequence[int]) -> str:
    """The set of these arguments as C++."""
    return f"{sum(1 << position for position in positions)}ull"


def _read_arguments(kernel: MeasuredKernel) -> tuple[int, ...]:
    """The arguments that a model reads: sizes, and those it was made for one value of."""
    others = [position for position, _ in kernel.required_arguments]
    return (*kernel.positions, *others, *(position for _, position, _ in kernel.tied))


def _unique(name: str, taken: set[str]) -> str:
    candidate, number = name, 2
    while candidate in taken:
        candidate, number = f"{name}_{number}", number + 1
    taken.add(candidate)
    return candidate


def _routine(model: FittedModel, rule: SelectionRule, name: str, tables: Tables) -> str:
    """`cutune_decide_NAME`: a request in, a configuration out."""
    kernel = model.kernel
    count = len(model.blocks)
    words = KEY_HEAD + len(kernel.positions)
    emit = Emitter()
    blocks = block_array(emit, model.blocks, name, tables)
    axes = [_axis_arrays(emit, model, axis, name, tables) for axis in range(3)]
    emit(f"static inline cutune_configuration cutune_decide_{name}(")
    emit("    const cutune_request *cutune_asked, cutune_shortlist *cutune_list)")
    with emit.braces():
        emit("cutune_configuration cutune_answer = {cutune_asked->grid, cutune_asked->block};")
        if read := _read_arguments(kernel):
            emit(f"if (~cutune_asked->integers & {argument_bits(read)}) return cutune_answer;")
        for position, value in kernel.required_arguments:
            emit(f"if (cutune_asked->arguments[{position}] != {value}) return cutune_answer;")
        for axis, threads in _fixed_extents(model):
            emit(f"if (cutune_asked->extent[{axis}] != {threads}) return cutune_answer;")
        if kernel.shared is None:
            shared = kernel.dynamic_shared_bytes
            emit(f"if (cutune_asked->smem != {shared}u) return cutune_answer;")
        _emit_key(emit, model, words)
        _emit_ties(emit, kernel)
        _emit_validity(emit, model, blocks, axes)
        emit(f"double cutune_time[{padded(count)}], cutune_time_with_floor[{padded(count)}];")
        spaces = [f"cutune_asked->extent[{axis}]" for axis in range(3)]
        sizes = [f"cutune_key[{KEY_HEAD + index}]" for index in range(len(kernel.positions))]
        arguments = ", ".join([*sizes, *spaces, "cutune_time", "cutune_time_with_floor"])
        emit(f"cutune_model_{name}({arguments});")
        emit(f"const int cutune_chosen = cutune_choose_{name}(")
        emit("    cutune_time, cutune_time_with_floor, cutune_valid, cutune_own);")
        with emit.braces("if (cutune_chosen >= 0)"):
            emit(f"cutune_answer.block = cutune_block_at({blocks}, cutune_chosen);")
        with emit.braces("if (cutune_list != nullptr)"):
            emit("cutune_list_blocks(cutune_list, cutune_time_with_floor, cutune_valid,")
            emit(f"                   {blocks}, {count}, cutune_chosen, cutune_own,")
            emit(f"                   {bound_text(rule)});")
            emit("return cutune_answer;")
        quoted = c_string(kernel.name)
        extents = printed_extents(kernel.grid_kept)
        emit(f"cutune_print_decision({quoted}, {extents}, *cutune_asked, cutune_answer.block);")
        emit("return cutune_answer;")
    return str(emit)


def printed_extents(kept: Sequence[bool]) -> str:
    """What the extents of a request count, as a string of C++."""
    return c_string("blocks or threads" if any(kept) else "threads")


def _fixed_extents(model: FittedModel) -> list[tuple[int, int]]:
    """Dimensions whose thread space was the same in every recorded launch, and is built in."""
    kernel = model.kernel
    return [
        (axis, kernel.recorded[0][1][axis])
        for axis in range(3)
        if kernel.guards[axis] is None
        and kernel.covers[axis] is None
        and not kernel.variable_extents[axis]
    ]


def _emit_key(emit: Emitter, model: FittedModel, words: int) -> None:
    """What the decision depends on, and whether the sizes lie where the model may be asked."""
    emit(f"const long long cutune_key[{words}] = {{")
    emit("    cutune_asked->guarded,")
    emit(
        "    (cutune_asked->block.x << 20) + (cutune_asked->block.y << 8) + cutune_asked->block.z,"
    )
    emit("    cutune_asked->extent[0], cutune_asked->extent[1], cutune_asked->extent[2],")
    for position in model.kernel.positions:
        emit(f"    cutune_asked->arguments[{position}],")
    emit("};")
    with emit.braces("if (cutune_list != nullptr)"):
        quoted = c_string(model.kernel.name)
        emit(f"cutune_list->key = cutune_hash({quoted}, cutune_key, {words});")
    ranges = ["cutune_key[i] < 1", f"cutune_key[i] > {LARGEST_SIZE}ll"]
    with emit.braces(f"for (int i = 2; i < {words}; ++i)"):
        emit(f"if ({' || '.join(ranges)}) return cutune_answer;")


def _axis_arrays(
    emit: Emitter, model: FittedModel, axis: int, name: str, tables: Tables
) -> tuple[str, str | None]:
    """The widths that candidates have in a dimension, and which of them each candidate has.

    The latter is None where there is only one.
    """
    widths, letter = _widths(model, axis), "xyz"[axis]
    width_array = f"cutune_{name}_width_{letter}"
    width_array = tables.array(emit, width_array, "unsigned short", map(str, widths))
    if len(widths) == 1:
        return width_array, None
    places = [str(widths.index(block[axis])) for block in model.blocks]
    # As long as the arrays of the model, of which one may be the same.
    places += places[-1:] * (padded(len(places)) - len(places))
    place_array = f"cutune_{name}_place_{letter}"
    return width_array, tables.array(emit, place_array, "unsigned char", places)


def _widths(model: FittedModel, axis: int) -> list[int]:
    return sorted({block[axis] for block in model.blocks})


def _emit_ties(emit: Emitter, kernel: MeasuredKernel) -> None:
    """The model holds where sizes follow from each other as they did when it was made.

    By one they may be off: even sizes do not tell how halves are rounded.
    """
    for name, position, text in kernel.tied:
        (source,) = names_in(text)
        key = f"cutune_key[{KEY_HEAD + kernel.parameters.index(source)}]"
        follows = renamed(text, {source: key})
        asked = f"cutune_asked->arguments[{position}]"
        off = f"cutune_off_{c_name(name)}"
        emit(f"const long long {off} = {asked} - ({follows});")
        emit(f"if ({off} < -1 || {off} > 1) return cutune_answer;")


def _emit_validity(
    emit: Emitter, model: FittedModel, blocks: str, axes: Sequence[tuple[str, str | None]]
) -> None:
    """Which candidates cover the same threads, and where the program's own block stands.

    Args:
        blocks: the array of candidates. axes: per dimension what `_axis_arrays` gives.
    """
    count = len(model.blocks)
    # A width is judged once, not once per candidate: that saves most of the divisions.
    for axis, letter in enumerate("xyz"):
        widths = len(_widths(model, axis))
        extent, own = f"cutune_asked->extent[{axis}]", f"cutune_asked->block.{letter}"
        emit(f"unsigned char cutune_fits_{letter}[{widths}];")
        emit(f"int cutune_own_{letter} = -1;")
        with emit.braces(f"for (int w = 0; w < {widths}; ++w)"):
            emit(f"const unsigned cutune_width = {axes[axis][0]}[w];")
            emit(f"cutune_fits_{letter}[w] = cutune_width == {own} ? 1 : 0;")
            emit(f"if (cutune_width == {own}) cutune_own_{letter} = w;")
            if model.kernel.grid_kept[axis]:
                emit(f"else cutune_fits_{letter}[w] = 1;")
            elif model.kernel.free[axis]:
                emit(f"else if ((cutune_asked->guarded >> {axis} & 1u) != 0 ||")
                emit(f"         static_cast<unsigned>({extent}) % cutune_width == 0)")
                # As many blocks as a grid may have: ceil(extent / width) <= most.
                emit(f"    cutune_fits_{letter}[w] = {extent} <=")
                emit(f"        {GRID_LIMITS[axis]}ll * cutune_width ? 1 : 0;")
    emit(f"unsigned char cutune_valid[{count}];")
    emit("int cutune_own = -1;")
    with emit.braces(f"for (int c = 0; c < {count}; ++c)"):
        for letter, (_, places) in zip("xyz", axes, strict=True):
            emit(f"const int cutune_{letter} = {'0' if places is None else f'{places}[c]'};")
        # Without branches: of any three sizes, each may fit or not.
        fits = [f"cutune_fits_{letter}[cutune_{letter}]" for letter in "xyz"]
        emit(f"cutune_valid[c] = ({' & '.join(fits)}) != 0 ? 1 : 0;")
        same = [f"cutune_{letter} == cutune_own_{letter}" for letter in "xyz"]
        emit(f"if ({' && '.join(same)}) cutune_own = c;")
    with emit.braces("if (cutune_needs_warps(*cutune_asked->site, *cutune_asked))"):
        emit(f"for (int c = 0; c < {count}; ++c)")
        emit("    if (c != cutune_own && !cutune_keeps_warps(cutune_asked->block,")
        emit(f"                            cutune_block_at({blocks}, c)))")
        emit("        cutune_valid[c] = 0;")
