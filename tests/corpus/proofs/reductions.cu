// Blocks whose threads combine sums of rows, and what other blocks would do.
//
// A section says what is proven of its kernels, as tests/unit/proof/test_reductions.py asks.
#define D blockDim.x
#define T threadIdx.x
#define R int r = blockIdx.x, t = threadIdx.x;
#define J for (int j = t; j < n; j += D)
#define WAIT __syncthreads();
#define WARPS for (int o = 16; o; o >>= 1) s += __shfl_xor_sync(~0u, s, o);
#define DOWN for (int o = 16; o; o >>= 1) s += __shfl_down_sync(~0u, s, o);
#define LARGEST(max) for (int o = 16; o; o >>= 1) s = max(s, __shfl_xor_sync(~0u, s, o));
#define FIRST if (t == 0)
#define I ((const int *)b)
#define SLOTS if (t % 32 == 0) w[t / 32] = s; WAIT
#define ADD_SLOTS(i) for (int i = 1; i < D / 32; ++i) s += w[i];
#define LARGEST_IN_SLOTS(begin) \
    __shared__ float w[32]; R float s = begin; J s = fmaxf(s, b[r * n + j]); LARGEST(fmaxf) SLOTS
#define LARGEST_OF_SLOTS if (t < 32) { \
    s = t < D / 32 ? w[t] : -INFINITY; LARGEST(fmaxf) FIRST a[r] = s; }
#define FIRST_WARP(act) if (t < 32) { s = t < D / 32 ? w[t] : 0; act }
#define ROW_OF_WARPS __shared__ int w[32]; R int s = 0; J s += c[r * n + j]; WARPS
#define ROW_IN_SLOTS ROW_OF_WARPS SLOTS
#define IDS for (int i = blockIdx.x * D + t; i < n; i += gridDim.x * D)
#define PRODUCTS_IN_SLOTS(V) \
    __shared__ V w[32]; int t = T; V s = 0; IDS s += b[i] * b[i + 1]; DOWN SLOTS
#define OWN_IN_SLOTS(own) \
    __shared__ int w[32]; int t = T, i = blockIdx.x * D + t, s = i < n ? own : 0; WARPS SLOTS
__shared__ int words[32];
__constant__ int table[33];
__device__ int of_warps(int s) {
    int t = T;
    WARPS
    if (t % 32 == 0) words[t / 32] = s;
    WAIT
    s = t < D / 32 ? words[t % 32] : 0;
    if (t < 32) { WARPS if (t == 0) words[0] = s; }
    WAIT
    s = words[0];
    WAIT
    return s;
}
template <class V> __device__ V by_tree(V *sums, V s) {
    sums[T] = s;
    WAIT
    for (int h = D / 2; h > 0; h /= 2) { if (T < h) sums[T] += sums[T + h]; WAIT }
    s = sums[0];
    WAIT
    return s;
}
#define MOST
#define KERNEL(name) \
    extern "C" __global__ void MOST name(float *a, const float *b, int n, int m, int *c)

