// Runs launches: blocks one after the other, the warps of a block in turn, one basic block each.
#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "machine_check.h"
#include "machine_parallel.h"
#include "machine_version.h"
#include "thread_own.h"

namespace cutune {

namespace {

// Registers and stack of called functions; the operating system commits pages on first access.
constexpr u64 CALL_REGISTERS = 4 << 20;
constexpr u64 CALL_LOCALS = 64 << 10;
// Atomics after which a warp with waiting lanes lets the last of them run: a spin lock may be held
// by a lane that has left the loop.
constexpr u32 SPIN_LIMIT = 256;
constexpr u32 SPIN_TURN = 64;

// Memory that its thread keeps between launches: fresh pages would slow small launches down.
struct Buffer {
    u8* memory = nullptr;
    u64 size = 0;
    ~Buffer() { free(memory); }
    u8* at_least(u64 bytes) {
        if (bytes > size) {
            free(memory);
            size = (bytes + 4095) / 4096 * 4096;
            memory = static_cast<u8*>(aligned_alloc(4096, size));
            if (!memory) size = 0;
        }
        return memory;
    }
};

// The memory of the warps of one block.
struct BlockMemory {
    Buffer registers, locals, shared, scalars;
};

u64 rounded(u64 bytes, u64 unit) { return (bytes + unit - 1) / unit * unit; }

}  // namespace

void Lattice::set(u32 count) {
    columns = count;
    rows = LANES / count;
    for (u32 l = 0; l < LANES; l++) column[l] = l % count, row[l] = l / count;
}

void Warp::set_mask(u32 lanes) {
    mask = lanes;
    full = lanes == FULL;
    for (u32 l = 0; l < LANES; l++) active[l] = 0u - ((lanes >> l) & 1);
}

static void leave_function(Warp& w) {
    Frame frame = std::move(w.frames.back());
    w.frames.pop_back();
    const u32 back = w.returned & w.live;
    // Results lie in the callee's locals, from where the call says.
    const std::vector<u32>& table = w.execution->module.operands;
    const u32* copies = &table[further_operands(*frame.call)];
    copies += 1 + 3 * copies[0];
    for (u32 k = 0; k < copies[0]; k++) {
        const u32 from = copies[1 + 3 * k], to = copies[2 + 3 * k], size = copies[3 + 3 * k];
        for (u32 rest = back; rest; rest &= rest - 1) {
            u8* lane = w.local_memory + __builtin_ctz(rest) * w.execution->local_stride;
            memcpy(lane + frame.frame_pointer + to, lane + w.frame_pointer + from, size);
        }
    }
    w.function = frame.function;
    w.registers = frame.registers;
    w.frame_pointer = frame.frame_pointer;
    w.returned = frame.returned;
    w.groups = std::move(frame.groups);
    w.block = frame.resume;
    w.set_mask(back);
}

bool Warp::settle() {
    for (;;) {
        if (groups.empty()) {
            if (mask) return true;
            if (frames.empty()) return false;
            leave_function(*this);
            continue;
        }
        const bool rotate = UNLIKELY(spins > SPIN_LIMIT);
        if (rotate && ++spins > SPIN_LIMIT + SPIN_TURN) spins = 0;
        const Block* next = mask ? block : nullptr;
        for (const Group& group : groups) {
            if (group.state != Group::ready) continue;
            if (!next || (rotate ? group.block > next : group.block < next)) next = group.block;
        }
        if (!next) return false;
        u32 lanes = mask;
        if (mask && block != next) {
            groups.push_back({block, mask});
            lanes = 0;
        }
        size_t kept = 0;
        for (const Group& group : groups) {
            if (group.state == Group::ready && group.block == next) lanes |= group.mask;
            else groups[kept++] = group;
        }
        groups.resize(kept);
        block = next;
        if (lanes != mask) set_mask(lanes);
        return true;
    }
}

void Execution::begin_block(u64 linear) {
    linear_block = linear;
    block_index[0] = linear % launch.grid[0];
    block_index[1] = linear / launch.grid[0] % launch.grid[1];
    block_index[2] = linear / launch.grid[0] / launch.grid[1];
    const u32 threads = launch.block[0] * launch.block[1] * launch.block[2];
    for (Warp& w : warps) {
        const u32 left = threads - w.index * LANES;
        w.live = left >= LANES ? FULL : (1u << left) - 1;
        w.set_mask(w.live);
        w.function = &kernel;
        w.registers = w.register_memory;
        w.frame_pointer = 0;
        w.version = nullptr;
        w.block = &module.blocks[kernel.first_block];
        w.returned = w.spins = w.carry = w.touched = 0;
        w.groups.clear();
        w.frames.clear();
    }
    for (Barrier& barrier : barriers) barrier = Barrier();
    arrived = false;
    occupied = 0;
    remaining = warps.size();
    if (shared_bytes) memset(shared, 0, shared_bytes);
    tracing = launch.trace;
    if (tracing && launch.traced_blocks)
        tracing = std::binary_search(launch.traced_blocks,
                                     launch.traced_blocks + launch.traced_block_count, linear);
    if (tracing) begin_trace();
    versions = made[tracing].get();
    watching = tracing || launch.checker;
    leaping = launch.ghost_size && !launch.cooperative;
    if (launch.checker) launch.checker->begin_block(*this);
}

void Execution::run_block(u64 linear) {
    begin_block(linear);
    if (launch.checker) run_warps<true>(false);
    else run_warps<false>(false);
    end_block();
}

void Execution::end_block() {
    for (const Warp& w : warps) report.working_threads += __builtin_popcount(w.touched);
    if (tracing) end_trace();
    report.executed_blocks++;
}

void Execution::turn() {
    if (launch.checker) run_warps<true>(true);
    else run_warps<false>(true);
}

// Every warp in turn runs a basic block, until all have ended, or `once` only.
template <bool CHECKED> void Execution::run_warps(bool once) {
    u64* const executions = report.block_executions.data();
    u64* const active_lanes = report.block_lanes.data();
    do {
        bool progress = false;
        for (Warp& w : warps) {
            if (!w.live) continue;
            if (!w.mask || !w.groups.empty()) {
                if (!w.settle()) {
                    if (!w.live) remaining--, arrived = true;
                    continue;
                }
            }
            progress = true;
            const Block& block = *w.block;
            if (CHECKED) launch.checker->enter(w);
            else if (UNLIKELY(block.leap && leaping)) leap(w, block);
            executions[block.index]++;
            active_lanes[block.index] += __builtin_popcount(w.mask);
            w.touched |= w.mask & block.touches;
            instructions += block.instructions;
            const Instruction* i = block.first;
            if (!CHECKED && w.full && versions && w.frames.empty()) {
                if (!w.version) w.version = versions->enter(block);
                i = w.version->steps.data();
            }
            do i = i->handler(i, w);
            while (i);
            if (!w.live) remaining--, arrived = true;
        }
        if (UNLIKELY(instructions > next_look)) look_at_limits();
        if (arrived && release_barriers()) continue;
        if (progress || !remaining) continue;
        if (release_warp_barriers()) continue;
        for (Warp& w : warps)
            if (w.live && !w.groups.empty()) {
                if (CHECKED) launch.checker->stuck(w, w.groups[0].at);
                fail(Outcome::deadlock, w.groups[0].at, w, __builtin_ctz(w.groups[0].mask),
                     "threads wait at a barrier that the others never reach");
            }
        throw Fault{Outcome::deadlock, "kernel " + kernel.code.name};
    } while (remaining && !once);
}

// Instructions from one look at the clock to the next: some milliseconds.
constexpr u64 LOOK_EVERY = 1000000;

void Execution::look_at_limits() {
    if (instructions > limit) exhausted();
    next_look = limit;
    if (!launch.deadline) return;
    if (std::chrono::steady_clock::now().time_since_epoch() >=
        std::chrono::nanoseconds(launch.deadline))
        throw Fault{Outcome::out_of_time, "kernel " + kernel.code.name + " was not done in time"};
    next_look = std::min(limit, instructions + LOOK_EVERY);
}

void Execution::exhausted() const {
    throw Fault{Outcome::instruction_limit, "kernel " + kernel.code.name + " executed more than " +
                                                std::to_string(launch.instruction_limit) +
                                                " warp instructions; is there an endless loop?"};
}

static void prepare_warps(Execution& x, BlockMemory& memory) {
    const Launch& launch = x.launch;
    const u32 threads = launch.block[0] * launch.block[1] * launch.block[2];
    const u32 count = (threads + LANES - 1) / LANES;
    x.register_stride = rounded(x.kernel.register_bytes, 4096) + 64;  // spread over cache sets
    x.local_stride = rounded(x.kernel.code.local_bytes, 16);
    if (x.kernel.calls) {
        x.register_stride += CALL_REGISTERS;
        x.local_stride += CALL_LOCALS;
    }
    u8* register_memory = memory.registers.at_least(x.register_stride * count + 4096);
    u8* local_memory = memory.locals.at_least(x.local_stride * LANES * count + 4096);
    const u64 scalar_stride = rounded(x.kernel.register_bytes / 4, 64);
    u8* scalars = memory.scalars.at_least(scalar_stride * count + 4096);
    x.shared = memory.shared.at_least(x.shared_bytes + 4096);
    if (!register_memory || !local_memory || !scalars || !x.shared)
        throw Fault{Outcome::unsupported, "not enough host memory for the block's registers"};
    x.warps.resize(count);
    for (u32 k = 0; k < count; k++) {
        Warp& w = x.warps[k];
        w.execution = &x;
        w.index = k;
        w.register_memory = register_memory + k * x.register_stride;
        w.local_memory = local_memory + k * x.local_stride * LANES;
        w.scalars = scalars + k * scalar_stride;
        x.kernel.place_constants(w.register_memory);
        for (u32 l = 0; l < LANES; l++) {
            const u32 thread = k * LANES + l;
            w.thread[0][l] = thread % launch.block[0];
            w.thread[1][l] = thread / launch.block[0] % launch.block[1];
            w.thread[2][l] = thread / launch.block[0] / launch.block[1];
        }
    }
    x.lattice.set(LANES % launch.block[0] ? LANES : launch.block[0]);
    if (launch.checker || launch.cooperative) return;
    for (const bool traced : {false, true})
        if (!traced || launch.trace) x.made[traced] = std::make_shared<Versions>(x, traced);
}

static void check(const KernelCode& code, const Launch& launch) {
    const u64 threads = u64(launch.block[0]) * launch.block[1] * launch.block[2];
    const u64 blocks = u64(launch.grid[0]) * launch.grid[1] * launch.grid[2];
    if (!threads || !blocks || threads > 1024 || threads > code.max_threads)
        throw Fault{Outcome::unsupported, "kernel " + code.name + " cannot be launched with " +
                                              std::to_string(threads) + " threads in each of " +
                                              std::to_string(blocks) + " blocks"};
    for (u64 k = 0; launch.blocks && k < launch.block_count; k++)
        if (launch.blocks[k] >= blocks)
            throw Fault{Outcome::unsupported,
                        "block " + std::to_string(launch.blocks[k]) + " is not in the grid"};
}

// Counters of unguarded accesses follow from those of their basic block: all its lanes execute
// them.
static void summarize(const ModuleImage& module, Report& report) {
    for (const Block& block : module.blocks) {
        report.warp_instructions += report.block_executions[block.index] * block.instructions;
        report.thread_instructions += report.block_lanes[block.index] * block.instructions;
    }
    for (size_t k = 0; k < report.sites.size(); k++) {
        const StaticSite& access = module.sites[k];
        if (!report.windows.empty()) merge(report.sites[k], estimate(report.windows[k]));
        if (access.guarded) continue;
        report.sites[k].executions = report.block_executions[access.block];
        report.sites[k].lanes = report.block_lanes[access.block];
    }
}

void clear(Report& report, const ModuleImage& module, const Launch& launch) {
    report.block_executions.assign(module.blocks.size(), 0);
    report.block_lanes.assign(module.blocks.size(), 0);
    report.sites.assign(module.sites.size(), Site());
    const bool has_windows = launch.trace && launch.trace_every > 1;
    report.windows.assign(has_windows ? module.sites.size() : 0, Windows());
}

static void prepare(Execution& x, BlockMemory& memory) {
    const Launch& launch = x.launch;
    x.ranges.resize(x.module.sites.size());
    x.parameters = launch.parameters;
    x.shared_bytes = rounded(x.kernel.code.static_shared_bytes,
                             launch.dynamic_shared_bytes ? 16 : 1) +
                     launch.dynamic_shared_bytes;
    if (launch.instruction_limit) x.limit = launch.instruction_limit;
    prepare_warps(x, memory);
}

void Execution::prepare() {
    cutune::prepare(*this, own_of_thread<BlockMemory>());
}

// A cooperative launch: all blocks are resident and take turns, so that each may wait for any
// other. Through %envreg1 and %envreg2 they find the memory of the grid's barrier.
static void run_together(const Execution& like, u64 count) {
    const u64 workspace = like.memory.allocate(64);
    if (like.launch.checker) like.launch.checker->written.write(workspace, 64);
    std::vector<BlockMemory> memories(count);
    std::vector<std::unique_ptr<Execution>> blocks;
    for (u64 k = 0; k < count; k++) {
        blocks.emplace_back(new Execution(like.module, like.kernel, like.launch, like.memory,
                                          like.report));
        cutune::prepare(*blocks[k], memories[k]);
        blocks[k]->workspace = workspace;
        blocks[k]->begin_block(k);
    }
    u64 instructions = 0;
    for (u64 running = count; running;) {
        for (const auto& block : blocks) {
            if (!block->remaining) continue;
            block->instructions = instructions;
            block->turn();
            instructions = block->instructions;
            if (block->remaining) continue;
            block->end_block();
            running--;
        }
    }
    like.memory.release(workspace);
}

Report run(ModuleImage* module, const KernelCode* code, const Launch& launch, Memory* memory) {
    Report report;
    clear(report, *module, launch);
    const Function& kernel = module->functions[module->function_of.at(code->name)];
    Execution x(*module, kernel, launch, *memory, report);
    if (launch.checker) launch.checker->begin_launch(x);
    try {
        check(*code, launch);
        const u64 all = u64(launch.grid[0]) * launch.grid[1] * launch.grid[2];
        if (launch.cooperative) {
            run_together(x, all);
        } else {
            x.prepare();
            run_blocks(x, launch.blocks ? launch.block_count : all);
        }
    } catch (const Fault& fault) {
        report.outcome = fault.outcome;
        report.message = fault.message;
    }
    if (launch.checker) report.findings = launch.checker->findings();
    summarize(*module, report);
    return report;
}

std::string Execution::place(const Instruction* i, const Warp& w, u32 lane) const {
    auto triple = [](u32 x, u32 y, u32 z) {
        return "(" + std::to_string(x) + ", " + std::to_string(y) + ", " + std::to_string(z) + ")";
    };
    std::string text = "kernel " + kernel.code.name + ", block " +
                       triple(block_index[0], block_index[1], block_index[2]) + ", thread " +
                       triple(w.thread[0][lane], w.thread[1][lane], w.thread[2][lane]);
    if (!i) return text;
    const size_t k = (versions ? versions->original(i) : i) - module.code.data();
    text += ", PTX line " + std::to_string(module.lines[k]);
    if (module.source_lines[k]) text += ", source line " + std::to_string(module.source_lines[k]);
    return text;
}

void fail(Outcome outcome, const Instruction* i, const Warp& w, u32 lane, const std::string& what) {
    throw Fault{outcome, w.execution->place(i, w, lane) + ": " + what};
}

}  // namespace cutune
