"""nvcc and the host compiler: found, asked and run. Takes options, gives `Nvcc` and its output.

nvcc is the one that the option names, or found by the rules of `locate`.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, Diagnostic, shown
from cutune.core.temporary import temporary_folder
from cutune.core.workspace import make_folder, write_text
from cutune.toolchain.cache import kept_file
from cutune.toolchain.compiler_commands import (
    Finished,
    Words,
    executed_word,
    run_command,
    run_limited,
)
from cutune.toolchain.locate import candidates, cudacxx, is_program
from cutune.toolchain.ptxas import StaticCounters, parse_ptxas

#: Endings of sources that nvcc knows; those of headers it does not.
_SOURCES = frozenset((".cu", ".ptx", ".c", ".C", ".cc", ".cpp", ".cxx", ".c++"))


@dataclass(frozen=True)
class Remedy:
    """Advice for where a compiler or linker prints one of `signs`.

    `flag`: an option of nvcc that helps.
    """

    signs: tuple[str, ...]
    text: str
    flag: str = ""

    def __str__(self) -> str:
        return f"{self.text}; try: {self.flag}" if self.flag else self.text


_REMEDIES = (
    Remedy(
        ("undefined reference to ",),
        "a program needs all that it calls, and a main: name all of its sources, and libraries "
        "(-lNAME), or tune the project that it belongs to, by its own build: cutune help projects",
    ),
    Remedy(
        ('"cudaThreadSynchronize" is undefined',),
        "this CUDA has it no more, under that name",
        "-DcudaThreadSynchronize=cudaDeviceSynchronize",
    ),
    Remedy(
        ("Unsupported gpu architecture",),
        "this nvcc does not compile for it; leave the option out, here and where the program is "
        "built, or name another (nvcc --list-gpu-code says which)",
    ),
    Remedy(
        # The second is what preprocessors say for reasons that they have lost.
        ("No space left on device", "when writing output to "),
        "make room on the disk of the file that it names; files in /tmp can lie elsewhere: set "
        "TMPDIR to a folder on another disk",
    ),
)
#: nvcc says so, and not which program it has looked for.
_LACKS_COMPILER = "Failed to preprocess host compiler properties"
#: What `pip install` gets when a machine has no nvcc; equal to the extra `toolkit`.
TOOLKIT_PACKAGES = tuple(
    f"nvidia-{name}==13.0.*"
    for name in ("cuda-nvcc", "cuda-crt", "cuda-runtime", "cuda-cccl", "nvvm", "cuda-profiler-api")
)
#: How far the host's code is optimised; `-Ofast-compile` is about the device's.
_LEVEL = re.compile(r"(?:-O|--optimize)(?:=?\d+)?")
#: Headers that cutune's rewritten programs include.
INCLUDE_DIRECTORY = Path(__file__).parents[1] / "include"
#: Calls that newer toolkits lack and older programs use.
COMPATIBILITY_FLAGS = ("-include", str(INCLUDE_DIRECTORY / "cutune_compat.h"))


@dataclass(frozen=True)
class Nvcc:
    """One nvcc. What it says about itself is asked for once, when it is first needed."""

    path: Path
    #: Which rule found it, for `doctor`: an option, a variable, PATH or a package.
    origin: str = "--nvcc"

    @cached_property
    def version(self) -> str:
        """For instance `13.0.88`. Raises CT702 when it does not run or is not nvcc."""
        try:
            output = self._execute(["--version"]).stdout
        except OSError as error:
            raise _unusable(self.path, error.strerror or str(error)) from error
        match = re.search(r"release [\d.]+, V([\d.]+)", output)
        if match is None:
            raise _unusable(self.path, "'--version' does not answer as nvcc does")
        return match[1]

    @cached_property
    def root(self) -> Path:
        """The toolkit that it belongs to."""
        beside = self.path.resolve().parent.parent
        if self._is_in_toolkit:
            return beside
        # A script may stand in front of the real nvcc, which then says where it is.
        return _told_root(self._execute(["--dryrun", "-E", "-x", "cu", os.devnull])) or beside

    @property
    def _is_in_toolkit(self) -> bool:
        return (self.path.resolve().parent.parent / "include" / "cuda_runtime.h").exists()

    @cached_property
    def include_directories(self) -> tuple[Path, ...]:
        candidates = (self.root / "include", self.root / "include" / "cccl")
        return tuple(path for path in candidates if path.is_dir())

    @cached_property
    def extra_flags(self) -> tuple[str, ...]:
        """Flags with which this nvcc links: its wheels hold `lib`, but it looks in `lib64`."""
        folder = self.root / "lib"
        if (self.root / "lib64").exists() or not folder.is_dir():
            return ()
        return tuple(f"-L{each}" for each in (folder, *_unversioned(folder)))

    @cached_property
    def architectures(self) -> tuple[int, ...]:
        """Compute capabilities it can compile for, for instance 90 for sm_90, ascending."""
        said = self._execute(["--list-gpu-code"]).stdout
        return tuple(sorted({int(code) for code in re.findall(r"(?m)^sm_(\d+)\s*$", said)}))

    def architecture(self, wanted: str = "sm_90") -> str:
        """`wanted`, or the nearest below it that this nvcc knows (or its lowest)."""
        limit = int(wanted.removeprefix("sm_"))
        compilable = self.architectures or (limit,)
        return f"sm_{max((code for code in compilable if code <= limit), default=compilable[0])}"

    def run(self, arguments: Words, cwd: str | Path | None = None) -> Finished:
        """Run it, whatever its status. Raises CT712 where a shell would execute part of a name."""
        return self._execute([*self.extra_flags, *arguments], cwd)

    def dry_run(self, arguments: Words) -> Finished:
        """Like `run`, for arguments with `--dryrun`; learns the toolkit's root."""
        if "root" not in vars(self) and not self._is_in_toolkit:
            said = self._execute(arguments)
            if (root := _told_root(said)) is not None:
                vars(self)["root"] = root
                if not self.extra_flags:
                    return said
        return self.run(arguments)

    def _execute(self, arguments: Words, cwd: str | Path | None = None) -> Finished:
        return run_command(self._command(arguments), os.environ, cwd)

    def _command(self, arguments: Words) -> list[str]:
        if (word := executed_word(arguments)) is not None:
            raise CutuneError.at(Code.EXECUTED_WORD, word=word)
        return [str(self.path), *arguments]

    def check(self, arguments: Words, cwd: str | Path | None = None) -> Finished:
        """Run it and insist on success. Raises CT007, CT701 with nvcc's own messages."""
        return self.checked(arguments, self.run(arguments, cwd))

    def checked(self, arguments: Words, result: Finished) -> Finished:
        """The result of a run, or of the step that ended it. Raises CT007, CT701."""
        if result.returncode != 0:
            command = shlex.join([str(self.path), *arguments])
            said = shown(result.stderr or result.stdout).rstrip()
            if _LACKS_COMPILER in said:
                host_compiler()
            ran = f"(status {result.returncode} of: {command})"
            failed = Code.NVCC_FAILED.template
            message = "\n".join([failed, said, *map(str, remedies_of(said)), ran])
            raise CutuneError(Diagnostic(Code.NVCC_FAILED, message.rstrip()))
        return result

    @staticmethod
    def source_words(path: str | Path, flags: Words) -> list[str]:
        """A source as nvcc is given it: as CUDA, unless its name or a flag tells its language."""
        is_said = any(flag.partition("=")[0] in _LANGUAGE for flag in flags)
        language = [] if is_said or Path(path).suffix in _SOURCES else ["-x", "cu"]
        return [*language, str(path)]

    def preprocess(self, path: str | Path, flags: Words = (), options: Words = ()) -> str:
        """The preprocessor's output with line markers: of the host pass, or as `options` say."""
        words = [*(options or host_pass_flags(flags)), *self.source_words(path, flags)]
        return self.checked(words, run_limited(self._command(words), os.environ, path)).stdout

    def ptx(self, path: str | Path, flags: Words = (), architecture: str = "80") -> str:
        """The PTX of a source file, for instance for `90a`; for nvcc's default without a name.

        Empty for a file that the host compiler alone compiles, as its name says (`.cpp`).
        """
        with temporary_folder() as folder:
            output = Path(folder) / "module.ptx"
            words = [*target_flags(flags, architecture), "-ptx", *self.source_words(path, flags)]
            self.check([*words, "-o", str(output)])
            return output.read_text(encoding="latin-1") if output.exists() else ""

    def static_counters(
        self,
        path: str | Path | None,
        flags: Words = (),
        architecture: str = "sm_90",
        ptx: str | None = None,
    ) -> dict[str, StaticCounters]:
        """Registers and shared memory by mangled name. `ptx`: what the source is compiled to.

        Without a source there is no more than that.
        """
        other_flags = without_target_flags(flags)
        target = f"-arch={self.architecture(architecture)}"
        with temporary_folder() as folder:
            output = ["-o", str(Path(folder) / "module.cubin")]
            verbose = [target, "-Xptxas", "-v", *output, "-cubin"]
            if ptx is not None:
                module = Path(folder) / "module.ptx"
                module.write_text(ptx, encoding="latin-1")
                words = [*_without(other_flags, _LANGUAGE), *verbose, str(module)]
                result = self.run(words)
                if result.returncode == 0 or path is None:
                    self.checked(words, result)
                    return parse_ptxas(result.stderr + result.stdout)
            assert path is not None, "PTX or a source"
            # There may be options that nvcc takes with a source alone.
            result = self.check([*other_flags, *verbose, *self.source_words(path, flags)])
            return parse_ptxas(result.stderr + result.stdout)


