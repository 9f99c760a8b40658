// Counts the cost of the addresses of memory instructions.
//
// Per execution: distinct 32-byte sectors, those of them that are accessed whole, 128-byte lines,
// and wavefronts. Wavefronts are the distinct 4-byte words in the busiest of 32 banks. Accesses of
// 8 and 16 bytes per lane are split into half and quarter warps; in shared memory into half as many
// parts where each lane has the address of a neighbour (as ncu counts on an H200).
//
// `new_sectors` counts the sectors that the block accessed neither earlier in the same window of 8
// executions nor in the window before, per loop and per direction. The window of an execution is
// its number, counted per warp and instruction, divided by 8. machine_draws.cpp selects the windows
// that are traced.
#include <algorithm>
#include <cstddef>

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

// The addresses of one execution, as they are or in steps of all lanes.
struct Accessed {
    const u64* address;  // nullptr: in steps
    const AddressSteps& steps;  // of others, only the first is known
    u32 mask, bytes;
    Pattern pattern;

    // All of them; `room` is for those in steps.
    const u64* all(const Lattice& lattice, u64* room) const {
        if (address) return address;
        for (u32 l = 0; l < LANES; l++)
            room[l] = steps.first + u64(steps.column) * lattice.column[l] +
                      u64(steps.row) * lattice.row[l];
        return room;
    }
};

// An irregular access: its cost and its signature; 0: the signature was not computed.
struct Recalled {
    const Features* features;
    u64 signature;
};

// Are the distances between the lanes the same as before? If not, they are noted.
bool repeats(Remembered& remembered, const Accessed& at, const u64* address) {
    u64 different = remembered.mask ^ at.mask;
    for (u32 l = 0; l < LANES; l++)
        different |= ((address[l] - at.steps.first) ^ remembered.distance[l]) &
                     (0 - u64(at.mask >> l & 1));
    if (!different) return true;
    for (u32 l = 0; l < LANES; l++) remembered.distance[l] = address[l] - at.steps.first;
    remembered.mask = at.mask;
    remembered.known = 0;
    remembered.in_steps = false;
    return false;
}

// Remembered if the distances between the lanes are the same as before, else from `count`, which
// takes the addresses.
template <class F> Recalled recalled(Execution& x, u32 site, const Accessed& at, F count) {
    alignas(64) u64 room[LANES];
    std::unique_ptr<Remembered>& place = x.trace.remembered[site];
    if (!place) place.reset(new Remembered());
    Remembered& remembered = *place;
    const AddressSteps& steps = at.steps;
    const u64* address = nullptr;
    if (at.address || !remembered.in_steps || remembered.column != steps.column ||
        remembered.row != steps.row) {
        address = at.all(x.lattice, room);
        repeats(remembered, at, address);
        if (!at.address) {
            remembered.in_steps = true;
            remembered.column = steps.column;
            remembered.row = steps.row;
        }
    }
    if (steps.first & 3) {
        Features& fresh = x.trace.fresh = Features();
        count(at.all(x.lattice, room), fresh);
        return {&fresh, 0};
    }
    const u32 k = steps.first >> 2 & 31;
    if (!(remembered.known >> k & 1)) {
        remembered.features[k] = Features();
        count(at.all(x.lattice, room), remembered.features[k]);
        remembered.signature[k] = remembered.features[k].signature();
        remembered.known |= 1u << k;
    }
    return {&remembered.features[k], remembered.signature[k]};
}

// Of an access at one address, or side by side: the same for all sites.
ALWAYS_INLINE const Features& regular(TraceState& state, Pattern pattern, u64 first, u32 bytes) {
    const u32 size = u32(__builtin_ctz(bytes));
    const bool usual = !(first & 3) && bytes == 1u << size && size < REGULAR_SIZES;
    if (UNLIKELY(!usual)) state.fresh = Features();
    Features& f = usual ? state.regular[pattern == UNIFORM][size][first >> 2 & 31] : state.fresh;
    if (UNLIKELY(!f.lines))
        (pattern == UNIFORM ? uniform_features : sequential_features)(first, bytes, f);
    return f;
}

static_assert(offsetof(Site, rewritten_sectors) - offsetof(Site, traced) == 7 * sizeof(u64),
              "Sums are these counters");

ALWAYS_INLINE void add(Site& site, Kind kind, const Features& f, u64 first, u32 rewritten) {
    Sums& sums = *reinterpret_cast<Sums*>(&site.traced);
    const bool is_first = !site.traced;
    sums += f.sums[kind == LOAD];  // not read again: it may lie across two cache lines
    if (UNLIKELY(rewritten)) {
        const u64 cost = f.sums[0][offsetof(Site, store_cost_x20) / 8 - offsetof(Site, traced) / 8];
        site.store_cost_x20 -= cost - cost * (f.sectors - rewritten) / f.sectors;
        site.rewritten_sectors += rewritten;
    }
    const u64 lowest = first + u64(f.lowest), highest = first + u64(f.highest);
    if (is_first || lowest < site.lowest) site.lowest = lowest;
    if (highest > site.highest) site.highest = highest;
}

