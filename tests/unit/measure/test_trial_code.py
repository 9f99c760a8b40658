"""Texts of trials: without the kernels that nobody asks for, each line at its place."""

from __future__ import annotations

from cutune.emulator.assemble import assemble
from cutune.measure.trial_code import with_these
from cutune.ptx.parse import parse

HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"
KERNEL = """
.visible .entry {name}(
\t.param .u64 {name}_param_0
)
{{
\t.reg .b64 \t%rd<2>;
\tld.param.u64 \t%rd1, [{name}_param_0];
\tst.global.u32 \t[%rd1], {number};
\tret;

}}
"""


def test_other_kernels_are_left_out_of_a_text() -> None:
    text = HEAD + "".join(KERNEL.format(name=f"k{n}", number=n) for n in range(5))
    module = parse(text)
    lines = with_these(text.splitlines(), module, ["k2"])
    assert len(lines) == len(text.splitlines())
    left = parse("\n".join(lines))
    assert [*left.functions] == ["k2"]
    assert left.functions["k2"].instructions == module.functions["k2"].instructions
    assert assemble(left, ["k2"]).image == assemble(module, ["k2"]).image


def test_a_kernel_that_another_mentions_stays() -> None:
    text = HEAD + KERNEL.format(name="other", number=1)
    text += KERNEL.format(name="k", number=2).replace(", 2;", ", 2;\n\tmov.u64 \t%rd1, other;")
    lines = with_these(text.splitlines(), parse(text), ["k"])
    assert lines == text.splitlines()


def test_many_empty_lines_take_no_time() -> None:
    # Each of them was looked at from each other one.
    parse(HEAD + "\n" * 200_000 + KERNEL.format(name="k", number=1))
