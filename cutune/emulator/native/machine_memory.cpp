// Loads and stores of all state spaces, and the checks that every access passes.
#include <algorithm>

#include "machine_access.h"

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
    const Range parameters{reinterpret_cast<u64>(x.parameters), x.kernel.facts.parameter_bytes, 0};
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

[[noreturn]] void out_of_bounds(const Instruction* i, const Warp& w, u32 lane, u64 address,
                                u32 bytes, const Range& range) {
    const Execution& x = *w.execution;
    const SiteFacts& site = x.module.sites[i->x];
    std::string text = std::string(KIND_NAMES[site.kind]) + " of " + std::to_string(bytes) +
                       " bytes at ";
    if (i->flags & SHARED) {
        text += "shared address " + hexadecimal(address - reinterpret_cast<u64>(x.shared)) +
                ", but the block has " + std::to_string(x.shared_bytes) + " bytes";
    } else if (range.size) {
        text += hexadecimal(address) + " reaches past an allocation of " +
                std::to_string(range.size) + " bytes";
    } else {
        const Allocation* freed = x.memory.find(address);
        text += hexadecimal(address) +
                (freed ? ", which was freed" : ", which is in no allocation");
    }
    fail(Outcome::illegal_address, i, w, lane, text);
}

}  // namespace

u32 resolve(const Instruction* i, Warp& w, const u64* address, u32 bytes) {
    Execution& x = *w.execution;
    u32 ghosts = 0;
    FOR_ACTIVE(w, l) {
        const u64 a = address[l];
        if (a & (bytes - 1))
            fail(Outcome::misaligned_address, i, w, l,
                 std::string(KIND_NAMES[x.module.sites[i->x].kind]) + " of " +
                     std::to_string(bytes) + " bytes at " + hexadecimal(a));
        Range& range = x.ranges[i->x];
        if (!holds(range, a)) {
            range = find(x, w, a);
            const bool shared = range.base == reinterpret_cast<u64>(x.shared);
            if ((i->flags & SHARED) && !shared) range = {};
        }
        if (!range.size || range.size - (a - range.base) < bytes)
            out_of_bounds(i, w, l, a, bytes, range);
        ghosts |= range.ghosts & (1u << l);
    }
    return ghosts;
}