// Partly written sectors of which the warp's last store, from another instruction in the same
// iteration, wrote other bytes. The two stores may merge on the way to L2. `stays`: the features
// do.
ALWAYS_INLINE u32 rewritten_sectors(LastStore& last, const StaticSite& access, u32 site,
                                    u32 execution, const Features& f, u64 first, bool stays) {
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
    if (stays) {
        last.line = f.line;
        last.touched = f.touched;
    } else {
        memcpy(last.own_line, f.line, f.lines * sizeof f.line[0]);
        memcpy(last.own_touched, f.touched, f.lines);
        last.line = last.own_line;
        last.touched = last.own_touched;
    }
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
    f.finish();
    add(site, access.kind, f, interleaved[__builtin_ctz(w.mask)], 0);
}

// Of a global access, what the block accessed neither in this window nor in the last one.
struct Unseen {
    u32 sectors = 0, lines = 0;  // lines with such sectors
};
ALWAYS_INLINE Unseen unseen_of(Execution& x, u32 warp, const Touch& touch, const Features& f) {
    Unseen unseen;
    if (touch.signature) {
        Touch& recent = x.trace.recent[warp].touches[touch.slot()];
        if (recent == touch) return unseen;
        recent = touch;
    }
    u32 k = 0;
    do {
        const u32 sectors = x.trace.sectors.touch(touch.region, touch.line + u64(f.line[k]),
                                                  f.touched[k], touch.window);
        unseen.sectors += sectors;
        unseen.lines += sectors != 0;
    } while (++k < f.lines);
    return unseen;
}

// What lines from L2 add to the cost of a load; nothing where it reads one piece of memory.
u32 cost_of_lines(const Features& f, u32 brought) {
    if (f.highest - f.lowest == s64(f.bytes)) return 0;
    const u32 seen = std::max(COST_UNITS * f.wavefronts, LINE_LOOKUP * f.lines);
    const u32 lines = LINE_LOOKUP * (f.lines - brought) + BROUGHT_LINE * brought;
    return std::max(lines, seen) - seen;
}

// Adds one execution to `site`; nullptr: to nothing, but what is touched matters to the next window.
template <Kind KIND>
inline void count_global(const Instruction* i, Warp& w, u32 execution, u64 first, const Features& f,
                         Unseen unseen, bool stays, Site* site) {
    Execution& x = *w.execution;
    TraceState& state = x.trace;
    const StaticSite& access = x.module.sites[i->x];
    // A load that misses L1 takes longer than the last store needs to reach L2.
    if (KIND == LOAD && unseen.sectors) state.last_store[w.index].lines = 0;
    const u32 rewritten =
        KIND == STORE
            ? rewritten_sectors(state.last_store[w.index], access, i->x, execution, f, first, stays)
            : 0;
    if (!site) return;
    add(*site, KIND, f, first, rewritten);
    if (!unseen.sectors) return;
    site->new_sectors += unseen.sectors;
    if (KIND == LOAD) site->load_cost_x20 += cost_of_lines(f, unseen.lines);
    // Warps of a block wait at the same time for the misses of a step, so a step counts once.
    site->missing += state.sectors.touch(2 * x.module.region_count + i->x, execution, 1,
                                         execution >> WINDOW);
}

// The counters of a drawn window; none for a warp so far behind that its window has been replaced.
Site* sampled_site(Execution& x, u32 site, u32 window) {
    if (window == 0) return &x.report.windows[site].first;
    if (window > x.launch.trace_every) return &x.report.windows[site].others;
    Young& young = x.trace.young[site - x.trace.first_site];
    if (window > young.window) young = {Site(), window};
    return window == young.window ? &young.counts : nullptr;
}

u32 wavefronts_in_shared(Execution& x, u32 site, const Accessed& at) {
    if (at.pattern == UNIFORM) return at.bytes == 16 ? 2 : 1;
    if (at.pattern == SEQUENTIAL && at.bytes >= 4) return at.bytes / 4;
    const Recalled found =
        recalled(x, site, at, [&](const u64* address, Features& features) {
            features.wavefronts = shared_wavefronts(address, at.mask, at.bytes);
            features.finish();
        });
    return found.features->wavefronts;
}

