// Arrays and text that grow, for instrumented programs: without headers of the C++ library, as
// cutune_host.h says.
#ifndef CUTUNE_TEXT_H
#define CUTUNE_TEXT_H

#include <stddef.h>

#include "cutune_host.h"

extern "C" {
char *cutune_environment(const char *) asm("getenv");
void *cutune_resized(void *, size_t) asm("realloc");
void cutune_given_back(void *) asm("free");
void cutune_abort() asm("abort");
void cutune_sorted(void *, size_t, size_t, int (*)(const void *, const void *)) asm("qsort");
int cutune_format(char *, size_t, const char *, __builtin_va_list) asm("vsnprintf");
}

// Elements are moved by copying their bytes, and are of zeros at first.
template <class T>
class cutune_array {
  public:
    cutune_array() : data_(nullptr), size_(0), capacity_(0) {}
    cutune_array(const T *from, size_t count) : cutune_array() { assign(from, count); }
    cutune_array(const cutune_array &) = delete;
    cutune_array &operator=(const cutune_array &) = delete;
    ~cutune_array() {
        for (T &element : *this) element.~T();
        cutune_given_back(data_);
    }

    size_t size() const { return size_; }
    T *data() { return data_; }
    const T *data() const { return data_; }
    T &operator[](size_t at) { return data_[at]; }
    const T &operator[](size_t at) const { return data_[at]; }
    T *begin() { return data_; }
    const T *begin() const { return data_; }
    T *end() { return data_ + size_; }
    const T *end() const { return data_ + size_; }

    void resize(size_t size) {
        if (size > capacity_) reserve(size > 2 * capacity_ ? size : 2 * capacity_);
        if (size > size_)
            __builtin_memset(static_cast<void *>(data_ + size_), 0, (size - size_) * sizeof(T));
        size_ = size;
    }
    // One element more.
    T &more() {
        resize(size_ + 1);
        return data_[size_ - 1];
    }
    void assign(const T *from, size_t count) {
        resize(count);
        for (size_t i = 0; i < count; ++i) data_[i] = from[i];
    }

  private:
    T *data_;
    size_t size_, capacity_;

    void reserve(size_t capacity) {
        void *const found = cutune_resized(data_, capacity * sizeof(T));
        if (found == nullptr) {
            cutune_say(cutune_stderr, "cutune: not enough memory\n");
            cutune_abort();
        }
        data_ = static_cast<T *>(found);
        capacity_ = capacity;
    }
};

inline int cutune_in_order(const void *one, const void *other) {
    const double x = *static_cast<const double *>(one), y = *static_cast<const double *>(other);
    return (x > y) - (x < y);
}

inline void cutune_sort(cutune_array<double> *numbers) {
    if (numbers->size() > 1)
        cutune_sorted(numbers->data(), numbers->size(), sizeof(double), cutune_in_order);
}

// JSON, piece by piece.
class cutune_text {
  public:
    const char *data() const { return bytes_.data(); }
    size_t size() const { return bytes_.size(); }

    // As printf writes it.
    __attribute__((format(printf, 2, 3))) void add(const char *format, ...) {
        __builtin_va_list values, again;
        __builtin_va_start(values, format);
        __builtin_va_copy(again, values);
        const size_t before = size();
        const size_t length = static_cast<size_t>(cutune_format(nullptr, 0, format, values));
        bytes_.resize(before + length + 1);
        cutune_format(bytes_.data() + before, length + 1, format, again);
        bytes_.resize(before + length);  // without the zero behind it
        __builtin_va_end(again);
        __builtin_va_end(values);
    }

    // Numbers that JSON does not know become null.
    void add_real(double value) {
        if (__builtin_isfinite(value))
            add("%.17g", value);
        else
            add("null");
    }

    void add_string(const char *value) {
        add("\"");
        for (; *value != 0; ++value) {
            const unsigned char c = static_cast<unsigned char>(*value);
            // File names are bytes; beyond ASCII they are written as latin-1.
            if (c < 32 || c > 126)
                add("\\u%04x", static_cast<unsigned>(c));
            else
                add(c == '"' || c == '\\' ? "\\%c" : "%c", c);
        }
        add("\"");
    }

    void add_hex(const char *bytes, size_t size) {
        for (size_t i = 0; i < size; ++i)
            add("%02x", static_cast<unsigned>(static_cast<unsigned char>(bytes[i])));
    }

  private:
    cutune_array<char> bytes_;
};

#endif  // CUTUNE_TEXT_H
