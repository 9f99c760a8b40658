// The machine's insides: instructions, warps, one launch. Only machine_*.cpp include this.
#pragma once
#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "machine.h"
#include "machine_trace.h"
#include "machine_types.h"

namespace cutune {

constexpr u32 NO_REGISTER = ~0u;  // the destination of `red`
constexpr u32 BARRIERS = 16;

struct BlockOrder;  // machine_check.h
struct Warp;
struct Execution;
struct Instruction;
struct Form;     // machine_version.h
struct Version;
class Versions;

// Executes one instruction for a warp and returns the next one, or nullptr at the end of a basic
// block (then the warp's `block` says where it goes on). It may execute the next ones as well: a
// jump from handler to handler is cheaper than a return and a call.
using Handler = const Instruction* (*)(const Instruction*, Warp&);

// Registers d, a, b, c are byte offsets into the frame of the running function. A register is 32
// lanes of 4 bytes (8 for 64-bit types); a predicate is 0 or 1.
struct Instruction {
    Handler handler;
    u32 d, a, b, c;
    u32 x;      // site of a memory instruction, target block of a branch
    u32 flags;  // low byte: see below; the rest: index of further operands in the module's table
    s64 imm;
};

ALWAYS_INLINE const Instruction* run_on(const Instruction* next, Warp& w) {
    return next->handler(next, w);
}

enum : u32 { GUARDED = 1, SHARED = 2, SPINNING = 4, NEGATED = 8 };

ALWAYS_INLINE u32 further_operands(const Instruction& i) { return i.flags >> 8; }

// ---- modules ----------------------------------------------------------------------------------

// How a block that branches to itself goes on: see leaps.py.
struct LeapRegister {
    u32 offset, width;
};
struct LeapTerm {
    LeapRegister from;
    s64 count;
};
struct LeapSum {
    u64 number;
    std::vector<LeapTerm> terms;
};
struct LeapStep {  // what an iteration adds to a register
    LeapRegister to;
    LeapSum step;
};
struct Leap {
    enum : u32 { not_equal, less, less_equal, greater, greater_equal } comparison;
    bool is_signed;
    u32 width;
    u32 tested;     // its place among the steps
    LeapSum ahead;  // of the tested register at the block's beginning, where it is compared
    LeapSum bound;
    std::vector<LeapStep> steps;
};

struct Block {
    const Instruction* first;
    u32 instructions;  // PTX instructions, for the counters
    u32 index;         // in the module
    u32 touches = 0;   // all ones when it accesses global memory
    u32 first_site = 0, site_count = 0;
    std::unique_ptr<Leap> leap;
};

enum Kind : u8 { LOAD, STORE, ATOMIC };
enum Space : u8 { GENERIC_SPACE, GLOBAL_SPACE, SHARED_SPACE, LOCAL_SPACE, CONST_SPACE };

// A static memory instruction.
struct StaticSite {
    u32 bytes;   // per lane
    u32 region;  // innermost loop, or the function outside of loops: unique in the module
    u32 block;
    Kind kind;
    Space space;
    bool guarded;
    u32 vector;  // bytes per lane as ptxas joins loads; 0: a part of another load
};

struct Function {
    KernelCode code;
    bool is_kernel;
    bool calls;
    bool independent = false;  // its blocks may run at once: see machine_load.cpp
    u32 register_bytes;
    std::vector<u8> constants;  // the last registers of a frame
    u32 first_block;
    u32 block_count;
    u32 first_site = 0, end_site = 0;  // those of what it calls are among them
    void place_constants(u8* registers) const {
        std::copy(constants.begin(), constants.end(), registers + register_bytes - constants.size());
    }
};

struct Variable {
    std::string name;
    u64 address;
    u64 size;
};

struct ModuleImage {
    std::vector<Function> functions;
    std::unordered_map<std::string, u32> function_of;
    std::vector<Variable> variables;
    std::unordered_map<std::string, u32> variable_of;
    Addresses elsewhere;  // of variables that another image of the module holds
    std::unique_ptr<u8[]> variable_memory;
    u64 variable_base = 0, variable_bytes = 0;
    std::vector<Block> blocks;
    std::vector<Instruction> code;
    std::vector<u32> lines, source_lines;  // of each instruction
    std::vector<const Form*> forms;        // the same
    std::vector<u32> operands;
    std::vector<StaticSite> sites;
    u32 region_count = 0;
};

// Handlers register themselves by name; images name the handlers that they use.
std::unordered_map<std::string, Handler>& handlers();
struct Registration {
    Registration(const char* name, Handler handler) { handlers()[name] = handler; }
};

// ---- launches ---------------------------------------------------------------------------------

struct Fault {
    Outcome outcome;
    std::string message;
};

// Lanes of a warp that wait at a block while others run.
struct Group {
    const Block* block;
    u32 mask;
    enum : u8 { ready, at_barrier, at_warp_barrier } state = ready;
    u32 barrier = 0;  // its number; or the membermask of a warp barrier
    const Instruction* at = nullptr;
};

// A function that called another one.
struct Frame {
    const Function* function;
    const Block* resume;
    const Instruction* call;
    u8* registers;
    u64 frame_pointer;
    u32 returned;  // lanes that came back from the call
    std::vector<Group> groups;
};

struct Warp {
    alignas(64) u32 active[LANES];  // all ones in active lanes
    alignas(64) u32 thread[3][LANES];
    u32 mask = 0;
    bool full = false;
    u8* registers = nullptr;
    const Block* block = nullptr;
    Execution* execution = nullptr;
    u64 frame_pointer = 0;  // of local memory, per lane
    u32 unguarded = 0;      // the mask outside of a guarded instruction
    u32 live = 0;           // lanes that have not exited
    u32 returned = 0;       // lanes that have returned from the running function
    u32 index = 0;
    u32 carry = 0;          // CC.CF of each lane
    u32 touched = 0;        // lanes that ran a block which accesses global memory
    u32 spins = 0;          // atomics seen since groups last merged: a sign of a spin lock
    const Function* function = nullptr;
    std::vector<Group> groups;
    std::vector<Frame> frames;
    u8* register_memory = nullptr;
    u8* local_memory = nullptr;
    u8* scalars = nullptr;       // of registers that versions know without their lanes
    Version* version = nullptr;  // of `block`; then all lanes run

