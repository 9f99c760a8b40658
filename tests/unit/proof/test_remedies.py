"""Remedies followed to the letter: what a message says to write, written, is accepted.

All sources with mistakes are compiled together, and all that were mended. Codes that are not here
name no remedy, or have a test of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from cutune.core.source import Source
from cutune.model.selection.choose import UNROLLED, idle_text
from cutune.proof.analysis.analyzer import Analyzer
from cutune.proof.analysis.recorded_launches import constant_blocks
from cutune.source.program import LaunchSite, Program, Verdict
from cutune.toolchain.toolchain import Toolchain
from tests.support.analyzed import analyzed
from tests.support.cutune_runs import QUICK_FLAGS
from tests.support.program_texts import SUM_OF_ROW

pytestmark = pytest.mark.nvcc

ID = "int i = blockIdx.x * blockDim.x + threadIdx.x;"
FILL = f"__global__ void K(int n, float *a) {{ {ID} if (i < n) a[i] = 1; }}"
SHARED = "__global__ void K(int n, float *a) { __shared__ float s; s = a[threadIdx.x]; a[0] = s; }"
LAUNCH = "K<<<n / 64, 64>>>(n, a);"
WHOLE = "block(x: 32..1024)"


class Remedy(NamedTuple):
    """A mistake and what its message says to write; K stands for a name of its own.

    `kernel`: where there is one alone. `said`: words of the message that name the remedy.
    """

    code: str
    said: str
    wrong: str
    right: str
    kernel: str = FILL

    def text(self, name: str, is_right: bool) -> str:
        body = self.right if is_right else self.wrong
        if "\n@" in f"\n{body}":  # in the place of the kernel
            whole = body.removeprefix("@")
        else:
            whole = f"{self.kernel}\nvoid K_run(int n, float *a) {{\n{body}\n}}"
        return whole.replace("K", name) + "\n"


def pragma(clauses: str, kernel: str = FILL, name: str = "K") -> str:
    head = f"@#pragma cutune kernel {name} {clauses}"
    return f"{head}\n{kernel}\nvoid K_run(int n, float *a) {{\n{LAUNCH}\n}}"


def annotated(code: str, said: str, wrong: str, right: str, kernel: str = FILL) -> Remedy:
    return Remedy(code, said, pragma(wrong, kernel), pragma(right, kernel))


def run(kernel: str, before: str = "") -> str:
    return f"@{before}{kernel}\nvoid K_run(int n, float *a) {{\n{LAUNCH}\n}}"


def stored(value: str) -> str:
    return run(FILL.replace("a[i] = 1", f"a[i] = {value}"))


DEFAULT = FILL.replace("float *a", "float *a, int v = 1 * 1")
HELPER = """@template <class F> void K_go(F f, int n, float *a) { f<<<n / 64, 64>>>(n, a); }
__global__ void K(int n, float *a) { BODY if (i < n) a[i] = 1; }
void K_run(int n, float *a) { K_go(K, n, a); }""".replace("BODY", ID)
CALLS = FILL.replace("a[i] = 1", "a[i] = K_of(i)")
NAMESAKES = """@#ifdef QQ
FIRST
#else
SECOND
#endif
void K_run(int n, float *a) { LAUNCH }""".replace("FIRST", FILL).replace("LAUNCH", LAUNCH)
OTHERS = FILL + FILL.replace("K", "K_other")
TILE = """__global__ void K(int n, float *a) {
    extern __shared__ float s[];
    ID s[threadIdx.x] = i < n ? a[i] : 0;
    __syncthreads();
    if (i < n) a[i] = s[blockDim.x - 1 - threadIdx.x];
}
""".replace("ID", ID)
COUNTS = """int Kt = 64;
K<<<n / Kt, Kt, BYTES>>>(n, a);"""
SUM = SUM_OF_ROW.replace("NAME", "K")
MOST = SUM.replace("t += a[blockIdx.x * n + j]", "t = fmaxf(t, a[blockIdx.x * n + j])")
MOST = MOST.replace("t += __shfl_xor_sync(~0u, t, k)", "t = fmaxf(t, __shfl_xor_sync(~0u, t, k))")
MOST = MOST.replace("t += s[w]", "t = fmaxf(t, s[w])")
LAST_STEPS = """__global__ void K(int n, float *a) {
    __shared__ float s[1024];
    float t = 0;
    for (int j = threadIdx.x; j < n; j += blockDim.x) t = fmaxf(t, a[blockIdx.x * n + j]);
    s[threadIdx.x] = t;
    __syncthreads();
    for (int k = blockDim.x / 2; k > 16; k /= 2) {
        if (threadIdx.x < k) s[threadIdx.x] = fmaxf(s[threadIdx.x], s[threadIdx.x + k]);
        __syncthreads();
    }
    for (int k = 16; k; k /= 2) {
        if (threadIdx.x < k) s[threadIdx.x] = fmaxf(s[threadIdx.x], s[threadIdx.x + k]);
        __syncwarp();
    }
    if (threadIdx.x == 0) a[blockIdx.x * n] = s[0];
}
"""
PARTS = """__global__ void K(int n, float *a) {
    __shared__ int s[32];
    ID
    int t = i < n ? i % 7 : 0;
    for (int k = 16; k; k /= 2) t += __shfl_xor_sync(~0u, t, k);
    if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = t;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int w = 1; w < blockDim.x / 32; ++w) t += s[w];
        STORE;
    }
}
""".replace("ID", ID)
SHIFTED = FILL.replace("*a", "*b").replace("a[i]", "b[i]")
WEAK = "__attribute__((weak)) "


def with_memory(kernel: str, written: str, before: str = "") -> str:
    body = COUNTS.replace("BYTES", written)
    return f"@{before}\n{kernel}\nvoid K_run(int n, float *a) {{\n{body}\n}}"


SHARES = f"#pragma cutune kernel K {WHOLE} "
#: Launches that are refused, and are tunable then.
LAUNCHES = (
    Remedy("CT216", "without that result", stored("atomicAdd(a, 1.0f)"), run(FILL)),
    Remedy(
        *("CT218", "define it in this source", run(CALLS, before="__device__ float K_of(int);\n")),
        run(CALLS, before="__device__ float K_of(int i) { return i; }\n"),
    ),
    Remedy("CT222", "without it", stored("clock()"), run(FILL)),
    Remedy(
        *("CT203", "move it outside", "K<<<n / 64,\n#ifdef QQ\n32\n#else\n64\n#endif\n>>>(n, a);"),
        f"#ifdef QQ\nK<<<n / 64, 32>>>(n, a);\n#else\n{LAUNCH}\n#endif",
    ),
    Remedy("CT204", "write it out", f"\n#define K_GO {LAUNCH}\nK_GO", LAUNCH),
    Remedy("CT205", "a statement of its own", f"n++, {LAUNCH}", f"n++; {LAUNCH}"),
    Remedy(
        *("CT206", "store its value in a variable first", "K<<<n++, 64>>>(n, a);"),
        *("int Km = n++; K<<<Km, 64>>>(n, a);", DEFAULT),
    ),
    Remedy("CT207", "pragma cutune ignore", f"#pragma cutune ignore\n{LAUNCH}", LAUNCH),
    Remedy(
        *("CT208", "by its name", "void (*p)(int, float *) = 0; p<<<n / 64, 64>>>(n, a);"),
        LAUNCH,
    ),
    Remedy("CT217", "as blockIdx.x * blockDim.x + threadIdx.x", stored("threadIdx.x"), stored("i")),
    Remedy("CT281", "by its name where 'K_go' is called", HELPER, LAUNCH),
    Remedy(
        "CT209",
        "different names",
        NAMESAKES.replace("SECOND", SHIFTED),
        NAMESAKES.replace(FILL, FILL.replace("K", "K_1")).replace("SECOND", SHIFTED),
    ),
    Remedy(
        "CT238",
        "from the variables that define its block",
        with_memory(TILE, "n", SHARES),
        with_memory(TILE, "Kt * 4", SHARES),
    ),
    Remedy(
        "CT238",
        "shared(bytes as a formula of x, y, z)",
        with_memory(TILE, "n", SHARES),
        with_memory(TILE, "n", SHARES + "shared(4 * x)"),
    ),
    Remedy(
        "CT238",
        "or shared(keep)",
        with_memory(TILE, "n", SHARES),
        with_memory(TILE, "n", SHARES + "shared(keep)"),
    ),
    Remedy(
        "CT244",
        "write it out as a statement",
        f"\n#define K_GO(...) const char *shown = #__VA_ARGS__; __VA_ARGS__\nK_GO({{ {LAUNCH} }})",
        LAUNCH,
    ),
    Remedy(
        "CT284",
        "write '#pragma cutune kernel K associative' before it",
        run(SUM),
        run(SUM, before="#pragma cutune kernel K associative\n"),
    ),
    Remedy(
        "CT286", "__syncthreads() between", run(MOST.replace("__syncthreads();", "")), run(MOST)
    ),
    Remedy(
        *("CT286", "of a warp need not run in step: put __syncwarp() between"),
        run(LAST_STEPS.replace("__syncwarp();", "")),
        run(LAST_STEPS),
    ),
    Remedy(
        "CT287",
        "such as atomicAdd",
        run(PARTS.replace("STORE", "a[blockIdx.x] = t")),
        run(PARTS.replace("STORE", "atomicAdd((int *)a, t)")),
    ),
    Remedy(
        *("CT282", "with a comma between", "\n#define K_C n / 64, 64\nK<<<K_C>>>(n, a);"),
        "\n#define K_G n / 64\n#define K_B 64\nK<<<K_G, K_B>>>(n, a);",
    ),
)
#: The same, where the compiler's front end tells what a launch calls.
TOLD = (
    Remedy(
        "CT225",
        "by its own name",
        f"\n#define K K_other\n{LAUNCH}\n#undef K",
        LAUNCH.replace("K", "K_other"),
        OTHERS,
    ),
    Remedy("CT288", "without 'weak', as static", run(FILL, WEAK), run(FILL, "static ")),
    Remedy("CT288", "or inline", run(FILL, WEAK), run(FILL, "inline ")),
)
TUNE = "#pragma cutune tune(Km: 4, 8)"
USE = f"n += Km; {LAUNCH}"
RUN = f"void K_run(int n, float *a) {{ {USE} }}"
BEGIN, END = "#pragma cutune region begin", "#pragma cutune region end"
WARPS = FILL.replace("a[i] = 1", "a[i] = __shfl_xor_sync(~0u, a[i], 1)")
MEMBER = f"""@struct Kp {{ int n; }};
#pragma cutune kernel K data(DATA) {WHOLE}
{FILL.replace("int n", "Kp p, int n")}
void K_run(Kp p, int n, float *a) {{ K<<<n / 64, 64>>>(p, n, a); }}"""
#: Launches that are warned of, pragmas that are ignored, and are not then.
PRAGMAS = (
    Remedy(
        *("CT230", "64 wide in y", LAUNCH.replace("64>", "dim3(4, 64)>")),
        LAUNCH.replace("64>", "dim3(4, 1)>"),
    ),
    Remedy(
        *("CT246", "has 2 blocks in y", LAUNCH.replace("n / 64", "dim3(n / 64, 2)")),
        LAUNCH.replace("n / 64", "dim3(n / 64, 1)"),
    ),
    Remedy(
        "CT233",
        "pass it as an integer argument",
        MEMBER.replace("DATA", "p.n"),
        MEMBER.replace("DATA", "n"),
    ),
    *(
        Remedy(
            "CT264",
            "#define Km VALUE, or constexpr int Km = VALUE;",
            f"@{TUNE}\n{wrong}\n{FILL}\n{RUN}",
            f"@{TUNE}\n{right}\n{FILL}\n{RUN}",
        )
        for wrong, right in (
            ("#define Km \\\n4 \\\n", "#define Km 4"),
            ("constexpr int Km = 4, Kq = 1;", "constexpr int Km = 4;"),
        )
    ),
    annotated("CT292", "name multiples of 32", "block(x: 32, 48, 64)", "block(x: 32, 64)", WARPS),
    annotated("CT237", "leave y out", "block(x: 32..64, y: 1..2)", "block(x: 32..64)"),
    annotated("CT249", "multiples of 32", "block(x: 40, 48)", "block(x: 32, 64)", WARPS),
    Remedy(
        *("CT255", "by an earlier pragma", f"{TUNE} data(n)\n{TUNE} data(n)\nint Km = 4; {USE}"),
        f"{TUNE} data(n)\nint Km = 4; {USE}",
    ),
    Remedy(
        *("CT258", "put both into one block", f"{BEGIN}\n{{ {LAUNCH}\n{END}\n}}"),
        f"{{\n{BEGIN}\n{LAUNCH}\n{END}\n}}",
    ),
    Remedy(
        *("CT259", "in braces", f"if (n)\n{BEGIN}\n{LAUNCH}\n{END}"),
        f"if (n) {{\n{BEGIN}\n{LAUNCH}\n{END}\n}}",
    ),
    Remedy(
        *(
            "CT265",
            "define it in one",
            f"@{TUNE}\n#define Km 4\n#undef Km\n#define Km 5\n{FILL}\n{RUN}",
        ),
        f"@{TUNE}\n#define Km 4\n{FILL}\n{RUN}",
    ),
    annotated("CT232", "it has: n", "data(q) " + WHOLE, "data(n) " + WHOLE),
    annotated("CT234", "32 threads or more", "block(x: 33..40)", "block(x: 32..64)"),
    annotated("CT235", "ceil(g / x)", f"{WHOLE} grid(n)", f"{WHOLE} grid(ceil(n / x))"),
    annotated("CT236", "add block(x: 32..1024)", "data(n)", f"data(n) {WHOLE}", SHARED),
    annotated("CT239", "only x, y and z", f"{WHOLE} where(q > 1)", f"{WHOLE} where(x > 1)"),
    annotated(
        *("CT247", "made of x, y, z", f"{WHOLE} shared(n)", f"{WHOLE} shared(4 * x)", SHARED)
    ),
    annotated("CT285", "leave out 'associative'", f"{WHOLE} associative", WHOLE),
    Remedy(*("CT231", "known: ", pragma(WHOLE, name="Kx"), pragma(WHOLE))),
    Remedy(
        *("CT250", "before a local declaration", f"@{TUNE} data(n)\n{FILL}"),
        f"{TUNE} data(n)\nint Km = 4; {USE}",
    ),
    Remedy(
        *("CT251", "int Km = VALUE;", f"{TUNE} data(n)\nint Km; Km = 4; {USE}"),
        f"{TUNE} data(n)\nint Km = 4; {USE}",
    ),
    Remedy(
        *("CT252", "int Km = VALUE;", f"{TUNE} data(n)\nfloat Km = 4; {USE}"),
        f"{TUNE} data(n)\nint Km = 4; {USE}",
    ),
    Remedy(
        *("CT253", "name sizes that are known there", f"{TUNE} data(q)\nint Km = 4; {USE}"),
        f"{TUNE} data(n)\nint Km = 4; {USE}",
    ),
    Remedy("CT254", "data(N)", f"{TUNE}\nint Km = 4; {USE}", f"{TUNE} data(n)\nint Km = 4; {USE}"),
    Remedy(
        *("CT256", "in rising order", f"{TUNE.replace('4, 8', '8..4')} data(n)\nint Km = 4; {USE}"),
        f"{TUNE.replace('4, 8', '4..8')} data(n)\nint Km = 4; {USE}",
    ),
    Remedy(
        *("CT257", "region end", f"#pragma cutune region begin\n{LAUNCH}"),
        f"#pragma cutune region begin\n{LAUNCH}\n#pragma cutune region end",
    ),
    Remedy(
        *("CT261", "compute it before", f"{TUNE} data(n)\nint Km = n++; {USE}"),
        f"int Kk = n++;\n{TUNE} data(n)\nint Km = Kk; {USE}",
    ),
    Remedy(
        *("CT262", "may occur in it", f"{TUNE} data(n) where(Km > q)\nint Km = 4; {USE}"),
        f"{TUNE} data(n) where(Km < n)\nint Km = 4; {USE}",
    ),
)

LOOP = "for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) a[i] = 2 * a[i];"


def few_blocks(pragma: str) -> str:
    step = "int step = blockDim.x * gridDim.x;"
    kernel = f"__global__ void K(int n, float *a) {{ {step}{pragma}{LOOP} }}"
    return f"@{kernel}\nvoid K_run(int n, float *a) {{\nK<<<4, 64>>>(n, a);\n}}"


#: A launch that leaves most of the GPU idle, and gets more threads then.
FEW = Remedy("CT291", "'#pragma unroll 1'", few_blocks(""), few_blocks("\n#pragma unroll 1\n"))
ALL = [*LAUNCHES, *PRAGMAS, FEW]


class Together(NamedTuple):
    """The mistakes, or what was mended, as one source. `last`: the last line of each."""

    program: Program
    last: Sequence[int]

    def launch(self, index: int) -> LaunchSite:
        first = self.last[index - 1] if index else 0
        sites = self.program.launches
        lines = [site.source.location(site.span.start).line for site in sites]
        own = [s for s, line in zip(sites, lines, strict=True) if first < line <= self.last[index]]
        return own[-1]

    def codes(self, index: int) -> dict[str, str]:
        """The messages about a part of the source, by their codes."""
        first, found = (self.last[index - 1] if index else 0), {}
        for said in self.program.diagnostics:
            if said.source is not None and said.span is not None:
                line = said.source.location(said.span.start).line
                if first < line <= self.last[index]:
                    found[said.code.number] = said.message
        return found


def together(
    remedies: Sequence[Remedy], is_right: bool, judge: Callable[[str], Program]
) -> Together:
    texts = [one.text(f"k{number}", is_right) for number, one in enumerate(remedies)]
    last = [sum(text.count("\n") for text in texts[: n + 1]) for n in range(len(texts))]
    return Together(judge("".join(texts)), last)


def judged(text: str) -> Program:
    return analyzed(Source("/remedies/app.cu", text))


@pytest.fixture(scope="module")
def wrong() -> Together:
    return together(ALL, False, judged)


@pytest.fixture(scope="module")
def right() -> Together:
    return together(ALL, True, judged)


def check(one: Remedy, number: int, wrong: Together, right: Together) -> None:
    site = wrong.launch(number)
    assert site.verdict is Verdict.REFUSED and site.code is not None
    assert site.code.number == one.code, site.reason
    assert one.said.replace("K", f"k{number}") in site.reason
    assert right.launch(number).verdict is Verdict.TUNABLE, right.launch(number).reason


@pytest.mark.long
@pytest.mark.parametrize("number", range(len(LAUNCHES)), ids=[one.code for one in LAUNCHES])
def test_a_launch_that_is_written_as_the_message_says(
    number: int, wrong: Together, right: Together
) -> None:
    check(LAUNCHES[number], number, wrong, right)


@pytest.mark.usefixtures("short_headers")
def test_a_launch_of_which_the_front_end_tells(tmp_path: Path) -> None:
    def judge(text: str) -> Program:
        path = tmp_path / "app.cu"
        path.write_text(text)
        return Analyzer(Toolchain(flags=QUICK_FLAGS)).load(str(path), require_nvcc=True)

    wrong, right = (together(TOLD, is_right, judge) for is_right in (False, True))
    for number, one in enumerate(TOLD):
        check(one, number, wrong, right)


@pytest.mark.parametrize("place", range(len(PRAGMAS)), ids=[one.code for one in PRAGMAS])
def test_a_pragma_that_is_written_as_the_message_says(
    place: int, wrong: Together, right: Together
) -> None:
    one, number = PRAGMAS[place], len(LAUNCHES) + place
    said = one.said.replace("K", f"k{number}")
    assert said in wrong.codes(number).get(one.code, ""), wrong.codes(number)
    ignored = {code for code, said in right.codes(number).items() if "ignored" in said}
    assert one.code not in right.codes(number) and not ignored, right.codes(number)


def test_a_loop_that_is_not_unrolled_is_shared_by_more_blocks(
    wrong: Together, right: Together
) -> None:
    number = len(ALL) - 1
    blocks = [
        constant_blocks(one.launch(number), one.program.kernel(f"k{number}"))
        for one in (wrong, right)
    ]
    assert blocks == [4, 0]
    assert FEW.said in idle_text(blocks[0], 132, remedy=UNROLLED)


def test_blocks_that_are_told_apart_without_a_loop_share_no_work() -> None:
    place = "int i = (blockIdx.y * gridDim.x + blockIdx.x) * blockDim.x + threadIdx.x;"
    program = judged(
        f"__global__ void k(int *a) {{ {place} a[i] = gridDim.x; }}\n"
        "void run(int *a) {\nk<<<dim3(2, 3), 64>>>(a);\n}"
    )
    assert constant_blocks(program.launches[0], program.kernel("k")) == 0
