"""Programs that compute the same with any value of WPT, but not with one here and another there.

Each of them prints other lines, or none, if all that names WPT is simply written again for another
value. `REFUSED`: why cutune does not; `WRONG`: those of them of which a plain copy can be made, and
that are wrong then.
"""

from __future__ import annotations

HEAD = """\
#include <cstdio>
#include <cstdlib>
#pragma cutune tune(WPT: 1, 4) data(n)
#ifndef WPT
#define WPT 1
#endif
"""
ADD = """\
static __global__ void add(int n, int *a) {
    for (int k = 0; k < WPT; ++k) {
        int i = (blockIdx.x * WPT + k) * 32 + threadIdx.x;
        if (i < n) a[i] += 1;
    }
}
"""
LAUNCH = "add<<<(n + 32 * WPT - 1) / (32 * WPT), 32>>>(n, a);"
RUN = f"static void run(int n, int *a) {{ {LAUNCH} }}\n"
MAIN = """\
int main(int argc, char **argv) {
    int *a;
    cudaMallocManaged(&a, 4096 * sizeof(int));
    BEFORE
    for (int each = 1; each < argc; ++each) {
        int n = atoi(argv[each]);
        for (int i = 0; i < n; ++i) a[i] = i;
        CALL;
        cudaDeviceSynchronize();
        long long sum = 0;
        for (int i = 0; i < n; ++i) sum += (long long)a[i] * (i % 7 + 1);
        printf("%d %lld\\n", n, sum);
    }
    return cudaGetLastError() != cudaSuccess;
}
"""


def main(call: str = "run(n, a)", before: str = "") -> str:
    """The rest of a program."""
    return MAIN.replace("CALL", call).replace("BEFORE", before)


def _remembering(before: str, most: str) -> str:
    """A program whose grid follows the largest value that was seen so far."""
    return f"""{HEAD}{before}{ADD}static void run(int n, int *a) {{
    const int unit = {most};
    add<<<(n + 32 * unit - 1) / (32 * unit), 32>>>(n, a);
}}
{main()}"""


PLAIN = HEAD + ADD + RUN + main()
#: What is only a macro apart is copied where it stands: the kernel sees one OFFSET, `run` another.
MACROS = f"""{HEAD}#define OFFSET 1
{ADD.replace("+= 1", "+= OFFSET")}#undef OFFSET
#define OFFSET 0
#define PASTED(a, b) a##b
static void run(int n, int *a) {{
    n = n + OFFSET;
    PASTED(ad, d)<<<(n + 32 * PASTED(W, PT) - 1) / (32 * WPT), 32>>>(n, a + OFFSET);
    if (__LINE__ != 19) printf("line %d of %s\\n", __LINE__, __FILE__);
}}
{main()}"""

#: What a function declares within itself is of the scope around.
DECLARED = f"""{HEAD}{ADD}static void run(int n, int *a) {{ void finish(int); {LAUNCH} finish(n); }}
void finish(int n) {{ printf("%d done\\n", n); }}
{main()}"""
#: By the type of an argument a call finds all functions beside that type.
BY_ARGUMENT = f"""{HEAD}struct Size {{ int n; }};
{ADD.replace("int n,", "Size size,").replace("i < n", "i < size.n")}
static void run(int n, int *a) {{
    const Size size = {{n}};
    {LAUNCH.replace("(n, a)", "(size, a)")}
}}
{main()}"""

#: A constant in place of the macro, constants and a type that depend on it, shared memory.
CONSTANTS = f"""\
#include <cstdio>
#include <cstdlib>
#pragma cutune tune(WPT: 1, 4) data(n)
constexpr int WPT = 1;
constexpr int TILE = 32 * WPT;
struct Part {{ int values[TILE]; }};
static __device__ int sum_of(const Part &part, int at) {{ return part.values[at] + 1; }}
static __global__ void add(int n, int *a) {{
    __shared__ Part part;
    extern __shared__ int room[];
    int i = blockIdx.x * TILE + threadIdx.x;
    part.values[threadIdx.x] = i < n ? a[i] : 0;
    room[threadIdx.x] = sum_of(part, threadIdx.x);
    __syncthreads();
    if (i < n) a[i] = room[threadIdx.x];
}}
static void run(int n, int *a) {{
    add<<<(n + TILE - 1) / TILE, TILE, sizeof(Part)>>>(n, a);
}}
{main()}"""

