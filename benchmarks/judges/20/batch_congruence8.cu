// Tracking filters: for each of n small systems the covariance P becomes A P A', all 8 x 8. A
// block does four of them, with both matrices and what is between in shared memory.
//
//     nvcc -O2 -o batch_congruence8 batch_congruence8.cu && ./batch_congruence8 20000

#include "../host.h"

#define SIZE 8

template <int SYSTEMS>
__global__ void carry_forward(const float *__restrict__ models, const float *__restrict__ before,
                              float *__restrict__ after, int n) {
    __shared__ float a[SYSTEMS][SIZE][SIZE], p[SYSTEMS][SIZE][SIZE], ap[SYSTEMS][SIZE][SIZE + 1];
    const int column = threadIdx.x, row = threadIdx.y, slot = threadIdx.z;
    const int system = blockIdx.x * SYSTEMS + slot;
    const size_t at = ((size_t)system * SIZE + row) * SIZE + column;
    if (system < n) {
        a[slot][row][column] = models[at];
        p[slot][row][column] = before[at];
    }
    __syncthreads();
    if (system < n) {
        float sum = 0.0f;
        for (int k = 0; k < SIZE; k++) sum += a[slot][row][k] * p[slot][k][column];
        ap[slot][row][column] = sum;
    }
    __syncthreads();
    if (system < n) {
        float sum = 0.0f;
        for (int k = 0; k < SIZE; k++) sum += ap[slot][row][k] * a[slot][column][k];
        after[at] = sum;
    }
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 50, 8000000);
    const size_t count = (size_t)n * SIZE * SIZE;
    std::vector<float> models = quick_values(count, 2231);
    for (float &value : models) value -= 0.3f;
    const std::vector<float> before = quick_values(count, 2232);
    const float *d_models = to_device(models), *d_before = to_device(before);
    float *d_after = device_zeros<float>(count);

    constexpr int systems = 4;
    dim3 block(SIZE, SIZE, systems);
    carry_forward<systems><<<(n + systems - 1) / systems, block>>>(d_models, d_before, d_after, n);
    finish_launches();

    const std::vector<float> after = from_device(d_after, count);
    return verdict(sampled_error(after, [&](size_t e) {
        const size_t first = e / (SIZE * SIZE) * (SIZE * SIZE);
        const size_t row = e / SIZE % SIZE, column = e % SIZE;
        double sum = 0.0;
        for (size_t k = 0; k < SIZE; k++)
            for (size_t l = 0; l < SIZE; l++)
                sum += (double)models[first + row * SIZE + k] * before[first + k * SIZE + l] *
                       models[first + column * SIZE + l];
        return sum;
    }));
}
