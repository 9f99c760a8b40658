"""Which entries no counter describes: launches of them are tunable, but no model is made."""

from __future__ import annotations

from cutune.proof.compiled import on_data
from tests.support.ptx_statements import HEADER

ENTRY = """
.visible .entry {name}(.param .u64 out) {{
  .reg .b64 %rd<9>; .reg .b32 %r<9>; .reg .pred %p<9>;
  ld.param.u64 %rd1, [out];
  ld.global.u32 %r1, [%rd1];
  mul.wide.u32 %rd2, %r1, 4;
  add.s64 %rd3, %rd1, %rd2;
  {statement}
  st.global.u32 [%rd3], %r1;
  ret;
}}
"""
#: A surface.
WRITTEN = "sust.b.1d.b32.trap [%rd1, {%r1}], %r1;"


def text(**statements: str) -> str:
    entries = (ENTRY.format(name=name, statement=one) for name, one in statements.items())
    return HEADER + "".join(entries)


def test_work_that_depends_on_data_is_counted_with_data() -> None:
    found = on_data(text(plain=""), ["plain"])["plain"]
    assert found.countable and found.reason


def test_what_no_counter_covers_is_named_with_the_reason() -> None:
    module = text(plain="", surface=WRITTEN)
    found = on_data(module, ["plain", "surface"])
    assert not found["surface"].countable and found["surface"].reason
    assert on_data(module, ["plain"]).keys() == {"plain"}, "nobody asked for the other"


def test_what_cannot_be_read_cannot_be_counted() -> None:
    found = on_data(HEADER + ".visible .entry broken(", ["broken", "other"])
    assert found.keys() == {"broken", "other"} and all(found.values())
    assert not any(one.countable for one in found.values())
