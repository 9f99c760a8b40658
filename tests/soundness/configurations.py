"""Execution configurations: blocks of all sizes, grids that cover, exceed or fall short.

Takes a kernel's needs, gives host text of grid and block. Thread spaces stay so small that no id,
moved or scaled, leaves an array.
"""

from __future__ import annotations

from dataclasses import dataclass

from tests.soundness.draws import Draw, fill
from tests.soundness.kernels import Kernel

WIDTHS = (
    1,
    2,
    7,
    16,
    31,
    32,
    33,
    48,
    64,
    64,
    96,
    100,
    128,
    128,
    129,
    192,
    256,
    256,
    500,
    512,
    1024,
)
PLANES = ((16, 16), (32, 8), (8, 8), (33, 3), (7, 5), (32, 4), (64, 2), (64, 1), (1, 32), (5, 7),
          (10, 10), (32, 1), (16, 2), (4, 8), (3, 3), (1, 7), (2, 64), (32, 16))  # fmt: skip
SOLIDS = ((8, 8, 4), (4, 4, 4), (32, 2, 2), (3, 5, 2), (16, 1, 1), (8, 4, 1), (1, 1, 8), (2, 2, 9))
#: Grids over $t, the threads that are wanted, for blocks of $b.
GRIDS = (
    *("($t + $b - 1) / $b",) * 5,
    *("blocks_for($t, $b)", "BLOCKS($t, $b)", "$t / $b", "$t / $b + 1", "($t + $b - 1) / $b + 1"),
    *("$t > 0 ? ($t - 1) / $b + 1 : 1", "($t + $b) / $b", "std::max($t / $b, 1)"),
)


@dataclass(frozen=True)
class Configuration:
    """Host text of a configuration.

    Attributes:
        before, behind: statements around the launch.
        text: what stands between `<<<` and `>>>`, but for shared memory and stream.
        space: host text of the threads per dimension.
    """

    before: tuple[str, ...]
    text: str
    behind: tuple[str, ...]
    space: tuple[str, str, str]


def configuration(draw: Draw, kernel: Kernel) -> Configuration:
    """A configuration for a kernel's launch; one in fifty fails."""
    block, sizes = _block(draw, kernel)
    grids = [
        "(" + fill(_grid(draw), t=size, b=width) + ")" if size else "1"
        for size, width in zip(sizes, block, strict=True)
    ]
    if kernel.dimensions == 1 and draw.has("grid", 0.3):
        grids[0] = str(draw.number(1, 7) if block[0] > 200 else draw.number(1, 20))
    space = (
        f"int({grids[0]}) * {block[0]}",
        f"{grids[1]} * {block[1]}",
        f"{grids[2]} * {block[2]}",
    )
    if draw.has("grid", 0.15):
        block = draw.one(((2048, 1, 1), (1, 1, 128), (1024, 2, 1), (33, 32, 1)))
    if kernel.may_repeat and not kernel.needs and draw.chance(0.5):
        block = (block[0] % 64 + 1, draw.number(2, 8), 1)
    if kernel.dimensions == 1 and block[1:] == (1, 1) and grids[1:] == ["1", "1"]:
        return _line(draw, grids[0], block[0], space)
    return _spatial(draw, grids, block, space)


def _grid(draw: Draw) -> str:
    return draw.one(GRIDS) if draw.has("grid") or draw.chance(0.15) else GRIDS[0]


