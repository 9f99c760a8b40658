"""Programs written with other launches: tuned ones, and ones that take blocks at random.

Takes a program and models, or a seed. `cutune nvcc` writes the tuned program of every source:
nothing that measures is imported. In a program with blocks at random every launch that may be tuned
draws one of all blocks that it may legally have, its own among them, each time anew, and how many
threads there are, where any number does the same. What it computes must not depend on them: that is
what the proof says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path

from cutune.core.workspace import Workspace
from cutune.model.emit.emitter import Emitter
from cutune.model.emit.routine import deciding
from cutune.model.emit.selected_programs import (
    SelectionPlace,
    SelectionText,
    decisive,
    with_selection,
)
from cutune.model.emit.selection import Decider, emit_selection
from cutune.model.fit.fitted_model import FittedModel, follows_from, models_and_fresh, read_models
from cutune.model.selection.chooser import DEFAULT
from cutune.passes import ChooseValues, ReplaceLaunches, ReplaceTunables
from cutune.proof.analysis.analyzer import Analyzer
from cutune.proof.analysis.recorded_launches import nothing_tunable
from cutune.source.candidates import BlockRange
from cutune.source.program import DIMENSIONS, Kernel, Program
from cutune.source.rewrite.c_text import argument_bits, c_string
from cutune.source.rewrite.output import Target
from cutune.source.rewrite.pipeline import TranslationUnit, rewrite
from cutune.toolchain.device.profile import DeviceProfile
from cutune.toolchain.device.thread_block import LARGEST, LARGEST_Z, Block, as_block, threads_of
from cutune.toolchain.nvcc import INCLUDE_DIRECTORY

_ODD = (5, 7, 100, 160)
#: Widths that are tried in a dimension: powers of two, three times such, and some others.
WIDTHS = tuple(sorted({*(1 << e for e in range(11)), *(3 << e for e in range(9)), *_ODD}))
#: Stands for the width that the program asks for.
_ASKED = 0
_LARGEST_SEED = (1 << 64) - 1
#: The seed if the environment has none.
FIRST_SEED = 1


def random_programs(
    analyzer: Analyzer, programs: Sequence[Program], seed: int, targets: Sequence[Target]
) -> None:
    """Write all sources, linked together, as `random_program` writes one; raises as that does."""
    is_any = any(program.tunable_launches for program in programs)
    for program, target in zip(programs, targets, strict=True):
        if program.tunable_launches or program.is_lent or not is_any:
            random_program(analyzer, program, seed, target)
        else:
            target.write(TranslationUnit(program))


def random_program(analyzer: Analyzer, program: Program, seed: int, target: Target) -> Path:
    """Write what `random_unit` gives; the path of its source. Raises what `Target.write` raises."""
    return target.write(random_unit(analyzer, program, seed))


def random_unit(analyzer: Analyzer, program: Program, seed: int) -> TranslationUnit:
    """Make a program whose launches draw blocks and variants.

    `seed`: the same one gives the same blocks; CUTUNE_SEED replaces it at run time. Raises CT415
    when no launch may be tuned.
    """
    sites = program.tunable_launches
    if not sites and not program.is_lent:
        raise nothing_tunable([program])
    program = analyzer.with_checked_variants(program)
    launched = dict.fromkeys(site.kernel for site in sites)
    routines = {name: f"random_{number}" for number, name in enumerate(launched, 1)}
    text = [(INCLUDE_DIRECTORY / "cutune_random.h").read_text(encoding="ascii")]
    for name, routine in routines.items():
        kernel = program.kernel(name)
        assert kernel is not None, "a tunable launch has a kernel"
        text.append(_routine(kernel, routine, seed & _LARGEST_SEED))
    step = ReplaceLaunches(
        selection="".join(text),
        routines=tuple((site.id, f"cutune_select_{routines[site.kernel]}") for site in sites),
        remembers=False,
        threads="cutune_draw_threads",
    )
    return rewrite(program, (step,), analyzer.reporter)


def random_blocks(kernel: Kernel) -> tuple[Block, ...]:
    """The blocks that are drawn from; 0 stands for the width that a launch asks for."""
    allowed = kernel.allowed or BlockRange()
    pure = [name in kernel.pure_dimensions for name in DIMENSIONS]
    # What an annotation says of widths that are not known cannot be judged.
    if any(allowed.asks(n) and f.indexed and not pure[n] for n, f in enumerate(kernel.dimensions)):
        return ()
    axes = [allowed.listed(n) or WIDTHS if is_pure else (_ASKED,) for n, is_pure in enumerate(pure)]
    most = min(LARGEST, kernel.max_threads)
    return tuple(
        as_block(block)
        for block in product(*axes)
        if threads_of(_as_one(block)) <= most
        and block[2] <= LARGEST_Z
        and allowed.allows(_as_one(block))
    )


def _as_one(block: Sequence[int]) -> Block:
    """A dimension that is not indexed has one thread, else the launch stays as it is."""
    return as_block([max(1, width) for width in block])


def _routine(kernel: Kernel, name: str, seed: int) -> str:
    """`cutune_select_NAME`: a request in, a configuration with a block at random out."""
    blocks = random_blocks(kernel)
    emit = Emitter()
    emit(f"enum : unsigned long long {{ cutune_select_{name}_arguments = {argument_bits(())} }};")
    widths = [str(width) for block in blocks or ((0, 0, 0),) for width in block]
    emit.table(f"cutune_{name}_blocks", "unsigned short", widths)
    # Of the kernel itself, then of its variants.
    limits = [None, *(one.bounds for one in kernel.variants)]
    most = [str(bounds[0] if bounds is not None else LARGEST) for bounds in limits]
    emit.table(f"cutune_{name}_most", "unsigned short", most)
    with deciding(emit, f"cutune_select_{name}", ""):
        emit(f"const int cutune_variant_ = cutune_pick_variant(*asked_, {seed}ull);")
        emit("cutune_chosen cutune_answer = cutune_only_block(cutune_pick_block(")
        emit(f"    *asked_, cutune_{name}_blocks, {len(blocks)},")
        emit(f"    cutune_{name}_most[cutune_variant_], {seed}ull));")
        emit("cutune_answer.variant = cutune_variant_;")
        words = f"{c_string(kernel.name)}, {c_string('threads')}"
        emit(f"cutune_print_variant({words}, *asked_, cutune_answer);")
        emit("return cutune_answer;")
    return str(emit)


def replaced(
    analyzer: Analyzer,
    program: Program,
    models: Sequence[FittedModel],
    devices: Sequence[DeviceProfile],
    performance: str = DEFAULT,
    tunables: ReplaceTunables | None = None,
    deciders: Sequence[Decider] = (),
    values: ChooseValues | None = None,
) -> TranslationUnit:
    """The program whose launches choose blocks, on each of the devices, and tunables values."""
    selection = emit_selection(_allowed(analyzer, models), devices, performance, deciders)
    return with_selection(analyzer, program, selection, tunables, values)


def _allowed(analyzer: Analyzer, models: Sequence[FittedModel]) -> Sequence[FittedModel]:
    if analyzer.with_variants:
        return models
    return [replace(model, variants=()) for model in models]


def models_of(
    program: Program, workspace: Workspace, fitted: Sequence[FittedModel] | None = None
) -> list[FittedModel]:
    """The models of a program, out of `fitted` or saved. Raises CT009; CT513: it has changed."""
    known = read_models(workspace.models) if fitted is None else fitted
    models, fresh = models_and_fresh(program, known)
    if len(fresh) < len(models):
        raise workspace.stale(program.source.path)
    return models


def kept_selection(
    analyzer: Analyzer,
    models: Sequence[FittedModel],
    devices: Sequence[DeviceProfile],
    program: Program,
    place: SelectionPlace | None,
) -> SelectionText:
    """Emit the routines of models of a program, and keep them at their place if they may be."""
    selection = emit_selection(_allowed(analyzer, models), devices)
    decided = decisive(program)
    if place is not None and all(follows_from(model.kernel, decided) for model in models):
        place.keep(selection)
    return selection
