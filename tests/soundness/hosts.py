"""Launches in all the places where a launch can stand.

Takes kernels, gives the host function of a program.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tests.soundness.arguments import argument
from tests.soundness.configurations import configuration
from tests.soundness.draws import Draw, fill, lines
from tests.soundness.kernels import Kernel

#: Where a launch $L stands; $B statements before it, $A behind it, $N a fresh name, $M a macro.
PLACES = (
    (12, "{\n$B\n$L;\n$A\n}"),
    (1, "{\n$B\nif (n > 3) $L; else note(1);\n$A\n}"),
    (1, "{\n$B\nif (n < 0) note(2); else $L;\n$A\n}"),
    (1, "{\n$B\nif (n > 0)\n  if (n < 0) note(2);\n  else $L;\n$A\n}"),
    (1, "{\n$B\nfor (int $N = 0; $N < 2; ++$N) $L;\n$A\n}"),
    (1, "for (int $N = 0; $N < 2; ++$N) {\n$B\n$L;\n$A\n}"),
    (1, "{\n$B\nint $N = 2; while ($N--) $L;\n$A\n}"),
    (1, "{\n$B\nint $N = 0; do $L; while ($N++ < 1);\n$A\n}"),
    (1, "{\n$B\nfor (int $N = 0; $N < 2; $L, ++$N) note($N);\n$A\n}"),
    (1, "{\n$B\nswitch (n & 1) {\ncase 0: $L; break;\ndefault: $L; note(3);\n}\n$A\n}"),
    (1, "[&] {\n$B\n$L;\n$A\n}();"),
    (1, "{\n$B\n[&] { $L; }();\n$A\n}"),
    (1, "{\n$B\nn > 0 ? $L : (void)0;\n$A\n}"),
    (1, "{\n$B\n$L, note(4);\n$A\n}"),
    (1, "{\n$B\n(void)($L);\n$A\n}"),
    (1, "{\n$B\n$L; $L;\n$A\n}"),
    (1, "\n#define $M(...) __VA_ARGS__\n{\n$B\n$M($L);\n$A\n}"),
    (1, "\n#define $M(x) note_text(#x)\n{\n$B\n$M(ab); $L;\n$A\n}"),
    (1, "\n#define $M(...) do { note_text(#__VA_ARGS__); __VA_ARGS__; } while (0)\n"
        "{\n$B\n$M($L);\n$A\n}"),
    (1, "struct $N { static void go(Data &d, int n) {\n$B\n$L;\n$A\n} };\n$N::go(d, n);"),
    (1, "struct $N { $N(Data &d, int n) {\n$B\n$L;\n$A\n} };\n$N{d, n};"),
    (1, "auto $N = [](Data &d, auto n) {\n$B\n$L;\n$A\n};\n$N(d, n);"),
    (1, "{\n$B\ntry { $L; } catch (...) { note(5); }\n$A\n}"),
    (1, "{\n$B\nn > -1 && ($L, true);\n$A\n}"),
    (1, "auto $N = [&]() -> void {\n$B\nreturn $L;\n};\n$N();"),
    (1, "{\n$B\nfor (auto *$K : {&$S::$K}) $L;\n$A\n}"),
)  # fmt: skip
#: What may be unusual about a launch.
FEATURES = (
    *("place", "callee", "integer", "integer", "pointer", "configuration", "graph", "stream"),
    *("sizes", "wrapper", "alias", "count", "grid"),
)
#: How a launch names its kernel $K of types $T; $B without template arguments, $S the namespace,
#: $O the name of a kernel of the program, which a variable then has.
CALLEES = (
    (14, "", "$K"),
    (1, "", "(*&$K)"),
    (1, "void (*$N)($T) = $K;", "$N"),
    (1, "void (*$N)($T); $N = &$K;", "$N"),
    (1, "using ${N}F = void (*)($T); ${N}F $N{$K};", "$N"),
    (1, "void (*$N[])($T) = {$K};", "$N[0]"),
    (1, "struct { void (*run)($T); } $N = {$K};", "$N.run"),
    (1, "auto $N = static_cast<void (*)($T)>($K);", "(*$N)"),
    (1, "", "(n > -5 ? $K : $K)"),
    (1, "void (*$O)($T) = $S::$K;", "$O"),
    (1, "void (*$O)($T){$S::$K};", "$O"),
    (1, "void (*$O)($T)($S::$K);", "$O"),
    (1, "void (&$O)($T) = $S::$K;", "$O"),
    (1, "auto $O = &$S::$K; note($O != nullptr);", "$O"),
    (
        1,
        "void (*${N}a[])($T) = {$S::$K}; auto $N = [&](decltype(${N}a[0]) $O) { return $O; };",
        "$N(${N}a[0])",
    ),
    (1, "struct { void (*$O)($T); } $N = {$S::$K};", "$N.$O"),
    (1, "", "$S::$K"),
    (1, "", "::$S::$K"),
    (1, "using $S::$B;", "$K"),
)
COUNTS = ("n - 1", "n + 30", "n * 2", "3 - n", "n / 2", "0", "n + 1", "n > 100 ? 50 : n")
#: A launch by somebody else: declarations that must stand outside of the host function.
WRAPPERS = (
    "static void $N(void (*$X)($T), dim3 g, dim3 b, $P) { $X<<<g, b>>>($Q); }",
    "template <class K, class... R> static void $N(K $X, dim3 g, dim3 b, R... r) "
    "{ $X<<<g, b>>>(r...); }",
    "template <void (*F)($T)> static void ${N}t(void *, dim3 g, dim3 b, $P) { F<<<g, b>>>($Q); }\n"
    "static void $N(void (*)($T), dim3 g, dim3 b, $P) { ${N}t<$K>(0, g, b, $Q); }",
    "struct ${N}s { void (*$X)($T); void run(dim3 g, dim3 b, $P) { $X<<<g, b>>>($Q); } };\n"
    "static void $N(void (*f)($T), dim3 g, dim3 b, $P) { ${N}s{f}.run(g, b, $Q); }",
)


@dataclass(frozen=True)
class _Launch:
    """A launch's own text and what stands around it."""

    before: tuple[str, ...]
    text: str
    behind: tuple[str, ...]
    wrapper: tuple[str, ...] = ()


