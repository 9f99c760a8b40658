"""The purity proof: which uses of the built-ins re-blocking preserves."""

from __future__ import annotations

import pytest

from cutune.core.codes import Code
from cutune.core.source import Source
from cutune.proof.analysis.analyze import analyze
from cutune.source.function.variable_names import variable_names
from cutune.source.program import Kernel
from cutune.source.syntax.parse import parse
from cutune.source.syntax.tokens import lex_significant

ID = "blockIdx.x * blockDim.x + threadIdx.x"


def kernel_of(body: str, before: str = "", parameters: str = "int n, int m, float *a") -> Kernel:
    text = f"{before}\n__global__ void k({parameters}) {{ {body} }}"
    (kernel,) = analyze(parse(Source("test.cu", text))).kernels
    return kernel


@pytest.mark.parametrize(
    "body",
    [
        f"a[{ID}] = 0;",
        "a[threadIdx.x + blockDim.x * blockIdx.x] = 0;",
        "a[(blockIdx.x * blockDim.x) + (threadIdx.x)] = 0;",
        "int i = blockDim.x * blockIdx.x; int j = i + threadIdx.x; a[j] = 0;",
        "int t = threadIdx.x, b = blockIdx.x, w = blockDim.x; a[w * b + t] = 0;",
        "const unsigned int t = threadIdx.x; auto i = blockIdx.x * blockDim.x + t; a[i] = 0;",
        "size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; a[i] = 0;",
        "long i = static_cast<long>(blockIdx.x) * long(blockDim.x) + threadIdx.x; a[i] = 0;",
        f"int i; i = {ID}; a[i] = 0;",
        "a[4 * blockIdx.x * blockDim.x + 4 * threadIdx.x + 3] = 0;",
        "a[(blockIdx.x * blockDim.x + threadIdx.x) * n] = 0;",
        "a[blockIdx.x * n * blockDim.x + threadIdx.x * n + m] = 0;",
        "a[n - (blockIdx.x * blockDim.x + threadIdx.x)] = 0;",
        "a[-(int)threadIdx.x - (int)(blockDim.x * blockIdx.x)] = 0;",
        "a[((blockIdx.x * blockDim.x) << 2) + (threadIdx.x << 2)] = 0;",
        f"for (int i = {ID}; i < n; i += blockDim.x * gridDim.x) a[i] = 0;",
        f"int s = gridDim.x * blockDim.x; for (int i = {ID}; i < n; i += s) a[i] = 0;",
        f"int i = {ID}; if (i % 32 == 0) a[i / 32] = 0;",
        f"int i = {ID}; for (; i < n; i++) a[i] = 0;",
        f"int i = {ID}; float4 v = make_float4(i, 0, 0, 0); a[i] = v.x;",
        f"int i = {ID}; float4 *v = (float4 *)a; v[i] = {{1, a[i], 3, 4}};",
        f"int i = {ID}; float4 v; v = {{1, a[i], 3, 4}}; a[i] = v.x;",
        f"int i = {ID}; float2 w = {{1, 2}}, *v = (float2 *)a; *v = {{1, 2}}; v->x = w.y;",
        f"int i = {ID}; atomicAdd(&a[i % n], 1.0f); (void)n;",
        f"int i = {ID}; switch (n) {{ case 1: a[i] = 1; break; default: a[i] = 2; }}",
        f"int i = {ID}; do a[i] += 1; while (a[i] < 3);",
        f"#pragma unroll\nfor (int j = 0; j < 4; ++j) a[{ID} + j] = 0;",
        f"if constexpr (sizeof(float) == 4) a[{ID}] = 0;",
        f"[[maybe_unused]] int i = {ID}; a[i] = true ? 1.0f : nullptr == 0;",
        f"float &x = a[{ID}]; x += 1;",
        f"struct Point {{ int x; }} p; p.x = {ID}; a[p.x] = 0;",
    ],
)
def test_pure(body: str) -> None:
    kernel = kernel_of(f"\n{body}\n")
    assert kernel.impurity is None
    assert kernel.pure_dimensions == ("x",)


