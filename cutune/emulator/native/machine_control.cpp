// Branches, guards, barriers, calls and returns. A handler that ends a basic block says where the
// warp goes on and returns nullptr.
#include "machine_access.h"
#include "machine_check.h"

namespace cutune {
namespace {

const Instruction* go(Warp& w, u32 block) {
    w.block = &w.execution->module.blocks[block];
    return nullptr;
}

// The running lanes wait; settle() finds others.
void park(Warp& w, Group group) {
    w.groups.push_back(group);
    w.set_mask(0);
}

}  // namespace

HANDLER(jump) { return go(w, i->x); }

// a: predicate; x: block if it holds, imm: else.
HANDLER(branch) {
    u32 taken = ones(w, i->a);
    if (i->flags & NEGATED) taken = w.mask & ~taken;
    if (taken == w.mask) return go(w, i->x);
    if (!taken) return go(w, static_cast<u32>(i->imm));
    const std::vector<Block>& blocks = w.execution->module.blocks;
    w.groups.push_back({&blocks[i->imm], w.mask & ~taken});
    w.set_mask(taken);
    return go(w, i->x);
}

// a: index; the targets stand in the table of further operands, their number first.
HANDLER(branch_table) {
    const u32* a = w.narrow(i->a);
    const u32* table = &w.execution->module.operands[further_operands(*i)];
    u32 rest = w.mask;
    while (rest) {
        const u32 lane = __builtin_ctz(rest);
        const u32 index = a[lane];
        if (index >= table[0])
            fail(Outcome::trap, i, w, lane, "brx.idx beyond its " + std::to_string(table[0]) +
                                                " targets");
        u32 same = 0;
        for (u32 l = 0; l < LANES; l++) same |= u32(a[l] == index) << l;
        same &= rest;
        rest &= ~same;
        w.groups.push_back({&w.execution->module.blocks[table[1 + index]], same});
    }
    w.set_mask(0);
    return nullptr;
}

HANDLER(exit) {
    w.live &= ~w.mask;
    w.execution->arrived = true;  // barriers no longer wait for these lanes
    w.set_mask(0);
    if (!w.live) w.groups.clear();
    return nullptr;
}

// From a kernel, or from a called function: the frame is left when its last lane has returned.
HANDLER(ret) {
    if (w.frames.empty()) return handle_exit(i, w);
    w.returned |= w.mask;
    w.set_mask(0);
    return nullptr;
}

// A guarded instruction stands between `guard` and `unguard`; x instructions are skipped when no
// lane is left.
HANDLER(guard) {
    u32 lanes = ones(w, i->a);
    if (i->flags & NEGATED) lanes = w.mask & ~lanes;
    w.unguarded = w.mask;
    if (!lanes) return i + 1 + i->x;
    if (lanes != w.mask) w.set_mask(lanes);
    return i + 1;
}

HANDLER(unguard) {
    if (w.mask != w.unguarded) w.set_mask(w.unguarded);
    return i + 1;
}

HANDLER(trap) { fail(Outcome::trap, i, w, __builtin_ctz(w.mask), "trap"); }

HANDLER(nop) { return i + 1; }

// No effect on a machine that runs one warp at a time, but the checker needs it.
HANDLER(fence) {
    if (w.execution->launch.checker) w.execution->launch.checker->fence(w);
    return i + 1;
}

// ---- barriers ---------------------------------------------------------------------------------

// a: barrier number, b: expected threads (0: all), c: predicate of a reduction, d: its result,
// x: block behind it. The reduction stands in the table index: 1 popc, 2 and, 3 or.
HANDLER(barrier) {
    const u32 lane = __builtin_ctz(w.mask);
    const u32 number = w.narrow(i->a)[lane];
    Execution& x = *w.execution;
    if (number >= BARRIERS)
        fail(Outcome::trap, i, w, lane, "there is no barrier " + std::to_string(number));
    if (further_operands(*i)) x.barriers[number].ones += __builtin_popcount(ones(w, i->c));
    x.arrived = true;
    x.occupied |= 1u << number;
    park(w, {&x.module.blocks[i->x], w.mask, Group::at_barrier, number, i});
    return nullptr;
}

HANDLER(barrier_arrive) {
    const u32 number = w.narrow(i->a)[__builtin_ctz(w.mask)];
    w.execution->barriers[number & (BARRIERS - 1)].passed += __builtin_popcount(w.mask);
    if (w.execution->launch.checker)
        w.execution->launch.checker->arrive(w, number & (BARRIERS - 1));
    w.execution->arrived = true;
    return i + 1;
}

namespace {

u32 lane_value(const Warp& w, u32 offset, u32 lane) {
    return reinterpret_cast<const u32*>(w.registers + offset)[lane];
}

u32 waiting_at(const Warp& w, u32 number) {
    u32 lanes = 0;
    for (const Group& group : w.groups)
        if (group.state == Group::at_barrier && group.barrier == number) lanes |= group.mask;
    return lanes;
}

void write_result(Warp& w, const Group& group, const Barrier& barrier) {
    const u32 kind = further_operands(*group.at);
    if (!kind) return;
    const u32 value = kind == 1   ? barrier.ones
                      : kind == 2 ? barrier.ones == barrier.lanes
                                  : barrier.ones > 0;
    u32* d = w.narrow(group.at->d);
    for (u32 rest = group.mask; rest; rest &= rest - 1) d[__builtin_ctz(rest)] = value;
}

}  // namespace

bool Execution::release_barriers() {
    arrived = false;
    bool released = false;
    for (u32 rest = occupied; rest; rest &= rest - 1) {
        const u32 number = __builtin_ctz(rest);
        u32 threads = barriers[number].passed, waiting = 0, live = 0, expected = 0;
        for (const Warp& w : warps) {
            const u32 lanes = waiting_at(w, number);
            live += __builtin_popcount(w.live);
            waiting += __builtin_popcount(lanes);
            // A whole warp counts as 32 threads, whatever became of its other lanes.
            threads += lanes && lanes == w.live ? LANES : __builtin_popcount(lanes);
            if (!lanes) continue;
            for (const Group& group : w.groups)
                if (group.state == Group::at_barrier && group.barrier == number)
                    expected = lane_value(w, group.at->b, __builtin_ctz(group.mask));
        }
        if (!waiting || (expected ? threads < expected : waiting < live)) continue;
        barriers[number].lanes = waiting;
        if (launch.checker) launch.checker->barrier(*this, number, !expected);
        for (Warp& w : warps)
            for (Group& group : w.groups)
                if (group.state == Group::at_barrier && group.barrier == number) {
                    write_result(w, group, barriers[number]);
                    group.state = Group::ready;
                }
        barriers[number] = Barrier();
        occupied &= ~(1u << number);
        released = true;
    }
    return released;
}

// a: membermask, x: block behind it. Lanes named there and still elsewhere are waited for.
HANDLER(warp_barrier) {
    const u32 members = w.narrow(i->a)[__builtin_ctz(w.mask)] & w.live;
    const Block* behind = &w.execution->module.blocks[i->x];
    u32 here = w.mask;
    for (const Group& group : w.groups)
        if (group.state == Group::at_warp_barrier) here |= group.mask;
    if (members & ~here) {
        park(w, {behind, w.mask, Group::at_warp_barrier, members, i});
        return nullptr;
    }
    for (Group& group : w.groups)
        if (group.state == Group::at_warp_barrier && !(group.barrier & w.live & ~here))
            group.state = Group::ready;
    w.block = behind;
    return nullptr;
}

// When nothing else can run: a lane that was waited for has exited or waits at a block barrier.
bool Execution::release_warp_barriers() {
    bool released = false;
    for (Warp& w : warps)
        for (Group& group : w.groups)
            if (group.state == Group::at_warp_barrier) {
                group.state = Group::ready;
                released = true;
            }
    return released;
}

// ---- calls ------------------------------------------------------------------------------------

namespace {

// Further operands: number of arguments and, for each, from, to, bytes; the same for results.
// Arguments and results lie in local memory: of the caller, and of the called function.
const Instruction* enter(const Instruction* i, Warp& w, u32 index) {
    Execution& x = *w.execution;
    if (index >= x.module.functions.size())
        fail(Outcome::trap, i, w, __builtin_ctz(w.mask), "call of something that is no function");
    const Function& callee = x.module.functions[index];
    const Function& caller = *w.function;
    const u64 frame = w.frame_pointer + (caller.code.local_bytes + 15) / 16 * 16;
    u8* registers = w.registers + caller.register_bytes;
    if (frame + callee.code.local_bytes > x.local_stride ||
        registers + callee.register_bytes > w.register_memory + x.register_stride - 64)
        fail(Outcome::unsupported, i, w, __builtin_ctz(w.mask), "calls nested too deeply");
    const u32* copies = &x.module.operands[further_operands(*i)];
    FOR_ACTIVE(w, l) {
        u8* lane = w.local_memory + l * x.local_stride;
        for (u32 k = 0; k < copies[0]; k++)
            memcpy(lane + frame + copies[2 + 3 * k], lane + w.frame_pointer + copies[1 + 3 * k],
                   copies[3 + 3 * k]);
    }
    w.frames.push_back({w.function, &x.module.blocks[i->x], i, w.registers, w.frame_pointer,
                        w.returned, std::move(w.groups)});
    w.groups.clear();
    w.returned = 0;
    w.function = &callee;
    w.registers = registers;
    w.frame_pointer = frame;
    callee.place_constants(registers);
    w.block = &x.module.blocks[callee.first_block];
    return nullptr;
}

}  // namespace

// imm: index of the function, x: block behind the call.
HANDLER(call) { return enter(i, w, static_cast<u32>(i->imm)); }

// a: address of the function, which is its index and one. Lanes that call another one come back to
// this block, which holds nothing but the call, when the first have returned.
HANDLER(call_indirect) {
    const u64* a = w.wide(i->a);
    const u64 target = a[__builtin_ctz(w.mask)];
    u32 same = 0;
    FOR_ACTIVE(w, l) same |= u32(a[l] == target) << l;
    if (same != w.mask) {
        w.groups.push_back({w.block, w.mask & ~same});
        w.set_mask(same);
    }
    return enter(i, w, static_cast<u32>(target - 1));
}

}  // namespace cutune
