// Random numbers, checksums, hashes and ciphers, as programs for GPUs have them.
#include <random>

#include "kernels.h"

HD u32 rotated(u32 x, u32 n) { return x << n | x >> (32 - n); }
HD u64 rotated64(u64 x, u32 n) { return x << n | x >> (64 - n); }

BOTH(shift_register_generators, Longs<4>, 500) {
    u32 a = word(i) | 1;
    u64 b = word64(i) | 1, c[2] = {word64(i, 1), word64(i, 2) | 1}, d = word64(i, 3);
    u64 star = 0, plus = 0, mixed = 0;
    for (int k = 0; k < 40; ++k) {
        a ^= a << 13, a ^= a >> 17, a ^= a << 5;
        b ^= b >> 12, b ^= b << 25, b ^= b >> 27;
        star += b * 0x2545f4914f6cdd1dull;
        const u64 x = c[0], y = c[1] ^ x;
        plus ^= x + c[1];
        c[0] = rotated64(x, 24) ^ y ^ y << 16;
        c[1] = rotated64(y, 37);
        u64 z = d += 0x9e3779b97f4a7c15ull;
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
        z = (z ^ z >> 27) * 0x94d049bb133111ebull;
        mixed += z ^ z >> 31;
    }
    return {{a, star, plus, mixed}};
}

BOTH(permuted_congruential, Words<4>, 500) {
    u64 state = word64(i);
    Words<4> r = {};
    for (int k = 0; k < 32; ++k) {
        const u64 old = state;
        state = old * 6364136223846793005ull + (2 * i + 1);
        const u32 shifted = u32((old >> 18 ^ old) >> 27), by = u32(old >> 59);
        r.at[k & 3] ^= shifted >> by | shifted << (-by & 31);
    }
    return r;
}

BOTH(philox, Words<4>, 1000) {
    u32 c[4] = {i, i * 3, 0, 7}, key[2] = {0xdeadbeef, 0x12345678};
    for (int round = 0; round < 10; ++round) {
        const u64 x = u64(0xd2511f53) * c[0], y = u64(0xcd9e8d57) * c[2];
        const u32 next[4] = {u32(y >> 32) ^ c[1] ^ key[0], u32(y), u32(x >> 32) ^ c[3] ^ key[1],
                             u32(x)};
        for (int k = 0; k < 4; ++k) c[k] = next[k];
        key[0] += 0x9e3779b9, key[1] += 0xbb67ae85;
    }
    return {{c[0], c[1], c[2], c[3]}};
}

// The whole state of 624 words in local memory.
KERNEL(mersenne_twister, Words<32>, 40, 2, 20, 0) {
    u32 state[624];
    const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    state[0] = 5489 + i;
    for (u32 k = 1; k < 624; ++k) state[k] = 1812433253u * (state[k - 1] ^ state[k - 1] >> 30) + k;
    for (u32 k = 0; k < 624; ++k) {
        const u32 y = (state[k] & 0x80000000) | (state[(k + 1) % 624] & 0x7fffffff);
        state[k] = state[(k + 397) % 624] ^ y >> 1 ^ (y & 1 ? 0x9908b0df : 0);
    }
    for (u32 k = 0; k < 32; ++k) {
        u32 y = state[k * 19 % 624];
        y ^= y >> 11;
        y ^= y << 7 & 0x9d2c5680;
        y ^= y << 15 & 0xefc60000;
        out[i].at[k] = y ^ y >> 18;
    }
}
EXPECT(mersenne_twister) {
    for (u32 i = 0; i < 40; ++i) {
        std::mt19937 generator(5489 + i);
        u32 numbers[624];
        for (u32 &n : numbers) n = u32(generator());
        for (u32 k = 0; k < 32; ++k) want[i].at[k] = numbers[k * 19 % 624];
    }
}

