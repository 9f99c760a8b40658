"""What CUTUNE asks of the parameters of a tuned program, as C."""

from __future__ import annotations

HEADERS = "#include <cstdio>\n#include <cstdlib>\n#include <cstring>\n"


def run_mode(name: str) -> str:
    """A function of this name; it needs `HEADERS`.

    As `cutune_read_mode` of `cutune_choice.h` reads it for launches: words with commas between.
    """
    return f"""\
// 0: the program's own values (CUTUNE=off); 1: chosen ones; 2: these are shown (CUTUNE=verbose).
static inline int {name}() {{
    static const char *const text = getenv("CUTUNE");
    if (text == nullptr) return 1;
    return strstr(text, "off") != nullptr ? 0 : strstr(text, "verbose") != nullptr ? 2 : 1;
}}
"""
