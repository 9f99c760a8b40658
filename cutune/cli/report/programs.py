"""Launches and kernels as `inspect` shows them: tables, JSON, SARIF, suggestions. Takes `Program`s.

Launches that have to be tunable (`inspect --require`) and are not are found here, too.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from rich.console import Console
from rich.text import Text

from cutune import __version__
from cutune.cli.report.console import aligned, with_remarks
from cutune.core.codes import Code
from cutune.core.diagnostics import Diagnostic, known_names
from cutune.core.diagnostics import shown as readable
from cutune.core.source import Source, Span
from cutune.model.selection.choose import UNROLLED, idle_text
from cutune.proof.analysis.recorded_launches import constant_blocks
from cutune.proof.analysis.suggestions import Suggestion, suggestions
from cutune.search.program_space import ProgramSpace, Setting
from cutune.source.host_formula import Formula, constant, text_of
from cutune.source.kernel_variant import KernelVariant
from cutune.source.program import (
    DIMENSIONS,
    Configuration,
    DimensionProof,
    GridForm,
    HostTunable,
    Kernel,
    KernelCopy,
    LaunchSite,
    Placed,
    Program,
    Verdict,
)
from cutune.space.parameter import listed, shown
from cutune.toolchain.kernel_names import brief, plain_name

if TYPE_CHECKING:
    from cutune.search.clones.find_copies import BySizeVerdict

Json = dict[str, object]


def to_json(programs: Sequence[Program]) -> Json:
    """All launches and kernels; `schema` names the form of the document."""
    return {
        "schema": "cutune-inspect-1",
        "launches": [_launch_json(p, site) for p in programs for site in p.launches],
        "kernels": [_kernel_json(p, kernel) for p in programs for kernel in p.kernels],
        "tunables": [_tunable_json(tunable) for p in programs for tunable in p.tunables],
        "regions": [
            {**_at(region.source, region.begin), "may_repeat": region.may_repeat}
            for p in programs
            for region in p.regions
        ],
    }


def _launch_json(program: Program, site: LaunchSite) -> Json:
    kernel = program.kernel(site.kernel)
    return {
        "id": site.id,
        "kernel": site.kernel,
        "callee": site.pointer or site.callee,
        **_at(site.source, site.span),
        "function": site.function,
        "verdict": verdict_of(program, site),
        "reason": why_unmodelled(program, site) or site.reason,
        "code": site.code.number if site.code is not None else None,
        "pure_dimensions": list(kernel.pure_dimensions) if kernel is not None else [],
        "guards": _guards(kernel) if kernel is not None else {},
        "data_parameters": list(kernel.sizes) if kernel is not None else [],
        "configuration": list(site.configuration),
        "resolved": _resolved_json(site.resolved) if site.resolved is not None else None,
        "shared": site.shared,
    }


def _at(placed: Source, span: Span) -> Json:
    return {"file": placed.path, "line": placed.location(span.start).line}


def _resolved_json(resolved: Configuration) -> Json:
    """Per dimension: the number, else the formula; and how the grid follows from the block."""
    return {
        "grid": [_size(size) for size in resolved.grid],
        "block": [_size(size) for size in resolved.block],
        "shared": _size(resolved.shared) if resolved.shared is not None else None,
        "grid_forms": [form.value for form in resolved.forms],
    }


def _size(formula: Formula) -> str:
    value = constant(formula)
    return str(value) if value is not None else text_of(formula)


def _tunable_json(tunable: HostTunable) -> Json:
    return {
        "name": tunable.name,
        **_at(tunable.source, tunable.value),
        "value": tunable.source[tunable.value],
        "choices": list(tunable.choices),
        "data": list(tunable.data),
        "given": list(tunable.given),
    }


def _kernel_json(program: Program, kernel: Kernel) -> Json:
    return {
        "kernel": kernel.name,
        **_at(kernel.source, kernel.span),
        "launches": [site.id for site in program.launches if site.kernel == kernel.name],
        "pure_dimensions": list(kernel.pure_dimensions),
        "guards": _guards(kernel),
        "grid_stride": [name for name, d in _by_name(kernel) if d.grid_stride],
        "grid_kept": [name for name, d in _by_name(kernel) if d.grid_kept],
        "parameters": [{"name": p.name, "type": p.type} for p in kernel.parameters],
        "data_parameters": list(kernel.sizes),
        "roles": {p.name: p.role.value for p in kernel.data_parameters},
        "reason": reason_of(kernel),
        "asserted": list(kernel.asserted),
        "needs_warps": kernel.needs_warps,
        "copied_for": list(kernel.copy.block) if kernel.copy is not None else None,
        "variants": [_variant_json(kernel, variant) for variant in kernel.variants],
        "variant_reasons": [
            {"variant": name, "code": reason.code.number, "reason": reason.message}
            for name, reason in kernel.variant_reasons
        ],
    }


def _variant_json(kernel: Kernel, variant: KernelVariant) -> Json:
    """The variant, and the pointers of which its condition speaks."""
    tile = variant.tile
    return {
        "variant": variant.name,
        "kernel": variant.kernel,
        "values": dict(tile.values) if tile is not None else {},
        "block": list(tile.block) if tile is not None else None,
        "coarsen": list(variant.coarsen),
        "bounds": list(variant.bounds) if variant.bounds is not None else None,
        "pointers": [kernel.parameters[index].name for index in variant.pointers],
        "written": [kernel.parameters[index].name for index in variant.written],
        "aligned": [kernel.parameters[index].name for index in variant.aligned],
        "divided": [kernel.parameters[index].name for index in variant.divided],
    }


def _by_name(kernel: Kernel) -> Iterator[tuple[str, DimensionProof]]:
    return zip(DIMENSIONS, kernel.dimensions, strict=True)


def _guards(kernel: Kernel) -> dict[str, str]:
    return {name: d.guard for name, d in _by_name(kernel) if d.guard is not None}


def reason_of(kernel: Kernel) -> str | None:
    """Why some of a kernel's dimensions keep their block, or None."""
    return kernel.reason.message if kernel.reason is not None else None


