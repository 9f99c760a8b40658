"""The part of `cutune nvcc` that rewrites. Takes a command with something to do, gives a status.

nvcc compiles shadow copies of the sources. If that fails, or cutune itself fails, nvcc compiles the
originals, whose status and messages count.

A copy lies in the workspace, at a path that is a function of what is compiled, so that ccache finds
it again. `#line` gives messages, debugging information and `__FILE__` the user's names; the
compiler is told where quoted includes are and which prefix of paths to forget. Dependency files
name the user's own files: of what nvcc wrote, rules with the originals are made.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Collection, Container, Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, Diagnostic
from cutune.core.processes import CompilerKilled, ended_by
from cutune.core.source import Source, apply_edits
from cutune.core.temporary import run_folder
from cutune.core.workspace import (
    Json,
    Workspace,
    append_text,
    make_folder,
    replace_file,
    write_text,
)
from cutune.source.rewrite.c_text import c_string, prelude_edit
from cutune.source.rewrite.output import ShadowTree
from cutune.source.syntax.tokens import BYTE_ORDER_MARK
from cutune.toolchain.compiler_commands import PLAIN, quote_folder
from cutune.toolchain.device.present import named_devices
from cutune.toolchain.locate import found_program
from cutune.toolchain.nvcc import (
    COMPATIBILITY_FLAGS,
    INCLUDE_DIRECTORY,
    Nvcc,
    find_nvcc,
    remedies_of,
)
from cutune.tuning.inputs import try_copies
from cutune.tuning.nvcc.command import (
    EMULATED,
    IN_ENVIRONMENT,
    IN_FILE,
    INSTRUMENT,
    SHAKEN,
    STOPS_AT_OBJECT,
    TUNED,
    WORKSPACE,
    Command,
    Settings,
    names,
    run_instead,
    split_list,
    workspaces_of,
)
from cutune.tuning.nvcc.units import CompiledSource, knows_others, lenders_of, lends, note, register

if TYPE_CHECKING:
    from cutune.proof.analysis.analyzer import Analyzer
    from cutune.source.program import Program
    from cutune.source.rewrite.pipeline import TranslationUnit
    from cutune.toolchain.built_code import BuiltCode
    from cutune.toolchain.toolchain import Toolchain
    from cutune.tuning.inputs import Request


@dataclass(frozen=True)
class ShadowSource:
    """A rewritten source on disk: the copy at `path` takes its place.

    `host_options`: of the host compiler, which preprocesses for nvcc. `originals`: copy → the name
    by which the user knows it. `tree`: where all files of the user were copied, if headers are
    rewritten too. `code`: its device code, where that is known.
    """

    path: str
    host_options: tuple[str, ...]
    originals: dict[str, str] = field(default_factory=dict)
    tree: ShadowTree | None = None
    code: BuiltCode | None = None

    def to_json(self) -> Json:
        tree = self.tree and [str(self.tree.root), str(self.tree.folder)]
        options, originals = list(self.host_options), self.originals
        return {"path": self.path, "host_options": options, "originals": originals, "tree": tree}

    @staticmethod
    def from_json(entry: Json) -> ShadowSource:
        tree = entry["tree"] and ShadowTree(*map(Path, entry["tree"]))
        return ShadowSource(entry["path"], tuple(entry["host_options"]), entry["originals"], tree)

    @staticmethod
    def write(unit: TranslationUnit, folder: Path) -> ShadowSource:
        """Write a rewritten program below a folder. Raises CT002."""
        source = unit.rewritten()
        # For the prelude the user has no line: it stands in cutune's header.
        mark = BYTE_ORDER_MARK if source.text.startswith(BYTE_ORDER_MARK) else ""
        header = c_string(str(INCLUDE_DIRECTORY / "cutune_tuned.h"))
        text = f"{mark}#line 1 {header}\n{source.text[len(mark) :]}"
        source = Source(source.path, text)
        if any(owned.path != source.path for owned in unit.edits):
            # Not beside the copy of a source alone, which would find old copies of headers there.
            return _write_tree(unit, source, folder.with_name(f"{folder.name}-tree"))
        make_folder(folder)
        path = folder / os.path.basename(source.path)
        write_text(path, source.text)
        spelled = os.path.dirname(source.path)
        options = _host_options([spelled or os.curdir], folder, spelled)
        return ShadowSource(str(path), options, {str(path): source.path})


def _write_tree(unit: TranslationUnit, source: Source, folder: Path) -> ShadowSource:
    program = unit.program
    tree = ShadowTree.of(program, folder)
    headers = [_renamed(header) for header in unit.rewritten_headers()]
    path = tree.write(source, headers)
    files = [file.path for file in (source, *headers)]
    folders = list(dict.fromkeys(os.path.dirname(file) or os.curdir for file in files))
    root = str(tree.root) if os.path.isabs(source.path) else os.path.relpath(tree.root)
    spelled = "" if root == os.curdir else root
    # Copies first: a folder that -I names too is found here before it is found there.
    copied = [copy for one in folders if (copy := tree.copy_of(one)) is not None]
    options = _host_options([*copied, *folders], folder, spelled)
    originals = {copy: file for file in files if (copy := tree.copy_of(file)) is not None}
    return ShadowSource(str(path), options, originals, tree)


def _renamed(header: Source) -> Source:
    if re.match(r'(\xef\xbb\xbf)?#line 1 "', header.text):
        return header
    return apply_edits(header, [prelude_edit(header, "")])


def with_copies(
    command: Command, shadows: dict[str, ShadowSource], dependencies: str = "", made: str = ""
) -> list[str]:
    """The words of a command, its sources (by their path) replaced by their shadows.

    `dependencies`, `made`: other places for the dependency file and its object; empty: none.
    Response files are taken apart where what they hold is replaced.
    """
    tree = next((shadow.tree for shadow in shadows.values() if shadow.tree), None)
    in_files = {item.value for item in command.sources if item.first == IN_FILE}
    takes_apart = tree is not None or not in_files.isdisjoint(shadows)
    elsewhere = {"dependency-output": dependencies, "output-file": made}
    words: list[str] = []
    for item in command.items:
        is_file = item.name == "options-file" or (not item.name and item.value.startswith("@"))
        is_left_out = is_file if takes_apart else item.first == IN_FILE
        if is_left_out or item.first == IN_ENVIRONMENT or elsewhere.get(item.name):
            continue
        if not item.name and item.value in shadows:
            words.append(shadows[item.value].path)
        elif tree and item.name in ("include-path", "pre-include"):
            words += _redirected(item.name, item.value, tree)
        else:
            words += command.words_of(item)
    options = dict.fromkeys(o for shadow in shadows.values() for o in shadow.host_options)
    # One word each: ccache, which reads words, takes `-Xcompiler -iquote,src` apart.
    words += [f"-Xcompiler={option}" for option in options]
    words += ["-MF", dependencies] if dependencies else []
    target = command.last("output-file") or ""
    if made and command.last("dependency-target-name") is None:
        words += ["-MT", target]
    return [*words, "-o", made] if made else words


def _redirected(name: str, value: str, tree: ShadowTree) -> list[str]:
    """The words of an include option that looks into the copy first."""
    words = []
    for path in split_list(value):
        copy = tree.copy_of(path)
        if name == "pre-include":
            is_copied = copy is not None and os.path.exists(copy)
            words += ["-include", copy if is_copied and copy else path]
        else:
            words += [*([f"-I{copy}"] if copy else []), f"-I{path}"]
    return words


def _host_options(includes: Sequence[str], copies: Path, spelled: str) -> tuple[str, ...]:
    """Options for `#include "…"`, also of cutune's headers, and for names in debuggers."""
    own = [*includes, str(INCLUDE_DIRECTORY)]
    options = [quote_folder(folder) for folder in own]
    prefix = f"{spelled}/" if spelled else ""
    if PLAIN.fullmatch(f"{copies}/{prefix}"):
        options.append(f"-ffile-prefix-map={copies}/={prefix}")
    return tuple(options)