def _block(draw: Draw, kernel: Kernel) -> tuple[tuple[int, int, int], tuple[str, str, str]]:
    """A block that the kernel bears, and the threads wanted per dimension."""
    needs = kernel.needs
    if kernel.dimensions == 1:
        widths = [w for w in WIDTHS if "warps" not in needs or w % 32 == 0]
        widths = [w for w in widths if "even" not in needs or w % 2 == 0]
        fixed = [int(need[2:]) for need in needs if need.startswith("x=")]
        others = ("(n + 40)", "(n / 2)", "(n - 1)", "640")
        wanted = draw.one(others) if draw.chance(0.25) else "n"
        return (fixed[0] if fixed else draw.one(widths), 1, 1), (wanted, "", "")
    blocks = [(*each, 1) for each in PLANES] if kernel.dimensions == 2 else list(SOLIDS)
    fitting = [each for each in blocks if _fits(each, needs)]
    block = draw.one(fitting)
    most = (40, 24, 1) if kernel.dimensions == 2 else (14, 8, 5)
    chosen = []
    for at, width in enumerate(block):
        at_most = most[at] if draw.chance(0.7) else max(1, most[at] // 2)
        spread = draw.number(1, at_most)
        chosen.append(f"({at_most - spread + 1} + n % {spread})" if width and most[at] > 1 else "")
    x, y, z = chosen
    return block, (x, y, z)


def _fits(block: tuple[int, int, int], needs: frozenset[str]) -> bool:
    threads = block[0] * block[1] * block[2]
    return (
        ("warps" not in needs or threads % 32 == 0)
        and ("even" not in needs or all(each % 2 == 0 for each in block[:2]))
        and ("square" not in needs or block[0] == block[1])
    )


def _line(draw: Draw, grid: str, block: int, space: tuple[str, str, str]) -> Configuration:
    """One dimension: integers, dim3, members, functions, objects."""
    name = draw.fresh("c")
    forms: tuple[tuple[str, str, str], ...] = (
        *(("", "$g, $b", ""),) * 4,
        ("const int ${N}b = $b; const int ${N}g = $g;", "${N}g, ${N}b", ""),
        ("dim3 ${N}g($g), ${N}b($b);", "${N}g, ${N}b", ""),
        ("dim3 $N; $N.x = $g;", "$N, $b", ""),
        ("", "dim3($g), dim3($b)", ""),
        ("", "dim3{unsigned($g)}, dim3($b, 1, 1)", ""),
        ("", "counted($g), $b", ""),
        ("", "$g, counted_dim(dim3($b))", ""),
        ("int $N = $g;", "$N++, $b", "note($N);"),
        ("int $N = $g - 1;", "++$N, $b", "note($N);"),
        ("int ${N}g[] = {$g, 3}, *$N = ${N}g;", "*$N++, $b", "note($N - ${N}g);"),
        ("Configuration $N($g);", "$N, $b", "note($N.reads);"),
        ("Configuration $N($b);", "$g, $N", "note($N.reads);"),
        ("Getter $N($g);", "$N.size(), $b", "note($N.reads);"),
        ("struct { dim3 grid, block; } $N = {dim3($g), dim3($b)};", "$N.grid, $N.block", ""),
        ("dim3 $N[2] = {dim3($g), dim3($b)};", "$N[0], $N[1]", ""),
        ("\n#define ${M} ($b)\n", "$g, ${M}", ""),
        ("\n#define ${M} $g, $b\n", "${M}", ""),
        ("", "n > 5 ? $g : 2, $b", ""),
        ("int $N = $b;", "$g, $N", "note($N = 7);"),
        ("auto $N = [&](int t) { ++calls; return t; };", "$N($g), $b", ""),
        ("", "$g, 1 << 5" if block == 32 else "$g, $b", ""),
    )
    names = {"g": grid, "b": str(block), "N": name, "M": draw.macro("C")}
    allowed = draw.allowed(forms, "".join)
    form = draw.one(allowed if draw.has("configuration") else forms[:7])
    before, text, behind = (fill(each, **names) for each in form)
    return Configuration(_kept(before), text, _kept(behind), space)


def _spatial(
    draw: Draw, grids: list[str], block: tuple[int, int, int], space: tuple[str, str, str]
) -> Configuration:
    """Several dimensions."""
    name = draw.fresh("c")
    while len(grids) > 2 and grids[-1] == "1" and draw.chance(0.7):
        grids = grids[:-1]
    g = ", ".join(grids)
    b = ", ".join(str(each) for each in (block if block[2] > 1 else block[:2]))
    forms = (
        (f"dim3 {name}g({g}), {name}b({b});", f"{name}g, {name}b"),
        (f"const dim3 {name}b({b}); const dim3 {name}g({g});", f"{name}g, {name}b"),
        ("", f"dim3({g}), dim3({b})"),
        (f"dim3 {name}b = dim3({b});", f"dim3({g}), {name}b"),
        (f"dim3 {name}b; {name}b.x = {block[0]}; {name}b.y = {block[1]}; {name}b.z = {block[2]};",
         f"dim3({g}), {name}b"),
        ("", f"counted_dim(dim3({g})), dim3({b})"),
    )  # fmt: skip
    before, text = draw.one(forms if draw.has("configuration") else forms[:3])
    return Configuration(_kept(before), text, (), space)


def _kept(text: str) -> tuple[str, ...]:
    return (text,) if text else ()