def host(draw: Draw, kernels: Sequence[Kernel]) -> str:
    """The function `go`, which launches the kernels, and what it needs before it."""
    wrappers: list[str] = []
    body: list[str] = []
    for kernel in [*kernels, *([draw.one(kernels)] if draw.chance(0.3) else [])]:
        draw.choose_features(FEATURES, [(3, 0), (5, 1), (2, 2), (1, 3), (0.5, len(FEATURES))])
        place = draw.weighted(PLACES) if draw.has("place") else PLACES[0][1]
        is_repeated = any(each in place for each in ("for (", "while (", "$L; $L"))
        launch = _launch(draw, kernel, [other.name for other in kernels], is_repeated)
        wrappers.extend(launch.wrapper)
        names = {"N": draw.fresh("l"), "M": draw.macro("L"), "L": launch.text, "S": draw.program}
        names["K"] = kernel.name.partition("<")[0]
        around = {"B": "\n".join(launch.before), "A": "\n".join((*launch.behind, "look(d);"))}
        text = fill(place, **names, **around)
        body.extend(lines(text))
        body.append("look(d);")
    return "\n".join((*wrappers, "static void go(Data &d, int n) {", *body, "}"))


def _launch(draw: Draw, kernel: Kernel, others: Sequence[str], is_repeated: bool) -> _Launch:
    chosen = configuration(draw, kernel)
    x, y, _ = chosen.space
    values = {
        "n": draw.one(COUNTS) if draw.has("count") else "n",
        "m": str(draw.number(1, 5)),
        "pitch": draw.fresh("pitch"),
        "slab": draw.fresh("slab"),
        "start": str(draw.number(0, 6)),
        "v": str(draw.number(-3, 9)),
        **{role: f"d.{role}" for role in ("out", "in", "in2", "aux", "perm", "cnt", "fl", "pn")},
    }
    if kernel.may_alias and draw.has("alias"):
        values["in"] = "d.out"
    roles = [role for role, _ in kernel.parameters]
    if kernel.has_default and draw.chance(0.5):
        roles = roles[:-1]
    given = [argument(draw, role, values, is_repeated) for role in roles]
    strides = (f"const int {values['pitch']} = 3 * ({x}) + 8;",
               f"const int {values['slab']} = 3 * ({y}) + 8;")  # fmt: skip
    used = tuple(line for line, role in zip(strides, ("pitch", "slab"), strict=True)
                 if role in roles)  # fmt: skip
    before = (*used, *chosen.before, *(each.before for each in given if each.before))
    behind = (*chosen.behind, *(each.behind for each in given if each.behind))
    passed = ", ".join(each.text for each in given)
    if draw.has("wrapper") and len(roles) == len(kernel.parameters):
        return _wrapped(draw, kernel, others, before, chosen.text, passed, behind)
    name = draw.fresh("f")
    options = CALLEES if draw.has("callee") else CALLEES[:1]
    _, declared, callee = draw.weighted([(each[0], each) for each in options])
    if len(roles) < len(kernel.parameters):
        declared, callee = "", "$K"
    bare = [other.partition("<")[0] for other in others]
    names = {"N": name, "K": kernel.name, "T": kernel.types, "S": draw.program,
             "B": kernel.name.partition("<")[0], "O": draw.one(bare)}  # fmt: skip
    before = (*before, *lines(fill(declared, **names)))
    more = draw.one((", 0", ", 64", ", 0, d.stream", ", 0, 0")) if draw.has("stream") else ""
    if draw.has("graph"):
        return _captured(
            draw, kernel, values, before, fill(callee, **names), chosen.text, passed, behind
        )
    return _Launch(before, f"{fill(callee, **names)}<<<{chosen.text}{more}>>>({passed})", behind)