def print_programs(
    programs: Sequence[Program], console: Console | None = None, multiprocessors: int = 0
) -> None:
    """Print a table per file: one line per launch, and one per kernel without a launch.

    Of a launch that leaves most of so many multiprocessors idle that is told. On a terminal there
    are colours and reasons are wrapped; in a pipe each row is one whole line.
    """
    console = console or Console(emoji=False)
    say = partial(console.print, markup=False, highlight=False)
    for program in programs:
        rows = tuple(_rows(program, multiprocessors))
        if rows and console.is_terminal:
            say(program.source.path, style="bold")
            for row_or_remark in with_remarks(_COLUMNS, rows, console.width):
                console.print(row_or_remark)
        elif rows:
            say("\n".join([program.source.path, *aligned([_COLUMNS, *rows])]), soft_wrap=True)
        for line in (*_variant_lines(program), *_on_data_lines(program)):
            within = fill(line, console.width, **_INDENTED) if console.is_terminal else line
            say(within, soft_wrap=True)
        for line in _parameter_lines(program):
            say(line)
        if rows or program.tunables:
            console.print()
    console.print(_counted(programs), highlight=False)


def _variant_lines(program: Program) -> Iterator[str]:
    """The variants of each kernel, and why it lacks others."""
    for kernel in program.kernels:
        if names := ", ".join(one.name for one in kernel.variants):
            yield f"{kernel.name}: variant {names}"
        for _, why in kernel.variant_reasons:
            yield f"{kernel.name} {why.message} [{why.code.number}]"


def _on_data_lines(program: Program) -> Iterator[str]:
    """What `tune` will say of kernels whose work depends on data."""
    number = Code.COUNTED_ON_DATA.number
    for name, reason in program.on_data:
        yield f"{name} is counted on the data of the runs: {reason} [{number}]"


