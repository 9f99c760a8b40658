// Pointers in structures that are arguments of a launch: `cutune_inner<2, 8>` is the one that begins
// at byte 8 of argument 2. Needs cutune_launch.h before it.
#ifndef CUTUNE_INNER_H
#define CUTUNE_INNER_H

struct cutune_inner_pointer {
    long long address;
};

inline long long cutune_integer(const cutune_inner_pointer &pointer) { return pointer.address; }

// The code of the kernel says where it begins; a launch passes these bytes as they are. Null, which
// leads nowhere, where the argument is shorter, as in another instance of a template.
template <unsigned argument, unsigned begin>
struct cutune_inner {
    template <class... Arguments>
    static cutune_inner_pointer of(const volatile void *const *addresses) {
        static const size_t sizes[] = {sizeof(Arguments)...};
        const void *const whole = const_cast<const void *>(addresses[argument]);
        cutune_inner_pointer found = {0};
        if (begin + sizeof found <= sizes[argument])
            __builtin_memcpy(&found, static_cast<const char *>(whole) + begin, sizeof found);
        return found;
    }
};

#endif  // CUTUNE_INNER_H
