"""Launches whose arguments choose the kernel. Takes a `Program`, names each kernel by its type.

`scale<<<grid, block>>>(n, a)` may be one of several kernels named `scale`. Behind each of them
stands a selector, `cutune_which_scale`, that takes the same and gives a pointer to such a kernel:
then `static_cast<decltype(cutune_which_scale(n, a))>(scale)` is the kernel that is launched, and
with `scale__restrict` in place of `scale` its copy. That this is so is asked of the compiler, for
the kernel and for every copy, at every launch. A launch of which it is not true stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from cutune.core.codes import Code
from cutune.core.diagnostics import Diagnostic
from cutune.core.source import Edit
from cutune.proof.analysis.host_calls import HostLaunch
from cutune.proof.analysis.launched_entries import launches_by_place, sites_by_place
from cutune.proof.compiled import in_halves
from cutune.source.launches.block_reading_copies import callee_named
from cutune.source.program import Kernel, LaunchSite, Program, Verdict
from cutune.source.rewrite.c_text import one_line, prelude_edit
from cutune.source.rewrite.launch_edit import function_at, with_variant_copies
from cutune.source.rewrite.pipeline import TranslationUnit
from cutune.toolchain.kernel_names import base_name, canonical, renamed_entry

Ask = Callable[[TranslationUnit], Sequence[HostLaunch]]
"""The launches of a rewritten program. Raises CutuneError where it does not compile."""
_OWNER = "by-arguments"


def with_kernels_by_arguments(program: Program, ask: Ask) -> Program:
    """The program in which launches name the kernel that their arguments choose, where known."""

    def right(sites: Sequence[LaunchSite]) -> set[int]:
        wanted = {site.id for site in sites}
        changed = named_by_arguments(program, wanted)
        return {site.id for site in _confirmed(changed, wanted, ask(_launching(changed, wanted)))}

    wanted = sorted(_open(program), key=lambda site: site.kernel)
    named = set[int]().union(*in_halves(wanted, right))
    return named_by_arguments(program, named) if wanted else program


def named_by_arguments(program: Program, sites: Collection[int]) -> Program:
    """The program in which these launches name the kernel that their arguments choose."""
    launches = tuple(
        replace(site, called=site.brackets, by_arguments=True) if site.id in sites else site
        for site in program.launches
    )
    return replace(program, launches=launches)


def without_choice(program: Program) -> list[Diagnostic]:
    """Return a note for each launch that names no kernel for certain (CT276)."""
    varied = {kernel.name for kernel in program.kernels if kernel.variants}
    return [
        Diagnostic.at(Code.VARIANT_CALLEE, site.source, site.span, name=site.kernel)
        for site in program.tunable_launches
        if site.called is None and site.kernel in varied
    ]


def _open(program: Program) -> Iterator[LaunchSite]:
    """Launches of kernels with variants whose name alone does not say which one is meant."""
    for site in program.launches:
        kernels = [kernel for kernel in program.kernels if kernel.name == site.kernel]
        if (
            site.verdict is Verdict.TUNABLE
            and site.called is None
            and site.brackets is not None
            and site.entries
            and all(k.variants and k.selector is not None for k in kernels)
            and all(site.has_all_arguments(kernel) for kernel in kernels)
            and callee_named(site.callee, site.kernel, site.kernel) is not None
        ):
            yield site


def _launching(program: Program, wanted: Collection[int]) -> TranslationUnit:
    """The program with all copies, in which these launches launch the kernel, then each copy."""
    unit = TranslationUnit(program).with_prelude("\n")
    for header in program.launching_headers:
        unit = unit.with_edits(_OWNER, [prelude_edit(header, "")], header)
    for site in program.launches:
        if site.id in wanted:
            text = " ".join(f"{_launch(site, one)};" for one in _callees(program, site))
            # Still one statement, whose end the program has.
            edit = Edit(site.span, f"do {{ {text} }} while (0)")
            unit = unit.with_edits(_OWNER, [edit], site.source)
    for kernel in program.kernels:
        unit = with_variant_copies(unit, _OWNER, kernel, kernel.variants)
    return unit


def _launch(site: LaunchSite, callee: str) -> str:
    configuration, arguments = (
        ", ".join(map(one_line, texts)) for texts in (site.configuration, site.arguments)
    )
    return f"{function_at(site, callee)}<<<{configuration}>>>({arguments})"


def _callees(program: Program, site: LaunchSite) -> list[str]:
    kernel = program.kernel(site.kernel)
    variants = kernel.variants if kernel is not None else ()
    found = (callee_named(site.callee, site.kernel, one.kernel) for one in variants)
    return [site.callee, *(one for one in found if one is not None)]


def _confirmed(
    program: Program, wanted: Collection[int], told: Iterable[HostLaunch]
) -> Iterator[LaunchSite]:
    """Those launches of which the compiler says that they name what they launch."""
    lines = launches_by_place(told)
    for place, sites in sites_by_place(program.launches).items():
        counts = [len(_callees(program, s)) if s.id in wanted else 1 for s in sites]
        if sum(counts) != len(lines[place]):
            continue
        left = iter(lines[place])
        for site, count in zip(sites, counts, strict=True):
            own = [next(left) for _ in range(count)]
            kernel = program.kernel(site.kernel)
            if site.id in wanted and kernel is not None and _are_of(site, kernel, own):
                yield site


def _are_of(site: LaunchSite, kernel: Kernel, told: Sequence[HostLaunch]) -> bool:
    names = [site.kernel, *(one.kernel for one in kernel.variants)]
    entries = set(map(canonical, site.entries))
    return len(told) == len(names) and all(
        not launch.indirect
        and {base_name(entry) for entry in launch.entries} == {name}
        and {canonical(renamed_entry(e, site.kernel)) for e in launch.entries} == entries
        for launch, name in zip(told, names, strict=True)
    )
