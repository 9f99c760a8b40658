"""Refused launches as SARIF 2.1.0, and launches that are required to be tunable."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cutune.cli.report.programs import NOT_MODELLED_RULE, lacking, to_sarif
from cutune.core.source import Source
from cutune.source.program import Program
from tests.support.analyzed import analyzed

TEXT = """\
__global__ void tile(int n, float *a)
{
    __shared__ float all[64];
    all[threadIdx.x] = a[threadIdx.x];
    a[threadIdx.x] = all[n - threadIdx.x];
}
__global__ void scale(int n, float *a)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        a[i] *= 2;
}
void all(int n, float *a)
{
    /* \xc3\xa9 */ tile<<<1, 64>>>(n, a);
    scale<<<(n + 63) / 64, 64>>>(n, a);
}
"""
#: Of the schema: object → properties that it must have, and those that it may have.
SCHEMA: dict[str, tuple[set[str], set[str]]] = {
    "log": ({"version", "runs"}, {"$schema"}),
    "run": ({"tool"}, {"results", "columnKind"}),
    "tool": ({"driver"}, set()),
    "driver": ({"name"}, {"version", "rules"}),
    "rule": ({"id"}, {"name", "shortDescription", "fullDescription", "defaultConfiguration"}),
    "result": ({"message"}, {"ruleId", "ruleIndex", "level", "locations"}),
    "text": ({"text"}, set()),
    "location": (set(), {"physicalLocation", "logicalLocations"}),
    "physical": ({"artifactLocation", "region"}, set()),
    "region": (set(), {"startLine", "startColumn", "endLine", "endColumn"}),
}
LEVELS = ("none", "note", "warning", "error")


def has(value: dict[str, Any], kind: str) -> None:
    must, may = SCHEMA[kind]
    assert must <= {*value} <= must | may, kind


def checked(document: dict[str, Any]) -> list[dict[str, Any]]:
    """The results of a document that has what the schema wants."""
    document = json.loads(json.dumps(document))
    has(document, "log")
    assert document["version"] == "2.1.0"
    (run,) = document["runs"]
    has(run, "run")
    assert run["columnKind"] in ("utf16CodeUnits", "unicodeCodePoints")
    has(run["tool"], "tool")
    driver = run["tool"]["driver"]
    has(driver, "driver")
    assert len({rule["id"] for rule in driver["rules"]}) == len(driver["rules"])
    for rule in driver["rules"]:
        has(rule, "rule")
        has(rule["shortDescription"], "text")
        assert rule.get("defaultConfiguration", {"level": "note"})["level"] in LEVELS
    for result in run["results"]:
        has(result, "result")
        has(result["message"], "text")
        assert result["level"] in LEVELS
        assert driver["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
        (location,) = result["locations"]
        has(location, "location")
        has(location["physicalLocation"], "physical")
        region = location["physicalLocation"]["region"]
        has(region, "region")
        assert all(isinstance(one, int) and one > 0 for one in region.values())
    found: list[dict[str, Any]] = run["results"]
    return found


def program(path: str) -> Program:
    return analyzed(Source(path, TEXT))


def test_a_refused_launch_is_a_result(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    (result,) = checked(to_sarif([program("a folder/app.cu")], []))
    assert result["ruleId"] == "CT211" and result["level"] == "note"
    assert result["message"]["text"].startswith("launch of kernel 'tile' is refused: ")
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "a%20folder/app.cu"
    line = next(i for i, text in enumerate(TEXT.splitlines(), 1) if "tile<<<" in text)
    end = len("    /* é */ tile<<<1, 64>>>(n, a)") + 1
    region = {"startLine": line, "startColumn": 13, "endLine": line, "endColumn": end}
    assert place["region"] == region


def test_a_file_elsewhere_has_a_whole_address(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    (result,) = checked(to_sarif([program("/else where/app.cu")], []))
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "file:///else%20where/app.cu"


def test_what_has_no_model_is_a_result_and_what_is_required_an_error() -> None:
    found = replace(program("app.cu"), unmodelled=(("scale", "it reads a texture"),))
    results = checked(to_sarif([found], ["scale"]))
    assert [(one["ruleId"], one["level"]) for one in results] == [
        ("CT211", "note"),
        (NOT_MODELLED_RULE, "error"),
    ]
    assert checked(to_sarif([], ["tile"])) == []


def test_a_required_launch_is_tunable_and_modelled() -> None:
    found = program("app.cu")
    said = [one.message for one in lacking([found], ["*", "gem?", "scael"])]
    refused, none, close = said
    assert "'tile'" in refused and refused.endswith("[CT211]")
    assert none == "no launch is of a kernel 'gem?'; known: tile, scale"
    assert close.endswith("did you mean 'scale'?")
    assert [*lacking([found], ["scale", "s*"])] == []
    unmodelled = replace(found, unmodelled=(("scale", "it reads a texture"),))
    (one,) = lacking([unmodelled], ["scale"])
    assert one.message.endswith("cannot be tuned: it reads a texture")
    assert one.about == "scale"
