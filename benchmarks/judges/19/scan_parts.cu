// Prefix sums of n whole numbers within parts of 256, and the sum of each part.
//
//     nvcc -O2 -o scan_parts scan_parts.cu && ./scan_parts 1000000

#include "../host.h"

#define PART 256

__global__ void scanned(const int *in, int *out, int *sums, int n) {
    __shared__ int part[2][PART];
    const int t = threadIdx.x, i = blockIdx.x * PART + t;
    int from = 0;
    part[0][t] = i < n ? in[i] : 0;
    __syncthreads();
    for (int reach = 1; reach < PART; reach *= 2) {
        part[1 - from][t] = part[from][t] + (t >= reach ? part[from][t - reach] : 0);
        from = 1 - from;
        __syncthreads();
    }
    if (i < n) out[i] = part[from][t];
    if (t == PART - 1) sums[blockIdx.x] = part[from][t];
}

int main(int argc, char **argv) {
    const int n = size_argument(argc, argv, 5000, 100000000);
    const int parts = (n + PART - 1) / PART;
    const std::vector<int> in = fixed_integers(n, 100, 1917);
    const int *d_in = to_device(in);
    int *d_out = device_zeros<int>(n), *d_sums = device_zeros<int>(parts);

    scanned<<<(n + PART - 1) / PART, PART>>>(d_in, d_out, d_sums, n);
    finish_launches();

    const auto sum = [&](size_t part, size_t last) {
        long total = 0;
        for (size_t i = part * PART; i <= last && i < (size_t)n; i++) total += in[i];
        return total;
    };
    const double first = sampled_error(from_device(d_out, n), [&](size_t e) {
        return sum(e / PART, e);
    });
    return verdict(fmax(first, sampled_error(from_device(d_sums, parts), [&](size_t e) {
        return sum(e, e * PART + PART - 1);
    })));
}
