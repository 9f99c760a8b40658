"""The part of `cutune nvcc` that rewrites. Takes a command with something to do, gives a status.

nvcc compiles shadow copies of the sources. If that fails, or cutune itself fails, nvcc compiles the
originals, whose status and messages count.

What an earlier call has made is given again where all that it depends on is as it was: the copy,
and the object.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, Diagnostic, tell
from cutune.core.processes import CompilerKilled, ended_by
from cutune.core.temporary import run_folder, temporary_folder
from cutune.core.workspace import Workspace, append_text, replace_file
from cutune.toolchain.device.present import named_devices
from cutune.toolchain.locate import TRIED, found_program
from cutune.toolchain.nvcc import (
    COMPATIBILITY_FLAGS,
    INCLUDE_DIRECTORY,
    Nvcc,
    find_nvcc,
    remedies_of,
)
from cutune.tuning.nvcc.command import (
    ASSOCIATIVE,
    EMULATED,
    INSTRUMENT,
    SHAKEN,
    STOPS_AT_OBJECT,
    TUNED,
    VARIANTS,
    Command,
    Item,
    Settings,
    names,
    run_instead,
)
from cutune.tuning.nvcc.kept_objects import ObjectPlace, ObjectQuestion, is_understood
from cutune.tuning.nvcc.shadows import ShadowSource, restore_dependencies, with_copies
from cutune.tuning.nvcc.units import (
    CompiledSource,
    known_unit,
    knows_others,
    lenders_of,
    lends,
    models_here,
    note,
    register,
)

if TYPE_CHECKING:
    from cutune.proof.analysis.analyzer import Analyzer
    from cutune.source.program import Program
    from cutune.source.rewrite.pipeline import TranslationUnit
    from cutune.toolchain.toolchain import Toolchain
    from cutune.tuning.inputs import Inputs, Request, WatchedRequest
    from cutune.tuning.kept import EarlierBuild, Making


#: Variable that names a file to which outputs are appended, for `cutune tune --make`.
OUTPUTS = "CUTUNE_NVCC_OUTPUTS"
#: Variable that names a file which is there once it was said that one cannot be written.
TOLD = "CUTUNE_NVCC_TOLD"
#: Variables that no copy and no object depends on besides what a request holds: the settings; the
#: programs that are found; what linkers and ccache do. `tune --make` has its own values of them.
_UNREAD = (
    *("CUTUNE_MODE", "CUTUNE_WORKSPACE", "CUTUNE_DEVICE", "CUTUNE_STRICT", VARIANTS, ASSOCIATIVE),
    *(OUTPUTS, TOLD, TRIED, "PATH", "LIBRARY_PATH", "CCACHE_DISABLE", "CCACHE_RECACHE"),
)
#: Options of the host compiler by which it names other files after the object.
_NAMES_OTHERS = re.compile("split-dwarf|coverage|profile|save-temps|stack-usage|callgraph|dump|aux")
#: The emulated device gets PTX, without options for real GPUs only.
_REAL_TARGETS = names("""
    gpu-architecture gpu-code generate-code cudart compress-mode dlink-time-opt lto gen-opt-lto
