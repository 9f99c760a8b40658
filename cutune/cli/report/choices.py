"""Takes models and what became of launches, gives what `select`, `fit` and `tune` print."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from cutune.cli.report.console import standard_output, table_within
from cutune.cli.report.tuned import ChoiceRow, LaunchRow, Shown, TuningOutcome
from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, Diagnostic
from cutune.measure.program_runs import RunPlan
from cutune.model.fit.count_functions import off_text
from cutune.model.fit.fitted_model import FittedModel
from cutune.model.measurement.size_relations import usually_held
from cutune.model.measurement.sweep import SweptLaunch
from cutune.model.performance.constants import LAUNCH_BOUND, REPORTED_BAND
from cutune.model.selection.choose import (
    MORE_BLOCKS,
    UNROLLED,
    PredictedBlock,
    Selection,
    expected_regret,
    idle_text,
    kind_of,
    near_best,
)
from cutune.model.selection.chooser import (
    DEFAULT,
    measured_only_at,
    sizes_as_run,
    supported,
    threads_alone,
    usual_sizes,
)
from cutune.model.selection.variants import ConfigurationChoice, VariantChooser
from cutune.proof.analysis.recorded_launches import SeenLaunch, suggesting
from cutune.proof.variants.bounds import NAME as BOUNDS
from cutune.source.kernel_variant import BLOCK_OF, value_text
from cutune.source.program import DIMENSIONS, SiteKey
from cutune.source.unit.kernels import EXTENT
from cutune.toolchain.device.profile import DeviceProfile
from cutune.toolchain.device.thread_block import configuration_text, shape
from cutune.tuning.nvcc.units import instances_of

FIT_SCHEMA, SELECT_SCHEMA = "cutune-fit-1", "cutune-select-1"
#: Rows of `cutune select` as text.
SHOWN = 10

#: Why a kernel keeps its own block at all sizes shown.
_AS_GOOD = "its own block is as good as any at the sizes shown"
_TILE_AS_GOOD = "its own values are as good at the sizes shown; tried: {}"
_AS_GOOD_OR_UNKNOWN = f"{_AS_GOOD} for which its counts hold"
_UNKNOWN = "its counts say nothing of the sizes shown: run it at larger ones (--vary)"
_AS_RUN = "as run"
#: Why there are rows at the sizes of the runs alone.
_OTHERS = "its threads do not follow from its sizes; at others than those of the runs, ask"
#: What `select` calls the kernel itself.
PLAIN = "plain"


def variant_to_json(name: str) -> dict[str, Any]:
    """A variant by what was done to the kernel; no name: the kernel itself."""
    words = name.split("_")
    limits = next((word for word in words if word.startswith(BOUNDS)), None)
    ids = {word[0]: int(word[1:]) for word in words if word[1:].isdigit()}
    return {
        "name": name or PLAIN,
        "restrict": "restrict" in words,
        "coarsen": [ids.get(d, 1) for d in DIMENSIONS],
        "bounds": [*map(int, limits.removeprefix(BOUNDS).split("x"))] if limits else None,
    }


def choice_to_json(model: FittedModel, configuration: ConfigurationChoice) -> dict[str, Any]:
    """The answer of `cutune select --json`."""
    choice = configuration.chosen
    regret = _regret(model, choice)
    return {
        "schema": SELECT_SCHEMA,
        "kernel": model.kernel.name,
        "instance": instances_of([model])[0],
        "choice": {
            "grid": list(choice.grid),
            "block": list(choice.block),
            "variant": variant_to_json(configuration.variant),
        },
        "launch_bound": choice.launch_bound,
        "kept_original": _is_own(configuration),
        "measured_only_at": measured_only_at(model),
        "extrapolated": bool(choice.extrapolated),
        "supported": {name: [r.least, r.largest] for name, r in supported(model).items()},
        "reason": configuration.reason,
        "within_2_percent": choice.within_band,
        "indistinguishable": [list(block) for block in choice.indistinguishable],
        "expected_regret": regret and {"typical": regret[0], "nine_in_ten": regret[1]},
        "ranked": [
            {
                "block": list(prediction.block),
                "grid": list(prediction.grid),
                "variant": variant_to_json(name),
                "predicted_ms": prediction.predicted_ms,
                "measured_ms": _measured_ms(prediction),
                "cycles_per_warp": prediction.cycles_per_warp,
                "terms_us": dict(prediction.terms_us),
            }
            for name, prediction in configuration.ranked
        ],
    }


def _regret(model: FittedModel, choice: Selection) -> tuple[float, float] | None:
    """Return what is lost where nothing was timed; None where the choice was."""
    chosen = choice.predicted(choice.block)
    is_timed = chosen is not None and chosen.measured_us is not None
    return None if is_timed else expected_regret(model, choice)


def _measured_ms(prediction: PredictedBlock) -> float | None:
    us = prediction.measured_us
    return None if us is None else us / 1e3


def print_choice(model: FittedModel, configuration: ConfigurationChoice) -> None:
    """The answer of `cutune select` as text."""
    console, choice = standard_output(), configuration.chosen
    (name,) = instances_of([model])
    # What hardly differs from the best block may be far from what the program asks for.
    is_alike = choice.launch_bound and (configuration.gain or 1) <= REPORTED_BAND
    bound = " (bound by launching: the choice hardly matters)" if is_alike else ""
    variant = f"variant {configuration.variant}, " if configuration.variant else ""
    console.print(
        f"{escape(name)}: {variant}block {shape(choice.block)}, grid {shape(choice.grid)}{bound}"
    )
    if not choice.ranked:
        console.print(choice.reason)
        return
    if only := measured_only_at(model):
        values = _named(only, between=" and ")
        console.print(f"as measured at {values} only; with others launches keep their own block")
    _print_ranked(console, configuration)
    kind = f"blocks of {configuration.variant}" if configuration.variant else "blocks"
    console.print(f"{choice.within_band} of {len(choice.ranked)} {kind} are within 2 % of the best")
    same = choice.indistinguishable
    console.print(f"the model cannot tell apart: {', '.join(shape(block) for block in same)}")
    console.print(configuration.reason)
    if configuration.variant:
        plain = shape(configuration.plain.block)
        console.print(f"where memory does not allow it: the kernel itself, block {plain}")
    if regret := _regret(model, choice):
        typical, most = (f"{100 * share:.1f} %" for share in regret)
        console.print(
            f"expected regret about {typical}, at most {most} in 9 of 10 launches "
            f"of this kind ({kind_of(model, choice)})"
        )


def _print_ranked(console: Console, configuration: ConfigurationChoice) -> None:
    ranked = configuration.ranked
    shown = [*ranked[:SHOWN], *(p for p in ranked[SHOWN:] if _mark(*p, configuration))]
    if (own := configuration.plain.own_launch) is not None:
        shown.append(("", own))
    columns, terms = _ranked_columns(shown, configuration), _large_terms(p for _, p in shown)
    named = [[name, *(f"{p.terms_us[name]:.3g}" for _, p in shown)] for name in terms]
    table = table_within(console, columns, named)
    console.print(table)
    left_out = len(configuration.chosen.ranked[0].terms_us) - (len(table.columns) - len(columns))
    few = f", {left_out} small terms left out" if left_out > 1 else ", a small term left out"
    few = few if left_out else ""
    behind = f"; behind the prediction: what each would take alone{few}" if terms else ""
    console.print(f"microseconds{behind}")


def _ranked_columns(
    shown: Sequence[tuple[str, PredictedBlock]], configuration: ConfigurationChoice
) -> list[list[str]]:
    """Columns with their heads: what each configuration is, and its times."""
    ranked = configuration.ranked
    columns = [
        ["block", *(shape(p.block) + _mark(name, p, configuration) for name, p in shown)],
        ["grid", *(shape(p.grid) for _, p in shown)],
        ["predicted", *(f"{1000 * p.predicted_ms:.4g}" for _, p in shown)],
    ]
    if configuration.of_variants or configuration.others:
        columns.insert(0, ["variant", *(name or PLAIN for name, _ in shown)])
    measured = [p.measured_us for _, p in shown]
    if any(us is not None for us in measured):
        ranks = (str(ranked.index(one) + 1) if one in ranked else "" for one in shown)
        columns.insert(0, ["rank", *ranks])
        columns.append(["measured", *("" if us is None else f"{us:.4g}" for us in measured)])
    return columns


def _large_terms(predictions: Iterable[PredictedBlock]) -> list[str]:
    """Terms that are 1 % of one of the predictions, the largest first."""
    shown = list(predictions)
    largest = {
        term: max(one.terms_us[term] / (1000 * one.predicted_ms) for one in shown)
        for term in shown[0].terms_us
    }
    large = (term for term, share in largest.items() if share >= 0.01)
    return sorted(large, key=lambda term: -largest[term])


def _mark(variant: str, prediction: PredictedBlock, configuration: ConfigurationChoice) -> str:
    """` *` for the choice, ` (own)` for the configuration of the source, or nothing."""
    chosen = (configuration.variant, configuration.chosen.block)
    plain = configuration.plain
    if prediction is plain.own_launch:
        return " (own)"
    is_own = plain.own_launch is None and (variant, prediction.block) == ("", plain.original)
    mark = " *" if (variant, prediction.block) == chosen else ""
    return mark + (" (own)" if is_own else "")


def print_sweep(launches: Iterable[SweptLaunch], device: DeviceProfile) -> None:
    """Print the launches that `cutune collect --on gpu` has timed, a line for each."""
    table = Table("kernel", "size", "own block", "us", "best", "us", "blocks", "", box=None)
    limit = float(LAUNCH_BOUND * device.model.floor_us)
    for launch in launches:
        times = launch.microseconds
        bound = "bound by launching" if times[launch.best] < limit else ""
        own, best = (f"{times[block]:.4g}" for block in (launch.own, launch.best))
        table.add_row(
            launch.kernel,
            "-" if launch.size is None else str(launch.size),
            *(shape(launch.own), own, shape(launch.best), best),
            *(str(len(times)), bound),
        )
    standard_output().print(table)


def models_to_json(models: Sequence[FittedModel]) -> dict[str, Any]:
    """The answer of `cutune fit --json`."""
    return {
        "schema": FIT_SCHEMA,
        "models": [
            {
                "kernel": model.kernel.name,
                "instance": name,
                "file": model.kernel.origin.path,
                "held_out_error": float(model.held_out_error),
                "sizes": list(model.kernel.parameters),
                "blocks": len(model.blocks),
            }
            for name, model in zip(instances_of(models), models, strict=True)
        ],
    }


def print_models(models: Sequence[FittedModel]) -> None:
    """Print the models of `cutune fit`, a line per kernel."""
    table = Table("kernel", "counts", "alignment classes", "blocks", box=None)
    for name, model in zip(instances_of(models), models, strict=True):
        error = model.held_out_error
        classes = zip(model.kernel.parameters, model.classes, strict=True)
        table.add_row(
            escape(name),
            "exact" if error == 0 else f"{off_text(error)} at held-out sizes",
            ", ".join(f"{name}: {max(c) + 1}" for name, c in classes) or "1",
            str(len(model.blocks)),
        )
    standard_output().print(table)


#: Sizes in words, sizes by name, the size of all others.
_Asked = tuple[str, Mapping[str, int], int | None]


class Choices(NamedTuple):
    """The choices of some kernels at some sizes.

    Attributes:
        questions: how to ask for kernels whose threads have to be named, and sizes that no run
            varied.
        kept: entries of kernels that keep their own block at all sizes shown, and why they do.
        fixed: entries of kernels that are modelled at one value of a size, and which that is.
        idle: entries of kernels that leave most of the GPU idle, whatever the block, in words.
    """

    rows: list[ChoiceRow]
    questions: list[str]
    kept: dict[str, str]
    fixed: dict[str, Mapping[str, int]]
    idle: dict[str, str]


def choice_table(
    models: Sequence[FittedModel],
    device: DeviceProfile,
    sizes: Sequence[int] | None = None,
    performance: str = DEFAULT,
    plan: RunPlan | None = None,
) -> Choices:
    """One row per kernel and size: the program's own block, cutune's, and what that should gain.

    Of a kernel whose thread space has to be named, rows at sizes of the runs, and how to ask for
    others.

    Args:
        sizes: what all data parameters are set to, but for those that are `usually_held`; by
            default sizes that keep a GPU busy, or those of the runs where nothing is known of
            others.
        plan: the runs, which a line about sizes that they did not vary may change.
    """
    choices = Choices([], [], {}, {}, {})
    for name, model in zip(instances_of(models), models, strict=True):
        try:
            chooser = VariantChooser(model, device, performance, any_threads=True)
        except CutuneError:
            continue  # nothing that the device can launch
        fixed, entry = measured_only_at(model), model.kernel.entry
        # What is known at one value stays there, unless another was asked for.
        held = usually_held(model.kernel) | ({} if sizes else fixed)
        rows = _choice_rows(name, model, chooser, _usual(model, sizes, held))
        if not rows and not _is_as_run(model, held):
            choices.questions.append(f"{name}: {_OTHERS}: {question_of(model)}")
        # Without a ranking the counts do not hold at that size.
        if not rows or (sizes is None and not any(made.chosen.ranked for _, made in rows)):
            rows = _choice_rows(name, model, chooser, _as_run(model)) or rows
        if fixed:
            choices.fixed[entry] = fixed
            choices.questions.append(closing_line(name, fixed, plan))
        choices.rows.extend(row for row, _ in rows)
        all_made = [made for _, made in rows]
        if idle := next((made.plain.idle for made in reversed(all_made) if made.plain.idle), ""):
            choices.idle[entry] = idle
        if all_made and all(map(_is_own, all_made)):
            known = [bool(made.chosen.ranked) for made in all_made]
            choices.kept[entry] = _why_kept(model, known)
    return choices


def _as_run(model: FittedModel) -> Iterator[_Asked]:
    """Questions at the sizes of the runs."""
    for sizes in sizes_as_run(model):
        yield _named(sizes) or _AS_RUN, sizes, None


def _why_kept(model: FittedModel, known: Sequence[bool]) -> str:
    """Why a kernel keeps its own block at all sizes. `known`: at which of them times are known."""
    if not all(known):
        return _AS_GOOD_OR_UNKNOWN if any(known) else _UNKNOWN
    tiles = "; ".join(map(tile_text, tiles_of(model)))
    return _TILE_AS_GOOD.format(tiles) if tiles else _AS_GOOD


def _named(sizes: Mapping[str, int], *first: str, between: str = ", ") -> str:
    return between.join([*first, *(f"{name} = {value}" for name, value in sizes.items())])


def question_of(model: FittedModel) -> str:
    words = (*model.kernel.parameters, *model.kernel.extent_words)
    return " ".join(["cutune select", model.kernel.name, *(f"{word}=…" for word in words)])


def _usual(
    model: FittedModel, sizes: Sequence[int] | None, held: Mapping[str, int]
) -> Iterator[_Asked]:
    """Questions at these sizes, or at usual ones, with some of the sizes held."""
    if sizes is None and _is_as_run(model, held):
        return
    # Without a size its threads are as many as in the runs, whatever is asked for.
    is_sized = model.kernel.parameters or threads_alone(model.kernel)
    for size in (sizes or usual_sizes(model))[: None if is_sized else 1]:
        yield _size_text(model, size, held), held, size


def _is_as_run(model: FittedModel, held: Mapping[str, int]) -> bool:
    """Is every size held, so that the runs show all that is known?"""
    names = {*model.kernel.parameters, *model.kernel.extent_words}
    return bool(names) and names <= held.keys()


def _size_text(model: FittedModel, size: int, held: Mapping[str, int]) -> str:
    if word := threads_alone(model.kernel):
        return _named(held, f"{word} = {size}")
    return _named(held, str(size) if model.kernel.parameters else _AS_RUN)


#: Constants and their values in the name of a copy: `BX_32_BY_8`.
_VALUES = re.compile(r"([A-Za-z_]\w*?)_(\d+)(?:_(?=\D)|$)")


def tile_text(variant: str) -> str:
    """The values of a copy with other constants: `BX = 32, BY = 8`; others by name: `blocks_y2`."""
    return ", ".join(value_text(*pair) for pair in _VALUES.findall(variant)) or variant


def tiles_of(model: FittedModel) -> list[str]:
    """The names of the copies of a kernel that have other values of its constants."""
    return [one.kernel.variant for one in model.variants if one.kernel.is_tile]


def _is_own(choice: ConfigurationChoice) -> bool:
    """Does the program's own configuration stay?"""
    return choice.plain.kept_original and not choice.variant


