// Versions of a basic block, for warps of which all 32 lanes run.
//
// Most registers of a kernel hold one number in all lanes, or numbers in equal steps: parameters,
// counters, addresses. A version of a block is made for the shapes that the registers have when it
// begins, and computes with the number and the steps in place of 32 lanes wherever an operation
// allows that. Registers that other operations need are spread over their lanes before. A block has
// as many versions as there are ways to reach it; each knows the versions that follow it.
//
// Lanes stand in rows and columns as the threads of their block do: lane l in column l % columns.
// Steps are numbers of the register's width; they wrap around as it does.
#pragma once
#include <utility>

#include "machine_core.h"

namespace cutune {

// What is known of a register. In its lanes, in `Warp::scalars`, or both.
enum Shape : u8 {
    IN_LANES = 1,
    UNIFORM_SHAPE = 2,  // one number
    STEPPED = 4,        // a number for the first lane, and the steps to the next column and row
    WIDE = 8,           // 8 bytes per lane
};
using Shapes = std::vector<u8>;  // by 128 bytes of the frame

constexpr u32 SHAPE_BYTES = LANES * 4;

// What versions know of an operation. Handlers in the middle of a version may return to what stands
// behind them: see machine_translation.h.
struct Form {
    enum Role : u8 {
        other,      // reads a, b, c and x, writes d and x
        tabled,     // has further operands, which may be registers
        empty,      // no registers
        regular,    // d = f(a, b, c)
        same,       // writes one number to all lanes of d
        thread,     // writes the index of each thread
    load, store,
        guard, jump, branch, barrier, end,
    };
    Role role = other;
    u8 elements = 1;               // of a load or store
    u8 axis = 0;                   // of the index of a thread
    u8 width[4] = {0, 0, 0, 0};    // bytes per lane of d, a, b, c; 0: no such operand
    Handler uniform = nullptr;     // when all operands are uniform
    Handler stepped = nullptr;     // when `fits` says so (of a memory access: for other rows)
    // Of a memory access, untraced and traced: at one address, and in rows of 32, 16 or 8 lanes.
    Handler at_one[2] = {}, in_rows[2][3] = {};
    bool sums_products = false;    // fma_f32: loads before it may be fused with it
    bool loads_words = false;      // one of these
    Handler mixed[8] = {};         // by the operands that are uniform, one bit each
    bool (*fits)(u8 a, u8 b, u8 c) = nullptr;
};

// By the names of operations. Every source file adds what it knows.
std::unordered_map<std::string, Form>& forms();
const Form* form_of(const std::string& name);

struct Version {
    const Block* block;
    std::vector<Instruction> steps;
    std::vector<u32> origins;  // of each step: its instruction in the module
    Shapes entry, exit;
    Version* next[2] = {nullptr, nullptr};
    std::vector<std::pair<u32, Shapes>> retreats;  // steps that may end the version, and the shapes
};

class Versions {
  public:
    Versions(Execution& x, bool traced);
    // All registers are in their lanes.
    ALWAYS_INLINE Version* enter(const Block& block) {
        Version* const known = first_[block.index - first_block_];
        return known ? known : make(block, plain_);
    }
    // The warp goes on at `block` after its version: with another version, or without.
    ALWAYS_INLINE void follow(Warp& w, u32 edge, const Block& block) {
        Version* const next = w.version->next[edge];
        if (UNLIKELY(!next)) return find(w, edge, block);
        w.block = &block;
        w.version = next;
    }
    // The instruction that a step was made of; others stay as they are.
    const Instruction* original(const Instruction* step) const;

  private:
    friend class Translation;
    Version* make(const Block& block, const Shapes& entry);
    void find(Warp& w, u32 edge, const Block& block);
    void use_constant(u32 offset, u8 width);
    u32 mentions(u32 offset);

    std::vector<u8> mentions_;       // of registers in the kernel, up to 255

    Execution& x_;
    bool traced_;
    u32 first_block_;
    u32 constants_;                  // where they begin in the frame
    Shapes plain_;                   // all registers in their lanes
    std::vector<bool> ready_;        // constants whose scalars have been written
    bool of_threads_[3][2];          // by axis: stepped, uniform
    std::vector<Version*> first_;    // by block
    std::vector<std::vector<std::unique_ptr<Version>>> all_;
};

// A number and its steps from column to column and from row to row.
typedef u32 Steps32 __attribute__((vector_size(16)));
typedef u64 Steps64 __attribute__((vector_size(32)));
template <class T> struct StepsOf {
    using type = Steps32;
};
template <> struct StepsOf<u64> {
    using type = Steps64;
};

template <class T> ALWAYS_INLINE typename StepsOf<T>::type& steps(const Warp& w, u32 offset) {
    return *reinterpret_cast<typename StepsOf<T>::type*>(w.scalars + offset / 4);
}
template <class T> ALWAYS_INLINE Lane<T>& scalar(const Warp& w, u32 offset) {
    return *reinterpret_cast<Lane<T>*>(w.scalars + offset / 4);
}
// All of it: a part that was written just before would be read late.
template <class T> ALWAYS_INLINE void set_scalar(Warp& w, u32 offset, Lane<T> value) {
    steps<Lane<T>>(w, offset) = typename StepsOf<Lane<T>>::type{value};
}

// The first instruction behind a block's.
const Instruction* end_of(const ModuleImage& module, const Block& block);
// Write a register to its lanes; what is known of it stays.
void spread(Warp& w, u32 offset, u8 shape);
// The version ends: all registers get into their lanes.
void leave(Warp& w, const Shapes& shapes);
// The same in the middle of a block. Gives the instruction to go on with.
const Instruction* retreat(const Instruction* step, Warp& w);

}  // namespace cutune
