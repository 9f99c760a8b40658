// The threads of a block together: shared memory, barriers, reductions, scans, sorting, tiles.
#include <algorithm>

#include "kernels.h"

// A tree in a fixed order; the host adds in the same one.
HD float in_pairs(float a, float b) { return a + b; }
KERNEL(tree_reduction, u32, 6, 6, 192, 0) {
    __shared__ float part[192];
    const u32 t = threadIdx.x;
    part[t] = tame_single(blockIdx.x, t);
    __syncthreads();
    for (u32 n = 192; n > 1;) {
        const u32 half = (n + 1) / 2;
        if (t + half < n) part[t] = in_pairs(part[t], part[t + half]);
        n = half;
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = bits(part[0]);
}
EXPECT(tree_reduction) {
    for (u32 b = 0; b < 6; ++b) {
        float part[192];
        for (u32 t = 0; t < 192; ++t) part[t] = tame_single(b, t);
        for (u32 n = 192; n > 1; n = (n + 1) / 2)
            for (u32 t = 0; t + (n + 1) / 2 < n; ++t)
                part[t] = in_pairs(part[t], part[t + (n + 1) / 2]);
        want[b] = bits(part[0]);
    }
}

template <class T, u32 N> __device__ void hillis_steele(T *in, T *out, u32 t) {
    for (u32 by = 1; by < N; by *= 2) {
        out[t] = t >= by ? in[t - by] + in[t] : in[t];
        __syncthreads();
        T *const held = in;
        in = out, out = held;
    }
    out[t] = in[t];
    __syncthreads();
}
KERNEL(scan_of_doubles, u64, 2 * 128, 2, 128, 2 * 128 * 8) {
    extern __shared__ double space[];
    const u32 t = threadIdx.x;
    space[t] = tame_double(blockIdx.x, t);
    __syncthreads();
    hillis_steele<double, 128>(space, space + 128, t);
    out[blockIdx.x * 128 + t] = bits(space[t]);
}

// Up and down the tree (Blelloch), two elements per thread.
KERNEL(exclusive_scan, u32, 3 * 256, 3, 128, 0) {
    __shared__ u32 tree[256];
    const u32 t = threadIdx.x;
    for (u32 k = t; k < 256; k += 128) tree[k] = word(blockIdx.x, k);
    u32 by = 1;
    for (u32 n = 128; n; n /= 2, by *= 2) {
        __syncthreads();
        if (t < n) tree[by * (2 * t + 2) - 1] += tree[by * (2 * t + 1) - 1];
    }
    if (t == 0) tree[255] = 0;
    for (u32 n = 1; n <= 128; n *= 2) {
        by /= 2;
        __syncthreads();
        if (t < n) {
            const u32 a = by * (2 * t + 1) - 1, b = by * (2 * t + 2) - 1, held = tree[a];
            tree[a] = tree[b];
            tree[b] += held;
        }
    }
    __syncthreads();
    for (u32 k = t; k < 256; k += 128) out[blockIdx.x * 256 + k] = tree[k];
}
EXPECT(exclusive_scan) {
    for (u32 b = 0; b < 3; ++b)
        for (u32 k = 0, sum = 0; k < 256; sum += word(b, k++)) want[b * 256 + k] = sum;
}

KERNEL(bitonic_sort, u64, 2 * 256, 2, 256, 0) {
    __shared__ u64 keys[256];
    const u32 t = threadIdx.x;
    keys[t] = word64(t, blockIdx.x) >> (blockIdx.x * 60);
    for (u32 size = 2; size <= 256; size *= 2)
        for (u32 by = size / 2; by; by /= 2) {
            __syncthreads();
            const u32 other = t ^ by;
            if (other > t && (keys[t] > keys[other]) == ((t & size) == 0)) {
                const u64 held = keys[t];
                keys[t] = keys[other];
                keys[other] = held;
            }
        }
    __syncthreads();
    out[blockIdx.x * 256 + t] = keys[t];
}
EXPECT(bitonic_sort) {
    for (u32 b = 0; b < 2; ++b)
        for (u32 k = 0; k < 256; ++k) {
            const u64 key = word64(k, b) >> (b * 60);
            u32 at = k;
            for (; at && want[b * 256 + at - 1] > key; --at)
                want[b * 256 + at] = want[b * 256 + at - 1];
            want[b * 256 + at] = key;
        }
}

// Bits from the lowest on, each pass stable: positions come from votes of the whole block.
KERNEL(radix_sort, Words<2>, 160, 1, 160, 0) {
    __shared__ u32 keys[160], places[160], flags[160];
    const u32 t = threadIdx.x;
    keys[t] = word(t) & 0xfff;
    places[t] = t;
    for (u32 bit = 0; bit < 12; ++bit) {
        __syncthreads();
        const u32 key = keys[t], place = places[t];
        flags[t] = key >> bit & 1;
        const u32 ones = u32(__syncthreads_count(int(flags[t])));
        u32 before = 0;
        for (u32 k = 0; k < t; ++k) before += flags[k];
        const u32 to = key >> bit & 1 ? 160 - ones + before : t - before;
        keys[to] = key;
        places[to] = place;
    }
    __syncthreads();
    out[t] = {{keys[t], places[t]}};
}

KERNEL(barrier_votes, Words<3>, 4 * 100, 4, 100, 0) {
    const u32 t = threadIdx.x, b = blockIdx.x;
    const int some = __syncthreads_or(word(t, b) % 300 == 1), all = __syncthreads_and(t + b != 101);
    const int count = __syncthreads_count(word(t, b) % 3 == 0);
    out[b * 100 + t] = {{u32(some != 0), u32(all != 0), u32(count)}};
}
EXPECT(barrier_votes) {
    for (u32 b = 0; b < 4; ++b) {
        Words<3> r = {{0, 1, 0}};
        for (u32 t = 0; t < 100; ++t) {
            r.at[0] |= word(t, b) % 300 == 1;
            r.at[1] &= t + b != 101;
            r.at[2] += word(t, b) % 3 == 0;
        }
        for (u32 t = 0; t < 100; ++t) want[b * 100 + t] = r;
    }
}

// Tiles of 16 by 16 with a column more, of a matrix whose sides are no multiples.
KERNEL(transpose, u32, 45 * 37, dim3(3, 3), dim3(16, 4), 0) {
    __shared__ u32 tile[16][17];
    for (u32 k = threadIdx.y; k < 16; k += 4) {
        const u32 x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + k;
        if (x < 45 && y < 37) tile[k][threadIdx.x] = word(y * 45 + x);
    }
    __syncthreads();
    for (u32 k = threadIdx.y; k < 16; k += 4) {
        const u32 x = blockIdx.y * 16 + threadIdx.x, y = blockIdx.x * 16 + k;
        if (x < 37 && y < 45) out[y * 37 + x] = tile[threadIdx.x][k];
    }
}
EXPECT(transpose) {
    for (u32 k = 0; k < 45 * 37; ++k) want[k] = word(k % 37 * 45 + k / 37);
}

// Products of matrices by tiles: the order of the sum is the order of k.
template <class T> HD T entry(u32 i, u32 k);
template <> HD float entry(u32 i, u32 k) { return tame_single(i, k); }
template <> HD double entry(u32 i, u32 k) { return tame_double(i, k); }
template <class T, u32 N> __device__ T tiled_product() {
    __shared__ T a[8][8], b[8][8];
    const u32 x = threadIdx.x, y = threadIdx.y, column = blockIdx.x * 8 + x,
              row = blockIdx.y * 8 + y;
    T sum = 0;
    for (u32 k = 0; k < N; k += 8) {
        a[y][x] = entry<T>(row, k + x);
        b[y][x] = entry<T>(1000 + k + y, column);
        __syncthreads();
        for (u32 j = 0; j < 8; ++j) sum = fma(a[y][j], b[j][x], sum);
        __syncthreads();
    }
    return sum;
}
template <class T> static T plain_product(u32 row, u32 column, u32 n) {
    T sum = 0;
    for (u32 k = 0; k < n; ++k) sum = std::fma(entry<T>(row, k), entry<T>(1000 + k, column), sum);
    return sum;
}
KERNEL(tiled_singles, u32, 24 * 16, dim3(3, 2), dim3(8, 8), 0) {
    out[(blockIdx.y * 8 + threadIdx.y) * 24 + blockIdx.x * 8 + threadIdx.x] =
        bits(tiled_product<float, 40>());
}
EXPECT(tiled_singles) {
    for (u32 k = 0; k < 24 * 16; ++k) want[k] = bits(plain_product<float>(k / 24, k % 24, 40));
}
KERNEL(tiled_doubles, u64, 16 * 16, dim3(2, 2), dim3(8, 8), 0) {
    out[(blockIdx.y * 8 + threadIdx.y) * 16 + blockIdx.x * 8 + threadIdx.x] =
        bits(tiled_product<double, 32>());
}
EXPECT(tiled_doubles) {
    for (u32 k = 0; k < 16 * 16; ++k) want[k] = bits(plain_product<double>(k / 16, k % 16, 32));
}

// Sweeps over a plate with a rim in shared memory; nvcc decides what is contracted.
KERNEL(stencil, u32, 16 * 16, 1, dim3(16, 16), 0) {
    __shared__ float plate[2][18][18];
    const u32 x = threadIdx.x + 1, y = threadIdx.y + 1, t = threadIdx.y * 16 + threadIdx.x;
    for (u32 k = t; k < 2 * 18 * 18; k += 256)
        plate[k / 324][k % 324 / 18][k % 18] = tame_single(k % 324);
    __syncthreads();
    for (u32 step = 0; step < 9; ++step) {
        const auto &from = plate[step & 1];
        plate[~step & 1][y][x] = 0.5f * from[y][x] + 0.125f * (from[y - 1][x] + from[y + 1][x]) +
                                 0.125f * from[y][x - 1] + 0.125f * from[y][x + 1];
        __syncthreads();
    }
    out[t] = bits(plate[1][y][x]);
}

// Cells that live, in bits of a word per row, and as a check cell by cell.
KERNEL(game_of_life, u32, 32, 1, 32, 0) {
    __shared__ u32 rows[32];
    const u32 t = threadIdx.x;
    rows[t] = word(t) & word(t, 1);
    __syncthreads();
    for (u32 step = 0; step < 20; ++step) {
        u32 next = 0;
        for (u32 x = 0; x < 32; ++x) {
            u32 n = 0;
            for (u32 dy = 31; dy < 34; ++dy)
                for (u32 dx = 31; dx < 34; ++dx) n += rows[(t + dy) & 31] >> ((x + dx) & 31) & 1;
            next |= u32(n == 3 || (n == 4 && (rows[t] >> x & 1))) << x;
        }
        __syncthreads();
        rows[t] = next;
        __syncthreads();
    }
    out[t] = rows[t];
}

// Two words compared along the diagonals of a table: the length of what they have in common.
KERNEL(common_subsequence, u32, 20, 20, 40, 0) {
    __shared__ u16 best[3][41];
    const u32 t = threadIdx.x, b = blockIdx.x;
    for (u32 k = 0; k < 3; ++k) best[k][t] = 0, best[k][40] = 0;
    __syncthreads();
    for (u32 d = 0; d < 79; ++d) {
        const u32 column = d - t;
        if (t <= d && column < 40) {
            const u16 left = column ? best[(d + 2) % 3][t + 1] : u16(0),
                      above = best[(d + 2) % 3][t];
            const u16 corner = column ? best[(d + 1) % 3][t] : u16(0);
            best[d % 3][t + 1] = (word(b, t) & 3) == (word(b, column + 100) & 3) ? u16(corner + 1)
                                 : left > above                                  ? left
                                                                                 : above;
        }
        __syncthreads();
    }
    if (t == 39) out[b] = best[78 % 3][40];
}
EXPECT(common_subsequence) {
    for (u32 b = 0; b < 20; ++b) {
        u32 best[41][41] = {};
        for (u32 r = 0; r < 40; ++r)
            for (u32 c = 0; c < 40; ++c)
                best[r + 1][c + 1] = (word(b, r) & 3) == (word(b, c + 100) & 3)
                                         ? best[r][c] + 1
                                         : std::max(best[r][c + 1], best[r + 1][c]);
        want[b] = best[40][40];
    }
}

KERNEL(shortest_paths, u32, 24 * 24, 1, dim3(24, 24), 0) {
    __shared__ u32 path[24][24];
    const u32 x = threadIdx.x, y = threadIdx.y;
    path[y][x] = x == y ? 0 : word(y, x) % 5 ? 1000000 : word(y, x) % 997;
    for (u32 k = 0; k < 24; ++k) {
        __syncthreads();
        const u32 through = path[y][k] + path[k][x];
        __syncthreads();
        if (through < path[y][x]) path[y][x] = through;
    }
    out[y * 24 + x] = path[y][x];
}
EXPECT(shortest_paths) {
    for (u32 k = 0; k < 576; ++k)
        want[k] = k / 24 == k % 24           ? 0
                  : word(k / 24, k % 24) % 5 ? 1000000
                                             : word(k / 24, k % 24) % 997;
    for (u32 k = 0; k < 24; ++k)
        for (u32 y = 0; y < 24; ++y)
            for (u32 x = 0; x < 24; ++x)
                want[y * 24 + x] = std::min(want[y * 24 + x], want[y * 24 + k] + want[k * 24 + x]);
}

// Two warps make numbers that two others use: barriers with a number and half of the threads.
KERNEL(producers_and_consumers, u32, 5 * 64, 1, 128, 0) {
    __shared__ u32 stage[2][64];
    const u32 t = threadIdx.x & 63;
    const bool producer = threadIdx.x < 64;
    for (u32 k = 0; k < 5; ++k) {
        const u32 full = 1 + (k & 1), empty = 3 + (k & 1);
        if (producer) {
            if (k > 1) asm volatile("barrier.sync %0, 128;" ::"r"(empty) : "memory");
            stage[k & 1][t] = word(t, k);
            asm volatile("barrier.arrive %0, 128;" ::"r"(full) : "memory");
        } else {
            asm volatile("barrier.sync %0, 128;" ::"r"(full) : "memory");
            out[k * 64 + t] = stage[k & 1][63 - t];
            if (k < 3) asm volatile("barrier.arrive %0, 128;" ::"r"(empty) : "memory");
        }
    }
}
EXPECT(producers_and_consumers) {
    for (u32 k = 0; k < 5 * 64; ++k) want[k] = word(63 - k % 64, k / 64);
}

// Squares and roots of unity made by squaring: a transform in place, with given factors.
KERNEL(number_transform, u32, 128, 1, 64, 0) {
    constexpr u32 P = 998244353;
    __shared__ u32 x[128];
    const u32 t = threadIdx.x;
    const auto power = [](u64 base, u32 e) {
        u64 r = 1;
        for (; e; e >>= 1, base = base * base % P)
            if (e & 1) r = r * base % P;
        return r;
    };
    for (u32 k = t; k < 128; k += 64) x[__brev(k) >> 25] = word(k) % P;
    for (u32 half = 1; half < 128; half *= 2) {
        __syncthreads();
        const u32 j = t % half, a = t / half * 2 * half + j;
        const u64 product = power(3, (P - 1) / (2 * half) * j) * x[a + half] % P;
        const u32 sum = u32((x[a] + product) % P), rest = u32((x[a] + P - product) % P);
        x[a] = sum;
        x[a + half] = rest;
    }
    __syncthreads();
    for (u32 k = t; k < 128; k += 64) out[k] = x[k];
}
EXPECT(number_transform) {
    constexpr u32 P = 998244353;
    u64 root = 1;
    for (u64 e = (P - 1) / 128, base = 3; e; e >>= 1, base = base * base % P)
        if (e & 1) root = root * base % P;
    u64 w = 1;
    for (u32 k = 0; k < 128; ++k, w = w * root % P) {
        u64 sum = 0;
        for (u32 j = 128; j--;) sum = (sum * w + word(j) % P) % P;
        want[k] = u32(sum);
    }
}