// ---- whole_warps
// Right with blocks of any number of whole warps; sums of integers.
KERNEL(scaled_threads) {
    __shared__ int w[32]; R int s = 0; J s += c[r * n + j]; s *= m; WARPS SLOTS
    FIRST { ADD_SLOTS(i) c[r] = s; }
}
KERNEL(columns) {
    R int s = 0; _Pragma("unroll 1") J s += I[j * m + r]; s = of_warps(s); FIRST c[r] = s;
}
KERNEL(slots) {
    ROW_IN_SLOTS
    FIRST { int sum = 0; for (int i = 0; i < D / 32; ++i) sum += w[i]; c[r] = sum; }
}
KERNEL(slots_down) {
    __shared__ int w[32]; R int s = 0; J s += c[r * n + j]; DOWN
    if ((t & 31) == 0) w[t >> 5] = s; WAIT
    s = t < D / 32 ? w[t] : 0;
    if (t < 32) { DOWN FIRST c[r] = s; }
}
KERNEL(told_all) { R int s = 0; J s += c[r * n + j]; s = of_warps(s); J a[r * n + j] = b[j] * s; }
KERNEL(twice) {
    R int s = 0; J s += c[r * n + j]; int mean = of_warps(s) / n;
    s = 0; J s += (c[r * n + j] - mean) * (c[r * n + j] - mean); s = of_warps(s);
    J a[r * n + j] = (c[r * n + j] - mean) * rsqrtf(s);
}
KERNEL(rows_of_a_grid) {
    for (int r = blockIdx.x; r < m; r += gridDim.x) {
        int t = T, s = 0; J s += c[r * n + j]; s = of_warps(s); J a[r * n + j] = s + b[j];
    }
}
KERNEL(greatest) {
    __shared__ int w[32]; R int s = -2147483647 - 1; J s = max(s, c[r * n + j]);
    LARGEST(max)
    SLOTS
    s = w[0]; for (int i = 1; i < D / 32; ++i) s = max(s, w[i]);
    J a[r * n + j] = c[r * n + j] - s;
}
KERNEL(greatest_real) { LARGEST_IN_SLOTS(-INFINITY) LARGEST_OF_SLOTS }
KERNEL(by_redux) {
    __shared__ int w[32]; R int s = 0; J s += c[r * n + j]; s = __reduce_add_sync(~0u, s);
    SLOTS
    if (t < 32) { s = __reduce_add_sync(~0u, t < D / 32 ? w[t] : 0); FIRST c[r] = s; }
}
KERNEL(adds_to_all) {
    __shared__ int w[32]; R int s = 0; J s += c[r * n + j] + 3; WARPS
    SLOTS
    FIRST { ADD_SLOTS(i) atomicAdd(c, s); }
}
KERNEL(bits) {
    __shared__ unsigned w[32]; R unsigned s = 0; J s |= c[r * n + j];
    for (int o = 16; o; o >>= 1) s |= __shfl_xor_sync(~0u, s, o);
    SLOTS
    FIRST { for (int i = 1; i < D / 32; ++i) s |= w[i]; c[r] = s; }
}
KERNEL(long_numbers) {
    __shared__ long long w[32]; R long long s = 0; J s += c[r * n + j];
    WARPS
    SLOTS
    FIRST { ADD_SLOTS(i) *(long long *)(a + 2 * r) = s; }
}
KERNEL(two_sums) {
    __shared__ int w[32], v[32]; R int s = 0, q = 0; J { s += c[j]; q += c[j] * c[j]; }
    for (int o = 16; o; o >>= 1) {
        s += __shfl_xor_sync(~0u, s, o); q += __shfl_xor_sync(~0u, q, o);
    }
    if (t % 32 == 0) w[t / 32] = s, v[t / 32] = q; WAIT
    FIRST {
        for (int i = 1; i < D / 32; ++i) s += w[i], q += v[i];
        c[r] = s * s - q;
    }
}
KERNEL(vectors_and_a_rest) {
    R int s = 0, q = n / 4; const int4 *v = (const int4 *)(c + r * q * 4);
    for (int j = t; j < q; j += D) { int4 e = v[j]; s += e.x; s += e.y; s += e.z; s += e.w; }
    J if (j >= q * 4) s += I[j]; s = of_warps(s); J a[r * n + j] = s;
}
KERNEL(two_rows) {
    R int s = 0; J s += c[r * n + j]; for (int j = t; j < m; j += D) s += I[j];
    s = of_warps(s); J a[r * n + j] = s;
}
KERNEL(two_rows_if_asked) {
    R int s = 0; J s += c[r * n + j];
    if (m > 5) for (int j = t; j < m; j += D) s += I[j];
    s = of_warps(s); J a[r * n + j] = s;
}
KERNEL(some_elements) {
    R int s = 0; J if (b[j] > 0) s += c[r * n + j]; s = of_warps(s); J a[r * n + j] = s;
}
KERNEL(begins_with_its_row) {
    R int s = c[r * n]; J s = max(s, c[r * n + j]);
    LARGEST(max)
    if (t % 32 == 0) words[t / 32] = s; WAIT
    s = t < D / 32 ? words[t % 32] : words[0];
    LARGEST(max)
    FIRST c[m * n + r] = s;
}
KERNEL(by_a_float) {
    ROW_IN_SLOTS s = t < D / 32.f ? w[t] : 0; if (t < 32) { WARPS FIRST c[r] = s; }
}
KERNEL(adds_to_half_a_word) {
    ROW_IN_SLOTS
    FIRST {
        ADD_SLOTS(i)
        asm("mov.b32 %0, {%1, %2};" : "=r"(t) : "h"((short)0), "h"(((const short *)b)[r]));
        c[r] = s + t;
    }
}
KERNEL(packs_four) {
    ROW_IN_SLOTS
    FIRST {
        ADD_SLOTS(i)
        long long four; short low = s, x = n;
        asm("mov.b64 %0, {%1, %2, %2, %2};" : "=l"(four) : "h"(low), "h"(x));
        ((long long *)a)[r] = four;
    }
}
KERNEL(all_add_up) {
    ROW_IN_SLOTS
    s = 0; for (int i = 0; i < D / 32; ++i) s += w[i]; J a[r * n + j] = s;
}

