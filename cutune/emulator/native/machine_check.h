// What `run --check` looks for: accesses outside of allocations, reads of memory that nobody
// wrote, races, and barriers that not all threads reach.
//
// Order. The machine runs one warp at a time, so one clock serves all. Two accesses of different
// warps are ordered by a barrier between them, or by a fence and a strong operation (an atomic, a
// volatile or an acquire/release access of global memory) of the first and a later strong
// operation of the second; blocks by the latter only. Lanes of a warp run in step: accesses of
// lanes that have diverged are ordered when the lanes met in between. Two strong accesses of
// global memory never race; neither do two atomics.
#pragma once
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "machine_core.h"
#include "machine_written.h"

namespace cutune {

enum class Hazard : u8 {
    out_of_bounds,
    misaligned,
    use_after_free,
    unwritten_shared,
    unwritten_global,
    shared_race,       // between warps of a block
    global_race,
    diverged_race,     // between diverged lanes of a warp
    block_race,        // between blocks of a launch
    same_value,        // a race of stores that all leave the same value
    barrier_divergence,
    exited_at_barrier,
};

// One access of the past: who, when, by which instruction.
struct Past {
    u32 thread = 0;  // low 22 bits of the linear block index, 10 of the thread's in its block
    u32 clock = 0;   // 0: there was none
    u32 what = 0;    // index of the instruction, and the flags below
};
constexpr u32 STRONG = 1u << 31, SILENT = 1u << 30;
constexpr u32 INSTRUCTION = SILENT - 1;

// The last accesses of a word: its write; a later one that left the value that was there; the last
// read, one by another warp of the same block, and one by another block.
struct Cell {
    Past write, kept, reads[3];
};

// Cells by address: one per aligned word, or per byte on pages where narrower accesses were seen.
class Cells {
  public:
    struct Page {
        u32 unit = 4;
        std::vector<Cell> cells;
    };
    static constexpr u64 PAGE = 4096;
    // The page of an address; nullptr when the memory for pages is used up.
    Page* page(u64 address, u32 bytes) {
        const u64 number = address / PAGE;
        if (number == last_number_ && bytes >= last_->unit) return last_;
        return find(number, bytes);
    }
    void clear();
    bool incomplete() const { return incomplete_; }

  private:
    Page* find(u64 number, u32 bytes);
    std::unordered_map<u64, Page> pages_;
    u64 last_number_ = ~0ull;
    Page* last_ = nullptr;
    u64 bytes_ = 0;
    bool incomplete_ = false;
};

// The order of the warps of one block, and of the lanes of each warp.
struct BlockOrder {
    u32 begin = 0;                       // the clock when the block began
    u32 group[32] = {};                  // the lanes that each warp runs now
    u32 known[32][32] = {};              // [w][v]: what v did up to this clock is before w's next
    alignas(64) u32 together[32][32][32] = {};  // [w][a][b]: when lanes a and b last were in step
    u32 fenced[32] = {}, published[32] = {}, acquired[32] = {};
    u32 arrived[BARRIERS][32] = {};
    std::vector<u8> written;             // of shared memory, by byte
    bool is_written(u64 offset, u32 bytes) const;
    // These lanes of a warp are in step.
    void meet(u32 warp, u32 lanes, u32 clock);
};

struct Finding {
    u64 count = 0;
    const Instruction* at = nullptr;
    const Instruction* other = nullptr;
    u64 block = 0, other_block = 0;
    u32 thread = 0, other_thread = 0;
    std::string text;
};

class Checker {
  public:
    // `stops`: the launch ends where anything is found.
    explicit Checker(bool stops) : stops_(stops) {}
    Written written;

    // The findings of the launch as a list in JSON; lines are those of the PTX.
    std::string findings() const;
    bool incomplete() const { return global_.incomplete() || shared_.incomplete(); }

    void begin_launch(Execution& x);
    void begin_block(Execution& x);
    // A warp begins a basic block.
    void enter(const Warp& w) {
        if (UNLIKELY(w.execution->order->group[w.index] != w.mask)) regroup(w);
    }
    // Registers hold what a store writes: `elements` of `bytes / elements` bytes per lane.
    void access(const Instruction* i, const Warp& w, const u64* address, u32 bytes, u32 elements);
    // Written by an instruction that is not looked at otherwise (surfaces, matrices).
    void wrote(const Execution& x, u64 address, u32 bytes);
    void fence(const Warp& w);
    void arrive(const Warp& w, u32 number);
    // The waiting lanes of all warps are about to pass a barrier.
    void barrier(const Execution& x, u32 number, bool everyone);
    void stuck(const Warp& w, const Instruction* at);
    // Lanes whose access was refused take no part in the access that follows.
    void refuse(Hazard hazard, const Instruction* i, const Warp& w, u32 lane,
                const std::string& text);

  private:
    using Key = std::tuple<Hazard, u32, u32>;  // PTX lines
    struct Accessor;
    bool fill(const Accessor& a, Kind kind, u64 address, u32 bytes);
    template <class V>
    void duplicate(const Instruction* i, const Warp& w, const u64* address, u32 lane, u32 seen,
                   const V& values, bool shared);
    void regroup(const Warp& w);
    void strong(const Warp& w);
    void touch(const Accessor& a, Cell& cell);
    void race(const Accessor& a, const Past& past, bool same);
    bool ordered(const Accessor& a, const Past& past) const;
    Finding& note(Hazard hazard, const Instruction* i, const Instruction* other, const Warp& w,
                  u32 lane, u64 count = 1);
    u32 line(const Instruction* i) const;

    const bool stops_;
    const Execution* x_ = nullptr;
    Cells global_, shared_;
    struct Publication {
        u32 published, acquired;
    };
    std::unordered_map<u32, Publication> blocks_;  // by the low bits of their index
    u32 clock_ = 1;
    u32 launch_begin_ = 1;
    u32 refused_ = 0;
    std::map<Key, Finding> findings_;
};

}  // namespace cutune
