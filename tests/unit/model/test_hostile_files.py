"""Files from strangers: no text of theirs gets into a program, and no number makes it undefined.

Every entry of a models.json, a profile and a choices.json is replaced by what may end a comment, a
string or a name of C, or is of another type or size. Either the reader says so, or what is emitted
has none of the text outside of comments and strings, compiles, and decides at any size without
undefined behaviour.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import pytest

from cutune.core.diagnostics import CutuneError
from cutune.core.workspace import Workspace
from cutune.model.emit.selection import emit_selection
from cutune.model.fit.fitted_model import read_models
from cutune.proof.analysis.analyzer import Analyzer
from cutune.search.tunables.choices import ChoicesDocument, emit_host, read_choices
from cutune.search.tunables.measured_blocks import block_deciders
from cutune.source.program import Program
from cutune.toolchain.device.profile import DeviceProfile
from cutune.toolchain.nvcc import INCLUDE_DIRECTORY, find_nvcc, host_compiler
from cutune.toolchain.toolchain import Toolchain
from tests.support.cutune_runs import QUICK_FLAGS
from tests.support.full_documents import RECORDED, choices_document, models_document

T = TypeVar("T")
H200 = DeviceProfile.named("h200")
MARKER = "strange"
TEXTS = (
    f"a; int {MARKER} = 0",
    f'"); int {MARKER}("',
    f"*/ int {MARKER}; /*",
    f"a\nint {MARKER};",
    f"a\x85int {MARKER};",
    f"a\u2028int {MARKER};",
    f"a\\\nint {MARKER};\n",
    f"a??/\nint {MARKER};\n",
    f'a??/"; int {MARKER}; //',
    f"0ll; int {MARKER};",
    f"n + {MARKER}(1)",
    "%s%n",
)
NUMBERS = (0, -1, 1000, -(1 << 63), (1 << 63) - 1, 1 << 70, 1e300, 0.5)
OTHERS: tuple[object, ...] = (None, True, [], {}, [[1, 2, 3]], "1e999999999", "1/0", "")


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The places of all entries; of a list, the last one stands for all."""
    yield path
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in [*enumerate(value)][-1:]:
            yield from leaves(inner, (*path, index))


def hostile(document: Any) -> Iterator[tuple[str, Any]]:
    """The document with one entry replaced, and which; it is put back behind that.

    Of entries that are called the same, one stands for all.
    """
    seen = {("schema",)}
    for path in leaves(document):
        last = max((i for i, key in enumerate(path) if isinstance(key, str)), default=0)
        if not path or path[last:] in seen:
            continue
        seen.add(path[last:])
        holder = document
        for key in path[:-1]:
            holder = holder[key]
        entry = holder[path[-1]]
        values = [*(TEXTS if isinstance(entry, str) else (TEXTS[0], *NUMBERS)), *OTHERS]
        if isinstance(entry, list):
            values.append([*entry, *entry])
        if isinstance(entry, dict):
            first, *rest = entry.items()
            values += [dict([(text, first[1]), *rest]) for text in TEXTS]
        for value in values:
            holder[path[-1]] = value
            yield f"{path} {str(value)[:80]!r}", document
        holder[path[-1]] = entry


