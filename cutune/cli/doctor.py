"""Looks at this machine; gives what it has and lacks, and the commands that install that."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from textwrap import wrap

from cutune.cli.main import Options
from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError
from cutune.core.temporary import temporary_folder
from cutune.core.workspace import writing
from cutune.toolchain.cache import cache_folder
from cutune.toolchain.device.present import present_profiles
from cutune.toolchain.nvcc import TOOLKIT_PACKAGES, Nvcc, find_nvcc, host_compiler

FOUND, MISSING, BROKEN = "found", "missing", "broken"
SCHEMA = "cutune-doctor-1"
#: Of the screen, and what stands for the middle of a path that is longer.
COLUMNS, CUT = 80, "..."
INSTALL_TOOLKIT = "pip install 'cutune[toolkit]'"
#: Without these nothing works.
_PACKAGES = ("lark", "msgspec", "numpy", "pycparser", "rich", "scipy")
#: A package → the extra that brings it. nvcc stands for `toolkit`; `dev` is for developers.
EXTRAS = {
    "pycuda": "gpu",
    "scikit-learn": "neighbours",
    "optuna": "search",
    "distributed": "cluster",
    "dask-jobqueue": "cluster",
    "jinja2": "report",
    "matplotlib": "report",
    "mkdocs-material": "docs",
}


@dataclass(frozen=True)
class Requirement:
    """One requirement, and whether this machine meets it."""

    name: str
    state: str
    #: Version and place, or what is wrong with it.
    detail: str
    #: The command that repairs it; empty when nothing is wrong.
    mend: str = ""
    #: Is it needed for tuning without a GPU?
    needed: bool = False

    @property
    def is_problem(self) -> bool:
        """Does tuning without a GPU fail because of it?"""
        return self.needed and self.state != FOUND


def doctor_verb(options: Options) -> int:
    """Print what was found; 1 when something needed for tuning without a GPU is missing."""
    if options.clear_cache:
        return _clear_cache(options.quiet)
    if options.install_toolkit and options.nvcc is None and _nvcc(None)[0] is None:
        print("cutune: no nvcc found; installing it from the Python index", file=sys.stderr)
        if not _is_toolkit_installed(options.quiet):
            return 1
    findings = examine(options.nvcc)
    if options.json:
        print(json.dumps({"schema": SCHEMA, "findings": [asdict(f) for f in findings]}))
    else:
        for one in findings:
            if one.is_problem or not options.quiet:
                print("\n".join(_shown(one)))
    return 1 if any(f.is_problem for f in findings) else 0


def _shown(one: Requirement) -> Iterator[str]:
    """The lines of one requirement, within the columns of a screen; `--json` has paths whole."""
    mark = "ok" if one.state == FOUND else one.state
    before = f"{mark:8} {one.name:17} "
    room = COLUMNS - len(before)
    mend = one.mend if one.state != FOUND else ""
    for text in (one.detail, *filter(None, [mend])):
        for line in wrap(text, room, break_long_words=False, break_on_hyphens=False) or [""]:
            # What is to be copied stays whole.
            yield before + (line if text == mend else shortened(line, room))
            before = " " * len(before)


def shortened(path: str, room: int) -> str:
    """Return a path without its middle where it has more columns."""
    if len(path) <= room:
        return path
    end = (room - len(CUT)) * 2 // 3
    return path[: room - len(CUT) - end] + CUT + path[-end:]


def _is_toolkit_installed(quiet: bool) -> bool:
    """Install nvcc from the Python index. Does it work?"""
    from cutune.emulator.build import machine_library

    pip = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check"]
    words = [*pip, *(["--quiet"] if quiet else []), *TOOLKIT_PACKAGES]
    # The network's time is the compiler's. What fails here fails again where it is looked at.
    with ThreadPoolExecutor(1) as pool:
        pool.submit(machine_library)
        return subprocess.run(words, check=False).returncode == 0


def _clear_cache(quiet: bool) -> int:
    folder = cache_folder()
    files = [path for path in folder.rglob("*") if path.is_file()] if folder.is_dir() else []
    size = sum(path.stat().st_size for path in files)
    if folder.is_dir():
        with writing(folder):
            shutil.rmtree(folder)
    if not quiet:
        plural = "" if len(files) == 1 else "s"
        print(f"removed {folder}: {len(files)} file{plural}, {size / 1e6:.1f} MB")
    return 0


def examine(nvcc: str | None) -> list[Requirement]:
    """Look at everything; takes a few seconds, because a program is compiled."""
    compiler = _host_compiler()
    found, toolkit = _nvcc(nvcc)
    needed = {
        "Python": (FOUND, f"{sys.version.split()[0]} ({sys.executable})", ""),
        **{name: _package(name, name) for name in _PACKAGES},
        "host compiler": compiler,
        "nvcc": toolkit,
        "CUDA compilation": _compiles(found, has_compiler=compiler[0] == FOUND),
        "emulated device": _emulated_device(found),
    }
    others = {"GPU": _gpu(), "ncu": _ncu()}
    others |= {name: _package(name, f"'cutune[{extra}]'") for name, extra in EXTRAS.items()}
    seen = needed | others
    return [Requirement(name, *one, name in needed) for name, one in seen.items()]


#: The state, detail and mend of a requirement.
_Seen = tuple[str, str, str]


def _package(name: str, installed_by: str) -> _Seen:
    """A Python package; `installed_by`: what pip has to be told."""
    try:
        return FOUND, metadata.version(name), ""
    except metadata.PackageNotFoundError:
        return MISSING, "not installed", f"pip install {installed_by}"


def _host_compiler() -> _Seen:
    try:
        path = host_compiler()
    except CutuneError as error:
        return MISSING, error.diagnostic.message, "apt-get install g++, or set CXX"
    lines = _output([path, "--version"]).splitlines()
    return FOUND, f"{lines[0] if lines else '?'} ({path})", ""


def _nvcc(option: str | None) -> tuple[Nvcc | None, _Seen]:
    try:
        nvcc = find_nvcc(option)
        return nvcc, (FOUND, f"{nvcc.version} ({nvcc.path}, from {nvcc.origin})", "")
    except CutuneError as error:
        message = error.diagnostic.message
        if error.diagnostic.code is Code.MISSING_NVCC:
            remedies = f"{INSTALL_TOOLKIT}, give --nvcc PATH, or set CUDACXX"
            return None, (MISSING, message.partition(";")[0], remedies)
        return None, (BROKEN, message, "give --nvcc PATH, or set CUDACXX")


def _compiles(nvcc: Nvcc | None, has_compiler: bool) -> _Seen:
    """nvcc refuses host compilers that are too new for it, and wheels may lack parts."""
    if nvcc is None or not has_compiler:
        return MISSING, "needs nvcc and a host compiler", ""
    with temporary_folder() as folder:
        source = Path(folder) / "doctor.cu"
        source.write_text("__global__ void kernel() {}\nint main() { kernel<<<1, 1>>>(); }\n")
        architecture = f"-arch={nvcc.architecture()}"
        result = nvcc.run([architecture, str(source), "-o", str(Path(folder) / "doctor")])
    if result.returncode == 0:
        return FOUND, f"a program for {nvcc.architecture()} compiles", ""
    reason = next(iter((result.stderr or result.stdout).strip().splitlines()), "no message")
    mend = "set NVCC_CCBIN to a g++ that this nvcc accepts, or " + INSTALL_TOOLKIT
    return BROKEN, reason, mend


def _emulated_device(nvcc: Nvcc | None) -> _Seen:
    if nvcc is None:
        return MISSING, "needs nvcc", ""
    # Not needed to answer the other questions. Its first use compiles for some time, unless it came
    # with the package.
    from cutune.emulator.link import runtime_library

    try:
        return FOUND, str(runtime_library(nvcc)), ""
    except CutuneError as error:
        return BROKEN, error.diagnostic.message, "see the message"


def _gpu() -> _Seen:
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    lines = _output(query).strip().splitlines() if shutil.which("nvidia-smi") else []
    if not lines:
        mend = "none needed: programs run on the emulated device"
        return MISSING, "no NVIDIA driver", mend
    known = ", ".join(present_profiles()) or "none: cutune device --calibrate -o gpu.json makes one"
    return FOUND, f"{'; '.join(lines)}; profile {known}", ""


def _ncu() -> _Seen:
    path = shutil.which("ncu")
    if path is None:
        return MISSING, "not on PATH", "install NVIDIA Nsight Compute"
    version = next((x for x in _output([path, "--version"]).splitlines() if "Version" in x), "")
    return FOUND, f"{version} ({path})".strip(), ""


def _output(command: list[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout
