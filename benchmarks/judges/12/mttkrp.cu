// The main product of a tensor's decomposition into sums of 32 products of vectors (MTTKRP): a
// tensor of n x 20 x 16 numbers times two matrices, of 20 x 32 and 16 x 32 numbers.
//
//     nvcc -O2 -o mttkrp mttkrp.cu && ./mttkrp 10000

#include "../host.h"

#define RANK 32
#define SECOND 20
#define THIRD 16

__global__ void mttkrp(const float *__restrict__ tensor, const float *__restrict__ b,
                       const float *__restrict__ c, float *__restrict__ out, int first, int second,
                       int third, int rank) {
    const int r = blockIdx.x * blockDim.x + threadIdx.x;
    const int i = blockIdx.y * blockDim.y + threadIdx.y;
    if (r < rank && i < first) {
        float sum = 0.0f;
        for (int j = 0; j < second; j++) {
            const float *fibre = tensor + ((size_t)i * second + j) * third;
            float inner = 0.0f;
            for (int k = 0; k < third; k++) inner += fibre[k] * c[k * rank + r];
            sum += inner * b[j * rank + r];
        }
        out[(size_t)i * rank + r] = sum;
    }
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 64, 1000000);
    const std::vector<float> tensor = quick_values((size_t)n * SECOND * THIRD, 1);
    const std::vector<float> b = quick_values(SECOND * RANK, 2), c = quick_values(THIRD * RANK, 3);
    const float *d_tensor = to_device(tensor), *d_b = to_device(b), *d_c = to_device(c);
    float *d_out = device_zeros<float>((size_t)n * RANK);

    dim3 block(16, 16);
    dim3 grid((RANK + block.x - 1) / block.x, (n + block.y - 1) / block.y);
    mttkrp<<<grid, block>>>(d_tensor, d_b, d_c, d_out, n, SECOND, THIRD, RANK);
    finish_launches();

    return verdict(sampled_error(from_device(d_out, (size_t)n * RANK), [&](size_t e) {
        const size_t i = e / RANK, r = e % RANK;
        double sum = 0.0;
        for (int j = 0; j < SECOND; j++)
            for (int k = 0; k < THIRD; k++)
                sum += (double)tensor[(i * SECOND + j) * THIRD + k] * b[j * RANK + r] *
                       c[k * RANK + r];
        return sum;
    }));
}
