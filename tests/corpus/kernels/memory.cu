// State spaces and addresses: local arrays, constants, vectors, structures, textures, odd grids.
#include "kernels.h"

BOTH(local_histograms, Words<20>, 300) {
    u16 counts[64] = {};
    for (u32 k = 0; k < 80; ++k) ++counts[word(i, k) >> (k & 3) & 63];
    Words<20> r;
    for (u32 k = 0; k < 20; ++k) r.at[k] = counts[k * 3] | u32(counts[k * 3 + 1]) << 16;
    return r;
}

// More live values than registers.
BOTH(many_registers, Words<8>, 300) {
    u32 x[96];
#pragma unroll
    for (u32 k = 0; k < 96; ++k) x[k] = i * (2 * k + 1) + k;
#pragma unroll 1
    for (u32 round = 0; round < 3; ++round) {
#pragma unroll
        for (u32 k = 0; k < 96; ++k) x[k] = (x[(k + 37) % 96] ^ x[k] >> 3) + x[(k * 5 + 1) % 96];
    }
    Words<8> r = {};
#pragma unroll
    for (u32 k = 0; k < 96; ++k) r.at[k & 7] += x[k] * (k | 1);
    return r;
}

struct Particle {
    float4 position;
    double mass;
    s16 charge;
    u8 kind;
    bool alive;
    union {
        u32 word;
        u8 bytes[4];
        float number;
    };
};
__host__ __device__ __noinline__ Particle moved(Particle p, float by) {
    p.position.x += by, p.position.w -= by;
    p.mass *= 2;
    p.charge = s16(p.charge - 5);
    p.bytes[1] ^= p.kind;
    p.alive = !p.alive;
    return p;
}
BOTH(structures, Words<8>, 500) {
    Particle p[3];
    for (u32 k = 0; k < 3; ++k) {
        p[k] = {{float(i), 2, float(k), 4},
                double(i) + 0.5,
                s16(word(i, k)),
                u8(k * 50),
                (i & 1) != 0,
                {word(i, k + 9)}};
        p[k] = moved(p[k], 0.25f * float(k));
    }
    const Particle q = moved(p[word(i) % 3], 1);
    return {{bits(q.position.x), bits(q.position.w), u32(bits(q.mass) >> 32), u32(q.charge), q.kind,
             q.alive, q.word, q.bytes[3] + u32(sizeof q) + bits(p[2].number)}};
}

// Loads and stores of whole vectors.
struct Vectors {
    float4 a;
    double2 b;
    uint2 c;
    char4 d;
    short2 e;
    uchar2 f;
    u8 g, h;
    u16 k, rest[5];
};
static __device__ Vectors vectors[100];
KERNEL(vector_types, Vectors, 100, 1, 100, 0) {
    const u32 i = threadIdx.x;
    Vectors v = {};
    v.a = make_float4(float(i), -1, 0.5f, float(i * i));
    v.b = make_double2(double(i) * 0.1, 1.0 / (i + 1));
    v.c = make_uint2(word(i), i);
    v.d = make_char4(s8(i), s8(-i), s8(i * 3), 7);
    v.e = make_short2(s16(word(i, 1)), s16(i));
    v.f = make_uchar2(u8(word(i, 2)), u8(i));
    v.g = u8(i + 1), v.h = 9, v.k = u16(i * 700);
    vectors[i] = v;
    __syncthreads();
    Vectors w = vectors[(i * 7 + 3) % 100];
    const float4 other = *(volatile float *)&vectors[i].a.x > 50 ? vectors[99 - i].a : vectors[i].a;
    w.a.y += other.w, w.a.z *= other.x;
    w.d.x = s8(w.d.x + w.d.y), w.e.y = s16(w.e.y * w.e.x), w.f.x ^= w.f.y;
    out[i] = w;
}

KERNEL(device_memcpy, Words<16>, 96, 3, 32, 0) {
    const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    u8 from[80], to[80];
    for (u32 k = 0; k < 80; ++k) from[k] = u8(word(i, k));
    memset(to, 0xa5, sizeof to);
    memcpy(to + 3, from + i % 7, 11 + i % 40);
    memcpy(to + 60, from + 60, 16);
    memset(to + i % 13, int(i), i % 9);
    memcpy(out[i].at, to + 8, 64);
}
EXPECT(device_memcpy) {
    for (u32 i = 0; i < 96; ++i) {
        u8 from[80], to[80];
        for (u32 k = 0; k < 80; ++k) from[k] = u8(word(i, k));
        memset(to, 0xa5, sizeof to);
        memcpy(to + 3, from + i % 7, 11 + i % 40);
        memcpy(to + 60, from + 60, 16);
        memset(to + i % 13, int(i), i % 9);
        memcpy(want[i].at, to + 8, 64);
    }
}

static __constant__ float weights[5][7] = {
    {1, 2, 3}, {0.5f, 0.25f}, {-1, -2, -3, -4, -5, -6, -7}, {9}, {0, 1, 0, 1, 0, 1, 0}};
