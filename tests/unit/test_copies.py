"""Copies of kernels with a constant for their block: what is wrapped, and what is not copied."""

from __future__ import annotations

import pytest

from cutune.analysis.analyze import analyze
from cutune.core.edits import apply_edits
from cutune.core.source import Source
from cutune.frontend.launches.copies import callee_of_copy, copies
from cutune.frontend.program import KernelCopy
from cutune.frontend.syntax.parse import parse

LAUNCH = "void f(float *a, int n) { k<<<(n + 255) / 256, 256>>>(a, n); }\n"
PLAIN = """\
#define BLOCK 256
__global__ void k(float *a, int n)
{
    int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < n) a[i] = 1;
}
"""


def copy_of(text: str, name: str = "k") -> KernelCopy | None:
    """The copy of a kernel by its text alone."""
    candidate = copies(analyze(parse(Source("test.cu", text)))).get(name)
    return candidate.copy if candidate is not None else None


def test_a_copy_stands_behind_its_kernel_and_keeps_the_lines() -> None:
    text = PLAIN + LAUNCH
    source = Source("test.cu", text)
    copy = copy_of(text)
    assert copy is not None and copy.block == (256, 0, 0)
    lines = apply_edits(source, [copy.edit]).text.splitlines()
    assert lines[: PLAIN.count("\n")] == PLAIN.splitlines()
    begin = lines.index("#line 2")
    assert lines[begin + 1].startswith(f"namespace {copy.namespace} {{ template <class T> static")
    assert lines[begin + 1].endswith("__global__ void k(float *a, int n)")
    assert "    int i = blockIdx.x * cutune_block_x(BLOCK) + threadIdx.x;" in lines
    end = lines.index("#line 6")
    assert lines[end - 1] == "} }" and lines[end + 1] == "" and lines[end + 2] == LAUNCH.strip()


INDEX = "int i = blockIdx.x * 256 + threadIdx.x;"
WRAPPED = "int i = blockIdx.x * cutune_block_x(256) + threadIdx.x;"


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        (f"{INDEX} a[i] = 1;", WRAPPED),
        # A number that has nothing to do with the block stays.
        (f"{INDEX} a[i] = n * 256;", "a[i] = n * 256;"),
        ("int b = blockIdx.x; int i = (b * 256) + threadIdx.x;", "(b * cutune_block_x(256))"),
        (f"const int N = 256; {INDEX} a[N * i] = 1;", "a[N * i]"),
        ("int i = blockIdx.x * (256) + threadIdx.x;", ""),
        ("int i = blockIdx.y * 256 + threadIdx.x;", ""),
        ("int i = blockIdx.x * 128 + threadIdx.x;", ""),
        ("int i = blockIdx.x << 8 | threadIdx.x;", ""),
    ],
)
def test_literals(statement: str, expected: str) -> None:
    text = f"__global__ void k(float *a, int n) {{ {statement} a[i] += 1; }}\n{LAUNCH}"
    copy = copy_of(text)
    if expected:
        assert copy is not None and expected in copy.edit.text
    else:
        assert copy is None


@pytest.mark.parametrize(
    ("before", "statement", "expected"),
    [
        (
            "#define B 256\n",
            "int i = blockIdx.x * B + threadIdx.x; a[i + B] = B;",
            "a[i + {B}] = B;",
        ),
        ("const int B = 256;\n", "int i = B * blockIdx.x + threadIdx.x;", "{B} * blockIdx.x"),
        ("constexpr unsigned B{256}, C = 256;\n", "int i = blockIdx.x * C + threadIdx.x;", "{C}"),
        ("enum { A, B = 256 };\n", "int i = blockIdx.x * B + threadIdx.x;", "{B}"),
        ("#define B 256\n", "int i = threadIdx.x; for (; i < n; i += B * 4) a[i] = 1;", "{B} * 4"),
        ("template <int B> ", "int i = blockIdx.x * B + threadIdx.x;", "{B}"),
        # What the kernel declares itself is no constant.
        ("#define C 256\n", "int B = C; int i = blockIdx.x * B + threadIdx.x;", ""),
    ],
)
def test_names(before: str, statement: str, expected: str) -> None:
    text = f"{before}__global__ void k(float *a, int n) {{ {statement} a[i] += 1; }}\n{LAUNCH}"
    copy = copy_of(text)
    for name in "BC":
        expected = expected.replace(f"{{{name}}}", f"cutune_block_x({name})")
    if expected:
        assert copy is not None and expected in copy.edit.text
    else:
        assert copy is None


def test_dimensions_of_one_size_are_told_by_the_index() -> None:
    statement = (
        "int x = blockIdx.x * 16 + threadIdx.x; int ty = threadIdx.y, by = blockIdx.y;"
        "int y = by * 16 + ty; a[y * n + x] = 1;"
    )
    launch = "void f(float *a, int n) { k<<<dim3(4, 4), dim3(16, 16)>>>(a, n); }\n"
    copy = copy_of(f"__global__ void k(float *a, int n) {{ {statement} }}\n{launch}")
    assert copy is not None and copy.block == (16, 16, 0)
    assert "blockIdx.x * cutune_block_x(16)" in copy.edit.text
    assert "by * cutune_block_y(16)" in copy.edit.text


@pytest.mark.parametrize(
    "statement",
    [
        f"{INDEX} a[i] = __COUNTER__;",
        f"{INDEX}\n#undef ONE\na[i] = 1;",
        f"{INDEX}\n#define ONE 2\na[i] = ONE;",
        f'{INDEX}\n#include "rest.h"\na[i] = 1;',
        f'{INDEX}\n#pragma push_macro("ONE")\na[i] = 1;',
        f"{INDEX} if (i < n) a[i] = (size_t)k;",
    ],
)
def test_what_would_mean_something_else_is_not_copied(statement: str) -> None:
    text = f"__global__ void k(float *a, int n) {{ {statement} }}\n{LAUNCH}"
    assert copy_of(text) is None


@pytest.mark.parametrize("before", ["#line 7\n", '# 7 "other.cu"\n'])
def test_lines_that_are_called_otherwise_are_left_alone(before: str) -> None:
    assert copy_of(before + PLAIN + LAUNCH) is None


def test_unrolling_is_copied() -> None:
    statement = f"{INDEX}\n#pragma unroll\nfor (int j = 0; j < 4; ++j) a[i] += j;"
    copy = copy_of(f"__global__ void k(float *a, int n) {{ {statement} }}\n{LAUNCH}")
    assert copy is not None and "\n#pragma unroll\n" in copy.edit.text


@pytest.mark.parametrize(
    ("callee", "expected"),
    [
        ("k", "c::k"),
        ("::k", "::c::k"),
        ("ns :: k", "ns :: c::k"),
        ("k<4, f<2>>", "c::k<4, f<2>>"),
        ("my_k", None),
        ("KERNEL", None),
        ("ns<3>::k", None),
    ],
)
def test_callees(callee: str, expected: str | None) -> None:
    copy = copy_of(PLAIN + LAUNCH)
    assert copy is not None
    found = callee_of_copy(callee, "k", copy)
    assert (found and found.replace(copy.namespace, "c")) == expected


def test_any_beginning_of_a_kernel_is_read() -> None:
    kernel = "__global__ void k(float *a, int n) { int b = blockIdx.x; a[b * 256 + threadIdx.x"
    for end in range(kernel.index("{"), len(kernel)):
        assert copy_of(f"{LAUNCH}{kernel[:end]} }}") is None, kernel[:end]
    assert copy_of(f"{LAUNCH}{kernel}] = n; }}") is not None
