// Barriers that are objects in shared memory (PTX manual, mbarrier). The 64-bit object holds the
// threads that are expected in a phase, those still missing, and the number of phases completed;
// the state that an arrival returns is the object before it.
#include "machine_access.h"

namespace cutune {
namespace {

struct Object {
    u32 expected, pending, phase;  // 20, 20 and 24 bits
};

constexpr u64 LOW = (1u << 20) - 1;

Object unpacked(u64 x) { return {u32(x & LOW), u32(x >> 20 & LOW), u32(x >> 40)}; }
u64 packed(const Object& o) { return o.expected | u64(o.pending) << 20 | u64(o.phase) << 40; }

void arrive(Object& o, u32 count) {
    o.pending -= count < o.pending ? count : o.pending;
    if (o.pending) return;
    o.pending = o.expected;
    o.phase = (o.phase + 1) & 0xffffff;
}

// `f` takes the object and the lane, and changes the object.
template <class F> const Instruction* on_object(const Instruction* i, Warp& w, F f) {
    alignas(64) u64 address[LANES];
    if (i->flags & SHARED) addresses<SHARED_SPACE>(i, w, address);
    else addresses<GLOBAL_SPACE>(i, w, address);
    const u32 ghosts = checked<GLOBAL_SPACE, 8>(i, w, address, SCATTERED);
    watch(i, w, address, 8, 1, SCATTERED);
    FOR_ACTIVE(w, l) {
        if (ghosts >> l & 1) continue;
        Object o = unpacked(read<u64>(address[l]));
        f(o, l);
        write<u64>(address[l], packed(o));
    }
    return i + 1;
}

}  // namespace

// b: expected threads.
HANDLER(mbarrier_init) {
    const u32* count = w.narrow(i->b);
    return on_object(i, w, [&](Object& o, u32 l) { o = {count[l], count[l], 0}; });
}

// b: how many arrive, d: the state before (or NO_REGISTER), c: the constant 1 when they also leave.
HANDLER(mbarrier_arrive) {
    const u32 *count = w.narrow(i->b), *drop = w.narrow(i->c);
    u64* d = i->d == NO_REGISTER ? nullptr : w.wide(i->d);
    return on_object(i, w, [&](Object& o, u32 l) {
        if (d) d[l] = packed(o);
        if (drop[l]) o.expected -= count[l];
        arrive(o, count[l]);
    });
}

// d: has the phase of state b been completed?
HANDLER(mbarrier_test) {
    u32* d = w.narrow(i->d);
    const u64* state = w.wide(i->b);
    if (!w.groups.empty()) w.spins++;
    return on_object(i, w, [&](Object& o, u32 l) { d[l] = unpacked(state[l]).phase != o.phase; });
}

// d: has the phase of parity b been completed?
HANDLER(mbarrier_test_parity) {
    u32* d = w.narrow(i->d);
    const u32* parity = w.narrow(i->b);
    if (!w.groups.empty()) w.spins++;
    return on_object(i, w, [&](Object& o, u32 l) { d[l] = (o.phase & 1) != (parity[l] & 1); });
}

OP1(mbarrier_pending, u32, u64, u32(a >> 20 & 0xfffff))

// d: does an asynchronous copy of imm bytes read a of them, all or none?
HANDLER(copies_all) {
    const u32* a = w.narrow(i->a);
    u32* d = w.narrow(i->d);
    FOR_ACTIVE(w, l) {
        if (a[l] != 0 && a[l] != i->imm)
            fail(Outcome::unsupported, i, w, l, "cp.async that fills part of its bytes with zeros");
        d[l] = a[l] != 0;
    }
    return i + 1;
}

}  // namespace cutune
