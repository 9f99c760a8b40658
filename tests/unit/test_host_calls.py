"""Which kernel a launch calls: what is read from cudafe++ and assembly, and from nvcc itself."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from cutune.analysis.analyze import analyze
from cutune.analysis.confirmed import confirmed, unconfirmed, without_unproven
from cutune.analysis.host_calls import (
    HostLaunch,
    exported_kernels,
    host_launches,
    mark_launches,
    read_launches,
)
from cutune.analysis.session import Session
from cutune.collect.replay.launched import launched_sites
from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, Diagnostic
from cutune.core.source import Source
from cutune.core.temporary import temporary_folder
from cutune.emulator.launch_log import LaunchRecord
from cutune.frontend.launch_sites import SiteNumbers
from cutune.frontend.program import CompiledCode, Impurity, Program, Verdict
from cutune.frontend.syntax.parse import parse
from cutune.toolchain.cache import cache_folder
from cutune.toolchain.entry_names import is_among
from cutune.toolchain.nvcc import find_nvcc
from cutune.toolchain.steps import cudafe, dry_run
from cutune.toolchain.steps.cudafe import read_steps

pytestmark = pytest.mark.usefixtures("short_headers")

CUDAFE = """\
# 4 "/a/app.cu"
__attribute__((visibility("hidden"))) void k(int *a) ;
#if 0
# 4
{ (a[0]) = 1; }
#endif
# 5
__attribute__((visibility("hidden"))) void elsewhere(int *a);
# 9
int main() {
# 10
if (n) {
(__cudaPushCallConfiguration(1, 2)) ? (void)0 : k(f(a, ')'), [&]{ (__cudaPushCallConfiguration(1, \
1)) ? (void)0 : ns::k< 3, T> (a); return 2; }()); }
# 20 "/a/app.h"
(n) ? (__cudaPushCallConfiguration(1, 1)) ? (void)0 : k(a) : ((__cudaPushCallConfiguration(1, 1)) \
? (void)0 : k(b)); const char *s = "(__cudaPushCallConfiguration(1)) \\? (void)0 : k(a)";
# 21
}
"""


def test_a_call_is_put_behind_each_launch() -> None:
    text, places = mark_launches(CUDAFE)
    assert places == [("/a/app.cu", 11)] * 2 + [("/a/app.h", 20)] * 2
    assert "void k(int *a)  {}\n#if 0" in text and "elsewhere(int *a);" in text
    for number, end in enumerate(["return 2; }())", "ns::k< 3, T> (a)", ": (k(a)", ": (k(b)"]):
        assert f"{end}, cutune_launched_{number}())" in text
    assert text.count("void cutune_launched_3() __attribute__((nothrow));") == 1
    assert r'"(__cudaPushCallConfiguration(1)) \? (void)0 : k(a)"' in text


@pytest.mark.parametrize(
    "text",
    [
        '# 1 "a.cu"\n(__cudaPushCallConfiguration(1, 1)) || k(a);',
        '# 1 "a.cu"\n(__cudaPushCallConfiguration(1, 1)) ? (void)0 : k;',
        '# 1 "a.cu"\n(__cudaPushCallConfiguration(1, 1)) ? (void)0 : k(a',
        "(__cudaPushCallConfiguration(1, 1)) ? (void)0 : k(a);",
    ],
)
def test_what_is_written_in_another_way_is_not_told(text: str) -> None:
    with pytest.raises(CutuneError) as caught:
        mark_launches(text)
    assert caught.value.diagnostic.code is Code.FRONT_END_FAILED


def launched(*bodies: str) -> HostLaunch:
    """What is read of one launch in functions with these instructions before the call of ours."""
    text = "".join(
        f"f{n}:\n\t{body}\n\tcall\tcutune_launched_0@PLT\n" for n, body in enumerate(bodies)
    )
    (found,) = read_launches(text.replace(";", "\n\t"), [("/a.cu", 3)])
    return found


def test_the_call_before_ours_is_the_launch() -> None:
    told = launched("call\t_Z5otherv; movl\t$1, %eax; call\t_Z1kPi@PLT; addq\t$16, %rsp; .LEHE1:")
    assert told == HostLaunch(
        "/a.cu", 3, 0, frozenset({"_Z1kPi"}), declared=frozenset({"_Z1kPi"}), indirect=False
    )
    both = launched("call\t_ZL1kIfEvPT_", "call\t*_Z1kPi@GOTPCREL(%rip)")
    assert both.entries == {"_Z1kIfEvPT_", "_Z1kPi"} and not both.indirect
    assert launched("bl\t_Z1kPi").entries == {"_Z1kPi"}
    # A block of its own, which only this call leads to.
    assert launched("callq\t_Z1kPi; .Ltmp3:; jmp\t.LBB0_2; .LBB0_2:").entries == {"_Z1kPi"}


@pytest.mark.parametrize(
    ("section", "is_replaceable"),
    [("\t.text\n", True), ('\t.section\t.text._Z1kPi,"axG",@progbits,_Z1kPi,comdat\n', False)],
)
def test_a_weak_kernel_may_be_that_of_another_source(section: str, is_replaceable: bool) -> None:
    """Not an inline one or an instance of a template, which is the same in all of them."""
    text = f"f:\n\tcall\t_Z1kPi\n\tcall\tcutune_launched_0\n{section}\t.weak\t_Z1kPi\n_Z1kPi:\n"
    (found,) = read_launches(text, [("/a.cu", 3)])
    assert found.declared == (found.entries if is_replaceable else frozenset())


@pytest.mark.parametrize(
    "body",
    [
        "call\t_Z1kPi; call\t*%rdx",
        "call\t*8(%rax)",
        "blr\tx3",
        "call\t_Z1kPi; .L3:",
        "call\t_Z1kPi; jmp\t.L4; .L3:",
        "call\t_Z1kPi; jne\t.L4",
        "movl\t$1, %eax",
    ],
)
def test_what_is_no_plain_call_is_indirect(body: str) -> None:
    told = launched(body)
    assert told.indirect and not told.entries
    assert launched("call\t_Z1kPi", body).indirect


def test_kernels_of_this_unit_are_known_and_order_counts_per_line() -> None:
    text = "_Z1kPi:\n\tret\nmain:\n\tcall\t_Z1kPi\n\tcall\tcutune_launched_1\n"
    told = list(read_launches(text, [("/a.cu", 3), ("/a.cu", 3), ("/a.cu", 4)]))
    assert [(t.line, t.order, sorted(t.entries), sorted(t.declared)) for t in told] == [
        (3, 0, [], []),
        (3, 1, ["_Z1kPi"], []),
        (4, 0, [], []),
    ]


DRYRUN = """\
#$ TOP=/usr/cuda
#$ PATH=/usr/cuda/bin:/usr/bin
#$ gcc -E -x c++ {flags} -m64 "s.cu" -o "/tmp/k p/s.cpp4.ii"
#$ cudafe++ --m64 --gen_c_file_name "/tmp/k p/s.cudafe1.cpp" "/tmp/k p/s.cpp4.ii"
#$ gcc -D__CUDA_ARCH__=800 -E -x c++ "s.cu" -o "/tmp/k p/s.cpp1.ii"
#$ "$CICC_PATH/cicc" --gen_c_file_name "/tmp/k p/s.cudafe1.c" "/tmp/k p/s.cpp1.ii"
#$ gcc -c -x c++ "/tmp/k p/s.cudafe1.cpp" -o "s.o"
"""


def test_the_steps_of_the_host_are_found() -> None:
    steps = read_steps(DRYRUN.format(flags=r"""-D'X=a b' -DY=\"q\" -I"a\\ \$ \e" """))
    assert steps.preprocess[:6] == ("gcc", "-E", "-x", "c++", "-DX=a b", '-DY="q"')
    assert steps.preprocess[-1] == "/tmp/k p/s.cpp4.ii" and steps.preprocess[6] == r"-Ia\ $ \e"
    assert steps.host_file == "/tmp/k p/s.cudafe1.cpp"
    assert steps.compile == ("gcc", "-c", "-x", "c++", "/tmp/k p/s.cudafe1.cpp", "-o", "s.o")
    assert steps.environment == {"PATH": "/usr/cuda/bin:/usr/bin"}