KERNEL(behind_slots) {
    __shared__ int w[33]; R int s = 0; J s += c[r * n + j]; WARPS SLOTS
    FIRST { ADD_SLOTS(i) w[D / 32] = s; } WAIT
    J c[r * n + j] *= w[D / 32];
}
KERNEL(behind_slots_of_some) {
    __shared__ int w[65]; int *v = w + D / 32; R int s = 0; J s += c[r * n + j]; WARPS
    if (t % 32 == 0) v[1 + t / 32] = s; WAIT
    FIRST { for (int i = 1; i < D / 32; ++i) s += v[1 + i]; *v = s; } WAIT
    if (n > m) { int q = *v; J c[r * n + j] -= q; }
}
// ---- rounded
// The same for sums that are rounded.
KERNEL(some_reals) {
    __shared__ float w[32]; R float s = 0;
    J if (b[r * n + j] > 0) s -= b[r * n + j]; else s += 2 * b[j]; WARPS
    SLOTS
    if (t < 32) { s = t < D / 32 ? w[t] : 0; WARPS FIRST a[r] = s; }
}
KERNEL(narrowed) {
    __shared__ float w[32]; R double d = 0; J d += b[r * n + j]; float s = (float)d; WARPS
    SLOTS
    FIRST_WARP(WARPS FIRST a[r] = s;)
}
KERNEL(widened) {
    __shared__ double w[32]; R float q = 0; J q += b[r * n + j]; double s = q; WARPS
    SLOTS
    FIRST_WARP(WARPS FIRST *(double *)(a + 2 * r) = s;)
}
KERNEL(means_of_threads) {
    __shared__ float w[32]; R float s = 0; J s += b[r * n + j]; s = s / n * -0.5f; WARPS
    SLOTS
    FIRST_WARP(WARPS FIRST a[r] = s;)
}
KERNEL(means_of_warps) {
    __shared__ float w[32]; R float s = 0; J s += b[r * n + j];
    for (int o = 16; o > 1; o >>= 1) s += __shfl_xor_sync(~0u, s, o);
    s *= a[0]; s += __shfl_xor_sync(~0u, s, 1);
    SLOTS
    FIRST_WARP(WARPS FIRST a[r + 1] = s;)
}
KERNEL(filled) {
    LARGEST_IN_SLOTS(-1e20f)
    s = t < D / 32 ? w[t] : -1e20f;
    LARGEST(fmaxf)
    FIRST w[0] = s; WAIT float top = w[0]; WAIT
    s = 0; J s += expf(b[r * n + j] - top); WARPS
    SLOTS
    FIRST { ADD_SLOTS(i) a[r] = s; }
}
KERNEL(mean) {
    __shared__ float w[32], mean; R float s = 0; J s += b[r * n + j]; WARPS
    SLOTS
    FIRST { ADD_SLOTS(i) mean = s / n; }
    WAIT
    J a[r * n + j] = b[r * n + j] - mean;
}
KERNEL(doubles) {
    __shared__ double w[32]; R double s = 0; J s += b[r * n + j]; WARPS
    SLOTS
    FIRST { ADD_SLOTS(i) a[r] = s; }
}
KERNEL(product) {
    __shared__ float w[32]; R float s = 0; J s += b[j] * b[r * n + j]; DOWN
    SLOTS
    FIRST_WARP(DOWN FIRST atomicAdd(a + r, s);)
}
KERNEL(sum_behind_slots) {
    __shared__ float w[64]; float *v = &w[D / 32], s = -INFINITY; R
    J s = fmaxf(s, b[r * n + j]); LARGEST(fmaxf) SLOTS
    FIRST { for (int i = 1; i < D / 32; ++i) s = fmaxf(s, w[i]); w[0] = s; } WAIT
    float top = w[0]; s = 0;
    J { float e = expf(b[r * n + j] - top); a[r * n + j] = e; s += e; } DOWN
    if (t % 32 == 0) v[t / 32] = s; WAIT
    FIRST { for (int i = 1; i < D / 32; ++i) s += v[i]; v[0] = s; } WAIT
    s = v[0]; J a[r * n + j] /= s;
}
KERNEL(softmax) {
    LARGEST_IN_SLOTS(-INFINITY)
    s = w[0]; for (int i = 1; i < D / 32; ++i) s = fmaxf(s, w[i]);
    WAIT
    float top = s; s = 0; J s += expf(b[r * n + j] - top); WARPS
    SLOTS
    s = 0; for (int i = 0; i < D / 32; ++i) s += w[i];
    J a[r * n + j] = expf(b[r * n + j] - top) / s;
}

// ---- powers
// Right with blocks of 2^k threads.
KERNEL(tree) {
    __shared__ int w[1024]; R int s = 0; J s += c[j]; s = by_tree(w, s); FIRST c[r] = s;
}
KERNEL(tree_for_all) {
    __shared__ int w[1024]; R int s = 0; J s += c[j]; s = by_tree(w, s); J a[r * n + j] = s;
}
KERNEL(tree_told) {
    __shared__ int w[1024]; R int s = 0; J s += c[r * n + j]; w[t] = s; WAIT
    for (int h = D / 2; h > 0; h /= 2) { if (t < h) w[t] += w[t + h]; WAIT }
    J a[r * n + j] = w[0];
}
KERNEL(tree_upwards) {
    __shared__ int w[1024]; R int s = 0; J s += c[r * n + j]; w[t] = s;
    for (int h = 1; h < D; h *= 2) { WAIT if (t % (2 * h) == 0) w[t] += w[t + h]; }
    FIRST a[r] = w[0];
}

// ---- long
// Right with blocks of whole warps, of which the usual ones are run: each takes many steps.
KERNEL(chain) {
    __shared__ int w[1024]; R int s = 0; J s += c[r * n + j]; w[t] = s; WAIT
    FIRST { for (int i = 1; i < D; ++i) s += w[i]; c[r] = s; }
}
KERNEL(each_slot_for_all) {
    __shared__ int w[1024]; R int s = 0; J s += c[r * n + j]; w[t] = s; WAIT
    s = 0; for (int i = 0; i < D; ++i) s += w[i]; J a[r * n + j] = s;
}

