"""Let every launch that has a selection routine choose its thread block at run time.

Before:

    gemm<<<grid, block>>>(n, A);

After:

    … the emitted routines, their table, and `cutune_launch`, packed: the file needs no header …
    #line 1 "gemm.cu"
    cutune_launch(7, grid, block) ? (void)0 : cutune_call(gemm)(n, A);
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from pathlib import Path
from typing import ClassVar

from cutune.source.program import LaunchSite, Program
from cutune.source.rewrite import compact_cpp
from cutune.source.rewrite.compact_cpp import (
    cpp_tokens,
    packed_text,
    short_names,
    with_joined_declarations,
    with_names,
    with_short_casts,
    without_unused,
)
from cutune.source.rewrite.edits import edits_of, variants_at, with_launch_edits
from cutune.source.rewrite.pipeline import Pass, TranslationUnit
from cutune.source.rewrite.site_table import (
    launching_headers,
    lent_code,
    needed_headers,
    site_table,
)
from cutune.toolchain.cache import cache_folder, keep_whole, kept_whole, key_of, state_of
from cutune.toolchain.nvcc import INCLUDE_DIRECTORY

#: nvcc does not optimise the host's code unless it is asked to; a decision took four times as long.
#: Where it is, these options take half as long to compile as -O3, and decide nearly as fast.
_OPTIMIZED = """\
#if defined(__GNUC__) && !defined(__clang__) && defined(__NVCC_DIAG_PRAGMA_SUPPORT__)
#define CUTUNE_OPTIMIZED
#pragma nv_diagnostic push
#pragma nv_diag_suppress 1675
#pragma GCC push_options
#ifdef __OPTIMIZE__
#pragma GCC optimize("O1", "inline-small-functions", "strict-aliasing", "tree-slp-vectorize")
#else
#pragma GCC optimize("O2")
#endif
#pragma nv_diagnostic pop
#endif"""
_BEFORE_SELECTION = (
    "cutune_tables.h",
    "cutune_operators.h",
    "cutune_host.h",
    "cutune_choice.h",
    "cutune_refine.h",
    "cutune_select.h",
    "cutune_threads.h",
)
#: Where no site launches several instances of a template, nothing tells them apart.
_ONE_SIGNATURE = "template <class...> inline cutune_word cutune_signature() { return 0; }\n"
_AS_ASKED = """\
#ifdef CUTUNE_OPTIMIZED
#undef CUTUNE_OPTIMIZED
#pragma GCC pop_options
#endif
"""


@dataclass(frozen=True)
class ReplaceLaunches(Pass):
    """The launch edit with what the tuned program has behind it."""

    name: ClassVar[str] = "replace-launches"

    #: Emitted C++: the selection routines, written against cutune_launch.h.
    selection: str = ""
    #: Site and the name of its routine; a site without one stays as it was, byte for byte.
    routines: tuple[tuple[int, str], ...] = ()
    #: Is a decision kept for launches of the same sizes?
    remembers: bool = True
    #: The function that chooses how many threads there are, where any number may be.
    threads: str = "cutune_try_threads"

    def run(self, unit: TranslationUnit) -> TranslationUnit:
        program = unit.program
        unit = unit.with_prelude(lent_code(program))
        routines = dict(self.routines)
        sites = tuple(site for site in program.tunable_launches if site.id in routines)
        if not sites:
            return unit
        told = "signature" in self.selection
        before = (
            "cutune_launch.h",
            *(("cutune_signature.h",) if told else ()),
            *needed_headers(program, sites),
            *_BEFORE_SELECTION,
        )
        behind = ("cutune_tuned.h", *launching_headers(sites))
        emitted = (
            f"{'' if told else _ONE_SIGNATURE}{self.selection}\n"
            f"{site_table(program, sites, routines, self.threads)}"
            f"enum {{ cutune_remembers = {int(self.remembers)} }};\n"
        )
        launches = _words_in_launches(program, sites)
        defined = _defined(program, sites)
        text = _prelude(before, emitted, behind, launches, defined)
        return with_launch_edits(unit, sites, _title(self.selection) + text)


