"""T1: what other tuners write is read, and nothing in it is run."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import product
from pathlib import Path

import pytest

from cutune.core.diagnostics import CutuneError
from cutune.space.annotation import Condition, Value
from cutune.space.columns import is_true
from cutune.space.parameter import Parameter, read_option
from cutune.space.space import Space
from cutune.space.t1 import (
    ExpressionError,
    read_python_condition,
    read_python_values,
    read_t1,
    to_t1,
)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("[1, 2, 4]", [1, 2, 4]),
        ("[1, 2] + list(range(32, 128+1, 32))", [1, 2, 32, 64, 96, 128]),
        ("[2**i for i in range(0, 6)]", [1, 2, 4, 8, 16, 32]),
        ("[i for i in range(1, 13) if 12 % i == 0]", [1, 2, 3, 4, 6, 12]),
        ("[1] + [2*i for i in range(1,4)]", [1, 2, 4, 6]),
        ("range(3)", [0, 1, 2]),
        ("list(range(8, 0, -2))", [8, 6, 4, 2]),
        ("['none', 'fast', \"slow\"]", ["none", "fast", "slow"]),
        ("[0.5, 1.0, -3, 2/3]", [Fraction(1, 2), 1, -3, Fraction(2, 3)]),
        ("[True, False]", [1, 0]),
        ("(1, 2)", [1, 2]),
        ("([1]+[2])", [1, 2]),
        ("[]", []),
        ("[4*x+y for x in [1,2] for y in [1]]", None),
        ("[max(1, 2, 3), min(4, 5), abs(-3), math.ceil(7/2)]", [3, 4, 3, 4]),
    ],
)
def test_values(text: str, values: list[Value] | None) -> None:
    if values is None:
        with pytest.raises(ExpressionError):
            read_python_values(text)
    else:
        assert read_python_values(text) == values


@pytest.mark.parametrize(
    "text",
    [
        "32 <= a * b <= 1024",
        "a > 1 or b == 0 and not a == b",
        "not (a > 3 and b > 3) or a % 3 == 1",
        "a in [1, 3, 5] and b != 4",
        "(a % ((b + 1) // 2 + 1)) == 0",
        "2**a < b + -3",
        "a / (b + 1) > 0.5",
        "-a // 3 == -2 or -(a // 3) == -1",
        "min(a, b, 3) == abs(b - a)",
        "a and not b",
        "a - b - 1 > 0 and a * b % 5 >= 2",
    ],
)
def test_conditions_mean_what_they_mean_in_python(text: str) -> None:
    condition = Condition(text, read_python_condition(text))
    names = [Parameter(name, tuple(range(8))) for name in "ab"]
    wanted = []
    for a, b in product(range(8), repeat=2):
        # The texts of this test are the only ones that are ever evaluated as Python.
        if eval(text, {"a": a, "b": b}):
            wanted.append({"a": a, "b": b})
    found = [dict(one) for one in Space.of(names, [condition])]
    assert sorted(found, key=lambda one: (one["a"], one["b"])) == wanted
    assert wanted and len(wanted) < 64
    assert [one for one in wanted if not is_true(condition, one)] == []


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('true')",
        "open('x')",
        "(lambda: 1)()",
        "a.b.c(1)",
        "[x for x in a]",
        "a if b else 1",
        "a[0]",
        "a; b",
        "a = 1",
        "a in b",
        "ceil(1, 2)",
        "",
        "a ==",
        "'it''s'",
        "(" * 3000 + "a" + ")" * 3000,
    ],
)
def test_code_is_refused(text: str) -> None:
    with pytest.raises(ExpressionError):
        read_python_condition(text)


@pytest.mark.parametrize(
    "text",
    ["[n]", "[1/0]", "range(1, 2, 0)", "range(0.5)", "list(range(10**9))", "7", "['a' + 1]", "[1"],
)
def test_values_that_have_no_value_are_refused(text: str) -> None:
    with pytest.raises(ExpressionError):
        read_python_values(text)


def written(path: Path, parameters: object, conditions: object = ()) -> Path:
    space = {"TuningParameters": parameters, "Conditions": conditions}
    path.write_text(json.dumps({"ConfigurationSpace": space}))
    return path


def test_a_space_comes_back(tmp_path: Path) -> None:
    options = ["BLOCK=1..64", "STORE=cached,streamed", "R=none,20,40", "W=1,2,4"]
    texts = [
        "ceil(BLOCK / W) % 2 == 0 && n >= 2 * BLOCK",
        "STORE == cached || R != none",
        "8 * BLOCK + 128 <= device.shared",
        "floor((BLOCK + 1) / W) - 1 > 0 || min(BLOCK, W) == 1",
    ]
    known: dict[str, Value] = {"n": 64, "device.shared": 400}
    space = Space.of(map(read_option, options), map(Condition.read, texts), known)
    path = tmp_path / "space.json"
    path.write_text(json.dumps(to_t1(space, {"BLOCK": 32, "R": "none"}, {"KernelName": "k"})))
    read = read_t1(path)
    again = Space.of(read.parameters, read.conditions, {"n": 64})
    assert again.parameters == space.parameters and again.size == space.size < space.raw_size
    assert all(one in again for one in space)
    entry = json.loads(path.read_text())["ConfigurationSpace"]["TuningParameters"][0]
    assert (entry["Default"], entry["Type"]) == (32, "int")
    conditions = json.loads(path.read_text())["ConfigurationSpace"]["Conditions"]
    assert [one["Expression"] for one in conditions] == [
        "(((-(-BLOCK // W)) % 2) == 0) and (n >= (2 * BLOCK))",
        "(STORE == 'cached') or (R != 'none')",
        "((8 * BLOCK) + 128) <= 400",
        "((((BLOCK + 1) // W) - 1) > 0) or (min(BLOCK, W) == 1)",
    ]
    assert [one["Parameters"] for one in conditions][1:3] == [["STORE", "R"], ["BLOCK"]]


def test_other_forms_of_the_format_are_read(tmp_path: Path) -> None:
    path = tmp_path / "old.json"
    entries = [
        {"name": "a", "type": "int", "values": [1, 2, 4], "default": 1},
        {"Name": "b", "Type": "bool", "Values": "[True, False]", "Default": True},
        {"Name": "c", "Type": "string", "Values": ["x", "y"]},
    ]
    path.write_text(json.dumps({"configurationSpace": {"tuningParameters": entries}}))
    parameters = read_t1(path).parameters
    assert [p.values for p in parameters] == [(1, 2, 4), (1, 0), ("x", "y")]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("{", "CT806"),
        ("[]", "CT806"),
        ('{"ConfigurationSpace": 3}', "CT806"),
        ('{"ConfigurationSpace": {"TuningParameters": [{"Name": "a"}]}}', "CT806"),
        ('{"ConfigurationSpace": {"TuningParameters": [{"Name": "a b", "Values": [1]}]}}', "CT806"),
        ('{"ConfigurationSpace": {"TuningParameters": [{"Name": "a", "Values": 3}]}}', "CT806"),
        ('{"ConfigurationSpace": {"TuningParameters": [{"Name": "a", "Values": []}]}}', "CT800"),
        (
            '{"ConfigurationSpace": {"TuningParameters": [{"Name": "a", "Values": [1, 1]}]}}',
            "CT800",
        ),
        (
            '{"ConfigurationSpace": {"TuningParameters": [{"Name": "a", "Values": "exit()"}]}}',
            "CT807",
        ),
        ('{"ConfigurationSpace": {"TuningParameters": [], "Conditions": [3]}}', "CT806"),
        (
            '{"ConfigurationSpace": {"TuningParameters": [], "Conditions": '
            '[{"Expression": "exec(1)"}]}}',
            "CT807",
        ),
    ],
)
def test_what_is_no_space_is_said(tmp_path: Path, text: str, code: str) -> None:
    path = tmp_path / "space.json"
    path.write_text(text)
    with pytest.raises(CutuneError) as error:
        read_t1(path)
    assert f"[{code}]" in error.value.diagnostic.render()