// ---- wrong
// Wrong, or not proven: blocks of up to 256 threads show it, of which there are eight.
#undef MOST
#define MOST __launch_bounds__(256)
KERNEL(scaled_by_width) {
    __shared__ int w[32]; R int s = 0; J s += c[r * n + j]; s *= D; WARPS SLOTS
    FIRST { ADD_SLOTS(i) c[r] = s; }
}
KERNEL(scaled_by_warp) {
    __shared__ int w[32]; R int s = 0; J s += c[r * n + j]; WARPS s *= t / 32 + 1; SLOTS
    FIRST { ADD_SLOTS(i) c[r] = s; }
}
KERNEL(scaled_in_some) {
    __shared__ int w[32]; R int s = 0; J s += c[r * n + j]; if (t < 9) s *= m; WARPS SLOTS
    FIRST { ADD_SLOTS(i) c[r] = s; }
}
KERNEL(squares_of_threads) {
    __shared__ int w[32]; R int s = 0; J s += c[r * n + j]; s *= s; WARPS SLOTS
    FIRST { ADD_SLOTS(i) c[r] = s; }
}
KERNEL(one_more_in_each) {
    __shared__ int w[32]; R int s = 0; J s += c[r * n + j]; s = s * m + 1; WARPS SLOTS
    FIRST { ADD_SLOTS(i) c[r] = s; }
}
KERNEL(divides_by_threads) {
    __shared__ float w[32]; R float s = 0; J s += b[r * n + j]; s = n / s; WARPS SLOTS
    FIRST_WARP(WARPS FIRST a[r] = s;)
}
KERNEL(whole_numbers_of_threads) {
    __shared__ int w[32]; R float q = 0; J q += b[r * n + j]; int s = (int)q; WARPS SLOTS
    FIRST { ADD_SLOTS(i) c[r] = s; }
}
KERNEL(scaled_largest) {
    __shared__ float w[32]; R float s = -INFINITY; J s = fmaxf(s, b[r * n + j]); s *= n;
    LARGEST(fmaxf) SLOTS LARGEST_OF_SLOTS
}
KERNEL(narrowed_once) {
    __shared__ double w[32]; R double s = 0; J s += b[r * n + j]; if (t < 32) s = (float)s;
    WARPS SLOTS FIRST { ADD_SLOTS(i) *(double *)(a + 2 * r) = s; }
}
KERNEL(row_of_rows) {
    R int s = 0; _Pragma("unroll 1") for (int j = t; j < n; j += D) s += I[(j + D) * m + r];
    s = of_warps(s); FIRST c[r] = s;
}
KERNEL(packs_its_width) {
    ROW_IN_SLOTS
    FIRST {
        ADD_SLOTS(i)
        long long four; short low = s, x = D;
        asm("mov.b64 %0, {%1, %2, %2, %2};" : "=l"(four) : "h"(low), "h"(x));
        ((long long *)a)[r] = four;
    }
}
KERNEL(asks_its_sum) {
    R int s = 0; J if (s < m) s += c[r * n + j]; s = of_warps(s); FIRST c[r] = s;
}
KERNEL(asks_its_place) {
    R int s = 0; J if (t < 9) s += c[r * n + j]; s = of_warps(s); FIRST c[r] = s;
}
KERNEL(begins_with_its_own) {
    R int s = c[r * n + t]; J s = max(s, I[r * n + j]);
    LARGEST(max)
    if (t % 32 == 0) words[t / 32] = s; WAIT
    s = words[0]; for (int i = 1; i < D / 32; ++i) s = max(s, words[i]);
    FIRST c[m * n + r] = s;
}
KERNEL(begins_to_add_with_its_row) {
    R int s = c[r * n]; J s += c[r * n + j]; s = of_warps(s); FIRST a[r] = s;
}
KERNEL(first_for_each) {
    R int s = 0; J s += c[r * n + j]; s += 1;
    for (int j = t; j < m; j += D) s += I[j]; s = of_warps(s); FIRST c[r] = s;
}
KERNEL(forgets_a_row) {
    R int s = 0; J s += c[r * n + j]; if (s > 9) s = 0;
    for (int j = t; j < m; j += D) s += I[j]; s = of_warps(s); FIRST c[r] = s;
}
KERNEL(forgets_it_behind) {
    R int s = 0, p = 0; J s += c[r * n + j]; p = s;
    for (int j = t; j < m; j += D) s += I[j]; if (s > 9) s = p; s = of_warps(s); FIRST c[r] = s;
}
KERNEL(sum_of_one_greatest_of_other) {
    R int s = 0; J s += c[r * n + j]; for (int j = t; j < m; j += D) s = max(s, I[j]);
    s = of_warps(s); FIRST c[r] = s;
}
KERNEL(subtracts_from_elements) {
    R int s = 0; J { if (b[j] > 0) s = c[j] - s; } s = of_warps(s); FIRST c[r] = s;
}
KERNEL(by_a_rounded_float) {
    ROW_IN_SLOTS
    s = t < D / 64.f ? w[t] : 0; if (t < 32) { WARPS FIRST c[r] = s; }
}
KERNEL(goes_round_between_rows) {
    __shared__ int w[32]; R int s = 0; J s += c[r * n + j];
    for (int k = 0; k < 2; ++k) {
        WARPS SLOTS
        s = 0; for (int i = 0; i < D / 32; ++i) s += w[i];
        FIRST c[r] = s;
        WAIT J s += c[r * n + j];
    }
}
KERNEL(fixed_warps) { ROW_IN_SLOTS FIRST { for (int i = 1; i < 8; ++i) s += w[i]; c[r] = s; } }
KERNEL(one_slot) {
    __shared__ int w[1]; R int s = 0; J s += c[r * n + j]; WARPS
    SLOTS
    FIRST { ADD_SLOTS(i) c[r] = s; }
}
KERNEL(no_barrier) { ROW_OF_WARPS if (t % 32 == 0) w[t / 32] = s; FIRST { ADD_SLOTS(i) c[r] = s; } }
KERNEL(counts_twice) {
    ROW_IN_SLOTS FIRST { for (int i = 0; i < D / 32; ++i) s += w[i]; c[r] = s; }
}
KERNEL(begins_at_one) {
    __shared__ int w[32]; R int s = 1; J s += c[r * n + j]; WARPS
    SLOTS
    FIRST { ADD_SLOTS(i) c[r] = s; }
}
KERNEL(differences) {
    __shared__ int w[32]; R int s = 0; J s = c[r * n + j] - s; WARPS
    SLOTS
    FIRST { ADD_SLOTS(i) c[r] = s; }
}
KERNEL(half_a_warp) {
    __shared__ int w[32]; R int s = 0; J s += c[r * n + j];
    for (int o = 8; o; o >>= 1) s += __shfl_xor_sync(~0u, s, o);
    SLOTS
    FIRST { ADD_SLOTS(i) c[r] = s; }
}
KERNEL(other_operation) {
    __shared__ int w[32]; R int s = 0; J s += c[r * n + j];
    LARGEST(max)
    SLOTS
    FIRST { for (int i = 1; i < D / 32; ++i) s = max(s, w[i]); c[r] = s; }
}
KERNEL(all_store_their_own) {
    __shared__ int w[1024]; R int s = 0; J s += c[r * n + j]; w[t] = s; WAIT
    c[r * D + t] = w[D - 1 - t];
}
KERNEL(again_without_barrier) {
    __shared__ int w[32];
    for (int r = blockIdx.x; r < m; r += gridDim.x) {
        int t = T, s = 0; J s += c[r * n + j]; WARPS
        SLOTS
        FIRST { ADD_SLOTS(i) c[r] = s; }
    }
}
KERNEL(reads_a_slot) { ROW_IN_SLOTS J a[r * n + j] = w[0]; }
KERNEL(some_barriers) {
    ROW_OF_WARPS
    if (t % 32 == 0) { w[t / 32] = s; WAIT }
    FIRST { ADD_SLOTS(i) c[r] = s; }
}
KERNEL(counts_threads) { ROW_IN_SLOTS FIRST { ADD_SLOTS(i) c[r] = s / D; } }
KERNEL(every_warp_stores) { R int s = 0; J s += c[r * n + j]; WARPS if (t % 32 == 0) c[r] = s; }
KERNEL(scan) { R int s = 0; J { s += c[r * n + j]; c[r * n + j] = s; } }
KERNEL(skips_the_first) { ROW_IN_SLOTS FIRST { s = 0; ADD_SLOTS(i) c[r] = s; } }
KERNEL(told_too_early) {
    __shared__ int w[1024]; R int s = 0; J s += c[r * n + j]; w[t] = s;
    for (int h = D / 2; h > 0; h /= 2) { WAIT if (t < h) w[t] += w[t + h]; }
    J a[r * n + j] = w[0];
}
KERNEL(told_too_late) {
    __shared__ int w[1024];
    for (int r = blockIdx.x; r < m; r += gridDim.x) {
        int t = T, s = 0; J s += c[r * n + j]; w[t] = s; WAIT
        for (int h = D / 2; h > 0; h /= 2) { if (t < h) w[t] += w[t + h]; WAIT }
        J a[r * n + j] = w[0];
    }
}
KERNEL(overwrites) {
    __shared__ int w[1024]; R int s = 0; J s += c[r * n + j]; w[t] = s; WAIT
    for (int h = D / 2; h > 0; h /= 2) { if (t < h) w[t] += w[t + h]; WAIT }
    FIRST w[0] = D; WAIT
    J a[r * n + j] = w[0];
}
KERNEL(row_ends_early) {
    __shared__ int w[32]; R int s = 0; for (int j = t; j < n - t; j += D) s += c[r * n + j];
    WARPS SLOTS
    FIRST { ADD_SLOTS(i) c[r] = s; }
}
KERNEL(a_slot_too_early) {
    __shared__ int w[32]; R int s = 0; J s += c[r * n + j];
    if (t % 32 == 0) w[t / 32] = s; WARPS WAIT
    FIRST { ADD_SLOTS(i) c[r] = s; }
}
KERNEL(stores_by_a_volatile_pointer) {
    R int s = 0; J s += c[r * n + j]; s = of_warps(s); FIRST ((volatile int *)c)[D] = s;
}
KERNEL(stores_through) {
    R int s = 0; J s += c[r * n + j]; s = of_warps(s); FIRST __stwt(c + D, s);
}
KERNEL(adds_within_a_block) {
    R int s = 0; J s += c[r * n + j]; s = of_warps(s); FIRST atomicAdd_block(c + D, s);
}
KERNEL(reads_a_constant) {
    ROW_IN_SLOTS
    int x = table[D / 32]; FIRST { ADD_SLOTS(i) w[0] = s; }
    WAIT
    J a[r * n + j] = w[0] + x;
}
KERNEL(reads_some_slot) { ROW_IN_SLOTS FIRST { int x = w[m]; ADD_SLOTS(i) c[r] = s + x; } }
KERNEL(forgets_its_first) {
    R int s = 0;
    if (t < n) { J s += c[r * n + j]; FIRST { s = 0; a[m] = 1; } }
    s = of_warps(s); FIRST c[r] = s;
}
KERNEL(a_slot_of_before) {
    R int s = 0; J s += c[r * n + j]; int q = of_warps(s);
    s = 0; J s += c[r * n + j] ^ q; WARPS
    if (t % 32 == 0) words[t / 32] = s; WAIT
    FIRST { for (int i = 1; i < D / 32; ++i) s += words[i]; c[r] = s; }
    J a[r * n + j] = q + words[0];
}
KERNEL(counts_rounds) {
    __shared__ int w[1024]; R int s = 0; J s += c[r * n + j]; w[t] = s; WAIT
    int k = m, h = D / 2;
    do { if (t < h) w[t] += w[t + h]; WAIT k += m; h /= 2; } while (h > 0);
    FIRST c[r] = w[0];
    J c[4096 + r * n + j] = k;
}
KERNEL(reads_one_of_two) {
    __shared__ int w[32], v[32]; R int s = 0; J s += c[r * n + j]; WARPS
    if (t % 32 == 0) { w[t / 32] = s; v[t / 32] = s + 1; } WAIT
    int q = 0; for (int i = 0; i < D / 32; ++i) q += w[i];
    const int *p = m > 3 ? w : v;
    s = 0; J s += c[r * n + j] ^ p[j & 3]; s = of_warps(s);
    FIRST a[r] = s + q;
}
KERNEL(narrow_slots) {
    __shared__ unsigned char w[32]; R int s = 0; J s += c[r * n + j]; WARPS
    SLOTS
    FIRST { s = 0; for (int i = 0; i < D / 32; ++i) s += w[i]; c[r] = s; }
}
KERNEL(narrow_slot_for_all) {
    __shared__ short w[1024]; R int s = 0; J s |= c[r * n + j]; w[t] = s; WAIT
    s = 0; for (int i = 0; i < D; ++i) s |= w[i]; J a[r * n + j] = s;
}
KERNEL(begins_at_nan) { LARGEST_IN_SLOTS(NAN) LARGEST_OF_SLOTS }
KERNEL(begins_at_minus_zero) {
    __shared__ float w[32]; R float s = -0.f; J s += b[r * n + j]; WARPS
    SLOTS
    if (t < 32) { s = t < D / 32 ? w[t] : 0.f; WARPS FIRST a[r] = s; }
}
KERNEL(flushes_between_warps) {
    LARGEST_IN_SLOTS(-INFINITY)
    FIRST {
        for (int i = 1; i < D / 32; ++i) asm("max.ftz.f32 %0, %0, %1;" : "+f"(s) : "f"(w[i]));
        a[r] = s;
    }
}
KERNEL(two_types) {
    __shared__ long long w[32]; int *v = (int *)w;
    R int s = 0; J s += c[r * n + j]; WARPS if (t % 32 == 0) v[t / 32] = s; WAIT
    FIRST { for (int i = 1; i < D / 32; ++i) s += v[i]; v[40] = s; } WAIT
    int q = v[40];
    long long p = 0; J p += c[r * n + j] - q;
    for (int o = 16; o; o >>= 1) p += __shfl_xor_sync(~0u, p, o);
    if (t % 32 == 0) w[t / 32] = p; WAIT
    FIRST { for (int i = 1; i < D / 32; ++i) p += w[i]; c[r] = p; }
}
KERNEL(behind_slots_too_soon) {
    __shared__ int w[33]; R int s = 0; J s += c[r * n + j]; WARPS SLOTS
    FIRST { ADD_SLOTS(i) w[D / 32] = s; }
    J c[r * n + j] *= w[D / 32];
}
KERNEL(behind_slots_too_late) {
    __shared__ int w[33]; R int s = 0; J s += c[r * n + j]; WARPS SLOTS
    FIRST { ADD_SLOTS(i) w[D / 32] = s; } WAIT
    J c[r * n + j] *= w[D / 32]; FIRST w[D / 32] = n;
}
KERNEL(behind_other_slots) {
    __shared__ int w[33]; R int s = 0; J s += c[r * n + j]; WARPS SLOTS
    FIRST { ADD_SLOTS(i) w[8] = s; } WAIT
    J c[r * n + j] *= w[D / 32];
}
KERNEL(last_of_slots) {
    __shared__ int w[33]; R int s = 0; J s += c[r * n + j]; WARPS SLOTS
    FIRST { ADD_SLOTS(i) w[D / 32] = s; } WAIT
    J c[r * n + j] *= w[D / 32 - 1];
}
KERNEL(behind_slots_of_later) {
    __shared__ int w[33]; R int s = 0; J s += c[r * n + j]; WARPS SLOTS
    FIRST { ADD_SLOTS(i) w[D / 32] = s; } WAIT
    J { c[r * n + j] *= w[D / 32]; if (j == m) w[D / 32] = n; }
}

