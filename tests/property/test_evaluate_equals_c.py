"""The strongest test of the project: `evaluate` equals the compiled C, to the last bit."""

from __future__ import annotations

import ctypes
import random
import subprocess
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from pycparser import c_ast, c_parser

from cutune.emit import c_text, emit_choice, emit_model, emit_operators
from cutune.models.mechanistic import TIME, TIME_WITH_FLOOR
from cutune.rational_program import (
    CANDIDATE,
    Constant,
    Definition,
    Expression,
    Lookup,
    Operation,
    Operator,
    Parameter,
    RationalProgram,
    evaluate,
)
from cutune.selection import choose, selection_rule
from cutune.toolchain import host_compiler

CANDIDATES = 12
SIZES = ("NI", "NJ")
PROGRAMS = 40
POINTS = ((1, 1), (7, 31), (512, 513), (1000, 1024), (30000, 3))


def random_expression(rng: random.Random, names: list[str], depth: int) -> Expression:
    if depth == 0 or rng.random() < 0.15:
        if rng.random() < 0.3:
            return Constant(Fraction(rng.randint(-40, 400), rng.choice([1, 2, 3, 7, 1000])))
        return Parameter(rng.choice(names))
    if rng.random() < 0.1:
        index = Operation(Operator.REMAINDER, (Parameter(rng.choice(SIZES)), Constant(Fraction(8))))
        return Lookup("table", index)
    operator = rng.choice(list(Operator))
    width = {Operator.FLOOR: 1, Operator.CEILING: 1, Operator.CHOICE: 3}.get(operator, 2)
    return Operation(
        operator, tuple(random_expression(rng, names, depth - 1) for _ in range(width))
    )


def random_program(seed: int) -> RationalProgram:
    rng = random.Random(seed)
    names = [*SIZES]
    definitions = []
    for index in range(8):
        if index == 3:
            names += ["width", CANDIDATE]
        name = {6: TIME, 7: TIME_WITH_FLOOR}.get(index, f"step_{index}")
        definitions.append(Definition(name, random_expression(rng, names, 4)))
        names.append(name)
    return RationalProgram(
        SIZES,
        {"width": tuple(rng.randint(1, 64) for _ in range(CANDIDATES))},
        {"table": tuple(Fraction(float(np.float32(rng.uniform(0, 99)))) for _ in range(8))},
        tuple(definitions),
        CANDIDATES,
    )


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    folder: Path = tmp_path_factory.mktemp("emitted")
    source = folder / "emitted.cpp"
    parts = []
    for seed in range(PROGRAMS):
        name = f"p{seed}"
        arguments = "cutune_sizes[0], cutune_sizes[1], cutune_time, cutune_time_with_floor"
        parts += [
            emit_model(random_program(seed), name),
            f'extern "C" void {name}(const long long *cutune_sizes, double *cutune_time, '
            f"double *cutune_time_with_floor) {{ cutune_model_{name}({arguments}); }}\n",
        ]
    rule = selection_rule([(1 << i, 32, 1) for i in range(CANDIDATES)], False, Fraction(4))
    parts += [
        emit_choice(rule, "rule"),
        'extern "C" int choose_rule(const double *a, const double *b, const unsigned char *v, '
        "int own) { return cutune_choose_rule(a, b, v, own); }\n",
    ]
    text = "".join(parts)
    source.write_text(emit_operators(text) + text)
    target = folder / "emitted.so"
    # -ffp-contract=off: the standard's meaning of a * b + c, as on every x86-64 without -march.
    flags = ["-O2", "-std=c++11", "-ffp-contract=off", "-shared", "-fPIC"]
    warnings = ["-Wall", "-Wextra", "-Wconversion", "-Werror"]
    subprocess.run([host_compiler(), *flags, *warnings, str(source), "-o", str(target)], check=True)
    return ctypes.CDLL(str(target))


@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_evaluate_equals_compiled_c(library: ctypes.CDLL, seed: int) -> None:
    program = random_program(seed)
    for point in POINTS:
        sizes = (ctypes.c_longlong * 2)(*point)
        outputs = [(ctypes.c_double * CANDIDATES)() for _ in range(2)]
        getattr(library, f"p{seed}")(sizes, *outputs)
        expected = evaluate(program, dict(zip(SIZES, point, strict=True)))
        for name, output in zip((TIME, TIME_WITH_FLOOR), outputs, strict=True):
            wanted = np.broadcast_to(expected[name], CANDIDATES)
            np.testing.assert_array_equal(np.array(output), wanted)


def test_the_emitted_rule_equals_the_rule(library: ctypes.CDLL) -> None:
    blocks = [(1 << i, 32, 1) for i in range(CANDIDATES)]
    rule = selection_rule(blocks, False, Fraction(4))
    rng = np.random.default_rng(7)
    for _ in range(2000):
        scale = rng.choice([1.0, 100.0])
        time = np.round(scale * (4 + rng.random(CANDIDATES) * rng.choice([0.03, 3.0])), 2)
        floored = np.maximum(time, rng.choice([0.0, scale * 4.1]))
        valid = rng.random(CANDIDATES) < 0.7
        own = int(rng.integers(-1, CANDIDATES))
        original = blocks[own] if own >= 0 else (7, 7, 7)
        expected = choose(rule, time, floored, valid, original)
        doubles = ctypes.c_double * CANDIDATES
        flags = (ctypes.c_ubyte * CANDIDATES)(*valid.astype(int).tolist())
        found = library.choose_rule(doubles(*time), doubles(*floored), flags, own)
        assert found == (-1 if expected is None else expected)


@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_emitted_c_reads_back_as_the_same_tree(seed: int) -> None:
    for definition in random_program(seed).definitions:
        text = c_text(definition.value, "p")
        tree = c_parser.CParser().parse(f"double value = {text};").ext[0].init
        assert same_tree(tree, definition.value)


def same_tree(tree: c_ast.Node, value: Expression) -> bool:
    """Is the C syntax tree that of the expression?"""
    match tree, value:
        case c_ast.Constant(), Constant():
            return float(tree.value) == float(value.value)
        case c_ast.UnaryOp(op="-"), Constant():
            return -float(tree.expr.value) == float(value.value)
        case c_ast.ID(), Parameter():
            return bool(tree.name == f"cutune_{value.name}")
        case c_ast.Cast(), Lookup():
            array = tree.expr
            return bool(array.name.name == f"cutune_p_{value.table}") and same_tree(
                array.subscript.expr, value.index
            )
        case c_ast.BinaryOp(), Operation():
            children = [tree.left, tree.right]
            matches = tree.op == value.operator.value
        case c_ast.FuncCall(), Operation():
            children = tree.args.exprs
            matches = tree.name.name == CALLED[value.operator]
        case _:
            return False
    return matches and all(
        same_tree(child, operand) for child, operand in zip(children, value.operands, strict=True)
    )


CALLED = {
    Operator.MINIMUM: "cutune_minimum",
    Operator.MAXIMUM: "cutune_maximum",
    Operator.REMAINDER: "cutune_remainder",
    Operator.FLOOR: "cutune_floor",
    Operator.CEILING: "cutune_ceiling",
    Operator.LESS: "cutune_less",
    Operator.LESS_EQUAL: "cutune_less_equal",
    Operator.EQUAL: "cutune_equal",
    Operator.CHOICE: "cutune_choice",
}
