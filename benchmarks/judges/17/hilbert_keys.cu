// Spatial indexing: the places of n points along Hilbert's curve through a cube of 2^20 cells a
// side, after Skilling: 20 rounds of exchanges and inversions, then 60 bits from three
// coordinates.
//
//     nvcc -O2 -o hilbert_keys hilbert_keys.cu && ./hilbert_keys 5000000

#include "repeated.h"

typedef unsigned long long Key;

template <int AXES, int BITS>
__host__ __device__ inline Key hilbert_key(unsigned (&x)[AXES]) {
    for (unsigned bit = 1u << (BITS - 1); bit > 1; bit >>= 1) {
        const unsigned lower = bit - 1;
        for (int axis = 0; axis < AXES; axis++) {
            if (x[axis] & bit) {
                x[0] ^= lower;
            } else {
                const unsigned exchange = (x[0] ^ x[axis]) & lower;
                x[0] ^= exchange;
                x[axis] ^= exchange;
            }
        }
    }
    for (int axis = 1; axis < AXES; axis++) x[axis] ^= x[axis - 1];
    unsigned flips = 0;
    for (unsigned bit = 1u << (BITS - 1); bit > 1; bit >>= 1)
        if (x[AXES - 1] & bit) flips ^= bit - 1;
    Key key = 0;
    for (int b = BITS - 1; b >= 0; b--)
        for (int axis = 0; axis < AXES; axis++) key = key << 1 | ((x[axis] ^ flips) >> b & 1);
    return key;
}

struct Box {
    float low[3], scale[3];
};

template <int BITS>
__host__ __device__ inline Key key_of(const float *point, const Box &box) {
    unsigned cell[3];
    for (int axis = 0; axis < 3; axis++)
        cell[axis] = (unsigned)((point[axis] - box.low[axis]) * box.scale[axis]);
    return hilbert_key<3, BITS>(cell);
}

template <int BITS>
__global__ void assign_keys(const float3 *__restrict__ points, Key *__restrict__ keys, Box box,
                            int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float3 p = points[i];
    const float point[3] = {p.x, p.y, p.z};
    keys[i] = key_of<BITS>(point, box);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 1000, 300000000);
    const int bits = 20;
    const size_t made = piece_of(n, 1 << 20);
    const std::vector<float> points = quick_values(3 * made, 81);
    // A power of two, so that host and device round alike.
    const float scale = (float)(1 << bits);
    const Box box = {{0.0f, 0.0f, 0.0f}, {scale, scale, scale}};
    const float *d_points = repeated_on_device(points, 3 * (size_t)n);
    Key *d_keys = device_zeros<Key>(n);

    const int threads = 512;
    assign_keys<bits><<<(n + threads - 1) / threads, threads>>>((const float3 *)d_points, d_keys,
                                                                box, n);
    finish_launches();

    // All bits of a key have to be right.
    const std::vector<Key> keys = from_device(d_keys, n);
    return verdict(sampled_error(keys, [&](size_t i) {
        return keys[i] == key_of<bits>(&points[i % made * 3], box) ? (double)keys[i] : -1e30;
    }));
}
