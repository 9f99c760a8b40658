// The device memory that a launch can reach: found, saved, put back, compared.
//
// On a GPU these are the allocations behind pointer arguments and behind pointers in arguments that
// are structures. The emulated device saves all of its memory instead.
#ifndef CUTUNE_BUFFERS_H
#define CUTUNE_BUFFERS_H

#include <stdlib.h>
#include <string.h>

// cutune_range.h stands alone in tuned programs, behind cutune_launch.h.
#include "cutune_asked.h"
#include "cutune_range.h"
#include "cutune_allocation.h"
#include "cutune_text.h"

struct cutune_buffer {
    unsigned long long base;
    size_t size;
    cutune_element element;
    void *saved;                  // its contents before the launch, on the device
    cutune_array<char> expected;  // its contents after the original launch
};

template <class T>
struct cutune_plain_number {
    enum : size_t { size = sizeof(T) };
    static double at(const char *from) {
        T value;
        memcpy(&value, from, sizeof value);
        return static_cast<double>(value);
    }
    static bool neighbours(const char *, const char *) { return false; }
};

// A number of 16 bits, so many of them its mantissa.
template <int mantissa>
struct cutune_short_number {
    enum : size_t { size = 2 };
    static double at(const char *from) {
        const int bits = magnitude(from), bias = (1 << (14 - mantissa)) - 1;
        const int exponent = bits >> mantissa, rest = bits & ((1 << mantissa) - 1);
        if (exponent == 2 * bias + 1) return __builtin_huge_val();
        const double fraction = __builtin_ldexp(rest, -mantissa);
        const double value = exponent == 0 ? __builtin_ldexp(fraction, 1 - bias)
                                           : __builtin_ldexp(1 + fraction, exponent - bias);
        return is_negative(from) ? -value : value;
    }
    // May they be one number that was rounded up and down, after sums whose order changed their
    // last bits?
    static bool neighbours(const char *one, const char *other) {
        return abs(rank(one) - rank(other)) <= 1;
    }

  private:
    static unsigned short bits(const char *from) {
        unsigned short value;
        memcpy(&value, from, sizeof value);
        return value;
    }
    static bool is_negative(const char *from) { return (bits(from) & 0x8000) != 0; }
    static int magnitude(const char *from) { return bits(from) & 0x7fff; }
    // Its place among all numbers of 16 bits, in order.
    static int rank(const char *from) {
        return is_negative(from) ? -magnitude(from) : magnitude(from);
    }
};

// Where results differ: a byte of an allocation, and the words of 8 bytes around it.
struct cutune_difference {
    unsigned long long base = 0;
    size_t at = 0, size = 0;
    char expected[8] = {}, found[8] = {};
};

class cutune_buffers {
  public:
    cutune_buffers() : problem_(nullptr), stream_(nullptr), staging_(nullptr) {}
    cutune_buffers(const cutune_buffers &) = delete;
    cutune_buffers &operator=(const cutune_buffers &) = delete;
    ~cutune_buffers() {
        for (const cutune_buffer &buffer : found_)
            if (buffer.saved != nullptr) cutune_refused(cudaFree(buffer.saved));
        if (staging_ != nullptr) cutune_refused(cudaFreeHost(staging_));
        if (cutune_is_emulated()) cutune_emulated_discard();
    }

    // Save what the launch can reach. On failure returns why it cannot be repeated.
    const char *save(const cutune_array<cutune_argument> &arguments, cudaStream_t stream) {
        stream_ = stream;
        for (const cutune_argument &argument : arguments) {
            if (argument.kind == cutune_pointer_kind) add(argument);
            if (argument.kind == cutune_bytes_kind) add_all(argument.bytes, argument.size);
        }
        if (cutune_is_emulated()) {
            // Whatever was not found above is saved as well.
            problem_ = cutune_emulated_snapshot() == 0 ? nullptr : "not enough memory to save";
        } else {
            for (cutune_buffer &buffer : found_) save(buffer);
        }
        return problem_;
    }

    // Put everything back; in the order of the stream, before what is launched next.
    bool restore() {
        if (cutune_is_emulated()) return cutune_emulated_restore() == 0;
        bool done = true;
        for (const cutune_buffer &buffer : found_) {
            if (buffer.saved == nullptr) continue;
            if (cutune_refused(cudaMemcpyAsync(pointer(buffer.base), buffer.saved, buffer.size,
                                               cudaMemcpyDefault, stream_)))
                done = false;
        }
        return done;
    }

