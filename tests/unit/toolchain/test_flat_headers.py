"""The headers in one file, which most tests compile with, are token for token those of CUDA.

What few programs need is left out of one of two such files.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

import pytest

from cutune.toolchain.nvcc import find_nvcc, host_pass_flags, target_flags
from tests.support import flat_headers
from tests.support.flat_headers import KINDS, write_flat_headers
from tests.support.needed_declarations import needed_lines
from tests.support.short_headers import (
    FLAGS_VARIABLE,
    HEADERS,
    STANDARD,
    as_users_do,
    with_short_headers,
)

pytestmark = pytest.mark.nvcc

#: With these they are CUDA's own.
OTHERS = ("-rdc=true", "--default-stream=per-thread", "-std=c++17")

PROGRAM = """#include <cstdio>
#include <vector>
__global__ void fill(float *a, int n) { if (threadIdx.x < n) a[threadIdx.x] = warpSize; }
int main() { fill<<<1, dim3(64)>>>(nullptr, 0); return cudaDeviceSynchronize(); }
"""


def expanded(path: Path, architecture: str, flags: list[str], *options: str) -> list[str]:
    passed = target_flags(flags, architecture) if architecture else host_pass_flags(flags)
    text = find_nvcc().preprocess(path, flags, [*passed, "-E", *options])
    return [word for line in text.split("\n") if not line.startswith("# ") for word in line.split()]


_WITHIN = re.compile(r'#pragma GCC diagnostic (?:push|pop|ignored "[^"]*")')


def tokens(text: str) -> list[str]:
    return re.findall(r"\w+|\S", text)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of headers of which nothing is left out."""
    folder = tmp_path_factory.mktemp("whole")
    with as_users_do(), patch.object(flat_headers, "needed_lines", lambda lines, *_: lines):
        write_flat_headers(find_nvcc(), [STANDARD, *HEADERS], folder)
    return folder


@contextmanager
def with_flat_headers(folder: Path | None) -> Iterator[None]:
    """With the headers of a folder in place of those that other tests have; None: with CUDA's."""
    with with_short_headers():
        standard, option, flat, *others = shlex.split(os.environ[FLAGS_VARIABLE])
        assert option == "-isystem" and (Path(flat) / "flat.h").exists()
        instead = [option, str(folder)] if folder else []
        options = shlex.join([standard, *instead, *others])
        with patch.dict(os.environ, {FLAGS_VARIABLE: options}):
            yield


PASSES = [
    *(([level] if level else [], architecture) for architecture, level in KINDS),
    *(([flag], architecture) for flag in ("-O3", *OTHERS) for architecture in ("", "80")),
]


@pytest.mark.long
@pytest.mark.parametrize(("flags", "architecture"), PASSES)
def test_it_is_what_the_headers_come_to(
    flags: list[str], architecture: str, whole: Path, tmp_path: Path
) -> None:
    source = tmp_path / "fill.cu"
    source.write_text(PROGRAM)

    def seen() -> tuple[list[str], list[str]]:
        text, macros = (
            expanded(source, architecture, flags, *one) for one in ((), ("-Xcompiler", "-dM"))
        )
        return text, sorted(macros)

    with with_flat_headers(None):
        text, macros = seen()
    is_flat = not {*flags} & {*OTHERS}
    marked = sorted([*macros, *(["__FLAT_HEADERS__"] if is_flat else [])])
    with with_flat_headers(whole):
        found, found_macros = seen()
    assert found == text
    assert {*found_macros} == {*marked}
    with with_short_headers():
        short, short_macros = seen()
    assert {*short_macros} == {*marked}
    # In their order, some are left out.
    every, some = " ".join(text), " ".join(short)
    if "__OPTIMIZE__" in macros:
        # A function has directives about warnings within it, which come before it.
        every, some = _WITHIN.sub("", every), _WITHIN.sub("", some)
    words = iter(tokens(every))
    assert all(word in words for word in tokens(some))
    assert (len(short) < len(text)) == is_flat


def test_nothing_but_declarations_is_missing(whole: Path, tmp_path: Path) -> None:
    source = tmp_path / "fill.cu"
    source.write_text(PROGRAM)
    with with_short_headers():
        code = find_nvcc().ptx(str(source), (), "80")
    with with_flat_headers(whole):
        assert find_nvcc().ptx(str(source), (), "80") == code


def test_headers_that_do_not_compile_are_whole(whole: Path, tmp_path: Path) -> None:
    def without_something(lines: Sequence[str], *_: object) -> list[str]:
        return [line for line in lines if "cudaDeviceSynchronize" not in line]

    with as_users_do(), patch.object(flat_headers, "needed_lines", without_something):
        write_flat_headers(find_nvcc(), [STANDARD, *HEADERS], tmp_path)
    for name in ("flat_host.h", "flat_80.h"):
        assert (tmp_path / name).read_text() == (whole / name).read_text()


DECLARATIONS = """# 1 "mine.h" 3
typedef struct kept *kept_t;
# 1 "cuda.h" 3
#define CUDA
extern "C" {
struct unused { int x; };
extern int of_nobody(struct unused *);
struct __attribute__((device_builtin)) point { int x; enum side left; };
enum __attribute__((device_builtin)) side { asked_first = 0, second = 1,
  third = 2, counted, asked_last = 0x10, negative = -1, fifth = 5 };
typedef __attribute__((device_builtin)) enum side side_t;
extern __attribute__((host)) int asked(point *p = {0}) __attribute__((nothrow));
extern int asked(int count);
static inline int other(int asked) { return '}' + "{"[0]; }
}
namespace inner { template <typename T> struct holder { T one; }; int other(); }
template <typename T, int n> __inline__ T asked(T a) { return inner::holder<T>{a}.one; }
typedef void (*callback_t)(int);
bool operator==(kept_t, kept_t);
using any_t = int;
"""
NEEDED = """# 1 "mine.h" 3
typedef struct kept *kept_t;
# 1 "cuda.h" 3
#define CUDA
extern "C" {
struct __attribute__((device_builtin)) point { int x; enum side left; };
enum __attribute__((device_builtin)) side { asked_first = 0,
  third = 2, counted, asked_last = 0x10, negative = -1};
extern __attribute__((host)) int asked(point *p = {0}) __attribute__((nothrow));
extern int asked(int count);
}
namespace inner {
 template <typename T> struct holder { T one; };
 }
template <typename T, int n> __inline__ T asked(T a) { return inner::holder<T>{a}.one; }
bool operator==(kept_t, kept_t);
using any_t = int;
"""


def test_what_is_needed() -> None:
    lines = needed_lines(
        DECLARATIONS.splitlines(), lambda name: name.startswith("asked"), "cuda.h".__eq__
    )
    assert "\n".join(lines).splitlines() == NEEDED.splitlines()
