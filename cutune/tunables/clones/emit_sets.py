"""The choice of a value set as C. Takes a `SetChoice`, gives a function.

Valid in C++11. A decision is a comparison per interval; of several sizes, a distance per measured
place, so that each thread remembers what it decided last.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from cutune.rewrite.prelude import c_string
from cutune.tunables.clones.sets import SetChoice
from cutune.tunables.neighbours.emit_classifier import c_name, emit_choices, range_tests
from cutune.tunables.neighbours.run_mode import LIBRARY, run_mode

#: What CUTUNE and CUTUNE_VALUES ask for.
_ASKED = f"""\
{LIBRARY}#ifndef CUTUNE_SETS
#define CUTUNE_SETS
{run_mode("cutune_sets_mode")}\
// -1: by size; -2: each call takes the next set (CUTUNE_VALUES=next); else the number of a set, 0
// being the program's own values (CUTUNE=off, CUTUNE_VALUES=0).
static inline int cutune_sets_asked() {{
    const char *const wanted = cutune_environment("CUTUNE_VALUES");
    if (cutune_sets_mode() == 0) return 0;
    if (wanted == nullptr || *wanted == '\\0') return -1;
    return __builtin_strcmp(wanted, "next") == 0 ? -2 : cutune_number(wanted);
}}
#endif
"""


def emit_sets(choice: SetChoice, routine: str, cases: Mapping[int, int], own: Sequence[str]) -> str:
    """Return a function that gives the number of the copy to call, 0 outside the measured sizes.

    Args:
        cases: the number of the copy by the number of the set; a set without one runs as 0.
        own: the program's own values, as they are written.
    """
    choose = f"of_{routine}"
    several = len(choice.model.sizes) > 1
    model = replace(choice.model, tunables=(choose,))
    names = [f"cutune_{c_name(name)}" for name in model.sizes]
    parameters = ", ".join(f"long long {name}" for name in names)
    within = " && ".join(range_tests(names, model.choices[0].lowest, model.choices[0].highest))
    table = ", ".join(str(cases.get(number, 0)) for number in range(len(choice.sets) + 1))
    copies = max(cases.values(), default=0)
    set_of = {copy: number for number, copy in reversed([*cases.items()])}
    texts = [own, *(choice.sets[set_of[copy] - 1] for copy in range(1, copies + 1))]
    named = ([f"{n} = {v}" for n, v in zip(choice.names, one, strict=True)] for one in texts)
    shown = ", ".join(c_string(", ".join(one)) for one in named)
    sizes = ", ".join(f"{name} = %lld" for name in model.sizes)
    line = c_string(f"cutune: %s for {sizes}\n")
    others = " || ".join(f"cutune_last[{i}] != {name}" for i, name in enumerate(names))
    chosen = f"cutune_cases[cutune_choose_{c_name(choose)}({', '.join(names)})]"
    decide = _remembering(names, chosen) if several else f"        cutune_case = {chosen};\n"
    remembered = " ".join(f"cutune_last[{i}] = {name};" for i, name in enumerate(names))
    return f"""\
{_ASKED}{emit_choices([model])}static inline int {routine}({parameters})
{{
    static const signed char cutune_cases[] = {{{table}}};
    static const int cutune_asked = cutune_sets_asked();
    static const bool cutune_shown = cutune_sets_mode() == 2;
    int cutune_case = 0;
    if (cutune_asked == -2) {{
        static thread_local int cutune_next = 0;
        cutune_case = cutune_next++ % {copies + 1};
    }} else if (cutune_asked >= 0) {{
        cutune_case = cutune_asked <= {copies} ? cutune_asked : 0;
    }} else if ({within}) {{
{decide}    }}
    if (cutune_shown) {{
        static const char *const cutune_names[] = {{{shown}}};
        static thread_local long long cutune_last[{len(names) + 1}] = {{0}};
        if (cutune_last[{len(names)}] != cutune_case + 1 || {others}) {{
            {remembered} cutune_last[{len(names)}] = cutune_case + 1;
            cutune_say(cutune_stderr, {line}, cutune_names[cutune_case], {", ".join(names)});
        }}
    }}
    return cutune_case;
}}
"""


def _remembering(names: Sequence[str], chosen: str) -> str:
    """Return C that decides again only where the sizes are not the last ones of this thread."""
    known = [f"cutune_known[{index}]" for index in range(len(names) + 1)]
    is_other = " || ".join(f"{k} != {name}" for k, name in zip(known, names, strict=False))
    kept = " ".join(f"{k} = {name};" for k, name in zip(known, names, strict=False))
    return f"""\
        static thread_local long long cutune_known[{len(known)}] = {{0}};
        if ({known[-1]} == 0 || {is_other}) {{
            {kept} {known[-1]} = 1 + {chosen};
        }}
        cutune_case = (int){known[-1]} - 1;
"""