static __constant__ u32 crc_table[256];
HD u8 message_byte(u32 i, u32 k) { return u8(word(i, k >> 2) >> 8 * (k & 3)); }
KERNEL(crc_by_table, u32, 700, 7, 100, 0) {
    const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    u32 crc = ~0u;
    for (u32 k = 0; k < i % 61; ++k) crc = crc_table[(crc ^ message_byte(i, k)) & 255] ^ crc >> 8;
    out[i] = ~crc;
}
HD u32 crc_of_byte(u32 crc) {
    for (int k = 0; k < 8; ++k) crc = crc & 1 ? crc >> 1 ^ 0xedb88320 : crc >> 1;
    return crc;
}
PREPARE(crc_by_table) {
    u32 table[256];
    for (u32 k = 0; k < 256; ++k) table[k] = crc_of_byte(k);
    succeed(cudaMemcpyToSymbol(crc_table, table, sizeof table), "table");
}
EXPECT(crc_by_table) {
    for (u32 i = 0; i < 700; ++i) {
        u32 crc = ~0u;
        for (u32 k = 0; k < i % 61; ++k) crc = crc_of_byte(crc ^ message_byte(i, k));
        want[i] = ~crc;
    }
}

// 64 bits by bits, from the top.
BOTH(crc_by_bits, u64, 500) {
    u64 crc = 0;
    for (u32 k = 0; k < 16 + i % 5; ++k) {
        crc ^= u64(message_byte(i, k)) << 56;
        for (int bit = 0; bit < 8; ++bit)
            crc = s64(crc) < 0 ? crc << 1 ^ 0x42f0e1eba9ea3693ull : crc << 1;
    }
    return crc;
}

BOTH(byte_hashes, Words<4>, 500) {
    u32 fnv = 2166136261u, jenkins = 0, low = 1, high = 0, djb = 5381;
    for (u32 k = 0; k < i % 29; ++k) {
        const u8 byte = message_byte(i, k);
        fnv = (fnv ^ byte) * 16777619u;
        jenkins += byte, jenkins += jenkins << 10, jenkins ^= jenkins >> 6;
        low = (low + byte) % 65521, high = (high + low) % 65521;
        djb = djb * 33 ^ byte;
    }
    return {{fnv, jenkins, high << 16 | low, djb}};
}

BOTH(murmur, u32, 1000) {
    const u32 n = i % 23;
    u32 h = 0x9747b28c;
    for (u32 k = 0; k < n / 4; ++k)
        h = rotated(h ^ rotated(word(i, k) * 0xcc9e2d51, 15) * 0x1b873593, 13) * 5 + 0xe6546b64;
    u32 tail = 0;
    switch (n & 3) {
    case 3: tail ^= message_byte(i, n - 1) << 16; [[fallthrough]];
    case 2: tail ^= message_byte(i, (n & ~3u) + 1) << 8; [[fallthrough]];
    case 1: tail ^= message_byte(i, n & ~3u), h ^= rotated(tail * 0xcc9e2d51, 15) * 0x1b873593;
    }
    h ^= n, h ^= h >> 16, h *= 0x85ebca6b, h ^= h >> 13, h *= 0xc2b2ae35;
    return h ^ h >> 16;
}

struct Sip {
    u64 v[4];
    HD void round() {
        v[0] += v[1], v[1] = rotated64(v[1], 13) ^ v[0], v[0] = rotated64(v[0], 32);
        v[2] += v[3], v[3] = rotated64(v[3], 16) ^ v[2];
        v[0] += v[3], v[3] = rotated64(v[3], 21) ^ v[0];
        v[2] += v[1], v[1] = rotated64(v[1], 17) ^ v[2], v[2] = rotated64(v[2], 32);
    }
};
BOTH(sip_hash, u64, 1000) {
    const u64 a = word64(i, 1), b = word64(i, 2);
    Sip s = {{a ^ 0x736f6d6570736575ull, b ^ 0x646f72616e646f6dull, a ^ 0x6c7967656e657261ull,
              b ^ 0x7465646279746573ull}};
    for (u32 k = 0; k < 4; ++k) {
        const u64 m = k < 3 ? word64(i, 3 + k) : 24ull << 56;
        s.v[3] ^= m;
        s.round(), s.round();
        s.v[0] ^= m;
    }
    s.v[2] ^= 255;
    for (int k = 0; k < 4; ++k) s.round();
    return s.v[0] ^ s.v[1] ^ s.v[2] ^ s.v[3];
}

