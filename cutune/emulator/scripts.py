"""Programs that compile kernels while they run: takes an nvcc, gives what makes them compile PTX.

Such a program (PyCUDA's SourceModule, a script that builds a library and loads it) calls the `nvcc`
on the PATH. It finds one that compiles for the emulated device. What a package keeps of compiled
kernels lies in folders of its own then, since there is machine code in the usual ones.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

import cutune
from cutune.core.workspace import make_folder
from cutune.toolchain.cache import cache_folder
from cutune.toolchain.nvcc import Nvcc

#: Variables that name the folder in which a package keeps compiled kernels.
KEPT_KERNELS = {"PYCUDA_CACHE_DIR": "pycuda", "CUPY_CACHE_DIR": "cupy"}
#: Variables that name the toolkit.
TOOLKIT = ("CUDA_PATH", "CUDA_HOME")
#: CuPy's sums by kernels that it compiles. Those of CUB, which it holds, take a minute to assemble.
UNLESS_SET = {"CUPY_ACCELERATORS": ""}
#: Names the nvcc behind the one that compiles for the emulated device.
REAL_NVCC = "CUTUNE_REAL_NVCC"


def compiling_environment(nvcc: Nvcc) -> dict[str, str]:
    """Variables by which a program compiles for the emulated device."""
    found = {name: cache_folder() / folder for name, folder in KEPT_KERNELS.items()}
    for folder in found.values():
        make_folder(folder)
    toolkit = _toolkit(nvcc)
    path = f"{toolkit / 'bin'}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    named = {name: str(folder) for name, folder in found.items()}
    plain = {name: os.environ.get(name, value) for name, value in UNLESS_SET.items()}
    toolkits = dict.fromkeys(TOOLKIT, str(toolkit))
    return {"PATH": path, REAL_NVCC: str(nvcc.path), **toolkits, **plain, **named}


def _toolkit(nvcc: Nvcc) -> Path:
    """A toolkit whose `bin/nvcc` is `cutune nvcc` for the emulated device.

    The rest of it is that of `nvcc`: programs look there for headers and libraries.
    """
    root = Path(cutune.__file__).resolve().parent.parent
    options = ["--cutune-mode=emulated", f"--cutune-nvcc={nvcc.path}"]
    command = [sys.executable, "-P", "-m", "cutune", "nvcc", *options]
    text = f'#!/bin/sh\nPYTHONPATH={shlex.quote(str(root))} exec {shlex.join(command)} "$@"\n'
    key = hashlib.sha256(f"{nvcc.root}\n{text}".encode()).hexdigest()[:24]
    toolkit = cache_folder() / "toolkits" / key
    if not toolkit.exists():
        make_folder(toolkit.parent)
        with tempfile.TemporaryDirectory(dir=toolkit.parent) as folder:
            made = Path(folder) / "made"
            _lay_out(made, nvcc.root, text)
            with suppress(OSError):  # another process was quicker
                made.rename(toolkit)
    return toolkit


def _lay_out(folder: Path, root: Path, compiler: str) -> None:
    (folder / "bin").mkdir(parents=True)
    for path in root.iterdir():
        if path.name != "bin":
            (folder / path.name).symlink_to(path)
    script = folder / "bin" / "nvcc"
    script.write_text(compiler, encoding="utf-8")
    script.chmod(0o755)