def _parameter_lines(program: Program) -> Iterator[str]:
    """The integers of the host that may be chosen, and the regions that may repeat."""
    for host in program.tunables:
        place, by = place_of(program, host, host.value, "line "), (*host.data, *host.given)
        yield f"tunable {host.name} ({place}): {listed(host.choices)}; by {', '.join(by)}"
    for region in program.regions:
        if region.may_repeat:
            yield f"region ({place_of(program, region, region.begin, 'line ')}): may repeat"


def _counted(programs: Sequence[Program]) -> str:
    """`12 launches, 7 tunable, 1 of them not modelled`."""
    launches = [(program, site) for program in programs for site in program.launches]
    tunable = sum(site.verdict is Verdict.TUNABLE for _, site in launches)
    without_model = sum(bool(why_unmodelled(program, site)) for program, site in launches)
    unmodelled = f", {without_model} of them not modelled" if without_model else ""
    noun = "launch" if len(launches) == 1 else "launches"
    return f"{len(launches)} {noun}, {tunable} tunable{unmodelled}"


def place_of(program: Program, placed: Placed, span: Span, word: str = "") -> str:
    """The line of a span, behind a word; behind its file instead where that is a header."""
    line = placed.source.location(span.start).line
    return f"{word if placed.source is program.source else f'{placed.source.path}:'}{line}"


def _line_of(one: LaunchSite | Kernel) -> int:
    return one.source.location(one.span.start).line


_COLUMNS = ("launch", "line", "kernel", "verdict", "grid", "threads", "sizes", "reason")
KEEP = "keep"
#: How lines of a paragraph are wrapped: its words, such as commands, stay whole.
_INDENTED: dict[str, Any] = {
    "subsequent_indent": " " * 4,
    "break_on_hyphens": False,
    "break_long_words": False,
}
#: The verdict on a launch that is proven, and that no model can choose for.
NOT_MODELLED = "tunable by proof, not modelled"
_Row = Sequence[str | Text]


def _rows(program: Program, multiprocessors: int) -> Iterator[_Row]:
    for site in program.launches:
        yield _launch_row(program, site, multiprocessors)
    launched = {site.kernel for site in program.launches}
    called = {d.about for d in program.diagnostics if d.code is Code.LAUNCHED_BY_CALL}
    for kernel in program.kernels:
        if kernel.name not in launched:
            yield _unlaunched_row(kernel, is_called=kernel.name in called)


def _launch_row(program: Program, site: LaunchSite, multiprocessors: int) -> _Row:
    is_tunable, why = site.verdict is Verdict.TUNABLE, why_unmodelled(program, site)
    kernel = program.kernel(site.kernel) if is_tunable else None
    remark = _kept(kernel) if kernel is not None else _refusal(site)
    blocks = constant_blocks(site, program.kernel(site.kernel))
    if few := idle_text(blocks, multiprocessors, remedy=UNROLLED):
        few = f"{few} [{Code.FEW_BLOCKS.number}]"
    return (
        str(site.id),
        place_of(program, site, site.span),
        Text(_callee(site), "bold"),
        Text(verdict_of(program, site), "green" if is_tunable and not why else "yellow"),
        _grid_form(site, kernel),
        *_threads_and_sizes(kernel),
        Text("; ".join(filter(None, [why, remark, few]))),
    )


def why_unmodelled(program: Program, site: LaunchSite) -> str:
    """Why no model can be made for a launch that may be tuned; empty if one can."""
    reason = dict(program.unmodelled).get(site.kernel, "")
    return reason if site.verdict is Verdict.TUNABLE else ""


def verdict_of(program: Program, site: LaunchSite) -> str:
    """The verdict in words, of which there are three."""
    return NOT_MODELLED if why_unmodelled(program, site) else site.verdict.value


def _grid_form(site: LaunchSite, kernel: Kernel | None) -> str:
    """How the grid follows from the block, dimensions of one block left out: `ceil, truncates`.

    Where an annotation of the kernel keeps it, `keep`, however it is spelled.
    """
    grid_kept = [d.grid_kept for d in kernel.dimensions] if kernel is not None else [False] * 3
    if site.resolved is None:
        return KEEP if any(grid_kept) else ""
    forms = zip(site.resolved.forms, grid_kept, strict=True)
    shown = dict.fromkeys(
        KEEP if is_kept else form.value
        for form, is_kept in forms
        if is_kept or form is not GridForm.SINGLE
    )
    if GridForm.UNKNOWN.value in shown and len(shown) > 1:
        del shown[GridForm.UNKNOWN.value]
    return ", ".join(shown) or GridForm.SINGLE.value