// The constants are the fractions of roots of primes, in integer arithmetic.
HD u32 root_of_prime(u32 p, u32 degree) {
    u64 root = 0;
    for (u64 bit = 1ull << 35; bit; bit >>= 1) {
        const u128 x = root | bit, cube = x * x * x;
        if (degree == 2 ? x * x <= u128(p) << 64 : cube <= u128(p) << 96) root |= bit;
    }
    return u32(root);
}
static __constant__ u32 sha_constants[72];
HD void sha256(const u32 *table, const u32 *message, u32 *digest) {
    u32 w[16], s[8];
    for (int k = 0; k < 16; ++k) w[k] = message[k];
    for (int k = 0; k < 8; ++k) s[k] = table[64 + k];
#pragma unroll 1
    for (int k = 0; k < 64; ++k) {
        if (k >= 16) {
            const u32 x = w[(k + 1) & 15], y = w[(k + 14) & 15];
            w[k & 15] += w[(k + 9) & 15] + (rotated(x, 25) ^ rotated(x, 14) ^ x >> 3) +
                         (rotated(y, 15) ^ rotated(y, 13) ^ y >> 10);
        }
        const u32 t = s[7] + (rotated(s[4], 26) ^ rotated(s[4], 21) ^ rotated(s[4], 7)) +
                      ((s[4] & s[5]) ^ (~s[4] & s[6])) + table[k] + w[k & 15];
        const u32 u = (rotated(s[0], 30) ^ rotated(s[0], 19) ^ rotated(s[0], 10)) +
                      ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
        for (int j = 7; j; --j) s[j] = s[j - 1];
        s[4] += t;
        s[0] = t + u;
    }
    for (int k = 0; k < 8; ++k) digest[k] = s[k] + table[64 + k];
}
static void sha_table(u32 *table) {
    for (u32 p = 2, n = 0; n < 64; ++p) {
        bool prime = true;
        for (u32 d = 2; d * d <= p; ++d) prime &= p % d != 0;
        if (!prime) continue;
        if (n < 8) table[64 + n] = root_of_prime(p, 2);
        table[n++] = root_of_prime(p, 3);
    }
}
HD void sha_message(u32 i, u32 *m) {
    for (u32 k = 0; k < 16; ++k) m[k] = i ? word(i, k) : k == 0 ? 0x61626380 : k == 15 ? 24 : 0;
}
KERNEL(sha_256, Words<8>, 200, 2, 100, 0) {
    const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    u32 m[16];
    sha_message(i, m);
    sha256(sha_constants, m, out[i].at);
}
PREPARE(sha_256) {
    u32 table[72];
    sha_table(table);
    succeed(cudaMemcpyToSymbol(sha_constants, table, sizeof table), "table");
}
EXPECT(sha_256) {
    u32 table[72], m[16];
    sha_table(table);
    for (u32 i = 0; i < 200; ++i) sha_message(i, m), sha256(table, m, want[i].at);
    want[0] = {{0xba7816bf, 0x8f01cfea, 0x414140de, 0x5dae2223, 0xb00361a3, 0x96177a9c, 0xb410ff61,
                0xf20015ad}};
}

BOTH(cha_cha, Words<16>, 300) {
    u32 x[16] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574}, y[16];
    for (u32 k = 4; k < 16; ++k) x[k] = word(k);
    x[12] = i;
    for (int k = 0; k < 16; ++k) y[k] = x[k];
#pragma unroll 1
    for (int round = 0; round < 10; ++round)
#pragma unroll
        for (int k = 0; k < 8; ++k) {
            const int s = k / 4, a = k & 3, b = 4 + (k + s & 3), c = 8 + (k + 2 * s & 3),
                      d = 12 + (k + 3 * s & 3);
            y[a] += y[b], y[d] = rotated(y[d] ^ y[a], 16), y[c] += y[d],
                          y[b] = rotated(y[b] ^ y[c], 12);
            y[a] += y[b], y[d] = rotated(y[d] ^ y[a], 8), y[c] += y[d],
                          y[b] = rotated(y[b] ^ y[c], 7);
        }
    Words<16> r;
    for (int k = 0; k < 16; ++k) r.at[k] = x[k] + y[k];
    return r;
}