_WORD = re.compile(r"(?:\\.|[^\s\\])+")


def restore_dependencies(
    written: str, path: str, original_of: Callable[[str], str | None], sources: Container[str]
) -> None:
    """Turn the dependency file that nvcc wrote into the user's, whole or not at all.

    `written` is removed, unless it is `path` itself. `original_of` gives the name that the user
    knows a file by; None for a file of cutune's. `sources`: the user's names that are no headers.
    """
    file = Path(written)
    if not file.is_file():
        return
    text = file.read_text(encoding="utf-8", errors="surrogateescape")
    restored = restored_dependencies(text, original_of, sources)
    if restored != text or written != path:
        replace_file(Path(path), restored.encode("utf-8", errors="surrogateescape"))
    if written != path:
        file.unlink(missing_ok=True)


def restored_dependencies(
    text: str, original_of: Callable[[str], str | None], sources: Container[str] = ()
) -> str:
    """Rules as make reads them, `target : file \\ …`, with other file names."""
    lines = re.sub(r"\\\r?\n", " ", text).splitlines()
    rules = [_rule(line, original_of, sources) for line in lines]
    text = "".join(f"{rule}\n" for rule in rules if rule is not None)
    return re.sub(r"\n\n\n+", "\n\n", text)


def _rule(
    line: str, original_of: Callable[[str], str | None], sources: Container[str]
) -> str | None:
    match = re.match(r"((?:\\.|[^\\:])*?)(\s*):(?=\s|$)", line)
    if match is None:
        return line
    files = [_unescaped(word) for word in _WORD.findall(line[match.end() :])]
    if not files:
        # What -MP adds, so that make does not mind when a header goes away.
        target = _unescaped(match[1])
        return line if original_of(target) == target and target not in sources else None
    known = (original_of(file) for file in files)
    paths = (file.replace("$", "$$") for file in known if file is not None)
    listed = dict.fromkeys(re.sub(r"([ \t#])", r"\\\1", path) for path in paths)
    return f"{match[1]}{match[2]}: " + " \\\n    ".join(listed)