def _callee(site: LaunchSite) -> str:
    arguments = re.search(
        rf"\b{re.escape(plain_name(site.kernel))}\s*(<.*>)$", site.callee, re.DOTALL
    )
    return brief(site.kernel + " ".join(arguments[1].split())) if arguments else site.kernel


def _refusal(site: LaunchSite) -> str:
    reason = site.reason.removeprefix(f"kernel '{site.kernel}' ")
    return f"{reason} [{site.code.number}]" if site.code is not None else reason


def _unlaunched_row(kernel: Kernel, is_called: bool) -> _Row:
    pure = bool(kernel.pure_dimensions)
    remark = "launched by a call" if is_called else "not launched here"
    if not pure:
        remark = f"{remark}; {reason_of(kernel) or 'has no index'}"
    return (
        "-",
        str(_line_of(kernel)),
        Text(kernel.name, "bold"),
        Text("pure" if pure else "not pure", "dim"),
        "",
        *_threads_and_sizes(kernel if pure else None),
        Text(remark, "dim"),
    )


def _threads_and_sizes(kernel: Kernel | None) -> tuple[str, str]:
    """The pure dimensions with their bounds (`x < NJ, y per block`), and the data parameters."""
    if kernel is None:
        return "", ""
    threads = []
    for name, one in _by_name(kernel):
        if name in kernel.pure_dimensions:
            bound = f" < {one.guard}" if one.guard is not None else ""
            bound = " strided" if one.grid_stride else " per block" if one.grid_kept else bound
            bound = f"{bound} in any grid" if one.grid_free is not None else bound
            threads.append(f"{name}{bound}")
    return ", ".join(threads), ", ".join(kernel.sizes)


def _change(copy: KernelCopy) -> str:
    """What a copy of a kernel does otherwise."""
    if copy.is_flat:
        return "has its rows in x, a warp each"
    if copy.is_of_one_block:
        return "has the places in its one block as ids of threads"
    if copy.block == (1, 1, 1):
        return "has the blocks' places as ids of threads"
    if copy.is_of_warps:
        return "has warps in the place of blocks"
    sizes = " x ".join(str(size) for size in copy.block if size > 0)
    read = " and ".join(filter(None, (sizes, "an argument" if copy.widths else "")))
    return f"reads its block in place of {read}" if read else "has loops that are not unrolled"


def _kept(kernel: Kernel) -> str:
    reason, remarks = reason_of(kernel), []
    if kernel.asserted:
        remarks.append(f"any block in {', '.join(kernel.asserted)} by annotation")
    elif kernel.tiles:
        values = "; ".join(one.tile.text for one in kernel.tiles if one.tile is not None)
        remarks.append(f"its block is fixed, and copies do the same with {values}")
    elif reason:
        remarks.append(f"other dimensions are kept: {reason}")
    if kernel.needs_warps:
        remarks.append("each warp keeps its threads")
    if kernel.copy is not None:
        remarks.append(f"launched as a copy that {_change(kernel.copy)}")
    return "; ".join(remarks)


def suggestions_of(programs: Iterable[Program]) -> list[Suggestion]:
    """Suggestions for all sources of a program."""
    return [suggestion for program in programs for suggestion in suggestions(program)]


def print_suggestions(
    programs: Sequence[Program],
    console: Console | None = None,
    found: Iterable[Suggestion] | None = None,
) -> None:
    """Print each as a paragraph that begins with its place. `found`: None stands for all."""
    console = console or Console(emoji=False)
    paragraphs = [_paragraph(one) for one in (suggestions_of(programs) if found is None else found)]
    paragraphs += [text for program in programs for text in _unmodelled(program)]
    if not paragraphs:
        console.print("nothing to suggest: no launch was refused", highlight=False)
    for text in paragraphs:
        shown = _wrapped(text, console.width) if console.is_terminal else text
        console.print(shown, markup=False, highlight=False, soft_wrap=True)