#: Only the host depends on the value.
HOST_ONLY = f"""{HEAD}{ADD.replace("WPT", "unit").replace("int n,", "int n, int unit,")}
static void run(int n, int *a) {{ {LAUNCH.replace("(n, a)", "(n, WPT, a)")} }}
{main()}"""
LARGE = f"""{HEAD}{ADD}static void run(int n, int *a) {{
    static_cast<void>(n < 600 && cudaFuncSetAttribute(
        add, cudaFuncAttributeMaxDynamicSharedMemorySize, 60000));
    {LAUNCH.replace("32>>>", "32, 60000>>>")}
}}
{main()}"""

#: Per program its text, and what cutune says.
REFUSED = {
    "static local": (
        HEAD
        + ADD
        + "static void run(int n, int *a) {\n"
        + f'    static int calls; printf("%d\\n", ++calls); {LAUNCH} }}\n'
        + main(),
        "'run' uses 'static'",
    ),
    "file variable": (
        _remembering("static int most;\n", "most < WPT ? most = WPT : most"),
        "it uses the variable 'most'",
    ),
    "variable beside its type": (
        _remembering(
            "struct Memory { int most; } memory;\n",
            "memory.most < WPT ? memory.most = WPT : memory.most",
        ),
        "it uses something of 'struct Memory",
    ),
    "variable of a struct": (
        _remembering(
            "struct Memory { int most; };\nstruct Memory memory;\n",
            "memory.most < WPT ? memory.most = WPT : memory.most",
        ),
        "it uses the variable 'memory'",
    ),
    "state of a callee": (
        _remembering(
            "static int largest(int x) { static int most; return most < x ? most = x : most; }\n",
            "largest(WPT)",
        ),
        "it uses 'largest', which holds 'static'",
    ),
    "first value of a callee": (
        HEAD
        + "static int first(int x) { static const int kept = x; return kept; }\n"
        + ADD
        + f'static void run(int n, int *a) {{ printf("%d\\n", first(WPT) == WPT); {LAUNCH} }}\n'
        + main(),
        "it uses 'first', which holds 'static'",
    ),
    "state of a template": (
        _remembering("template <int N> int most = 0;\n", "most<0> < WPT ? most<0> = WPT : most<0>"),
        "it uses something of 'template < int N >",
    ),
    "mutable constant": (
        _remembering(
            "struct Memory { mutable int most; int of(int x) const "
            "{ return most < x ? most = x : most; } };\nstatic const Memory memory = {0};\n",
            "memory.of(WPT)",
        ),
        "it uses 'Memory', which holds 'mutable'",
    ),
    "virtual function": (
        HEAD
        + "struct Memory { virtual int of(int x) = 0; };\n"
        + "struct Most : Memory { int most = 0;\n"
        + "    int of(int x) override { return most < x ? most = x : most; } };\n"
        + ADD
        + "static void run(int n, int *a, Memory &memory) {\n"
        + "    const int unit = memory.of(WPT);\n"
        + "    add<<<(n + 32 * unit - 1) / (32 * unit), 32>>>(n, a);\n}\n"
        + main("run(n, a, memory)", "Most memory;"),
        "so that it is not known what is called",
    ),
    "pointer to a function": (
        HEAD
        + "struct Memory { int (*of)(int x); };\n"
        + "static int largest(int x) { static int most; return most < x ? most = x : most; }\n"
        + ADD
        + "static void run(int n, int *a, const Memory &memory) {\n"
        + "    const int unit = memory.of(WPT);\n"
        + "    add<<<(n + 32 * unit - 1) / (32 * unit), 32>>>(n, a);\n}\n"
        + main("run(n, a, memory)", "const Memory memory = {largest};"),
        "'Memory' holds 'a pointer to a function'",
    ),
    "member of a class": (
        HEAD
        + ADD
        + "struct Runner { static void run(int n, int *a) { "
        + LAUNCH
        + " } };\n"
        + main("Runner::run(n, a)"),
        "'main' uses it",
    ),
    "hidden type": (
        HEAD
        + "struct Loud { int n; Loud(int n) : n(n) {}\n"
        + '    Loud(const Loud &o) : n(o.n) { puts("copy"); } };\n'
        + "struct Pair { Loud loud; int n; };\n"
        + ADD
        + f"static void run(int n, int *a, Pair pair) {{ {LAUNCH} }}\n"
        + main("run(n, a, Pair{Loud(n), n})"),
        "'run' has the parameter 'Pair pair'",
    ),
    "qualified name": (
        HEAD + ADD + RUN.replace("add<<<", "::add<<<") + main(),
        "'run' uses '::add'",
    ),
    "name of the function": (
        HEAD
        + ADD
        + f"static void run(int n, int *a) {{ puts(__PRETTY_FUNCTION__); {LAUNCH} }}\n"
        + main(),
        "'run' uses '__PRETTY_FUNCTION__'",
    ),
    "identity of a type": (
        HEAD
        + "#include <typeinfo>\nstruct Unit { int values[WPT]; };\n"
        + ADD
        + f"static void run(int n, int *a) {{ puts(typeid(Unit).name()); {LAUNCH} }}\n"
        + main(),
        "'run' uses 'typeid'",
    ),
    "constructor": (
        HEAD
        + '__attribute__((constructor)) static void announce() { puts(WPT ? "begin" : ""); }\n'
        + ADD
        + RUN
        + main(),
        "'announce' is declared with 'constructor'",
    ),
    "copied argument": (
        HEAD
        + "struct Loud { int n; Loud(int n) : n(n) {}\n"
        + '    Loud(const Loud &o) : n(o.n) { puts("copy"); } };\n'
        + ADD
        + f"static void run(int n, int *a, Loud loud) {{ {LAUNCH} }}\n"
        + main("run(n, a, Loud(n))"),
        "'run' has the parameter 'Loud loud'",
    ),
    "attribute set from outside": (
        HEAD
        + ADD
        + RUN.replace("32>>>", "32, 60000>>>")
        + main(
            before="cudaFuncSetAttribute(add, cudaFuncAttributeMaxDynamicSharedMemorySize, 60000);"
        ),
        "'main' uses 'add' and 'run'",
    ),
    "used by main": (HEAD + ADD + RUN + main("run(n * WPT / WPT, a)"), "'main' uses it"),
    "two entries": (
        HEAD
        + ADD.replace("a[i] += 1", "a[i] += 1 + n / 5000")
        + "static int grid_of(int n) { return (n + 32 * WPT - 1) / (32 * WPT); }\n"
        + "static void run(int n, int *a, int grid) { add<<<grid, 32>>>(n, a); }\n"
        + main("run(n, a, grid_of(n))"),
        "'main' uses 'add'",
    ),
    "overloaded": (
        HEAD + ADD + RUN + 'static void run(long n, char *) { printf("%ld\\n", n); }\n' + main(),
        "'run' is declared twice, or overloaded",
    ),
    "template": (
        HEAD + "template <class T> " + ADD.replace("int *a", "T *a") + RUN + main(),
        "'add' is declared with 'template",
    ),
    "namespace": (
        HEAD + "namespace app {\n" + ADD + RUN + "}\n" + main("app::run(n, a)"),
        "stands in 'namespace app'",
    ),
    "linkage": (
        HEAD + ADD + 'extern "C" ' + RUN.removeprefix("static ") + main(),
        "'run' is declared with 'extern",
    ),
    "two definitions": (
        f"{HEAD}#if WPT > 2\n{ADD}#else\n{ADD.replace('+= 1', '+= WPT')}#endif\n{RUN}{main()}",
        "'add' is made by a macro, or written twice",
    ),
    "calls itself": (
        HEAD
        + ADD
        + "static void run(int n, int *a) {\n"
        + "    if (n > 999) { run(n / 2, a); run(n - n / 2, a + n / 2); }\n"
        + f"    else {{ {LAUNCH} }} }}\n"
        + main(),
        "'run' calls itself",
    ),
    "calls it again": (
        HEAD
        + ADD
        + "static void half(int n, int *a);\n"
        + f"static void run(int n, int *a) {{ if (n > 999) half(n, a); else {{ {LAUNCH} }} }}\n"
        + "static void half(int n, int *a) { run(n / 2, a); run(n - n / 2, a + n / 2); }\n"
        + main(),
        "'run' calls 'half', which calls it again",
    ),
    "called by other sources": (
        HEAD + ADD + RUN.removeprefix("static ") + "int grid_of(int n) { return n / WPT; }\n",
        "'run' and 'grid_of' depend on it, and other sources may call each",
    ),
    "address taken": (
        HEAD + ADD + RUN + main("(*call)(n, a)", "void (*call)(int, int *) = run;"),
        "'run' is used without being called",
    ),
    "named at file scope": (
        HEAD + ADD + "static void (*kernel)(int, int *) = add;\n" + RUN + main(),
        "'add' is named outside of functions",
    ),
    "device variable": (
        HEAD + "__device__ int unit = WPT;\n" + ADD.replace("k < WPT", "k < unit") + RUN + main(),
        "the variable 'unit' depends on it",
    ),
    "known to other sources": (
        HEAD + ADD + "int grid_of(int n) { return (n + 32 * WPT - 1) / (32 * WPT); }\n"
        "static void run(int n, int *a) { add<<<grid_of(n), 32>>>(n, a); }\n" + main(),
        "another source may call 'grid_of'",
    ),
    "kernel known to other sources": (
        PLAIN.replace("static __global__", "__global__"),
        "another source may call 'add'",
    ),
    "attribute of one copy": (LARGE, "'run' uses 'add' without calling it"),
    "name of an instance": (
        f"{HEAD}{ADD}struct Unit {{ int of[WPT]; }};\n"
        "template <class T> static void say(const T &) { puts(__PRETTY_FUNCTION__); }\n"
        f"static void run(int n, int *a) {{ Unit unit; say(unit); {LAUNCH} }}\n{main()}",
        "'say' holds '__PRETTY_FUNCTION__'",
    ),
    "lambda": (
        f"{HEAD}{ADD}static void run(int n, int *a) {{\n"
        f'    auto once = [] {{ puts("set up"); }}; once(); {LAUNCH} }}\n{main()}',
        "'run' uses 'a lambda'",
    ),
    "place in the source": (
        PLAIN.replace("int main(", "static int line() { return __builtin_LINE(); }\nint main("),
        "the program uses '__builtin_LINE'",
    ),
    "assembly": (
        HEAD
        + ADD
        + f'static void run(int n, int *a) {{ asm volatile("nop"); {LAUNCH} }}\n'
        + main(),
        "'run' uses 'asm'",
    ),
    "no size": (
        HEAD
        + ADD
        + RUN.replace("(int n, int *a) {", "(int count, int *a) { const int n = count;")
        + main(),
        "'run' has no integer parameter 'n'",
    ),
    "size in a pragma only": (PLAIN.replace(" data(n)", ""), "its pragma names no size"),
}

