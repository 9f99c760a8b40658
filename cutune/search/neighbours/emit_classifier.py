"""Classifiers and conditions as C. Takes a `ChoiceModel`, gives functions without dependencies.

Valid in C99 and in C++11: comparisons of integers for intervals, doubles for nearest neighbours of
several sizes. No allocation, no library, no state. A condition such as `N >= 2 * m` becomes an
expression. A tuned program reads from the environment what CUTUNE says of its parameters.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from itertools import pairwise

from cutune.model.emit.emitter import Emitter, c_integer
from cutune.search.neighbours.classifier import ChoiceModel, FittedClassifier
from cutune.space.annotation import Expression, read_condition, subtree

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
    if any(c.limits is None for model in models for c in model.choices):
        emit(_RATIO.rstrip())
    for model in models:
        _emit_model(emit, model)
    return str(emit)


def _emit_model(emit: Emitter, model: ChoiceModel) -> None:
    names = c_names(model)
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
                    _emit_rule(emit, choice, names, index)


def _emit_rule(emit: Emitter, choice: FittedClassifier, names: Sequence[str], index: int) -> None:
    if choice.limits is None:
        _emit_neighbours(emit, choice, names, index)
    else:
        _emit_intervals(emit, choice, choice.limits, names[0], index)


def _unused(model: ChoiceModel, names: Sequence[str], index: int) -> Iterator[str]:
    """Yield parameters that no function uses: a compiler would warn."""
    width = len(model.sizes)
    constant = all(
        choice.limits is not None and len({c[index] for c in choice.configurations}) == 1
        for choice in model.choices
    )
    if constant:
        yield from names[:width]
    if len(model.choices) == 1:
        yield from names[width:]


def c_name(text: str) -> str:
    """Return a size as part of a C name: `p.n` and `p->n` are no names."""
    return re.sub(r"\W+", "_", text, flags=re.ASCII)


def c_names(model: ChoiceModel) -> list[str]:
    """Return the names in C of the sizes, and then of the given values."""
    return [f"cutune_{c_name(name)}" for name in (*model.sizes, *model.given)]


def given_tests(model: ChoiceModel, choice: FittedClassifier) -> list[str]:
    pairs = zip(model.given, choice.given, strict=True)
    return [f"cutune_{c_name(name)} == {c_integer(value)}" for name, value in pairs]


def range_tests(model: ChoiceModel, choice: FittedClassifier) -> list[str]:
    """Return tests in C whether sizes are among those that were measured."""
    ranges = zip(c_names(model), choice.lowest, choice.highest, strict=False)
    return [f"{n} >= {c_integer(low)} && {n} <= {c_integer(high)}" for n, low, high in ranges]


def _emit_intervals(
    emit: Emitter, rule: FittedClassifier, limits: Iterable[int], size: str, index: int
) -> None:
    values = [label[index] for label in rule.configurations]
    for limit, (value, following) in zip(limits, pairwise(values), strict=True):
        if value != following:
            emit(f"if ({size} <= {c_integer(limit)}) return {c_integer(value)};")
    emit(f"return {c_integer(values[-1])};")


def _emit_neighbours(
    emit: Emitter, rule: FittedClassifier, names: Sequence[str], index: int
) -> None:
    points = rule.points or ()
    count, width = len(points), len(points[0])
    emit(f"static const long long cutune_points[{count}][{width + 1}] = {{")
    for point, label in zip(points, rule.configurations, strict=True):
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


def condition_c(where: str, name_of: Callable[[str], str]) -> str:
    """Return a condition as a C expression of doubles, which hold sizes below 2^53 exactly."""
    return _text(read_condition(where), name_of)


def _text(tree: Expression, name_of: Callable[[str], str]) -> str:
    children = tree.children
    match tree.data:
        case "number":
            return f"{children[0]}.0"
        case "name":
            return f"(double){name_of(str(children[0]))}"
        case "call":
            return _call(str(children[0]), [_text(subtree(c), name_of) for c in children[1:]])
        case "condition" | "conjunction":
            joint = " || " if tree.data == "condition" else " && "
            return f"({joint.join(_text(subtree(child), name_of) for child in children)})"
        case "comparison":
            left, right = (_text(subtree(child), name_of) for child in children[::2])
            tests = [f"{divisor} != 0.0" for divisor in _divisors(tree, name_of)]
            return f"({' && '.join([*tests, f'({left} {children[1]} {right})'])})"
    text = _text(subtree(children[0]), name_of)
    for sign, child in zip(children[1::2], children[2::2], strict=True):
        right = _text(subtree(child), name_of)
        text = f"__builtin_fmod({text}, {right})" if sign == "%" else f"({text} {sign} {right})"
    return text


def _divisors(tree: Expression, name_of: Callable[[str], str]) -> list[str]:
    """Return the divisors of a comparison that may be 0: there not even `!=` is true."""
    found = [
        _text(subtree(divisor), name_of)
        for product in tree.find_data("term")
        for sign, divisor in zip(product.children[1::2], product.children[2::2], strict=True)
        if str(sign) != "*"
        and (subtree(divisor).data != "number" or int(str(subtree(divisor).children[0])) == 0)
    ]
    return list(dict.fromkeys(found))


def _call(name: str, operands: list[str]) -> str:
    if name in ("ceil", "floor"):
        return f"__builtin_{name}({operands[0]})"
    text = operands[0]
    for operand in operands[1:]:
        text = f"__builtin_f{name}({text}, {operand})"
    return text


#: Without headers, which could change what the program calls: see `cutune_host.h`.
LIBRARY = """\
extern "C" {
char *cutune_environment(const char *) asm("getenv");
int cutune_number(const char *) asm("atoi");
extern struct _IO_FILE *cutune_stderr asm("stderr");
int cutune_say(void *, const char *, ...) asm("fprintf");
}
"""


def run_mode(name: str) -> str:
    """Return a C function of this name; it needs `LIBRARY`.

    As `cutune_read_mode` of `cutune_choice.h` reads it for launches: words with commas between.
    """
    return f"""\
// 0: the program's own values (CUTUNE=off); 1: chosen ones; 2: these are shown (CUTUNE=verbose).
static inline int {name}() {{
    static const int mode = []() -> int {{
        const char *at = cutune_environment("CUTUNE");
        int known = 1;
        while (at != nullptr && *at != 0) {{
            const unsigned long letters = __builtin_strcspn(at, ", ");
            if (letters == 3 && __builtin_memcmp(at, "off", letters) == 0) return 0;
            if (letters == 7 && __builtin_memcmp(at, "verbose", letters) == 0) known = 2;
            at += letters + (at[letters] != 0);
        }}
        return known;
    }}();
    return mode;
}}
"""
