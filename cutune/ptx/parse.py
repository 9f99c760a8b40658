"""PTX parser: takes the text of a module, gives functions, variables and instructions.

    program   = module { module }            several after separate compilation (nvcc -rdc=true)
    module    = ".version" … { directive | variable | function }
    function  = [linkage] (".entry" | ".func") ["(" results ")"] name ["(" parameters ")"] body
    body      = "{" { label ":" | directive | body | instruction ";" } "}"
    instruction = ["@" ["!"] predicate] opcode operands

nvcc writes PTX line by line, but inline assembly may put anything anywhere, so statements are found
by one regular expression from position to position. Only the standard library is imported, as in
`ptx`.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from itertools import accumulate, pairwise

from cutune.ptx.taint import names
from cutune.ptx.types import (
    TYPE_BYTES,
    WHOLE_PROGRAM,
    Function,
    Instruction,
    Label,
    Module,
    PtxError,
    Variable,
    integer,
    split_operands,
    understood,
)

_NAME = r"[%$A-Za-z_][\w$]*"
_COMMENT = re.compile(r'"(?:\\.|[^"\\])*"|/\*.*?\*/|//[^\n]*', re.DOTALL)
_STATEMENT = re.compile(
    rf"""\s*(?:
      (?P<label>{_NAME})\s*:(?!:)\s*(?P<table>\.(?:branchtargets|callprototype|calltargets)[^;]*;)?
    | (?P<open>\{{)
    | (?P<close>\}})
    | (?P<loc>\.loc\s[^\n]*)
    | (?P<directive>\.\w[^;]*);
    | (?P<empty>;)
    | (?:@(?P<negated>!?)\s*(?P<guard>[%$\w]+)\s+)?(?P<opcode>[a-z][\w.:]*)\s*(?P<operands>[^;]*);
    )""",
    re.VERBOSE,
)
_TOP = re.compile(r"\s*((?:\.(?:visible|extern|weak|common)\s+)*)\.(\w+)")
_VERSION = re.compile(r"^[ \t]*\.version\b", re.MULTILINE)
_REGISTERS = re.compile(r"\.reg\s*(?:\.(v\d)\s*)?\.(\w+)\s+(.*)", re.DOTALL)
#: Of a function. Compilers give the largest kernels some ten thousand.
_MOST_REGISTERS = 1 << 20
#: Of inline assembly within inline assembly.
_MOST_SCOPES = 64
_REGISTER_RANGE = re.compile(rf"({_NAME})\s*(?:<\s*(\d+)\s*>)?$")
_VARIABLE = re.compile(r"\.(local|shared|global|const|param)\b(.*)", re.DOTALL)
_QUALIFIER = re.compile(r"\s*\.([\w:]+)(?:\s+(\d+)(?=[\s.]))?")
_POINTER = re.compile(r"\.ptr\b(?:\s*\.(?:global|const|local|shared))?(?:\s*\.align\s+\d+)?")
_DECLARATOR = re.compile(rf"({_NAME})\s*((?:\[[^\]]*\]\s*)*)$")
_LOCATION = re.compile(r"\.loc\s+(\d+)\s+(\d+)")
_FUNCTION_DIRECTIVE = re.compile(r"\.(\w+)\s*([\d,\s]*)")
#: `.noreturn`, `.attribute(…)` between `.func` and the results.
_ATTRIBUTES = re.compile(r"\s*(?:\.\w+\s*(?:\([^)]*\)\s*)?)*")
_FUNCTION_NAME = re.compile(rf"\s*({_NAME})\s*")
_IDENTIFIER = re.compile(_NAME)
#: What a body is skipped by: braces, and text in which they are none.
_BRACE = re.compile(r'"(?:\\.|[^"\\])*"|[{}]')


def parse(text: str, entries: Collection[str] | None = None) -> Module:
    """Parse a PTX module, or several in one text, which are linked by the names of their symbols.

    `entries`: of a single module only these functions are read, and those that they mention, or
    that variables hold; others are left out. Raises PtxError at the first text that is not
    understood.
    """
    with understood():
        is_whole = text.endswith(WHOLE_PROGRAM)
        text = _without_comments(text.rstrip("\0"))
        starts = [match.start() for match in _VERSION.finditer(text)]
        if len(starts) < 2:
            return replace(_Parser(text, 0, entries).module(), is_whole=is_whole)
        bounds = pairwise([*starts, len(text)])
        return _linked([(text[start:end], text.count("\n", 0, start)) for start, end in bounds])


@lru_cache(maxsize=4)
def parsed(text: str) -> Module:
    """Parse a PTX module, if it is not one of the last: copies of several kernels share a text."""
    return parse(text)


def _linked(units: list[tuple[str, int]]) -> Module:
    """The modules of several texts as one; each text comes with the lines before it.

    Definitions stand for declarations of the same name, the first of several weak ones for all. A
    local name that another text has too gets a suffix of its own.
    """
    modules = [_Parser(text, lines).module() for text, lines in units]
    functions: dict[str, Function] = {}
    variables: dict[str, Variable] = {}
    aliases: dict[str, str] = {}
    taken: set[str] = set()
    for number, (text, lines) in enumerate(units):
        module = modules[number]
        if clashing := module.local & taken:
            module = _Parser(_renamed_apart(text, clashing, number), lines).module()
        taken |= {*module.functions, *(variable.name for variable in module.variables)}
        for name, function in module.functions.items():
            if name not in functions or functions[name].body is None:
                functions[name] = function
        for variable in module.variables:
            if variable.name not in variables or variables[variable.name].external:
                variables[variable.name] = variable
        aliases.update(module.aliases)
    return Module(functions, tuple(variables.values()), aliases, modules[0].target)


def _renamed_apart(text: str, names: Iterable[str], number: int) -> str:
    """The text with a suffix at these names, which stay on their lines."""
    pattern = "|".join(re.escape(name) for name in sorted(names))
    return re.sub(rf"(?<![\w$%.])(?:{pattern})(?![\w$])", rf"\g<0>$unit{number}", text)


def _without_comments(text: str) -> str:
    if "//" not in text and "/*" not in text:
        return text
    return _COMMENT.sub(lambda m: m[0] if m[0][0] == '"' else "\n" * m[0].count("\n"), text)


class _Parser:
    """Holds the text and the places of its lines; each method reads one construct at a position."""

    def __init__(
        self, text: str, lines_before: int = 0, entries: Collection[str] | None = None
    ) -> None:
        self.text = text
        self.lines_before = lines_before
        self.entries = entries
        #: Where bodies begin that were skipped, with the heads of their functions.
        self.skipped: dict[str, tuple[Function, int]] = {}
        lengths = map(len, text.split("\n"))
        self.newlines = [*accumulate(lengths, lambda end, length: end + 1 + length)]
        self.target = ""
        # Of the function whose body is read, and what names of inner scopes became, by scope.
        self.registers: dict[str, str] = {}
        self.variables: list[Variable] = []
        self.scopes: list[dict[str, str]] = []

    def line(self, position: int) -> int:
        return self.lines_before + bisect_right(self.newlines, position - 1) + 1

    def fail(self, position: int, reason: str) -> PtxError:
        return PtxError(self.line(position), reason)

    def module(self) -> Module:
        functions: dict[str, Function] = {}
        variables: list[Variable] = []
        aliases: dict[str, str] = {}
        local: set[str] = set()
        position, end = 0, len(self.text.rstrip())
        while position < end:
            match = _TOP.match(self.text, position)
            if match is None:
                start = self._skip_blanks(position)
                raise self.fail(start, f"unexpected '{self.text[start : start + 30]}'")
            linkage, keyword = match.groups()
            if keyword in ("version", "target", "address_size", "file", "loc"):
                end_of_line = self.text.find("\n", match.end())
                position = end_of_line if end_of_line >= 0 else len(self.text)
                if keyword == "target":
                    self.target = self.text[match.end() : position].strip()
            elif keyword == "section":
                position = self.text.index("}", match.end()) + 1
            elif keyword in ("entry", "func"):
                function, position = self._function(keyword == "entry", match.end())
                if function.body is not None or function.name not in functions:
                    functions[function.name] = function
                if not linkage:
                    local.add(function.name)
            else:
                stop = self.text.find(";", match.end())
                if stop < 0:
                    raise self.fail(match.end(), "missing ';'")
                rest = self.text[match.end() : stop]
                if keyword in ("global", "const", "shared", "local"):
                    found = self._variables(keyword, rest, match.start(2), "extern" in linkage)
                    variables += (declared := list(found))
                    local.update(v.name for v in declared if not linkage)
                elif keyword == "alias":
                    name, aliased = split_operands(rest)
                    aliases[name] = aliased
                elif keyword != "pragma":
                    raise self.fail(match.start(2), f"directive .{keyword} is not supported")
                position = stop + 1
        if self.entries is not None:
            initial = (name for variable in variables for name in names(variable.initial))
            read = self._reached([*self.entries, *initial], aliases)
            functions = {
                name: read.get(name, function)
                for name, function in functions.items()
                if name in read or name not in self.skipped
            }
        return Module(functions, tuple(variables), aliases, self.target, frozenset(local))

    def _reached(self, mentioned: list[str], aliases: Mapping[str, str]) -> dict[str, Function]:
        """Read the skipped functions of these names, and those that these mention in turn."""
        read: dict[str, Function] = {}
        for each in mentioned:
            name = aliases.get(each, each)
            if name in self.skipped and name not in read:
                read[name], _ = self._body(*self.skipped[name])
                mentioned += {n for operand in read[name].operands for n in names(operand)}
        return read

    def _function(self, is_kernel: bool, position: int) -> tuple[Function, int]:
        attributes = _ATTRIBUTES.match(self.text, position)
        position = attributes.end() if attributes else position
        results: list[Variable] = []
        if self.text[position] == "(":
            results, position = self._parameters(position)
        match = _FUNCTION_NAME.match(self.text, position)
        if match is None:
            raise self.fail(position, "a function has no name")
        name, position = match.group(1), match.end()
        parameters: list[Variable] = []
        if self.text[position] == "(":
            parameters, position = self._parameters(position)
        start = position
        while position < len(self.text) and self.text[position] not in ";{":
            position += 1
        directives = {
            key: tuple(integer(x) for x in numbers.split(",") if x.strip())
            for key, numbers in _FUNCTION_DIRECTIVE.findall(self.text[start:position])
        }
        header = Function(name, is_kernel, tuple(parameters), tuple(results), directives)
        if position >= len(self.text) or self.text[position] == ";":
            return header, position + 1
        if self.entries is not None:
            self.skipped[name] = header, position + 1
            return header, self._behind_body(position + 1)
        return self._body(header, position + 1)

    def _behind_body(self, position: int) -> int:
        depth = 1
        for brace in _BRACE.finditer(self.text, position):
            depth += {"{": 1, "}": -1}.get(brace[0], 0)
            if depth == 0:
                return brace.end()
        raise self.fail(position, "missing '}'")

    def _parameters(self, position: int) -> tuple[list[Variable], int]:
        stop = self.text.find(")", position)
        if stop < 0:
            raise self.fail(position, "missing ')'")
        found: list[Variable] = []
        for part in split_operands(self.text[position + 1 : stop]):
            if not part.startswith(".param"):
                raise self.fail(position, f"parameter '{part}' is not in .param space")
            rest = _POINTER.sub("", part.removeprefix(".param"))
            found += self._variables("param", rest, position, False)
        return found, self._skip_blanks(stop + 1)

    def _skip_blanks(self, position: int) -> int:
        while position < len(self.text) and self.text[position].isspace():
            position += 1
        return position

    def _variables(
        self, space: str, declaration: str, position: int, external: bool
    ) -> Iterator[Variable]:
        # qualifiers = { ".align" n | ".v" n | ".attribute(…)" | "." type }; then the declarators
        before, _, initial = declaration.partition("=")
        before = re.sub(r"\.attribute\s*\([^)]*\)", "", before)
        kind, alignment, vector, end = "", 0, 1, 0
        while match := _QUALIFIER.match(before, end):
            word, number = match.groups()
            if word == "align":
                alignment = integer(number)
            elif word in ("v2", "v4"):
                vector = int(word[1])
            elif word in TYPE_BYTES:
                kind = word
            end = match.end() if word == "align" else match.end(1)
        for declarator in split_operands(before[end:]):
            match = _DECLARATOR.match(declarator)
            if match is None or not kind:
                reason = f"declaration '.{space}{declaration[:40]}' not understood"
                raise self.fail(position, reason)
            count = vector
            for dimension in re.findall(r"\[([^\]]*)\]", match.group(2)):
                count *= integer(dimension) if dimension.strip() else 0
            alignment = alignment or TYPE_BYTES[kind] * vector
            name = match.group(1)
            yield Variable(name, space, kind, count, alignment, initial.strip(), external)

    def _body(self, header: Function, position: int) -> tuple[Function, int]:
        self.registers, self.variables, self.scopes = {}, [], [{}]
        body: list[Instruction | Label] = []
        source_line = 0
        while self.scopes:
            match = _STATEMENT.match(self.text, position)
            if match is None:
                start = self._skip_blanks(position)
                raise self.fail(start, f"'{self.text[start : start + 40]}' is not a statement")
            position = match.end()
            kind = match.lastgroup
            if kind == "operands":
                body.append(self._instruction(match, source_line))
            elif kind == "loc":
                location = _LOCATION.match(match["loc"])
                source_line = int(location.group(2)) if location else 0
            elif kind in ("label", "table"):
                body.append(
                    Label(self._renamed(match["label"]), (match["table"] or "").rstrip(";"))
                )
            elif kind == "open":
                if len(self.scopes) > _MOST_SCOPES:
                    raise self.fail(match.start(kind), f"more than {_MOST_SCOPES} nested scopes")
                self.scopes.append(self._labels_of_scope(position, len(body)))
            elif kind == "close":
                self.scopes.pop()
            elif kind == "directive":
                self._declare(match["directive"], match.start(kind))
        function = replace(
            header, registers=self.registers, variables=tuple(self.variables), body=tuple(body)
        )
        return function, position

    def _labels_of_scope(self, position: int, unique: int) -> dict[str, str]:
        """Labels of inline assembly are local to its braces; branches may stand before them."""
        depth, end = 1, position
        while depth and end < len(self.text):
            character = self.text[end]
            depth += (character == "{") - (character == "}")
            end += 1
        names = re.findall(rf"(?:^|[;{{}}\n])\s*({_NAME})\s*:(?!:)", self.text[position:end])
        return {name: f"{name}@{unique}" for name in names}

    def _declare(self, directive: str, position: int) -> None:
        if match := _REGISTERS.match(directive):
            vector, kind, names = match.groups()
            if vector or kind not in TYPE_BYTES:
                raise self.fail(position, f"register declaration '{directive}' is not supported")
            for declarator in split_operands(names):
                found = _REGISTER_RANGE.match(declarator)
                if found is None:
                    raise self.fail(position, f"register '{declarator}' not understood")
                name, count = found.groups()
                if count and len(self.registers) + int(count) > _MOST_REGISTERS:
                    raise self.fail(position, f"more than {_MOST_REGISTERS} registers")
                for each in [f"{name}{i}" for i in range(int(count))] if count else [name]:
                    self.registers[self._declared(each, len(self.registers))] = kind
        elif match := _VARIABLE.match(directive):
            for variable in self._variables(match.group(1), match.group(2), position, False):
                name = self._declared(variable.name, len(self.variables))
                self.variables.append(replace(variable, name=name))
        elif not directive.startswith((".pragma", ".file")):
            raise self.fail(position, f"directive '{directive[:40]}' is not supported")

    def _instruction(self, match: re.Match[str], source_line: int) -> Instruction:
        negated, guard, opcode, operands = match.group("negated", "guard", "opcode", "operands")
        if len(self.scopes) > 1 and any(self.scopes):
            operands = _IDENTIFIER.sub(lambda name: self._renamed(name.group()), operands)
            guard = guard and self._renamed(guard)
        name, modifiers = _words(opcode)
        return Instruction(
            name,
            modifiers,
            split_operands(operands),
            guard or "",
            bool(negated),
            self.line(match.start("opcode")),
            source_line,
        )

    def _declared(self, name: str, unique: int) -> str:
        """A name of an inner scope gets a suffix: nvcc reuses `param0` for each call."""
        if len(self.scopes) == 1:
            return name
        self.scopes[-1][name] = f"{name}@{unique}"
        return self.scopes[-1][name]

    def _renamed(self, name: str) -> str:
        return next((scope[name] for scope in reversed(self.scopes) if name in scope), name)


@lru_cache(maxsize=1 << 12)
def _words(opcode: str) -> tuple[str, tuple[str, ...]]:
    """An opcode without what is behind its dots, and that."""
    name, *modifiers = opcode.split(".")
    return name, tuple(modifiers)
