"""What is read of compiled code besides proofs: whose text it is, its registers, and its ends."""

from __future__ import annotations

import re
from collections.abc import Mapping

import pytest

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, Diagnostic
from cutune.core.source import Edit, Source
from cutune.proof.compiled import ProvenCode, compiled_changes, prove_entries
from cutune.proof.flow.graph import is_straight, register_pressure
from cutune.proof.memory.pointers import assembly_lines
from cutune.proof.same_code import code_of
from cutune.ptx.parse import parse
from cutune.ptx.types import Function, Instruction, Module
from cutune.source.kernel_variant import KernelVariant
from cutune.source.program import Program
from cutune.source.rewrite.pipeline import TranslationUnit

HEAD = """\
.version 8.0
.target sm_{architecture}
.address_size 64
.global .align 1 .b8 $str[3] = {{97, 98, 0}};
.global .align 1 .b8 $str$1[3] = {{97, 98, 0}};
.global .align 1 .b8 $str$2[3] = {{99, 98, 0}};
"""
REGISTERS = ".reg .pred %p<9>; .reg .f32 %f<9>; .reg .b32 %r<9>; .reg .b64 %rd<9>;"
STORE = "ld.param.u64 %rd1, [{name}_param_0]; st.global.u32 [%rd1], %r1;"
LOOP = "$L__BB0_1: add.s32 %r1, %r1, 1; setp.lt.s32 %p1, %r1, 9; @%p1 bra $L__BB0_1;"


def entry(name: str, body: str, limits: str = "", registers: str = REGISTERS) -> str:
    body = body.replace("{name}", name)
    head = f".visible .entry {name}(.param .u64 {name}_param_0) {limits}"
    return f"{head}\n{{\n{registers}\n{body}\nret;\n}}\n"


def module(*entries: str, architecture: int = 80) -> str:
    return HEAD.format(architecture=architecture) + "".join(entries)


def function(body: str) -> Function:
    return parse(module(entry("kernel_one", body))).functions["kernel_one"]


def same(first: str, second: str, with_limits: bool = True) -> bool:
    both: Module = parse(module(first, second))
    return code_of(both, "kernel_one", with_limits) == code_of(both, "kernel_two", with_limits)


# Entries with the same code.


def test_names_and_numbers_of_labels_do_not_matter() -> None:
    assert same(
        entry("kernel_one", STORE + LOOP), entry("kernel_two", STORE + LOOP.replace("BB0", "BB7"))
    )


@pytest.mark.parametrize(
    "other",
    [
        STORE.replace("u32", "b32"),
        STORE.replace("%r1", "%r2"),
        STORE.replace("st", "@%p1 st"),
        STORE + LOOP,
        "",
    ],
)
def test_instructions_matter(other: str) -> None:
    assert not same(entry("kernel_one", STORE), entry("kernel_two", other))


def test_conditions_are_told_from_their_opposites() -> None:
    assert not same(entry("kernel_one", "@%p1 exit;"), entry("kernel_two", "@!%p1 exit;"))


def test_registers_matter() -> None:
    fewer = REGISTERS.replace("%f<9>", "%f<8>")
    assert not same(entry("kernel_one", STORE), entry("kernel_two", STORE, registers=fewer))


def test_texts_are_compared_by_what_they_say() -> None:
    texts = [f"mov.u64 %rd1, $str{number};" for number in ("", "$1", "$2")]
    assert same(entry("kernel_one", texts[0]), entry("kernel_two", texts[1]))
    assert not same(entry("kernel_one", texts[0]), entry("kernel_two", texts[2]))


def test_launch_bounds_matter_where_they_are_asked_for() -> None:
    both = (
        entry("kernel_one", STORE, ".maxntid 64, 1, 1"),
        entry("kernel_two", STORE, ".maxntid 32, 1, 1"),
    )
    assert not same(*both)
    assert same(*both, with_limits=False)


