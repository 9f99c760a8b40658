"""Useful copies of kernels. Takes a `Program` and a function that compiles it, gives proofs.

Every launch of a kernel with a copy is one of the copy in the text that is compiled here, so that
templates are instantiated as for the kernel.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from cutune.proof.compiled import Compile, Compiled, compiled_changes, proven
from cutune.proof.confirm import MemberPlaces, as_compiled
from cutune.proof.rounding import rounds_alike
from cutune.proof.same_code import code_of
from cutune.ptx.parse import parse
from cutune.ptx.types import Module
from cutune.source.launches.block_reading_copies import callee_of_copy, copies
from cutune.source.program import Kernel, KernelCopy, LaunchSite, Program
from cutune.source.rewrite.launch_edit import with_callees, with_copies
from cutune.source.rewrite.pipeline import TranslationUnit
from cutune.source.unit.macros import Unsteady
from cutune.toolchain.kernel_names import base_name, demangled, namespaces

_OWNER = "copies"


@dataclass(frozen=True)
class ProvenCopy:
    """A copy with the proofs about its compiled code."""

    copy: KernelCopy
    compiled: Compiled


def proven_copies(
    program: Program,
    originals: Sequence[str],
    compile_unit: Compile,
    unsteady: Unsteady,
    is_associative: bool = False,
) -> dict[str, ProvenCopy]:
    """Useful copies of refused kernels, by name.

    `originals`: the PTX of the program as it is. `is_associative`: may sums be rounded otherwise?
    """
    candidates = copies(program, unsteady)
    written = {name: candidate.copy for name, candidate in candidates.items()}
    launching = partial(_launching, program)
    compiled = compiled_changes(written, launching, compile_unit)
    found = {
        name: proof
        for name, texts in compiled.items()
        if (proof := _proven(name, written[name], texts)) is not None
    }
    unchanged = {name: replace(written[name], edit=candidates[name].unchanged) for name in found}
    modules = [parse(text) for text in originals] if found else []
    same = compiled_changes(unchanged, launching, compile_unit)

    def is_right(name: str) -> bool:
        pairs = partial(_pairs, name, written[name], modules)
        if not all(k and code_of(m, copy) == code_of(o, k) for m, copy, o, k in pairs(same[name])):
            return False
        may_round = is_associative and any(
            p.reassociates for p in found[name].compiled.proofs[name]
        )
        if may_round or not candidates[name].has_rolled_loops:
            return True
        return all(
            kernel and rounds_alike(original.functions[kernel], module.functions[copy])
            for module, copy, original, kernel in pairs(compiled[name])
        )

    return {name: proof for name, proof in found.items() if name in same and is_right(name)}


def _launching(program: Program, written: Mapping[str, KernelCopy]) -> TranslationUnit:
    kernels = tuple(replace(kernel, copy=written.get(kernel.name)) for kernel in program.kernels)
    unit = TranslationUnit(replace(program, kernels=kernels))

    def callee(site: LaunchSite) -> str | None:
        copy = written.get(site.kernel)
        return callee_of_copy(site.callee, site.kernel, copy) if copy is not None else None

    return with_copies(with_callees(unit, _OWNER, callee), _OWNER, written)


def _proven(name: str, copy: KernelCopy, texts: Sequence[str]) -> ProvenCopy | None:
    if any(_shows_name(text, copy.namespace) for text in texts):
        return None
    compiled = proven(texts, lambda entry: copy.namespace in namespaces(entry))
    entries = compiled.entries(name)
    if not entries or all(proof.refused is not None for proof in compiled.proofs[name]):
        return None
    return ProvenCopy(replace(copy, entries=entries), compiled)


def _pairs(
    name: str, copy: KernelCopy, originals: Sequence[Module], texts: Sequence[str]
) -> Iterator[tuple[Module, str, Module, str | None]]:
    """All instances of a copy, each with that of its kernel, if there is one."""
    for original, text in zip(originals, texts, strict=True):
        module = parse(text)
        entries = [entry for entry in module.functions if copy.namespace in namespaces(entry)]
        own = [entry for entry in original.functions if base_name(entry) == name]
        for entry, kernel in zip(entries, _without_namespace(entries, own, copy), strict=True):
            yield module, entry, original, kernel


def _without_namespace(
    entries: Sequence[str], kernels: Sequence[str], copy: KernelCopy
) -> list[str | None]:
    if len(entries) == len(kernels) == 1:
        return list(kernels)
    names = demangled([*entries, *kernels], parameters=True)
    known = dict(zip(names[len(entries) :], kernels, strict=True))
    return [known.get(one.replace(f"{copy.namespace}::", "", 1)) for one in names[: len(entries)]]


def _shows_name(text: str, namespace: str) -> bool:
    """Does a global variable or a string of the copy hold the namespace? Shared arrays may."""
    letters = r",\s*".join(str(byte) for byte in namespace.encode())
    variable = rf"^[^\n(]*\.(?:global|const)\b[^\n(]*{namespace}"
    return re.search(rf"{variable}|{letters}", text, re.MULTILINE) is not None


def with_copy(
    kernel: Kernel, declared: Kernel, found: ProvenCopy | None, places: Sequence[MemberPlaces]
) -> Kernel:
    """A kernel with its copy's proof, if that is better; `declared`: without any proof."""
    if found is None or kernel.pure_dimensions:
        return kernel
    known = as_compiled(declared, found.compiled, places)
    if not known.pure_dimensions:
        return kernel
    # Reasons speak of the kernel as it is written.
    unproven = tuple((name, kernel.reason or reason) for name, reason in known.unproven)
    return replace(known, copy=found.copy, unproven=unproven)


def with_entries_of_copies(program: Program) -> Program:
    """The program whose launches of copied kernels name the entries of the copies."""
    copies = {kernel.name: kernel.copy for kernel in program.kernels}

    def renamed(site: LaunchSite) -> LaunchSite:
        copy, entries = copies.get(site.kernel), site.entries
        if copy is None or not entries:
            return site
        kernels = _without_namespace(copy.entries, entries, copy)
        known = dict(zip(kernels, copy.entries, strict=True))
        found = tuple(known[entry] for entry in entries if entry in known)
        # All copies where they cannot be matched.
        return replace(site, entries=found if len(found) == len(entries) else copy.entries)

    return replace(program, launches=tuple(map(renamed, program.launches)))
