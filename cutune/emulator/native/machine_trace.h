// The state of tracing a block's memory accesses. See machine_trace.cpp.
#pragma once
#include <memory>
#include <vector>

#include "machine.h"
#include "machine_costs.h"
#include "machine_types.h"

namespace cutune {

// Arrays lie far apart: the upper bits of an address matter as much as the lower ones.
ALWAYS_INLINE u64 mixed(u64 x) { return (x ^ x >> 31) * 0x9e3779b97f4a7c15ull; }

// The counters of `Site` from `traced` to `rewritten_sectors`, added up at once.
typedef u64 Sums __attribute__((vector_size(64), aligned(8)));

// The cost of the addresses of one execution; lines are counted from the first lane's.
struct Features {
    Sums sums[2] = {};  // what a store adds to its counters, and a load
    s64 line[LANES];
    u8 touched[LANES];  // of each line: its sectors, one bit each
    u32 sectors = 0, full = 0, lines = 0, wavefronts = 0;
    u32 bytes = 0, partial_lines = 0;  // distinct bytes; lines with a partially touched sector
    s64 lowest = 0, highest = 0;  // from the first lane's address
    // Identifies the set of accessed lines and sectors; never 0.
    u64 signature() const;
    // All but `sums` is known.
    void finish();
};
void uniform_features(u64 address, u32 bytes, Features& f);
void sequential_features(u64 address, u32 bytes, Features& f);
void scattered_features(const u64* address, u32 mask, u32 bytes, Features& f);
// In shared memory wide elements that neighbours share go twice as many lanes at a time.
u32 shared_wavefronts(const u64* address, u32 mask, u32 bytes);

// Most executions of a site repeat the distances between its lanes: what they cost is remembered
// for each alignment of the first lane's address in its line.
struct Remembered {
    u64 distance[LANES];
    s64 column = 0, row = 0;  // the distances, where they are such steps
    bool in_steps = false;
    u32 mask = 0;
    u32 known = 0;  // bit k: for alignment 4 k
    Features features[LANES];
    u64 signature[LANES];
};

// Sectors that a warp accessed recently: repeated in the same window, they are not new.
// Loops along a row come back to each sector eight times.
struct Touch {
    u64 line = 0, signature = 0;  // the first lane's line, and the sectors from there
    u32 window = 0, region = 0;
    size_t slot() const { return mixed(line ^ signature) >> 60; }
    bool operator==(const Touch& other) const {
        return line == other.line && signature == other.signature && window == other.window &&
               region == other.region;
    }
};
struct Recent {
    Touch touches[16];
};

// How often a warp executed a site, and the next execution that is traced.
// Of a regular access, the sectors of the last look-up and its window.
struct Progress {
    u32 executions = 0, dormant = 0;
    u64 sectors = ~0ull;
    u32 window = 0;
};

// The windows of a block's loops that are traced.
class Draws {
  public:
    void begin(u64 block, u32 every, size_t regions);
    // The first traced window of a loop from `window` on.
    u64 first(u32 region, u64 window);

  private:
    struct Region {
        std::vector<u64> drawn;  // ascending
        size_t latest = 0;       // the answer to the latest question
    };
    void extend(u32 region, u64 window);
    u64 block_ = 0;
    u32 every_ = 1;
    std::vector<Region> regions_;
};

// Distinct sectors of one block, by region and window of executions. Those of a line stand together.
class SectorTable {
  public:
    SectorTable() : entries_(1024), last_(entries_.size() - 1) {}
    void clear(size_t regions);
    // How many of the line's `touched` sectors are new in this window and in the one before?
    ALWAYS_INLINE u32 touch(u32 region, u64 line, u32 touched, u32 window) {
        const u64 key = key_of(region, line);
        const u64 now = spread(touched);
        const Entry& entry = entries_[slot(key)];
        const bool again = entry.key == key && entry.generation == generation_ &&
                           entry.window == window && (entry.history & now) == now;
        return again ? 0 : enter(region, key, now, window);
    }
    // Does every line of the region that was touched in the window still show it?
    ALWAYS_INLINE bool reaches(u32 region, u32 window) const {
        return newest_[region] - window < HISTORY;
    }

  private:
    static constexpr u32 HISTORY = 16;
    static constexpr u64 EACH = 0x0001000100010001ull;  // a bit of each sector
    struct Entry {
        u64 key;
        u64 history;      // 16 bits per sector; bit k: touched in window - k
        u32 window;       // last one that touched the line
        u32 generation;
    };
    static u64 key_of(u32 region, u64 line) {
        return u64(region) << 43 | (line & ((1ull << 43) - 1));
    }
    // One bit per sector to the lowest of its 16.
    static u64 spread(u32 sectors) {
        return sectors * (1 + (1ull << 15) + (1ull << 30) + (1ull << 45)) & EACH;
    }
    size_t slot(u64 key) const { return mixed(key) >> 20 & last_; }
    u32 enter(u32 region, u64 key, u64 now, u32 window);
    void grow();
    std::vector<Entry> entries_;
    size_t last_;  // the highest index
    std::vector<u32> newest_;
    size_t used_ = 0;
    u32 generation_ = 0;
};

// The sectors of a warp's last store, line by line, counted from the first lane's as in `Features`.
struct LastStore {
    const s64* line;
    const u8* touched;
    s64 own_line[LANES];  // where features do not stay
    u8 own_touched[LANES];
    u32 lines = 0;
    u64 from = 0;   // the line of the first lane
    u64 first = 0;  // the address of the first lane
    u32 site = 0, region = 0, execution = 0;
};

// The window that stands for those of a young loop, until a later one is drawn.
struct Young {
    Site counts;
    u32 window;
};

// Accesses of 1, 2, 4, 8 and 16 bytes per lane.
constexpr u32 REGULAR_SIZES = 5;

struct TraceState {
    u32 first_site = 0, sites = 0;      // of the kernel
    std::vector<Progress> progress;     // by warp and site of the kernel
    Progress& progress_of(u32 warp, u32 site) {
        return progress[size_t(warp) * sites + (site - first_site)];
    }
    std::vector<Recent> recent;         // by warp
    std::vector<LastStore> last_store;  // the same
    std::vector<std::unique_ptr<Remembered>> remembered;  // by site
    Features regular[2][REGULAR_SIZES][LANES];  // by pattern, size and alignment
    Features fresh;                             // of an access that is not remembered
    std::vector<Young> young;           // by site of the kernel
    SectorTable sectors;
    Draws draws;
};

}  // namespace cutune
