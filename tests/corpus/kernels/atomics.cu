// Atomic operations of which the result does not depend on the order.
#include <algorithm>

#include "kernels.h"

template <class T> __device__ void apply_all(T *a, T x, u32 i) {
    atomicAdd(&a[0], x);
    atomicMin(&a[1], x);
    atomicMax(&a[2], x);
    atomicAnd(&a[3], x | T(0xfff) << (i & 15));
    atomicOr(&a[4], x & T(0x1011));
    atomicXor(&a[5], x);
}
template <class T, class F> static void expect_all(T *a, u32 n, F value) {
    for (u32 i = 0; i < n; ++i) {
        const T x = value(i);
        a[0] = T(u64(a[0]) + u64(x)), a[1] = std::min(a[1], x), a[2] = std::max(a[2], x);
        a[3] &= x | T(0xfff) << (i & 15), a[4] |= x & T(0x1011), a[5] ^= x;
    }
}
KERNEL(atomics_32, Words<12>, 1, 5, 100, 0) {
    const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    apply_all<u32>(out->at, any32(i), i);
    apply_all<s32>((s32 *)out->at + 6, s32(any32(i, 1)), i);
}
EXPECT(atomics_32) {
    expect_all<u32>(want->at, 500, [](u32 i) { return any32(i); });
    expect_all<s32>((s32 *)want->at + 6, 500, [](u32 i) { return s32(any32(i, 1)); });
}

KERNEL(atomics_64, Longs<12>, 1, 5, 100, 0) {
    const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    using U = unsigned long long;
    using S = long long;
    U *a = (U *)out->at;
    S *b = (S *)out->at + 6;
    const U x = any64(i);
    const S y = S(any64(i, 1));
    atomicAdd(&a[0], x), atomicMin(&a[1], x), atomicMax(&a[2], x), atomicOr(&a[4], x & 0x1011),
        atomicXor(&a[5], x);
    atomicAnd(&a[3], x | U(0xfff) << (i & 15));
    atomicAdd((U *)&b[0], U(y)), atomicMin(&b[1], y), atomicMax(&b[2], y),
        atomicOr(&b[4], y & 0x1011), atomicXor(&b[5], y);
    atomicAnd(&b[3], y | S(0xfff) << (i & 15));
}
EXPECT(atomics_64) {
    expect_all<u64>(want->at, 500, [](u32 i) { return any64(i); });
    expect_all<s64>((s64 *)want->at + 6, 500, [](u32 i) { return s64(any64(i, 1)); });
}

KERNEL(shared_atomics, Words<18>, 3, 3, 96, 0) {
    __shared__ u32 a[12], bins[4];
    __shared__ unsigned long long sum;
    const u32 t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    if (t < 12) a[t] = 0;
    if (t < 4) bins[t] = 0;
    if (t == 0) sum = 0;
    __syncthreads();
    apply_all<u32>(a, any32(i), i);
    apply_all<s32>((s32 *)a + 6, s32(any32(i, 1)), i);
    atomicAdd(&bins[word(i) & 3], 1u);
    atomicAdd(&sum, any64(i));
    __syncthreads();
    if (t < 12)
        out[blockIdx.x].at[t] = a[t];
    else if (t < 16)
        out[blockIdx.x].at[t] = bins[t - 12];
    else if (t < 18)
        out[blockIdx.x].at[t] = u32(sum >> 32 * (t - 16));
}
EXPECT(shared_atomics) {
    for (u32 b = 0; b < 3; ++b) {
        u64 sum = 0;
        // The mask depends on the number of the thread in the grid, and 96 is a multiple of 16.
        expect_all<u32>(want[b].at, 96, [b](u32 t) { return any32(b * 96 + t); });
        expect_all<s32>((s32 *)want[b].at + 6, 96,
                        [b](u32 t) { return s32(any32(b * 96 + t, 1)); });
        for (u32 i = b * 96; i < b * 96 + 96; ++i)
            ++want[b].at[12 + (word(i) & 3)], sum += any64(i);
        want[b].at[16] = u32(sum), want[b].at[17] = u32(sum >> 32);
    }
}

