"""The tuners that are compared. Takes names, gives techniques, and warns of missing ones."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout, suppress
from dataclasses import dataclass, field

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, Diagnostic, Warn, known_names
from cutune.lab.tuner_comparison.other_tuners import kernel_tuner, opentuner, pyatf
from cutune.search.techniques.registry import (
    DEFAULT,
    OPTUNA,
    TECHNIQUES,
    Run,
    Technique,
    plain_name,
    technique_named,
)
from cutune.search.techniques.tries import Rows, SearchEnd, Tries

#: BAT's default: everything is measured. It is no search, so that each tuner takes its own.
BRUTE_FORCE = "brute_force"
CUTUNE = "cutune"


def _own(technique: str) -> Run:
    return next(one.run for one in TECHNIQUES if one.name == technique)


def _guarded(tuner: Tuner, search: Run) -> Run:
    """Send what another tuner prints to standard error, and report its exceptions (CT834)."""

    def run(tries: Tries, start: Rows, generator: random.Random) -> None:
        try:
            with redirect_stdout(sys.stderr):
                search(tries, start, generator)
        except SearchEnd:
            raise
        except Exception as error:
            reason = f"{type(error).__name__}: {str(error)[:200]}"
            others = ",".join(one.name for one in TUNERS if one is not tuner)
            raise CutuneError.at(
                Code.TUNER_FAILED, tuner=tuner.name, reason=reason, others=others
            ) from error

    return run


@dataclass(frozen=True)
class Tuner:
    """A tuner, its techniques, and how they are run.

    Attributes:
        package: what has to be installed; empty: nothing.
        default: its technique unless another is asked for.
        techniques: what else it is asked for by, and what it calls that.
    """

    name: str
    package: str
    default: str
    search: Callable[[str], Run]
    techniques: Mapping[str, str] = field(default_factory=dict)

    def technique(self, name: str) -> Technique:
        """Return the technique that it has by this name of its own."""
        packages = (one.package for one in TECHNIQUES if one.name == name)
        package = self.package or next(packages, "")
        run = self.search(name) if self.search is _own else _guarded(self, self.search(name))
        return Technique(f"{self.name} {name}", run, (), package)

    def named(self, name: str) -> str | None:
        """Return its own name of a technique; None where it has none."""
        names = {**{own: own for own in self.techniques.values()}, **self.techniques}
        names[self.default] = self.default
        return {plain_name(word): own for word, own in names.items()}.get(plain_name(name))


TUNERS = (
    Tuner(CUTUNE, "", DEFAULT, _own, {one.name: one.name for one in TECHNIQUES}),
    Tuner(
        "kernel_tuner",
        "kernel_tuner",
        "genetic_algorithm",
        kernel_tuner,
        {
            "random": "random_sample",
            "nelder_mead": "minimize",
            "basin_hopping": "basinhopping",
            "differential_evolution": "diff_evo",
            "genetic": "genetic_algorithm",
            "annealing": "simulated_annealing",
            "dual_annealing": "dual_annealing",
            "pso": "pso",
            "firefly": "firefly_algorithm",
            "bayesian": "bayes_opt",
            "greedy_ils": "greedy_ils",
            "greedy_mls": "greedy_mls",
            "mls": "mls",
        },
    ),
    Tuner(
        "opentuner",
        "opentuner",
        "AUCBanditMetaTechniqueA",
        opentuner,
        {
            "random": "PureRandom",
            "nelder_mead": "RandomNelderMead",
            "torczon": "RandomTorczon",
            "greedy": "UniformGreedyMutation10",
            "differential_evolution": "DifferentialEvolutionAlt",
            "genetic": "ga-OX1",
            "pso": "pso-OX1",
            "pattern": "PatternSearch",
            "bandit": "AUCBanditMetaTechniqueA",
        },
    ),
    Tuner(
        "pyatf",
        "pyatf",
        "AUCBandit",
        pyatf,
        {
            "random": "Random",
            "annealing": "SimulatedAnnealing",
            "differential_evolution": "DifferentialEvolution",
            "pattern": "PatternSearch",
            "torczon": "Torczon",
            "bandit": "AUCBandit",
            "round_robin": "RoundRobin",
        },
    ),
    Tuner(OPTUNA, OPTUNA, "tpe", _own, {"genetic": "genetic", "bayesian": "tpe"}),
)


def contenders(names: Sequence[str], technique: str, warn: Warn) -> list[Technique]:
    """Return the searches to compare, cutune's own among them. Raises CT816, CT817, CT828.

    `names`: of tuners beside cutune; none: all.
    """
    tuners = _tuners_named(names)
    is_search = plain_name(technique) != plain_name(BRUTE_FORCE)
    if is_search and all(one.named(technique) is None for one in TUNERS):
        technique_named(technique)  # also understands what others call cutune's
    searches = [TUNERS[0].technique(DEFAULT)]
    missing: dict[str, str] = {}
    for tuner in tuners:
        own = _name_of(technique, tuner) if is_search else tuner.default
        if own is None and tuner.name == CUTUNE:
            continue
        one = tuner.technique(own or tuner.default)
        if not one.is_installed:
            missing[tuner.name if tuner.package else one.name] = one.package
            continue
        if own is None:
            warn(_without_technique(tuner, technique))
        searches.append(one)
    if missing:
        packages = " ".join(dict.fromkeys(missing.values()))
        named = ", ".join(missing)
        warn(Diagnostic.at(Code.TUNERS_MISSING, names=named, packages=packages))
    return list({one.name: one for one in searches}.values())


def _tuners_named(names: Sequence[str]) -> list[Tuner]:
    """Return cutune and the tuners of these names; without names all. Raises CT828."""
    by_name = {plain_name(one.name): one for one in TUNERS}
    for name in names:
        if plain_name(name) not in by_name:
            listed = known_names(name, [one.name for one in TUNERS])
            raise CutuneError.at(Code.UNKNOWN_TUNER, name=name, known=listed)
    wanted = {by_name[plain_name(name)].name for name in names} or {one.name for one in TUNERS}
    return [one for one in TUNERS if one.name in {CUTUNE, *wanted}]


def _name_of(technique: str, tuner: Tuner) -> str | None:
    """Return what a tuner calls a technique; None where it has none of that name."""
    own = tuner.named(technique)
    if own is None and tuner.name == CUTUNE:
        # It also knows what others call its techniques.
        with suppress(CutuneError):
            return technique_named(technique).name
    return own


def _without_technique(tuner: Tuner, technique: str) -> Diagnostic:
    return Diagnostic.at(
        Code.NO_SUCH_TECHNIQUE,
        tuner=tuner.name,
        name=technique,
        default=tuner.default,
        known=", ".join(tuner.techniques),
    )
