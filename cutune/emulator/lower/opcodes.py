"""The table of operations: takes the machine's C++ sources, gives names and types of its handlers.

One line of C++ such as `OP2(add_b32, u32, u32, u32, a + b)` is the only place that declares a
handler. Whatever else is told about an opcode: see `cutune.ptx`. What several types have in common
is a family: `#define …_OPERATIONS(T)` holds the lines, with `##` as the preprocessor reads it, and
is used once for each. Here the lines are read, and `handler_name` maps a PTX opcode to a name.
Whatever has no handler under that name is refused when a module is assembled.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

NATIVE = Path(__file__).parents[1] / "native"

_DECLARATION = re.compile(
    r"^(OP1|OP2|OP3|EACH1|EACH2|EACH3|ROUNDED|ROUNDED_CONVERSION|ATOMIC|SPECIAL|HANDLER|HANDLER_OF)\((\w+)(?:,\s*([^\n]*))?",
    re.MULTILINE,
)
_FAMILY = re.compile(r"^#define (\w+_OPERATIONS)\(([\w, ]+)\) \\\n((?:.*\\\n)*.*)$", re.MULTILINE)
_ARITY = {"OP1": 2, "OP2": 3, "OP3": 4, "EACH1": 2, "EACH2": 3, "EACH3": 4, "SPECIAL": 1}
# Modifiers that do not change what the machine computes.
_IGNORED = frozenset(("rn", "approx", "full", "uni", "lo", "sync", "aligned", "noftz", "default"))
# Operations that see bits only: the same for signed, unsigned and untyped registers.
_SIGNLESS = frozenset(
    """
    add sub mul mad and or xor not cnot neg mov selp slct popc clz brev shl shf lop3 prmt
    bfi bmsk fns szext
    """.split()  # noqa: SIM905
)
_DIRECTIONS = {"rz": 1, "rm": 2, "rp": 3}
#: Arithmetic that may round in a direction other than to the nearest.
ROUNDED = frozenset(("add", "sub", "mul", "div", "fma", "mad", "rcp", "sqrt"))


@cache
def handlers() -> dict[str, tuple[str, ...]]:
    """Handler to the types of its operands, destination first; empty when it has its own form."""
    found = {}
    for path in sorted(NATIVE.glob("machine_*.cpp")):
        text = "\n".join(_with_families(path.read_text(encoding="utf-8")))
        for macro, name, rest in _DECLARATION.findall(text):
            types = [part.strip() for part in rest.split(",")]
            found[name] = tuple(types[: _ARITY.get(macro, 0)])
            if macro == "ROUNDED":
                found[name] = (types[0],) * 4
    return found


def _with_families(text: str) -> Iterator[str]:
    """The text, and each family as it is written out where it is used."""
    families = {family: (names, body) for family, names, body in _FAMILY.findall(text)}
    waiting = [text]
    while waiting:
        yield (written := waiting.pop())
        uses = re.findall(r"^(\w+_OPERATIONS)\((.*)\)$", written, re.MULTILINE)
        waiting += [_written_out(*families[family], arguments) for family, arguments in uses]


def _written_out(parameters: str, body: str, arguments: str) -> str:
    lines = re.sub(r"^ +| *\\$", "", body, flags=re.MULTILINE)
    for parameter, argument in zip(parameters.split(", "), arguments.split(", "), strict=True):
        lines = re.sub(rf"\b{parameter}\b", argument, lines)
    return lines.replace("##", "")


def bits_type(kind: str) -> str:
    """The untyped register of the same width: `s32` gives `b32`."""
    return f"b{kind[1:]}" if kind[0] in "usbf" and kind[1:].isdigit() else kind


@cache
def handler_name(opcode: str, modifiers: tuple[str, ...]) -> str:
    """The handler of an opcode of the form `op d, a, b, c`; `.ftz` and `.sat` stay in the name."""
    kept = [m for m in modifiers[:-1] if m not in _IGNORED]
    kind = modifiers[-1]
    if opcode == "div" and "approx" in modifiers:
        kept.insert(0, "approx")
    if kind[0] in "su" and opcode in _SIGNLESS and not {"hi", "wide", "sat"} & set(modifiers):
        kind = bits_type(kind)
    if opcode in ("mov", "selp"):  # no arithmetic: any type of that width
        kind = bits_type(kind)
    if opcode == "mad" and kind[0] == "f":
        opcode = "fma"
    if opcode == "shr":
        kind = kind.replace("b", "u")
    if opcode == "abs":
        kind = kind.replace("u", "s")
    if opcode in ("mul24", "mad24"):
        kept.insert(0, "hi" if "hi" in modifiers else "lo")
        kept = list(dict.fromkeys(kept))
    return "_".join([opcode, *kept, kind])


def rounding(modifiers: Sequence[str]) -> int:
    """0 to the nearest, 1 to zero, 2 down, 3 up."""
    return next((_DIRECTIONS[m] for m in modifiers if m in _DIRECTIONS), 0)
