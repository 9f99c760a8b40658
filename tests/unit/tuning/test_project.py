"""A project that its own build system builds: what its builds are told, what becomes of them.

The builds here are lines of a shell; what compiles real ones is in the end-to-end tests.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, ToldAlready
from cutune.core.source import Source
from cutune.core.workspace import Workspace
from cutune.measure.program_runs import RunPlan
from cutune.proof.analysis.analyze import analyze
from cutune.proof.analysis.analyzer import Analyzer
from cutune.proof.analysis.recorded_launches import Helped, SeenLaunch
from cutune.source.program import SiteKey
from cutune.source.syntax.parse import parse
from cutune.source.unit.unit_texts import UnitTexts
from cutune.toolchain.toolchain import Toolchain
from cutune.tuning import project as stage
from cutune.tuning.nvcc import rewriting
from cutune.tuning.nvcc.rewriting import OUTPUTS
from cutune.tuning.nvcc.units import (
    CompiledSource,
    connect,
    noted_launches,
    register,
    registered,
    seen_units,
)
from cutune.tuning.project import ProjectBuild, tune_project

PROJECT = ProjectBuild("true", RunPlan("./app {n}", {"n": ["64"]}, "paper"))
#: Written down by a build: what it was told.
TOLD = ("CUTUNE_MODE", "CUTUNE_WORKSPACE", "CUTUNE_DEVICE", "CCACHE_DISABLE", OUTPUTS)
TELL = f'for name in {" ".join(TOLD)}; do eval echo "$name=\\$$name"; done > told; command -v nvcc'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The project, as the current folder; with a compiler that nobody asks."""
    compiler = tmp_path / "toolkit" / "nvcc"
    compiler.parent.mkdir()
    compiler.write_text("#!/bin/sh\nexit 9\n")
    compiler.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refused(project: ProjectBuild, folder: Path) -> CutuneError:
    """What a project that compiles nothing through cutune ends with."""
    analyzer = Analyzer(Toolchain(nvcc_option=str(folder / "toolkit" / "nvcc")))
    with pytest.raises(CutuneError) as caught:
        tune_project(project, analyzer, "h200,a100", Workspace(Path("workspace")))
    return caught.value


def test_a_build_that_compiles_nothing_through_cutune_is_refused(folder: Path) -> None:
    found = refused(PROJECT, folder)
    assert found.diagnostic.code is Code.NOTHING_COMPILED
    assert "'true'" in found.diagnostic.message


def test_sources_without_launches_are_told_from_none(folder: Path) -> None:
    # One of them may be compiled and linked at once.
    note = f"echo app >> ${OUTPUTS}; printf 'a.cu\\nb.cu\\nc.cu\\nd.cu\\n' >> workspace/sources"
    found = refused(replace(PROJECT, make=note), folder).diagnostic
    assert found.code is Code.NO_LAUNCH_COMPILED
    assert "compiled a.cu, b.cu, c.cu, … through cutune" in found.message
    # Objects and a program may have been made of others: of C++, or of what was there.
    linked = replace(PROJECT, make=f"printf 'a.o\\napp\\n' >> ${OUTPUTS}")
    assert refused(linked, folder).diagnostic.code is Code.NOTHING_COMPILED


@pytest.mark.parametrize(
    ("make", "clean", "advice"),
    [
        ("true", "", "add --clean 'make clean'"),
        ("true", "true", "give it another: NVCC='cutune nvcc'"),
        ("true cmake --build build", "true", "-DCMAKE_CUDA_COMPILER_LAUNCHER='cutune;nvcc'"),
    ],
)
def test_what_leads_a_build_to_cutune(make: str, clean: str, advice: str, folder: Path) -> None:
    found = refused(replace(PROJECT, make=make, clean=clean), folder).diagnostic.message
    assert advice in found
    # What was followed already is no advice.
    assert ("--clean" in found) == (not clean)


def test_a_build_that_fails_ends_it(folder: Path) -> None:
    found = refused(replace(PROJECT, make="exit 3"), folder)
    assert found.diagnostic.code is Code.BUILD_COMMAND_FAILED
    assert "3" in found.diagnostic.message


