"""Reads from the environment what CUTUNE says of the parameters of a tuned program, as C."""

from __future__ import annotations

#: Without headers, which could change what the program calls: see `cutune_host.h`.
LIBRARY = """\
extern "C" {
char *cutune_environment(const char *) asm("getenv");
int cutune_number(const char *) asm("atoi");
extern struct _IO_FILE *cutune_stderr asm("stderr");
int cutune_say(void *, const char *, ...) asm("fprintf");
}
"""


def run_mode(name: str) -> str:
    """Return a C function of this name; it needs `LIBRARY`.

    As `cutune_read_mode` of `cutune_choice.h` reads it for launches: words with commas between.
    """
    return f"""\
// 0: the program's own values (CUTUNE=off); 1: chosen ones; 2: these are shown (CUTUNE=verbose).
static inline int {name}() {{
    static const char *const text = cutune_environment("CUTUNE");
    if (text == nullptr) return 1;
    if (__builtin_strstr(text, "off") != nullptr) return 0;
    return __builtin_strstr(text, "verbose") != nullptr ? 2 : 1;
}}
"""
