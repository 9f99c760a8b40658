"""Which kernel a launch calls: what is read from cudafe++ and assembly, and from nvcc itself."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, Diagnostic
from cutune.core.source import Source
from cutune.emulator.launch_log import LaunchRecord
from cutune.measure.replay.description import launched_sites
from cutune.proof.analysis.host_calls import HostLaunch, mark_launches, read_launches
from cutune.proof.analysis.launched_entries import (
    with_launched_entries,
    without_launched_entries,
    without_unproven,
)
from cutune.source.program import CompiledCode, Impurity, Program, SiteNumbers, Verdict
from cutune.toolchain.cudafe import read_host_steps
from tests.support.analyzed import analyzed
from tests.support.program_texts import THREE_LAUNCHES

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
        "/a.cu", 3, frozenset({"_Z1kPi"}), declared=frozenset({"_Z1kPi"}), indirect=False
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
    assert found.declared == found.weak == (found.entries if is_replaceable else frozenset())


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


def test_kernels_of_this_unit_are_known_and_launches_stay_in_order() -> None:
    text = "_Z1kPi:\n\tret\nmain:\n\tcall\t_Z1kPi\n\tcall\tcutune_launched_1\n"
    told = list(read_launches(text, [("/a.cu", 3), ("/a.cu", 3), ("/a.cu", 4)]))
    assert [(t.line, sorted(t.entries), sorted(t.declared)) for t in told] == [
        (3, [], []),
        (3, ["_Z1kPi"], []),
        (4, [], []),
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
    steps = read_host_steps(DRYRUN.format(flags=r"""-D'X=a b' -DY=\"q\" -I"a\\ \$ \e" """))
    assert steps.preprocess[:6] == ("gcc", "-E", "-x", "c++", "-DX=a b", '-DY="q"')
    assert steps.preprocess[-1] == "/tmp/k p/s.cpp4.ii" and steps.preprocess[6] == r"-Ia\ $ \e"
    assert steps.host_file == Path("/tmp/k p/s.cudafe1.cpp")
    assert steps.compile == ("gcc", "-c", "-x", "c++", "/tmp/k p/s.cudafe1.cpp", "-o", "s.o")
    assert steps.variables == {"PATH": "/usr/cuda/bin:/usr/bin"}


@pytest.mark.parametrize("flag", ["-DX=$(id)", '"-DX=`id`"', "-DX=$HOME", "-DX=a;id", "-DX=*"])
def test_what_only_a_shell_understands_is_not_run(flag: str) -> None:
    with pytest.raises(CutuneError, match="shell"):
        read_host_steps(DRYRUN.format(flags=flag))


def test_an_answer_without_steps_says_why() -> None:
    with pytest.raises(CutuneError, match="no such option"):
        read_host_steps("nvcc fatal   : no such option\n")
    with pytest.raises(CutuneError, match="does not name"):
        read_host_steps(DRYRUN.format(flags="").replace("-E", "-M"))


def analyzed_text(text: str = THREE_LAUNCHES) -> Program:
    program = analyzed(Source("/a.cu", text))
    assert all(site.verdict is Verdict.TUNABLE for site in program.launches)
    return program


def told(line: int, *entries: str, **also: bool) -> HostLaunch:
    indirect = also.get("indirect", False)
    declared = frozenset(entries) if also.get("declared") else frozenset()
    weak = declared if also.get("weak") else frozenset()
    return HostLaunch("/a.cu", line, frozenset(entries), declared, indirect, weak)


def codes(*launches: HostLaunch, text: str = THREE_LAUNCHES) -> list[Code | None]:
    program = with_launched_entries(analyzed_text(text), launches)
    refused = [site.code for site in program.launches if site.verdict is Verdict.REFUSED]
    assert [d.code for d in program.diagnostics] == refused
    return [site.code for site in program.launches]


SECOND_LINE = (told(5, "_Z1kPii"), told(5, "_Z1kPii"))


