// A first CUDA program that stayed as it was: n floats are added to others by one block of 256
// threads, in a grid-stride loop; another single block adds up the result.
//
//     nvcc -O2 -o single_block single_block.cu && ./single_block 300000

#include "checksum.h"

__global__ void add(int n, float *x, float *y) {
    int index = blockIdx.x * blockDim.x + threadIdx.x;
    int stride = blockDim.x * gridDim.x;
    for (int i = index; i < n; i += stride) y[i] = x[i] + y[i];
}

__global__ void total(int n, const float *y, float *result) {
    __shared__ float partial[256];
    float sum = 0.0f;
    for (int i = threadIdx.x; i < n; i += blockDim.x) sum += y[i];
    partial[threadIdx.x] = sum;
    __syncthreads();
    for (int stride = blockDim.x / 2; stride > 0; stride /= 2) {
        if (threadIdx.x < stride) partial[threadIdx.x] += partial[threadIdx.x + stride];
        __syncthreads();
    }
    if (threadIdx.x == 0) *result = partial[0];
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 10000, 50000000);
    const std::vector<float> x = quick_values(n, 1826), y = quick_values(n, 1827);
    float *d_x = to_device(x), *d_y = to_device(y), *d_result = device_zeros<float>(1);

    add<<<1, 256>>>(n, d_x, d_y);
    total<<<1, 256>>>(n, d_y, d_result);
    finish_launches();

    const std::vector<float> sums = from_device(d_y, n);
    const float result = from_device(d_result, 1)[0];
    double wanted = 0.0;
    for (float sum : sums) wanted += sum;
    const double error = sampled_error(sums, [&](size_t i) { return x[i] + y[i]; });
    return report(checksum_of(sums) + result, fmax(error, relative_difference(result, wanted)));
}
