// The sectors that a block accessed recently.
#include <algorithm>

#include "machine_trace.h"

namespace cutune {

void SectorTable::clear(size_t regions) {
    newest_.assign(regions, 0);
    used_ = 0;
    if (++generation_ == 0) {
        std::fill(entries_.begin(), entries_.end(), Entry());
        generation_ = 1;
    }
}

u32 SectorTable::enter(u32 region, u64 key, u64 now, u32 window) {
    for (size_t k = slot(key);; k = (k + 1) & last_) {
        Entry& entry = entries_[k];
        if (entry.generation != generation_) {
            entry = {key, now, window, generation_};
            if (window > newest_[region]) newest_[region] = window;
            if (++used_ * 2 > entries_.size()) grow();
            return u32(__builtin_popcountll(now));
        }
        if (entry.key != key) continue;
        // Warps are not in step: the history has the last 16 windows in which a sector was
        // accessed.
        if (window > entry.window) {
            const u32 ahead = window - entry.window;
            const u64 kept = EACH * (0xffffu >> std::min(ahead, HISTORY - 1));
            entry.history = ahead < HISTORY ? (entry.history & kept) << ahead : 0;
            entry.window = window;
            if (window > newest_[region]) newest_[region] = window;
        }
        const u32 age = entry.window - window;
        if (age >= HISTORY) return u32(__builtin_popcountll(now));
        u64 recent = entry.history >> age;
        if (age + 1 < HISTORY) recent |= entry.history >> (age + 1);
        entry.history |= now << age;
        return u32(__builtin_popcountll(now & ~recent));
    }
}

// Removes sectors that no later window can match; doubles the table if that frees less than half.
void SectorTable::grow() {
    std::vector<Entry> kept;
    for (const Entry& entry : entries_)
        if (entry.generation == generation_ &&
            entry.window + HISTORY >= newest_[entry.key >> 43])
            kept.push_back(entry);
    size_t size = entries_.size();
    while (kept.size() * 4 > size) size *= 2;
    entries_.assign(size, Entry());
    last_ = size - 1;
    for (const Entry& entry : kept) {
        size_t k = slot(entry.key);
        while (entries_[k].generation == generation_) k = (k + 1) & last_;
        entries_[k] = entry;
    }
    used_ = kept.size();
}

}  // namespace cutune
