"""Suggestions: an annotation that is inserted does what was promised."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

import pytest

from cutune.cli.report.programs import print_suggestions
from cutune.core.reading import read_source
from cutune.core.source import Source
from cutune.proof.analysis.suggestions import suggestions
from cutune.source.program import Program
from tests.support.analyzed import analyzed

GOLDEN = Path(__file__).parents[2] / "golden"


def program(text: str) -> Program:
    return analyzed(Source("a.cu", text))


@pytest.mark.long
def test_inserted_annotations_make_the_launches_tunable() -> None:
    for path in sorted(GOLDEN.glob("*/impure.cu")) + sorted(GOLDEN.glob("suggest/*.cu")):
        text = read_source(path).text
        found = program(text)
        wanted = [s for s in suggestions(found) if s.pragma is not None]
        lines = text.split("\n")
        for suggestion in sorted(wanted, key=lambda s: -s.line):
            assert suggestion.pragma is not None
            lines.insert(suggestion.line - 1, suggestion.pragma)
        annotated = program("\n".join(lines))
        gained = len(annotated.tunable_launches) - len(found.tunable_launches)
        assert gained == sum(len(suggestion.launches) for suggestion in wanted)
        assert all(s.pragma is None for s in suggestions(annotated))


def test_a_launch_without_a_model_is_spoken_of(capsys: pytest.CaptureFixture[str]) -> None:
    text = """__global__ void scale(float *a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] *= 2;
}
void f(float *a, int n) { scale<<<n / 64, 64>>>(a, n); }
"""
    print_suggestions([replace(program(text), unmodelled=(("scale", "it reads a texture"),))])
    place, why = capsys.readouterr().out.splitlines()
    assert place == "a.cu:5: launch of 'scale'"
    assert "it reads a texture" in why
    print_suggestions([program(text)])
    assert capsys.readouterr().out == "nothing to suggest: no launch was refused\n"


@pytest.mark.long
def test_every_refused_launch_is_spoken_of() -> None:
    for path in sorted((GOLDEN / "inspect").glob("*.cu")):
        found = program(read_source(path).text)
        lines = [line for suggestion in suggestions(found) for line in suggestion.launches]
        assert len(lines) == len(found.launches) - len(found.tunable_launches)


def test_json() -> None:
    text = read_source(GOLDEN / "suggest" / "blocks.cu").text
    first = asdict(next(suggestions(program(text))))
    assert first["line"] == 5 and first["code"] == "CT284" and first["pragma"]


def test_places_are_printed_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    # `:100:` has a meaning to the library that prints.
    text = read_source(GOLDEN / "suggest" / "refused.cu").text
    print_suggestions([program("\n" * 69 + text)])
    assert "a.cu:100: " in capsys.readouterr().out


#: Aliases outside of the kernel and in it, and whether the collective is one of warps.
COLLECTIVES = (
    ("", "typedef cub::BlockReduce<float, TH> NAME;", False),
    ("", "using NAME = cub::BlockReduce<float, TH>;", False),
    ("using NAME = cub::BlockReduce<float, 128>;", "", False),
    ("", "typedef cub::WarpReduce<float> NAME;", True),
    ("using NAME = cub::WarpReduce<float>;", "", True),
)
COLLECTIVE = """
ALIASES
template <int TH> __global__ void sums_of_NAME(const float *a, float *b, int n) {
  OWN
  __shared__ typename NAME::TempStorage storage;
  float sum = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) sum += a[blockIdx.x * n + i];
  sum = NAME(storage).Sum(sum);
  if (threadIdx.x == 0) b[blockIdx.x] = sum;
}
void run_NAME(const float *a, float *b, int n) { sums_of_NAME<128><<<n, 128>>>(a, b, n); }
"""


@pytest.mark.long
def test_collectives_of_a_block_have_one_width() -> None:
    """One program of all, as it is the headers of cub that take long to compile."""
    text = "#include <cub/block/block_reduce.cuh>\n#include <cub/warp/warp_reduce.cuh>\n"
    for number, (aliases, own, _) in enumerate(COLLECTIVES):
        kernel = COLLECTIVE.replace("ALIASES", aliases).replace("OWN", own)
        text += kernel.replace("NAME", f"Sum{number}")
    found = suggestions(program(text))
    for number, (suggestion, case) in enumerate(zip(found, COLLECTIVES, strict=True)):
        # A block of one warp adds up its row: no other block does.
        said = "within warps alone" if case[-1] else f"'Sum{number}' is made for one number"
        assert suggestion.pragma is None and said in suggestion.text, case


TABLE = """
__global__ void looked_up(const float *table, const int *index, float *out, int n, int length) {
  extern __shared__ float memory[];
  float *own = memory + length;
  for (int k = threadIdx.x; k < length; k += blockDim.x) OWN = memory[k] = table[k];
  __syncthreads();
  const int tid = threadIdx.x, i = blockIdx.x * blockDim.x + tid;
  if (i < n) out[i] = own[READ];
}
void run(const float *a, const int *b, float *c, int n, int length) {
  looked_up<<<n / 256, 256, 2 * length * sizeof(float)>>>(a, b, c, n, length);
}
"""


@pytest.mark.parametrize(
    ("own", "read", "is_kept"),
    [
        ("own[k]", "index[i]", True),
        ("own[k]", "index[i] % 32", True),
        ("own[k]", "tid", False),
        ("own[threadIdx.x + 1]", "index[i]", False),
        ("own[k]", "index[i] % blockDim.x", False),
    ],
)
def test_memory_of_a_table_is_kept(own: str, read: str, is_kept: bool) -> None:
    text = TABLE.replace("OWN", own).replace("READ", read)
    (found,) = suggestions(program(text))
    assert (found.pragma is not None) == is_kept
    assert found.code == "CT211" or not is_kept
    if found.pragma is not None:
        assert found.pragma.endswith(" shared(keep)")
        annotated = program(text.replace("__global__", f"{found.pragma}\n__global__", 1))
        assert len(annotated.tunable_launches) == 1


SUMS = """
__global__ void sums(const float *table, float *out, int n) {
  extern __shared__ float own[];
  for (int k = threadIdx.x; k < n; k += blockDim.x) own[k] = 0;
  __syncthreads();
  float value = table[blockIdx.x * blockDim.x + threadIdx.x];
  LOOP atomicAdd(own + k, value);
  __syncthreads();
  for (int k = threadIdx.x; k < n; k += blockDim.x) atomicAdd(out + k, own[n - 1 - k]);
}
void run(const float *a, float *c, int n, int memory) {
  sums<<<n / 256, 256, memory>>>(a, c, n);
}
"""


@pytest.mark.parametrize(
    ("loop", "is_kept"),
    [
        ("for (int k = threadIdx.x % 32; k < n; k += 32)", True),
        ("for (int k = threadIdx.x & 31; k < n; k += 32)", True),
        ("for (int k = threadIdx.x; k < n; k += blockDim.x)", True),
        ("for (int k = threadIdx.x; k < 4 * blockDim.x; k += blockDim.x)", False),
        ("for (int k = threadIdx.x / 32; k < threadIdx.x; k += 32)", False),
        ("int k = threadIdx.x; if (value > 0)", False),
    ],
)
def test_memory_of_a_size_is_kept(loop: str, is_kept: bool) -> None:
    (found,) = suggestions(program(SUMS.replace("LOOP", loop)))
    assert (found.pragma is not None and found.pragma.endswith(" shared(keep)")) == is_kept


def test_a_kernel_of_one_block_needs_no_formula_of_its_memory() -> None:
    text = "__global__ void k(float *a) { extern __shared__ float s[]; s[threadIdx.x] = a[0]; }\n"
    (found,) = suggestions(program(text + "void run(float *a) { k<<<1, 64, 4 * 64>>>(a); }\n"))
    assert (
        found.pragma is None
        and found.code == "CT211"
        and "does not read how wide the block is" in found.text
    )


TILED = """TILE_DEFINED
__global__ void turned(const float *a, float *b, int n) {
    __shared__ float tile[TILE][TILE + 1];
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
    tile[threadIdx.y][threadIdx.x] = a[y * n + x];
    __syncthreads();
    b[x * n + y] = tile[threadIdx.y][threadIdx.x];
}
void f(const float *a, float *b, int n) {
    BLOCK
    dim3 blocks(n / TILE, n / TILE);
    turned<<<blocks, block>>>(a, b, n);
}
"""
MACRO, BLOCK = "#define TILE 16", "dim3 block(TILE, TILE);"


@pytest.mark.parametrize(
    ("defined", "block", "values"),
    [
        (MACRO, BLOCK, "8, 16, 32"),
        (MACRO, "dim3 block = dim3(TILE, TILE);", "8, 16, 32"),
        ("constexpr int TILE = 32;", BLOCK, "8, 16, 32"),
        ("static const unsigned int TILE = 8;", BLOCK, "8, 16, 32"),
        (MACRO, "const int width = TILE; dim3 block(width, TILE);", "8, 16, 32"),
        (MACRO, "dim3 block(TILE, 4);", "8, 16, 32, 64"),
        (MACRO, "dim3 block(4, 4, TILE);", "4, 8, 16, 32, 64"),
        ("#define TILE 16u", BLOCK, None),
        ("#define TILE (8 + 8)", BLOCK, None),
        ("#define TILE 16\n#ifdef LARGE\n#undef TILE\n#define TILE 32\n#endif", BLOCK, None),
        ("#define TILE 16\n#define HIGH 16", "dim3 block(TILE, HIGH);", None),
        (MACRO, "dim3 block(16, 16);", None),
        (MACRO, "dim3 block(2 * TILE, 4);", None),
    ],
)
def test_the_constant_that_a_block_is_made_of(defined: str, block: str, values: str) -> None:
    text = TILED.replace("TILE_DEFINED", defined).replace("BLOCK", block)
    (found,) = suggestions(program(text))
    assert found.pragma is None and "does not read how wide the block is" in found.text
    said = f"`#pragma cutune tune(TILE: {values})` before line 1 of a.cu"
    assert (said in found.text) == ("tune(" in found.text) == (values is not None)


def test_a_block_follows_the_proposed_constant() -> None:
    """Inserted, the pragma is one of a parameter that is compiled."""
    text = TILED.replace("TILE_DEFINED", MACRO).replace("BLOCK", BLOCK)
    (one,) = program(f"#pragma cutune tune(TILE: 8, 16, 32)\n{text}").constants
    assert one.name == "TILE" and one.parameter.values == (8, 16, 32)
