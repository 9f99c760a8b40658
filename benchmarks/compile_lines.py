"""Sources that a program's Makefile compiles: takes its folder, gives files and nvcc's options.

Nothing is built: `make -n` prints the command lines. Only options are kept that decide what is
compiled; the architecture is left to whoever asks.
"""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

SECONDS = 60
SOURCES = (".cu", ".cpp", ".cc", ".cxx", ".c")

_FOLDERS = ("-I", "-isystem", "--include-path", "-include", "--pre-include")
#: The next word is their value.
_WORDS = ("-D", "-U", "--define-macro", "-std", "--std", "-x", "--x", "-rdc", "-Xcompiler")
_STREAM = ("-default-stream", "--default-stream")
_JOINED = re.compile(
    r"-[DU].|--?(std=|x=|rdc=|expt|extended|default-stream=|Xcompiler=|use_fast_math)"
)


def compiled_files(folder: Path) -> dict[Path, list[str]]:
    """Options per file that nvcc is called for, in the order of the command lines.

    Empty where there is no Makefile, or it names no source.
    """
    found: dict[Path, list[str]] = {}
    for words in _nvcc_lines(folder):
        for word in words:
            path = folder / word
            if path.suffix in SOURCES and path.is_file():
                found.setdefault(path, list(compile_options(words, folder)))
    return found


def _nvcc_lines(folder: Path) -> Iterator[list[str]]:
    if not any((folder / name).exists() for name in ("Makefile", "makefile", "GNUmakefile")):
        return
    command = ["make", "-n", "-B", "ARCH=sm_90", "CC=nvcc", "NVCC=nvcc"]
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return
    for line in done.stdout.replace("\\\n", " ").splitlines():
        try:
            words = shlex.split(line)
        except ValueError:
            continue
        if words and words[0].endswith("nvcc"):
            yield words[1:]


def compile_options(words: Sequence[str], folder: Path) -> Iterator[str]:
    """Options that decide what is compiled, paths absolute: folders, macros, language."""
    iterator = iter(words)
    for word in iterator:
        if word in _FOLDERS:
            path = folder / next(iterator, "")
            # A forced header may stand in any include folder.
            yield from (word, str(path) if path.exists() else path.name)
        elif word in (*_WORDS, *_STREAM):
            yield from (word, next(iterator, ""))
        elif word.startswith("-I"):
            yield f"-I{folder / word[2:]}"
        elif word == "-dc":
            yield "-rdc=true"
        elif _JOINED.match(word):
            yield word