def test_local_memory_matters() -> None:
    deep = [
        f".local .align 4 .b8 __local_depot{i}[{size}];" for i, size in ((0, 16), (1, 16), (1, 8))
    ]
    assert same(entry("kernel_one", deep[0]), entry("kernel_two", deep[1]))
    assert not same(entry("kernel_one", deep[0]), entry("kernel_two", deep[2]))


# What the program has written itself.


def test_lines_of_assembly() -> None:
    begin, end = "// begin inline asm", "// end inline asm"
    lines = ["a", begin, "b", "c", end, "d", f"\t{begin}", "e", end.replace(" ", "", 1), "f"]
    assert assembly_lines("\n".join(lines)) == {2, 3, 4, 5, 7, 8, 9}
    assert assembly_lines("// nothing of it\nmov;\n") == frozenset()
    # A byte of a letter ends no line.
    assert assembly_lines("\n".join(["// \xe5\x85\xa5", *lines])) == {3, 4, 5, 6, 8, 9, 10}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (STORE, True),
        ("@%p1 bra $end; add.s32 %r1, %r1, 1; $end: ", True),
        (LOOP, False),
        ("@%p1 exit; ", False),
    ],
)
def test_threads_run_straight_to_the_end(body: str, expected: bool) -> None:
    assert is_straight(function(body), frozenset()) is expected


def test_a_program_may_return_by_assembly() -> None:
    returning = function("@%p1 ret;")
    body = [item for item in returning.body or () if isinstance(item, Instruction)]
    line = next(item.line for item in body if item.opcode == "ret")
    assert is_straight(returning, frozenset())
    assert not is_straight(returning, {line})


# Registers.


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("", 0),
        ("mov.u32 %r1, 5; st.global.u32 [0], %r1;", 1),
        ("mov.u64 %rd1, 5; st.global.u64 [0], %rd1;", 2),
        ("mov.f32 %f1, 0f00000000; mov.u64 %rd1, 5; st.global.f32 [%rd1], %f1;", 3),
        # Predicates have registers of their own.
        ("setp.lt.s32 %p1, 5, 6; @%p1 st.global.u32 [0], 1;", 0),
        # A register is free behind its last reading.
        ("mov.u32 %r1, 5; add.s32 %r2, %r1, 1; add.s32 %r3, %r2, 1; st.global.u32 [0], %r3;", 1),
        ("mov.u32 %r1, 5; mov.u32 %r2, 6; add.s32 %r3, %r2, %r1; st.global.u32 [%r1], %r3;", 2),
        # Over a branch, and around a loop.
        (
            "mov.u32 %r1, 5; mov.u32 %r2, 6; @%p1 bra $end; st.global.u32 [0], %r2;"
            " $end: st.global.u32 [0], %r1;",
            2,
        ),
        (
            "mov.u32 %r1, 0; mov.u64 %rd1, 0; $again: add.s32 %r1, %r1, 1; @%p1 bra $again;"
            " st.global.u32 [%rd1], %r1;",
            3,
        ),
    ],
)
def test_registers_that_are_live_at_once(body: str, words: int) -> None:
    assert register_pressure(function(body)) == words


# Proofs of several architectures.


def test_entries_are_proven_for_each_architecture() -> None:
    texts = [
        module(entry("_Z1kv", STORE), entry("_Z1kf", STORE), entry("_Z5otherv", ""), architecture=a)
        for a in (90, 80)
    ]
    found = prove_entries(texts, lambda name: name != "_Z5otherv")
    assert {kernel: len(proofs) for kernel, proofs in found.proofs.items()} == {"k": 4}
    assert found.entries("k") == ("_Z1kv", "_Z1kf")
    assert found.entries("other") == ()
    assert found.versions == (80, 90)
    assert found.content == prove_entries(texts, lambda name: False).content
    assert found.content != prove_entries(texts[::-1], lambda name: True).content


