"""Programs in which the threads of a block work together; about half of them follow the block.

Takes draws, gives the text of a program: reductions by warps and by trees, of rows and of all
elements, blocks whose size is a constant or an argument, grids that stride, blocks of one thread,
and a warp per row. A fault is put into every second one: it has no race, but gives something else
in other blocks. Sums of floating-point numbers are sums of small integers, which no order changes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from tests.soundness.draws import Draw, fill, lines

#: By operation: how it combines, what it ignores, by which atomic function, and its types.
OPERATIONS = {
    "add": ("$a + $b", "0", "atomicAdd", ("int", "int", "unsigned", "long long", "float")),
    "max": ("max($a, $b)", "-9", "atomicMax", ("int", "long long", "float")),
    "min": ("min($a, $b)", "9999", "atomicMin", ("int", "unsigned", "float")),
    "or": ("$a | $b", "0", "atomicOr", ("int", "unsigned", "long long")),
    "xor": ("$a ^ $b", "0", "atomicXor", ("int", "unsigned")),
    "and": ("$a & $b", "-1", "atomicAnd", ("int",)),
}
#: Threads without an element bring this, which changes nothing, whatever the others have.
NEUTRAL = {"max": "(-2147483647 - 1)", "min": "2147483647"}
SHUFFLES = (
    ("for (int o = $H; o > 0; o >>= 1)", "__shfl_xor_sync(~0u, s, o)"),
    ("for (unsigned o = $H; o; o /= 2)", "__shfl_xor_sync(0xffffffffu, s, o)"),
    ("for (int o = $H; o; o >>= 1)", "__shfl_down_sync(~0u, s, o)"),
)
SLOT = "if (t % 32 == 0) w[t / 32] = s;\n__syncthreads();\n"
#: How threads combine `s`; behind it all threads have the whole of it.
REDUCTIONS = {
    "slots": "__shared__ $W w[32];\n$shuffles\n" + SLOT + "s = w[0];\n"
    "for (int i = 1; i < $slots; ++i) s = $slot;\n__syncthreads();",
    "first warp": "__shared__ $W w[32];\n$shuffles\n" + SLOT + "if (t < 32) {\n"
    "s = t < $slots ? w[t] : ($T)$pad;\n$shuffles\nif (t == 0) w[0] = s;\n}\n"
    "__syncthreads();\ns = w[0];\n__syncthreads();",
    "tree": "__shared__ $W w[1024];\nw[t] = s;\n__syncthreads();\n"
    "for (int h = $D / 2; h > 0; h /= 2) {\nif (t < h) w[t] = $fold;\n__syncthreads();\n}\n"
    "s = w[0];\n__syncthreads();",
    "chain": "__shared__ $W w[1024];\nw[t] = s;\n__syncthreads();\n"
    "s = w[0];\nfor (int i = 1; i < $D; ++i) s = $slot;\n__syncthreads();",
}
ELEMENTS = ("in[r * n + j]", "in[r + j]", "(in[r * n + j] & 31) + r", "in[j] * (in2[r] & 3)",
            "in[r * n + j] - in2[j]")  # fmt: skip
LOOPS = (
    *("for (int j = t; j < n; j += $D) $add",) * 4,
    "for (int j = threadIdx.x; j < n; j += $D) if (in2[j] & 1) $add",
    "for (int j = t; j < n; j += $D) $add\nfor (int j = t; j < m; j += $D) $add",
    "for (int j = t; j <= n - 1; j += $D) { const auto x = in[j]; if (x > 5) $add }",
)
RESULTS = (
    "if (t == 0) out[r] = (int)s;",
    "if (threadIdx.x == 0) { out[r] = (int)s; aux[r] = (int)s + r; }",
    "for (int j = t; j < n; j += $D) aux[r * n + j] = in[j] * 3 + (int)s;",
    "if (!t) out[r] += (int)s;",
)
#: What makes a reduction follow the block: the piece that is changed, and the text instead.
FAULTS = {
    "begins at one": ("begin", "1"),
    "counts the first twice": ("slot from", "0"),
    "narrow elements": ("W", "unsigned char"),
    "half of a warp": ("H", "8"),
    "asks its place": ("guard", "if (t < 40) "),
    "adds its place": ("more", " + t"),
    "counts warps": ("result", " + $D / 32"),
    "counts threads": ("result", " * (int)$D"),
    "of the last round": ("combine", "last"),
    "differences": ("combine", "difference"),
    "pads": ("pad", "3"),
    "its own row": ("row", "n - t"),
    "reads the last one": ("result", " + (int)w[$D / 32 - 1]"),
    "forgets warps": ("slots", "2"),
}
#: Rows whose ends are loaded, and what they begin at; in place of `t` and `n`.
RAGGED = (
    ("const int e = in2[r] & 127;", "t", "e"),
    ("const int b = in2[r] & 63, e = b + (in2[r + 1] & 127);", "b + t", "e"),
    ("const int b = in2[$of] & 63;", "b + t", "(in2[r + 1] & 127)"),
    ("const int q = r * 7, e = min(q + (in2[r] & 63), n);", "q + t", "e"),
)
IDEMPOTENT = frozenset({"max", "min", "or", "and"})


@dataclass
class _Program:
    """What a program is put together from: text before the kernel, the kernel, its launches."""

    before: list[str] = field(default_factory=list)
    body: str = ""
    parameters: str = ""
    template: str = ""
    launches: list[str] = field(default_factory=list)
    is_right: bool = True


@dataclass(frozen=True)
class _Block:
    """How a kernel names its width: `text` in the kernel; `given` in a launch, an argument, too."""

    text: str
    given: str
    width: int
    before: str = ""
    parameter: str = ""
    argument: str = ""
    host: str = ""


def collective(draw: Draw) -> tuple[str, bool]:
    """The text of a program, and whether its results do not follow the block."""
    is_wrong = draw.chance(0.5)
    kind = draw.weighted(
        [
            *((6, _rows), (3, _of_all), (2, _columns), (2, _warp_rows), (1.5, _one_thread)),
            *((1.5, _one_warp), (1, _grid), (1, _few)),
        ]
    )
    program = kind(draw, is_wrong)
    name = draw.fresh("k")
    head = f"__global__ void {name}(int *out, int *aux, const int *in, const int *in2, int n, int m"
    kernel = f"{head}{program.parameters}) {{\n{program.body}\n}}"
    launches = [text.replace("$K", name) for text in program.launches]
    host = "\n".join(("static void go(Data &d, int n) {", *launches, "look(d);", "}"))
    return "\n".join((*program.before, kernel, host)), program.is_right


def _block(draw: Draw, is_power: bool) -> _Block:
    widths = (32, 64, 128, 256, 512, 1024) if is_power else (32, 64, 96, 128, 192, 256, 320, 512)
    width = draw.one(widths)
    form = draw.weighted([(5, "built-in"), (1, "macro"), (1, "constant"), (1.5, "argument")])
    name = draw.fresh("bs")
    if form == "macro":
        name = draw.macro("bs")
        return _Block(name, name, width, f"\n#define {name} {width}\n")
    if form == "constant":
        return _Block(name, name, width, f"constexpr int {name} = {width};")
    if form == "argument":
        host = f"int {name} = {width};"
        return _Block("bs", name, width, "", ", int bs", f", {name}", host)
    given = draw.one((str(width), f"dim3({width})", name))
    host = f"const int {name} = {width};" if given == name else ""
    return _Block("blockDim.x", given, width, host=host)


@dataclass(frozen=True)
class _Pieces:
    """What stands in the templates of a reduction."""

    operation: str
    type: str
    block: _Block
    begin: str
    pad: str
    guard: str = ""
    more: str = ""
    result: str = ""
    row: str = "n"
    slots: str = "$D / 32"
    narrow: str = ""
    half: str = "16"
    first: str = "1"
    combine: str = "$op"
    shuffle: tuple[str, str] = SHUFFLES[0]

    @property
    def width(self) -> str:
        return self.block.text

    def combined(self, first: str, second: str) -> str:
        return fill(OPERATIONS[self.operation][0], a=first, b=f"({self.type})({second})")

    def step(self, element: str) -> str:
        """`s` of a round."""
        value = f"({element}{self.more})"
        text = {
            "$op": f"s = {self.combined('s', value)};",
            "last": f"s = ({self.type}){value};",
            "difference": f"s = ({self.type}){value} - s;",
        }[self.combine]
        return self.guard + text

    def reduction(self, style: str) -> str:
        head, exchanged = self.shuffle
        shuffles = f"{fill(head, H=self.half)} s = {self.combined('s', exchanged)};"
        text = REDUCTIONS[style].replace("int i = 1", f"int i = {self.first}")
        return fill(
            text,
            T=self.type,
            W=self.narrow or self.type,
            D=self.width,
            slots=self.slots.replace("$D", self.width),
            slot=self.combined("s", "w[i]"),
            fold=self.combined("w[t]", "w[t + h]"),
            pad=self.pad,
            shuffles=shuffles,
        )


def _pieces(draw: Draw, block: _Block, types: tuple[str, ...] = ()) -> _Pieces:
    operation = draw.one(("add", "add", "add", "max", "min", "or", "xor", "and"))
    _, begin, _, own = OPERATIONS[operation]
    kind = draw.one([one for one in own if not types or one in types])
    if kind == "float" and operation in ("max", "min"):
        begin = draw.one((begin, "-INFINITY" if operation == "max" else "INFINITY"))
    return _Pieces(operation, kind, block, begin, begin, shuffle=draw.one(SHUFFLES))


def _faults(pieces: _Pieces, style: str) -> list[str]:
    """Those that another block would show, as far as is known."""
    faults = ["counts warps", "counts threads", "adds its place", "of the last round"]
    faults += ["asks its place", "its own row"]
    if pieces.operation == "add":
        faults += ["begins at one", "differences", "narrow elements"]
        faults += ["pads"] if style == "first warp" else []
        faults += ["counts the first twice"] if style == "slots" else []
    if style in ("slots", "first warp"):
        faults += ["half of a warp"]
    if style == "slots" and pieces.block.width >= 64:
        faults += ["forgets warps"]
    return faults


def _faulty(pieces: _Pieces, fault: str) -> _Pieces:
    kind, text = FAULTS[fault]
    text = text.replace("$D", pieces.width)
    names = {"W": "narrow", "H": "half", "slot from": "first"}
    return replace(pieces, **{names.get(kind, kind): text})  # type: ignore[arg-type]


def _rows(draw: Draw, is_wrong: bool) -> _Program:
    """A block per row, or rows of a grid."""
    style = draw.one(tuple(REDUCTIONS))
    block = _block(draw, style == "tree")
    pieces = _pieces(draw, block)
    if is_wrong:
        pieces = _faulty(pieces, draw.one(_faults(pieces, style)))
    element, ragged = draw.one(ELEMENTS), ""
    loop = fill(draw.one(LOOPS), D=pieces.width, add=pieces.step(element))
    if draw.chance(0.3):
        ragged, begin, end = draw.one(RAGGED)
        ragged = fill(ragged, of="t & 1" if pieces.row != "n" else "r")
        loop = re.sub(r"j = (t|threadIdx\.x);", f"j = {begin};", loop, count=1)
        pieces = replace(pieces, row=pieces.row.replace("n", end))
    loop = loop.replace("j < n;", f"j < {pieces.row};").replace("j <= n", f"j <= {pieces.row}")
    result = fill(draw.one(RESULTS), D=pieces.width).replace("(int)s", f"((int)s{pieces.result})")
    sums = [ragged, f"{pieces.type} s = {pieces.begin};", loop, pieces.reduction(style)]
    rows = draw.number(1, 12)
    if draw.chance(0.25):
        head = "for (int r = blockIdx.x; r < m; r += gridDim.x) {"
        texts, grid = [head, *sums, result, "__syncthreads();", "}"], draw.number(1, rows)
    else:
        texts, grid = ["const int r = blockIdx.x;", *sums, result], rows
    program = _Program([block.before], "\n".join(("const int t = threadIdx.x;", *texts)))
    program.parameters, program.is_right = block.parameter, not is_wrong
    program.launches = [*lines(block.host), _launch(block, str(grid), str(rows))]
    return program


def _launch(block: _Block, grid: str, m: str) -> str:
    given = f"d.out, d.aux, d.in, d.in2, n, {m}{block.argument}"
    return f"$K<<<{grid}, {block.given}>>>({given});"


def _of_all(draw: Draw, is_wrong: bool) -> _Program:
    """Each block adds what its threads have to one sum."""
    style = draw.one(("slots", "first warp", "tree", "chain"))
    block = _block(draw, style == "tree")
    pieces = _pieces(draw, block, ("int",))
    fault = draw.one(("half", "place", "grid", "one more", "stores")) if is_wrong else ""
    if fault in ("half", "one more", "grid") and pieces.operation in IDEMPOTENT:
        fault = "place"
    place = " + t" if fault == "place" else " * gridDim.x" if fault == "grid" else ""
    i = f"blockIdx.x * {block.text} + t"
    value = f"({draw.one(('in[i]', 'in[i] - in2[i]', 'in[i] * 3'))}{place})"
    grid = f"(n + {block.width - 1}) / {block.width}"
    if draw.chance(0.25):
        loop, grid = _segments(draw, pieces, block, value, i, fault)
    elif draw.chance(0.5):
        loop = f"int s = {pieces.begin};\nfor (int i = {i}; i < n; i += gridDim.x * {block.text}) "
        loop += f"s = {pieces.combined('s', value)};"
        grid = draw.one((grid, str(draw.number(1, 9))))
    else:
        neutral = NEUTRAL.get(pieces.operation, pieces.begin)
        pieces = replace(pieces, begin=neutral, pad=neutral)
        loop = f"const int i = {i};\nint s = i < n ? {value} : {neutral};"
    change = {"half": "s / 2", "one more": "s + 1"}.get(fault, "s")
    atomic = OPERATIONS[pieces.operation][2]
    end = f"if (t == 0) {atomic}(out + 3, {change});"
    if fault == "stores":
        end = "if (t == 0) out[blockIdx.x] = s;"
    texts = ("const int t = threadIdx.x;", loop, pieces.reduction(style), end)
    program = _Program([block.before], "\n".join(texts), block.parameter)
    program.is_right = not is_wrong
    program.launches = [*lines(block.host), _launch(block, grid, "3")]
    return program


def _segments(
    draw: Draw, pieces: _Pieces, block: _Block, value: str, i: str, fault: str
) -> tuple[str, str]:
    """Each thread has elements that lie a block apart; and the blocks that have them all."""
    own = []
    for place in range(count := draw.one((2, 2, 4))):
        here = f"i + {place} * {block.text}"
        more = " + 1" if fault and place else ""
        element = f"({value.replace('[i]', f'[{here}]')}{more})"
        own.append(f"if ({here} < n) s = {pieces.combined('s', element)};")
    if draw.chance(0.3):
        own.reverse()
    first = i.replace("blockIdx.x", f"{count} * blockIdx.x")
    loop = "\n".join((f"const unsigned i = {first};", f"int s = {pieces.begin};", *own))
    size = count * block.width
    return loop, f"(n + {size - 1}) / {size}"


def _warp_rows(draw: Draw, is_wrong: bool) -> _Program:
    """A warp per row, in blocks of 32 x y threads."""
    fault = draw.one(("y", "size", "neighbour", "shape")) if is_wrong else ""
    pieces = _pieces(draw, _Block("32", "", 32), ("int", "unsigned", "float"))
    height = draw.one((2, 4, 8, 16))
    result = {"y": " + (int)threadIdx.y", "size": " * (int)blockDim.y"}.get(fault, "")
    exchanged = pieces.combined("s", "__shfl_xor_sync(~0u, s, o)")
    texts = [
        "const int r = blockIdx.x * blockDim.y + threadIdx.y, t = threadIdx.x;",
        "__shared__ int w[32];" if fault == "neighbour" else "",
        f"{pieces.type} s = {pieces.begin};",
        f"if (r < m) for (int j = t; j < n; j += 32) {pieces.step(draw.one(ELEMENTS))}",
        f"for (int o = 16; o > 0; o /= 2) s = {exchanged};",
    ]
    if fault == "neighbour":
        texts += ["if (t == 0) w[threadIdx.y] = (int)s;", "__syncthreads();"]
        result = " + w[0]"
    texts += [draw.one((f"if (t == 0 && r < m) out[r] = (int)s{result};",
                        f"if (r < m) if (t == 0) out[r] = (int)s{result};"))]  # fmt: skip
    rows = draw.number(3, 20)
    grid = f"({rows} + {height - 1}) / {height}"
    given = f"d.out, d.aux, d.in, d.in2, n, {rows}"
    launches = [f"$K<<<{grid}, dim3(32, {height})>>>({given});"]
    if fault == "shape":
        launches.append(f"$K<<<{grid}, dim3(n > 100 ? 64 : 32, {height})>>>({given});")
        texts = [text.replace("if (t == 0", "if (t % 32 == 0") for text in texts]
        texts[-1] = texts[-1].replace("out[r] = (int)s", "atomicAdd(out + r, (int)s)")
    return _Program([], "\n".join(texts), launches=launches, is_right=not is_wrong)


def _columns(draw: Draw, is_wrong: bool) -> _Program:
    """Warps of a block share the rows of 32 columns."""
    faults = ("barrier", "warps", "twice", "all", "width", "warp", "forgets", "begin")
    fault = draw.one(faults) if is_wrong else ""
    block = _block(draw, False)
    pieces = _pieces(draw, block, ("int", "unsigned"))
    if fault in ("twice", "begin") and pieces.operation in IDEMPOTENT:
        fault = "barrier"
    element = draw.one(("in[r + j]", "in[j] * (in2[r] & 3)", "(in2[j] ^ r)", "in[j + l] - in2[j]"))
    if fault == "warp":
        element += " + w"
    all_, first = f"({block.text} / 32)", "0" if fault == "twice" else "1"
    summed = {"warps": "4", "forgets": f"{all_} - 1"}.get(fault, all_)
    begin = "7" if fault == "begin" else pieces.begin
    result = f" + {all_}" if fault == "width" else ""
    who = "true" if fault == "all" else draw.one(("w == 0", "t < 32"))
    ending = draw.one(("out[r] = $s;", "out[r] += $s;", "atomicAdd(out + r, $s);"))
    if fault == "all":
        ending = "atomicAdd(out + r, $s);"
    texts = (
        draw.one(("const int t = threadIdx.x;", "const unsigned t = threadIdx.x;")),
        "const int l = t % 32, w = t / 32, r = blockIdx.x * 32 + l;",
        f"__shared__ {pieces.type} own[1024];",
        f"{pieces.type} s = {begin};",
        f"for (int j = w; j < n; j += {all_}) {pieces.step(element)}",
        "own[t] = s;",
        "" if fault == "barrier" else "__syncthreads();",
        f"if ({who}) {{ for (int k = {first}; k < (int){summed}; ++k) "
        f"s = {pieces.combined('s', 'own[l + 32 * k]')};",
        fill(ending, s=f"((int)s{result})"),
        "}",
    )
    program = _Program([block.before], "\n".join(texts), block.parameter)
    program.is_right = not is_wrong
    program.launches = [*lines(block.host), _launch(block, str(draw.number(1, 3)), "3")]
    return program


def _one_warp(draw: Draw, is_wrong: bool) -> _Program:
    """Blocks of one warp."""
    fault = draw.one(("active", "two", "shared", "vote", "clock")) if is_wrong else ""
    pieces = _pieces(draw, _Block("32", "", 32), ("int", "unsigned", "float"))
    exchanged = pieces.combined("s", "__shfl_xor_sync(~0u, s, o)")
    texts = [
        "const int r = blockIdx.x, t = threadIdx.x;",
        f"{pieces.type} s = {pieces.begin};",
        f"for (int j = t; j < n; j += {draw.one(('32', '(int)blockDim.x'))}) "
        f"{pieces.step(draw.one(ELEMENTS))}",
        f"for (int o = 16; o > 0; o /= 2) s = {exchanged};",
    ]
    more = {
        "active": " + __popc(__activemask())",
        "two": " + t",
        "vote": " + __ballot_sync(~0u, r)",
    }
    if fault == "shared":
        texts += ["__shared__ int x[32];", "x[t] = (int)s;", "__syncthreads();", "s = x[31 - t];"]
    if fault == "clock":
        texts += ["if (clock64() < 0) s = 1;"]
    texts.append(f"if (t == 0) out[r] = (int)s{more.get(fault, '')};")
    width = "(n > 100 ? 64 : 32)" if fault == "two" else "32"
    if fault == "two":
        texts[-1] = "atomicAdd(out + r, (int)s + t);"
    launches = [f"$K<<<{draw.number(1, 12)}, {width}>>>(d.out, d.aux, d.in, d.in2, n, 3);"]
    return _Program([], "\n".join(texts), launches=launches, is_right=not is_wrong)


def _one_thread(draw: Draw, is_wrong: bool) -> _Program:
    """Blocks of one thread."""
    fault = draw.one(("active", "two", "shared", "shuffle")) if is_wrong else ""
    value = draw.one(("in[i] * 3 + 1", "in[i] ^ in2[i]", "in[i] + (int)blockDim.x"))
    texts = ["const int i = blockIdx.x;"]
    if fault == "active":
        value += " + __popc(__activemask())"
    elif fault == "shuffle":
        value += " + __shfl_sync(__activemask(), i, 0)"
    elif fault == "shared":
        texts += ["__shared__ int w;", "if (threadIdx.x == 0) w = in[i];", "__syncthreads();"]
        value += " + w"
    change = draw.one(
        ("out[i] = $v;", "out[i] += $v;", "aux[i + 2] = $v;", "atomicAdd(out + i, $v);")
    )
    if fault == "two":
        change = "atomicAdd(out + i, $v);"
    texts.append(f"if (i < n) {fill(change, v=value)}")
    width = "(n > 100 ? 2 : 1)" if fault == "two" else "1"
    launches = [f"$K<<<n + {draw.number(0, 3)}, {width}>>>(d.out, d.aux, d.in, d.in2, n, 3);"]
    return _Program([], "\n".join(texts), launches=launches, is_right=not is_wrong)


def _grid(draw: Draw, is_wrong: bool) -> _Program:
    """Few blocks, or one, that stride over all elements."""
    fault = draw.one((" + (int)gridDim.x", " + (int)blockIdx.x", " + t")) if is_wrong else ""
    block = _block(draw, False)
    value = draw.one(("in[i] * 3", "in[i] ^ in2[i]", "in[i] - 2")) + fault
    start, stride = draw.one(
        (
            (f"blockIdx.x * {block.text} + t", f"gridDim.x * {block.text}"),
            (f"t + {block.text} * blockIdx.x", f"{block.text} * gridDim.x"),
        )
    )
    loop = f"for (int i = {start}; i < n; i += {stride}) out[i] = {value};"
    program = _Program([block.before], f"const int t = threadIdx.x;\n{loop}", block.parameter)
    program.is_right = not is_wrong
    program.launches = [*lines(block.host), _launch(block, str(draw.number(1, 4)), "3")]
    return program


def _few(draw: Draw, is_wrong: bool) -> _Program:
    """The first threads of each block fill a table, or add it up, an element each."""
    fault = draw.one(("width", "block", "id", "own place", "more")) if is_wrong else ""
    few = draw.one((10, 32, 33, 64))
    first = f"if (t < {'blockDim.x / 2' if fault == 'more' else few})"
    begin = draw.one(("in2[t]", "in2[t * 2] ^ 5", "t * 3"))
    begin += {"width": " + blockDim.x", "block": " + blockIdx.x", "id": " + in[i]"}.get(fault, "")
    place = f"{'t' if fault == 'own place' else 'i'} % {few}"
    texts = [
        "const int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;",
        "__shared__ int w[512];",
        f"{first} w[t] = {begin};",
        "__syncthreads();",
        f"if (i < n) aux[i] = in[i] + w[{place}];",
    ]
    if not is_wrong and draw.chance(0.5):
        texts[2] = f"{first} w[t] = 0;"
        texts[4] = f"if (i < n) atomicAdd(&w[in2[i] % {few}], in[i] & 7);"
        texts += ["__syncthreads();", f"{first} atomicAdd(aux + t, w[t]);"]
    width = draw.one((128, 256))
    grid = f"(n + {width - 1}) / {width}"
    launches = [f"$K<<<{grid}, {width}>>>(d.out, d.aux, d.in, d.in2, n, 3);"]
    return _Program([], "\n".join(texts), launches=launches, is_right=not is_wrong)
