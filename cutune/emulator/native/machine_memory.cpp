// Loads and stores of all state spaces, and the checks that every access passes.
#include <algorithm>

#include "machine_access.h"
#include "machine_check.h"

namespace cutune {

namespace {

const char* const KIND_NAMES[] = {"load", "store", "atomic"};

bool holds(const Range& r, u64 address) { return r.size && address - r.base < r.size; }

// Where an address lies, whatever its space: everything has a host address.
Range find(const Execution& x, const Warp& w, u64 address) {
    const Launch& launch = x.launch;
    const Range ghost{launch.ghost_base, launch.ghost_size, FULL};
    const Range shared{reinterpret_cast<u64>(x.shared), x.shared_bytes, 0};
    const Range locals{reinterpret_cast<u64>(w.local_memory), x.local_stride * LANES, 0};
    const Range parameters{reinterpret_cast<u64>(x.parameters), x.kernel.code.parameter_bytes, 0};
    for (const Range& range : {ghost, shared, locals, parameters})
        if (holds(range, address)) return range;
    const auto& variables = x.module.variables;
    const auto after = std::upper_bound(
        variables.begin(), variables.end(), address,
        [](u64 value, const Variable& variable) { return value < variable.address; });
    if (after != variables.begin()) {
        const Range variable{(after - 1)->address, (after - 1)->size, 0};
        if (holds(variable, address)) return variable;
    }
    const Allocation* allocation = x.memory.find(address);
    if (!allocation || !allocation->live) return {};
    return {allocation->base, allocation->size, 0};
}

std::string hexadecimal(u64 value) {
    char text[20];
    snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
    return text;
}

std::string access_text(const Instruction* i, const Execution& x, u32 bytes) {
    return std::string(KIND_NAMES[x.module.sites[i->x].kind]) + " of " + std::to_string(bytes) +
           " bytes at ";
}

// An access that a GPU would not survive: the end of the launch, or of the lane's access where a
// checker wants to see more of them.
void refuse(Hazard hazard, const Instruction* i, const Warp& w, u32 lane, const std::string& text) {
    Execution& x = *w.execution;
    const Outcome outcome = hazard == Hazard::misaligned ? Outcome::misaligned_address
                                                         : Outcome::illegal_address;
    if (!x.launch.checker) fail(outcome, i, w, lane, text);
    x.launch.checker->refuse(hazard, i, w, lane, text);
    if (x.report.outcome != Outcome::ok) return;
    x.report.outcome = outcome;
    x.report.message = x.place(i, w, lane) + ": " + text;
}

// `range` holds the first byte at least; `before` is what the instruction touched last.
void out_of_bounds(const Instruction* i, const Warp& w, u32 lane, u64 address, u32 bytes,
                   const Range& range, const Range& before) {
    const Execution& x = *w.execution;
    const std::string text = access_text(i, x, bytes);
    if (i->flags & SHARED) {
        const u64 offset = address - reinterpret_cast<u64>(x.shared);
        return refuse(Hazard::out_of_bounds, i, w, lane,
                      text + "shared address " + hexadecimal(offset) + ", but the block has " +
                          std::to_string(x.shared_bytes) + " bytes");
    }
    if (range.size)
        return refuse(Hazard::out_of_bounds, i, w, lane,
                      text + hexadecimal(address) + " reaches past an allocation of " +
                          std::to_string(range.size) + " bytes");
    if (x.memory.find(address))
        return refuse(Hazard::use_after_free, i, w, lane,
                      text + hexadecimal(address) + ", which was freed");
    std::string where = ", which is in no allocation";
    if (before.size && address > before.base)
        where += "; it is " + std::to_string(address - before.base) +
                 " bytes behind the beginning of one of " + std::to_string(before.size) + " bytes";
    refuse(Hazard::out_of_bounds, i, w, lane, text + hexadecimal(address) + where);
}

}  // namespace

u32 resolve(const Instruction* i, Warp& w, const u64* address, u32 bytes) {
    Execution& x = *w.execution;
    u32 ghosts = 0;
    FOR_ACTIVE(w, l) {
        const u64 a = address[l];
        if (a & (bytes - 1)) {
            refuse(Hazard::misaligned, i, w, l, access_text(i, x, bytes) + hexadecimal(a));
            ghosts |= 1u << l;
            continue;
        }
        Range& range = x.ranges[i->x];
        const Range before = range;
        if (!holds(range, a)) {
            range = find(x, w, a);
            const bool shared = range.base == reinterpret_cast<u64>(x.shared);
            if ((i->flags & SHARED) && !shared) range = {};
        }
        if (!range.size || range.size - (a - range.base) < bytes) {
            out_of_bounds(i, w, l, a, bytes, range, before);
            range = before;
            ghosts |= 1u << l;
            continue;
        }
        ghosts |= range.ghosts & (1u << l);
    }
    return ghosts;
}

namespace {

// Registers wider than the type are sign- or zero-extended.
template <class T> ALWAYS_INLINE Lane<T> extended(T value) { return static_cast<Lane<T>>(value); }

// What every access begins with: N elements of type T per lane.
template <class T, u32 N, Space S> struct Access {
    alignas(64) u64 address[LANES];
    Pattern pattern;
    u32 ghosts;

    ALWAYS_INLINE Access(const Instruction* i, Warp& w) {
        addresses<S>(i, w, address);
        pattern = pattern_of<N * sizeof(T)>(w, address);
        ghosts = checked<S, N * sizeof(T)>(i, w, address, pattern);
        watch(i, w, address, N * sizeof(T), N, pattern);
    }
};

// The registers of a vector stand in the module's table of further operands.
template <u32 N> ALWAYS_INLINE const u32* registers(const Instruction* i, const Warp& w,
                                                    const u32& single) {
    return N == 1 ? &single : &w.execution->module.operands[further_operands(*i)];
}

// Side by side in both; one of them is a register.
template <class To, class From> ALWAYS_INLINE void copy_lanes(To* to, const From* from) {
    if constexpr (sizeof(To) == sizeof(From)) {
        memcpy(to, from, LANES * sizeof(To));
    } else {
#pragma GCC ivdep
        for (u32 l = 0; l < LANES; l++) to[l] = static_cast<To>(from[l]);
    }
}

template <class T> ALWAYS_INLINE void load_uniform(Lane<T>* d, u64 address) {
    const Lane<T> value = extended(read<T>(address));
    for (u32 l = 0; l < LANES; l++) d[l] = value;
}

// Rows of eight lanes, each uniform or sequential.
template <class T> ALWAYS_INLINE void load_row(Lane<T>* d, const T* from, bool sequential) {
    typedef Lane<T> Row __attribute__((vector_size(ROW * sizeof(Lane<T>))));
    if (!sequential) {
        *reinterpret_cast<Row*>(d) = Row{} + extended(*from);
    } else if (sizeof(T) == sizeof(Lane<T>)) {
        memcpy(d, from, sizeof(Row));
    } else {
        for (u32 l = 0; l < ROW; l++) d[l] = extended(from[l]);
    }
}

// A full warp's load from shared memory whose lanes lie in rows, by 32-bit offsets: half the work
// of host addresses. False: it has another shape, leaves the memory or is to be watched, and
// nothing was done.
template <class T> ALWAYS_INLINE bool load_shared_rows(const Instruction* i, Warp& w) {
    const Execution& x = *w.execution;
    if (!w.full || is_watched(i, w)) return false;
    const u32* const a = w.narrow(i->a);
    constexpr u32 B = sizeof(T);
    const u32 step = a[1] - a[0];
    if (step != 0 && step != B) return false;
    const Sixteen starts = {0, 0, 0, 0, 0, 0, 0, 0, 8, 8, 8, 8, 8, 8, 8, 8};
    const Sixteen sequential = {0, B, 2 * B, 3 * B, 4 * B, 5 * B, 6 * B, 7 * B,
                                0, B, 2 * B, 3 * B, 4 * B, 5 * B, 6 * B, 7 * B};
    const Sixteen expected = step ? sequential : Sixteen{};
    const Sixteen low = *reinterpret_cast<const Sixteen*>(a);
    const Sixteen high = *reinterpret_cast<const Sixteen*>(a + 16);
    if (any((low ^ (__builtin_shuffle(low, starts) + expected)) |
            (high ^ (__builtin_shuffle(high, starts) + expected))))
        return false;
    const u32 shift = static_cast<u32>(i->imm), length = step * (ROW - 1) + B;
    const u8* from[LANES / ROW];
    bool wrong = x.shared_bytes < length;
    for (u32 row = 0; row < LANES / ROW; row++) {
        const u32 offset = a[row * ROW] + shift;
        wrong |= (offset > x.shared_bytes - length) | ((offset & (B - 1)) != 0);
        from[row] = x.shared + offset;
    }
    if (UNLIKELY(wrong)) return false;
    Lane<T>* const d = lanes<T>(w, i->d);
    for (u32 row = 0; row < LANES / ROW; row++)
        load_row(d + row * ROW, reinterpret_cast<const T*>(from[row]), step != 0);
    return true;
}

// Where a full warp's regular access begins and how it goes on, by the registers alone: an offset
// moves all lanes alike. SCATTERED: it has another shape, leaves the allocation, or a checker wants
// to see all addresses; then nothing has happened yet.
template <u32 BYTES> struct Regular {
    Pattern pattern = SCATTERED;
    u64 first = 0;
    bool ghosts = false;

    ALWAYS_INLINE Regular(const Instruction* i, Warp& w) {
        const Execution& x = *w.execution;
        const Range& range = x.ranges[i->x];
        if ((i->flags & (GUARDED | SPINNING)) || (x.watching && x.launch.checker)) return;
        const u64* const a = w.wide(i->a);
        const Pattern found = pattern_of<BYTES>(w, a);
        first = a[0] + i->imm;
        const u64 length = found == SEQUENTIAL ? LANES * BYTES : BYTES;
        if ((found != SEQUENTIAL && found != UNIFORM) || first & (BYTES - 1) ||
            range.size < length || first - range.base > range.size - length)
            return;
        pattern = found;
        ghosts = range.ghosts;
        if (UNLIKELY(x.watching)) observe(i, w, &first, BYTES, 1, found);
    }
};

template <class T> ALWAYS_INLINE bool load_regular(const Instruction* i, Warp& w) {
    const Regular<sizeof(T)> at(i, w);
    if (at.pattern == SCATTERED) return false;
    Lane<T>* const d = lanes<T>(w, i->d);
    if (at.ghosts) {
        memset(d, 0, LANES * sizeof(Lane<T>));
    } else if (at.pattern == UNIFORM) {
        load_uniform<T>(d, at.first);
    } else {
        copy_lanes(d, reinterpret_cast<const T*>(at.first));
    }
    return true;
}

template <u32 BYTES, class F> ALWAYS_INLINE void in_order_of_stores(u32 mask, F&& each) {
    constexpr u32 AT_ONCE = LANES_AT_ONCE<BYTES>;
    for (u32 first = 0; first < LANES; first += AT_ONCE)
        for (u32 l = first + AT_ONCE; l-- > first;)
            if (mask >> l & 1) each(l);
}

template <class T> ALWAYS_INLINE bool store_regular(const Instruction* i, Warp& w) {
    const Regular<sizeof(T)> at(i, w);
    if (at.pattern == SCATTERED) return false;
    if (at.ghosts) return true;
    const Lane<T>* const b = lanes<T>(w, i->b);
    if (at.pattern == UNIFORM) write<T>(at.first, static_cast<T>(b[LAST_STORED<sizeof(T)>]));
    else copy_lanes(reinterpret_cast<T*>(at.first), b);
    return true;
}

template <class T, Space S>
ALWAYS_INLINE void load_single(Lane<T>* d, const Warp& w, const Access<T, 1, S>& at) {
    if (at.pattern == SEQUENTIAL) {
        copy_lanes(d, reinterpret_cast<const T*>(at.address[0]));
    } else if (at.pattern == UNIFORM) {
        load_uniform<T>(d, at.address[0]);
    } else if (at.pattern == ROWS) {
        for (u32 row = 0; row < LANES; row += ROW)
            load_row(d + row, reinterpret_cast<const T*>(at.address[row]),
                     at.address[1] != at.address[0]);
    } else if (w.full) {
        for (u32 l = 0; l < LANES; l++) d[l] = extended(read<T>(at.address[l]));
    } else {
        FOR_ACTIVE(w, l) d[l] = extended(read<T>(at.address[l]));
    }
}

template <class T, u32 N, Space S> const Instruction* load(const Instruction* i, Warp& w) {
    if constexpr (S == SHARED_SPACE && N == 1)
        if (load_shared_rows<T>(i, w)) return run_on(i + 1, w);
    if constexpr (S == GLOBAL_SPACE && N == 1)
        if (load_regular<T>(i, w)) return run_on(i + 1, w);
    const Access<T, N, S> at(i, w);
    if constexpr (N == 1)
        if (!at.ghosts) {
            load_single<T, S>(lanes<T>(w, i->d), w, at);
            return run_on(i + 1, w);
        }
    const u32* const targets = registers<N>(i, w, i->d);
    if (w.full && at.ghosts == FULL) {
        for (u32 k = 0; k < N; k++) memset(lanes<T>(w, targets[k]), 0, LANES * sizeof(Lane<T>));
        return run_on(i + 1, w);
    }
    for (u32 k = 0; k < N; k++) {
        Lane<T>* d = lanes<T>(w, targets[k]);
        FOR_ACTIVE(w, l)
            d[l] = at.ghosts >> l & 1 ? 0 : extended(read<T>(at.address[l] + k * sizeof(T)));
    }
    return run_on(i + 1, w);
}

template <class T, u32 N, Space S> const Instruction* store(const Instruction* i, Warp& w) {
    if constexpr (S == GLOBAL_SPACE && N == 1)
        if (store_regular<T>(i, w)) return run_on(i + 1, w);
    const Access<T, N, S> at(i, w);
    if constexpr (N == 1)
        if (!at.ghosts && at.pattern == SEQUENTIAL) {
            copy_lanes(reinterpret_cast<T*>(at.address[0]), lanes<T>(w, i->b));
            return run_on(i + 1, w);
        }
    const u32* const sources = registers<N>(i, w, i->b);
    in_order_of_stores<N * sizeof(T)>(w.mask & ~at.ghosts, [&](u32 l) {
        for (u32 k = 0; k < N; k++)
            write<T>(at.address[l] + k * sizeof(T), static_cast<T>(lanes<T>(w, sources[k])[l]));
    });
    return run_on(i + 1, w);
}

// Parameters of a kernel are the same for all threads.
template <class T> const Instruction* load_parameter(const Instruction* i, Warp& w) {
    T value;
    memcpy(&value, w.execution->parameters + i->imm, sizeof value);
    Lane<T>* d = lanes<T>(w, i->d);
    if (w.full) {
        for (u32 l = 0; l < LANES; l++) d[l] = extended(value);
    } else {
        FOR_ACTIVE(w, l) d[l] = extended(value);
    }
    return run_on(i + 1, w);
}

HANDLER(local_address) {
    u64* d = w.wide(i->d);
    FOR_ACTIVE(w, l) d[l] = w.frame_pointer + i->imm;
    return run_on(i + 1, w);
}

HANDLER(parameter_address) {
    u64* d = w.wide(i->d);
    FOR_ACTIVE(w, l) d[l] = reinterpret_cast<u64>(w.execution->parameters) + i->imm;
    return run_on(i + 1, w);
}

HANDLER(dynamic_shared_address) {
    u32* d = w.narrow(i->d);
    const u32 start = (w.execution->kernel.code.static_shared_bytes + 15) / 16 * 16;
    FOR_ACTIVE(w, l) d[l] = start;
    return run_on(i + 1, w);
}

u64 lane_base(const Warp& w, u32 l) {
    return reinterpret_cast<u64>(w.local_memory) + l * w.execution->local_stride;
}

u64 shared_base(const Warp& w) { return reinterpret_cast<u64>(w.execution->shared); }

// What `f` gives for the address that an active lane holds.
template <class T, class F> const Instruction* of_address(const Instruction* i, Warp& w, F f) {
    Lane<T>* d = lanes<T>(w, i->d);
    const u64* a = w.wide(i->a);
    FOR_ACTIVE(w, l) d[l] = f(a[l], l);
    return run_on(i + 1, w);
}

// Generic addresses are host addresses; those in the shared and local windows are offsets.
HANDLER(cvta_local) { return of_address<u64>(i, w, [&](u64 a, u32 l) { return a + lane_base(w, l); }); }
HANDLER(cvta_to_local) { return of_address<u64>(i, w, [&](u64 a, u32 l) { return a - lane_base(w, l); }); }
HANDLER(cvta_shared) { return of_address<u64>(i, w, [&](u64 a, u32) { return a + shared_base(w); }); }
HANDLER(cvta_to_shared) { return of_address<u64>(i, w, [&](u64 a, u32) { return a - shared_base(w); }); }

template <Space S> bool is_in(const Warp& w, u64 address) {
    const Execution& x = *w.execution;
    if (S == SHARED_SPACE) return address - shared_base(w) < x.shared_bytes;
    const u64 locals = reinterpret_cast<u64>(w.local_memory);
    if (S == LOCAL_SPACE) return address - locals < x.local_stride * LANES;
    if (is_in<SHARED_SPACE>(w, address) || is_in<LOCAL_SPACE>(w, address)) return false;
    return true;
}

template <Space S> const Instruction* isspacep(const Instruction* i, Warp& w) {
    return of_address<u32>(i, w, [&](u64 a, u32) { return is_in<S>(w, a); });
}

}  // namespace

HANDLER_OF(isspacep_shared, isspacep<SHARED_SPACE>)
HANDLER_OF(isspacep_local, isspacep<LOCAL_SPACE>)
HANDLER_OF(isspacep_global, isspacep<GLOBAL_SPACE>)
HANDLER_OF(ld_param_u8, load_parameter<u8>)
HANDLER_OF(ld_param_s8, load_parameter<s8>)
HANDLER_OF(ld_param_u16, load_parameter<u16>)
HANDLER_OF(ld_param_s16, load_parameter<s16>)
HANDLER_OF(ld_param_b32, load_parameter<u32>)
HANDLER_OF(ld_param_b64, load_parameter<u64>)
HANDLER_OF(ld_global_u8, load<u8, 1, GLOBAL_SPACE>)
HANDLER_OF(ld_global_s8, load<s8, 1, GLOBAL_SPACE>)
HANDLER_OF(ld_global_u16, load<u16, 1, GLOBAL_SPACE>)
HANDLER_OF(ld_global_s16, load<s16, 1, GLOBAL_SPACE>)
HANDLER_OF(ld_global_b32, load<u32, 1, GLOBAL_SPACE>)
HANDLER_OF(ld_global_b64, load<u64, 1, GLOBAL_SPACE>)
HANDLER_OF(ld_global_v2_u8, load<u8, 2, GLOBAL_SPACE>)
HANDLER_OF(ld_global_v2_s8, load<s8, 2, GLOBAL_SPACE>)
HANDLER_OF(ld_global_v2_u16, load<u16, 2, GLOBAL_SPACE>)
HANDLER_OF(ld_global_v2_s16, load<s16, 2, GLOBAL_SPACE>)
HANDLER_OF(ld_global_v2_b32, load<u32, 2, GLOBAL_SPACE>)
HANDLER_OF(ld_global_v2_b64, load<u64, 2, GLOBAL_SPACE>)
HANDLER_OF(ld_global_v4_u8, load<u8, 4, GLOBAL_SPACE>)
HANDLER_OF(ld_global_v4_s8, load<s8, 4, GLOBAL_SPACE>)
HANDLER_OF(ld_global_v4_u16, load<u16, 4, GLOBAL_SPACE>)
HANDLER_OF(ld_global_v4_s16, load<s16, 4, GLOBAL_SPACE>)
HANDLER_OF(ld_global_v4_b32, load<u32, 4, GLOBAL_SPACE>)
HANDLER_OF(st_global_b8, store<u8, 1, GLOBAL_SPACE>)
HANDLER_OF(st_global_b16, store<u16, 1, GLOBAL_SPACE>)
HANDLER_OF(st_global_b32, store<u32, 1, GLOBAL_SPACE>)
HANDLER_OF(st_global_b64, store<u64, 1, GLOBAL_SPACE>)
HANDLER_OF(st_global_v2_b8, store<u8, 2, GLOBAL_SPACE>)
HANDLER_OF(st_global_v2_b16, store<u16, 2, GLOBAL_SPACE>)
HANDLER_OF(st_global_v2_b32, store<u32, 2, GLOBAL_SPACE>)
HANDLER_OF(st_global_v2_b64, store<u64, 2, GLOBAL_SPACE>)
HANDLER_OF(st_global_v4_b8, store<u8, 4, GLOBAL_SPACE>)
HANDLER_OF(st_global_v4_b16, store<u16, 4, GLOBAL_SPACE>)
HANDLER_OF(st_global_v4_b32, store<u32, 4, GLOBAL_SPACE>)
HANDLER_OF(ld_shared_u8, load<u8, 1, SHARED_SPACE>)
HANDLER_OF(ld_shared_s8, load<s8, 1, SHARED_SPACE>)
HANDLER_OF(ld_shared_u16, load<u16, 1, SHARED_SPACE>)
HANDLER_OF(ld_shared_s16, load<s16, 1, SHARED_SPACE>)
HANDLER_OF(ld_shared_b32, load<u32, 1, SHARED_SPACE>)
HANDLER_OF(ld_shared_b64, load<u64, 1, SHARED_SPACE>)
HANDLER_OF(ld_shared_v2_u8, load<u8, 2, SHARED_SPACE>)
HANDLER_OF(ld_shared_v2_s8, load<s8, 2, SHARED_SPACE>)
HANDLER_OF(ld_shared_v2_u16, load<u16, 2, SHARED_SPACE>)
HANDLER_OF(ld_shared_v2_s16, load<s16, 2, SHARED_SPACE>)
HANDLER_OF(ld_shared_v2_b32, load<u32, 2, SHARED_SPACE>)
HANDLER_OF(ld_shared_v2_b64, load<u64, 2, SHARED_SPACE>)
HANDLER_OF(ld_shared_v4_u8, load<u8, 4, SHARED_SPACE>)
HANDLER_OF(ld_shared_v4_s8, load<s8, 4, SHARED_SPACE>)
HANDLER_OF(ld_shared_v4_u16, load<u16, 4, SHARED_SPACE>)
HANDLER_OF(ld_shared_v4_s16, load<s16, 4, SHARED_SPACE>)
HANDLER_OF(ld_shared_v4_b32, load<u32, 4, SHARED_SPACE>)
HANDLER_OF(st_shared_b8, store<u8, 1, SHARED_SPACE>)
HANDLER_OF(st_shared_b16, store<u16, 1, SHARED_SPACE>)
HANDLER_OF(st_shared_b32, store<u32, 1, SHARED_SPACE>)
HANDLER_OF(st_shared_b64, store<u64, 1, SHARED_SPACE>)
HANDLER_OF(st_shared_v2_b8, store<u8, 2, SHARED_SPACE>)
HANDLER_OF(st_shared_v2_b16, store<u16, 2, SHARED_SPACE>)
HANDLER_OF(st_shared_v2_b32, store<u32, 2, SHARED_SPACE>)
HANDLER_OF(st_shared_v2_b64, store<u64, 2, SHARED_SPACE>)
HANDLER_OF(st_shared_v4_b8, store<u8, 4, SHARED_SPACE>)
HANDLER_OF(st_shared_v4_b16, store<u16, 4, SHARED_SPACE>)
HANDLER_OF(st_shared_v4_b32, store<u32, 4, SHARED_SPACE>)
HANDLER_OF(ld_local_u8, load<u8, 1, LOCAL_SPACE>)
HANDLER_OF(ld_local_s8, load<s8, 1, LOCAL_SPACE>)
HANDLER_OF(ld_local_u16, load<u16, 1, LOCAL_SPACE>)
HANDLER_OF(ld_local_s16, load<s16, 1, LOCAL_SPACE>)
HANDLER_OF(ld_local_b32, load<u32, 1, LOCAL_SPACE>)
HANDLER_OF(ld_local_b64, load<u64, 1, LOCAL_SPACE>)
HANDLER_OF(ld_local_v2_u8, load<u8, 2, LOCAL_SPACE>)
HANDLER_OF(ld_local_v2_s8, load<s8, 2, LOCAL_SPACE>)
HANDLER_OF(ld_local_v2_u16, load<u16, 2, LOCAL_SPACE>)
HANDLER_OF(ld_local_v2_s16, load<s16, 2, LOCAL_SPACE>)
HANDLER_OF(ld_local_v2_b32, load<u32, 2, LOCAL_SPACE>)
HANDLER_OF(ld_local_v2_b64, load<u64, 2, LOCAL_SPACE>)
HANDLER_OF(ld_local_v4_u8, load<u8, 4, LOCAL_SPACE>)
HANDLER_OF(ld_local_v4_s8, load<s8, 4, LOCAL_SPACE>)
HANDLER_OF(ld_local_v4_u16, load<u16, 4, LOCAL_SPACE>)
HANDLER_OF(ld_local_v4_s16, load<s16, 4, LOCAL_SPACE>)
HANDLER_OF(ld_local_v4_b32, load<u32, 4, LOCAL_SPACE>)
HANDLER_OF(st_local_b8, store<u8, 1, LOCAL_SPACE>)
HANDLER_OF(st_local_b16, store<u16, 1, LOCAL_SPACE>)
HANDLER_OF(st_local_b32, store<u32, 1, LOCAL_SPACE>)
HANDLER_OF(st_local_b64, store<u64, 1, LOCAL_SPACE>)
HANDLER_OF(st_local_v2_b8, store<u8, 2, LOCAL_SPACE>)
HANDLER_OF(st_local_v2_b16, store<u16, 2, LOCAL_SPACE>)
HANDLER_OF(st_local_v2_b32, store<u32, 2, LOCAL_SPACE>)
HANDLER_OF(st_local_v2_b64, store<u64, 2, LOCAL_SPACE>)
HANDLER_OF(st_local_v4_b8, store<u8, 4, LOCAL_SPACE>)
HANDLER_OF(st_local_v4_b16, store<u16, 4, LOCAL_SPACE>)
HANDLER_OF(st_local_v4_b32, store<u32, 4, LOCAL_SPACE>)

}  // namespace cutune
