"""Programs whose launches are decided by known routines. Takes a program and `SelectionText`.

The text of all routines follows from models and GPUs alone. So it is kept in the user's cache for
the builds that follow, which start quicker: this module, and what it imports, loads no model.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from cutune.core.typed import parsed, typed
from cutune.model.measurement.decisive import decided_by_device, decisive
from cutune.passes import ChooseValues, ReplaceLaunches, ReplaceTunables
from cutune.proof.analysis.analyzer import Analyzer
from cutune.proof.variants.registry import with_only
from cutune.source.program import Program, SiteKey
from cutune.source.rewrite.pipeline import TranslationUnit, rewrite
from cutune.toolchain.cache import cache_folder, keep_text, kept_text, key_of


@dataclass(frozen=True)
class SelectionText:
    """C++ of all routines, which of them serves which site, and by kernel the chosen variants."""

    text: str
    routines: tuple[tuple[SiteKey, str], ...]
    variants: Mapping[str, frozenset[str]]


def with_selection(
    analyzer: Analyzer,
    program: Program,
    selection: SelectionText,
    tunables: ReplaceTunables | None = None,
    values: ChooseValues | None = None,
) -> TranslationUnit:
    """The program whose launches choose blocks by these routines, and tunables values."""
    if any(selection.variants.values()):
        program = with_only(analyzer.with_checked_variants(program), selection.variants)
    routines = tuple((site.id, routine) for site, routine in selection.routines)
    launches = ReplaceLaunches(selection=selection.text, routines=routines)
    steps = (launches, tunables or ReplaceTunables(), values or ChooseValues())
    return rewrite(program, steps, analyzer.reporter)


@dataclass(frozen=True)
class SelectionPlace:
    """Where the routines of a program are kept."""

    path: Path

    @staticmethod
    def of(about: str, program: Program) -> SelectionPlace | None:
        """The place; None where models may follow from more than `decisive` looks at.

        `about`: a digest of models, GPUs and options, and of the code of cutune.
        """
        decided = decisive(program)
        if not about or not decided_by_device(decided):
            return None
        return SelectionPlace(cache_folder() / "selections" / key_of(about, decided))

    def kept(self) -> SelectionText | None:
        """What is kept there; None where there is none, or it is damaged."""
        check, _, text = (kept_text(self.path) or "").partition("\n")
        return typed(SelectionText, parsed(text)) if check == key_of(text) else None

    def keep(self, selection: SelectionText) -> None:
        """Keep the routines of models that all follow from what `decisive` looks at."""
        entry = {
            "text": selection.text,
            "routines": [(asdict(site), routine) for site, routine in selection.routines],
            "variants": {name: sorted(its) for name, its in selection.variants.items()},
        }
        text = json.dumps(entry)
        keep_text(self.path, f"{key_of(text)}\n{text}")