@pytest.mark.parametrize("flag", ["-DX=$(id)", '"-DX=`id`"', "-DX=$HOME", "-DX=a;id", "-DX=*"])
def test_what_only_a_shell_understands_is_not_run(flag: str) -> None:
    with pytest.raises(CutuneError, match="shell"):
        read_steps(DRYRUN.format(flags=flag))


def test_an_answer_without_steps_says_why() -> None:
    with pytest.raises(CutuneError, match="no such option"):
        read_steps("nvcc fatal   : no such option\n")
    with pytest.raises(CutuneError, match="does not name"):
        read_steps(DRYRUN.format(flags="").replace("-E", "-M"))


TEXT = """\
__global__ void k(int *a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) a[i] = i; }
void f(int *a, int n) {
    k<<<n / 64, 64>>>(a, n);
    k<<<n / 32, 32>>>(a, n); k<<<n / 16, 16>>>(a, n);
}
"""


def analyzed(text: str = TEXT) -> Program:
    program = analyze(parse(Source("/a.cu", text)))
    assert all(site.verdict is Verdict.TUNABLE for site in program.launches)
    return program


def told(line: int, order: int, *entries: str, **also: bool) -> HostLaunch:
    indirect = also.get("indirect", False)
    declared = frozenset(entries) if also.get("declared") else frozenset()
    return HostLaunch("/a.cu", line, order, frozenset(entries), declared, indirect)