// ---- of_all
// Each block adds what its threads have to a sum of all blocks.
#undef MOST
#define MOST
KERNEL(strided) {
    __shared__ int w[32]; int t = T, s = 0;
    IDS s += I[i] * I[i + 2];
    DOWN SLOTS
    FIRST_WARP(DOWN FIRST atomicAdd(c, s);)
}
KERNEL(one_each) { OWN_IN_SLOTS(I[i]) FIRST { ADD_SLOTS(k) atomicAdd(c, s); } }
KERNEL(long_of_all) {
    __shared__ unsigned long long w[32]; int t = T; unsigned long long s = 0;
    IDS s += I[i];
    DOWN SLOTS
    FIRST_WARP(DOWN FIRST atomicAdd((unsigned long long *)c, s);)
}
KERNEL(greatest_of_all) {
    __shared__ int w[32]; int t = T, i = blockIdx.x * D + t, s = i < n ? I[i] : -1;
    LARGEST(max)
    SLOTS
    FIRST { for (int k = 1; k < D / 32; ++k) s = max(s, w[k]); atomicMax(c, s); }
}
KERNEL(maps_its_own) {
    __shared__ int w[32]; int t = T, i = blockIdx.x * D + t, s = i < n ? I[i] : 0; WAIT
    s = s % m + 1;
    WARPS SLOTS
    FIRST { ADD_SLOTS(k) atomicAdd(c, s); }
}
KERNEL(stores_beside) {
    __shared__ int w[32]; int t = T, i = blockIdx.x * D + t, s = 0;
    if (i < n) { s = b[i] * 3; a[i] = s; }
    WARPS SLOTS
    FIRST { ADD_SLOTS(k) atomicAdd(c, s); }
}