""")


def compiled_sources(outputs: Path) -> Path:
    """The file that lists the compiled sources of CUDA, beside the one that lists the outputs."""
    return outputs.with_name("sources")


@dataclass(frozen=True)
class _RewrittenCommand:
    """A command, its sources replaced by their shadows.

    `dependencies`, `whole`: where its dependency file and its object are written first; empty: at
    their own places. `nvcc`: None where another program is called, as ccache. `question`: where the
    object is kept for an equal call; None: it is not.
    """

    command: Command
    words: Sequence[str]
    shadows: Collection[ShadowSource]
    dependencies: str
    whole: str
    nvcc: Nvcc | None
    question: ObjectQuestion | None

    @staticmethod
    def of(
        command: Command, shadows: dict[str, ShadowSource], nvcc: Nvcc | None, is_kept: bool
    ) -> _RewrittenCommand:
        """`shadows`: by the path of the source. Raises CT020."""
        dependencies = _dependencies_elsewhere(command)
        question = ObjectQuestion.of(nvcc, command, shadows) if nvcc and is_kept else None
        whole = _object_elsewhere(command) if dependencies or question else ""
        words = with_copies(command, shadows, dependencies, whole)
        every = shadows.values()
        return _RewrittenCommand(command, words, every, dependencies, whole, nvcc, question)

    @property
    def making(self) -> Making | None:
        """How its only shadow was made: kept once that is compiled."""
        return self.question.shadow.making if self.question is not None else None

    def was_given(self, place: ObjectPlace | None) -> bool:
        """Was the object of an equal call put in place?"""
        if place is None or not place.given():
            return False
        if self.making is not None:
            self.making.was_given()
        return True

    def was_built(self) -> bool:
        """Was it built of device code that is known?"""
        return self.nvcc is not None and _is_built(
            self.nvcc, self.command, self.words, self.shadows
        )

    def finish(self, place: ObjectPlace | None = None) -> int:
        """Put what was made in place, and keep it."""
        try:
            _restore(self.command, self.shadows, self.dependencies)
            if self.whole:
                replace_file(Path(self.command.outputs()[0]), Path(self.whole).read_bytes())
        except CutuneError as error:
            _tell(error)
            return 1
        if place is not None:
            place.keep()
        return 0


def compile_rewritten(launcher: Sequence[str], command: Command, settings: Settings) -> int:
    """Compile the shadows of the sources; gives the status for the shell.

    `launcher`: nvcc, or what stands before it, as ccache.
    """
    try:
        return _compiled(launcher, command, settings, is_first=True)
    except _UnconfirmedCode:
        return _compiled(launcher, command, settings)


class _UnconfirmedCode(Exception):
    """The device code that was assumed is not that of the source."""


def _compiled(
    launcher: Sequence[str], command: Command, settings: Settings, is_first: bool = False
) -> int:
    """Compile the shadows; gives the status for the shell. Raises _UnconfirmedCode at first."""
    asked = command
    try:
        found = found_program(launcher[-1]) or launcher[-1]
        nvcc = find_nvcc(found)
        if EMULATED in settings.modes:
            command = emulated(command, nvcc)
        if is_first:
            note_outputs(command)
        is_rewritten = command.makes_host_code and settings.modes != {EMULATED}
        own = nvcc if len(launcher) == 1 and found == str(nvcc.path) else None
        is_kept = settings.modes == {TUNED}
        assumes = is_first and is_kept and own is not None and _may_be_confirmed(command)
        shadows = _shadows(asked, settings, nvcc, assumes) if is_rewritten else {}
        made = _RewrittenCommand.of(command, shadows, own, is_kept) if shadows else None
        making = made.making if made is not None else None
        is_assumed = making is not None and making.assumed is not None
        # A changed source has no object yet, unless only lines have changed.
        is_asked = made is not None and (making is None or not is_assumed or making.is_alike)
        place = made.question.asked() if is_asked and made and made.question else None
        if made is not None and made.was_given(place):
            return 0
        is_built = made is not None and made.was_built()
    except CompilerKilled as error:
        tell(error.diagnostic)
        return 128 + error.signal
    except Exception as error:
        return _without_rewriting(launcher, command, error, settings.strict)
    if made is None:
        return run_instead(launcher, command.words)
    if is_built:
        return made.finish(place)
    with temporary_folder() as name:
        folder, keeps = Path(name), making is not None
        words = [*made.words, *(["--keep", "--keep-dir", name] if keeps else [])]
        done = subprocess.run([*launcher, *words], capture_output=True, check=False)
        if ended_by(done.returncode, done.stderr.decode("latin-1")) is not None:
            # That says nothing of the rewritten form, and is what make wants to know.
            sys.stderr.buffer.write(done.stderr)
            return _status(done.returncode)
        if done.returncode != 0 and is_assumed:
            raise _UnconfirmedCode
        if done.returncode != 0:
            said = (done.stderr or done.stdout).decode(errors="replace")
            remark = _not_rewritten(command, said)
            return _compile_original(launcher, command, said, remark, settings.strict)
        if making is not None and not making.was_compiled(folder):
            raise _UnconfirmedCode
        if place is None and made.question is not None:
            place = made.question.told(folder)
    sys.stdout.buffer.write(done.stdout)
    sys.stderr.buffer.write(done.stderr)
    return made.finish(None if done.stdout or done.stderr else place)


def _may_be_confirmed(command: Command) -> bool:
    """May it be compiled, and made anew where something was assumed that does not hold?"""
    return is_understood(command) and bool(_object_elsewhere(command))


def note_outputs(command: Command) -> None:
    """Append what it makes, and its sources, to the files that `tune --make` reads."""
    if named := os.environ.get(OUTPUTS):
        made = (os.path.abspath(path) for path in command.outputs())
        append_text(Path(named), "".join(f"{path}\n" for path in made))
        read = (item.value for item in command.sources if command.makes_host_code)
        append_text(compiled_sources(Path(named)), "".join(f"{path}\n" for path in read))


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
    can_be_said = can_be_said and named[0].value != "-"  # nvcc refuses it
    return str(run_folder() / "object.o") if can_be_said and not any(others) else ""


def _without_rewriting(
    launcher: Sequence[str], command: Command, error: Exception, is_strict: bool
) -> int:
    """Compile the original; nvcc reports its errors better than cutune."""
    if isinstance(error, CutuneError) and error.diagnostic.code is Code.NVCC_FAILED:
        said = error.diagnostic.message
        return _compile_original(launcher, command, said, _said(error), is_strict)
    _tell(error)
    return 1 if is_strict else run_instead(launcher, command.words)


def _tell(error: Exception) -> None:
    """Say what went wrong; of a full disk `cutune tune --make` learns that it was said."""
    said, named = _said(error), os.environ.get(TOLD)
    tell(said)
    if said.code is Code.UNWRITABLE_FILE and named:
        with suppress(OSError):
            Path(named).touch()


def _compile_original(
    launcher: Sequence[str], command: Command, said: str, remark: Diagnostic, is_strict: bool
) -> int:
    """Compile the original, behind which `remark` is printed if nvcc accepts it.

    If not, options that help follow, where `said`, its messages about the copy, names known ones.
    """
    done = subprocess.run([*launcher, *command.words], check=False)
    if done.returncode == 0:
        tell(remark)
        return 1 if is_strict else 0
    for remedy in remedies_of(said):
        if remedy.flag:
            tell(Diagnostic.at(Code.KNOWN_REMEDY, remedy=remedy.text, flag=remedy.flag))
    return _status(done.returncode)


def _not_rewritten(command: Command, said: str) -> Diagnostic:
    lines = said.splitlines()
    reason = next((line for line in lines if "error" in line), lines[0] if lines else "no message")
    paths = ", ".join(item.value for item in command.sources)
    return Diagnostic.at(Code.NOT_REWRITTEN, path=paths, reason=reason)


def _status(returncode: int) -> int:
    return returncode if returncode >= 0 else 128 - returncode


def _said(error: Exception) -> Diagnostic:
    if isinstance(error, CutuneError):
        return error.diagnostic
    reason = f"{type(error).__name__}: {error}"
    return Diagnostic.at(Code.FAILED_REWRITING, reason=reason)


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


def _shadows(
    command: Command, settings: Settings, nvcc: Nvcc, assumes: bool
) -> dict[str, ShadowSource]:
    rewriters = {s.value: _Rewriter.of(command, s, settings, nvcc) for s in command.sources}
    made: dict[str, ShadowSource] = {}
    for path, rewriter in rewriters.items():
        try:
            shadow = rewriter.kept_or_made(assumes)
        except CutuneError as error:
            is_other = len(rewriters) == 1 or error.diagnostic.code is not Code.STALE_MODELS
            if is_other or settings.strict:
                raise
            tell(error.diagnostic)  # the other sources are as they were
            continue
        made |= {path: shadow} if shadow is not None else {}
    return made


@dataclass(frozen=True)
class _Rewriter:
    """Makes of one unit what the mode asks for. `toolchain`: without the unit's own flags.

    `inputs`: waits for what the result depends on; gives None where that is not known.
    """

    unit: CompiledSource
    workspace: Workspace
    settings: Settings
    toolchain: Toolchain
    inputs: Callable[[], Inputs | None] = lambda: None

    @staticmethod
    def of(command: Command, source: Item, settings: Settings, nvcc: Nvcc) -> _Rewriter:
        """The rewriter of a source of a command.

        Where `tune --make` has compiled the unit for the emulated device, its options are kept, so
        that its device code is known.
        """
        from cutune.toolchain.toolchain import Toolchain

        unit, workspace = known_unit(command, source, settings)
        was = unit.own_workspace(workspace).models.exists() or knows_others(unit, workspace)
        flags = COMPATIBILITY_FLAGS if EMULATED in settings.modes or was else ()
        return _Rewriter(unit, workspace, settings, Toolchain(str(nvcc.path), flags))

    def kept_or_made(self, assumes: bool) -> ShadowSource | None:
        """`assumes`: may the device code be that of an earlier build, until nvcc has run?"""
        request = self._request()
        if request is None:
            return self._made()
        from cutune.toolchain.device_code import NoEarlierCode
        from cutune.tuning.inputs import WatchedRequest
        from cutune.tuning.kept import kept_rewriting, write_texts

        kept = kept_rewriting(request)
        if kept is None and self._has_models:
            # nvcc is at work while the rest of this program is loaded.
            request = request.with_begun()
        watched, begun = WatchedRequest.watching(request), request.toolchain.begun
        inputs = watched.known() if kept is not None else None
        if kept is not None and inputs is not None and kept.inputs == inputs.digests:
            write_texts(kept.texts)
            shadow = None if kept.shadow is None else ShadowSource.from_json(kept.shadow)
            return shadow and replace(shadow, made_by=inputs.about)
        try:
            if assumes and inputs is not None:
                from cutune.tuning.kept import earlier_build

                if (assumed := earlier_build(request.name, inputs)) is not None:
                    with suppress(NoEarlierCode):
                        return self._rewritten(watched, assumed)
            return self._rewritten(watched)
        finally:
            # This process may become nvcc.
            watched.wait()
            if begun is not None:
                begun.wait()

    def _rewritten(
        self, watched: WatchedRequest, assumed: EarlierBuild | None = None
    ) -> ShadowSource | None:
        """Make it, and keep it if nothing is assumed. Raises NoEarlierCode."""
        from cutune.toolchain.device_code import Begun, EarlierCode, NoEarlierCode
        from cutune.tuning.kept import Making, keep_rewriting

        request, inputs = watched.request, watched.known() if watched.inputs.done() else None
        begun, path = request.toolchain.begun, self.unit.source
        if begun is None and inputs is not None:
            flags = request.toolchain.compile_flags(path)
            begun = Begun.expanded_already(path, flags, inputs.texts[0])
        code = EarlierCode(assumed.compiled if assumed is not None else None)
        toolchain = replace(self.toolchain, begun=begun, earlier=code)
        try:
            shadow = replace(self, toolchain=toolchain, inputs=watched.known)._made()
        except CutuneError as error:
            if assumed is None or error.diagnostic.code is Code.STALE_MODELS:
                raise
            raise NoEarlierCode from error
        if shadow is None and assumed is not None:
            raise NoEarlierCode
        document = None if shadow is None else shadow.to_json()
        keep = partial(keep_rewriting, watched, document, shadow.originals if shadow else ())
        is_kept = assumed is not None or keep()
        inputs = watched.known()
        if shadow is None or inputs is None or not is_kept:
            return shadow
        making = Making(request.name, inputs, code, assumed, keep if assumed else lambda: True)
        return replace(shadow, made_by=inputs.about, making=making)

    @property
    def _has_models(self) -> bool:
        own = self.unit.own_workspace(self.workspace)
        return own.models.exists() or self.workspace.models.exists()

    def _request(self) -> Request | None:
        """The request that a rewritten source answers; None where it is not kept.

        Instrumented builds also take notes, and sources that share kernels depend on each other.
        """
        unit, workspace, settings = self.unit, self.workspace, self.settings
        if self.settings.modes & {INSTRUMENT, SHAKEN} or knows_others(unit, workspace):
            return None
        from cutune.tuning.inputs import OF_SHELLS, Request

        try:
            devices = named_devices(settings.devices)
        except CutuneError:
            return None
        models = [str(place.models) for place in (unit.own_workspace(workspace), workspace)]
        # Which workspace and nvcc are meant, a request says itself.
        is_how = {"variants": settings.variants, "associative": settings.is_associative}
        named = [device.name for device in devices]
        asked = {**is_how, "modes": sorted(settings.modes), "unit": asdict(unit), "devices": named}
        own, unread = self.toolchain.with_flags(unit.flags), (*OF_SHELLS, *_UNREAD)
        return Request(asked, [unit.source], own, devices, workspace, models, unread)

    def _made(self) -> ShadowSource | None:
        from cutune.measure import try_copies
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
        folder = self.workspace.folder.absolute() / "nvcc" / f"{self.unit.copy_name}-{mode}"
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
        from cutune.model.emit.selected_programs import SelectionPlace, with_selection

        program, inputs = self._program(plain), self.inputs()
        analyzer, devices = plain.with_flags(self.unit.flags), named_devices(self.settings.devices)
        about = inputs.about if inputs is not None else ""
        place = SelectionPlace.of(about, program)
        selection = place.kept() if place is not None else None
        if selection is None:
            from cutune.model.emit.programs import kept_selection

            models = models_here(program, workspace, self.workspace) if is_modelled else []
            if not models and not program.is_lent:
                return None
            selection = kept_selection(analyzer, models, devices, program, place)
        unit = with_selection(analyzer, program, selection)
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


def _restore(command: Command, shadows: Iterable[ShadowSource], elsewhere: str) -> None:
    originals = {copy: path for shadow in shadows for copy, path in shadow.originals.items()}

    def original_of(path: str) -> str | None:
        if path not in originals and os.path.dirname(path) == str(INCLUDE_DIRECTORY):
            return None
        # The folder of a source that was named without one is given to the compiler as `.`.
        copy = path if path in originals else os.path.normpath(path)
        return originals.get(copy, path.removeprefix("./"))

    sources = [item.value for item in command.sources]
    for path in command.dependency_files():
        restore_dependencies(elsewhere or path, path, original_of, sources)
