"""Which kernel a launch calls, told by nvcc: hostile names, statements, and what hides them."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError
from cutune.proof.analysis.analyzer import Analyzer
from cutune.proof.analysis.host_calls import host_launches
from cutune.proof.analysis.launched_entries import with_launched_entries
from cutune.toolchain.kernel_names import is_among
from cutune.toolchain.nvcc import find_nvcc

pytestmark = [pytest.mark.nvcc, pytest.mark.usefixtures("short_headers")]

HOSTILE = """\
#include "k.h"
__global__ void k(int *a, int n) {}
__global__ void k(float *a, int n) {}
__global__ void k(double *a, int n);
namespace { __global__ void hidden(int *a) {} }
static __global__ void own(int *a) {}
template <typename T, int N> __global__ void fill(T *a) {}
namespace ns { struct V { int *p; }; __global__ void adl(V v) {} }
struct Tracked { int *p; Tracked(int *q) : p(q) {} Tracked(const Tracked &o); ~Tracked(); };
__global__ void takes(Tracked t, int n) {}
int count(int *a) { k<<<1, 1>>>(a, 1); return 1; }
template <typename T> void twice(T *a) {
    k<<<1, 1>>>(a, 1);
    fill<T, 2><<<1, 1>>>(a); }
template <typename T> void never(T *a) {
    k<<<1, 1>>>(a, 1); }
template <void (*K)(int *)> void by_template(int *a) {
    K<<<1, 1>>>(a); }
struct Runner { void (*k)(int *, int); void run(int *a) {
    k<<<1, 1>>>(a, 1); } };
void by_parameter(void own(int *), int *a) {
    own<<<1, 1>>>(a); }
#define other own
int main() {
    int *a = nullptr; float *b = nullptr; double *c = nullptr;
    k<<<1, 1>>>(a, 1); k<<<1, 1>>>(b, 1);
    k<<<1, 1>>>(c, 1);
    hidden<<<1, 1>>>(a);
    own<<<count(a), 1>>>(a);
    adl<<<1, 1>>>(ns::V{a});
    takes<<<1, 1>>>(Tracked(a), count(a) > 1 ? 1 : throw 2);
    k<<<1, 1>>>(a, [&] { k<<<1, 1>>>(b, 1); return 2; }());
    k<<<1, 1>>>(a, (k<<<1, 1>>>(b, 1), 1));
    (count(a) ? own : hidden)<<<1, 1>>>(a);
    auto own = ::hidden; own<<<1, 1>>>(a);
    ::other<<<1, 1>>>(a);
    if (a)
        k<<<1,
            1>>>(
            a, 1);
    auto generic = [](auto *p) {
        k<<<1, 1>>>(p, 1); };
    generic(a); generic(b); twice(a); twice(b); by_template<hidden>(a); in_header(a);
    Runner{k}.run(a);
}
"""
HEADER = """\
__global__ void header_kernel(int *a) {}
inline void in_header(int *a) {
    header_kernel<<<1, 1>>>(a); }
