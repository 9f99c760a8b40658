// Leaps: a launch without data does not execute iterations of a loop that are not traced.
//
// cutune/ptx/leaps.py finds the blocks for which that is possible. Counters and registers
// get the values that they would have after all iterations. Warps whose loops differ in length may
// then run in another order, which changes `new_sectors` a little.
#include <algorithm>

#include "machine_version.h"

namespace cutune {

namespace {

constexpr s64 HUGE_NUMBER = 1ll << 62;  // beyond it sums of two might not fit

u64 widened(u32 active) { return u64(s64(s32(active))); }

void add_register(const Warp& w, const LeapRegister& r, s64 count, u64* sums) {
    const u8* const at = w.registers + r.offset;
    if (r.width == 4) {
        const u32* const a = static_cast<const u32*>(__builtin_assume_aligned(at, 64));
        for (u32 l = 0; l < LANES; l++) sums[l] += u64(count) * a[l];
    } else {
        const u64* const a = static_cast<const u64*>(__builtin_assume_aligned(at, 64));
        for (u32 l = 0; l < LANES; l++) sums[l] += u64(count) * a[l];
    }
}

// The sums of all lanes, as numbers of the type that is compared.
struct Numbers {
    alignas(64) s64 of[LANES];

    Numbers(const Warp& w, const LeapSum& sum, const LeapRegister* start, u32 width,
            bool is_signed) {
        alignas(64) u64 sums[LANES];
        for (u32 l = 0; l < LANES; l++) sums[l] = sum.number;
        if (start) add_register(w, *start, 1, sums);
        for (const LeapTerm& term : sum.terms) add_register(w, term.from, term.count, sums);
        for (u32 l = 0; l < LANES; l++)
            of[l] = width == 8 ? s64(sums[l]) : is_signed ? s64(s32(sums[l])) : s64(u32(sums[l]));
    }
};

// A lower bound of how often the block is repeated from here.
u64 repetitions(const Leap& leap, s64 value, s64 step, s64 bound) {
    for (const s64 each : {value, bound, step})
        if (each <= -HUGE_NUMBER || each >= HUGE_NUMBER) return 0;
    if (leap.width == 8 && !leap.is_signed && (value < 0 || bound < 0)) return 0;
    const s64 most = leap.width == 8 ? HUGE_NUMBER : leap.is_signed ? 0x7fffffffll : 0xffffffffll;
    s64 room = most - value;  // before the value wraps around
    if (leap.comparison == Leap::greater || leap.comparison == Leap::greater_equal ||
        (leap.comparison == Leap::not_equal && step < 0)) {
        room = value - (leap.is_signed ? -most : 0);
        value = -value, bound = -bound, step = -step;
    }
    if (leap.comparison == Leap::less_equal || leap.comparison == Leap::greater_equal) bound++;
    if (step <= 0 || value >= bound) return 0;
    const s64 distance = bound - value;
    if (leap.comparison == Leap::not_equal && distance % step) return 0;
    const s64 count = (distance - 1) / step + 1;
    return count > room / step ? 0 : u64(count);
}

// The same for all active lanes, which mostly have equal numbers.
u64 repetitions(const Leap& leap, const Warp& w) {
    const LeapStep& carried = leap.steps[leap.tested];
    const Numbers value(w, leap.ahead, &carried.to, leap.width, leap.is_signed);
    const Numbers step(w, carried.step, nullptr, leap.width, true);
    const Numbers bound(w, leap.bound, nullptr, leap.width, leap.is_signed);
    const u32 first = __builtin_ctz(w.mask);
    u64 count = repetitions(leap, value.of[first], step.of[first], bound.of[first]);
    u64 different = 0;
    for (u32 l = 0; l < LANES; l++)
        different |= ((value.of[l] ^ value.of[first]) | (step.of[l] ^ step.of[first]) |
                      (bound.of[l] ^ bound.of[first])) &
                     widened(w.active[l]);
    if (!different) return count;
    FOR_ACTIVE(w, l)
        count = std::min(count, repetitions(leap, value.of[l], step.of[l], bound.of[l]));
    return count;
}

// How many of the next `most` executions are not traced.
u64 unseen(Execution& x, const Warp& w, const Block& block, u64 most) {
    if (!x.tracing || !block.site_count) return most;
    if (x.launch.trace_every <= 1) return 0;
    const u32 region = x.module.sites[block.first_site].region;
    const u64 done = x.trace.progress_of(w.index, block.first_site).executions;
    const u64 drawn = x.trace.draws.first(region, done >> WINDOW);
    // The window before a drawn one is recorded too.
    const u64 until = drawn ? (drawn - 1) << WINDOW : 0;
    return std::min(std::max(until, done) - done, most);
}

// A leap would only miss the values that stores write.
bool leaves_nothing(const Execution& x, const Block& block) {
    for (u32 k = block.first_site; k < block.first_site + block.site_count; k++)
        if (x.module.sites[k].kind == STORE && !x.ranges[k].ghosts) return false;
    return true;
}

}  // namespace

void Execution::leap(Warp& w, const Block& block) {
    const Leap& leap = *block.leap;
    // Often the next execution is traced: the other questions need not be answered then.
    if (!leaves_nothing(*this, block) || !unseen(*this, w, block, 1)) return;
    if (w.version) leave(w, w.version->entry);
    const u64 count = unseen(*this, w, block, repetitions(leap, w));
    if (!count) return;
    for (const LeapStep& carried : leap.steps) {
        const Numbers step(w, carried.step, nullptr, carried.to.width, true);
        if (carried.to.width == 4) {
            u32* const d = w.narrow(carried.to.offset);
            for (u32 l = 0; l < LANES; l++) d[l] += u32(count * u64(step.of[l])) & w.active[l];
        } else {
            u64* const d = w.wide(carried.to.offset);
            for (u32 l = 0; l < LANES; l++) d[l] += count * u64(step.of[l]) & widened(w.active[l]);
        }
    }
    report.block_executions[block.index] += count;
    report.block_lanes[block.index] += count * __builtin_popcount(w.mask);
    report.leapt_instructions += count * block.instructions;
    if (tracing)
        for (u32 k = block.first_site; k < block.first_site + block.site_count; k++)
            trace.progress_of(w.index, k).executions += u32(count);
}

}  // namespace cutune
