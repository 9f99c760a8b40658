"""Builds the emulated device's C++ on first use: takes sources and flags, gives a shared library.

A library is made once per machine, compiler and version, and kept in the user's cache folder:
`$XDG_CACHE_HOME/cutune/<key>/lib<name>.so`. Translation units are compiled in parallel and their
objects are kept too, so that two libraries made of the same sources compile them once.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError
from cutune.core.progress import Progress, silent
from cutune.core.workspace import locked, replacing
from cutune.toolchain.cache import cache_folder, kept_file

NATIVE = Path(__file__).parent / "native"
FOLDER = Path(__file__).parent / "built"
ABOUT = "about.json"
#: x86-64-v3, which processors have since 2013 to 2015: as /proc/cpuinfo names what is used of it.
NEEDED = {"x86_64": ("avx2", "bmi1", "bmi2", "f16c", "fma", "movbe")}


def built_in_library(name: str, toolkit: str | None = None) -> Path | None:
    """`lib<name>.so` of the package; `toolkit` is the version of CUDA that it must be made for."""
    about = _about()
    if about is None or (toolkit is not None and about["toolkit"] != minor_version(toolkit)):
        return None
    library = FOLDER / f"lib{name}.so"
    return library if library.exists() else None


def minor_version(version: str) -> str:
    """`13.0` of `13.0.88`: within it CUDA's headers declare the same."""
    return ".".join(version.split(".")[:2])


def digest_of_sources() -> str:
    """Hash the sources of the emulated device."""
    digest = hashlib.sha256()
    for path in sorted(NATIVE.iterdir()):
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()


@cache
def _about() -> dict[str, str] | None:
    """The notes made with the built-in libraries; None where these cannot be used here."""
    path = FOLDER / ABOUT
    if not path.exists():
        return None
    about: dict[str, str] = json.loads(path.read_text(encoding="utf-8"))
    here = about["processor"] == platform.machine() and _has({*NEEDED.get(about["processor"], ())})
    return about if here and about["sources"] == digest_of_sources() else None


def _has(features: set[str]) -> bool:
    if not features:
        return True
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return False
    found = re.search(r"^flags\s*:(.*)$", text, re.MULTILINE)
    return found is not None and features <= {*found[1].split()}


#: Of the sources of a unit together, unless it is a single one.
MOST_BYTES = 48_000
#: Headers of programs declare weakly what the device defines: only in a unit without definitions.
_OF_PROGRAMS = re.compile(r'^\s*#\s*include\s+"\.\./', re.MULTILINE)


def joined_units(sources: Sequence[Path]) -> tuple[Path, ...]:
    """Join sources into larger units, whose headers are read once; gives the largest first."""
    groups: list[list[Path]] = []
    room = 0
    for source in sources:
        size = source.stat().st_size
        if _OF_PROGRAMS.search(source.read_text(encoding="utf-8")):
            groups.insert(0, [source])
            continue
        if size > room:
            groups.append([])
            room = MOST_BYTES
        groups[-1].append(source)
        room -= size
    groups.sort(key=lambda group: sum(map(os.path.getsize, group)), reverse=True)

    def unit(first: Path, *others: Path) -> Path:
        if not others:
            return first
        text = "".join(f'#include "{source.name}"\n' for source in (first, *others))
        return kept_file(f"{first.stem}_to_{others[-1].stem}.cpp", text)

    return tuple(unit(*group) for group in groups)


