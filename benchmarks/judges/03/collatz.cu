// How many steps of the Collatz sequence lead from each number up to n to 1.
//
//     nvcc -O2 -o collatz collatz.cu && ./collatz 1000000

#include "../judge.h"

__host__ __device__ inline int steps_to_one(unsigned long long number) {
    int steps = 0;
    while (number != 1) {
        number = number % 2 == 0 ? number / 2 : 3 * number + 1;
        steps++;
    }
    return steps;
}

__global__ void collatz(int n, int *steps) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) steps[i] = steps_to_one(i + 1);
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 10000, 1 << 28);
    int *device_steps = to_device(std::vector<int>(n));

    const int block_size = 256;
    const int num_blocks = (n + block_size - 1) / block_size;
    collatz<<<num_blocks, block_size>>>(n, device_steps);
    finish_launches();

    return verdict(sampled_error(from_device(device_steps, n),
                                 [](size_t i) { return steps_to_one(i + 1); }));
}
