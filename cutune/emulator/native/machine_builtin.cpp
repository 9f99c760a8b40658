// Functions that the device runtime provides: printf, assert, malloc, free.
#include <cstdio>

#include "machine_access.h"

namespace cutune {
namespace {

// Argument k of the call, which lies in the caller's local memory.
template <class T> T argument(const Instruction* i, const Warp& w, u32 lane, u32 k) {
    const u32* table = &w.execution->module.operands[further_operands(*i)];
    const u8* frame = w.local_memory + lane * w.execution->local_stride + w.frame_pointer;
    T value;
    memcpy(&value, frame + table[1 + k], sizeof value);
    return value;
}

template <class T> void give(const Instruction* i, Warp& w, u32 lane, T value) {
    const u32* table = &w.execution->module.operands[further_operands(*i)];
    u8* frame = w.local_memory + lane * w.execution->local_stride + w.frame_pointer;
    memcpy(frame + table[1 + table[0]], &value, sizeof value);
}

const char* text_at(u64 address) { return reinterpret_cast<const char*>(address); }

// Takes the values of a printf from a buffer in which each is aligned to its size.
class Values {
  public:
    explicit Values(u64 address) : next_(address) {}
    template <class T> T take() {
        next_ = (next_ + sizeof(T) - 1) / sizeof(T) * sizeof(T);
        const T value = read<T>(next_);
        next_ += sizeof(T);
        return value;
    }

  private:
    u64 next_;
};

template <class T> std::string formatted(const std::string& form, T value) {
    const int size = snprintf(nullptr, 0, form.c_str(), value);
    std::string text(size > 0 ? size + 1 : 1, 0);
    snprintf(&text[0], text.size(), form.c_str(), value);
    text.pop_back();
    return text;
}

// One conversion such as %-8.3f; `form` ends at its letter.
std::string convert(std::string form, Values& values) {
    const char letter = form.back();
    const bool is_long = form.find('l') != std::string::npos || form.find('z') != std::string::npos ||
                         form.find('j') != std::string::npos || form.find('t') != std::string::npos;
    switch (letter) {
        case 'd': case 'i': case 'u': case 'o': case 'x': case 'X':
            return is_long ? formatted(form, values.take<long long>())
                           : formatted(form, values.take<int>());
        case 'c': return formatted(form, values.take<int>());
        case 'e': case 'E': case 'f': case 'F': case 'g': case 'G': case 'a': case 'A':
            return formatted(form, values.take<double>());
        case 's': {
            const u64 address = values.take<u64>();
            return formatted(form, address ? text_at(address) : "(null)");
        }
        case 'p': return formatted(form, reinterpret_cast<void*>(values.take<u64>()));
        default: return form;
    }
}

int print(const char* format, Values values) {
    std::string text;
    int conversions = 0;
    while (*format) {
        if (*format != '%') {
            text += *format++;
            continue;
        }
        if (format[1] == '%') {
            text += '%';
            format += 2;
            continue;
        }
        std::string form(1, *format++);
        while (*format && strchr("-+ #0123456789.*hlLzjt", *format)) {
            if (*format == '*') form += std::to_string(values.take<int>());
            else form += *format;
            format++;
        }
        if (!*format) break;
        form += *format++;
        text += convert(form, values);
        conversions++;
    }
    fwrite(text.data(), 1, text.size(), stdout);
    return conversions;
}

}  // namespace

HANDLER(call_vprintf) {
    FOR_ACTIVE(w, l) {
        const u64 format = argument<u64>(i, w, l, 0), values = argument<u64>(i, w, l, 1);
        give(i, w, l, print(text_at(format), Values(values)));
    }
    return i + 1;
}

HANDLER(call_assertfail) {
    const u32 l = __builtin_ctz(w.mask);
    const char* condition = text_at(argument<u64>(i, w, l, 0));
    const char* file = text_at(argument<u64>(i, w, l, 1));
    const u32 line = argument<u32>(i, w, l, 2);
    const char* function = text_at(argument<u64>(i, w, l, 3));
    fail(Outcome::assertion, i, w, l,
         std::string(file) + ":" + std::to_string(line) + ": " + function + ": Assertion `" +
             condition + "` failed");
}

HANDLER(call_malloc) {
    FOR_ACTIVE(w, l) give(i, w, l, w.execution->memory.allocate(argument<u64>(i, w, l, 0)));
    return i + 1;
}

HANDLER(call_free) {
    FOR_ACTIVE(w, l) {
        const u64 address = argument<u64>(i, w, l, 0);
        if (address) w.execution->memory.release(address);
    }
    // What instructions remember of allocations may no longer hold.
    for (Range& range : w.execution->ranges) range = Range();
    return i + 1;
}

}  // namespace cutune