namespace {

// Registers wider than the type are sign- or zero-extended.
template <class T> ALWAYS_INLINE Lane<T> extended(T value) { return static_cast<Lane<T>>(value); }

template <class T, Space S> const Instruction* load(const Instruction* i, Warp& w) {
    alignas(64) u64 address[LANES];
    addresses<S>(i, w, address);
    const Pattern pattern = pattern_of<sizeof(T)>(w, address);
    const u32 ghosts = checked<S, sizeof(T)>(i, w, address, pattern);
    watch(i, w, address, sizeof(T), pattern);
    Lane<T>* d = lanes<T>(w, i->d);
    if (UNLIKELY(ghosts)) {
        FOR_ACTIVE(w, l) d[l] = ghosts >> l & 1 ? 0 : extended(read<T>(address[l]));
    } else if (pattern == SEQUENTIAL) {
        const T* from = reinterpret_cast<const T*>(address[0]);
        for (u32 l = 0; l < LANES; l++) d[l] = extended(from[l]);
    } else if (pattern == UNIFORM) {
        const Lane<T> value = extended(read<T>(address[0]));
        for (u32 l = 0; l < LANES; l++) d[l] = value;
    } else if (pattern == ROWS) {
        const bool sequential = address[1] != address[0];
        for (u32 row = 0; row < LANES; row += ROW) {
            const T* from = reinterpret_cast<const T*>(address[row]);
            if (sequential) {
                for (u32 l = 0; l < ROW; l++) d[row + l] = extended(from[l]);
            } else {
                const Lane<T> value = extended(*from);
                for (u32 l = 0; l < ROW; l++) d[row + l] = value;
            }
        }
    } else if (w.full) {
        for (u32 l = 0; l < LANES; l++) d[l] = extended(read<T>(address[l]));
    } else {
        FOR_ACTIVE(w, l) d[l] = extended(read<T>(address[l]));
    }
    return i + 1;
}

template <class T, Space S> const Instruction* store(const Instruction* i, Warp& w) {
    alignas(64) u64 address[LANES];
    addresses<S>(i, w, address);
    const Pattern pattern = pattern_of<sizeof(T)>(w, address);
    const u32 ghosts = checked<S, sizeof(T)>(i, w, address, pattern);
    watch(i, w, address, sizeof(T), pattern);
    const Lane<T>* b = lanes<T>(w, i->b);
    if (UNLIKELY(ghosts)) {
        FOR_ACTIVE(w, l) if (!(ghosts >> l & 1)) write<T>(address[l], static_cast<T>(b[l]));
    } else if (pattern == SEQUENTIAL) {
        T* to = reinterpret_cast<T*>(address[0]);
        for (u32 l = 0; l < LANES; l++) to[l] = static_cast<T>(b[l]);
    } else if (w.full) {
        for (u32 l = 0; l < LANES; l++) write<T>(address[l], static_cast<T>(b[l]));
    } else {
        FOR_ACTIVE(w, l) write<T>(address[l], static_cast<T>(b[l]));
    }
    return i + 1;
}

// Vectors: the registers stand in the module's table of further operands.
template <class T, u32 N, Space S> const Instruction* load_vector(const Instruction* i, Warp& w) {
    alignas(64) u64 address[LANES];
    addresses<S>(i, w, address);
    const Pattern pattern = pattern_of<N * sizeof(T)>(w, address);
    const u32 ghosts = checked<S, N * sizeof(T)>(i, w, address, pattern);
    watch(i, w, address, N * sizeof(T), pattern);
    const u32* registers = &w.execution->module.operands[further_operands(*i)];
    for (u32 k = 0; k < N; k++) {
        Lane<T>* d = lanes<T>(w, registers[k]);
        FOR_ACTIVE(w, l)
            d[l] = ghosts >> l & 1 ? 0 : extended(read<T>(address[l] + k * sizeof(T)));
    }
    return i + 1;
}

template <class T, u32 N, Space S> const Instruction* store_vector(const Instruction* i, Warp& w) {
    alignas(64) u64 address[LANES];
    addresses<S>(i, w, address);
    const Pattern pattern = pattern_of<N * sizeof(T)>(w, address);
    const u32 ghosts = checked<S, N * sizeof(T)>(i, w, address, pattern);
    watch(i, w, address, N * sizeof(T), pattern);
    const u32* registers = &w.execution->module.operands[further_operands(*i)];
    FOR_ACTIVE(w, l)
        if (!(ghosts >> l & 1))
            for (u32 k = 0; k < N; k++)
                write<T>(address[l] + k * sizeof(T), static_cast<T>(lanes<T>(w, registers[k])[l]));
    return i + 1;
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
    return i + 1;
}

HANDLER(local_address) {
    u64* d = w.wide(i->d);
    FOR_ACTIVE(w, l) d[l] = w.frame_pointer + i->imm;
    return i + 1;
}

HANDLER(parameter_address) {
    u64* d = w.wide(i->d);
    FOR_ACTIVE(w, l) d[l] = reinterpret_cast<u64>(w.execution->parameters) + i->imm;
    return i + 1;
}

HANDLER(dynamic_shared_address) {
    u32* d = w.narrow(i->d);
    const u32 start = (w.execution->kernel.facts.static_shared_bytes + 15) / 16 * 16;
    FOR_ACTIVE(w, l) d[l] = start;
    return i + 1;
}

u64 lane_base(const Warp& w, u32 l) {
    return reinterpret_cast<u64>(w.local_memory) + l * w.execution->local_stride;
}

// Generic addresses are host addresses; those in the shared and local windows are offsets.
HANDLER(cvta_local) {
    u64* d = w.wide(i->d);
    const u64* a = w.wide(i->a);
    FOR_ACTIVE(w, l) d[l] = a[l] + lane_base(w, l);
    return i + 1;
}

HANDLER(cvta_to_local) {
    u64* d = w.wide(i->d);
    const u64* a = w.wide(i->a);
    FOR_ACTIVE(w, l) d[l] = a[l] - lane_base(w, l);
    return i + 1;
}

HANDLER(cvta_shared) {
    u64* d = w.wide(i->d);
    const u64* a = w.wide(i->a);
    FOR_ACTIVE(w, l) d[l] = a[l] + reinterpret_cast<u64>(w.execution->shared);
    return i + 1;
}

HANDLER(cvta_to_shared) {
    u64* d = w.wide(i->d);
    const u64* a = w.wide(i->a);
    FOR_ACTIVE(w, l) d[l] = a[l] - reinterpret_cast<u64>(w.execution->shared);
    return i + 1;
}

template <Space S> bool is_in(const Warp& w, u64 address) {
    const Execution& x = *w.execution;
    if (S == SHARED_SPACE) return address - reinterpret_cast<u64>(x.shared) < x.shared_bytes;
    const u64 locals = reinterpret_cast<u64>(w.local_memory);
    if (S == LOCAL_SPACE) return address - locals < x.local_stride * LANES;
    if (is_in<SHARED_SPACE>(w, address) || is_in<LOCAL_SPACE>(w, address)) return false;
    return true;
}

template <Space S> const Instruction* isspacep(const Instruction* i, Warp& w) {
    u32* d = w.narrow(i->d);
    const u64* a = w.wide(i->a);
    FOR_ACTIVE(w, l) d[l] = is_in<S>(w, a[l]);
    return i + 1;
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
HANDLER_OF(ld_global_u8, load<u8, GLOBAL_SPACE>)
HANDLER_OF(ld_global_s8, load<s8, GLOBAL_SPACE>)
HANDLER_OF(ld_global_u16, load<u16, GLOBAL_SPACE>)
HANDLER_OF(ld_global_s16, load<s16, GLOBAL_SPACE>)
HANDLER_OF(ld_global_b32, load<u32, GLOBAL_SPACE>)
HANDLER_OF(ld_global_b64, load<u64, GLOBAL_SPACE>)
HANDLER_OF(ld_global_v2_u8, load_vector<u8, 2, GLOBAL_SPACE>)
HANDLER_OF(ld_global_v2_s8, load_vector<s8, 2, GLOBAL_SPACE>)
HANDLER_OF(ld_global_v2_u16, load_vector<u16, 2, GLOBAL_SPACE>)
HANDLER_OF(ld_global_v2_s16, load_vector<s16, 2, GLOBAL_SPACE>)
HANDLER_OF(ld_global_v2_b32, load_vector<u32, 2, GLOBAL_SPACE>)
HANDLER_OF(ld_global_v2_b64, load_vector<u64, 2, GLOBAL_SPACE>)
HANDLER_OF(ld_global_v4_u8, load_vector<u8, 4, GLOBAL_SPACE>)
HANDLER_OF(ld_global_v4_s8, load_vector<s8, 4, GLOBAL_SPACE>)
HANDLER_OF(ld_global_v4_u16, load_vector<u16, 4, GLOBAL_SPACE>)
HANDLER_OF(ld_global_v4_s16, load_vector<s16, 4, GLOBAL_SPACE>)
HANDLER_OF(ld_global_v4_b32, load_vector<u32, 4, GLOBAL_SPACE>)
HANDLER_OF(st_global_b8, store<u8, GLOBAL_SPACE>)
HANDLER_OF(st_global_b16, store<u16, GLOBAL_SPACE>)
HANDLER_OF(st_global_b32, store<u32, GLOBAL_SPACE>)
HANDLER_OF(st_global_b64, store<u64, GLOBAL_SPACE>)
HANDLER_OF(st_global_v2_b8, store_vector<u8, 2, GLOBAL_SPACE>)
HANDLER_OF(st_global_v2_b16, store_vector<u16, 2, GLOBAL_SPACE>)
HANDLER_OF(st_global_v2_b32, store_vector<u32, 2, GLOBAL_SPACE>)
HANDLER_OF(st_global_v2_b64, store_vector<u64, 2, GLOBAL_SPACE>)
HANDLER_OF(st_global_v4_b8, store_vector<u8, 4, GLOBAL_SPACE>)
HANDLER_OF(st_global_v4_b16, store_vector<u16, 4, GLOBAL_SPACE>)
HANDLER_OF(st_global_v4_b32, store_vector<u32, 4, GLOBAL_SPACE>)
HANDLER_OF(ld_shared_u8, load<u8, SHARED_SPACE>)
HANDLER_OF(ld_shared_s8, load<s8, SHARED_SPACE>)
HANDLER_OF(ld_shared_u16, load<u16, SHARED_SPACE>)
HANDLER_OF(ld_shared_s16, load<s16, SHARED_SPACE>)
HANDLER_OF(ld_shared_b32, load<u32, SHARED_SPACE>)
HANDLER_OF(ld_shared_b64, load<u64, SHARED_SPACE>)
HANDLER_OF(ld_shared_v2_u8, load_vector<u8, 2, SHARED_SPACE>)
HANDLER_OF(ld_shared_v2_s8, load_vector<s8, 2, SHARED_SPACE>)
HANDLER_OF(ld_shared_v2_u16, load_vector<u16, 2, SHARED_SPACE>)
HANDLER_OF(ld_shared_v2_s16, load_vector<s16, 2, SHARED_SPACE>)
HANDLER_OF(ld_shared_v2_b32, load_vector<u32, 2, SHARED_SPACE>)
HANDLER_OF(ld_shared_v2_b64, load_vector<u64, 2, SHARED_SPACE>)
HANDLER_OF(ld_shared_v4_u8, load_vector<u8, 4, SHARED_SPACE>)
HANDLER_OF(ld_shared_v4_s8, load_vector<s8, 4, SHARED_SPACE>)
HANDLER_OF(ld_shared_v4_u16, load_vector<u16, 4, SHARED_SPACE>)
HANDLER_OF(ld_shared_v4_s16, load_vector<s16, 4, SHARED_SPACE>)
HANDLER_OF(ld_shared_v4_b32, load_vector<u32, 4, SHARED_SPACE>)
HANDLER_OF(st_shared_b8, store<u8, SHARED_SPACE>)
HANDLER_OF(st_shared_b16, store<u16, SHARED_SPACE>)
HANDLER_OF(st_shared_b32, store<u32, SHARED_SPACE>)
HANDLER_OF(st_shared_b64, store<u64, SHARED_SPACE>)
HANDLER_OF(st_shared_v2_b8, store_vector<u8, 2, SHARED_SPACE>)
HANDLER_OF(st_shared_v2_b16, store_vector<u16, 2, SHARED_SPACE>)
HANDLER_OF(st_shared_v2_b32, store_vector<u32, 2, SHARED_SPACE>)
HANDLER_OF(st_shared_v2_b64, store_vector<u64, 2, SHARED_SPACE>)
HANDLER_OF(st_shared_v4_b8, store_vector<u8, 4, SHARED_SPACE>)
HANDLER_OF(st_shared_v4_b16, store_vector<u16, 4, SHARED_SPACE>)
HANDLER_OF(st_shared_v4_b32, store_vector<u32, 4, SHARED_SPACE>)
HANDLER_OF(ld_local_u8, load<u8, LOCAL_SPACE>)
HANDLER_OF(ld_local_s8, load<s8, LOCAL_SPACE>)
HANDLER_OF(ld_local_u16, load<u16, LOCAL_SPACE>)
HANDLER_OF(ld_local_s16, load<s16, LOCAL_SPACE>)
HANDLER_OF(ld_local_b32, load<u32, LOCAL_SPACE>)
HANDLER_OF(ld_local_b64, load<u64, LOCAL_SPACE>)
HANDLER_OF(ld_local_v2_u8, load_vector<u8, 2, LOCAL_SPACE>)
HANDLER_OF(ld_local_v2_s8, load_vector<s8, 2, LOCAL_SPACE>)
HANDLER_OF(ld_local_v2_u16, load_vector<u16, 2, LOCAL_SPACE>)
HANDLER_OF(ld_local_v2_s16, load_vector<s16, 2, LOCAL_SPACE>)
HANDLER_OF(ld_local_v2_b32, load_vector<u32, 2, LOCAL_SPACE>)
HANDLER_OF(ld_local_v2_b64, load_vector<u64, 2, LOCAL_SPACE>)
HANDLER_OF(ld_local_v4_u8, load_vector<u8, 4, LOCAL_SPACE>)
HANDLER_OF(ld_local_v4_s8, load_vector<s8, 4, LOCAL_SPACE>)
HANDLER_OF(ld_local_v4_u16, load_vector<u16, 4, LOCAL_SPACE>)
HANDLER_OF(ld_local_v4_s16, load_vector<s16, 4, LOCAL_SPACE>)
HANDLER_OF(ld_local_v4_b32, load_vector<u32, 4, LOCAL_SPACE>)
HANDLER_OF(st_local_b8, store<u8, LOCAL_SPACE>)
HANDLER_OF(st_local_b16, store<u16, LOCAL_SPACE>)
HANDLER_OF(st_local_b32, store<u32, LOCAL_SPACE>)
HANDLER_OF(st_local_b64, store<u64, LOCAL_SPACE>)
HANDLER_OF(st_local_v2_b8, store_vector<u8, 2, LOCAL_SPACE>)
HANDLER_OF(st_local_v2_b16, store_vector<u16, 2, LOCAL_SPACE>)
HANDLER_OF(st_local_v2_b32, store_vector<u32, 2, LOCAL_SPACE>)
HANDLER_OF(st_local_v2_b64, store_vector<u64, 2, LOCAL_SPACE>)
HANDLER_OF(st_local_v4_b8, store_vector<u8, 4, LOCAL_SPACE>)
HANDLER_OF(st_local_v4_b16, store_vector<u16, 4, LOCAL_SPACE>)
HANDLER_OF(st_local_v4_b32, store_vector<u32, 4, LOCAL_SPACE>)

}  // namespace cutune