// ---- rounded_of_all
// Sums of all blocks that are rounded.
KERNEL(means_of_all) { PRODUCTS_IN_SLOTS(float) FIRST_WARP(DOWN FIRST atomicAdd(a, s / n);) }
KERNEL(floats_in_doubles) {
    PRODUCTS_IN_SLOTS(float)
    FIRST_WARP(DOWN FIRST atomicAdd((double *)a, (double)s);)
}
KERNEL(doubles_of_all) {
    PRODUCTS_IN_SLOTS(double) FIRST_WARP(DOWN FIRST atomicAdd((double *)a, s);)
}

// ---- not_of_all
// The same, where another block would add something else.
#undef MOST
#define MOST __launch_bounds__(256)
KERNEL(maps_its_own_by_width) {
    __shared__ int w[32]; int t = T, i = blockIdx.x * D + t, s = i < n ? I[i] : 0; WAIT
    s = s % D + 1;
    WARPS SLOTS
    FIRST { ADD_SLOTS(k) atomicAdd(c, s); }
}
KERNEL(maps_twice) {
    __shared__ int w[32]; int t = T, i = blockIdx.x * D + t, s = i < n ? I[i] : 0; WAIT
    s = s % m + 1; s += __shfl_xor_sync(~0u, s, 16); s = s % m + 1;
    for (int o = 8; o; o >>= 1) s += __shfl_xor_sync(~0u, s, o);
    SLOTS
    FIRST { ADD_SLOTS(k) atomicAdd(c, s); }
}
KERNEL(stores_its_part) { OWN_IN_SLOTS(b[i]) FIRST { ADD_SLOTS(k) c[blockIdx.x] = s; } }
KERNEL(adds_a_root) { PRODUCTS_IN_SLOTS(float) FIRST_WARP(DOWN FIRST atomicAdd(a, sqrtf(s));) }
KERNEL(adds_by_its_width) { PRODUCTS_IN_SLOTS(float) FIRST_WARP(DOWN FIRST atomicAdd(a, s / D);) }
KERNEL(adds_a_square) { PRODUCTS_IN_SLOTS(float) FIRST_WARP(DOWN FIRST atomicAdd(a, s * s);) }
KERNEL(adds_more) { PRODUCTS_IN_SLOTS(float) FIRST_WARP(DOWN FIRST atomicAdd(a, s + 1);) }
KERNEL(adds_half) { OWN_IN_SLOTS(b[i]) FIRST { ADD_SLOTS(k) atomicAdd(c, s / 2); } }
KERNEL(greatest_of_sums) { OWN_IN_SLOTS(b[i]) FIRST { ADD_SLOTS(k) atomicMax(c, s); } }
KERNEL(adds_twice) {
    OWN_IN_SLOTS(b[i])
    if (t < 2) { s = 0; for (int k = 0; k < D / 32; ++k) s += w[k]; atomicAdd(c, s); }
}
KERNEL(adds_to_its_place) {
    OWN_IN_SLOTS(b[i]) FIRST { ADD_SLOTS(k) atomicAdd(c + blockIdx.x, s); }
}
KERNEL(reads_the_sum) { OWN_IN_SLOTS(b[i] + c[0]) FIRST { ADD_SLOTS(k) atomicAdd(c, s); } }
KERNEL(uses_its_result) {
    OWN_IN_SLOTS(I[i] + c[0])
    FIRST {
        ADD_SLOTS(k)
        int z = atomicAdd(c, s);
        asm volatile("mov.u32 %0, %1;" : "=r"(z) : "r"(z));
    }
}
KERNEL(adds_within_a_block_of_ids) {
    OWN_IN_SLOTS(I[i])
    FIRST { ADD_SLOTS(k) atomicAdd_block(c, s); }
}
KERNEL(counts_rounds_beside) {
    __shared__ int w[32]; int t = T, i = blockIdx.x * D + t, s = i < n ? I[i] : 0;
    int q = 0, h = D; do { q += m; h /= 2; WAIT } while (h > 0);
    WARPS SLOTS
    FIRST { ADD_SLOTS(k) atomicAdd(c, s); }
    for (int k = 0; k < I[k]; ++k) if (i < n) a[i] = q;
}
KERNEL(by_place) { OWN_IN_SLOTS(b[i] + t) FIRST { ADD_SLOTS(k) atomicAdd(c, s); } }