def _updated(graph: str, kernel: Kernel, values: dict[str, str]) -> tuple[str, ...]:
    """The captured launch gets another bound, for the same grid."""
    g = graph
    given = [values[role] if role != "n" else "n * 2" for role, _ in kernel.parameters]
    kinds = kernel.types.split(", ")
    arguments = tuple(
        f"std::remove_const<{kind}>::type {g}q{at} = {value};"
        for at, (kind, value) in enumerate(zip(kinds, given, strict=True))
    )
    addresses = ", ".join(f"(void *)&{g}q{at}" for at in range(len(given)))
    return (
        f"cudaGraphNode_t {g}n; size_t {g}c = 1; note(cudaGraphGetNodes({g}, &{g}n, &{g}c));",
        f"cudaKernelNodeParams {g}p; note(cudaGraphKernelNodeGetParams({g}n, &{g}p));",
        *arguments,
        f"void *{g}a[] = {{{addresses}}}; {g}p.kernelParams = {g}a; {g}p.extra = nullptr;",
        f"note(cudaGraphExecKernelNodeSetParams({g}x, {g}n, &{g}p));",
    )


def _captured(
    draw: Draw,
    kernel: Kernel,
    values: dict[str, str],
    before: tuple[str, ...],
    callee: str,
    text: str,
    passed: str,
    behind: tuple[str, ...],
) -> _Launch:
    """The launch in a graph that is replayed."""
    g = draw.fresh("g")
    begin = (
        f"cudaGraph_t {g}; cudaGraphExec_t {g}x;",
        "cudaStreamBeginCapture(d.stream, cudaStreamCaptureModeRelaxed);",
    )
    roles = {role for role, _ in kernel.parameters}
    is_updated = "n" in roles and not roles & {"o", "s"} and draw.chance(0.5)
    end = (
        f"note(cudaStreamEndCapture(d.stream, &{g}));",
        f"note(cudaGraphInstantiate(&{g}x, {g}, 0));",
        *(_updated(g, kernel, values) if is_updated else ()),
        f"note(cudaGraphLaunch({g}x, d.stream)); note(cudaGraphLaunch({g}x, d.stream));",
        f"cudaStreamSynchronize(d.stream); cudaGraphExecDestroy({g}x); cudaGraphDestroy({g});",
    )
    launch = f"{callee}<<<{text}, 0, d.stream>>>({passed})"
    return _Launch((*before, *begin), launch, (*end, *behind))


def _wrapped(
    draw: Draw,
    kernel: Kernel,
    others: Sequence[str],
    before: tuple[str, ...],
    text: str,
    passed: str,
    behind: tuple[str, ...],
) -> _Launch:
    """The launch by a function to which the kernel is handed, by a name that may be another's."""
    types = [each.strip() for each in kernel.types.split(",")]
    names = {
        "N": draw.fresh("wrap"),
        "X": draw.one([*(other.partition("<")[0] for other in others), "kernel"]),
        "T": kernel.types,
        "K": kernel.name,
        "P": ", ".join(f"{kind} q{at}" for at, kind in enumerate(types)),
        "Q": ", ".join(f"q{at}" for at in range(len(types))),
    }
    wrapper = lines(fill(draw.one(WRAPPERS), **names))
    call = f"{names['N']}({kernel.name}, {text}, {passed})"
    return _Launch(before, call, behind, wrapper)
