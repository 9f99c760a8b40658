// Steps of versions that are no instructions of PTX: see machine_version.h.
#pragma once
#include "machine_version.h"

namespace cutune {

// Writes the register `a`, of this shape, to its lanes.
Handler spreading(u8 shape);
// Notes the number that all lanes of the register `d`, of this width, hold.
Handler noting(u8 width);

// The index of a warp's threads along an axis.
Steps32 thread_steps(const Warp& w, u32 axis);

// Notes the index of the threads in `d`; x: the axis.
const Instruction* note_thread(const Instruction* i, Warp& w);
const Instruction* jump_on(const Instruction* i, Warp& w);
// The predicate is uniform, or in its lanes. The plain branch stands behind.
const Instruction* branch_together(const Instruction* i, Warp& w);
const Instruction* branch_on(const Instruction* i, Warp& w);
// The next version begins behind the barrier, which follows.
const Instruction* go_on_behind(const Instruction* i, Warp& w);
// Two loads of 4 bytes, each for all lanes at one address or in rows, and `fma_f32` as one step that
// stands before them; nullptr: there is none.
Handler fused_products(bool shared, bool one_a, bool one_b, u32 columns);
// The version ends; registers are in their lanes or not needed any more.
const Instruction* forget(const Instruction* i, Warp& w);

}  // namespace cutune
