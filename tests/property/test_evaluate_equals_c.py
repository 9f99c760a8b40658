"""The strongest test of the project: `evaluate` equals the compiled C, to the last bit."""

from __future__ import annotations

import ctypes
import random
import re
import subprocess
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from pycparser import c_ast, c_parser

from cutune.model.emit.emitter import Emitter, Tables
from cutune.model.emit.model import OUTPUTS, emit_model, padded, simplify
from cutune.model.emit.routine import emit_rule
from cutune.model.performance.constants import (
    OWN_BAND_DATA_LARGER,
    OWN_BAND_DATA_SMALLER,
    OWN_BAND_STRAIGHT,
)
from cutune.model.performance.definitions import TIME, TIME_WITH_FLOOR
from cutune.model.rational.program import (
    CANDIDATE,
    Cell,
    Constant,
    Definition,
    Expression,
    Lookup,
    Operation,
    Operator,
    RationalProgram,
    Reference,
    evaluate,
)
from cutune.model.selection.choose import OwnBand, SelectionRule, choose, selection_rule
from cutune.toolchain.nvcc import INCLUDE_DIRECTORY, host_compiler

CANDIDATES = 13  # odd: the last round has a lane to spare
HEADERS = [INCLUDE_DIRECTORY / f"cutune_{name}.h" for name in ("tables", "operators")]
SELECT = INCLUDE_DIRECTORY / "cutune_select.h"
SIZES = ("NI", "NJ")
PROGRAMS = 40
ROWS = 5
POINTS = ((1, 1), (7, 31), (512, 513), (1000, 1024), (30000, 3))


def random_expression(rng: random.Random, names: list[str], depth: int) -> Expression:
    if depth == 0 or rng.random() < 0.15:
        if rng.random() < 0.3:
            return Constant(Fraction(rng.randint(-40, 400), rng.choice([1, 2, 3, 7, 1000])))
        return Reference(rng.choice(names))
    if CANDIDATE in names and rng.random() < 0.1:
        row = Operation(
            Operator.REMAINDER, (Reference(rng.choice(SIZES)), Constant(Fraction(ROWS)))
        )
        table = rng.choice(["rows", "equal_rows"])
        return rng.choice([Cell(table, row), Lookup("one_row", Reference(CANDIDATE))])
    if rng.random() < 0.1:
        index = Operation(Operator.REMAINDER, (Reference(rng.choice(SIZES)), Constant(Fraction(8))))
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
            names += ["width", "height", CANDIDATE]
        name = {6: TIME, 7: TIME_WITH_FLOOR}.get(index, f"step_{index}")
        definitions.append(Definition(name, random_expression(rng, names, 4)))
        names.append(name)
    row, other = (
        [float(np.float32(rng.choice((-0.5, 0.1, 7)))) for _ in range(CANDIDATES)] for _ in range(2)
    )
    return RationalProgram(
        SIZES,
        {
            "width": tuple(rng.randint(1, 64) for _ in range(CANDIDATES)),
            # Few values: what depends on it alone is evaluated once per value.
            "height": tuple(rng.choice((1, 2, 3, 64)) for _ in range(CANDIDATES)),
        },
        {
            "table": tuple(float(np.float32(rng.uniform(0, 99))) for _ in range(8)),
            "rows": tuple(float(rng.randint(-9, 99)) for _ in range(ROWS * CANDIDATES)),
            "equal_rows": (*row, *other, *row, *row, *other),
            "one_row": tuple(row),
        },
        tuple(definitions),
        CANDIDATES,
    )


def _rule(band: OwnBand, candidates: int = CANDIDATES) -> SelectionRule:
    # In no order.
    blocks = [(1 << 5 * i % CANDIDATES, 32, 1) for i in range(candidates)]
    return selection_rule(blocks, False, Fraction(4), band)


RULES = {
    "alike": _rule(OwnBand.of(OWN_BAND_STRAIGHT)),
    "apart": _rule(OwnBand(OWN_BAND_DATA_SMALLER, OWN_BAND_DATA_LARGER)),
    **{f"of_{few}": _rule(OwnBand.of(OWN_BAND_STRAIGHT), few) for few in (1, 3, 4)},
}