// Counters that wrap around, and what all threads together saw of them.
KERNEL(wrapping_counters, Words<6>, 1, 7, 70, 0) {
    u32 *a = out->at;
    const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    const u32 up = atomicInc(&a[0], 36), down = atomicDec(&a[1], 52);
    atomicAdd(&a[2], up * up);
    atomicXor(&a[3], down * 0x9e3779b9);
    const u32 ticket = atomicAdd(&a[4], 3u);
    atomicAdd(&a[5], ticket * ticket + i);
}
EXPECT(wrapping_counters) {
    u32 *a = want->at;
    for (u32 i = 0; i < 490; ++i) {
        a[2] += a[0] * a[0], a[0] = a[0] >= 36 ? 0 : a[0] + 1;
        a[3] ^= a[1] * 0x9e3779b9, a[1] = a[1] == 0 || a[1] > 52 ? 52 : a[1] - 1;
        a[5] += a[4] * a[4] + i, a[4] += 3;
    }
}

// What is put in comes out once: of 32 and 64 bits, and by comparing, too.
KERNEL(exchanges, Longs<3>, 1, 4, 64, 0) {
    static __device__ u32 narrow;
    static __device__ unsigned long long wide, counted;
    const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    atomicXor((unsigned long long *)&out->at[0],
              (unsigned long long)(atomicExch(&narrow, word(i)) ^ word(i)));
    atomicXor((unsigned long long *)&out->at[1], atomicExch(&wide, word64(i)) ^ word64(i));
    unsigned long long old = counted, assumed;
    do {
        assumed = old;
        old = atomicCAS(&counted, assumed, assumed * 5 + 1);
    } while (old != assumed);
    atomicXor((unsigned long long *)&out->at[2], assumed);
    __threadfence();
    // The last one takes what is still in there.
    __shared__ bool last;
    static __device__ u32 done;
    __syncthreads();
    if (threadIdx.x == 0) last = atomicAdd(&done, 1u) == gridDim.x - 1;
    __syncthreads();
    if (last && threadIdx.x == 0) {
        atomicXor((unsigned long long *)&out->at[0], (unsigned long long)atomicExch(&narrow, 0u));
        atomicXor((unsigned long long *)&out->at[1], atomicExch(&wide, 0ull));
    }
}
EXPECT(exchanges) {
    u64 x = 0;
    for (u32 i = 0; i < 256; ++i, x = x * 5 + 1) want->at[2] ^= x;
}

// Operations that no instruction has: loops around a comparison.
KERNEL(compare_and_swap, Longs<4>, 1, 6, 50, 0) {
    using U = unsigned long long;
    const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    u32 *product = (u32 *)&out->at[0];
    u16 *halves = (u16 *)&out->at[1];
    U *best = (U *)&out->at[2], *largest = (U *)&out->at[3];
    for (u32 old = *(volatile u32 *)product, seen = ~old; old != seen;) {
        seen = old;
        old = atomicCAS(product, seen, (seen | 1) * (word(i) | 1));
    }
    const u32 which = i & 3;
    for (u16 old = *(volatile u16 *)&halves[which], seen = u16(~old); old != seen;) {
        seen = old;
        old = atomicCAS((unsigned short *)&halves[which], seen, (unsigned short)(seen + word(i)));
    }
    // The largest double, as its bits; the smallest pair of key and number.
    const double x = fabs(tame_double(i));
    for (U old = *(volatile U *)largest, seen = ~old;
         old != seen && __longlong_as_double((long long)old) < x;) {
        seen = old;
        old = atomicCAS(largest, seen, (U)__double_as_longlong(x));
    }
    const U pair = ~((U)(word(i) % 100) << 32 | i);
    for (U old = *(volatile U *)best; old < pair;) {
        const U seen = old;
        old = atomicCAS(best, seen, pair);
        if (old == seen) break;
    }
}
EXPECT(compare_and_swap) {
    u32 product = 1;
    u16 halves[4] = {};
    for (u32 i = 0; i < 300; ++i) {
        product *= word(i) | 1;
        halves[i & 3] = u16(halves[i & 3] + word(i));
        want->at[2] = std::max(want->at[2], ~(u64(word(i) % 100) << 32 | i));
        want->at[3] = std::max(want->at[3], bits(fabs(tame_double(i))));
    }
    want->at[0] = product;
    memcpy(&want->at[1], halves, sizeof halves);
}

