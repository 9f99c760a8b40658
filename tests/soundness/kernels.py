"""Kernels: ids, values, guards and effects put together.

Takes draws, gives the text of a kernel and what a host must know to launch it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tests.soundness.disguises import disguised, together
from tests.soundness.draws import Draw, Piece, fill
from tests.soundness.effects import NEIGHBOURS, Effect, effects, written
from tests.soundness.guards import LOOP_BOUNDS, bound, condition, guarded
from tests.soundness.hiding import hide
from tests.soundness.ids import constant_id, improper_id, proper_id

#: Names that a body may use, and how they are declared as parameters, in this order.
PARAMETERS = {
    "out": ("int *out", "int *__restrict__ out"),
    "in": ("const int *in", "const int *in", "const int *__restrict__ in"),
    "n": ("int n",),
    "aux": ("int *aux",),
    "in2": ("const int *in2",),
    "perm": ("const int *perm",),
    "cnt": ("int *cnt",),
    "fl": ("float *fl",),
    "m": ("int m",),
    "s": ("Sizes s",),
    "pn": ("const int *pn",),
    "pitch": ("int pitch",),
    "slab": ("int slab",),
    "start": ("int start",),
    "o": ("Counted o",),
    "v": ("int v", "int v", "const int v", "short v", "long long v"),
}
#: What may be unusual in a kernel.
FEATURES = (
    *("id", "hidden id", "hidden", "bound", "change", "hidden bound", "named bound", "condition"),
    *("hidden condition", "flow", "effect", "atomic", "stride", "fewer guards", "outside", "value"),
    *("together", "place", "parameters", "default", "declaration", "hidden", "improper"),
    *("constant block", "constant block"),
)
NUMBER_TYPES = ("int", "int", "int", "int", "unsigned", "long long", "size_t", "short", "const int")
DECLARATIONS = (
    *("__global__ void", "__global__ void", "static __global__ void", "__global__ static void"),
    *("__global__ __launch_bounds__(256) void", "__global__ __launch_bounds__(512, 2) void"),
    *("void __global__", "__global__ __launch_bounds__(1024) void", "__attribute__((global)) void"),
)
STRIDES = (
    *("gridDim.x * blockDim.x", "blockDim.x * gridDim.x", "(size_t)gridDim.x * blockDim.x"),
    *("(int)(gridDim.x * blockDim.x)", "gridDim.x * blockDim.x * gridDim.y"),
)  # fmt: skip
#: Longer strides leave places out, but no two threads meet.
OTHER_STRIDES = ("gridDim.x * blockDim.x + blockDim.x", "gridDim.x * (blockDim.x + 1)",
                 "gridDim.x * blockDim.x + gridDim.x", "2 * gridDim.x * blockDim.x")  # fmt: skip


@dataclass(frozen=True)
class Kernel:
    """A kernel's definition and what its launches must respect.

    Attributes:
        name: how a launch calls it, template arguments included.
        text: helpers and definition.
        parameters: role and declaration of each.
        needs: what the block must be like.
        may_alias: all integer arrays may be the same.
        may_repeat: several threads may have one id.
        is_dependent: its results follow the block, as far as is known.
        has_default: the last argument may be left out.
    """

    name: str
    text: str
    parameters: tuple[tuple[str, str], ...]
    dimensions: int
    needs: frozenset[str]
    may_alias: bool
    may_repeat: bool
    is_dependent: bool
    has_default: bool = False

    @property
    def types(self) -> str:
        """The types of its parameters, as a function pointer has them."""
        return ", ".join(
            re.sub(r"\b(__restrict__ )?\w+$", "", declared).strip()
            for _, declared in self.parameters
        )


@dataclass
class _Body:
    """A kernel that is being written."""

    helpers: list[str]
    statements: list[str]
    needs: set[str]
    is_dependent: bool = False

    def take(self, piece: Piece) -> str:
        """Add what a piece needs; its expression."""
        self.helpers.extend(piece.helpers)
        self.statements.extend(piece.statements)
        self.needs |= piece.needs
        self.is_dependent |= piece.is_dependent
        return piece.expression


def kernel(draw: Draw, name: str, word: str) -> Kernel:
    """A kernel; about half of them follow the block. `word` begins what it prints."""
    draw.choose_features(FEATURES, [(1, 0), (4, 1), (4, 2), (3, 3), (2, 5), (0.5, len(FEATURES))])
    dimensions = draw.weighted([(6, 1), (3, 2), (1, 3)])
    body = _Body([], [], set())
    wants_dependent = draw.chance(0.5)
    only_atomic = dimensions == 1 and draw.has("atomic", 0.4)
    kinds = effects(draw, only_atomic)
    if dimensions == 1 and draw.has("stride"):
        _strided(draw, body, kinds, wants_dependent, word)
    else:
        _plain(draw, body, kinds, dimensions, wants_dependent, word)
    return _finished(draw, name, body, kinds, dimensions)


def _plain(
    draw: Draw, body: _Body, kinds: list[Effect], dimensions: int, wants: bool, word: str
) -> None:
    """Ids, guards, effects."""
    variables = ("i", "j", "k")[:dimensions]
    # Threads that hand each other values are neighbours: their ids are those of their warp.
    hands_on = wants and dimensions == 1 and draw.chance(0.05)
    improper = wants and not hands_on and (draw.has("improper") or draw.chance(0.15))
    bad = draw.number(0, dimensions - 1) if improper else -1
    for at, variable in enumerate(variables):
        if at == bad:
            body.take(improper_id(draw, "xyz"[at], variable, dimensions))
        elif dimensions == 1 and not hands_on and draw.has("constant block", 0.8):
            body.take(constant_id(draw, variable))
        else:
            body.take(proper_id(draw, "xyz"[at], variable, hands_on))
    value = _value(draw, body, variables, wants and bad < 0)
    place = _place(draw, variables)
    if hands_on:
        body.needs.add("warps")
        texts = [fill(draw.one(NEIGHBOURS), i="i", V=value, N=draw.fresh("e"))]
        body.is_dependent = True
        kinds[:] = kinds[:1]
    else:
        texts = [written(draw, each, place, value, "i", word) for each in kinds]
    _guarded(draw, body, variables, texts)


def _guarded(draw: Draw, body: _Body, variables: tuple[str, ...], texts: list[str]) -> None:
    """The effects below their guard; some of them beside it."""
    tests = [condition(draw, variable) for variable in variables]
    if len(tests) > 1 and draw.has("fewer guards"):
        tests = tests[: draw.number(1, len(tests))]
    inside = [text for text in texts if not draw.has("outside", 0.5)]
    outside = [text for text in texts if text not in inside]
    joined = Piece(
        (" || " if draw.has("fewer guards", 0.3) else " && ").join(
            test.expression for test in tests
        ),
        tuple(line for test in tests for line in test.statements),
        tuple(line for test in tests for line in test.helpers),
    )
    body.take(guarded(draw, joined, "\n".join(inside), "\n".join(outside)))


def _strided(draw: Draw, body: _Body, kinds: list[Effect], wants: bool, word: str) -> None:
    """A loop from the id by the number of threads."""
    body.take(proper_id(draw, "x", "i0", True))
    value = _value(draw, body, ("i0",), wants)
    limit = body.take(bound(draw, LOOP_BOUNDS))
    stride = draw.one(STRIDES)
    if wants and draw.chance(0.3):
        stride, body.is_dependent = draw.one(OTHER_STRIDES), True
    if draw.has("hidden"):
        stride = body.take(hide(draw, Piece(stride)))
    else:
        body.statements.append(f"const int step = {stride};")
        stride = "step"
    texts = "\n".join(written(draw, each, "i", value, "i", word) for each in kinds)
    leave = f"if (i >= (int)({limit})) break;"
    loops = (
        f"for (int i = i0; i < (int)({limit}); i += {stride}) {{\n{texts}\n}}",
        f"int i = i0;\nwhile (i < (int)({limit})) {{\n{texts}\ni += {stride};\n}}",
        f"int i = i0;\nwhile (true) {{\n{leave}\n{texts}\ni += {stride};\n}}",
        f"for (long long i = i0; i < (long long)({limit}); i += {stride}) {{\n{texts}\n}}",
        f"int i = i0;\nif (i < (int)({limit})) do {{\n{texts}\n}} while ((i += {stride}) < "
        f"(int)({limit}));",
    )
    body.statements.extend(draw.one(loops).splitlines())


def _value(draw: Draw, body: _Body, variables: tuple[str, ...], wants: bool) -> str:
    """What is stored; statements that it needs are added."""
    first = variables[0]
    plain = (f"(int){first} * 3", "1", f"(int)({first} & 15)", f"{first} + 2", "v", "m + 2", "o.v")
    terms = [draw.one(plain if draw.has("value") else plain[:4])]
    if len(variables) > 1 and draw.chance(0.6):
        terms.append(f"(int){variables[-1]} * 5")
    if not wants and not draw.has("value"):
        return " + ".join(terms)
    at = draw.number(0, len(variables) - 1)
    if wants and draw.has("together"):
        piece = together(draw, variables[at])
    else:
        piece = disguised(draw, "xyz"[at], variables[at], wants)
    text = body.take(piece)
    name = draw.fresh("r")
    if draw.chance(0.6):
        body.statements.append(f"{draw.one(('int', 'const int', 'auto'))} {name} = {text};")
        text = name
    use = fill(draw.one(USES if draw.has("value") else USES[:3]), r=f"({text})", i=first)
    return " + ".join((*terms, use))


#: How a value $r gets into what is stored.
USES = (
    *("$r", "$r", "$r * 3", "(($r & 1) ? 4 : 9)", "in[((int)$i + $r) & 4095]", "c_table[$r & 15]"),
    *("($r > 20)", "($r ^ 5)", "(($r & 1) ? in : in2)[(int)$i & 1023]", "s.side[$r & 1]"),
    *("(int)(0.5f * $r)", "($r - (int)$i)", "[&] { int a = 0; for (int t = 0; t < ($r & 7); ++t) "
      "a += t; return a; }()", "max($r, 3)", "($r, $r + 1)", "(short)$r", "-$r", "__clz($r)"),
)  # fmt: skip


def _place(draw: Draw, variables: tuple[str, ...]) -> str:
    """A place that no other thread has."""
    forms = {
        1: ("i", "i", "i", "i", "i + 3", "2 * i + 1", "(i ^ 1)", "(size_t)i", "i + start"),
        2: ("j * pitch + i", "j * pitch + i", "i + pitch * j", "(size_t)j * pitch + i"),
        3: ("(k * slab + j) * pitch + i", "k * slab * pitch + j * pitch + i"),
    }
    chosen = forms[len(variables)]
    return draw.one(chosen) if draw.has("place") else chosen[0]


def _finished(draw: Draw, name: str, body: _Body, kinds: list[Effect], dimensions: int) -> Kernel:
    """The definition around a body: parameters, template, declarations before it."""
    text = "\n".join(body.statements)
    parameters = _parameters(draw, text)
    reads_more = re.search(r"\bin2?\[[^$]*4095|\bin2?\)|pn\b|\bin\[\$?i &", text) is not None
    restricted = any("__restrict__" in declared for _, declared in parameters)
    has_default = "<" not in name and parameters[-1][0] == "v" and draw.has("default")
    definition = _definition(draw, name, parameters, body.statements, has_default)
    return Kernel(
        name,
        "\n".join((*body.helpers, *definition)),
        parameters,
        dimensions,
        frozenset(body.needs),
        all(each.reads_own for each in kinds) and not reads_more and not restricted,
        all(each.is_atomic for each in kinds),
        body.is_dependent,
        has_default,
    )


def _parameters(draw: Draw, text: str) -> tuple[tuple[str, str], ...]:
    """Those that the text names, in the usual order or in another."""
    words = set(re.findall(r"\b[A-Za-z_]\w*", text))
    roles = [role for role in PARAMETERS if role in words or role == "out"]
    if draw.has("parameters"):
        roles = draw.some(roles, len(roles))
    is_plain = not draw.has("parameters")
    n_type = "int" if is_plain or _changes(text) else draw.one(NUMBER_TYPES)
    forms = {role: PARAMETERS[role][:1] if is_plain else PARAMETERS[role] for role in roles}
    return tuple((role, f"{n_type} n" if role == "n" else draw.one(forms[role])) for role in roles)


def _changes(text: str) -> bool:
    """Is `n` written to, or bound to a reference?"""
    return re.search(r"\bn [-+*/]?= |[&(]n[;)]|\{n\}|= n;|\+\+n|\? n :|\(n, m\)", text) is not None


def _definition(
    draw: Draw,
    name: str,
    parameters: tuple[tuple[str, str], ...],
    statements: list[str],
    has_default: bool,
) -> list[str]:
    """Its declaration and definition, in one of the forms."""
    head = draw.one(DECLARATIONS) if draw.has("declaration") else DECLARATIONS[0]
    declared = ", ".join(each for _, each in parameters)
    bare, _, argument = name.partition("<")
    before = []
    if argument.startswith("int"):
        before.append("template <class T>")
        declared = re.sub(r"\bint \*out", "T *out", declared)
    elif argument:
        before.append("template <int K>")
        statements = [
            line.replace("300", "(K * 75)").replace("* 3", "* (K - 1)") for line in statements
        ]
    elif has_default or draw.has("declaration", 0.3):
        before.append(f"{head} {bare}({declared}{' = 3' if has_default else ''});")
    return [*before, f"{head} {bare}({declared}) {{", *statements, "}"]
