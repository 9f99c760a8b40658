// Loads and stores of a full warp at one address, or at addresses in equal steps; see
// machine_version.h. The plain handler stands behind each of these. It takes over when the access
// has another shape, reaches beyond what the instruction accessed last, or is misaligned.
#include "machine_rows.h"

namespace cutune {
namespace {

// To the plain handler, which stands behind.
template <Space S> NEVER_INLINE const Instruction* plainly(const Instruction* i, Warp& w, u8 shape) {
    spread(w, i->a, shape | (S == SHARED_SPACE ? 0 : WIDE));
    return run_on(i + 1, w);
}

// ---- one address ------------------------------------------------------------------------------

template <class T, Space S, bool TRACED> const Instruction* load_one(const Instruction* i, Warp& w) {
    const Reached<S> at(i, w);
    if (UNLIKELY(!at.holds(0, sizeof(T)) || !at.template aligned<sizeof(T)>()))
        return plainly<S>(i, w, UNIFORM_SHAPE);
    if (TRACED) observe_regular<LOAD, UNIFORM>(i, w, at.first, sizeof(T));
    set_scalar<T>(w, i->d, UNLIKELY(at.ghosts) ? 0 : static_cast<Lane<T>>(read<T>(at.first)));
    return run_on(i + 3, w);
}

// Which lane's value stays: see in_order_of_stores of machine_memory.cpp.
template <class T, Space S, bool TRACED>
const Instruction* store_one(const Instruction* i, Warp& w) {
    const Reached<S> at(i, w);
    if (UNLIKELY(!at.holds(0, sizeof(T)) || !at.template aligned<sizeof(T)>()))
        return plainly<S>(i, w, UNIFORM_SHAPE);
    if (TRACED) observe_regular<STORE, UNIFORM>(i, w, at.first, sizeof(T));
    if (!at.ghosts) write<T>(at.first, static_cast<T>(lanes<T>(w, i->b)[LAST_STORED<sizeof(T)>]));
    return run_on(i + 2, w);
}

// ---- addresses in steps -----------------------------------------------------------------------

template <class T> ALWAYS_INLINE void copy_row(Lane<T>* d, const T* from, u32 count) {
    if constexpr (sizeof(T) == sizeof(Lane<T>)) {
        memcpy(d, from, count * sizeof(T));
    } else {
#pragma GCC ivdep
        for (u32 l = 0; l < count; l++) d[l] = static_cast<Lane<T>>(from[l]);
    }
}
template <u32 COUNT, class T> ALWAYS_INLINE void fill_row(Lane<T>* d, u64 from) {
    constexpr u32 WIDTH = COUNT * sizeof(Lane<T>) < 64 ? COUNT * sizeof(Lane<T>) : 64;
    typedef Lane<T> Part __attribute__((vector_size(WIDTH)));
    const Part value = Part{} + static_cast<Lane<T>>(read<T>(from));
    for (u32 k = 0; k < COUNT * sizeof(Lane<T>) / WIDTH; k++) reinterpret_cast<Part*>(d)[k] = value;
}
template <class T> ALWAYS_INLINE void store_row(T* to, const Lane<T>* b, u32 count) {
    if constexpr (sizeof(T) == sizeof(Lane<T>)) {
        memcpy(to, b, count * sizeof(T));
    } else {
#pragma GCC ivdep
        for (u32 l = 0; l < count; l++) to[l] = static_cast<T>(b[l]);
    }
}

Pattern pattern_of(const AddressSteps& at, const Lattice& lattice, u32 bytes) {
    if (lattice.rows > 1 && at.row != at.column * s64(lattice.columns)) return SCATTERED;
    const s64 step = lattice.columns > 1 ? at.column : at.row;
    return step == 0 ? UNIFORM : step == s64(bytes) ? SEQUENTIAL : SCATTERED;
}

// Any steps, traced or not.
template <class T, Space S, bool LOADS>
NEVER_INLINE const Instruction* any_steps(const Instruction* i, Warp& w) {
    constexpr s64 FAR = 1ll << 40;
    const Reached<S> at(i, w);
    const s64 column = step_of<S>(w, i->a, 1), row = step_of<S>(w, i->a, 2);
    const Lattice& lattice = w.execution->lattice;
    const s64 across = column * s64(lattice.columns - 1), down = row * s64(lattice.rows - 1);
    const u64 before = (across < 0 ? -across : 0) + (down < 0 ? -down : 0);
    const u64 span = before + (across > 0 ? across : 0) + (down > 0 ? down : 0) + sizeof(T);
    const Pattern pattern = pattern_of({at.first, column, row}, lattice, sizeof(T));
    // Stores of several lanes to one place have an order.
    const s64 length = s64(sizeof(T)) * lattice.columns;
    const bool apart = pattern == SEQUENTIAL ||
                       (column == sizeof(T) && (row >= length || row <= -length));
    if (column >= FAR || column <= -FAR || row >= FAR || row <= -FAR || !at.holds(before, span) ||
        !at.template aligned<sizeof(T)>() || (u64(column) | u64(row)) & (sizeof(T) - 1) ||
        !(LOADS || apart))
        return plainly<S>(i, w, STEPPED);
    if (w.execution->tracing) observe_steps(i, w, {at.first, column, row}, sizeof(T), pattern);
    u64 line = at.first;
    Lane<T>* r = lanes<T>(w, LOADS ? i->d : i->b);
    if (at.ghosts) {
        if (LOADS) memset(r, 0, LANES * sizeof(Lane<T>));
        return run_on(i + 2, w);
    }
    for (u32 k = 0; k < lattice.rows; k++, line += row, r += lattice.columns) {
        if (!LOADS) store_row<T>(reinterpret_cast<T*>(line), r, lattice.columns);
        else if (column == sizeof(T)) copy_row<T>(r, reinterpret_cast<T*>(line), lattice.columns);
        else
            for (u32 l = 0; l < lattice.columns; l++)
                r[l] = static_cast<Lane<T>>(read<T>(line + l * column));
    }
    return run_on(i + 2, w);
}

// Lanes side by side, in rows of which the compiler knows the length, or one address for each row.
template <class T, Space S, u32 COLUMNS, bool LOADS, bool TRACED>
const Instruction* in_rows(const Instruction* i, Warp& w) {
    constexpr u32 ROWS = LANES / COLUMNS;
    const Rows<T, S, COLUMNS> at(i, w);
    if (UNLIKELY(!at.fits || !(at.beside || LOADS) || (!LOADS && ROWS > 1 && at.overlap())))
        return any_steps<T, S, LOADS>(i, w);
    if (TRACED && ROWS == 1) {
        observe_regular<LOADS ? LOAD : STORE, SEQUENTIAL>(i, w, at.first, sizeof(T));
    } else if (TRACED) {
        const AddressSteps seen{at.first, at.beside ? s64(sizeof(T)) : 0, at.row};
        observe_steps(i, w, seen, sizeof(T), pattern_of(seen, w.execution->lattice, sizeof(T)));
    }
    u64 line = at.first;
    Lane<T>* const r = lanes<T>(w, LOADS ? i->d : i->b);
    for (u32 k = 0; k < LANES; k += COLUMNS, line += at.row) {
        if (!LOADS) store_row<T>(reinterpret_cast<T*>(line), r + k, COLUMNS);
        else if (at.beside) copy_row<T>(r + k, reinterpret_cast<const T*>(line), COLUMNS);
        else fill_row<COLUMNS, T>(r + k, line);
    }
    return run_on(i + 2, w);
}

struct Accesses {
    template <class T, Space S, bool LOADS> struct Of {};
    template <class T, Space S, bool LOADS> Accesses(const char* name, Of<T, S, LOADS>) {
        Form& form = forms()[name];
        form.stepped = &any_steps<T, S, LOADS>;
        add<T, S, LOADS, false>(form);
        add<T, S, LOADS, true>(form);
    }
    template <class T, Space S, bool LOADS, bool TRACED> static void add(Form& form) {
        form.at_one[TRACED] = LOADS ? &load_one<T, S, TRACED> : &store_one<T, S, TRACED>;
        if (sizeof(T) < 4) return;
        Handler* const rows = form.in_rows[TRACED];
        rows[0] = &in_rows<T, S, 32, LOADS, TRACED>;
        rows[1] = &in_rows<T, S, 16, LOADS, TRACED>;
        rows[2] = &in_rows<T, S, 8, LOADS, TRACED>;
    }
};

#define ACCESS(name, T, S, LOADS) {name, Accesses::Of<T, S, LOADS>()}
#define ACCESSES(space, S) \
    ACCESS("ld_" space "_u8", u8, S, true), ACCESS("ld_" space "_s8", s8, S, true), \
    ACCESS("ld_" space "_u16", u16, S, true), ACCESS("ld_" space "_s16", s16, S, true), \
    ACCESS("ld_" space "_b32", u32, S, true), ACCESS("ld_" space "_b64", u64, S, true), \
    ACCESS("st_" space "_b8", u8, S, false), ACCESS("st_" space "_b16", u16, S, false), \
    ACCESS("st_" space "_b32", u32, S, false), ACCESS("st_" space "_b64", u64, S, false)

const Accesses all[] = {ACCESSES("global", GLOBAL_SPACE), ACCESSES("shared", SHARED_SPACE)};

}  // namespace
}  // namespace cutune
