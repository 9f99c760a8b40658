"""What the answer of `cutune tune` depends on, as far as it is known before any program runs.

Takes a request, gives digests of all that the answer depends on: texts, files, variables, and the
programs that compile. They are watched while the request is answered (`WatchedRequest`).
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
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
from cutune.toolchain.nvcc import INCLUDE_DIRECTORY, Nvcc
from cutune.toolchain.preprocessed import device_pass, files_of, host_pass
from cutune.toolchain.toolchain import Toolchain

if TYPE_CHECKING:
    from cutune.emulator.program_builds import InstrumentedProgram

#: Said of a file that cannot be read; no digest is like it.
MISSING = "missing"


def digest(*parts: str | bytes) -> str:
    """A digest of several parts; where one ends counts."""
    found = hashlib.sha256()
    for part in parts:
        data = part if isinstance(part, bytes) else part.encode("utf-8", "surrogateescape")
        found.update(b"%d\0" % len(data))
        found.update(data)
    return found.hexdigest()


def file_digest(path: str | Path) -> str:
    try:
        with open(path, "rb") as file:
            return hashlib.sha256(file.read()).hexdigest()
    except OSError:
        return MISSING


def text_of(path: str | Path) -> str:
    """All bytes of a file, as `write_text` writes them. Raises OSError."""
    return Path(path).read_bytes().decode("latin-1")


def files_digest(paths: Iterable[str | Path]) -> str:
    return digest(*(part for path in paths for part in (os.fspath(path), file_digest(path))))


def tree_files(folder: Path) -> list[str]:
    return sorted(
        os.path.join(place, name)
        for place, _, names in os.walk(folder, followlinks=True)
        for name in names
        if os.path.basename(place) != "__pycache__"
    )


def state(path: str | Path) -> str:
    """Device, inode, size and times of a file: they change whenever it is written or replaced."""
    try:
        about = os.stat(path)
    except OSError:
        return MISSING
    return f"{about.st_dev} {about.st_ino} {about.st_size} {about.st_mtime_ns} {about.st_ctime_ns}"


def is_untouched_since(paths: Iterable[str | Path], nanoseconds: int) -> bool:
    """Was no file written or replaced since then? A missing file may have been."""
    try:
        return all(os.stat(path).st_ctime_ns < nanoseconds for path in paths)
    except OSError:
        return False


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
    # These files are large: their contents are not read.
    states = digest(*(part for path in (*files, *_data(variables)) for part in (path, state(path))))
    return digest(nvcc.version, *files, states)


def _parts_of(program: str) -> list[str]:
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
OF_SHELLS = (
    *("_", "SHLVL", "OLDPWD", "PWD", "COLUMNS", "LINES", "PYTEST_CURRENT_TEST"),
    *("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES", "MAKE_TERMERR", "MAKE_TERMOUT"),
)
#: Options that make the linker look for files, or that another program reads.
_LINKING = re.compile(r"^(-[lL]|--library|-Xlinker|--linker-options|-Xnvlink|@)|-Wl,|(^|[,=])-B")
#: Text with which the assembler reads a file.
_INCLUDED_BYTES = ".incbin"


@dataclass(frozen=True)
class Request:
    """A request, with all that its answer may depend on.

    `options`: as parsed, without those that only change what is shown. `toolchain`: its flags hold
    no files of options. `named`: further files that options name. `unread`: variables that the
    answer does not depend on.
    """

    options: Mapping[str, object]
    sources: Sequence[str]
    toolchain: Toolchain
    devices: Sequence[DeviceProfile]
    workspace: Workspace
    named: Sequence[str] = ()
    unread: Sequence[str] = OF_SHELLS

    @property
    def name(self) -> str:
        """A name that equal requests share. Raises CutuneError without nvcc."""
        toolchain = self.toolchain
        places = os.getcwd(), str(self.workspace.folder.absolute()), str(toolchain.nvcc.path)
        asked = [self.options, self.sources, toolchain.flags, toolchain.architectures, places]
        return digest(json.dumps(asked, sort_keys=True, default=str))[:32]

    def with_begun(self) -> Request:
        """Begin to compile the only source, if it has kernels of its own, not of headers alone."""
        if len(self.sources) == 1:
            with suppress(OSError), open(self.sources[0], "rb") as file:
                if b"__global__" in file.read():
                    return replace(self, toolchain=self.toolchain.with_begun(self.sources[0]))
        return self

    @property
    def unknown(self) -> str:
        """The first option with unknown inputs, as of the linker; empty without any."""
        return next((flag for flag in self.toolchain.flags if _LINKING.search(flag)), "")


@dataclass(frozen=True)
class Inputs:
    """Digests of what a result depends on; the compiler's files; cutune's and named ones.

    `texts`: what the preprocessor has written: of each source for the host, then for the devices.
    """

    digests: dict[str, str]
    files: list[str]
    others: list[str]
    texts: list[str] = field(default_factory=list, repr=False)

    @property
    def about(self) -> str:
        """A digest of all but the sources: of cutune, compilers, options, variables, models."""
        rest = {name: one for name, one in self.digests.items() if name not in _OF_SOURCES}
        return digest(json.dumps(rest, sort_keys=True))


#: Digests of what the compiler reads.
_OF_SOURCES = ("text", "files")


class UnknownInput(Exception):
    """A source reads a file that its preprocessed text does not name."""


#: What stands in the way of knowing all inputs: then nothing is kept, and nothing given again.
UNKNOWN = (CutuneError, OSError, UnknownInput)


def inputs_of(request: Request) -> Inputs:
    """Digest all inputs. Raises CutuneError, or UnknownInput where they cannot be known."""
    toolchain = request.toolchain
    words = [p for f in toolchain.flags for p in (f, *f.split("=")[1:], *f.split(","))]
    # Files that options name: objects, profiles, response files.
    named = [*request.named, *filter(os.path.isfile, dict.fromkeys(words))]
    own = tree_files(Path(cutune.__file__).resolve().parent)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        hosts = [pool.submit(toolchain.preprocessed, one) for one in request.sources]
        flags, first = toolchain.compile_flags(request.sources[0]), request.sources[0]
        compiler = pool.submit(compiler_digest, toolchain.nvcc, flags, first)
        folders = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
        packages = sorted(n for f in folders for n in os.listdir(f) if n.endswith(".dist-info"))
        variables = sorted((k, v) for k, v in os.environ.items() if k not in request.unread)
        digests = {
            "request": request.name,
            "cutune": digest(digest(sys.version, *packages), files_digest(own)),
            "environment": digest(*(f"{name}={value}" for name, value in variables)),
            "machine": digest(platform.machine(), _processor(), str(os.sched_getaffinity(0))),
            "devices": digest(*map(repr, request.devices)),
            "named": files_digest(named),
            "workspace": files_digest([request.workspace.trials, request.workspace.choices]),
        }
        found = [text.result() for text in hosts]
        # Text without end is met once, by the passes of the host.
        targeted = [
            pool.submit(_device_pass, toolchain, source, architecture)
            for source in request.sources
            for architecture in targets(
                toolchain.compile_flags(source), toolchain.architectures, toolchain.nvcc
            )
        ]
        found += [text.result() for text in targeted]
        digests["compiler"] = compiler.result()
    if any(_INCLUDED_BYTES in text for text in found):
        raise UnknownInput
    digests["text"] = digest(*found)
    files = sorted({file for text in found for file in files_of(text)})
    digests["files"] = files_digest(files)
    return Inputs(digests, files, [*own, *filter(os.path.exists, named)], found)


def further_files(request: Request, instrumented: InstrumentedProgram, known: Inputs) -> list[str]:
    """The files that the compiler reads for the instrumented program alone."""
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


def _device_pass(toolchain: Toolchain, source: str, architecture: str) -> str:
    begun, flags = toolchain.begun, toolchain.compile_flags(source)
    is_begun = begun is not None and begun.is_of(source, flags)
    text = begun.device_pass(architecture) if begun is not None and is_begun else None
    return device_pass(toolchain.nvcc, source, flags, architecture) if text is None else text


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            return next((line for line in lines if line.startswith("model name")), "")
    except OSError:
        return platform.processor()


#: The clock of files is read less often than ours.
_CLOCK_NANOSECONDS = 20_000_000


def file_clock() -> int:
    """Return nanoseconds that no file has which is written from now on: for what is then read."""
    return time.time_ns() - _CLOCK_NANOSECONDS


@dataclass(frozen=True)
class WatchedRequest:
    """A request that is being answered. `started`: when, by the clock of files."""

    request: Request
    inputs: Future[Inputs]
    started: int

    @staticmethod
    def begin(request: Request) -> WatchedRequest | None:
        """Read all inputs while the request is answered; None if they cannot be known."""
        return None if request.unknown else WatchedRequest.watching(request)

    @staticmethod
    def watching(request: Request) -> WatchedRequest:
        """As `begin`, where options of the linker do not matter."""
        started = file_clock()
        pool = ThreadPoolExecutor(1)
        inputs = pool.submit(inputs_of, request)
        pool.shutdown(wait=False)
        return WatchedRequest(request, inputs, started)

    def wait(self) -> None:
        self.inputs.exception()

    def known(self) -> Inputs | None:
        """The inputs, when all are read; None if they cannot be known."""
        return self.inputs.result() if self.inputs.exception() is None else None

    def settled(self) -> Inputs | None:
        """The inputs; None if one may have changed. Raises CutuneError if one cannot be read."""
        inputs = self.inputs.result()
        read = [*inputs.files, *inputs.others]
        is_same = files_digest(inputs.files) == inputs.digests["files"]
        return inputs if is_same and is_untouched_since(read, self.started) else None