def codes(*launches: HostLaunch, text: str = TEXT) -> list[Code | None]:
    program = confirmed(analyzed(text), launches)
    refused = [site.code for site in program.launches if site.verdict is Verdict.REFUSED]
    assert [d.code for d in program.diagnostics] == refused
    return [site.code for site in program.launches]


SECOND_LINE = (told(5, 0, "_Z1kPii"), told(5, 1, "_Z1kPii"))


def test_sites_get_the_entries_of_their_line() -> None:
    launches = [told(4, 0, "_Z1kPii", "_ZN2ns1kEPii"), *SECOND_LINE, told(9, 0, "_Z1jv")]
    program = confirmed(analyzed(), launches)
    assert [site.entries for site in program.launches] == [
        ("_Z1kPii", "_ZN2ns1kEPii"),
        *[("_Z1kPii",)] * 2,
    ]
    assert len(program.tunable_launches) == 3 and not program.diagnostics


@pytest.mark.parametrize(
    ("launches", "code"),
    [
        ([], Code.UNRESOLVED_LAUNCH),
        ([told(4, 0)], Code.UNRESOLVED_LAUNCH),
        ([told(4, 0, "_Z3badPii")], Code.OTHER_KERNEL),
        ([told(4, 0, "_Z1kPii", "_Z3badPii")], Code.OTHER_KERNEL),
        ([told(4, 0, "_Z1kPii"), told(4, 1, "_Z3badPii")], Code.OTHER_KERNEL),
        ([told(4, 0, "_Z1kPii", indirect=True)], Code.INDIRECT_LAUNCH),
        ([told(4, 0, "_Z1kPii", declared=True)], Code.MISSING_KERNEL),
        ([told(4, 0, "_Z1kPii"), told(4, 1, "_Z1kPfi", declared=True)], Code.MISSING_KERNEL),
    ],
)
def test_sites_that_are_not_confirmed(launches: list[HostLaunch], code: Code) -> None:
    assert codes(*launches, *SECOND_LINE) == [code, None, None]


def borrowing() -> Program:
    """A program whose kernel another source defines."""
    program = analyzed()
    code = CompiledCode("0123456789abcdef", (80,))
    lent = replace(program.kernels[0], entries=("_Z1kPii",), elsewhere=code, proven_for=(80,))
    return replace(program, kernels=(lent,))


@pytest.mark.parametrize(
    ("launch", "code"),
    [
        (told(4, 0, "_Z1kPii", declared=True), None),
        # Of the same name, and perhaps static.
        (told(4, 0, "_Z1kPii"), Code.MISSING_KERNEL),
        (told(4, 0, "_Z1kPfi", declared=True), Code.MISSING_KERNEL),
        (told(4, 0, "_Z1kPii", "_Z1kPfi", declared=True), Code.MISSING_KERNEL),
        (told(4, 0, "_Z1jPii", declared=True), Code.OTHER_KERNEL),
        (told(4, 0, "_Z1kPii", declared=True, indirect=True), Code.INDIRECT_LAUNCH),
    ],
)
def test_kernels_of_other_sources(launch: HostLaunch, code: Code | None) -> None:
    seconds = [replace(one, declared=one.entries) for one in SECOND_LINE]
    program = confirmed(borrowing(), [launch, *seconds])
    assert [site.code for site in program.launches] == [code, None, None]


