"""Building shared libraries on first use."""

from __future__ import annotations

import ctypes
from pathlib import Path

import pytest

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError
from cutune.emulator import build


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
    assert len(list((build.cache_folder() / "objects").glob("*.o"))) == 1


def test_a_failed_build_says_why(tmp_path: Path) -> None:
    source = tmp_path / "broken.cpp"
    source.write_text("int broken( { }\n", encoding="utf-8")
    with pytest.raises(CutuneError) as caught:
        build.build_library("broken", [source], ())
    assert caught.value.diagnostic.code is Code.BUILD_FAILED
    assert "broken.cpp:1" in caught.value.diagnostic.message
    assert not list(build.cache_folder().glob("*/libbroken.so"))