def _unescaped(word: str) -> str:
    return re.sub(r"\\([ \t#])", r"\1", word).replace("$$", "$")


#: Variable that names a file to which outputs are appended, for `cutune tune --make`.
OUTPUTS = "CUTUNE_NVCC_OUTPUTS"
#: Options of the host compiler by which it names other files after the object.
_NAMES_OTHERS = re.compile("split-dwarf|coverage|profile|save-temps|stack-usage|callgraph|dump|aux")
#: The emulated device gets PTX, without options for real GPUs only.
_REAL_TARGETS = names("""
    gpu-architecture gpu-code generate-code cudart compress-mode dlink-time-opt lto gen-opt-lto
""")


def compiled_sources(outputs: Path) -> Path:
    """The file that lists the compiled sources of CUDA, beside the one that lists the outputs."""
    return outputs.with_name("sources")


def compile_rewritten(launcher: Sequence[str], command: Command, settings: Settings) -> int:
    asked = command
    try:
        nvcc = find_nvcc(found_program(launcher[-1]) or launcher[-1])
        if EMULATED in settings.modes:
            command = emulated(command, nvcc)
        if named := os.environ.get(OUTPUTS):
            made = (os.path.abspath(path) for path in command.outputs())
            append_text(Path(named), "".join(f"{path}\n" for path in made))
            read = (item.value for item in command.sources if command.makes_host_code)
            append_text(compiled_sources(Path(named)), "".join(f"{path}\n" for path in read))
        is_rewritten = command.makes_host_code and settings.modes != {EMULATED}
        shadows = _shadows(asked, settings, nvcc) if is_rewritten else {}
        elsewhere = _dependencies_elsewhere(command) if shadows else ""
        whole = _object_elsewhere(command) if elsewhere else ""
        words = with_copies(command, shadows, elsewhere, whole) if shadows else []
        is_nvcc = shadows and list(launcher) == [str(nvcc.path)]
        is_built = is_nvcc and _is_built(nvcc, command, words, shadows.values())
    except CompilerKilled as error:
        print(error.diagnostic.render(), file=sys.stderr)
        return 128 + error.signal
    except Exception as error:
        return _without_rewriting(launcher, command, error, settings.strict)
    if not shadows:
        return run_instead(launcher, command.words)
    if not is_built:
        done = subprocess.run([*launcher, *words], capture_output=True, check=False)
        if ended_by(done.returncode, done.stderr.decode("latin-1")) is not None:
            # That says nothing of the rewritten form, and is what make wants to know.
            sys.stderr.buffer.write(done.stderr)
            return _status(done.returncode)
        if done.returncode != 0:
            said = (done.stderr or done.stdout).decode(errors="replace")
            remark = _not_rewritten(command, said)
            return _compile_original(launcher, command, said, remark, settings.strict)
        sys.stdout.buffer.write(done.stdout)
        sys.stderr.buffer.write(done.stderr)
    try:
        _restore(command, shadows.values(), elsewhere)
        if whole:
            replace_file(Path(command.outputs()[0]), Path(whole).read_bytes())
    except CutuneError as error:
        print(_said(error), file=sys.stderr)
        return 1
    return 0


