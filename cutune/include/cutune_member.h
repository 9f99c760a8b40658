// Integers in structures that are arguments of a launch. Where argument 2 is a ::Grid g,
// `cutune_member< ::Grid, 2, cutune_place<decltype(&::Grid::nx), &::Grid::nx> >` is g.nx.
// Needs cutune_launch.h before it.
#ifndef CUTUNE_MEMBER_H
#define CUTUNE_MEMBER_H

// An integer in a structure that is an argument: which argument, and where in it.
struct cutune_member_value {
    long long value;
    int argument, offset, bytes;
    bool is_signed;
};

// A member of which nothing is known: the argument is another type than it seemed.
struct cutune_unseen {};

template <>
struct cutune_is_integer<cutune_member_value> : std::true_type {};

inline long long cutune_integer(const cutune_member_value &member) { return member.value; }

// One pointer to a member.
template <class Pointer, Pointer member>
struct cutune_place;

template <class M, class T, M T::*member>
struct cutune_place<M T::*, member> {
    typedef M type;
    static const M &of(const T &object) { return object.*member; }
};

// An element of an array that is a member.
template <class Pointer, Pointer member, unsigned index>
struct cutune_item;

template <class M, size_t count, class T, M (T::*member)[count], unsigned index>
struct cutune_item<M (T::*)[count], member, index> {
    typedef M type;
    static const M &of(const T &object) { return (object.*member)[index]; }
};

// Several of them, one after the other.
template <class First, class... Rest>
struct cutune_places {
    typedef typename cutune_places<Rest...>::type type;
    template <class T>
    static const type &of(const T &object) {
        return cutune_places<Rest...>::of(First::of(object));
    }
};

template <class Last>
struct cutune_places<Last> {
    typedef typename Last::type type;
    template <class T>
    static const type &of(const T &object) {
        return Last::of(object);
    }
};

// The type of one of several arguments; none where there are fewer.
template <int index, class... Arguments>
struct cutune_argument_type {
    typedef cutune_unseen type;
};

template <class First, class... Rest>
struct cutune_argument_type<0, First, Rest...> {
    typedef typename std::remove_cv<First>::type type;
};

template <int index, class First, class... Rest>
struct cutune_argument_type<index, First, Rest...> : cutune_argument_type<index - 1, Rest...> {};

template <class T, int argument, class... Steps>
struct cutune_member {
    typedef typename std::remove_cv<typename cutune_places<Steps...>::type>::type type;

    // A kernel gets the bytes of a structure, unless copying it runs code that may change them.
    template <class... Arguments>
    struct is_seen
        : std::integral_constant<
              bool, cutune_is_integer<type>::value && std::is_trivially_copyable<T>::value &&
                        std::is_same<T, typename cutune_argument_type<
                                            argument, Arguments...>::type>::value> {};

    template <class... Arguments>
    static typename std::conditional<is_seen<Arguments...>::value, cutune_member_value,
                                     cutune_unseen>::type
    of(const volatile void *const *addresses) {
        return read(addresses, typename is_seen<Arguments...>::type());
    }

  private:
    static cutune_member_value read(const volatile void *const *addresses, std::true_type) {
        const T &object = *static_cast<const T *>(const_cast<const void *>(addresses[argument]));
        const char *const place =
            &reinterpret_cast<const char &>(cutune_places<Steps...>::of(object));
        type value;
        // It need not be aligned.
        __builtin_memcpy(&value, place, sizeof value);
        const long long offset = place - &reinterpret_cast<const char &>(object);
        const cutune_member_value member = {cutune_integer(value), argument,
                                            static_cast<int>(offset),
                                            static_cast<int>(sizeof value),
                                            std::is_signed<type>::value};
        return member;
    }
    static cutune_unseen read(const volatile void *const *, std::false_type) {
        return cutune_unseen();
    }
};

#endif  // CUTUNE_MEMBER_H
