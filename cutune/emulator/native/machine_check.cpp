// The hooks of `run --check`; the rules are in machine_check.h.
#include "machine_check.h"

#include <algorithm>

namespace cutune {

namespace {

constexpr u32 THREAD_BITS = 10;
constexpr u32 BLOCK_BITS = 22;
constexpr u32 LAST_CLOCK = 0xf0000000;

u32 low_bits(u64 block) { return block & ((1u << BLOCK_BITS) - 1); }
u32 block_of(u32 thread) { return thread >> THREAD_BITS; }
u32 warp_of(u32 thread) { return (thread & ((1u << THREAD_BITS) - 1)) / LANES; }
u32 lane_of(u32 thread) { return thread % LANES; }

}  // namespace

// One lane's access, as the cells see it.
struct Checker::Accessor {
    const Instruction* i;
    const Warp& w;
    u32 lane;
    u32 thread;
    u32 what;
    bool writes, silent, shared;
};

u32 Checker::line(const Instruction* i) const {
    return i ? x_->module.lines[i - x_->module.code.data()] : 0;
}

void Checker::begin_launch(Execution& x) {
    x_ = &x;
    findings_.clear();
    blocks_.clear();
    if (clock_ > LAST_CLOCK) {
        global_.clear();
        shared_.clear();
        clock_ = 1;
    }
    launch_begin_ = ++clock_;
}

void Checker::begin_block(Execution& x) {
    if (!x.order) x.order = std::make_shared<BlockOrder>();
    BlockOrder& order = *x.order;
    order.begin = ++clock_;
    for (const Warp& w : x.warps) order.group[w.index] = w.mask;
    memset(order.fenced, 0, sizeof order.fenced);
    memset(order.published, 0, sizeof order.published);
    memset(order.acquired, 0, sizeof order.acquired);
    memset(order.arrived, 0, sizeof order.arrived);
    order.written.assign(x.shared_bytes, 0);
}

void BlockOrder::meet(u32 warp, u32 lanes, u32 clock) {
    if (lanes == ~0u) {  // most barriers
        std::fill_n(&together[warp][0][0], LANES * LANES, clock);
        return;
    }
    for (u32 rest = lanes; rest; rest &= rest - 1) {
        u32* row = together[warp][__builtin_ctz(rest)];
        for (u32 l = 0; l < LANES; l++) row[l] = lanes >> l & 1 ? clock : row[l];
    }
}

// The lanes that ran together until now, others from now on.
void Checker::regroup(const Warp& w) {
    BlockOrder& order = *w.execution->order;
    const u32 left = order.group[w.index];
    order.meet(w.index, left, clock_);
    order.group[w.index] = w.mask;
    ++clock_;
}

void Checker::fence(const Warp& w) { w.execution->order->fenced[w.index] = clock_++; }

void Checker::strong(const Warp& w) {
    BlockOrder& order = *w.execution->order;
    Publication& block = blocks_[low_bits(w.execution->linear_block)];
    // Also what other warps fenced before a barrier that this one has passed.
    for (u32 v = 0; v < LANES; v++) {
        const u32 fenced = order.fenced[v];
        if (!fenced || (v != w.index && fenced > order.known[w.index][v])) continue;
        order.published[v] = fenced;
        block.published = std::max(block.published, fenced);
    }
    order.acquired[w.index] = block.acquired = clock_++;
}

bool Checker::ordered(const Accessor& a, const Past& past) const {
    const BlockOrder& order = *a.w.execution->order;
    const u32 warp = warp_of(past.thread);
    if (block_of(past.thread) != block_of(a.thread)) {
        const auto from = blocks_.find(block_of(past.thread));
        const auto to = blocks_.find(block_of(a.thread));
        return from != blocks_.end() && to != blocks_.end() &&
               past.clock <= from->second.published && to->second.acquired > past.clock;
    }
    if (warp == a.w.index) {
        if (order.group[warp] >> lane_of(past.thread) & 1) return true;
        if (past.clock <= order.together[warp][a.lane][lane_of(past.thread)]) return true;
    } else if (past.clock <= order.known[a.w.index][warp]) {
        return true;
    }
    return past.clock <= order.published[warp] && order.acquired[a.w.index] > past.clock;
}

Finding& Checker::note(Hazard hazard, const Instruction* i, const Instruction* other,
                       const Warp& w, u32 lane, u64 count) {
    Finding& finding = findings_[{hazard, line(i), line(other)}];
    if (!finding.count) {
        finding.at = i;
        finding.other = other;
        finding.block = finding.other_block = w.execution->linear_block;
        finding.thread = finding.other_thread = w.index * LANES + lane;
    }
    finding.count += count;
    // What was found is the answer: it is no fault of the machine.
    if (stops_) throw Fault{Outcome::ok, ""};
    return finding;
}

void Checker::race(const Accessor& a, const Past& past, bool same) {
    const u64 here = a.w.execution->linear_block;
    const u32 other_block = block_of(past.thread);
    const bool elsewhere = other_block != low_bits(here);
    const Hazard hazard = same                              ? Hazard::same_value
                          : elsewhere                       ? Hazard::block_race
                          : warp_of(past.thread) == a.w.index ? Hazard::diverged_race
                          : a.shared                        ? Hazard::shared_race
                                                            : Hazard::global_race;
    const Instruction* other = &x_->module.code[past.what & INSTRUCTION];
    Finding& finding = note(hazard, a.i, other, a.w, a.lane);
    if (finding.count > 1) return;
    if (elsewhere) {
        finding.other_block = (here & ~u64(low_bits(~0ull))) + other_block;
    }
    finding.other_thread = past.thread & ((1u << THREAD_BITS) - 1);
    finding.text = a.shared ? "shared" : "global";
}

void Checker::touch(const Accessor& a, Cell& cell) {
    const u32 valid = a.shared ? a.w.execution->order->begin : launch_begin_;
    const auto conflicts = [&](const Past& past) {
        if (past.clock < valid || past.thread == a.thread) return false;
        if ((past.what & a.what & STRONG)) return false;
        return !ordered(a, past);
    };
    const Past now{a.thread, clock_, a.what | (a.silent ? SILENT : 0)};
    // Whatever the order with a store of the value that is there already, readers and such stores
    // see the same: that is said, but is no error.
    const bool by_write = conflicts(cell.write);
    // So does who has stored that value before: by itself, or in order.
    const bool stored = cell.kept.clock >= valid &&
                        (cell.kept.thread == a.thread || ordered(a, cell.kept));
    if (by_write) race(a, cell.write, a.writes ? a.silent : stored || cell.write.what & SILENT);
    else if (conflicts(cell.kept)) race(a, cell.kept, !a.writes || a.silent);
    if (a.writes) {
        if (!by_write)
            for (const Past& read : cell.reads)
                if (conflicts(read)) race(a, read, a.silent);
        // Readers must stay in conflict with the store that changed the value.
        const bool stays = a.silent && cell.write.clock >= valid;
        (stays ? cell.kept : cell.write) = now;
        if (!stays) cell.kept = Past();
        return;
    }
    Past* const reads = cell.reads;
    if (reads[0].clock >= valid && reads[0].thread / LANES != a.thread / LANES) {
        if (block_of(reads[0].thread) == block_of(a.thread)) {
            reads[1] = reads[0];
        } else {
            reads[2] = reads[0];
            reads[1] = Past();
        }
    }
    reads[0] = now;
}

namespace {

// The value that a store writes, as bytes.
struct Accessed {
    const u32* registers;
    u32 elements, bytes;  // bytes of an element
    const Warp& w;
    const u8* of(u32 element, u32 lane) const {
        return w.registers + registers[element] + lane * (bytes == 8 ? 8 : 4);
    }
    bool same(u32 lane, u64 address) const {
        for (u32 k = 0; k < elements; k++)
            if (memcmp(of(k, lane), reinterpret_cast<const u8*>(address) + k * bytes, bytes))
                return false;
        return true;
    }
    bool same(u32 lane, u32 other) const {
        for (u32 k = 0; k < elements; k++)
            if (memcmp(of(k, lane), of(k, other), bytes)) return false;
        return true;
    }
};

}  // namespace

void Checker::wrote(const Execution& x, u64 address, u32 bytes) {
    const u64 offset = address - reinterpret_cast<u64>(x.shared);
    if (offset < x.shared_bytes) std::fill_n(x.order->written.begin() + offset, bytes, 1);
    else written.write(address, bytes);
}

bool BlockOrder::is_written(u64 offset, u32 bytes) const {
    u8 all = 1;
    if (bytes == 4) {  // most accesses
        u32 four;
        memcpy(&four, &written[offset], 4);
        return four == 0x01010101;
    }
    for (u32 k = 0; k < bytes; k++) all &= written[offset + k];
    return all;
}

// If several lanes store to one address at once, the stored value is undefined.
template <class V>
void Checker::duplicate(const Instruction* i, const Warp& w, const u64* address, u32 lane, u32 seen,
                        const V& values, bool shared) {
    for (; seen; seen &= seen - 1) {
        const u32 other = __builtin_ctz(seen);
        if (address[other] != address[lane]) continue;
        const Hazard hazard = values.same(lane, other) ? Hazard::same_value
                              : shared                 ? Hazard::shared_race
                                                       : Hazard::global_race;
        Finding& finding = note(hazard, i, i, w, lane);
        if (finding.count > 1) return;
        finding.other_thread = w.index * LANES + other;
        finding.text = shared ? "shared" : "global";
        return;
    }
}

// Marks written bytes; gives whether all bytes that are read had been written before.
bool Checker::fill(const Accessor& a, Kind kind, u64 address, u32 bytes) {
    BlockOrder& order = *a.w.execution->order;
    const u64 shared_base = reinterpret_cast<u64>(a.w.execution->shared);
    const bool before = a.shared ? order.is_written(address - shared_base, bytes)
                                 : written.holds(address, bytes);
    if (UNLIKELY(!before && kind != STORE)) {
        const Hazard hazard = a.shared ? Hazard::unwritten_shared : Hazard::unwritten_global;
        Finding& finding = note(hazard, a.i, nullptr, a.w, a.lane);
        const u64 base = a.shared ? shared_base : a.w.execution->memory.find(address)->base;
        if (finding.count == 1) finding.text = std::to_string(address - base);
    }
    if (kind == LOAD || before) return before;
    if (a.shared) std::fill_n(order.written.begin() + (address - shared_base), bytes, 1);
    else written.write(address, bytes);
    return before;
}

void Checker::access(const Instruction* i, const Warp& w, const u64* address, u32 bytes,
                     u32 elements) {
    const Execution& x = *w.execution;
    const StaticSite& site = x.module.sites[i->x];
    const u32 lanes = w.mask & ~refused_;
    refused_ = 0;
    if (!lanes || site.space == CONST_SPACE || site.space == LOCAL_SPACE) return;
    const u64 shared_base = reinterpret_cast<u64>(x.shared);
    const u64 locals = reinterpret_cast<u64>(w.local_memory);
    const u64 parameters = reinterpret_cast<u64>(x.parameters);
    // Volatile accesses of shared memory are no synchronisation between warps.
    const bool in_shared = address[__builtin_ctz(lanes)] - shared_base < x.shared_bytes;
    const bool is_strong = site.kind == ATOMIC || (!in_shared && (i->flags & SPINNING));
    if (is_strong && !in_shared) strong(w);
    const u32* registers = elements == 1 ? &i->b : &x.module.operands[further_operands(*i)];
    const Accessed values{registers, elements, bytes / elements, w};
    const u32 first_thread = low_bits(x.linear_block) << THREAD_BITS | w.index * LANES;
    const u32 what = u32(i - x.module.code.data()) | (is_strong ? STRONG : 0);
    Accessor accessor{i, w, 0, 0, what, site.kind != LOAD, false, false};
    u64 previous = ~0ull, highest = 0;
    u32 seen = 0;
    for (u32 rest = lanes; rest; rest &= rest - 1) {
        const u32 l = __builtin_ctz(rest);
        const u64 a = address[l];
        // Neighbours that load from one address are one access.
        if (a == previous && site.kind == LOAD) continue;
        previous = a;
        accessor.shared = a - shared_base < x.shared_bytes;
        if (!accessor.shared && (a - locals < x.local_stride * LANES ||
                                 a - parameters < x.kernel.code.parameter_bytes))
            continue;
        accessor.lane = l;
        accessor.thread = first_thread + l;
        const bool before = fill(accessor, site.kind, a, bytes);
        if (site.kind == STORE) {
            accessor.silent = before && values.same(l, a);
            if (a <= highest) duplicate(i, w, address, l, seen, values, accessor.shared);
            highest = std::max(highest, a);
            seen |= 1u << l;
        }
        for (u64 at = a; at < a + bytes;) {
            Cells::Page* const page = (accessor.shared ? shared_ : global_).page(at, bytes);
            if (!page) return;
            touch(accessor, page->cells[at % Cells::PAGE / page->unit]);
            at += page->unit;
        }
    }
}

void Checker::arrive(const Warp& w, u32 number) {
    w.execution->order->arrived[number][w.index] = clock_++;
}

void Checker::barrier(const Execution& x, u32 number, bool everyone) {
    BlockOrder& order = *x.order;
    const Group* first = nullptr;
    const Warp* first_warp = nullptr;
    u32 waiting = 0, taking_part = 0;
    for (const Warp& w : x.warps) {
        u32 lanes = 0;
        for (const Group& group : w.groups) {
            if (group.state != Group::at_barrier || group.barrier != number) continue;
            lanes |= group.mask;
            if (!first) {
                first = &group;
                first_warp = &w;
            } else if (line(group.at) != line(first->at)) {
                Finding& finding = note(Hazard::barrier_divergence, group.at, first->at, w,
                                        __builtin_ctz(group.mask));
                if (finding.count == 1)
                    finding.other_thread = first_warp->index * LANES + __builtin_ctz(first->mask);
            }
        }
        if (!lanes) continue;
        waiting += __builtin_popcount(lanes);
        taking_part |= 1u << w.index;
        order.meet(w.index, lanes, clock_);
    }
    const u32 threads = x.launch.block[0] * x.launch.block[1] * x.launch.block[2];
    if (everyone && waiting < threads)
        note(Hazard::exited_at_barrier, first->at, nullptr, *first_warp, __builtin_ctz(first->mask))
            .text = std::to_string(threads - waiting) + " of " + std::to_string(threads);
    // All warps that waited now know what any of them knew.
    u32 known[LANES] = {};
    for (u32 v = 0; v < LANES; v++) {
        known[v] = std::max(taking_part >> v & 1 ? clock_ : 0, order.arrived[number][v]);
        for (u32 w = 0; w < LANES; w++)
            if (taking_part >> w & 1) known[v] = std::max(known[v], order.known[w][v]);
        order.arrived[number][v] = 0;
    }
    for (u32 w = 0; w < LANES; w++)
        if (taking_part >> w & 1) memcpy(order.known[w], known, sizeof known);
    ++clock_;
}

void Checker::stuck(const Warp& w, const Instruction* at) {
    note(Hazard::barrier_divergence, at, nullptr, w, __builtin_ctz(w.groups[0].mask)).text =
        "never";
}

void Checker::refuse(Hazard hazard, const Instruction* i, const Warp& w, u32 lane,
                     const std::string& text) {
    Finding& finding = note(hazard, i, nullptr, w, lane);
    if (finding.count == 1) finding.text = text;
    refused_ |= 1u << lane;
}

Checker* make_checker(bool stops) { return new Checker(stops); }
void free_checker(Checker* checker) { delete checker; }
Written* written_of(Checker* checker) { return &checker->written; }

}  // namespace cutune
