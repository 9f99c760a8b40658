// Attention, softmax(Q K^T) V, row by row: a thread has a query, and the block brings keys and
// values tile by tile into dynamic shared memory. Scores of a tile are kept until its maximum is
// known, so that what was summed before is scaled once per tile.
//
//     nvcc -O2 -o attention_rows attention_rows.cu && ./attention_rows 2 300

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

constexpr int HEAD_SIZE = 32;
constexpr int QUERIES = 128; // of a block, one per thread
constexpr int KEYS = 16;     // of a tile

#define CHECK(call)                                                                              \
    do {                                                                                         \
        cudaError_t error = (call);                                                              \
        if (error != cudaSuccess) {                                                              \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(error));       \
            exit(1);                                                                             \
        }                                                                                        \
    } while (0)

__global__ void attention(const float *q, const float *k, const float *v, float *out, int length,
                          float scale) {
    extern __shared__ float shared[];
    float *tile_k = shared, *tile_v = tile_k + KEYS * HEAD_SIZE, *scores = tile_v + KEYS * HEAD_SIZE;
    const size_t head = (size_t)blockIdx.y * length * HEAD_SIZE;
    const int query = blockIdx.x * QUERIES + threadIdx.x;
    float own[HEAD_SIZE], result[HEAD_SIZE];
    for (int d = 0; d < HEAD_SIZE; d++) {
        own[d] = query < length ? q[head + (size_t)query * HEAD_SIZE + d] * scale : 0.0f;
        result[d] = 0.0f;
    }
    float maximum = -INFINITY, sum = 0.0f;
    for (int start = 0; start < length; start += KEYS) {
        const int keys = min(KEYS, length - start);
        for (int e = threadIdx.x; e < keys * HEAD_SIZE; e += QUERIES) {
            tile_k[e] = k[head + (size_t)start * HEAD_SIZE + e];
            tile_v[e] = v[head + (size_t)start * HEAD_SIZE + e];
        }
        __syncthreads();
        float largest = maximum;
        for (int j = 0; j < keys; j++) {
            float score = 0.0f;
#pragma unroll
            for (int d = 0; d < HEAD_SIZE; d++) score += own[d] * tile_k[j * HEAD_SIZE + d];
            scores[j * QUERIES + threadIdx.x] = score;
            largest = fmaxf(largest, score);
        }
        const float rescale = expf(maximum - largest);
        sum *= rescale;
#pragma unroll
        for (int d = 0; d < HEAD_SIZE; d++) result[d] *= rescale;
        for (int j = 0; j < keys; j++) {
            const float weight = expf(scores[j * QUERIES + threadIdx.x] - largest);
            sum += weight;
#pragma unroll
            for (int d = 0; d < HEAD_SIZE; d++) result[d] += weight * tile_v[j * HEAD_SIZE + d];
        }
        maximum = largest;
        __syncthreads();
    }
    if (query < length)
        for (int d = 0; d < HEAD_SIZE; d++)
            out[head + (size_t)query * HEAD_SIZE + d] = result[d] / sum;
}

static void run_attention(const float *q, const float *k, const float *v, float *out, int heads,
                          int length) {
    const size_t bytes = (2 * KEYS * HEAD_SIZE + KEYS * QUERIES) * sizeof(float);
    const dim3 grid((length + QUERIES - 1) / QUERIES, heads);
    attention<<<grid, QUERIES, bytes>>>(q, k, v, out, length, 1.0f / sqrtf((float)HEAD_SIZE));
    CHECK(cudaGetLastError());
}

int main(int argc, char **argv) {
    const int heads = argc > 1 ? atoi(argv[1]) : 2;
    const int length = argc > 2 ? atoi(argv[2]) : 300;
    const size_t count = (size_t)heads * length * HEAD_SIZE, bytes = count * sizeof(float);

    std::vector<float> inputs[3], out(count);
    float *d_inputs[3], *d_out;
    unsigned state = 5;
    for (int which = 0; which < 3; which++) {
        inputs[which].resize(count);
        for (float &value : inputs[which])
            value = ((state = state * 1664525u + 1013904223u) >> 8) * 0x1p-23f - (which < 2);
        CHECK(cudaMalloc(&d_inputs[which], bytes));
        CHECK(cudaMemcpy(d_inputs[which], inputs[which].data(), bytes, cudaMemcpyHostToDevice));
    }
    CHECK(cudaMalloc(&d_out, bytes));

    run_attention(d_inputs[0], d_inputs[1], d_inputs[2], d_out, heads, length);
    CHECK(cudaMemcpy(out.data(), d_out, bytes, cudaMemcpyDeviceToHost));

    bool right = true;
    for (int s = 0; length <= 1024 && s < 20; s++) {
        const int row = s * 7919 % (heads * length), head = row / length;
        const float *query = &inputs[0][(size_t)row * HEAD_SIZE];
        double sum = 0.0, results[HEAD_SIZE] = {};
        for (int j = head * length; j < (head + 1) * length; j++) {
            double score = 0.0;
            for (int d = 0; d < HEAD_SIZE; d++) score += query[d] * inputs[1][j * HEAD_SIZE + d];
            const double weight = exp(score / sqrt(HEAD_SIZE));
            sum += weight;
            for (int d = 0; d < HEAD_SIZE; d++) results[d] += weight * inputs[2][j * HEAD_SIZE + d];
        }
        for (int d = 0; d < HEAD_SIZE; d++)
            right = right && fabs(out[(size_t)row * HEAD_SIZE + d] - results[d] / sum) < 1e-4;
    }
    double sum = 0.0, squares = 0.0;
    for (float value : out) sum += value, squares += (double)value * value;
    printf("%d heads of %d: sum %.5e, squares %.5e\n", heads, length, sum, squares);
    printf("%s\n", right ? "PASS" : "FAIL");
    for (float *pointer : d_inputs) CHECK(cudaFree(pointer));
    CHECK(cudaFree(d_out));
    return right ? 0 : 1;
}
