"""Programs that take the variant that they are told, and the same as they are."""

from __future__ import annotations

from collections.abc import Container, Sequence
from pathlib import Path

from cutune.measure.tile_trials import copies_that_do_the_same
from cutune.passes import ReplaceLaunches
from cutune.proof.analysis.analyzer import Analyzer
from cutune.proof.analysis.tried_tiles import Try
from cutune.proof.variants.repeat import NAME
from cutune.source.kernel_variant import KernelVariant
from cutune.source.program import Kernel, Program
from cutune.source.rewrite.output import Target
from cutune.source.rewrite.pipeline import TranslationUnit, run_passes
from cutune.toolchain.toolchain import Toolchain
from tests.support.cutune_runs import QUICK_FLAGS, compiled

#: The variant that the environment names, in blocks half as wide, wherever it may run.
_ROUTINE = """
static cutune_chosen cutune_select_named(const cutune_request *asked, cutune_shortlist *) {
    cutune_chosen chosen = cutune_only_block(asked->block);
    const char *const name = getenv("VARIANT"), *const halved = getenv("HALVED");
    for (int v = 1; v <= asked->site->variant_count; ++v)
        if ((asked->allowed >> v & 1u) != 0 && strcmp(asked->site->variants[v - 1].name, name) == 0)
            chosen.variant = v;
    if (*halved != 0 && chosen.variant != 0) chosen.block.x /= 2;
    return chosen;
}
enum : unsigned long long { cutune_select_named_arguments = 0 };
"""


def with_proven_variants(path: Path, try_copies: Try | None = None) -> Program:
    """Return a program with the variants that are proven; of copies that are tried, if any are."""
    analyzer = Analyzer(Toolchain(flags=QUICK_FLAGS), try_copies=try_copies)
    return analyzer.with_checked_variants(analyzer.load(str(path), require_nvcc=True))


def own_and_told(program: Program, folder: Path) -> tuple[Path, Path]:
    """Compile a program as it is, and one that takes the variant that VARIANT names."""
    routines = tuple((site.id, "cutune_select_named") for site in program.tunable_launches)
    unit = run_passes([ReplaceLaunches(_ROUTINE, routines)], TranslationUnit(program))
    source, path = Target(folder / "tuned.cu").write(unit), Path(program.source.path)
    original = compiled(path, path, folder / "original")
    return original, compiled(source, path, folder / "tuned")


def in_turn_alone(
    text: str, kernel: Kernel, copies: Sequence[KernelVariant]
) -> tuple[list[KernelVariant], dict[str, str]]:
    """As `copies_that_do_the_same`, of copies whose blocks do several blocks alone."""
    if any(one.transform != NAME for one in copies):
        return [], {}
    return copies_that_do_the_same(text, kernel, copies)


def in_turn_by_two(by_four: Container[str]) -> Try:
    """As `in_turn_alone`, of copies that do two blocks; of these kernels four blocks as well."""

    def tried(
        text: str, kernel: Kernel, copies: Sequence[KernelVariant]
    ) -> tuple[list[KernelVariant], dict[str, str]]:
        by_two = [one for one in copies if one.transform != NAME or "2" in one.name]
        return in_turn_alone(text, kernel, copies if kernel.name in by_four else by_two)

    return tried
