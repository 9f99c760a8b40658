"""Device code of a source. Takes nvcc, a source, its flags and architectures, gives their code.

nvcc says by `--dryrun` what it would run: the preprocessor, then cicc. The former runs each time.
What cicc has made of a text is kept in the user's cache, and given again for the same text and
options, wherever the source lies: what one verb has compiled the next one need not. Code with lines
is kept besides, for builds: a comment more makes another one of it.

Loads little, so that nvcc may be at work while what reads its output is loaded.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError
from cutune.core.temporary import temporary_folder
from cutune.ptx.types import WHOLE_PROGRAM
from cutune.toolchain import built_code, dry_run
from cutune.toolchain.built_code import BuiltCode
from cutune.toolchain.cache import cache_folder, keep_text, kept_text, key_of, state_of
from cutune.toolchain.compiler_commands import Words
from cutune.toolchain.dry_run import FrontEndFailed, run_any
from cutune.toolchain.nvcc import Nvcc, target_flags
from cutune.toolchain.preprocessed import BEGIN, host_pass, masked

#: Where lines come from changes no code, unless it asks; of which kind their header is may.
_ASKED = re.compile(r"__builtin_(?:FILE|LINE|COLUMN|source_location)\b")
_MARKER = re.compile(BEGIN + r' \d+ "(?:[^"\\]|\\.)*"')
#: Device code is linked with that of other sources.
_SEPARATE = frozenset({"-dc", "--device-c", "-dlto"})
#: What a compiler says of a text that is none; of anything else that is wrong nvcc tells itself.
_ERROR = re.compile(r": (?:fatal |catastrophic )?error:")
#: Lines of sources, and names that are made of a source's path.
_OF_A_PLACE = re.compile(rf"^\s*\.(?:file|loc)\s|{built_code.OF_A_MODULE.pattern}", re.MULTILINE)


@dataclass(frozen=True)
class DeviceCode:
    """The PTX of a source; `built`: its code for programs, where that was wanted and is known.

    Where it is linked with no other device code, `WHOLE_PROGRAM` stands at the end of the PTX.
    `lined` gives the PTX with `.loc`, perhaps by compiling for its sake; None: not known.
    """

    ptx: str
    built: BuiltCode | None = None
    lined: Callable[[], str | None] = field(default=lambda: None, compare=False)


@dataclass(frozen=True)
class DeviceSteps:
    """The commands that nvcc runs for the PTX of a source, and the variables that it sets."""

    preprocess: tuple[str, ...]
    compile: tuple[str, ...]
    variables: Mapping[str, str]

    @property
    def expanded(self) -> Path:
        return Path(dry_run.value(self.preprocess, "-o"))


def compiled(
    nvcc: Nvcc,
    path: str,
    flags: Words = (),
    architecture: str = "80",
    for_programs: bool = False,
    tell: Callable[[str], None] = lambda text: None,
) -> DeviceCode:
    """Compile a source for an architecture, as `Nvcc.ptx` does, or take what is kept.

    `for_programs`: the code that programs hold is wanted, too; its lines are named by reasons.
    `tell` gets the preprocessor's output, if it is known. Raises CT701 with nvcc's own messages.
    """
    with suppress(FrontEndFailed), temporary_folder() as name:
        options = [*target_flags(flags, architecture), "-ptx"]
        return _Source(nvcc, path, flags, options, Path(name)).compiled(for_programs, tell)
    return DeviceCode(nvcc.ptx(path, flags, architecture))


#: The PTX that a step has written, and whether it printed nothing.
_StepOutput = tuple[str, bool]


@dataclass(frozen=True)
class _Source:
    """A source, the options with which nvcc would make PTX of it, and a folder to do it in."""

    nvcc: Nvcc
    path: str
    flags: Words
    options: Words
    folder: Path

    def compiled(
        self,
        for_programs: bool,
        tell: Callable[[str], None] = lambda text: None,
        with_lines: bool = False,
    ) -> DeviceCode:
        output = self.folder / "module.ptx"
        stand_in = dry_run.stand_in_for(self.nvcc, self.path, self.flags)
        files = ["--keep", "--keep-dir", str(self.folder), "-o", str(output)]
        words = [*self.options, "--dryrun", *files, stand_in]
        steps = read_device_steps(dry_run.dry_answer(self.nvcc, words, str(self.folder)))
        environment = {**os.environ, **steps.variables}

        def run(step: Words) -> _StepOutput:
            done = run_any(dry_run.with_source(step, stand_in, self.path), environment)
            if done.returncode > 0 and _ERROR.search(done.stderr):
                # nvcc would run the same, end with its status, and say no more.
                words = self.nvcc.source_words(self.path, self.flags)
                self.nvcc.checked([*self.options, *words, "-o", str(output)], done)
            if done.returncode != 0:
                raise FrontEndFailed(f"'{step[0]}' failed")
            text = output.read_text(encoding="latin-1") if output.exists() else ""
            return text, not (done.stdout or done.stderr)

        run(steps.preprocess)
        text = steps.expanded.read_text(encoding="latin-1")
        tell(text)
        kept = _Kept(steps, text, environment)
        has_lines = built_code.LINES in steps.compile or "-g" in steps.compile
        if for_programs and not has_lines:
            code = self._for_programs(steps, kept, run, with_lines)
        elif (ptx := kept.ptx()) is not None:
            code = DeviceCode(ptx)
        else:
            code = DeviceCode(run(steps.compile)[0])
            kept.keep(code.ptx)
        # What is linked with others has another option; phases are none of ours.
        if _SEPARATE.isdisjoint((*steps.compile, *self.flags)):
            return replace(code, ptx=code.ptx + WHOLE_PROGRAM)
        return code

    def _for_programs(
        self, steps: DeviceSteps, kept: _Kept, run: Callable[[Words], _StepOutput], with_lines: bool
    ) -> DeviceCode:
        """Compile with lines, unless the PTX is kept without: lines alone are not worth it."""
        built = kept.built()
        plain = built_code.ptx_without_lines(built.ptx) if built is not None else kept.ptx()
        if built is not None and plain is not None:
            return DeviceCode(plain, built, partial(str, built.ptx))
        if plain is not None and not with_lines:
            return DeviceCode(plain, built, self._lined)
        words = built_code.with_outputs(steps.compile, str(steps.expanded), self.folder)
        lined, is_silent = run(words)
        plain = built_code.ptx_without_lines(lined)
        if plain is None:
            return DeviceCode(run(steps.compile)[0])
        kept.keep(plain)
        built = built_code.written(words, str(steps.expanded), lined, is_silent)
        kept.keep_built(built)
        return DeviceCode(plain, built, lambda: lined)

    def _lined(self) -> str | None:
        with suppress(CutuneError), temporary_folder() as name:
            again = replace(self, folder=Path(name))
            return again.compiled(for_programs=True, with_lines=True).lined()
        return None


def read_device_steps(said: str) -> DeviceSteps:
    """The steps in the output of `nvcc -ptx --dryrun`. Raises CT708 where there are none."""
    steps, variables = dry_run.commands(said)
    preprocess = [step for step in steps if "-E" in step]
    compile_ = [step for step in steps if dry_run.is_cicc(step)]
    if len(preprocess) == len(compile_) == 1:
        device_steps = DeviceSteps(preprocess[0], compile_[0], variables)
        if str(device_steps.expanded) in device_steps.compile:
            return device_steps
    raise FrontEndFailed("nvcc does not name the steps to PTX")


class _Kept:
    """The entries of the cache for a text, options and a compiler."""

    def __init__(self, steps: DeviceSteps, text: str, environment: Mapping[str, str]) -> None:
        self._text, self._folder = text, cache_folder() / "ptx"
        self._compiler = _compiler_digest(steps, environment)
        self._asks = _ASKED.search(text) is not None
        plain = text if self._asks else _MARKER.sub("#", masked(text))
        self._plain = self._folder / f"{key_of(self._compiler, plain)}.ptx"

    @cached_property
    def _numbered(self) -> tuple[str, dict[str, int]]:
        return built_code.without_places(self._text)

    @property
    def _built(self) -> Path:
        return self._folder / f"{key_of(self._compiler, self._numbered[0])}.json"

    def ptx(self) -> str | None:
        return kept_text(self._plain)

    def keep(self, ptx: str) -> None:
        if not _OF_A_PLACE.search(ptx):
            keep_text(self._plain, ptx)

    def built(self) -> BuiltCode | None:
        text = None if self._asks else kept_text(self._built)
        return built_code.from_text(text, self._numbered[1]) if text is not None else None

    def keep_built(self, built: BuiltCode | None) -> None:
        text = built_code.to_text(built, self._numbered[1]) if built and not self._asks else None
        if text is not None:
            keep_text(self._built, text)


def _compiler_digest(steps: DeviceSteps, environment: Mapping[str, str]) -> str:
    options = built_code.without_names(steps.compile, str(steps.expanded))
    cicc = shutil.which(steps.compile[0], path=environment.get("PATH"))
    library = environment.get("NVVMIR_LIBRARY_DIR")
    files = [Path(cicc)] if cicc else []
    files += sorted(Path(library).glob("*")) if library else []
    return key_of(*options, *map(state_of, files))


#: What the emulated device runs, whatever GPU is modelled.
EMULATED = "sm_80"
_TARGET = re.compile(r"\b(?:compute|sm|lto)_(\d+[af]?)\b")


def targets(flags: Iterable[str], devices: Iterable[str], nvcc: Nvcc) -> tuple[str, ...]:
    """Return the architectures to prove for: those of the flags, and of devices (`sm_90`).

    Without any in the flags, nvcc's own default; it is named by an empty text.
    """
    named = [word for flag in flags if "_" in flag for word in _TARGET.findall(flag)] or [""]
    if any("=all" in flag or flag in ("all", "all-major") for flag in flags):
        named = [str(code) for code in nvcc.architectures]
    of_devices = [nvcc.architecture(device).removeprefix("sm_") for device in devices]
    return tuple(dict.fromkeys((*named, *of_devices)))


@dataclass(frozen=True)
class Begun:
    """nvcc at work on a source. `passes`: the preprocessor's output for each architecture."""

    path: str
    flags: tuple[str, ...]
    expanded: Future[str]
    codes: Mapping[str, Future[DeviceCode]]
    passes: Mapping[str, Future[str]]

    @staticmethod
    def at(nvcc: Nvcc, path: str, flags: Words, devices: Iterable[str]) -> Begun:
        architectures = targets(flags, devices, nvcc)
        pool = ThreadPoolExecutor(1 + len(architectures))
        expanded = pool.submit(host_pass, nvcc, path, flags)
        passes: dict[str, Future[str]] = {one: Future() for one in architectures}
        codes = {}
        for one, told in passes.items():
            codes[one] = pool.submit(compiled, nvcc, path, flags, one, True, told.set_result)
            codes[one].add_done_callback(partial(_end, told))
        pool.shutdown(wait=False)
        return Begun(path, tuple(flags), expanded, codes, passes)

    @staticmethod
    def expanded_already(path: str, flags: Words, text: str) -> Begun:
        """Nothing but the preprocessor's output for the host, which is known."""
        expanded = Future[str]()
        expanded.set_result(text)
        return Begun(path, tuple(flags), expanded, {}, {})

    def is_of(self, path: str, flags: Words) -> bool:
        return (path, tuple(flags)) == (self.path, self.flags)

    def wait(self) -> None:
        self.expanded.exception()
        for code in self.codes.values():
            code.exception()

    def device_pass(self, architecture: str) -> str | None:
        """The preprocessor's output for an architecture; None where it is not known."""
        told = self.passes.get(architecture)
        return None if told is None or told.exception() is not None else told.result()


