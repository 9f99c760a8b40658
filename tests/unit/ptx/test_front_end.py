"""The PTX front end: parser, control flow, taint, metadata, and what it refuses."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from cutune.emulator.assemble import UNSUPPORTED, assemble, main
from cutune.emulator.lower.opcodes import handler_name, handlers
from cutune.ptx.chains import waiting_of
from cutune.ptx.control_flow import ControlFlow, control_flow
from cutune.ptx.parse import parse
from cutune.ptx.types import Instruction, Label, PtxError, integer, split_operands
from tests.support.ptx_statements import HEADER


def kernel(body: str, parameters: str = ".param .u64 p") -> str:
    return (
        f"{HEADER}.visible .entry k({parameters}) {{\n"
        ".reg .b64 %rd<9>; .reg .b32 %r<9>; .reg .pred %p<9>; .reg .f32 %f<9>;\n"
        f"ld.param.u64 %rd1, [p];\n{body}\nret;\n}}\n"
    )


def instructions(text: str) -> list[Instruction]:
    body = parse(text).functions["k"].body
    assert body is not None
    return [item for item in body if isinstance(item, Instruction)]


def test_instruction_with_guard_and_modifiers() -> None:
    _, found, _ = instructions(kernel("@!%p1 ld.global.nc.v2.f32 {%f1, %f2}, [%rd1+8];"))
    assert (found.opcode, found.modifiers) == ("ld", ("global", "nc", "v2", "f32"))
    assert found.operands == ("{%f1, %f2}", "[%rd1+8]")
    assert (found.guard, found.negated) == ("%p1", True)


def test_lines_survive_comments_and_loc() -> None:
    text = kernel("/* two\nlines */ // and more\n.loc 1 77 3\nadd.s32 %r1, %r2, 1; // end")
    _, found, _ = instructions(text)
    assert found.source_line == 77
    assert text.splitlines()[found.line - 1].startswith("add.s32")


def test_inline_assembly_has_its_own_names() -> None:
    body = """
    { .reg .b32 t; mov.b32 t, 1; again: add.u32 t, t, 1; bra again; }
    { .reg .b32 t; mov.b32 t, 2; again: bra again; }
    """
    found = [x for x in instructions(kernel(body)) if x.opcode == "mov"]
    assert found[0].operands[0] != found[1].operands[0]
    items = parse(kernel(body)).functions["k"].body
    assert items is not None
    labels = [item.name for item in items if isinstance(item, Label)]
    assert len(set(labels)) == 2


def test_declarations() -> None:
    module = parse(
        HEADER + ".visible .global .align 8 .v2 .f32 pair[3];\n.const .b8 text[] = {1, 2};\n"
        ".extern .shared .align 16 .b8 tail[];\n.extern .func (.param .b32 r) f(.param .b64 a);\n"
        + kernel("", ".param .u64 .ptr .global .align 4 p, .param .align 8 .b8 s[24]")
    )
    pair, _, tail = module.variables
    assert (pair.size, pair.alignment, pair.count) == (24, 8, 6)
    assert tail.external and tail.count == 0
    assert module.functions["f"].body is None
    assert [p.size for p in module.functions["k"].parameters] == [8, 24]


@pytest.mark.parametrize(
    ("text", "value"), [("12", 12), ("-3", -3), ("0x1F", 31), ("017", 15), ("0b101", 5), ("7U", 7)]
)
def test_integer_literals(text: str, value: int) -> None:
    assert integer(text) == value


def test_operands_are_split_outside_brackets() -> None:
    assert split_operands("a, {b, c}, [d+4]") == ("a", "{b, c}", "[d+4]")
    assert split_operands("(r), f, (a, b)") == ("(r)", "f", "(a, b)")
    assert split_operands("") == ()


def flow_of(body: str) -> ControlFlow:
    return control_flow(parse(kernel(body)).functions["k"], lambda name: False)


NESTED = """
mov.u32 %r1, 0;
outer:
  mov.u32 %r2, 0;
