// The machine for ctypes. Structures are mirrored in cutune/emulator/machine.py.
#include <algorithm>
#include <cstdlib>
#include <map>

#include "machine.h"

using namespace cutune;

namespace {

// Allocations given by the caller, and those that kernels make themselves.
class Table : public Memory {
  public:
    Table(const Allocation* first, size_t count) {
        for (size_t k = 0; k < count; k++) allocations_[first[k].base] = first[k];
    }
    ~Table() override {
        for (auto& pair : own_) free(pair.second);
    }
    const Allocation* find(uint64_t address) const override {
        auto after = allocations_.upper_bound(address);
        if (after == allocations_.begin()) return nullptr;
        const Allocation& found = (--after)->second;
        return address - found.base < found.size ? &found : nullptr;
    }
    uint64_t allocate(uint64_t bytes) override {
        void* memory = calloc(1, bytes ? bytes : 1);
        const uint64_t base = reinterpret_cast<uint64_t>(memory);
        if (!base) return 0;
        own_[base] = memory;
        allocations_[base] = {base, bytes, true};
        return base;
    }
    void release(uint64_t address) override {
        auto found = allocations_.find(address);
        if (found != allocations_.end()) found->second.live = false;
    }

  private:
    std::map<uint64_t, Allocation> allocations_;
    std::map<uint64_t, void*> own_;
};

void copy_text(const std::string& text, char* to, size_t size) {
    const size_t length = std::min(text.size(), size - 1);
    std::copy_n(text.data(), length, to);
    to[length] = 0;
}

}  // namespace

extern "C" {

struct cutune_totals {
    int32_t outcome;
    char message[1020];
    uint64_t warp_instructions, thread_instructions, executed_blocks, working_threads,
        leapt_instructions;
    char findings[1024];  // of the launch's checker: a list in JSON, perhaps cut off
};

ModuleImage* cutune_load(const uint8_t* bytes, size_t size, char* error, size_t error_size) {
    std::string reason;
    ModuleImage* module = load_module(bytes, size, &reason);
    if (!module) copy_text(reason, error, error_size);
    return module;
}

void cutune_unload(ModuleImage* module) { unload_module(module); }

// The address of a variable of the module; 0 when there is none.
uint64_t cutune_variable(ModuleImage* module, const char* name, uint64_t* size) {
    return module_variable(module, name, size);
}

// One per launch: its findings are of that launch alone. `stops`: the launch ends at the first.
Checker* cutune_checker(bool stops) { return make_checker(stops); }

void cutune_free_checker(Checker* checker) { free_checker(checker); }

// The arrays have one entry per basic block and per site of the module. False: no such kernel.
bool cutune_run(ModuleImage* module, const char* name, const Launch* launch,
                const Allocation* allocations, size_t allocation_count, cutune_totals* totals,
                uint64_t* block_executions, uint64_t* block_lanes, Site* sites) {
    const KernelCode* kernel = find_kernel(module, name);
    if (!kernel) return false;
    Table memory(allocations, allocation_count);
    const Report report = run(module, kernel, *launch, &memory);
    totals->outcome = static_cast<int32_t>(report.outcome);
    copy_text(report.message, totals->message, sizeof totals->message);
    totals->warp_instructions = report.warp_instructions;
    totals->thread_instructions = report.thread_instructions;
    totals->executed_blocks = report.executed_blocks;
    totals->working_threads = report.working_threads;
    totals->leapt_instructions = report.leapt_instructions;
    copy_text(report.findings, totals->findings, sizeof totals->findings);
    std::copy(report.block_executions.begin(), report.block_executions.end(), block_executions);
    std::copy(report.block_lanes.begin(), report.block_lanes.end(), block_lanes);
    std::copy(report.sites.begin(), report.sites.end(), sites);
    return true;
}

}  // extern "C"
