"""Variants whose threads do neighbouring ids, by accesses of vectors.

Results are those of the kernel itself, which runs where pointers or rows are not aligned.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from cutune.core.codes import Code
from cutune.emulator.launch_log import read_launches
from cutune.source.program import Program
from tests.support.cutune_runs import run
from tests.support.told_variants import own_and_told, with_proven_variants

pytestmark = pytest.mark.nvcc

PROGRAM = Path(__file__).parents[1] / "corpus" / "programs" / "neighbours.cu"
#: Kernels that have copies, and by how many ids a thread of these does.
VECTORS = {
    "mix": (16, 4),
    "clamp": (4,),
    "add": (4,),
    "scale": (4,),
    "threshold": (16, 4),
    "pitched": (4,),
    "in_bytes": (16, 4),
    "one_of_planes": (4,),
    "begun": (4,),
}


@pytest.fixture(scope="module")
def program() -> Program:
    return with_proven_variants(PROGRAM)


@pytest.fixture(scope="module")
def binaries(program: Program, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The program as it is, and one that takes the variant that it is told."""
    return own_and_told(program, tmp_path_factory.mktemp("neighbours"))


@pytest.mark.long
def test_kernels_have_them_whose_accesses_the_compiler_joins(program: Program) -> None:
    found = {
        kernel.name: tuple(v.coarsen[0] for v in kernel.variants if v.transform == "vectors")
        for kernel in program.kernels
    }
    assert {name: ids for name, ids in found.items() if ids} == VECTORS
    reasons = {
        kernel.name: {r.message for v, r in kernel.variant_reasons if "vec" in v}
        for kernel in program.kernels
    }
    for name in ("apart", "by_function", "swap_planes", "in_a_plane"):
        assert any("joins none of its accesses" in said for said in reasons[name]), name
    assert any("as wide as they may be" in said for said in reasons["wide"])
    copies = {kernel.name: {v.name for v in kernel.variants} for kernel in program.kernels}
    assert copies["thread_in_lambda"] == {"restrict", "restrict_x2", "restrict_x4"}
    assert copies["block_in_lambda"] == {"restrict"}
    told = {k.name for k in program.kernels for _, r in k.variant_reasons if "lambda" in r.message}
    assert told == {"thread_in_lambda", "block_in_lambda"}
    others = (one for one in program.kernels if one.name not in told)
    assert all(r.code is not Code.VARIANT_TEXT for k in others for _, r in k.variant_reasons)


@pytest.mark.long
@pytest.mark.parametrize("offset", [0, 16, 4, 1])
@pytest.mark.parametrize("size", [1000, 1024, 1001, 3])
@pytest.mark.parametrize("name", ["restrict_vec4", "vec4", "restrict_vec16"])
def test_results_are_those_of_the_kernel_itself(
    name: str, size: int, offset: int, binaries: tuple[Path, Path], tmp_path: Path
) -> None:
    original, tuned = binaries
    words = str(size), str(offset)
    expected, log = run(original, *words), str(tmp_path / "log")
    found = run(tuned, *words, VARIANT=name, HALVED="", CUTUNE_LAUNCH_LOG=log)
    assert expected.returncode == 0
    assert (found.returncode, found.stdout) == (expected.returncode, expected.stdout)
    ids = int(name.partition("vec")[2])
    copies = {one.kernel: one for one in read_launches(Path(log)) if f"__{name}" in one.kernel}
    # Bytes begin at multiples of 16, and rows are as long as threads do ids.
    by_bytes, by_words = offset % 16 == 0, offset % 4 == 0
    of_rows, of_planes = size // 2 % ids == 0, size % ids == 0
    of_bytes = {
        "mix": by_bytes,
        "threshold": by_bytes and of_rows,
        "in_bytes": by_bytes,
    }
    expected_of = {
        "restrict_vec4": {
            **of_bytes,
            "clamp": by_words,
            "scale": by_words,
            "pitched": of_rows,
            "one_of_planes": by_words and of_planes,
            "begun": of_rows,
        },
        "restrict_vec16": of_bytes,
        "vec4": {"add": by_words},
    }[name]
    for kernel, is_copied in expected_of.items():
        assert any(f"{kernel}__{name}" in one for one in copies) == is_copied, kernel
    for kernel, one in copies.items():
        is_of_rows = any(name in kernel for name in ("threshold", "pitched", "in_bytes", "begun"))
        along = size // 2 if is_of_rows else 3 * size if "scale" in kernel else size
        assert one.grid[0] == -(-along // (one.block[0] * ids)), kernel
