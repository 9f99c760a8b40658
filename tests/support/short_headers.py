"""Options by which nvcc has less to do, with which tests compile.

Most of what it compiles in a small program are headers, and most of what the host's compiler takes
is to optimise: `left_out.h` in tests/corpus/headers does without both, and has the rest in one
file. Tests that compile as users do have all of it.
"""

from __future__ import annotations

import atexit
import os
import re
import shlex
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from unittest.mock import patch

from cutune.core.diagnostics import CutuneError
from cutune.core.workspace import locked
from cutune.proof.analysis import read_source
from cutune.toolchain.nvcc import Nvcc, find_nvcc
from cutune.toolchain.preprocessed import definitions_before
from tests.support.flat_headers import write_flat_headers

#: Of programs of which nothing is asked about the standard of C++. The headers of the standard that
#: nvcc has by itself are twice as long.
STANDARD = "-std=c++14"
_FOLDER = Path(__file__).parents[1] / "corpus" / "headers"
#: Ubuntu's compilers check calls of its library's functions, by headers that are longer.
_UNCHECKED = "-U_FORTIFY_SOURCE"
HEADERS = ("-isystem", str(_FOLDER), "-Xcompiler", "-include,left_out.h", _UNCHECKED)
#: Another one comes first, which leaves out no header.
_ALL_HEADERS = ("-isystem", str(_FOLDER / "whole"), *HEADERS)
#: It links in a third of the time.
_LINKER = ("-Xcompiler", "-fuse-ld=gold") if shutil.which("ld.gold") else ()
#: What nvcc reads before the options that it is given.
FLAGS_VARIABLE = "NVCC_PREPEND_FLAGS"
_SHARED_VARIABLE = "CUTUNE_TEST_HEADERS"


#: Options that name files, which may be others in another folder.
_OF_FILES = re.compile(r"inc|macros|@|file|^-I")
#: Texts with all definitions, by what they depend on.
_DEFINITIONS: dict[tuple[Nvcc, tuple[str, ...], str], str] = {}


@contextmanager
def with_short_headers() -> Iterator[None]:
    """The standard unless another one is asked for, and mathematics where it is included."""
    with _with_headers(HEADERS):
        yield


@contextmanager
def with_all_headers() -> Iterator[None]:
    """Compile with all of CUDA's headers, for programs that rely on them."""
    with _with_headers(_ALL_HEADERS):
        yield


@contextmanager
def _with_headers(headers: tuple[str, ...]) -> Iterator[None]:
    words = [STANDARD, *_flat_headers(headers), *headers, *_LINKER]
    known = patch.object(read_source, "definitions_before", _definitions_before)
    with patch.dict(os.environ, {FLAGS_VARIABLE: shlex.join(words)}), known:
        yield


@cache
def _flat_headers(headers: tuple[str, ...]) -> tuple[str, ...]:
    """Options for the folder of their `flat.h`."""
    try:
        nvcc = find_nvcc()
    except CutuneError:
        return ()
    is_whole = headers is _ALL_HEADERS
    folder = shared_folder() / ("whole" if is_whole else "flat")
    with locked(folder.with_suffix(".lock")), as_users_do():
        if not folder.exists():
            made = Path(mkdtemp(dir=folder.parent))
            write_flat_headers(nvcc, [STANDARD, *headers], made, is_whole)
            made.rename(folder)
    return "-isystem", str(folder)


def shared_folder() -> Path:
    """A folder for this process and those that it starts, such as workers of pytest."""
    if (known := os.environ.get(_SHARED_VARIABLE)) is not None:
        return Path(known)
    folder, maker = Path(mkdtemp(prefix="flat-headers-")), os.getpid()
    atexit.register(lambda: shutil.rmtree(folder) if os.getpid() == maker else None)
    os.environ[_SHARED_VARIABLE] = str(folder)
    return folder


def _definitions_before(nvcc: Nvcc, flags: Sequence[str]) -> str:
    """As `definitions_before`, once for all folders: `left_out.h` is the same seen from each."""
    own = tuple(flag for flag in flags if not flag.startswith("-iquote,"))
    if any(map(_OF_FILES.search, own)):
        return definitions_before(nvcc, flags)
    asked = nvcc, own, os.environ.get(FLAGS_VARIABLE, "")
    if asked not in _DEFINITIONS:
        _DEFINITIONS[asked] = definitions_before(nvcc, flags)
    return _DEFINITIONS[asked]


@contextmanager
def as_users_do() -> Iterator[None]:
    """With the standard of C++ that nvcc has by itself, and all headers."""
    with patch.dict(os.environ):
        os.environ.pop(FLAGS_VARIABLE, None)
        yield
