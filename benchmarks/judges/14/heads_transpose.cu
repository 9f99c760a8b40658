// Attention: keys of 4 sequences of n tokens, 16 heads and 64 numbers, from the order sequence,
// token, head, number to sequence, head, number, token.
//
//     nvcc -O2 -o heads_transpose heads_transpose.cu && ./heads_transpose 1700

#include "../host.h"

#define SEQUENCES 4
#define HEADS 16
#define DIM 64

__global__ void transpose_heads(const float *__restrict__ in, float *__restrict__ out, int tokens,
                                int heads, int dim) {
    const int token = blockIdx.x * blockDim.x + threadIdx.x;
    const int d = blockIdx.y * blockDim.y + threadIdx.y;
    const int sequence = blockIdx.z / heads, head = blockIdx.z % heads;
    if (token >= tokens || d >= dim) return;
    out[((size_t)blockIdx.z * dim + d) * tokens + token] =
        in[(((size_t)sequence * tokens + token) * heads + head) * dim + d];
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 16, 100000);
    const size_t count = (size_t)SEQUENCES * n * HEADS * DIM;
    const std::vector<float> in = quick_values(count, 161);
    const float *d_in = to_device(in);
    float *d_out = device_zeros<float>(count);

    dim3 block(32, 8);
    dim3 grid((n + block.x - 1) / block.x, (DIM + block.y - 1) / block.y, SEQUENCES * HEADS);
    transpose_heads<<<grid, block>>>(d_in, d_out, n, HEADS, DIM);
    finish_launches();

    const std::vector<float> out = from_device(d_out, count);
    return verdict(sampled_error(out, [&](size_t e) {
        const size_t token = e % n, d = e / n % DIM, head = e / n / DIM % HEADS;
        const size_t sequence = e / n / DIM / HEADS;
        return in[((sequence * n + token) * HEADS + head) * DIM + d];
    }));
}
