"""The launch edit, shared by the instrumented and the tuned program. Takes launches, gives edits.

`gemm<<<grid, block>>>(n, A)` becomes `for (cutune_launch cutune_7(7, grid, block, 0, 0, n, A);
cutune_7.next();) gemm<<<cutune_7.grid, …>>>(n, A)`: one statement on the same lines. The text put
before line 1 (`prelude`) holds the table of sites: by which rule each dimension may be re-blocked.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum

from cutune.analysis.integers import integer_type
from cutune.c_expression import names_in, renamed
from cutune.diagnostics import Code, Diagnostic
from cutune.edits import Edit
from cutune.pipeline import TranslationUnit
from cutune.prelude import c_path, c_string, prelude_edit
from cutune.program import DIMENSIONS, Kernel, LaunchSite, Program
from cutune.source import Source

#: Members that follow a dot in the rewritten launch: a macro of that name would break it.
LAUNCH_MEMBERS = ("grid", "block", "smem", "stream", "next")

_PIECE = re.compile(
    r"""(?P<literal>"(?:\\.|[^"\\\n])*" | (?<![\da-fA-F])'(?:\\.|[^'\\\n])*')
      | (?P<comment>/\*.*?\*/ | //(?:\\\r?\n|[^\n])*?(?=\r?\n|\Z))
      | (?P<continuation>\\\r?\n)
      | (?P<newline>\r?\n)""",
    re.DOTALL | re.VERBOSE,
)


def one_line(text: str) -> str:
    """The same tokens on one line, without comments."""

    def joined(found: re.Match[str]) -> str:
        if found["literal"] is not None:
            return found[0]
        return "" if found["continuation"] is not None else " "

    parts = _PIECE.sub(joined, text)
    # A blank in a literal is a character of it; elsewhere runs of blanks become one.
    blanks = re.compile(r"(\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*')|\s+")
    return blanks.sub(lambda found: found[1] or " ", parts).strip()


def line_structure(text: str) -> str:
    """The comments, continuations and line ends of a text: what must stay when its tokens go."""
    return "".join(
        found[0] if found["newline"] is not None else f" {found[0]}"
        for found in _PIECE.finditer(text)
        if found["literal"] is None
    )


def launch_edits(
    source: Source, site: LaunchSite, kernel: Kernel | None = None
) -> tuple[Edit, ...]:
    """The edits that put one launch under the control of a `cutune_launch`."""
    name = f"cutune_{site.id}"
    expressions = [one_line(source[span]) for span in site.configuration_spans]
    expressions += ["0"] * (4 - len(expressions))
    values = [str(site.id), *expressions, *argument_copies(site.arguments)]
    if kernel is not None:
        values += member_copies(site.arguments, kernel)
    head = f"for (cutune_launch {name}({', '.join(values)}); {name}.next();) "
    return (Edit.insert(site.span.start, head), *_configuration_edits(source, site, name))


def _configuration_edits(source: Source, site: LaunchSite, name: str) -> list[Edit]:
    members = [f"{name}.{member}" for member in LAUNCH_MEMBERS[:4]]
    spans = site.configuration_spans
    # The last expression that was written also takes the place of those that were not.
    texts = [*members[: len(spans) - 1], ", ".join(members[len(spans) - 1 :])]
    return [
        Edit(span, text + line_structure(source[span]))
        for span, text in zip(spans, texts, strict=True)
    ]


def argument_copies(arguments: Sequence[str]) -> list[str]:
    """The launch arguments as the constructor of `cutune_launch` gets them."""
    texts = [one_line(argument) for argument in arguments]
    # `f<a, b>(c)` may have been split as if it were two comparisons. Joined again it is the same
    # text, but a piece of it must not be replaced, for which argument it belongs to is not known.
    if any(_opens_angle(text) for text in texts):
        return ["cutune_unseen()"] if any(map(_is_unseen, texts)) else texts
    return [_argument_copy(text) for text in texts]


def reads_members(program: Program, sites: Iterable[LaunchSite]) -> bool:
    """Does a launch tell members of its arguments?"""
    kernels = (program.kernel(site.kernel) for site in sites)
    return any(kernel is not None and kernel.members for kernel in kernels)


def member_copies(arguments: Sequence[str], kernel: Kernel) -> list[str]:
    """Members of the arguments as the constructor of `cutune_launch` gets them, behind these.

    None where it is not certain which argument is which; what needs them then stays as it is.
    """
    texts = [one_line(argument) for argument in arguments]
    if len(texts) != len(kernel.parameters) or any(map(_opens_angle, texts)):
        return []
    return [
        f"cutune_member< {member.structure}, {member.argument}>"
        f"({', '.join([texts[member.argument], *member.steps])})"
        for member in kernel.members
    ]


def _argument_copy(text: str) -> str:
    if _is_unseen(text):
        return "cutune_unseen()"
    if re.fullmatch(r"(::\s*)?\w[\w\s:<>,]*::\s*\w+", text):
        # May be a static member without definition: a copy, unlike a reference, does not need one.
        return f"decltype({text})({text})"
    return text


def _is_unseen(text: str) -> bool:
    """An initializer list has no type to deduce, and a lambda would be another type each time."""
    return "{" in text or re.search(r'\bR"', text) is not None


def _opens_angle(text: str) -> bool:
    text = re.sub(r"->|<<|<=|>=", " ", text)
    return text.count("<") > text.count(">")


class Rule(Enum):
    """How the grid follows when the block of one dimension changes."""

    FIXED = "cutune_fixed"
    #: The new block divides the thread space T, of which every thread stays.
    DIVIDE = "cutune_divide"
    #: Besides, threads from the guard bound on may come and go.
    GUARD = "cutune_guarded"
    #: The blocks stay, of whatever size they are.
    KEEP = "cutune_kept"


def guard_parameters(kernel: Kernel, guard: str) -> tuple[int, ...] | None:
    """Indices of the parameters a guard bound is made of; None when it holds another name."""
    order = {name: index for index, name in enumerate(kernel.argument_names)}
    words = names_in(guard)
    if any(word not in order for word in words):
        return None
    return tuple(sorted({order[word] for word in words}))


def dimension_rule(kernel: Kernel, dimension: int) -> Rule:
    """By which rule a dimension may be re-blocked."""
    facts = kernel.dimensions[dimension]
    if DIMENSIONS[dimension] not in kernel.pure_dimensions:
        return Rule.FIXED
    if facts.grid_kept:
        return Rule.KEEP
    if facts.guard is None or facts.grid_stride or guard_parameters(kernel, facts.guard) is None:
        return Rule.DIVIDE
    return Rule.GUARD


def site_table(
    program: Program,
    sites: Iterable[LaunchSite],
    routines: Mapping[int, str] | None = None,
) -> str:
    """C++ text of the guard functions and of the table that `cutune_launch` looks sites up in."""
    functions: list[str] = []
    rows: list[str] = []
    for site in sorted(sites, key=lambda site: site.id):
        kernel = program.kernel(site.kernel)
        if kernel is not None:
            functions += [*_guard_functions(site, kernel), *_shared_function(site)]
            routine = (routines or {}).get(site.id, "nullptr")
            rows.append(_site_row(site, kernel, routine, _is_one_kernel(program, kernel)))
    table = ["static const cutune_site cutune_sites[] = {", *rows, "};"]
    return "".join(f"{line}\n" for line in (*functions, *table))


def _is_one_kernel(program: Program, kernel: Kernel) -> bool:
    """Does the name alone say which kernel is launched?"""
    namesakes = [other for other in program.kernels if other.name == kernel.name]
    return len(namesakes) == 1 and not kernel.template_parameters


def _guard_functions(site: LaunchSite, kernel: Kernel) -> list[str]:
    return [
        _guard_function(f"cutune_guard_{site.id}_{name}", kernel, facts.guard)
        for index, (name, facts) in enumerate(zip(DIMENSIONS, kernel.dimensions, strict=True))
        if facts.guard is not None and dimension_rule(kernel, index) is Rule.GUARD
    ]


def _shared_function(site: LaunchSite) -> list[str]:
    """Bytes of dynamic shared memory of a block; the formula cannot overflow."""
    if site.shared is None:
        return []
    names = set(re.findall(r"\b[xyz]\b", site.shared))
    parameters = ", ".join(f"long long{f' {d}' if d in names else ''}" for d in DIMENSIONS)
    # All in 64 bits, products of literals, too.
    value = re.sub(r"\b\d+\b", r"\g<0>ll", site.shared)
    return [
        f"static inline long long cutune_shared_{site.id}({parameters}) {{ return {value}; }}",
    ]


def _guard_function(name: str, kernel: Kernel, guard: str) -> str:
    # Exact integers: see `DimensionFacts.guard`. A parameter beyond 32 bits means "not known": 0.
    positions = guard_parameters(kernel, guard) or ()
    arguments = (*kernel.parameters, *kernel.members)
    names = {arguments[i].name: _local_name(arguments[i].name, i) for i in positions}
    declarations = "".join(
        f"const long long {n} = cutune_argument[{i}]; "
        for i, n in zip(positions, names.values(), strict=True)
    )
    unused = "" if names else "(void)cutune_argument; "
    fitting = (_fits(arguments[i].type, names[arguments[i].name]) for i in positions)
    fits = " && ".join(fitting) or "true"
    value = renamed(one_line(guard), names)
    return (
        f"static inline long long {name}(const long long *cutune_argument) "
        f"{{ {declarations}{unused}return {fits} ? ({value}) : 0; }}"
    )


def _local_name(name: str, position: int) -> str:
    """What the argument is called within a guard function; a member has no name of its own."""
    return f"cutune_member_{position}" if "." in name else name


def _fits(type_text: str, name: str) -> str:
    """Is the argument, an int perhaps, what the kernel sees? Below zero only if it is signed."""
    type_ = integer_type(type_text.split())
    is_signed = type_ is not None and type_.signed
    fits = f"cutune_fits_int({name})"
    return fits if is_signed else f"{name} >= 0 && {fits}"


def _site_row(site: LaunchSite, kernel: Kernel, routine: str, is_one_kernel: bool) -> str:
    rules = [dimension_rule(kernel, index) for index in range(3)]
    guards = [
        f"cutune_guard_{site.id}_{name}" if rule is Rule.GUARD else "nullptr"
        for name, rule in zip(DIMENSIONS, rules, strict=True)
    ]
    needed = 0
    for rule, facts in zip(rules, kernel.dimensions, strict=True):
        if rule is Rule.GUARD and facts.guard is not None:
            needed |= sum(1 << i for i in guard_parameters(kernel, facts.guard) or ())
    shared = f"cutune_shared_{site.id}" if site.shared is not None else "nullptr"
    needs_warps = "true" if kernel.needs_warps else "false"
    is_one = "true" if is_one_kernel else "false"
    read = "0ull" if routine == "nullptr" else f"{routine}_arguments"
    return (
        f"    {{{site.id}, {c_string(kernel.name)}, {c_path(site.source.path)}, "
        f"{{{', '.join(rule.value for rule in rules)}}}, {{{', '.join(guards)}}}, "
        f"{needed}ull, {kernel.max_threads}u, {routine}, {read}, {shared}, "
        f"{needs_warps}, {is_one}}},"
    )


def with_launch_edits(
    unit: TranslationUnit, owner: str, sites: Sequence[LaunchSite], prelude: str
) -> TranslationUnit:
    """Put launches under the control of `cutune_launch`, which the prelude defines.

    The prelude stands before line 1 of the source, so that the headers too can see it.
    """
    program = unit.program
    for file in (program.source, *program.headers):
        if hidden := hiding_macro(file):
            return unit.with_diagnostics(
                Diagnostic.at(Code.HIDDEN_MEMBER, site.source, site.span, name=hidden)
                for site in sites
            )
    unit = unit.with_prelude(prelude)
    for header in program.launching_headers:
        if any(site.source is header for site in sites):
            # nvcc's messages go on naming the user's file.
            unit = unit.with_edits(owner, [prelude_edit(header, "")], header)
    for site in sites:
        edits = launch_edits(site.source, site, program.kernel(site.kernel))
        unit = unit.with_edits(owner, edits, site.source)
    return unit


def hiding_macro(source: Source) -> str | None:
    """A macro of this file that would expand inside a rewritten launch, or None."""
    # A macro with parameters only expands before a parenthesis, which `next` alone has.
    names = rf"(?:{'|'.join(LAUNCH_MEMBERS[:4])}|cutune_\w*)\b(?!\()|next\b"
    found = re.search(rf"^[ \t]*#[ \t]*define[ \t]+({names})", source.text, re.MULTILINE)
    return found[1] if found else None