static __constant__ short steps[16] = {1, -2,  3,  -4,  5,  -6,  7,  -8,
                                       9, -10, 11, -12, 13, -14, 15, -16};
static __device__ const char *names[] = {"alpha", "beta", "gamma", "delta"};
static __device__ u32 counters[3] = {100, 200};
KERNEL(constants, Words<4>, 200, 4, 50, 0) {
    const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    s32 walk = 0;
    for (u32 k = 0; k < 7; ++k) sum = fmaf(weights[(i + k) % 5][k], float(k + 1), sum);
    for (u32 k = 0; k < i % 16; ++k) walk += steps[(k * 3 + i) & 15];
    const char *name = names[i & 3];
    u32 text = 0;
    while (*name) text = text * 31 + u8(*name++);
    out[i] = {{bits(sum), u32(walk), text, counters[i % 3]}};
}

#pragma pack(push, 1)
struct Packed {
    u8 a;
    u32 b;
    u16 c;
    u64 d;
};
#pragma pack(pop)
BOTH(packed_structures, Longs<2>, 400) {
    Packed p[4];
    for (u32 k = 0; k < 4; ++k) {
        p[k].a = u8(i + k);
        p[k].b = word(i, k);
        p[k].c = u16(word(i, k + 4));
        p[k].d = word64(i, k + 8);
    }
    u64 sum = 0;
    for (u32 k = 0; k < 4; ++k)
        sum = sum * 3 + p[(i + k) % 4].b + p[k].a * p[k].c + p[(k * i) % 4].d;
    const u8 *raw = (const u8 *)p;
    u64 hash = 14695981039346656037ull;
    for (u32 k = 0; k < sizeof p; ++k) hash = (hash ^ raw[k]) * 1099511628211ull;
    return {{sum, hash}};
}

// Grids and blocks of three odd dimensions, and what the built-ins say in them.
KERNEL(three_dimensions, Words<4>, 3 * 5 * 2 * 7 * 3 * 5, dim3(3, 5, 2), dim3(7, 3, 5), 0) {
    const u32 thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    const u32 block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    const u32 x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y,
              z = blockIdx.z * blockDim.z + threadIdx.z;
    const u32 place = (z * gridDim.y * blockDim.y + y) * gridDim.x * blockDim.x + x;
    out[place] = {{block, thread, x | y << 8 | z << 16, thread & 31}};
}
EXPECT(three_dimensions) {
    for (u32 p = 0; p < 3150; ++p) {
        const u32 x = p % 21, y = p / 21 % 15, z = p / 315,
                  thread = (z % 5 * 3 + y % 3) * 7 + x % 7;
        want[p] = {{(z / 5 * 5 + y / 3) * 3 + x / 7, thread, x | y << 8 | z << 16, thread & 31}};
    }
}

// Loops over the grid, a volatile value and a read-only pointer.
static __device__ u32 numbers[777];
KERNEL(grid_stride, u32, 777, 3, 64, 0) {
    for (u32 k = blockIdx.x * blockDim.x + threadIdx.x; k < 777; k += gridDim.x * blockDim.x) {
        volatile u32 *place = &numbers[k];
        *place = word(k);
        *place = *place ^ k;
        out[k] = *place + __ldg(&counters[1]);
    }
}
EXPECT(grid_stride) {
    for (u32 k = 0; k < 777; ++k) want[k] = (word(k) ^ k) + 200;
}

// A pointer that is made of several spaces.
static __device__ u32 apart[64];
KERNEL(generic_addresses, u32, 128, 2, 64, 0) {
    __shared__ u32 tile[64];
    u32 own[8];
    const u32 t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    for (u32 k = 0; k < 8; ++k) own[k] = i * 10 + k;
    tile[t] = i + 5000;
    if (blockIdx.x == 0) apart[t] = t + 9000;
    __syncthreads();
    const u32 way = word(i) % (blockIdx.x ? 2 : 3);
    const u32 *from = way == 0 ? &own[t % 5] : way == 1 ? &tile[t ^ 1] : &apart[t];
    out[i] =
        from[0] + __isShared(from) * 100000 + __isLocal(from) * 200000 + __isGlobal(from) * 400000;
}
EXPECT(generic_addresses) {
    for (u32 i = 0; i < 128; ++i) {
        const u32 way = word(i) % (i < 64 ? 3 : 2);
        want[i] = way == 0   ? i * 10 + i % 64 % 5 + 200000
                  : way == 1 ? (i ^ 1) + 105000
                             : i + 409000;
    }
}

