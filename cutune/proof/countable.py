"""Which entries no counter describes. Takes PTX, gives reasons by the names of entries.

What is proven may be tuned; but a model is made of counts. An entry is counted at any size if its
work does not depend on data, else while the program runs, if a counter covers each instruction.
"""

from __future__ import annotations

from collections.abc import Collection

from cutune.emulator.ptx.parse import parse
from cutune.emulator.ptx.taint import data_oblivious
from cutune.emulator.ptx.types import PtxError


def uncountable(text: str, entries: Collection[str]) -> dict[str, str]:
    """Those of the entries that cannot be counted in either way, and why."""
    try:
        module = parse(text)
    except PtxError as error:
        return dict.fromkeys(entries, error.reason)
    found = {}
    for name, function in module.functions.items():
        if name in entries:
            verdict = data_oblivious(function, module.functions)
            if not verdict.holds and not verdict.countable:
                found[name] = verdict.reason
    return found