def _choice_rows(
    name: str, model: FittedModel, chooser: VariantChooser, asked: Iterable[_Asked]
) -> list[tuple[ChoiceRow, ConfigurationChoice]]:
    rows = []
    for text, sizes, every in asked:
        # Without an answer its thread space has to be named.
        with suppress(CutuneError):
            made = chooser.choose(sizes, every)
            rows.append((_choice_row(name, text, model, made), made))
    return rows


def _choice_row(name: str, size: str, model: FittedModel, made: ConfigurationChoice) -> ChoiceRow:
    choice, variant, tiles = made.chosen, made.variant, tiles_of(model)
    near, most = choice.within_band, len(choice.ranked)
    if tiles:
        variant = tile_text("" if variant.startswith(BLOCK_OF) else variant)
        # It keeps its block, so that its one block is compared with those of its tiles.
        near, most = near_best([p for _, p in made.ranked]), 1 + len(tiles)
    return ChoiceRow(
        name,
        size,
        own_block=shape(model.kernel.original),
        choice=configuration_text(choice.block, variant),
        speed_up=None if made.gain is None else round(made.gain, 2),
        within_2_percent=f"{near} of {most}" if choice.ranked else "-",
    )


def tuning_shown(
    seen: Sequence[SeenLaunch],
    models: Sequence[FittedModel],
    said: Sequence[Diagnostic],
    device: DeviceProfile,
    sizes: Sequence[int] | None = None,
    performance: str = DEFAULT,
    plan: RunPlan | None = None,
) -> Shown:
    """What `tune` shows of launches. `sizes`, `performance`, `plan`: see `choice_table`."""
    choices = choice_table(models, device, sizes, performance, plan)
    launches = outcomes(seen, models, choices, said, device.sm_count)
    asking = suggesting(seen)
    return Shown(device.name, choices.rows, choices.questions, launches, [], helping=asking)


