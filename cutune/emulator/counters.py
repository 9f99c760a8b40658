"""The counters of a memory instruction: takes the machine's table, gives their names and units.

`native/machine_counters.h` is the only place that lists them. The C++ structure and the launch log
are made from the same lines.
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from cutune.emulator.built_in import NATIVE

_COUNTER = re.compile(r'COUNTER\((\w+), (\w+), "([^"]*)", "([^"]*)"\)')


class SiteCounter(NamedTuple):
    """`kind`: `counted` in all executions, `traced` in those looked at, `range` of addresses."""

    name: str
    kind: str
    unit: str
    what: str


@cache
def site_counters() -> tuple[SiteCounter, ...]:
    """All counters, in the order of the machine's `struct Site`."""
    text = (NATIVE / "machine_counters.h").read_text(encoding="utf-8")
    return tuple(SiteCounter(*found) for found in _COUNTER.findall(text))