NEVER_INLINE void trace(const Instruction* i, Warp& w, const Accessed& at) {
    Execution& x = *w.execution;
    TraceState& state = x.trace;
    const StaticSite& access = x.module.sites[i->x];
    Progress& progress = state.progress_of(w.index, i->x);
    const u32 execution = progress.executions++;
    const u32 window = execution >> WINDOW;
    const u64 first = at.steps.first;
    Site* site = &x.report.sites[i->x];
    if (x.launch.trace_every > 1) {
        if (execution < progress.dormant) return;
        const u64 next = state.draws.first(access.region, window);
        if (next > window + 1) {
            progress.dormant = u32(std::min<u64>((next - 1) << WINDOW, ~0u));
            return;
        }
        site = next == window ? sampled_site(x, i->x, window) : nullptr;
    }
    if (access.space == SHARED_SPACE ||
        (access.space == GENERIC_SPACE &&
         first - reinterpret_cast<u64>(x.shared) < x.shared_bytes)) {
        if (!site) return;
        const Accessed whole{at.address, at.steps, at.mask, access.vector, at.pattern};
        const u32 wavefronts = access.vector ? wavefronts_in_shared(x, i->x, whole) : 0;
        site->traced++;
        site->wavefronts += wavefronts;
        u64& cost = access.kind == LOAD ? site->load_cost_x20 : site->store_cost_x20;
        cost += COST_UNITS * wavefronts;
        return;
    }
    if (access.space == LOCAL_SPACE) {
        if (site) trace_local(w, at.address, at.bytes, access, *site);
        return;
    }
    const bool is_regular = at.pattern == UNIFORM || at.pattern == SEQUENTIAL;
    const Recalled found =
        is_regular ? Recalled{&regular(state, at.pattern, first, at.bytes), 0}
                   : recalled(x, i->x, at, [&](const u64* address, Features& features) {
                         scattered_features(address, at.mask, at.bytes, features);
                     });
    const Features& f = *found.features;
    const u32 region = 2 * access.region + (access.kind != LOAD);
    const Unseen unseen =
        unseen_of(x, w.index, Touch{first >> 7, found.signature, window, region}, f);
    const auto count = access.kind == LOAD    ? count_global<LOAD>
                       : access.kind == STORE ? count_global<STORE>
                                              : count_global<ATOMIC>;
    count(i, w, execution, first, f, unseen, is_regular && &f != &state.fresh, site);
}

}  // namespace

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
    const AddressSteps first{address[__builtin_ctz(w.mask)], 0, 0};
    if (x.tracing) trace(i, w, {address, first, w.mask, bytes, pattern});
}

void observe_steps(const Instruction* i, Warp& w, const AddressSteps& at, u32 bytes,
                   Pattern pattern) {
    trace(i, w, {nullptr, at, FULL, bytes, pattern});
}

// The same as `trace` does, but what a warp repeats in a window is not looked up again.
template <Kind KIND, Pattern PATTERN>
void observe_regular(const Instruction* i, Warp& w, u64 first, u32 bytes) {
    Execution& x = *w.execution;
    const StaticSite& access = x.module.sites[i->x];
    if (UNLIKELY(x.launch.trace_every > 1 || access.space != GLOBAL_SPACE))
        return trace(i, w, {nullptr, {first, 0, 0}, FULL, bytes, PATTERN});
    TraceState& state = x.trace;
    Progress& progress = state.progress_of(w.index, i->x);
    const u32 execution = progress.executions++, window = execution >> WINDOW;
    const u32 region = 2 * access.region + (KIND != LOAD);
    const Features& f = regular(state, PATTERN, first, bytes);
    const u64 sectors = (PATTERN == UNIFORM ? first >> 5 : first) << 1 | (PATTERN == UNIFORM);
    Unseen unseen;
    if (progress.sectors != sectors || progress.window != window ||
        !state.sectors.reaches(region, window)) {
        progress.sectors = sectors;
        progress.window = window;
        unseen = unseen_of(x, w.index, Touch{first >> 7, 0, window, region}, f);
    }
    count_global<KIND>(i, w, execution, first, f, unseen, &f != &state.fresh,
                       &x.report.sites[i->x]);
}
template void observe_regular<LOAD, UNIFORM>(const Instruction*, Warp&, u64, u32);
template void observe_regular<LOAD, SEQUENTIAL>(const Instruction*, Warp&, u64, u32);
template void observe_regular<STORE, UNIFORM>(const Instruction*, Warp&, u64, u32);
template void observe_regular<STORE, SEQUENTIAL>(const Instruction*, Warp&, u64, u32);

void Execution::begin_trace() {
    trace.first_site = kernel.first_site;
    trace.sites = kernel.end_site - kernel.first_site;
    trace.progress.assign(warps.size() * trace.sites, Progress());
    trace.recent.assign(warps.size(), Recent());
    trace.last_store.assign(warps.size(), LastStore());
    trace.remembered.resize(module.sites.size());
    trace.sectors.clear(2 * module.region_count + module.sites.size());
    trace.draws.begin(linear_block, launch.trace_every, module.region_count);
    if (launch.trace_every > 1) trace.young.assign(trace.sites, Young{Site(), 0});
}

void Execution::end_trace() {
    for (u32 k = kernel.first_site; k < kernel.end_site; k++) {
        u64 most = 0, all = 0;
        for (u32 w = 0; w < warps.size(); w++) {
            const u64 executions = trace.progress_of(w, k).executions;
            most = std::max(most, executions);
            all += executions;
        }
        report.sites[k].busiest += most;
        if (launch.trace_every <= 1) continue;
        merge(report.windows[k].others, trace.young[k - kernel.first_site].counts);
        report.windows[k].executions += all;
    }
}

}  // namespace cutune
