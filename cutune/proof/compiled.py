"""Compiles for every architecture that will run. Takes a source, gives proofs of its entries."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import TypeVar

from cutune.core.diagnostics import CutuneError
from cutune.proof.entry import prove
from cutune.proof.entry_proof import EntryProof
from cutune.proof.memory.pointers import assembly_lines
from cutune.proof.source_lines import Locate, located, nowhere
from cutune.ptx.parse import parse
from cutune.ptx.types import PtxError
from cutune.source.rewrite.pipeline import TranslationUnit
from cutune.toolchain.built_code import BuiltCode
from cutune.toolchain.device_code import EMULATED, DeviceCode
from cutune.toolchain.kernel_names import base_name, is_named, plain_name

Change = TypeVar("Change")
Compile = Callable[[TranslationUnit], Sequence[str]]
"""Gives the PTX of a rewritten program, for all architectures that will run.

Raises CutuneError where it does not compile.
"""

_PTX_TARGET = re.compile(r"^\.target\s+sm_(\d+)", re.MULTILINE)


@dataclass(frozen=True)
class Compiled:
    """Proofs about the entries of a source by the name of their kernel, of all architectures.

    `versions`: those of the PTX that was proven, as `cudaFuncGetAttributes` reports them.
    `content`: a hash of all of it.
    """

    proofs: dict[str, tuple[EntryProof, ...]]
    versions: tuple[int, ...]
    content: str = ""

    def entries(self, kernel: str) -> tuple[str, ...]:
        """The mangled names of a kernel's instances."""
        return tuple(dict.fromkeys(proof.name for proof in self.proofs.get(kernel, ())))

    def divided(self, names: Iterable[str]) -> Compiled:
        """With the proofs of kernels of these qualified names by themselves."""
        own = {
            name: tuple(
                one for one in self.proofs.get(plain_name(name), ()) if is_named(one.name, name)
            )
            for name in names
        }
        return replace(self, proofs={**self.proofs, **own})


@dataclass(frozen=True)
class Compilation:
    """nvcc at work, one run for each architecture."""

    codes: Mapping[str, Future[DeviceCode]]
    #: Earlier proofs: a source may be analyzed again, with copies or other sources.
    _known: dict[frozenset[str], Compiled] = field(default_factory=dict, compare=False)

    def finished(self, names: Iterable[str]) -> Compiled:
        """Wait for it, and prove the entries of kernels of these names.

        Raises:
            CutuneError: CT701 with what nvcc said.
        """
        wanted = frozenset(names)
        if wanted not in self._known:
            codes = [future.result() for future in self.codes.values()]
            texts = [(code.ptx, located(code.lined)) for code in codes]
            self._known[wanted] = _proven(texts, lambda entry: base_name(entry) in wanted)
        return self._known[wanted]

    def results(self) -> list[str]:
        """Wait for it; the PTX of each architecture.

        Raises:
            CutuneError: CT701 with what nvcc said.
        """
        return [future.result().ptx for future in self.codes.values()]

    def ptx(self, architecture: str) -> str | None:
        """The PTX for `sm_90`, for instance, if it is compiled for that.

        Raises:
            CutuneError: CT701 with what nvcc said.
        """
        code = self._code(architecture)
        return code.ptx if code is not None else None

    def built(self) -> BuiltCode | None:
        """Return the parts of a program on the emulated device; None where they are not known."""
        code = self._code(EMULATED)
        return code.built if code is not None else None

    def _code(self, architecture: str) -> DeviceCode | None:
        found = self.codes.get(architecture.removeprefix("sm_"))
        return found.result() if found is not None else None


def compiled_changes(
    changes: Mapping[str, Change],
    changed: Callable[[Mapping[str, Change]], TranslationUnit],
    compile_unit: Compile,
) -> dict[str, Sequence[str]]:
    """The PTX of a program with changes, for each change that compiles, by its name.

    `changed`: the program with some of them. Where they do not compile together, each half by
    itself is tried: one that fails stops no other.
    """
    if not changes:
        return {}
    try:
        texts = compile_unit(changed(changes))
    except CutuneError:
        named = list(changes.items())
        middle = len(named) // 2
        halves = [named[:middle], named[middle:]] if middle else []
        found = [compiled_changes(dict(half), changed, compile_unit) for half in halves]
        return {name: part for parts in found for name, part in parts.items()}
    return dict.fromkeys(changes, texts)


def proven(texts: Sequence[str], is_wanted: Callable[[str], bool]) -> Compiled:
    """Proofs about the wanted entries of PTX texts, which are named by their mangled names."""
    return _proven([(text, nowhere) for text in texts], is_wanted)


def _proven(texts: Sequence[tuple[str, Locate]], is_wanted: Callable[[str], bool]) -> Compiled:
    """Prove the entries of PTX texts, each with the way from its lines to those of the source."""
    found: defaultdict[str, list[EntryProof]] = defaultdict(list)
    versions = set()
    for text, locate in texts:
        if (version := _PTX_TARGET.search(text)) is not None:
            versions.add(int(version[1]))
        try:
            module = parse(text)
        except PtxError:
            return Compiled({}, ())
        assembly = assembly_lines(text)
        for name, function in module.functions.items():
            if function.is_kernel and function.body and is_wanted(name):
                proof = replace(prove(module, name, assembly), locate=locate)
                found[base_name(name)].append(proof)
    content = sha256("\0".join(text for text, _ in texts).encode("latin-1", "replace")).hexdigest()
    proofs = {name: tuple(each) for name, each in found.items()}
    return Compiled(proofs, tuple(sorted(versions)), content)