def test_of_code_that_is_not_read_nothing_is_proven() -> None:
    texts = [module(entry("_Z1kv", STORE)), module(".visible .entry k(")]
    assert prove_entries(texts, lambda name: True) == ProvenCode({}, ())


@pytest.mark.parametrize("body", ["mov;", "mov.u32 %ctaid.x;", "mov.u32 %r1, %ctaid.x; and.b32;"])
def test_instructions_without_their_operands_are_read(body: str) -> None:
    (proofs,) = prove_entries([module(entry("_Z1kv", body))], lambda name: True).proofs.values()
    assert not any(one.narrow_blocks for one in proofs)


@pytest.mark.parametrize(
    "body",
    [
        "atom.global.cas.b32;",
        "setp.ne.s32 %p1; @%p1 bra $L1; red.global.add.u32 [%rd1], %r1; $L1: ret;",
    ],
)
def test_of_instructions_without_their_operands_nothing_is_proven(body: str) -> None:
    (proofs,) = prove_entries([module(entry("_Z1kv", body))], lambda name: True).proofs.values()
    assert all(one.refused is not None and one.warp_level for one in proofs)


# Changes of which some do not compile.


@pytest.mark.parametrize(("wrong", "runs"), [("-", 1), ("c", 5), ("ad", 7), ("abcd", 7)])
def test_a_change_that_does_not_compile_stops_no_other(wrong: str, runs: int) -> None:
    tried: list[str] = []

    def changed(changes: Mapping[str, int]) -> TranslationUnit:
        tried.append("".join(changes))
        source = Source(tried[-1], "")
        return TranslationUnit(Program(source, (), ()))

    def compiled(unit: TranslationUnit) -> list[str]:
        if set(unit.program.source.path) & set(wrong):
            raise CutuneError(Diagnostic.at(Code.NVCC_FAILED, None, status=1, command=""))
        return [unit.program.source.path]

    found = compiled_changes(dict.fromkeys("abcd", 1), changed, compiled)
    assert set(found) == set("abcd") - set(wrong)
    assert all(name in texts[0] for name, texts in found.items())
    assert len(tried) == runs
    assert compiled_changes({}, changed, compiled) == {}


SAID = """app.cu({own}): error: static assertion failed with "whole tiles"
          detected during instantiation of "void k__b<N>(int) [with N=3]" at line 12

app.cu({warned}): warning #177-D: variable "t" was declared but never referenced

deep.h(7): error: incomplete type is not allowed
          detected during:
            instantiation of "void f<N>() [with N=2]" at line 90 of deep.h
            instantiation of "void k__d<N>(int) [with N=2]" at line {deep}

2 errors detected in the compilation of "app.cu".
"""


def test_a_copy_that_errors_name_is_left_out_at_once() -> None:
    source = Source("app.cu", "void k() {}")
    edit = Edit.insert(11, "\n#line 1\nvoid k__x() {\n}\n#line 1\n")
    copies = {name: KernelVariant(name, f"k__{name}", source, edit, "tile") for name in "abcde"}
    tried: list[str] = []

    def changed(changes: Mapping[str, KernelVariant]) -> TranslationUnit:
        tried.append("".join(changes))
        unit = TranslationUnit(Program(source, (), ()))
        return unit.with_edits(one.edit for one in changes.values())

    def compiled(unit: TranslationUnit) -> list[str]:
        if {*tried[-1]}.isdisjoint("bd"):
            return [tried[-1]]
        texts = [owned.edit.text for owned in unit.edits]
        assert all(text.endswith("\n}\n#line 1\n") for text in texts)
        own, warned, deep = (int(re.findall(r"#line (\d+)", texts[n])[0]) for n in (1, 2, 3))
        raise CutuneError(
            Diagnostic(Code.NVCC_FAILED, SAID.format(own=own + 1, warned=warned, deep=deep))
        )

    found = compiled_changes(copies, changed, compiled)
    assert found == {name: ["ace"] for name in "ace"}
    assert tried == ["abcde", "abcde", "ace"]
