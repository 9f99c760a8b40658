"""Runs `cutune` as a person would, in its own process."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from cutune.device.profile import DeviceProfile
from cutune.emulator.link import own_build_flags
from cutune.emulator.run import device_environment, program_environment
from cutune.toolchain.nvcc import INCLUDE_DIRECTORY, find_nvcc, host_compiler

SAMPLES = Path(__file__).parents[2] / "samples" / "polybench"
H200 = DeviceProfile.named("h200")


def cutune(*arguments: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """`cutune ARGUMENTS`."""
    command = [sys.executable, "-m", "cutune", *map(str, arguments)]
    return subprocess.run(
        command, cwd=cwd, capture_output=True, encoding="utf-8", errors="replace", check=False
    )


def tune(source: Path, workspace: Path, sizes: str = "64,96,128") -> Path:
    """All stages for one program that takes its size as argument; the tuned source."""
    tuned = workspace / f"{source.stem}.tuned.cu"
    done = cutune(
        *("tune", source, "--run", "./{program} {n}", "--vary", f"n={sizes}"),
        *("--device", "h200", "--workspace", workspace, "-o", tuned),
    )
    assert done.returncode == 0, done.stderr
    return tuned


def select(kernel: str, workspace: Path, *sizes: str) -> dict[str, Any]:
    """`cutune select --json`."""
    done = cutune("select", kernel, "--workspace", workspace, "--json", *sizes)
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def compiled(source: Path, original: Path, binary: Path) -> Path:
    """A program for the emulated device; quoted includes are found beside the original."""
    nvcc = find_nvcc()
    flags = ["-O1", f"-I{original.parent}", *own_build_flags(nvcc)]
    nvcc.check([*flags, str(source), "-o", str(binary)])
    return binary


def host_program(name: str, folder: Path) -> Path:
    """`programs/NAME.cpp` for the host, which includes cutune's headers; warnings are errors."""
    source, binary = Path(__file__).parent / "programs" / f"{name}.cpp", folder / name
    includes = [f"-I{path}" for path in (*find_nvcc().include_directories, INCLUDE_DIRECTORY)]
    warnings = ["-Wall", "-Wextra", "-Wconversion", "-Werror"]
    command = [host_compiler(), "-std=c++11", *warnings, *includes, str(source), "-o", str(binary)]
    subprocess.run(command, check=True)
    return binary


def run(
    binary: Path, *arguments: str, device: DeviceProfile = H200, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run a compiled program on an emulated device."""
    environment = {
        **program_environment(binary),
        **device_environment(device, binary.parent),
        **variables,
    }
    return subprocess.run(
        [str(binary), *arguments], env=environment, capture_output=True, text=True, check=False
    )
