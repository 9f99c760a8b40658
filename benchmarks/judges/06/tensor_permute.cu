// The axes of a tensor in another order: from (c, b, a), a of which is the fastest, to (a, c, b).
// Stores are far apart.
//
//     nvcc -O2 -o tensor_permute tensor_permute.cu && ./tensor_permute 200

#include "../host.h"

template <typename T>
__global__ void permute(const T *__restrict__ in, T *__restrict__ out, int na, int nb, int nc) {
    int a = blockIdx.x * blockDim.x + threadIdx.x;
    int b = blockIdx.y * blockDim.y + threadIdx.y;
    int c = blockIdx.z * blockDim.z + threadIdx.z;
    if (a < na && b < nb && c < nc) out[(a * nc + c) * nb + b] = in[(c * nb + b) * na + a];
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 30, 1500);
    const int na = n, nb = n / 2 + 3, nc = n / 4 + 1;
    const size_t count = (size_t)na * nb * nc;
    const std::vector<float> tensor = quick_values(count, 1);
    const float *d_tensor = to_device(tensor);
    float *d_permuted = device_zeros<float>(count);

    dim3 block(32, 8, 1);
    dim3 grid((na + block.x - 1) / block.x, (nb + block.y - 1) / block.y,
              (nc + block.z - 1) / block.z);
    permute<float><<<grid, block>>>(d_tensor, d_permuted, na, nb, nc);
    finish_launches();

    return verdict(sampled_error(from_device(d_permuted, count), [&](size_t e) {
        const size_t b = e % nb, c = e / nb % nc, a = e / nb / nc;
        return tensor[(c * nb + b) * na + a];
    }));
}
