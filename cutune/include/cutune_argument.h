// The arguments of a launch as data. Every instrumented file compiles this, so that it includes no
// more of the standard library than cuda_runtime.h does.
#ifndef CUTUNE_ARGUMENT_H
#define CUTUNE_ARGUMENT_H

#include "cutune_launch.h"
#include "cutune_inner.h"
#include "cutune_member.h"

// Those of cuda_fp16.h and cuda_bf16.h, which a program may or may not include.
struct __half;
struct __half2;
struct __nv_bfloat16;
struct __nv_bfloat162;

enum cutune_kind { cutune_integer_kind, cutune_real_kind, cutune_pointer_kind, cutune_bytes_kind };

// The type that a pointer points to, as far as comparing contents needs it.
enum cutune_element {
    cutune_float_element,
    cutune_double_element,
    cutune_half_element,
    cutune_bfloat16_element,
    cutune_other_element
};

struct cutune_argument {
    cutune_kind kind;
    long long integer;
    double real;
    unsigned long long address;
    cutune_element element;
    bool writable;      // not a pointer to const
    bool may_nest;      // what it points to may hold pointers itself
    bool pointers;      // a pointer to pointers
    const char *bytes;  // those of the argument itself, while it lives
    size_t size;
};

inline cutune_argument cutune_empty_argument(cutune_kind kind) {
    const cutune_argument empty = {kind,  0,     0.0,   0,       cutune_other_element,
                                   false, false, false, nullptr, 0};
    return empty;
}

// Vectors are compared number by number.
template <class T>
struct cutune_element_of {
    static constexpr bool is_float =
        std::is_same<T, float>::value || std::is_same<T, float2>::value ||
        std::is_same<T, float3>::value || std::is_same<T, float4>::value;
    static constexpr bool is_double =
        std::is_same<T, double>::value || std::is_same<T, double2>::value ||
        std::is_same<T, double3>::value;
    static constexpr bool is_half =
        std::is_same<T, __half>::value || std::is_same<T, __half2>::value;
    static constexpr bool is_bfloat16 =
        std::is_same<T, __nv_bfloat16>::value || std::is_same<T, __nv_bfloat162>::value;
    static constexpr cutune_element value = is_float      ? cutune_float_element
                                            : is_double   ? cutune_double_element
                                            : is_half     ? cutune_half_element
                                            : is_bfloat16 ? cutune_bfloat16_element
                                                          : cutune_other_element;
};

template <class T>
struct cutune_describe_pointee {
    // `float a[6][5]` as a parameter points to rows.
    typedef typename std::remove_cv<typename std::remove_all_extents<T>::type>::type plain;
    static cutune_argument of(const volatile void *address) {
        cutune_argument argument = cutune_empty_argument(cutune_pointer_kind);
        argument.address = reinterpret_cast<size_t>(address);
        argument.element = cutune_element_of<plain>::value;
        argument.writable = !std::is_const<T>::value;
        argument.pointers = std::is_pointer<plain>::value;
        argument.may_nest = std::is_class<plain>::value || std::is_union<plain>::value ||
                            std::is_void<plain>::value || std::is_pointer<plain>::value;
        return argument;
    }
};

// One structure per kind of type; the last parameter of `cutune_describe` picks it.
template <class T>
struct cutune_type_kind
    : std::integral_constant<
          int, cutune_is_integer<T>::value          ? 0
               : std::is_floating_point<T>::value   ? 1
               : std::is_same<T, decltype(nullptr)>::value ? 2
               : std::is_array<T>::value            ? 3
               : std::is_function<T>::value         ? 4
               : std::is_pointer<T>::value          ? 5
               : std::is_convertible<const T &, const volatile void *>::value ? 6
                                                                              : 7> {};

template <class T, int Kind = cutune_type_kind<T>::value>
struct cutune_describe {
    static cutune_argument of(const T &value) {
        cutune_argument argument = cutune_empty_argument(cutune_bytes_kind);
        argument.bytes = &reinterpret_cast<const char &>(value);
        argument.size = sizeof(T);
        return argument;
    }
};

template <int Kind>
struct cutune_describe<cutune_unseen, Kind> {
    static cutune_argument of(const cutune_unseen &) {
        return cutune_empty_argument(cutune_bytes_kind);
    }
};

// The structure that it lies in is described as well.
template <int Kind>
struct cutune_describe<cutune_inner_pointer, Kind> {
    static cutune_argument of(const cutune_inner_pointer &) {
        return cutune_describe_pointee<const void>::of(nullptr);
    }
};

template <class T>
struct cutune_describe<T, 0> {
    static cutune_argument of(const T &value) {
        cutune_argument argument = cutune_empty_argument(cutune_integer_kind);
        argument.integer = cutune_integer(value);
        return argument;
    }
};

template <class T>
struct cutune_describe<T, 1> {
    static cutune_argument of(const T &value) {
        cutune_argument argument = cutune_empty_argument(cutune_real_kind);
        argument.real = static_cast<double>(value);
        return argument;
    }
};

template <class T>
struct cutune_describe<T, 2> {
    static cutune_argument of(const T &) { return cutune_describe_pointee<const void>::of(nullptr); }
};

template <class T>
struct cutune_describe<T, 3> {
    static cutune_argument of(const T &value) {
        typedef typename std::remove_extent<T>::type element;
        return cutune_describe_pointee<element>::of(&value[0]);
    }
};

template <class T>
struct cutune_describe<T, 4> {
    static cutune_argument of(const T &) { return cutune_empty_argument(cutune_bytes_kind); }
};

template <class T>
struct cutune_describe<T, 5> {
    typedef typename std::remove_pointer<T>::type element;
    static cutune_argument of(const T &value) {
        // Through an integer, because a pointer to a function is no pointer to void.
        const size_t address = reinterpret_cast<size_t>(value);
        return cutune_describe_pointee<element>::of(reinterpret_cast<const void *>(address));
    }
};

// A class that a kernel gets as a pointer: some owner of device memory.
template <class T>
struct cutune_describe<T, 6> {
    static cutune_argument of(const T &value) {
        return cutune_describe_pointee<void>::of(static_cast<const volatile void *>(value));
    }
};

#endif  // CUTUNE_ARGUMENT_H
