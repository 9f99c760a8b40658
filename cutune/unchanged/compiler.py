"""The compiler as an input. Takes nvcc and its options, gives a digest of all that compiles.

The preprocessed text of a source tells nothing of what makes code of it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from string import Template

from cutune.toolchain.nvcc import Nvcc
from cutune.toolchain.steps.dry_answers import dry_answer
from cutune.toolchain.steps.dry_run import stand_in_for
from cutune.unchanged.digests import digest, states_digest, tree_files

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