    ALWAYS_INLINE u32* narrow(u32 offset) {
        return static_cast<u32*>(__builtin_assume_aligned(registers + offset, 64));
    }
    ALWAYS_INLINE u64* wide(u32 offset) {
        return static_cast<u64*>(__builtin_assume_aligned(registers + offset, 64));
    }
    void set_mask(u32 lanes);
    // Make the group at the lowest block the running one. False when no lane can run.
    bool settle();
    bool done() const { return live == 0; }
};

// The allocation that a site touched last. Ghosts have no memory.
struct Range {
    u64 base = 0;
    u64 size = 0;
    u32 ghosts = 0;
};

// How the lanes of a warp stand: lane l in column l % columns.
struct Lattice {
    u32 columns = LANES, rows = 1;
    alignas(64) u32 column[LANES];
    alignas(64) u32 row[LANES];
    void set(u32 count);
};

// What has arrived at one of the block's barriers since it last opened.
struct Barrier {
    u32 passed = 0;  // threads that did not wait (bar.arrive)
    u32 lanes = 0, ones = 0;
};

struct Execution {
    ModuleImage& module;
    const Function& kernel;
    const Launch& launch;
    Memory& memory;
    Report& report;
    std::vector<Range> ranges;  // by site
    bool tracing = false;       // this block
    bool watching = false;      // tracing, or a checker looks on
    bool leaping = false;       // may leap over iterations that are not traced
    bool alone = true;          // no other thread runs blocks of this launch
    u64 instructions = 0;
    u64 limit = ~0ull, next_look = 0;
    u32 block_index[3] = {0, 0, 0};
    u64 linear_block = 0;
    u8* shared = nullptr;
    u32 shared_bytes = 0;
    u64 local_stride = 0;
    u64 register_stride = 0;
    std::vector<Warp> warps;
    Barrier barriers[BARRIERS];
    bool arrived = false;  // at some barrier, since the last look
    u32 occupied = 0;      // the barriers at which threads wait
    size_t remaining = 0;  // warps with live threads
    u64 workspace = 0;     // of the grid's barrier, in a cooperative launch
    const u8* parameters = nullptr;
    std::shared_ptr<BlockOrder> order;  // with a checker
    std::shared_ptr<Versions> made[2];  // versions of basic blocks: untraced, traced
    Versions* versions = nullptr;       // those for this block, or none

    Lattice lattice;
    TraceState trace;