// ---- segments
// Threads have elements that lie a block apart, and do the same of each.
#undef MOST
#define MOST
#define ADD_TWO(own, other) \
    __shared__ int w[32]; int t = T, i = 2 * D * blockIdx.x + t, s = own; other; WARPS SLOTS \
    FIRST { ADD_SLOTS(k) atomicAdd(c, s); }
KERNEL(two_of_each) { ADD_TWO(i < n ? I[i] : 0, if (i + D < n) s += I[i + D]) }
KERNEL(whole_segments) { ADD_TWO(I[i], s += I[i + D]) }
KERNEL(second_first) { ADD_TWO(i + D < n ? I[i + D] : 0, if (i < n) s += I[i]) }
KERNEL(functions_of_two) {
    ADD_TWO(i < n ? I[i] * 3 + I[i + 1] : 0, if (i + D < n) s += I[i + D] * 3 + I[i + D + 1])
}
KERNEL(four_of_each) {
    __shared__ int w[32]; unsigned t = T, i = blockIdx.x * (D * 4) + t, s = 0;
    for (int k = 0; k < 4; ++k) if (i + k * D < n) s += I[i + k * D];
    WARPS SLOTS
    FIRST { ADD_SLOTS(k) atomicAdd((unsigned *)c, s); }
}
KERNEL(long_segments) {
    __shared__ int w[32]; size_t t = T, i = (size_t)blockIdx.x * D * 2 + t; int s = 0;
    if (i < n) s = I[i];
    if (i + D < n) s += I[i + D];
    WARPS SLOTS
    FIRST { ADD_SLOTS(k) atomicAdd(c, s); }
}
KERNEL(greatest_of_two) {
    __shared__ int w[32]; int t = T, i = 2 * D * blockIdx.x + t, s = -2147483647 - 1;
    if (i < n) s = I[i];
    if (i + D < n) s = max(s, I[i + D]);
    LARGEST(max)
    SLOTS
    FIRST { for (int k = 1; k < D / 32; ++k) s = max(s, w[k]); atomicMax(c, s); }
}

