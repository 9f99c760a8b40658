"""Launches that will not be tuned, as SARIF 2.1.0. Takes `Program`s, gives a document.

SARIF is what forges and editors read (OASIS, Static Analysis Results Interchange Format 2.1.0).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from cutune import __version__
from cutune.cli.report.programs import Json, verdict_of, why_unmodelled
from cutune.core.codes import Code
from cutune.core.diagnostics import shown
from cutune.core.source import Source
from cutune.source.program import LaunchSite, Program, Verdict

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
#: The rule of launches that are proven, and that no model can choose for.
NOT_MODELLED = "not-modelled"


def to_sarif(programs: Sequence[Program], required: Sequence[LaunchSite]) -> Json:
    """A result per launch that will not be tuned; an error where it is `required` to be."""
    launches = [
        (program, site)
        for program in programs
        for site in program.launches
        if site.verdict is not Verdict.TUNABLE or why_unmodelled(program, site)
    ]
    rules = list(dict.fromkeys(_rule_of(site) for _, site in launches))
    results = [
        _result(program, site, rules.index(_rule_of(site)), any(site is one for one in required))
        for program, site in launches
    ]
    driver = {"name": "cutune", "version": __version__, "rules": [_rule(rule) for rule in rules]}
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule_of(site: LaunchSite) -> str:
    return site.code.number if site.code is not None else NOT_MODELLED


def _rule(rule: str) -> Json:
    if rule == NOT_MODELLED:
        text = "It may be changed, but no model can be made of what it costs."
        return {"id": rule, "shortDescription": {"text": text}}
    code = next(code for code in Code if code.number == rule)
    return {
        "id": rule,
        "name": "".join(word.capitalize() for word in code.name.split("_")),
        "shortDescription": {"text": code.meaning.split(". ")[0].rstrip(".") + "."},
        "fullDescription": {"text": code.meaning},
        "defaultConfiguration": {"level": "note"},
    }


def _result(program: Program, site: LaunchSite, index: int, is_required: bool) -> Json:
    reason = why_unmodelled(program, site) or site.reason
    text = f"launch of kernel '{site.kernel}' is {verdict_of(program, site)}: {reason}"
    start = _place(site.source, site.span.start, "start")
    region = {**start, **_place(site.source, site.span.end, "end")}
    artifact = {"uri": _uri(site.source.path)}
    location = {
        "physicalLocation": {"artifactLocation": artifact, "region": region},
        "logicalLocations": [{"name": site.kernel, "kind": "function"}],
    }
    return {
        "ruleId": _rule_of(site),
        "ruleIndex": index,
        "level": "error" if is_required else "note",
        "message": {"text": text},
        "locations": [location],
    }


def _place(source: Source, offset: int, word: str) -> Json:
    """A line and a column, in characters and from 1."""
    location = source.location(offset)
    before = source.line_text(location.line)[: location.column - 1]
    return {f"{word}Line": location.line, f"{word}Column": len(shown(before)) + 1}


def _uri(path: str) -> str:
    """Relative to where cutune runs where that is above the file."""
    absolute = os.path.abspath(path)
    relative = os.path.relpath(absolute)
    return Path(absolute).as_uri() if relative.startswith("..") else quote(relative)
