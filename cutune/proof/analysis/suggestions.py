"""Suggestions for refused launches. Takes a `Program`, gives the changes that would help.

If only the cooperation of the kernel's threads prevents tuning, an annotation may allow it: the
suggestion is the line to insert, and what the user thereby asserts. Otherwise it is what to change.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from cutune.core.codes import Code
from cutune.proof.analysis.suggested_blocks import Proposal, collective, proposal
from cutune.proof.analysis.suggested_constants import constant_of_block
from cutune.source.host_formula import constant
from cutune.source.launches.annotations import ASSERTABLE
from cutune.source.program import Kernel, LaunchSite, Program, Verdict
from cutune.source.unit.integers import integer_type

#: Of a kernel whose compiled code reads the width of no block.
ONE_BLOCK = (
    "Its compiled code does not read how wide the block is: the kernel is made for the block of "
    "its launch. With blockDim in place of the constants that stand for that width, an annotation "
    "can say which blocks are right."
)
SHORT_ARRAY = (
    "Its shared array '{name}' has places for at most {most} threads in {d}: no other block fits."
)
NO_OTHER = "Nothing is known that would make it tunable."
COLLECTIVE = (
    "Its collective '{name}' is made for one number of threads, an argument of the template: it is "
    "right with that block alone, and no annotation helps."
)
CONSTANT = (
    " Its block follows '{name}', though: with `{pragma}` before line {line} of {path}, and "
    "`#pragma cutune region begin` and `end` around the launch, `cutune tune {path} --tunables` "
    "(and `--run`, as always) finds on a GPU which value is the fastest of those that compute the "
    "same. Whether they do, `cutune collect` in its place tries without one; in a project with "
    "`--make` as well (`cutune help parameters`)."
)


@dataclass(frozen=True)
class Suggestion:
    """One change to a source that makes launches tunable.

    Attributes:
        file, line: where it is made.
        kernel, launches: the kernel, and the lines of its launches that become tunable.
        code: number of the diagnostic that refuses them now.
        pragma: the annotation to insert before that line, or None.
        text: the change in words.
    """

    file: str
    line: int
    kernel: str
    launches: tuple[int, ...]
    code: str
    pragma: str | None
    text: str


def suggestions(program: Program) -> Iterator[Suggestion]:
    """One per kernel that an annotation would help, one per launch that needs another change."""
    refused = [site for site in program.launches if site.verdict is Verdict.REFUSED]
    done: set[str] = set()
    for site in refused:
        kernel = program.kernel(site.kernel)
        proposed = _proposal(site, kernel)
        if kernel is None or proposed is None:
            yield _advice(program, site, kernel)
        elif kernel.name not in done:
            done.add(kernel.name)
            sites = [s for s in refused if s.kernel == kernel.name]
            helped = [s for s in sites if _proposal(s, kernel)]
            formulas = {s.shared for s in sites if _asks_for_memory(s)}
            yield _annotation(kernel, proposed, helped, formulas)


def _proposal(site: LaunchSite, kernel: Kernel | None) -> Proposal | None:
    """Propose an annotation of the kernel; None where it would not help."""
    if kernel is None or site.code not in ASSERTABLE:
        return None
    follows_block = kernel.block_use.follows_block
    return None if _has_unknown_memory(site) and follows_block else proposal(kernel)


def _has_unknown_memory(site: LaunchSite) -> bool:
    """Is it not known how the memory that it asks for follows the block?"""
    return _asks_for_memory(site) and site.shared is None


def _asks_for_memory(site: LaunchSite) -> bool:
    memory = site.resolved.shared if site.resolved is not None else None
    return memory is not None and constant(memory) != 0


def _annotation(
    kernel: Kernel,
    proposed: Proposal,
    sites: Iterable[LaunchSite],
    formulas: Collection[str | None],
) -> Suggestion:
    helped = tuple(sites)
    # Pragmas count in the file that holds the launch; a kernel in a header is annotated there.
    source = helped[0].source
    here = kernel.source.path == source.path
    start = kernel.span.start if here else helped[0].span.start
    sizes = kernel.sizes or tuple(p.name for p in kernel.parameters if _is_integer(p.type))
    data = f" data({', '.join(sizes)})" if sizes else ""
    # What was inferred is used without being said, too: where it differs from launch to launch, or
    # is a choice, for which the annotation language has no form.
    formula = next(iter(formulas)) if len(formulas) == 1 else None
    shared = f" shared({formula})" if formula is not None and "?" not in formula else ""
    if any(map(_has_unknown_memory, helped)):
        shared = " shared(keep)"
    return Suggestion(
        source.path,
        source.location(start).line,
        kernel.name,
        tuple(site.source.location(site.span.start).line for site in helped),
        helped[0].code.number if helped[0].code is not None else "",
        f"#pragma cutune kernel {kernel.name}{data} {proposed.clauses}{shared}",
        _assertion(kernel, proposed),
    )


def _assertion(kernel: Kernel, proposed: Proposal) -> str:
    head = f"You thereby assert that '{kernel.name}' gives the same results with every such block"
    where = " and ".join(proposed.blocks)
    if proposed.kept_grids:
        return (
            f"{head} in {where} and as many blocks as the launch has; narrow the ranges to those "
            "for which that is true."
        )
    first = next(iter(proposed.blocks))
    return (
        f"{head} that divides its threads in {where}; narrow the ranges to those for which that is "
        f"true. Where threads from some g on have no effect, say grid(ceil(g / {first})), or "
        "grid(keep) where the number of blocks must stay."
    )


def _obstacle(kernel: Kernel) -> str:
    """Why no annotation can say which other blocks are right."""
    use = kernel.block_use
    if not use.widths:
        return ONE_BLOCK
    limits = [(most, d) for d, most in use.limits if d in use.widths]
    if not limits:
        return NO_OTHER
    most, d = min(limits)
    return SHORT_ARRAY.format(name=use.array[0], most=most, d=d)


def _is_integer(type_: str) -> bool:
    return integer_type(type_.replace("::", "$").split()) is not None


def _advice(program: Program, site: LaunchSite, kernel: Kernel | None) -> Suggestion:
    code = site.code
    is_one_block = kernel is not None and proposal(kernel) is None
    if code in ASSERTABLE and _has_unknown_memory(site) and not is_one_block:
        code = Code.DYNAMIC_SHARED_MEMORY
    assert code is not None, "a refused launch has a code"
    line = site.source.location(site.span.start).line
    reason = site.reason if code is site.code else code.template
    remedy = code.meaning
    if code in ASSERTABLE and kernel is not None:
        name = collective(kernel)
        remedy = _obstacle(kernel) if name is None else COLLECTIVE.format(name=name)
        if found := constant_of_block(program, site, kernel.max_threads):
            place = {"name": found.name, "line": found.line, "path": found.path}
            remedy += CONSTANT.format(pragma=found.pragma, **place)
    text = f"{reason[0].upper()}{reason[1:]}. {remedy}"
    return Suggestion(site.source.path, line, site.kernel, (line,), code.number, None, text)
