// Blocks spread over the cores of the host.
//
// Only independent blocks are spread (`Function::independent`), so that memory has the same content
// as if they ran in turn. Each thread has its own registers, shared memory and counters. Counters
// are sums, minima and maxima, which do not depend on the thread that ran a block.
#include "machine_parallel.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>

namespace cutune {

namespace {

// Warp instructions for which another thread pays: a few milliseconds.
constexpr u64 SHARE = 300000;

u64 block_at(const Launch& launch, u64 k) { return launch.blocks ? launch.blocks[k] : k; }

struct Work {
    u64 count;
    std::atomic<u64> next;
    std::atomic<u64> spent;      // warp instructions of the launch so far
    std::atomic<u64> failed{~0ull};
    std::mutex mutex;
    Fault fault{Outcome::ok, ""};

    Work(u64 first, u64 all, u64 instructions) : count(all), next(first), spent(instructions) {}
    void fail(u64 k, const Fault& why) {
        std::lock_guard<std::mutex> lock(mutex);
        if (k >= failed) return;
        failed = k;
        fault = why;
    }
};

// Blocks are given out in order: when one fails, those before it are done or being run.
void work(Execution& x, Work& all) {
    for (;;) {
        const u64 k = all.next++;
        if (k >= all.count || k > all.failed) return;
        try {
            const u64 before = x.instructions, spent = all.spent;
            if (x.launch.instruction_limit) {
                if (spent > x.launch.instruction_limit) x.exhausted();
                x.limit = before + (x.launch.instruction_limit - spent);
                x.next_look = before;
            }
            x.run_block(block_at(x.launch, k));
            all.spent += x.instructions - before;
        } catch (const Fault& fault) {
            all.fail(k, fault);
            return;
        }
    }
}

void add(Report& into, const Report& part) {
    for (size_t k = 0; k < into.block_executions.size(); k++) {
        into.block_executions[k] += part.block_executions[k];
        into.block_lanes[k] += part.block_lanes[k];
    }
    for (size_t k = 0; k < into.sites.size(); k++) {
        into.sites[k].executions += part.sites[k].executions;
        into.sites[k].lanes += part.sites[k].lanes;
        into.sites[k].busiest += part.sites[k].busiest;
        merge(into.sites[k], part.sites[k]);
    }
    for (size_t k = 0; k < into.windows.size(); k++) {
        merge(into.windows[k].first, part.windows[k].first);
        merge(into.windows[k].others, part.windows[k].others);
        into.windows[k].executions += part.windows[k].executions;
    }
    into.executed_blocks += part.executed_blocks;
    into.working_threads += part.working_threads;
    into.leapt_instructions += part.leapt_instructions;
}

void spread(Execution& x, u64 first, u64 count, u32 threads) {
    Work all(first, count, x.instructions);
    std::vector<Report> parts(threads);
    std::vector<std::thread> pool;
    for (Report& part : parts)
        pool.emplace_back([&x, &all, &part] {
            clear(part, x.module, x.launch);
            Execution own(x.module, x.kernel, x.launch, x.memory, part);
            own.alone = false;
            try {
                own.prepare();
            } catch (const Fault& fault) {
                all.fail(0, fault);
                return;
            }
            work(own, all);
        });
    for (std::thread& thread : pool) thread.join();
    for (const Report& part : parts) add(x.report, part);
    if (x.launch.instruction_limit && all.failed == ~0ull &&
        all.spent > x.launch.instruction_limit)
        x.exhausted();
    if (all.failed != ~0ull) throw all.fault;
}

}  // namespace

void run_blocks(Execution& x, u64 count) {
    const Launch& launch = x.launch;
    const bool may = launch.threads > 1 && x.kernel.independent && !launch.checker;
    for (u64 k = 0; k < count; k++) {
        // The cost of the first blocks decides whether the rest uses several threads.
        if (may && k && !(k & (k - 1))) {
            const u64 rest = x.instructions / k * (count - k);
            const u64 threads = std::min({u64(launch.threads), rest / SHARE, count - k});
            if (threads > 1) return spread(x, k, count, static_cast<u32>(threads));
        }
        x.run_block(block_at(launch, k));
    }
}

}  // namespace cutune