_OUTPUT_FLAGS = frozenset(["-o", "--output-file"])
_TARGET_FLAGS_WITH_VALUE = _OUTPUT_FLAGS.union(
    ["-arch", "-gencode", "-code", "--gpu-architecture", "--gpu-code", "--generate-code"]
)
#: It would read PTX as C++.
_LANGUAGE = frozenset(["-x", "--x"])
_PHASE_FLAGS = frozenset(("-c", "-dc", "-dw", "-ptx", "-cubin", "-fatbin", "-dlto")).union(
    ("--compile", "--device-c", "--device-w")
)


def remedies_of(said: str) -> list[Remedy]:
    """Return the advice that fits the output of a compiler or linker."""
    return [remedy for remedy in _REMEDIES if any(sign in said for sign in remedy.signs)]


def _told_root(said: Finished) -> Path | None:
    match = re.search(r"^#\$ TOP=(.+?)\s*$", said.stderr + said.stdout, re.MULTILINE)
    return Path(match[1]).resolve() if match else None


def without_target_flags(flags: Iterable[str]) -> tuple[str, ...]:
    """Compile flags without architecture, output and phase, which our own replace."""
    return _without(flags, _TARGET_FLAGS_WITH_VALUE)


def host_pass_flags(flags: Iterable[str]) -> list[str]:
    """Compile flags for the host pass of the preprocessor."""
    # Plain -E is the device pass: there __CUDA_ARCH__ is defined and host code may be missing.
    return [*flags, "-E", "-Xcompiler", "-U__CUDA_ARCH__"]


