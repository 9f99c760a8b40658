"""What CUTUNE asks of the parameters of a tuned program, as C."""

from __future__ import annotations

#: As `cutune_read_mode` of `cutune_choice.h` reads it for launches: words with commas between.
RUN_MODE = """\
#include <cstdio>
#include <cstdlib>
#include <cstring>
#ifndef CUTUNE_TUNABLES_MODE
#define CUTUNE_TUNABLES_MODE
// 0: the program's own values (CUTUNE=off); 1: chosen ones; 2: these are shown (CUTUNE=verbose).
static inline int cutune_tunables_mode() {
    static const char *const text = getenv("CUTUNE");
    if (text == nullptr) return 1;
    return strstr(text, "off") != nullptr ? 0 : strstr(text, "verbose") != nullptr ? 2 : 1;
}
#endif
"""
