"""What this machine has, what it lacks, and the command that mends each lack. Changes nothing
unless it is told to install the toolkit."""

from __future__ import annotations

import json as json_module
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, Diagnostic
from cutune.emulator.build import cache_folder
from cutune.toolchain.nvcc import TOOLKIT_PACKAGES, Nvcc, find_nvcc, host_compiler

FOUND, MISSING, BROKEN = "found", "missing", "broken"
SCHEMA = "cutune-doctor-1"
INSTALL_TOOLKIT = "pip install 'cutune[toolkit]'"
#: Without these nothing works, then those of the extras.
_PACKAGES = ("lark", "numpy", "pycparser", "rich", "scipy")
_EXTRAS = {"jinja2": "report", "matplotlib": "report", "dask": "cluster"}


@dataclass(frozen=True)
class Finding:
    """One thing looked for."""

    name: str
    state: str
    #: Version and place, or what is wrong with it.
    detail: str
    #: The command that mends it; empty when nothing is wrong.
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
        raise CutuneError(
            Diagnostic.at(Code.UNWRITABLE_FILE, None, path=folder, reason=reason)
        ) from error
    if not quiet:
        plural = "" if len(files) == 1 else "s"
        print(f"removed {folder}: {len(files)} file{plural}, {size / 1e6:.1f} MB")
    return 0


def examine(nvcc: str | None = None) -> list[Finding]:
    """Look at everything; takes a few seconds, because a program is compiled."""
    compiler = _host_compiler()
    found, toolkit = _nvcc(nvcc)
    return [
        _python(),
        *_packages(),
        compiler,
        toolkit,
        _compiles(found, compiler),
        _emulated_device(found, compiler),
        _gpu(),
        _optional_package("pycuda", "gpu"),
        _ncu(),
        *(_optional_package(name, extra) for name, extra in _EXTRAS.items()),
    ]


def _python() -> Finding:
    return Finding("Python", FOUND, f"{sys.version.split()[0]} ({sys.executable})", needed=True)


def _packages() -> Iterable[Finding]:
    for name in _PACKAGES:
        version = _version(name)
        if version is None:
            yield Finding(name, MISSING, "not installed", f"pip install {name}", needed=True)
        else:
            yield Finding(name, FOUND, version, needed=True)


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _optional_package(name: str, extra: str) -> Finding:
    version = _version(name)
    if version is None:
        return Finding(name, MISSING, "not installed", f"pip install 'cutune[{extra}]'")
    return Finding(name, FOUND, version)


def _host_compiler() -> Finding:
    try:
        path = host_compiler()
    except CutuneError as error:
        mend = "apt-get install g++, or set CXX"
        return Finding("host compiler", MISSING, error.diagnostic.message, mend, needed=True)
    lines = _output([path, "--version"]).splitlines()
    return Finding("host compiler", FOUND, f"{lines[0] if lines else '?'} ({path})", needed=True)


def _nvcc(option: str | None) -> tuple[Nvcc | None, Finding]:
    try:
        nvcc = find_nvcc(option)
        detail = f"{nvcc.version} ({nvcc.path}, from {nvcc.origin})"
    except CutuneError as error:
        absent = error.diagnostic.code is Code.MISSING_NVCC
        mend = INSTALL_TOOLKIT if absent else "give --nvcc PATH, or set CUDACXX"
        state = MISSING if absent else BROKEN
        return None, Finding("nvcc", state, error.diagnostic.message, mend, needed=True)
    return nvcc, Finding("nvcc", FOUND, detail, needed=True)


def _compiles(nvcc: Nvcc | None, compiler: Finding) -> Finding:
    """nvcc refuses host compilers that are too new for it, and wheels may lack parts."""
    name = "CUDA compilation"
    if nvcc is None or compiler.state != FOUND:
        return Finding(name, MISSING, "needs nvcc and a host compiler", needed=True)
    with tempfile.TemporaryDirectory(prefix="cutune-") as folder:
        source = Path(folder) / "doctor.cu"
        source.write_text("__global__ void kernel() {}\nint main() { kernel<<<1, 1>>>(); }\n")
        architecture = f"-arch={nvcc.architecture()}"
        result = nvcc.run([architecture, str(source), "-o", str(Path(folder) / "doctor")])
    if result.returncode == 0:
        return Finding(name, FOUND, f"a program for {nvcc.architecture()} compiles", needed=True)
    reason = next(iter((result.stderr or result.stdout).strip().splitlines()), "no message")
    mend = "set NVCC_CCBIN to a g++ that this nvcc accepts, or " + INSTALL_TOOLKIT
    return Finding(name, BROKEN, reason, mend, needed=True)


def _emulated_device(nvcc: Nvcc | None, compiler: Finding) -> Finding:
    name = "emulated device"
    if nvcc is None or compiler.state != FOUND:
        return Finding(name, MISSING, "needs nvcc and a host compiler", needed=True)
    # Not needed to answer the other questions, and its first use compiles for some time.
    from cutune.emulator.link import runtime_library

    try:
        return Finding(name, FOUND, str(runtime_library(nvcc)), needed=True)
    except CutuneError as error:
        return Finding(name, BROKEN, error.diagnostic.message, "see the message", needed=True)


def _gpu() -> Finding:
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    lines = _output(query).strip().splitlines() if shutil.which("nvidia-smi") else []
    if not lines:
        mend = "none needed: programs run on the emulated device"
        return Finding("GPU", MISSING, "no NVIDIA driver", mend)
    return Finding("GPU", FOUND, "; ".join(lines))


def _ncu() -> Finding:
    path = shutil.which("ncu")
    if path is None:
        return Finding("ncu", MISSING, "not on PATH", "install NVIDIA Nsight Compute")
    version = next((x for x in _output([path, "--version"]).splitlines() if "Version" in x), "")
    return Finding("ncu", FOUND, f"{version} ({path})".strip())


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


def _print(findings: list[Finding]) -> None:
    for finding in findings:
        mark = "ok" if finding.state == FOUND else finding.state
        print(f"{mark:8} {finding.name:17} {finding.detail}")
        if finding.state != FOUND and finding.mend:
            print(f"{'':8} {'':17} {finding.mend}")
