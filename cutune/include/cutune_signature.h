// What tells instances of a template apart at a launch: the types of its arguments. Needs
// cutune_launch.h before it.
#ifndef CUTUNE_SIGNATURE_H
#define CUTUNE_SIGNATURE_H

#include <string.h>

// A number for a name. An unnamed namespace carries a number that changes with the path of the
// source: it counts for nothing. How nvcc names the closures of a function is its own affair, so that
// other releases number them otherwise, and their launches stay as they are.
inline cutune_word cutune_name_code(const char *name) {
#ifdef __CUDACC_VER_MAJOR__
    const int release = 100 * __CUDACC_VER_MAJOR__ + __CUDACC_VER_MINOR__;
#else
    const int release = 1;
#endif
    cutune_word code = strstr(name, "__nv_") == nullptr ? 0 : release;
    for (; *name != 0; name += strncmp(name, "_GLOBAL__N_", 11) == 0 ? strcspn(name, ":") : 1)
        code = (code ^ static_cast<cutune_word>(*name)) * 1099511628211;
    return code;
}

// The name of a type, and what its compiler writes behind it.
template <class T>
inline const char *cutune_name() {
    return strstr(__PRETTY_FUNCTION__, "T = ");
}

// A number for a type: for one that has a name of its own, such as a class, it is found once.
template <class T, bool IsNumber = std::is_arithmetic<T>::value>
struct cutune_type_code {
    static cutune_word get() {
        static const cutune_word code = cutune_name_code(cutune_name<T>());
        return code;
    }
};
template <class T>
struct cutune_type_code<T, true> {
    static cutune_word get() {
        return 4 + 2 * std::is_floating_point<T>::value + std::is_signed<T>::value + 8 * sizeof(T);
    }
};
template <class T>
struct cutune_type_code<T *, false> {
    static cutune_word get() {
        return 256 + 2 * cutune_type_code<typename std::remove_cv<T>::type>::get();
    }
};

// Never 0.
template <class... T>
inline cutune_word cutune_signature() {
    cutune_word all = 0;
    const cutune_word codes[] = {cutune_type_code<typename std::decay<T>::type>::get()..., 1};
    for (const cutune_word code : codes) all = all * 1031 + code;
    return all | 1ull << 63;
}

#endif  // CUTUNE_SIGNATURE_H