BOTH(keccak, Longs<25>, 60) {
    u64 a[25];
    for (u32 k = 0; k < 25; ++k) a[k] = word64(i, k);
    u32 shifter = 1;
#pragma unroll 1
    for (int round = 0; round < 24; ++round) {
        u64 c[5], b[25];
        for (int x = 0; x < 5; ++x) c[x] = a[x] ^ a[x + 5] ^ a[x + 10] ^ a[x + 15] ^ a[x + 20];
        for (int k = 0; k < 25; ++k) a[k] ^= c[(k + 4) % 5] ^ rotated64(c[(k + 1) % 5], 1);
        u32 x = 1, y = 0;
        b[0] = a[0];
#pragma unroll 1
        for (u32 t = 1; t < 25; ++t) {
            const u32 by = t * (t + 1) / 2 & 63, nx = y, ny = (2 * x + 3 * y) % 5;
            b[nx + 5 * ny] = by ? rotated64(a[x + 5 * y], by) : a[x + 5 * y];
            x = nx, y = ny;
        }
        for (int k = 0; k < 25; ++k)
            a[k] = b[k] ^ (~b[k / 5 * 5 + (k + 1) % 5] & b[k / 5 * 5 + (k + 2) % 5]);
        for (u32 k = 0; k < 7; ++k) {
            if (shifter & 1) a[0] ^= 1ull << ((1u << k) - 1);
            shifter = shifter << 1 ^ (shifter >> 7) * 0x171;
        }
    }
    Longs<25> r;
    memcpy(&r, a, sizeof a);
    return r;
}

// AES-128: a block makes the substitution box in shared memory, then each thread encrypts.
HD u8 times_two(u8 x) { return u8(x << 1 ^ (x >> 7) * 0x1b); }
HD u8 substituted(u8 x) {
    u8 inverse = 1, power = x;  // x to the 254
    for (int e = 254; e; e >>= 1) {
        for (int step = 0; step < 2; ++step) {
            u8 product = 0, factor = step ? power : inverse;
            if (step == 0 && !(e & 1)) continue;
            for (u8 y = power; y; y >>= 1, factor = times_two(factor))
                product ^= y & 1 ? factor : 0;
            (step ? power : inverse) = product;
        }
    }
    const u8 b = inverse;
    return b ^ u8(b << 1 | b >> 7) ^ u8(b << 2 | b >> 6) ^ u8(b << 3 | b >> 5) ^
           u8(b << 4 | b >> 4) ^ 0x63;
}
HD void encrypt(const u8 *box, u8 *x, u8 *key) {
    u8 round_constant = 1;
    for (int k = 0; k < 16; ++k) x[k] ^= key[k];
#pragma unroll 1
    for (int round = 1; round <= 10; ++round) {
        u8 y[16];
        for (int k = 0; k < 16; ++k) y[k] = box[x[(k + k % 4 * 4) % 16]];
        for (int c = 0; c < 16; c += 4) {
            const u8 all = y[c] ^ y[c + 1] ^ y[c + 2] ^ y[c + 3];
            for (int k = 0; k < 4; ++k)
                x[c + k] = round == 10
                               ? y[c + k]
                               : u8(y[c + k] ^ all ^ times_two(y[c + k] ^ y[c + (k + 1) % 4]));
        }
        for (int k = 0; k < 16; ++k) {
            if (k < 4)
                key[k] ^= box[key[12 + (k + 1) % 4]] ^ (k ? 0 : round_constant);
            else
                key[k] ^= key[k - 4];
        }
        round_constant = times_two(round_constant);
        for (int k = 0; k < 16; ++k) x[k] ^= key[k];
    }
}
struct Block {
    u8 at[16];
};
HD void example_or_words(u32 i, Block *x, Block *key) {
    for (u32 k = 0; k < 16; ++k) {
        x->at[k] = i ? message_byte(i, k) : u8(k * 0x11);
        key->at[k] = i ? message_byte(i, 40 + k) : u8(k);
    }
}
KERNEL(advanced_encryption, Block, 256, 1, 256, 256) {
    extern __shared__ u8 box[];
    box[threadIdx.x] = substituted(u8(threadIdx.x));
    __syncthreads();
    Block x, key;
    example_or_words(threadIdx.x, &x, &key);
    encrypt(box, x.at, key.at);
    out[threadIdx.x] = x;
}
EXPECT(advanced_encryption) {
    u8 box[256];
    for (u32 k = 0; k < 256; ++k) box[k] = substituted(u8(k));
    for (u32 i = 0; i < 256; ++i) {
        Block key;
        example_or_words(i, &want[i], &key);
        encrypt(box, want[i].at, key.at);
    }
    // FIPS 197, appendix C.1
    want[0] = {{0x69, 0xc4, 0xe0, 0xd8, 0x6a, 0x7b, 0x04, 0x30, 0xd8, 0xcd, 0xb7, 0x80, 0x70, 0xb4,
                0xc5, 0x5a}};
}