def test_a_body_on_the_next_line_is_a_body() -> None:
    """cudafe++ writes no line marker then."""
    text = CUDAFE.replace("#if 0\n# 4\n{", "#if 0\n{")
    assert text != CUDAFE
    assert "void k(int *a)  {}" in mark_launches(text)[0]
    assert "void elsewhere(int *a);" in mark_launches(text)[0]


def test_several_launches_on_a_line() -> None:
    first = told(4, 0, "_Z1kPii")
    # One is missing: which one is not known.
    assert codes(first, SECOND_LINE[0]) == [None, *[Code.UNRESOLVED_LAUNCH] * 2]
    swapped = told(5, 1, "_Z1jPii")
    assert codes(first, SECOND_LINE[0], swapped) == [None, *[Code.OTHER_KERNEL] * 2]
    overload = told(5, 1, "_Z1kPfi")
    program = confirmed(analyzed(), [first, SECOND_LINE[0], overload])
    assert program.launches[1].entries == program.launches[2].entries == ("_Z1kPfi", "_Z1kPii")


def test_a_file_that_renumbers_lines_is_not_told() -> None:
    launches = [told(5, 0, "_Z1kPii"), told(6, 0, "_Z1kPii"), told(6, 1, "_Z1kPii")]
    assert codes(*launches, text="// line\n" + TEXT) == [None] * 3
    assert codes(*launches, text="#line 1\n" + TEXT) == [Code.UNRESOLVED_LAUNCH] * 3


def test_without_an_answer_nothing_is_tuned() -> None:
    program = unconfirmed(analyzed(), "no host compiler")
    assert not program.tunable_launches and len(program.diagnostics) == 3
    assert "no host compiler" in program.launches[0].reason
    assert unconfirmed(program, "again") == program


def record(site: int, kernel: str) -> LaunchRecord:
    one = (1, 1, 1)
    return LaunchRecord(0, site, kernel, "", one, one, 0, b"", (), 0, 0, None, 0, (), ())


def test_another_entry_that_arrives_puts_its_site_out() -> None:
    program = confirmed(analyzed(), [told(4, 0, "_Z1kPii"), *SECOND_LINE])
    warnings: list[Diagnostic] = []
    records = [record(1, "_Z1kPfi"), record(1, "_Z1kPii"), record(2, "_Z1kPii")]
    (found,) = launched_sites(program, [records], SiteNumbers(), warnings.append)
    assert found.kernel.name == "k" and [site.id for site in found.sites] == [2]
    assert [w.code for w in warnings] == [Code.OTHER_ENTRY, Code.NEVER_LAUNCHED]
    # Nobody asked the compiler: what arrives is taken.
    unasked = replace(program, launches=tuple(replace(s, entries=()) for s in program.launches))
    warnings.clear()
    arrived = [[record(1, "_Z1jPi")]]
    assert len([*launched_sites(unasked, arrived, SiteNumbers(), warnings.append)]) == 1


#: Instances of one template for two lambdas and a class: as the host calls them, and device code.
LAMBDA_ON_HOST = "_Z1kI17__nv_dl_wrapper_tI11__nv_dl_tagIPFivEXadL_Z4mainEELj1EEJPiEEEviT_"
LAMBDA, OTHER_LAMBDA, CLASS = "_Z1kIZ4mainEUliE_EviT_", "_Z1kIZ4mainEUliE0_EviT_", "_Z1kI1CEviT_"


def of_instances(entry: str, unproven: str | None = None) -> Program:
    """A program whose launches call one instance, while another one is not proven."""
    program = analyzed()
    reason = Impurity(Code.BLOCK_DEPENDENT, "uses its block", program.kernels[0].span)
    kernel = replace(
        program.kernels[0],
        entries=(LAMBDA, OTHER_LAMBDA, CLASS),
        unproven=((unproven, reason),) if unproven is not None else (),
    )
    sites = tuple(replace(site, entries=(entry,)) for site in program.launches)
    return replace(program, kernels=(kernel,), launches=sites)


