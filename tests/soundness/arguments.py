"""Arguments of launches: the same value by names, calls, operators, iterators and side effects.

Takes a value as host text, gives declarations, the argument, and what is noted behind the launch.
"""

from __future__ import annotations

from dataclasses import dataclass

from tests.soundness.draws import Draw, fill

#: (declarations, argument, behind): $E the value (an int), $N a fresh name, $M a fresh macro.
INTEGERS = (
    *(("", "$E", ""),) * 2,
    ("const int $N = $E;", "$N", ""),
    ("", "($E) + 0", ""),
    ("", "static_cast<int>($E)", ""),
    ("", "int($E)", ""),
    ("", "std::min(int($E), 5000)", ""),
    ("", "($E) > 0 ? ($E) : 1", ""),
    ("", "counted($E)", ""),
    ("", "(calls++, $E)", ""),
    ("", "counted($E) + counted(0)", ""),
    ("", "[&] { ++calls; return int($E); }()", ""),
    ("", "counted_any<int>($E)", ""),
    ("int $N = $E;", "$N++", "note($N);"),
    ("int $N = $E;", "$N--", "note($N);"),
    ("int $N = $E; $N -= 1;", "++$N", "note($N);"),
    ("int $N = 2 * ($E);", "$N >>= 1", "note($N);"),
    ("int $N = 3 * ($E);", "$N /= 3", "note($N);"),
    ("int $N = ($E) ^ 5;", "$N ^= 5", "note($N);"),
    ("int $N = ($E) ^ 5;", "$N xor_eq 5", "note($N);"),
    ("int $N = 1;", "$N = $E", "note($N);"),
    ("int $N = $E, &${N}r = $N;", "${N}r += 1", "note($N);"),
    ("int $N = $E, *${N}p = &$N;", "(*${N}p)++", "note($N);"),
    ("volatile int $N = $E;", "$N", ""),
    ("Number $N($E);", "$N", "note($N.reads);"),
    ("Number $N($E);", "$N + 0", "note($N.reads);"),
    ("Cursor $N($E);", "$N++", "note($N.at);"),
    ("Cursor $N($E);", "*$N", "note($N.at);"),
    ("Cursor $N($E);", "*++$N", "note($N.at);"),
    ("Cursor $N($E);", "$N.next()", "note($N.at);"),
    ("int ${N}a[] = {$E, 9, 9}; int *$N = ${N}a;", "*$N++", "note($N - ${N}a);"),
    ("int ${N}a[] = {9, $E, 9, 9}; int $N = 0;", "${N}a[++$N]", "note($N);"),
    ("Getter $N($E);", "$N.get()", "note($N.reads);"),
    ("Getter $N($E);", "$N.size()", "note($N.reads);"),
    ("Getter $N($E);", "$N.value()", "note($N.reads);"),
    ("Getter $N($E);", "$N.data()", "note($N.reads);"),
    ("Getter $N($E), *${N}p = &$N;", "${N}p->x()", "note($N.reads);"),
    ("Getter $N($E);", "$N.begin()", "note($N.reads);"),
    ("Operators $N($E);", "$N()", "note($N.reads);"),
    ("Operators $N($E);", "*$N", "note($N.reads);"),
    ("Operators $N($E);", "$N + 0", "note($N.reads);"),
    ("Operators $N($E); const int ${N}i = 0;", "$N[${N}i]", "note($N.reads);"),
    ("Operators $N($E);", "$N << 0", "note($N.reads);"),
    ("Operators $N($E);", "$N == 0", "note($N.reads);"),
    ("Operators $N(-($E));", "-$N", "note($N.reads);"),
    ("struct $N { static int size(int x) { return counted(x); } };", "$N::size($E)", ""),
    ("auto $N = [&](int x) { return counted(x); };", "$N($E)", ""),
    ("int (*$N)(int) = counted;", "$N($E)", ""),
    ("\n#define $M(x) counted(x)\n", "$M($E)", ""),
    ("\n#define $M (calls += 2, $E)\n", "$M", ""),
    ("bool $N = false;", "($N = !$N) ? $E : 3", "note($N);"),
    ("struct { int n : 12; } $N = {int($E) & 2047};", "$N.n", ""),
    ("int $N = $E;", "($N++, $N - 1)", "note($N);"),
    ("static int $N = 0;", "int($E) + 0 * ++$N", "note($N); $N = 0;"),
)
#: Values that need no value.
ANYTHING = (
    ("", "__COUNTER__ % 97", ""),
    ("", "__COUNTER__ & 1 ? 5 : 6", ""),
    ("", "(int)sizeof(Data)", ""),
    ("", "'a'", ""),
    ("", "true", ""),
    ("", "NULL == 0", ""),
)
#: The same for pointers: $E an array of the data, $T its type.
POINTERS = (
    *(("", "$E", ""),) * 6,
    ("", "$E + 0", ""),
    ("", "&$E[0]", ""),
    ("$T *$N = $E;", "$N", ""),
    ("$T *$N = nullptr;", "$N = $E", "note($N - $E);"),
    ("$T *${N}a[] = {$E, $E, $E, $E}, **$N = ${N}a;", "*$N++", "note($N - ${N}a);"),
    ("$T *${N}a[] = {nullptr, $E, $E, $E}; int $N = 0;", "${N}a[++$N]", "note($N);"),
    ("Pointer<$T> $N($E);", "$N", "note($N.reads);"),
    ("Pointer<$T> $N($E);", "$N.get()", "note($N.reads);"),
    ("Pointer<$T> $N($E);", "$N.begin()", "note($N.reads);"),
    ("Pointer<$T> $N($E);", "$N.data()", "note($N.reads);"),
    ("", "($T *)$E", ""),
    ("", "static_cast<$T *>((void *)$E)", ""),
    ("", "counted_any($E)", ""),
    ("", "(++calls, $E)", ""),
    ("", "n > -1 ? $E : nullptr", ""),
    ("struct { $T *out, *in; } $N = {$E, nullptr};", "$N.out", ""),
)
#: Exactly the array when evaluated once; another place when the launch is repeated.
MOVING = (
    ("$T *$N = $E;", "$N++", "note($N - $E);"),
    ("$T *$N = $E + 1;", "--$N", "note($N - $E);"),
    ("$T *$N = $E - 2;", "$N += 2", "note($N - $E);"),
)
OBJECTS = (
    ("Counted $N(3);", "$N", ""),
    ("", "Counted(4)", ""),
    ("", "Counted{5}", ""),
    ("", "6", ""),
    ("Counted $N(7), &${N}r = $N;", "${N}r", ""),
    ("Counted $N[2] = {8, 9};", "$N[1]", ""),
    ("auto $N = [] { ++calls; return Counted(4); };", "$N()", ""),
    ("Counted $N(3);", "std::move($N)", ""),
)
SIZES = (
    ("Sizes $N = {n, 2, {3, 4}, {n / 2}};", "$N", ""),
    ("", "Sizes{n, 3, {5, 6}, {n - 1}}", ""),
    ("Sizes ${N}a[2] = {{n, 2, {3, 4}, {7}}, {n - 3, 2, {8, 9}, {n}}}; int $N = 0;", "${N}a[$N++]",
     "note($N);"),
    ("auto $N = [&] { ++calls; return Sizes{n / 2, 1, {1, 0}, {n}}; };", "$N()", ""),
)  # fmt: skip


