"""Looks at this machine; gives what it has and lacks, and the commands that install that.

Nothing is changed unless the toolkit is to be installed.
"""

from __future__ import annotations

import json as json_module
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError
from cutune.core.temporary import temporary_folder
from cutune.toolchain.cache import cache_folder
from cutune.toolchain.device.present import present_profiles
from cutune.toolchain.nvcc import TOOLKIT_PACKAGES, Nvcc, find_nvcc, host_compiler

FOUND, MISSING, BROKEN = "found", "missing", "broken"
SCHEMA = "cutune-doctor-1"
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


def main_doctor(json: bool, quiet: bool, install_toolkit: bool, nvcc: str | None) -> int:
    """Print what was found; 1 when something needed for tuning without a GPU is missing."""
    if install_toolkit and nvcc is None and not _finds_nvcc():
        # The network's time is the compiler's. What fails here fails again where it is looked at.
        with ThreadPoolExecutor(1) as pool:
            pool.submit(_machine)
            status = _install_toolkit(quiet)
        if status != 0:
            return 1
    findings = examine(nvcc)
    if json:
        print(json_module.dumps({"schema": SCHEMA, "findings": [asdict(f) for f in findings]}))
    else:
        shown = [f for f in findings if f.is_problem] if quiet else findings
        _print(shown)
    return 1 if any(f.is_problem for f in findings) else 0


def clear_cache(quiet: bool) -> int:
    """Remove what was built for this machine, and say what that was."""
    folder = cache_folder()
    files = [path for path in folder.rglob("*") if path.is_file()] if folder.is_dir() else []
    size = sum(path.stat().st_size for path in files)
    try:
        if folder.is_dir():
            shutil.rmtree(folder)
    except OSError as error:
        reason = error.strerror or str(error)
        raise CutuneError.at(Code.UNWRITABLE_FILE, path=folder, reason=reason) from error
    if not quiet:
        plural = "" if len(files) == 1 else "s"
        print(f"removed {folder}: {len(files)} file{plural}, {size / 1e6:.1f} MB")
    return 0


def examine(nvcc: str | None = None) -> list[Requirement]:
    """Look at everything; takes a few seconds, because a program is compiled."""
    compiler = _host_compiler()
    found, toolkit = _nvcc(nvcc)
    return [
        _python(),
        *(_package(name, name, True) for name in _PACKAGES),
        compiler,
        toolkit,
        _compiles(found, compiler),
        _emulated_device(found),
        _gpu(),
        _ncu(),
        *(_package(name, f"'cutune[{extra}]'", False) for name, extra in EXTRAS.items()),
    ]


def _python() -> Requirement:
    return Requirement("Python", FOUND, f"{sys.version.split()[0]} ({sys.executable})", needed=True)


def _package(name: str, installed_by: str, needed: bool) -> Requirement:
    """A Python package; `installed_by`: what pip has to be told."""
    try:
        return Requirement(name, FOUND, metadata.version(name), needed=needed)
    except metadata.PackageNotFoundError:
        mend = f"pip install {installed_by}"
        return Requirement(name, MISSING, "not installed", mend, needed)


def _host_compiler() -> Requirement:
    try:
        path = host_compiler()
    except CutuneError as error:
        mend = "apt-get install g++, or set CXX"
        return Requirement("host compiler", MISSING, error.diagnostic.message, mend, needed=True)
    lines = _output([path, "--version"]).splitlines()
    return Requirement(
        "host compiler", FOUND, f"{lines[0] if lines else '?'} ({path})", needed=True
    )


def _nvcc(option: str | None) -> tuple[Nvcc | None, Requirement]:
    try:
        nvcc = find_nvcc(option)
        detail = f"{nvcc.version} ({nvcc.path}, from {nvcc.origin})"
    except CutuneError as error:
        absent = error.diagnostic.code is Code.MISSING_NVCC
        mend = INSTALL_TOOLKIT if absent else "give --nvcc PATH, or set CUDACXX"
        state = MISSING if absent else BROKEN
        return None, Requirement("nvcc", state, error.diagnostic.message, mend, needed=True)
    return nvcc, Requirement("nvcc", FOUND, detail, needed=True)


def _compiles(nvcc: Nvcc | None, compiler: Requirement) -> Requirement:
    """nvcc refuses host compilers that are too new for it, and wheels may lack parts."""
    name = "CUDA compilation"
    if nvcc is None or compiler.state != FOUND:
        return Requirement(name, MISSING, "needs nvcc and a host compiler", needed=True)
    with temporary_folder() as folder:
        source = Path(folder) / "doctor.cu"
        source.write_text("__global__ void kernel() {}\nint main() { kernel<<<1, 1>>>(); }\n")
        architecture = f"-arch={nvcc.architecture()}"
        result = nvcc.run([architecture, str(source), "-o", str(Path(folder) / "doctor")])
    if result.returncode == 0:
        return Requirement(
            name, FOUND, f"a program for {nvcc.architecture()} compiles", needed=True
        )
    reason = next(iter((result.stderr or result.stdout).strip().splitlines()), "no message")
    mend = "set NVCC_CCBIN to a g++ that this nvcc accepts, or " + INSTALL_TOOLKIT
    return Requirement(name, BROKEN, reason, mend, needed=True)


def _emulated_device(nvcc: Nvcc | None) -> Requirement:
    name = "emulated device"
    if nvcc is None:
        return Requirement(name, MISSING, "needs nvcc", needed=True)
    # Not needed to answer the other questions. Its first use compiles for some time, unless it came
    # with the package.
    from cutune.emulator.link import runtime_library

    try:
        return Requirement(name, FOUND, str(runtime_library(nvcc)), needed=True)
    except CutuneError as error:
        return Requirement(name, BROKEN, error.diagnostic.message, "see the message", needed=True)


def _machine() -> Path:
    """Compile the part of the emulated device that needs no toolkit, unless it is there."""
    from cutune.emulator.build import machine_library

    return machine_library()


def _gpu() -> Requirement:
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    lines = _output(query).strip().splitlines() if shutil.which("nvidia-smi") else []
    if not lines:
        mend = "none needed: programs run on the emulated device"
        return Requirement("GPU", MISSING, "no NVIDIA driver", mend)
    known = ", ".join(present_profiles()) or "none: cutune device --calibrate -o gpu.json makes one"
    return Requirement("GPU", FOUND, f"{'; '.join(lines)}; profile {known}")


def _ncu() -> Requirement:
    path = shutil.which("ncu")
    if path is None:
        return Requirement("ncu", MISSING, "not on PATH", "install NVIDIA Nsight Compute")
    version = next((x for x in _output([path, "--version"]).splitlines() if "Version" in x), "")
    return Requirement("ncu", FOUND, f"{version} ({path})".strip())


def _output(command: list[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout


def _finds_nvcc() -> bool:
    try:
        find_nvcc()
    except CutuneError:
        return False
    return True


def _install_toolkit(quiet: bool) -> int:
    print("cutune: no nvcc found; installing it from the Python index", file=sys.stderr)
    command = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check"]
    options = ["--quiet"] if quiet else []
    return subprocess.run([*command, *options, *TOOLKIT_PACKAGES], check=False).returncode


def _print(findings: list[Requirement]) -> None:
    for finding in findings:
        mark = "ok" if finding.state == FOUND else finding.state
        print(f"{mark:8} {finding.name:17} {finding.detail}")
        if finding.state != FOUND and finding.mend:
            print(f"{'':8} {'':17} {finding.mend}")
