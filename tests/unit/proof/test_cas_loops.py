"""Loops around a compare-and-swap: those that are one atomic operation, and those that are not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from cutune.proof.flow.simplified import without_cas_loops
from cutune.ptx.parse import parse
from cutune.ptx.types import Instruction, Label, Module
from cutune.toolchain.nvcc import find_nvcc
from tests.support.proof_verdicts import compiled

pytestmark = pytest.mark.nvcc

WIDE = "unsigned long long *p = (unsigned long long *)a, old = *p, seen;"
INTEGER = "int *p = (int *)a, old = *p, seen, v = b[i];"
REPEAT = "} while (seen != old);"
#: The body of a kernel over `double *a`, `int *b` and the id i, and the operation it is.
CASES: Mapping[str, tuple[str, str]] = {
    "add_double": (
        f"{WIDE} double v = b[i]; do {{ seen = old; old = atomicCAS(p, seen,"
        f" __double_as_longlong(v + __longlong_as_double(seen))); {REPEAT}",
        "global.add.f64",
    ),
    "add_nearest": (
        f"{WIDE} double v = b[i]; do {{ seen = old; old = atomicCAS(p, seen,"
        f" __double_as_longlong(__dadd_rn(v, __longlong_as_double(seen)))); {REPEAT}",
        "global.add.f64",
    ),
    # No atomic operation rounds so.
    "add_toward_zero": (
        f"{WIDE} double v = b[i]; do {{ seen = old; old = atomicCAS(p, seen,"
        f" __double_as_longlong(__dadd_rz(v, __longlong_as_double(seen)))); {REPEAT}",
        "",
    ),
    # What is added is read anew in each round.
    "read_again": (
        f"{WIDE} do {{ seen = old; old = atomicCAS(p, seen,"
        f" __double_as_longlong(b[i] + __longlong_as_double(seen))); {REPEAT}",
        "",
    ),
    "add_integer": (
        f"{INTEGER} do {{ seen = old; old = atomicCAS(p, seen, seen + v); {REPEAT}",
        "global.add.s32",
    ),
    "exclusive_or": (
        f"{INTEGER} do {{ seen = old; old = atomicCAS(p, seen, v ^ seen); {REPEAT}",
        "global.xor.b32",
    ),
    "least": (
        f"{INTEGER} do {{ seen = old; old = atomicCAS(p, seen, min(seen, v)); {REPEAT}",
        "global.min.s32",
    ),
    "least_float": (
        f"{INTEGER} do {{ seen = old; old = atomicCAS(p, seen,"
        f" __float_as_int(fminf(v, __int_as_float(seen)))); {REPEAT}",
        "global.min.f32",
    ),
    "while_less": (
        f"{INTEGER} while (v < old) {{ seen = old;"
        " if ((old = atomicCAS(p, seen, v)) == seen) break; }",
        "global.min.s32",
    ),
    "while_greater": (
        "unsigned *p = (unsigned *)a, old = *p, seen, v = b[i];"
        " while (v > old) { seen = old; if ((old = atomicCAS(p, seen, v)) == seen) break; }",
        "global.max.u32",
    ),
    "computed_again": (
        "int *p = (int *)a, old = *p, seen, v = i % 101 - 50;"
        " while (v < old) { seen = old; if ((old = atomicCAS(p, seen, v)) == seen) break; }",
        "global.min.s32",
    ),
    # Whether there is anything to do is told by another place.
    "guess_from_elsewhere": (
        "int *p = (int *)a, old = b[i + 1], seen, v = b[i];"
        " while (v < old) { seen = old; if ((old = atomicCAS(p, seen, v)) == seen) break; }",
        "",
    ),
    "guess_of_zero": (
        "int *p = (int *)a, old = 0, seen, v = b[i];"
        " while (v < old) { seen = old; if ((old = atomicCAS(p, seen, v)) == seen) break; }",
        "",
    ),
    # The order in which threads come decides.
    "exchange": (f"{INTEGER} do {{ seen = old; old = atomicCAS(p, seen, v); {REPEAT}", ""),
    "difference": (f"{INTEGER} do {{ seen = old; old = atomicCAS(p, seen, v - seen); {REPEAT}", ""),
    "twice": (f"{INTEGER} do {{ seen = old; old = atomicCAS(p, seen, 2 * seen + v); {REPEAT}", ""),
    "shifted": (f"{INTEGER} do {{ seen = old; old = atomicCAS(p, seen, seen << v); {REPEAT}", ""),
    "product_of_floats": (
        f"{INTEGER} do {{ seen = old; old = atomicCAS(p, seen,"
        f" __float_as_int(v * __int_as_float(seen))); {REPEAT}",
        "",
    ),
    "while_less_double": (
        f"{WIDE} double v = b[i]; while (v < __longlong_as_double(old)) {{ seen = old;"
        " if ((old = atomicCAS(p, seen, __double_as_longlong(v))) == seen) break; }",
        "global.min.f64",
    ),
    "while_greater_float": (
        "int *p = (int *)a, old = *p, seen; float v = b[i]; while (v > __int_as_float(old)) {"
        " seen = old; if ((old = atomicCAS(p, seen, __float_as_int(v))) == seen) break; }",
        "global.max.f32",
    ),
    # The value was computed by a loop, so that several instructions write its register.
    "while_greater_sum": (
        f"{WIDE} double v = 0; for (int k = 0; k < b[i]; ++k) v += b[k];"
        " while (v > __longlong_as_double(old)) {"
        " seen = old; if ((old = atomicCAS(p, seen, __double_as_longlong(v))) == seen) break; }",
        "global.max.f64",
    ),
    # A relaxed load orders nothing, an acquiring one does.
    "relaxed_guess": (
        "unsigned long long *p = (unsigned long long *)a, seen, old;"
        ' asm volatile("ld.relaxed.sys.b64 %0, [%1];" : "=l"(old) : "l"(p));'
        " double v = 0; for (int k = 0; k < b[i]; ++k) v += b[k];"
        " while (v > __longlong_as_double(old)) {"
        " seen = old; if ((old = atomicCAS(p, seen, __double_as_longlong(v))) == seen) break; }",
        "global.max.f64",
    ),
    # The sum that is compared has grown since the one that is stored.
    "while_greater_grown": (
        f"{WIDE} double v = 0; for (int k = 0; k < b[i]; ++k) v += b[k];"
        " unsigned long long bits = __double_as_longlong(v); if (b[i] > 7) v += 3;"
        " while (v > __longlong_as_double(old)) {"
        " seen = old; if ((old = atomicCAS(p, seen, bits)) == seen) break; }",
        "",
    ),
    "while_greater_other_sum": (
        f"{WIDE} double v = 0, w = 0;"
        " for (int k = 0; k < b[i]; ++k) { v += b[k]; w += b[k + 1]; }"
        " while (v > __longlong_as_double(old)) {"
        " seen = old; if ((old = atomicCAS(p, seen, __double_as_longlong(w))) == seen) break; }",
        "",
    ),
    # What is no number would be stored, and then replaced by whatever comes next.
    "while_not_more_float": (
        "int *p = (int *)a, old = *p, seen; float v = b[i]; while (!(v <= __int_as_float(old))) {"
        " seen = old; if ((old = atomicCAS(p, seen, __float_as_int(v))) == seen) break; }",
        "",
    ),
    "another_value_float": (
        "int *p = (int *)a, old = *p, seen; float v = b[i]; while (v > __int_as_float(old)) {"
        " seen = old; if ((old = atomicCAS(p, seen, __float_as_int(-v))) == seen) break; }",
        "",
    ),
    # What was there is used.
    "told": (
        f"{INTEGER} do {{ seen = old; old = atomicCAS(p, seen, seen + v); {REPEAT} b[i] = old;",
        "",
    ),
    "counted": (
        f"{INTEGER} int n = 0; do {{ seen = old; old = atomicCAS(p, seen, seen + v); ++n; {REPEAT}"
        " b[i] = n;",
        "",
    ),
    # Another value in each round, another place, another end.
    "growing": (
        f"{INTEGER} do {{ seen = old; old = atomicCAS(p, seen, seen + v); v += 3; {REPEAT}",
        "",
    ),
    "walking": (f"{INTEGER} do {{ seen = old; old = atomicCAS(p++, seen, seen + v); {REPEAT}", ""),
    "once": (f"{INTEGER} seen = old; old = atomicCAS(p, seen, seen + v);", ""),
    "until_it_fails": (
        f"{INTEGER} do {{ seen = old; old = atomicCAS(p, seen, seen + v); }} while (seen == old);",
        "",
    ),
    "limited": (
        f"{INTEGER} while (old < 100) {{ seen = old;"
        " if ((old = atomicCAS(p, seen, seen + v)) == seen) break; }",
        "",
    ),
    "wrong_way": (
        f"{INTEGER} while (v < old) {{ seen = old;"
        " if ((old = atomicCAS(p, seen, v + 1)) == seen) break; }",
        "",
    ),
    "another_guess": (
        f"{INTEGER} do {{ seen = old; old = atomicCAS(p, seen, seen + v); old = seen + 1; "
        "} while (old != 7);",
        "",
    ),
    "stores_too": (
        f"{INTEGER} do {{ seen = old; b[i] = 3; old = atomicCAS(p, seen, seen + v); {REPEAT}",
        "",
    ),
    "fenced": (
        f"{INTEGER} do {{ seen = old; __threadfence(); old = atomicCAS(p, seen, seen + v);"
        f" {REPEAT}",
        "",
    ),
}


@pytest.fixture(scope="module")
def module() -> Module:
    place = "int i = blockIdx.x * blockDim.x + threadIdx.x; "
    bodies = {name: place + body for name, (body, _) in CASES.items()}
    return compiled(bodies, "", "double *a, int *b")


def test_an_acquiring_guess_stays(tmp_path: Path) -> None:
    path = tmp_path / "kernels.cu"
    guess = 'asm volatile("ld.acquire.gpu.b32 %0, [%1];" : "=r"(old) : "l"(a) : "memory");'
    path.write_text(
        f"__global__ void k(int *a, int *b) {{ int v = b[threadIdx.x], old, seen; {guess}"
        " while (v > old) { seen = old; if ((old = atomicCAS(a, seen, v)) == seen) break; } }\n"
    )
    (function,) = parse(find_nvcc().ptx(path)).functions.values()
    items = list(without_cas_loops(function).body or ())
    assert any(isinstance(item, Instruction) and "acquire" in item.modifiers for item in items)


def test_where_a_table_of_jumps_may_lead_into_a_loop_it_stays(module: Module) -> None:
    function = module.functions["while_less"]
    assert without_cas_loops(function) != function
    items = list(function.body or ())
    end = next(i for i in reversed(items) if isinstance(i, Instruction))
    jump = replace(end, opcode="brx", modifiers=("idx",), operands=("%r1", "TABLE"))
    with_jump = replace(function, body=(jump, *items))
    assert without_cas_loops(with_jump) == with_jump


@pytest.mark.parametrize("opcode", ["mov", "setp", "add"])
def test_instructions_without_operands_are_not_understood(module: Module, opcode: str) -> None:
    function = module.functions["add_double"]

    def cut(item: Instruction | Label) -> Instruction | Label:
        if isinstance(item, Instruction) and item.opcode == opcode:
            return replace(item, operands=item.operands[:1])
        return item

    damaged = replace(function, body=tuple(map(cut, function.body or ())))
    assert without_cas_loops(damaged) == damaged


@pytest.mark.parametrize("name", list(CASES))
def test_operation(module: Module, name: str) -> None:
    function = module.functions[name]
    changed = without_cas_loops(function)
    items = [item for item in changed.body or () if isinstance(item, Instruction)]
    found = [".".join(item.modifiers) for item in items if item.opcode == "red"]
    swaps = [item for item in items if item.opcode == "atom" and "cas" in item.modifiers]
    _, expected = CASES[name]
    assert found == ([expected] if expected else [])
    assert bool(swaps) is not bool(expected)
    assert expected or changed.body == function.body
