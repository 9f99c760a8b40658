// Integer arithmetic on numbers in equal steps; see machine_version.h. What wraps around in a lane
// wraps around in the steps alike, so that sums, and products by one number, keep the steps.
#include "machine_version.h"

namespace cutune {
namespace {

bool always(u8, u8, u8) { return true; }
bool by_one_number(u8 a, u8 b, u8) { return (a | b) & UNIFORM_SHAPE; }
bool by_uniform_amount(u8, u8 b, u8) { return b & UNIFORM_SHAPE; }

struct Stepped {
    Stepped(const char* name, Handler handler, bool (*fits)(u8, u8, u8)) {
        Form& form = forms()[name];
        form.stepped = handler;
        form.fits = fits;
    }
};

// An operand's number and steps, when the register has T in each lane.
template <class T> using Steps = typename StepsOf<T>::type;

// One of them has no steps.
template <class V> ALWAYS_INLINE V product(const V& a, const V& b) {
    return V{a[0] * b[0], a[0] * b[1] + a[1] * b[0], a[0] * b[2] + a[2] * b[0]};
}

template <class V> ALWAYS_INLINE V shifted(const V& a, u32 amount) {
    return amount >= 8 * sizeof(a[0]) ? V{} : V{a[0] << amount, a[1] << amount, a[2] << amount};
}

#define STEPPED(name, T, fits, ...) \
    const Instruction* stepped_##name(const Instruction* i, Warp& w) { \
        const auto a = [&]() -> const Steps<T>& { return steps<T>(w, i->a); }; \
        const auto b = [&]() -> const Steps<T>& { return steps<T>(w, i->b); }; \
        const auto c = [&]() -> const Steps<T>& { return steps<T>(w, i->c); }; \
        (void)b, (void)c; \
        steps<T>(w, i->d) = __VA_ARGS__; \
        return run_on(i + 1, w); \
    } \
    const Stepped form_of_##name(#name, &stepped_##name, &fits);

#define STEPPED_WIDTH(W) \
    STEPPED(mov_b##W, u##W, always, a()) \
    STEPPED(add_b##W, u##W, always, a() + b()) \
    STEPPED(sub_b##W, u##W, always, a() - b()) \
    STEPPED(mul_b##W, u##W, by_one_number, product(a(), b())) \
    STEPPED(mad_b##W, u##W, by_one_number, product(a(), b()) + c()) \
    STEPPED(shl_b##W, u##W, by_uniform_amount, shifted(a(), scalar<u32>(w, i->b)))
STEPPED_WIDTH(32)
STEPPED_WIDTH(64)

// The numbers of all lanes as they are in 64 bits. False: some lane's wraps around in 32.
template <class T> ALWAYS_INLINE bool widened(const Warp& w, u32 offset, Steps64& wide) {
    const Steps32 a = steps<u32>(w, offset);
    const s64 first = T(a[0]), column = s32(a[1]), row = s32(a[2]);
    const Lattice& lattice = w.execution->lattice;
    const s64 across = column * s64(lattice.columns - 1), down = row * s64(lattice.rows - 1);
    const s64 lowest = first + (across < 0 ? across : 0) + (down < 0 ? down : 0);
    const s64 highest = first + (across > 0 ? across : 0) + (down > 0 ? down : 0);
    constexpr s64 least = std::is_signed<T>::value ? s64(INT32_MIN) : 0;
    constexpr s64 most = std::is_signed<T>::value ? s64(INT32_MAX) : s64(UINT32_MAX);
    wide = Steps64{u64(first), u64(column), u64(row)};
    return lowest >= least && highest <= most;
}

template <class T> const Instruction* widen(const Instruction* i, Warp& w) {
    Steps64 a;
    if (UNLIKELY(!widened<T>(w, i->a, a))) return retreat(i, w);
    steps<u64>(w, i->d) = a;
    return run_on(i + 1, w);
}

template <class T, bool ADDS> const Instruction* multiply_wide(const Instruction* i, Warp& w) {
    Steps64 a, b;
    if (UNLIKELY(!widened<T>(w, i->a, a) || !widened<T>(w, i->b, b))) return retreat(i, w);
    const Steps64 both = product(a, b);
    steps<u64>(w, i->d) = ADDS ? both + steps<u64>(w, i->c) : both;
    return run_on(i + 1, w);
}

const Instruction* low(const Instruction* i, Warp& w) {
    const Steps64& a = steps<u64>(w, i->a);
    steps<u32>(w, i->d) = Steps32{u32(a[0]), u32(a[1]), u32(a[2])};
    return run_on(i + 1, w);
}

const Stepped others[] = {
    {"low_b64", &low, &always},
    {"widen_u32", &widen<u32>, &always},
    {"widen_s32", &widen<s32>, &always},
    {"mul_wide_u32", &multiply_wide<u32, false>, &by_one_number},
    {"mul_wide_s32", &multiply_wide<s32, false>, &by_one_number},
    {"mad_wide_u32", &multiply_wide<u32, true>, &by_one_number},
    {"mad_wide_s32", &multiply_wide<s32, true>, &by_one_number},
};

}  // namespace
}  // namespace cutune