#: Programs that show only when copies are compared: their text, and why the copies are left out.
LEFT_OUT = {
    "counted": (
        HEAD
        + ADD
        + f'static void run(int n, int *a) {{ printf("%d\\n", __COUNTER__); {LAUNCH} }}\n'
        + main(),
        "the compiler gets other tokens",
    ),
    "device alone": (
        HEAD
        + "#ifdef __CUDA_ARCH__\n#define UNIT WPT\n#else\n#define UNIT 9\n#endif\n"
        + ADD.replace("WPT", "UNIT")
        + RUN
        + main(),
        "more of the device's code depends on the values than is written again",
    ),
    "included once": (
        f'{HEAD}{ADD}static void run(int n, int *a) {{\n#include "body.inc"\n}}\n{main()}',
        "the compiler gets other tokens",
    ),
}
INCLUDED = f"#pragma once\n{LAUNCH}\n"

#: Behind <cstdio> another function is called.
NAMED_LIKE_ANOTHER = (
    PLAIN.replace("#include <cstdio>", 'extern "C" int puts(const char *);')
    .replace("int main(", "template <class T> int remove(T) { return 7; }\nint main(")
    .replace('printf("%d %lld\\n", n, sum)', 'puts(remove("nothing") == 7 ? "own" : "other")')
)

#: Of these a plain copy compiles, and the program is wrong: as the test shows.
WRONG = (
    "static local",
    "file variable",
    "variable beside its type",
    "state of a callee",
    "first value of a callee",
    "state of a template",
    "mutable constant",
    "virtual function",
    "pointer to a function",
    "hidden type",
    "name of the function",
    "identity of a type",
    "constructor",
    "copied argument",
    "counted",
    "device alone",
    "included once",
)
