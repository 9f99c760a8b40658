// Addresses of a full warp that versions know: one, or rows of lanes (machine_version.h).
#pragma once
#include "machine_access.h"

namespace cutune {

// The memory that an instruction may access without a further look, and where it begins there.
template <Space S> struct Reached {
    u64 first;      // host address of the first lane
    u64 offset;     // from the beginning of that memory
    u64 size;
    bool ghosts;

    ALWAYS_INLINE Reached(const Instruction* i, const Warp& w) {
        const Execution& x = *w.execution;
        if constexpr (S == SHARED_SPACE) {
            offset = scalar<u32>(w, i->a) + static_cast<u32>(i->imm);
            first = reinterpret_cast<u64>(x.shared) + offset;
            size = x.shared_bytes;
            ghosts = false;
        } else {
            const Range& range = x.ranges[i->x];
            first = scalar<u64>(w, i->a) + i->imm;
            offset = first - range.base;
            size = range.size;
            ghosts = range.ghosts;
        }
    }
    // Does it hold `span` bytes from `before` bytes before the first lane's address?
    ALWAYS_INLINE bool holds(u64 before, u64 span) const {
        return size >= span && offset - before <= size - span;
    }
    template <u32 BYTES> ALWAYS_INLINE bool aligned() const {
        return ((S == SHARED_SPACE ? offset : first) & (BYTES - 1)) == 0;
    }
};

template <Space S> ALWAYS_INLINE s64 step_of(const Warp& w, u32 offset, u32 which) {
    return S == SHARED_SPACE ? s64(s32(steps<u32>(w, offset)[which]))
                             : s64(steps<u64>(w, offset)[which]);
}

// Lanes side by side, in rows of which the compiler knows the length, or one address for each row.
template <class T, Space S, u32 COLUMNS> struct Rows {
    static constexpr u64 BYTES = sizeof(T), COUNT = LANES / COLUMNS;
    static constexpr s64 LENGTH = BYTES * COLUMNS;
    u64 first;
    s64 row;
    bool beside;
    bool fits;  // there is memory behind all of it

    ALWAYS_INLINE Rows(const Instruction* i, const Warp& w) {
        constexpr s64 FAR = 1ll << 40;
        const Reached<S> at(i, w);
        const s64 column = step_of<S>(w, i->a, 1);
        first = at.first;
        row = COUNT > 1 ? step_of<S>(w, i->a, 2) : 0;
        beside = column == s64(BYTES);
        const u64 length = beside ? LENGTH : BYTES, room = at.size - length;
        fits = length <= at.size && at.offset <= room && at.template aligned<BYTES>() &&
               !at.ghosts && (beside || (COUNT > 1 && column == 0));
        if (COUNT > 1)  // rows in between lie in between
            fits &= at.offset + row * s64(COUNT - 1) <= room && (row & (BYTES - 1)) == 0 &&
                    (COUNT == 2 || (row < FAR && row > -FAR));
    }
    ALWAYS_INLINE bool overlap() const { return row < LENGTH && row > -LENGTH; }
};

}  // namespace cutune
