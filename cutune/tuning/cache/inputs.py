"""Inputs of a result, as far as they are known before any program runs.

Takes a request, gives digests of all that the answer depends on: texts, files, variables, and the
programs that compile.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING

import cutune
from cutune.core.diagnostics import CutuneError
from cutune.core.workspace import Workspace
from cutune.emulator.link import TARGET_FLAGS
from cutune.toolchain.device.profile import DeviceProfile
from cutune.toolchain.device_code import targets
from cutune.toolchain.dry_run import dry_answer, stand_in_for
from cutune.toolchain.line_markers import files_of
from cutune.toolchain.nvcc import INCLUDE_DIRECTORY, Nvcc
from cutune.toolchain.preprocessed import device_pass, host_pass
from cutune.toolchain.toolchain import Toolchain
from cutune.tuning.cache.digests import digest, files_digest, states_digest, tree_files

if TYPE_CHECKING:
    from cutune.emulator.program_builds import InstrumentedProgram

#: What the host compiler itself runs.
_PARTS = ("cc1plus", "as", "ld", "collect2")
_HOST_COMPILER = re.compile(r"g\+\+|gcc|clang|\bc\+\+|\bcc\b")
#: A step of a dry run: a variable, or a program with its arguments.
_STEP = re.compile(r'^#\$ (?:(\w+)=(.*?)|"?([^\s"]+)"? .*)\s*$', re.MULTILINE)
_LIBRARY_FOLDER = re.compile(r'"-L([^"]+)"')


def compiler_digest(nvcc: Nvcc, flags: Sequence[str], source: str) -> str:
    """A digest of nvcc, of all programs that it runs for a source, and of their data."""
    words = [*flags, "--dryrun", stand_in_for(nvcc, source, flags), "-o", os.devnull]
    variables, named = dict(os.environ), set()
    for name, value, program in _STEP.findall(dry_answer(nvcc, words)):
        if name:
            variables[name] = value
        else:
            named.add(Template(program).safe_substitute(variables))
    path = variables.get("PATH")
    programs = sorted(found for name in named if (found := shutil.which(name, path=path)))
    parts = [part for program in programs for part in _parts_of(program)]
    files = [os.path.realpath(file) for file in (str(nvcc.path), *programs, *parts)]
    return digest(nvcc.version, *files, states_digest([*files, *_data(variables)]))


def _parts_of(program: str) -> list[str]:
    """The programs that a host compiler runs; empty for any other program."""
    if not _HOST_COMPILER.search(os.path.basename(os.path.realpath(program))):
        return []
    found = []
    for part in _PARTS:
        command = [program, f"-print-prog-name={part}"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        found.append(shutil.which(done.stdout.strip()))
    return [path for path in found if path is not None]


def _data(variables: dict[str, str]) -> list[str]:
    """Files of the toolkit that become a part of programs, or say how they are made."""
    here = Path(variables.get("_HERE_", os.devnull))
    libraries = [
        str(path)
        for folder in _LIBRARY_FOLDER.findall(variables.get("LIBRARIES", ""))
        for path in sorted(Path(folder).glob("libcuda*"))
    ]
    device = variables.get("NVVMIR_LIBRARY_DIR")
    return [
        str(here / "nvcc"),
        str(here / "nvcc.profile"),
        *tree_files(here / "crt"),
        *(tree_files(Path(device)) if device else ()),
        *libraries,
    ]


#: Variables that differ from one shell to the next, and that no result depends on.
_OF_SHELLS = frozenset(
    [
        *("_", "SHLVL", "OLDPWD", "PWD", "COLUMNS", "LINES", "PYTEST_CURRENT_TEST"),
        *("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES", "MAKE_TERMERR", "MAKE_TERMOUT"),
    ]
)
#: Options that make the linker look for files, or that another program reads.
_LINKING = re.compile(r"^(-[lL]|--library|-Xlinker|--linker-options|-Xnvlink|@)|-Wl,|(^|[,=])-B")
#: Text with which the assembler reads a file.
_INCLUDED_BYTES = ".incbin"


@dataclass(frozen=True)
class Request:
    """A request, with all that its answer may depend on.

    Attributes:
        options: as they were parsed, without those that only change what is shown meanwhile.
        sources: those of the program.
        toolchain: its flags hold no files of options.
        devices: that it is made for.
        named: further files that options name.
    """

    options: Mapping[str, object]
    sources: Sequence[str]
    toolchain: Toolchain
    devices: Sequence[DeviceProfile]
    workspace: Workspace
    named: Sequence[str] = ()

    @property
    def name(self) -> str:
        """A name that equal requests share, whatever the answer.

        Raises:
            CutuneError: there is no nvcc.
        """
        toolchain = self.toolchain
        places = os.getcwd(), str(self.workspace.folder.absolute()), str(toolchain.nvcc.path)
        asked = [self.options, self.sources, toolchain.flags, toolchain.architectures, places]
        return digest(json.dumps(asked, sort_keys=True, default=str))[:32]

    def with_begun(self) -> Request:
        """Begin to compile the only source, if that has kernels.

        Those of headers are seen only in the preprocessed text.
        """
        if len(self.sources) == 1:
            with suppress(OSError), open(self.sources[0], "rb") as file:
                if b"__global__" in file.read():
                    return replace(self, toolchain=self.toolchain.with_begun(self.sources[0]))
        return self

    @property
    def unknown(self) -> str:
        """The first option whose inputs cannot be known, as of the linker; empty without any."""
        return next((flag for flag in self.toolchain.flags if _LINKING.search(flag)), "")


@dataclass(frozen=True)
class Inputs:
    """Digests of what a result depends on, by what that is.

    Attributes:
        files: that the compiler read. others: that were read besides.
    """

    digests: dict[str, str]
    files: list[str]
    others: list[str]


class UnknownInput(Exception):
    """A source that depends on a file of which its preprocessed text does not tell."""


#: What stands in the way of knowing all inputs: then nothing is kept, and nothing given again.
UNKNOWN = (CutuneError, OSError, UnknownInput)


def inputs_of(request: Request) -> Inputs:
    """Digest all inputs of a request.

    Raises:
        CutuneError: where nvcc cannot read a source.
        UnknownInput: where it cannot be said what is read.
    """
    toolchain = request.toolchain
    named = [*request.named, *_files_in(request.toolchain.flags)]
    own = tree_files(Path(cutune.__file__).resolve().parent)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        hosts = [pool.submit(toolchain.preprocessed, one) for one in request.sources]
        flags, first = toolchain.compile_flags(request.sources[0]), request.sources[0]
        compiler = pool.submit(compiler_digest, toolchain.nvcc, flags, first)
        digests = {
            "request": request.name,
            "cutune": digest(_python(), files_digest(own)),
            "environment": _environment(),
            "machine": digest(platform.machine(), _processor(), str(os.sched_getaffinity(0))),
            "devices": digest(*map(repr, request.devices)),
            "named": files_digest(named),
            "workspace": files_digest([request.workspace.trials, request.workspace.choices]),
        }
        found = [text.result() for text in hosts]
        # Text without end is met once, by the passes of the host.
        found += pool.map(lambda read: read(), _device_passes(toolchain, request.sources))
        digests["compiler"] = compiler.result()
    if any(_INCLUDED_BYTES in text for text in found):
        raise UnknownInput
    digests["text"] = digest(*found)
    files = sorted({file for text in found for file in files_of(text)})
    digests["files"] = files_digest(files)
    return Inputs(digests, files, [*own, *filter(os.path.exists, named)])


def further_files(request: Request, instrumented: InstrumentedProgram, known: Inputs) -> list[str]:
    """The files that the compiler reads besides for a program with hooks."""
    ours = [f"-I{INCLUDE_DIRECTORY}", "-O1", "-DCUTUNE_PROBE_LINKED", *TARGET_FLAGS]
    nvcc, read = request.toolchain.nvcc, instrumented.read
    found = {file for path, _ in instrumented.units for file in read.get(path, ())}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        texts = []
        for path, flags in instrumented.units:
            if path not in read:
                about = nvcc, str(path), [*flags, *ours]
                texts += [pool.submit(host_pass, *about), pool.submit(device_pass, *about, "80")]
        found |= {file for text in texts for file in files_of(text.result())}
    written = str(request.workspace.folder.absolute()) + os.sep
    further = found - {*known.files}
    return sorted(path for path in further if not os.path.abspath(path).startswith(written))


def _device_passes(toolchain: Toolchain, sources: Sequence[str]) -> Iterator[Callable[[], str]]:
    """The preprocessor's passes over sources for each architecture."""
    for source in sources:
        flags = toolchain.compile_flags(source)
        for architecture in targets(flags, toolchain.architectures, toolchain.nvcc):
            yield partial(_device_pass, toolchain, source, flags, architecture)


def _device_pass(toolchain: Toolchain, source: str, flags: Sequence[str], architecture: str) -> str:
    begun = toolchain.begun
    if begun is not None and begun.is_of(source, flags):
        text = begun.device_pass(architecture)
        if text is not None:
            return text
    return device_pass(toolchain.nvcc, source, flags, architecture)


def _python() -> str:
    """The interpreter, and the packages that it computes with."""
    folders = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    packages = sorted(n for f in folders for n in os.listdir(f) if n.endswith(".dist-info"))
    return digest(sys.version, *packages)


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            return next((line for line in lines if line.startswith("model name")), "")
    except OSError:
        return platform.processor()


def _environment() -> str:
    kept = sorted((k, v) for k, v in os.environ.items() if k not in _OF_SHELLS)
    return digest(*(f"{name}={value}" for name, value in kept))


def _files_in(flags: Sequence[str]) -> list[str]:
    """Files that options name: objects, profiles, response files."""
    words = [part for flag in flags for part in (flag, *flag.split("=")[1:], *flag.split(","))]
    return [word for word in dict.fromkeys(words) if os.path.isfile(word)]