def _end(told: Future[str], code: Future[DeviceCode]) -> None:
    if not told.done():
        told.set_exception(LookupError())


# ---- code of an earlier call, which is assumed, until nvcc has compiled the result (tuning/kept)

#: What is compiled where it is the source itself.
SOURCE = "source"
Codes = Mapping[str, Future[DeviceCode]]
"""Device code by architecture."""


class NoEarlierCode(Exception):
    """The earlier call has not compiled what is asked for: nothing can be assumed."""


@dataclass(frozen=True)
class EarlierCode:
    """The PTX of an earlier call, and of this one, by what was compiled and the architecture.

    `known`: None: nothing is assumed; what is compiled is noted. None in it: it does not compile.
    """

    known: Mapping[str, str | None] | None = None
    _noted: dict[str, Future[DeviceCode]] = field(default_factory=dict)

    def codes(self, about: str, names: Iterable[str], begin: Callable[[], Codes]) -> Codes:
        """Return the code of each architecture. Raises NoEarlierCode."""
        if self.known is None:
            codes = begin()
            self._noted.update({_place(about, name): code for name, code in codes.items()})
            return codes
        return {name: _done(self._earlier(_place(about, name))) for name in names}

    def _earlier(self, place: str) -> str | None:
        if self.known is None or place not in self.known:
            raise NoEarlierCode(place)
        return self.known[place]

    def found(self) -> dict[str, str | None]:
        """What a later call may assume."""
        if self.known is not None:
            return dict(self.known)
        ended = self._noted.items()
        return {place: None if code.exception() else code.result().ptx for place, code in ended}


def _place(about: str, architecture: str) -> str:
    return f"{about} {architecture}"


def _done(ptx: str | None) -> Future[DeviceCode]:
    code = Future[DeviceCode]()
    if ptx is None:
        code.set_exception(CutuneError.at(Code.NVCC_FAILED))
    else:
        code.set_result(DeviceCode(ptx))
    return code