def _unmodelled(program: Program) -> Iterator[str]:
    for site in program.launches:
        if why := why_unmodelled(program, site):
            yield (
                f"{site.source.path}:{_line_of(site)}: launch of '{site.kernel}'\n"
                f"    Any legal block gives the same, but which is fast is not known: {why}. No "
                "annotation helps; the launch stays as it is."
            )


def _wrapped(text: str, width: int) -> str:
    """A paragraph for a terminal. Places and pragmas, which are copied, stay whole."""
    lines = (
        line if "#pragma" in line or not line.startswith(" ") else fill(line, width, **_INDENTED)
        for line in text.splitlines()
    )
    return "\n".join(lines)


def _paragraph(suggestion: Suggestion) -> str:
    what, pragma = f"launch of '{suggestion.kernel}'", ""
    if suggestion.pragma is not None:
        noun = "the launch in line" if len(suggestion.launches) == 1 else "the launches in lines"
        what = f"insert, for {noun} {', '.join(map(str, suggestion.launches))}"
        pragma = f"    {suggestion.pragma}\n"
    head = f"{suggestion.file}:{suggestion.line}: {what} [{suggestion.code}]\n"
    tried = f"\n    {suggestion.tried}" if suggestion.tried is not None else ""
    return f"{head}{pragma}    {suggestion.text}{tried}"


#: The status where a launch that has to be tunable is not.
NOT_AS_REQUIRED = 3


def _is_meant(site: LaunchSite, pattern: str) -> bool:
    names = (site.kernel, plain_name(site.kernel))
    return any(fnmatchcase(name, pattern) for name in names)


def lacking(programs: Sequence[Program], patterns: Sequence[str]) -> Iterator[Diagnostic]:
    """Patterns that match no launch, and launches that they match and that are not tunable."""
    launches = [(program, site) for program in programs for site in program.launches]
    names = [site.kernel for _, site in launches]
    for pattern in dict.fromkeys(patterns):
        matching = [(p, site) for p, site in launches if _is_meant(site, pattern)]
        if not matching:
            known = known_names(pattern, names)
            yield Diagnostic.at(Code.NOTHING_REQUIRED, name=pattern, known=known)
        for program, site in matching:
            if verdict_of(program, site) != Verdict.TUNABLE.value:
                number = f" [{site.code.number}]" if site.code is not None else ""
                reason = why_unmodelled(program, site) or f"{site.reason}{number}"
                code, kernel = Code.REQUIRED_NOT_TUNABLE, site.kernel
                about = site.source, site.span
                yield Diagnostic.at(code, *about, pattern=pattern, kernel=kernel, reason=reason)


def space_lines(
    program: Program, program_space: ProgramSpace, verdicts: Mapping[str, BySizeVerdict]
) -> Iterator[str]:
    """Parameters with their places, unless they are host integers; how many configurations."""
    for tunable in program.constants:
        place = place_of(program, tunable, tunable.value, "line ")
        by = f"; by {', '.join(tunable.data)}" if tunable.data else ""
        values = listed(tunable.parameter.values)
        yield f"constant {tunable.name} ({place}): {values}; is {tunable.own_text}{by}"
        verdict = verdicts[tunable.name]
        how = f"chosen at each call of {verdict.outer}"
        if verdict.note is not None:
            how = f"no; {verdict.note.message} [{verdict.note.code.number}]"
        yield f"  by size: {how}"
    for parameter in program_space.space.parameters:
        setting = program_space.settings[parameter.name]
        if setting in (Setting.FLAG, Setting.MAKE, Setting.RUN):
            yield f"{setting.value} {{{parameter.name}}}: {listed(parameter.values)}"
    size, raw, builds = program_space.space.size, program_space.space.raw_size, program_space.builds
    of = "" if size == raw else f" of {raw:,}"
    programs = "1 program" if builds == 1 else f"{builds:,} programs"
    yield f"space: {size:,}{of} configurations, {programs} to build"
    for condition in program_space.sized:
        yield f"asked at each size: {condition.text}"


