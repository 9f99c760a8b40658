"""Ways to hide a value from whoever reads C++ as text.

Takes an expression of device code over `q` (an int), gives a piece whose value it is: behind
functions, operators, constructors, templates, macros, lambdas and what else the language has. Used
for ids, for guards and for what depends on the block alike, so that nothing in the form tells
them apart.
"""

from __future__ import annotations

from dataclasses import dataclass

from tests.soundness.draws import Draw, Piece, fill, lines


@dataclass(frozen=True)
class Hiding:
    """A form: `$N` a fresh name, `$M` a fresh macro, `$Q` a device function's qualifiers, `$B` the
    hidden expression over `q`, `$A` the value that `q` takes, `$O` an operator."""

    helpers: str
    statements: str
    expression: str
    #: The hidden expression may not mention `q`.
    is_closed: bool = False


QUALIFIERS = (
    "__device__",
    "static __device__",
    "__device__ __forceinline__",
    "__device__ inline",
    "static __device__ __noinline__",
)
BINARY = (
    *("+", "-", "*", "/", "%", "^", "&", "|", "<<", ">>"),
    *("<", ">", "<=", ">=", "==", "!=", "&&", "||"),
)
ASSIGNING = ("+=", "-=", "*=", "/=", "%=", "^=", "&=", "|=", "<<=", ">>=")
UNARY = ("-", "+", "~", "!", "*", "&")

FUNCTIONS = (
    Hiding("$Q int $N(int q) { return $B; }", "", "$N($A)"),
    Hiding("$Q void $N(int q, int &r) { r = $B; }", "int ${N}v; $N($A, ${N}v);", "${N}v"),
    Hiding("$Q void $N(int q, int *r) { *r = $B; }", "int ${N}v = 0; $N($A, &${N}v);", "${N}v"),
    Hiding(
        "using ${N}R = int &;\n$Q void $N(int q, ${N}R r) { r = $B; }",
        "int ${N}v = 1; $N($A, ${N}v);",
        "${N}v",
    ),
    Hiding("template <class T> $Q T $N(T q) { return T($B); }", "", "$N<int>($A)"),
    Hiding("template <class T> $Q auto $N(T q) -> int { return $B; }", "", "$N($A)"),
    Hiding("template <int K> $Q int $N(int q) { return $B + K - 3; }", "", "$N<3>($A)"),
    Hiding(
        "$Q int $N(long long) { return 1; }\n$Q int $N(int q) { return $B; }", "", "$N((int)($A))"
    ),
    Hiding(
        "$Q int $N(int q, int depth) { return depth ? $N(q, depth - 1) : $B; }", "", "$N($A, 1)"
    ),
    Hiding("$Q int $N(int q = (int)($B)) { return q; }", "", "$N()", is_closed=True),
    Hiding(
        "$Q int $N(int a, int b = (int)($B));\n$Q int $N(int a, int b) { return a - a + b; }",
        "",
        "$N($A)",
        is_closed=True,
    ),
    Hiding("$Q int $N(int q) { return $B; }", "int (*${N}p)(int) = $N;", "${N}p($A)"),
    Hiding(
        "$Q int ${N}f(int q) { return $B; }\n"
        "template <int (*F)(int)> $Q int $N(int q) { return F(q); }",
        "",
        "$N<${N}f>($A)",
    ),
    Hiding(
        "template <class T> $Q int $N(T q) { return (int)($B); }\n"
        "template <class T, class... R> $Q int $N(T q, R... r) { return $N(r...); }",
        "",
        "$N(1, 2, $A)",
    ),
    Hiding(
        "namespace ${N}s { struct S { int q; };\n"
        "$Q int $N(S s) { int q = s.q; return $B + q - q; } }",
        "",
        "$N(${N}s::S{$A})",
    ),
    Hiding(
        "namespace ${N}a { $Q int $N(int q) { return $B; } }\nnamespace ${N}b = ${N}a;",
        "using namespace ${N}b;",
        "$N($A)",
    ),
    Hiding(
        "$Q int $N(int q) {\n#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900\n"
        "return threadIdx.x;\n#else\nreturn $B;\n#endif\n}",
        "",
        "$N($A)",
    ),
    Hiding("#define $M(q) ((int)($B))", "", "$M($A)"),
    Hiding("#define $M $N\n$Q int $M(int q) { return $B; }", "", "$N($A)"),
    Hiding("#define ${M}R return\n$Q int $N(int q) { ${M}R $B; }", "", "$N($A)"),
)

