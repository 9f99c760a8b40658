"""Compiles for every architecture that will run. Takes sources, gives their code and proofs."""

from __future__ import annotations

import os
import pickle
import re
import sys
from base64 import b64decode, b64encode
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, lru_cache, partial
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import TypeVar, cast

from cutune.core.diagnostics import CutuneError
from cutune.core.temporary import named_folder
from cutune.proof.entry_proof import EntryProof
from cutune.proof.source_lines import Locate, located
from cutune.ptx.parse import parse
from cutune.ptx.taint import Obliviousness, data_oblivious
from cutune.ptx.types import Instruction, PtxError
from cutune.source.kernel_variant import KernelVariant
from cutune.source.program import Kernel, KernelCopy, Program
from cutune.source.rewrite.output import write_unit
from cutune.source.rewrite.pipeline import TranslationUnit
from cutune.toolchain.built_code import BuiltCode, ptx_without_lines, without_asserted_lines
from cutune.toolchain.cache import cache_folder, keep_whole, kept_whole, key_of
from cutune.toolchain.cudafe import host_text
from cutune.toolchain.device_code import EMULATED, DeviceCode
from cutune.toolchain.kernel_names import base_name, plain_name
from cutune.toolchain.preprocessed import host_pass
from cutune.toolchain.toolchain import Toolchain

T = TypeVar("T")
Item = TypeVar("Item")
Key = TypeVar("Key")
Change = TypeVar("Change")
Compile = Callable[[TranslationUnit], Sequence[str]]
"""Gives the PTX of a rewritten program, for all architectures that will run.

Raises CutuneError where it does not compile.
"""

_PTX_TARGET = re.compile(r"^\.target\s+sm_(\d+)", re.MULTILINE)


@dataclass(frozen=True)
class ProvenCode:
    """Compiled code with the proofs about its entries, of all architectures.

    `proofs`: by the name of the kernel. `versions`: those of the PTX that was proven, as
    `cudaFuncGetAttributes` reports them. `content`: a hash of all of it; `emulated`: of that for
    the emulated device.
    """

    proofs: dict[str, tuple[EntryProof, ...]]
    versions: tuple[int, ...]
    content: str = ""
    emulated: str = ""

    def entries(self, kernel: str) -> tuple[str, ...]:
        """The mangled names of a kernel's instances."""
        return tuple(dict.fromkeys(proof.name for proof in self.proofs.get(kernel, ())))

    def divided(self, entries: Mapping[str, Collection[str]]) -> ProvenCode:
        """With the proofs of the entries of these qualified names by themselves."""
        proofs = dict(self.proofs)
        for name, own in entries.items():
            shared = self.proofs.get(plain_name(name), ())
            proofs[name] = tuple(one for one in shared if one.name in own)
        return replace(self, proofs=proofs)


@dataclass(frozen=True)
class Compilation:
    """nvcc at work, one run for each architecture. Its results raise CT701 with what nvcc said."""

    codes: Mapping[str, Future[DeviceCode]]
    #: Earlier proofs: a source may be analyzed again, with copies or other sources.
    _known: dict[frozenset[str], ProvenCode] = field(default_factory=dict, compare=False)

    def proven_code(self, names: Iterable[str]) -> ProvenCode:
        """Wait for nvcc, and prove the entries of kernels of these names."""
        wanted = frozenset(names)
        if wanted not in self._known:
            codes = [future.result() for future in self.codes.values()]
            places = [located(code.lined) for code in codes]
            texts = [code.ptx for code in codes]
            proven = prove_entries(texts, lambda entry: base_name(entry) in wanted, places)
            emulated = _digest(_counted(self.ptx(EMULATED) or ""))
            self._known[wanted] = replace(proven, emulated=emulated)
        return self._known[wanted]

    def results(self) -> list[str]:
        """Wait for nvcc; the PTX of each architecture."""
        return [future.result().ptx for future in self.codes.values()]

    def ptx(self, architecture: str) -> str | None:
        """The PTX for `sm_90`, for instance, if it is compiled for that."""
        code = self.codes.get(architecture.removeprefix("sm_"))
        return code.result().ptx if code is not None else None

    def built(self) -> BuiltCode | None:
        """Return the parts of a program on the emulated device; None where they are not known."""
        code = self.codes.get(EMULATED.removeprefix("sm_"))
        return code.result().built if code is not None else None


