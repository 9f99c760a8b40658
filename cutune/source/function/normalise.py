"""C++ function text to C that pycparser reads, one token per line.

Takes the tokens of one function, gives the C text and, for each of its lines, the token that it
came from: `coord.line` of a node leads to the exact place in the source. An unknown construct
raises `NotC`. A known one is rewritten to C with the same reads, writes and calls.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cutune.source.function.variable_names import variable_names
from cutune.source.syntax.tokens import Token, word_set
from cutune.source.unit.integers import ALIASES
from cutune.source.unit.names import (
    BUILTIN_TYPES,
    C_KEYWORDS,
    NO_TOKEN,
    Names,
    NotC,
    fold_names,
    partners,
    types_by_use,
    word,
)

_DROPPED = word_set(
    """
    __forceinline__ __inline__ __noinline__ __restrict__ __restrict restrict const constexpr
    static extern register inline typename mutable __device__ __host__ __global__ __constant__
    __managed__ __grid_constant__ __inline thread_local likely unlikely __extension__
    """
)
_WITH_PARENTHESES = word_set(
    """
    __launch_bounds__ __attribute__ __align__ alignas _Pragma __pragma static_assert
    _Static_assert noexcept __cluster_dims__
    """
)
_REFUSED = word_set(
    """
    new delete throw try catch operator asm goto typeid co_await co_yield co_return
    dynamic_cast requires template class namespace using decltype virtual __block__ _Generic
    """
)
_ALTERNATIVES = {"and": "&&", "or": "||", "not": "!", "bitand": "&", "bitor": "|", "xor": "^"}
_VALUES = {"nullptr": "0", "NULL": "0", "true": "1", "false": "0"}
_VECTOR_TYPES = frozenset(
    f"{base}{width}"
    for base in word_set(
        "char uchar short ushort int uint long ulong longlong ulonglong float double half"
    )
    for width in (1, 2, 3, 4)
)
LIBRARY_TYPES = (
    frozenset(ALIASES)
    | _VECTOR_TYPES
    | word_set(
        """
    dim3 half __half __half2 __nv_bfloat16 __nv_bfloat162 nv_bfloat16 FILE clock_t
    cudaTextureObject_t cudaSurfaceObject_t curandState curandState_t curandStateXORWOW_t
    curandStatePhilox4_32_10_t curandStateMRG32k3a cuComplex cuFloatComplex cuDoubleComplex
    cufftComplex cufftDoubleComplex cudaStream_t uintptr_t
    """
    )
)


@dataclass(frozen=True)
class NormalText:
    """C text. `lines[k - 1]` is the token on line k; `references` are names bound by reference.

    `types` are identifiers that only their use shows to be types.
    """

    text: str
    lines: Sequence[Token]
    references: frozenset[str]
    types: frozenset[str]


def normalise(parameters: Sequence[str], body: Sequence[Token], names: Names) -> NormalText:
    """Write `void function(int p1, …) body` in C.

    Raises:
        NotC: a construct that has no faithful C form here.
    """
    tokens = list(body)
    for step in (_drop_qualifiers, _keywords):
        tokens = step(tokens)
    types = names.types | LIBRARY_TYPES
    variables = names.variables | frozenset(variable_names(tokens, types))
    tokens = fold_names(Names(names.types - variables, variables), tokens)
    known = types - variables
    tokens = _functional_casts(tokens, known)
    tokens = _constructed_declarations(tokens, known)
    tokens, references = _references(tokens)
    tokens = _joined_shifts(tokens)
    inferred = frozenset(types_by_use(tokens)) - variables
    used = {token.text for token in tokens if token.kind == "IDENTIFIER"}
    typedefs = sorted(((known & used) | inferred) - (C_KEYWORDS - {"bool"}) | {"__auto"})
    prelude = [f"typedef int {name};" for name in typedefs]
    head = ["void", "__function", "(", *_parameter_list(parameters), ")"]
    lines = [*prelude, *head, *(token.text for token in tokens)]
    places = [NO_TOKEN] * (len(prelude) + len(head)) + tokens
    return NormalText("\n".join(lines), places, references, inferred - known)


def _parameter_list(parameters: Sequence[str]) -> list[str]:
    if not parameters:
        return ["void"]
    return [", ".join(f"int {name}" for name in parameters)]


def _drop_qualifiers(tokens: list[Token]) -> list[Token]:
    out: list[Token] = []
    index = 0
    pairs = partners(tokens)
    while index < len(tokens):
        token = tokens[index]
        following = tokens[index + 1].text if index + 1 < len(tokens) else ""
        if token.text in _WITH_PARENTHESES and following == "(":
            index = pairs[index + 1] + 1
            continue
        if token.text == "[" and following == "[":
            index = pairs[index] + 1
            continue
        if token.text not in _DROPPED:
            out.append(token)
        index += 1
    return out


def _keywords(tokens: list[Token]) -> list[Token]:
    """Spellings that C has in another form; constructs that it has not are refused."""
    out: list[Token] = []
    for index, token in enumerate(tokens):
        text = token.text
        if token.kind == "IDENTIFIER" and text in _REFUSED:
            raise NotC(token, f"'{text}'")
        if token.kind == "DIRECTIVE" or text in ("#", "@", "`") or token.kind == "OTHER":
            raise NotC(token, f"'{text}'")
        if text == "..." or token.kind == "LAUNCH_OPEN":
            raise NotC(token, f"'{text}'")
        if text in _VALUES and token.kind == "IDENTIFIER":
            out.append(word(_VALUES[text], token, "NUMBER"))
        elif text in _ALTERNATIVES and token.kind == "IDENTIFIER":
            out.append(word(_ALTERNATIVES[text], token, "OPERATOR"))
        elif text == "auto":
            out.append(word("__auto", token))
        elif token.kind == "NUMBER":
            out.append(word(_number(token), token, "NUMBER"))
        elif token.kind in ("STRING", "RAW_STRING"):
            out.append(word('""', token, "STRING"))
        elif token.kind == "CHARACTER":
            out.append(word("'c'", token, "CHARACTER"))
        elif text == "::" and (index == 0 or tokens[index - 1].kind != "IDENTIFIER"):
            continue
        else:
            out.append(token)
    return out


def _number(token: Token) -> str:
    text = token.text.replace("'", "")
    # A user-defined suffix calls a function.
    if "_" in text:
        raise NotC(token, f"the literal '{text}'")
    if text[:2].lower() != "0x" and text[-1:] in ("h", "H"):
        raise NotC(token, f"the literal '{text}'")
    return text


def _functional_casts(tokens: list[Token], types: frozenset[str]) -> list[Token]:
    """`T(x)` → `(T)(x)` for arithmetic types, `T(x, y)` and `T{x}` → `__construct(x, y)`."""
    pairs = partners(tokens)
    out: list[Token] = []
    braces: set[int] = set()
    for index, token in enumerate(tokens):
        following = tokens[index + 1].text if index + 1 < len(tokens) else ""
        before = tokens[index - 1] if index else NO_TOKEN
        is_type = _starts_expression(before) and _is_type(token, types)
        if index in braces:
            out.append(word("(" if token.text == "{" else ")", token, "PUNCTUATION"))
        elif is_type and following == "{":
            braces |= {index + 1, pairs[index + 1]}
            out.append(word("__construct", token))
        elif is_type and following == "(" and not _is_declarator(tokens, index + 1):
            out += _cast(tokens, index, pairs)
        elif token.text == "{" and _is_list(tokens, index):
            braces |= {index, pairs[index]}
            out += [word("__init", token), word("(", token, "PUNCTUATION")]
        else:
            out.append(token)
    return out


def _starts_expression(before: Token) -> bool:
    """May an expression start behind this token?"""
    return before.kind != "IDENTIFIER" or before.text in ("return", "else", "case")


def _is_type(token: Token, types: frozenset[str]) -> bool:
    return token.kind == "IDENTIFIER" and (token.text in types or token.text in BUILTIN_TYPES)


def _is_list(tokens: list[Token], opener: int) -> bool:
    """Does the brace open a list of values, `return {a, b}` or `x = {a, b}`?"""
    before = tokens[opener - 1].text if opener else ""
    if before == "=":
        return _is_assignment(tokens, opener - 1)
    return before in ("return", "(", ",")


def _cast(tokens: list[Token], index: int, pairs: dict[int, int]) -> list[Token]:
    token = tokens[index]
    arguments = tokens[index + 2 : pairs[index + 1]]
    is_scalar = token.text in BUILTIN_TYPES or token.text in ALIASES
    if is_scalar and arguments and not any(t.text == "," for t in arguments):
        parenthesis = word("(", token, "PUNCTUATION")
        return [parenthesis, token, parenthesis._replace(text=")")]
    return [word("__construct", token)]


def _is_declarator(tokens: list[Token], opener: int) -> bool:
    """`T (*f)(…)` declares."""
    return opener + 1 < len(tokens) and tokens[opener + 1].text in ("*", "&")


def _is_assignment(tokens: list[Token], equals: int) -> bool:
    """Does `… = {` assign (rather than declare)?"""
    index = equals - 1
    while index >= 0 and tokens[index].text not in (";", "{", "}", ")"):
        index -= 1
    statement = tokens[index + 1 : equals]
    if len(statement) > 1 and statement[0].kind == "IDENTIFIER":
        return statement[1].text in ("[", ".", "->")
    if statement and statement[0].text == "*":
        return True
    return sum(token.kind == "IDENTIFIER" for token in statement) == 1


def _constructed_declarations(tokens: list[Token], types: frozenset[str]) -> list[Token]:
    """`T x(a, b);` and `T x{a};` → `T x = __construct(a, b);`, or C takes it for a function."""
    pairs = partners(tokens)
    out: list[Token] = []
    closers: set[int] = set()
    for index, token in enumerate(tokens):
        if index in closers:
            out.append(word(")", token, "PUNCTUATION"))
            continue
        if token.text in ("(", "{") and _constructs(tokens, index, pairs, types):
            closers.add(pairs[index])
            out += [word("=", token, "OPERATOR"), word("__construct", token)]
            out.append(word("(", token, "PUNCTUATION"))
            continue
        out.append(token)
    return out


def _constructs(
    tokens: list[Token], opener: int, pairs: dict[int, int], types: frozenset[str]
) -> bool:
    """declaration = type+ NAME ("(" | "{") … (")" | "}") (";" | ",")."""
    closer = pairs[opener]
    if opener < 2 or closer + 1 >= len(tokens) or tokens[closer + 1].text not in (";", ","):
        return False
    name, before = tokens[opener - 1], tokens[opener - 2]
    if name.kind != "IDENTIFIER" or name.text in C_KEYWORDS:
        return False
    if before.text in ("struct", "union", "enum"):
        return False
    if tokens[opener].text == "{":
        return before.kind == "IDENTIFIER" or before.text == ","
    return before.kind == "IDENTIFIER" and (
        before.text in BUILTIN_TYPES
        or before.text in types
        or (before.text not in C_KEYWORDS and _begins_statement(tokens, opener - 2))
    )


def _begins_statement(tokens: list[Token], index: int) -> bool:
    return index == 0 or tokens[index - 1].text in (";", "{", "}", ")", "else", "do", ":")


def _references(tokens: list[Token]) -> tuple[list[Token], frozenset[str]]:
    """`T &x = e;` → `T *x = e;`, with x remembered as a reference."""
    names: set[str] = set()
    out: list[Token] = []
    for index, token in enumerate(tokens):
        if token.text in ("&", "&&") and 1 <= index < len(tokens) - 2:
            before, name, following = tokens[index - 1], tokens[index + 1], tokens[index + 2]
            start = tokens[index - 2] if index > 1 else NO_TOKEN
            declares = (
                before.kind == "IDENTIFIER"
                and name.kind == "IDENTIFIER"
                and following.text == "="
                and (start.text in (";", "{", "}", "(", ")") or start.kind == "IDENTIFIER")
            )
            if declares:
                names.add(name.text)
                out.append(word("*", token, "PUNCTUATION"))
                continue
            if following.text == ":" and start.text == "(":
                raise NotC(token, "a range-based for")
        out.append(token)
    return out, frozenset(names)


def _joined_shifts(tokens: list[Token]) -> list[Token]:
    """`>` `>` → `>>` and so on: no template is left, and nothing else has two in a row."""
    out: list[Token] = []
    for token in tokens:
        last = out[-1] if out else NO_TOKEN
        joined = last.text + token.text
        if last.text in (">", ">>") and joined in (">>", ">=", ">>="):
            out[-1] = Token("OPERATOR", joined, last.start)
        else:
            out.append(token)
    return out