CLASSES = (
    Hiding("struct $N { __device__ int operator()(int q) const { return $B; } };", "", "$N()($A)"),
    Hiding("struct $N { __device__ int operator[](int q) const { return $B; } };", "", "$N{}[$A]"),
    Hiding(
        "struct $N { int q; __device__ operator int() const { return $B; } };", "", "int($N{$A})"
    ),
    Hiding(
        "struct $N { int q; __device__ operator int() const { return $B; } };",
        "$N ${N}o{$A}; int ${N}v = ${N}o;",
        "${N}v",
    ),
    Hiding("struct $N { int v; __device__ $N(int q) : v($B) {} };", "", "$N($A).v"),
    Hiding("struct $N { int v; __device__ $N(int q) { v = $B; } };", "$N ${N}o = $A;", "${N}o.v"),
    Hiding("struct $N { int q; int v{int($B)}; __device__ $N(int a) : q(a) {} };", "", "$N($A).v"),
    Hiding("struct $N { int v = $B; };", "$N ${N}o;", "${N}o.v", is_closed=True),
    Hiding(
        "$Q int ${N}f() { return $B; }\nstruct $N { int v{${N}f()}; };",
        "$N ${N}o{};",
        "${N}o.v",
        is_closed=True,
    ),
    Hiding("struct $N { static $Q0 int get(int q) { return $B; } };", "", "$N::get($A)"),
    Hiding(
        "struct ${N}b { __device__ int get(int q) const { return $B; } };\n"
        "struct $N : ${N}b { using ${N}b::get; };",
        "",
        "$N().get($A)",
    ),
    Hiding(
        "struct ${N}b { int v; __device__ ${N}b(int q) : v($B) {} };\n"
        "struct $N : ${N}b { using ${N}b::${N}b; };",
        "$N ${N}o($A);",
        "${N}o.v",
    ),
    Hiding(
        "template <class D> struct ${N}b { __device__ int get(int q) "
        "{ return static_cast<D *>(this)->own(q); } };\n"
        "struct $N : ${N}b<$N> { __device__ int own(int q) { return $B; } };",
        "$N ${N}o;",
        "${N}o.get($A)",
    ),
    Hiding(
        "struct ${N}b { __device__ virtual int get(int q) const { return q; } };\n"
        "struct $N : ${N}b { __device__ int get(int q) const override { return $B; } };",
        "$N ${N}o; const ${N}b &${N}r = ${N}o;",
        "${N}r.get($A)",
    ),
    Hiding(
        "template <class T> struct $N { static __device__ int get(T) { return 1; } };\n"
        "template <> struct $N<int> { static __device__ int get(int q) { return $B; } };",
        "",
        "$N<int>::get($A)",
    ),
    Hiding(
        "struct $N { int q; int &r; __device__ ~$N() { r = $B; } };",
        "int ${N}v = 0; { $N ${N}o{$A, ${N}v}; }",
        "${N}v",
    ),
    Hiding(
        "struct $N { int &r; __device__ void set(int q) { r = $B; } };",
        "int ${N}v = 0; $N{${N}v}.set($A);",
        "${N}v",
    ),
    Hiding(
        "struct $N { __device__ int get(int q) const { return $B; } };",
        "int (${N}::*${N}p)(int) const = &$N::get;",
        "($N().*${N}p)($A)",
    ),
    Hiding(
        "struct $N { int q; __device__ const $N *operator->() const { return this; } "
        "__device__ int get() const { return $B; } };",
        "",
        "$N{$A}->get()",
    ),
    Hiding(
        "struct ${N}i { int q; __device__ bool operator!=(${N}i o) const { return q != o.q; } "
        "__device__ void operator++() { q += 1; }\n"
        "__device__ int operator*() const { return $B; } };\n"
        "struct $N { int q; __device__ ${N}i begin() const { return {q}; } "
        "__device__ ${N}i end() const { return {q + 1}; } };",
        "int ${N}v = 0; for (int ${N}e : $N{$A}) ${N}v += ${N}e;",
        "${N}v",
    ),
    Hiding(
        "struct $N { int q; };\n$Q int operator,($N a, int) { int q = a.q; return $B + q - q; }",
        "",
        "($N{$A}, 1)",
    ),
    Hiding(
        "struct $N { int v; };\n$Q $N operator++($N &a, int) { int q = a.v; a.v = $B; return a; }",
        "$N ${N}o{$A}; ${N}o++;",
        "${N}o.v",
    ),
    Hiding(
        "struct $N { int v; };\n$Q $N &operator--($N &a) { int q = a.v; a.v = $B; return a; }",
        "$N ${N}o{$A};",
        "(--${N}o).v",
    ),
    Hiding(
        "struct $N { int v; __device__ $N &operator=(int q) { v = $B; return *this; } };",
        "$N ${N}o{0}; ${N}o = $A;",
        "${N}o.v",
    ),
    Hiding(
        'struct $N { int v; };\n$Q $N operator"" _$N(unsigned long long) { return $N{int($B)}; }',
        "",
        "(1_$N).v",
        is_closed=True,
    ),
)

