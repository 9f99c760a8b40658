// Cooperative groups, barriers that are objects, asynchronous copies, products of matrices.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda_fp16.h>
#include <mma.h>

#include "kernels.h"

namespace cg = cooperative_groups;
namespace w = nvcuda::wmma;

KERNEL(tiles, Words<8>, 96, 1, 96, 0) {
    const cg::thread_block block = cg::this_thread_block();
    const auto warp = cg::tiled_partition<32>(block);
    const auto eight = cg::tiled_partition<8>(warp);
    const u32 t = block.thread_rank(), x = word(t);
    u32 sum = x;
    for (int by = 4; by; by /= 2) sum += eight.shfl_xor(sum, by);
    const u32 first = eight.shfl(x, 0), next = eight.shfl_down(x, 1), ballot = eight.ballot(x & 1);
    out[t] = {{sum, first, next, ballot,
               eight.thread_rank() | eight.meta_group_rank() << 8 | warp.meta_group_rank() << 16,
               u32(eight.any(x % 11 == 3)) | u32(eight.all(x % 5 != 1)) << 1, warp.match_any(x % 4),
               block.size()}};
}
EXPECT(tiles) {
    for (u32 t = 0; t < 96; ++t) {
        const u32 base = t & ~7u, x = word(t);
        Words<8> r = {{0, word(base), t % 8 < 7 ? word(t + 1) : x, 0,
                       t % 8 | t % 32 / 8 << 8 | t / 32 << 16, 2, 0, 96}};
        for (u32 k = 0; k < 8; ++k) {
            const u32 y = word(base + k);
            r.at[0] += y, r.at[3] |= (y & 1) << k, r.at[5] |= y % 11 == 3;
            if (y % 5 == 1) r.at[5] &= 1;
        }
        for (u32 k = 0; k < 32; ++k) r.at[6] |= u32(word((t & ~31u) + k) % 4 == x % 4) << k;
        want[t] = r;
    }
}

KERNEL(group_reductions, Words<6>, 64, 1, 64, 0) {
    const auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    const auto four = cg::tiled_partition<4>(warp);
    const u32 t = threadIdx.x, x = word(t);
    out[t] = {{cg::reduce(warp, x, cg::plus<u32>()), cg::reduce(four, x, cg::greater<u32>()),
               cg::reduce(warp, x, cg::bit_xor<u32>()), cg::inclusive_scan(warp, x),
               cg::exclusive_scan(four, x),
               cg::reduce(four, x, [](u32 a, u32 b) { return a ^ b; })}};
}
EXPECT(group_reductions) {
    for (u32 t = 0; t < 64; ++t) {
        Words<6> r = {};
        for (u32 k = t & ~31u; k < (t | 31) + 1; ++k)
            r.at[0] += word(k), r.at[2] ^= word(k), r.at[3] += k <= t ? word(k) : 0;
        for (u32 k = t & ~3u; k < (t | 3) + 1; ++k)
            r.at[1] = word(k) > r.at[1] ? word(k) : r.at[1], r.at[4] += k < t ? word(k) : 0,
            r.at[5] ^= word(k);
        want[t] = r;
    }
}

// Groups that the program's data make.
KERNEL(labelled_groups, Words<4>, 64, 1, 64, 0) {
    const auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    const u32 t = threadIdx.x, x = word(t);
    const auto like = cg::labeled_partition(warp, x % 3);
    const auto half = cg::binary_partition(warp, (x & 16) != 0);
    const u32 size = like.size(), rank = like.thread_rank();
    const u32 low = like.shfl(x, 0), other = half.size() | half.thread_rank() << 8;
    out[t] = {{size | rank << 8, low, other, cg::reduce(like, x, cg::plus<u32>())}};
}
EXPECT(labelled_groups) {
    for (u32 t = 0; t < 64; ++t) {
        u32 size = 0, rank = 0, low = 0, halves = 0, place = 0, sum = 0;
        for (u32 k = t & ~31u; k < (t | 31) + 1; ++k) {
            if (word(k) % 3 == word(t) % 3) {
                if (!size++) low = word(k);
                rank += k < t, sum += word(k);
            }
            if ((word(k) & 16) == (word(t) & 16)) ++halves, place += k < t;
        }
        want[t] = {{size | rank << 8, low, halves | place << 8, sum}};
    }
}