def test_that_a_file_cannot_be_written_is_said_once(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """A compiler has said it; that the build fails then is no news."""
    workspace = Workspace(folder / "workspace")
    project = replace(PROJECT, make=f'touch "${rewriting.TOLD}"; exit 3')
    with pytest.raises(ToldAlready):
        tune_project(project, Analyzer(), "h200", workspace)
    monkeypatch.setenv(rewriting.TOLD, str(folder / "said"))
    rewriting._tell(CutuneError.at(Code.STALE_MODELS, path="app.cu", command="cutune tune"))
    assert not (folder / "said").exists()
    rewriting._tell(CutuneError.at(Code.UNWRITABLE_FILE, path="app.d", reason="full"))
    assert (folder / "said").exists() and "cannot write 'app.d'" in capfd.readouterr().err


def test_the_project_is_cleaned_before_it_is_built(folder: Path) -> None:
    project = replace(PROJECT, clean="echo clean >> order", make="echo make >> order")
    refused(project, folder)
    assert (folder / "order").read_text().split() == ["clean", "make"]


def test_cleaning_may_find_nothing(folder: Path) -> None:
    project = replace(PROJECT, clean="exit 4", make="echo make >> order")
    assert refused(project, folder).diagnostic.code is Code.NOTHING_COMPILED
    assert (folder / "order").read_text().split() == ["make"]


def test_launches_that_are_all_refused_are_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site, reason = SiteKey("/project/app.cu", 1), "uses shared memory"
    seen = SeenLaunch(site, "tile", "app.cu", 8, False, reason, "CT211")
    helped = Helped(("/project/app.cu",), (), "/project")
    for one in (seen, replace(seen, helped=helped)):
        monkeypatch.setattr(stage, "noted_launches", lambda workspace, one=one: [one])
        found = refused(PROJECT, folder).diagnostic
        assert found.code is Code.NOTHING_TUNABLE_BUILT
        told = "what would help: cutune inspect --suggest /project/app.cu"
        assert found.message.splitlines()[1:] == [
            "app.cu:8: tile: uses shared memory [CT211]",
            *([told] if one.helped else []),
        ]


def test_the_first_build_is_instrumented_for_the_emulated_device(folder: Path) -> None:
    refused(replace(PROJECT, make=f"{TELL} > compiler"), folder)
    workspace = folder / "workspace"
    assert dict(line.split("=") for line in (folder / "told").read_text().splitlines()) == {
        "CUTUNE_MODE": "instrument,emulated",
        "CUTUNE_WORKSPACE": str(workspace),
        "CUTUNE_DEVICE": "h200,a100",
        "CCACHE_DISABLE": "1",
        OUTPUTS: str(workspace / "outputs"),
    }
    # The nvcc that the build finds is cutune, which asks the real one.
    script = Path((folder / "compiler").read_text().strip())
    assert script == workspace / "bin" / "nvcc"
    assert os.access(script, os.X_OK)
    assert f"-m cutune nvcc --cutune-nvcc={folder}/toolkit/nvcc" in script.read_text()


def test_what_an_earlier_build_was_is_forgotten(folder: Path) -> None:
    unit = folder / "workspace/units/key"
    unit.mkdir(parents=True)
    # Its source is not there any more: to read it would be another error.
    entry = {"source": "gone.cu", "folder": str(folder), "flags": [], "key": "key", "first_site": 0}
    (unit / "unit.json").write_text(json.dumps({"schema": "cutune-unit-1", **entry}))
    (unit / "seen.json").write_text("{}")
    assert refused(PROJECT, folder).diagnostic.code is Code.NOTHING_COMPILED
    assert [*unit.iterdir()] == []


@pytest.mark.parametrize(
    ("name", "schema", "read"),
    [
        ("unit.json", "unit", registered),
        ("launches.json", "launches", noted_launches),
        ("seen.json", "lending", seen_units),
        ("seen.json", "lending", connect),
    ],
    ids=["unit", "launches", "seen", "connected"],
)
def test_notes_of_a_build_that_are_damaged_are_diagnosed(
    name: str, schema: str, read: Callable[[Workspace], object], tmp_path: Path
) -> None:
    unit = {"source": "a.cu", "folder": "/a", "flags": [], "key": "../..", "first_site": 0}
    path = tmp_path / "units/key" / name
    path.parent.mkdir(parents=True)
    for entries in ({}, {**unit, "launches": [5], "unit": unit, "has": [], "lacks": []}):
        path.write_text(json.dumps({"schema": f"cutune-{schema}-1", **entries}))
        with pytest.raises(CutuneError) as damaged:
            read(Workspace(tmp_path))
        assert damaged.value.diagnostic.code is Code.DAMAGED_FILE


def test_a_source_that_is_compiled_twice_keeps_its_ids(tmp_path: Path) -> None:
    """As for a program and a library: any of its objects may be the one that runs."""
    workspace = Workspace(tmp_path).create()
    text = "__global__ void k() {}\nvoid f() { k<<<1, 32>>>(); }\n"
    one = analyze(UnitTexts.read(parse(Source("a.cu", text)), None, ()))
    (launch,) = one.launches
    unit = CompiledSource("a.cu", "/a", ("-O2",), "key")
    first = register(replace(unit, key="other"), workspace, one)
    second = register(unit, workspace, one)
    again = register(replace(unit, flags=("-O2", "-Xcompiler", "-fPIC")), workspace, one)
    assert (first.first_site, second.first_site, again.first_site) == (0, 1, 1)
    # Where it is another program, by another header, it has ids of its own.
    longer = replace(one, launches=(launch, replace(launch, id=2)))
    assert register(unit, workspace, longer).first_site == 2
    assert [one.key for one in registered(workspace)] == ["other", "key"]
    noted = registered(workspace)[1]
    assert (noted.first_site, noted.sites) == (2, 2)


def test_builds_with_other_headers_have_copies_of_their_own() -> None:
    unit = CompiledSource("a.cu", "/debug", ("-I.",), "key")
    others = replace(unit, folder="/release"), replace(unit, flags=("-I..",))
    assert len({one.copy_name for one in (unit, *others)}) == 3


def test_kernels_of_other_sources_make_another_build(folder: Path) -> None:
    """What was built is removed first: the build system takes it for up to date else."""
    lines = []
    for name, has, lacks in (("first", ["k"], []), ("second", [], ["k"])):
        unit = {"source": f"{name}.cu", "folder": str(folder), "flags": [], "key": name}
        seen = {"schema": "cutune-lending-1", "has": has, "lacks": lacks}
        own = folder / "workspace/units" / name
        document = json.dumps({**seen, "unit": {**unit, "first_site": 0}})
        lines.append(f"mkdir -p {own}; echo '{document}' > {own}/seen.json")
    build = f"test -e app.o || echo built >> order; touch app.o; echo app.o > ${OUTPUTS}"
    build += "; echo app.cu > workspace/sources"
    (folder / "build.sh").write_text("\n".join([*lines, build]))
    found = refused(replace(PROJECT, make="sh build.sh"), folder)
    assert found.diagnostic.code is Code.NO_LAUNCH_COMPILED
    assert (folder / "order").read_text().split() == ["built", "built"]
