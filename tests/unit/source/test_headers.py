"""Headers: found, judged, and rewritten in a copy of the sources."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError
from cutune.core.reading import read_source
from cutune.core.source import Source
from cutune.passes import InstrumentLaunches, InstrumentTunables
from cutune.proof.analysis.analyze import analyze
from cutune.source.program import Program
from cutune.source.rewrite.output import ShadowTree, Target
from cutune.source.rewrite.pipeline import TranslationUnit, run_passes
from cutune.source.syntax.headers import (
    expand_response_files,
    find_headers,
    forced_headers,
    include_directories,
    redirected,
)
from cutune.source.syntax.parse import parse
from cutune.source.unit.preprocess import expanded_parts, other_paths, user_headers
from cutune.source.unit.unit_texts import UnitTexts
from tests.support.analyzed import analyzed

KERNEL = """#pragma once
__global__ void scale(int n, float *a) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] *= 2;
}
"""
LAUNCH = '#include "scale.cuh"\ninline void twice(int n, float *a) { scale<<<n, 32>>>(n, a); }\n'
MAIN = (
    '#include "../include/launch.cuh"\nvoid f(float *a) { twice(9, a); scale<<<1, 64>>>(9, a); }\n'
)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A source and two headers in another folder."""
    for name, text in {
        "src/main.cu": MAIN,
        "include/launch.cuh": LAUNCH,
        "include/scale.cuh": KERNEL,
    }.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return tmp_path


def program(project: Path, early: frozenset[str] = frozenset()) -> Program:
    """Read without the compiler's preprocessor."""
    source = read_source(project / "src" / "main.cu")
    return analyzed(source, find_headers(source), early)


def test_paths_of_line_markers_in_any_script() -> None:
    text = '# 1 "ä/文.cu"\n# 1 "ä/é b.h" 1\nint a;\n# 2 "ä/文.cu" 2\n'
    expanded = text.encode().decode("latin-1")
    assert user_headers(expanded, "ä/文.cu") == {"ä/é b.h": False}


