"""Functions in the assembly of a host compiler, as text that is the same for the same code.

Takes assembly, gives a text per function: symbols as the source has them, labels in their order,
constants in place of their labels.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from cutune.toolchain.demangle import demangled

_FUNCTION = re.compile(r"^([A-Za-z_$][\w$.]*):$(.*?)^\s*\.size\s+\1,", re.MULTILINE | re.DOTALL)
_SYMBOL = re.compile(r"(?<![\w$.])_Z[\w$]+")
_LABEL = re.compile(r"(?<![\w$])\.L\w+")
#: Data of the compiler: constants, texts, tables of jumps.
_DATA = re.compile(
    r"^(\.L\w+):\n((?:\s*\.(?:string|ascii|asciz|byte|value|word|long|quad|octa|zero)\b.*\n)+)",
    re.MULTILINE,
)
#: What says where code stands, not what it does.
_PLACES = re.compile(r"^\s*\.(?:loc|file|cfi_\w+|p2align|align)\b.*\n", re.MULTILINE)


def functions_of(assembly: str, names: Collection[str], prefix: str) -> dict[str, tuple[str, ...]]:
    """The code of functions by their names, before which a prefix stands."""
    constants = dict(_DATA.findall(assembly))
    symbols = sorted({*_SYMBOL.findall(assembly)})
    shown = dict(zip(symbols, demangled(symbols, parameters=True), strict=True))
    found: dict[str, list[str]] = {}
    for symbol, body in _FUNCTION.findall(assembly):
        name = shown.get(symbol, symbol)
        base = name.partition("(")[0].rpartition(" ")[2]
        if base.startswith(prefix) and base[len(prefix) :] in names:
            text = _PLACES.sub("", body)
            text = _SYMBOL.sub(
                lambda one: shown[one[0]].replace(prefix, "") if prefix else shown[one[0]], text
            )
            own = name.replace(prefix, "") if prefix else name
            found.setdefault(base[len(prefix) :], []).append(
                own + "\n" + _with_labels(text, constants)
            )
    return {name: tuple(texts) for name, texts in found.items()}


def _with_labels(text: str, constants: dict[str, str]) -> str:
    """Labels of the function by their order, others by what is there."""
    numbers: dict[str, int] = {}
    own = {*re.findall(r"^(\.L\w+):", text, re.MULTILINE)}

    def named(found: re.Match[str]) -> str:
        label = found[0]
        if label in own or label not in constants:
            return f".L<{numbers.setdefault(label, len(numbers))}>"
        # A table of jumps names labels of the function.
        return f"<{_LABEL.sub(named, constants[label])}>"

    return _LABEL.sub(named, text)