MACHINE = "cutune_machine"
BUILDING = "compiling the emulated device"
# No contraction: a PTX mul followed by an add rounds twice. No trapping math and no errno: the
# handlers' loops would not vectorise, and neither is visible in CUDA.
FLAGS = (
    *("-O3", "-fno-semantic-interposition", "-std=c++17", "-fPIC", "-ffp-contract=off"),
    *("-fno-trapping-math", "-fno-math-errno", "-fwrapv", "-fno-strict-aliasing", "-pthread"),
)
#: Code for this processor. The 32 lanes of a warp fill the widest vectors two or four times.
_OF_PROCESSOR = {"x86_64": ("-march=native", "-mprefer-vector-width=512")}
MACHINE_FLAGS = _OF_PROCESSOR.get(platform.machine(), ("-mcpu=native",))
_INCLUDE = re.compile(rb'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


def machine_sources() -> tuple[Path, ...]:
    """The translation units of the 32-lane machine, which every library of the device contains."""
    return joined_units(sorted(NATIVE.glob("machine*.cpp")))


def machine_library(progress: Progress = silent) -> Path:
    """The machine for Python (ctypes): libcutune_machine.so."""
    return built_in_library(MACHINE) or build_library(MACHINE, machine_sources(), progress=progress)


def build_library(
    name: str,
    sources: Sequence[Path],
    flags: Sequence[str] = (),
    linking: Sequence[str] = (),
    processor: Sequence[str] = MACHINE_FLAGS,
    progress: Progress = silent,
) -> Path:
    """Make `lib<name>.so` unless the cache has it. Raises CT007 without a compiler, CT450."""
    compiler = _compiler()
    wanted = (*processor, *FLAGS, *flags)
    keys = [_key(compiler, wanted, source) for source in sources]
    key = hashlib.sha256("\n".join([name, *linking, *keys]).encode()).hexdigest()[:24]
    library = cache_folder() / key / f"lib{name}.so"
    if library.exists():
        return library
    library.parent.mkdir(parents=True, exist_ok=True)
    with locked(library.parent / "lock"):
        if not library.exists():
            by_key = dict(zip(keys, sources, strict=True))
            objects = _compile(name, compiler, processor, flags, by_key, progress)
            with replacing(library) as temporary:
                words = ["-shared", "-o", str(temporary), *map(str, objects), *FLAGS, *linking]
                _run(name, [*compiler, *words])
                temporary.chmod(0o755)
    return library


@cache
def _compiler() -> tuple[str, ...]:
    named = shlex.split(os.environ.get("CXX", ""))
    for candidate in (named, ["g++"], ["c++"]):
        if candidate and shutil.which(candidate[0]):
            return tuple(candidate)
    raise CutuneError.at(Code.MISSING_COMPILER)


@cache
def _identity(compiler: tuple[str, ...]) -> str:
    """The version of the compiler, and the processor: machine code depends on them."""
    command = [*compiler, "--version"]
    version = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    try:
        about = Path("/proc/cpuinfo").read_text(encoding="utf-8")
        pattern = r"^(?:model name|flags|Features)\s*:.*$"
        processor = re.findall(pattern, about, re.MULTILINE)[:2]
    except OSError:
        processor = [platform.processor()]
    return "\n".join([version, platform.machine(), *processor])


def _key(compiler: tuple[str, ...], flags: Sequence[str], source: Path) -> str:
    digest = hashlib.sha256("\0".join([_identity(compiler), *compiler, *flags]).encode())
    for text in _with_includes(source):
        digest.update(text)
    return digest.hexdigest()[:24]


def _with_includes(source: Path) -> Iterator[bytes]:
    """The text of the file, and of every file that it includes by quotes, directly or not."""
    found, known = [source], {str(source)}
    for path in found:
        text = path.read_bytes()
        yield text
        for name in _INCLUDE.findall(text):
            for folder in (path.parent, NATIVE):
                included = os.path.join(folder, os.fsdecode(name))
                if included not in known and os.path.exists(included):
                    known.add(included)
                    found.append(Path(included))


def _compile(
    name: str,
    compiler: tuple[str, ...],
    processor: Sequence[str],
    flags: Sequence[str],
    sources: dict[str, Path],
    progress: Progress,
) -> list[Path]:
    objects = cache_folder() / "objects"
    objects.mkdir(parents=True, exist_ok=True)
    paths = [objects / f"{key}.o" for key in sources]

    def compile_one(pair: tuple[Path, Path]) -> None:
        source, target = pair
        if target.exists():
            return
        with replacing(target) as temporary:
            paths = ["-iquote", str(NATIVE), "-c", str(source), "-o", str(temporary)]
            arguments = [*FLAGS, *flags, *paths]
            tuned = subprocess.run(
                [*compiler, *processor, *arguments], capture_output=True, text=True, check=False
            )
            # Some compilers do not know the flags; a real error shows up again without it.
            if tuned.returncode != 0:
                _run(name, [*compiler, *arguments])
            temporary.chmod(0o755)

    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        done = pool.map(compile_one, zip(sources.values(), paths, strict=True))
        progress(BUILDING, 0, len(paths))
        for count, _ in enumerate(done, 1):
            progress(BUILDING, count, len(paths))
    return paths


def _run(name: str, command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        first = next((x for x in done.stderr.splitlines() if "error" in x), done.stderr[:200])
        raise build_failed(name, command[0], first)


def build_failed(name: str, compiler: str, reason: str) -> CutuneError:
    """The error for a library that cannot be built."""
    return CutuneError.at(Code.BUILD_FAILED, name=name, compiler=compiler, reason=reason)
