"""Functions in the assembly of a host compiler, as texts that are equal for equal code."""

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
    """Return the code of functions by their names, before which a prefix stands."""
    constants = dict(_DATA.findall(assembly))
    symbols = sorted({*_SYMBOL.findall(assembly)})
    shown = dict(zip(symbols, demangled(symbols, parameters=True), strict=True))
    plain = {one: name.replace(prefix, "") if prefix else name for one, name in shown.items()}
    texts: dict[str, tuple[str, ...]] = {}
    for symbol, body in _FUNCTION.findall(assembly):
        base = shown.get(symbol, symbol).partition("(")[0].rpartition(" ")[2]
        name = base.removeprefix(prefix)
        if base.startswith(prefix) and name in names:
            code = _SYMBOL.sub(lambda one: plain[one[0]], _PLACES.sub("", body))
            own = plain.get(symbol, name)
            texts[name] = (*texts.get(name, ()), f"{own}\n{_with_labels(code, constants)}")
    return texts


def _with_labels(text: str, constants: dict[str, str]) -> str:
    """Replace labels of the function by their order, others by the data there."""
    numbers: dict[str, int] = {}
    own = {*re.findall(r"^(\.L\w+):", text, re.MULTILINE)}

    def named(found: re.Match[str]) -> str:
        label = found[0]
        if label in own or label not in constants:
            return f".L<{numbers.setdefault(label, len(numbers))}>"
        # A table of jumps names labels of the function.
        return f"<{_LABEL.sub(named, constants[label])}>"

    return _LABEL.sub(named, text)