static cudaTextureObject_t sampled(const cudaResourceDesc &resource, cudaTextureAddressMode mode,
                                   bool normalized = false) {
    cudaTextureDesc reading = {};
    for (int k = 0; k < 3; ++k) reading.addressMode[k] = mode;
    reading.filterMode = cudaFilterModePoint;
    reading.readMode = cudaReadModeElementType;
    reading.normalizedCoords = normalized;
    cudaTextureObject_t texture;
    succeed(cudaCreateTextureObject(&texture, &resource, &reading, nullptr), "texture");
    return texture;
}
// W by H elements of an array: number k is word(k).
template <class T> cudaResourceDesc picture(u32 width, u32 height, u32 flags = 0) {
    std::vector<T> texels(width * height);
    for (u32 k = 0; k < texels.size() * sizeof(T) / 4; ++k) ((u32 *)texels.data())[k] = word(k);
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    const cudaChannelFormatDesc format = cudaCreateChannelDesc<T>();
    succeed(cudaMallocArray(&resource.res.array.array, &format, width, height, flags), "array");
    succeed(cudaMemcpy2DToArray(resource.res.array.array, 0, 0, texels.data(), width * sizeof(T),
                                width * sizeof(T), height, cudaMemcpyHostToDevice),
            "array");
    return resource;
}
static __constant__ cudaTextureObject_t texture_objects[6];
KERNEL(textures, Words<6>, 256, 4, 64, 0) {
    const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    const float x = float(s32(i % 32) - 8) + 0.5f, y = float(s32(i / 32) - 2) + 0.5f;
    const uint4 a = tex2D<uint4>(texture_objects[0], x, y);
    const u32 b = tex2D<u32>(texture_objects[1], x, y);
    const u32 c = tex2D<u32>(texture_objects[2], (x - 0.25f) / 16, (y + 0.125f) / 4);
    const u32 d = tex2D<u32>(texture_objects[3], (x + 0.125f) / 16, (y - 0.25f) / 4);
    out[i] = {{a.x ^ a.z, a.y + a.w, b, c, d, tex1Dfetch<u32>(texture_objects[4], int(i))}};
}
PREPARE(textures) {
    cudaTextureObject_t t[6] = {};
    t[0] = sampled(picture<uint4>(16, 4), cudaAddressModeClamp);
    t[1] = sampled(picture<u32>(16, 4), cudaAddressModeBorder);
    t[2] = sampled(picture<u32>(16, 4), cudaAddressModeWrap, true);
    t[3] = sampled(picture<u32>(16, 4), cudaAddressModeMirror, true);
    u32 line[256];
    for (u32 k = 0; k < 256; ++k) line[k] = word(k, 3);
    cudaResourceDesc linear = {};
    linear.resType = cudaResourceTypeLinear;
    linear.res.linear.desc = cudaCreateChannelDesc<u32>();
    linear.res.linear.sizeInBytes = sizeof line;
    succeed(cudaMalloc(&linear.res.linear.devPtr, sizeof line), "line");
    succeed(cudaMemcpy(linear.res.linear.devPtr, line, sizeof line, cudaMemcpyHostToDevice),
            "line");
    t[4] = sampled(linear, cudaAddressModeClamp);
    succeed(cudaMemcpyToSymbol(texture_objects, t, sizeof t), "objects");
}
EXPECT(textures) {
    const auto in = [](s32 x, s32 n) { return x < 0 ? 0 : x < n ? x : n - 1; };
    const auto mirrored = [](s32 x, s32 n) {
        return (x & n) ? n - 1 - (x & (n - 1)) : x & (n - 1);
    };
    for (u32 i = 0; i < 256; ++i) {
        const s32 x = s32(i % 32) - 8, y = s32(i / 32) - 2;
        const u32 at = u32(in(y, 4) * 16 + in(x, 16)) * 4;
        const bool inside = x >= 0 && x < 16 && y >= 0 && y < 4;
        want[i] = {{word(at) ^ word(at + 2), word(at + 1) + word(at + 3),
                    inside ? word(u32(y * 16 + x)) : 0, word(u32((y & 3) * 16 + (x & 15))),
                    word(u32(mirrored(y, 4) * 16 + mirrored(x, 16))), word(i, 3)}};
    }
}

// A surface is turned by a quarter, through a layer of threads each.
static __constant__ cudaSurfaceObject_t surfaces[2];
KERNEL(surface_rotation, u32, 16 * 16, dim3(2, 2), dim3(8, 8), 0) {
    const int x = int(blockIdx.x * 8 + threadIdx.x), y = int(blockIdx.y * 8 + threadIdx.y);
    const u32 value = surf2Dread<u32>(surfaces[0], x * 4, y);
    surf2Dwrite(value ^ u32(x), surfaces[1], (15 - y) * 4, x);
    const u32 outside = surf2Dread<u32>(surfaces[0], (x + 8) * 4, y, cudaBoundaryModeZero);
    out[y * 16 + x] = surf2Dread<u32>(surfaces[1], (15 - y) * 4, x) + outside;
}
PREPARE(surface_rotation) {
    cudaSurfaceObject_t s[2];
    for (auto &surface : s) {
        const cudaResourceDesc resource = picture<u32>(16, 16, cudaArraySurfaceLoadStore);
        succeed(cudaCreateSurfaceObject(&surface, &resource), "surface");
    }
    succeed(cudaMemcpyToSymbol(surfaces, s, sizeof s), "surfaces");
}
EXPECT(surface_rotation) {
    for (u32 k = 0; k < 256; ++k) want[k] = (word(k) ^ (k & 15)) + ((k & 15) < 8 ? word(k + 8) : 0);
}
