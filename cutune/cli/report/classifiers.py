"""Choices by nearest neighbours: their rules and their accuracy. Takes models, prints them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf

from rich.console import Console
from rich.table import Table

from cutune.search.clones.value_sets import FixedChoice, SetChoice
from cutune.search.compare import MOST, TunerComparison, quartiles
from cutune.search.neighbours.classifier import (
    ChoiceModel,
    FittedClassifier,
    Regret,
    Transfers,
)
from cutune.search.neighbours.published_procedure import Distribution, Split
from cutune.search.neighbours.table import Configuration
from cutune.space.condition import Value


def print_model(model: ChoiceModel) -> None:
    """The rule of each choice, and its evidence."""
    print(f"{', '.join(model.tunables)}, at most {model.limit:.1%} slower at measured sizes")
    for choice in model.choices:
        if model.given:
            print(f"given {_settings(dict(zip(model.given, choice.given, strict=True)))}:")
        _print_choice(model, choice)


def print_fixed(choice: FixedChoice) -> None:
    """The values that hold for all sizes, and what they lose."""
    print(f"{_settings(choice.values)} at all sizes: {_lost(choice, choice.lost)}")
    if choice.own is not None and choice.own != choice.values:
        print(f"  the program's own {_settings(choice.own)}: {_lost(choice, choice.own_lost)}")


def print_sets(choice: SetChoice) -> None:
    """The value sets that one program holds, and where it takes which."""
    print(f"{', '.join(choice.names)} by {', '.join(choice.model.sizes)}, in one program:")
    for number, values in enumerate(choice.sets, 1):
        print(f"  set {number}: {_settings(dict(zip(choice.names, values, strict=True)))}")
    print("  set 0: the program's own values")
    for one in choice.model.choices:
        _print_choice(choice.model, one)


def _settings(values: Mapping[str, Value]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in values.items())


def _lost(choice: FixedChoice, regret: Regret | None) -> str:
    if regret is None:
        return "not known"
    place = zip(choice.sizes, regret.worst_point, strict=True)
    where = f" ({_settings(dict(place))})" if choice.sizes else ""
    return f"time lost mean {regret.mean:.2%}, worst {regret.worst:.2%}{where}"


def _print_choice(model: ChoiceModel, choice: FittedClassifier) -> None:
    evidence = choice.evidence
    if choice.limits is not None:
        for limit, label in zip(choice.limits, choice.configurations, strict=False):
            print(f"  {model.sizes[0]} <= {limit}: {_named(model, label)}")
        print(f"  above: {_named(model, choice.configurations[-1])}")
    else:
        print(f"  the nearest of {len(choice.points or ())} measured sizes")
    if evidence is None:
        return
    print(
        f"  {choice.measured} sizes; leave-one-out accuracy {evidence.observed_accuracy:.3f} "
        f"observed, {evidence.corrected_accuracy:.3f} corrected; most frequent class "
        f"{evidence.null_accuracy:.3f}"
    )
    print(f"  time lost at measured sizes: {_loss(model, evidence.at_measured)}")
    print(f"  time lost where the size was left out: {_loss(model, evidence.left_out)}")
    if evidence.amid:
        amid = ", ".join(map(str, evidence.amid))
        print(f"  as much may be lost between; measure {model.sizes[0]} = {amid} too")
    if evidence.fixed is not None:
        loss = _loss(model, evidence.at_fixed)
        print(f"  time lost with {_named(model, evidence.fixed)} everywhere: {loss}")


def print_published_procedure(labels: str, split: Split, distribution: Distribution | None) -> None:
    """One split of the published procedure, beside many."""
    remark = "" if split.complete else " (a class is missing in training)"
    print(
        f"split {split.random_state} of {labels}: k = {split.k}, accuracy {split.accuracy:.2f}, "
        f"most frequent class {split.null_accuracy:.2f}; {split.training} sizes for training, "
        f"{split.tested} for testing{remark}"
    )
    if distribution is None:
        print("  no split keeps every class in training")
        return
    print(
        f"  1-NN over {distribution.splits} splits, {distribution.complete} with every class in "
        f"training: mean {distribution.mean:.2f}, from {distribution.lowest:.2f} to "
        f"{distribution.highest:.2f}; perfect in {distribution.perfect:.1%}"
    )


def print_transfers(model: ChoiceModel, transfers: Transfers) -> None:
    """The loss of each device's heuristic on each device."""
    names = list(dict.fromkeys(made_on for made_on, _ in transfers))
    table = Table("heuristic of", *(f"on {name}" for name in names), box=None)
    for made_on in names:
        table.add_row(made_on, *(_loss(model, transfers[made_on, used_on]) for used_on in names))
    Console(emoji=False).print(table)


def print_comparison(comparison: TunerComparison) -> None:
    """Print what each technique needs to be within 5 % of the best at a size, the best first."""
    chance = f"random search: {comparison.chance:.1f} on the average"
    print(f"{comparison.where}: {comparison.size} configurations; {chance}")
    table = techniques_table("configurations", "seconds", "score")
    for one in sorted(comparison.scores, key=lambda score: -score.score):
        needed = _quartiles(one.needed, f">{MOST}", 0)
        table.add_row(one.technique, needed, _quartiles(one.seconds, "-", 1), f"{one.score:.2f}")
    Console(emoji=False).print(table)


def techniques_table(*headings: str) -> Table:
    """A table with a row per technique; its other columns hold numbers."""
    table = Table("technique", box=None)
    for heading in headings:
        table.add_column(heading, justify="right")
    return table


def _quartiles(values: Sequence[float], none: str, digits: int) -> str:
    """The median, and the quartiles around it; `none` stands for infinity."""
    low, middle, high = (none if v == inf else f"{v:.{digits}f}" for v in quartiles(values))
    return f"{middle} ({low}..{high})"


def _named(model: ChoiceModel, label: Configuration) -> str:
    return _settings(dict(zip(model.tunables, label, strict=True)))


def _loss(model: ChoiceModel, regret: Regret | None) -> str:
    if regret is None:
        return "not known"
    # The tables of single choices leave out what is given.
    whole = (*model.given, *model.sizes)
    names = whole if len(regret.worst_point) == len(whole) else model.sizes
    place = _settings(dict(zip(names, regret.worst_point, strict=True)))
    untimed = regret.total - regret.known
    rest = f"; {untimed} sizes without a time" if untimed else ""
    return f"mean {regret.mean:.2%}, worst {regret.worst:.2%} ({place}){rest}"
