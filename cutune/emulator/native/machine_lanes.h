// Handlers from expressions: OP2(add_b32, u32, u32, u32, a + b) registers the handler `add_b32`,
// which gives d = a + b in every active lane. The front end reads names and types of all handlers
// from these lines (cutune/emulator/lower/opcodes.py), so each stands on a line of its own. Lines
// that several types have in common form a family, a macro whose name ends in _OPERATIONS.
#pragma once
#include "machine_version.h"

namespace cutune {

// An operand: the value that each lane of a register holds.
template <class T, u32 Instruction::*REGISTER> class Operand {
  public:
    using Type = T;
    static ALWAYS_INLINE T of_all(const Instruction* i, const Warp& w) {
        return unpack<T>(scalar<T>(w, i->*REGISTER));
    }
    ALWAYS_INLINE Operand(const Instruction* i, Warp& w) : lanes_(lanes<T>(w, i->*REGISTER)) {}
    ALWAYS_INLINE T operator[](u32 l) const { return unpack<T>(lanes_[l]); }

  private:
    const Lane<T>* lanes_;
};
template <class T> using First = Operand<T, &Instruction::a>;
template <class T> using Second = Operand<T, &Instruction::b>;
template <class T> using Third = Operand<T, &Instruction::c>;

template <class Op, class D, class... From>
ALWAYS_INLINE const Instruction* give_together(const Instruction* i, Warp& w, const From... from) {
    Lane<D>* d = lanes<D>(w, i->d);
    if (w.full) {
#pragma GCC ivdep
        for (u32 l = 0; l < LANES; l++) d[l] = pack<D>(Op::of(from[l]...));
    } else {
#pragma GCC ivdep
        for (u32 l = 0; l < LANES; l++) {
            const Lane<D> value = pack<D>(Op::of(from[l]...));
            d[l] = w.active[l] ? value : d[l];
        }
    }
    return run_on(i + 1, w);
}
template <class Op, class D, class... From>
const Instruction* together(const Instruction* i, Warp& w) {
    return give_together<Op, D>(i, w, From(i, w)...);
}

// The same lane by lane, for what no vector unit does (calls, integer division).
template <class Op, class D, class... From>
ALWAYS_INLINE const Instruction* give_each(const Instruction* i, Warp& w, const From... from) {
    Lane<D>* d = lanes<D>(w, i->d);
    FOR_ACTIVE(w, l) d[l] = pack<D>(Op::of(from[l]...));
    return run_on(i + 1, w);
}
template <class Op, class D, class... From>
const Instruction* each(const Instruction* i, Warp& w) {
    return give_each<Op, D>(i, w, From(i, w)...);
}

// The same once, for operands that are uniform: see machine_version.h.
template <class Op, class D, class... From>
const Instruction* once(const Instruction* i, Warp& w) {
    set_scalar<D>(w, i->d, pack<D>(Op::of(From::of_all(i, w)...)));
    return run_on(i + 1, w);
}

// The same in all lanes, where some operands are uniform.
template <class T, u32 Instruction::*REGISTER> class Everywhere {
  public:
    ALWAYS_INLINE Everywhere(const Instruction* i, Warp& w)
        : value_(Operand<T, REGISTER>::of_all(i, w)) {}
    ALWAYS_INLINE T operator[](u32) const { return value_; }

  private:
    T value_;
};
template <class Op, class D, class... From>
ALWAYS_INLINE const Instruction* give_full(const Instruction* i, Warp& w, const From... from) {
    Lane<D>* d = lanes<D>(w, i->d);
#pragma GCC ivdep
    for (u32 l = 0; l < LANES; l++) d[l] = pack<D>(Op::of(from[l]...));
    return run_on(i + 1, w);
}
template <class Op, class D, class... From>
const Instruction* mixed(const Instruction* i, Warp& w) {
    return give_full<Op, D>(i, w, From(i, w)...);
}

struct Mixed {
    Mixed(const char* name, u32 which, Handler handler) { forms()[name].mixed[which] = handler; }
};

// Which NaN a double operation gives is the choice of the compiler, so it is made in one place.
struct Operation : Registration {
    template <class Op, class D, class... From> struct Of {};
    template <class Op, class D, class... From>
    Operation(const char* name, Handler handler, Of<Op, D, From...>) : Registration(name, handler) {
        Form& form = forms()[name];
        form.role = Form::regular;
        const u8 widths[] = {sizeof(Lane<D>), sizeof(Lane<typename From::Type>)...};
        for (u32 k = 0; k <= sizeof...(From); k++) form.width[k] = widths[k];
        if (!std::is_same<D, f64>::value) form.uniform = &once<Op, D, From...>;
    }
};

#define REGISTER_OPERATION(name, how, ...) \
    const Operation register_##name(#name, &how<Op_##name, __VA_ARGS__>, \
                                    Operation::Of<Op_##name, __VA_ARGS__>());

#define OPERATION_1(name, how, D, A, ...) \
    namespace { struct Op_##name { static ALWAYS_INLINE D of(A a) { return __VA_ARGS__; } }; \
    REGISTER_OPERATION(name, how, D, First<A>) }
#define OPERATION_2(name, how, D, A, B, ...) \
    namespace { struct Op_##name { static ALWAYS_INLINE D of(A a, B b) { return __VA_ARGS__; } }; \
    REGISTER_OPERATION(name, how, D, First<A>, Second<B>) }
#define OPERATION_3(name, how, D, A, B, C, ...) \
    namespace { struct Op_##name { static ALWAYS_INLINE D of(A a, B b, C c) { return __VA_ARGS__; } }; \
    REGISTER_OPERATION(name, how, D, First<A>, Second<B>, Third<C>) }

// Operations that are often given uniform operands beside others, with a handler for each case.
#define MIXED_2(name, D, A, B) \
    MIXED_CASE(name, 1, D, Everywhere<A, &Instruction::a>, Second<B>) \
    MIXED_CASE(name, 2, D, First<A>, Everywhere<B, &Instruction::b>)
#define MIXED_3(name, D, A, B, C) \
    MIXED_CASE(name, 1, D, Everywhere<A, &Instruction::a>, Second<B>, Third<C>) \
    MIXED_CASE(name, 2, D, First<A>, Everywhere<B, &Instruction::b>, Third<C>) \
    MIXED_CASE(name, 3, D, Everywhere<A, &Instruction::a>, Everywhere<B, &Instruction::b>, Third<C>) \
    MIXED_CASE(name, 4, D, First<A>, Second<B>, Everywhere<C, &Instruction::c>) \
    MIXED_CASE(name, 5, D, Everywhere<A, &Instruction::a>, Second<B>, Everywhere<C, &Instruction::c>) \
    MIXED_CASE(name, 6, D, First<A>, Everywhere<B, &Instruction::b>, Everywhere<C, &Instruction::c>)
#define MIXED_CASE(name, which, ...) \
    static const Mixed mixed_##name##_##which(#name, which, &mixed<Op_##name, __VA_ARGS__>);

#define OP1(name, D, A, ...) OPERATION_1(name, together, D, A, __VA_ARGS__)
#define OP2(name, D, A, B, ...) OPERATION_2(name, together, D, A, B, __VA_ARGS__)
#define OP3(name, D, A, B, C, ...) OPERATION_3(name, together, D, A, B, C, __VA_ARGS__)
#define EACH1(name, D, A, ...) OPERATION_1(name, each, D, A, __VA_ARGS__)
#define EACH2(name, D, A, B, ...) OPERATION_2(name, each, D, A, B, __VA_ARGS__)
#define EACH3(name, D, A, B, C, ...) OPERATION_3(name, each, D, A, B, C, __VA_ARGS__)

// A handler written out: the front end knows its operands by name (lower.py).
#define HANDLER(name) \
    static const Instruction* handle_##name(const Instruction*, Warp&); \
    static const Registration register_##name(#name, &handle_##name); \
    static const Instruction* handle_##name([[maybe_unused]] const Instruction* i, \
                                            [[maybe_unused]] Warp& w)
#define HANDLER_OF(name, ...) static const Registration register_##name(#name, &__VA_ARGS__);

}  // namespace cutune
