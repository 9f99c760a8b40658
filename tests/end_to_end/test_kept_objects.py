"""Objects that `cutune nvcc` gives again: only where all that they depend on is as it was."""

from __future__ import annotations

import os
import shlex
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import pytest

from cutune.toolchain.nvcc import Nvcc, find_nvcc
from cutune.tuning.nvcc.command import Command
from cutune.tuning.nvcc.kept_objects import ObjectQuestion, is_understood
from cutune.tuning.nvcc.shadows import ShadowSource
from tests.support.cutune_runs import QUICK, cutune, let_files_age
from tests.support.program_texts import TIMES_FACTOR
from tests.support.short_headers import STANDARD

#: Its header is looked for in several folders.
SOURCE = TIMES_FACTOR.replace('"factor.h"', "<factor.h>")
#: Stands for nvcc. In place of compiling a rewritten source it writes how often it was asked to.
COUNTING = """\
#!/bin/sh
case "$*" in *--dryrun*) exec {nvcc} "$@" ;; */.cutune/nvcc/*) ;; *) exec {nvcc} "$@" ;; esac
echo >> {folder}/count
for copy; do case "$copy" in {folder}/.cutune/nvcc/*.cu) break ;; esac; done
while [ $# -gt 0 ]; do
    case "$1" in
        -o) printf 'object\\r\\n\\377 %d' $(wc -l < {folder}/count) > "$2" ;;
        -MF) echo "app.o : $copy second/factor.h" > "$2" ;;
    esac
    shift
done
{said}
"""
WORDS = ("-arch=compute_80", STANDARD, "-MD", "-c", "app.cu", "-o", "app.o")
INCLUDES = ("-Ifirst", "-Isecond")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kept")
    (folder / "app.cu").write_text(SOURCE)
    for name in ("first", "second"):
        (folder / name).mkdir()
    (folder / "second" / "factor.h").write_text("#define FACTOR 2\n")
    includes = [f"--nvcc-flag={word}" for word in INCLUDES]
    run = ["--run", "./{program} {n}", "--vary", "n=64,96,128"]
    done = cutune("tune", "app.cu", *run, *QUICK, *includes, cwd=folder)
    assert done.returncode == 0, done.stderr
    write_compiler(folder)
    return folder


def write_compiler(folder: Path, said: str = "") -> None:
    script = folder / "nvcc"
    script.write_text(COUNTING.format(folder=folder, nvcc=find_nvcc().path, said=said))
    script.chmod(0o755)


