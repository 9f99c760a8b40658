// What the programs here share: kernels with one output each, inputs made of numbers, and `main`.
//
// PROGRAM [FILE [KERNEL]] runs all kernels, or one, prints `kernel hash` of what each wrote, and
// appends these bytes to FILE. Its status is 1 where the host computed something else.
//
// No output depends on the order in which threads run, and none on what IEEE 754 leaves open: a NaN
// is stored as the one that `bits` makes of it.
#pragma once
#include <cuda_runtime.h>

#include <cfenv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

using u8 = uint8_t;
using u16 = uint16_t;
using u32 = uint32_t;
using u64 = uint64_t;
using s8 = int8_t;
using s16 = int16_t;
using s32 = int32_t;
using s64 = int64_t;
using u128 = unsigned __int128;
using s128 = __int128;

#define HD __host__ __device__ inline

// What has a name on the device only, and what the host has for it.
#ifdef __CUDA_ARCH__
#define EITHER(device, host) device
#else
#define EITHER(device, host) host
#endif

template <int N> struct Words {
    u32 at[N];
};
template <int N> struct Longs {
    u64 at[N];
};

// Random bits: the k-th word of thread i.
HD u32 word(u32 i, u32 k = 0) {
    u32 x = i * 0x9e3779b9u + k * 0x85ebca6bu + 0x27d4eb2fu;
    x = (x ^ x >> 16) * 0x7feb352du;
    x = (x ^ x >> 15) * 0x846ca68bu;
    return x ^ x >> 16;
}
HD u64 word64(u32 i, u32 k = 0) { return u64(word(i, k + 500)) << 32 | word(i, k); }

// Integers of all magnitudes, of both signs.
HD u32 any32(u32 i, u32 k = 0) {
    const u32 how = word(i, k + 900), x = word(i, k) >> (how & 31);
    return how & 32 ? ~x : x;
}
HD u64 any64(u32 i, u32 k = 0) {
    const u32 how = word(i, k + 900);
    const u64 x = word64(i, k) >> (how & 63);
    return how & 64 ? ~x : x;
}

HD float single_of(u32 x) { return EITHER(__uint_as_float(x), *(float *)&x); }
HD double double_of(u64 x) { return EITHER(__longlong_as_double(x), *(double *)&x); }
HD u32 bits(float x) { return x != x ? 0x7fffffffu : EITHER(__float_as_uint(x), *(u32 *)&x); }
HD u64 bits(double x) {
    return x != x ? 0x7ff8ull << 48 : EITHER(u64(__double_as_longlong(x)), *(u64 *)&x);
}

// A product rounded by name: sums and differences of others an assembler may contract.
HD float times(float a, float b) { return EITHER(__fmul_rn(a, b), a * b); }
HD double times(double a, double b) { return EITHER(__dmul_rn(a, b), a * b); }

// Numbers of every kind: zeros, subnormal, the smallest normal, huge, infinite, NaN, tame.
HD float any_single(u32 i, u32 k = 0) {
    const u32 x = word(i, k), how = word(i, k + 900);
    switch (how & 15) {
    case 0: return single_of(x & 0x80000000);
    case 1: return single_of(x & 0x807fffff);
    case 2: return single_of((x & 0x80000000) | (0x7f800000 + (x & 1)));
    case 3: return single_of((x & 0x80000000) | (0x7f7fffff - (x & 3)));
    case 4: return single_of((x & 0x80000000) | (0x007ffffe + (x & 3)));
    case 5: return float(s32(x) >> 28);
    case 6: return single_of(x);
    default: return single_of((x & 0x807fffff) | (117 + (how >> 8) % 20) << 23);
    }
}
HD double any_double(u32 i, u32 k = 0) {
    const u64 x = word64(i, k), sign = x & 1ull << 63;
    const u32 how = word(i, k + 900);
    switch (how & 15) {
    case 0: return double_of(sign);
    case 1: return double_of(sign | (x & 0xfffffffffffffull));
    case 2: return double_of(sign | (0x7ffull << 52) + (x & 1));
    case 3: return double_of(sign | (0x7fefffffffffffffull - (x & 3)));
    case 4: return double_of(sign | (0x000ffffffffffffeull + (x & 3)));
    case 5: return double(s64(x) >> 60);
    case 6: return double_of(x);
    default: return double_of((x & 0x800fffffffffffffull) | u64(1000 + (how >> 8) % 45) << 52);
    }
}

// Numbers between -1 and 1 of which sums and products stay finite.
HD float tame_single(u32 i, u32 k = 0) { return times(float(s32(word(i, k)) >> 8), 0x1p-23f); }
HD double tame_double(u32 i, u32 k = 0) { return times(double(s64(word64(i, k)) >> 11), 0x1p-52); }