// Sums that are exact in any order: small integers and quarters.
KERNEL(floating_sums, Longs<2>, 2, 2, 150, 0) {
    __shared__ float part;
    __shared__ double whole;
    if (threadIdx.x == 0) part = 0, whole = 0;
    __syncthreads();
    const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    const float x = times(float(s32(word(i) % 2001) - 1000), 0.25f);
    atomicAdd(&part, x);
    atomicAdd(&whole, times(double(x), 0.125));
    atomicAdd((float *)&out[1].at[0], x);
    atomicAdd((double *)&out[1].at[1], double(x));
    __syncthreads();
    if (threadIdx.x == 0 && blockIdx.x == 0) out[0] = {{bits(part), bits(whole)}};
}
EXPECT(floating_sums) {
    float part = 0, all = 0;
    double whole = 0;
    for (u32 i = 0; i < 300; ++i) {
        const float x = float(s32(word(i) % 2001) - 1000) * 0.25f;
        if (i < 150) part += x, whole += double(x) * 0.125;
        all += x;
    }
    want[0] = {{bits(part), bits(whole)}};
    want[1] = {{bits(all), bits(double(all))}};
}

KERNEL(histogram, u32, 64, 4, 128, 0) {
    __shared__ u32 bins[64];
    for (u32 k = threadIdx.x; k < 64; k += blockDim.x) bins[k] = 0;
    __syncthreads();
    for (u32 k = blockIdx.x * blockDim.x + threadIdx.x; k < 3000; k += gridDim.x * blockDim.x)
        atomicAdd(&bins[word(k) * word(k, 1) >> 26], 1u);
    __syncthreads();
    for (u32 k = threadIdx.x; k < 64; k += blockDim.x) atomicAdd(&out[k], bins[k]);
}
EXPECT(histogram) {
    for (u32 k = 0; k < 3000; ++k) ++want[word(k) * word(k, 1) >> 26];
}

// The block that comes last adds up what all have left, in their order.
KERNEL(last_block, Words<2>, 1, 9, 32, 0) {
    static __device__ float parts[9];
    static __device__ u32 finished;
    float sum = tame_single(blockIdx.x, threadIdx.x);
    for (int by = 16; by; by /= 2) sum += __shfl_xor_sync(~0u, sum, by);
    bool last = false;
    if (threadIdx.x == 0) {
        parts[blockIdx.x] = sum;
        __threadfence();
        last = atomicInc(&finished, gridDim.x - 1) == gridDim.x - 1;
    }
    if (!last) return;
    __threadfence();
    float total = 0;
    for (u32 k = 0; k < gridDim.x; ++k) total += *(volatile float *)&parts[k];
    *out = {{bits(total), finished}};
}

// A lock around two numbers that belong together, and operations of other scopes.
KERNEL(locks_and_scopes, Longs<4>, 1, 4, 33, 0) {
    static __device__ u32 lock;
    static __device__ u64 sum, square;
    using U = unsigned long long;
    const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    for (bool done = false; !done;) {
        if (atomicCAS(&lock, 0u, 1u) == 0) {
            __threadfence();
            *(volatile u64 *)&sum = *(volatile u64 *)&sum + word(i);
            *(volatile u64 *)&square = *(volatile u64 *)&square + u64(word(i)) * (word(i) & 0xffff);
            __threadfence();
            atomicExch(&lock, 0u);
            done = true;
        }
    }
    atomicAdd_system((U *)&out->at[2], (U)word(i));
    __shared__ u32 local;
    if (threadIdx.x == 0) local = 0;
    __syncthreads();
    atomicMax_block(&local, word(i));
    __syncthreads();
    if (threadIdx.x == 0) {
        atomicXor((U *)&out->at[3], (U)local);
        __threadfence();
        static __device__ u32 finished;
        if (atomicAdd(&finished, 1u) == 3)
            out->at[0] = *(volatile u64 *)&sum, out->at[1] = *(volatile u64 *)&square;
    }
}
EXPECT(locks_and_scopes) {
    u32 largest[4] = {};
    for (u32 i = 0; i < 132; ++i) {
        want->at[0] += word(i), want->at[1] += u64(word(i)) * (word(i) & 0xffff),
            want->at[2] += word(i);
        largest[i / 33] = std::max(largest[i / 33], word(i));
    }
    for (const u32 each : largest) want->at[3] ^= each;
}
