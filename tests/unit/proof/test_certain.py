"""Which names of kernels stand for themselves, so that the compiler need not be asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutune.proof.analysis.analyzer import Analyzer
from cutune.source.program import Verdict
from cutune.toolchain.toolchain import Toolchain
from tests.support.cutune_runs import QUICK_FLAGS

pytestmark = [pytest.mark.nvcc, pytest.mark.usefixtures("short_headers")]

KERNELS = """\
#define ID (blockIdx.x * blockDim.x + threadIdx.x)
__global__ void step(int *a, int n) { int i = ID; if (i < n) a[i] = i; }
__global__ void other(int *a, int n) { int i = ID; if (i < n) a[i] = threadIdx.x; }
"""
PLAIN = "void run(int *a, int n) { step<<<n / 64, 64>>>(a, n); }\n"


def verdict_of(folder: Path, text: str) -> tuple[Verdict, str | None]:
    """What becomes of the last launch."""
    source = folder / "app.cu"
    source.write_text(KERNELS + text)
    site = Analyzer(Toolchain(flags=QUICK_FLAGS)).load(str(source), require_nvcc=True).launches[-1]
    return site.verdict, site.code.number if site.code is not None else None


def test_a_plain_name(tmp_path: Path) -> None:
    assert verdict_of(tmp_path, PLAIN) == (Verdict.TUNABLE, None)


@pytest.mark.parametrize(
    "macro",
    [
        "#define step other\n",
        "#  define /* of old */ step other\n",
        "#/**/define step other\n",
        "%:define step other\n",
        "#define \\\nstep other\n",
        # As many launches of the name as before.
        "#define RUN step<<<1, 1>>>\nvoid one(int *a) { RUN(a, 1); }\n#define step other\n",
        "#define other(x) 0\n#define step step_of(2)\n#define step_of(k) other\n#undef other\n",
    ],
)
def test_a_macro_may_name_another_kernel(tmp_path: Path, macro: str) -> None:
    verdict, _ = verdict_of(tmp_path, macro + PLAIN)
    assert verdict is Verdict.REFUSED


def test_a_macro_of_a_header(tmp_path: Path) -> None:
    (tmp_path / "names.h").write_text("#define step other\n")
    verdict, _ = verdict_of(tmp_path, '#include "names.h"\n' + PLAIN)
    assert verdict is Verdict.REFUSED
