// The 32-lane machine: runs assembled PTX modules. Used by the replacement libcudart inside the
// user's process and, through the C functions at the end, by Python (ctypes) for replayed launches.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "machine_counters.h"

namespace cutune {

// ---- what the machine asks of its owner -------------------------------------------------------

// A live or freed allocation of device memory. Device addresses are host addresses.
struct Allocation {
    uint64_t base;
    uint64_t size;
    bool live;
};

struct Texture;  // machine_texture.h

// Memory as the machine sees it: implemented by libcudart's arena and by the ctypes entry.
class Memory {
  public:
    virtual ~Memory() = default;
    // The allocation that holds `address`, or nullptr. Must be cheap: called for warps whose
    // addresses left the allocation that the instruction touched last.
    virtual const Allocation* find(uint64_t address) const = 0;
    // Device-side malloc and free.
    virtual uint64_t allocate(uint64_t bytes) = 0;
    virtual void release(uint64_t address) = 0;
    // What a texture or surface object stands for, or nullptr.
    virtual const Texture* texture(uint64_t) const { return nullptr; }
};

// ---- modules ----------------------------------------------------------------------------------

struct ModuleImage;  // an assembled module, as cutune.emulator.assemble writes it

// Of a compiled kernel, what its launches need to know.
struct KernelCode {
    std::string name;
    std::vector<uint32_t> parameter_offsets;
    std::vector<uint32_t> parameter_sizes;
    uint32_t parameter_bytes;
    uint32_t static_shared_bytes;
    uint32_t local_bytes;
    uint32_t max_threads;  // from .maxntid or .reqntid, else 1024
    uint32_t block_count;  // basic blocks of the whole module (counters are per module)
    uint32_t site_count;   // static memory instructions of the whole module
};

// Addresses by the names of variables.
using Addresses = std::unordered_map<std::string, uint64_t>;

// Load an assembled module from memory. Returns nullptr and sets `error` when the bytes are not one.
// Variables in `elsewhere` were placed before: those that several images of a module share.
ModuleImage* load_module(const uint8_t* bytes, size_t size, std::string* error,
                         const Addresses& elsewhere = {});
void unload_module(ModuleImage* module);
const KernelCode* find_kernel(const ModuleImage* module, const std::string& name);
// Address and size of a __device__/__constant__ variable of the module; 0 when there is none.
uint64_t module_variable(ModuleImage* module, const std::string& name, uint64_t* size);

// ---- launches ---------------------------------------------------------------------------------

struct Site {  // counters of one static memory instruction
#define COUNTER(name, kind, unit, what) uint64_t name;
    CUTUNE_SITE_COUNTERS(COUNTER)
#undef COUNTER
};

// Of a static memory instruction, when only some windows of executions are traced.
struct Windows {
    Site first;           // the counters of each warp's first window
    Site others;          // of those that stand for all others
    uint64_t executions;  // in all windows
};

class Checker;  // machine_check.h
class Written;  // machine_written.h
Checker* make_checker(bool stops = false);
void free_checker(Checker* checker);
// Where owners of memory say what they allocate, free and write.
Written* written_of(Checker* checker);

struct Launch {
    uint32_t grid[3];
    uint32_t block[3];
    uint32_t dynamic_shared_bytes;
    const uint8_t* parameters;       // parameter_bytes long
    const uint64_t* blocks;          // linear block indices to execute, or nullptr for all
    uint64_t block_count;            // how many of them
    bool count;                      // fill the counters
    bool trace;                      // look at addresses (implies count)
    uint32_t trace_every;            // trace one window of 8 executions out of this many (1: all)
    uint64_t ghost_base, ghost_size; // addresses here have no memory: loads give 0, stores vanish
    uint64_t instruction_limit;      // warp instructions per launch, leaps aside; 0: none
    const uint64_t* traced_blocks;   // sorted; with trace: look at these blocks only, or nullptr: all
    uint64_t traced_block_count;
    Checker* checker;                // look for hazards, or nullptr
    uint32_t threads;                // of the host, at most; 0 or 1: this one only
    bool cooperative;                // all blocks run together and may wait for each other
    int64_t deadline;                // nanoseconds of std::chrono::steady_clock; 0: none
};

enum class Outcome : int32_t {
    ok = 0,
    illegal_address,
    misaligned_address,
    trap,
    assertion,
    deadlock,
    instruction_limit,
    unsupported,
    out_of_time,
};

struct Report {
    Outcome outcome = Outcome::ok;
    std::string message;               // kernel, block, thread, PTX and source line
    uint64_t warp_instructions = 0;
    uint64_t thread_instructions = 0;
    uint64_t executed_blocks = 0;
    uint64_t working_threads = 0;      // that ran a block which accesses global memory
    uint64_t leapt_instructions = 0;   // of the warp instructions: counted without being executed
    std::vector<uint64_t> block_executions;  // per basic block: by warps
    std::vector<uint64_t> block_lanes;       // per basic block: active lanes
    std::vector<Site> sites;
    std::vector<Windows> windows;            // per site, with trace_every > 1
    std::string findings;              // of the checker: a list in JSON
};

Report run(ModuleImage* module, const KernelCode* kernel, const Launch& launch, Memory* memory);

}  // namespace cutune
