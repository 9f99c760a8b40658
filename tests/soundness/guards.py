"""Guards: bounds, conditions on ids, and control flow around effects.

Takes ids and effects, gives statements. No store depends on a guard for its place to be inside of
its array, so that every bound is allowed, negative, wrapped and read from memory included.
"""

from __future__ import annotations

from collections.abc import Sequence

from tests.soundness.draws import Draw, Piece, fill, lines
from tests.soundness.hiding import hide

BOUNDS = (
    *("n", "n", "n", "n", "n", "n", "n - 1", "n - 2", "n / 2", "n * m", "min((int)n, m * 40)"),
    *("s.n", "s.n", "s.n - 1", "s.in.k", "s.side[1]", "*pn", "pn[1] + n", "c_n", "300", "n + 1"),
    *("(int)n & ~3", "n * 3 / 4", "n % 100 + 50", "(short)n", "(v > 0 ? n : m)", "n - 5u"),
    *("n - 150", "max((int)n, 64)", "(n + m) / 2", "n - m", "sizeof(int) * n / 4", "g_n", "n * n"),
)
#: Bounds of loops are small and not negative.
LOOP_BOUNDS = ("n", "n", "n", "n - 1", "n / 2", "s.n", "300", "(n + m) / 2", "c_n", "*pn", "n + 1")

#: Statements that change a bound before it is used; $x is `n` or a member, an int.
CHANGES = (
    ("", "$x -= 1;"),
    ("", "$x *= 2;"),
    ("", "$x = $x / 2 + 3;"),
    ("", "int &$N = $x; $N -= 3;"),
    ("", "int *$N = &$x; *$N += 5;"),
    ("", "auto &$N = $x; $N /= 2;"),
    ("", "auto $N = [&] { $x += 2; }; $N();"),
    ("", "auto $N = [](int &r) { r -= 4; }; $N($x);"),
    ("", "$x = min($x, 100);"),
    ("", "if (v > 2) $x /= 2;"),
    ("", "for (int $N = 0; $N < m; ++$N) ++$x;"),
    ("", "struct $N { int &r; }; $N{$x}.r = 77;"),
    ("", "memcpy((void *)&$x, pn, sizeof(int));"),
    ("", "$x = $x;"),
    ("", "int &$N = v > 0 ? $x : m; $N = 50;"),
    ("", "int $N = $x; $N += 3; $x = $N;"),
    ("__device__ void $N(int &r) { r *= 2; }", "$N($x);"),
    ("__device__ void $N(const int &r) { const_cast<int &>(r) += 1; }", "$N($x);"),
    ("__device__ void $N(int *r) { *r /= 3; }", "$N(&$x);"),
    ("using ${N}R = int &;\n__device__ void $N(${N}R r) { r += 9; }", "$N($x);"),
    ("template <class T> __device__ void $N(T r) { r = r * 2 + 1; }", "$N<int &>($x);"),
    ("template <class T> __device__ void $N(T &&r) { r -= 2; }", "$N($x);"),
    ("template <class... T> __device__ void $N(T &&...r) { ((r = 60), ...); }", "$N($x);"),
    ("struct $N { int &r; __device__ ~$N() { r += 6; } };", "{ $N ${N}o{$x}; }"),
    ("struct $N { int *r; __device__ $N(int &a) : r(&a) {} };", "$N ${N}o = $x; *${N}o.r = 90;"),
    ("struct $N { int &r; __device__ operator int &() { return r; } };",
     "$N ${N}o{$x}; int &${N}r = ${N}o; ${N}r -= 6;"),
    ("#define $M(a) ((a) -= 1)", "$M($x);"),
    ("#define $M(a, b) do { int t_ = a; a = b; b = t_; } while (0)", "$M($x, m);"),
)  # fmt: skip

#: Conditions over the id $i and the bound $b.
CONDITIONS = (
    *("$i < $b", "$i < $b", "$i < $b", "$b > $i", "$i <= $b - 1", "!($i >= $b)", "$i + 1 < $b"),
    *("$i < $b && v >= 0", "v != 12345 && $i < $b", "$i < $b || v < 0", "$i <= $b", "2 * $i < $b"),
    *("$i != $b", "$i * 3 < $b", "($i < $b) == true", "!!($i < $b)", "($i < $b ? true : false)"),
    *("(int)($i - $b) < 0", "$i - $b < 0", "(signed char)$i < $b", "(unsigned char)$i < $b"),
    *("($i >> 2) < $b", "$i / 4 < $b", "($i & 1) == 0 && $i < $b", "(($i < $b) & (v > -5))"),
    *("(long long)$i < (long long)$b", "(float)$i < (float)$b", "$i >= 3 && $i < $b", "$i >= $b"),
    *("(unsigned)$i < (unsigned)$b", "$i < $b && $i != 7", "!($i >= $b || v == 99)", "$i - 1 < $b"),
    *("$i % 2 ? $i < $b : $i + 2 < $b", "!($i > $b)", "($i ^ 1) < $b", "$i < $b / 2 || $i < $b"),
    *("($i < $b) != ($i < 10)", "(int)$i - 2 < (int)$b", "$b - $i > 0", "-(int)$i > -(int)$b"),
    *("($i < $b, $i < $b + 1)", "$i < $b && in[$i & 63] > -9", "~(int)$i >= -(int)$b"),
    "min((int)$i, 99) < $b",
)  # fmt: skip

