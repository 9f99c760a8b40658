"""Programs whose launches are decided by known routines. Takes a program and `SelectionText`.

The text of all routines follows from models and GPUs alone. So it is kept in the user's cache for
the builds that follow, which start quicker: this module, and what it imports, loads no model.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path

from cutune.core.typed import parsed, typed
from cutune.passes import ChooseValues, ReplaceLaunches, ReplaceTunables
from cutune.proof.analysis.analyzer import Analyzer
from cutune.proof.variants.registry import with_only
from cutune.source.program import Program, SiteKey
from cutune.source.rewrite.pipeline import TranslationUnit, rewrite
from cutune.toolchain.cache import cache_folder, keep_whole, kept_whole, key_of

#: Pragmas, macros, and which headers there are. `_Pragma` may stand anywhere.
_DIRECTIVE = re.compile(r"^[ \t]*#(?:.*\\\r?\n)*.*", re.MULTILINE)

#: What names numbers that launches may use.
_CONSTANT = re.compile(r"\b(?:const|constexpr|constinit|enum)\b[^;]*")

#: Where a name was last written, by the number of the token.
_PLACE = re.compile(r"@\d+:\d+")

#: Macros of nvcc and of cutune: what they decide about kernels is in the device code.
_OF_NVCC = re.compile(r"__\w+|CUDA_\w+|CUTUNE_\w+|_GNU_SOURCE")


def decisive(program: Program) -> str:
    """Return a hash of all that models follow from: `DEVICE.COMMAND`, or a part of that.

    DEVICE is of the device code, the text of kernels and launches, the configurations that are
    known, directives and constants; empty where models follow from more than that. Host code
    besides is none of it: what it computes, a launch asks at run time. COMMAND is of macros that
    the command defines, and these texts use.
    """
    found = [*_texts(program)]
    macros = _used(found, program.defined)
    code = program.code.emulated if program.code is not None else ""
    device = _digest([code, *found]) if code and not _follow_from_more(program) else ""
    return f"{device}.{_digest(macros)}" if macros else device


def decided_by_device(decided: str) -> bool:
    """Does all that models follow from stand in this hash?"""
    return not decided.startswith(".") and decided != ""


def command_of(decided: str) -> str:
    """The part of the hash that is of the command."""
    return decided.partition(".")[2]


def _follow_from_more(program: Program) -> bool:
    files = (program.source, *program.headers)
    parameters = (*program.tunables, *program.constants, *program.regions)
    has_members = any(kernel.members for kernel in program.kernels)
    is_read = has_members or bool(parameters) or bool(program.borrowed)
    return is_read or any("_Pragma" in file.text for file in files)


def _texts(program: Program) -> Iterator[str]:
    for file in (program.source, *program.headers):
        yield from (file.path, *_DIRECTIVE.findall(file.text), *_CONSTANT.findall(file.text))
    for kernel in program.kernels:
        yield from (kernel.name, kernel.source.path, kernel.source[kernel.span])
    for site in program.launches:
        configuration = _PLACE.sub("", str(site.resolved))
        yield f"{site.id} {site.source.path} {site.function} {site.verdict} {configuration}"
        yield from (site.source[site.span], site.kernel, *site.filled)


def _digest(texts: Iterable[str]) -> str:
    return sha256("\0".join(texts).encode("latin-1", "replace")).hexdigest()[:16]


def _used(texts: Iterable[str], macros: Mapping[str, str]) -> list[str]:
    """The definitions of macros that stand in texts, and in such definitions."""
    macros = {name: text for name, text in macros.items() if not _OF_NVCC.fullmatch(name)}
    words = {word for text in texts for word in re.findall(r"\w+", text)} if macros else set()
    found: dict[str, str] = {}
    while new := {name: macros[name] for name in sorted(words & macros.keys() - found.keys())}:
        found |= new
        words = {word for text in new.values() for word in re.findall(r"\w+", text)}
    return [f"{name} {text}" for name, text in sorted(found.items())]


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
        """Return the routines there; None where there are none, or they are damaged."""
        text = kept_whole(self.path)
        return None if text is None else typed(SelectionText, parsed(text))

    def keep(self, selection: SelectionText) -> None:
        """Keep the routines of models that all follow from what `decisive` looks at."""
        entry = {
            "text": selection.text,
            "routines": [(asdict(site), routine) for site, routine in selection.routines],
            "variants": {name: sorted(its) for name, its in selection.variants.items()},
        }
        keep_whole(self.path, json.dumps(entry))
