"""Random PTX programs: the machine agrees with a scalar interpreter that runs thread by thread.

The interpreter below knows nothing of warps, masks, blocks of code or frames: it parses the text
line by line, keeps Python integers, and jumps to labels. Programs are structured (if, else, loops
with bounded trips, early exit), so both must give the same memory, the same number of thread
instructions and the same number of executed accesses.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.ptx_statements import aligned, launch, module

REGISTERS = 6
WORDS = 64
M32 = 0xFFFFFFFF


def signed(x: int) -> int:
    return x - (1 << 32) if x >> 31 else x


# What PTX says of each operation, on 32-bit patterns.
BINARY: dict[str, Callable[[int, int], int]] = {
    "add.u32": lambda a, b: a + b,
    "sub.u32": lambda a, b: a - b,
    "mul.lo.u32": lambda a, b: a * b,
    "mul.hi.u32": lambda a, b: a * b >> 32,
    "mul.hi.s32": lambda a, b: signed(a) * signed(b) >> 32,
    "and.b32": lambda a, b: a & b,
    "or.b32": lambda a, b: a | b,
    "xor.b32": lambda a, b: a ^ b,
    "min.s32": lambda a, b: min(signed(a), signed(b)),
    "max.u32": max,
    "shl.b32": lambda a, b: a << b if b < 32 else 0,
    "shr.u32": lambda a, b: a >> b if b < 32 else 0,
    "shr.s32": lambda a, b: signed(a) >> min(b, 31),
    "div.u32": lambda a, b: a // b if b else M32,
    "rem.u32": lambda a, b: a % b if b else M32,
}
COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "eq.u32": lambda a, b: a == b,
    "ne.u32": lambda a, b: a != b,
    "lt.u32": lambda a, b: a < b,
    "le.s32": lambda a, b: signed(a) <= signed(b),
    "gt.u32": lambda a, b: a > b,
    "gt.s32": lambda a, b: signed(a) > signed(b),
    "ge.u32": lambda a, b: a >= b,
}

registers = st.integers(0, REGISTERS - 1).map(lambda k: f"%r{k}")
operands = st.one_of(
    registers,
    st.sampled_from(["0", "1", "5", "31", "33", "255", "-1", "0x80000000"]),
    st.integers(0, M32).map(str),
)


@dataclass
class Labels:
    """Gives each structured statement its own labels and loop counter."""

    count: int = 0

    def fresh(self) -> int:
        self.count += 1
        return self.count


@st.composite
def statements(draw: st.DrawFn, labels: Labels, depth: int) -> list[str]:
    """A sequence of statements, each a line of PTX."""
    lines: list[str] = []
    for _ in range(draw(st.integers(1, 4))):
        kinds = ["binary", "binary", "guarded", "load", "store"]
        kinds += ["if", "loop", "exit"] if depth else []
        lines += draw(statement(labels, depth, draw(st.sampled_from(kinds))))
    return lines


@st.composite
def statement(draw: st.DrawFn, labels: Labels, depth: int, kind: str) -> list[str]:
    if kind in ("binary", "guarded"):
        opcode = draw(st.sampled_from(sorted(BINARY)))
        line = f"{opcode} {draw(registers)}, {draw(operands)}, {draw(operands)};"
        if kind == "binary":
            return [line]
        negation = draw(st.sampled_from(["", "!"]))
        return [draw(comparison("%p1")), f"@{negation}%p1 {line}"]
    if kind in ("load", "store"):
        index = [
            f"and.b32 %t, {draw(registers)}, {WORDS - 1};",
            "mad.wide.u32 %address, %t, 4, %mine;",
        ]
        if kind == "load":
            return [*index, f"ld.global.u32 {draw(registers)}, [%address];"]
        return [*index, f"st.global.u32 [%address], {draw(registers)};"]
    name = labels.fresh()
    if kind == "exit":
        return [
            draw(comparison("%p1")),
            "and.b32 %t, %r0, 3;",
            "setp.eq.and.u32 %p1, %t, 2, %p1;",
            "@%p1 exit;",
        ]
    if kind == "if":
        then, otherwise = draw(statements(labels, depth - 1)), draw(statements(labels, depth - 1))
        head = [draw(comparison("%p1")), f"@%p1 bra else_{name};"]
        return [*head, *then, f"bra join_{name};", f"else_{name}:", *otherwise, f"join_{name}:"]
    # A loop with a trip count that depends on the thread, and sometimes a second back edge.
    body = draw(statements(labels, depth - 1))
    head = [f"and.b32 %bound{name}, {draw(registers)}, 7;", f"mov.u32 %count{name}, 0;"]
    again = [f"loop_{name}:", f"add.u32 %count{name}, %count{name}, 1;"]
    leave = [f"setp.gt.u32 %p1, %count{name}, %bound{name};", f"@%p1 bra end_{name};"]
    skip = [draw(comparison("%p1")), f"@%p1 bra loop_{name};"] if draw(st.booleans()) else []
    return [*head, *again, *leave, *skip, *body, f"bra loop_{name};", f"end_{name}:"]


@st.composite
def comparison(draw: st.DrawFn, target: str) -> str:
    opcode = draw(st.sampled_from(sorted(COMPARISONS)))
    return f"setp.{opcode} {target}, {draw(operands)}, {draw(operands)};"


@st.composite
def programs(draw: st.DrawFn) -> list[str]:
    labels = Labels()
    body = draw(statements(labels, 3))
    names = ", ".join(f"%bound{k}, %count{k}" for k in range(1, labels.count + 1))
    declarations = [f".reg .b32 {names};"] if names else []
    return [*declarations, *body]


START = [
    "ld.param.u64 %data, [data];",
    "mov.u32 %r0, %tid.x;",
    "mad.lo.u32 %r1, %r0, 2654435761, 17;",
    "xor.b32 %r2, %r1, 0x5bd1e995;",
    "mov.u32 %r3, 3;",
    "mov.u32 %r4, 0;",
    "not.b32 %r5, %r0;",
    f"mad.wide.u32 %mine, %r0, {4 * WORDS}, %data;",
]
FINISH = [*(f"st.global.u32 [%mine+{4 * k}], %r{k};" for k in range(REGISTERS)), "ret;"]


def text_of(program: list[str]) -> str:
    head = (
        ".visible .entry kernel(.param .u64 data) {\n"
        ".reg .b32 %r<6>, %t; .reg .b64 %data, %mine, %address; .reg .pred %p1;\n"
    )
    return head + "\n".join([*START, *program, *FINISH]) + "\n}\n"


class Interpreter:
    """One thread of the program."""

    def __init__(self, program: list[str], thread: int, memory: list[int]) -> None:
        lines = [line for line in [*START, *program, *FINISH] if not line.startswith(".reg")]
        self.labels = {line[:-1]: k for k, line in enumerate(lines) if line.endswith(":")}
        self.lines = lines
        self.memory = memory
        self.values: dict[str, int] = {"%tid.x": thread}
        self.executed = 0
        self.accesses = 0

    def value(self, text: str) -> int:
        if text.startswith("%"):
            return self.values.get(text, 0)
        return int(text, 0) & M32

    def run(self) -> None:
        at = 0
        while at < len(self.lines):
            line = self.lines[at]
            at += 1
            if line.endswith(":"):
                continue
            self.executed += 1
            target = self.step(line)
            if target == "stop":
                return
            if target:
                at = self.labels[target]

    def step(self, line: str) -> str:
        match = re.fullmatch(r"(?:@(!?)(%\w+) )?([\w.]+)(?: (.*))?;", line)
        assert match is not None, line
        negated, guard, opcode, rest = match.groups()
        if guard and bool(self.values.get(guard, 0)) == bool(negated):
            return ""
        texts = [part.strip() for part in (rest or "").split(",")]
        if opcode in ("ret", "exit"):
            return "stop"
        if opcode == "bra":
            return texts[0]
        if opcode.startswith(("ld.global", "st.global")):
            self.access(opcode, texts)
            return ""
        self.values[texts[0]] = self.result(opcode, texts)
        return ""

    def access(self, opcode: str, texts: list[str]) -> None:
        self.accesses += 1
        place = texts[1] if opcode.startswith("ld") else texts[0]
        base, _, offset = place.strip("[]").partition("+")
        index = (self.values[base] + int(offset or 0)) // 4
        if opcode.startswith("ld"):
            self.values[texts[0]] = self.memory[index]
        else:
            self.memory[index] = self.value(texts[1])

    def result(self, opcode: str, texts: list[str]) -> int:
        if opcode == "ld.param.u64":
            return 0
        sources = [self.value(text) for text in texts[1:]]
        if opcode == "mad.wide.u32":
            return sources[0] * sources[1] + sources[2]
        if opcode == "mad.lo.u32":
            return (sources[0] * sources[1] + sources[2]) & M32
        if opcode == "mov.u32":
            return sources[0]
        if opcode == "not.b32":
            return sources[0] ^ M32
        if opcode == "setp.eq.and.u32":
            return int(sources[0] == sources[1] and bool(sources[2]))
        if opcode.startswith("setp."):
            return int(COMPARISONS[opcode.removeprefix("setp.")](sources[0], sources[1]))
        return BINARY[opcode](sources[0], sources[1]) & M32


@pytest.mark.long
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(programs(), st.integers(1, 80))
def test_machine_equals_scalar_interpreter(program: list[str], threads: int) -> None:
    data = aligned(threads * WORDS)
    data[:] = np.arange(len(data), dtype=np.uint32) * np.uint32(2246822519)
    memory = [int(x) for x in data]
    executed = accesses = 0
    for thread in range(threads):
        scalar = Interpreter(program, thread, memory)
        scalar.run()
        executed += scalar.executed
        accesses += scalar.accesses
    counters = launch(module(text_of(program)), threads, data, trace=True)
    assert [int(x) for x in data] == memory
    assert counters.thread_instructions == executed
    assert int(counters.sites["lanes"].sum()) == accesses
    assert (counters.sites["traced"] == counters.sites["executions"]).all()
    assert (counters.sites["sectors"] <= counters.sites["lanes"]).all()
    assert (counters.sites["new_sectors"] <= counters.sites["sectors"]).all()
