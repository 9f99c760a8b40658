"""Dimensions that stay, in which blocks have one thread: may threads then come into any warp?"""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from cutune.proof.entry import prove
from cutune.proof.entry_proof import EntryProof
from cutune.ptx.types import Module
from tests.support.proof_verdicts import compiled

pytestmark = pytest.mark.nvcc

X = "int i = blockIdx.x * blockDim.x + threadIdx.x;"
PLANE = f"{X} int j = blockIdx.y * blockDim.y + threadIdx.y; if (i >= n || j >= m) return;"
LINE = f"{X} if (i >= n) return;"
#: All get (float *a, float *b, int n, int m).
ALONE: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "batch_of_planes": (f"{PLANE} a[(blockIdx.z * m + j) * n + i] = b[j * n + i];", ("z",)),
    "batch_of_lines": (f"{LINE} a[blockIdx.y * n + i] = b[i];", ("y",)),
    "two_batches": (f"{LINE} a[(blockIdx.z * gridDim.y + blockIdx.y) * n + i] = b[i];", ("y", "z")),
    "its_own_sum": (f"{LINE} a[blockIdx.y * n + i] += b[i];", ("y",)),
    "raw_thread": (f"{LINE} a[(blockIdx.y + threadIdx.y) * n + i] = b[i];", ("y",)),
    "raw_size": (f"{LINE} a[blockIdx.y * blockDim.y * n + i] = b[i];", ("y",)),
    "one_batch": (f"{LINE} if (blockIdx.y == 0) a[i] = b[i];", ("y",)),
    "first_threads": (f"{LINE} if (threadIdx.y == 0) a[blockIdx.y * n + i] = b[i];", ("y",)),
}
#: Threads of a warp may exchange values whatever the block.
TOGETHER: Mapping[str, str] = {
    "one_plane_for_all": f"{PLANE} a[j * n + i] = blockIdx.z;",
    "told_by_threads_alone": f"{LINE} a[threadIdx.y * n + i] = b[i];",
    "neighbours": f"{LINE} a[blockIdx.y * n + i] = a[blockIdx.y * n + i + 1];",
    "the_batch_before": f"{LINE} a[(blockIdx.y + 1) * n + i] = a[blockIdx.y * n + i];",
    "told_by_memory": f"{LINE} a[(int)b[blockIdx.y] * n + i] = b[i];",
    "half_of_the_batches": f"{LINE} a[blockIdx.y / 2 * n + i] = b[i];",
    "overlapping_batches": f"{LINE} for (int k = 0; k < 9; ++k) a[blockIdx.y * n + i + k] = b[i];",
    "shuffled": (
        f"{X} float v = __shfl_xor_sync(~0u, b[i], 1); if (i < n) a[blockIdx.y * n + i] = v;"
    ),
}


@pytest.fixture(scope="module")
def module() -> Module:
    bodies = {**{name: body for name, (body, _) in ALONE.items()}, **TOGETHER}
    return compiled(bodies, "", "float *a, float *b, int n, int m")


@pytest.mark.parametrize("name", list(ALONE))
def test_threads_are_free(module: Module, name: str) -> None:
    found = prove(module, name)
    assert (found.needs_warps, found.single_thread) == (False, ALONE[name][1])
    assert _raw(found) == ALONE[name][1]


@pytest.mark.parametrize("name", list(TOGETHER))
def test_threads_stay_together(module: Module, name: str) -> None:
    found = prove(module, name)
    assert (found.needs_warps, found.single_thread) == (True, ())


def test_what_is_asked_at_the_launch(module: Module) -> None:
    """Other memory, and batches whose index fits in 32 bits without a sign."""
    found = prove(module, "batch_of_lines")
    assert found.pointers == (("0:0:b64", "1:0:b64"),)
    (spread,) = found.spreads
    assert (spread.larger.literal, spread.dimension) == (1 << 30, 1)


def _raw(found: EntryProof) -> tuple[str, ...]:
    named = zip("xyz", found.dimensions, strict=True)
    return tuple(d for d, dimension in named if dimension.raw is not None)
