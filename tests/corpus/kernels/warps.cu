// The lanes of a warp together: shuffles, votes, matches, reductions, with and without all lanes.
#include "kernels.h"

constexpr u32 ALL = 0xffffffff;

KERNEL(shuffles, Words<8>, 96, 1, 96, 0) {
    const u32 t = threadIdx.x, lane = t & 31, x = word(t);
    out[t] = {{__shfl_sync(ALL, x, 5), __shfl_sync(ALL, x, int(word(t, 1))),
               __shfl_up_sync(ALL, x, 3), __shfl_down_sync(ALL, x, 7), __shfl_xor_sync(ALL, x, 9),
               __shfl_sync(ALL, x, int(lane * 7 + 40)), __shfl_up_sync(ALL, x, 0),
               __shfl_xor_sync(ALL, x, 31)}};
}
EXPECT(shuffles) {
    for (u32 t = 0; t < 96; ++t) {
        const u32 base = t & ~31u, lane = t & 31;
        const auto x = [&](u32 k) { return word(base + (k & 31)); };
        want[t] = {{x(5), x(word(t, 1)), x(lane < 3 ? lane : lane - 3),
                    x(lane + 7 > 31 ? lane : lane + 7), x(lane ^ 9), x(lane * 7 + 40), x(lane),
                    x(lane ^ 31)}};
    }
}

KERNEL(shuffle_widths, Words<12>, 64, 2, 32, 0) {
    const u32 i = blockIdx.x * 32 + threadIdx.x, x = word(i);
    Words<12> r;
    u32 n = 0;
#pragma unroll
    for (int width = 2; width <= 16; width *= 2) {
        r.at[n++] = __shfl_sync(ALL, x, int(i * 3), width) + __shfl_xor_sync(ALL, x, 1, width);
        r.at[n++] =
            __shfl_up_sync(ALL, x, 1, width) ^ __shfl_up_sync(ALL, x, u32(width - 1), width);
        r.at[n++] =
            __shfl_down_sync(ALL, x, 2, width) ^ __shfl_xor_sync(ALL, x, width / 2 + 1, width);
    }
    out[i] = r;
}
EXPECT(shuffle_widths) {
    for (u32 i = 0; i < 64; ++i)
        for (u32 n = 0, width = 2; width <= 16; width *= 2) {
            const u32 base = i & ~(width - 1), lane = i & (width - 1);
            const auto up = [&](u32 by) { return word(lane < by ? i : i - by); };
            const u32 partner = i ^ (width / 2 + 1);
            want[i].at[n++] = word(base + (i * 3 & (width - 1))) + word(i ^ 1);
            want[i].at[n++] = up(1) ^ up(width - 1);
            want[i].at[n++] = word(lane + 2 < width ? i + 2 : i) ^
                              word((partner & 31) <= (i & 31 | (width - 1)) ? partner : i);
        }
}

// Values of 64 bits and of floating types, by pieces.
KERNEL(wide_shuffles, Longs<4>, 64, 1, 64, 0) {
    const u32 t = threadIdx.x;
    const double x = tame_double(t);
    const float y = tame_single(t);
    const u64 z = word64(t, 3);
    out[t] = {{bits(__shfl_down_sync(ALL, x, 4)), bits(__shfl_xor_sync(ALL, y, 16)),
               __shfl_sync(ALL, z, int(t * 5)), u64(__shfl_up_sync(ALL, s64(z), 2, 8))}};
}

// Sums in the order of a butterfly: the same bits in all lanes.
KERNEL(butterfly_sums, Longs<2>, 96, 3, 32, 0) {
    const u32 i = blockIdx.x * 32 + threadIdx.x;
    double x = tame_double(i);
    float y = tame_single(i);
    for (int by = 16; by; by /= 2)
        x += __shfl_xor_sync(ALL, x, by), y += __shfl_down_sync(ALL, y, u32(by));
    out[i] = {{bits(x), bits(y)}};
}
EXPECT(butterfly_sums) {
    for (u32 w = 0; w < 3; ++w) {
        double x[32], before[32];
        float y[32], y_before[32];
        for (u32 l = 0; l < 32; ++l) x[l] = tame_double(w * 32 + l), y[l] = tame_single(w * 32 + l);
        for (u32 by = 16; by; by /= 2) {
            memcpy(before, x, sizeof x), memcpy(y_before, y, sizeof y);
            for (u32 l = 0; l < 32; ++l)
                x[l] += before[l ^ by], y[l] += y_before[l + by < 32 ? l + by : l];
        }
        for (u32 l = 0; l < 32; ++l) want[w * 32 + l] = {{bits(x[l]), bits(y[l])}};
    }
}