inner:
  add.u32 %r2, %r2, 1;
  setp.lt.u32 %p1, %r2, 4;
  @%p1 bra inner;
  add.u32 %r1, %r1, 1;
  setp.lt.u32 %p2, %r1, 4;
  @%p2 bra outer;
"""


def test_nested_loops() -> None:
    flow = flow_of(NESTED)
    assert [block.loop for block in flow.blocks] == [-1, 0, 1, 0, -1]
    assert [loop.parent for loop in flow.loops] == [-1, 0]


def test_blocks_of_a_loop_are_contiguous() -> None:
    # The text puts the loop's exit between its blocks.
    flow = flow_of("""
      head: setp.eq.u32 %p1, %r1, 3; @!%p1 bra body;
      out: add.u32 %r3, %r3, 1; ret;
      body: add.u32 %r1, %r1, 1; setp.eq.u32 %p2, %r1, 9; @%p2 bra out; bra head;
    """)
    (loop,) = flow.loops
    assert sorted(loop.blocks) == list(range(min(loop.blocks), max(loop.blocks) + 1))
    assert all(
        target > max(loop.blocks) or target in loop.blocks
        for b in loop.blocks
        for target in flow.blocks[b].terminator.targets
    )


def test_a_loop_has_one_latch() -> None:
    flow = flow_of("""
      head: add.u32 %r1, %r1, 1; setp.gt.u32 %p1, %r1, 9; @%p1 bra done;
      setp.eq.u32 %p2, %r2, 0; @%p2 bra head;
      add.u32 %r2, %r2, 1; bra head;
      done:
    """)
    (loop,) = flow.loops
    latches = [b for b in loop.blocks if loop.header in flow.blocks[b].terminator.targets]
    assert latches == [max(loop.blocks)]


def test_unreachable_blocks_are_dropped() -> None:
    assert len(flow_of("bra end; add.u32 %r1, %r1, 1; end:").blocks) == 2


def test_unknown_label() -> None:
    with pytest.raises(PtxError, match="unknown label 'nowhere'"):
        flow_of("bra nowhere;")


LOAD = "ld.global.u32 %r1, [%rd1];"


TEST = LOAD + "setp.eq.u32 %p1, %r1, 0;"


@pytest.mark.parametrize(
    ("body", "uncertain"),
    [
        (TEST + "@%p1 bra x; add.u32 %r2, %r2, 1; x:", 0),
        (TEST + "@%p1 bra x; st.global.u32 [%rd1], 0; x:", 1),
        (TEST + "@%p1 st.global.u32 [%rd1], 0;", 1),
        # A loop that touches no memory may run as often as it likes.
        (TEST + "@%p1 bra x; y: add.u32 %r2, %r2, 1; setp.lt.u32 %p2, %r2, 9; @%p2 bra y; x:", 0),
        # What a detour computes depends on data, …
        (TEST + "@%p1 bra x; mov.u64 %rd2, 8; x: ld.global.u32 %r2, [%rd2];", None),
        # … and it may not leave, wait, or access memory again and again.
        (TEST + "@%p1 bra x; ret; x: st.global.u32 [%rd1], 0;", None),
        (TEST + "@%p1 bra x; bar.sync 0; x:", None),
        (
            TEST + "y:" + TEST + "@%p1 bra x; st.global.u32 [%rd1], 0; x:"
            "add.u32 %r2, %r2, 1; setp.lt.u32 %p2, %r2, 9; @%p2 bra y;",
            None,
        ),
    ],
)
def test_detours(body: str, uncertain: int | None) -> None:
    verdict = assemble(kernel(body)).kernels["k"].obliviousness
    assert verdict.holds == (uncertain is not None), verdict
    if uncertain is not None:
        assert verdict.uncertain == uncertain


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (LOAD + "st.global.u32 [%rd1], %r1;", ""),
        (LOAD + "setp.eq.u32 %p1, %r1, 0; selp.u32 %r2, 1, 2, %p1; st.global.u32 [%rd1], %r2;", ""),
        ("x:" + LOAD + "setp.eq.u32 %p1, %r1, 0; @%p1 bra x;", "a branch depends"),
        (
            "x:" + LOAD + "setp.eq.u32 %p1, %r1, 0; @%p1 st.global.u32 [%rd1], 0; bra x;",
            "whether 'st'",
        ),
        (LOAD + "mul.wide.u32 %rd2, %r1, 4; ld.global.u32 %r2, [%rd2];", "an address depends"),
        ("mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; ld.global.u32 %r2, [%rd2];", ""),
        (
            "atom.global.add.u32 %r1, [%rd1], 1; setp.eq.u32 %p1, %r1, 0; @%p1 exit;",
            "a branch|exit",
        ),
        ("x: mov.u64 %rd2, %clock64; setp.eq.u64 %p1, %rd2, 0; @%p1 bra x;", "a branch depends"),
        (
            ".shared .b32 s; st.shared.u32 [s], %r1; ld.shared.u32 %r2, [s]; "
            "x: setp.eq.u32 %p1, %r2, 0; @%p1 bra x;",
            "",
        ),
        (
            LOAD + ".shared .b32 s; st.shared.u32 [s], %r1; ld.shared.u32 %r2, [s]; "
            "x: setp.eq.u32 %p1, %r2, 0; @%p1 bra x;",
            "a branch depends",
        ),
    ],
)
def test_taint(body: str, reason: str) -> None:
    verdict = assemble(kernel(body)).kernels["k"].obliviousness
    assert verdict.holds == (not reason)
    assert re.search(reason, verdict.reason)


@pytest.mark.parametrize(
    ("body", "phases"),
    [
        ("add.u32 %r1, %r1, 1;", 0),
        ("ld.global.u32 %r1, [%rd1]; ld.global.u32 %r2, [%rd1+4];", 1),
        ("ld.global.u64 %rd2, [%rd1]; ld.global.u32 %r2, [%rd2];", 2),
        ("ld.global.u32 %r1, [%rd1]; st.global.u32 [%rd1], 1; ld.global.u32 %r2, [%rd1];", 2),
        ("st.global.u32 [%rd1], 1; ld.global.u32 %r2, [%rd1];", 1),
        (
            "ld.global.u32 %r1, [%rd1]; add.u32 %r2, %r1, 1; cvt.u64.u32 %rd3, %r2; "
            "ld.global.u32 %r4, [%rd3]; ld.global.u32 %r5, [%rd1];",
            2,
        ),
        (
            ".shared .b32 s; ld.global.u32 %r1, [%rd1]; st.shared.u32 [s], 1; "
            "ld.global.u32 %r2, [%rd1];",
            1,
        ),
        ("ld.global.f32 %f1, [%rd1]; div.rn.f32 %f2, %f1, %f1; ld.global.nc.f32 %f3, [%rd1];", 2),
        ("ld.global.f32 %f1, [%rd1]; sqrt.rn.f32 %f2, %f1; ld.global.f32 %f3, [%rd1+4];", 2),
        ("ld.global.f32 %f1, [%rd1]; div.full.f32 %f2, %f1, %f1; ld.global.f32 %f3, [%rd1];", 1),
        ("ld.global.f32 %f1, [%rd1]; div.rn.f32 %f2, %f3, %f3; ld.global.f32 %f4, [%rd1+4];", 1),
        ("ld.global.s32 %r1, [%rd1]; div.s32 %r2, %r1, 3; ld.global.s32 %r3, [%rd1+4];", 1),
    ],
)
def test_load_phases(body: str, phases: int) -> None:
    [waiting] = waiting_of(flow_of(body), {})
    assert (max(waiting.phases), waiting.steps) == (phases, phases)


def test_accesses_know_their_load_phase() -> None:
    body = (
        "ld.global.u32 %r1, [%rd1];\nld.global.u32 %r2, [%rd1+4];\nst.global.u32 [%rd1], %r1;\n"
        "ld.global.u32 %r3, [%rd1+8];"
    )
    code = assemble(kernel(body)).kernels["k"]
    pairs = zip(code.sites, code.waits.phases, strict=True)
    assert [(site.kind, phase) for site, phase in pairs] == [
        ("load", 1),
        ("load", 1),
        ("store", 1),
        ("load", 2),
    ]


@pytest.mark.parametrize(
    ("other", "is_same"), [("add.u32 %r1, %r1, 1;", True), ("add.u32 %r1, %r1, 2;", False)]
)
def test_code_is_the_same_but_for_names(other: str, is_same: bool) -> None:
    def named(name: str, number: int, body: str) -> str:
        return (
            f".visible .entry {name}(.param .u64 {name}_param_0) {{\n.reg .b64 %rd<2>;"
            f".reg .b32 %r<2>; .reg .pred %p<2>;\nld.param.u64 %rd1, [{name}_param_0];\n"
            f"$L__BB{number}_1:\n{body}\nsetp.lt.u32 %p1, %r1, 5;\n@%p1 bra $L__BB{number}_1;\n"
            "ret;\n}\n"
        )

    text = HEADER + named("one", 0, "add.u32 %r1, %r1, 1;") + named("another", 1, other)
    kernels = assemble(text).kernels
    assert (kernels["one"].digest == kernels["another"].digest) == is_same


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("wgmma.fence.sync.aligned;", "'wgmma.fence.sync.aligned' is not supported"),
        ("add.rn.f31 %f1, %f1, %f1;", "'add.rn.f31' is not supported"),
        ("add.s32 %r1, %r2, nothing;", "unknown operand 'nothing'"),
        ("add.s32 %r1, %r2, %envreg3;", "special register %envreg3 is not supported"),
        ("mov.u64 %r1, 5;", "does not have the width"),
        ("call.uni somewhere, ();", "function 'somewhere' is not defined"),
    ],
)
def test_unsupported_is_refused_with_both_lines(statement: str, reason: str) -> None:
    text = kernel(f".loc 1 5 1\n{statement}")
    with pytest.raises(PtxError, match=re.escape(reason)) as caught:
        assemble(text)
    assert caught.value.source_line == 5
    assert statement in text.splitlines()[caught.value.line - 1]


def test_images_are_as_new_as_all_of_the_assembler() -> None:
    """Each folder that it is loaded from is among those of which the library asks for times."""
    show = "import sys, cutune.emulator.assemble; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", show], capture_output=True, text=True, check=True)
    loaded = {name.rpartition(".")[0] for name in done.stdout.split() if name.startswith("cutune.")}
    native = Path(__file__).parents[3] / "cutune" / "emulator" / "native"
    text = (native / "runtime_assemble.cpp").read_text(encoding="utf-8")
    (named,) = re.findall(r"ASSEMBLER\[\] = \{(.*?)\};", text)
    asked = {f"cutune.{folder.replace('/', '.')}" for folder in re.findall(r'"(.*?)"', named)}
    assert loaded - {"cutune"} == asked


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, image = tmp_path / "in.ptx", tmp_path / "out.image"
    source.write_text(kernel("add.u32 %r1, %r1, 1;"), encoding="utf-8")
    assert main([str(source), str(image)]) == 0
    assert image.read_bytes().startswith(b"CUTUNE-3")
    source.write_text(kernel(".loc 1 9 1\nfrobnicate.u32 %r1;"), encoding="utf-8")
    assert main([str(source), str(image)]) == UNSUPPORTED
    assert re.fullmatch(
        r"PTX line \d+, source line 9: 'frobnicate.u32' is not supported\n", capsys.readouterr().err
    )
    assert main([]) == 2


def test_front_end_needs_the_standard_library_only() -> None:
    heavy = "{'numpy', 'lark', 'scipy'}"
    check = f"import sys, cutune.emulator.assemble; print({heavy} & {{*sys.modules}})"
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_handlers_are_read_from_the_sources() -> None:
    assert handlers()["add_b32"] == ("u32", "u32", "u32")
    assert handlers()["mad_wide_s32"] == ("s64", "s32", "s32", "s64")
    assert handlers()["branch"] == ()
    assert handler_name("add", ("s32",)) == "add_b32"
    assert handler_name("mul", ("hi", "s32")) == "mul_hi_s32"
    assert handler_name("fma", ("rn", "ftz", "f32")) == "fma_ftz_f32"


def test_texts_of_several_units_are_linked_by_name() -> None:
    one = (
        f"{HEADER}.extern .func (.param .b32 r) f();\n.extern .global .b32 shared_by_all;\n"
        ".global .b32 own = 1;\n.visible .entry k() {\n.reg .b64 %rd<3>; mov.u64 %rd1, own;\n"
        "mov.u64 %rd2, shared_by_all; ret;\n}\n"
    )
    two = (
        f"{HEADER}.visible .global .b32 shared_by_all = 7;\n.global .b32 own = 2;\n"
        ".visible .func (.param .b32 r) f() {\n.reg .b64 %rd<3>; mov.u64 %rd1, own; ret;\n}\n"
    )
    module = parse(one + two)
    values = {variable.name: variable.initial for variable in module.variables}
    assert values == {"shared_by_all": "7", "own": "1", "own$unit1": "2"}
    body = module.functions["f"].body
    assert body is not None
    moved = body[0]
    assert isinstance(moved, Instruction) and moved.operands[1] == "own$unit1"
    assert (one + two).splitlines()[moved.line - 1].count("mov.u64 %rd1, own")
    with pytest.raises(PtxError, match="'shared_by_all' is not defined in any module"):
        assemble(one)


REACHING = """
.global .align 8 .u64 table[1] = {held};
.func held() { { .reg .b32 t; mov.b32 t, 1; } ret; }
.func called() { ret; }
.func calls() { call called, (); ret; }
.alias other, calls;
.visible .entry k() { .pragma "a } that is none"; call other, (); ret; }
.visible .entry left_out() { .pragma "a { that is none"; NO PTX; }
.visible .entry last() { ret; }
"""


def test_of_some_functions_those_are_read_that_they_reach() -> None:
    with pytest.raises(PtxError):
        parse(HEADER + REACHING)
    some = parse(HEADER + REACHING, ["k"])
    every = parse(HEADER + REACHING.replace("NO PTX", "ret"))
    assert [*some.functions] == ["held", "called", "calls", "k"]
    assert some.functions == {name: every.functions[name] for name in some.functions}
    assert (some.variables, some.aliases, some.local) == (
        every.variables,
        every.aliases,
        every.local,
    )
    with pytest.raises(PtxError, match="missing '}'"):
        parse(f"{HEADER}.entry k() {{ {{ ret; }}", ["k"])


def test_functions_that_no_kernel_reaches_need_not_be_supported() -> None:
    library = ".func library() { wgmma.fence.sync.aligned; ret; }\n"
    assert assemble(HEADER + library + kernel("").removeprefix(HEADER)).kernels.keys() == {"k"}


@pytest.mark.parametrize(
    "line",
    [
        "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 {%f1,%f2}, {%r1}, {%r2}, {%f1,%f2};",
        "wmma.mma.xor.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32 {%r1}, {%r2}, {%r3}, {%r4};",
        "tex.cube.v4.f32.f32 {%f1,%f2,%f3,%f4}, [%rd1, {%f1,%f2,%f3,%f3}];",
        "sust.p.2d.b32.trap [%rd1, {%r1,%r2}], {%r3};",
    ],
)
def test_forms_of_matrices_and_textures_that_are_refused(line: str) -> None:
    with pytest.raises(PtxError, match="is not supported"):
        assemble(kernel(line))


def test_a_kernel_with_textures_is_not_modelled() -> None:
    line = "tex.2d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [%rd1, {%f1,%f2}];"
    found = assemble(kernel(line)).kernels["k"].obliviousness
    assert not found.holds and "no model has the cost of its 'tex' instructions" in found.reason


@pytest.mark.parametrize(
    "line",
    [
        "cp.async.bulk.shared::cluster.global [%r1], [%rd1], 4, [%r2];",
        "mbarrier.arrive.expect_tx.shared.b64 %rd2, [%r1], %r2;",
        "cp.async.ca.shared.global [%r1], [%rd1], 4, %p1;",
    ],
)
def test_forms_of_asynchronous_copies_that_are_refused(line: str) -> None:
    with pytest.raises(PtxError, match="is not supported"):
        assemble(kernel(line))