using Barrier = cuda::barrier<cuda::thread_scope_block>;
KERNEL(barrier_objects, u32, 96, 1, 96, 0) {
    __shared__ u32 tile[96];
    __shared__ alignas(8) char storage[sizeof(Barrier)];
    Barrier &barrier = *reinterpret_cast<Barrier *>(storage);
    const u32 t = threadIdx.x;
    if (t == 0) init(&barrier, 96);
    __syncthreads();
    u32 x = word(t);
    for (u32 k = 0; k < 6; ++k) {
        tile[t] = x;
        auto token = barrier.arrive();
        const u32 meanwhile = word(t, k);
        barrier.wait(std::move(token));
        x = tile[(t * 5 + k) % 96] + meanwhile;
        barrier.arrive_and_wait();
    }
    out[t] = x;
}
EXPECT(barrier_objects) {
    u32 before[96];
    for (u32 t = 0; t < 96; ++t) want[t] = word(t);
    for (u32 k = 0; k < 6; ++k) {
        memcpy(before, want, sizeof before);
        for (u32 t = 0; t < 96; ++t) want[t] = before[(t * 5 + k) % 96] + word(t, k);
    }
}

static __device__ u32 numbers[8 * 64];
static void make_numbers() {
    u32 all[8 * 64];
    for (u32 k = 0; k < 8 * 64; ++k) all[k] = word(k);
    succeed(cudaMemcpyToSymbol(numbers, all, sizeof all), "numbers");
}

// Two stages in flight.
KERNEL(pipelined_copies, u32, 64, 1, 64, 0) {
    __shared__ u32 stage[2][64];
    auto pipe = cuda::make_pipeline();
    const u32 t = threadIdx.x;
    u32 sum = 0;
    for (u32 load = 0, use = 0; use < 8; ++use) {
        for (; load < 8 && load < use + 2; ++load) {
            pipe.producer_acquire();
            cuda::memcpy_async(&stage[load % 2][t], &numbers[load * 64 + t], sizeof(u32), pipe);
            pipe.producer_commit();
        }
        pipe.consumer_wait();
        __syncthreads();
        sum = sum * 3 + stage[use % 2][63 - t];
        __syncthreads();
        pipe.consumer_release();
    }
    out[t] = sum;
}
PREPARE(pipelined_copies) { make_numbers(); }
EXPECT(pipelined_copies) {
    for (u32 t = 0; t < 64; ++t)
        for (u32 k = 0; k < 8; ++k) want[t] = want[t] * 3 + word(k * 64 + 63 - t);
}

KERNEL(group_copies, u32, 2 * 128, 2, 128, 0) {
    __shared__ alignas(16) u32 tile[200];
    const cg::thread_block block = cg::this_thread_block();
    const u32 t = threadIdx.x;
    cg::memcpy_async(block, tile, numbers + blockIdx.x * 100, 4 * 200);
    cg::wait(block);
    out[blockIdx.x * 128 + t] = tile[t] ^ tile[199 - t] << 1;
}
PREPARE(group_copies) { make_numbers(); }
EXPECT(group_copies) {
    for (u32 k = 0; k < 256; ++k)
        want[k] = word(k / 128 * 100 + k % 128) ^ word(k / 128 * 100 + 199 - k % 128) << 1;
}

// Copies of 4, 8 and 16 bytes; of the last some give zeros instead.
KERNEL(filled_copies, Words<4>, 64, 1, 64, 0) {
    __shared__ alignas(16) u32 tile[64][4];
    const u32 t = threadIdx.x, to = u32(__cvta_generic_to_shared(&tile[t ^ 1]));
    const u32 *from = numbers + 4 * t;
    const int bytes = t % 3 ? 16 : 0;
    for (u32 k = 0; k < 4; ++k) tile[t ^ 1][k] = 77;
    __syncthreads();
    if (t % 4 == 0)
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to + 4), "l"(from)
                     : "memory");
    else if (t % 4 == 1)
        asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(to + 8), "l"(from)
                     : "memory");
    else
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from),
                     "r"(bytes)
                     : "memory");
    asm volatile("cp.async.commit_group;\ncp.async.wait_group 0;" ::: "memory");
    __syncthreads();
    for (u32 k = 0; k < 4; ++k) out[t].at[k] = tile[t][k];
}
PREPARE(filled_copies) { make_numbers(); }
EXPECT(filled_copies) {
    for (u32 t = 0; t < 64; ++t)
        for (u32 k = 0; k < 4; ++k) {
            u32 &x = want[t ^ 1].at[k] = 77;
            if (t % 4 == 0)
                x = k == 1 ? word(4 * t) : x;
            else if (t % 4 == 1)
                x = k >= 2 ? word(4 * t + k - 2) : x;
            else
                x = t % 3 ? word(4 * t + k) : 0;
        }
}

