"""Runs `cutune` as a person would, and the programs that it makes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import chdir, contextmanager, nullcontext
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import IO, Any
from unittest.mock import patch

from cutune.cli.main import main
from cutune.core import progress
from cutune.emulator.link import own_build_flags
from cutune.emulator.run import device_environment, program_environment
from cutune.toolchain.device.profile import DeviceProfile
from cutune.toolchain.nvcc import INCLUDE_DIRECTORY, find_nvcc, host_compiler
from cutune.tuning.inputs import WatchedRequest
from tests.support.forked_cutune import run_loaded
from tests.support.short_headers import STANDARD

NATIVE = Path(__file__).parents[1] / "corpus" / "native"
SAMPLES = Path(__file__).parents[2] / "samples" / "polybench"
H200 = DeviceProfile.named("h200")
#: For sessions: the emulated device's code is all that has to be compiled besides that of the
#: device that is tuned for. Variants would be compiled and counted as well.
QUICK_FLAGS = (STANDARD, "-arch=compute_80")
ARCHITECTURE = f"--nvcc-flag={QUICK_FLAGS[1]}"
QUICK = (STANDARD, ARCHITECTURE, "--variants=none")
#: Samples whose kernels get the variants that those of 2dconv, gemm, gramschm and syrk get.
ALIKE = ("3dconv", "atax", "corr", "fdtd2d", "gesummv")
#: Gives the tuned source of a sample; its folder is the workspace.
Tuned = Callable[[str], Path]


def cutune(
    *arguments: object, cwd: Path | None = None, keeps: bool = False
) -> subprocess.CompletedProcess[str]:
    """`cutune ARGUMENTS` in this process: to start another one takes longer than many a verb.

    What it runs writes to the same files: they stand behind the descriptors. The verb `nvcc` has a
    process of its own, as it becomes the compiler.

    `keeps`: may `tune` keep its result? To find out what it depends on is a tenth of its work, for
    nothing where no test asks again.
    """
    words = [*map(str, arguments)]
    if words[:1] == ["nvcc"]:
        return in_own_process(words, cwd or Path.cwd())
    # How long things take depends on what else the machine does; and after an error a thread would
    # go on telling how far it was: to whoever comes next.
    in_silence = patch.multiple(progress, SECONDS_BETWEEN_LINES=1e6, SHORT_SECONDS=1e6)
    with TemporaryFile() as output, TemporaryFile() as errors:
        unkept = patch.object(WatchedRequest, "begin", lambda question: None)
        kept = nullcontext() if keeps else unkept
        in_place = chdir(cwd or Path.cwd())
        with in_silence, kept, in_place, _written_to(1, output), _written_to(2, errors):
            try:
                status = main(words)
            except SystemExit as end:  # of argparse
                status = int(end.code or 0)
        said = [_text(output), _text(errors)]
    return subprocess.CompletedProcess(["cutune", *words], status, *said)


def let_files_age() -> None:
    """Wait until files are older than the clock of files tells times apart (`tuning/inputs`).

    What was written just now may have been written again since it was read, so nothing is kept of
    it.
    """
    time.sleep(0.05)


def in_own_process(words: Sequence[str], cwd: Path) -> subprocess.CompletedProcess[str]:
    """`cutune WORDS` in a process of its own."""
    with TemporaryDirectory() as folder:
        output, errors = Path(folder) / "output", Path(folder) / "errors"
        status = run_loaded(words, cwd, output, errors, os.environ)
        said = [path.read_text(encoding="utf-8", errors="replace") for path in (output, errors)]
    return subprocess.CompletedProcess(["cutune", *words], status, *said)


@contextmanager
def _written_to(number: int, file: IO[bytes]) -> Iterator[None]:
    """Standard output (1) or standard error (2) of this process, and of those it starts."""
    name = {1: "stdout", 2: "stderr"}[number]
    before, kept = getattr(sys, name), os.dup(number)
    before.flush()
    os.dup2(file.fileno(), number)
    try:
        with open(number, "w", encoding="utf-8", errors="replace", closefd=False) as stream:
            setattr(sys, name, stream)
            yield
    finally:
        setattr(sys, name, before)
        os.dup2(kept, number)
        os.close(kept)


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode("utf-8", errors="replace")


def tune(
    source: Path, workspace: Path, sizes: str = "64,96,128", options: Sequence[str] = QUICK
) -> Path:
    """All stages for one program that takes its size as argument; the tuned source."""
    tuned = workspace / f"{source.stem}.tuned.cu"
    done = cutune(
        *("tune", source, "--run", "./{program} {n}", "--vary", f"n={sizes}"),
        *("--device", "h200", "--workspace", workspace, "-o", tuned),
        *options,
    )
    assert done.returncode == 0, done.stderr
    return tuned


def tune_sample(name: str, workspace: Path) -> Path:
    """A sample, tuned as it is for all tests."""
    options = QUICK if name in ALIKE else QUICK[:2]
    return tune(SAMPLES / f"{name}.cu", workspace, options=options)


def select(kernel: str, workspace: Path, *sizes: str) -> dict[str, Any]:
    """`cutune select --json`."""
    done = cutune("select", kernel, "--workspace", workspace, "--json", *sizes)
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


@cache
def build_flags() -> tuple[str, ...]:
    """Options with which the nvcc of the tests makes programs for the emulated device.

    Without a device link, which only relocatable code needs.
    """
    return ("-nodlink", *own_build_flags(find_nvcc()))


def compiled(
    source: Path, original: Path, binary: Path, options: Sequence[str] = (STANDARD,)
) -> Path:
    """A program for the emulated device; quoted includes are found beside the original."""
    flags = [*options, f"-I{original.parent}", *build_flags()]
    find_nvcc().check([*flags, str(source), "-o", str(binary)])
    return binary


def host_program(name: str, folder: Path) -> Path:
    """Compile `NAME.cpp` of the corpus for the host, with cutune's headers; warnings are errors."""
    source, binary = NATIVE / f"{name}.cpp", folder / name
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
