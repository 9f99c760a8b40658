// Special registers, and what the lanes of a warp do together: shuffles, votes, matches.
#include "machine_lanes.h"

namespace cutune {

// SPECIAL(tid_x, u32, …): the handler `special_tid_x`, for `mov.u32 %r, %tid.x`.
#define SPECIAL(name, T, ...) \
    HANDLER(name) { \
        const Execution& x = *w.execution; \
        (void)x; \
        Lane<T>* d = lanes<T>(w, i->d); \
        for (u32 l = 0; l < LANES; l++) { \
            const T value = T(__VA_ARGS__); \
            d[l] = w.active[l] ? value : d[l]; \
        } \
        return i + 1; \
    }

SPECIAL(special_tid_x, u32, w.thread[0][l])
SPECIAL(special_tid_y, u32, w.thread[1][l])
SPECIAL(special_tid_z, u32, w.thread[2][l])
SPECIAL(special_ntid_x, u32, x.launch.block[0])
SPECIAL(special_ntid_y, u32, x.launch.block[1])
SPECIAL(special_ntid_z, u32, x.launch.block[2])
SPECIAL(special_ctaid_x, u32, x.block_index[0])
SPECIAL(special_ctaid_y, u32, x.block_index[1])
SPECIAL(special_ctaid_z, u32, x.block_index[2])
SPECIAL(special_nctaid_x, u32, x.launch.grid[0])
SPECIAL(special_nctaid_y, u32, x.launch.grid[1])
SPECIAL(special_nctaid_z, u32, x.launch.grid[2])
SPECIAL(special_laneid, u32, l)
SPECIAL(special_warpid, u32, w.index)
SPECIAL(special_nwarpid, u32, 64)
SPECIAL(special_smid, u32, 0)
SPECIAL(special_nsmid, u32, 1)
SPECIAL(special_gridid, u64, 1)
SPECIAL(special_lanemask_eq, u32, 1u << l)
SPECIAL(special_lanemask_lt, u32, (1u << l) - 1)
SPECIAL(special_lanemask_le, u32, (2u << l) - 1)
SPECIAL(special_lanemask_gt, u32, ~((2u << l) - 1))
SPECIAL(special_lanemask_ge, u32, ~((1u << l) - 1))
SPECIAL(special_clock, u32, x.instructions)
SPECIAL(special_clock_hi, u32, x.instructions >> 32)
SPECIAL(special_clock64, u64, x.instructions)
SPECIAL(special_globaltimer, u64, x.instructions)
SPECIAL(special_globaltimer_lo, u32, x.instructions)
SPECIAL(special_globaltimer_hi, u32, x.instructions >> 32)
SPECIAL(special_dynamic_smem_size, u32, x.launch.dynamic_shared_bytes)
SPECIAL(special_total_smem_size, u32, x.shared_bytes)
SPECIAL(special_envreg1, u32, x.workspace >> 32)
SPECIAL(special_envreg2, u32, x.workspace)
SPECIAL(activemask, u32, w.mask)

namespace {

// The source lane of a shuffle, as the PTX manual computes it; false when it is out of range.
enum Direction { FROM_BELOW, FROM_ABOVE, BUTTERFLY, INDEX };

template <Direction D> ALWAYS_INLINE bool source_lane(u32 l, u32 b, u32 c, u32& source) {
    const u32 value = b & 31, clamp = c & 31, segment = c >> 8 & 31;
    const s32 highest = s32((l & segment) | (clamp & ~segment));
    const s32 lowest = s32(l & segment);
    s32 j = 0;
    bool inside = false;
    if (D == FROM_BELOW) j = s32(l) - s32(value), inside = j >= highest;
    if (D == FROM_ABOVE) j = s32(l + value), inside = j <= highest;
    if (D == BUTTERFLY) j = s32(l ^ value), inside = j <= highest;
    if (D == INDEX) j = lowest | s32(value & ~segment), inside = j <= highest;
    source = inside ? u32(j) : l;
    return inside;
}

// a: value, b: lane or distance, c: clamp and segment mask, x: predicate (or NO_REGISTER).
template <Direction D> const Instruction* shuffle(const Instruction* i, Warp& w) {
    u32 value[LANES];
    memcpy(value, w.narrow(i->a), sizeof value);
    u32* d = w.narrow(i->d);
    const u32 *b = w.narrow(i->b), *c = w.narrow(i->c);
    u32 *p = i->x == NO_REGISTER ? nullptr : w.narrow(i->x);
    u32 inside = 0;
    FOR_ACTIVE(w, l) {
        u32 source;
        inside |= u32(source_lane<D>(l, b[l], c[l], source)) << l;
        d[l] = value[source];
    }
    if (p) FOR_ACTIVE(w, l) p[l] = inside >> l & 1;
    return i + 1;
}

// a: predicate, b: membermask of each lane.
template <class F> const Instruction* vote(const Instruction* i, Warp& w, F f) {
    u32 holds = ones(w, i->a);
    if (i->flags & NEGATED) holds = w.mask & ~holds;
    u32* d = w.narrow(i->d);
    const u32* members = w.narrow(i->b);
    FOR_ACTIVE(w, l) d[l] = f(holds & members[l], w.mask & members[l]);
    return i + 1;
}

template <class T> ALWAYS_INLINE u32 equal_lanes(const T* a, u32 l, u32 lanes) {
    u32 found = 0;
    for (u32 k = 0; k < LANES; k++) found |= u32(a[k] == a[l]) << k;
    return found & lanes;
}

// a: value, b: membermask; x: predicate of match.all (or NO_REGISTER).
template <class T, bool ALL> const Instruction* match(const Instruction* i, Warp& w) {
    T a[LANES];
    memcpy(a, lanes<T>(w, i->a), sizeof a);
    u32* d = w.narrow(i->d);
    const u32* members = w.narrow(i->b);
    u32 found[LANES] = {};
    FOR_ACTIVE(w, l) {
        const u32 lanes = w.mask & members[l];
        found[l] = equal_lanes(a, l, lanes);
        if (ALL && found[l] != lanes) found[l] = 0;
    }
    FOR_ACTIVE(w, l) d[l] = found[l];
    if (ALL && i->x != NO_REGISTER) FOR_ACTIVE(w, l) w.narrow(i->x)[l] = found[l] != 0;
    return i + 1;
}

template <class T, class F> const Instruction* reduce(const Instruction* i, Warp& w, F f) {
    u32 a[LANES];
    memcpy(a, w.narrow(i->a), sizeof a);
    u32* d = w.narrow(i->d);
    const u32* members = w.narrow(i->b);
    FOR_ACTIVE(w, l) {
        T sum = T(a[l]);
        for (u32 rest = w.mask & members[l] & ~(1u << l); rest; rest &= rest - 1)
            sum = f(sum, T(a[__builtin_ctz(rest)]));
        d[l] = u32(sum);
    }
    return i + 1;
}

}  // namespace

HANDLER_OF(shfl_up, shuffle<FROM_BELOW>)
HANDLER_OF(shfl_down, shuffle<FROM_ABOVE>)
HANDLER_OF(shfl_bfly, shuffle<BUTTERFLY>)
HANDLER_OF(shfl_idx, shuffle<INDEX>)
HANDLER(vote_all) { return vote(i, w, [](u32 set, u32 all) -> u32 { return set == all; }); }
HANDLER(vote_any) { return vote(i, w, [](u32 set, u32) -> u32 { return set != 0; }); }
HANDLER(vote_uni) { return vote(i, w, [](u32 set, u32 all) -> u32 { return !set || set == all; }); }
HANDLER(vote_ballot) { return vote(i, w, [](u32 set, u32) { return set; }); }
HANDLER_OF(match_any_b32, match<u32, false>)
HANDLER_OF(match_any_b64, match<u64, false>)
HANDLER_OF(match_all_b32, match<u32, true>)
HANDLER_OF(match_all_b64, match<u64, true>)
HANDLER(redux_add_b32) { return reduce<u32>(i, w, [](u32 a, u32 b) { return a + b; }); }
HANDLER(redux_min_u32) { return reduce<u32>(i, w, [](u32 a, u32 b) { return a < b ? a : b; }); }
HANDLER(redux_max_u32) { return reduce<u32>(i, w, [](u32 a, u32 b) { return a > b ? a : b; }); }
HANDLER(redux_min_s32) { return reduce<s32>(i, w, [](s32 a, s32 b) { return a < b ? a : b; }); }
HANDLER(redux_max_s32) { return reduce<s32>(i, w, [](s32 a, s32 b) { return a > b ? a : b; }); }
HANDLER(redux_and_b32) { return reduce<u32>(i, w, [](u32 a, u32 b) { return a & b; }); }
HANDLER(redux_or_b32) { return reduce<u32>(i, w, [](u32 a, u32 b) { return a | b; }); }
HANDLER(redux_xor_b32) { return reduce<u32>(i, w, [](u32 a, u32 b) { return a ^ b; }); }

}  // namespace cutune
