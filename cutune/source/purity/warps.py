"""Warp-level code. Takes a function, says whether it, or what it calls by name, holds any."""

from __future__ import annotations

from cutune.core.codes import Code
from cutune.source.syntax.tokens import Token
from cutune.source.unit import library as known
from cutune.source.unit.unit import FunctionText, Unit


def is_warp_level(unit: Unit, text: FunctionText) -> bool:
    """May threads of a warp work together? Asked whatever refused the kernel."""
    names = _names(text.body)
    reached = set(names)
    while names:
        if any(known.refusal(name) is Code.WARP_LEVEL for name in names):
            return True
        found = (pair for name in names for pair in unit.functions.get(name, ()))
        names = {name for part, f in found for name in _names(unit.text(part, f).body)} - reached
        reached |= names
    return False


def _names(tokens: tuple[Token, ...]) -> set[str]:
    return {token.text for token in tokens if token.kind == "IDENTIFIER"}