def target_flags(flags: Iterable[str], architecture: str) -> list[str]:
    """Compile flags for one architecture, for instance `90a`; for nvcc's default without a name."""
    target = [f"-arch=compute_{architecture}"] if architecture else []
    return [*without_target_flags(flags), *target]


def without_output_flags(flags: Iterable[str]) -> tuple[str, ...]:
    """Compile flags without output and phase, which our own replace."""
    return _without(flags, _OUTPUT_FLAGS)


def _without(flags: Iterable[str], dropped: frozenset[str]) -> tuple[str, ...]:
    remaining: list[str] = []
    pending = iter(flags)
    for flag in pending:
        if flag in dropped:
            next(pending, None)
        elif flag.split("=")[0] not in dropped and flag not in _PHASE_FLAGS:
            remaining.append(flag)
    return tuple(remaining)


def find_nvcc(option: str | None = None) -> Nvcc:
    """The nvcc to use. Raises CT003 when there is none, CT702 when the one asked for is missing."""
    wanted = option or cudacxx()
    if wanted is not None:
        path = shutil.which(os.path.expanduser(wanted))
        if path is None:
            raise _unusable(wanted, "no such program")
        return _nvcc_at(Path(path), "--nvcc" if option else "$CUDACXX")
    for candidate, origin in candidates():
        if is_program(candidate):
            return _nvcc_at(Path(candidate), origin)
    raise CutuneError.at(Code.MISSING_NVCC)


@cache
def _nvcc_at(path: Path, origin: str) -> Nvcc:
    """Return one object per place, so that the compiler is asked about itself once."""
    return Nvcc(path, origin)


def unless_asked(level: str, flags: Words) -> tuple[str, ...]:
    """Return our level of optimisation, unless the user's options have one: nvcc takes the last."""
    return () if any(map(_LEVEL.fullmatch, flags)) else (level,)


def host_compiler() -> str:
    """The C++ compiler that nvcc would use for host code. Raises CT007 when there is none."""
    named = (os.environ.get(name) for name in ("NVCC_CCBIN", "CUDAHOSTCXX", "CXX"))
    for candidate in (*named, "g++", "clang++", "c++"):
        if candidate and (path := shutil.which(candidate)):
            return path
    raise CutuneError.at(Code.MISSING_COMPILER)


def without_driver(folder: Path) -> dict[str, str]:
    """The variable by which `-lcuda` is linked where there is no driver. Raises CT002, CT007.

    Many Makefiles name that library and call nothing of it. What stands in for it, in a folder that
    stays, holds nothing: a program that does call the driver is not linked, as it is not without.
    """
    command = [host_compiler(), "-print-file-name=libcuda.so"]
    if os.path.isabs(run_command(command, os.environ).stdout.strip()):
        return {}
    # A script of the linker, which names what every program has. nvlink warns of an archive.
    script = folder / "lib" / "libcuda.so"
    make_folder(script.parent)
    write_text(script, "GROUP ( -lc )\n")
    # Behind what is searched besides.
    before = os.environ.get("LIBRARY_PATH")
    return {"LIBRARY_PATH": os.pathsep.join([*filter(None, [before]), str(script.parent)])}


def _unversioned(folder: Path) -> Iterator[Path]:
    """Where `-lcudart` is found: wheels hold it under the name that programs ask for alone."""
    name = "libcudart.so"
    versions = [] if (folder / name).exists() else sorted(folder.glob(f"{name}.*"))
    for library in versions[:1]:
        yield kept_file(name, f'INPUT("{library}")\n').parent


def _unusable(path: object, reason: str) -> CutuneError:
    return CutuneError.at(Code.UNUSABLE_NVCC, path=path, reason=reason)
