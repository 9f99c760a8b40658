// Which windows of a loop are traced, with trace_every = k > 1.
//
// The first window is always traced and counted: most of its sectors are new. Of each k further
// windows one is drawn and stands for the others. It is the same window for all warps and all sites
// of a loop. A hash of block, loop and place draws it, so that each window has the probability 1 /
// k. The sectors of the window before it are recorded too.
//
// Windows 1 to k are a special case, because a loop may end within them. There the draw is a
// reservoir of one: window j replaces the earlier choice with probability 1 / j. Of a loop with m <
// k further windows each is drawn with probability 1 / m. The last iterations therefore do not bias
// the mean over traced executions.
#include <algorithm>

#include "machine_trace.h"

namespace cutune {

namespace {

u64 scrambled(u64 x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}

// The choice that replaces `window`: it is later than n with probability window / n.
u64 replacement(u64 seed, u64 window) {
    const double chance = double((scrambled(seed + window) >> 11) + 1) * 0x1p-53;  // (0, 1]
    return u64(double(window) / chance) + 1;
}

}  // namespace

void Draws::begin(u64 block, u32 every, size_t regions) {
    block_ = block;
    every_ = every;
    regions_.resize(regions);
    for (Region& region : regions_) {
        region.drawn.clear();
        region.latest = 0;
    }
}

// Up to the first one from `window` on.
void Draws::extend(u32 index, u64 window) {
    std::vector<u64>& drawn = regions_[index].drawn;
    const u64 seed = scrambled(block_ * 0x9e3779b97f4a7c15ull + index);
    if (drawn.empty()) {
        drawn.push_back(0);
        for (u64 choice = 1; choice <= every_; choice = replacement(seed, choice))
            drawn.push_back(choice);
    }
    while (drawn.back() < window) {
        const u64 group = (drawn.back() - 1) / every_ + 1;
        drawn.push_back(1 + group * every_ + scrambled(seed + (group << 32)) % every_);
    }
}

u64 Draws::first(u32 index, u64 window) {
    Region& region = regions_[index];
    std::vector<u64>& drawn = region.drawn;
    if (drawn.empty() || drawn.back() < window) extend(index, window);
    const size_t latest = region.latest;
    if (drawn[latest] >= window && (latest == 0 || drawn[latest - 1] < window)) return drawn[latest];
    region.latest = size_t(std::lower_bound(drawn.begin(), drawn.end(), window) - drawn.begin());
    return drawn[region.latest];
}

}  // namespace cutune
