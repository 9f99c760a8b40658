"""Places of nvcc. Takes options and the environment, gives the real nvcc, or a stand-in for it.

In this order: `$CUDACXX`, `$CUDA_HOME` and `$CUDA_PATH`, `PATH`, the packages of the extra
`toolkit` in this Python environment, `/usr/local/cuda`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

#: Where the wheels put their tree below site-packages: CUDA 13, CUDA 12.
_WHEEL_ROOTS = ("nvidia/cu13", "nvidia/cuda_nvcc")
#: The nvccs tried so far: one of them may be a script that runs `cutune nvcc` again.
TRIED = "CUTUNE_NVCC_TRIED"
#: Launchers: programs that run the compiler named after them.
LAUNCHERS = frozenset(["ccache", "sccache", "distcc", "icecc", "time", "nice"])


def cudacxx() -> str | None:
    """Return `$CUDACXX`, unless it names another CUDA compiler: CMake's users set it to clang++."""
    words = os.environ.get("CUDACXX", "").split()
    # CUDACXX="cutune nvcc" is how CMake is told to use this very program.
    if len(words) != 1 or "nvcc" not in os.path.basename(words[0]):
        return None
    return words[0]


def candidates() -> Iterator[tuple[str, str]]:
    """Yield places where an nvcc may be, each with the rule that names it; not all exist."""
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        if home := os.environ.get(variable):
            yield os.path.join(home, "bin", "nvcc"), f"${variable}"
    for path in all_on_path("nvcc"):
        yield path, "PATH"
    import sysconfig  # noqa: PLC0415 : only where PATH has none

    for packages in dict.fromkeys((sysconfig.get_path("platlib"), sysconfig.get_path("purelib"))):
        for root in _WHEEL_ROOTS:
            yield os.path.join(packages, root, "bin", "nvcc"), "cutune[toolkit]"
    yield "/usr/local/cuda/bin/nvcc", "/usr/local/cuda"


def wheel_libraries(nvcc: str) -> str | None:
    """Return where the libraries of an nvcc of NVIDIA's wheels are: it looks in `lib64` alone."""
    root = os.path.dirname(os.path.dirname(os.path.realpath(nvcc)))
    folder = os.path.join(root, "lib")
    is_wheel = os.path.exists(os.path.join(folder, "libcudart_static.a"))
    return folder if is_wheel and not os.path.exists(os.path.join(root, "lib64")) else None


def all_on_path(name: str) -> Iterator[str]:
    """Yield the programs of a name, in the order of PATH."""
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        path = os.path.join(folder or os.curdir, name)
        if is_program(path):
            yield path


def is_program(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)


def found_program(name: str) -> str | None:
    """Return the program that a shell would run."""
    if os.sep in name:
        return name if is_program(name) else None
    return next(all_on_path(name), None)


def split_launcher(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Split the compiler, perhaps behind a launcher (CMake writes `ccache nvcc`), from the rest."""
    for count, word in enumerate(words[:4]):
        name = os.path.basename(word)
        if name.startswith("nvcc") and not name.endswith((".cu", ".o", ".cpp", ".c")):
            if found_program(word) is None:
                break
            return list(words[: count + 1]), list(words[count + 1 :])
        # A script of the user's may be one, too.
        if name not in LAUNCHERS and (word.startswith("-") or found_program(word) is None):
            break
    return [], list(words)


def tried() -> list[str]:
    """Return the nvccs tried so far, one of which has run this process."""
    return [path for path in os.environ.get(TRIED, "").split(os.pathsep) if path]


def real_nvcc(option: str | None) -> str | None:
    """Return the nvcc to run: the one asked for, else the first one not tried so far."""
    before = set(tried())
    if option:
        return found_program(os.path.expanduser(option))
    named = cudacxx()
    places = [found_program(named)] if named else (path for path, _ in candidates())
    for path in places:
        if path and path not in before and is_program(path) and not _is_us(path):
            return path
    return None


def _is_us(path: str) -> bool:
    return os.path.basename(os.path.realpath(path)) == os.path.basename(sys.argv[0]) == "cutune"


def stand_in(folder: Path, nvcc: Path) -> Path:
    """Write a script named nvcc that is `cutune nvcc` for this one. Raises CT002.

    Its folder stays, as CMake remembers it.
    """
    import shlex  # noqa: PLC0415 : `cutune nvcc` starts quicker without

    from cutune.core.workspace import make_folder, write_text  # noqa: PLC0415

    path = folder / "bin" / "nvcc"
    make_folder(path.parent)
    # -P: a module of the project must not take the place of one of ours.
    words = [sys.executable, "-P", "-m", "cutune", "nvcc", f"--cutune-nvcc={nvcc.absolute()}"]
    write_text(path, f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
    path.chmod(0o755)
    return path


def first_on_path(program: Path) -> dict[str, str]:
    """Return the variable by which a program is found before others of its name."""
    return {"PATH": os.pathsep.join([str(program.parent), os.environ.get("PATH", "")])}
