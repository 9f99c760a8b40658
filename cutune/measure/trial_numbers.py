"""Code that computes with other numbers. Takes PTX, gives a text that is compared in trials.

Trials see few numbers. `alpha * TILE / TILE` is alpha unless it overflows, `x + 1e-30f * TILE` is x
unless it is tiny, squares of bytes are added without rounding while they are few, and counters of
8 bits in one word go over into each other only where data are alike. In all of these a copy
computes something else than its kernel, and the numbers hide it. So both are run once more as texts
in which numbers are others, in the kernel as in its copy:

- a real literal is another one, and so are two literals of which one is a multiple of the other;
- what is converted to, from or between real numbers gets other bits, as many as there is room for,
  which depend on all bits of what is converted;
- a comparison of a real sum comes out as its bits say;
- what keeps few bits of loaded integers (a byte, `x >> 8`, `x & 15`), or is 1 or 0 as they say, is
  multiplied by an odd number, so that sums of it wrap around.

A copy that makes the same of the same data by the same steps, its integers added in any order,
leaves the same bytes then, too. Zero stays zero, with which tiles are padded; large literals stay
large, from which largest numbers begin.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable, Iterator
from math import isfinite

from cutune.core.diagnostics import CutuneError
from cutune.emulator.assemble import assemble
from cutune.emulator.machine import LoadedModule
from cutune.measure.trial_code import as_written, functions_reached, with_these
from cutune.ptx.named_numbers import REAL_NUMBER, REALS, literal, type_of
from cutune.ptx.taint import loads_data, made_of_themselves, results, spaces
from cutune.ptx.types import LOADS, TYPE_BYTES, Function, Instruction, Module, PtxError

#: An odd number whose multiples have bits all over a word: 2^64 by the golden ratio.
_FACTOR = 0x9E3779B97F4A7C15
#: Each bit of a word changes about half of all.
_MIXING = (
    f"mul.lo.u64 %cutune_e, %cutune_e, {_FACTOR}; shr.u64 %cutune_f, %cutune_e, 32; "
    f"xor.b64 %cutune_e, %cutune_e, %cutune_f; mul.lo.u64 %cutune_e, %cutune_e, {_FACTOR};"
)
#: Bits of mantissas, and those of the exponent.
_MANTISSA = {"f16": 10, "bf16": 7, "f32": 23, "f64": 52}
_EXPONENT = {"f16": 0x7C00, "bf16": 0x7F80, "f32": 0x7F800000, "f64": 0x7FF0000000000000}
#: An integer that a real number becomes gets so many other bits.
_OF_INTEGERS = 8
#: From here on a literal stays as large as it is, unless it is a factor.
_LARGE = 1 << 20
#: Results of these on loaded integers have few bits, or may have.
_NARROWING = frozenset({"shr", "bfe", "div", "rem", "cvt", "popc", "clz", "bfind", "prmt"})
#: Places of factors among the operands.
_FACTORS = {"mul": (1, 2), "div": (1, 2), "fma": (1, 2), "mad": (1, 2)}
_REAL_SUMS = frozenset({"add", "sub", "fma", "mad", "mov", "mul", "neg", "selp"})


def with_other_numbers(
    text: str, module: Module, entries: Iterable[str], are_all: bool
) -> LoadedModule | None:
    """Return a module whose entries compute with other numbers; None where that is no code.

    `are_all`: are all literals others? Else these are factors alone that are huge or tiny, so that
    functions like `expf` give what they usually do.
    """
    try:
        names = {name for entry in entries for name in functions_reached(module, entry)}
        return LoadedModule(assemble(_changed(text, module, names, are_all), names))
    except (PtxError, CutuneError):
        return None


def _changed(text: str, module: Module, names: set[str], are_all: bool) -> str:
    lines = text.splitlines()
    for name in sorted(names):
        function = module.functions.get(name)
        if function is not None and function.body is not None:
            changed = _OtherNumbers(function, are_all)
            for one in function.instructions:
                line = one.line - 1
                lines[line] = _replaced(lines[line], one, changed)
    return "\n".join(with_these(lines, module, names))


def _replaced(line: str, one: Instruction, changed: _OtherNumbers) -> str:
    """The line of an instruction with its literals exchanged, and with what follows it."""
    words = re.escape(".".join((one.opcode, *one.modifiers)))
    found = [*re.finditer(rf"(?<![\w.%$]){words}\s[^;]*;", line)]
    if len(found) != 1:
        return line
    begin, end = found[0].span()
    behind = "" if one.guard else as_written("".join(changed.behind(one)))
    return (
        line[:begin] + _with_literals(line[begin:end], one, changed.are_all) + behind + line[end:]
    )


def _with_literals(said: str, one: Instruction, are_all: bool) -> str:
    if one.opcode in ("setp", "set", "testp"):
        return said
    factors = _FACTORS.get(one.opcode, ())
    operands = said.split(",")
    for place, operand in enumerate(operands):
        for number in REAL_NUMBER.findall(operand):
            operands[place] = operand.replace(number, _other(number, place in factors, are_all))
    return ",".join(operands)


def _other(number: str, is_factor: bool, are_all: bool) -> str:
    """Another number in place of a real literal: its sign, and a magnitude from 0.5 to 2."""
    kind, bits = number[1].lower(), int(number[2:], 16)
    letter, width, mantissa = (">f", 32, 23) if kind == "f" else (">d", 64, 52)
    value: float = struct.unpack(letter, bits.to_bytes(width // 8, "big"))[0]
    is_extreme = is_factor and not 1 / _LARGE < abs(value) < _LARGE
    if not (value and isfinite(value) and (are_all or is_extreme)):
        return number
    mixed = (bits & ~(1 << (width - 1))) * _FACTOR % (1 << 64)
    exponent = (bits >> mantissa) & ((1 << (width - 1 - mantissa)) - 1)
    if is_factor or abs(value) < _LARGE:
        exponent = (1 << (width - 2 - mantissa)) - 2 + (mixed >> 63)
    sign = bits >> (width - 1) << (width - 1)
    other = sign | exponent << mantissa | (mixed >> (63 - mantissa)) & ((1 << mantissa) - 1)
    return f"0{kind}{other:0{width // 4}X}"


class _OtherNumbers:
    def __init__(self, function: Function, are_all: bool) -> None:
        self.are_all = are_all
        self._function = function
        self._data, self._asked = self._of_data()
        self._sums = self._real_sums()

    def behind(self, one: Instruction) -> Iterator[str]:
        """PTX that gives the result of an instruction other bits."""
        to, source = type_of(one, 0), type_of(one, 1)
        result = one.operands[0] if one.operands else ""
        if one.opcode == "setp":
            sums = [name for name in one.operands[1:3] if name in self._sums]
            if sums and to in ("f32", "f64") and "|" not in result:
                yield _by_bits(result, sums[0], to)
        elif one.opcode == "cvt" and {to, source} & REALS:
            if {to, source} & REALS <= _MANTISSA.keys():
                is_wider = source not in REALS or (
                    to in REALS and _MANTISSA[to] >= _MANTISSA[source]
                )
                yield self._mixed(
                    result, to, *((result, to) if is_wider else (one.operands[1], source))
                )
        elif self._keeps_few(one, to):
            for name in results(one):
                bits = _bits_of(self._function.registers.get(name, ""))
                if bits:
                    factor = _FACTOR & ((1 << bits) - 1) | 1
                    yield f" mul.lo.u{bits} {name}, {name}, {factor};"

    # ---- which

    def _of_data(self) -> tuple[frozenset[str], frozenset[str]]:
        """Registers that loaded data decide, and predicates of these."""
        data = {n for one in self._function.instructions if loads_data(one) for n in results(one)}
        asked, size = set[str](), -1
        while size != (size := len(data) + len(asked)):
            for one in self._function.instructions:
                read = {*one.operands[1:]}
                if one.opcode in LOADS or read.isdisjoint(data | asked):
                    continue
                is_asked = one.opcode == "setp" or type_of(one, 0) == "pred"
                (asked if is_asked else data).update(results(one))
        return frozenset(data), frozenset(asked)

    def _keeps_few(self, one: Instruction, kind: str) -> bool:
        """Does it keep few bits of integers that are data?"""
        if kind in REALS or kind == "pred":
            return False
        if one.opcode in LOADS:
            return kind in ("u8", "s8", "b8", "u16", "s16") and "param" not in spaces(one)
        if self._data.isdisjoint(results(one)):
            return False
        numbers = [literal(operand) for operand in one.operands[1:3]]
        if one.opcode == "selp":
            return one.operands[-1] in self._asked and any(numbers)
        if one.opcode == "shl":
            return numbers[0] is not None
        is_masked = one.opcode == "and" and any(number is not None for number in numbers)
        is_wide = one.opcode == "mul" and not {"wide", "hi"}.isdisjoint(one.modifiers)
        return one.opcode in _NARROWING or is_masked or is_wide

    def _real_sums(self) -> frozenset[str]:
        """Real registers that loops add up, and what is made of them."""
        reads: dict[str, set[str]] = {}
        for one in self._function.instructions:
            if one.opcode in _REAL_SUMS and type_of(one, 0) in ("f32", "f64"):
                for name in results(one):
                    reads.setdefault(name, set()).update(n for n in one.operands[1:] if n[0] == "%")
        found, size = made_of_themselves(reads) & self._data, -1
        while size != (size := len(found)):
            found |= {name for name, read in reads.items() if not found.isdisjoint(read)}
        return frozenset(found)

    # ---- how

    def _mixed(self, result: str, to: str, source: str, of: str) -> str:
        """Bits of a result changed by all bits of what it was made of; 0, infinity and NaN stay."""
        width = _bits_of(self._function.registers.get(result, ""))
        wide = 8 * TYPE_BYTES[of]
        if not width or not re.fullmatch(r"%\w+", source):
            return ""
        count = _MANTISSA.get(to, _OF_INTEGERS)
        ends = [f"and.b{width} %cutune_c, %cutune_a, {_EXPONENT[to]}; "] if to in REALS else []
        unlike = [0, _EXPONENT[to]] if to in REALS else [0]
        compared = "%cutune_c" if ends else "%cutune_a"
        said = [
            f".reg .b{width} %cutune_a, %cutune_b, %cutune_c;",
            f".reg .b{wide} %cutune_d; .reg .b64 %cutune_e, %cutune_f;",
            ".reg .pred %cutune_p, %cutune_q;",
            f"mov.b{width} %cutune_a, {result}; mov.b{wide} %cutune_d, {source};",
            f"cvt.u64.u{wide} %cutune_e, %cutune_d;"
            if wide < 64
            else "mov.b64 %cutune_e, %cutune_d;",
            _MIXING,
            f"shr.u64 %cutune_e, %cutune_e, {64 - count};",
            f"cvt.u{width}.u64 %cutune_b, %cutune_e;"
            if width < 64
            else "mov.b64 %cutune_b, %cutune_e;",
            f"xor.b{width} %cutune_b, %cutune_b, %cutune_a;",
            *ends,
            f"setp.ne.u{width} %cutune_p, {compared}, 0;",
            *(
                f"setp.ne.u{width} %cutune_q, {compared}, {end}; "
                "and.pred %cutune_p, %cutune_p, %cutune_q;"
                for end in unlike[1:]
            ),
            f"@%cutune_p mov.b{width} {result}, %cutune_b;",
        ]
        return " { " + " ".join(said) + " }"


def _by_bits(predicate: str, name: str, kind: str) -> str:
    """A predicate turned as the bits of a number say, unless that is 0."""
    width = 8 * TYPE_BYTES[kind]
    widened = "cvt.u64.u32" if width == 32 else "mov.b64"
    return (
        f" {{ .reg .b{width} %cutune_a; .reg .b64 %cutune_e, %cutune_f; "
        ".reg .pred %cutune_p, %cutune_q; "
        f"mov.b{width} %cutune_a, {name}; {widened} %cutune_e, %cutune_a; "
        f"setp.ne.u64 %cutune_q, %cutune_e, 0; {_MIXING} "
        "setp.lt.s64 %cutune_p, %cutune_e, 0; and.pred %cutune_p, %cutune_p, %cutune_q; "
        f"xor.pred {predicate}, {predicate}, %cutune_p; }}"
    )


def _bits_of(kind: str) -> int:
    """How wide a register is; 0: it is a predicate, or wider."""
    digits = kind.lstrip("subf")
    return int(digits) if digits.isdigit() and int(digits) in (16, 32, 64) else 0
