"""Device code that the analysis of sources compiled. Takes compilations, gives code by source.

A program with hooks need not be compiled for the device again: hooks are host code, so its kernels
are those of the source that was analyzed, or of the program in which variants were checked.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

from cutune.proof.compiled import Compilation
from cutune.ptx.parse import parse
from cutune.ptx.taint import data_oblivious
from cutune.ptx.types import PtxError
from cutune.source.program import Program
from cutune.toolchain.built_code import BuiltCode


def uncountable(text: str, entries: Collection[str]) -> dict[str, str]:
    """Return the entries whose work can be counted neither with data nor without, and why."""
    try:
        module = parse(text)
    except PtxError as error:
        return dict.fromkeys(entries, error.reason)
    found = {}
    for name, function in module.functions.items():
        if name in entries:
            verdict = data_oblivious(function, module.functions)
            if not verdict.holds and not verdict.countable:
                found[name] = verdict.reason
    return found


Names = frozenset[tuple[str, str]]
"""Variants, each with the name of its kernel."""


@dataclass(frozen=True)
class KnownCode:
    """The newest compilations of sources, by their paths and flags."""

    _originals: dict[tuple[str, ...], Compilation] = field(default_factory=dict)
    _varied: dict[tuple[str, ...], tuple[Names, Compilation]] = field(default_factory=dict)

    def note(self, path: str, flags: Sequence[str], compilation: Compilation) -> None:
        """Keep the compilation of a source as it is written."""
        self._originals[_key(path, flags)] = compilation

    def forget(self, path: str, flags: Sequence[str]) -> None:
        """Drop a source that does not compile."""
        self._originals.pop(_key(path, flags), None)

    def note_varied(self, program: Program, flags: Sequence[str], compilation: Compilation) -> None:
        """Keep the compilation of a program with all its variants."""
        self._varied[_key(program.source.path, flags)] = _variants(program), compilation

    def original(self, path: str, flags: Sequence[str]) -> Compilation | None:
        """Return the compilation of a source as it is written, if that is known."""
        return self._originals.get(_key(path, flags))

    def with_hooks(self, program: Program, flags: Sequence[str]) -> Compilation | None:
        """Return the compilation whose kernels are those of a program with hooks; None if unknown.

        A program with copies of kernels, or with kernels of other sources, has device code that
        no other compilation has.
        """
        path, wanted = program.source.path, _variants(program)
        if program.borrowed or any(kernel.copy is not None for kernel in program.kernels):
            return None
        if not program.has_checked_variants or not wanted:
            return self.original(path, flags)
        names, found = self._varied.get(_key(path, flags), (None, None))
        return found if names == wanted else None

    def built(self, program: Program, flags: Sequence[str]) -> BuiltCode | None:
        """Return the parts of the program with hooks, besides the host's code; None if unknown."""
        found = self.with_hooks(program, flags)
        return found.built() if found is not None else None

    def with_unmodelled(self, program: Program, flags: Sequence[str]) -> Program:
        """Return the program with `unmodelled`: kernels whose work cannot be counted, and why."""
        compiled = self.original(program.source.path, flags)
        names = dict.fromkeys(site.kernel for site in program.tunable_launches)
        kernels = [k for k in map(program.kernel, names) if k is not None and k.elsewhere is None]
        if compiled is None or not kernels:
            return program

        entries = {entry for kernel in kernels for entry in kernel.entries}
        reasons = uncountable(compiled.results()[0], entries)
        found = tuple(
            (kernel.name, reasons[kernel.entries[0]])
            for kernel in kernels
            if kernel.entries and all(entry in reasons for entry in kernel.entries)
        )
        return replace(program, unmodelled=found)


def _key(path: str, flags: Sequence[str]) -> tuple[str, ...]:
    return (os.path.realpath(path), *flags)


def _variants(program: Program) -> Names:
    return frozenset((k.name, one.name) for k in program.kernels for one in k.variants)