def outcomes(
    seen: Iterable[SeenLaunch],
    models: Sequence[FittedModel],
    choices: Choices,
    said: Sequence[Diagnostic],
    multiprocessors: int = 0,
) -> list[LaunchRow]:
    """The outcome of each launch; `choices`: those of the models; multiprocessors of the GPU."""
    modelled: dict[SiteKey, set[str]] = {}
    for model in models:
        for site in model.kernel.sites:
            modelled.setdefault(site, set()).add(model.kernel.entry)
    launches = [*seen]
    known = {(one.file, one.line) for one in launches if one.site in modelled}
    return [
        _outcome(one, sorted(modelled.get(one.site, ())), choices, said, multiprocessors)
        for one in launches
        # Of kernels to which a pointer may lead, those that were launched.
        if not (one.is_possible and one.is_tunable and one.site not in modelled)
        or (one.file, one.line) not in known
    ]


def _outcome(
    launch: SeenLaunch,
    entries: Sequence[str],
    choices: Choices,
    said: Sequence[Diagnostic],
    multiprocessors: int,
) -> LaunchRow:
    fixed = {beyond(choices.fixed[one]): None for one in entries if one in choices.fixed}
    outcome, why, code = _result(launch, entries, choices.kept, said, [*fixed])
    if idle := next((choices.idle[one] for one in entries if one in choices.idle), ""):
        # No block is as good as any where most of the GPU has nothing to do.
        few = idle.removesuffix(MORE_BLOCKS) + (UNROLLED if launch.blocks else MORE_BLOCKS)
        why = f"{few}; {why}" if fixed else few
        code = Code.FEW_BLOCKS.number
    is_told = code == Code.FEW_BLOCKS.number or outcome is TuningOutcome.TUNED
    # As one would type it from the current folder.
    path = Path(launch.file)
    return LaunchRow(
        str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else launch.file,
        launch.line,
        launch.kernel,
        outcome,
        reason=why.removeprefix(f"kernel '{launch.kernel}' "),
        code=code or None,
        remark="" if is_told else idle_text(launch.blocks, multiprocessors, remedy=UNROLLED),
        is_helped=launch.helped is not None,
    )