def test_a_header_that_several_paths_lead_to_is_one(tmp_path: Path) -> None:
    for name in ("a.cuh", "other/x"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(LAUNCH)
    (tmp_path / "link.cuh").symlink_to("a.cuh")
    (tmp_path / "main.cu").write_text(MAIN)
    main, *paths = (f"{tmp_path}/{n}" for n in ("main.cu", "other/../a.cuh", "link.cuh", "a.cuh"))
    parts = "".join(f'# 1 "{path}" 1\nint f();\n# 2 "{main}" 2\n' for path in paths)
    expanded = f'# 1 "{main}"\nint a;\n{parts}'
    assert user_headers(expanded, main) == {paths[0]: False}
    others = other_paths(expanded, main)
    assert others == ((paths[1], paths[0]), (paths[2], paths[0]))
    header, source = read_source(paths[0]), read_source(main)
    found = [part.source.path for part in expanded_parts(expanded, parse(source), [header])]
    assert sorted(found) == [main, *[paths[0]] * 3]
    program = Program(source, (), (), headers=(header,), other_paths=others)
    tree = ShadowTree.of(program, tmp_path / "tree")
    tree.write(source, [header], others)
    copies = [Path(str(path).replace(str(tmp_path), str(tree.folder))) for path in paths]
    assert {copy.read_text() for copy in copies} == {LAUNCH}
    assert len({copy.stat().st_mtime_ns for copy in copies}) == 1


def test_a_header_that_begins_without_text_is_read_as_often_as_it_is_included() -> None:
    again = '# 1 "a.h" 1\n\n# 9 "a.h"\nint a;\n# 2 "m.cu" 2\n'
    found = expanded_parts(f'# 1 "m.cu"\nint a;\n{again * 3}', parse(Source("m.cu", "int a;")))
    paths = [part.source.path for part in found]
    assert sorted(paths) == [*["a.h"] * 3, "m.cu"]


def test_an_include_that_goes_through_another_folder_finds_its_copy(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    main, header = (Source(f"{tmp_path}/src/{n}", "int a;") for n in ("m.cu", "../src/a.h"))
    program = Program(main, (), (), headers=(header,))
    tree = ShadowTree.of(program, tmp_path / "tree")
    assert tree.root == tmp_path and (tree.write(main, [header]).parent / "../src/a.h").exists()


@pytest.mark.parametrize(
    ("folder", "text"),
    [
        ("", "void f(Place source_location, Place &source_location);"),
        ("/lib/site-packages/own/", ""),
        ("", "void f(std::source_location = std::source_location::current());"),
        ("", "typedef source_location place;"),
        ("", "int f(int = __builtin_COLUMN());"),
        ("", "__attribute__((global)) void kernel(int *a);"),
    ],
)
def test_headers_of_packages_are_no_users_headers(folder: str, text: str) -> None:
    """Unless the source is a package's, too, or they have kernels, or may ask for a column."""
    others = "/lib/site-packages/torch/extension.h", "/lib/python3.11/Python.h"
    beside = "/lib/python3.11/cpython/object.h"
    own = f"{folder}a.h"
    parts = "".join(f'# 1 "{path}" 1\n{text}\n' for path in (*others, beside, own))
    found = user_headers(f'# 1 "{folder}a.cu"\n{parts}', f"{folder}a.cu")
    assert [*found] == ([own] if "Place source" in text else [others[0], own])


def test_path_options() -> None:
    flags = ["-Ia", "-I", "b", "--include-path=c,d", "-O2", "-include", "e.h", "--pre-include=f.h"]
    assert include_directories(flags) == ("a", "b", "c", "d")
    assert forced_headers(flags) == ("e.h", "f.h")


def test_copies_are_looked_into_first() -> None:
    copies = {"a": "shadow/a", "e.h": "shadow/e.h"}
    flags = ["-O2", "-I", "a", "-Ib", "-include", "e.h", "-include=g.h", "-DX=-I"]
    assert redirected(flags, copies.get) == [
        *("-O2", "-Ishadow/a", "-Ia", "-Ib"),
        *("-include", "shadow/e.h", "-include", "g.h", "-DX=-I"),
    ]


def test_response_files(tmp_path: Path) -> None:
    options = tmp_path / "options"
    options.write_text("-DA=1 -I 'my headers'\n-std=c++17\n")
    expected = ["-DA=1", "-I", "my headers", "-std=c++17"]
    for flags in ([f"@{options}"], ["--options-file", str(options)], [f"--options-file={options}"]):
        assert list(expand_response_files(["-O3", *flags])) == ["-O3", *expected]
    with pytest.raises(CutuneError, match="cannot read"):
        list(expand_response_files(["@absent"]))
    options.write_text("-DA='")
    with pytest.raises(CutuneError, match="no closing quotation"):
        list(expand_response_files([f"@{options}"]))


def test_headers_in_angle_brackets(project: Path) -> None:
    source = Source(str(project / "src" / "main.cu"), "#include <launch.cuh>\n")
    assert find_headers(source) == ()
    found = find_headers(source, [project / "include"])
    assert [Path(header.path).name for header in found] == ["launch.cuh", "scale.cuh"]
    assert find_headers(source, [project / "include"], known=found) == ()


def test_launches_of_headers_come_behind_those_of_the_source(project: Path) -> None:
    found = program(project)
    assert [(site.id, Path(site.source.path).name) for site in found.tunable_launches] == [
        (1, "main.cu"),
        (2, "launch.cuh"),
    ]
    (header,) = found.launching_headers
    assert header.location(found.launches[1].span.start).line == 2


def test_a_header_that_is_read_before_the_source_is_left_alone(project: Path) -> None:
    paths = frozenset(h.path for h in find_headers(read_source(project / "src" / "main.cu")))
    assert program(project, paths).launches[1].code is Code.EARLY_HEADER


def test_a_macro_of_a_header_may_hide_a_name(project: Path) -> None:
    (project / "include" / "launch.cuh").write_text("#define cutune_call 32\n" + LAUNCH)
    unit = run_passes((InstrumentLaunches(),), TranslationUnit(program(project)))
    assert [diagnostic.code for diagnostic in unit.diagnostics] == [Code.HIDDEN_MEMBER] * 2
    assert unit.edits == ()


def test_the_copies_have_the_same_relative_places(project: Path, tmp_path: Path) -> None:
    unit = run_passes((InstrumentLaunches(),), TranslationUnit(program(project)))
    folder = tmp_path / "out"
    written = Target.of(unit.program, f"{folder}/", "tuned").write(unit)
    assert written == folder / "src" / "main.cu"
    assert (folder / "include" / "scale.cuh").read_text() == KERNEL
    header = (folder / "include" / "launch.cuh").read_text().split("\n")
    assert header[0].startswith("#line 1 ") and header[0].endswith('launch.cuh"')
    assert "cutune_launch(2, n, 32) ? (void)0 : cutune_call(scale)(n, a)" in header[2]
    assert "cutune_launch(1, 1, 64) ? (void)0 : cutune_call(scale)(9, a)" in written.read_text()


def test_where_a_program_is_written_to(project: Path) -> None:
    several = program(project)
    source = read_source(project / "src" / "main.cu")
    one = analyzed(source)
    beside = project / "src"
    assert Target.of(several, None, "tuned") == Target(beside / "main.tuned", is_folder=True)
    assert Target.of(one, None, "tuned") == Target(beside / "main.tuned.cu")
    assert Target.of(one, str(project), "tuned") == Target(project, is_folder=True)
    with pytest.raises(CutuneError, match=r"write: -o out/$"):
        Target.of(several, "out.cu", "tuned")
    with pytest.raises(CutuneError, match="would replace the source"):
        Target.of(one, source.path, "tuned")


def test_a_header_beside_the_source_goes_with_it(tmp_path: Path) -> None:
    """A quoted include is looked for beside the source first, so that it would not be found."""
    (tmp_path / "a.cu").write_text('#include "sizes.h"\n' + KERNEL)
    source = read_source(tmp_path / "a.cu")
    out = tmp_path / "out"
    for place, is_tree in ((tmp_path / "sizes.h", True), (tmp_path.parent / "sizes.h", False)):
        own = analyze(UnitTexts.read(parse(source), None, (Source(str(place), "#define N 4\n"),)))
        assert Target.complete(own, out).is_folder is is_tree


def test_originals_are_never_replaced(project: Path) -> None:
    unit = run_passes((InstrumentLaunches(),), TranslationUnit(program(project)))
    with pytest.raises(CutuneError, match="would replace"):
        Target(project, is_folder=True).write(unit)
    assert (project / "include" / "launch.cuh").read_text() == LAUNCH


def test_what_lies_outside_of_the_root_has_no_copy(project: Path) -> None:
    tree = ShadowTree.of(program(project), Path("out"))
    assert tree.root == project
    assert tree.copy_of(str(project / "include")) == str(Path("out/include"))
    assert tree.copy_of("/elsewhere") is None


HOST = """inline int f(int N) {
#pragma cutune tune(R: 0, 1) data(N)
    int R = 0;
    return R;
}
"""
OF_SOURCE = """int g(int N, int R) {
#pragma cutune tune(m: 1, 2) data(N, R)
    int m = 0;
    return m;
}
"""


def test_host_tunables_of_headers() -> None:
    """Those of headers come first: what the source chooses may depend on them."""
    header, source = Source("a.h", HOST), Source("a.cu", OF_SOURCE)
    program = analyzed(source, [header])
    assert [(t.name, t.group, t.given) for t in program.tunables] == [
        ("R", 1, ()),
        ("m", 2, ("R",)),
    ]
    assert program.tunable_headers == program.rewritten_headers == (header,)
    unit = run_passes((InstrumentTunables(),), TranslationUnit(program))
    (written,) = unit.rewritten_headers()
    assert written.text.startswith('#line 1 "a.h"\n')
    assert 'int R = cutune_tunable("R", (0), {{"N", (long long)(N)}});' in written.text
    assert 'int m = cutune_tunable("m", (0), ' in unit.rewritten().text


def test_host_tunables_of_a_header_read_before_the_source_are_left_alone() -> None:
    source = Source("a.cu", "__global__ void k() {}\n")
    program = analyzed(source, [Source("a.h", HOST)], ["a.h"])
    assert [d.code.number for d in program.diagnostics] == ["CT260"]
    assert program.tunables == ()