def test_sites_get_the_entries_of_their_line() -> None:
    launches = [told(4, "_Z1kPii", "_ZN2ns1kEPii"), *SECOND_LINE, told(9, "_Z1jv")]
    program = with_launched_entries(analyzed_text(), launches)
    assert [site.entries for site in program.launches] == [
        ("_Z1kPii", "_ZN2ns1kEPii"),
        *[("_Z1kPii",)] * 2,
    ]
    assert len(program.tunable_launches) == 3 and not program.diagnostics


@pytest.mark.parametrize(
    ("launches", "code"),
    [
        ([], Code.UNRESOLVED_LAUNCH),
        ([told(4)], Code.UNRESOLVED_LAUNCH),
        ([told(4, "_Z3badPii")], Code.OTHER_KERNEL),
        ([told(4, "_Z1kPii", "_Z3badPii")], Code.OTHER_KERNEL),
        ([told(4, "_Z1kPii"), told(4, "_Z3badPii")], Code.OTHER_KERNEL),
        ([told(4, "_Z1kPii", indirect=True)], Code.INDIRECT_LAUNCH),
        ([told(4, "_Z1kPii", declared=True)], Code.MISSING_KERNEL),
        ([told(4, "_Z1kPii"), told(4, "_Z1kPfi", declared=True)], Code.MISSING_KERNEL),
        ([told(4, "_Z1kPii", declared=True, weak=True)], Code.WEAK_KERNEL),
        (
            [told(4, "_Z1kPii", declared=True, weak=True), told(4, "_Z1kPfi", declared=True)],
            Code.MISSING_KERNEL,
        ),
        # Not as many as are written: any of them may be the one that is meant.
        ([told(4, "_Z1kPii"), told(4, indirect=True)], Code.INDIRECT_LAUNCH),
    ],
)
def test_sites_that_are_not_confirmed(launches: list[HostLaunch], code: Code) -> None:
    assert codes(*launches, *SECOND_LINE) == [code, None, None]


def test_a_launch_by_a_pointer_leaves_the_one_beside_it() -> None:
    pointer = told(5, indirect=True)
    assert codes(told(4, "_Z1kPii"), SECOND_LINE[0], pointer) == [None, None, Code.INDIRECT_LAUNCH]


def borrowing() -> Program:
    """A program whose kernel another source defines."""
    program = analyzed_text()
    code = CompiledCode("0123456789abcdef", (80,))
    lent = replace(program.kernels[0], entries=("_Z1kPii",), elsewhere=code, proven_for=(80,))
    return replace(program, kernels=(lent,))


@pytest.mark.parametrize(
    ("launch", "code"),
    [
        (told(4, "_Z1kPii", declared=True), None),
        # Of the same name, and perhaps static.
        (told(4, "_Z1kPii"), Code.MISSING_KERNEL),
        (told(4, "_Z1kPfi", declared=True), Code.MISSING_KERNEL),
        (told(4, "_Z1kPii", "_Z1kPfi", declared=True), Code.MISSING_KERNEL),
        (told(4, "_Z1jPii", declared=True), Code.OTHER_KERNEL),
        (told(4, "_Z1kPii", declared=True, indirect=True), Code.INDIRECT_LAUNCH),
    ],
)
def test_kernels_of_other_sources(launch: HostLaunch, code: Code | None) -> None:
    seconds = [replace(one, declared=one.entries) for one in SECOND_LINE]
    program = with_launched_entries(borrowing(), [launch, *seconds])
    assert [site.code for site in program.launches] == [code, None, None]


def test_a_body_on_the_next_line_is_a_body() -> None:
    """cudafe++ writes no line marker then."""
    text = CUDAFE.replace("#if 0\n# 4\n{", "#if 0\n{")
    assert text != CUDAFE
    assert "void k(int *a)  {}" in mark_launches(text)[0]
    assert "void elsewhere(int *a);" in mark_launches(text)[0]


def test_several_launches_on_a_line() -> None:
    first = told(4, "_Z1kPii")
    # One is missing: which one is not known.
    assert codes(first, SECOND_LINE[0]) == [None, *[Code.UNRESOLVED_LAUNCH] * 2]
    swapped = told(5, "_Z1jPii")
    assert codes(first, SECOND_LINE[0], swapped) == [None, *[Code.OTHER_KERNEL] * 2]
    overload = told(5, "_Z1kPfi")
    program = with_launched_entries(analyzed_text(), [first, SECOND_LINE[0], overload])
    assert program.launches[1].entries == program.launches[2].entries == ("_Z1kPfi", "_Z1kPii")