def compiled_changes(
    changes: Mapping[Key, Change],
    changed: Callable[[Mapping[Key, Change]], TranslationUnit],
    compile_unit: Compile,
) -> dict[Key, Sequence[str]]:
    """The PTX for each change that compiles. `changed`: the program with some of them."""

    def together(some: Sequence[tuple[Key, Change]]) -> dict[Key, Sequence[str]]:
        return dict.fromkeys(dict(some), compile_unit(changed(dict(some))))

    def wrong(some: Sequence[tuple[Key, Change]]) -> set[int]:
        # As they are, copies have the lines of their kernel.
        apart = {key: _on_lines_of(n, change) for n, (key, change) in enumerate(some, 1)}
        if apart != dict(some):
            try:
                compile_unit(changed(apart))
            except CutuneError as error:
                return {line // _MOST_LINES - 1 for line in _lines_of_errors(str(error))}
        return set()

    return dict(chain(*(part.items() for part in in_halves([*changes.items()], together, wrong))))


def in_halves(
    items: Sequence[Item],
    compiled: Callable[[Sequence[Item]], T],
    wrong: Callable[[Sequence[Item]], Collection[int]] = lambda items: (),
) -> Iterator[T]:
    """Yield what comes of all items together, or of some of them where they do not compile.

    `wrong`: the places of items that do not compile, where that is told: the others are compiled
    without them. Where it is told of none, each half is.
    """
    try:
        found = [compiled(items)] if items else []
    except CutuneError:
        told = wrong(items) if len(items) > 1 else ()
        right = [one for place, one in enumerate(items) if place not in told]
        if len(right) < len(items):
            yield from in_halves(right, compiled, wrong)
            return
        middle = len(items) // 2
        for half in (items[:middle], items[middle:]) if middle else ():
            yield from in_halves(half, compiled)
    else:
        yield from found


#: A copy whose lines are told apart has them behind a multiple of this.
_MOST_LINES = 1 << 20
_LINE = re.compile(r"^#line (\d+)", re.MULTILINE)
#: A message of nvcc's front end, and lines from which templates are instantiated.
_MESSAGE = re.compile(r"^(?=\S.*?\(\d+\): )", re.MULTILINE)
_ERROR = re.compile(r".*?\((\d+)\): (?:catastrophic )?error\b")
_FROM_LINE = re.compile(r"\bat line (\d+)")


def _on_lines_of(number: int, change: Change) -> Change:
    """A change whose text has lines that no other one's has, where it is copies of kernels."""
    if isinstance(change, tuple):
        return cast("Change", tuple(_on_lines_of(number, one) for one in change))
    if not isinstance(change, KernelVariant | KernelCopy):
        return change
    text = change.edit.text
    # The last of them leads back to the kernel's own file.
    inner, last, rest = text.rpartition("\n#line ")
    inner = _LINE.sub(lambda line: f"#line {number * _MOST_LINES + int(line[1])}", inner)
    return replace(change, edit=replace(change.edit, text=inner + last + rest))


def _lines_of_errors(said: str) -> Iterator[int]:
    for message in _MESSAGE.split(said):
        if (found := _ERROR.match(message)) is not None:
            yield from map(int, (found[1], *_FROM_LINE.findall(message)))


class _Entries:
    def __init__(self, text: str) -> None:
        """Raises PtxError."""
        self._text, self._module = text, parse(text)
        self._known: dict[str, EntryProof] = {}
        functions = self._module.functions.items()
        self.names = [name for name, own in functions if own.is_kernel and own.body]

    @cached_property
    def _assembly(self) -> frozenset[int]:
        from cutune.proof.memory.pointers import assembly_lines

        return assembly_lines(self._text)

    def lines(self, name: str) -> tuple[int, int]:
        """The line of an entry's head, and of its last instruction; (0, 0): not known."""
        body = self._module.functions[name].body or ()
        lines = [one.line for one in body if isinstance(one, Instruction)]
        head = re.search(rf"\.entry\s+{re.escape(name)}(?![\w$])", self._text)
        if not lines or head is None:
            return 0, 0
        return self._text.count("\n", 0, head.start()) + 1, lines[-1]

    def proof(self, name: str) -> EntryProof:
        if name not in self._known:
            place = _place_of_proof(self._text, name)
            proof = _kept_proof(place)
            if proof is None:
                # Most of them are kept: a verb starts quicker without the prover.
                from cutune.proof.entry import prove

                proof = prove(self._module, name, self._assembly)
                _keep_proof(place, proof)
            self._known[name] = proof
        return self._known[name]


#: The text is often the same for all architectures, and asked about one kernel after the other.
_entries = lru_cache(maxsize=4)(_Entries)


def prove_entries(
    texts: Sequence[str], is_wanted: Callable[[str], bool], places: Sequence[Locate] = ()
) -> ProvenCode:
    """Proofs about the wanted entries of PTX texts. `places`: of their lines in the sources."""
    found: defaultdict[str, list[EntryProof]] = defaultdict(list)
    versions = set()
    for index, text in enumerate(texts):
        if (version := _PTX_TARGET.search(text)) is not None:
            versions.add(int(version[1]))
        try:
            entries = _entries(_PTX_TARGET.sub(".target sm_", text))
        except PtxError:
            return ProvenCode({}, ())
        for name in filter(is_wanted, entries.names):
            proof = entries.proof(name)
            if places:
                lines = entries.lines(name)
                proof = replace(proof, locate=places[index], lines=lines)
            found[base_name(name)].append(proof)
    content = _digest("\0".join(texts))
    proofs = {name: tuple(each) for name, each in found.items()}
    return ProvenCode(proofs, tuple(sorted(versions)), content)


def _counted(ptx: str) -> str:
    """The PTX without lines of sources: what is counted does not depend on them."""
    text = without_asserted_lines(ptx)
    return (ptx_without_lines(text) or text).rstrip()


def _digest(text: str) -> str:
    return sha256(text.encode("latin-1", "replace")).hexdigest() if text else ""


@dataclass(frozen=True)
class UnitCompiler:
    """Compiles rewritten programs in temporary folders. Raises CT701 where one does not compile."""

    toolchain: Toolchain

    def preprocessed(self, unit: TranslationUnit) -> str:
        """The text that the host compiler gets, with line markers."""
        return self.written(unit, partial(host_pass, self.toolchain.nvcc))

    def compilation(self, unit: TranslationUnit, only: Sequence[str] = ()) -> Compilation:
        """The device code for all architectures that will run, or of some, when it has ended."""

        def ended(path: str, flags: Sequence[str]) -> Compilation:
            about = _about(unit)
            compilation = Compilation(self.toolchain.device_codes(path, pool, flags, only, about))
            compilation.results()
            return compilation

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            return self.written(unit, ended)

    def ptx(self, unit: TranslationUnit) -> list[str]:
        return self.compilation(unit).results()

    def draft(self, unit: TranslationUnit) -> list[str]:
        """The PTX of one architecture: that of the emulated device, if it will run."""
        names = self.toolchain.targets(self.toolchain.compile_flags(unit.program.source.path))
        emulated = EMULATED.removeprefix("sm_")
        return self.compilation(unit, [emulated if emulated in names else names[0]]).results()

    def assembly(self, unit: TranslationUnit) -> str:
        """The unoptimized assembly of the host code."""

        def assembled(path: str, flags: list[str]) -> str:
            with host_text(self.toolchain.nvcc, path, flags) as text:
                return text.assembly(str)

        return self.written(unit, assembled)

    def written(self, unit: TranslationUnit, use: Callable[[str, list[str]], T]) -> T:
        """Write the program, and return the result of `use` for its path and flags."""
        source = unit.program.source.path
        flags = self.toolchain.compile_flags(source)
        with named_folder(f"copies-{key_of(os.path.realpath(source))}") as name:
            path, flags = write_unit(unit, flags, Path(name), "copies")
            return use(str(path), flags)


def _about(unit: TranslationUnit) -> str:
    """Return a digest of what is compiled of a source: its edits, wherever they are."""
    files = {file.path: file for file in (unit.program.source, *unit.program.headers)}
    edits = (
        (path, files[path][edit.span], _LINE.sub("#line", edit.text))
        for path, edit in ((owned.path, owned.edit) for owned in unit.edits)
    )
    return key_of(unit.owner, unit.prelude, *chain.from_iterable(edits))


def on_data(text: str, entries: Collection[str]) -> dict[str, Obliviousness]:
    """Return the entries whose work cannot be counted without data; not countable: nor with it."""
    try:
        module = parse(text)
    except PtxError as error:
        return dict.fromkeys(entries, Obliviousness(False, error.reason, countable=False))
    wanted = {name: one for name, one in module.functions.items() if name in entries}
    verdicts = {name: data_oblivious(one, module.functions) for name, one in wanted.items()}
    return {name: one for name, one in verdicts.items() if not one.holds}


Names = frozenset[tuple[str, str]]
"""Variants, each with the name of its kernel."""


@dataclass(frozen=True)
class KnownCode:
    """The newest compilations of sources, by their paths and flags.

    A program with hooks, which are host code, has the kernels of the source that was analyzed, or
    of the program in which variants were checked: it need not be compiled for the device again.
    """

    _originals: dict[tuple[str, ...], Compilation] = field(default_factory=dict)
    _varied: dict[tuple[str, ...], tuple[Names, Compilation]] = field(default_factory=dict)

    def note(self, path: str, flags: Sequence[str], compilation: Compilation) -> None:
        """Keep the compilation of a source as it is written."""
        self._originals[_key(path, flags)] = compilation

    def note_varied(self, program: Program, flags: Sequence[str], compilation: Compilation) -> None:
        """Keep the compilation of a program with all its variants."""
        self._varied[_key(program.source.path, flags)] = _variants(program), compilation

    def original(self, path: str, flags: Sequence[str]) -> Compilation | None:
        """Return the compilation of a source as it is written, if that is known."""
        return self._originals.get(_key(path, flags))

    def with_hooks(self, program: Program, flags: Sequence[str]) -> Compilation | None:
        """Return a compilation with the kernels of a program with hooks; None if unknown."""
        path, wanted = program.source.path, _variants(program)
        # Copies of kernels, and kernels of other sources, are in no other compilation.
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
        """Return the program with `unmodelled` and `on_data`: kernels whose work needs data."""
        compiled = self.original(program.source.path, flags)
        names = dict.fromkeys(site.kernel for site in program.tunable_launches)
        kernels = [k for k in map(program.kernel, names) if k is not None and k.elsewhere is None]
        if compiled is None or not kernels:
            return program
        entries = {entry for kernel in kernels for entry in kernel.entries}
        found = on_data(compiled.results()[0], entries)
        uncountable = {name: one.reason for name, one in found.items() if not one.countable}
        unmodelled = _of_all(kernels, uncountable)
        reasons = {name: one.reason for name, one in found.items()}
        counted = (row for row in _of_all(kernels, reasons) if row not in unmodelled)
        return replace(program, unmodelled=unmodelled, on_data=tuple(counted))


def _of_all(kernels: Iterable[Kernel], reasons: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """The kernels that have a reason in each of their entries, and that of the first."""
    named = (one for one in kernels if one.entries and reasons.keys() >= {*one.entries})
    return tuple((one.name, reasons[one.entries[0]]) for one in named)


def _key(path: str, flags: Sequence[str]) -> tuple[str, ...]:
    return (os.path.realpath(path), *flags)


def _variants(program: Program) -> Names:
    return frozenset((k.name, one.name) for k in program.kernels for one in k.variants)


# ---- proofs that were made before: every verb asks for the same ones

#: The rooms on whose code a proof depends.
_ROOMS = ("core", "ptx", "toolchain", "space", "source", "proof")


@cache
def _prover() -> str:
    """A digest of all that makes proofs."""
    root = Path(__file__).parents[1]
    files = sorted(file for room in _ROOMS for file in (root / room).rglob("*.py"))
    return key_of(sys.version, *(file.read_text("utf-8") for file in files))


def _place_of_proof(text: str, entry: str) -> Path:
    """A proof follows from the text, and from the code of the prover."""
    return cache_folder() / "proofs" / key_of(_prover(), text, entry)


def _kept_proof(place: Path) -> EntryProof | None:
    """The proof that is kept there; None where there is none, or it is damaged."""
    kept = kept_whole(place)
    if kept is None:
        return None
    proof: EntryProof = pickle.loads(b64decode(kept))
    return proof


def _keep_proof(place: Path, proof: EntryProof) -> None:
    keep_whole(place, b64encode(pickle.dumps(proof)).decode("ascii"))