// Products of matrices of bytes, in both orders, added to what is there.
template <class T, int M, int N> __device__ void byte_product(s32 *out) {
    __shared__ alignas(32) T a[M * 16], b[16 * N];
    __shared__ alignas(32) s32 c[M * N];
    const u32 t = threadIdx.x;
    for (u32 k = t; k < M * 16; k += 32) a[k] = T(word(k));
    for (u32 k = t; k < N * 16; k += 32) b[k] = T(word(k, 1));
    for (u32 k = t; k < M * N; k += 32) c[k] = s32(any32(k, 2) >> 1);
    __syncwarp();
    w::fragment<w::matrix_a, M, N, 16, T, w::row_major> x;
    w::fragment<w::matrix_b, M, N, 16, T, w::col_major> y;
    w::fragment<w::accumulator, M, N, 16, s32> z;
    w::load_matrix_sync(x, a, 16);
    w::load_matrix_sync(y, b, 16);
    w::load_matrix_sync(z, c, N, w::mem_row_major);
    w::mma_sync(z, x, y, z);
    w::mma_sync(z, x, y, z);
    for (int k = 0; k < z.num_elements; ++k) z.x[k] ^= 5;
    w::store_matrix_sync(out, z, M, w::mem_col_major);
}
template <class T, int M, int N> static void plain_product(s32 *want) {
    for (u32 r = 0; r < M; ++r)
        for (u32 c = 0; c < N; ++c) {
            u32 sum = any32(r * N + c, 2) >> 1;
            for (u32 k = 0; k < 16; ++k)
                sum += 2 * u32(T(word(r * 16 + k)) * T(word(c * 16 + k, 1)));
            want[c * M + r] = s32(sum) ^ 5;
        }
}
KERNEL(signed_bytes, s32, 256, 1, 32, 0) { byte_product<signed char, 16, 16>(out); }
EXPECT(signed_bytes) { plain_product<signed char, 16, 16>(want); }
KERNEL(unsigned_bytes, s32, 256, 1, 32, 0) { byte_product<unsigned char, 32, 8>(out); }
EXPECT(unsigned_bytes) { plain_product<unsigned char, 32, 8>(want); }

// Small integers in half precision: every sum is exact, in whatever order it is made.
KERNEL(half_matrices, u32, 256, 1, 32, 0) {
    __shared__ alignas(32) half a[256], b[256];
    __shared__ alignas(32) float c[256];
    for (u32 k = threadIdx.x; k < 256; k += 32)
        a[k] = __float2half(float(word(k) % 31) - 15),
        b[k] = __float2half(float(word(k, 1) % 31) - 15);
    __syncwarp();
    w::fragment<w::matrix_a, 16, 16, 16, half, w::col_major> x;
    w::fragment<w::matrix_b, 16, 16, 16, half, w::row_major> y;
    w::fragment<w::accumulator, 16, 16, 16, float> z;
    w::fill_fragment(z, 0.25f);
    w::load_matrix_sync(x, a, 16);
    w::load_matrix_sync(y, b, 16);
    w::mma_sync(z, x, y, z);
    w::store_matrix_sync(c, z, 16, w::mem_row_major);
    __syncwarp();
    for (u32 k = threadIdx.x; k < 256; k += 32) out[k] = bits(c[k]);
}
EXPECT(half_matrices) {
    for (u32 r = 0; r < 16; ++r)
        for (u32 c = 0; c < 16; ++c) {
            float sum = 0.25f;
            for (u32 k = 0; k < 16; ++k)
                sum += (float(word(k * 16 + r) % 31) - 15) * (float(word(k * 16 + c, 1) % 31) - 15);
            want[r * 16 + c] = bits(sum);
        }
}

// Rows of 8 by 8 words through ldmatrix, plain and turned, and a product of 16 by 8 by 32 bytes
// that is limited to the integers of 32 bits.
KERNEL(loaded_fragments, Words<8>, 32, 1, 32, 0) {
    __shared__ alignas(16) u16 rows[32][8];
    const u32 lane = threadIdx.x, place = u32(__cvta_generic_to_shared(rows[lane]));
    for (u32 k = 0; k < 8; ++k) rows[lane][k] = u16(word(lane * 8 + k));
    __syncwarp();
    u32 a[4], b[4];
    s32 c[4] = {s32(0x7fffff00), -5, s32(0x80000010), 100};
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3])
                 : "r"(place));
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(b[0]), "=r"(b[1]), "=r"(b[2]), "=r"(b[3])
                 : "r"(place));
    asm volatile(
        "mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
        "{%8,%9}, {%0,%1,%2,%3};"
        : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(a[1] ^ 0x01010101), "r"(b[2]));
    out[lane] = {{a[0] ^ a[2], a[1] + a[3], b[0] ^ b[2], b[1] + b[3], u32(c[0]), u32(c[1]),
                  u32(c[2]), u32(c[3])}};
}
