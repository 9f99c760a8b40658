"""Kernels whose block follows a constant: values that do the same, and launches with these."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from unittest.mock import patch

import pytest

from cutune.emulator.launch_log import read_launches
from cutune.measure.tile_trials import copies_that_do_the_same
from cutune.proof.analysis import read_source
from cutune.proof.analysis.analyzer import Analyzer
from cutune.proof.variants.tiles import NAME
from cutune.source.kernel_variant import KernelVariant
from cutune.source.program import (
    Kernel,
    Program,
)
from cutune.toolchain.toolchain import Toolchain
from tests.support.cutune_runs import ARCHITECTURE, QUICK_FLAGS, cutune, run
from tests.support.short_headers import STANDARD
from tests.support.told_variants import own_and_told

pytestmark = pytest.mark.nvcc

PROGRAM = Path(__file__).parents[1] / "corpus" / "programs" / "tiles.cu"
RIGHT = {
    "right_product": {"TILE_8", "TILE_24", "TILE_32"},
    "right_transpose": {"SIDE_8", "SIDE_24", "SIDE_32"},
    "right_names": {"BLOCK_32", "BLOCK_64", "BLOCK_256", "BLOCK_512"},
    "right_reverse": {"T_32", "T_128", "T_256"},
    "right_numbers": {"block_of_16_8", "block_of_16_24", "block_of_16_32"},
    "right_memory": {f"block_of_256_{size}" for size in (32, 64, 128, 512, 1024)},
    "even_rows": {"WIDTH_64", "WIDTH_128"},
    "right_unless_reversed": {"SIGNED_32", "SIGNED_128", "SIGNED_256"},
    "right_halo": {"REACH_32", "REACH_128", "REACH_256"},
    "right_stencil": {f"INNER_{inner}" for inner in (6, 7, 21, 22, 28, 30)},
    "right_around": {"MIDDLE_28", "MIDDLE_30", "MIDDLE_56", "MIDDLE_62"},
    "right_late": {"SIDE_8", "SIDE_24", "SIDE_32"},
    "right_beta": {"BLOCK_32", "BLOCK_64", "BLOCK_256", "BLOCK_512"},
    "right_scaled": {"BLOCK_32", "BLOCK_64", "BLOCK_256", "BLOCK_512"},
    "right_threshold": {"BLOCK_32", "BLOCK_64", "BLOCK_256", "BLOCK_512"},
    "right_strides": {"STRIDE_32", "STRIDE_64", "STRIDE_256", "STRIDE_512"},
    "right_planes": {"side_8", "side_24", "side_32"},
    # As many threads do as much, if they are in whole blocks.
    "shorter_strides": {"STRIDE_32", "STRIDE_64"},
    # With fewer threads than the radius some of the halo is not loaded.
    "wrong_halo": {"BLOCK_256", "BLOCK_512"},
}
BEYOND = "it compares something with a number that is larger than any size tried"
HIDDEN = "its results are others where operations on data are"
WRONG = {
    "wrong_scale": HIDDEN,
    "wrong_tiny": HIDDEN,
    "wrong_bytes": HIDDEN,
    "wrong_cut": HIDDEN,
    "wrong_bells": HIDDEN,
    "wrong_fields": HIDDEN,
    "wrong_mirrors": "its results are others at n = ",
    "wrong_around": "its results are others at n = ",
    "wrong_numbers": "its results are others at n = ",
    "wrong_product": "it compares a product of sizes",
    "wrong_mask": "its results are others at n = ",
    "wrong_sums": "its results are others at n = ",
    "wrong_blocks": "its results are others at n = ",
    "wrong_barrier": "its results are others at n = ",
    "wrong_data": "an address depends on loaded data",
    "wrong_ties": "a branch depends on loaded data",
    "wrong_beyond": BEYOND,
    "wrong_late": BEYOND,
    "wrong_height": BEYOND,
    "wrong_shift": BEYOND,
    "wrong_bit": BEYOND,
    "wrong_rounds": BEYOND,
    "wrong_places": BEYOND,
    "wrong_zeros": "nothing is known of 'clz' of a size",
    "wrong_24_bits": "it cuts off bits of a size",
    "wrong_number": "its results are others at n = ",
    "wrong_rounded": "it compares or rounds a number that its launch tells",
    "wrong_magnitude": "it compares or rounds a number that its launch tells",
    "wrong_added": "it compares or rounds a number that its launch tells",
    "wrong_kept": "it compares or rounds a number that its launch tells",
    "wrong_planes": BEYOND,
    "wrong_multiple": "it compares a multiple of a size that is larger than any size tried",
    "wrong_term": BEYOND,
    "wrong_pair": "it asks whether several sizes are certain numbers",
    "wrong_value": "it asks whether data are one number",
    "wrong_rare": HIDDEN,
    "wrong_below": "its results are others at n = ",
    "wrong_pointer": "it uses a pointer as a number",
}

Reasons = dict[str, str]


@pytest.fixture(scope="module")
def analyzed() -> tuple[Program, Reasons]:
    """The program with its tiles, and what kept kernels from having others."""
    reasons: Reasons = {}

    def noted(
        text: str, kernel: Kernel, copies: Sequence[KernelVariant]
    ) -> tuple[list[KernelVariant], dict[str, str]]:
        if any(one.transform != NAME for one in copies):
            return [], {}
        found, said = copies_that_do_the_same(text, kernel, copies)
        reasons[kernel.name] = "; ".join(said.values())
        return found, said

    analyzer = Analyzer(Toolchain(flags=QUICK_FLAGS), try_copies=noted)
    # Copies that read their block take a compilation for each kernel here, and are not asked for.
    with patch.object(read_source, "proven_copies", return_value={}):
        program = analyzer.load(str(PROGRAM), require_nvcc=True)
        return analyzer.with_checked_variants(program), reasons


@pytest.mark.long
def test_only_values_that_do_the_same_are_kept(analyzed: tuple[Program, Reasons]) -> None:
    program, reasons = analyzed
    found = {k.name: {one.name for one in k.tiles} for k in program.kernels if k.tiles}
    assert found == RIGHT
    # Of two of them nothing is tried.
    for kernel in program.kernels:
        said = (diagnostic.message for _, diagnostic in kernel.variant_reasons)
        reasons.setdefault(kernel.name, "; ".join(said))
    assert {name for name in WRONG if WRONG[name] not in reasons[name]} == set()
    assert "at n = 512, radius = " in reasons["wrong_halo"]


@pytest.mark.long
def test_a_kernel_without_a_test_at_its_edge_asks_for_multiples(
    analyzed: tuple[Program, Reasons],
) -> None:
    program, _ = analyzed
    kernel = program.kernel("even_rows")
    assert kernel is not None
    for one in kernel.tiles:
        assert one.tile is not None
        wider = max(one.tile.covered[0], one.tile.own_covered[0])
        assert (one.tile.divided, one.tile.multiple) == (("n",), wider)
    product = program.kernel("right_product")
    assert product is not None
    assert {one.tile.divided for one in product.tiles if one.tile is not None} == {()}


@pytest.fixture(scope="module")
def binaries(
    analyzed: tuple[Program, Reasons], tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, Path]:
    """The program as it is, and one that takes the copy that it is told."""
    program, _ = analyzed
    return own_and_told(program, tmp_path_factory.mktemp("tiles"))


@pytest.mark.long
@pytest.mark.parametrize("size", ["33", "100", "256"])
def test_results_are_those_of_the_kernel_itself(
    size: str, binaries: tuple[Path, Path], tmp_path: Path
) -> None:
    original, tuned = binaries
    expected = run(original, size)
    launched = set()
    for name in sorted({one for names in RIGHT.values() for one in names}):
        log = tmp_path / name
        found = run(tuned, size, VARIANT=name, HALVED="", CUTUNE_LAUNCH_LOG=str(log))
        assert (found.returncode, found.stdout) == (0, expected.stdout)
        launched |= {name for one in read_launches(log) if f"__{name}" in one.kernel}
    # 100 is no multiple of a row: the grid is not what the constant tells. An integer below
    # zero was not tried.
    assert launched == {
        one
        for kernel, names in RIGHT.items()
        for one in names
        if kernel != "right_unless_reversed" and (kernel != "even_rows" or size == "256")
    }


def test_tune_chooses_among_tiles(tmp_path: Path) -> None:
    """Of a product whose tiles are far too small, without a pragma and without a GPU.

    Its constant is defined under a condition, and its lines end as on Windows.
    """
    source = tmp_path / "product.cu"
    text = PROGRAM.read_text("utf-8")
    kernel = text[
        text.index("__global__ void right_product") : text.index("__global__ void right_t")
    ]
    source.write_text(
        "#include <cstdlib>\n#ifdef SIDE\n#define TILE SIDE\n#else\n#define TILE 8\n#endif\n"
        f"{kernel}int main(int argc, char **argv) {{\n"
        "    const int n = atoi(argv[1]);\n    float *a, *b, *c;\n"
        "    for (float **one : {&a, &b, &c}) cudaMalloc(one, 4 * n * n);\n"
        "    const dim3 block(TILE, TILE), grid((n + TILE - 1) / TILE, (n + TILE - 1) / TILE);\n"
        "    right_product<<<grid, block>>>(a, b, c, n);\n}\n",
        "utf-8",
        newline="\r\n",
    )
    runs = ("--run", "./{program} {n}", "--vary", "n=40,64,100", "--device", "H200")
    done = cutune(
        "tune", source, *runs, STANDARD, ARCHITECTURE, "-o", tmp_path / "tuned.cu", cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert "product__TILE_32" in (tmp_path / "tuned.cu").read_text("utf-8")
    asked = ("select", "right_product", "--device", "H200", "--json")
    small, large = (cutune(*asked, f"n={size}", cwd=tmp_path) for size in (64, 4096))
    names = [json.loads(one.stdout)["choice"]["variant"]["name"] for one in (small, large)]
    assert names == ["plain", "TILE_32"]


@pytest.mark.long
def test_a_copy_does_the_same_in_the_code_of_each_architecture(tmp_path: Path) -> None:
    source = tmp_path / "each.cu"
    text = "".join(
        f"__global__ void {name}(const int *a, int *b, int n) {{\n"
        "    __shared__ int part[TILE];\n"
        "    const int i = blockIdx.x * TILE + threadIdx.x;\n"
        "    part[threadIdx.x] = i < n ? a[i] : 0;\n"
        "    __syncthreads();\n"
        f"    if (i < n) b[i] = part[threadIdx.x]{added};\n}}\n"
        for name, added in (("equal", ""), ("other", " + (__CUDA_ARCH__ >= 900 ? TILE : 0)"))
    )
    launches = "".join(
        f"{one}<<<(n + TILE - 1) / TILE, TILE>>>(a, b, n); " for one in ("equal", "other")
    )
    source.write_text(
        f"#define TILE 64\n{text}"
        f"int main() {{ int *a = nullptr, *b = nullptr, n = 100; {launches}}}\n",
        "utf-8",
    )
    versions = (f"-gencode=arch=compute_{one},code=sm_{one}" for one in ("80", "90"))
    done = cutune("inspect", source, STANDARD, *(f"--nvcc-flag={one}" for one in versions))
    assert "equal: variant TILE_32, TILE_128, TILE_256" in done.stdout, done.stderr
    assert "other: variant TILE" not in done.stdout
    assert "other has no variant 'TILE_32, TILE_128, TILE_256': its results are" in done.stdout
    assert "[CT293]" in done.stdout


@pytest.mark.long
def test_a_header_is_rewritten_for_the_copies_of_its_kernels(tmp_path: Path) -> None:
    (tmp_path / "pairs.cuh").write_text(
        "#ifndef TILE\n#define TILE 64\n#endif\ntypedef unsigned int u32;\n"
        "__global__ void pairs(const int *a, int *b, u32 n) {\n"
        "    __shared__ int part[TILE];\n"
        "    const u32 i = blockIdx.x * TILE + threadIdx.x;\n"
        "    part[threadIdx.x] = i < n ? a[i] : 0;\n"
        "    __syncthreads();\n"
        "    if (i < n) b[i] = part[threadIdx.x ^ 1];\n}\n",
        "utf-8",
    )
    source = tmp_path / "pairs.cu"
    source.write_text(
        '#include <cstdint>\ntypedef uint32_t u32;\n#include "pairs.cuh"\n'
        "int main() { int *a = nullptr, *b = nullptr; u32 n = 100;\n"
        "    pairs<<<(n + TILE - 1) / TILE, TILE>>>(a, b, n); }\n",
        "utf-8",
    )
    analyzer = Analyzer(Toolchain(flags=QUICK_FLAGS), try_copies=copies_that_do_the_same)
    program = analyzer.load(str(source), require_nvcc=True)
    assert {one.name for k in program.kernels for one in k.tiles} >= {"TILE_32", "TILE_128"}
    assert [Path(one.path).name for one in program.rewritten_headers] == ["pairs.cuh"]
