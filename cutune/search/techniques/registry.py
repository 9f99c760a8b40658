"""The techniques of `--technique` by their names. Takes a name, gives the `Technique`; runs one.

Names of other tuners are understood where the technique is the same; where it is none of these, the
message names the nearest. cutune's own is the local search; the others come from scipy and optuna.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import islice

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, Diagnostic, meant
from cutune.search.techniques.local_search import local_search
from cutune.search.techniques.numeric import (
    annealing,
    basin_hopping,
    differential_evolution,
    direct,
    dual_annealing,
    mcmc,
    nelder_mead,
    powell,
)
from cutune.search.techniques.sampled import OPTUNA, genetic, tpe
from cutune.search.techniques.tries import Rows, SearchEnd, Tries

#: The state of the random numbers: a search is repeatable.
STATE = 20
#: Places of which it is said at once that they come next.
TOGETHER = 8
#: The technique without `--technique`.
DEFAULT = "local"

#: Tries places from a start on until there is nothing more to try; `SearchEnd` may end it earlier.
Run = Callable[[Tries, Rows, random.Random], None]


@dataclass(frozen=True)
class Technique:
    """A way to search.

    Attributes:
        others: what other tuners call it.
        package: that it needs besides what cutune always needs; empty: none.
        is_ahead: does it say what it will ask for, so that several can be measured at once?
    """

    name: str
    run: Run
    others: tuple[str, ...] = ()
    package: str = ""
    is_ahead: bool = False

    @property
    def is_installed(self) -> bool:
        """Is what it needs here?"""
        found = find_spec(self.package) if self.package else None
        # A folder of that name, wherever cutune is called, is no package.
        return not self.package or (found is not None and found.origin is not None)


def search(technique: Technique, tries: Tries, start: Rows, state: int = STATE) -> None:
    """Try the start, then what the technique says, then all that it does not lead to."""
    generator = random.Random(state)
    with suppress(SearchEnd):
        tries.at(start)
        if tries.is_over:
            return
        with suppress(SearchEnd):
            technique.run(tries, start, generator)
        random_search(tries, start, generator)


def technique_named(name: str) -> Technique:
    """A technique by its name, or by that of another tuner.

    Raises:
        CutuneError: CT816 for an unknown name, CT817 without the package that it needs.
    """
    wanted = _plain(name)
    known = {_plain(word): one for one in TECHNIQUES for word in (one.name, *one.others)}
    found = known.get(wanted)
    if found is None:
        nearest = next((near for word, near in NEAREST.items() if word in wanted), None)
        further = f"; the nearest is '{nearest}'" if nearest else meant(name, _words())
        names = ", ".join(one.name for one in TECHNIQUES)
        raise CutuneError(
            Diagnostic.at(Code.UNKNOWN_TECHNIQUE, None, name=name, known=f"{names}{further}")
        )
    if not found.is_installed:
        raise CutuneError(
            Diagnostic.at(Code.TECHNIQUE_NEEDS, None, name=found.name, package=found.package)
        )
    return found


def random_search(tries: Tries, start: Rows, generator: random.Random) -> None:
    """All places, each once, in a random order.

    Raises:
        SearchEnd: no more may be measured.
    """
    _in_turn(tries, shuffled(tries.space.size, generator))


def shuffled(size: int, generator: random.Random) -> Iterator[int]:
    """The numbers below a size in a random order; takes no more memory than are asked for."""
    seen: set[int] = set()
    while len(seen) <= size // 2:
        number = generator.randrange(size)
        if number not in seen:
            seen.add(number)
            yield number
    rest = [number for number in range(size) if number not in seen]
    generator.shuffle(rest)
    yield from rest


def _brute_force(tries: Tries, start: Rows, generator: random.Random) -> None:
    _in_turn(tries, range(tries.space.size))


def _in_turn(tries: Tries, numbers: Iterable[int]) -> None:
    rest = iter(numbers)
    some = _next(tries, rest)
    while some:
        # So that no worker waits while the last of these is measured.
        following = _next(tries, rest)
        tries.expect([*some, *following])
        for rows in some:
            if rows not in tries.known:
                tries.at(rows)
        some = following


def _next(tries: Tries, numbers: Iterator[int]) -> list[Rows]:
    return [tries.space.rows(number) for number in islice(numbers, TOGETHER)]


TECHNIQUES = (
    Technique(DEFAULT, local_search, is_ahead=True),
    Technique(
        "random", random_search, ("random_sample", "random_sampling", "pure_random"), is_ahead=True
    ),
    Technique(
        "brute_force",
        _brute_force,
        ("exhaustive", "grid", "grid_search", "full_search"),
        is_ahead=True,
    ),
    Technique("annealing", annealing, ("simulated_annealing", "pseudo_annealing_search")),
    Technique("dual_annealing", dual_annealing),
    Technique("mcmc", mcmc, ("metropolis",)),
    Technique("basin_hopping", basin_hopping),
    Technique("differential_evolution", differential_evolution, ("diff_evo", "de")),
    Technique(
        "nelder_mead",
        nelder_mead,
        (
            "minimize",
            "random_nelder_mead",
            "right_nelder_mead",
            "regular_nelder_mead",
            "multi_nelder_mead",
        ),
    ),
    Technique("powell", powell),
    Technique("direct", direct),
    Technique("genetic", genetic, ("genetic_algorithm", "ga"), OPTUNA),
    Technique("tpe", tpe, ("bayesian", "bayes_opt", "bayesian_optimization"), OPTUNA),
)
#: Part of a name of other tuners → what is here in its place.
NEAREST = {
    "pso": "differential_evolution",
    "particleswarm": "differential_evolution",
    "firefly": "differential_evolution",
    "torczon": "nelder_mead",
    "pattern": "powell",
    "greedy": "local",
    "hillclimb": "local",
    "bandit": "local",
    "cmaes": "tpe",
}


def _words() -> list[str]:
    return [word for one in TECHNIQUES for word in (one.name, *one.others)]


def _plain(name: str) -> str:
    """`Nelder-Mead` is `nelder_mead`."""
    return "".join(c for c in name.lower() if c.isalnum())
