// What tells instances of a template apart at a launch. Needs cutune_launch.h before it.
#ifndef CUTUNE_SIGNATURE_H
#define CUTUNE_SIGNATURE_H

// Those of cuda_fp16.h and cuda_bf16.h, which a program may or may not include.
struct __half;
struct __half2;
struct __nv_bfloat16;
struct __nv_bfloat162;

// A number for the size of a class, such as float3; 0 for other types, and where it is only declared.
template <class T, class = void>
struct cutune_class : std::integral_constant<cutune_word, 0> {};
template <class T>
struct cutune_class<T, decltype(void(sizeof(T)))>
    : std::integral_constant<cutune_word, std::is_class<T>::value
                                              ? 1024 * sizeof(T) + 8 * alignof(T)
                                              : 0> {};

// A number for a type; 0 for those that are not told apart.
template <class T>
struct cutune_type_code
    : std::integral_constant<cutune_word, std::is_arithmetic<T>::value
                                              ? 4 + 2 * std::is_floating_point<T>::value +
                                                    std::is_signed<T>::value
                                              : cutune_class<T>::value> {};
template <class T, bool IsNumber = std::is_arithmetic<T>::value>
struct cutune_type_size : std::integral_constant<cutune_word, cutune_type_code<T>::value> {};
template <class T>
struct cutune_type_size<T, true>
    : std::integral_constant<cutune_word, cutune_type_code<T>::value + 8 * sizeof(T)> {};
template <>
struct cutune_type_code<__half> : std::integral_constant<cutune_word, 1> {};
template <>
struct cutune_type_code<__half2> : std::integral_constant<cutune_word, 2> {};
template <>
struct cutune_type_code<__nv_bfloat16> : std::integral_constant<cutune_word, 3> {};
template <>
struct cutune_type_code<__nv_bfloat162> : std::integral_constant<cutune_word, 5> {};
template <class T>
struct cutune_type_code<T *>
    : std::integral_constant<
          cutune_word,
          256 + 2 * cutune_type_size<typename std::remove_cv<T>::type>::value> {};

// What tells instances of a template apart at a launch: the types of its arguments. Never 0.
template <class... T>
struct cutune_signature : std::integral_constant<cutune_word, 1> {};
template <class First, class... Rest>
struct cutune_signature<First, Rest...>
    : std::integral_constant<cutune_word,
                             (cutune_signature<Rest...>::value * 1031 +
                              cutune_type_size<typename std::decay<First>::type>::value) |
                                 1ull << 63> {};

#endif  // CUTUNE_SIGNATURE_H
