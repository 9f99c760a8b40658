// Behind a source: a description of the parameters of CUTUNE_CALLED, and a call of it with arguments by
// their addresses. A bare kernel is launched, by CUTUNE_GRID and CUTUNE_SHARED of its parameters.
#ifndef CUTUNE_CHECK_CALL_H
#define CUTUNE_CHECK_CALL_H

#include <stddef.h>
#include <type_traits>
#include <utility>

namespace cutune_check {

template <class T>
using plain = typename std::remove_cv<typename std::remove_reference<T>::type>::type;

// Of a vector such as float4, what it is made of.
template <class T, class = void>
struct element {
    using type = T;
};
template <class T>
struct element<T, decltype(void(std::declval<T&>().x))> {
    using type = plain<decltype(std::declval<T&>().x)>;
};

template <class T>
struct code {
    static constexpr char value = std::is_same<T, bool>::value       ? 'b'
                                  : std::is_same<T, float>::value    ? 'f'
                                  : std::is_same<T, double>::value   ? 'f'
                                  : !std::is_integral<T>::value      ? '?'
                                  : std::is_signed<T>::value         ? 'i'
                                                                     : 'u';
};
#ifdef __CUDA_FP16_H__
template <>
struct code<__half> {
    static constexpr char value = 'h';
};
#endif
#ifdef __CUDA_BF16_H__
template <>
struct code<__nv_bfloat16> {
    static constexpr char value = 'z';
};
#endif

template <class T>
struct size {
    static constexpr char value = '0' + sizeof(T);
};
template <>
struct size<void> {
    static constexpr char value = '0';
};

template <class T>
struct described {
    static constexpr char kind = 'v', type = code<T>::value, bytes = size<T>::value;
};
template <class T>
struct described<T*> {
    using held = typename element<plain<T>>::type;
    static constexpr char kind = std::is_const<T>::value ? 'c' : 'p', type = code<held>::value,
                          bytes = size<held>::value;
};

// Looked for in the library, behind this mark.
template <class... A>
struct signature {
    static const char text[];
};
template <class... A>
const char signature<A...>::text[] = {
    'c', 'u', 't', 'u', 'n', 'e', '-', 'c', 'a', 'l', 'l', 'e', 'd', ':',
    described<plain<A>>::kind..., '|', described<plain<A>>::type..., '|',
    described<plain<A>>::bytes..., 0};

#ifdef CUTUNE_GRID
// The block comes behind the arguments.
template <class R, class... A, size_t... I>
void call(R (*kernel)(A...), void** a, std::index_sequence<I...>) {
    const unsigned* b = static_cast<unsigned*>(a[sizeof...(A)]);
    const dim3 block(b[0], b[1], b[2]);
    const dim3 grid = CUTUNE_GRID(block, *static_cast<plain<A>*>(a[I])...);
    const size_t shared = CUTUNE_SHARED(block, *static_cast<plain<A>*>(a[I])...);
    kernel<<<grid, block, shared>>>(*static_cast<plain<A>*>(a[I])...);
}
#else
template <class R, class... A, size_t... I>
void call(R (*function)(A...), void** a, std::index_sequence<I...>) {
    function(*static_cast<plain<A>*>(a[I])...);
}
#endif

template <class R, class... A>
const char* called(R (*function)(A...), void** arguments) {
    if (arguments) call(function, arguments, std::index_sequence_for<A...>());
    return signature<A...>::text;
}

}  // namespace cutune_check

extern "C" const char* cutune_check_call(void** arguments) {
    return cutune_check::called(&CUTUNE_CALLED, arguments);
}

#endif
