"""Building shared libraries on first use."""

from __future__ import annotations

import ctypes
import re
from pathlib import Path

import pytest

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError
from cutune.emulator import build
from cutune.emulator.build import MOST_BYTES, NATIVE, joined_units
from cutune.toolchain.cache import cache_folder


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def test_a_library_is_built_once(tmp_path: Path) -> None:
    source, header = tmp_path / "answer.cpp", tmp_path / "answer.h"
    header.write_text("#define ANSWER 42\n", encoding="utf-8")
    text = '#include "answer.h"\nextern "C" int answer() { return ANSWER + EXTRA; }\n'
    source.write_text(text, encoding="utf-8")
    library = build.build_library("answer", [source], ["-DEXTRA=1"])
    assert ctypes.CDLL(str(library)).answer() == 43
    made = library.stat().st_mtime_ns
    assert build.build_library("answer", [source], ["-DEXTRA=1"]) == library
    assert library.stat().st_mtime_ns == made
    assert build.build_library("answer", [source], ["-DEXTRA=2"]) != library
    header.write_text("#define ANSWER 7\n", encoding="utf-8")
    changed = build.build_library("answer", [source], ["-DEXTRA=1"])
    assert changed != library
    assert ctypes.CDLL(str(changed)).answer() == 8


def test_libraries_share_objects(tmp_path: Path) -> None:
    source = tmp_path / "one.cpp"
    source.write_text('extern "C" int one() { return 1; }\n', encoding="utf-8")
    build.build_library("first", [source], ())
    build.build_library("second", [source], ())
    assert len(list((cache_folder() / "objects").glob("*.o"))) == 1


def test_every_source_is_in_one_unit() -> None:
    for kind in ("machine", "runtime"):
        sources = sorted(NATIVE.glob(f"{kind}*.cpp"))
        units = joined_units(sources)
        alone = [unit.name for unit in units if unit.parent == NATIVE]
        included = [
            name
            for unit in units
            if unit.parent != NATIVE
            for name in re.findall(r'#include "([^"]+)"', unit.read_text())
        ]
        assert sorted([*alone, *included]) == [source.name for source in sources]
        assert len(units) <= len(sources) / 3


def test_a_unit_holds_no_more_than_it_may(tmp_path: Path) -> None:
    sources = [tmp_path / f"{name}.cpp" for name in "abcd"]
    for source, size in zip(sources, (MOST_BYTES // 2, 10, MOST_BYTES * 2, 10), strict=True):
        source.write_text("/" * size)
    large, small, last = joined_units(sources)
    assert large == sources[2], "the largest first, for it takes longest"
    assert small.read_text() == '#include "a.cpp"\n#include "b.cpp"\n'
    assert last == sources[3]


def test_what_declares_weakly_stands_alone(tmp_path: Path) -> None:
    (tmp_path / "a.cpp").write_text("int a;\n")
    (tmp_path / "b.cpp").write_text('#include "../program.h"\n')
    sources = [tmp_path / "a.cpp", tmp_path / "b.cpp"]
    assert sorted(joined_units(sources)) == sources


def test_a_change_of_an_included_source_is_compiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build, "NATIVE", tmp_path)
    for name in "ab":
        (tmp_path / f"{name}.cpp").write_text(f'extern "C" int {name}() {{ return 1; }}\n')
    sources = sorted(tmp_path.glob("*.cpp"))
    first = build.build_library("joint", joined_units(sources), ())
    assert ctypes.CDLL(str(first)).b() == 1
    sources[1].write_text('extern "C" int b() { return 2; }\n')
    second = build.build_library("joint", joined_units(sources), ())
    assert ctypes.CDLL(str(second)).b() == 2


def test_a_failed_build_says_why(tmp_path: Path) -> None:
    source = tmp_path / "broken.cpp"
    source.write_text("int broken( { }\n", encoding="utf-8")
    with pytest.raises(CutuneError) as caught:
        build.build_library("broken", [source], ())
    assert caught.value.diagnostic.code is Code.BUILD_FAILED
    assert "broken.cpp:1" in caught.value.diagnostic.message
    assert not list(cache_folder().glob("*/libbroken.so"))
