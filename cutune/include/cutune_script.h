// Launches that a script makes: the arguments of a kernel as bytes, in the order and at the places
// of its parameters. Stands behind the kernels that a script compiles; C++11 and later.
#include <string.h>

#include <type_traits>

namespace {

enum { cutune_most_bytes = 32764 };  // of the arguments of a kernel

// As a script asks for it; `shared`: bytes of dynamic shared memory.
struct cutune_script_launch {
    void *context;  // that its kernel was loaded in
    void *stream;
    unsigned grid[3], block[3], shared;
};

inline dim3 cutune_extents(const unsigned (&of)[3]) {
    return dim3(of[0], of[1], of[2]);
}

constexpr size_t cutune_align(size_t at, size_t alignment) {
    return (at + alignment - 1) / alignment * alignment;
}

// Behind parameters that begin at `At`.
template <size_t At, class... Parameters>
struct cutune_end : std::integral_constant<size_t, At> {};

template <size_t At, class First, class... Rest>
struct cutune_end<At, First, Rest...>
    : cutune_end<cutune_align(At, alignof(First)) + sizeof(First), Rest...> {};

// Parameter `Place` of those that begin at `At`.
template <size_t At, unsigned Place, class First, class... Rest>
struct cutune_parameter
    : cutune_parameter<cutune_end<At, First>::value, Place - 1, Rest...> {};

template <size_t At, class First, class... Rest>
struct cutune_parameter<At, 0, First, Rest...> {
    typedef First type;
    enum : size_t { at = cutune_align(At, alignof(First)) };
};

template <class... Parameters>
struct cutune_are_plain : std::true_type {};

template <class First, class... Rest>
struct cutune_are_plain<First, Rest...>
    : std::integral_constant<bool, std::is_trivially_copyable<First>::value &&
                                       cutune_are_plain<Rest...>::value> {};

template <unsigned Place, class... Parameters>
inline const typename cutune_parameter<0, Place, Parameters...>::type &cutune_passed(
    void (*)(Parameters...), const char *bytes) {
    typedef cutune_parameter<0, Place, Parameters...> parameter;
    return *reinterpret_cast<const typename parameter::type *>(bytes + parameter::at);
}

int (*cutune_current_context)(void **) = nullptr;

// In another context the driver refuses a kernel, but the runtime has a copy for each.
inline bool cutune_is_current(const void *context) {
    void *current = nullptr;
    return cutune_current_context != nullptr && cutune_current_context(&current) == 0 &&
           current != nullptr && current == context;
}

// Are these the bytes of its arguments? Then they are copied to where each is aligned.
template <class... Parameters>
inline bool cutune_take_arguments(void (*)(Parameters...), const void *context, char *to,
                                  const void *bytes, int bytes_of_all) {
    const size_t size = static_cast<size_t>(bytes_of_all);
    // With an error pending nobody could tell whose the next one is.
    if (size != cutune_end<0, Parameters...>::value || size > cutune_most_bytes ||
        !cutune_are_plain<Parameters...>::value || !cutune_is_current(context) ||
        cudaPeekAtLastError() != cudaSuccess)
        return false;
    if (size != 0) memcpy(to, bytes, size);
    return true;
}

}  // namespace

// Is told the driver's cuCtxGetCurrent, which the runtime does not have.
extern "C" void cutune_ask_driver(int (*current_context)(void **)) {
    cutune_current_context = current_context;
}