"""
#: Line → for each launch: entries, "hidden" for one whose name holds a number; None: indirect.
EXPECTED = {
    11: [["_Z1kPii"]],
    13: [["_Z1kPfi", "_Z1kPii"]],
    14: [["_Z4fillIfLi2EEvPT_", "_Z4fillIiLi2EEvPT_"]],
    16: [[]],
    18: [["hidden"]],
    20: [None],
    22: [None],
    26: [["_Z1kPii"], ["_Z1kPfi"]],
    27: [["_Z1kPdi"]],
    28: [["hidden"]],
    29: [["_Z3ownPi"]],
    30: [["_ZN2ns3adlENS_1VE"]],
    31: [["_Z5takes7Trackedi"]],
    32: [["_Z1kPii"], ["_Z1kPfi"]],
    33: [["_Z1kPii"], ["_Z1kPfi"]],
    34: [None],
    35: [None],
    36: [["_Z3ownPi"]],
    38: [["_Z1kPii"]],
    42: [["_Z1kPfi", "_Z1kPii"]],
}


@pytest.mark.parametrize("flags", [[], ["-std=c++20", "-O3", "-g", "-dc", "-Xcompiler", "-Werror"]])
def test_nvcc_tells_every_launch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flags: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "k.h").write_text(HEADER)
    source = tmp_path / "a b$(touch x);.cu"
    source.write_text(HOSTILE)
    launches = host_launches(find_nvcc(), str(source), flags)
    found: dict[int, list[list[str] | None]] = {}
    for launch in launches:
        if launch.path == os.path.realpath(source):
            names = sorted("hidden" if "6hidden" in e else e for e in launch.entries)
            found.setdefault(launch.line, []).append(None if launch.indirect else names)
    assert found == EXPECTED
    assert {e for launch in launches for e in launch.declared} == {"_Z1kPdi"}
    header = [launch for launch in launches if launch.path == os.path.realpath(tmp_path / "k.h")]
    assert [(h.line, sorted(h.entries)) for h in header] == [(3, ["_Z13header_kernelPi"])]
    assert sorted(path.name for path in tmp_path.iterdir()) == [source.name, "k.h"]
    # nvcc itself hands names to a shell.
    plain = tmp_path / "plain.cu"
    plain.write_text(HOSTILE)
    ptx = find_nvcc().ptx(plain, [flag for flag in flags if flag != "-dc"])
    entries = re.findall(r"\.entry (\w+)", ptx)
    defined = {e for launch in launches for e in launch.entries - launch.declared}
    assert entries and all(is_among(entry, entries) for entry in defined)


NAMES = """\
#define PURE int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) a[i] = i;
__global__ void k(int *a, int n) { PURE }
__global__ void declared(float *a, int n) { PURE }
__global__ void declared(int *a, int n);
__global__ void bad(int *a, int n) { a[threadIdx.x] = blockDim.x; }
typedef void (*kernel_t)(int *, int);
struct Member { kernel_t k; void run(int *a, int n) { k<<<n / 64, 64>>>(a, n); } };
namespace alg { constexpr auto &k = bad;
void alias(int *a, int n) { k<<<n / 64, 64>>>(a, n); } }
void parameter(void k(int *, int), int *a, int n) { k<<<n / 64, 64>>>(a, n); }
template <typename K> void deduced(K k, int *a, int n) { k<<<n / 64, 64>>>(a, n); }
void elsewhere(int *a, int n) { declared<<<n / 64, 64>>>(a, n); }
void range(int *a, int n) { for (kernel_t k : {bad}) k<<<n / 64, 64>>>(a, n); }
void right(int *a, int n) { k<<<n / 64, 64>>>(a, n); }
void initialized(int *a, int n) { kernel_t k(bad); k<<<n / 64, 64>>>(a, n); }
#define k bad
void renamed(int *a, int n) { k<<<n / 64, 64>>>(a, n); }
#undef k
int main() { Member{k}.run(nullptr, 1); deduced(bad, nullptr, 1); }
"""


def test_names_that_mean_another_kernel(tmp_path: Path) -> None:
    source = tmp_path / "names.cu"
    source.write_text(NAMES)
    analyzer = Analyzer()
    program = analyzer.load(str(source), require_nvcc=True)
    told = host_launches(
        analyzer.toolchain.nvcc, str(source), analyzer.toolchain.compile_flags(str(source))
    )
    found = {site.function: site.code for site in with_launched_entries(program, told).launches}
    assert found.pop("right") is None
    assert found.pop("renamed") is Code.OTHER_KERNEL
    assert found.pop("elsewhere") is Code.MISSING_KERNEL
    assert len(found) == 6 and set(found.values()) <= {Code.INDIRECT_LAUNCH, Code.OTHER_KERNEL}


def test_what_does_not_compile_is_not_told(tmp_path: Path) -> None:
    source = tmp_path / "a.cu"
    source.write_text("void f() { unknown<<<1, 1>>>(); }\n")
    with pytest.raises(CutuneError, match="unknown"):
        host_launches(find_nvcc(), str(source), [])
    source.write_text("int f() { return 1; }\n")
    assert host_launches(find_nvcc(), str(source), []) == ()


#: Built-in functions that take numbers alone: inline functions of `-O2` give them arguments.
INTRINSICS = """\
#include <emmintrin.h>
template <typename T> __global__ void twice(int n, T *a) { a[threadIdx.x] *= 2; }
__m128i shifted(const short *from) {
    __m128i next = _mm_srli_si128(_mm_loadu_si128((const __m128i *) from), 2);
    return _mm_insert_epi16(next, from[8], 7); }
void run(float *a) {
    twice<<<1, 32>>>(32, a); }
"""


def test_host_code_may_need_its_optimization(tmp_path: Path) -> None:
    source = tmp_path / "intrinsics.cu"
    source.write_text(INTRINSICS)
    (launch,) = host_launches(find_nvcc(), str(source), ["-O2"])
    assert (launch.line, *launch.entries) == (7, "_Z5twiceIfEviPT_")
    # Another kernel may be launched where nothing is optimized.
    asking = "#ifdef __OPTIMIZE__\n#define float double\n#endif\n"
    source.write_text(INTRINSICS.replace("void run", f"{asking}void run"))
    with pytest.raises(CutuneError) as caught:
        host_launches(find_nvcc(), str(source), ["-O2"])
    assert caught.value.diagnostic.code is Code.FRONT_END_FAILED