def test_a_file_that_renumbers_lines_is_not_told() -> None:
    launches = [told(5, "_Z1kPii"), told(6, "_Z1kPii"), told(6, "_Z1kPii")]
    assert codes(*launches, text="// line\n" + THREE_LAUNCHES) == [None] * 3
    assert codes(*launches, text="#line 1\n" + THREE_LAUNCHES) == [Code.UNRESOLVED_LAUNCH] * 3


def test_without_an_answer_nothing_is_tuned() -> None:
    program = without_launched_entries(analyzed_text(), "no host compiler")
    assert not program.tunable_launches and len(program.diagnostics) == 3
    assert "no host compiler" in program.launches[0].reason
    assert without_launched_entries(program, "again") == program


def record(site: int, kernel: str) -> LaunchRecord:
    one = (1, 1, 1)
    return LaunchRecord(0, site, kernel, "", one, one, 0, b"", (), 0, 0, None, 0, (), ())


def test_another_entry_that_arrives_puts_its_site_out() -> None:
    program = with_launched_entries(analyzed_text(), [told(4, "_Z1kPii"), *SECOND_LINE])
    warnings: list[Diagnostic] = []
    records = [record(1, "_Z1kPfi"), record(1, "_Z1kPii"), record(2, "_Z1kPii")]
    (found,) = launched_sites(program, records, SiteNumbers(), warnings.append)
    assert found.kernel.name == "k" and [site.id for site in found.sites] == [2]
    assert [w.code for w in warnings] == [Code.OTHER_ENTRY, Code.NEVER_LAUNCHED]
    # Nobody asked the compiler: what arrives is taken.
    unasked = replace(program, launches=tuple(replace(s, entries=()) for s in program.launches))
    warnings.clear()
    arrived = [record(1, "_Z1jPi")]
    assert len([*launched_sites(unasked, arrived, SiteNumbers(), warnings.append)]) == 1


#: Instances of one template for two lambdas and a class: as the host calls them, and device code.
LAMBDA_ON_HOST = "_Z1kI17__nv_dl_wrapper_tI11__nv_dl_tagIPFivEXadL_Z4mainEELj1EEJPiEEEviT_"
LAMBDA, OTHER_LAMBDA, CLASS = "_Z1kIZ4mainEUliE_EviT_", "_Z1kIZ4mainEUliE0_EviT_", "_Z1kI1CEviT_"


def of_instances(entry: str, unproven: str | None = None) -> Program:
    """A program whose launches call one instance, while another one is not proven."""
    program = analyzed_text()
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


@pytest.mark.parametrize(
    ("unproven", "code"), [(CLASS, Code.BLOCK_DEPENDENT), (LAMBDA, Code.ROUNDED_SUM)]
)
def test_what_an_annotation_of_others_does_not_help(unproven: str, code: Code) -> None:
    program = of_instances(CLASS, unproven)
    sites = tuple(
        replace(site, verdict=Verdict.REFUSED, code=Code.ROUNDED_SUM) for site in program.launches
    )
    said = tuple(Diagnostic(Code.ROUNDED_SUM, "sums", one.source, one.span) for one in sites)
    judged = without_unproven(replace(program, launches=sites, diagnostics=said))
    assert {site.code for site in judged.launches} == {code}
    assert [one.code for one in judged.diagnostics] == [code] * len(sites)


def test_a_lambda_arrives_by_another_name() -> None:
    warnings: list[Diagnostic] = []
    records = [record(1, LAMBDA), record(2, "_Z1kIiEviT_")]
    found = launched_sites(of_instances(LAMBDA_ON_HOST), records, SiteNumbers(), warnings.append)
    assert [one.entry for one in found] == [LAMBDA]
    assert [w.code for w in warnings] == [Code.OTHER_ENTRY, Code.NEVER_LAUNCHED]
