"""Classifiers of blocks as C++. Takes `BlockClassifier`s, gives deciders for `emit/selection.py`.

A routine keeps the program's own block unless the launch lies where it was measured and the chosen
block covers the same threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from cutune.device.profile import DeviceProfile
from cutune.emit.emitter import Emitter, c_integer
from cutune.emit.routine import argument_bits, printed_extents
from cutune.emit.selection import Decider, DecisionText
from cutune.frontend.launch_sites import SiteKey
from cutune.frontend.program import DIMENSIONS, Kernel, Program
from cutune.rewrite.prelude import c_string
from cutune.tunables.measured_blocks import BlockClassifier, measured_columns
from cutune.tunables.neighbours.emit_classifier import emit_choices


def block_deciders(program: Program, choices: Sequence[BlockClassifier]) -> list[Decider]:
    """Return deciders for the kernels that were measured, each on one or several devices."""
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
            deciders.append(decider(kernel, sites, by_device))
    return deciders


def decider(
    kernel: Kernel, sites: tuple[SiteKey, ...], by_device: dict[str, BlockClassifier]
) -> Decider:
    """Return the decider of one kernel, with a classifier per name of a device."""

    def decision(device: DeviceProfile, name: str) -> DecisionText | None:
        choice = by_device.get(device.name)
        return DecisionText(_text(kernel, choice, name)) if choice is not None else None

    return Decider(kernel.name, sites, tuple(_positions(kernel).values()), decision)


def _positions(kernel: Kernel) -> dict[str, int]:
    """Return the position of each size among the arguments."""
    order = kernel.argument_names
    return {size: order.index(size) for size in kernel.sizes}


def _text(kernel: Kernel, choice: BlockClassifier, name: str) -> str:
    """Return the classifier and `cutune_decide_NAME`, which guards it."""
    values = {column: f"cutune_size_{i}" for i, column in enumerate(choice.columns)}
    sizes = tuple(f"size_{choice.columns.index(column)}" for column in choice.model.sizes)
    tunables = tuple(f"{d}_of_{name}" for d in DIMENSIONS)
    emit = Emitter()
    emit(f"static inline cutune_configuration cutune_decide_{name}(")
    emit("    const cutune_request *asked_, cutune_shortlist *)")
    with emit.braces():
        emit("cutune_configuration cutune_answer = cutune_only_block(asked_->block);")
        positions = _positions(kernel)
        if positions:
            emit(f"if (~asked_->integers & {argument_bits(tuple(positions.values()))})")
            emit("    return cutune_answer;")
        for column, low, high in zip(choice.columns, choice.lowest, choice.highest, strict=True):
            value = values[column]
            emit(f"const long long {value} = asked_->{_place(column, positions)};")
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


def _place(column: str, positions: dict[str, int]) -> str:
    if column in positions:
        return f"arguments[{positions[column]}]"
    return f"extent[{DIMENSIONS.index(column[-1])}]"


def _emit_answer(emit: Emitter, kernel: Kernel) -> None:
    """Give the block if it covers the threads of the launch."""
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
