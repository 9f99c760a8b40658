// The device memory that a launch can reach: found, saved, put back, compared.
//
// On a GPU these are the allocations behind pointer arguments and behind pointers in arguments that
// are structures. The emulated device saves all of its memory instead.
#ifndef CUTUNE_BUFFERS_H
#define CUTUNE_BUFFERS_H

#include "cutune_record.h"

// Defined by the emulated device only.
extern "C" {
void cutune_emulated_site(int site) __attribute__((weak));
void cutune_emulated_member(int position, int argument, int offset, int bytes, int is_signed)
    __attribute__((weak));
int cutune_emulated_snapshot(void) __attribute__((weak));
int cutune_emulated_restore(void) __attribute__((weak));
int cutune_emulated_discard(void) __attribute__((weak));
}

inline bool cutune_is_emulated() { return cutune_emulated_snapshot != nullptr; }

// Was a call of ours refused? Its error is taken back, so that the program does not see it.
inline bool cutune_refused(cudaError_t error) {
    if (error != cudaSuccess) cudaGetLastError();
    return error != cudaSuccess;
}

typedef int (*cutune_range_function)(unsigned long long *base, size_t *size,
                                     unsigned long long address);

// cuMemGetAddressRange, without linking the driver.
inline cutune_range_function cutune_find_range_function() {
    void *function = nullptr;
#if CUDART_VERSION >= 12050
    const cudaError_t error = cudaGetDriverEntryPointByVersion("cuMemGetAddressRange", &function,
                                                               12000, cudaEnableDefault);
#else
    const cudaError_t error =
        cudaGetDriverEntryPoint("cuMemGetAddressRange", &function, cudaEnableDefault);
#endif
    return cutune_refused(error) ? nullptr : reinterpret_cast<cutune_range_function>(function);
}

// The allocation that holds `address`. False when that is no device memory.
inline bool cutune_range(unsigned long long address, unsigned long long *base, size_t *size) {
    static const cutune_range_function function = cutune_find_range_function();
    return address != 0 && function != nullptr && function(base, size, address) == 0;
}

