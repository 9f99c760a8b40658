"""Choosing m, R and S of the tridiagonal sample, on recorded times of an H200.

Nothing is measured here: `samples/tridiagonal/sweep.py` says how the times were.
`python -m benchmarks.tridiagonal FIGURE.svg` also draws them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence

from cutune.search.neighbours.classifier import (
    ChoiceModel,
    Regret,
    best_fixed,
    classifier,
    fit_choice,
    regret,
)
from cutune.search.neighbours.table import Configuration, Point, TimeTable
from samples.tridiagonal.sweep import (
    BETWEEN,
    FRESH,
    RECURSION_BETWEEN,
    RECURSION_SIZES,
    RECURSION_SMALL,
    SIZES,
    STREAMS,
    published_streams,
)
from tests.support.tridiagonal_times import (
    LIMIT,
    all_times,
    gain,
    published_m,
    recursion_table,
    stream_table,
    sub_system_table,
)

INNER = 10
ALL_STREAMS = frozenset(STREAMS)


def main() -> None:
    """Print what docs/tridiagonal.md says."""
    for precision in ("fp64", "fp32"):
        whole = all_times(precision)
        print(f"{precision}:")
        _print_sub_systems(precision, whole)
        _print_streams(whole)
        _print_recursion(precision, whole)


def _print_sub_systems(precision: str, whole: TimeTable) -> None:
    table, between = sub_system_table(whole, SIZES), sub_system_table(whole, BETWEEN)
    fresh = sub_system_table(whole, FRESH)
    model = fit_choice(table, LIMIT)
    _print_optima(table, model)
    rules: dict[str, Callable[[Point], Configuration]] = {
        f"corrected, limit {LIMIT:.0%}": model.choose,
        "observed optima": classifier(table.best).choose,
        "the publication's heuristic (RTX 2080 Ti, FP64)": published_m,
        "m = 4": lambda _: (4,),
    }
    fixed = best_fixed(table)
    if fixed is not None:
        rules[f"best fixed m = {fixed[0]}"] = lambda _: fixed
    print("  rule: time lost at measured sizes; at sizes between them; at fresh sizes")
    for name, rule in rules.items():
        losses = "; ".join(_loss(regret(one, rule)) for one in (table, between, fresh))
        print(f"  {name}: {losses}")
    largest, n = gain(table, model.choose, lambda _: (4,))
    print(f"  largest gain against m = 4: {largest:.2f} (N = {n})")
    if fixed is not None:
        largest, n = gain(table, model.choose, lambda _: fixed)
        print(f"  largest gain against m = {fixed[0]}: {largest:.2f} (N = {n})")
    for limit in (0.01, 0.02, 0.03, 0.06, 0.08):
        other = fit_choice(table, limit)
        lost = regret(fresh, other.choose)
        print(f"  limit {limit:.0%}: {len(_steps(other))} intervals, fresh: {_loss(lost)}")


def _print_optima(table: TimeTable, model: ChoiceModel) -> None:
    print("  | N | best m | streams | ms | corrected m | ms |\n  |-|-|-|-|-|-|")
    for p in table.points:
        best, chosen = table.best[p], model.choose(p)
        own = table.times[p]
        last = f"{chosen[0]} | {own[chosen]:.4g}" if chosen != best else f"{chosen[0]} | "
        streams = published_streams(p[0])
        print(f"  | {p[0]} | {best[0]} | {streams} | {own[best]:.4g} | {last} |")
    print(f"  intervals: {_steps(model)}")


def _print_streams(whole: TimeTable) -> None:
    for m in (32, 128):
        table = stream_table(whole, _streamed(whole, m), m)
        if not table.points:
            continue
        model = fit_choice(table, LIMIT)
        print(f"  streams at m = {m}: {_steps(model)}")
        rule: Callable[[Point], Configuration] = lambda p: (published_streams(p[0]),)  # noqa: E731
        print(f"    published number: {_loss(regret(table, rule))}")
        print(f"    one stream: {_loss(regret(table, lambda _: (1,)))}")


def _streamed(whole: TimeTable, m: int) -> list[int]:
    """Those sizes at which every number of streams was measured."""
    return [
        n
        for n in SIZES
        if {s for k, r, s, _ in whole.times[(n,)] if (k, r) == (m, 0)} >= ALL_STREAMS
    ]


def _print_recursion(precision: str, whole: TimeTable) -> None:
    table = recursion_table(whole, _recursed(whole, RECURSION_SIZES))
    small = recursion_table(whole, _recursed(whole, RECURSION_SMALL))
    print("  | N | R=0 | R=1 | R=2 | R=3 | R=4 | gain |\n  |-|-|-|-|-|-|-|")
    for p, own in (*small.times.items(), *table.times.items()):
        cells = " | ".join(f"{own[(r,)]:.4g}" for r in range(5))
        print(f"  | {p[0]} | {cells} | {own[(0,)] / min(own.values()):.3f} |")
    model = fit_choice(table, LIMIT)
    print(f"  recursive steps: {_steps(model)}")
    print(f"  time lost at measured sizes: {_loss(regret(table, model.choose))}")
    rest = _recursed(whole, RECURSION_BETWEEN)
    if rest:
        lost = regret(recursion_table(whole, rest), model.choose)
        print(f"  time lost at sizes between: {_loss(lost)}")
    largest, n = gain(table, table.best.__getitem__, lambda _: (0,))
    print(f"  largest gain of recursion: {largest:.3f} (N = {n})")


def _recursed(whole: TimeTable, sizes: Iterable[int]) -> list[int]:
    """Those sizes at which every R was measured."""
    return [n for n in sizes if any(c[1] == 4 for c in whole.times.get((n,), {}))]


def _steps(model: ChoiceModel) -> list[tuple[int | None, int]]:
    rule = model.choices[0].rule
    limits: Sequence[int | None] = (*getattr(rule, "limits", ()), None)
    return [(limit, c[0]) for limit, c in zip(limits, rule.configurations, strict=True)]


def _loss(lost: Regret | None) -> str:
    if lost is None:
        return "-"
    return f"mean {lost.mean:.2%}, worst {lost.worst:.2%} (N = {lost.worst_point[0]})"


def draw(path: str) -> None:
    """Four panels: best m, time by m, gain against m = 4, gain of recursion."""
    import matplotlib.pyplot as plt  # noqa: PLC0415

    whole = {precision: all_times(precision) for precision in ("fp64", "fp32")}
    table = sub_system_table(whole["fp64"], SIZES)
    model = fit_choice(table, LIMIT)
    sizes = [p[0] for p in table.points]
    figure, ((best, by_m), (gains, steps)) = plt.subplots(2, 2, figsize=(10, 7))
    best.plot(sizes, [table.best[p][0] for p in table.points], "o", label="observed", mfc="none")
    dense = [round(10 ** (2 + step / 50)) for step in range(301)]
    best.plot(dense, [model.choose((n,))[0] for n in dense], label="chosen")
    best.plot(dense, [published_m((n,))[0] for n in dense], ":", label="published")
    best.set(xscale="log", yscale="log", xlabel="N", ylabel="m", title="best sub-system size, FP64")
    best.legend()
    for n in (10**4, 10**5, 10**6, 10**7, 10**8):
        own = sorted(table.times[(n,)].items())
        low = min(t for _, t in own)
        by_m.plot([c[0] for c, _ in own], [t / low for _, t in own], ".-", label=f"{n:.0e}")
    by_m.set(
        xscale="log", ylim=(0.95, 3), xlabel="m", ylabel="time / best", title="time by m, FP64"
    )
    by_m.legend()
    for precision, times in whole.items():
        own_table = sub_system_table(times, SIZES)
        rule = fit_choice(own_table, LIMIT)
        ratios = [
            own_table.times[p][(4,)] / own_table.times[p][rule.choose(p)] for p in own_table.points
        ]
        gains.plot(sizes, ratios, ".-", label=precision)
        recursion = recursion_table(times, _recursed(times, RECURSION_SIZES))
        xs = [p[0] for p in recursion.points]
        ys = [recursion.times[p][(0,)] / min(recursion.times[p].values()) for p in recursion.points]
        steps.plot(xs, ys, ".-", label=precision)
    gains.set(xscale="log", xlabel="N", ylabel="t(m = 4) / t(chosen)", title="gain against m = 4")
    steps.set(xscale="log", xlabel="N", ylabel="t(R = 0) / t(best R)", title="gain of recursion")
    gains.legend()
    steps.legend()
    figure.tight_layout()
    plt.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "cutune"})
    figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    main()
    for output in sys.argv[1:]:
        draw(output)
