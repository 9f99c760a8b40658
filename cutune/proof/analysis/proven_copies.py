"""Useful copies of kernels. Takes a `Program` and a function that compiles it, gives proofs.

Every launch of a kernel with a copy is one of the copy in the text that is compiled here, so that
templates are instantiated as for the kernel.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path

from cutune.proof.compiled import Compile, ProvenCode, compiled_changes, prove_entries
from cutune.proof.confirm import MemberPlaces, as_compiled
from cutune.proof.same_code import (
    code_of,
    dynamic_arrays,
    parameter_name,
    rounds_alike,
    tells_active_lanes,
)
from cutune.ptx.parse import parse
from cutune.ptx.types import Module
from cutune.source.launches.block_copies import block_copies
from cutune.source.launches.callees import callee_of_copy
from cutune.source.launches.kernel_copies import CopyCandidate
from cutune.source.launches.numbered_copies import numbered_copies
from cutune.source.program import DIMENSIONS, Kernel, KernelCopy, LaunchSite, Program
from cutune.source.rewrite.edits import with_callees, with_copies
from cutune.source.rewrite.pipeline import TranslationUnit
from cutune.source.unit.macros import Unsteady
from cutune.toolchain.kernel_names import base_name, demangled, namespaces

_OWNER = "copies"
#: Built-ins that differ between a block of 32 x y threads and one of 32 * y.
_INDICES = ("%tid.x", "%tid.y", "%ntid.x", "%ntid.y")
#: What stands for a built-in in a copy (`numbered_copies`).
_CALL = re.compile(r"\bcutune_(threadIdx|blockIdx|blockDim|gridDim)_([xyz])\(\)")


@dataclass(frozen=True)
class ProvenCopy:
    """A copy with the proofs about its compiled code."""

    copy: KernelCopy
    proven: ProvenCode


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
    found: dict[str, ProvenCopy] = {}
    for candidates in (block_copies, numbered_copies):
        others = {n: one for n, one in candidates(program, unsteady).items() if n not in found}
        found |= _proven_candidates(program, others, originals, compile_unit, is_associative)
    return found


def _proven_candidates(
    program: Program,
    candidates: Mapping[str, CopyCandidate],
    originals: Sequence[str],
    compile_unit: Compile,
    is_associative: bool,
) -> dict[str, ProvenCopy]:
    written = {name: candidate.copy for name, candidate in candidates.items()}
    launching = partial(_launching, program)
    compiled = compiled_changes(written, launching, compile_unit)
    found = {
        name: proof
        for name, texts in compiled.items()
        if (proof := _proven(name, written[name], texts)) is not None
    }
    # Copies that are compiled together share their text.
    parsed = cache(parse)
    modules = [parsed(text) for text in originals] if found else []
    unchanged = {name: replace(written[name], edit=candidates[name].unchanged) for name in found}
    marks = {name: edit for name in found if (edit := candidates[name].marked) is not None}
    marked = {name: replace(written[name], edit=edit) for name, edit in marks.items()}
    same, read = (compiled_changes(e, launching, compile_unit) for e in (unchanged, marked))

    def is_right(name: str) -> bool:
        pairs = partial(_pairs, parsed, name, written[name], modules)
        in_texts = partial(_as_in_kernel, Path(program.source.path), written[name].namespace)
        if not all(
            kernel and code_of(module, copy, in_texts=in_texts) == code_of(original, kernel)
            for module, copy, original, kernel in pairs(same[name])
        ):
            return False
        if name in marked and _read_indices(written[name], map(parsed, read.get(name, ()))):
            return False
        proofs = found[name].proven.proofs[name]
        # Instances that are not proven are not launched as copies.
        launched = {proof.name for proof in proofs if proof.is_tunable}
        # Lanes may come together elsewhere in a copy.
        if any(tells_active_lanes(one.functions[copy]) for one, copy, _, _ in pairs(same[name])):
            return False
        may_round = is_associative and any(p.reassociates for p in proofs)
        counts_as = _counts_as(written[name])
        return may_round or all(
            kernel
            and rounds_alike(
                original.functions[kernel],
                module.functions[copy],
                counts_as,
                dynamic_arrays(original) | dynamic_arrays(module),
            )
            for module, copy, original, kernel in pairs(compiled[name])
            if copy in launched
        )

    return {name: proof for name, proof in found.items() if name in same and is_right(name)}


def _counts_as(copy: KernelCopy) -> Mapping[str, str]:
    """What a copy reads, and what its kernel has in its place: a constant ('') or another built-in.

    An argument that is the width of the block is a constant of the launch.
    """
    constants = ["ntid", *["tid"] * (copy.block == (1, 1, 1))]
    constants += ["ctaid", "nctaid"] * copy.is_of_one_block
    read = [f"%{name}.{d}" for name in constants for d in DIMENSIONS]
    known = dict.fromkeys([*read, *map(parameter_name, copy.widths)], "")
    return known | ({"%tid.y": "%tid.x"} if copy.is_flat else {})


def _as_in_kernel(source: Path, namespace: str, text: str) -> str:
    """What an assertion of a copy says, as the kernel's own: its condition, its name, its file."""
    if Path(text).name == f"{source.stem}.{_OWNER}{source.suffix}":
        return str(source)
    return _CALL.sub(r"\1.\2", text.replace(f"{namespace}::", ""))


def _read_indices(copy: KernelCopy, modules: Iterable[Module]) -> bool:
    """Does a copy read where its threads are other than by the functions that it calls for that?"""
    operands = {
        operand
        for module in modules
        for entry, function in module.functions.items()
        if not function.is_kernel or copy.namespace in namespaces(entry)
        for operand in function.operands
    }
    return not operands or any(operand.startswith(_INDICES) for operand in operands)


def _launching(program: Program, written: Mapping[str, KernelCopy]) -> TranslationUnit:
    kernels = tuple(replace(kernel, copy=written.get(kernel.name)) for kernel in program.kernels)
    unit = TranslationUnit(replace(program, kernels=kernels), _OWNER)

    def callee(site: LaunchSite) -> str | None:
        copy = written.get(site.kernel)
        return callee_of_copy(site.callee, site.kernel, copy) if copy is not None else None

    return with_copies(with_callees(unit, callee), written)


def _proven(name: str, copy: KernelCopy, texts: Sequence[str]) -> ProvenCopy | None:
    if any(_shows_name(text, copy.namespace) for text in texts):
        return None
    proven = prove_entries(texts, lambda entry: copy.namespace in namespaces(entry))
    entries = proven.entries(name)
    if not any(proof.is_tunable for proof in proven.proofs.get(name, ())):
        return None
    return ProvenCopy(replace(copy, entries=entries), proven)


def _pairs(
    parsed: Callable[[str], Module],
    name: str,
    copy: KernelCopy,
    originals: Sequence[Module],
    texts: Sequence[str],
) -> Iterator[tuple[Module, str, Module, str | None]]:
    """All instances of a copy, each with that of its kernel, if there is one."""
    for original, text in zip(originals, texts, strict=True):
        module = parsed(text)
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
    known = as_compiled(declared, found.proven, places)
    # Blocks of one thread have no warp whose threads could stay together.
    is_kept = known.needs_warps and found.copy.block == (1, 1, 1)
    if not known.pure_dimensions or is_kept:
        return kernel
    # Reasons, and advice where a launch is none of the copy, speak of the kernel as it is written.
    unproven = tuple((name, kernel.reason or reason) for name, reason in known.unproven)
    return replace(known, copy=found.copy, unproven=unproven, block_use=kernel.block_use)


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
