// Counts what a memory instruction's addresses cost.
//
// Of each execution: distinct 32-byte sectors, of these the fully touched ones, 128-byte lines, and
// wavefronts (distinct 4-byte words in the busiest of 32 banks; shared accesses of 8 and 16 bytes
// per lane go by half and quarter warps, unless all lanes want the same). `new_sectors` counts the
// sectors that the block touched neither before in the same window of 8 executions nor in the
// window before, per loop and per direction; a window is the number of the warp's execution of the
// instruction, divided by 8.
//
// With trace_every = k > 1 one window of each k consecutive ones is looked at, the same for all
// warps and all sites of a loop; the sectors of the window before it are recorded too. It is drawn
// by a hash of block, loop and place, so each window has the chance 1 / k. The first k windows are
// a special case, because a loop may end within them and nobody knows beforehand: there the draw is
// a reservoir of one (window j replaces the earlier choice with the chance 1 / (j + 1)), so that a
// loop of m < k windows gives one window, each with the chance 1 / m. The mean over traced
// executions is therefore not biased by what the first or last iterations do.
#include <algorithm>

#include "machine_check.h"

namespace cutune {

namespace {

constexpr u32 HISTORY = 16;

u64 scrambled(u64 x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}

// The drawn window of a group behind the first: its place in the group.
u32 drawn_place(u64 seed, u32 group, u32 every) {
    return u32(scrambled(seed + (u64(group) << 32)) % every);
}

u64 seed_of(u64 block, u32 region) { return scrambled(block * 0x9e3779b97f4a7c15ull + region); }

bool is_drawn(u64 block, u32 region, u32 window, u32 every) {
    const u32 group = window / every;
    const u64 seed = seed_of(block, region);
    if (group == 0) return scrambled(seed + window) % (window + 1) == 0;
    return drawn_place(seed, group, every) == window % every;
}

void uniform_features(u64 address, u32 bytes, Features& f) {
    f.line[0] = 0;
    f.touched[0] = u8(1 << (address >> 5 & 3));
    f.sectors = f.lines = f.wavefronts = 1;
    f.bytes = bytes;
    f.partial_lines = bytes < 32;
    f.lowest = 0;
    f.highest = bytes;
}

void sequential_features(u64 address, u32 bytes, Features& f) {
    const u64 end = address + LANES * bytes;
    f.sectors = ((end - 1) >> 5) - (address >> 5) + 1;
    f.full = (end >> 5) - ((address + 31) >> 5);
    f.lines = ((end - 1) >> 7) - (address >> 7) + 1;
    const u32 begins = address >> 5 & 3, ends = 3 - ((end - 1) >> 5 & 3);
    for (u32 k = 0; k < f.lines; k++) {
        const u32 head = k ? 0 : begins, tail = k + 1 < f.lines ? 0 : ends;
        f.line[k] = k;
        f.touched[k] = u8(15u >> (head + tail) << head);
    }
    f.bytes = LANES * bytes;
    const bool head = address & 31, tail = end & 31;
    f.partial_lines = f.lines == 1 ? head || tail : head + tail;
    f.wavefronts = std::max(1u, bytes / 4);
    f.lowest = 0;
    f.highest = LANES * bytes;
}

u32 gather(const u64* address, u32 mask, u64* found) {
    u32 count = 0;
    bool sorted = true;
    for (; mask; mask &= mask - 1) {
        found[count] = address[__builtin_ctz(mask)];
        sorted &= count == 0 || found[count - 1] <= found[count];
        count++;
    }
    if (!sorted) std::sort(found, found + count);
    return count;
}

// Distinct words in the busiest bank; `sorted` addresses.
u32 busiest_bank(const u64* sorted, u32 count, u32 bytes) {
    u8 bank[LANES] = {};
    u32 most = 0;
    u64 last = ~0ull;
    for (u32 k = 0; k < count; k++) {
        const u64 end = (sorted[k] + bytes - 1) >> 2;
        for (u64 word = sorted[k] >> 2; word <= end; word++) {
            if (last != ~0ull && word <= last) continue;
            last = word;
            most = std::max<u32>(most, ++bank[word & 31]);
        }
    }
    return most;
}

void scattered_features(const u64* address, u32 mask, u32 bytes, Features& f) {
    u64 sorted[LANES];
    const u32 count = gather(address, mask, sorted);
    const u64 first = address[__builtin_ctz(mask)];
    const u32 touch = bytes >= 32 ? ~0u : (1u << bytes) - 1;
    u32 touched = 0;
    bool partial = false;  // some sector of the line
    u64 last = 0;
    const auto sector_ends = [&] {
        f.full += touched == ~0u;
        f.bytes += __builtin_popcount(touched);
        partial |= touched != ~0u;
    };
    for (u32 k = 0; k < count; k++) {
        const u64 sector = sorted[k] >> 5;
        if (k == 0 || sector != last) {
            if (k) sector_ends();
            if (k == 0 || sector >> 2 != last >> 2) {
                f.partial_lines += partial;
                partial = false;
                f.touched[f.lines] = 0;
                f.line[f.lines++] = s64((sector >> 2) - (first >> 7));
            }
            f.touched[f.lines - 1] |= u8(1 << (sector & 3));
            f.sectors++;
            touched = 0;
            last = sector;
        }
        touched |= touch << (sorted[k] & 31);
    }
    sector_ends();
    f.partial_lines += partial;
    f.wavefronts = busiest_bank(sorted, count, bytes);
    f.lowest = s64(sorted[0] - first);
    f.highest = s64(sorted[count - 1] + bytes - first);
}

u32 shared_wavefronts(const u64* offset, u32 mask, u32 bytes, Pattern pattern) {
    if (pattern == UNIFORM) return 1;
    if (pattern == SEQUENTIAL && bytes >= 4) return bytes / 4;
    const u32 lanes = bytes <= 4 ? 32 : bytes == 8 ? 16 : 8;
    u32 total = 0;
    for (u32 first = 0; first < LANES; first += lanes) {
        const u32 phase = mask & (lanes == 32 ? FULL : ((1u << lanes) - 1) << first);
        if (!phase) continue;
        u64 sorted[LANES];
        total += busiest_bank(sorted, gather(offset, phase, sorted), bytes);
    }
    return total;
}

// The features of an irregular access, from memory when its lanes are as far apart as before.
// `count` fills them in.
template <class F>
const Features& recalled(Execution& x, u32 site, const u64* address, u32 mask, Features& fresh,
                         F count) {
    const u64 first = address[__builtin_ctz(mask)];
    std::unique_ptr<Remembered>& place = x.remembered[site];
    if (!place) place.reset(new Remembered());
    Remembered& remembered = *place;
    u64 different = remembered.mask ^ mask;
    for (u32 l = 0; l < LANES; l++)
        different |= ((address[l] - first) ^ remembered.distance[l]) & (0 - u64(mask >> l & 1));
    if (different) {
        for (u32 l = 0; l < LANES; l++) remembered.distance[l] = address[l] - first;
        remembered.mask = mask;
        remembered.known = 0;
    }
    const u32 alignment = first & 127;
    if (alignment & 3) {
        count(fresh);
        return fresh;
    }
    Features& known = remembered.features[alignment >> 2];
    if (!(remembered.known >> (alignment >> 2) & 1)) {
        known = Features();
        count(known);
        remembered.known |= 1u << (alignment >> 2);
    }
    return known;
}

ALWAYS_INLINE void add(Site& site, const SiteFacts& facts, const Features& f, u64 first,
                       u32 rewritten) {
    site.traced++;
    site.sectors += f.sectors;
    site.full_sectors += f.full;
    site.lines += f.lines;
    site.wavefronts += f.wavefronts;
    if (facts.kind == LOAD)
        site.load_cost_x20 += std::max(20 * f.wavefronts, 7 * f.lines);
    else if (f.sectors) {
        const u32 cost = std::max(f.bytes * 20 / 32 + 30 * f.partial_lines, 33 * f.lines);
        // A division takes as long as all the rest, and most stores rewrite nothing.
        site.store_cost_x20 += rewritten ? cost * (f.sectors - rewritten) / f.sectors : cost;
        site.rewritten_sectors += rewritten;
    } else
        site.store_cost_x20 += 20 * f.wavefronts;
    const u64 lowest = first + u64(f.lowest), highest = first + u64(f.highest);
    if (site.traced == 1 || lowest < site.lowest) site.lowest = lowest;
    if (highest > site.highest) site.highest = highest;
}

// How many of the partially touched sectors the warp's last store has just touched at other bytes,
// from another instruction in the same iteration: on their way to L2 the two may become one.
u32 rewritten_sectors(LastStore& last, const SiteFacts& facts, u32 site, u32 execution,
                      const Features& f, u64 first) {
    const bool together = last.site != site && last.first != first &&
                          last.region == facts.region && last.execution == execution;
    const u64 from = first >> 7;
    u32 both = 0;
    for (u32 k = 0, other = 0; together && k < f.lines; k++) {
        const u64 line = from + u64(f.line[k]);
        while (other < last.lines && last.line[other] < line) other++;
        if (other < last.lines && last.line[other] == line)
            both += __builtin_popcount(last.touched[other] & f.touched[k]);
    }
    for (u32 k = 0; k < f.lines; k++) {
        last.line[k] = from + u64(f.line[k]);
        last.touched[k] = f.touched[k];
    }
    last.lines = f.lines;
    last.first = first;
    last.site = site;
    last.region = facts.region;
    last.execution = execution;
    return std::min(both, f.sectors - f.full);
}

// Where the words of local memory lie in the caches: those of a warp's lanes side by side.
void interleave(const Warp& w, const u64* address, u64* interleaved) {
    const u64 stride = w.execution->local_stride;
    FOR_ACTIVE(w, l) {
        const u64 offset = address[l] - reinterpret_cast<u64>(w.local_memory) - l * stride;
        interleaved[l] = (offset >> 2 << 7) + 4 * l + (offset & 3);
    }
}

// A wide element is several words, each a row of 128 bytes.
void trace_local(const Warp& w, const u64* address, u32 bytes, const SiteFacts& facts, Site& site) {
    u64 interleaved[LANES] = {};
    interleave(w, address, interleaved);
    Features f;
    scattered_features(interleaved, w.mask, std::min(bytes, 4u), f);
    const u32 words = std::max(1u, bytes / 4);
    f.lines *= words;
    f.partial_lines *= words;
    f.bytes *= words;
    f.sectors *= words;
    f.full *= words;
    f.wavefronts *= words;
    add(site, facts, f, interleaved[__builtin_ctz(w.mask)], 0);
}

NEVER_INLINE void trace(const Instruction* i, Warp& w, const u64* address, u32 bytes,
                        Pattern pattern) {
    Execution& x = *w.execution;
    const SiteFacts& facts = x.module.sites[i->x];
    const u32 every = x.launch.trace_every;
    const u32 execution = x.counts[w.index * x.module.sites.size() + i->x]++;
    const u32 window = execution >> WINDOW;
    Site* site = &x.report.sites[i->x];
    bool drawn = true;
    if (every > 1) {
        drawn = is_drawn(x.linear_block, facts.region, window, every);
        if (!drawn && !is_drawn(x.linear_block, facts.region, window + 1, every)) return;
        if (window < every) {
            Execution::Tentative& tentative = x.tentative[i->x];
            if (drawn && window > tentative.window) tentative = {Site(), window};
            // A warp that lags behind belongs to a choice that has been replaced.
            drawn &= window == tentative.window;
            site = &tentative.counts;
        }
    }
    Features fresh;
    const Features* f = &fresh;
    const u64 shared = reinterpret_cast<u64>(x.shared);
    const u64 first = address[__builtin_ctz(w.mask)];
    if (facts.space == SHARED_SPACE ||
        (facts.space == GENERIC_SPACE && first - shared < x.shared_bytes)) {
        if (!drawn) return;
        if (pattern == UNIFORM || pattern == SEQUENTIAL)
            fresh.wavefronts = shared_wavefronts(address, w.mask, bytes, pattern);
        else
            f = &recalled(x, i->x, address, w.mask, fresh, [&](Features& features) {
                features.wavefronts = shared_wavefronts(address, w.mask, bytes, pattern);
            });
        site->traced++;
        site->wavefronts += f->wavefronts;
        (facts.kind == LOAD ? site->load_cost_x20 : site->store_cost_x20) += 20 * f->wavefronts;
        return;
    }
    if (facts.space == LOCAL_SPACE) {
        if (drawn) trace_local(w, address, bytes, facts, *site);
        return;
    }
    if (pattern == UNIFORM) uniform_features(first, bytes, fresh);
    else if (pattern == SEQUENTIAL) sequential_features(first, bytes, fresh);
    else
        f = &recalled(x, i->x, address, w.mask, fresh, [&](Features& features) {
            scattered_features(address, w.mask, bytes, features);
        });
    u32 unseen = 0;
    const u32 region = 2 * facts.region + (facts.kind != LOAD);
    for (u32 k = 0; k < f->lines; k++)
        unseen += x.sectors.touch(region, (first >> 7) + u64(f->line[k]), f->touched[k], window);
    // While a warp waits for what L1 does not have, its last store is long gone.
    if (facts.kind == LOAD && unseen) x.last_store[w.index].lines = 0;
    const u32 rewritten =
        facts.kind == STORE
            ? rewritten_sectors(x.last_store[w.index], facts, i->x, execution, *f, first)
            : 0;
    if (!drawn) return;
    add(*site, facts, *f, first, rewritten);
    site->new_sectors += unseen;
    // Warps of a block that reach the same step wait together: it counts once.
    if (unseen)
        site->missing += x.sectors.touch(2 * x.module.region_count + i->x, execution, 1, window);
}

}  // namespace

u64 next_window(const Execution& x, u32 region, u64 window, u64 end) {
    const u32 every = x.launch.trace_every;
    if (every <= 1) return window;
    const u64 seed = seed_of(x.linear_block, region);
    for (; window < end; window++) {
        if (is_drawn(x.linear_block, region, u32(window), every) ||
            is_drawn(x.linear_block, region, u32(window + 1), every))
            return window;
        const u32 group = u32(window / every);
        if (group == 0) continue;
        // One of each group: go to the window before it, or on to the next group.
        const u64 drawn = u64(group) * every + drawn_place(seed, group, every);
        const u64 next = drawn > window ? drawn - 1 : u64(group + 1) * every - 1;
        window = std::max(window, next - 1);
    }
    return end;
}

void merge(Site& into, const Site& from) {
    const u64 lowest = into.traced ? std::min(into.lowest, from.lowest) : from.lowest;
    into.traced += from.traced;
    into.sectors += from.sectors;
    into.full_sectors += from.full_sectors;
    into.lines += from.lines;
    into.wavefronts += from.wavefronts;
    into.load_cost_x20 += from.load_cost_x20;
    into.store_cost_x20 += from.store_cost_x20;
    into.rewritten_sectors += from.rewritten_sectors;
    into.new_sectors += from.new_sectors;
    into.missing += from.missing;
    into.lowest = lowest;
    into.highest = std::max(into.highest, from.highest);
}

void observe(const Instruction* i, Warp& w, const u64* address, u32 bytes, u32 elements,
             Pattern pattern) {
    Execution& x = *w.execution;
    if (!w.mask) return;
    if (x.launch.checker) x.launch.checker->access(i, w, address, bytes, elements);
    if (i->flags & GUARDED) {
        x.report.sites[i->x].executions++;
        x.report.sites[i->x].lanes += __builtin_popcount(w.mask);
    }
    if ((i->flags & SPINNING) && !w.groups.empty()) w.spins++;
    if (x.tracing) trace(i, w, address, bytes, pattern);
}

void Execution::begin_trace() {
    counts.assign(warps.size() * module.sites.size(), 0);
    last_store.assign(warps.size(), LastStore());
    remembered.resize(module.sites.size());
    sectors.clear(2 * module.region_count + module.sites.size());
    if (launch.trace_every > 1) tentative.assign(module.sites.size(), Tentative{Site(), 0});
}

void Execution::end_trace() {
    const size_t sites = module.sites.size();
    for (size_t k = 0; k < sites; k++) {
        u32 most = 0;
        for (size_t w = 0; w < warps.size(); w++) most = std::max(most, counts[w * sites + k]);
        report.sites[k].busiest += most;
    }
    if (launch.trace_every <= 1) return;
    for (size_t k = 0; k < tentative.size(); k++)
        if (tentative[k].counts.traced) merge(report.sites[k], tentative[k].counts);
}

void SectorTable::clear(size_t regions) {
    newest_.assign(regions, 0);
    used_ = 0;
    if (++generation_ == 0) {
        std::fill(entries_.begin(), entries_.end(), Entry());
        generation_ = 1;
    }
}

u32 SectorTable::enter(u32 region, u64 key, u64 now, u32 window) {
    constexpr u64 EACH = 0x0001000100010001ull;  // a bit of each sector
    const size_t last = entries_.size() - 1;
    for (size_t k = slot(key);; k = (k + 1) & last) {
        Entry& entry = entries_[k];
        if (entry.generation != generation_) {
            entry = {key, now, window, generation_};
            if (window > newest_[region]) newest_[region] = window;
            if (++used_ * 2 > entries_.size()) grow();
            return u32(__builtin_popcountll(now));
        }
        if (entry.key != key) continue;
        // Warps drift apart: the history says in which of the last 16 windows a sector was used.
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

// Forgets sectors that no window can ask for again; doubles when that does not free half.
void SectorTable::grow() {
    std::vector<Entry> kept;
    for (const Entry& entry : entries_)
        if (entry.generation == generation_ &&
            entry.window + HISTORY >= newest_[entry.key >> 43])
            kept.push_back(entry);
    size_t size = entries_.size();
    while (kept.size() * 4 > size) size *= 2;
    entries_.assign(size, Entry());
    const size_t last = size - 1;
    for (const Entry& entry : kept) {
        size_t k = slot(entry.key);
        while (entries_[k].generation == generation_) k = (k + 1) & last;
        entries_[k] = entry;
    }
    used_ = kept.size();
}

}  // namespace cutune