    Execution(ModuleImage& m, const Function& k, const Launch& l, Memory& mem, Report& r)
        : module(m), kernel(k), launch(l), memory(mem), report(r) {}
    // Registers and memory of the warps, which all blocks use one after the other.
    void prepare();
    void run_block(u64 linear);
    // The same in parts, for blocks that take turns: begin, turns until nothing remains, end.
    void begin_block(u64 linear);
    template <bool CHECKED> void run_warps(bool once);
    void leap(Warp& w, const Block& block);
    // Is the limit of instructions reached, or the deadline? Says when to look again.
    void look_at_limits();
    [[noreturn]] void exhausted() const;
    void turn();
    void end_block();
    bool release_barriers();
    bool release_warp_barriers();
    void begin_trace();
    void end_trace();
    std::string place(const Instruction* i, const Warp& w, u32 lane) const;
};

// Add the traced counters of one site to another's.
void merge(Site& into, const Site& from);
// The traced counters of a site, estimated for all windows.
Site estimate(const Windows& windows);
// Zero counters for all blocks and sites.
void clear(Report& report, const ModuleImage& module, const Launch& launch);

[[noreturn]] void fail(Outcome outcome, const Instruction* i, const Warp& w, u32 lane,
                       const std::string& what);

// ---- lanes ------------------------------------------------------------------------------------

struct pred {
    u32 value;
    pred(bool holds) : value(holds) {}
    operator bool() const { return value != 0; }
};

template <class T> struct LaneOf {
    using type = u32;
};
template <> struct LaneOf<u64> {
    using type = u64;
};
template <> struct LaneOf<s64> {
    using type = u64;
};
template <> struct LaneOf<f64> {
    using type = u64;
};
template <class T> using Lane = typename LaneOf<T>::type;

template <class T> ALWAYS_INLINE T unpack(Lane<T> lane) { return static_cast<T>(lane); }
template <> ALWAYS_INLINE f32 unpack<f32>(u32 lane) { return bits<f32>(lane); }
template <> ALWAYS_INLINE f64 unpack<f64>(u64 lane) { return bits<f64>(lane); }
template <> ALWAYS_INLINE pred unpack<pred>(u32 lane) { return pred(lane != 0); }
template <class T> ALWAYS_INLINE Lane<T> pack(T value) { return static_cast<Lane<T>>(value); }
template <> ALWAYS_INLINE u32 pack<f32>(f32 value) { return bits<u32>(value); }
template <> ALWAYS_INLINE u64 pack<f64>(f64 value) { return bits<u64>(value); }
template <> ALWAYS_INLINE u32 pack<pred>(pred value) { return value.value; }

template <class T> ALWAYS_INLINE Lane<T>* lanes(Warp& w, u32 offset) {
    return static_cast<Lane<T>*>(__builtin_assume_aligned(w.registers + offset, 64));
}

// Which active lanes hold 1 in a predicate register.
ALWAYS_INLINE u32 ones(const Warp& w, u32 offset) {
    const u32* p = static_cast<const u32*>(__builtin_assume_aligned(w.registers + offset, 64));
    u32 found = 0;
    for (u32 l = 0; l < LANES; l++) found |= (p[l] & 1) << l;
    return found & w.mask;
}

#define FOR_ACTIVE(w, l) \
    for (u32 l##_rest = (w).mask, l; l##_rest && (l = __builtin_ctz(l##_rest), true); l##_rest &= l##_rest - 1)

// ---- memory -----------------------------------------------------------------------------------

// Of the addresses of a full warp. ROWS: every 8 lanes are uniform, or every 8 are sequential.
enum Pattern { SCATTERED, UNIFORM, SEQUENTIAL, ROWS };
constexpr u32 ROW = 8;

// Count an access and look at its addresses when this block is traced or checked. A vector has
// several elements.
void observe(const Instruction* i, Warp& w, const u64* address, u32 bytes, u32 elements,
             Pattern pattern);
// The same for a full warp's access at a first address and in steps from column to column and from
// row to row.
struct AddressSteps {
    u64 first;
    s64 column, row;
};
void observe_steps(const Instruction* i, Warp& w, const AddressSteps& at, u32 bytes,
                   Pattern pattern);
// For the most frequent ones, at one address or side by side.
template <Kind KIND, Pattern PATTERN>
void observe_regular(const Instruction* i, Warp& w, u64 first, u32 bytes);
// Find the allocations of all active lanes or fail. Gives the lanes whose address is a ghost.
u32 resolve(const Instruction* i, Warp& w, const u64* address, u32 bytes);

}  // namespace cutune