struct cutune_buffer {
    unsigned long long base;
    size_t size;
    cutune_element element;
    void *saved;                 // its contents before the launch, on the device
    std::vector<char> expected;  // its contents after the original launch
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
    const char *save(const std::vector<cutune_argument> &arguments, cudaStream_t stream) {
        stream_ = stream;
        for (const cutune_argument &argument : arguments) {
            if (argument.kind == cutune_pointer_kind) add(argument);
            if (argument.kind == cutune_bytes_kind) add_all(argument.bytes);
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
    // no floating-point numbers.
    bool identical(double *greatest) {
        bool same = true;
        std::vector<char> contents;
        *greatest = 0;
        for (const cutune_buffer &buffer : found_) {
            if (unchanged(buffer)) continue;
            double found = 2;
            if (fetch(buffer, &contents)) {
                if (memcmp(contents.data(), buffer.expected.data(), buffer.size) == 0) continue;
                if (buffer.element == cutune_float_element)
                    found = compare<float>(buffer, contents);
                if (buffer.element == cutune_double_element)
                    found = compare<double>(buffer, contents);
                if (buffer.element == cutune_half_element)
                    found = compare_short(buffer, contents, 10);
                if (buffer.element == cutune_bfloat16_element)
                    found = compare_short(buffer, contents, 7);
            }
            same = false;
            *greatest = found > *greatest ? found : *greatest;
        }
        return same;
    }

  private:
    std::vector<cutune_buffer> found_;
    enum : size_t { staging_bytes = 16u << 20 };
    const char *problem_;
    cudaStream_t stream_;
    void *staging_;

    static void *pointer(unsigned long long address) {
        return reinterpret_cast<void *>(static_cast<uintptr_t>(address));
    }

    void add(const cutune_argument &argument) {
        if (argument.address == 0) return;
        unsigned long long base = 0;
        size_t size = 0;
        if (!cutune_range(argument.address, &base, &size))
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
        const cutune_buffer buffer = {base, size, element, nullptr, std::vector<char>()};
        found_.push_back(buffer);
    }

    // Pointers are aligned, so a structure is looked at in steps of their size.
    void add_all(const std::string &bytes) {
        for (size_t at = 0; at + sizeof(unsigned long long) <= bytes.size(); at += 8) {
            unsigned long long word = 0, base = 0;
            size_t size = 0;
            memcpy(&word, bytes.data() + at, sizeof word);
            if (!cutune_range(word, &base, &size)) continue;
            if (holds_addresses(base, size))
                problem_ = "memory that the launch reaches holds pointers to other memory";
            add(base, size, cutune_other_element);
        }
        if (bytes.empty()) problem_ = "an argument could not be looked at";
    }

    bool holds_addresses(unsigned long long base, size_t size) const {
        const size_t words = 4096;
        std::vector<unsigned long long> sample(size / 8 < words ? size / 8 : words);
        if (sample.empty()) return false;
        if (cutune_refused(
                cudaMemcpy(sample.data(), pointer(base), sample.size() * 8, cudaMemcpyDefault)))
            return true;
        unsigned long long other = 0;
        size_t extent = 0;
        for (const unsigned long long word : sample)
            if (cutune_range(word, &other, &extent)) return true;
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

    static bool fetch(const cutune_buffer &buffer, std::vector<char> *contents) {
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

    template <class T>
    static double compare(const cutune_buffer &buffer, const std::vector<char> &contents) {
        double greatest = 0;
        for (size_t at = 0; at + sizeof(T) <= buffer.size; at += sizeof(T)) {
            T a, b;
            memcpy(&a, buffer.expected.data() + at, sizeof(T));
            memcpy(&b, contents.data() + at, sizeof(T));
            if (memcmp(&a, &b, sizeof(T)) == 0) continue;
            const double x = static_cast<double>(a), y = static_cast<double>(b);
            if (!std::isfinite(x) || !std::isfinite(y)) return 2;
            const double found = relative(x, y);
            greatest = found > greatest ? found : greatest;
        }
        return greatest;
    }

    static double relative(double x, double y) {
        const double scale = std::fabs(x) > std::fabs(y) ? std::fabs(x) : std::fabs(y);
        return scale > 0 ? std::fabs(x - y) / scale : 0;
    }

    // Numbers of 16 bits. Neighbours among them may be one number that was rounded up and down, after
    // sums whose order changed their last bits: they do not differ.
    static double compare_short(const cutune_buffer &buffer, const std::vector<char> &contents,
                                int mantissa) {
        double greatest = 0;
        for (size_t at = 0; at + 2 <= buffer.size; at += 2) {
            unsigned short a, b;
            memcpy(&a, buffer.expected.data() + at, 2);
            memcpy(&b, contents.data() + at, 2);
            if (a == b) continue;
            const double x = real(a, mantissa), y = real(b, mantissa);
            if (!std::isfinite(x) || !std::isfinite(y)) return 2;
            if (std::abs(rank(a) - rank(b)) <= 1) continue;
            const double found = relative(x, y);
            greatest = found > greatest ? found : greatest;
        }
        return greatest;
    }

    // Its place among all numbers of 16 bits, in order.
    static int rank(unsigned short bits) {
        const int magnitude = bits & 0x7fff;
        return bits & 0x8000 ? -magnitude : magnitude;
    }

    static double real(unsigned short bits, int mantissa) {
        const int bias = (1 << (14 - mantissa)) - 1;
        const int exponent = (bits & 0x7fff) >> mantissa, rest = bits & ((1 << mantissa) - 1);
        if (exponent == 2 * bias + 1) return HUGE_VAL;
        const double fraction = std::ldexp(rest, -mantissa);
        const double magnitude = exponent == 0 ? std::ldexp(fraction, 1 - bias)
                                               : std::ldexp(1 + fraction, exponent - bias);
        return bits & 0x8000 ? -magnitude : magnitude;
    }
};

#endif  // CUTUNE_BUFFERS_H
