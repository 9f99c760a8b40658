"""A kept result is given again only as long as all that it depends on is what it was."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import cutune
from cutune.core.codes import Code
from cutune.core.diagnostics import Diagnostic
from cutune.core.workspace import Workspace
from cutune.emulator.link import own_build_flags
from cutune.emulator.program_builds import InstrumentedProgram
from cutune.toolchain import toolchain
from cutune.toolchain.device.profile import DeviceProfile
from cutune.toolchain.nvcc import INCLUDE_DIRECTORY, find_nvcc
from cutune.toolchain.toolchain import Toolchain
from cutune.tuning import inputs
from cutune.tuning import kept as store
from cutune.tuning.inputs import Request, WatchedRequest, inputs_of
from cutune.tuning.kept import (
    Answer,
    keep_answer,
    kept_answer,
    libraries_of,
    unkeepable,
    unknown_input,
    write_texts,
)

pytestmark = [pytest.mark.nvcc, pytest.mark.usefixtures("short_headers")]

SOURCE = """#include <cstdio>
#include <cstdlib>
#include <found.h>
#include "shape.h"
#if __CUDA_ARCH__ == 900
#include "hopper.h"
#endif
#ifdef CUTUNE_PROBE_LINKED
#include "hooked.h"
#endif
__global__ void fill(int n, float *a) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] = VALUE;
}
int main(int argc, char **argv) {
    int n = atoi(argv[1]);
    float *a;
    cudaMalloc(&a, n * sizeof(float));
    fill<<<(n + 255) / 256, 256>>>(n, a);
    printf("%d\\n", cudaDeviceSynchronize());
}
"""
TUNED = b"// tuned \xe4\r\n"


@dataclass(frozen=True)
class Asked:
    """A program whose result was kept."""

    folder: Path
    request: Request
    answer: Answer

    @property
    def is_kept(self) -> bool:
        return kept_answer(self.request) is not None

    def again(self, **changes: Any) -> bool:
        """Is the result of another request, which is this one with changes, kept?"""
        names = {"flags", "architectures"} & changes.keys()
        changed = with_toolchain(self.request, **{name: changes.pop(name) for name in names})
        return kept_answer(replace(changed, **changes)) is not None

    def write(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text)

    def keep(self) -> None:
        let_files_age()
        watched = WatchedRequest.begin(self.request)
        assert watched is not None
        keep_answer(watched, self.answer)


def with_toolchain(request: Request, **changes: Any) -> Request:
    return replace(request, toolchain=replace(request.toolchain, **changes))


def let_files_age() -> None:
    """Files that were written just now may have been written again since they were read."""
    time.sleep(0.05)


def built(folder: Path, source: str = SOURCE, name: str = "app") -> Path:
    """A program for the emulated device."""
    (folder / f"{name}.cu").write_text(source)
    binary = folder / name
    flags = [f"-I{INCLUDE_DIRECTORY}", f"-I{folder}", *own_build_flags(find_nvcc())]
    find_nvcc().check([*flags, str(folder / f"{name}.cu"), "-o", str(binary)])
    return binary


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("built")
    for name in ("shape.h", "found.h", "hopper.h", "hooked.h"):
        (folder / name).write_text("#define VALUE 1\n" if name == "shape.h" else "")
    return built(folder)


@pytest.fixture(scope="module")
def first_asked(program: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    """A project whose result is kept in a cache beside it, and a copy of both, for all tests."""
    place = tmp_path_factory.mktemp("asked") / "now"
    folder, workspace = place / "project", Workspace(place / "project" / ".cutune")
    shutil.copytree(program.parent, folder)
    (folder / "first").mkdir()
    workspace.create()
    workspace.measurements.write_text('{"schema":"cutune-kernel-1","kernel":"fill"}\n')
    entry = {"kernel": "fill", "facts": {"origin": {"path": str(folder / "app.cu")}}}
    workspace.models.write_text(json.dumps({"schema": "cutune-models-6", "models": [entry]}))
    (folder / "app.tuned.cu").write_bytes(TUNED)
    instrumented = workspace.folder / "app.instrumented.cu"
    shutil.copy(folder / "app.cu", instrumented)
    quoted = ["-Xcompiler", f"-iquote,{folder}"]
    nvcc = Toolchain(None, ("-arch=compute_80", "-Ifirst", "-I."), ("sm_80", "sm_90"))
    devices = [DeviceProfile.named("h200")]
    request = Request({"run": "./{program} 64"}, ["app.cu"], nvcc, devices, workspace)
    units = [(instrumented, [*nvcc.flags, *quoted])]
    built = InstrumentedProgram(folder / "app", units, {})
    answer = Answer("./{program} 64", built, ["fill"], [Path("app.tuned.cu")], [], {"a": 1})
    found = Asked(folder, request, answer)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(store, "cache_folder", lambda: place / "cache")
        found.keep()
    shutil.copytree(place, place.with_name("before"))
    yield found


@pytest.fixture
def asked(first_asked: Asked, monkeypatch: pytest.MonkeyPatch) -> Asked:
    """The same as it was before any test."""
    place = first_asked.folder.parent
    shutil.rmtree(place)
    shutil.copytree(place.with_name("before"), place)
    let_files_age()
    monkeypatch.chdir(first_asked.folder)
    monkeypatch.setattr(store, "cache_folder", lambda: place / "cache")
    return first_asked


def test_what_has_not_changed_is_given_again(asked: Asked) -> None:
    kept = kept_answer(asked.request)
    assert kept is not None
    assert kept.shown == {"a": 1}
    os.unlink("app.tuned.cu")
    write_texts(kept.tuned)
    assert Path("app.tuned.cu").read_bytes() == TUNED
    # The same content, written anew.
    asked.write("shape.h", "#define VALUE 1\n")
    assert asked.is_kept


def replaced_by_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


Change = Callable[[Asked, pytest.MonkeyPatch], object]
CHANGES: dict[str, Change] = {
    "source": lambda asked, _: asked.write("app.cu", SOURCE + "// more\n"),
    "header": lambda asked, _: asked.write("shape.h", "#define VALUE 2\n"),
    "comment in a header": lambda asked, _: asked.write("shape.h", "#define VALUE 1 // one\n"),
    "header of one architecture": lambda asked, _: asked.write("hopper.h", "// more\n"),
    "header of the instrumented program": lambda asked, _: asked.write("hooked.h", "// more\n"),
    "header that is found earlier": lambda asked, _: asked.write(
        "first/found.h", "#define FOUND 1\n"
    ),
    "header that is gone": lambda asked, _: os.unlink("hooked.h"),
    "variable of cutune": lambda _, patch: patch.setenv("CUTUNE_SEED", "7"),
    "any other variable": lambda _, patch: patch.setenv("OMP_NUM_THREADS", "1"),
    "variable of nvcc": lambda _, patch: patch.setenv("NVCC_APPEND_FLAGS", "-O1"),
    "measured times": lambda asked, _: asked.request.workspace.choices.write_text("{}"),
    "trials": lambda asked, _: asked.request.workspace.trials.write_text("{}"),
    "models": lambda asked, _: asked.request.workspace.models.write_text("{}"),
    "models that are gone": lambda asked, _: asked.request.workspace.models.unlink(),
    "measurements that are gone": lambda asked, _: asked.request.workspace.measurements.unlink(),
    "measurements that were edited": lambda asked, _: (
        asked.request.workspace.measurements.write_text('{"schema":"cutune-kernel-1"}\n')
    ),
    "the tuned program's place": lambda asked, _: replaced_by_folder(Path("app.tuned.cu")),
    "the instrumented program": lambda asked, _: os.unlink(asked.answer.instrumented.binary),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_what_has_changed_is_made_again(
    asked: Asked, change: Change, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert asked.is_kept
    change(asked, monkeypatch)
    assert not asked.is_kept


QUESTIONS: dict[str, dict[str, object]] = {
    "--run": {"options": {"run": "./{program} 96"}},
    "-D": {"flags": ["-arch=compute_80", "-Ifirst", "-I.", "-DMORE"]},
    "-O": {"flags": ["-arch=compute_80", "-Ifirst", "-I.", "-O0"]},
    "device": {"devices": [DeviceProfile.named("a100")]},
    "architectures": {"architectures": ["sm_80", "sm_100"]},
    "profile": {"devices": [replace(DeviceProfile.named("h200"), clock_ghz=Fraction(1))]},
}


@pytest.mark.parametrize("changes", QUESTIONS.values(), ids=QUESTIONS)
def test_another_request_has_another_answer(asked: Asked, changes: dict[str, object]) -> None:
    assert not asked.again(**changes)


def test_other_measurements_are_read_only_where_they_are_of_its_kernels(asked: Asked) -> None:
    path = asked.request.workspace.measurements
    with path.open("a") as file:
        file.write('{"schema":"cutune-kernel-1","kernel":"other"}\n')
    assert asked.is_kept
    with path.open("a") as file:
        file.write('{"schema":"cutune-swept-1","program":"app","kernel":"fill"}\n')
    assert not asked.is_kept


def test_models_of_other_programs_are_nothing_to_it(asked: Asked) -> None:
    models = asked.request.workspace.models
    document = json.loads(models.read_text())
    other = {"kernel": "other", "facts": {"origin": {"path": "/elsewhere/other.cu"}}}
    models.write_text(json.dumps({**document, "models": [other, *document["models"]]}))
    assert asked.is_kept
    changed = {**document["models"][0], "looped": True}
    models.write_text(json.dumps({**document, "models": [other, changed]}))
    assert not asked.is_kept


def test_another_nvcc(asked: Asked, tmp_path: Path) -> None:
    script = tmp_path / "nvcc"
    script.write_text(f'#!/bin/sh\nexec {find_nvcc().path} "$@"\n')
    script.chmod(0o755)
    changed = replace(asked, request=with_toolchain(asked.request, nvcc_option=str(script)))
    assert not changed.is_kept
    changed.keep()
    assert changed.is_kept
    # The same name and the same version, another program.
    script.write_text(f'#!/bin/sh\n# Another.\nexec {find_nvcc().path} "$@"\n')
    assert not changed.is_kept


def test_another_host_compiler(
    asked: Asked, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("gcc", "g++"):
        found = shutil.which(name)
        assert found is not None
        (folder / name).write_text(f'#!/bin/sh\nexec {found} "$@"\n')
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    asked.keep()
    assert asked.is_kept
    (folder / "gcc").write_text(f'#!/bin/sh\n# Newer.\nexec {found} "$@"\n')
    assert not asked.is_kept


def test_another_cutune(asked: Asked, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "cutune"
    (package / "emulator" / "native").mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "emulator" / "native" / "machine.cpp").write_text("")
    monkeypatch.setattr(cutune, "__file__", str(package / "__init__.py"))
    assert not asked.is_kept
    asked.keep()
    assert asked.is_kept
    (package / "emulator" / "native" / "machine.cpp").write_text("// faster\n")
    assert not asked.is_kept


def test_another_library_of_the_emulated_device(
    asked: Asked, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = next(
        path for path in libraries_of(str(asked.answer.instrumented.binary)) if "cudart" in path
    )
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))
    copy = tmp_path / Path(library).name
    shutil.copy(library, copy)
    asked.keep()
    assert asked.is_kept
    with copy.open("ab") as file:
        file.write(b"\0")
    assert not asked.is_kept


def test_a_file_that_an_option_names(asked: Asked) -> None:
    asked.write("profile.txt", "a")
    request = with_toolchain(
        asked.request, flags=(*asked.request.toolchain.flags, "-DX=profile.txt")
    )
    changed = replace(asked, request=request)
    changed.keep()
    assert changed.is_kept
    asked.write("profile.txt", "b")
    assert not changed.is_kept


def test_options_of_the_linker_are_not_known(asked: Asked) -> None:
    assert with_toolchain(asked.request, flags=("-Isome-Build", "-DA=-1")).unknown == ""
    for flag in (
        "-lfoo",
        "-B.",
        "-Xcompiler=-B.",
        "-L.",
        "-Xlinker=-rpath=.",
        "-Xcompiler=-Wl,-rpath,.",
    ):
        request = with_toolchain(asked.request, flags=(*asked.request.toolchain.flags, flag))
        assert request.unknown == flag
        assert WatchedRequest.begin(request) is None


def test_a_file_that_changed_while_the_request_was_answered(asked: Asked) -> None:
    request = replace(asked.request, options={"run": "./{program} 32"})
    watched = WatchedRequest.begin(request)
    assert watched is not None
    watched.inputs.result()
    # What is read later may be either.
    asked.write("shape.h", "#define VALUE 2\n")
    asked.write("shape.h", "#define VALUE 1\n")
    keep_answer(watched, asked.answer)
    assert kept_answer(request) is None


def test_what_was_cut_short_today_is_not_kept(asked: Asked) -> None:
    assert unkeepable(asked.answer) == ""
    said = [Diagnostic.at(Code.CUT_SHORT, None, command="app", advice="")]
    assert unkeepable(replace(asked.answer, said=said)) == "CT445"


def test_code_of_others_may_read_anything(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LD_PRELOAD", "other.so")
    assert unkeepable(asked.answer) == "LD_PRELOAD"


def test_a_file_that_the_assembler_reads(asked: Asked) -> None:
    asked.write("app.cu", SOURCE + 'asm(".incbin \\"data.bin\\"");\n')
    asked.keep()
    assert not asked.is_kept


@pytest.mark.parametrize("run", ["python3 go.py {program}", "./go.sh", "A=1 ./{program}"])
def test_a_program_that_others_start_may_read_anything(asked: Asked, run: str) -> None:
    assert unkeepable(replace(asked.answer, run=run)) == run


#: Calls that may read, each with the header that declares it.
READING = {
    "fopen": ("cstdio", 'fopen(argv[1], "r")'),
    "open": ("fcntl.h", "(long)open(argv[1], 0)"),
    "popen": ("cstdio", 'popen(argv[1], "r")'),
    "dlopen": ("dlfcn.h", "dlopen(argv[1], 1)"),
    "system": ("cstdlib", "(long)system(argv[1])"),
    "isatty": ("unistd.h", "(long)isatty(1)"),
    "gethostname": ("unistd.h", "(long)gethostname(argv[0], 1)"),
    "basic_ifstream": ("fstream", "std::ifstream(argv[1]).get()"),
    "random_device": ("random", "std::random_device()()"),
    "filesystem": ("filesystem", "std::filesystem::exists(argv[1])"),
    "opendir": ("dirent.h", "opendir(argv[1])"),
    "mmap": ("sys/mman.h", "mmap(0, 1, 1, 1, 0, 0)"),
    "syscall": ("unistd.h", "syscall(argc)"),
}
WRITING = """#include <algorithm>
#include <cmath>
#include <cstdio>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <iomanip>
#include <iostream>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>
int last(int argc, char **argv);
int main(int argc, char **argv) {
    std::vector<float> values(argc, 1.5f);
    std::mt19937 numbers(std::strtoul(argv[1], nullptr, 10));
    for (auto &value : values) value = std::sin(value) + numbers() + rand() + std::pow(value, 3);
    std::sort(values.begin(), values.end());
    std::map<std::string, int> names{{argv[0], 1}};
    std::ostringstream text;
    text << std::setprecision(3) << values[0] << names.size();
    auto begin = std::chrono::steady_clock::now();
    std::thread([&] { values[0] = 1; }).join();
    int given = 0;
    std::cin >> given;
    std::cout << text.str() << (std::chrono::steady_clock::now() - begin).count() << std::endl;
    fprintf(stderr, "%s %ld %zu\\n", getenv("HOME"), (long)time(0), strlen(argv[0]));
    double read = 0;
    if (scanf("%lf", &read) == 1) puts("none");
    return last(argc, argv);
}
"""
LAST = "int last(int argc, char **argv) { return RESULT; }\n"


@pytest.fixture(scope="module")
def writing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The compiled part of a program that computes and writes, and then calls `last`."""
    source = tmp_path_factory.mktemp("writing") / "writing.cpp"
    source.write_text(WRITING)
    compiled = source.with_suffix(".o")
    find_nvcc().check(["-std=c++17", "-c", str(source), "-o", str(compiled)])
    return compiled