#: What the rule needs of CUDA and of other headers, for the host compiler alone.
WITHOUT_CUDA = """
#include <string.h>
struct dim3 {
    unsigned x, y, z;
    dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {}
};
struct cutune_variant;
struct cutune_site { const cutune_variant *variants; int variant_count; };
struct cutune_chosen { dim3 block; double us; int variant; };
static inline cutune_chosen cutune_only_block(dim3 block) {
    const cutune_chosen only = {block, 0, 0};
    return only;
}
struct cutune_variant { const char *name; };
struct cutune_shortlist { unsigned long long key; };
static long long cutune_most_blocks(int d) { return d != 0 ? 65535 : 2147483647; }
struct cutune_device { int multiprocessors, major, minor; };
struct cutune_request {
    dim3 grid, block;
    long long extent[3];
    unsigned guarded;
    const cutune_site *site;
    unsigned allowed;
};
cutune_device cutune_current_device();
bool cutune_is_verbose();
extern struct _IO_FILE *cutune_stderr;
int cutune_say(void *, const char *, ...);
bool cutune_needs_warps(const cutune_site &, const cutune_request &);
bool cutune_keeps_warps(dim3, dim3);
unsigned long long cutune_hash(const char *, const long long *, int);
template <class All>
void cutune_list_blocks(cutune_shortlist *, const double *, const unsigned char *, const All &,
                        int, int, int);
static inline long long cutune_threads(dim3 block) {
    return static_cast<long long>(block.x) * block.y * block.z;
}
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    folder: Path = tmp_path_factory.mktemp("emitted")
    parts, tables = [WITHOUT_CUDA, SELECT.read_text()], Tables()
    for seed in range(PROGRAMS):
        name = f"p{seed}"
        sizes = (f"static_cast<double>(cutune_sizes[{place}])" for place in range(len(SIZES)))
        arguments = ", ".join([*sizes, "cutune_time, cutune_time_with_floor"])
        parts += [
            emit_model(random_program(seed), name, tables),
            f'extern "C" void {name}(const long long *cutune_sizes, double *cutune_time, '
            f"double *cutune_time_with_floor) {{ cutune_model_{name}({arguments}); }}\n",
        ]
    for name, rule in RULES.items():
        emit = Emitter()
        emit(f'extern "C" int choose_{name}(const double *a, const double *b,')
        with emit.braces("    const unsigned char *v, int own)"):
            emit_rule(emit, rule, ('"k"', '"threads"', "7u", "0u"), tables)
            emit(f"return cutune_choose<{len(rule.blocks)}>(cutune_all, a, b, v, own);")
        parts.append(str(emit))
    parts.insert(2, str(tables))
    return compiled("".join(parts), folder)


def compiled(text: str, folder: Path) -> ctypes.CDLL:
    """Emitted code as a library, without a warning."""
    source, target = folder / "emitted.cpp", folder / "emitted.so"
    source.write_text("".join(header.read_text() for header in HEADERS) + text)
    # -ffp-contract=off: the standard's meaning of a * b + c, as on every x86-64 without -march.
    flags = ["-O2", "-std=c++11", "-ffp-contract=off", "-shared", "-fPIC"]
    warnings = ["-Wall", "-Wextra", "-Wconversion", "-Werror"]
    subprocess.run([host_compiler(), *flags, *warnings, str(source), "-o", str(target)], check=True)
    return ctypes.CDLL(str(target))


@pytest.mark.long
@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_evaluate_equals_compiled_c(library: ctypes.CDLL, seed: int) -> None:
    program = random_program(seed)
    for point in POINTS:
        sizes = (ctypes.c_longlong * 2)(*point)
        outputs = [(ctypes.c_double * padded(CANDIDATES))() for _ in range(2)]
        getattr(library, f"p{seed}")(sizes, *outputs)
        expected = evaluate(program, dict(zip(SIZES, point, strict=True)))
        for name, output in zip((TIME, TIME_WITH_FLOOR), outputs, strict=True):
            wanted = np.broadcast_to(expected[name], CANDIDATES)
            np.testing.assert_array_equal(np.array(output)[:CANDIDATES], wanted)


def test_more_shapes_than_a_byte_counts(tmp_path: Path) -> None:
    count, shapes = 601, 300
    rows = [[float((7 * c) % shapes + row) for c in range(count)] for row in (0, 5, 0)]
    row = Operation(Operator.REMAINDER, (Reference("NI"), Constant(Fraction(3))))
    definitions = (
        Definition(TIME, Cell("rows", row)),
        Definition(TIME_WITH_FLOOR, Reference(TIME) + Reference("NJ")),
    )
    table = tuple(value for one in rows for value in one)
    program = RationalProgram(SIZES, {}, {"rows": table}, definitions, count)
    tables = Tables()
    text = emit_model(program, "p", tables).replace("static inline void", 'extern "C" void')
    function = compiled(str(tables) + text, tmp_path)
    for size in range(3):
        outputs = [(ctypes.c_double * padded(count))() for _ in range(2)]
        function.cutune_model_p(ctypes.c_double(size), ctypes.c_double(4), *outputs)
        assert list(outputs[0])[:count] == rows[size]
        assert list(outputs[1])[:count] == [value + 4 for value in rows[size]]


@pytest.mark.parametrize("name", RULES)
def test_the_emitted_rule_equals_the_rule(library: ctypes.CDLL, name: str) -> None:
    rule = RULES[name]
    blocks, count = rule.blocks, len(rule.blocks)
    rng = np.random.default_rng(7)
    for _ in range(2000):
        scale = rng.choice([1.0, 100.0])
        time = np.round(scale * (4 + rng.random(count) * rng.choice([0.03, 3.0])), 2)
        floored = np.maximum(time, rng.choice([0.0, scale * 4.1]))
        valid = rng.random(count) < 0.7
        own = int(rng.integers(-1, count))
        original = blocks[own] if own >= 0 else (7, 7, 7)
        expected = choose(rule, time, floored, valid, original)
        doubles = ctypes.c_double * count
        flags = (ctypes.c_ubyte * count)(*valid.astype(int).tolist())
        found = getattr(library, f"choose_{name}")(doubles(*time), doubles(*floored), flags, own)
        assert found == (-1 if expected is None else expected)


@pytest.mark.parametrize(
    ("few", "own", "chosen"), [(1, -1, -1), (3, -1, -1), (4, -1, 2), (3, 0, 2)]
)
def test_few_candidates_take_no_place_of_an_unknown_block(
    library: ctypes.CDLL, few: int, own: int, chosen: int
) -> None:
    rule, times = RULES[f"of_{few}"], [80.0, 70.0, 20.0, 60.0][:few]
    original = rule.blocks[own] if own >= 0 else (7, 7, 7)
    expected = choose(rule, np.array(times), np.array(times), np.full(few, True), original)
    doubles, valid = (ctypes.c_double * few)(*times), (ctypes.c_ubyte * few)(*[1] * few)
    assert expected == (None if chosen < 0 else chosen)
    assert getattr(library, f"choose_of_{few}")(doubles, doubles, valid, own) == chosen


@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_the_emitted_function_reads_back_as_the_program(seed: int) -> None:
    program = random_program(seed)
    function = EmittedFunction.parse(emit_model(program, "p", Tables()))
    for definition in simplify(program, OUTPUTS).definitions:
        if definition.name in function.values:
            assert function.is_same(function.values[definition.name], definition.value)
    assert {TIME, TIME_WITH_FLOOR} <= function.values.keys()


@dataclass
class EmittedFunction:
    """The C syntax tree of a model: what each name, row and part stands for."""

    values: dict[str, c_ast.Node]
    rows: dict[str, tuple[str, c_ast.Node]]
    parts: dict[str, c_ast.Node]
    #: Per array between two loops the name whose values stand there.
    arrays: dict[int, str]

    @staticmethod
    def parse(text: str) -> EmittedFunction:
        text = "typedef double cutune_lanes;\n" + text.replace("static inline void", "void")
        # A reference is no C.
        text = text.replace("const cutune_all_tables &tables_ = cutune_read_tables();", "")
        text = re.sub(r"CUTUNE_EACH\(\w+, \d+\)", "for (;;)", text)
        body = c_parser.CParser().parse(text).ext[-1].body
        found = EmittedFunction({}, {}, {}, {})
        for statement in body.block_items:
            inner = statement.stmt.block_items if isinstance(statement, c_ast.For) else [statement]
            for one in inner:
                found.add(one)
        return found

    def add(self, statement: c_ast.Node) -> None:
        if isinstance(statement, c_ast.FuncCall) and statement.name.name == "cutune_store":
            place, value = statement.args.exprs
            if isinstance(place.left, c_ast.ArrayRef):
                assert place.left.name.name == "each_"
                self.arrays[int(place.left.subscript.value)] = value.name
            elif place.left.name.startswith("part_"):
                self.parts[place.left.name] = value
        elif isinstance(statement, c_ast.Decl) and statement.name.startswith("row_"):
            table = statement.init.name.field.name
            self.rows[statement.name] = (table, statement.init.subscript)
        elif isinstance(statement, c_ast.Decl) and (number := between_loops(statement.init)) >= 0:
            assert self.arrays[number] == statement.name
        elif isinstance(statement, c_ast.Decl) and statement.init is not None:
            self.values[statement.name.removesuffix("_")] = statement.init

    def is_same(self, tree: c_ast.Node, value: Expression) -> bool:
        """Is the C syntax tree that of the expression?"""
        match tree, value:
            case c_ast.FuncCall(name=c_ast.ID(name="cutune_all")), _:
                return self.is_same(tree.args.exprs[0], value)
            case c_ast.FuncCall(name=c_ast.ID(name="cutune_pick" | "cutune_load")), Cell():
                table, row = self.rows[read_from(tree)]
                return table == f"{value.table}_" and self.is_same(row, value.place)
            case c_ast.FuncCall(name=c_ast.ID(name="cutune_pick" | "cutune_load")), Lookup():
                is_table = read_from(tree) == f"{value.table}_"
                return is_table and value.place == Reference(CANDIDATE)
            case c_ast.FuncCall(name=c_ast.ID(name="cutune_pick")), _:
                return self.is_same(self.parts[tree.args.exprs[0].name], value)
            case c_ast.FuncCall(name=c_ast.ID(name="cutune_look" | "cutune_at")), Lookup():
                table, index = tree.args.exprs
                return table.name == f"cutune_t_{value.table}" and self.is_same(index, value.place)
            case c_ast.Constant(), Constant():
                return float(tree.value) == float(value.value)
            case c_ast.UnaryOp(op="-"), Constant():
                return -float(tree.expr.value) == float(value.value)
            case c_ast.ID(), Reference():
                return bool(tree.name == f"{value.name}_")
            case c_ast.BinaryOp(), Operation():
                children = [tree.left, tree.right]
                matches = tree.op == value.operator.value
            case c_ast.FuncCall(), Operation():
                children = tree.args.exprs
                matches = tree.name.name == CALLED[value.operator]
            case _:
                return False
        return matches and all(map(self.is_same, children, value.operands))


def between_loops(value: c_ast.Node | None) -> int:
    """The array from which a value of an earlier loop is read; -1: none is."""
    if not isinstance(value, c_ast.FuncCall) or value.name.name != "cutune_load":
        return -1
    place = value.args.exprs[0].left
    is_array = isinstance(place, c_ast.ArrayRef) and getattr(place.name, "name", "") == "each_"
    return int(place.subscript.value) if is_array else -1


def read_from(call: c_ast.FuncCall) -> str:
    """The array or row that `cutune_pick(it, …)`, `cutune_load(it + …)` or `(…it[0] + …)` reads."""
    first = call.args.exprs[0]
    place = first.left if isinstance(first, c_ast.BinaryOp) else first
    return str(place.name.field.name if isinstance(place, c_ast.ArrayRef) else place.name)


CALLED = {
    Operator.MIN: "cutune_min",
    Operator.MAX: "cutune_max",
    Operator.REMAINDER: "cutune_remainder",
    Operator.FLOOR: "cutune_floor",
    Operator.CEILING: "cutune_ceiling",
    Operator.LESS: "cutune_less",
    Operator.LESS_EQUAL: "cutune_less_equal",
    Operator.EQUAL: "cutune_equal",
    Operator.CHOICE: "cutune_choice",
    Operator.NORM_2: "cutune_norm_2",
    Operator.NORM_3: "cutune_norm_3",
    Operator.NORM_8: "cutune_norm_8",
}