KERNEL(warp_scan, Words<2>, 5 * 32, 1, 160, 0) {
    __shared__ u32 totals[5];
    const u32 t = threadIdx.x, lane = t & 31, value = word(t) >> 20;
    u32 sum = value;
    for (u32 by = 1; by < 32; by *= 2) {
        const u32 other = __shfl_up_sync(ALL, sum, by);
        if (lane >= by) sum += other;
    }
    if (lane == 31) totals[t / 32] = sum;
    __syncthreads();
    if (t < 5) {
        u32 total = totals[t];
        for (u32 by = 1; by < 5; by *= 2) {
            const u32 other = __shfl_up_sync(31, total, by);
            if (t >= by) total += other;
        }
        totals[t] = total;
    }
    __syncthreads();
    out[t] = {{sum, sum + (t < 32 ? 0 : totals[t / 32 - 1])}};
}
EXPECT(warp_scan) {
    for (u32 t = 0, sum = 0, all = 0; t < 160; ++t) {
        sum = (t & 31 ? sum : 0) + (word(t) >> 20);
        all += word(t) >> 20;
        want[t] = {{sum, all}};
    }
}

KERNEL(votes, Words<5>, 200, 2, 100, 0) {
    const u32 i = blockIdx.x * 100 + threadIdx.x, x = word(i);
    const u32 members = threadIdx.x < 96 ? ALL : 15;
    const u32 ballot = __ballot_sync(members, x % 3 == 0);
    out[i] = {{ballot, u32(__all_sync(members, x % 97 != 3) != 0),
               u32(__any_sync(members, x % 61 == 7) != 0),
               u32(__popc(ballot & ((1u << (threadIdx.x & 31)) - 1))),
               u32(__uni_sync(members, ballot % 5 == 0) != 0)}};
}
EXPECT(votes) {
    for (u32 i = 0; i < 200; ++i) {
        const u32 first = i / 100 * 100 + i % 100 / 32 * 32, n = i % 100 < 96 ? 32 : 4;
        Words<5> r = {{0, 1, 0, 0, 1}};
        for (u32 l = 0; l < n; ++l) {
            const u32 x = word(first + l);
            r.at[0] |= u32(x % 3 == 0) << l;
            r.at[1] &= x % 97 != 3;
            r.at[2] |= x % 61 == 7;
            r.at[3] += x % 3 == 0 && first + l < i;
        }
        want[i] = r;
    }
}

// Lanes with equal values find each other; the lowest of each set counts.
KERNEL(matches, Words<4>, 128, 2, 64, 0) {
    const u32 i = blockIdx.x * 64 + threadIdx.x, key = word(i) % 6;
    const u64 wide = word64(i / 40) * (i % 2 + 1);
    const u32 same = __match_any_sync(ALL, key), like = __match_any_sync(ALL, wide);
    int whole = 0;
    const u32 all = __match_all_sync(ALL, i / 40, &whole);
    out[i] = {{same, like, all ^ u32(whole) << 7,
               u32(__ffs(int(same)) - 1 == int(threadIdx.x & 31) ? __popc(same) : 0)}};
}
EXPECT(matches) {
    for (u32 i = 0; i < 128; ++i) {
        const u32 first = i & ~31u;
        u32 same = 0, like = 0, whole = 1;
        for (u32 l = 0; l < 32; ++l) {
            const u32 k = first + l;
            same |= u32(word(k) % 6 == word(i) % 6) << l;
            like |= u32(word64(k / 40) * (k % 2 + 1) == word64(i / 40) * (i % 2 + 1)) << l;
            whole &= k / 40 == i / 40;
        }
        want[i] = {{same, like, whole ? ALL ^ 128 : 0,
                    u32(__builtin_ctz(same) == int(i & 31) ? __builtin_popcount(same) : 0)}};
    }
}

KERNEL(warp_reductions, Words<8>, 64, 1, 64, 0) {
    const u32 t = threadIdx.x, x = any32(t);
    out[t] = {{__reduce_add_sync(ALL, x), __reduce_min_sync(ALL, x), __reduce_max_sync(ALL, x),
               u32(__reduce_min_sync(ALL, s32(x))), u32(__reduce_max_sync(ALL, s32(x))),
               __reduce_and_sync(ALL, x | 0xf0f0), __reduce_or_sync(ALL, x & 0x10f0f),
               __reduce_xor_sync(ALL, x)}};
}
EXPECT(warp_reductions) {
    for (u32 w = 0; w < 2; ++w) {
        Words<8> r = {{0, ALL, 0, 0x7fffffff, 0x80000000, ALL, 0, 0}};
        for (u32 t = w * 32; t < w * 32 + 32; ++t) {
            const u32 x = any32(t);
            r.at[0] += x, r.at[1] = x < r.at[1] ? x : r.at[1], r.at[2] = x > r.at[2] ? x : r.at[2];
            r.at[3] = s32(x) < s32(r.at[3]) ? x : r.at[3],
            r.at[4] = s32(x) > s32(r.at[4]) ? x : r.at[4];
            r.at[5] &= x | 0xf0f0, r.at[6] |= x & 0x10f0f, r.at[7] ^= x;
        }
        for (u32 t = 0; t < 32; ++t) want[w * 32 + t] = r;
    }
}

