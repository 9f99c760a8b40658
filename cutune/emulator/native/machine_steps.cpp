// How versions get into a warp and out of it: registers to their lanes, the ends of blocks.
#include "machine_steps.h"

namespace cutune {

namespace {

template <class T> void spread_uniform(Warp& w, u32 offset) {
    T* const d = lanes<T>(w, offset);
    const T value = scalar<T>(w, offset);
    for (u32 l = 0; l < LANES; l++) d[l] = value;
}

template <class T> void spread_steps(Warp& w, u32 offset) {
    T* const d = lanes<T>(w, offset);
    const auto& known = steps<T>(w, offset);
    const T first = known[0], column = known[1], row = known[2];
    const Lattice& lattice = w.execution->lattice;
    for (u32 l = 0; l < LANES; l++)
        d[l] = first + column * T(lattice.column[l]) + row * T(lattice.row[l]);
}

template <void SPREAD(Warp&, u32)> const Instruction* as_step(const Instruction* i, Warp& w) {
    SPREAD(w, i->a);
    return run_on(i + 1, w);
}

template <class T> const Instruction* note(const Instruction* i, Warp& w) {
    set_scalar<T>(w, i->d, *lanes<T>(w, i->d));
    return run_on(i + 1, w);
}

const Instruction* go_on(const Instruction*, Warp& w, u32 edge, u32 block) {
    Execution& x = *w.execution;
    x.versions->follow(w, edge, x.module.blocks[block]);
    return nullptr;
}

}  // namespace

void spread(Warp& w, u32 offset, u8 shape) {
    const bool wide = shape & WIDE;
    if (shape & UNIFORM_SHAPE) (wide ? spread_uniform<u64> : spread_uniform<u32>)(w, offset);
    else (wide ? spread_steps<u64> : spread_steps<u32>)(w, offset);
}

Handler spreading(u8 shape) {
    if (shape & UNIFORM_SHAPE)
        return shape & WIDE ? as_step<spread_uniform<u64>> : as_step<spread_uniform<u32>>;
    return shape & WIDE ? as_step<spread_steps<u64>> : as_step<spread_steps<u32>>;
}

Handler noting(u8 width) { return width == 8 ? note<u64> : note<u32>; }

void leave(Warp& w, const Shapes& shapes) {
    for (u32 k = 0; k < shapes.size(); k++)
        if (!(shapes[k] & IN_LANES)) spread(w, k * SHAPE_BYTES, shapes[k]);
    w.version = nullptr;
}

Steps32 thread_steps(const Warp& w, u32 axis) {
    const u32* const t = w.thread[axis];
    const Lattice& lattice = w.execution->lattice;
    return Steps32{t[0], lattice.columns > 1 ? t[1] - t[0] : 0,
                   lattice.rows > 1 ? t[lattice.columns] - t[0] : 0};
}

const Instruction* note_thread(const Instruction* i, Warp& w) {
    steps<u32>(w, i->d) = thread_steps(w, i->x);
    return i + 1;
}

const Instruction* jump_on(const Instruction* i, Warp& w) { return go_on(i, w, 0, i->x); }

const Instruction* branch_together(const Instruction* i, Warp& w) {
    const bool taken = (scalar<u32>(w, i->a) & 1) != ((i->flags & NEGATED) != 0);
    return taken ? go_on(i, w, 0, i->x) : go_on(i, w, 1, static_cast<u32>(i->imm));
}

const Instruction* branch_on(const Instruction* i, Warp& w) {
    u32 taken = ones(w, i->a);
    if (i->flags & NEGATED) taken = ~taken;
    if (taken == FULL) return go_on(i, w, 0, i->x);
    if (!taken) return go_on(i, w, 1, static_cast<u32>(i->imm));
    leave(w, w.version->exit);
    return i + 1;
}

const Instruction* go_on_behind(const Instruction* i, Warp& w) {
    go_on(i, w, 0, i->x);
    return i + 1;
}

const Instruction* forget(const Instruction* i, Warp& w) {
    w.version = nullptr;
    return i + 1;
}

}  // namespace cutune
