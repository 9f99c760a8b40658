// Atomics: lane by lane, in order. Host atomics only where other threads run blocks too.
#include "machine_access.h"
#include "machine_half.h"
#include "machine_numbers.h"
#include "machine_values.h"

namespace cutune {
namespace {

// Replace the value at an address by f of it, as one step for other threads; gives the old value.
template <class T, class F> T exchange(u64 address, F f) {
    Lane<T>* const place = reinterpret_cast<Lane<T>*>(address);
    Lane<T> old = __atomic_load_n(place, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(place, &old, pack<T>(f(unpack<T>(old))), true,
                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
    return unpack<T>(old);
}

// `f` takes the value in memory and the operands b and c; it gives the new value.
template <class T, class F> const Instruction* atomic(const Instruction* i, Warp& w, F f) {
    alignas(64) u64 address[LANES];
    if (i->flags & SHARED) addresses<SHARED_SPACE>(i, w, address);
    else addresses<GLOBAL_SPACE>(i, w, address);
    const Pattern pattern = pattern_of<sizeof(T)>(w, address);
    const u32 ghosts = checked<GLOBAL_SPACE, sizeof(T)>(i, w, address, pattern);
    watch(i, w, address, sizeof(T), 1, pattern);
    const Lane<T> *b = lanes<T>(w, i->b), *c = lanes<T>(w, i->c);
    Lane<T>* d = i->d == NO_REGISTER ? nullptr : lanes<T>(w, i->d);
    // Only operations on whole registers are ever spread over threads (machine_load.cpp).
    if constexpr (sizeof(T) == sizeof(Lane<T>)) {
        if (UNLIKELY(!w.execution->alone && !ghosts && !d)) {
            FOR_ACTIVE(w, l) {
                const T second = unpack<T>(b[l]), third = unpack<T>(c[l]);
                exchange<T>(address[l], [&](T old) { return f(old, second, third); });
            }
            return i + 1;
        }
    }
    FOR_ACTIVE(w, l) {
        T old{};
        if (!(ghosts >> l & 1)) {
            old = read<T>(address[l]);
            write<T>(address[l], f(old, unpack<T>(b[l]), unpack<T>(c[l])));
        }
        if (d) d[l] = pack<T>(old);
    }
    return i + 1;
}

template <class F> u16 sum(u16 a, u16 b) {
    return F::narrowed(sum_to_odd(F::widened(a), F::widened(b)));
}

}  // namespace

#define ATOMIC(name, T, ...) \
    HANDLER(name) { \
        return atomic<T>(i, w, [](T a, [[maybe_unused]] T b, [[maybe_unused]] T c) -> T { return __VA_ARGS__; }); \
    }

ATOMIC(atom_add_b32, u32, a + b)
ATOMIC(atom_add_b64, u64, a + b)
// atom.add.f32 flushes subnormal numbers in global memory (PTX manual, atom).
ATOMIC(atom_add_f32, f32, flush(flush(a) + flush(b)))
ATOMIC(atom_add_f64, f64, a + b)
ATOMIC(atom_add_f16, u16, sum<Half>(a, b))
ATOMIC(atom_add_bf16, u16, sum<Brain>(a, b))
ATOMIC(atom_add_f16x2, u32, both<sum<Half>>(a, b))
ATOMIC(atom_add_bf16x2, u32, both<sum<Brain>>(a, b))
ATOMIC(atom_min_u32, u32, a < b ? a : b)
ATOMIC(atom_min_s32, s32, a < b ? a : b)
ATOMIC(atom_min_u64, u64, a < b ? a : b)
ATOMIC(atom_min_s64, s64, a < b ? a : b)
ATOMIC(atom_max_u32, u32, a > b ? a : b)
ATOMIC(atom_max_s32, s32, a > b ? a : b)
ATOMIC(atom_max_u64, u64, a > b ? a : b)
ATOMIC(atom_max_s64, s64, a > b ? a : b)
// Maxima and minima as other functions (machine_functions.cpp).
#define JOINED(W, salt) functions::joined<functions::JoinedIntegers<W>, W>(functions::salt, a, b)
ATOMIC(atom_joined_max_b32, u32, JOINED(u32, LARGEST))
ATOMIC(atom_joined_min_b32, u32, JOINED(u32, SMALLEST))
ATOMIC(atom_joined_max_b64, u64, JOINED(u64, LARGEST))
ATOMIC(atom_joined_min_b64, u64, JOINED(u64, SMALLEST))
ATOMIC(atom_and_b32, u32, a & b)
ATOMIC(atom_and_b64, u64, a & b)
ATOMIC(atom_or_b32, u32, a | b)
ATOMIC(atom_or_b64, u64, a | b)
ATOMIC(atom_xor_b32, u32, a ^ b)
ATOMIC(atom_xor_b64, u64, a ^ b)
ATOMIC(atom_exch_b32, u32, b)
ATOMIC(atom_exch_b64, u64, b)
ATOMIC(atom_cas_b16, u16, a == b ? c : a)
ATOMIC(atom_cas_b32, u32, a == b ? c : a)
ATOMIC(atom_cas_b64, u64, a == b ? c : a)
ATOMIC(atom_inc_u32, u32, a >= b ? 0 : a + 1)
ATOMIC(atom_dec_u32, u32, a == 0 || a > b ? b : a - 1)

}  // namespace cutune
