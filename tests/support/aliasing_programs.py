"""Programs whose pointers meet, or do not; and the same with the variant wherever it may run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from cutune.passes import ReplaceLaunches
from cutune.proof.analysis.analyzer import Analyzer
from cutune.source.rewrite.edits import variants_at
from cutune.source.rewrite.output import Target
from cutune.source.rewrite.pipeline import TranslationUnit, run_passes
from cutune.toolchain.toolchain import Toolchain

PROGRAM = Path(__file__).parents[1] / "corpus" / "programs" / "aliasing.cu"
#: The variant, wherever it may run: then it says so.
ROUTINE = """
static cutune_chosen cutune_select_any(const cutune_request *asked, cutune_shortlist *) {
    cutune_chosen chosen = cutune_only_block(asked->block);
    if ((asked->allowed & 2u) == 0) return chosen;
    cutune_say(cutune_stderr, "a variant may run\\n");
    chosen.variant = 1;
    return chosen;
}
enum : unsigned long long { cutune_select_any_arguments = 0 };
"""
#: What the program ends with where device 0 cannot use the memory of device 1.
NO_PEERS = 77
#: How many of the launches are of the variant, and how many there are.
KINDS = {
    "apart": (3, 3),
    "same": (0, 3),
    "overlap": (0, 3),
    "halves": (0, 3),
    "again": (3, 7),
    "pending": (3, 4),
    "managed": (3, 3),
    "mapped": (0, 3),
    "pool": (0, 3),
    "filed": (0, 3),
    # The second array is on device 1, to which device 0 has access.
    "peer": (3, 3),
    "peer-same": (0, 3),
    "peer-halves": (0, 3),
    "peer-pool": (0, 3),
}


def with_variant(source: Path, folder: Path, flags: Sequence[str]) -> Path:
    """The source of a program in which each launch prefers the variant of its kernel."""
    analyzer = Analyzer(Toolchain(flags=tuple(flags)))
    program = analyzer.with_checked_variants(analyzer.load(str(source), require_nvcc=True))
    assert all(variants_at(program, site) for site in program.tunable_launches)
    routines = tuple((site.id, "cutune_select_any") for site in program.tunable_launches)
    unit = run_passes([ReplaceLaunches(ROUTINE, routines)], TranslationUnit(program))
    return Target.within(program, folder, "tuned").write(unit)