def host_program(folder: Path, writing: Path, last: str) -> Path:
    source = folder / "app.cpp"
    source.write_text(last)
    binary = folder / "app"
    flags = ["-std=c++17", "-cudart=shared"]
    find_nvcc().check([*flags, str(source), str(writing), "-o", str(binary)])
    return binary


def test_what_computes_and_writes_is_known(tmp_path: Path, writing: Path) -> None:
    assert unknown_input(host_program(tmp_path, writing, LAST.replace("RESULT", "0"))) == ""


@pytest.mark.parametrize("name", READING)
def test_what_may_read_is_not(tmp_path: Path, writing: Path, name: str) -> None:
    header, call = READING[name]
    last = f"#include <{header}>\n" + LAST.replace("RESULT", f"({call}) != 0")
    found = unknown_input(host_program(tmp_path, writing, last))
    assert name in found


def test_what_is_no_program_is_not_known(tmp_path: Path) -> None:
    script = tmp_path / "app"
    script.write_text("#!/bin/sh\n")
    assert "no program" in unknown_input(script)
    assert unknown_input(tmp_path / "none") == "No such file or directory"


def test_the_same_inputs_have_the_same_digests(asked: Asked) -> None:
    assert inputs_of(asked.request) == inputs_of(asked.request)


def test_where_nvcc_is_at_work_the_same_is_found(
    asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = asked.request.with_begun()
    assert request.toolchain.begun is not None and request.name == asked.request.name
    request.toolchain.begun.wait()
    with monkeypatch.context() as patch:
        for module, name in ((toolchain, "host_pass"), (inputs, "device_pass")):
            patch.setattr(module, name, None)  # What is begun is not done again.
        found = inputs_of(request)
    assert found == inputs_of(asked.request)


def test_one_source_with_kernels_is_begun(asked: Asked) -> None:
    Path("plain.cu").write_text("int main() {}\n")
    for sources in (["app.cu", "plain.cu"], ["plain.cu"], ["nothing.cu"]):
        assert replace(asked.request, sources=sources).with_begun().toolchain.begun is None