OPERATORS = (
    Hiding(
        "struct $N { int v; };\n$Q int operator$O($N a, $N) { int q = a.v; return $B + q - q; }",
        "",
        "($N{$A} $O $N{1})",
    ),
    Hiding(
        "struct $N { int v;\n"
        "__device__ int operator$O(int) const { int q = v; return $B + q - q; } };",
        "$N ${N}o{$A};",
        "(${N}o $O 2)",
    ),
    Hiding(
        "struct $N { int v; friend __device__ int operator$O(const $N &a, int b) "
        "{ int q = a.v + b - b; return $B + q - q; } };",
        "",
        "($N{$A} $O 1)",
    ),
    Hiding(
        "template <class T> struct $N { T v; };\n"
        "template <class T> $Q int operator$O($N<T> a, $N<T>) "
        "{ int q = a.v; return $B + q - q; }",
        "",
        "($N<int>{$A} $O $N<int>{2})",
    ),
)
ASSIGNMENTS = (
    Hiding(
        "struct $N { int v; };\n$Q $N &operator$O($N &a, int q) { a.v = $B; return a; }",
        "$N ${N}o{0}; ${N}o $O $A;",
        "${N}o.v",
    ),
    Hiding(
        "struct $N { int v; __device__ void operator$O(int q) { v = $B; } };",
        "$N ${N}o{1}; ${N}o $O $A;",
        "${N}o.v",
    ),
)
PREFIXES = (
    Hiding(
        "struct $N { int v; };\n$Q int operator$O(const $N &a) { int q = a.v; return $B + q - q; }",
        "",
        "($O$N{$A})",
    ),
)

STATEMENTS = (
    Hiding("", "auto $N = [=](int q) { return int($B); };", "$N($A)"),
    Hiding("", "auto $N = [](auto q) -> int { return $B; };", "$N($A)"),
    Hiding("", "int ${N}v = 0; auto $N = [&](int q) { ${N}v = $B; }; $N($A);", "${N}v"),
    Hiding("", "auto $N = [q = int($A)] { return int($B + q - q); };", "$N()"),
    Hiding("", "", "[](int q) { return int($B); }($A)"),
    Hiding("", "int ${N}a[3] = {1, 2, 3}; { int q = $A; ${N}a[1] = $B + q - q; }", "${N}a[1]"),
    Hiding("", "const int ${N}a[] = {$A}; int ${N}v = 0; for (int q : ${N}a) ${N}v = $B;", "${N}v"),
    Hiding("", "int ${N}v; for (int q = $A, ${N}k = 0; ${N}k < 1; ++${N}k) ${N}v = $B;", "${N}v"),
    Hiding("", "int ${N}v; { int q = $A; int *${N}p = &${N}v; *${N}p = $B + q - q; }", "${N}v"),
    Hiding("", "int ${N}v; { int q = $A; int &${N}r = ${N}v; ${N}r = $B + q - q; }", "${N}v"),
    Hiding("", "struct ${N}s { int v; } $N; { int q = $A; $N.v = $B + q - q; }", "$N.v"),
    Hiding("", "union { int a; unsigned b; } $N; { int q = $A; $N.a = $B + q - q; }", "$N.a"),
    Hiding("", "int ${N}v; if (int q = $A; true) ${N}v = $B + q - q;", "${N}v"),
    Hiding("", "int ${N}v = [](int q) { struct L { int v; }; return L{int($B)}; }($A).v;", "${N}v"),
    Hiding("", "const auto [${N}v, ${N}w] = [](int q) { struct L { int a, b; }; return "
           "L{int($B), 1}; }($A);", "(${N}v + ${N}w - 1)"),
    Hiding("", "int ${N}v = 0; { int q = $A; do { ${N}v = $B + q - q; } while (false); }", "${N}v"),
)  # fmt: skip


def hide(draw: Draw, hidden: Piece, argument: str = "0") -> Piece:
    """The same value behind one form; `argument` is what `q` stands for."""
    form = draw.weighted(
        (
            *((3, FUNCTIONS), (3, CLASSES), (3, OPERATORS)),
            *((1, ASSIGNMENTS), (1, PREFIXES), (3, STATEMENTS)),
        )
    )
    if draw.is_tame and form in (OPERATORS, ASSIGNMENTS, PREFIXES):
        form = draw.one((FUNCTIONS, STATEMENTS))
    operators = {id(OPERATORS): BINARY, id(ASSIGNMENTS): ASSIGNING, id(PREFIXES): UNARY}
    operator = draw.one(operators.get(id(form), ("+",)))
    uses_argument = _mentions(hidden.expression)
    fitting = [each for each in form if not (each.is_closed and uses_argument)]
    fitting = draw.allowed(fitting, lambda each: each.helpers)
    chosen = draw.one(fitting)
    names = {
        "N": draw.fresh("h"),
        "M": draw.macro("H"),
        "Q": draw.one(QUALIFIERS),
        "Q0": draw.one(("__device__", "__device__ __forceinline__", "__device__ __noinline__")),
        "B": f"int({hidden.expression})",
        "A": f"int({argument})",
        "O": operator,
    }
    texts = [fill(each, **names) for each in (chosen.helpers, chosen.statements, chosen.expression)]
    return Piece(
        texts[2],
        (*hidden.statements, *lines(texts[1])),
        (*hidden.helpers, *lines(texts[0])),
        hidden.needs,
        hidden.is_dependent,
    )


def _mentions(expression: str) -> bool:
    """Does the expression use `q`? Names of built-ins do not hold a lone q."""
    words = "".join(each if each.isalnum() or each == "_" else " " for each in expression).split()
    return "q" in words
