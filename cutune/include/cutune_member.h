// Integers in structures that are arguments of a launch: `cutune_member< ::Grid, 2>(g, &::Grid::nx)`
// is g.nx, where g is argument 2, a ::Grid. Needs cutune_launch.h before it.
#ifndef CUTUNE_MEMBER_H
#define CUTUNE_MEMBER_H

// An integer in a structure that is an argument: which argument, and where in it.
struct cutune_member_value {
    long long value;
    int argument, offset, bytes;
    bool is_signed;
};

template <>
struct cutune_is_integer<cutune_member_value> : std::true_type {};

inline long long cutune_integer(const cutune_member_value &member) { return member.value; }

// What the last of several pointers to members points to.
template <class First, class... Rest>
struct cutune_reached : cutune_reached<Rest...> {};

template <class M, class T>
struct cutune_reached<M T::*> : std::remove_cv<M> {};

template <class T, class M>
inline const M &cutune_follow(const T &object, M T::*step) {
    return object.*step;
}

template <class T, class M, class... Rest>
inline const typename cutune_reached<Rest...>::type &cutune_follow(const T &object, M T::*step,
                                                                   Rest... rest) {
    return cutune_follow(object.*step, rest...);
}

template <int Argument, class T, class... Steps>
inline cutune_member_value cutune_member_of(std::true_type, const T &object, Steps... steps) {
    typename cutune_reached<Steps...>::type value;
    const char *const place = &reinterpret_cast<const char &>(cutune_follow(object, steps...));
    // It need not be aligned.
    __builtin_memcpy(&value, place, sizeof value);
    const long long offset = place - &reinterpret_cast<const char &>(object);
    const cutune_member_value member = {cutune_integer(value), Argument, static_cast<int>(offset),
                                        static_cast<int>(sizeof value),
                                        std::is_signed<decltype(value)>::value};
    return member;
}

template <int Argument, class T, class... Steps>
inline cutune_unseen cutune_member_of(std::false_type, const T &, Steps...) {
    return cutune_unseen();
}

// A kernel gets the bytes of a structure, unless copying it runs code that may change them.
template <class T, class... Steps>
struct cutune_is_seen
    : std::integral_constant<bool,
                             std::is_trivially_copyable<T>::value &&
                                 cutune_is_integer<typename cutune_reached<Steps...>::type>::value> {
};

template <class T, int Argument, class... Steps>
inline typename std::conditional<cutune_is_seen<T, Steps...>::value, cutune_member_value,
                                 cutune_unseen>::type
cutune_member(const T &object, Steps... steps) {
    return cutune_member_of<Argument>(typename cutune_is_seen<T, Steps...>::type(), object,
                                      steps...);
}

#endif  // CUTUNE_MEMBER_H
