"""nvcc's front end for the host, run by itself. Takes a source and flags, gives C++ and assembly.

nvcc says by `--dryrun` which commands it would run: the preprocessor, cudafe++ (which takes the
kernels out and writes launches as calls), the host compiler. They are run here one by one, in
a folder of their own; the device is left out, and nothing is assembled. Answers that follow from
the result are kept in the user's cache, for the same preprocessed text at the same place.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from cutune import toolchain
from cutune.core.temporary import run_folder, temporary_folder
from cutune.toolchain import dry_run
from cutune.toolchain.cache import cache_folder, keep_whole, kept_whole, key_of, state_of
from cutune.toolchain.compiler_commands import Words
from cutune.toolchain.dry_run import FrontEndFailed, run, words
from cutune.toolchain.nvcc import Nvcc, without_output_flags
from cutune.toolchain.preprocessed import files_of, unescaped

#: Options that keep each call as written, and ask for the assembly alone.
_AS_IT_IS = "-O0"
_AS_WRITTEN = ("-S", _AS_IT_IS, "-g0", "-w", "-fno-lto")
#: The option of cudafe++ for what it writes.
_WRITTEN = "--gen_c_file_name"
#: Variables by which the host compiler finds its parts.
_OF_COMPILERS = ("PATH", "LD_LIBRARY_PATH", "COMPILER_PATH", "GCC_EXEC_PREFIX", "LANG", "LC_ALL")
_STUB = re.compile(r'^#include "[^"\n]*\.stub\.c"$', re.MULTILINE)
#: A line that says where the next one stands; behind the name: 3 in a header of the system.
_PLACE = re.compile(r'^# \d+ "(?P<name>(?:[^"\\\n]|\\.)*)"(?P<flags>[ \d]*)$', re.MULTILINE)
#: Macros that are another thing where nothing is optimized.
_OPTIMIZED = re.compile(r"\b__(?:OPTIMIZE\w*|NO_INLINE)__\b")


_NO_STEPS = "nvcc does not name the steps of its front end"


@dataclass(frozen=True)
class HostSteps:
    """The commands that nvcc runs for the host, as words, and the variables that it sets."""

    preprocess: tuple[str, ...]
    cudafe: tuple[str, ...]
    compile: tuple[str, ...]
    variables: Mapping[str, str]

    @property
    def host_file(self) -> Path:
        return Path(dry_run.value(self.cudafe, _WRITTEN))


@dataclass(frozen=True)
class HostText:
    """A source, preprocessed for the host, in a folder where the other steps may follow."""

    steps: HostSteps
    environment: Mapping[str, str]
    folder: str
    text: str

    def assembly(self, change: Callable[[str], str]) -> str:
        """The unoptimized assembly of the host code, after `change` has edited the C++ text.

        Kernels that are not templates are called there, but not defined. `change` gets the text
        that cudafe++ wrote; it may return "" for a text without launches.
        """
        try:
            return self._assembly(change)
        except FrontEndFailed:
            # Headers of the compiler call built-in functions with numbers alone only where inline
            # functions are optimized, and have macros in their place where nothing is.
            if any(_asks_whether_optimized(name) for name in _own_files(self.text)):
                raise
            run([*self.steps.preprocess, _AS_IT_IS], self.environment)
            return self._assembly(change)

    def _assembly(self, change: Callable[[str], str]) -> str:
        run(self.steps.cudafe, self.environment)
        written, assembly = self.steps.host_file, Path(self.folder) / "host.s"
        changed = change(_STUB.sub("", written.read_text(encoding="latin-1")))
        if not changed:
            return ""
        written.write_text(changed, encoding="latin-1")
        words = self.steps.compile
        at = words.index("-o") if "-o" in words else len(words)
        plain = [word for word in (*words[:at], *words[at + 2 :]) if word != "-c"]
        run([*plain, *_AS_WRITTEN, "-o", str(assembly)], self.environment)
        return assembly.read_text(encoding="latin-1")

    def key(self, *about: str) -> str:
        """Cache key of this text, these steps, this toolchain and `about`."""
        steps, search = (self.steps.cudafe, self.steps.compile), self.environment.get("PATH")
        words = (word.replace(self.folder, "") for step in steps for word in step)
        programs = (shutil.which(step[0], path=search) for step in steps)
        files = [Path(os.path.realpath(program)) for program in programs if program]
        files += sorted(path for place in toolchain.__path__ for path in Path(place).rglob("*.py"))
        variables = (self.environment.get(name, "") for name in _OF_COMPILERS)
        read = map(os.path.realpath, files_of(self.text))
        return key_of(self.text, *read, *words, *variables, *map(state_of, files), *about)


@contextmanager
def host_text(nvcc: Nvcc, path: str, flags: Words) -> Iterator[HostText]:
    """Preprocess a source for the host. Raises CT708 when that fails or nvcc is not understood."""
    with temporary_folder() as folder:
        stand_in = dry_run.stand_in_for(nvcc, path, flags)
        keep = ["-c", "--dryrun", "--keep", "--keep-dir", folder]
        # What a phase says of the names of kernels stays.
        is_relocatable = not {"-dc", "-dw", "--device-c", "--device-w"}.isdisjoint(flags)
        keep += [*without_output_flags(flags), *(["-rdc=true"] if is_relocatable else [])]
        steps = read_host_steps(dry_run.dry_answer(nvcc, [*keep, stand_in], folder))
        environment = {**os.environ, **steps.variables}
        preprocess, cudafe = (
            tuple(dry_run.with_source(step, stand_in, path))
            for step in (steps.preprocess, steps.cudafe)
        )
        run(preprocess, environment)
        text = Path(dry_run.value(preprocess, "-o")).read_text(encoding="latin-1")
        steps = replace(steps, preprocess=preprocess, cudafe=cudafe)
        yield HostText(steps, environment, folder, text)


def kept_answer(
    nvcc: Nvcc, path: str, flags: Words, about: Words, conclude: Callable[[HostText], str]
) -> str:
    """Return `conclude` of a source's host code: kept from before, or computed now.

    `about`: what else decides on it. Raises CT708 when a step fails or nvcc is not understood.
    """
    with host_text(nvcc, path, flags) as text:
        if Path(path).resolve().is_relative_to(run_folder().resolve()):
            return conclude(text)  # It will not be there again.
        place = cache_folder() / "host" / text.key(*about)
        answer = kept_whole(place)
        if answer is None:
            answer = conclude(text)
            keep_whole(place, answer)
        return answer


def _own_files(text: str) -> set[str]:
    """The files of a preprocessed text that are no headers of the system."""
    return {
        unescaped(place["name"])
        for place in _PLACE.finditer(text)
        if "3" not in place["flags"].split() and not place["name"].startswith("<")
    }


def _asks_whether_optimized(path: str) -> bool:
    try:
        return _OPTIMIZED.search(Path(path).read_text(encoding="latin-1")) is not None
    except OSError:  # a folder, as the first line has it
        return False


def read_host_steps(said: str) -> HostSteps:
    """The steps of the host in the output of `nvcc -c --dryrun`. Raises CT708: they are missing."""
    lines, variables = dry_run.read_dry_run(said)
    cudafe = next((words(line) for line in lines if line.startswith("cudafe++ ")), None)
    if cudafe is None:
        raise FrontEndFailed(dry_run.first_line(said) or _NO_STEPS)
    host_file = dry_run.value(cudafe, _WRITTEN)
    preprocess = compile_ = None
    for line in lines:
        if cudafe[-1] in line and " -E " in line:
            preprocess = words(line)
        elif host_file in line and not line.startswith("cudafe++ "):
            compile_ = words(line)
    if not host_file or preprocess is None or compile_ is None:
        raise FrontEndFailed(_NO_STEPS)
    return HostSteps(preprocess, cudafe, compile_, variables)
