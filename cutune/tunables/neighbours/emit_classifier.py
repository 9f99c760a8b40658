"""Classifiers and conditions as C. Takes a `ChoiceModel`, gives functions without dependencies.

Valid in C99 and in C++11: comparisons of integers for intervals, doubles for nearest neighbours of
several sizes. No allocation, no library, no state. A condition such as `N >= 2 * m` becomes an
expression. A tuned program reads from the environment what CUTUNE says of its parameters.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from itertools import pairwise

from cutune.emit.emitter import Emitter, c_integer
from cutune.tunables.neighbours.classifier import Intervals, Neighbours
from cutune.tunables.neighbours.model import ChoiceModel, FittedClassifier

#: The product of max(a, b) / min(a, b), in the order of `ratio_distance`.
_RATIO = """\
#ifndef CUTUNE_RATIO
#define CUTUNE_RATIO
static inline double cutune_ratio(double a, double b)
{
    a = a < 1.0 ? 1.0 : a;
    b = b < 1.0 ? 1.0 : b;
    return a > b ? a / b : b / a;
}
#endif
"""


def emit_choices(models: Sequence[ChoiceModel]) -> str:
    """Return a function `cutune_choose_TUNABLE(sizes…, given…)` per tunable, which gives its value.

    These are the values of `ChoiceModel.choose`: a configuration is chosen as a whole, so that the
    values that the functions return for the same sizes belong together.
    """
    emit = Emitter()
    if any(isinstance(c.rule, Neighbours) for model in models for c in model.choices):
        emit(_RATIO.rstrip())
    for model in models:
        _emit_model(emit, model)
    return str(emit)


def _emit_model(emit: Emitter, model: ChoiceModel) -> None:
    names = [f"cutune_{c_name(size)}" for size in (*model.sizes, *model.given)]
    parameters = ", ".join(f"long long {name}" for name in names)
    for index, tunable in enumerate(model.tunables):
        emit(f"static inline long long cutune_choose_{c_name(tunable)}({parameters})")
        with emit.braces():
            for name in _unused(model, names, index):
                emit(f"(void){name};")
            for choice in model.choices:
                # If no test is true, the last rule is used.
                is_last = choice is model.choices[-1]
                test = f"if ({' && '.join(given_tests(model, choice))})"
                with nullcontext() if is_last else emit.braces(test):
                    if isinstance(choice.rule, Intervals):
                        _emit_intervals(emit, choice.rule, names[0], index)
                    else:
                        _emit_neighbours(emit, choice.rule, names, index)


def _unused(model: ChoiceModel, names: Sequence[str], index: int) -> Iterator[str]:
    """Yield parameters that no function uses: a compiler would warn."""
    width = len(model.sizes)
    constant = all(
        isinstance(choice.rule, Intervals)
        and len({c[index] for c in choice.rule.configurations}) == 1
        for choice in model.choices
    )
    if constant:
        yield from names[:width]
    if len(model.choices) == 1:
        yield from names[width:]


def c_name(text: str) -> str:
    """Return a size as part of a C name: `p.n` and `p->n` are no names."""
    return re.sub(r"\W+", "_", text, flags=re.ASCII)


def given_tests(model: ChoiceModel, choice: FittedClassifier) -> list[str]:
    """Return tests in C whether the given values are those of a classifier."""
    pairs = zip(model.given, choice.given, strict=True)
    return [f"cutune_{c_name(name)} == {c_integer(value)}" for name, value in pairs]


def range_tests(
    names: Iterable[str], lowest: Iterable[int], highest: Iterable[int]
) -> Iterator[str]:
    """Yield tests in C whether values lie in ranges."""
    for name, low, high in zip(names, lowest, highest, strict=True):
        yield f"{name} >= {c_integer(low)} && {name} <= {c_integer(high)}"


def _emit_intervals(emit: Emitter, rule: Intervals, size: str, index: int) -> None:
    values = [label[index] for label in rule.configurations]
    for limit, (value, following) in zip(rule.limits, pairwise(values), strict=True):
        if value != following:
            emit(f"if ({size} <= {c_integer(limit)}) return {c_integer(value)};")
    emit(f"return {c_integer(values[-1])};")


def _emit_neighbours(emit: Emitter, rule: Neighbours, names: Sequence[str], index: int) -> None:
    count, width = len(rule.points), len(rule.points[0])
    emit(f"static const long long cutune_points[{count}][{width + 1}] = {{")
    for point, label in zip(rule.points, rule.configurations, strict=True):
        emit(f"    {{{', '.join(map(c_integer, (*point, label[index])))}}},")
    emit("};")
    emit("double cutune_best = 1e300;")
    emit("int cutune_nearest = 0;")
    with emit.braces(f"for (int i = 0; i < {count}; ++i)"):
        emit("double cutune_distance = 1.0;")
        for column, name in enumerate(names[:width]):
            known = f"(double)cutune_points[i][{column}]"
            emit(f"cutune_distance *= cutune_ratio((double){name}, {known});")
        with emit.braces("if (cutune_distance < cutune_best)"):
            emit("cutune_best = cutune_distance;")
            emit("cutune_nearest = i;")
    emit(f"return cutune_points[cutune_nearest][{width}];")
