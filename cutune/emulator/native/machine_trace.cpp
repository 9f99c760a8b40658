// Counts the cost of the addresses of memory instructions.
//
// Per execution: distinct 32-byte sectors, those of them that are accessed whole, 128-byte lines,
// and wavefronts. Wavefronts are the distinct 4-byte words in the busiest of 32 banks. Accesses of
// 8 and 16 bytes per lane are split into half and quarter warps, except in shared memory if all
// lanes read one address (timed on an H200).
//
// `new_sectors` counts the sectors that the block accessed neither earlier in the same window of 8
// executions nor in the window before, per loop and per direction. The window of an execution is
// its number, counted per warp and instruction, divided by 8. machine_draws.cpp selects the windows
// that are traced.
#include <algorithm>
#include <iterator>

#include "machine_check.h"

namespace cutune {

namespace {

#define counted(name)
#define traced(name) &Site::name,
#define range(name)
#define COUNTER(name, kind, unit, what) kind(name)
constexpr u64 Site::*TRACED_SUMS[] = {CUTUNE_SITE_COUNTERS(COUNTER)};
#undef COUNTER
#undef range
#undef traced
#undef counted

void uniform_features(u64 address, u32 bytes, Features& f) {
    f.line[0] = 0;
    f.touched[0] = u8(1 << (address >> 5 & 3));
    f.sectors = f.lines = 1;
    f.wavefronts = std::max(1u, bytes / 4);
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

u32 wavefronts_by_part(const u64* address, u32 mask, u32 bytes) {
    const u32 lanes = bytes <= 4 ? 32 : bytes == 8 ? 16 : 8;
    u32 total = 0;
    for (u32 first = 0; first < LANES; first += lanes) {
        const u32 part = mask & (lanes == 32 ? FULL : ((1u << lanes) - 1) << first);
        if (!part) continue;
        u64 sorted[LANES];
        total += busiest_bank(sorted, gather(address, part, sorted), bytes);
    }
    return total;
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
    f.wavefronts = bytes <= 4 ? busiest_bank(sorted, count, bytes)
                              : wavefronts_by_part(address, mask, bytes);
    f.lowest = s64(sorted[0] - first);
    f.highest = s64(sorted[count - 1] + bytes - first);
}

u32 shared_wavefronts(const u64* offset, u32 mask, u32 bytes, Pattern pattern) {
    if (pattern == UNIFORM) return 1;
    if (pattern == SEQUENTIAL && bytes >= 4) return bytes / 4;
    return wavefronts_by_part(offset, mask, bytes);
}

// An irregular access: its cost and its signature; 0: the signature was not computed.
struct Recalled {
    const Features* features;
    u64 signature;
};

// Remembered if the distances between the lanes are the same as before, else from `count`.
template <class F>
Recalled recalled(Execution& x, u32 site, const u64* address, u32 mask, Features& fresh, F count) {
    const u64 first = address[__builtin_ctz(mask)];
    std::unique_ptr<Remembered>& place = x.trace.remembered[site];
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
    if (first & 3) {
        count(fresh);
        return {&fresh, 0};
    }
    const u32 k = first >> 2 & 31;
    if (!(remembered.known >> k & 1)) {
        remembered.features[k] = Features();
        count(remembered.features[k]);
        remembered.signature[k] = remembered.features[k].signature();
        remembered.known |= 1u << k;
    }
    return {&remembered.features[k], remembered.signature[k]};
}

ALWAYS_INLINE void add(Site& site, const StaticSite& access, const Features& f, u64 first,
                       u32 rewritten) {
    site.traced++;
    site.sectors += f.sectors;
    site.full_sectors += f.full;
    site.lines += f.lines;
    site.wavefronts += f.wavefronts;
    if (access.kind == LOAD)
        site.load_cost_x20 += std::max(COST_UNITS * f.wavefronts, LINE_LOOKUP * f.lines);
    else if (f.sectors) {
        const u32 parts = f.bytes * COST_UNITS / SECTOR_BYTES + PARTIAL_LINE * f.partial_lines;
        const u32 cost = std::max(parts, STORED_LINE * f.lines);
        // A division takes as long as all the rest, so it is avoided: most stores rewrite nothing.
        site.store_cost_x20 += rewritten ? cost * (f.sectors - rewritten) / f.sectors : cost;
        site.rewritten_sectors += rewritten;
    } else
        site.store_cost_x20 += COST_UNITS * f.wavefronts;
    const u64 lowest = first + u64(f.lowest), highest = first + u64(f.highest);
    if (site.traced == 1 || lowest < site.lowest) site.lowest = lowest;
    if (highest > site.highest) site.highest = highest;
}

// Partly written sectors of which the warp's last store, from another instruction in the same
// iteration, wrote other bytes. The two stores may merge on the way to L2.
u32 rewritten_sectors(LastStore& last, const StaticSite& access, u32 site, u32 execution,
                      const Features& f, u64 first) {
    const bool together = last.site != site && last.first != first &&
                          last.region == access.region && last.execution == execution;
    const u64 from = first >> 7;
    u32 both = 0;
    for (u32 k = 0, other = 0; together && k < f.lines; k++) {
        const u64 line = from + u64(f.line[k]);
        while (other < last.lines && last.from + u64(last.line[other]) < line) other++;
        if (other < last.lines && last.from + u64(last.line[other]) == line)
            both += __builtin_popcount(last.touched[other] & f.touched[k]);
    }
    // Unused elements too: copies of a fixed size are fast.
    std::copy(std::begin(f.line), std::end(f.line), last.line);
    std::copy(std::begin(f.touched), std::end(f.touched), last.touched);
    last.lines = f.lines;
    last.from = from;
    last.first = first;
    last.site = site;
    last.region = access.region;
    last.execution = execution;
    return std::min(both, f.sectors - f.full);
}

// Addresses of local memory in the caches: the words of a warp's lanes are adjacent.
void interleave(const Warp& w, const u64* address, u64* interleaved) {
    const u64 stride = w.execution->local_stride;
    FOR_ACTIVE(w, l) {
        const u64 offset = address[l] - reinterpret_cast<u64>(w.local_memory) - l * stride;
        interleaved[l] = (offset >> 2 << 7) + 4 * l + (offset & 3);
    }
}

// A wide element is several words, each a row of 128 bytes.
void trace_local(const Warp& w, const u64* address, u32 bytes, const StaticSite& access, Site& site) {
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
    add(site, access, f, interleaved[__builtin_ctz(w.mask)], 0);
}

// Sectors of a global access that the block accessed neither in this window nor in the last one.
u32 unseen_sectors(Execution& x, u32 warp, const Touch& touch, const Features& f) {
    if (touch.signature) {
        Touch& recent = x.trace.recent[warp].touches[touch.slot()];
        if (recent == touch) return 0;
        recent = touch;
    }
    u32 unseen = 0;
    for (u32 k = 0; k < f.lines; k++)
        unseen += x.trace.sectors.touch(touch.region, touch.line + u64(f.line[k]), f.touched[k],
                                        touch.window);
    return unseen;
}

// The counters of a drawn window; none for a warp so far behind that its window has been replaced.
Site* sampled_site(Execution& x, u32 site, u32 window) {
    if (window == 0) return &x.report.windows[site].first;
    if (window > x.launch.trace_every) return &x.report.windows[site].others;
    Young& young = x.trace.young[site];
    if (window > young.window) young = {Site(), window};
    return window == young.window ? &young.counts : nullptr;
}

NEVER_INLINE void trace(const Instruction* i, Warp& w, const u64* address, u32 bytes,
                        Pattern pattern) {
    Execution& x = *w.execution;
    TraceState& state = x.trace;
    const StaticSite& access = x.module.sites[i->x];
    Progress& progress = state.progress[w.index * x.module.sites.size() + i->x];
    const u32 execution = progress.executions++;
    const u32 window = execution >> WINDOW;
    Site* site = &x.report.sites[i->x];  // nowhere: what is touched matters to the next window
    if (x.launch.trace_every > 1) {
        if (execution < progress.dormant) return;
        const u64 next = state.draws.first(access.region, window);
        if (next > window + 1) {
            progress.dormant = u32(std::min<u64>((next - 1) << WINDOW, ~0u));
            return;
        }
        site = next == window ? sampled_site(x, i->x, window) : nullptr;
    }
    Features fresh;
    Recalled found = {&fresh, 0};
    const u64 shared = reinterpret_cast<u64>(x.shared);
    const u64 first = address[__builtin_ctz(w.mask)];
    if (access.space == SHARED_SPACE ||
        (access.space == GENERIC_SPACE && first - shared < x.shared_bytes)) {
        if (!site) return;
        if (pattern == UNIFORM || pattern == SEQUENTIAL)
            fresh.wavefronts = shared_wavefronts(address, w.mask, bytes, pattern);
        else
            found = recalled(x, i->x, address, w.mask, fresh, [&](Features& features) {
                features.wavefronts = shared_wavefronts(address, w.mask, bytes, pattern);
            });
        const u32 wavefronts = found.features->wavefronts;
        site->traced++;
        site->wavefronts += wavefronts;
        u64& cost = access.kind == LOAD ? site->load_cost_x20 : site->store_cost_x20;
        cost += COST_UNITS * wavefronts;
        return;
    }
    if (access.space == LOCAL_SPACE) {
        if (site) trace_local(w, address, bytes, access, *site);
        return;
    }
    if (pattern == UNIFORM) uniform_features(first, bytes, fresh);
    else if (pattern == SEQUENTIAL) sequential_features(first, bytes, fresh);
    else
        found = recalled(x, i->x, address, w.mask, fresh, [&](Features& features) {
            scattered_features(address, w.mask, bytes, features);
        });
    const Features& f = *found.features;
    const u32 region = 2 * access.region + (access.kind != LOAD);
    const u32 unseen =
        unseen_sectors(x, w.index, Touch{first >> 7, found.signature, window, region}, f);
    // A load that misses L1 takes longer than the last store needs to reach L2.
    if (access.kind == LOAD && unseen) state.last_store[w.index].lines = 0;
    const u32 rewritten =
        access.kind == STORE
            ? rewritten_sectors(state.last_store[w.index], access, i->x, execution, f, first)
            : 0;
    if (!site) return;
    add(*site, access, f, first, rewritten);
    site->new_sectors += unseen;
    // Warps of a block wait at the same time for the misses of a step, so a step counts once.
    if (unseen)
        site->missing += state.sectors.touch(2 * x.module.region_count + i->x, execution, 1, window);
}

}  // namespace

u64 Features::signature() const {
    u64 all = lines;
    for (u32 k = 0; k < lines; k++) all = mixed(all ^ (u64(line[k]) << 4 | touched[k]));
    return all | 1;
}

void merge(Site& into, const Site& from) {
    if (!from.traced) return;
    into.lowest = into.traced ? std::min(into.lowest, from.lowest) : from.lowest;
    into.highest = std::max(into.highest, from.highest);
    for (u64 Site::*sum : TRACED_SUMS) into.*sum += from.*sum;
}

Site estimate(const Windows& windows) {
    Site others = windows.others, all = windows.first;
    if (others.traced) {
        const u64 wanted = windows.executions - windows.first.traced;
        const double scale = double(wanted) / double(others.traced);
        for (u64 Site::*sum : TRACED_SUMS) others.*sum = u64(double(others.*sum) * scale + 0.5);
    }
    merge(all, others);
    return all;
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
    const size_t sites = module.sites.size();
    trace.progress.assign(warps.size() * sites, Progress());
    trace.recent.assign(warps.size(), Recent());
    trace.last_store.assign(warps.size(), LastStore());
    trace.remembered.resize(sites);
    trace.sectors.clear(2 * module.region_count + sites);
    trace.draws.begin(linear_block, launch.trace_every, module.region_count);
    if (launch.trace_every > 1) trace.young.assign(sites, Young{Site(), 0});
}

void Execution::end_trace() {
    const size_t sites = module.sites.size();
    for (size_t k = 0; k < sites; k++) {
        u64 most = 0, all = 0;
        for (size_t w = 0; w < warps.size(); w++) {
            const u64 executions = trace.progress[w * sites + k].executions;
            most = std::max(most, executions);
            all += executions;
        }
        report.sites[k].busiest += most;
        if (launch.trace_every <= 1) continue;
        merge(report.windows[k].others, trace.young[k].counts);
        report.windows[k].executions += all;
    }
}

}  // namespace cutune