def _is_built(
    nvcc: Nvcc, command: Command, words: Sequence[str], shadows: Collection[ShadowSource]
) -> bool:
    named = [item for item in command.items if item.name == "output-file"]
    (shadow, *others), code = shadows, next(iter(shadows)).code
    is_plain = len(named) == 1 and command.words_of(named[0])[:1] == ("-o",)
    if others or code is None or not is_plain or words.count("-o") != 1:
        return False
    from cutune.toolchain.built_code import built

    at = words.index("-o")
    options = [word for word in (*words[:at], *words[at + 2 :]) if word != shadow.path]
    source, output = Path(shadow.path), Path(named[0].value)
    is_named_once = len(options) == len(words) - 3 and words[at + 1] == named[0].value
    return is_named_once and built(nvcc, options, source, options, output, code, is_silent=True)


def _dependencies_elsewhere(command: Command) -> str:
    """Where nvcc writes its dependency file first, so that a killed call leaves no wrong file.

    Empty where that cannot be said: several files, or a name in a response file. Raises CT020.
    """
    files = command.dependency_files()
    named = [item for item in command.items if item.name == "dependency-output"]
    can_be_said = len(files) == 1 and all(item.first >= 0 for item in named)
    return str(run_folder() / "dependencies.d") if can_be_said else ""


def _object_elsewhere(command: Command) -> str:
    """Where nvcc writes the object first: it appears whole, and after its dependency file.

    So a killed call leaves no object that make takes for up to date. Empty where other files are
    named after the object. Raises CT020.
    """
    named = [item for item in command.items if item.name == "output-file"]
    can_be_said = len(named) == 1 and named[0].first >= 0 and command.has(STOPS_AT_OBJECT)
    others = map(_NAMES_OTHERS.search, command.values("compiler-options"))
    return str(run_folder() / "object.o") if can_be_said and not any(others) else ""


def _without_rewriting(
    launcher: Sequence[str], command: Command, error: Exception, is_strict: bool
) -> int:
    """Compile the original; nvcc reports its errors better than cutune."""
    if isinstance(error, CutuneError) and error.diagnostic.code is Code.NVCC_FAILED:
        said = error.diagnostic.message
        return _compile_original(launcher, command, said, _said(error), is_strict)
    print(_said(error), file=sys.stderr)
    return 1 if is_strict else run_instead(launcher, command.words)


def _compile_original(
    launcher: Sequence[str], command: Command, said: str, remark: str, is_strict: bool
) -> int:
    """Compile the original, behind which `remark` is printed if nvcc accepts it.

    If not, options that help follow, where `said`, its messages about the copy, names known ones.
    """
    done = subprocess.run([*launcher, *command.words], check=False)
    if done.returncode == 0:
        print(remark, file=sys.stderr)
        return 1 if is_strict else 0
    for remedy in remedies_of(said):
        if remedy.flag:
            told = Diagnostic.at(Code.KNOWN_REMEDY, remedy=remedy.text, flag=remedy.flag)
            print(told.render(), file=sys.stderr)
    return _status(done.returncode)


def _not_rewritten(command: Command, said: str) -> str:
    lines = said.splitlines()
    reason = next((line for line in lines if "error" in line), lines[0] if lines else "no message")
    paths = ", ".join(item.value for item in command.sources)
    return Diagnostic.at(Code.NOT_REWRITTEN, path=paths, reason=reason).render()


def _status(returncode: int) -> int:
    return returncode if returncode >= 0 else 128 - returncode


def _said(error: Exception) -> str:
    if isinstance(error, CutuneError):
        return error.diagnostic.render()
    reason = f"{type(error).__name__}: {error}"
    return Diagnostic.at(Code.FAILED_REWRITING, reason=reason).render()