def _result(
    launch: SeenLaunch,
    entries: Sequence[str],
    kept: Mapping[str, str],
    said: Sequence[Diagnostic],
    fixed: Sequence[str],
) -> tuple[TuningOutcome, str, str]:
    """The outcome, why, and the code of a message or nothing.

    `kept`: why kernels keep their own block. `fixed`: beyond which sizes they are not modelled.
    """
    if not launch.is_tunable:
        return TuningOutcome.REFUSED, launch.reason, launch.code
    if not entries:
        last = _last_about(launch, said)
        if last is None:
            return TuningOutcome.NOT_MODELLED, "no measurement of it", ""
        return TuningOutcome.NOT_MODELLED, last.message.splitlines()[0], last.code.number
    is_kept = all(entry in kept for entry in entries)
    if fixed and is_kept:
        # At other values of that size its own block stays, whichever would be better.
        return TuningOutcome.NOT_MODELLED, "; ".join(fixed), ""
    if fixed:
        return TuningOutcome.TUNED, "; ".join(f"not modelled {where}" for where in fixed), ""
    if is_kept:
        return TuningOutcome.KEPT, "; ".join(dict.fromkeys(kept[one] for one in entries)), ""
    return TuningOutcome.TUNED, "", ""


def _last_about(launch: SeenLaunch, said: Sequence[Diagnostic]) -> Diagnostic | None:
    """The last message of measuring that speaks of this launch, else of its kernel."""
    # What the analysis warns of (CT2..) is true of a launch that may be changed, and no reason.
    of_kernel = None
    for one in reversed([one for one in said if not one.code.number.startswith("CT2")]):
        if one.source is not None and one.span is not None:
            location = one.source.location(one.span.start)
            if (location.path, location.line) == (launch.file, launch.line):
                return one
        if of_kernel is None and one.about == launch.kernel:
            of_kernel = one
    return of_kernel