// Two sets of lanes on different branches, each with its own mask.
KERNEL(partial_masks, Words<4>, 96, 3, 32, 0) {
    const u32 lane = threadIdx.x, i = blockIdx.x * 32 + lane;
    const u32 odd = 0xaaaaaaaa, low = 0x00005555, high = 0x55550000;
    Words<4> r = {};
    u32 x = word(i);
    if (lane & 1) {
        for (u32 k = 0; k < 1 + blockIdx.x; ++k)
            x = x * 3 + __shfl_sync(odd, x, int((lane + 2) & 31));
        r.at[0] = __ballot_sync(odd, x & 4);
        r.at[1] = __reduce_xor_sync(odd, x);
    } else {
        const u32 mine = lane < 16 ? low : high;
        r.at[0] = __ballot_sync(mine, x & 8);
        r.at[1] = __reduce_add_sync(mine, x);
        r.at[2] = u32(__any_sync(mine, (x & 255) == 17) != 0);
        if (lane < 16)
            x ^= __shfl_xor_sync(low, x, 2);
        else
            x += __shfl_sync(high, x, 30);
    }
    __syncwarp();
    r.at[3] = __shfl_xor_sync(ALL, x, 1);
    out[i] = r;
}
EXPECT(partial_masks) {
    for (u32 w = 0; w < 3; ++w) {
        u32 x[32], before[32];
        for (u32 l = 0; l < 32; ++l) x[l] = word(w * 32 + l);
        for (u32 k = 0; k < 1 + w; ++k) {
            memcpy(before, x, sizeof x);
            for (u32 l = 1; l < 32; l += 2) x[l] = before[l] * 3 + before[(l + 2) & 31];
        }
        memcpy(before, x, sizeof x);
        for (u32 l = 0; l < 32; ++l) {
            Words<4> &r = want[w * 32 + l];
            for (u32 k = 0; k < 32; ++k) {
                if (l & 1)
                    r.at[0] |= u32(k & 1 && before[k] & 4) << k, r.at[1] ^= k & 1 ? before[k] : 0;
                else if (!(k & 1) && k / 16 == l / 16)
                    r.at[0] |= u32((before[k] & 8) != 0) << k, r.at[1] += before[k],
                        r.at[2] |= (before[k] & 255) == 17;
            }
            if (!(l & 1)) x[l] = l < 16 ? before[l] ^ before[l ^ 2] : before[l] + before[30];
        }
        for (u32 l = 0; l < 32; ++l) want[w * 32 + l].at[3] = x[l ^ 1];
    }
}

// What lanes left in shared memory is read after __syncwarp: neighbours, turned rows, a list.
KERNEL(warp_synchronous, Words<3>, 4 * 32, 2, 64, 0) {
    __shared__ u32 rows[2][32], list[2][32];
    const u32 warp = threadIdx.x / 32, lane = threadIdx.x & 31, i = blockIdx.x * 64 + threadIdx.x;
    rows[warp][lane] = word(i);
    list[warp][lane] = 0;
    __syncwarp();
    u32 x = 0;
    for (u32 k = 0; k < 5; ++k) {
        const u32 left = rows[warp][(lane + 31) & 31], right = rows[warp][(lane + 1) & 31];
        __syncwarp();
        rows[warp][lane] = x = left * 3 ^ right;
        __syncwarp();
    }
    const bool chosen = x % 3 != 0;
    const u32 ballot = __ballot_sync(ALL, chosen);
    if (chosen) list[warp][__popc(ballot & ((1u << lane) - 1))] = x;
    __syncwarp();
    u32 turned = 0;
    for (u32 k = 0; k < 32; ++k) turned |= (rows[warp][k] >> lane & 1) << k;
    out[i] = {{x, list[warp][lane], turned}};
}

// 32 keys in registers, sorted by exchanges between lanes.
KERNEL(warp_sort, u32, 128, 1, 128, 0) {
    const u32 lane = threadIdx.x & 31;
    u32 key = word(threadIdx.x);
    for (u32 size = 2; size <= 32; size *= 2)
        for (u32 by = size / 2; by; by /= 2) {
            const u32 other = __shfl_xor_sync(ALL, key, int(by));
            const bool smaller = ((lane & by) == 0) == ((lane & size) == 0);
            key = smaller ? min(key, other) : max(key, other);
        }
    out[threadIdx.x] = key;
}
EXPECT(warp_sort) {
    for (u32 k = 0; k < 128; ++k) {
        u32 at = k;
        for (; at & 31 && want[at - 1] > word(k); --at) want[at] = want[at - 1];
        want[at] = word(k);
    }
}
