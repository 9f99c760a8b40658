"""Copies that have done the same in one compilation, in the code of another one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from cutune.core.source import Source
from cutune.proof.analysis import tried_tiles
from cutune.source.kernel_variant import KernelVariant
from cutune.source.program import Kernel
from tests.support.analyzed import analyzed

SOURCE = (
    "__global__ void k(int n, float *a) { a[threadIdx.x] = n; }\nvoid go() { k<<<1, 32>>>(0, 0); }"
)
OWN = """\t// .globl k
.visible .entry k(
\t.param .u32 k_param_0
)
{
\tbra $L__BB0_1;
$L__BB0_1:
\tret;
}
"""
OTHER = OWN.replace("k(", "other(").replace("L__BB0", "L__BB1")
HEAD = "// Generated\n\n.version 9.0\n.target sm_80\n.address_size 64\n\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (HEAD.replace("80", "90a") + OWN.replace("BB0", "BB7") + "// end\n", False),
        (HEAD + OTHER + OWN, False),
        (HEAD + OWN.replace("\tret;\n", "\tbar.sync 0;\n\tret;\n"), True),
        (HEAD.replace("9.0", "8.9") + OWN, True),
        (HEAD + ".global .align 4 .u32 seen;\n" + OWN, True),
        (HEAD + OTHER, True),
    ],
)
def test_copies_are_tried_again_where_their_code_is_another_one(text: str, expected: bool) -> None:
    tried: list[str] = []

    def noted(
        text: str, kernel: Kernel, copies: Sequence[KernelVariant]
    ) -> tuple[list[KernelVariant], Mapping[str, str]]:
        tried.append(text)
        return [], {}

    (kernel,) = analyzed(Source("app.cu", SOURCE)).kernels
    tried_tiles._unless_known(HEAD + OWN + OTHER, noted, text, kernel, [])
    assert tried == [text] * expected
