"""Facts from the exhaustive tables of the suite BAT. Takes a plan and results of `bat_runs.py`.

    python3 benchmarks/bat_tables.py FOLDER OUTPUT.jsonl [CSV_FOLDER]

Per sample: how many machine codes there are, which parameters never make a difference to the code,
how good the best of one sweep is in the other, and how far the sweeps differ. A folder gets the
tables as CSV: a row per configuration, with the milliseconds of both sweeps.
"""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles
from typing import Any

if __name__ == "__main__":
    # As `bat_runs.py`, it needs neither cutune nor its place in a package.
    sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.bat_runs import SWEEPS, code_of, kernels_of

Json = dict[str, Any]
#: What is so little slower than the best counts as good.
GOOD = 1.05


@dataclass(frozen=True)
class Row:
    """One configuration: values of its parameters, its code, and its times, one per sweep."""

    values: Mapping[str, str]
    host: str
    code: str
    times: Sequence[float | None]


def rows(name: str, plan: Json, lines: Sequence[Json]) -> Iterator[Row]:
    """All configurations of a sample whose programs were built."""
    times = {
        (line["sweep"], line["code"], line["host"]): line["milliseconds"]
        for line in lines
        if line["sample"] == name and "sweep" in line
    }
    for number, codes in kernels_of(lines, name).items():
        program = plan["programs"][number]
        for host in program["hosts"]:
            code = code_of(codes, host, plan["kernel"])
            own = [times.get((sweep, code, host)) for sweep in range(SWEEPS)]
            values = dict(pair.split("=") for pair in host.split(",") if pair)
            yield Row({**program["values"], **values}, host, code, own)


def idle(table: Sequence[Row], compiled: Sequence[str]) -> list[str]:
    """Compiled parameters whose values never told two codes apart, each compared at least once."""
    found = []
    for name in compiled:
        groups: dict[tuple[tuple[str, str], ...], list[str]] = {}
        for row in table:
            rest = tuple(item for item in row.values.items() if item[0] != name)
            groups.setdefault(rest, []).append(row.code)
        compared = [group for group in groups.values() if len(group) > 1]
        if compared and all(len(set(group)) == 1 for group in compared):
            found.append(name)
    return found


def told(name: str, plan: Json, lines: Sequence[Json]) -> Iterator[str]:
    """The facts of a sample, line by line."""
    table = list(rows(name, plan, lines))
    if not table:
        return
    total = sum(len(program["hosts"]) for program in plan["programs"])
    codes = {(row.code, row.host) for row in table}
    yield f"{name}: {len(table)} of {total} configurations, {len(codes)} codes with host values"
    names = idle(table, list(plan["programs"][0]["values"]))
    yield f"  without effect on the code: {', '.join(names) or 'none'}"
    whole = [row for row in table if None not in row.times]
    if not whole:
        return
    for sweep, other in ((0, 1), (1, 0)):
        # mypy does not follow `whole`.
        own = [(row.times[sweep] or 0.0, row.times[other] or 0.0, row) for row in whole]
        best, there, row = min(own, key=lambda one: one[0])
        loss = there / min(one[1] for one in own) - 1
        good = sum(one[0] <= GOOD * best for one in own) / len(own)
        worst = max(one[0] for one in own) / best
        values = ", ".join(f"{name} = {value}" for name, value in row.values.items())
        yield f"  sweep {sweep}: {best:.5f} ms, {good:.2%} within 5 %, slowest {worst:.0f} times"
        yield f"    {values}; {loss:.2%} slower than the best in sweep {other}"
    apart = sorted(abs(a / b - 1) for a, b in _distinct(whole))
    high = quantiles(apart, n=20)[-1] if len(apart) > 1 else apart[0]
    yield f"  sweeps differ by {median(apart):.2%} (median), {high:.2%} (95th percentile)"


def _distinct(table: Sequence[Row]) -> list[tuple[float, float]]:
    """Both times of each code and host value, once."""
    found = {(row.code, row.host): row.times for row in table}
    return [(a, b) for a, b in found.values() if a and b]


def write_csv(path: Path, table: Sequence[Row]) -> None:
    """A row per configuration."""
    with path.open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow([*table[0].values, "code", *(f"ms_{sweep}" for sweep in range(SWEEPS))])
        for row in table:
            out.writerow([*row.values.values(), row.code, *row.times])


def main(arguments: Sequence[str]) -> None:
    """The command line."""
    plan = json.loads((Path(arguments[0]) / "plan.json").read_text())
    lines = [json.loads(line) for line in Path(arguments[1]).read_text().splitlines()]
    for name, sample in plan["samples"].items():
        own = sample["exhaustive"]
        if not own:
            continue
        print("\n".join(told(name, own, lines)))
        table = list(rows(name, own, lines))
        if len(arguments) > 2 and table:
            write_csv(Path(arguments[2]) / f"{name}.csv", table)


if __name__ == "__main__":
    main(sys.argv[1:])