    // Keep the results of the original launch.
    bool expect() {
        bool done = true;
        for (cutune_buffer &buffer : found_) done = fetch(buffer, &buffer.expected) && done;
        return done;
    }

    // How far the results are from those of the original launch: false when any bit differs.
    // `greatest` is the greatest relative difference; 2 when numbers have nothing in common or are
    // no floating-point numbers. `place` is where that is, or the first byte that differs.
    bool identical(double *greatest, cutune_difference *place) {
        bool same = true;
        size_t at = 0;
        *place = cutune_difference();
        cutune_array<char> contents;
        *greatest = 0;
        for (const cutune_buffer &buffer : found_) {
            if (unchanged(buffer)) continue;
            double found = 2;
            if (fetch(buffer, &contents)) {
                if (memcmp(contents.data(), buffer.expected.data(), buffer.size) == 0) continue;
                for (at = 0; contents[at] == buffer.expected[at];) ++at;
                if (buffer.element == cutune_float_element)
                    found = compare<cutune_plain_number<float>>(buffer, contents, &at);
                if (buffer.element == cutune_double_element)
                    found = compare<cutune_plain_number<double>>(buffer, contents, &at);
                if (buffer.element == cutune_half_element)
                    found = compare<cutune_short_number<10>>(buffer, contents, &at);
                if (buffer.element == cutune_bfloat16_element)
                    found = compare<cutune_short_number<7>>(buffer, contents, &at);
                if (same || found > *greatest) *place = seen(buffer, contents, at);
            }
            same = false;
            *greatest = found > *greatest ? found : *greatest;
        }
        return same;
    }

  private:
    cutune_array<cutune_buffer> found_;
    enum : size_t { staging_bytes = 16u << 20 };
    const char *problem_;
    cudaStream_t stream_;
    void *staging_;

    static void *pointer(unsigned long long address) {
        return reinterpret_cast<void *>(static_cast<size_t>(address));
    }

    // The allocation that holds an address. The driver knows those of the current device only.
    static bool extent(unsigned long long address, unsigned long long *base, size_t *size) {
        if (!cutune_is_emulated()) return cutune_range(address, base, size);
        void *start = nullptr;
        if (cutune_emulated_range(pointer(address), &start, size) != 0) return false;
        *base = reinterpret_cast<unsigned long long>(start);
        return true;
    }

    void add(const cutune_argument &argument) {
        if (argument.address == 0) return;
        unsigned long long base = 0;
        size_t size = 0;
        if (!extent(argument.address, &base, &size))
            problem_ = "an argument points to memory whose extent is not known";
        else if (argument.pointers)
            problem_ = "an argument points to pointers, whose targets cannot be saved";
        else if (argument.may_nest && holds_addresses(base, size))
            problem_ = "memory that the launch reaches holds pointers to other memory";
        else if (argument.writable)
            add(base, size, argument.element);
    }

    void add(unsigned long long base, size_t size, cutune_element element) {
        for (const cutune_buffer &buffer : found_)
            if (buffer.base == base) return;
        cutune_buffer &buffer = found_.more();
        buffer.base = base;
        buffer.size = size;
        buffer.element = element;
    }

    // Pointers are aligned, so a structure is looked at in steps of their size.
    void add_all(const char *bytes, size_t length) {
        for (size_t at = 0; at + sizeof(unsigned long long) <= length; at += 8) {
            unsigned long long word = 0, base = 0;
            size_t size = 0;
            memcpy(&word, bytes + at, sizeof word);
            if (!extent(word, &base, &size)) continue;
            if (holds_addresses(base, size))
                problem_ = "memory that the launch reaches holds pointers to other memory";
            add(base, size, cutune_other_element);
        }
        if (length == 0) problem_ = "an argument could not be looked at";
    }

    bool holds_addresses(unsigned long long base, size_t size) const {
        const size_t words = 4096;
        cutune_array<unsigned long long> sample;
        sample.resize(size / 8 < words ? size / 8 : words);
        if (sample.size() == 0) return false;
        if (cutune_refused(
                cudaMemcpy(sample.data(), pointer(base), sample.size() * 8, cudaMemcpyDefault)))
            return true;
        unsigned long long other = 0;
        size_t bytes = 0;
        for (const unsigned long long word : sample)
            if (extent(word, &other, &bytes)) return true;
        return false;
    }