def is_compiled(folder: Path, *words: str, **variables: str) -> bool:
    """Was the rewritten source compiled? What it is compiled to is there in any case."""
    count = folder / "count"
    before = len(count.read_bytes()) if count.exists() else 0
    for name in ("app.o", "app.d"):
        (folder / name).unlink(missing_ok=True)
    named = ("nvcc",) if "PATH" in variables else (f"--cutune-nvcc={folder}/nvcc",)
    let_files_age()
    with patch.dict(os.environ, variables):
        done = cutune("nvcc", *named, *WORDS, *INCLUDES, *words, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert (folder / "app.o").read_bytes().startswith(b"object\r\n\xff ")
    assert (folder / "app.d").read_text() == "app.o : app.cu \\\n    second/factor.h\n"
    return len(count.read_bytes()) > before


@pytest.mark.long
@pytest.mark.nvcc
def test_an_object_is_given_again_unless_something_has_changed(project: Path) -> None:
    assert is_compiled(project)
    made = (project / "app.o").read_bytes()
    assert not is_compiled(project)
    assert (project / "app.o").read_bytes() == made

    assert is_compiled(project, "-DMORE=1")
    assert is_compiled(project, "-lineinfo")
    assert is_compiled(project, CUTUNE_DEVICE="a100")
    assert is_compiled(project, NVCC_APPEND_FLAGS="-DMORE=1")
    assert is_compiled(project, CPLUS_INCLUDE_PATH="/nowhere")
    assert not is_compiled(project)

    header = project / "second" / "factor.h"
    header.write_text("#define FACTOR 3\n")
    assert is_compiled(project)
    # A header that is found before it.
    (project / "first" / "factor.h").write_text("#define FACTOR 4\n")
    assert is_compiled(project)
    (project / "first" / "factor.h").unlink()
    models = project / ".cutune" / "models.json"
    models.write_text(models.read_text().rstrip() + " \n")
    assert is_compiled(project)
    assert not is_compiled(project)
    write_compiler(project, "# Another compiler.")
    assert is_compiled(project)
    assert not is_compiled(project)
    # `cutune nvcc nvcc …`, as CMake calls a launcher: it is the same compiler.
    path = f"{project}{os.pathsep}{os.environ['PATH']}"
    assert not is_compiled(project, PATH=path)
    assert is_compiled(project, "-DMORE=2", PATH=path)


@pytest.mark.long
@pytest.mark.nvcc
def test_the_first_build_after_tune_gets_the_object_that_tune_has_built(tmp_path: Path) -> None:
    (tmp_path / "app.cu").write_text(SOURCE.replace("#include <factor.h>", "#define FACTOR 2"))
    compiler, count = tmp_path / "nvcc", tmp_path / "count"
    compiler.write_text(f"""#!/bin/sh
case "$*" in *--dryrun*) ;; */.cutune/nvcc/*) echo >> {count} ;; esac
exec {find_nvcc().path} "$@"
""")
    compiler.chmod(0o755)
    words = shlex.join(["-arch=compute_80", STANDARD, "-c", "app.cu", "-o", "app.o"])
    run = ["--run", "./app {n}", "--vary", "n=64,96,128", f"--nvcc={compiler}", "--variants=none"]
    made = cutune("tune", "--make", f"nvcc {words} && nvcc app.o -o app", *run, cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    times, tuned = count.read_bytes(), (tmp_path / "app.o").read_bytes()

    (tmp_path / "app.o").unlink()
    asked = "--cutune-variants=none", f"--cutune-nvcc={compiler}", *shlex.split(words)
    done = cutune("nvcc", *asked, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "app.o").read_bytes() == tuned
    assert count.read_bytes() == times


@pytest.mark.nvcc
def test_what_nvcc_says_is_said_each_time(project: Path) -> None:
    write_compiler(project, "echo warning >&2")
    assert is_compiled(project)
    assert is_compiled(project)


@pytest.mark.nvcc
def test_a_damaged_object_is_made_again(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(project / "cache"))
    write_compiler(project)
    assert is_compiled(project)
    (kept,) = (project / "cache" / "cutune" / "built").iterdir()
    whole = kept.read_bytes()
    kept.write_bytes(whole[:-1])
    assert is_compiled(project)
    assert not is_compiled(project)


@pytest.mark.nvcc
def test_an_object_belongs_to_what_its_source_was_made_by(tmp_path: Path) -> None:
    """By that digest another cutune, or other models, make another object."""
    copy = tmp_path / "copy.cu"
    copy.write_text("int twice(int n) { return 2 * n; }\n")
    command = Command.parse(["-c", "app.cu", "-o", "app.o"])
    shadow = ShadowSource(str(copy), (), {str(copy): "app.cu"}, made_by="one")
    nvcc = Nvcc(find_nvcc().path)
    questions = [
        ObjectQuestion.of(nvcc, command, {"app.cu": replace(shadow, made_by=made_by)})
        for made_by in ("one", "other", "one")
    ]
    places = [question.asked() for question in questions if question is not None]
    names = [place.kept.name for place in places if place is not None]
    assert (len(names), len({*names})) == (3, 2)
    assert names[0] == names[2]
    assert ObjectQuestion.of(nvcc, command, {"app.cu": replace(shadow, made_by="")}) is None


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("-c app.cu -o app.o -MD -MF x.d -O2 -arch=sm_90 -Xcompiler -fPIC,-Wall,-O3", True),
        ("-dc app.cu", True),
        ("app.cu -o app", False),
        ("-c app.cu other.cu", False),
        ("-c app.cu --keep", False),
        ("-c app.cu -Xptxas=-v", False),
        ("-c app.cu -Xcompiler -save-temps", False),
        ("-c app.cu -Xcompiler -gsplit-dwarf", False),
        ("-c app.cu -Xcompiler -Wp,-MD,x.d", False),
        ("-c app.cu -Xcompiler -fprofile-generate", False),
        ("-c app.cu --unheard-of", False),
    ],
)
def test_only_what_is_known_to_write_nothing_else_is_kept(words: str, expected: bool) -> None:
    assert is_understood(Command.parse(words.split())) is expected
