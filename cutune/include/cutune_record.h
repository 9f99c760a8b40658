// The lines of JSON that instrumented programs write.
#ifndef CUTUNE_RECORD_H
#define CUTUNE_RECORD_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmath>
#include <string>

#include "cutune_launch.h"

inline std::string cutune_text(const char *format, unsigned long long value) {
    char text[32];
    snprintf(text, sizeof text, format, value);
    return text;
}

// Numbers that JSON does not know become null.
inline std::string cutune_real_text(double value) {
    if (!std::isfinite(value)) return "null";
    char text[40];
    snprintf(text, sizeof text, "%.17g", value);
    return text;
}

inline std::string cutune_string_text(const char *value) {
    std::string text = "\"";
    for (; *value != 0; ++value) {
        const unsigned char c = static_cast<unsigned char>(*value);
        if (c == '"' || c == '\\') text += '\\';
        // File names are bytes; beyond ASCII they are written as latin-1.
        text += c < 32 || c > 126 ? cutune_text("\\u%04llx", c) : std::string(1, *value);
    }
    return text + "\"";
}

inline std::string cutune_dim3_text(dim3 value) {
    return "[" + std::to_string(value.x) + "," + std::to_string(value.y) + "," +
           std::to_string(value.z) + "]";
}

inline std::string cutune_hex(const char *bytes, size_t size) {
    std::string text;
    for (size_t i = 0; i < size; ++i)
        text += cutune_text("%02llx", static_cast<unsigned char>(bytes[i]));
    return text;
}

// Appends a line to $CUTUNE_OUTPUT by a single write, so that lines of several threads, files and
// processes do not mix. False when that is impossible; the first time it says why.
inline bool cutune_write_line(const std::string &line) {
    static const char *const path = getenv("CUTUNE_OUTPUT");
    static const int file =
        path == nullptr ? -1 : open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    static bool complained = false;
    const std::string text = line + "\n";
    const bool written =
        file >= 0 && write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
    if (!written && !complained) {
        complained = true;
        fprintf(stderr, "cutune: cannot write to CUTUNE_OUTPUT='%s'\n",
                path == nullptr ? "" : path);
    }
    return written;
}

#endif  // CUTUNE_RECORD_H
