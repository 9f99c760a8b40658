"""Every arithmetic operation with values that matter: takes nothing, gives operations and inputs.

The results of an H200 for these are in tests/recorded/operations_h200.npz;
`python -m benchmarks.record_operations` says how they were made.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from tests.support.ptx_statements import Operation

THREADS = 256
_CMP_INT = ("lt", "le", "gt", "ge")
_CMP_FLOAT = (
    *("eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu"),
    *("num", "nan"),
)

_INTEGERS = [0, 1, 2, 3, 5, 7, 8, 15, 16, 31, 32, 33, 63, 64, 65, 100, 127, 128, 255, 256]
_INTEGERS += [0x7FFF, 0x8000, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x7FFFFF, 0x800000]
_INTEGERS += [2**63 - 1, 2**63, 2**64 - 1, 2**64 - 2, 0xFFFFFFFE, 0x12345678, 0x89ABCDEF]
_SINGLES = [0, 0x80000000, 1, 0x80000001, 0x7FFFFF, 0x807FFFFF, 0x800000, 0x80800000]
_SINGLES += [0x3F800000, 0xBF800000, 0x3F000000, 0xBF000000, 0x3FC00000, 0x40200000, 0xC0200000]
_SINGLES += [0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC12345, 0x7FFFFFFF]
_SINGLES += [0x4F000000, 0xCF000000, 0x4F800000, 0x5F000000, 0xDF000000, 0x5F800000, 0x42FE0000]
_SINGLES += [0x3F7FFFFF, 0x3F800001, 0x4B000001, 0x33000000, 0x33800000, 0x477FE000, 0x477FF000]
_SINGLES += [0x38800000, 0x387FC000, 0x33000001, 0x0D800000, 0x8D800000, 0x7E000000, 0x00400000]


def _single_as_double(bits: int) -> int:
    value = np.array([bits], np.uint32).view(np.float32).astype(np.float64)
    return int(value.view(np.uint64)[0])


_DOUBLES = [_single_as_double(bits) for bits in _SINGLES]
_DOUBLES += [1, 2**63 + 1, 0x000FFFFFFFFFFFFF, 0x0010000000000000, 0x7FEFFFFFFFFFFFFF]
_DOUBLES += [0x3FF0000000000001, 0x3FEFFFFFFFFFFFFF, 0x41DFFFFFFFC00000, 0x41E0000000000000]
_DOUBLES += [0x43E0000000000000, 0xC3E0000000000000, 0x43F0000000000000, 0x36A0000000000001]
_HALVES = [0, 0x8000, 1, 0x8001, 0x3FF, 0x400, 0x3C00, 0xBC00, 0x3800, 0x3E00, 0x4100, 0x7BFF]
_HALVES += [0xFBFF, 0x7C00, 0xFC00, 0x7E00, 0xFE01, 0x3C01, 0x3BFF, 0x1400, 0x0200, 0x6400]
_BRAINS = [0, 0x8000, 1, 0x8001, 0x7F, 0x80, 0x3F80, 0xBF80, 0x3F00, 0x3FC0, 0x4020, 0x7F7F]
_BRAINS += [0xFF7F, 0x7F80, 0xFF80, 0x7FC0, 0xFFC1, 0x3F81, 0x3F7F, 0x0040, 0x4B00]


def values(kind: str, random: np.random.Generator) -> NDArray[np.uint64]:
    """Bits for one operand: special values first met by chance, and random ones of all sizes."""
    special = {
        "f32": _SINGLES,
        "f64": _DOUBLES,
        "f16": _HALVES,
        "bf16": _BRAINS,
        "pred": [0, 1],
    }.get(kind, _INTEGERS)
    chosen: NDArray[np.uint64] = random.choice(np.array(special, np.uint64), THREADS)
    if kind in ("f16x2", "bf16x2"):
        halves = np.array(_HALVES if kind == "f16x2" else _BRAINS, np.uint64)
        low: NDArray[np.uint64] = random.choice(halves, THREADS)
        high: NDArray[np.uint64] = random.choice(halves, THREADS)
        return low | high << np.uint64(16)
    if kind == "pred":
        return chosen
    anything = random.integers(0, 2**64, THREADS, np.uint64)
    tame: NDArray[np.uint64]
    if kind == "f32":
        tame = random.normal(0, 1000, THREADS).astype(np.float32).view(np.uint32).astype(np.uint64)
    elif kind == "f64":
        tame = random.normal(0, 1000, THREADS).view(np.uint64)
    else:
        amounts = random.integers(0, 64, THREADS).astype(np.uint64)
        tame = np.right_shift(anything, amounts, dtype=np.uint64)
    which = random.integers(0, 4, THREADS)
    return np.where(which < 2, chosen, np.where(which == 2, tame, anything)).astype(np.uint64)


def _arithmetic(opcode: str, kind: str, count: int) -> Operation:
    operands = ", ".join(("%a", "%b", "%c")[:count])
    return Operation(f"{opcode}.{kind} %d, {operands};", kind, (kind,) * count)


def _integers() -> Iterator[Operation]:
    for bits in (16, 32, 64):
        for sign in "us":
            kind = f"{sign}{bits}"
            for opcode in ("add", "sub", "min", "max", "div", "rem", "mul.lo", "mul.hi"):
                yield _arithmetic(opcode, kind, 2)
            for opcode in ("mad.lo", "mad.hi"):
                yield _arithmetic(opcode, kind, 3)
            yield Operation(f"sad.{kind} %d, %a, %b, %c;", kind, (kind, kind, f"u{bits}"))
            for comparison in ("eq", "ne", *_CMP_INT):
                statement = f"setp.{comparison}.{kind} %d, %a, %b;"
                yield Operation(statement, "pred", (kind, kind))
            if bits < 64:
                wide = f"{sign}{2 * bits}"
                yield Operation(f"mul.wide.{kind} %d, %a, %b;", wide, (kind, kind))
                yield Operation(f"mad.wide.{kind} %d, %a, %b, %c;", wide, (kind, kind, wide))
            yield Operation(f"shr.{kind} %d, %a, %b;", kind, (kind, "u32"))
            yield Operation(f"set.lt.u32.{kind} %d, %a, %b;", "u32", (kind, kind))
            yield Operation(f"set.ge.f32.{kind} %d, %a, %b;", "f32", (kind, kind))
        yield _arithmetic("abs", f"s{bits}", 1)
        yield _arithmetic("neg", f"s{bits}", 1)
        bits_kind = f"b{bits}"
        for opcode in ("and", "or", "xor"):
            yield _arithmetic(opcode, bits_kind, 2)
        for opcode in ("not", "cnot"):
            yield _arithmetic(opcode, bits_kind, 1)
        yield Operation(f"shl.{bits_kind} %d, %a, %b;", bits_kind, (bits_kind, "u32"))
        selected = (bits_kind, bits_kind, "pred")
        yield Operation(f"selp.{bits_kind} %d, %a, %b, %c;", bits_kind, selected)
        for tested in ("s32", "f32"):
            operands = (bits_kind, bits_kind, tested)
            yield Operation(f"slct.{bits_kind}.{tested} %d, %a, %b, %c;", bits_kind, operands)
    for opcode in ("add.sat", "sub.sat", "mul24.lo", "mul24.hi"):
        yield _arithmetic(opcode, "s32", 2)
    for opcode in ("mad.hi.sat", "mad24.lo", "mad24.hi"):
        yield _arithmetic(opcode, "s32", 3)
    yield _arithmetic("mul24.lo", "u32", 2)
    yield _arithmetic("mul24.hi", "u32", 2)


def _bits() -> Iterator[Operation]:
    for bits in (32, 64):
        kind = f"b{bits}"
        yield Operation(f"popc.{kind} %d, %a;", "u32", (kind,))
        yield Operation(f"clz.{kind} %d, %a;", "u32", (kind,))
        yield Operation(f"brev.{kind} %d, %a;", kind, (kind,))
        yield Operation(f"bfi.{kind} %d, %a, %b, %c, 7;", kind, (kind, kind, "u32"))
        yield Operation(f"bfi.{kind} %d, %a, %b, 5, %c;", kind, (kind, kind, "u32"))
        for sign in "us":
            typed = f"{sign}{bits}"
            yield Operation(f"bfind.{typed} %d, %a;", "u32", (typed,))
            yield Operation(f"bfind.shiftamt.{typed} %d, %a;", "u32", (typed,))
            yield Operation(f"bfe.{typed} %d, %a, %b, %c;", typed, (typed, "u32", "u32"))
    for mode in ("", ".f4e", ".b4e", ".rc8", ".ecl", ".ecr", ".rc16"):
        yield Operation(f"prmt.b32{mode} %d, %a, %b, %c;", "b32", ("b32", "b32", "b32"))
    for way in ("l", "r"):
        for wrap in ("wrap", "clamp"):
            statement = f"shf.{way}.{wrap}.b32 %d, %a, %b, %c;"
            yield Operation(statement, "b32", ("b32", "b32", "u32"))
    for truth in (0x80, 0x96, 0xE8, 0xCA, 0x1B):
        yield Operation(f"lop3.b32 %d, %a, %b, %c, {truth};", "b32", ("b32", "b32", "b32"))
    for a in ("u32", "s32"):
        for b in ("u32", "s32"):
            for opcode in ("dp4a", "dp2a.lo", "dp2a.hi"):
                statement = f"{opcode}.{a}.{b} %d, %a, %b, %c;"
                yield Operation(statement, "b32", ("b32", "b32", "b32"))
    yield Operation("fns.b32 %d, %a, 3, 2;", "b32", ("b32",))
    for mode in ("clamp", "wrap"):
        yield Operation(f"bmsk.{mode}.b32 %d, %a, %b;", "b32", ("b32", "b32"))
    chain = "{{ .reg .b32 l; add.cc.u32 l, %a, %b; addc.u32 %d, %c, l; }}".format
    yield Operation(chain(), "u32", ("u32", "u32", "u32"))
    statements = "{ .reg .b32 l; sub.cc.u32 l, %a, %b; subc.u32 %d, %c, l; }"
    yield Operation(statements, "u32", ("u32", "u32", "u32"))
    statements = "{ .reg .b32 l; mad.lo.cc.u32 l, %a, %b, %c; madc.hi.u32 %d, %a, %b, l; }"
    yield Operation(statements, "u32", ("u32", "u32", "u32"))
    statements = "{ .reg .b64 l; add.cc.u64 l, %a, %b; addc.u64 %d, %c, l; }"
    yield Operation(statements, "u64", ("u64", "u64", "u64"))
    statements = "{ .reg .b32 l; sub.cc.u32 l, %a, %b; subc.cc.u32 l, %c, %b; addc.u32 %d, l, 0; }"
    yield Operation(statements, "u32", ("u32", "u32", "u32"))


def _floats() -> Iterator[Operation]:
    for rounding in ("rn", "rz", "rm", "rp"):
        for flags in ("", ".ftz", ".sat", ".ftz.sat"):
            for opcode in ("add", "sub", "mul"):
                yield _arithmetic(f"{opcode}.{rounding}{flags}", "f32", 2)
            yield _arithmetic(f"fma.{rounding}{flags}", "f32", 3)
        for flags in ("", ".ftz"):
            yield _arithmetic(f"div.{rounding}{flags}", "f32", 2)
            yield _arithmetic(f"rcp.{rounding}{flags}", "f32", 1)
            yield _arithmetic(f"sqrt.{rounding}{flags}", "f32", 1)
        for opcode in ("add", "sub", "mul", "div"):
            yield _arithmetic(f"{opcode}.{rounding}", "f64", 2)
        yield _arithmetic(f"fma.{rounding}", "f64", 3)
        yield _arithmetic(f"rcp.{rounding}", "f64", 1)
        yield _arithmetic(f"sqrt.{rounding}", "f64", 1)
    for kind in ("f32", "f64"):
        for comparison in _CMP_FLOAT:
            yield Operation(f"setp.{comparison}.{kind} %d, %a, %b;", "pred", (kind, kind))
        for opcode in ("min", "max", "copysign"):
            yield _arithmetic(opcode, kind, 2)
        for opcode in ("abs", "neg"):
            yield _arithmetic(opcode, kind, 1)
        for test in ("finite", "infinite", "number", "notanumber", "normal", "subnormal"):
            yield Operation(f"testp.{test}.{kind} %d, %a;", "pred", (kind,))
    for opcode in ("min.ftz", "max.ftz", "min.NaN", "max.NaN", "min.ftz.NaN"):
        yield _arithmetic(opcode, "f32", 2)
    for opcode in ("min.xorsign.abs", "max.xorsign.abs"):
        yield _arithmetic(opcode, "f32", 2)
    for opcode in ("abs.ftz", "neg.ftz"):
        yield _arithmetic(opcode, "f32", 1)
    yield Operation("setp.lt.ftz.f32 %d, %a, %b;", "pred", ("f32", "f32"))
    yield Operation("set.gtu.ftz.u32.f32 %d, %a, %b;", "u32", ("f32", "f32"))
    yield Operation("set.eq.f32.f32 %d, %a, %b;", "f32", ("f32", "f32"))
    yield Operation("setp.lt.and.f32 %d, %a, %b, %c;", "pred", ("f32", "f32", "pred"))
    yield Operation("setp.lt.xor.s32 %p|%d, %a, %b, %c;", "pred", ("s32", "s32", "pred"))
    yield Operation("setp.ge.or.u32 %d|%p, %a, %b, !%c;", "pred", ("u32", "u32", "pred"))


def _halves() -> Iterator[Operation]:
    for kind in ("f16", "f16x2"):
        for opcode in ("add", "sub", "mul", "add.ftz", "mul.sat", "min", "max", "min.NaN"):
            yield _arithmetic(opcode, kind, 2)
        for opcode in ("fma.rn", "fma.rn.ftz", "fma.rn.sat", "fma.rn.relu"):
            yield _arithmetic(opcode, kind, 3)
        for opcode in ("neg", "abs"):
            yield _arithmetic(opcode, kind, 1)
    for kind in ("bf16", "bf16x2"):
        for opcode in ("min", "max", "max.NaN"):
            yield _arithmetic(opcode, kind, 2)
        yield _arithmetic("fma.rn", kind, 3)
        yield _arithmetic("fma.rn.relu", kind, 3)
        for opcode in ("neg", "abs"):
            yield _arithmetic(opcode, kind, 1)
    for comparison in ("eq", "ne", "lt", "ge", "gtu", "num"):
        yield Operation(f"setp.{comparison}.f16 %d, %a, %b;", "pred", ("f16", "f16"))
        statement = f"setp.{comparison}.f16x2 %d|%p, %a, %b;"
        yield Operation(statement, "pred", ("f16x2", "f16x2"))
        statement = f"set.{comparison}.f16x2.f16x2 %d, %a, %b;"
        yield Operation(statement, "f16x2", ("f16x2", "f16x2"))


def _holds(target: str, source: str) -> bool:
    """Does the target hold every value of the source? Then `.sat` is not allowed."""
    wider = int(target[1:]) > int(source[1:])
    return target == source or (wider and (source[0] == "u" or target[0] == "s"))


def _conversions() -> Iterator[Operation]:
    integers = tuple(f"{sign}{bits}" for bits in (8, 16, 32, 64) for sign in "us")
    for source in integers:
        for target in integers:
            yield Operation(f"cvt.{target}.{source} %d, %a;", target, (source,))
            if not _holds(target, source):
                yield Operation(f"cvt.sat.{target}.{source} %d, %a;", target, (source,))
        for target in ("f16", "f32", "f64"):
            for rounding in ("rn", "rz", "rm", "rp"):
                yield Operation(f"cvt.{rounding}.{target}.{source} %d, %a;", target, (source,))
    for source in ("f16", "f32", "f64"):
        for target in integers:
            for rounding in ("rni", "rzi", "rmi", "rpi"):
                yield Operation(f"cvt.{rounding}.{target}.{source} %d, %a;", target, (source,))
        for rounding in ("rni", "rzi", "rmi", "rpi"):
            yield Operation(f"cvt.{rounding}.{source}.{source} %d, %a;", source, (source,))
    for source, target in (("f16", "f32"), ("f16", "f64"), ("bf16", "f32"), ("f32", "f64")):
        yield Operation(f"cvt.{target}.{source} %d, %a;", target, (source,))
        if source != "bf16":
            for rounding in ("rn", "rz", "rm", "rp"):
                yield Operation(f"cvt.{rounding}.{source}.{target} %d, %a;", source, (target,))
    for statement in (
        "cvt.rni.ftz.f32.f32",
        "cvt.rzi.sat.f32.f32",
        "cvt.sat.f32.f32",
        "cvt.ftz.f32.f32",
    ):
        yield Operation(f"{statement} %d, %a;", "f32", ("f32",))
    yield Operation("cvt.rn.ftz.f32.f64 %d, %a;", "f32", ("f64",))
    yield Operation("cvt.rn.sat.f32.f64 %d, %a;", "f32", ("f64",))
    yield Operation("cvt.ftz.f64.f32 %d, %a;", "f64", ("f32",))
    yield Operation("cvt.rzi.ftz.s32.f32 %d, %a;", "s32", ("f32",))
    yield Operation("cvt.rn.sat.f16.f32 %d, %a;", "f16", ("f32",))
    yield Operation("cvt.rn.bf16.f32 %d, %a;", "bf16", ("f32",))
    yield Operation("cvt.rz.bf16.f32 %d, %a;", "bf16", ("f32",))
    yield Operation("cvt.rn.relu.bf16.f32 %d, %a;", "bf16", ("f32",))
    for kind in ("f16x2", "bf16x2"):
        yield Operation(f"cvt.rn.{kind}.f32 %d, %a, %b;", kind, ("f32", "f32"))
        yield Operation(f"cvt.rz.{kind}.f32 %d, %a, %b;", kind, ("f32", "f32"))
        yield Operation(f"cvt.rn.relu.{kind}.f32 %d, %a, %b;", kind, ("f32", "f32"))
    yield Operation("cvt.rna.tf32.f32 %d, %a;", "b32", ("f32",))


def _warps() -> Iterator[Operation]:
    for mode in ("up", "down", "bfly", "idx"):
        for clamp in ("0", "31", "0x1c1f", "0x1003", "0x1800", "%c"):
            statement = f"shfl.sync.{mode}.b32 %d, %a, %b, {clamp}, -1;"
            yield Operation(statement, "b32", ("b32", "b32", "b32"))
            statement = f"shfl.sync.{mode}.b32 %i|%d, %a, %b, {clamp}, -1;"
            yield Operation(statement, "pred", ("b32", "b32", "b32"))
    for mode in ("all", "any", "uni"):
        yield Operation(f"vote.sync.{mode}.pred %d, %a, -1;", "pred", ("pred",))
        yield Operation(f"vote.sync.{mode}.pred %d, !%a, -1;", "pred", ("pred",))
    yield Operation("vote.sync.ballot.b32 %d, %a, -1;", "b32", ("pred",))
    yield Operation("vote.sync.ballot.b32 %d, !%a, -1;", "b32", ("pred",))
    yield Operation("and.b32 %x, %a, 3; match.any.sync.b32 %d, %x, -1;", "b32", ("b32",))
    yield Operation("match.any.sync.b64 %d, %a, -1;", "b32", ("b64",))
    yield Operation("match.all.sync.b32 %d|%p, 7, -1;", "b32", ("b32",))
    yield Operation("match.all.sync.b32 %i|%d, %a, -1;", "pred", ("b32",))
    for operation in ("add", "min", "max"):
        for kind in ("u32", "s32"):
            yield Operation(f"redux.sync.{operation}.{kind} %d, %a, -1;", kind, (kind,))
    for operation in ("and", "or", "xor"):
        yield Operation(f"redux.sync.{operation}.b32 %d, %a, -1;", "b32", ("b32",))


def operations() -> list[Operation]:
    """Operations whose results PTX defines to the bit."""
    families = (_integers(), _bits(), _floats(), _halves(), _conversions(), _warps())
    return [operation for family in families for operation in family]


def approximate_operations() -> list[Operation]:
    """Operations for which PTX gives an error bound."""
    found = [
        _arithmetic(f"div.{mode}{ftz}", "f32", 2)
        for mode in ("approx", "full")
        for ftz in ("", ".ftz")
    ]
    for opcode in ("rcp", "sqrt", "rsqrt", "sin", "cos", "lg2", "ex2"):
        for ftz in ("", ".ftz"):
            found.append(_arithmetic(f"{opcode}.approx{ftz}", "f32", 1))
    found.append(_arithmetic("tanh.approx", "f32", 1))
    found.append(_arithmetic("rsqrt.approx", "f64", 1))
    found.append(_arithmetic("rcp.approx.ftz", "f64", 1))
    return found


def inputs(index: int, operation: Operation) -> NDArray[np.uint64]:
    """The inputs of the operation with this index: the same on every machine."""
    random = np.random.default_rng(index)
    rows = np.zeros((THREADS, 3), np.uint64)
    for column, kind in enumerate(operation.operands):
        rows[:, column] = values(kind, random)
    return rows