@pytest.mark.parametrize(
    ("entry", "unproven", "is_kept"),
    [
        (CLASS, LAMBDA, True),
        (CLASS, CLASS, False),
        # The lambda may be any instance, as its name does not say which.
        (LAMBDA_ON_HOST, OTHER_LAMBDA, False),
        (LAMBDA_ON_HOST, None, True),
    ],
)
def test_instances_that_are_not_proven(entry: str, unproven: str | None, is_kept: bool) -> None:
    program = without_unproven(of_instances(entry, unproven))
    assert bool(program.tunable_launches) is is_kept
    assert bool(program.diagnostics) is not is_kept


def test_a_lambda_arrives_by_another_name() -> None:
    warnings: list[Diagnostic] = []
    records = [[record(1, LAMBDA), record(2, "_Z1kIiEviT_")]]
    found = launched_sites(of_instances(LAMBDA_ON_HOST), records, SiteNumbers(), warnings.append)
    assert [one.entry for one in found] == [LAMBDA]
    assert [w.code for w in warnings] == [Code.OTHER_ENTRY, Code.NEVER_LAUNCHED]


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


@pytest.mark.nvcc
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
            assert launch.order == len(found[launch.line]) - 1
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


@pytest.mark.nvcc
def test_names_that_mean_another_kernel(tmp_path: Path) -> None:
    source = tmp_path / "names.cu"
    source.write_text(NAMES)
    session = Session()
    program = session.load(str(source), require_nvcc=True)
    told = host_launches(session.nvcc, str(source), session.compile_flags(str(source)))
    found = {site.function: site.code for site in confirmed(program, told).launches}
    assert found.pop("right") is None
    assert found.pop("renamed") is Code.OTHER_KERNEL
    assert found.pop("elsewhere") is Code.MISSING_KERNEL
    assert len(found) == 6 and set(found.values()) <= {Code.INDIRECT_LAUNCH, Code.OTHER_KERNEL}


@pytest.mark.nvcc
def test_what_does_not_compile_is_not_told(tmp_path: Path) -> None:
    source = tmp_path / "a.cu"
    source.write_text("void f() { unknown<<<1, 1>>>(); }\n")
    with pytest.raises(CutuneError, match="unknown"):
        host_launches(find_nvcc(), str(source), [])
    source.write_text("int f() { return 1; }\n")
    assert host_launches(find_nvcc(), str(source), []) == ()


@pytest.fixture
def steps_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The programs that run; the cache is empty."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    programs: list[str] = []
    run = dry_run.run

    def noted(command: Sequence[str], environment: Mapping[str, str]) -> str:
        programs.append(Path(command[0]).name)
        return run(command, environment)

    monkeypatch.setattr(cudafe, "run", noted)
    return programs


@pytest.mark.nvcc
def test_the_same_text_is_not_asked_about_again(tmp_path: Path, steps_run: list[str]) -> None:
    source, header = tmp_path / "a.cu", tmp_path / "a.h"
    source.write_text(f'#include "a.h"\n{TEXT}')
    header.write_text("template <typename T> __global__ void other(T *a) {}\n")
    ask = partial(host_launches, find_nvcc(), str(source))
    first = ask(["-std=c++14"])
    assert [launch.line for launch in first] == [5, 6, 6] and steps_run == [
        "gcc",
        "cudafe++",
        "gcc",
    ]
    assert ask(["-std=c++14"]) == first and steps_run[3:] == ["gcc"]
    kept = exported_kernels(find_nvcc(), str(source), ["-std=c++14"])
    assert exported_kernels(find_nvcc(), str(source), ["-std=c++14"]) == kept
    assert kept and steps_run[4:] == ["gcc", "cudafe++", "gcc", "gcc"]
    del steps_run[:]
    ask(["-std=c++17"])
    header.write_text("inline int other() { return 1; }\n")
    ask(["-std=c++14"])
    for file in (cache_folder() / "host").iterdir():
        file.write_text(file.read_text()[:-9])
    assert [launch.line for launch in ask(["-std=c++14"])] == [5, 6, 6]
    assert steps_run == ["gcc", "cudafe++", "gcc"] * 3


@pytest.mark.nvcc
def test_of_what_is_temporary_nothing_is_kept(steps_run: list[str]) -> None:
    with temporary_folder() as folder:
        source = Path(folder) / "a.cu"
        source.write_text(TEXT)
        for _ in range(2):
            assert len(host_launches(find_nvcc(), str(source), ["-std=c++14"])) == 3
    assert steps_run.count("cudafe++") == 2
