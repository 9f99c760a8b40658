"""A heuristic on another device. Takes one table per device, gives the loss of each on each.

The published Table III does this for one heuristic: that of the RTX 2080 Ti.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cutune.tunables.neighbours.classifier import Regret, regret
from cutune.tunables.neighbours.correction import DEFAULT_LIMIT
from cutune.tunables.neighbours.model import fit_rule
from cutune.tunables.neighbours.table import TimeTable


@dataclass(frozen=True)
class Transfer:
    """The regret on one device of the classifier that was made from the times of another."""

    made_on: str
    used_on: str
    regret: Regret | None


def transfer(tables: Mapping[str, TimeTable], limit: float = DEFAULT_LIMIT) -> list[Transfer]:
    """Judge every device's heuristic on every device, its own included."""
    rules = {name: fit_rule(table, limit) for name, table in tables.items()}
    return [
        Transfer(made_on, used_on, regret(table, rule.choose))
        for made_on, rule in rules.items()
        for used_on, table in tables.items()
    ]
