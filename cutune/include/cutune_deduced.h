// Template arguments of a kernel, as the compiler deduces them from arguments of its launch.
#ifndef CUTUNE_DEDUCED_H
#define CUTUNE_DEDUCED_H

#include <type_traits>

// As std::declval, without all that <utility> brings. Neither is called.
template <class T>
typename std::add_rvalue_reference<T>::type cutune_declared();

// Deduction leaves out all qualifiers that a parameter has not, such as `__restrict__`.
template <class T>
T cutune_value(T);

// What a template parameter T is, as it is deduced from an argument of a type: for parameters of
// type T, T * and const T *.
template <class Argument>
using cutune_by_value = decltype(cutune_value(cutune_declared<Argument>()));

template <class Argument>
using cutune_pointee = typename std::remove_pointer<cutune_by_value<Argument>>::type;

template <class Argument>
using cutune_constant_pointee = typename std::remove_const<cutune_pointee<Argument>>::type;

#endif  // CUTUNE_DEDUCED_H