// ---- rounded_segments
#define ADD_REALS(own, other) \
    __shared__ float w[32]; int t = T, i = 2 * D * blockIdx.x + t; float s = own; other; \
    DOWN SLOTS FIRST_WARP(DOWN FIRST atomicAdd(a, s);)
KERNEL(rounded_segment) { ADD_REALS(i < n ? b[i] : 0, if (i + D < n) s += b[i + D]) }
KERNEL(products_of_two) {
    ADD_REALS(i < n ? b[i] * b[i + 1] : 0, if (i + D < n) s += b[i + D] * b[i + D + 1])
}

// ---- not_segments
// The same, where another block would add something else, or it is not seen that it does not.
#undef MOST
#define MOST __launch_bounds__(256)
KERNEL(differences_of_two) { ADD_TWO(i < n ? I[i] : 0, if (i + D < n) s -= I[i + D]) }
KERNEL(second_counts_twice) { ADD_TWO(i < n ? I[i] : 0, if (i + D < n) s += 2 * I[i + D]) }
KERNEL(second_ends_elsewhere) { ADD_TWO(i < n ? I[i] : 0, if (i + D < m) s += I[i + D]) }
KERNEL(second_ends_later) { ADD_TWO(i < n ? I[i] : 0, if (i + D <= n) s += I[i + D]) }
KERNEL(decided_by_first) { ADD_TWO(0, if (i < n) s = I[i] + I[i + D]) }
KERNEL(second_not_decided) { ADD_TWO(i < n ? I[i] : 0, s += I[i + D]) }
KERNEL(next_of_second) { ADD_TWO(I[i], s += I[i + D + 1]) }
KERNEL(first_twice) { ADD_TWO(I[i], s += I[i]) }
KERNEL(second_lacks) { ADD_TWO(I[i], s += t) }
KERNEL(second_of_another_array) { ADD_TWO(I[i], s += c[i + D + 9]) }
KERNEL(product_of_both) { ADD_TWO(I[i], s *= I[i + D]) }
KERNEL(greater_of_both) { ADD_TWO(I[i], s = max(s, I[i + D])) }
KERNEL(begins_at_one_of_two) { ADD_TWO(i < n ? I[i] : 1, if (i + D < n) s += I[i + D]) }
KERNEL(one_segment) {
    __shared__ int w[32]; int t = T, i = D * blockIdx.x + t, s = I[i] + I[i + D];
    WARPS SLOTS
    FIRST { ADD_SLOTS(k) atomicAdd(c, s); }
}
KERNEL(two_of_three) {
    __shared__ int w[32]; int t = T, i = 3 * D * blockIdx.x + t, s = I[i] + I[i + D];
    WARPS SLOTS
    FIRST { ADD_SLOTS(k) atomicAdd(c, s); }
}
KERNEL(three_of_two) {
    __shared__ int w[32]; int t = T, i = 2 * D * blockIdx.x + t, s = I[i] + I[i + D] + I[i + 2 * D];
    WARPS SLOTS
    FIRST { ADD_SLOTS(k) atomicAdd(c, s); }
}
KERNEL(counts_threads_of_two) { ADD_TWO(I[i], s += I[i + D] + 1) }
KERNEL(stores_of_two) { ADD_TWO(I[i], s += I[i + D]; a[i] = s) }
KERNEL(first_by_number) { ADD_TWO(I[i] + i, s += I[i + D]) }
KERNEL(half_of_two) {
    __shared__ int w[32]; int t = T, i = 2 * D * blockIdx.x + t, s = I[i] + I[i + D];
    WARPS SLOTS
    FIRST { ADD_SLOTS(k) atomicAdd(c, s / 2); }
}
KERNEL(stores_part_of_two) {
    __shared__ int w[32]; int t = T, i = 2 * D * blockIdx.x + t, s = I[i] + I[i + D];
    WARPS SLOTS
    FIRST { ADD_SLOTS(k) a[blockIdx.x] = s; }
}
KERNEL(by_own_memory) {
    __shared__ int w[32]; int t = T, i = 2 * D * blockIdx.x + t, own[4] = {1, 2, 3, 4};
    own[n & 3] = n;
    int s = I[i] * own[m & 3];
    own[m & 3] = n + m;
    s += I[i + D] * own[m & 3];
    WARPS SLOTS
    FIRST { ADD_SLOTS(k) atomicAdd(c, s); }
}
KERNEL(reads_its_sum) { ADD_TWO(c[i], s += c[i + D]) }