@dataclass(frozen=True)
class Argument:
    """An argument with its declarations and what follows the launch."""

    before: str
    text: str
    behind: str


def argument(draw: Draw, role: str, values: dict[str, str], is_repeated: bool) -> Argument:
    """An argument for a role; `values` are host texts of what roles mean in this launch."""
    if role == "o":
        return _of(draw, OBJECTS, "")
    if role == "s":
        return _of(draw, SIZES, "")
    if role in ("n", "m", "pitch", "slab", "start", "v"):
        if role == "v" and draw.has("integer", 0.2):
            return _of(draw, ANYTHING, "")
        is_free = role in ("n", "m", "v") and draw.has("integer", 0.8)
        return _of(draw, INTEGERS if is_free else INTEGERS[:3], values[role])
    kind = "float" if role == "fl" else "int"
    if draw.has("pointer", 0.2) and not is_repeated:
        return _of(draw, MOVING, values[role], kind)
    return _of(draw, POINTERS if draw.has("pointer") else POINTERS[:7], values[role], kind)


def _of(
    draw: Draw, table: tuple[tuple[str, str, str], ...], value: str, kind: str = ""
) -> Argument:
    names = {"E": value, "N": draw.fresh("a"), "M": draw.macro("A"), "T": kind}
    chosen = draw.one(draw.allowed(table, "".join))
    return Argument(*(fill(each, **names) for each in chosen))