def emulated(command: Command, nvcc: Nvcc) -> Command:
    """The command for the emulated device, as if its flags stood in NVCC_APPEND_FLAGS.

    A cubin becomes a fat binary of the same name, which holds PTX: programs load either.
    """
    from cutune.emulator.link import append_flags

    words = [
        word
        for item in command.items
        if item.first >= 0 and item.name not in _REAL_TARGETS
        for word in (["-fatbin"] if item.name == "cubin" else command.words_of(item))
    ]
    if command.has(("cubin",)) and command.last("output-file") is None and len(command.inputs) == 1:
        words += ["-o", command.beside(command.inputs[0].value, ".cubin")]
    return Command.parse([*words, *append_flags(nvcc, command.links).split()])


def _shadows(command: Command, settings: Settings, nvcc: Nvcc) -> dict[str, ShadowSource]:
    units = {source.value: CompiledSource.of(command, source) for source in command.sources}
    made = {p: _Rewriter.of(unit, settings, nvcc).kept_or_made() for p, unit in units.items()}
    return {path: shadow for path, shadow in made.items() if shadow is not None}


@dataclass(frozen=True)
class _Rewriter:
    """Makes of one unit what the mode asks for. `toolchain`: without the unit's own flags."""

    unit: CompiledSource
    workspace: Workspace
    settings: Settings
    toolchain: Toolchain

    @staticmethod
    def of(unit: CompiledSource, settings: Settings, nvcc: Nvcc) -> _Rewriter:
        """The rewriter of a unit.

        Where `tune --make` has compiled the unit for the emulated device, its options are kept, so
        that its device code is known.
        """
        from cutune.toolchain.toolchain import Toolchain

        workspace = _workspace(unit, settings)
        was = unit.own_workspace(workspace).models.exists() or knows_others(unit, workspace)
        flags = COMPATIBILITY_FLAGS if EMULATED in settings.modes or was else ()
        return _Rewriter(unit, workspace, settings, Toolchain(str(nvcc.path), flags))

    @property
    def instruments(self) -> bool:
        return INSTRUMENT in self.settings.modes

    def kept_or_made(self) -> ShadowSource | None:
        request = self._request()
        if request is None:
            return self._made()
        from cutune.tuning.inputs import Keeper
        from cutune.tuning.kept import keep_rewriting, kept_rewriting, write_texts

        if (kept := kept_rewriting(request)) is not None:
            write_texts(kept.texts)
            return None if kept.shadow is None else ShadowSource.from_json(kept.shadow)
        own = self.unit.own_workspace(self.workspace)
        if own.models.exists() or self.workspace.models.exists():
            # nvcc is at work while the rest of this program is loaded.
            request = request.with_begun()
        keeper, begun = Keeper.watching(request), request.toolchain.begun
        try:
            shadow = replace(self, toolchain=replace(self.toolchain, begun=begun))._made()
        finally:
            # This process may become nvcc.
            keeper.wait()
            if begun is not None:
                begun.wait()
        files = shadow.originals if shadow is not None else ()
        keep_rewriting(keeper, None if shadow is None else shadow.to_json(), files)
        return shadow

    def _request(self) -> Request | None:
        """The request that a rewritten source answers; None where it is not kept.

        Instrumented builds also take notes, and sources that share kernels depend on each other.
        """
        unit, workspace, settings = self.unit, self.workspace, self.settings
        if self.settings.modes & {INSTRUMENT, SHAKEN} or knows_others(unit, workspace):
            return None
        from cutune.tuning.inputs import Request

        try:
            devices = named_devices(settings.devices)
        except CutuneError:
            return None
        models = [str(place.models) for place in (unit.own_workspace(workspace), workspace)]
        asked = {**settings._asdict(), "modes": sorted(settings.modes), "unit": asdict(unit)}
        own = self.toolchain.with_flags(unit.flags)
        return Request(asked, [unit.source], own, devices, workspace, models)

    def _made(self) -> ShadowSource | None:
        from cutune.proof.analysis.analyzer import Analyzer

        plain = Analyzer(
            self.toolchain,
            with_variants=self.settings.variants,
            rewrites_headers=True,
            is_associative=self.settings.is_associative,
            try_copies=try_copies,
        )
        try:
            made = {INSTRUMENT: self._instrumented, SHAKEN: self._shaken, TUNED: self._tuned}
            mode = next((mode for mode in made if mode in self.settings.modes), None)
            rewritten = made[mode](plain) if mode is not None else None
        except CutuneError as error:
            if error.diagnostic.code in (Code.NOT_CUDA, Code.ALREADY_TUNED):
                return None
            raise
        if rewritten is None:
            return None
        folder = self.workspace.folder.absolute() / "nvcc" / f"{self.unit.key}-{mode}"
        shadow = ShadowSource.write(rewritten, folder)
        if mode != INSTRUMENT or shadow.tree is not None:
            return shadow
        analyzer = plain.with_flags(self.unit.flags)
        options = analyzer.toolchain.compile_flags(self.unit.source)
        return replace(shadow, code=analyzer.code.built(rewritten.program, options))

    def _instrumented(self, plain: Analyzer) -> TranslationUnit | None:
        from cutune.emulator.program_builds import instrument
        from cutune.source.program import SiteNumbers

        program = self._program(plain)
        note(self.unit, self.workspace, program)
        if not program.tunable_launches:
            return instrument(program) if program.is_lent else None
        program = plain.with_flags(self.unit.flags).with_checked_variants(program)
        unit = register(self.unit, self.workspace, program)
        return instrument(SiteNumbers(unit.first_site).written(program))

    def _shaken(self, plain: Analyzer) -> TranslationUnit | None:
        from cutune.model.emit.programs import FIRST_SEED, random_unit

        program = self._program(plain)
        note(self.unit, self.workspace, program)
        if not program.tunable_launches and not program.is_lent:
            return None
        return random_unit(plain.with_flags(self.unit.flags), program, FIRST_SEED)

    def _tuned(self, plain: Analyzer) -> TranslationUnit | None:
        own = self.unit.own_workspace(self.workspace)
        workspace = own if own.models.exists() else self.workspace
        is_modelled = workspace.models.exists()
        if not is_modelled and not lends(self.unit, self.workspace):
            return None
        from cutune.model.emit.programs import models_of, replaced

        program = self._program(plain)
        models = models_of(program, workspace) if is_modelled else []
        if not models and not program.is_lent:
            return None
        analyzer, devices = plain.with_flags(self.unit.flags), named_devices(self.settings.devices)
        unit = replaced(analyzer, program, models, devices)
        return unit if unit.edits or program.is_lent else None

    def _program(self, plain: Analyzer) -> Program:
        from cutune.proof.analysis.kernels_of_other_sources import linked

        analyzer = plain.with_flags(self.unit.flags)
        read = [analyzer.read(self.unit.source, require_nvcc=True)]
        for lender in lenders_of(self.unit, self.workspace):
            # What cannot be read lends nothing: launches of its kernels stay as they are.
            with suppress(CutuneError, OSError):
                read.append(lender.read(plain, require_nvcc=True))
        program = replace(linked(read)[0], is_lent=lends(self.unit, self.workspace))
        return analyzer.reported([program])[0]


def _workspace(unit: CompiledSource, settings: Settings) -> Workspace:
    """The nearest workspace that knows the unit, else the nearest, else one beside the source."""
    places = [Workspace(Path(p)) for p in workspaces_of(unit.source, settings.workspace)]
    beside = Workspace(Path(os.path.dirname(unit.source)) / WORKSPACE)
    knowing: list[Workspace] = []
    if INSTRUMENT not in settings.modes:
        knowing = [place for place in places if unit.own_workspace(place).models.exists()]
        knowing += [place for place in places if place.models.exists() or lends(unit, place)]
    return next(iter([*knowing, *places]), beside)


def _restore(command: Command, shadows: Iterable[ShadowSource], elsewhere: str) -> None:
    originals = {copy: path for shadow in shadows for copy, path in shadow.originals.items()}

    def original_of(path: str) -> str | None:
        if path not in originals and os.path.dirname(path) == str(INCLUDE_DIRECTORY):
            return None
        # The folder of a source that was named without one is given to the compiler as `.`.
        return originals.get(path, path.removeprefix("./"))

    sources = [item.value for item in command.sources]
    for path in command.dependency_files():
        restore_dependencies(elsewhere or path, path, original_of, sources)