#: Control flow: $c the condition, $E guarded effects, $F effects that are not, $N a fresh name.
FLOWS = (
    (6, "if ($c) {\n$E\n}\n$F"),
    (5, "$F\nif (!($c)) return;\n$E"),
    (2, "if ($c) {\n} else return;\n$E\n$F"),
    (2, "if ($c) {\n$E\nreturn;\n}\n$F"),
    (2, "do {\nif (!($c)) break;\n$E\n} while (false);\n$F"),
    (1, "while ($c) {\n$E\nbreak;\n}\n$F"),
    (1, "for (int $N = 0; $N < 1 && ($c); ++$N) {\n$E\n}\n$F"),
    (1, "for (;;) {\nif (!($c)) break;\n$E\nbreak;\n}\n$F"),
    (1, "for (int $N = 0; $N < 2; ++$N) {\nif (!($c) || $N) continue;\n$E\n}\n$F"),
    (1, "switch (($c) ? 1 : 0) {\ncase 0: break;\ndefault: {\n$E\n}\n}\n$F"),
    (1, "switch (int($c)) {\ncase 1: {\n$E\n}\n}\n$F"),
    (1, "switch (v & 1) {\ncase 0: if (!($c)) break; {\n$E\n}\ndefault: {\n$F\n}\n}"),
    (1, "bool $N = $c;\nif ($N) {\n$E\n}\n$F"),
    (1, "bool $N = $c;\n$N = $N || v == 1;\nif ($N) {\n$E\n}\n$F"),
    (1, "auto $N = [&] {\n$E\n};\nif ($c) $N();\n$F"),
    (1, "auto $N = [&] {\nif (!($c)) return;\n$E\n};\n$N();\n$F"),
    (1, "if (!($c)) {\nif (v > 2) return;\n}\n$E\n$F"),
    (1, "if (v > 1000 || !($c)) return;\n$E\n$F"),
    (1, "if (v > 0) {\nif ($c) {\n$E\n}\n} else {\n$F\n}"),
    (1, "($c) ? [&] {\n$E\n}() : (void)0;\n$F"),
    (1, "($c) && [&] {\n$E\nreturn true;\n}();\n$F"),
    (1, "if ($c) goto ${N}in;\ngoto ${N}out;\n${N}in: {\n$E\n}\n${N}out: {\n$F\n}"),
    (1, "if (int $N = ($c)) {\n$E\n}\n$F"),
    (2, "$E\n$F"),
)


def bound(draw: Draw, options: Sequence[str] = BOUNDS) -> Piece:
    """A bound, changed or hidden now and then."""
    text = draw.one(options) if draw.has("bound") else "n"
    name = draw.fresh("g")
    piece = Piece(text)
    if draw.has("change", 0.7):
        target = "s.n" if text.startswith("s.n") else "n"
        helpers, statements = draw.one(CHANGES)
        names = {"N": draw.fresh("g"), "M": draw.macro("G"), "x": target}
        piece = Piece(text, lines(fill(statements, **names)), lines(fill(helpers, **names)))
    if draw.has("hidden bound", 0.7):
        hidden = hide(draw, Piece("q"), piece.expression)
        return Piece(
            hidden.expression,
            (*piece.statements, *hidden.statements),
            (*piece.helpers, *hidden.helpers),
        )
    if draw.has("named bound", 0.7):
        declared = draw.one(("const int", "int", "unsigned", "auto", "long long", "short"))
        return Piece(
            name, (*piece.statements, f"{declared} {name} = {piece.expression};"), piece.helpers
        )
    return piece


def condition(draw: Draw, variable: str) -> Piece:
    """A condition on one id."""
    limit = bound(draw)
    if draw.has("hidden condition", 0.7):
        hidden = hide(draw, Piece("q < 0"), f"(int)({variable}) - (int)({limit.expression})")
        statements = (*limit.statements, *hidden.statements)
        return Piece(hidden.expression, statements, (*limit.helpers, *hidden.helpers))
    parts = {"i": variable, "b": f"({limit.expression})"}
    text = fill(draw.one(CONDITIONS if draw.has("condition", 0.8) else CONDITIONS[:5]), **parts)
    return Piece(f"({text})", limit.statements, limit.helpers)


def guarded(draw: Draw, test: Piece, inside: str, outside: str) -> Piece:
    """Effects below a condition, others beside it."""
    flow = draw.weighted(FLOWS if draw.has("flow") else FLOWS[:2])
    text = fill(flow, c=test.expression, E=inside, F=outside, N=draw.fresh("f"))
    return Piece("", (*test.statements, *lines(text)), test.helpers)
