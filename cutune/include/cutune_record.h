// The lines of JSON that instrumented programs write.
#ifndef CUTUNE_RECORD_H
#define CUTUNE_RECORD_H

#include "cutune_text.h"

extern "C" {
int cutune_descriptor(void *) asm("fileno");
ptrdiff_t cutune_write(int, const void *, size_t) asm("write");
}

// Ends the object of `line` and appends it to $CUTUNE_OUTPUT by a single write, so that lines of
// several threads, files and processes do not mix. False when that is impossible; the first time it
// says why.
inline bool cutune_write_line(cutune_text *line) {
    static const char *const path = cutune_environment("CUTUNE_OUTPUT");
    // "e": not for programs that this one starts.
    static void *const file = path == nullptr ? nullptr : cutune_open(path, "ae");
    static bool complained = false;
    line->add("}\n");
    const bool written = file != nullptr && cutune_write(cutune_descriptor(file), line->data(),
                                                         line->size()) ==
                                                static_cast<ptrdiff_t>(line->size());
    if (!written && !complained) {
        complained = true;
        cutune_say(cutune_stderr, "cutune: cannot write to CUTUNE_OUTPUT='%s'\n",
                   path == nullptr ? "" : path);
    }
    return written;
}

#endif  // CUTUNE_RECORD_H