@pytest.mark.parametrize(
    "body",
    [
        "a[threadIdx.x] = 0;",
        "a[blockIdx.x] = 0;",
        "a[blockIdx.x * n + threadIdx.x] = 0;",
        "a[blockIdx.x * blockDim.x + 2 * threadIdx.x] = 0;",
        "a[2 * blockIdx.x * blockDim.x + threadIdx.x] = 0;",
        "a[blockIdx.x * blockDim.x - threadIdx.x] = 0;",
        "a[blockIdx.x * blockDim.y + threadIdx.x] = 0;",
        "a[(blockIdx.x + 1) * blockDim.x + threadIdx.x] = 0;",
        "a[blockIdx.x * blockDim.x * (n + threadIdx.x)] = 0;",
        f"if (threadIdx.x == 0) a[{ID}] = 0;",
        f"a[{ID}] = blockDim.x;",
        f"a[{ID}] = gridDim.x;",
        "float x = threadIdx.x, y = blockIdx.x * blockDim.x; a[(int)(x + y)] = 0;",
        "short b = blockIdx.x * blockDim.x; a[b + threadIdx.x] = 0;",
        "int i = blockIdx.x * blockDim.x; for (i += threadIdx.x; i < n; i++) a[i] = 0;",
        "int t = threadIdx.x; t = t % 8; a[blockIdx.x * blockDim.x + t] = 0;",
        "int t = threadIdx.x; int *p = &t; *p = 1; a[blockIdx.x * blockDim.x + t] = 0;",
        "int t = threadIdx.x; int &r = t; r = 1; a[blockIdx.x * blockDim.x + t] = 0;",
        "int t = threadIdx.x, u = 0; (n ? t : u) = 1; a[blockIdx.x * blockDim.x + t] = 0;",
        "int t; if (n) a[t] = 0; t = threadIdx.x; a[blockIdx.x * blockDim.x + t] = 0;",
        "uint3 t = threadIdx; a[blockIdx.x * blockDim.x + t.x] = 0;",
        f"int i = {ID}; a[i] = 0; if (n) {{ int i = threadIdx.x; a[i] = 1; }}",
        f"float *p = a + blockIdx.x * blockDim.x; p[threadIdx.x] = 0; (void)({ID});",
        f"int i = {ID}; for (int k = threadIdx.x; k < n; k++) a[i] += k;",
        "a[min(blockIdx.x * blockDim.x, n) + threadIdx.x] = 0;",
        "a[(blockIdx.x * blockDim.x) / 4 + threadIdx.x / 4] = 0;",
        "a[blockIdx.x * (blockDim.x = 3) + threadIdx.x] = 0;",
    ],
)
def test_block_dependent(body: str) -> None:
    assert kernel_of(body).pure_dimensions == ()


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("__shared__ float s[32]; a[0] = s[0];", Code.SHARED_MEMORY),
        ("extern __shared__ float s[]; a[0] = s[0];", Code.SHARED_MEMORY),
        ("__syncthreads();", Code.BARRIER),
        ("if (__syncthreads_or(n)) a[0] = 1;", Code.BARRIER),
        ("a[0] = __ballot_sync(~0u, n);", Code.WARP_LEVEL),
        ("__syncwarp();", Code.WARP_LEVEL),
        ("auto g = cooperative_groups::this_grid(); g.sync();", Code.COOPERATIVE),
        ("using namespace cooperative_groups;", Code.NOT_PROVEN),
        ('asm volatile("bar.sync 0;");', Code.ASSEMBLY),
        ("int old = atomicAdd((int *)a, 1); a[old] = 0;", Code.ATOMIC_RESULT),
        ("while (atomicCAS((int *)a, 0, 1)) {}", Code.ATOMIC_RESULT),
        ("__threadfence();", Code.ORDERING),
        ("a[0] = clock64();", Code.ORDERING),
        ("volatile float *p = a; p[0] = 1;", Code.ORDERING),
        ('printf("%d", n);', Code.ORDERING),
        ("a[0] = mystery(n);", Code.UNKNOWN_FUNCTION),
        ("other::fmaxf(n, m);", Code.UNKNOWN_FUNCTION),
        ("float (*f)(float) = sinf; a[0] = f(1);", Code.UNKNOWN_FUNCTION),
        ("a[0] = [](int x) { return threadIdx.x; }(n);", Code.NOT_PROVEN),
        ("int *p = &n; *p = 7;", Code.NOT_PROVEN),
        ("int &r = n; r = 7;", Code.NOT_PROVEN),
        ("(a ? n : m) = 7;", Code.NOT_PROVEN),
        ("change(n);", Code.NOT_PROVEN),
        ("a[TILE] = 0;", Code.UNRESOLVED_NAME),
        ("SHARED float s[32]; a[0] = s[0];", Code.NOT_PROVEN),
        ("REAL s = 1; a[0] = s;", Code.UNRESOLVED_NAME),
        ("int *p = new int; a[0] = *p;", Code.NOT_PROVEN),
        ("a[0] = " + "(" * 3000 + "1" + ")" * 3000 + ";", Code.NOT_PROVEN),
        ("a[0] = " + "1 + " * 20000 + "1;", Code.NOT_PROVEN),
    ],
)
def test_refused(body: str, code: Code) -> None:
    before = "__device__ void change(int &k) { k = 2; }"
    kernel = kernel_of(f"int i = {ID}; {body} a[i] = 1;", before)
    assert kernel.impurity is not None
    assert kernel.impurity.code is code