def _defined(program: Program, sites: Sequence[LaunchSite]) -> frozenset[str]:
    """The words by which headers leave out what no launch needs."""
    variants = [one for site in sites for one in variants_at(program, site)]
    if any(one.tile for one in variants):
        return frozenset({_TILES})
    return frozenset() if any(one.aligned for one in variants) else frozenset({_NO_VECTORS})


def _prelude(
    before: Sequence[str],
    emitted: str,
    behind: Sequence[str],
    launches: set[str],
    defined: frozenset[str],
) -> str:
    """Emitted code between headers, packed. Most builds of a source have the same: it is kept."""
    files = [Path(__file__), Path(compact_cpp.__file__)]
    files += sorted(INCLUDE_DIRECTORY.glob("*.h"))
    about = json.dumps([before, behind, sorted(launches), sorted(defined)])
    place = cache_folder() / "preludes" / key_of(emitted, about, *map(state_of, files))
    if (kept := kept_whole(place)) is not None:
        return kept
    code = _with_headers(before, with_short_casts(cpp_tokens(emitted)), behind, launches, defined)
    text = optimized(packed_text(with_joined_declarations(code)))
    keep_whole(place, text)
    return text


def _title(selection: str) -> str:
    """The comment that stays: for which devices it was made, and where to read the rest."""
    first = selection.partition("\n")[0]
    title = f"{first} " if first.startswith("//") else "// "
    return f"{title}In readable form: cutune/include, docs/model.md.\n"


def _with_headers(
    before: Sequence[str],
    emitted: Sequence[str],
    behind: Sequence[str],
    wanted: set[str],
    defined: frozenset[str],
) -> list[str]:
    """Emitted code with what it needs of the headers, whose variables get short names."""
    headers = [[t for name in names for t in _header(name, defined)] for names in (before, behind)]
    words = wanted.union(re.findall(r"\w+", " ".join(emitted)))
    names = short_names([*headers[0], *headers[1]], words)
    first, last = (with_names(header, names) for header in headers)
    return without_unused([*first, *emitted, *last], wanted)


def _words_in_launches(program: Program, sites: Sequence[LaunchSite]) -> set[str]:
    edits = (edits for _, edits in edits_of(program, sites))
    return {name for edit in chain(*edits) for name in re.findall(r"\w+", edit.text)}


def optimized(text: str) -> str:
    """Have text compiled with optimisation in any build, but for what it includes."""
    lines = text.splitlines()
    included = list(dict.fromkeys(line for line in lines if line.startswith("#include <")))
    others = (line for line in lines if not line.startswith("#include <"))
    return "\n".join([*included, _OPTIMIZED, *others, _AS_ASKED])


#: What only launches of copies with other constants need, or of such that access vectors.
_TILES, _NO_VECTORS = "CUTUNE_TILES", "CUTUNE_NO_VECTORS"
_PART = re.compile(
    rf"^#if(n?)def ({_TILES}|{_NO_VECTORS})\n(.*?)^#endif\n", re.MULTILINE | re.DOTALL
)


@cache
def _header(name: str, defined: frozenset[str]) -> tuple[str, ...]:
    text = (INCLUDE_DIRECTORY / name).read_text(encoding="ascii")
    text = _PART.sub(lambda part: part[3] if (part[2] in defined) != bool(part[1]) else "", text)
    # Each stands in the file once: the guard of its text is not needed.
    guard = re.compile(
        r"^#ifndef (\w+_H)\n#define \1\n(.*)^#endif[^\n]*\n\Z", re.MULTILINE | re.DOTALL
    )
    guarded = guard.search(text)
    return tuple(with_short_casts(cpp_tokens(guarded[2] if guarded is not None else text)))