_HIDDEN = re.compile(r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""", re.DOTALL)


def seen_by_a_compiler(text: str) -> str:
    """C++ without comments and strings, as it is written before line 1."""
    text = "\n".join(text.splitlines())
    return _HIDDEN.sub(" ", re.sub(r"\\\n", "", text.replace("??/", "\\")))


def accepted(
    document: Any, path: Path, read: Callable[[Path], T], emit: Callable[[T], str]
) -> dict[str, str]:
    """What is emitted of hostile documents that can be read, with what was replaced."""
    found: dict[str, str] = {}
    known, refused = set(), 0
    for what, one in hostile(document):
        # To write over a file waits for the disk, which takes longer than all else here.
        path.unlink(missing_ok=True)
        path.write_text(json.dumps(one))
        try:
            value = read(path)
        except CutuneError:
            refused += 1
            continue
        if (said := repr(value)) not in known:
            known.add(said)
            if (text := emit(value)) not in found:
                assert not re.search(rf"\b{MARKER}\b", seen_by_a_compiler(text)), what
                found[text] = what
    assert refused > len(found) > 1, "most of it is refused"
    return found


HEADERS = (
    "launch",
    "range",
    "allocation",
    "exact",
    "tables",
    "operators",
    "host",
    "choice",
    "refine",
)
#: Every routine is asked about launches of extreme sizes.
ASKING = """
static void ask(cutune_chosen (*select)(const cutune_request *, cutune_shortlist *)) {
    const long long some[] = {0, 1, -1, 7, 1000, 1ll << 31, (1ll << 31) + 1, 1ll << 62,
                              -(1ll << 62), 9223372036854775807ll, -9223372036854775807ll - 1};
    const unsigned widths[] = {1, 16, 256, 1024, 65535, 4294967295u};
    cutune_site site = {};
    site.max_threads = 1024;
    for (int d = 0; d < 3; ++d) site.rule[d] = d < 2 ? cutune_guarded : cutune_fixed;
    site.guard[0] = site.guard[1] = [](const long long *arguments) { return arguments[0]; };
    site.guard_arguments = 3;
    for (long long n : some)
        for (long long m : some)
            for (unsigned width : widths) {
                long long arguments[64];
                for (int i = 0; i < 64; ++i) arguments[i] = i % 2 == 0 ? n : m;
                const cutune_limits limits = {1024, 49152};
                const cutune_request asked = cutune_make_request(
                    site, dim3(width, static_cast<unsigned>(m), 1), dim3(width, 1, 1), 0,
                    arguments, ~0ull >> 1, limits, false, nullptr);
                dim3 grid;
                size_t smem = 0;
                if (!cutune_may_change(site, asked)) continue;
                cutune_shortlist list = {};
                const cutune_chosen chosen = select(&asked, nullptr);
                select(&asked, &list);
                if (cutune_threads(chosen.block) == 0) __builtin_trap();
                cutune_fit_launch(site, asked, chosen.block, &grid, &smem);
            }
}
"""
#: What CUDA refuses as the program asks for it must not become a launch that runs.
REFUSED = """
static long long bytes_of(long long x, long long, long long) { return 512 * x; }
static void refuse() {
    cutune_site site = {};
    site.max_threads = 1024;
    site.rule[0] = cutune_divide;
    site.shared = bytes_of;
    site.indexed = 1;
    const size_t known[] = {49152, cutune_any_size};
    for (size_t shared : known) {
        const cutune_limits limits = {1024, shared};
        const cutune_request asked = cutune_make_request(site, dim3(4), dim3(1024), 512 * 1024,
                                                         nullptr, 0, limits, false, nullptr);
        dim3 grid;
        size_t smem = 0;
        if (cutune_fit_launch(site, asked, dim3(64), &grid, &smem)) __builtin_trap();
    }
}
"""
FAKE = """
extern "C" {
cudaError_t cudaPeekAtLastError() { return cudaSuccess; }
cudaError_t cudaGetLastError() { return cudaSuccess; }
cudaError_t cudaGetDeviceCount(int *count) { *count = 1; return cudaSuccess; }
cudaError_t cudaGetDevice(int *device) { *device = 0; return cudaSuccess; }
cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr what, int) {
    *value = what == cudaDevAttrMultiProcessorCount ? 132
             : what == cudaDevAttrComputeCapabilityMajor ? 9 : 0;
    return cudaSuccess;
}
cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *, const void *) { return cudaSuccess; }
cudaError_t cudaEventCreate(cudaEvent_t *) { return cudaSuccess; }
cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t) { return cudaSuccess; }
cudaError_t cudaEventQuery(cudaEvent_t) { return cudaSuccess; }
cudaError_t cudaEventElapsedTime(float *, cudaEvent_t, cudaEvent_t) { return cudaSuccess; }
cudaError_t cudaEventDestroy(cudaEvent_t) { return cudaSuccess; }
cudaError_t cudaGetDriverEntryPoint(const char *, void **f, unsigned long long,
                                    cudaDriverEntryPointQueryResult *) {
    *f = nullptr;
    return cudaSuccess;
}
cudaError_t cudaGetDriverEntryPointByVersion(const char *, void **f, unsigned, unsigned long long,
                                             cudaDriverEntryPointQueryResult *) {
    *f = nullptr;
    return cudaSuccess;
}
}
"""
_ROUTINE = re.compile(r"cutune_chosen (cutune_select_\w+)\(")


def run_all(texts: dict[str, str], folder: Path) -> None:
    """Compile all routines, each text in a namespace of its own, and ask them."""
    includes = "".join(f'#include "cutune_{name}.h"\n' for name in (*HEADERS, "select"))
    spaces, calls = [], []
    for number, text in enumerate(texts):
        inside = re.sub(r"^#include.*$", "", text, flags=re.MULTILINE)
        spaces.append(f"#undef CUTUNE_RATIO\nnamespace space_{number} {{\n{inside}\n}}\n")
        calls += [f"    ask(space_{number}::{name});\n" for name in _ROUTINE.findall(text)]
    source = folder / "hostile.cpp"
    source.write_text(
        f"#include <cmath>\n#include <stdio.h>\n{includes}{FAKE}{REFUSED}{ASKING}{''.join(spaces)}"
        f"int main() {{\n    refuse();\n{''.join(calls)}}}\n",
        encoding="latin-1",
    )
    flags = ["-std=c++17", "-O0", "-w", "-fsanitize=undefined", "-fno-sanitize-recover=all"]
    headers = [INCLUDE_DIRECTORY, *find_nvcc().include_directories]
    include = [f"-I{path}" for path in headers]
    binary = source.with_suffix("")
    subprocess.run([host_compiler(), *flags, *include, source, "-o", binary], check=True)
    ended = subprocess.run([binary], capture_output=True, text=True, timeout=300, check=False)
    assert ended.returncode == 0 and not ended.stderr, ended.stderr[:2000]


@pytest.mark.long
@pytest.mark.nvcc
def test_no_file_gets_text_into_a_program_or_makes_it_undefined(tmp_path: Path) -> None:
    models = read_models(RECORDED / "add_models.json")
    profile = {**H200.to_json(), "provenance": {"a": "b"}}
    found = accepted(
        models_document(),
        tmp_path / "models.json",
        read_models,
        lambda read: emit_selection(read, [H200]).text,
    )
    found |= accepted(
        profile,
        tmp_path / "profile.json",
        lambda path: DeviceProfile.named(str(path)),
        lambda read: emit_selection(models, [read]).text,
    )
    found |= accepted(
        choices_document(),
        tmp_path / "choices.json",
        lambda path: read_choices(Workspace(path.parent)),
        emit_choices,
    )
    run_all(found, tmp_path)


@cache
def program() -> Program:
    return Analyzer(Toolchain(flags=QUICK_FLAGS)).load(str(RECORDED / "add.cu"))


def emit_choices(document: ChoicesDocument) -> str:
    fixed = "".join(f"#define {name} {value}\n" for name, value in document.fixed.items())
    host = emit_host(document.models, {}, {}).selection + fixed
    blocks = document.launches.blocks if document.launches is not None else []
    return host + emit_selection([], [H200], measured=block_deciders(program(), blocks)).text