def space_json(program_space: ProgramSpace, verdicts: Mapping[str, BySizeVerdict]) -> Json:
    """Raw and valid size, parameters with their settings, the number of programs."""
    return {
        "raw_size": program_space.space.raw_size,
        "size": program_space.space.size,
        "builds": program_space.builds,
        "parameters": [
            {
                "name": parameter.name,
                "values": [v if isinstance(v, int) else shown(v) for v in parameter.values],
                "set_by": program_space.settings[parameter.name].value,
                **_by_size(verdicts.get(parameter.name)),
            }
            for parameter in program_space.space.parameters
        ],
        "axes": [list(table.names) for table in program_space.space.tables],
        "asked_at_each_size": [condition.text for condition in program_space.sized],
    }


#: The rule of SARIF for launches that are proven, and that no model can choose for.
NOT_MODELLED_RULE = "not-modelled"


def to_sarif(programs: Sequence[Program], required: Sequence[str]) -> Json:
    """Launches that will not be tuned as SARIF 2.1.0 (OASIS), which forges and editors read.

    A result is an error where a pattern in `required` matches the kernel.
    """
    launches = [
        (program, site)
        for program in programs
        for site in program.launches
        if verdict_of(program, site) != Verdict.TUNABLE.value
    ]
    rules = list(dict.fromkeys(_rule_of(site) for _, site in launches))
    results = [_result(p, site, rules.index(_rule_of(site)), required) for p, site in launches]
    driver = {"name": "cutune", "version": __version__, "rules": [_rule(rule) for rule in rules]}
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    schema = "https://json.schemastore.org/sarif-2.1.0.json"
    return {"$schema": schema, "version": "2.1.0", "runs": [run]}


def _rule_of(site: LaunchSite) -> str:
    return site.code.number if site.code is not None else NOT_MODELLED_RULE


def _rule(rule: str) -> Json:
    if rule == NOT_MODELLED_RULE:
        text = "It may be changed, but no model can be made of what it costs."
        return {"id": rule, "shortDescription": {"text": text}}
    code = next(code for code in Code if code.number == rule)
    return {
        "id": rule,
        "name": "".join(word.capitalize() for word in code.name.split("_")),
        "shortDescription": {"text": code.meaning.split(". ")[0].rstrip(".") + "."},
        "fullDescription": {"text": code.meaning},
        "defaultConfiguration": {"level": "note"},
    }


def _result(program: Program, site: LaunchSite, index: int, required: Sequence[str]) -> Json:
    is_required = any(_is_meant(site, pattern) for pattern in required)
    reason = why_unmodelled(program, site) or site.reason
    text = f"launch of kernel '{site.kernel}' is {verdict_of(program, site)}: {reason}"
    region: Json = {}
    for word, offset in (("start", site.span.start), ("end", site.span.end)):
        # A line and a column, in characters and from 1.
        at = site.source.location(offset)
        before = readable(site.source.line_text(at.line)[: at.column - 1])
        region |= {f"{word}Line": at.line, f"{word}Column": len(before) + 1}
    # Relative to where cutune runs where that is above the file.
    path = os.path.abspath(site.source.path)
    relative = os.path.relpath(path)
    uri = Path(path).as_uri() if relative.startswith("..") else quote(relative)
    location = {
        "physicalLocation": {"artifactLocation": {"uri": uri}, "region": region},
        "logicalLocations": [{"name": site.kernel, "kind": "function"}],
    }
    return {
        "ruleId": _rule_of(site),
        "ruleIndex": index,
        "level": "error" if is_required else "note",
        "message": {"text": text},
        "locations": [location],
    }


def _by_size(verdict: BySizeVerdict | None) -> Json:
    """Of macros and constants: the function at each call of which one is chosen, or why not."""
    if verdict is None:
        return {}
    note = verdict.note.message if verdict.note is not None else None
    return {"chosen_at": verdict.outer or None, "one_value": note}
