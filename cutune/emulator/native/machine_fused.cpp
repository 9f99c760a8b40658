// Two loads and the multiplication with addition that uses them, in one step: the sum of products
// that most kernels spend their time with. The three stand behind, for whatever has another shape.
// What is loaded is not written to its registers, which nothing else reads.
#include "machine_numbers.h"
#include "machine_rows.h"
#include "machine_steps.h"

namespace cutune {
namespace {

// One address for all lanes.
template <Space S> struct One {
    static constexpr u32 STEPS = 3;  // of the load: see Translation
    u64 first;
    s64 row = 0;
    bool beside = false;
    bool fits;
    ALWAYS_INLINE One(const Instruction* i, const Warp& w) {
        const Reached<S> at(i, w);
        first = at.first;
        fits = at.holds(0, sizeof(f32)) && at.template aligned<sizeof(f32)>() && !at.ghosts;
    }
};
template <Space S, u32 COLUMNS> struct InRows : Rows<f32, S, COLUMNS> {
    static constexpr u32 STEPS = 2;
    using Rows<f32, S, COLUMNS>::Rows;
};

// Of a row of lanes, or one for all of it.
template <bool BESIDE> struct Factors {
    const f32* at;
    ALWAYS_INLINE explicit Factors(u64 address) : at(reinterpret_cast<const f32*>(address)) {}
    ALWAYS_INLINE f32 operator[](u32 l) const { return at[l]; }
};
template <> struct Factors<false> {
    f32 value;
    ALWAYS_INLINE explicit Factors(u64 address) : value(read<f32>(address)) {}
    ALWAYS_INLINE f32 operator[](u32) const { return value; }
};

template <u32 COLUMNS, bool BESIDE_A, bool BESIDE_B, class A, class B>
ALWAYS_INLINE void add_products(u32* d, const u32* c, const A& a, const B& b) {
    for (u32 row = 0; row < LANES / COLUMNS; row++, d += COLUMNS, c += COLUMNS) {
        const Factors<BESIDE_A> x(a.first + row * a.row);
        const Factors<BESIDE_B> y(b.first + row * b.row);
#pragma GCC ivdep
#pragma GCC unroll 1  // or the compiler makes scalars of short rows
        for (u32 l = 0; l < COLUMNS; l++)
            d[l] = pack<f32>(canonical(__builtin_fmaf(x[l], y[l], unpack<f32>(c[l]))));
    }
}

template <u32 COLUMNS, class A, class B>
const Instruction* load_and_add(const Instruction* i, Warp& w) {
    const A a(i + 1, w);
    const B b(i + 1 + A::STEPS, w);
    if (UNLIKELY(!a.fits || !b.fits)) return run_on(i + 1, w);
    const Instruction* const sum = i + 1 + A::STEPS + B::STEPS;
    u32* const d = lanes<f32>(w, sum->d);
    const u32* const c = lanes<f32>(w, sum->c);
    if (a.beside && b.beside) add_products<COLUMNS, true, true>(d, c, a, b);
    else if (a.beside) add_products<COLUMNS, true, false>(d, c, a, b);
    else if (b.beside) add_products<COLUMNS, false, true>(d, c, a, b);
    else add_products<COLUMNS, false, false>(d, c, a, b);
    return run_on(sum + 1, w);
}

template <Space S, u32 COLUMNS> Handler of(bool one_a, bool one_b) {
    using R = InRows<S, COLUMNS>;
    if (one_a && one_b) return nullptr;
    return one_a   ? &load_and_add<COLUMNS, One<S>, R>
           : one_b ? &load_and_add<COLUMNS, R, One<S>>
                   : &load_and_add<COLUMNS, R, R>;
}

}  // namespace

Handler fused_products(bool shared, bool one_a, bool one_b, u32 columns) {
    if (columns == 32)
        return shared ? of<SHARED_SPACE, 32>(one_a, one_b) : of<GLOBAL_SPACE, 32>(one_a, one_b);
    if (columns == 16)
        return shared ? of<SHARED_SPACE, 16>(one_a, one_b) : of<GLOBAL_SPACE, 16>(one_a, one_b);
    if (columns == 8)
        return shared ? of<SHARED_SPACE, 8>(one_a, one_b) : of<GLOBAL_SPACE, 8>(one_a, one_b);
    return nullptr;
}

}  // namespace cutune
