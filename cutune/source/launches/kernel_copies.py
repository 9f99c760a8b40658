"""What all copies of kernels have in common: the candidate, and how it is put into the source.

A copy stands behind its kernel in a namespace of its own, so that both have one name. Where the
kernel is declared before, as in front of its launches, the copy is declared there, too. Its lines
are numbered as the kernel's. `block_copies` and `numbered_copies` propose them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from cutune.core.source import Edit, Source, Span, apply_edits
from cutune.source.program import Kernel, KernelCopy, LaunchSite, Program
from cutune.source.syntax.parse import SourceFunction, Syntax
from cutune.source.unit.kernel_texts import KernelTexts, declared_early, namesakes_in
from cutune.source.unit.unit import scope_around


@dataclass(frozen=True)
class CopyCandidate:
    """A copy, and an edit that inserts it with all constants as they are."""

    copy: KernelCopy
    unchanged: Edit
    #: Inserts it with registers that no program reads for the built-ins that it has otherwise.
    marked: Edit | None = None


def launched_alone(program: Program) -> Iterator[tuple[Kernel, list[LaunchSite]]]:
    """Each kernel that is launched, and shares its name with no other, with its launches.

    None of very long code: dozens of copies of it would be compiled.
    """
    launches: defaultdict[str, list[LaunchSite]] = defaultdict(list)
    for site in program.launches:
        launches[site.kernel].append(site)
    for name, sites in launches.items():
        # Where a pointer may lead to it, perhaps another one is launched.
        launches[name] = [site for site in sites if site.pointer is None] or sites
    names = Counter(kernel.name for kernel in program.kernels)
    for kernel in program.kernels:
        is_long = kernel.block_use.is_long
        if names[kernel.name] == 1 and kernel.name in launches and not is_long:
            yield kernel, launches[kernel.name]


def only_definition(texts: KernelTexts, kernel: Kernel) -> tuple[Syntax, SourceFunction] | None:
    """The only definition of a kernel, if its text may be repeated."""
    places = list(texts.definitions(kernel.name))
    return places[0] if len(places) == 1 and texts.may_be_repeated(*places[0]) else None


def inserted(
    syntax: Syntax, function: SourceFunction, namespace: str, helpers: str, edits: Sequence[Edit]
) -> Edit:
    """The edit that puts an edited copy behind its kernel, with functions that it calls."""
    first, last = syntax.tokens[function.first], syntax.tokens[function.braces[1]]
    begin, end = (syntax.source.location(at).line for at in (first.start, last.start))
    moved = [
        Edit(Span(one.span.start - first.start, one.span.end - first.start), one.text)
        for one in edits
    ]
    # The copy's name hides functions that share it with the kernel.
    scope = "".join(f"::{name}" for name in scope_around(syntax, function.first) or ())
    for index in namesakes_in(syntax, function):
        moved.append(Edit.insert(syntax.tokens[index].start - first.start, f"{scope}::"))
    text = apply_edits(Source("", syntax.source[Span(first.start, last.end)]), moved).text
    body = f"namespace {namespace} {{ {helpers} {text} }}"
    return Edit.insert(last.end, f"\n#line {begin}\n{body}\n#line {end}\n")


def declared(syntax: Syntax, function: SourceFunction, namespace: str) -> Edit | None:
    """The edit that declares a copy behind the first declaration of its kernel."""
    found = declared_early(syntax, function, function.name)
    return found and replace(found, text=f" namespace {namespace} {{{found.text} }}")