// The host's result in a rounding direction. `mode` counts as below.
enum { NEAREST, TO_ZERO, UP, DOWN };
template <class F> auto towards(int mode, F f) {
    static const int modes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_UPWARD, FE_DOWNWARD};
    fesetround(modes[mode]);
    volatile auto result = f();
    fesetround(FE_TONEAREST);
    return decltype(f())(result);
}
#define TOWARDS(mode, x) towards(mode, [&] { return x; })

struct Case {
    const char *name;
    size_t bytes;
    void (*launch)(void *out);
    void (*expect)(void *want);
    void (*prepare)();
    Case *next;
};
inline Case *&first_case() {
    static Case *first = nullptr;
    return first;
}
struct Registered {
    explicit Registered(Case *added) {
        Case **end = &first_case();
        while (*end) end = &(*end)->next;
        *end = added;
    }
};

// KERNEL(name, type, count, grid, block, bytes of shared memory) { … out[…] = …; }
#define KERNEL(name, type, count, grid, block, shared)                                \
    using name##_type = type;                                                         \
    __global__ void name(name##_type *out);                                           \
    static Case name##_case = {#name, (count) * sizeof(name##_type), [](void *out) {  \
                                   name<<<grid, block, shared>>>((name##_type *)out); \
                               }};                                                    \
    static const Registered name##_registered(&name##_case);                          \
    __global__ void name(name##_type *out)

// EXPECT(name) { … want[…] = …; }: what the host makes of a kernel's task.
#define EXPECT(name)                                                                           \
    static void name##_expected(name##_type *want);                                            \
    static const bool name##_known =                                                           \
        (name##_case.expect = [](void *want) { name##_expected((name##_type *)want); }, true); \
    static void name##_expected(name##_type *want)

// PREPARE(name) { … }: runs on the host before the kernel.
#define PREPARE(name)                                                               \
    static void name##_prepared();                                                  \
    static const bool name##_ready = (name##_case.prepare = name##_prepared, true); \
    static void name##_prepared()

// DEVICE(name, type, count) { … return …; }: element i of the output by thread i.
#define DEVICE(name, type, count)                            \
    static __device__ type name##_of(u32 i);                 \
    KERNEL(name, type, count, ((count) + 95) / 96, 96, 0) {  \
        const u32 i = blockIdx.x * blockDim.x + threadIdx.x; \
        if (i < (count)) out[i] = name##_of(i);              \
    }                                                        \
    static __device__ type name##_of(u32 i)

// BOTH(name, type, count) { … return …; }: the same, and the host computes all elements, too.
#define BOTH(name, type, count)                                   \
    static __host__ __device__ type name##_of(u32 i);             \
    KERNEL(name, type, count, ((count) + 95) / 96, 96, 0) {       \
        const u32 i = blockIdx.x * blockDim.x + threadIdx.x;      \
        if (i < (count)) out[i] = name##_of(i);                   \
    }                                                             \
    EXPECT(name) {                                                \
        for (u32 i = 0; i < (count); ++i) want[i] = name##_of(i); \
    }                                                             \
    static __host__ __device__ type name##_of(u32 i)

inline void succeed(cudaError_t error, const char *what) {
    if (error == cudaSuccess) return;
    std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
    std::exit(1);
}

inline u64 fnv1a(const std::vector<u8> &bytes) {
    u64 hash = 0xcbf29ce484222325ull;
    for (const u8 byte : bytes) hash = (hash ^ byte) * 0x100000001b3ull;
    return hash;
}

inline bool as_expected(const Case &each, const std::vector<u8> &got) {
    if (!each.expect) return true;
    std::vector<u8> want(each.bytes);
    each.expect(want.data());
    for (size_t k = 0; k < each.bytes; k += 4)
        if (memcmp(&want[k], &got[k], each.bytes - k < 4 ? each.bytes - k : 4)) {
            std::fprintf(stderr, "%s: not as the host has it from byte %zu on\n", each.name, k);
            return false;
        }
    return true;
}

int main(int argc, char **argv) {
    FILE *file = argc > 1 ? std::fopen(argv[1], "wb") : nullptr;
    bool right = true;
    for (const Case *each = first_case(); each; each = each->next) {
        if (argc > 2 && std::strcmp(argv[2], each->name)) continue;
        std::vector<u8> got(each->bytes);
        void *out;
        succeed(cudaMalloc(&out, each->bytes), each->name);
        succeed(cudaMemset(out, 0, each->bytes), each->name);
        if (each->prepare) each->prepare();
        each->launch(out);
        succeed(cudaGetLastError(), each->name);
        succeed(cudaMemcpy(got.data(), out, each->bytes, cudaMemcpyDeviceToHost), each->name);
        succeed(cudaFree(out), each->name);
        std::printf("%s %016llx\n", each->name, (unsigned long long)fnv1a(got));
        std::fflush(stdout);
        right &= as_expected(*each, got);
        if (file) std::fwrite(got.data(), 1, got.size(), file);
    }
    if (file) std::fclose(file);
    return right ? 0 : 1;
}
