// Handlers from expressions: OP2(add_b32, u32, u32, u32, a + b) registers the handler `add_b32`,
// which gives d = a + b in every active lane. The front end reads names and types of all handlers
// from these lines (cutune/emulator/lower/opcodes.py), so each stands on a line of its own. Lines
// that several types have in common form a family, a macro whose name ends in _OPERATIONS.
#pragma once
#include "machine_core.h"

namespace cutune {

// `i` is the instruction, for operations that depend on its flags.
template <class Op, class D, class A>
const Instruction* unary(const Instruction* i, Warp& w) {
    Lane<D>* d = lanes<D>(w, i->d);
    const Lane<A>* a = lanes<A>(w, i->a);
    if (w.full) {
#pragma GCC ivdep
        for (u32 l = 0; l < LANES; l++) d[l] = pack<D>(Op::of(unpack<A>(a[l])));
    } else {
#pragma GCC ivdep
        for (u32 l = 0; l < LANES; l++) {
            const Lane<D> value = pack<D>(Op::of(unpack<A>(a[l])));
            d[l] = w.active[l] ? value : d[l];
        }
    }
    return i + 1;
}

template <class Op, class D, class A, class B>
const Instruction* binary(const Instruction* i, Warp& w) {
    Lane<D>* d = lanes<D>(w, i->d);
    const Lane<A>* a = lanes<A>(w, i->a);
    const Lane<B>* b = lanes<B>(w, i->b);
    if (w.full) {
#pragma GCC ivdep
        for (u32 l = 0; l < LANES; l++) d[l] = pack<D>(Op::of(unpack<A>(a[l]), unpack<B>(b[l])));
    } else {
#pragma GCC ivdep
        for (u32 l = 0; l < LANES; l++) {
            const Lane<D> value = pack<D>(Op::of(unpack<A>(a[l]), unpack<B>(b[l])));
            d[l] = w.active[l] ? value : d[l];
        }
    }
    return i + 1;
}

template <class Op, class D, class A, class B, class C>
const Instruction* ternary(const Instruction* i, Warp& w) {
    Lane<D>* d = lanes<D>(w, i->d);
    const Lane<A>* a = lanes<A>(w, i->a);
    const Lane<B>* b = lanes<B>(w, i->b);
    const Lane<C>* c = lanes<C>(w, i->c);
    if (w.full) {
#pragma GCC ivdep
        for (u32 l = 0; l < LANES; l++)
            d[l] = pack<D>(Op::of(unpack<A>(a[l]), unpack<B>(b[l]), unpack<C>(c[l])));
    } else {
#pragma GCC ivdep
        for (u32 l = 0; l < LANES; l++) {
            const Lane<D> value =
                pack<D>(Op::of(unpack<A>(a[l]), unpack<B>(b[l]), unpack<C>(c[l])));
            d[l] = w.active[l] ? value : d[l];
        }
    }
    return i + 1;
}

// The same lane by lane, for what no vector unit does (calls, integer division).
template <class Op, class D, class A>
const Instruction* unary_each(const Instruction* i, Warp& w) {
    Lane<D>* d = lanes<D>(w, i->d);
    const Lane<A>* a = lanes<A>(w, i->a);
    FOR_ACTIVE(w, l) d[l] = pack<D>(Op::of(unpack<A>(a[l])));
    return i + 1;
}

template <class Op, class D, class A, class B>
const Instruction* binary_each(const Instruction* i, Warp& w) {
    Lane<D>* d = lanes<D>(w, i->d);
    const Lane<A>* a = lanes<A>(w, i->a);
    const Lane<B>* b = lanes<B>(w, i->b);
    FOR_ACTIVE(w, l) d[l] = pack<D>(Op::of(unpack<A>(a[l]), unpack<B>(b[l])));
    return i + 1;
}

template <class Op, class D, class A, class B, class C>
const Instruction* ternary_each(const Instruction* i, Warp& w) {
    Lane<D>* d = lanes<D>(w, i->d);
    const Lane<A>* a = lanes<A>(w, i->a);
    const Lane<B>* b = lanes<B>(w, i->b);
    const Lane<C>* c = lanes<C>(w, i->c);
    FOR_ACTIVE(w, l)
        d[l] = pack<D>(Op::of(unpack<A>(a[l]), unpack<B>(b[l]), unpack<C>(c[l])));
    return i + 1;
}

#define OPERATION_1(name, how, D, A, ...) \
    namespace { struct Op_##name { static ALWAYS_INLINE D of(A a) { return __VA_ARGS__; } }; \
    const Registration register_##name(#name, &how<Op_##name, D, A>); }
#define OPERATION_2(name, how, D, A, B, ...) \
    namespace { struct Op_##name { static ALWAYS_INLINE D of(A a, B b) { return __VA_ARGS__; } }; \
    const Registration register_##name(#name, &how<Op_##name, D, A, B>); }
#define OPERATION_3(name, how, D, A, B, C, ...) \
    namespace { struct Op_##name { static ALWAYS_INLINE D of(A a, B b, C c) { return __VA_ARGS__; } }; \
    const Registration register_##name(#name, &how<Op_##name, D, A, B, C>); }

#define OP1(name, D, A, ...) OPERATION_1(name, unary, D, A, __VA_ARGS__)
#define OP2(name, D, A, B, ...) OPERATION_2(name, binary, D, A, B, __VA_ARGS__)
#define OP3(name, D, A, B, C, ...) OPERATION_3(name, ternary, D, A, B, C, __VA_ARGS__)
#define EACH1(name, D, A, ...) OPERATION_1(name, unary_each, D, A, __VA_ARGS__)
#define EACH2(name, D, A, B, ...) OPERATION_2(name, binary_each, D, A, B, __VA_ARGS__)
#define EACH3(name, D, A, B, C, ...) OPERATION_3(name, ternary_each, D, A, B, C, __VA_ARGS__)

// A handler written out: the front end knows its operands by name (lower.py).
#define HANDLER(name) \
    static const Instruction* handle_##name(const Instruction*, Warp&); \
    static const Registration register_##name(#name, &handle_##name); \
    static const Instruction* handle_##name([[maybe_unused]] const Instruction* i, \
                                            [[maybe_unused]] Warp& w)
#define HANDLER_OF(name, ...) static const Registration register_##name(#name, &__VA_ARGS__);

}  // namespace cutune
