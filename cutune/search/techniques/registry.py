"""The techniques of `--technique` by their names. Takes a name, gives the `Technique`; runs one.

Names of other tuners are understood where the technique is the same; for a name of none of these
the message names the nearest technique. The local search is cutune's own; the others come from
scipy and optuna.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import islice

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, meant
from cutune.search.techniques.library_techniques import (
    OPTUNA,
    annealing,
    basin_hopping,
    differential_evolution,
    direct,
    dual_annealing,
    genetic,
    mcmc,
    nelder_mead,
    powell,
    tpe,
)
from cutune.search.techniques.local_search import local_search
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
        """Is the package that it needs here?"""
        spec = find_spec(self.package) if self.package else None
        # A folder of that name, wherever cutune is called, is no package.
        return not self.package or (spec is not None and spec.origin is not None)


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
    """Return a technique by its name, or by that of another tuner.

    Raises:
        CutuneError: CT816 for an unknown name, CT817 without the package that it needs.
    """
    wanted = _plain(name)
    words = {word: one for one in TECHNIQUES for word in (one.name, *one.others)}
    technique = {_plain(word): one for word, one in words.items()}.get(wanted)
    if technique is None:
        nearest = next((near for word, near in NEAREST.items() if word in wanted), None)
        further = f"; the nearest is '{nearest}'" if nearest else meant(name, words)
        known = ", ".join(one.name for one in TECHNIQUES) + further
        raise CutuneError.at(Code.UNKNOWN_TECHNIQUE, name=name, known=known)
    if not technique.is_installed:
        name, package = technique.name, technique.package
        raise CutuneError.at(Code.TECHNIQUE_NEEDS, name=name, package=package)
    return technique


def random_search(tries: Tries, start: Rows, generator: random.Random) -> None:
    """All places, each once, in a random order.

    Raises:
        SearchEnd: no more may be measured.
    """
    _try_all(tries, shuffled(tries.space.size, generator))


def shuffled(size: int, generator: random.Random) -> Iterator[int]:
    """Yield the numbers below a size in a random order, in memory for those that are taken."""
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
    _try_all(tries, range(tries.space.size))


def _try_all(tries: Tries, numbers: Iterable[int]) -> None:
    rest = map(tries.space.rows, numbers)
    some = list(islice(rest, TOGETHER))
    while some:
        # So that no worker waits while the last of these is measured.
        following = list(islice(rest, TOGETHER))
        tries.expect([*some, *following])
        for rows in some:
            if rows not in tries.known:
                tries.at(rows)
        some = following


_OF_RANDOM = ("random_sample", "random_sampling", "pure_random")
_OF_BRUTE_FORCE = ("exhaustive", "grid", "grid_search", "full_search")
_OF_NELDER_MEAD = (
    *("minimize", "random_nelder_mead", "right_nelder_mead", "regular_nelder_mead"),
    "multi_nelder_mead",
)
TECHNIQUES = (
    Technique(DEFAULT, local_search, is_ahead=True),
    Technique("random", random_search, _OF_RANDOM, is_ahead=True),
    Technique("brute_force", _brute_force, _OF_BRUTE_FORCE, is_ahead=True),
    Technique("annealing", annealing, ("simulated_annealing", "pseudo_annealing_search")),
    Technique("dual_annealing", dual_annealing),
    Technique("mcmc", mcmc, ("metropolis",)),
    Technique("basin_hopping", basin_hopping),
    Technique("differential_evolution", differential_evolution, ("diff_evo", "de")),
    Technique("nelder_mead", nelder_mead, _OF_NELDER_MEAD),
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


def _plain(name: str) -> str:
    """`Nelder-Mead` is `nelder_mead`."""
    return "".join(c for c in name.lower() if c.isalnum())
