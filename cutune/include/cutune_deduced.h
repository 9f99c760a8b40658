// Template arguments of a kernel, as the compiler deduces them from arguments of its launch.
#ifndef CUTUNE_DEDUCED_H
#define CUTUNE_DEDUCED_H

#include <utility>

template <class T>
struct cutune_deduced {
    using type = T;
};

// Parameters of type T, T * and const T *. Never called: only deduction knows all qualifiers that a
// parameter has not, such as `__restrict__`.
template <class T>
cutune_deduced<T> cutune_deduce_value(T);
template <class T>
cutune_deduced<T> cutune_deduce_pointee(T *);
template <class T>
cutune_deduced<T> cutune_deduce_constant_pointee(const T *);

// What such a T is for an argument of a type.
template <class Argument>
using cutune_by_value =
    typename decltype(::cutune_deduce_value(std::declval<Argument>()))::type;

template <class Argument>
using cutune_pointee =
    typename decltype(::cutune_deduce_pointee(std::declval<Argument>()))::type;

template <class Argument>
using cutune_constant_pointee =
    typename decltype(::cutune_deduce_constant_pointee(std::declval<Argument>()))::type;

#endif  // CUTUNE_DEDUCED_H