# ---- sizes that no run varied

#: Sizes that a line names.
MOST_NAMED = 4
#: A number that is a word of a command line, or the value of an option.
_WORD = r"(?<![^\s=]){value}(?!\S)"


def beyond(fixed: Mapping[str, int]) -> str:
    """`beyond C = 4`: where a kernel is not modelled."""
    named = _named(dict([*fixed.items()][:MOST_NAMED]))
    return f"beyond {named}{', …' if len(fixed) > MOST_NAMED else ''}"


def closing_line(name: str, fixed: Mapping[str, int], plan: RunPlan | None) -> str:
    """`k: not modelled beyond C = 4, which no run varied; try: …`"""
    line = f"{name}: not modelled {beyond(fixed)}"
    if plan is None:
        return line
    # A structure of several numbers is no word of a command line.
    sizes = [(n, v) for n, v in fixed.items() if not EXTENT.fullmatch(n) and v < 1 << 64]
    return "; ".join([line, *(_freed(*one, plan) for one in sizes[:MOST_NAMED])])


def _freed(name: str, value: int, plan: RunPlan) -> str:
    """What to write so that the runs vary this size."""
    values = f"{value},{2 * value or 1}"
    of_vary = [word for word, its in plan.vary.items() if [*its] == [str(value)]]
    if len(its := {*plan.vary.get(name, ())}) > 1 and str(value) in its:
        # Where it was smaller, launches told nothing of larger ones.
        return f"to free {name}, give it larger values: --vary {name}={values}"
    if len(of_vary) == 1:
        return f"to free {name}, give it other values: --vary {of_vary[0]}={values}"
    word = _new_word(name, plan.vary)
    places = [*re.finditer(_WORD.format(value=value), plan.run)] if value >= 0 else []
    if not of_vary and len(places) == 1:
        (place,) = places
        run = f"{plan.run[: place.start()]}{{{word}}}{plan.run[place.end() :]}"
        return f"to free {name}, try: --run {shlex.quote(run)} and --vary {word}={values}"
    if places or of_vary:
        return f"to free {name}, write {{{word}}} for it in --run, and --vary {word}={values}"
    return (
        f"no word of --run is {name}: where the program reads it, as from an argument, write"
        f" {{{word}}} for it in --run, and --vary {word}={values}"
    )


def _new_word(name: str, known: Mapping[str, Sequence[str]]) -> str:
    """A name for --vary that is none yet."""
    word = re.sub(r"\W", "", name.rpartition(".")[2]) or "size"
    while word in known or word == "program":
        word += "_"
    return word