def test_the_place_of_a_reason() -> None:
    kernel = kernel_of("a[blockIdx.x * blockDim.x + threadIdx.x] = __popc(n) + threadIdx.x;")
    (impurity, *_) = (dimension.impurity for dimension in kernel.dimensions)
    assert impurity is not None
    assert kernel.source.text[impurity.span.start :].startswith("threadIdx.x; }")


@pytest.mark.parametrize(
    ("before", "body"),
    [
        ("__device__ float f(float x) { return x * x; }", f"a[{ID}] = f(2);"),
        (f"__device__ int id() {{ return {ID}; }}", "a[id()] = 0;"),
        ("__device__ int t() { return threadIdx.x; }", f"a[{ID}] = 0;"),
        ("__device__ int f(int i) { return i < 2 ? i : f(i - 1); }", f"a[f({ID})] = 0;"),
        (
            "float f(float x); template <class T> __device__ T f(T x) { return -x; }",
            f"a[{ID}] = f(1);",
        ),
        (
            "struct S { float x; __device__ float g() const { return x; } };",
            f"S s; a[{ID}] = s.g();",
        ),
        ("namespace u { __device__ int f() { return 1; } }", f"a[{ID}] = u::f();"),
        ("#define I (blockIdx.x * blockDim.x + threadIdx.x)", "a[I] = 0;"),
        ("#define I(d) (blockIdx.d * blockDim.d + threadIdx.d)", "a[I(x)] = 0;"),
        ("#define T threadIdx.x\n#define I (blockIdx.x * blockDim.x + T)", "a[I] = 0;"),
        ("#ifdef W\n#define F 2\n#else\n#define F 3\n#endif", f"a[{ID} + F] = 0;"),
    ],
)
def test_pure_with_declarations(before: str, body: str) -> None:
    assert kernel_of(body, before).pure_dimensions == ("x",)


@pytest.mark.parametrize(
    ("before", "body"),
    [
        ("__device__ int t() { return threadIdx.x; }", f"a[{ID}] = t();"),
        (
            "__device__ int u() { return threadIdx.x; } __device__ int t() { return u() + 1; }",
            f"a[{ID}] = t();",
        ),
        (
            "__device__ int f(int i) { if (i) return f(i - 1); return threadIdx.x; }",
            f"a[{ID}] = f(2);",
        ),
        (
            "__device__ void f(int &i) { i = 0; }",
            "int t = threadIdx.x; f(t); a[blockIdx.x * blockDim.x + t] = 0;",
        ),
        (
            "__device__ int f(int i) { return i; }",
            "a[blockIdx.x * blockDim.x + f(threadIdx.x)] = 0;",
        ),
        ("__device__ float f() { __shared__ float s; return s; }", f"a[{ID}] = f();"),
        ("#define T threadIdx.x", f"a[{ID}] = T;"),
        ("#define ti threadIdx.x", "int i = ti; a[i] = 0;"),
        ("#ifdef W\n#define F threadIdx.x\n#else\n#define F 3\n#endif", f"a[{ID} + F] = 0;"),
        ("#define CAT(p, q) p##q", f"a[{ID}] = CAT(thread, Idx).x;"),
        ("#define BUF __shared__ float b[32]", f"BUF; a[{ID}] = b[0];"),
        (
            "struct F { __device__ int operator()() { return threadIdx.x; } };",
            f"F f; a[{ID}] = f();",
        ),
        ("extern __shared__ float cache[];", f"cache[3] = a[{ID}]; a[{ID}] = cache[3];"),
        ("__shared__ float one, two;", f"float *p = &two; a[{ID}] = *p;"),
        (
            "__shared__ float one; __device__ float first(float x) { return one + x; }",
            f"a[{ID}] = first(a[{ID}]);",
        ),
    ],
)
def test_impure_with_declarations(before: str, body: str) -> None:
    assert kernel_of(body, before).pure_dimensions == ()


@pytest.mark.parametrize(
    ("before", "body"),
    [
        ("extern __shared__ float cache[];", f"float cache = 2; a[{ID}] = cache;"),
    ],
)
def test_other_variables_of_a_name(before: str, body: str) -> None:
    assert kernel_of(body, before).pure_dimensions == ("x",)