    void save(cutune_buffer &buffer) {
        if (problem_ != nullptr) return;
        if (cutune_refused(cudaMalloc(&buffer.saved, buffer.size))) {
            buffer.saved = nullptr;
            problem_ = "not enough device memory to save what the launch can reach";
        } else if (cutune_refused(cudaMemcpyAsync(buffer.saved, pointer(buffer.base), buffer.size,
                                                  cudaMemcpyDefault, stream_))) {
            problem_ = "memory that the launch reaches cannot be copied";
        }
    }

    static bool fetch(const cutune_buffer &buffer, cutune_array<char> *contents) {
        contents->resize(buffer.size);
        return !cutune_refused(cudaMemcpy(contents->data(), pointer(buffer.base), buffer.size,
                                          cudaMemcpyDefault));
    }

    // Is the buffer bit by bit as expected? In parts, through memory that a GPU reaches quickly:
    // a sweep compares gigabytes.
    bool unchanged(const cutune_buffer &buffer) {
        if (cutune_is_emulated() || buffer.expected.size() != buffer.size) return false;
        if (staging_ == nullptr && cutune_refused(cudaMallocHost(&staging_, staging_bytes))) {
            staging_ = nullptr;
            return false;
        }
        for (size_t at = 0; at < buffer.size; at += staging_bytes) {
            const size_t left = buffer.size - at, size = left < staging_bytes ? left : staging_bytes;
            if (cutune_refused(cudaMemcpy(staging_, pointer(buffer.base + at), size,
                                          cudaMemcpyDefault)) ||
                memcmp(staging_, buffer.expected.data() + at, size) != 0)
                return false;
        }
        return true;
    }

    static cutune_difference seen(const cutune_buffer &buffer, const cutune_array<char> &contents,
                             size_t at) {
        cutune_difference place;
        const size_t first = at - at % sizeof place.found, left = buffer.size - first;
        place.base = buffer.base;
        place.at = at;
        place.size = left < sizeof place.found ? left : sizeof place.found;
        memcpy(place.expected, &buffer.expected[first], place.size);
        memcpy(place.found, &contents[first], place.size);
        return place;
    }

    // The greatest difference of two numbers, relative to them or to what is usual among those that
    // differ: what is left where large terms cancel is no better than these.
    template <class Number>
    static double compare(const cutune_buffer &buffer, const cutune_array<char> &contents,
                          size_t *place) {
        const char *const expected = buffer.expected.data(), *const found = contents.data();
        const double usual = usual_magnitude<Number>(buffer.expected, contents);
        double greatest = 0;
        for (size_t at = 0; at + Number::size <= buffer.size; at += Number::size) {
            if (memcmp(expected + at, found + at, Number::size) == 0) continue;
            const double x = Number::at(expected + at), y = Number::at(found + at);
            if (!__builtin_isfinite(x) || !__builtin_isfinite(y)) {
                *place = at;
                return 2;
            }
            if (Number::neighbours(expected + at, found + at)) continue;
            const double scale = larger(usual, larger(__builtin_fabs(x), __builtin_fabs(y)));
            const double difference = __builtin_fabs(x - y) / scale;
            if (difference > greatest) *place = at;
            greatest = larger(greatest, difference);
        }
        return greatest;
    }

    // The median of some numbers that differ. Others may never have been written.
    template <class Number>
    static double usual_magnitude(const cutune_array<char> &expected,
                                  const cutune_array<char> &found) {
        const size_t enough = 1u << 16;
        cutune_array<double> differing;
        for (size_t at = 0; at + Number::size <= expected.size(); at += Number::size) {
            if (memcmp(&expected[at], &found[at], Number::size) == 0) continue;
            differing.more() = __builtin_fabs(Number::at(&expected[at]));
            if (differing.size() == enough) break;
        }
        if (differing.size() == 0) return 0;
        cutune_sort(&differing);
        const double middle = differing[differing.size() / 2];
        return __builtin_isfinite(middle) ? middle : 0;
    }

    static double larger(double one, double other) { return one < other ? other : one; }
};

#endif  // CUTUNE_BUFFERS_H
