"""nvcc's front end for the host, run by itself. Takes a source and flags, gives C++ and assembly.

nvcc says by `--dryrun` which commands it would run: the preprocessor, cudafe++ (which takes the
kernels out and writes launches as calls), the host compiler. They are run here one by one, in
a folder of their own; the device is left out, and nothing is assembled.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cutune.core.temporary import temporary_folder
from cutune.toolchain.nvcc import Nvcc, without_output_flags
from cutune.toolchain.steps.dry_answers import dry_answer
from cutune.toolchain.steps.dry_run import (
    first_line,
    front_end_failed,
    read_dry_run,
    run,
    stand_in_for,
    value,
    with_source,
    words,
)

#: Options that keep each call as written, and ask for the assembly alone.
_AS_WRITTEN = ("-S", "-O0", "-g0", "-w", "-fno-lto")
_STUB = re.compile(r'^#include "[^"\n]*\.stub\.c"$', re.MULTILINE)


@dataclass(frozen=True)
class Steps:
    """What nvcc runs for the host, as words; `environment`: what it sets for that."""

    preprocess: tuple[str, ...]
    cudafe: tuple[str, ...]
    compile: tuple[str, ...]
    environment: Mapping[str, str]

    @property
    def host_file(self) -> str:
        """What cudafe++ writes: the program as the host compiler gets it."""
        return value(self.cudafe, "--gen_c_file_name")


def host_assembly(nvcc: Nvcc, path: str, flags: Sequence[str], change: Callable[[str], str]) -> str:
    """The unoptimized assembly of the host code, after `change` has edited the C++ text.

    Kernels that are not templates are called there, but not defined.

    Args:
        nvcc: the compiler. path, flags: what it would compile, and how.
        change: gets the C++ text that cudafe++ wrote; a text without launches may be "".

    Raises:
        CutuneError: CT703 when a step fails or nvcc's answer is not understood.
    """
    with temporary_folder() as folder:
        stand_in = stand_in_for(nvcc, path, flags)
        asked = ["-c", "--dryrun", "--keep", "--keep-dir", folder, *_host_flags(flags), stand_in]
        steps = read_steps(dry_answer(nvcc, asked, folder))
        environment = {**os.environ, **steps.environment}
        run(with_source(steps.preprocess, stand_in, path), environment)
        run(with_source(steps.cudafe, stand_in, path), environment)
        host_file, assembly = Path(steps.host_file), Path(folder) / "host.s"
        text = _STUB.sub("", host_file.read_text(encoding="latin-1"))
        changed = change(text)
        if not changed:
            return ""
        host_file.write_text(changed, encoding="latin-1")
        run([*_without_object(steps.compile), *_AS_WRITTEN, "-o", str(assembly)], environment)
        return assembly.read_text(encoding="latin-1")


def read_steps(said: str) -> Steps:
    """The steps of the host among what `nvcc -c --dryrun` says.

    Raises:
        CutuneError: CT703 when they are not found.
    """
    lines, environment = read_dry_run(said)
    cudafe = next((words(line) for line in lines if line.startswith("cudafe++ ")), None)
    if cudafe is None:
        raise front_end_failed(first_line(said) or "nvcc does not name the steps of its front end")
    host_file = value(cudafe, "--gen_c_file_name")
    preprocess = compile_ = None
    for line in lines:
        if cudafe[-1] in line and " -E " in line:
            preprocess = words(line)
        elif host_file in line and not line.startswith("cudafe++ "):
            compile_ = words(line)
    if not host_file or preprocess is None or compile_ is None:
        raise front_end_failed("nvcc does not name the steps of its front end")
    return Steps(preprocess, cudafe, compile_, environment)


def _host_flags(flags: Sequence[str]) -> list[str]:
    """Flags without output and phase; what a phase says of the names of kernels stays."""
    relocatable = {"-dc", "-dw", "--device-c", "--device-w"} & set(flags)
    return [*without_output_flags(flags), *(["-rdc=true"] if relocatable else [])]


def _without_object(words: Sequence[str]) -> list[str]:
    at = words.index("-o") if "-o" in words else len(words)
    return [word for word in (*words[:at], *words[at + 2 :]) if word != "-c"]