def test_a_variable_of_the_file_may_be_a_template() -> None:
    before = "template <typename T> __constant__ T mask[8];"
    kernel = kernel_of(f"\nint i = {ID};\na[i] = a[i] * mask<float>[n];\n", before)
    assert kernel.impurity is None
    assert kernel.pure_dimensions == ("x",)


@pytest.mark.parametrize(
    "body",
    [
        "const int half = 2, k = (half - 1); a[i] = half * k;",
        "unsigned half = n / 2; if (i < half) a[i] = half * (half);",
        "for (int half = 8; half > 0; half /= 2) { a[i] += half * half; }",
        "for (int half = 8; half > 0; half >>= 1) a[i] += half * half;",
        "int j, uint, *ushort; uint = 3; a[i] = (uint - 1) * n;",
        "int uchar[2]; uchar[0] = 1; a[i] = (uchar[0] - 1) * n;",
        "{ float float2(3); a[i] = (float2 - 1) * n; }",
        "struct P { int half; } p; p.half = 3; a[i] = (p.half - 1) * n;",
        "a[i] = (ulong - 1) * n;",
        "a[i] = (longlong - 1) * n;",
        "float half = 1; { half *= 2; int k = (half - 1); a[i] = half * k; }",
    ],
)
def test_variables_named_like_types(body: str) -> None:
    before = "__constant__ int longlong;"
    kernel = kernel_of(f"\nint i = {ID};\n{body}\n", before, "int n, int ulong, float *a")
    assert kernel.impurity is None
    assert kernel.pure_dimensions == ("x",)


@pytest.mark.parametrize(
    "body",
    [
        "a[i] = (uint)-3; { int uint = 2; a[i] = uint; }",
        "{ int uint = 2; a[i] = uint; } uint x = 3; a[i] = x;",
        "for (int uint = 0; uint < 3; uint++) a[i] = uint; a[i] = uint(n);",
        "typedef float half; half x = 3; a[i] = (half)-x;",
        "half *b = (half *)a, c = half(3); b[i] = (half)-c;",
        "float2 v = float2(); a[i] = v.x;",
    ],
)
def test_types_named_like_variables_elsewhere(body: str) -> None:
    types = {"uint", "half", "float2"}
    assert not set(variable_names(lex_significant(f"{{ {body} }}"), types))


def test_dimensions_are_independent() -> None:
    kernel = kernel_of(
        "int x = blockIdx.x * blockDim.x + threadIdx.x;"
        "int z = blockIdx.z * blockDim.z + threadIdx.z;"
        "if (x < n) a[(z * m + threadIdx.y) * n + x] = gridDim.z * blockDim.z;"
    )
    assert kernel.pure_dimensions == ("x", "z")
    assert [dimension.indexed for dimension in kernel.dimensions] == [True, True, True]
    assert [dimension.grid_stride for dimension in kernel.dimensions] == [False, False, True]


def test_nested_products_in_an_address_end() -> None:
    # Each factor is looked at once, not once per term of the other one.
    index = "(n + i) * (" * 30 + "1" + ")" * 30
    text = (
        "__global__ void k(int n, float *a) {"
        " int i = blockIdx.x * blockDim.x + threadIdx.x;"
        f" if (i < n) a[{index}] = 0; }}"
    )
    (kernel,) = analyze(parse(Source("a.cu", text))).kernels
    assert kernel.dimensions[0].guard == "n"


@pytest.mark.parametrize(
    ("before", "body"),
    [
        ("struct S { int v; __device__ S(int x) : v(x) {} };", "S s(n); a[0] = s.v;"),
        ("struct S { int v; __device__ S(int *c) { atomicAdd(c, 1); } };", "S s((int *)a);"),
        ("struct S { void *p; S() { p = malloc(4); } ~S() { free(p); } };", ""),
        ("struct S { int v; S(); ~S(); }; S::S() : v(rand()) {} S::~S() { exit(1); }", ""),
        ("#include <time.h>\nclock_t start = clock();", ""),
        ("struct S { float x = 1.0f; __device__ float get() const { return x; } };", "S s;"),
        (
            "struct S { float x; __device__ S operator-() const { S r; r.x = -x; return r; } };",
            "S s; s.x = 2; s = -s; a[0] = s.x;",
        ),
    ],
)
def test_objects(before: str, body: str) -> None:
    assert kernel_of(f"int i = {ID}; {body} a[i] = 1;", before).pure_dimensions == ("x",)
